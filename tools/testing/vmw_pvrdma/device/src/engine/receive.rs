// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Receive requests: where a message gets its buffer from.

use crate::abi::cqe::Status;
use crate::abi::{access, wqe::Sge};
use crate::adapter::Adapter;
use crate::events::AsyncEvent;
use crate::memory::Extent;
use crate::request::{part, total_length, RecvWqe};
use crate::ring::RingError;

/// Makes sure that the queue pair has a receive request for a message. Returns false if there is
/// none to have.
pub(super) fn claim(adapter: &mut Adapter, handle: u32) -> Result<bool, RingError> {
    let Some(qp) = adapter.objects.qps.get(handle) else {
        return Ok(false);
    };
    if qp.recv.is_some() {
        return Ok(true);
    }
    let wqe = match qp.srq {
        Some(srq) => pop_shared(adapter, srq)?,
        None => pop_own(adapter, handle)?,
    };
    let claimed = wqe.is_some();
    if let Some(qp) = adapter.objects.qps.get_mut(handle) {
        qp.recv = wqe;
    }
    Ok(claimed)
}

/// Takes the next request from the queue pair's own receive queue.
pub(super) fn pop_own(adapter: &mut Adapter, handle: u32) -> Result<Option<RecvWqe>, RingError> {
    let Some(qp) = adapter.objects.qps.get(handle) else {
        return Ok(None);
    };
    let Some(ring) = &qp.recv_ring else {
        return Ok(None);
    };
    let Some(offset) = ring.front(&adapter.memory, &qp.pages)? else {
        return Ok(None);
    };
    let wqe = RecvWqe::read(&adapter.memory, &qp.pages, offset, qp.attr.cap.max_recv_sge)?;
    ring.pop(&adapter.memory, &qp.pages)?;
    Ok(Some(wqe))
}

/// Takes the next request from a shared receive queue.
fn pop_shared(adapter: &mut Adapter, handle: u32) -> Result<Option<RecvWqe>, RingError> {
    let Some(srq) = adapter.objects.srqs.get_mut(handle) else {
        return Ok(None);
    };
    let Some(offset) = srq.ring.front(&adapter.memory, &srq.pages)? else {
        return Ok(None);
    };
    let wqe = RecvWqe::read(&adapter.memory, &srq.pages, offset, srq.attr.max_sge)?;
    srq.ring.pop(&adapter.memory, &srq.pages)?;
    // A limit warns once.
    if srq.ring.len(&adapter.memory, &srq.pages)? < srq.attr.srq_limit {
        srq.attr.srq_limit = 0;
        adapter.async_event(AsyncEvent::SrqLimitReached(handle));
    }
    Ok(Some(wqe))
}

/// Finds the memory for `len` bytes at `offset` of a message of `total` bytes.
pub(super) fn scatter(
    adapter: &Adapter,
    pd: u32,
    wqe: &RecvWqe,
    (offset, len, total): (u64, u64, u64),
) -> Result<Vec<Extent>, Status> {
    let sges = wqe.sges.as_deref().ok_or(Status::LocalOperation)?;
    if total > total_length(sges) {
        return Err(Status::LocalLength);
    }
    resolve(adapter, pd, &part(sges, offset, len), access::LOCAL_WRITE)
}

/// Finds the memory behind a list.
pub(super) fn resolve(
    adapter: &Adapter,
    pd: u32,
    sges: &[Sge],
    rights: u32,
) -> Result<Vec<Extent>, Status> {
    let mut extents = Vec::new();
    for sge in sges {
        adapter.resolve(pd, *sge, rights, &mut extents).map_err(|_| Status::LocalProtection)?;
    }
    Ok(extents)
}
