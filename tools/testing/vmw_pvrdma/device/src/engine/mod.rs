// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The engine: takes requests from queues, moves data, writes completions.
//!
//! It works in steps. A step takes up one send request, or goes on with one, and moves a limited
//! number of bytes; a large message takes several. Between steps nothing is taken for granted:
//! queue pairs, keys and memory are looked up again.

use std::time::{Duration, Instant};

use crate::abi::cqe::{Opcode, Status};
use crate::abi::wqe::{send_flags, SendBody, SendOpcode};
use crate::events::AsyncEvent;
use crate::fabric::World;
use crate::qp_state::{QpState, QpType};
use crate::request::Request;
use crate::ring::RingError;
use crate::schedule::QpRef;
use crate::trace::Event;

mod completion;
mod flush;
mod local;
mod rc;
mod receive;
mod ud;

/// Bytes that one step moves at most.
const STEP_BYTES: u32 = 64 * 1024;

/// How the execution of a request stands after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// There is more to do.
    More,
    /// It has ended.
    Done(Status),
    /// The peer has no receive buffer; it asked to wait this long.
    NotReady(Duration),
    /// The peer does not answer.
    NoAnswer,
}

/// Ends the pause of a queue pair, if the time is right.
pub(crate) fn wake(world: &mut World, qp_ref: QpRef, now: Instant) {
    let Some(qp) = world.qp_mut(qp_ref) else {
        return;
    };
    if qp.wait.is_some_and(|until| until <= now) {
        qp.wait = None;
        world.schedule.ready(qp_ref);
    }
}

/// Does the next piece of work for a queue pair.
pub(crate) fn step(world: &mut World, qp_ref: QpRef, now: Instant) {
    let Some(qp) = world.qp(qp_ref) else {
        return;
    };
    if let Some(until) = world.adapters[qp_ref.adapter].deferred.stalled_until(now) {
        return pause(world, qp_ref, until);
    }
    match qp.state {
        QpState::Err => flush::both_queues(world, qp_ref),
        QpState::Sqe => flush::send_queue(world, qp_ref),
        _ if qp.may_send() && qp.wait.is_none() => send(world, qp_ref, now),
        _ => {}
    }
}

fn send(world: &mut World, qp_ref: QpRef, now: Instant) {
    match take_up(world, qp_ref) {
        Ok(true) => {}
        Ok(false) => return,
        Err(error) => {
            log::info!("QP {}: send queue: {error}", qp_ref.handle);
            return fatal(world, qp_ref);
        }
    }
    match execute(world, qp_ref) {
        Progress::More => {
            if let Some(request) = world.qp_mut(qp_ref).and_then(|qp| qp.request.as_mut()) {
                (request.timeouts, request.rnrs) = (0, 0);
            }
            world.schedule.ready(qp_ref);
        }
        Progress::Done(status) => finish(world, qp_ref, status),
        Progress::NotReady(delay) => not_ready(world, qp_ref, now, delay),
        Progress::NoAnswer => no_answer(world, qp_ref, now),
    }
}

/// Makes sure that a request is under way. Returns false if there is none.
fn take_up(world: &mut World, qp_ref: QpRef) -> Result<bool, RingError> {
    let adapter = &mut world.adapters[qp_ref.adapter];
    let Some(qp) = adapter.objects.qps.get_mut(qp_ref.handle) else {
        return Ok(false);
    };
    if qp.request.is_some() {
        return Ok(true);
    }
    let Some(offset) = qp.send_ring.front(&adapter.memory, &qp.pages)? else {
        return Ok(false);
    };
    let max_sge = qp.attr.cap.max_send_sge;
    let request = Request::read(&adapter.memory, &qp.pages, offset, max_sge, qp.kind)?;
    adapter.trace.emit(|| Event::Wqe {
        qp: qp_ref.handle,
        wr_id: request.wr_id,
        opcode: request.raw_opcode,
        send_flags: request.flags,
        ex: request.ex,
        body: request.body,
        sges: request.sges.as_deref().unwrap_or_default(),
    });
    qp.request = Some(request);
    Ok(true)
}

fn execute(world: &mut World, qp_ref: QpRef) -> Progress {
    let Some(qp) = world.qp(qp_ref) else {
        return Progress::Done(Status::Flushed);
    };
    let Some(request) = &qp.request else {
        return Progress::Done(Status::Flushed);
    };
    let invalid = Progress::Done(Status::LocalOperation);
    // Inline data would be where the gather list is: the capability is 0.
    if request.sges.is_none() || request.flags & send_flags::INLINE != 0 {
        return invalid;
    }
    let Some(opcode) = request.opcode else {
        return invalid;
    };
    let (kind, pd, key) = (qp.kind, qp.pd, request.ex);
    match (opcode, request.body) {
        (SendOpcode::LocalInv, _) => local::invalidate(world, qp_ref, pd, key),
        (_, SendBody::FastReg(body)) => local::register(world, qp_ref, pd, &body),
        _ => match kind {
            QpType::Rc => rc::execute(world, qp_ref, opcode),
            QpType::Ud | QpType::Gsi => ud::execute(world, qp_ref),
        },
    }
}

