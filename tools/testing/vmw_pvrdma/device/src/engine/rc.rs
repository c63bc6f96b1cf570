// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reliable connections: requests of one queue pair, executed on the memory of its peer.

use std::sync::atomic::Ordering;

use super::{completion, receive, rnr_delay, Progress, STEP_BYTES};
use crate::abi::access;
use crate::abi::cqe::{flags, Opcode, Status};
use crate::abi::wqe::{AtomicBody, SendBody, SendOpcode, Sge};
use crate::events::AsyncEvent;
use crate::fabric::World;
use crate::limits::{mtu_bytes, MAX_MESSAGE};
use crate::link::Link;
use crate::memory::{copy, Extent};
use crate::objects::qp::MASK_24;
use crate::qp_state::{QpState, QpType};
use crate::request::{part, total_length};
use crate::schedule::QpRef;

/// Bytes that an atomic operation reads and writes.
const ATOMIC_BYTES: u32 = 8;

/// A request on its way to the peer.
struct Transfer {
    /// The requester.
    from: QpRef,
    /// The responder.
    to: QpRef,
    opcode: SendOpcode,
    body: SendBody,
    /// Immediate data or key to invalidate.
    ex: u32,
    solicited: bool,
    /// Number of the requester.
    qpn: u32,
    /// Bytes of the message.
    total: u64,
    /// Bytes that are done.
    done: u64,
    /// Bytes of this step.
    len: u64,
    /// Local memory for this step.
    local: Vec<Extent>,
    /// Packets of the message.
    packets: u32,
}

/// Goes on with the request under way.
pub(super) fn execute(world: &mut World, from: QpRef, opcode: SendOpcode) -> Progress {
    let transfer = match prepare(world, from, opcode) {
        Ok(transfer) => transfer,
        Err(progress) => return progress,
    };
    note_established(world, transfer.to);
    match transfer.opcode {
        SendOpcode::RdmaRead => read(world, &transfer),
        SendOpcode::AtomicCmpAndSwp | SendOpcode::AtomicFetchAndAdd => atomic(world, &transfer),
        SendOpcode::RdmaWrite
        | SendOpcode::RdmaWriteWithImm
        | SendOpcode::Send
        | SendOpcode::SendWithImm
        | SendOpcode::SendWithInv => deliver(world, &transfer),
        // Handled before.
        SendOpcode::LocalInv | SendOpcode::FastRegMr => Progress::Done(Status::LocalOperation),
    }
}

/// Checks what can be checked without the peer, then looks for the peer.
fn prepare(world: &World, from: QpRef, opcode: SendOpcode) -> Result<Transfer, Progress> {
    let failed = |status| Progress::Done(status);
    let adapter = &world.adapters[from.adapter];
    let qp = world.qp(from).ok_or(failed(Status::Flushed))?;
    let request = qp.request.as_ref().ok_or(failed(Status::Flushed))?;
    let sges = request.sges.as_deref().ok_or(failed(Status::LocalOperation))?;

    let total = total_length(sges);
    if total > MAX_MESSAGE.into() {
        return Err(failed(Status::LocalLength));
    }
    let (rights, depth) = match opcode {
        SendOpcode::RdmaRead => (access::LOCAL_WRITE, qp.attr.max_rd_atomic),
        SendOpcode::AtomicCmpAndSwp | SendOpcode::AtomicFetchAndAdd => {
            if total != u64::from(ATOMIC_BYTES) {
                return Err(failed(Status::LocalLength));
            }
            (access::LOCAL_WRITE, qp.attr.max_rd_atomic)
        }
        _ => (0, u8::MAX),
    };
    if depth == 0 {
        return Err(failed(Status::LocalOperation));
    }
    let done = u64::from(request.done);
    if done == 0 {
        // All of it must be right before any of it moves.
        receive::resolve(adapter, qp.pd, sges, rights).map_err(failed)?;
    }
    let len = (total - done).min(STEP_BYTES.into());
    let local = receive::resolve(adapter, qp.pd, &part(sges, done, len), rights).map_err(failed)?;
    let to = find_peer(world, from).ok_or(Progress::NoAnswer)?;
    let mtu = u64::from(mtu_bytes(qp.attr.path_mtu));
    Ok(Transfer {
        from,
        to,
        opcode,
        body: request.body,
        ex: request.ex,
        solicited: request.is_solicited(),
        qpn: qp.qpn,
        total,
        done,
        len,
        local,
        // At most MAX_MESSAGE / 256.
        packets: total.div_ceil(mtu).max(1) as u32,
    })
}

