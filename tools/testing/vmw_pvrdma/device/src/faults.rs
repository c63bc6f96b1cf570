// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Faults on purpose: what an adapter does wrong, to see what a driver makes of it.
//!
//! A rule names a command or a control and says which of its occurrences goes wrong, and how.
//! Rules belong to the adapter and not to what the driver made of it: they survive resets.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::abi::commands::{Command, Response};
use crate::abi::shared::DeviceCaps;
use crate::limits::Config;
use crate::patch::{patched, Patch, PatchError};
use crate::regs::{Control, Register};

/// What differs from a correct adapter, as given in a file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Setup {
    /// Capabilities by name.
    pub caps: Patch,
    /// Registers by name which always read as these values.
    pub registers: BTreeMap<String, u32>,
    /// Rules for commands and controls.
    pub rules: Vec<Rule>,
}

/// Something in a [`Setup`] that no adapter can do.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// No command and no control has this name.
    #[error("there is no command or control '{0}'")]
    NoCommand(String),
    /// No register has this name.
    #[error("there is no register '{0}'")]
    NoRegister(String),
    /// Occurrences are counted from 1.
    #[error("'nth' and 'times' begin with 1")]
    Count,
    /// A field does not fit.
    #[error("{0}: {1}")]
    Patch(String, PatchError),
}

impl Setup {
    /// Checks that every name and every value is possible.
    pub fn check(&self, config: &Config) -> Result<(), SetupError> {
        patched(&config.caps(Default::default()), &self.caps)
            .map_err(|error| SetupError::Patch("caps".into(), error))?;
        if let Some(name) = self.registers.keys().find(|name| !Register::NAMES.contains(&&***name))
        {
            return Err(SetupError::NoRegister(name.clone()));
        }
        self.rules.iter().try_for_each(Rule::check)
    }
}

/// When to go wrong, and how.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Name of a command, a control, or `*` for any command.
    on: String,
    /// The first occurrence, from now on, that goes wrong.
    #[serde(default = "one")]
    nth: u32,
    /// How many occurrences in a row go wrong; none means all.
    #[serde(default = "one_time")]
    times: Option<u32>,
    /// Whether this rule waits, without counting, for those before it to be used up.
    #[serde(default)]
    in_turn: bool,
    /// How to go wrong.
    effect: Effect,
}

fn one() -> u32 {
    1
}

fn one_time() -> Option<u32> {
    Some(1)
}

impl Rule {
    fn check(&self) -> Result<(), SetupError> {
        let is_known = self.on == ANY
            || Command::NAMES.contains(&&*self.on)
            || Control::NAMES.contains(&&*self.on);
        if !is_known {
            return Err(SetupError::NoCommand(self.on.clone()));
        }
        if self.nth == 0 || self.times == Some(0) {
            return Err(SetupError::Count);
        }
        if !self.effect.fields.is_empty() {
            Response::sample(&self.on)
                .patched(&self.effect.fields)
                .map_err(|error| SetupError::Patch(self.on.clone(), error))?;
        }
        Ok(())
    }
}

/// Stands for any command.
const ANY: &str = "*";

/// How a command or control goes wrong. Controls can only be refused.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Effect {
    /// Refuse with this value in the error register.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reg_err: Option<u32>,
    /// Refuse with this error byte in the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub err: Option<u8>,
    /// Whether to do what the command asks; without a choice, if it is not refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execute: Option<bool>,
    /// Whether to write an answer; without a choice, if the command has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<bool>,
    /// Whether to raise the interrupt; without a choice, if the command has an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupt: Option<bool>,
    /// How many milliseconds later than usual answer and interrupt come.
    #[serde(skip_serializing_if = "is_zero")]
    pub delay_ms: u32,
    /// How often answer and interrupt come again, each time so much later.
    #[serde(skip_serializing_if = "is_zero")]
    pub repeat: u32,
    /// Acknowledge this instead of the command's number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack: Option<u32>,
    /// Give this back instead of the command's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<u64>,
    /// Fields of the answer by name.
    #[serde(skip_serializing_if = "Patch::is_empty")]
    pub fields: Patch,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // The form that serde asks for.
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Effect {
    /// How much later than usual answer and interrupt come.
    pub fn delay(&self) -> Duration {
        Duration::from_millis(self.delay_ms.into())
    }
}

/// The rules in force and how far they are.
#[derive(Debug, Default)]
pub struct Faults {
    setup: Setup,
    /// Occurrences that each rule has seen.
    seen: Vec<u32>,
}

impl Faults {
    /// Puts a setup in force in place of the one before.
    pub fn set(&mut self, setup: Setup) {
        self.seen = vec![0; setup.rules.len()];
        self.setup = setup;
    }

    /// Puts rules in force in place of those before.
    pub fn set_rules(&mut self, rules: Vec<Rule>) {
        self.seen = vec![0; rules.len()];
        self.setup.rules = rules;
    }

    /// Changes what registers read as.
    pub fn set_registers(&mut self, registers: BTreeMap<String, u32>) {
        self.setup.registers = registers;
    }

    /// Changes capabilities.
    pub fn set_caps(&mut self, caps: Patch) {
        self.setup.caps = caps;
    }

    /// The rules that have not gone off as often as they should, by number. Rules without a
    /// limit are never among them.
    pub fn unused(&self) -> Vec<usize> {
        (0..self.seen.len()).filter(|number| self.is_unused(*number)).collect()
    }

