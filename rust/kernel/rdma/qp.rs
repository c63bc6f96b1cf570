// SPDX-License-Identifier: GPL-2.0

//! Queue pairs.

use super::{
    cq::Cq,
    device::{
        Ctx,
        Device, //
    },
    enums::{
        QpState,
        QpType, //
    },
    events::{
        EventSink,
        QpEvents, //
    },
    flags::QpAttrMask,
    pd::Pd,
    qp_attr::{
        QpAttr,
        QpCap,
        QpInitAttr, //
    },
    srq::Srq,
    ucontext::Ucontext,
    udata::Udata,
    wr::{
        RecvWrs,
        SendWrs, //
    },
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

/// The driver's part of a queue pair.
#[vtable]
pub trait QueuePair: Sized + Send + Sync + 'static {
    /// The driver.
    type Driver: Driver<Qp = Self>;

    /// Creates a queue pair; `udata` is that of a user process, if it is for one.
    fn create(
        ctx: &Ctx<'_, Self::Driver>,
        init: &mut QpInit<'_, Self::Driver>,
        udata: Option<&Udata<'_>>,
    ) -> impl PinInit<Self, Error>;

    /// Answers the user-space driver, once the queue pair was created.
    ///
    /// If it fails, the queue pair is destroyed again.
    fn respond(
        _ctx: &Ctx<'_, Self::Driver>,
        _this: &Qp<Self::Driver>,
        udata: &Udata<'_>,
    ) -> Result {
        udata.respond_empty()
    }

    /// Changes attributes of the queue pair, its state above all.
    ///
    /// `attr` holds a value for each attribute in `mask`. Bits of `mask` that the driver does not
    /// know must be refused with `EOPNOTSUPP`, and the rules for transitions be checked, for
    /// example with [`modify_qp_is_ok`].
    fn modify(
        ctx: &Ctx<'_, Self::Driver>,
        this: &Qp<Self::Driver>,
        attr: &QpAttr,
        mask: QpAttrMask,
        udata: Option<&Udata<'_>>,
    ) -> Result;

    /// Returns the attributes of the queue pair.
    ///
    /// Those in `mask` are wanted, others may be answered. What is `None` in the answer reads as
    /// zero.
    fn query(
        ctx: &Ctx<'_, Self::Driver>,
        this: &Qp<Self::Driver>,
        mask: QpAttrMask,
    ) -> Result<(QpAttr, QpInitAttr)>;

    /// Posts send requests of a kernel consumer.
    ///
    /// When an error is returned, the request that was taken from `list` last is reported as the
    /// bad one; those before it were posted.
    ///
    /// Must not sleep; may be called in any context and from several CPUs at once.
    fn post_send(
        ctx: &Ctx<'_, Self::Driver>,
        this: &Qp<Self::Driver>,
        list: &mut SendWrs<'_, Self::Driver>,
    ) -> Result;

    /// Posts receive requests of a kernel consumer, under the same rules as
    /// [`post_send`](Self::post_send).
    fn post_recv(
        ctx: &Ctx<'_, Self::Driver>,
        this: &Qp<Self::Driver>,
        list: &mut RecvWrs<'_>,
    ) -> Result;

    /// Destroys the queue pair.
    ///
    /// Events are dropped after this, and the queue pair is dropped.
    fn destroy(ctx: &Ctx<'_, Self::Driver>, this: &Qp<Self::Driver>);
}

/// Returns whether the InfiniBand specification allows a transition with the given attributes.
#[inline]
pub fn modify_qp_is_ok(cur: QpState, next: QpState, ty: QpType, mask: QpAttrMask) -> bool {
    // SAFETY: The states and the type are in the range of the tables that the function uses. It
    // wants no locks and may be called in any context.
    unsafe { bindings::ib_modify_qp_is_ok(cur.into(), next.into(), ty.into(), mask.bits()) }
}

/// A queue pair.
///
/// It dereferences to the driver's part.
#[repr(C)]
pub struct Qp<D: Driver> {
    ib: Opaque<bindings::ib_qp>,
    events: Option<Arc<QpEvents>>,
    data: D::Qp,
}

core_object!(Qp, ib_qp, Qp);
core_object_with_events!(Qp, ib_qp, QpInit);

impl<D: Driver> Qp<D> {
    /// Returns the number of the queue pair.
    #[inline]
    pub fn num(&self) -> u32 {
        // SAFETY: The C structure is valid, and the number does not change any more.
        unsafe { (*self.as_raw()).qp_num }
    }

    /// Returns the completion queue of the send queue.
    #[inline]
    pub fn send_cq(&self) -> Option<&Cq<D>> {
        // SAFETY: The core keeps the completion queue alive for as long as the queue pair, and does
        // not change it.
        unsafe { Cq::from_raw_or_null((*self.as_raw()).send_cq) }
    }

    /// Returns the completion queue of the receive queue.
    #[inline]
    pub fn recv_cq(&self) -> Option<&Cq<D>> {
        // SAFETY: As for `send_cq`.
        unsafe { Cq::from_raw_or_null((*self.as_raw()).recv_cq) }
    }

    /// Returns the shared receive queue.
    #[inline]
    pub fn srq(&self) -> Option<&Srq<D>> {
        // SAFETY: As for `send_cq`.
        unsafe { Srq::from_raw_or_null((*self.as_raw()).srq) }
    }

    /// Creates the driver's part of a queue pair.
    ///
    /// # Safety
    ///
    /// To be called by the `create_qp` callback with its arguments.
    pub(super) unsafe fn create(
        ctx: &Ctx<'_, D>,
        raw: *mut bindings::ib_qp,
        attr: *mut bindings::ib_qp_init_attr,
        udata: *mut bindings::ib_udata,
    ) -> Result {
        // SAFETY: By the requirement.
        let udata = unsafe { Udata::from_raw(udata) };
        // SAFETY: The queue pair belongs to the device and is made in a user context.
        let ucontext = udata.as_ref().and_then(|udata| unsafe { udata.context() });
        // SAFETY: The core passes a valid structure that is only used by this call.
        let attr = unsafe { &mut *attr };
        let ty = attr.qp_type.try_into().map_err(|_| EOPNOTSUPP)?;
        // SAFETY: create_qp() in drivers/infiniband/core/verbs.c set the protection domain, which
        // lives longer than the queue pair.
        let pd = unsafe { Pd::from_raw_or_null((*raw).pd) }.ok_or(EINVAL)?;
        let init = QpInit {
            attr,
            ty,
            pd,
            ucontext,
            // SAFETY: The pointer is not null.
            raw: unsafe { NonNull::new_unchecked(raw) },
            events: None,
        };

        // SAFETY: These are the arguments of the callback.
        unsafe { Self::init(ctx, raw, init, udata) }
    }
}

/// A queue pair that is being created.
///
/// # Invariants
///
/// `raw` points to the queue pair, filled by the core, for the duration of the callback.
pub struct QpInit<'a, D: Driver> {
    attr: &'a mut bindings::ib_qp_init_attr,
    ty: QpType,
    pd: &'a Pd<D>,
    ucontext: Option<&'a Ucontext<D>>,
    raw: NonNull<bindings::ib_qp>,
    events: Option<Arc<QpEvents>>,
}

