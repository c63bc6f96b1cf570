// SPDX-License-Identifier: GPL-2.0

//! Position of a PCI function.

use super::Device;
use crate::bindings;

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
}
