// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Faults on purpose, ordered over the control socket.

mod guest;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use guest::{Guest, Machines, CTL, ERR, VERSION};
use pvrdma_device::abi::commands::*;
use pvrdma_device::abi::cqe::Cqe;
use pvrdma_device::abi::shared::{DeviceCaps, CAPS_OFFSET};
use pvrdma_device::control;
use pvrdma_device::limits::{Config, MAX_VERSION};
use serde_json::{json, Value};

const CREATE_PD: u32 = 2;

/// An adapter with a driver, and a connection to the control socket.
struct Bench {
    guest: Guest,
    control: BufReader<UnixStream>,
    _machines: Machines,
    _directory: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let machines = Machines::start(1, Config::new(MAX_VERSION, None).unwrap());
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("control");
        control::start(&path, Arc::clone(&machines.fabric)).unwrap();
        let control = BufReader::new(UnixStream::connect(&path).unwrap());
        Self { guest: machines.boot(0), control, _machines: machines, _directory: directory }
    }

    fn ask(&mut self, request: Value) -> Value {
        writeln!(self.control.get_mut(), "{request}").unwrap();
        let mut line = String::new();
        self.control.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn order(&mut self, request: Value) -> Value {
        let answer = self.ask(request.clone());
        answer.get("ok").unwrap_or_else(|| panic!("{request}: {answer}")).clone()
    }

    /// Puts a rule for CREATE_PD in force.
    fn rule(&mut self, effect: Value) {
        self.order(json!({"do": "rules", "rules": [{"on": "CREATE_PD", "effect": effect}]}));
    }

    fn post_create_pd(&mut self) -> Result<(), u32> {
        self.guest.post(CREATE_PD, &CreatePd::default())
    }

    fn create_pd(&mut self) -> Result<u32, u32> {
        let resp: CreatePdResp = self.guest.command(CREATE_PD, &CreatePd::default())?;
        Ok(resp.pd_handle)
    }

    fn pds(&mut self) -> Value {
        self.order(json!({"do": "objects"}))["pds"].clone()
    }
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let mut bench = Bench::new();
    for bad in [
        json!({}),
        json!({"do": "dance"}),
        json!({"do": "objects", "adapter": 1}),
        json!({"do": "objects", "kind": "qps"}),
        json!({"do": "link", "state": "sideways"}),
        json!({"do": "rules", "rules": [{"on": "CREATE_COW", "effect": {}}]}),
        json!({"do": "rules", "rules": [{"on": "CREATE_PD", "effect": {"error": 5}}]}),
        json!({"do": "caps", "caps": {"max_cows": 1}}),
        json!({"do": "registers", "registers": {"COWS": 1}}),
        json!({"do": "complete", "cq": 0, "cqe": {}}),
        json!({"do": "ring", "ring": {"cq": 0}, "tail": 1}),
    ] {
        assert!(bench.ask(bad.clone())["error"].is_string(), "{bad}");
    }
    assert!(bench.ask(json!({"do": "objects"}))["ok"].is_object());
}

#[test]
fn objects_are_counted() {
    let mut bench = Bench::new();
    let pd = bench.guest.create_pd(0);
    bench.guest.create_open_mr(pd, 4096);
    bench.guest.create_cq(4);
    assert_eq!(
        bench.order(json!({"do": "objects"})),
        json!({"ucs": 0, "pds": 1, "mrs": 1, "cqs": 1, "srqs": 0, "qps": 0, "gids": 1})
    );
    let counters = bench.order(json!({"do": "counters", "reset": true}));
    assert_eq!((&counters["commands"], &counters["dirty_commands"]), (&json!(4), &json!(0)));
    assert_eq!(bench.order(json!({"do": "counters"}))["commands"], 0);
}

#[test]
fn links_go_down_and_up() {
    let mut bench = Bench::new();
    for (state, kind) in [("down", 10), ("up", 9)] {
        bench.order(json!({"do": "link", "state": state}));
        assert_eq!(bench.guest.wait_event(), [kind, 1]);
    }
}

#[test]
fn commands_are_refused_both_ways() {
    let mut bench = Bench::new();
    bench.rule(json!({"reg_err": 99}));
    assert_eq!(bench.post_create_pd(), Err(99));
    assert_eq!(bench.guest.interrupts(0), 0);
    bench.rule(json!({"err": 5}));
    assert_eq!(bench.create_pd(), Err(5));
    assert_eq!(bench.pds(), 0);
    assert_eq!(bench.order(json!({"do": "unused_rules"})), json!([]));
    assert_eq!(bench.create_pd(), Ok(0), "the rule is used up");
}

#[test]
fn answers_come_late() {
    let mut bench = Bench::new();
    bench.rule(json!({"delay_ms": 100}));
    let start = Instant::now();
    bench.post_create_pd().unwrap();
    assert_eq!(bench.guest.interrupts(0), 0);
    while bench.guest.interrupts(0) == 0 {
        assert!(start.elapsed() < Duration::from_secs(20));
        thread::sleep(Duration::from_millis(1));
    }
    assert!(start.elapsed() >= Duration::from_millis(100));
    assert_eq!(bench.pds(), 1);
}

