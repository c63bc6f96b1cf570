// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! The two rings through which the device reports: asynchronous events and completion
//! notifications.
//!
//! A ring has four pages. The first holds the indexes, of which the second pair is in use; entries
//! lie in the others.

#![forbid(unsafe_code)]

use crate::{
    page_dir::PageDir,
    ring::{
        Ring,
        Slots, //
    },
    wire::{
        RingPageInfo,
        RingState,
        PAGE, //
    },
};
use core::marker::PhantomData;
use kernel::{
    device::{
        Bound,
        Device, //
    },
    io::{
        io_project,
        Io, //
    },
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
};

/// Number of pages of a ring, the one with the indexes included.
const PAGES: usize = 4;

/// A ring whose entries, of type `T`, the device writes.
///
/// It is drained by one interrupt handler, which does not run twice at a time.
pub(crate) struct DeviceRing<T> {
    name: &'static str,
    pages: PageDir,
    slots: Slots,
    /// Whether the log has a complaint about the ring already.
    complained: Atomic<bool>,
    entry: PhantomData<fn() -> T>,
}

/// How far a ring was drained.
enum Drained {
    /// It is empty.
    Empty,
    /// As many entries as the ring has slots were taken, and there are more: the device fills it
    /// faster than it can be drained, or is broken. The rest is for the next interrupt.
    Busy,
}

impl<T: FromBytes + IntoBytes> DeviceRing<T> {
    /// Allocates an empty ring; `name` is for messages.
    pub(crate) fn new(dev: &Device<Bound>, name: &'static str) -> Result<Self> {
        Ok(Self {
            name,
            pages: PageDir::with_pages(dev, PAGES)?,
            slots: Slots::in_pages::<T>(PAGES - 1)?,
            complained: Atomic::new(false),
            entry: PhantomData,
        })
    }

    /// Returns what the device has to know about the ring.
    pub(crate) fn info(&self) -> RingPageInfo {
        RingPageInfo {
            // CAST: A small constant.
            num_pages: PAGES as u32,
            reserved: 0,
            pdir_dma: self.pages.dma_address(),
        }
    }

    /// Takes the entries that the device has written, in order, and calls `each` with a copy of
    /// each. Takes at most as many as the ring has slots, so that it ends in any case.
    ///
    /// Indexes that make no sense end it too. The log gets one line about either, ever.
    pub(crate) fn drain(&self, dev: &Device, each: impl FnMut(T)) {
        let complaint = match self.try_drain(each) {
            Ok(Drained::Empty) => return,
            Ok(Drained::Busy) => "is filled faster than it can be drained",
            Err(_) => "has indexes that make no sense",
        };

        if !self.complained.xchg(true, Relaxed) {
            dev_err!(dev, "the {} {}\n", self.name, complaint);
        }
    }

    fn try_drain(&self, mut each: impl FnMut(T)) -> Result<Drained> {
        let state = self.pages.view::<RingState>(0)?;
        let ring = Ring::new(io_project!(state, .rx), self.slots);

        for _ in 0..self.slots.count() {
            let Some(entry) = ring.data()? else {
                return Ok(Drained::Empty);
            };
            let value = self
                .pages
                .view::<T>(PAGE + entry.slot() * size_of::<T>())?
                .copy_read();

            ring.release(entry);
            each(value);
        }

        Ok(match ring.data()? {
            Some(_) => Drained::Busy,
            None => Drained::Empty,
        })
    }
}