/// The queue pair at the other end, if both ends agree that they are connected.
///
/// Packet numbers that do not fit mean lost packets on a real network: no answer.
fn find_peer(world: &World, from: QpRef) -> Option<QpRef> {
    let own = &world.adapters[from.adapter];
    let qp = world.qp(from)?;
    let route = &qp.attr.ah_attr.grh;
    let source = own.objects.gids.get(route.sgid_index)?;
    reachable(world, from.adapter).find_map(|index| {
        let adapter = &world.adapters[index];
        if !adapter.objects.gids.contains(route.dgid) {
            return None;
        }
        let handle = adapter.qp_by_number(qp.attr.dest_qp_num)?;
        let peer = adapter.objects.qps.get(handle)?;
        let connected = peer.kind == QpType::Rc
            && peer.state.receives()
            && peer.attr.dest_qp_num == qp.qpn
            && peer.attr.ah_attr.grh.dgid == source
            && peer.attr.rq_psn == qp.attr.sq_psn;
        connected.then(|| adapter.qp_ref(handle))
    })
}

/// Adapters that packets of an adapter get to, itself first.
pub(super) fn reachable(world: &World, own: usize) -> impl Iterator<Item = usize> + '_ {
    let is_up = move |index: &usize| {
        let up = |index: usize| world.adapters[index].link() == Link::Up;
        up(own) && up(*index)
    };
    let others = (0..world.adapters.len()).filter(move |index| *index != own);
    std::iter::once(own).chain(others).filter(is_up)
}

/// A message that arrives before the driver has moved the queue pair on says that the connection
/// is established.
fn note_established(world: &mut World, to: QpRef) {
    let adapter = &mut world.adapters[to.adapter];
    let Some(peer) = adapter.objects.qps.get_mut(to.handle) else {
        return;
    };
    if peer.state == QpState::Rtr && !std::mem::replace(&mut peer.established, true) {
        adapter.async_event(AsyncEvent::Established(to.handle));
    }
}

/// Sends and writes.
fn deliver(world: &mut World, transfer: &Transfer) -> Progress {
    let to = transfer.to;
    let is_write = matches!(transfer.opcode, SendOpcode::RdmaWrite | SendOpcode::RdmaWriteWithImm);
    let consumes = transfer.opcode != SendOpcode::RdmaWrite;
    if consumes {
        let Some(peer) = world.qp(to) else {
            return Progress::NoAnswer;
        };
        let delay = rnr_delay(peer.attr.min_rnr_timer);
        match receive::claim(&mut world.adapters[to.adapter], to.handle) {
            Ok(true) => {}
            Ok(false) => return Progress::NotReady(delay),
            Err(error) => {
                log::info!("QP {}: receive queue: {error}", to.handle);
                super::fatal(world, to);
                return Progress::Done(Status::RemoteOperation);
            }
        }
    }
    let target = if is_write {
        remote_memory(world, transfer, access::REMOTE_WRITE)
    } else {
        receive_memory(world, transfer)
    };
    let target = match target {
        Ok(target) => target,
        Err(status) => return Progress::Done(status),
    };
    let (source, sink) =
        (&world.adapters[transfer.from.adapter].memory, &world.adapters[to.adapter].memory);
    if copy((source, &transfer.local), (sink, &target)).is_err() {
        // Both sides were looked up in this step.
        return Progress::Done(Status::RemoteOperation);
    }
    if advance(world, transfer) {
        return Progress::More;
    }
    if transfer.opcode == SendOpcode::SendWithInv {
        let adapter = &mut world.adapters[to.adapter];
        let pd = adapter.objects.qps.get(to.handle).map(|peer| peer.pd);
        if pd.is_none_or(|pd| adapter.invalidate(pd, transfer.ex).is_err()) {
            return Progress::Done(access_error(world, to));
        }
    }
    if consumes && !complete_receive(world, transfer, is_write) {
        super::fatal(world, to);
        return Progress::Done(Status::RemoteOperation);
    }
    success(world, transfer)
}

