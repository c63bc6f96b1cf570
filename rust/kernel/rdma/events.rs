// SPDX-License-Identifier: GPL-2.0

//! Events of objects, raised in interrupt context.

use crate::{
    bindings,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        LockClassKey,
        SpinLockIrq, //
    },
};
use core::ptr::{
    null_mut,
    NonNull, //
};

/// Where the events of one object go.
///
/// A driver keeps it in a table and finds it there when the hardware raises an event, which may be
/// at any time, also while the object is being destroyed. It does not keep the object alive; once
/// the object was destroyed, events are dropped.
///
/// The consumer is called with a lock held, so its calls for one object are serialised and have
/// ended when the object goes away. The consumer may poll and arm a completion queue from inside of
/// its handler: no callback of an object, except those that create and destroy it, takes the lock.
/// For the same reason events must not be raised from inside of a callback, which
/// Documentation/infiniband/core_locking.rst forbids anyway.
///
/// # Invariants
///
/// While `target` is `Some`, it points to a live object, whose C structure the core has filled.
#[pin_data]
pub struct EventSink<T> {
    #[pin]
    target: SpinLockIrq<Option<NonNull<T>>>,
    /// Same as `target`, to be read without the lock; never dereferenced.
    object: Atomic<*mut T>,
}

// SAFETY: The object that is pointed to may be used from any thread, and the pointer is protected
// by the lock.
unsafe impl<T> Send for EventSink<T> {}

// SAFETY: As above.
unsafe impl<T> Sync for EventSink<T> {}

impl<T> EventSink<T> {
    /// Makes a sink for an object.
    ///
    /// # Safety
    ///
    /// `object` must point to an object that was filled by the core, and [`disarm`](Self::disarm)
    /// must be called before it goes away.
    pub(super) unsafe fn new(
        object: NonNull<T>,
        class: Pin<&'static LockClassKey>,
    ) -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                // INVARIANT: By the requirement.
                target <- SpinLockIrq::new(Some(object), c"rdma::EventSink::target", class),
                object: Atomic::new(object.as_ptr()),
            }),
            GFP_KERNEL,
        )
    }

    /// Drops all later events and waits for the one that is being delivered.
    pub(super) fn disarm(&self) {
        self.object.store(null_mut(), Relaxed);
        *self.target.lock() = None;
    }

    /// Returns the object, or null if it is being destroyed; not to be dereferenced.
    #[inline]
    pub(super) fn object(&self) -> *mut T {
        self.object.load(Relaxed)
    }

    /// Calls `f` with the object, unless it is gone.
    ///
    /// The object stays alive meanwhile.
    #[inline]
    fn with_target(&self, f: impl FnOnce(NonNull<T>)) {
        let target = self.target.lock();

        if let Some(object) = *target {
            f(object);
        }
    }
}

/// Event of a completion queue.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CqEvent {
    /// It overran or broke otherwise.
    Error,
}

/// Event of a queue pair.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum QpEvent {
    /// It failed.
    Fatal,
    /// The peer made an invalid request.
    RequestError,
    /// The peer was refused access.
    AccessError,
    /// The first packet arrived before the queue pair was ready to send.
    CommEstablished,
    /// The send queue is drained.
    SqDrained,
    /// The alternate path is in use now.
    PathMigrated,
    /// Migration to the alternate path failed.
    PathMigrationError,
    /// No work is left from the shared receive queue.
    LastWqeReached,
}

/// Event of a shared receive queue.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SrqEvent {
    /// It failed.
    Error,
    /// Fewer requests than the limit are left.
    LimitReached,
}

/// Where the events of a completion queue go.
pub type CqEvents = EventSink<bindings::ib_cq>;

/// Where the events of a queue pair go.
pub type QpEvents = EventSink<bindings::ib_qp>;

/// Where the events of a shared receive queue go.
pub type SrqEvents = EventSink<bindings::ib_srq>;