    fn is_unused(&self, number: usize) -> bool {
        let rule = &self.setup.rules[number];
        rule.times.is_some_and(|times| self.seen[number] < (rule.nth - 1).saturating_add(times))
    }

    /// The fault of a command or control that has just come in, and the number of its rule. If
    /// several rules ask for one, the first gets its way.
    pub fn occurs(&mut self, name: &str, is_command: bool) -> Option<(usize, Effect)> {
        let turn = self.unused().first().copied().unwrap_or(usize::MAX);
        let mut found = None;
        for (number, (rule, seen)) in self.setup.rules.iter().zip(&mut self.seen).enumerate() {
            let matches = rule.on == name || (is_command && rule.on == ANY);
            if !matches || (rule.in_turn && turn < number) {
                continue;
            }
            *seen = seen.saturating_add(1);
            let past = seen.checked_sub(rule.nth);
            let hit = past.is_some_and(|past| rule.times.is_none_or(|times| past < times));
            if hit && found.is_none() {
                found = Some((number, rule.effect.clone()));
            }
        }
        found
    }

    /// What the driver is told instead of the real capabilities.
    pub fn caps(&self, caps: &DeviceCaps) -> DeviceCaps {
        patched(caps, &self.setup.caps).unwrap_or_else(|error| {
            log::error!("capabilities are left as they are: {error}");
            *caps
        })
    }

    /// What a register reads as, if it is not what it should be.
    pub fn register(&self, register: Register) -> Option<u32> {
        self.setup.registers.get(register.name()).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::MAX_VERSION;
    use serde_json::{json, Value};

    fn setup(value: Value) -> Setup {
        serde_json::from_value(value).unwrap()
    }

    fn faults(rules: Value) -> Faults {
        let mut faults = Faults::default();
        faults.set(setup(json!({ "rules": rules })));
        faults
    }

    /// Which of some occurrences go wrong.
    fn hits(faults: &mut Faults, names: &[&str]) -> Vec<Option<usize>> {
        names.iter().map(|name| faults.occurs(name, true).map(|(number, _)| number)).collect()
    }

    #[test]
    fn the_chosen_occurrences_go_wrong() {
        let mut faults =
            faults(json!([{"on": "CREATE_PD", "nth": 2, "times": 2, "effect": {"err": 5}}]));
        assert_eq!(faults.unused(), [0]);
        let names = ["CREATE_PD", "CREATE_MR", "CREATE_PD", "CREATE_PD", "CREATE_PD"];
        assert_eq!(hits(&mut faults, &names), [None, None, Some(0), Some(0), None]);
        assert!(faults.unused().is_empty());
    }

    #[test]
    fn a_rule_without_limit_goes_off_for_ever() {
        let mut faults = faults(json!([{"on": "*", "times": null, "effect": {"reg_err": 1}}]));
        assert_eq!(hits(&mut faults, &["CREATE_PD"; 3]), [Some(0); 3]);
        assert_eq!(faults.occurs("ACTIVATE", false).map(|(number, _)| number), None);
    }

    #[test]
    fn rules_take_turns() {
        let mut faults = faults(json!([
            {"on": "CREATE_PD", "effect": {"err": 5}},
            {"on": "CREATE_MR", "in_turn": true, "effect": {"err": 5}},
            {"on": "CREATE_PD", "in_turn": true, "effect": {"err": 5}},
        ]));
        let names = ["CREATE_MR", "CREATE_PD", "CREATE_PD", "CREATE_MR", "CREATE_PD", "CREATE_PD"];
        assert_eq!(hits(&mut faults, &names), [None, Some(0), None, Some(1), Some(2), None]);
    }

    #[test]
    fn mistakes_in_a_setup_are_found() {
        let config = Config::new(MAX_VERSION, None).unwrap();
        let check = |value: Value| setup(value).check(&config).is_ok();
        assert!(check(json!({
            "caps": {"max_cq": 0},
            "registers": {"VERSION": 16},
            "rules": [
                {"on": "CREATE_QP", "effect": {"fields": {"qp_handle": 1}}},
                {"on": "ACTIVATE", "times": 3, "effect": {"reg_err": 1}},
            ],
        })));
        for bad in [
            json!({"caps": {"max_cows": 0}}),
            json!({"registers": {"VERSIONS": 16}}),
            json!({"rules": [{"on": "CREATE_COW", "effect": {}}]}),
            json!({"rules": [{"on": "CREATE_PD", "nth": 0, "effect": {}}]}),
            json!({"rules": [{"on": "CREATE_PD", "effect": {"fields": {"mr_handle": 1}}}]}),
            json!({"rules": [{"on": "DESTROY_PD", "effect": {"fields": {"pd_handle": 1}}}]}),
        ] {
            assert!(!check(bad.clone()), "{bad}");
        }
        assert!(serde_json::from_value::<Setup>(json!({"rule": []})).is_err());
    }

    #[test]
    fn capabilities_and_registers_are_what_the_setup_says() {
        let config = Config::new(MAX_VERSION, None).unwrap();
        let mut faults = Faults::default();
        faults.set(setup(json!({"caps": {"max_cq": 3}, "registers": {"VERSION": 16}})));
        let caps = config.caps(Default::default());
        assert_eq!(faults.caps(&caps), DeviceCaps { max_cq: 3, ..caps });
        assert_eq!(faults.register(Register::Version), Some(16));
        assert_eq!(faults.register(Register::Err), None);
    }
}