/// Writes the receiver's completion. Returns false if it found no room.
fn complete_receive(world: &mut World, transfer: &Transfer, is_write: bool) -> bool {
    let to = transfer.to;
    let Some(peer) = world.qp_mut(to) else {
        return true;
    };
    let Some(wqe) = peer.recv.take() else {
        return true;
    };
    let cq = peer.recv_cq;
    let mut cqe = completion::of_recv(to.handle, &wqe, Status::Success);
    if is_write {
        cqe.opcode = Opcode::RecvRdmaWithImm as u32;
    }
    // At most MAX_MESSAGE.
    cqe.byte_len = transfer.total as u32;
    cqe.src_qp = transfer.qpn;
    (cqe.imm_data, cqe.wc_flags) = match transfer.opcode {
        SendOpcode::SendWithImm | SendOpcode::RdmaWriteWithImm => (transfer.ex, flags::WITH_IMM),
        SendOpcode::SendWithInv => (transfer.ex, flags::WITH_INVALIDATE),
        _ => (0, 0),
    };
    completion::write(world, to, cq, cqe, transfer.solicited)
}

/// The part of the claimed receive buffer for this step. A buffer that does not do ends the
/// receive request and the queue pair.
fn receive_memory(world: &mut World, transfer: &Transfer) -> Result<Vec<Extent>, Status> {
    let to = transfer.to;
    let adapter = &world.adapters[to.adapter];
    let peer = world.qp(to).ok_or(Status::RemoteOperation)?;
    let wqe = peer.recv.as_ref().ok_or(Status::RemoteOperation)?;
    let (pd, total) = (peer.pd, transfer.total);
    let whole = match transfer.done {
        0 => receive::scatter(adapter, pd, wqe, (0, total, total)).map(|_| ()),
        _ => Ok(()),
    };
    let here = (transfer.done, transfer.len, total);
    let status = match whole.and_then(|()| receive::scatter(adapter, pd, wqe, here)) {
        Ok(extents) => return Ok(extents),
        Err(status) => status,
    };
    let cq = peer.recv_cq;
    let cqe = completion::of_recv(to.handle, wqe, status);
    if let Some(peer) = world.qp_mut(to) {
        peer.recv = None;
    }
    completion::write(world, to, cq, cqe, true);
    super::error(world, to);
    Err(match status {
        Status::LocalLength => Status::RemoteInvalidRequest,
        _ => Status::RemoteOperation,
    })
}

/// The part of the peer's memory for this step. What the key does not allow ends the peer.
fn remote_memory(
    world: &mut World,
    transfer: &Transfer,
    right: u32,
) -> Result<Vec<Extent>, Status> {
    let (addr, rkey) = match transfer.body {
        SendBody::Rdma(body) => (body.remote_addr, body.rkey),
        SendBody::Atomic(body) => (body.remote_addr, body.rkey),
        SendBody::Empty {} | SendBody::FastReg(_) | SendBody::Ud(_) => {
            return Err(Status::LocalOperation);
        }
    };
    let to = transfer.to;
    let adapter = &world.adapters[to.adapter];
    let peer = world.qp(to).ok_or(Status::RemoteAccess)?;
    let resolve = |offset: u64, len: u64| {
        // Not more than MAX_MESSAGE.
        let sge = Sge { addr: addr.checked_add(offset)?, length: len as u32, lkey: rkey };
        let mut extents = Vec::new();
        adapter.resolve(peer.pd, sge, right, &mut extents).ok()?;
        Some(extents)
    };
    let permitted = transfer.total == 0 || peer.attr.qp_access_flags & right != 0;
    let whole = transfer.done > 0 || resolve(0, transfer.total).is_some();
    let here = (permitted && whole).then(|| resolve(transfer.done, transfer.len)).flatten();
    here.ok_or_else(|| access_error(world, to))
}