/// Ends the request under way.
fn finish(world: &mut World, qp_ref: QpRef, status: Status) {
    let adapter = &mut world.adapters[qp_ref.adapter];
    let Some(qp) = adapter.objects.qps.get_mut(qp_ref.handle) else {
        return;
    };
    let Some(request) = qp.request.take() else {
        return;
    };
    // The entry is free before its completion can be seen: who sees it may post at once.
    if let Err(error) = qp.send_ring.pop(&adapter.memory, &qp.pages) {
        log::info!("QP {}: send queue: {error}", qp_ref.handle);
        return fatal(world, qp_ref);
    }
    let (kind, cq) = (qp.kind, qp.send_cq);
    let report = qp.signal_all || request.flags & send_flags::SIGNALED != 0;
    if report || status != Status::Success {
        let cqe = completion::of_send(qp_ref.handle, &request, status);
        if !completion::write(world, qp_ref, cq, cqe, status != Status::Success) {
            return fatal(world, qp_ref);
        }
    }
    if status == Status::Success {
        drained(world, qp_ref);
        world.schedule.ready(qp_ref);
    } else {
        log::info!("QP {}: request {:#x} failed: {status:?}", qp_ref.handle, request.wr_id);
        match kind {
            QpType::Rc => error(world, qp_ref),
            QpType::Ud | QpType::Gsi => send_error(world, qp_ref),
        }
    }
}

/// Tells that the send queue has stopped, if it has and someone wants to know.
fn drained(world: &mut World, qp_ref: QpRef) {
    let adapter = &mut world.adapters[qp_ref.adapter];
    let Some(qp) = adapter.objects.qps.get_mut(qp_ref.handle) else {
        return;
    };
    if qp.state == QpState::Sqd && std::mem::take(&mut qp.notify_drained) {
        adapter.async_event(AsyncEvent::SendQueueDrained(qp_ref.handle));
    }
}

/// Moves a queue pair to the error state.
fn error(world: &mut World, qp_ref: QpRef) {
    world.adapters[qp_ref.adapter].fail_qp(qp_ref.handle, &mut world.schedule);
}

/// Moves a queue pair to the error state for a reason that no completion can tell.
fn fatal(world: &mut World, qp_ref: QpRef) {
    world.adapters[qp_ref.adapter].async_event(AsyncEvent::QpFatal(qp_ref.handle));
    error(world, qp_ref);
}

/// Stops the send queue of a datagram queue pair; it goes on to receive.
fn send_error(world: &mut World, qp_ref: QpRef) {
    if let Some(qp) = world.qp_mut(qp_ref).filter(|qp| qp.state != QpState::Err) {
        qp.state = QpState::Sqe;
    }
    world.schedule.ready(qp_ref);
}

fn not_ready(world: &mut World, qp_ref: QpRef, now: Instant, delay: Duration) {
    /// This retry count means to retry for ever.
    const FOREVER: u8 = 7;

    let Some(qp) = world.qp_mut(qp_ref) else {
        return;
    };
    let limit = qp.attr.rnr_retry;
    let Some(request) = &mut qp.request else {
        return;
    };
    if limit != FOREVER && request.rnrs >= limit {
        return finish(world, qp_ref, Status::RnrRetryExceeded);
    }
    request.rnrs = request.rnrs.saturating_add(1);
    pause(world, qp_ref, now + delay);
}

fn no_answer(world: &mut World, qp_ref: QpRef, now: Instant) {
    /// With timeout 0 the requester waits for ever. The fabric loses nothing, so that all it
    /// waits for is that the peer comes up; this is how often the engine looks.
    const LOOK: Duration = Duration::from_millis(10);

    let Some(qp) = world.qp_mut(qp_ref) else {
        return;
    };
    let (timeout, limit) = (qp.attr.timeout, qp.attr.retry_cnt);
    let Some(request) = &mut qp.request else {
        return;
    };
    if timeout == 0 {
        return pause(world, qp_ref, now + LOOK);
    }
    if request.timeouts > limit {
        return finish(world, qp_ref, Status::RetryExceeded);
    }
    request.timeouts += 1;
    pause(world, qp_ref, now + ack_timeout(timeout));
}

fn pause(world: &mut World, qp_ref: QpRef, until: Instant) {
    if let Some(qp) = world.qp_mut(qp_ref) {
        qp.wait = Some(until);
        world.schedule.at(until, qp_ref);
    }
}

/// Time to wait for an answer: 4.096 us times a power of two.
fn ack_timeout(encoded: u8) -> Duration {
    Duration::from_nanos(4096 << encoded)
}

/// Time that a receiver asks a sender to wait for a buffer.
fn rnr_delay(encoded: u8) -> Duration {
    /// In units of 10 us.
    const DELAYS: [u32; 32] = [
        65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024,
        1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
    ];
    10 * Duration::from_micros(DELAYS[usize::from(encoded % 32)].into())
}

/// The completion's operation.
fn completed(opcode: Option<SendOpcode>) -> Opcode {
    match opcode {
        Some(SendOpcode::RdmaWrite | SendOpcode::RdmaWriteWithImm) => Opcode::RdmaWrite,
        Some(SendOpcode::RdmaRead) => Opcode::RdmaRead,
        Some(SendOpcode::AtomicCmpAndSwp) => Opcode::CompSwap,
        Some(SendOpcode::AtomicFetchAndAdd) => Opcode::FetchAdd,
        Some(SendOpcode::LocalInv) => Opcode::LocalInv,
        Some(SendOpcode::FastRegMr) => Opcode::FastRegMr,
        Some(SendOpcode::Send | SendOpcode::SendWithImm | SendOpcode::SendWithInv) | None => {
            Opcode::Send
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_those_of_the_specification() {
        assert_eq!(rnr_delay(0), Duration::from_micros(655_360));
        assert_eq!(rnr_delay(1), Duration::from_micros(10));
        assert_eq!(rnr_delay(12), Duration::from_micros(640));
        assert_eq!(rnr_delay(31), Duration::from_micros(491_520));
        assert_eq!(ack_timeout(1), Duration::from_nanos(8192));
        assert_eq!(ack_timeout(14), Duration::from_nanos(67_108_864));
        assert_eq!(ack_timeout(31), Duration::from_nanos(4096 * (1 << 31)));
    }
}
