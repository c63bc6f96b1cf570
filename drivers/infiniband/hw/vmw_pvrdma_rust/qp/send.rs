// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! Send requests of kernel consumers.

#![forbid(unsafe_code)]

use super::queue::Queue;
use crate::{
    convert,
    device::Pvrdma,
    wire::{
        self,
        WrOpcode, //
    }, //
};
use kernel::{
    prelude::*,
    rdma::{
        SendFlags,
        SendOp,
        SendWr, //
    }, //
};

/// Bit of a Q_Key in a request that makes the queue pair's own one take its place.
const OWN_QKEY: u32 = 1 << 31;

/// Posts one request to `queue`; the device has to be told afterwards.
///
/// `qkey` is the Q_Key of the queue pair.
///
/// # Errors
///
/// - [`EINVAL`] if the request has too many segments, or asks for something that the device does
///   not do: inline data among others.
/// - [`ENOMEM`] if the queue is full.
/// - [`EIO`] if the device broke the indexes of the queue.
pub(super) fn post(queue: &Queue, wr: &SendWr<'_, Pvrdma>, qkey: u32) -> Result {
    let room = queue.room(wr.sges())?;

    if wr.flags().contains(SendFlags::INLINE) {
        return Err(EINVAL);
    }
    let header = |opcode: WrOpcode, ex| wire::SqWqeHeader {
        wr_id: wr.id(),
        num_sge: room.num_sge(),
        total_len: 0,
        opcode: opcode.into(),
        send_flags: convert::send_flags(wr.flags()),
        ex,
        reserved: 0,
    };
    let plain = |opcode, ex| wire::PlainWqe {
        header: header(opcode, ex),
        reserved: [0; 48],
    };
    let with_imm = |without: WrOpcode, with: WrOpcode, imm: Option<u32>| match imm {
        None => header(without, 0),
        Some(imm) => header(with, imm),
    };
    let send = |imm| with_imm(WrOpcode::Send, WrOpcode::SendWithImm, imm);

    match wr.op()? {
        SendOp::Send { imm } => {
            let wqe = wire::PlainWqe {
                header: send(imm),
                reserved: [0; 48],
            };
            room.post(wqe)
        }
        SendOp::SendInvalidate { rkey } => {
            let wqe = plain(WrOpcode::SendWithInv, rkey);
            room.post(wqe)
        }
        SendOp::LocalInvalidate { rkey } => {
            let wqe = plain(WrOpcode::LocalInv, rkey);
            room.post(wqe)
        }
        SendOp::Datagram {
            ah,
            remote_qpn,
            remote_qkey,
            pkey_index: _,
            imm,
        } => {
            let wqe = wire::UdWqe {
                header: send(imm),
                remote_qpn,
                remote_qkey: match remote_qkey & OWN_QKEY {
                    0 => remote_qkey,
                    _ => qkey,
                },
                av: ah.av(),
            };
            room.post(wqe)
        }
        SendOp::RdmaWrite { remote, imm } => {
            let wqe = wire::RdmaWqe {
                header: with_imm(WrOpcode::RdmaWrite, WrOpcode::RdmaWriteWithImm, imm),
                remote_addr: remote.addr,
                rkey: remote.rkey,
                reserved: [0; 36],
            };
            room.post(wqe)
        }
        SendOp::RdmaRead { remote } => {
            let wqe = wire::RdmaWqe {
                header: header(WrOpcode::RdmaRead, 0),
                remote_addr: remote.addr,
                rkey: remote.rkey,
                reserved: [0; 36],
            };
            room.post(wqe)
        }
        SendOp::CompareSwap {
            remote,
            compare,
            swap,
        } => {
            let wqe = wire::AtomicWqe {
                header: header(WrOpcode::AtomicCmpAndSwp, 0),
                remote_addr: remote.addr,
                compare_add: compare,
                swap,
                rkey: remote.rkey,
                reserved: [0; 20],
            };
            room.post(wqe)
        }
        SendOp::FetchAdd { remote, add } => {
            let wqe = wire::AtomicWqe {
                header: header(WrOpcode::AtomicFetchAndAdd, 0),
                remote_addr: remote.addr,
                compare_add: add,
                swap: 0,
                rkey: remote.rkey,
                reserved: [0; 20],
            };
            room.post(wqe)
        }
        SendOp::RegMr { mr, key, access } => {
            let (directory, pages) = mr.page_list()?;
            let wqe = wire::FastRegWqe {
                header: header(WrOpcode::FastRegMr, 0),
                iova_start: mr.iova(),
                pl_pdir_dma: directory,
                page_shift: wire::PAGE.trailing_zeros(),
                page_list_len: pages,
                length: mr.length().try_into()?,
                access_flags: convert::access_to_wire(access)?,
                rkey: key,
                reserved: [0; 12],
            };
            room.post(wqe)
        }
    }
}