/// The peer's memory was to be used in a way that is not allowed.
fn access_error(world: &mut World, to: QpRef) -> Status {
    world.adapters[to.adapter].async_event(AsyncEvent::QpAccessError(to.handle));
    super::error(world, to);
    Status::RemoteAccess
}

/// The peer cannot execute a request like this.
fn request_error(world: &mut World, to: QpRef) -> Status {
    world.adapters[to.adapter].async_event(AsyncEvent::QpRequestError(to.handle));
    super::error(world, to);
    Status::RemoteInvalidRequest
}

/// Reads.
fn read(world: &mut World, transfer: &Transfer) -> Progress {
    let to = transfer.to;
    if world.qp(to).is_none_or(|peer| peer.attr.max_dest_rd_atomic == 0) {
        return Progress::Done(request_error(world, to));
    }
    let source = match remote_memory(world, transfer, access::REMOTE_READ) {
        Ok(source) => source,
        Err(status) => return Progress::Done(status),
    };
    let (from_memory, to_memory) =
        (&world.adapters[to.adapter].memory, &world.adapters[transfer.from.adapter].memory);
    if copy((from_memory, &source), (to_memory, &transfer.local)).is_err() {
        return Progress::Done(Status::RemoteOperation);
    }
    if advance(world, transfer) {
        return Progress::More;
    }
    success(world, transfer)
}

/// Atomic operations. The old value goes to local memory in the byte order of the machine.
fn atomic(world: &mut World, transfer: &Transfer) -> Progress {
    let to = transfer.to;
    let SendBody::Atomic(body) = transfer.body else {
        return Progress::Done(Status::LocalOperation);
    };
    let depth = world.qp(to).map_or(0, |peer| peer.attr.max_dest_rd_atomic);
    if depth == 0 || body.remote_addr % u64::from(ATOMIC_BYTES) != 0 {
        return Progress::Done(request_error(world, to));
    }
    let target = match remote_memory(world, transfer, access::REMOTE_ATOMIC) {
        Ok(target) => target,
        Err(status) => return Progress::Done(status),
    };
    let AtomicBody { compare_add, swap, .. } = body;
    let memory = &world.adapters[to.adapter].memory;
    // Aligned, hence in one piece.
    let old = target.first().map(|extent| {
        memory.with_atomic(extent.addr, |word| match transfer.opcode {
            SendOpcode::AtomicFetchAndAdd => word.fetch_add(compare_add, Ordering::SeqCst),
            _ => word
                .compare_exchange(compare_add, swap, Ordering::SeqCst, Ordering::SeqCst)
                .unwrap_or_else(|old| old),
        })
    });
    let Some(Ok(old)) = old else {
        return Progress::Done(access_error(world, to));
    };
    let memory = &world.adapters[transfer.from.adapter].memory;
    let bytes = old.to_ne_bytes();
    if memory.write_extents(&transfer.local, &bytes).is_err() {
        return Progress::Done(Status::LocalProtection);
    }
    success(world, transfer)
}

/// Counts the bytes of this step. Returns whether more of the message is to come.
fn advance(world: &mut World, transfer: &Transfer) -> bool {
    let done = transfer.done + transfer.len;
    if let Some(request) = world.qp_mut(transfer.from).and_then(|qp| qp.request.as_mut()) {
        // At most MAX_MESSAGE.
        request.done = done as u32;
    }
    done < transfer.total
}

/// Moves both ends on to the next message.
fn success(world: &mut World, transfer: &Transfer) -> Progress {
    let next = |psn: u32| psn.wrapping_add(transfer.packets) & MASK_24;
    if let Some(peer) = world.qp_mut(transfer.to) {
        peer.attr.rq_psn = next(peer.attr.rq_psn);
    }
    if let Some(qp) = world.qp_mut(transfer.from) {
        qp.attr.sq_psn = next(qp.attr.sq_psn);
    }
    Progress::Done(Status::Success)
}
