// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Flushing: what is posted to a failed queue completes without being executed.

use super::{completion, receive, take_up};
use crate::abi::cqe::Status;
use crate::fabric::World;
use crate::schedule::QpRef;

/// Requests that one step flushes at most.
const STEP_REQUESTS: usize = 64;

/// Flushes both queues.
pub(super) fn both_queues(world: &mut World, qp_ref: QpRef) {
    for _ in 0..STEP_REQUESTS {
        if !flush_send(world, qp_ref) && !flush_recv(world, qp_ref) {
            return;
        }
    }
    world.schedule.ready(qp_ref);
}

/// Flushes the send queue only.
pub(super) fn send_queue(world: &mut World, qp_ref: QpRef) {
    for _ in 0..STEP_REQUESTS {
        if !flush_send(world, qp_ref) {
            return;
        }
    }
    world.schedule.ready(qp_ref);
}

/// Flushes a send request. Returns false if there is none, or the queue is of no use.
fn flush_send(world: &mut World, qp_ref: QpRef) -> bool {
    if !matches!(take_up(world, qp_ref), Ok(true)) {
        return false;
    }
    let adapter = &mut world.adapters[qp_ref.adapter];
    let Some(qp) = adapter.objects.qps.get_mut(qp_ref.handle) else {
        return false;
    };
    let Some(request) = qp.request.take() else {
        return false;
    };
    if qp.send_ring.pop(&adapter.memory, &qp.pages).is_err() {
        return false;
    }
    let cq = qp.send_cq;
    let cqe = completion::of_send(qp_ref.handle, &request, Status::Flushed);
    completion::write(world, qp_ref, cq, cqe, true)
}

/// Flushes a receive request. Those of a shared queue are not the queue pair's, except the one
/// that it has taken already.
fn flush_recv(world: &mut World, qp_ref: QpRef) -> bool {
    let Some(qp) = world.qp_mut(qp_ref) else {
        return false;
    };
    let cq = qp.recv_cq;
    let wqe = match (qp.recv.take(), qp.srq) {
        (Some(wqe), _) => wqe,
        (None, Some(_)) => return false,
        (None, None) => {
            match receive::pop_own(&mut world.adapters[qp_ref.adapter], qp_ref.handle) {
                Ok(Some(wqe)) => wqe,
                Ok(None) | Err(_) => return false,
            }
        }
    };
    let cqe = completion::of_recv(qp_ref.handle, &wqe, Status::Flushed);
    completion::write(world, qp_ref, cq, cqe, true)
}
