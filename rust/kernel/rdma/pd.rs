// SPDX-License-Identifier: GPL-2.0

//! Protection domains.

use super::{
    device::{
        Ctx,
        Device, //
    },
    ucontext::Ucontext,
    udata::Udata,
    Driver, //
};
use crate::{
    bindings,
    prelude::*,
    types::Opaque, //
};

/// The driver's part of a protection domain.
#[vtable]
pub trait ProtectionDomain: Sized + Send + Sync + 'static {
    /// The driver.
    type Driver: Driver<Pd = Self>;

    /// Creates a protection domain, for the user context `ucontext` or for a kernel consumer.
    fn create(
        ctx: &Ctx<'_, Self::Driver>,
        ucontext: Option<&Ucontext<Self::Driver>>,
        udata: Option<&Udata<'_>>,
    ) -> impl PinInit<Self, Error>;

    /// Answers the user-space driver, once the protection domain was created.
    ///
    /// If it fails, the protection domain is destroyed again.
    fn respond(
        _ctx: &Ctx<'_, Self::Driver>,
        _this: &Pd<Self::Driver>,
        udata: &Udata<'_>,
    ) -> Result {
        udata.respond_empty()
    }

    /// Destroys the protection domain; all objects in it are gone already.
    ///
    /// It is dropped afterwards.
    fn destroy(ctx: &Ctx<'_, Self::Driver>, this: &Pd<Self::Driver>);
}

/// A protection domain.
///
/// It dereferences to the driver's part.
#[repr(C)]
pub struct Pd<D: Driver> {
    ib: Opaque<bindings::ib_pd>,
    data: D::Pd,
}

core_object!(Pd, ib_pd, Pd);

impl<D: Driver> Pd<D> {
    /// Creates the driver's part of a protection domain.
    ///
    /// # Safety
    ///
    /// To be called by the `alloc_pd` callback with its arguments.
    pub(super) unsafe fn create(
        ctx: &Ctx<'_, D>,
        raw: *mut bindings::ib_pd,
        udata: *mut bindings::ib_udata,
    ) -> Result {
        // SAFETY: By the requirement.
        let udata = unsafe { Udata::from_raw(udata) };
        // SAFETY: The protection domain belongs to the device and is made in a user context.
        let ucontext = udata.as_ref().and_then(|udata| unsafe { udata.context() });
        let this = raw.cast::<Self>();

        // SAFETY: `SIZE` bytes are reserved (`size_ib_pd`). The memory does not move until the core
        // frees it, which it does if this fails or after `dealloc_pd`.
        unsafe {
            pin_init::raw_try_init(
                &raw mut (*this).data,
                D::Pd::create(ctx, ucontext, udata.as_ref()),
            )
        }?;

        if let Some(udata) = &udata {
            // SAFETY: The protection domain was initialised above.
            if let Err(e) = D::Pd::respond(ctx, unsafe { Self::from_raw(raw) }, udata) {
                // SAFETY: As above; the core does not know it yet.
                unsafe { Self::destroy(ctx, raw) };
                return Err(e);
            }
        }
        Ok(())
    }

    /// Destroys the driver's part of a protection domain.
    ///
    /// # Safety
    ///
    /// `raw` must be a protection domain that was created and that nobody uses any more.
    pub(super) unsafe fn destroy(ctx: &Ctx<'_, D>, raw: *mut bindings::ib_pd) {
        // SAFETY: By the requirement.
        D::Pd::destroy(ctx, unsafe { Self::from_raw(raw) });
        // SAFETY: By the requirement; it is not used after this.
        unsafe { core::ptr::drop_in_place(&raw mut (*raw.cast::<Self>()).data) };
    }
}