impl EventSink<bindings::ib_cq> {
    /// Tells the consumer that there may be completions.
    ///
    /// May be called in any context, except from inside of a callback.
    #[inline]
    pub fn completion(&self) {
        self.with_target(|cq| {
            let cq = cq.as_ptr();
            // SAFETY: The completion queue is alive. A kernel consumer sets the handler after the
            // queue was created (__ib_alloc_cq() in drivers/infiniband/core/cq.c), so it is read
            // as C does: in one access that the compiler cannot repeat.
            let handler = unsafe { (&raw const (*cq).comp_handler).read_volatile() };

            if let Some(handler) = handler {
                // SAFETY: As above; the context belongs to the handler.
                unsafe { handler(cq, (*cq).cq_context) };
            }
        });
    }

    /// Tells the consumer about another event.
    ///
    /// May be called in any context, except from inside of a callback.
    #[inline]
    pub fn event(&self, event: CqEvent) {
        self.with_target(|cq| {
            let cq = cq.as_ptr();
            let mut raw: bindings::ib_event = pin_init::zeroed();

            // SAFETY: The completion queue is alive, and the core sets its device first.
            raw.device = unsafe { (*cq).device };
            raw.element.cq = cq;
            raw.event = match event {
                CqEvent::Error => bindings::ib_event_type_IB_EVENT_CQ_ERR,
            };

            // SAFETY: The completion queue is alive.
            if let Some(handler) = unsafe { (*cq).event_handler } {
                // SAFETY: As above; the context belongs to the handler.
                unsafe { handler(&raw mut raw, (*cq).cq_context) };
            }
        });
    }
}

impl EventSink<bindings::ib_qp> {
    /// Tells the consumer about an event.
    ///
    /// May be called in any context, except from inside of a callback.
    #[inline]
    pub fn event(&self, event: QpEvent) {
        self.with_target(|qp| {
            let qp = qp.as_ptr();
            let mut raw: bindings::ib_event = pin_init::zeroed();

            // SAFETY: The queue pair is alive, and the core sets its device first.
            raw.device = unsafe { (*qp).device };
            raw.element.qp = qp;
            raw.event = match event {
                QpEvent::Fatal => bindings::ib_event_type_IB_EVENT_QP_FATAL,
                QpEvent::RequestError => bindings::ib_event_type_IB_EVENT_QP_REQ_ERR,
                QpEvent::AccessError => bindings::ib_event_type_IB_EVENT_QP_ACCESS_ERR,
                QpEvent::CommEstablished => bindings::ib_event_type_IB_EVENT_COMM_EST,
                QpEvent::SqDrained => bindings::ib_event_type_IB_EVENT_SQ_DRAINED,
                QpEvent::PathMigrated => bindings::ib_event_type_IB_EVENT_PATH_MIG,
                QpEvent::PathMigrationError => bindings::ib_event_type_IB_EVENT_PATH_MIG_ERR,
                QpEvent::LastWqeReached => bindings::ib_event_type_IB_EVENT_QP_LAST_WQE_REACHED,
            };

            // SAFETY: The queue pair is alive.
            if let Some(handler) = unsafe { (*qp).event_handler } {
                // SAFETY: As above; the context belongs to the handler.
                unsafe { handler(&raw mut raw, (*qp).qp_context) };
            }
        });
    }
}

impl EventSink<bindings::ib_srq> {
    /// Tells the consumer about an event.
    ///
    /// May be called in any context, except from inside of a callback.
    #[inline]
    pub fn event(&self, event: SrqEvent) {
        self.with_target(|srq| {
            let srq = srq.as_ptr();
            let mut raw: bindings::ib_event = pin_init::zeroed();

            // SAFETY: The queue is alive, and the core sets its device first.
            raw.device = unsafe { (*srq).device };
            raw.element.srq = srq;
            raw.event = match event {
                SrqEvent::Error => bindings::ib_event_type_IB_EVENT_SRQ_ERR,
                SrqEvent::LimitReached => bindings::ib_event_type_IB_EVENT_SRQ_LIMIT_REACHED,
            };

            // SAFETY: The queue is alive.
            if let Some(handler) = unsafe { (*srq).event_handler } {
                // SAFETY: As above; the context belongs to the handler.
                unsafe { handler(&raw mut raw, (*srq).srq_context) };
            }
        });
    }
}
