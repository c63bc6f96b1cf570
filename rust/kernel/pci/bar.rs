// SPDX-License-Identifier: GPL-2.0

//! Kind of a PCI BAR.

use super::Device;
use crate::bindings;

impl Device {
    /// Returns whether a BAR is one of memory, not of I/O ports.
    #[inline]
    pub fn bar_is_memory(&self, bar: u32) -> bool {
        // CAST: The kernel runs on machines where `usize` is at least 32 bits wide.
        let bar = bar as usize;

        // SAFETY: Valid by the type invariant; the flags do not change while the device is there.
        let resources = unsafe { &raw const (*self.as_raw()).resource };
        // SAFETY: As above.
        let flags = unsafe { &*resources }.get(bar).map_or(0, |r| r.flags);

        flags & bindings::IORESOURCE_MEM as usize != 0
    }
}
