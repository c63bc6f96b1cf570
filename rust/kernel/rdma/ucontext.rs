// SPDX-License-Identifier: GPL-2.0

//! Contexts of user processes.

use super::{
    device::{
        Ctx,
        Device, //
    },
    mmap::UserMmap,
    udata::Udata,
    Driver, //
};
use crate::{
    bindings,
    prelude::*,
    types::Opaque, //
};

/// The driver's part of a user context.
#[vtable]
pub trait UserContext: Sized + Send + Sync + 'static {
    /// The driver.
    type Driver: Driver<Ucontext = Self>;

    /// Creates a context.
    fn create(ctx: &Ctx<'_, Self::Driver>, udata: Option<&Udata<'_>>) -> impl PinInit<Self, Error>;

    /// Answers the user-space driver, once the context was created.
    ///
    /// If it fails, the context is destroyed again.
    fn respond(
        _ctx: &Ctx<'_, Self::Driver>,
        _this: &Ucontext<Self::Driver>,
        udata: &Udata<'_>,
    ) -> Result {
        udata.respond_empty()
    }

    /// Maps memory of the device into the process.
    fn mmap(
        ctx: &Ctx<'_, Self::Driver>,
        this: &Ucontext<Self::Driver>,
        area: UserMmap<'_>,
    ) -> Result;

    /// Destroys the context; all objects made through it are gone already.
    ///
    /// It is dropped afterwards.
    fn destroy(ctx: &Ctx<'_, Self::Driver>, this: &Ucontext<Self::Driver>);
}

/// A user context.
///
/// It dereferences to the driver's part.
#[repr(C)]
pub struct Ucontext<D: Driver> {
    ib: Opaque<bindings::ib_ucontext>,
    data: D::Ucontext,
}

core_object!(Ucontext, ib_ucontext, Ucontext);

impl<D: Driver> Ucontext<D> {
    /// Creates the driver's part of a context.
    ///
    /// # Safety
    ///
    /// To be called by the `alloc_ucontext` callback with its arguments.
    pub(super) unsafe fn create(
        ctx: &Ctx<'_, D>,
        raw: *mut bindings::ib_ucontext,
        udata: *mut bindings::ib_udata,
    ) -> Result {
        // SAFETY: By the requirement.
        let udata = unsafe { Udata::from_raw(udata) };
        let this = raw.cast::<Self>();

        // SAFETY: `SIZE` bytes are reserved (`size_ib_ucontext`). The memory does not move until
        // the core frees it, which it does if this fails or after `dealloc_ucontext`.
        unsafe {
            pin_init::raw_try_init(
                &raw mut (*this).data,
                D::Ucontext::create(ctx, udata.as_ref()),
            )
        }?;

        if let Some(udata) = &udata {
            // SAFETY: The context was initialised above.
            if let Err(e) = D::Ucontext::respond(ctx, unsafe { Self::from_raw(raw) }, udata) {
                // SAFETY: As above; the core does not know it yet.
                unsafe { Self::destroy(ctx, raw) };
                return Err(e);
            }
        }
        Ok(())
    }

    /// Destroys the driver's part of a context.
    ///
    /// # Safety
    ///
    /// `raw` must be a context that was created and that nobody uses any more.
    pub(super) unsafe fn destroy(ctx: &Ctx<'_, D>, raw: *mut bindings::ib_ucontext) {
        // SAFETY: By the requirement.
        D::Ucontext::destroy(ctx, unsafe { Self::from_raw(raw) });
        // SAFETY: By the requirement; it is not used after this.
        unsafe { core::ptr::drop_in_place(&raw mut (*raw.cast::<Self>()).data) };
    }
}
