// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command channel: take a command from its slot, execute it, answer.

use zerocopy::FromBytes;

use crate::abi::commands::{Command, CommandHeader, Response, HEADER_SIZE, MAX_COMMAND_SIZE};
use crate::abi::PAGE_SIZE;
use crate::adapter::Adapter;
use crate::answer::Answer;
use crate::faults::Effect;
use crate::objects::{Errno, Outcome, Refusal, DONE};
use crate::schedule::Schedule;
use crate::trace::Event;

impl Adapter {
    /// Takes the command in the slot. Returns what is then in the error register; if that is not
    /// zero there is neither an answer nor an interrupt.
    pub(crate) fn request(&mut self, schedule: &mut Schedule) -> u32 {
        let (header, command) = match self.command() {
            Ok(command) => command,
            Err(errno) => return errno as u32,
        };
        let name = command.name();
        self.trace.emit(|| Event::Command { name, fields: &command });

        let effect = self.fault(name);
        let (reg_err, err, response) = self.carry_out(&command, &effect, schedule);
        if reg_err != 0 || err != 0 {
            self.counters.refused += 1;
            log::info!("adapter {}: {name} is refused: {reg_err}, {err}", self.id());
        }
        if reg_err != 0 {
            self.trace.emit(|| Event::Answer { name, err, reg_err, fields: &response });
            return reg_err;
        }
        self.respond(&header, &command, err, &response, &effect);
        0
    }

    /// The command in the slot.
    fn command(&mut self) -> Result<(CommandHeader, Command), Errno> {
        let shared = self.active().ok_or(Errno::Invalid)?;
        let (cmd_slot, resp_slot) = (shared.cmd_slot, shared.resp_slot);
        let mut slot = [0; PAGE_SIZE];
        self.memory.read(cmd_slot, &mut slot).map_err(|_| Errno::Fault)?;
        if !self.memory.contains(resp_slot, PAGE_SIZE) {
            return Err(Errno::Fault);
        }
        let (header, body) = slot[..MAX_COMMAND_SIZE].split_at(HEADER_SIZE);
        let header = CommandHeader::read_from_bytes(header).map_err(|_| Errno::Fault)?;
        let command = Command::decode(header.cmd, body).ok_or_else(|| {
            log::warn!("adapter {}: there is no command {:#x}", self.id(), header.cmd);
            Errno::Invalid
        })?;
        self.counters.commands += 1;
        if slot[command.size()..].iter().any(|byte| *byte != 0) {
            self.counters.dirty_commands += 1;
        }
        Ok((header, command))
    }

    /// How the command with this name is to go wrong, if a rule says so.
    fn fault(&mut self, name: &'static str) -> Effect {
        let Some((rule, effect)) = self.faults.occurs(name, true) else {
            return Effect::default();
        };
        self.counters.faults += 1;
        self.trace.emit(|| Event::Fault { name, rule, effect: &effect });
        effect
    }

    /// Executes a command, or refuses it. Returns error register, error byte and answer.
    fn carry_out(
        &mut self,
        command: &Command,
        effect: &Effect,
        schedule: &mut Schedule,
    ) -> (u32, u8, Response) {
        let is_refused = effect.reg_err.is_some() || effect.err.is_some();
        let outcome = match effect.execute.unwrap_or(!is_refused) {
            true => self.execute(command, schedule),
            false => DONE,
        };
        let (reg_err, err, response) = match outcome {
            Ok(response) => (0, 0, response),
            Err(Refusal::Answer(errno)) => (0, errno as u8, Response::Empty {}),
            Err(Refusal::Register(errno)) => (errno as u32, 0, Response::Empty {}),
        };
        (effect.reg_err.unwrap_or(reg_err), effect.err.unwrap_or(err), response)
    }

    /// Answers a command that was accepted.
    fn respond(
        &mut self,
        command_header: &CommandHeader,
        command: &Command,
        err: u8,
        response: &Response,
        effect: &Effect,
    ) {
        let mut header = Answer::header(command_header, err);
        header.ack = effect.ack.unwrap_or(header.ack);
        header.response = effect.key.unwrap_or(header.response);
        let response = response.patched(&effect.fields).unwrap_or_else(|error| {
            log::warn!("adapter {}: {}: {error}", self.id(), command.name());
            *response
        });
        let is_answered = command.is_answered();
        let answer = Answer {
            name: command.name(),
            message: effect.answer.unwrap_or(is_answered).then_some((header, response)),
            interrupt: effect.interrupt.unwrap_or(is_answered),
        };
        for time in 1..=effect.repeat.saturating_add(1) {
            self.deliver_later(answer.clone(), effect.delay() * time);
        }
    }

    fn execute(&mut self, command: &Command, schedule: &mut Schedule) -> Outcome {
        match command {
            Command::QueryPort(command) => self.query_port(command),
            Command::QueryPkey(command) => self.query_pkey(command),
            Command::CreatePd(command) => self.create_pd(command),
            Command::DestroyPd(command) => self.destroy_pd(command),
            Command::CreateMr(command) => self.create_mr(command),
            Command::DestroyMr(command) => self.destroy_mr(command),
            Command::CreateCq(command) => self.create_cq(command),
            Command::ResizeCq(command) => self.resize_cq(command),
            Command::DestroyCq(command) => self.destroy_cq(command),
            Command::CreateQp(command) => self.create_qp(command),
            Command::ModifyQp(command) => self.modify_qp(command, schedule),
            Command::QueryQp(command) => self.query_qp(command),
            Command::DestroyQp(command) => self.destroy_qp(command),
            Command::CreateUc(command) => self.create_uc(command),
            Command::DestroyUc(command) => self.destroy_uc(command),
            Command::CreateBind(command) => self.create_bind(command),
            Command::DestroyBind(command) => self.destroy_bind(command),
            Command::CreateSrq(command) => self.create_srq(command),
            Command::ModifySrq(command) => self.modify_srq(command),
            Command::QuerySrq(command) => self.query_srq(command),
            Command::DestroySrq(command) => self.destroy_srq(command),
        }
    }
}
