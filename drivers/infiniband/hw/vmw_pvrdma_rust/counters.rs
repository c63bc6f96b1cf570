// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! Counts of what happened, for the statistics of the device.

#![forbid(unsafe_code)]

use kernel::sync::atomic::{
    Atomic,
    Relaxed, //
};

/// A count that any context may raise.
pub(crate) struct Counter(Atomic<u64>);

impl Counter {
    /// Nothing has happened yet.
    pub(crate) const fn new() -> Self {
        Self(Atomic::new(0))
    }

    /// Counts one more.
    pub(crate) fn inc(&self) {
        self.0.add(1, Relaxed);
    }

    /// Returns how often it happened.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}
