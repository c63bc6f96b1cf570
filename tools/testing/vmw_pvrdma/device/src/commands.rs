// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command channel: take a command from its slot, execute it, answer.

use zerocopy::{FromBytes, IntoBytes};

use crate::abi::commands::{
    Command, CommandHeader, Response, ResponseHeader, HEADER_SIZE, MAX_COMMAND_SIZE, RESPONSE,
};
use crate::adapter::Adapter;
use crate::interrupts::Vector;
use crate::objects::{Errno, Outcome, Refusal};
use crate::schedule::Schedule;
use crate::trace::Event;

impl Adapter {
    /// Executes the command in the slot. The result is that of the error register; if it is an
    /// error there is neither an answer nor an interrupt.
    pub(crate) fn request(&mut self, schedule: &mut Schedule) -> Result<(), Errno> {
        let shared = self.active().ok_or(Errno::Invalid)?;
        let (cmd_slot, resp_slot) = (shared.cmd_slot, shared.resp_slot);
        let mut slot = [0; MAX_COMMAND_SIZE];
        self.memory.read(cmd_slot, &mut slot).map_err(|_| Errno::Fault)?;
        let (header, body) = slot.split_at(HEADER_SIZE);
        let header = CommandHeader::read_from_bytes(header).map_err(|_| Errno::Fault)?;
        let Some(command) = Command::decode(header.cmd, body) else {
            log::warn!("adapter {}: there is no command {:#x}", self.id(), header.cmd);
            return Err(Errno::Invalid);
        };
        let name = command.name();
        self.trace.emit(|| Event::Command { name, fields: &command });

        let outcome = self.execute(&command, schedule);
        if let Err(refusal) = outcome {
            log::info!("adapter {}: {name} is refused: {refusal:?}", self.id());
        }
        let (err, reg_err, fields) = match outcome {
            Ok(response) => (0, Ok(()), response),
            Err(Refusal::Answer(errno)) => (errno as u8, Ok(()), Response::Empty {}),
            Err(Refusal::Register(errno)) => (0, Err(errno), Response::Empty {}),
        };
        let reg_err = reg_err.and_then(|()| {
            if command.is_answered() {
                self.answer(resp_slot, &header, err, &fields)
            } else {
                Ok(())
            }
        });
        if command.is_answered() || reg_err.is_err() {
            let reg_err = reg_err.map_or_else(|errno| errno as u32, |()| 0);
            self.trace.emit(|| Event::Answer { name, err, reg_err, fields: &fields });
        }
        if command.is_answered() && reg_err.is_ok() {
            self.interrupts.raise(Vector::Response);
        }
        reg_err
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

    fn answer(
        &self,
        slot: u64,
        command: &CommandHeader,
        err: u8,
        response: &Response,
    ) -> Result<(), Errno> {
        let header = ResponseHeader {
            response: command.response,
            ack: RESPONSE | command.cmd,
            err,
            ..Default::default()
        };
        let bytes = [header.as_bytes(), response.as_bytes()].concat();
        self.memory.write(slot, &bytes).map_err(|_| Errno::Fault)
    }
}
