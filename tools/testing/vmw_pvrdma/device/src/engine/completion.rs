// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Completions: what they say and where they go.

use crate::abi::cqe::{Cqe, Opcode, Status};
use crate::events::AsyncEvent;
use crate::fabric::World;
use crate::objects::cq::CqFull;
use crate::objects::port::PORT;
use crate::request::{total_length, RecvWqe, Request};
use crate::schedule::QpRef;
use crate::trace::Event;

/// The completion of a send request.
pub(super) fn of_send(handle: u32, request: &Request, status: Status) -> Cqe {
    let length = total_length(request.sges.as_deref().unwrap_or_default());
    Cqe {
        wr_id: request.wr_id,
        qp: handle.into(),
        opcode: super::completed(request.opcode) as u32,
        status: status as u32,
        byte_len: u32::try_from(length).unwrap_or(u32::MAX),
        port_num: PORT,
        ..Cqe::default()
    }
}

/// The completion of a receive request.
pub(super) fn of_recv(handle: u32, wqe: &RecvWqe, status: Status) -> Cqe {
    Cqe {
        wr_id: wqe.wr_id,
        qp: handle.into(),
        opcode: Opcode::Recv as u32,
        status: status as u32,
        port_num: PORT,
        ..Cqe::default()
    }
}

/// Writes a completion and notifies whoever asked for it. Returns false if it found no room: then
/// the queue pair cannot go on.
pub(super) fn write(
    world: &mut World,
    qp_ref: QpRef,
    cq_handle: u32,
    cqe: Cqe,
    solicited: bool,
) -> bool {
    let adapter = &mut world.adapters[qp_ref.adapter];
    let Some(cq) = adapter.objects.cqs.get_mut(cq_handle) else {
        return false;
    };
    let result = cq.push(&adapter.memory, &cqe, solicited);
    if result != Err(CqFull::Already) {
        adapter.trace.emit(|| Event::Cqe { cq: cq_handle, fields: &cqe });
    }
    match result {
        Ok(true) => adapter.notify_cq(cq_handle),
        Ok(false) => {}
        Err(CqFull::Now) => {
            log::info!("adapter {}: CQ {cq_handle} overruns", adapter.id());
            adapter.async_event(AsyncEvent::CqError(cq_handle));
        }
        Err(CqFull::Already) => {}
    }
    result.is_ok()
}
