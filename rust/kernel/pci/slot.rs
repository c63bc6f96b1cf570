// SPDX-License-Identifier: GPL-2.0

//! Position of a PCI function.

use super::Device;
use crate::{
    bindings,
    sync::aref::ARef, //
};
use core::ptr::NonNull;

impl Device {
    /// Returns whether both are functions of the same multi-function device, or the same function.
    #[inline]
    pub fn same_slot(&self, other: &Self) -> bool {
        self.slot() == other.slot()
    }

    /// Returns the bus and the number of the device on it.
    #[inline]
    fn slot(&self) -> (*mut bindings::pci_bus, u32) {
        // SAFETY: Valid by the type invariant; the position does not change.
        let (bus, devfn) = unsafe { ((*self.as_raw()).bus, (*self.as_raw()).devfn) };

        (bus, devfn >> 3)
    }

    /// Returns the number of the function inside of its device.
    #[inline]
    pub fn function(&self) -> u32 {
        // SAFETY: Valid by the type invariant; the position does not change.
        (unsafe { (*self.as_raw()).devfn }) & 7
    }

    /// Returns another function of the same multi-function device, if there is one. May sleep.
    #[inline]
    pub fn sibling(&self, function: u32) -> Option<ARef<Self>> {
        let (bus, device) = self.slot();
        // SAFETY: The bus exists as long as the functions on it.
        let raw = unsafe { bindings::pci_get_slot(bus, (device << 3) | (function & 7)) };

        // SAFETY: `pci_get_slot()` in drivers/pci/search.c returns a counted reference or null, and
        // `Device` is a transparent wrapper.
        NonNull::new(raw).map(|raw| unsafe { ARef::from_raw(raw.cast()) })
    }
}
