// SPDX-License-Identifier: GPL-2.0

//! Completion queues.

use super::{
    device::{
        Ctx,
        Device, //
    },
    events::{
        CqEvents,
        EventSink, //
    },
    ucontext::Ucontext,
    udata::Udata,
    wc::WcSlots,
    Driver, //
};
use crate::{
    bindings,
    prelude::*,
    sync::{
        Arc,
        LockClassKey, //
    },
    types::Opaque, //
};
use core::ptr::NonNull;

/// The wish of a consumer to be told about completions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Notify {
    /// Only solicited completions and errors count.
    pub solicited_only: bool,
    /// The answer has to tell whether completions may have been missed.
    pub report_missed: bool,
}

/// The driver's part of a completion queue.
#[vtable]
pub trait CompletionQueue: Sized + Send + Sync + 'static {
    /// The driver.
    type Driver: Driver<Cq = Self>;

    /// Creates a completion queue; `udata` is that of a user process, if it is for one.
    fn create(
        ctx: &Ctx<'_, Self::Driver>,
        init: &mut CqInit<'_, Self::Driver>,
        udata: Option<&Udata<'_>>,
    ) -> impl PinInit<Self, Error>;

    /// Answers the user-space driver, once the completion queue was created.
    ///
    /// If it fails, the completion queue is destroyed again.
    fn respond(
        _ctx: &Ctx<'_, Self::Driver>,
        _this: &Cq<Self::Driver>,
        udata: &Udata<'_>,
    ) -> Result {
        udata.respond_empty()
    }

    /// Takes completions out of the queue, until it is empty or `out` is full.
    ///
    /// Must not sleep; may be called in any context and from several CPUs at once. Completions
    /// that were handed out are delivered even if an error is returned.
    fn poll(ctx: &Ctx<'_, Self::Driver>, this: &Cq<Self::Driver>, out: &mut WcSlots<'_>) -> Result;

    /// Arms the queue for one notification.
    ///
    /// If asked for, the answer tells whether completions that are in the queue already may not be
    /// notified; the consumer then polls again.
    ///
    /// Must not sleep; may be called in any context.
    fn request_notify(
        ctx: &Ctx<'_, Self::Driver>,
        this: &Cq<Self::Driver>,
        notify: Notify,
    ) -> Result<bool>;

    /// Destroys the completion queue; no queue pair uses it any more.
    ///
    /// Events are dropped after this, and the queue is dropped.
    fn destroy(ctx: &Ctx<'_, Self::Driver>, this: &Cq<Self::Driver>);
}

/// A completion queue.
///
/// It dereferences to the driver's part.
#[repr(C)]
pub struct Cq<D: Driver> {
    ib: Opaque<bindings::ib_cq>,
    events: Option<Arc<CqEvents>>,
    data: D::Cq,
}

core_object!(Cq, ib_cq, Cq);
core_object_with_events!(Cq, ib_cq, CqInit);

impl<D: Driver> Cq<D> {
    /// Returns the number of completions that the queue holds.
    #[inline]
    pub fn cqe(&self) -> u32 {
        // SAFETY: The C structure is valid, and the number does not change any more.
        unsafe { (*self.as_raw()).cqe }.unsigned_abs()
    }

    /// Creates the driver's part of a completion queue.
    ///
    /// # Safety
    ///
    /// To be called by the `create_cq` callback with its arguments.
    pub(super) unsafe fn create(
        ctx: &Ctx<'_, D>,
        raw: *mut bindings::ib_cq,
        attr: *const bindings::ib_cq_init_attr,
        bundle: *mut bindings::uverbs_attr_bundle,
    ) -> Result {
        // SAFETY: By the requirement.
        let udata = unsafe { Udata::from_bundle(bundle) };
        // SAFETY: The queue belongs to the device and is made in a user context.
        let ucontext = udata.as_ref().and_then(|udata| unsafe { udata.context() });
        let init = CqInit {
            // SAFETY: The core passes a valid structure.
            attr: unsafe { &*attr },
            ucontext,
            // SAFETY: The pointer is not null.
            raw: unsafe { NonNull::new_unchecked(raw) },
            events: None,
        };

        // SAFETY: These are the arguments of the callback.
        unsafe { Self::init(ctx, raw, init, udata) }
    }
}

/// A completion queue that is being created.
///
/// # Invariants
///
/// `raw` points to the queue, filled by the core, for the duration of the callback.
pub struct CqInit<'a, D: Driver> {
    attr: &'a bindings::ib_cq_init_attr,
    ucontext: Option<&'a Ucontext<D>>,
    raw: NonNull<bindings::ib_cq>,
    events: Option<Arc<CqEvents>>,
}

impl<'a, D: Driver> CqInit<'a, D> {
    /// Returns the number of completions that the queue has to hold, which is not zero.
    #[inline]
    pub fn cqe(&self) -> u32 {
        self.attr.cqe
    }

    /// Returns the completion vector.
    #[inline]
    pub fn comp_vector(&self) -> u32 {
        self.attr.comp_vector
    }

    /// Returns the creation flags; those that are not known must be refused with `EOPNOTSUPP`.
    #[inline]
    pub fn flags(&self) -> u32 {
        self.attr.flags
    }

    /// Returns the context of the user process, unless the queue is for a kernel consumer.
    #[inline]
    pub fn ucontext(&self) -> Option<&'a Ucontext<D>> {
        self.ucontext
    }

    /// Sets the number of completions that the queue really holds.
    ///
    /// # Errors
    ///
    /// `EINVAL` if it is too large for the core.
    #[inline]
    pub fn set_cqe(&mut self, cqe: u32) -> Result {
        let cqe = cqe.try_into()?;

        // SAFETY: Valid by the type invariant; the core leaves the field to the driver.
        unsafe { (*self.raw.as_ptr()).cqe = cqe };
        Ok(())
    }
}