impl<'a, D: Driver> QpInit<'a, D> {
    /// Returns the transport service.
    #[inline]
    pub fn qp_type(&self) -> QpType {
        self.ty
    }

    /// Returns the creation flags; those that are not known must be refused with `EOPNOTSUPP`.
    #[inline]
    pub fn flags(&self) -> u32 {
        self.attr.create_flags
    }

    /// Returns the capacity that is wanted at least.
    #[inline]
    pub fn cap(&self) -> QpCap {
        QpCap::read(&self.attr.cap)
    }

    /// Returns whether all send requests are to be reported in the completion queue.
    #[inline]
    pub fn signal_all(&self) -> bool {
        self.attr.sq_sig_type == bindings::ib_sig_type_IB_SIGNAL_ALL_WR
    }

    /// Returns the port, which only matters for [`QpType::Gsi`].
    #[inline]
    pub fn port(&self) -> u32 {
        self.attr.port_num
    }

    /// Returns the protection domain.
    #[inline]
    pub fn pd(&self) -> &'a Pd<D> {
        self.pd
    }

    /// Returns the context of the user process, unless the queue pair is for a kernel consumer.
    #[inline]
    pub fn ucontext(&self) -> Option<&'a Ucontext<D>> {
        self.ucontext
    }

    /// Returns the completion queue of the send queue.
    #[inline]
    pub fn send_cq(&self) -> Option<&'a Cq<D>> {
        // SAFETY: The core keeps the completion queue alive for as long as the queue pair.
        unsafe { Cq::from_raw_or_null(self.attr.send_cq) }
    }

    /// Returns the completion queue of the receive queue.
    #[inline]
    pub fn recv_cq(&self) -> Option<&'a Cq<D>> {
        // SAFETY: As above.
        unsafe { Cq::from_raw_or_null(self.attr.recv_cq) }
    }

    /// Returns the shared receive queue.
    #[inline]
    pub fn srq(&self) -> Option<&'a Srq<D>> {
        // SAFETY: As above.
        unsafe { Srq::from_raw_or_null(self.attr.srq) }
    }

    /// Sets the capacity that the queue pair really has.
    #[inline]
    pub fn set_cap(&mut self, cap: &QpCap) {
        cap.write(&mut self.attr.cap);
    }

    /// Sets the number of the queue pair.
    #[inline]
    pub fn set_num(&mut self, num: u32) {
        // SAFETY: Valid by the type invariant; the core leaves the field to the driver.
        unsafe { (*self.raw.as_ptr()).qp_num = num };
    }
}
