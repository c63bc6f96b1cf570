// SPDX-License-Identifier: GPL-2.0

//! The three classic sysfs attributes.

use super::{
    driver::Identity,
    Driver, //
};
use crate::{
    bindings,
    ffi::c_char,
    prelude::*, //
};
use core::marker::PhantomData;

/// The attribute group of a driver with an [`Identity`].
pub(super) struct Attributes<D: Driver>(PhantomData<D>);

impl<D: Driver> Attributes<D> {
    /// The group, or null if the driver has no identity.
    pub(super) const GROUP: *const bindings::attribute_group = match D::IDENTITY {
        Some(_) => Self::SOME_GROUP,
        None => core::ptr::null(),
    };

    const SOME_GROUP: &'static bindings::attribute_group = &bindings::attribute_group {
        __bindgen_anon_2: bindings::attribute_group__bindgen_ty_2 {
            // The core only reads the attributes.
            attrs: (&raw const *Self::LIST).cast_mut().cast(),
        },
        ..pin_init::zeroed()
    };

    const LIST: &'static [*const bindings::device_attribute; 4] = &[
        Self::HW_REV,
        Self::HCA_TYPE,
        Self::BOARD_ID,
        core::ptr::null(),
    ];

    const HW_REV: &'static bindings::device_attribute =
        &Self::attribute(c"hw_rev", Self::show_hw_rev);

    const HCA_TYPE: &'static bindings::device_attribute =
        &Self::attribute(c"hca_type", Self::show_hca_type);

    const BOARD_ID: &'static bindings::device_attribute =
        &Self::attribute(c"board_id", Self::show_board_id);

    /// Makes a read-only attribute.
    #[allow(
        clippy::needless_update,
        reason = "`attribute` has more members with lockdep"
    )]
    const fn attribute(name: &'static CStr, show: Show) -> bindings::device_attribute {
        bindings::device_attribute {
            attr: bindings::attribute {
                name: crate::str::as_char_ptr_in_const_context(name),
                mode: 0o444,
                ..pin_init::zeroed()
            },
            __bindgen_anon_1: bindings::device_attribute__bindgen_ty_1 { show: Some(show) },
            ..pin_init::zeroed()
        }
    }

    /// Writes a line.
    ///
    /// # Safety
    ///
    /// `buf` must be the buffer of the `show` callback that runs.
    unsafe fn emit(buf: *mut c_char, value: impl FnOnce(Identity) -> &'static CStr) -> isize {
        let Some(identity) = D::IDENTITY else {
            return 0;
        };
        // SAFETY: By the requirement; the format fits the argument, which is a C string.
        let len = unsafe {
            bindings::sysfs_emit(buf, c"%s\n".as_char_ptr(), value(identity).as_char_ptr())
        };

        // CAST: At most a page.
        len as isize
    }

    /// # Safety
    ///
    /// To be called by sysfs to show the attribute.
    unsafe extern "C" fn show_hw_rev(
        _dev: *mut bindings::device,
        _attr: *mut bindings::device_attribute,
        buf: *mut c_char,
    ) -> isize {
        // SAFETY: sysfs passes its buffer.
        unsafe { Self::emit(buf, |identity| identity.hw_rev) }
    }

    /// # Safety
    ///
    /// To be called by sysfs to show the attribute.
    unsafe extern "C" fn show_hca_type(
        _dev: *mut bindings::device,
        _attr: *mut bindings::device_attribute,
        buf: *mut c_char,
    ) -> isize {
        // SAFETY: sysfs passes its buffer.
        unsafe { Self::emit(buf, |identity| identity.hca_type) }
    }

    /// # Safety
    ///
    /// To be called by sysfs to show the attribute.
    unsafe extern "C" fn show_board_id(
        _dev: *mut bindings::device,
        _attr: *mut bindings::device_attribute,
        buf: *mut c_char,
    ) -> isize {
        // SAFETY: sysfs passes its buffer.
        unsafe { Self::emit(buf, |identity| identity.board_id) }
    }
}

/// The callback of an attribute that is read.
type Show = unsafe extern "C" fn(
    *mut bindings::device,
    *mut bindings::device_attribute,
    *mut c_char,
) -> isize;
