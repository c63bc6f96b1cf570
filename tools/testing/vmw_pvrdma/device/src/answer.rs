// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The answer to a command, and how it reaches the driver.

use zerocopy::IntoBytes;

use crate::abi::commands::{
    CommandHeader, Response, ResponseHeader, ACK_OFFSET, HEADER_SIZE, RESPONSE,
};
use crate::adapter::Adapter;
use crate::interrupts::Vector;
use crate::memory::{Memory, OutOfMemory};
use crate::trace::Event;

/// What the driver gets for a command that it waits for.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// Name of the command.
    pub(crate) name: &'static str,
    /// What is written to the answer slot, if anything.
    pub(crate) message: Option<(ResponseHeader, Response)>,
    /// Whether the interrupt is raised.
    pub(crate) interrupt: bool,
}

impl Answer {
    /// The head of the answer to a command.
    pub(crate) fn header(command: &CommandHeader, err: u8) -> ResponseHeader {
        ResponseHeader {
            response: command.response,
            ack: RESPONSE | command.cmd,
            err,
            ..Default::default()
        }
    }
}

impl Adapter {
    /// Writes the answer to its slot and raises the interrupt.
    pub(crate) fn deliver(&mut self, answer: &Answer) {
        let Some(slot) = self.active().map(|shared| shared.resp_slot) else {
            return;
        };
        if let Some((header, response)) = &answer.message {
            let (name, err) = (answer.name, header.err);
            self.trace.emit(|| Event::Answer { name, err, reg_err: 0, fields: response });
            if let Err(error) = write(&self.memory, slot, header, response) {
                log::warn!("adapter {}: no answer to {name}: {error}", self.id());
            }
        }
        if answer.interrupt {
            self.interrupts.raise(Vector::Response);
        }
    }
}

/// Writes an answer so that its acknowledgment, by which the driver knows it, comes last.
fn write(
    memory: &Memory,
    slot: u64,
    header: &ResponseHeader,
    response: &Response,
) -> Result<(), OutOfMemory> {
    let head = header.as_bytes();
    memory.write(slot + HEADER_SIZE as u64, response.as_bytes())?;
    memory.write(slot, &head[..ACK_OFFSET])?;
    let after = ACK_OFFSET + size_of_val(&header.ack);
    memory.write(slot + after as u64, &head[after..])?;
    memory.store_index(slot + ACK_OFFSET as u64, header.ack)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::commands::CreatePdResp;
    use crate::memory::tests::test_memory;

    #[test]
    fn an_answer_is_written_whole() {
        let memory = test_memory(1);
        let command = CommandHeader { response: 0x0102_0304_0506_0708, cmd: 2, reserved: 0 };
        let header = Answer::header(&command, 9);
        let response = Response::CreatePd(CreatePdResp { pd_handle: 7, ..Default::default() });
        write(&memory, 0x10000, &header, &response).unwrap();
        assert_eq!(
            memory.read_record::<ResponseHeader>(0x10000).unwrap().as_bytes(),
            header.as_bytes()
        );
        assert_eq!(memory.read_record::<[u32; 6]>(0x10000).unwrap()[2..], [0x8000_0002, 9, 7, 0]);
    }
}
