// SPDX-License-Identifier: GPL-2.0

//! Shared receive queues.

use super::{
    device::{
        Ctx,
        Device, //
    },
    enums::SrqType,
    events::{
        EventSink,
        SrqEvents, //
    },
    flags::SrqAttrMask,
    pd::Pd,
    ucontext::Ucontext,
    udata::Udata,
    wr::RecvWrs,
    Driver, //
};
use crate::{
    bindings,
    error::VTABLE_DEFAULT_ERROR,
    prelude::*,
    sync::{
        Arc,
        LockClassKey, //
    },
    types::Opaque, //
};
use core::ptr::NonNull;

/// Attributes of a shared receive queue.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SrqAttr {
    /// Requests outstanding.
    pub max_wr: u32,
    /// Segments of a request.
    pub max_sge: u32,
    /// Fill level at which an event is raised, 0 for none.
    pub limit: u32,
}

impl SrqAttr {
    /// Reads the attributes.
    #[inline]
    pub(super) fn read(raw: &bindings::ib_srq_attr) -> Self {
        Self {
            max_wr: raw.max_wr,
            max_sge: raw.max_sge,
            limit: raw.srq_limit,
        }
    }

    /// Writes the attributes.
    #[inline]
    pub(super) fn write(&self, raw: &mut bindings::ib_srq_attr) {
        raw.max_wr = self.max_wr;
        raw.max_sge = self.max_sge;
        raw.srq_limit = self.limit;
    }
}

/// The driver's part of a shared receive queue.
#[vtable]
pub trait SharedReceiveQueue: Sized + Send + Sync + 'static {
    /// The driver.
    type Driver: Driver<Srq = Self>;

    /// Creates a shared receive queue; `udata` is that of a user process, if it is for one.
    fn create(
        ctx: &Ctx<'_, Self::Driver>,
        init: &mut SrqInit<'_, Self::Driver>,
        udata: Option<&Udata<'_>>,
    ) -> impl PinInit<Self, Error>;

    /// Answers the user-space driver, once the queue was created.
    ///
    /// If it fails, the queue is destroyed again.
    fn respond(
        _ctx: &Ctx<'_, Self::Driver>,
        _this: &Srq<Self::Driver>,
        udata: &Udata<'_>,
    ) -> Result {
        udata.respond_empty()
    }

    /// Changes the attributes that `mask` names.
    ///
    /// Bits of `mask` that the driver does not know must be refused.
    fn modify(
        ctx: &Ctx<'_, Self::Driver>,
        this: &Srq<Self::Driver>,
        attr: &SrqAttr,
        mask: SrqAttrMask,
        udata: Option<&Udata<'_>>,
    ) -> Result;

    /// Returns the attributes.
    fn query(ctx: &Ctx<'_, Self::Driver>, this: &Srq<Self::Driver>) -> Result<SrqAttr>;

    /// Posts receive requests of a kernel consumer, under the rules of
    /// [`QueuePair::post_send`](super::QueuePair::post_send).
    ///
    /// A driver without this method must refuse to create queues for kernel consumers.
    fn post_recv(
        _ctx: &Ctx<'_, Self::Driver>,
        _this: &Srq<Self::Driver>,
        _list: &mut RecvWrs<'_>,
    ) -> Result {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Destroys the queue; no queue pair uses it any more.
    ///
    /// Events are dropped after this, and the queue is dropped.
    fn destroy(ctx: &Ctx<'_, Self::Driver>, this: &Srq<Self::Driver>);
}

/// A shared receive queue.
///
/// It dereferences to the driver's part.
#[repr(C)]
pub struct Srq<D: Driver> {
    ib: Opaque<bindings::ib_srq>,
    events: Option<Arc<SrqEvents>>,
    data: D::Srq,
}

core_object!(Srq, ib_srq, Srq);
core_object_with_events!(Srq, ib_srq, SrqInit);

impl<D: Driver> Srq<D> {
    /// Creates the driver's part of a shared receive queue.
    ///
    /// # Safety
    ///
    /// To be called by the `create_srq` callback with its arguments.
    pub(super) unsafe fn create(
        ctx: &Ctx<'_, D>,
        raw: *mut bindings::ib_srq,
        attr: *mut bindings::ib_srq_init_attr,
        udata: *mut bindings::ib_udata,
    ) -> Result {
        // SAFETY: By the requirement.
        let udata = unsafe { Udata::from_raw(udata) };
        // SAFETY: The queue belongs to the device and is made in a user context.
        let ucontext = udata.as_ref().and_then(|udata| unsafe { udata.context() });
        // SAFETY: The core passes a valid structure.
        let attr = unsafe { &*attr };
        let ty = attr.srq_type.try_into().map_err(|_| EOPNOTSUPP)?;
        let init = SrqInit {
            attr,
            ty,
            // SAFETY: ib_create_srq_user() in drivers/infiniband/core/verbs.c set the protection
            // domain, which lives longer than the queue.
            pd: unsafe { Pd::from_raw((*raw).pd) },
            ucontext,
            // SAFETY: The pointer is not null.
            raw: unsafe { NonNull::new_unchecked(raw) },
            events: None,
        };

        // SAFETY: These are the arguments of the callback.
        unsafe { Self::init(ctx, raw, init, udata) }
    }
}

/// A shared receive queue that is being created.
///
/// # Invariants
///
/// `raw` points to the queue, filled by the core, for the duration of the callback.
pub struct SrqInit<'a, D: Driver> {
    attr: &'a bindings::ib_srq_init_attr,
    ty: SrqType,
    pd: &'a Pd<D>,
    ucontext: Option<&'a Ucontext<D>>,
    raw: NonNull<bindings::ib_srq>,
    events: Option<Arc<SrqEvents>>,
}

impl<'a, D: Driver> SrqInit<'a, D> {
    /// Returns the kind of the queue.
    #[inline]
    pub fn srq_type(&self) -> SrqType {
        self.ty
    }

    /// Returns the attributes that are wanted at least.
    #[inline]
    pub fn attr(&self) -> SrqAttr {
        SrqAttr::read(&self.attr.attr)
    }

    /// Returns the protection domain.
    #[inline]
    pub fn pd(&self) -> &'a Pd<D> {
        self.pd
    }

    /// Returns the context of the user process, unless the queue is for a kernel consumer.
    #[inline]
    pub fn ucontext(&self) -> Option<&'a Ucontext<D>> {
        self.ucontext
    }
}
