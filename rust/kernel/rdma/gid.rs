// SPDX-License-Identifier: GPL-2.0

//! Global identifiers.

use super::enums::GidType;
use crate::{
    bindings,
    prelude::*, //
};
use core::marker::PhantomData;

/// A 128-bit global identifier, in network byte order.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Gid(pub [u8; 16]);

impl Gid {
    /// Takes the identifier out of its C form.
    #[inline]
    pub(super) fn from_raw(raw: &bindings::ib_gid) -> Self {
        // SAFETY: All members of the union are plain integers that fill it.
        Self(unsafe { raw.raw })
    }

    /// Returns whether this is a multicast address, of IPv6 or of IPv4 mapped into IPv6.
    #[inline]
    pub fn is_multicast(&self) -> bool {
        const MAPPED_V4: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

        self.0[0] == 0xff || (self.0[..12] == MAPPED_V4 && self.0[12] & 0xf0 == 0xe0)
    }
}

/// A 64-bit global identifier, in network byte order.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Guid(pub [u8; 8]);

impl Guid {
    /// Returns the identifier as a C `__be64`.
    #[inline]
    pub(super) fn to_raw(self) -> bindings::__be64 {
        u64::from_ne_bytes(self.0)
    }
}

/// An entry of the GID table of a RoCE port.
///
/// # Invariants
///
/// `raw` points to an entry that lives for `'a`, the members of which that are read here do not
/// change meanwhile.
pub struct GidEntry<'a> {
    raw: *const bindings::ib_gid_attr,
    _entry: PhantomData<&'a bindings::ib_gid_attr>,
}

impl GidEntry<'_> {
    /// Makes an entry of what the core passed.
    ///
    /// # Safety
    ///
    /// To be called by the `add_gid` and `del_gid` callbacks with their argument; the result must
    /// not outlive the callback.
    #[inline]
    pub(super) unsafe fn new(raw: *const bindings::ib_gid_attr) -> Self {
        // INVARIANT: As struct ib_device_ops in include/rdma/ib_verbs.h promises.
        Self {
            raw,
            _entry: PhantomData,
        }
    }

    /// Returns the identifier.
    #[inline]
    pub fn gid(&self) -> Gid {
        // SAFETY: By the type invariant.
        Gid::from_raw(unsafe { &(*self.raw).gid })
    }

    /// Returns the type of the entry.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the type is not known.
    #[inline]
    pub fn gid_type(&self) -> Result<GidType> {
        // SAFETY: By the type invariant.
        unsafe { (*self.raw).gid_type }.try_into()
    }

    /// Returns the index of the entry in the table.
    #[inline]
    pub fn index(&self) -> u32 {
        // SAFETY: By the type invariant.
        unsafe { (*self.raw).index }.into()
    }

    /// Returns the port whose table it is.
    #[inline]
    pub fn port(&self) -> u32 {
        // SAFETY: By the type invariant.
        unsafe { (*self.raw).port_num }
    }
}