#[test]
fn answers_and_interrupts_come_without_each_other() {
    let mut bench = Bench::new();
    for (effect, answer, interrupts) in [
        (json!({"answer": false}), false, 1),
        (json!({"interrupt": false}), true, 0),
        (json!({"answer": false, "interrupt": false}), false, 0),
        (json!({"repeat": 2}), true, 3),
    ] {
        bench.rule(effect.clone());
        bench.guest.clear_answer();
        bench.post_create_pd().unwrap();
        assert_eq!(bench.guest.interrupts(0), interrupts, "{effect}");
        assert_eq!(bench.guest.answer_header().ack != 0, answer, "{effect}");
    }
    assert_eq!(bench.pds(), 4);
}

#[test]
fn answers_are_changed() {
    let mut bench = Bench::new();
    bench.rule(json!({"fields": {"pd_handle": u32::MAX}}));
    assert_eq!(bench.create_pd(), Ok(u32::MAX));
    bench.rule(json!({"ack": 7, "key": 8}));
    bench.post_create_pd().unwrap();
    let header = bench.guest.answer_header();
    assert_eq!((header.ack, header.response), (7, 8));
}

#[test]
fn a_reset_drops_late_answers() {
    let mut bench = Bench::new();
    bench.rule(json!({"delay_ms": 50}));
    bench.post_create_pd().unwrap();
    bench.guest.write_reg(CTL, 2);
    thread::sleep(Duration::from_millis(100));
    assert_eq!(bench.guest.interrupts(0), 0);
}

#[test]
fn controls_are_refused() {
    let mut bench = Bench::new();
    bench.order(json!({"do": "rules", "rules": [
        {"on": "ACTIVATE", "times": 2, "effect": {"reg_err": 1}}
    ]}));
    for expected in [1, 1, 0] {
        bench.guest.write_reg(CTL, 0);
        assert_eq!(bench.guest.read_reg(ERR), expected);
    }
}

#[test]
fn capabilities_and_registers_change_at_any_time() {
    let mut bench = Bench::new();
    let dsr = bench.guest.shared_region();
    bench.guest.set_dsr(dsr);
    bench.order(json!({"do": "caps", "caps": {"max_cq": 0}}));
    let caps: DeviceCaps = bench.guest.memory.read_record(dsr + CAPS_OFFSET).unwrap();
    assert_eq!(caps.max_cq, 0);
    assert_eq!(bench.guest.read_reg(VERSION), MAX_VERSION);
    bench.order(json!({"do": "registers", "registers": {"VERSION": 16}}));
    assert_eq!(bench.guest.read_reg(VERSION), 16);
    bench.order(json!({"do": "registers", "registers": {}}));
    assert_eq!(bench.guest.read_reg(VERSION), MAX_VERSION);
}

#[test]
fn junk_is_written_into_rings() {
    let mut bench = Bench::new();
    let cq = bench.guest.create_cq(4);
    bench.guest.arm(&cq, false);
    bench.order(json!({"do": "complete", "cq": cq.handle, "cqe": {"qp": 77, "status": 99}}));
    let cqe = bench.guest.wait(&cq);
    assert_eq!(cqe, Cqe { qp: 77, status: 99, ..Default::default() });
    assert_eq!(bench.guest.wait_notification(), cq.handle);
    bench.order(json!({"do": "event", "kind": 99, "info": 3, "times": 2}));
    assert_eq!([bench.guest.wait_event(), bench.guest.wait_event()], [[99, 3]; 2]);
    bench.order(json!({"do": "notify", "cq": 1000}));
    assert_eq!(bench.guest.wait_notification(), 1000);
    let ring = json!({"do": "ring", "ring": "events", "tail": u32::MAX});
    assert_eq!(bench.order(ring.clone()), json!({"tail": 2, "head": 2}));
    assert_eq!(bench.order(ring), json!({"tail": u32::MAX, "head": 2}));
}

#[test]
fn a_storm_ends() {
    let mut bench = Bench::new();
    bench.order(json!({"do": "storm", "ring": "events", "ms": 50}));
    thread::sleep(Duration::from_millis(150));
    assert!(bench.guest.interrupts(1) > 1);
    thread::sleep(Duration::from_millis(50));
    assert_eq!(bench.guest.interrupts(1), 0);
}

#[test]
fn a_stall_delays_answers() {
    let mut bench = Bench::new();
    bench.order(json!({"do": "stall", "ms": 100}));
    bench.post_create_pd().unwrap();
    assert_eq!(bench.guest.interrupts(0), 0);
    thread::sleep(Duration::from_millis(200));
    assert_eq!(bench.guest.interrupts(0), 1);
    assert_eq!(bench.create_pd(), Ok(1));
}
