// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Work requests, copied out of their queues once and checked.

use std::mem::size_of;

use crate::abi::wqe::{
    send_flags, AtomicBody, FastRegBody, RdmaBody, RecvHeader, SendBody, SendHeader, SendOpcode,
    Sge, UdBody, SEND_SGE_OFFSET,
};
use crate::memory::{Memory, OutOfMemory};
use crate::page_dir::Pages;
use crate::qp_state::QpType;

/// A send request under way.
#[derive(Clone, Debug)]
pub struct Request {
    /// Given back in the completion.
    pub wr_id: u64,
    /// The number of the operation.
    pub raw_opcode: u32,
    /// The operation, if this kind of queue pair has it.
    pub opcode: Option<SendOpcode>,
    /// [`send_flags`] bits.
    pub flags: u32,
    /// Immediate data or a key to invalidate.
    pub ex: u32,
    /// What the operation needs.
    pub body: SendBody,
    /// The gather list, or `None` if its length is impossible.
    pub sges: Option<Vec<Sge>>,
    /// Bytes transferred so far.
    pub done: u32,
    /// Times that the peer did not answer.
    pub timeouts: u8,
    /// Times that the peer was not ready.
    pub rnrs: u8,
}

impl Request {
    /// Copies the element at `offset`. It cannot be changed by the guest afterwards.
    pub fn read(
        memory: &Memory,
        pages: &Pages,
        offset: usize,
        max_sge: u32,
        kind: QpType,
    ) -> Result<Self, OutOfMemory> {
        let header: SendHeader = pages.read_record(memory, offset)?;
        let opcode = SendOpcode::from_wire(header.opcode).filter(|opcode| match kind {
            QpType::Rc => true,
            QpType::Ud | QpType::Gsi => {
                matches!(opcode, SendOpcode::Send | SendOpcode::SendWithImm)
            }
        });
        let at = offset + size_of::<SendHeader>();
        let body = match (opcode, kind) {
            (None, _) => SendBody::Empty {},
            (_, QpType::Ud | QpType::Gsi) => SendBody::Ud(pages.read_record::<UdBody>(memory, at)?),
            (
                Some(SendOpcode::RdmaWrite | SendOpcode::RdmaWriteWithImm | SendOpcode::RdmaRead),
                _,
            ) => SendBody::Rdma(pages.read_record::<RdmaBody>(memory, at)?),
            (Some(SendOpcode::AtomicCmpAndSwp | SendOpcode::AtomicFetchAndAdd), _) => {
                SendBody::Atomic(pages.read_record::<AtomicBody>(memory, at)?)
            }
            (Some(SendOpcode::FastRegMr), _) => {
                SendBody::FastReg(pages.read_record::<FastRegBody>(memory, at)?)
            }
            (
                Some(
                    SendOpcode::Send
                    | SendOpcode::SendWithImm
                    | SendOpcode::SendWithInv
                    | SendOpcode::LocalInv,
                ),
                _,
            ) => SendBody::Empty {},
        };
        let sges = read_sges(memory, pages, offset + SEND_SGE_OFFSET, header.num_sge, max_sge)?;
        Ok(Self {
            wr_id: header.wr_id,
            raw_opcode: header.opcode,
            opcode,
            flags: header.send_flags,
            ex: header.ex,
            body,
            sges,
            done: 0,
            timeouts: 0,
            rnrs: 0,
        })
    }

    /// Whether the receiver's completion is a solicited one.
    pub fn is_solicited(&self) -> bool {
        self.flags & send_flags::SOLICITED != 0
    }
}

/// A receive request.
#[derive(Clone, Debug)]
pub struct RecvWqe {
    /// Given back in the completion.
    pub wr_id: u64,
    /// The scatter list, or `None` if its length is impossible.
    pub sges: Option<Vec<Sge>>,
}

impl RecvWqe {
    /// Copies the element at `offset`.
    pub fn read(
        memory: &Memory,
        pages: &Pages,
        offset: usize,
        max_sge: u32,
    ) -> Result<Self, OutOfMemory> {
        let header: RecvHeader = pages.read_record(memory, offset)?;
        let at = offset + size_of::<RecvHeader>();
        let sges = read_sges(memory, pages, at, header.num_sge, max_sge)?;
        Ok(Self { wr_id: header.wr_id, sges })
    }
}

fn read_sges(
    memory: &Memory,
    pages: &Pages,
    offset: usize,
    count: u32,
    max_sge: u32,
) -> Result<Option<Vec<Sge>>, OutOfMemory> {
    if count > max_sge {
        return Ok(None);
    }
    (0..count as usize)
        .map(|index| pages.read_record(memory, offset + index * size_of::<Sge>()))
        .collect::<Result<_, _>>()
        .map(Some)
}

/// Bytes that a list describes.
pub fn total_length(sges: &[Sge]) -> u64 {
    sges.iter().map(|sge| u64::from(sge.length)).sum()
}

/// The part of a list that begins at `offset` and is `len` bytes long, or shorter if it ends.
pub fn part(sges: &[Sge], offset: u64, len: u64) -> Vec<Sge> {
    let (mut skip, mut left) = (offset, len);
    let mut parts = Vec::new();
    for sge in sges {
        let length = u64::from(sge.length);
        let skipped = skip.min(length);
        skip -= skipped;
        let taken = (length - skipped).min(left);
        left -= taken;
        if taken > 0 {
            parts.push(Sge {
                addr: sge.addr.wrapping_add(skipped),
                // At most `sge.length`.
                length: taken as u32,
                lkey: sge.lkey,
            });
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sge(addr: u64, length: u32) -> Sge {
        Sge { addr, length, lkey: 1 }
    }

    #[test]
    fn parts_cut_lists() {
        let list = [sge(100, 10), sge(200, 0), sge(300, 5)];
        assert_eq!(total_length(&list), 15);
        assert_eq!(part(&list, 0, 15), [sge(100, 10), sge(300, 5)]);
        assert_eq!(part(&list, 8, 4), [sge(108, 2), sge(300, 2)]);
        assert_eq!(part(&list, 12, 100), [sge(302, 3)]);
        assert_eq!(part(&list, 15, 1), []);
        assert_eq!(part(&[sge(0, u32::MAX); 2], u64::from(u32::MAX), 2), [sge(0, 2)]);
    }
}
