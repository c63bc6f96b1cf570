// SPDX-License-Identifier: GPL-2.0

//! Data that a user-space driver exchanges with its kernel driver.
//!
//! C header: [`include/rdma/uverbs_ioctl.h`](srctree/include/rdma/uverbs_ioctl.h)

use super::{
    ucontext::Ucontext,
    Driver, //
};
use crate::{
    bindings,
    error::to_result,
    prelude::*, //
};
use core::{
    marker::PhantomData,
    mem::offset_of,
    ptr::NonNull, //
};
use zerocopy::Immutable;

/// A structure that a user-space driver passes in.
pub trait Request: FromBytes + Sized {
    /// Number of bytes that even the oldest user-space driver passes.
    ///
    /// It ends behind the last mandatory field; what is missing behind it reads as zero.
    const MIN_LEN: usize = size_of::<Self>();
}

/// The driver data of a call from user space.
///
/// # Invariants
///
/// `raw` points to the `driver_udata` of the `uverbs_attr_bundle` of the call, which lives for
/// `'a`.
pub struct Udata<'a> {
    raw: NonNull<bindings::ib_udata>,
    _bundle: PhantomData<&'a bindings::uverbs_attr_bundle>,
}

/// The part of the C `struct uverbs_attr_bundle` that is of interest here, at its begin.
type BundleHead = bindings::uverbs_attr_bundle__bindgen_ty_1__bindgen_ty_1;

impl<'a> Udata<'a> {
    /// Makes driver data out of the C pointer; null stands for a call of a kernel consumer.
    ///
    /// # Safety
    ///
    /// `raw` must be null or what the core passed to the callback that runs, and `'a` must not be
    /// longer than that callback.
    #[inline]
    pub(super) unsafe fn from_raw(raw: *mut bindings::ib_udata) -> Option<Self> {
        // INVARIANT: All callers in drivers/infiniband/core pass the `driver_udata` of a bundle,
        // which rdma_udata_to_uverbs_attr_bundle() relies on in the same way.
        Some(Self {
            raw: NonNull::new(raw)?,
            _bundle: PhantomData,
        })
    }

    /// Makes driver data out of the bundle of the call, as [`from_raw`](Self::from_raw) does.
    ///
    /// # Safety
    ///
    /// As for [`from_raw`](Self::from_raw).
    #[inline]
    pub(super) unsafe fn from_bundle(bundle: *mut bindings::uverbs_attr_bundle) -> Option<Self> {
        if bundle.is_null() {
            return None;
        }
        // SAFETY: The bundle is valid by the requirement.
        let raw = unsafe { &raw mut (*bundle.cast::<BundleHead>()).driver_udata };
        // SAFETY: By the requirement.
        unsafe { Self::from_raw(raw) }
    }

    /// Returns the number of bytes that the user-space driver has room for in the answer.
    #[inline]
    pub fn out_len(&self) -> usize {
        // SAFETY: Valid by the type invariant.
        unsafe { (*self.raw.as_ptr()).outlen }
    }

    /// Reads the structure that the user-space driver passed.
    ///
    /// # Errors
    ///
    /// - `EINVAL` if fewer than [`Request::MIN_LEN`] bytes were passed.
    /// - `EOPNOTSUPP` if there are more bytes than the structure has and they are not zero.
    /// - `EFAULT` if the memory cannot be read.
    pub fn read<T: Request>(&self) -> Result<T> {
        let mut value = T::new_zeroed();

        // SAFETY: `value` has room for the size given, and any bytes are valid for it.
        to_result(unsafe {
            bindings::_ib_copy_validate_udata_in(
                self.raw.as_ptr(),
                (&raw mut value).cast(),
                size_of::<T>(),
                T::MIN_LEN,
            )
        })?;
        Ok(value)
    }

    /// Answers with a structure.
    ///
    /// A user-space driver that has less room gets the begin of it; what it has more is filled with
    /// zeros.
    ///
    /// # Errors
    ///
    /// `EFAULT` if the memory cannot be written.
    pub fn respond<T: IntoBytes + Immutable>(&self, value: &T) -> Result {
        let bytes = value.as_bytes();

        // SAFETY: The bytes are initialised and of the length given.
        to_result(unsafe {
            bindings::_ib_respond_udata(self.raw.as_ptr(), bytes.as_ptr().cast(), bytes.len())
        })
    }

    /// Answers with zeros only.
    ///
    /// # Errors
    ///
    /// `EFAULT` if the memory cannot be written.
    #[inline]
    pub fn respond_empty(&self) -> Result {
        // SAFETY: No byte is read.
        to_result(unsafe { bindings::_ib_respond_udata(self.raw.as_ptr(), core::ptr::null(), 0) })
    }

    /// Refuses a call that carries driver data in either direction, apart from zeros.
    ///
    /// # Errors
    ///
    /// - `EOPNOTSUPP` if driver data were passed that are not zero.
    /// - `EFAULT` if the memory cannot be accessed.
    #[inline]
    pub(super) fn no_io(&self) -> Result {
        // SAFETY: Valid by the type invariant.
        if unsafe { (*self.raw.as_ptr()).inlen } > 0 {
            // SAFETY: No byte is stored.
            to_result(unsafe {
                bindings::_ib_copy_validate_udata_in(self.raw.as_ptr(), core::ptr::null_mut(), 0, 0)
            })?;
        }
        self.respond_empty()
    }

    /// Returns the context of the calling process.
    ///
    /// # Safety
    ///
    /// The call must be about an object of a device of `D`, and the context must exist already.
    #[inline]
    pub(super) unsafe fn context<D: Driver>(&self) -> Option<&'a Ucontext<D>> {
        // SAFETY: By the type invariant `raw` is inside of a bundle.
        let bundle = unsafe { self.raw.byte_sub(offset_of!(BundleHead, driver_udata)) };
        // SAFETY: As above.
        let context = unsafe { (*bundle.cast::<BundleHead>().as_ptr()).context };

        // SAFETY: The core set the context to that of the device of the object. It outlives the
        // call.
        unsafe { Ucontext::from_raw_or_null(context) }
    }
}
