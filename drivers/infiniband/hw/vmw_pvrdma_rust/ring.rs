// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! Ring indexes.
//!
//! An index counts to twice the number of slots, so that a full ring and an empty one differ. The
//! C headers compute with masks instead of remainders, for rings whose number of slots is a power of
//! two and for the two that are not: the event ring has 1536 slots, the notification ring 3072.
//! There the masks leave bits out, and indexes and slots take fewer values than there are slots.
//! The device computes the same way, so the masks are the contract and must not be repaired.
//!
//! Indexes live in memory that the device writes. Whatever is read from there is checked before it
//! is used.

#![forbid(unsafe_code)]

use crate::wire::{
    self,
    PAGE, //
};
use kernel::{
    dma::CoherentView,
    io::{
        io_read,
        io_write, //
    },
    prelude::*,
    sync::barrier::{
        dma_mb,
        Read,
        Write, //
    },
};

/// Number of slots of a ring.
///
/// # Invariants
///
/// The number is at least 1 and at most [`Slots::MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slots(u32);

impl Slots {
    /// Largest number of slots whose indexes can be represented.
    const MAX: u32 = 1 << 30;

    /// Makes rings of `count` slots.
    ///
    /// # Errors
    ///
    /// [`EINVAL`] if the number is out of range.
    pub(crate) fn new(count: u32) -> Result<Self> {
        match count {
            // INVARIANT: The number is in range.
            1..=Self::MAX => Ok(Self(count)),
            _ => Err(EINVAL),
        }
    }

    /// Returns the number of slots in `pages` pages for entries of type `T`.
    ///
    /// # Errors
    ///
    /// [`EINVAL`] if the number is out of range.
    pub(crate) fn in_pages<T>(pages: usize) -> Result<Self> {
        Self::new((pages * PAGE / size_of::<T>()).try_into()?)
    }

    /// Returns the number.
    pub(crate) fn count(self) -> u32 {
        self.0
    }

    /// Returns whether `index` can occur.
    fn is_valid(self, index: u32) -> bool {
        index & !((self.0 << 1) - 1) == 0
    }

    /// Returns the slot that `index` stands for.
    pub(crate) fn slot(self, index: u32) -> u32 {
        index & (self.0 - 1)
    }

    /// Returns the index after `index`.
    pub(crate) fn next(self, index: u32) -> u32 {
        index.wrapping_add(1) & ((self.0 << 1) - 1)
    }

    /// Validates the indexes of a ring.
    ///
    /// # Errors
    ///
    /// [`EIO`] if one of them cannot occur.
    fn check(self, ring: wire::Ring) -> Result<wire::Ring> {
        if self.is_valid(ring.prod_tail) && self.is_valid(ring.cons_head) {
            Ok(ring)
        } else {
            Err(EIO)
        }
    }

    /// Returns the entry that the producer fills next; none if the ring is full.
    ///
    /// # Errors
    ///
    /// [`EIO`] if the indexes make no sense.
    fn space(self, ring: wire::Ring) -> Result<Option<Entry>> {
        let wire::Ring {
            prod_tail,
            cons_head,
        } = self.check(ring)?;

        Ok((prod_tail != cons_head ^ self.0).then(|| self.entry(prod_tail)))
    }

    /// Returns the entry that the consumer takes next; none if the ring is empty.
    ///
    /// # Errors
    ///
    /// [`EIO`] if the indexes make no sense.
    fn data(self, ring: wire::Ring) -> Result<Option<Entry>> {
        let wire::Ring {
            prod_tail,
            cons_head,
        } = self.check(ring)?;

        Ok((prod_tail != cons_head).then(|| self.entry(cons_head)))
    }

    /// Returns the entry at `index`.
    fn entry(self, index: u32) -> Entry {
        Entry {
            slot: self.slot(index),
            next: self.next(index),
        }
    }
}

/// An entry of a ring that may be filled or taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    slot: u32,
    /// The index that says that it was.
    next: u32,
}

impl Entry {
    /// Returns the slot.
    pub(crate) fn slot(self) -> usize {
        // CAST: `usize` has 64 bits here.
        self.slot as usize
    }
}

/// A ring in shared memory.
#[derive(Clone, Copy)]
pub(crate) struct Ring<'a> {
    indexes: CoherentView<'a, wire::Ring>,
    slots: Slots,
}

impl<'a> Ring<'a> {
    /// Makes a ring of `slots` slots out of the `indexes`.
    pub(crate) fn new(indexes: CoherentView<'a, wire::Ring>, slots: Slots) -> Self {
        Self { indexes, slots }
    }

    /// Returns the number of slots.
    pub(crate) fn slots(&self) -> Slots {
        self.slots
    }

    /// Reads both indexes, each once.
    fn read(&self) -> wire::Ring {
        wire::Ring {
            prod_tail: io_read!(self.indexes, .prod_tail),
            cons_head: io_read!(self.indexes, .cons_head),
        }
    }

    /// Returns both indexes: those of the entries from the consumer's head to the producer's tail.
    ///
    /// # Errors
    ///
    /// [`EIO`] if they make no sense.
    pub(crate) fn indexes(&self) -> Result<wire::Ring> {
        let ring = self.slots.check(self.read())?;

        // Order the index before the entries that it declares valid.
        dma_mb(Read);
        Ok(ring)
    }

    /// Producer: returns the entry to fill next; none if the ring is full.
    ///
    /// # Errors
    ///
    /// [`EIO`] if the indexes make no sense.
    pub(crate) fn space(&self) -> Result<Option<Entry>> {
        self.slots.space(self.read())
    }

    /// Producer: declares that `entry` is filled.
    pub(crate) fn publish(&self, entry: Entry) {
        // Order the entry before the index that declares it valid.
        dma_mb(Write);
        io_write!(self.indexes, .prod_tail, entry.next);
    }

    /// Consumer: returns the entry to take next; none if the ring is empty.
    ///
    /// # Errors
    ///
    /// [`EIO`] if the indexes make no sense.
    pub(crate) fn data(&self) -> Result<Option<Entry>> {
        let entry = self.slots.data(self.read())?;

        // Order the index before the entry that it declares valid.
        dma_mb(Read);
        Ok(entry)
    }

    /// Consumer: declares that `entry` was taken and may be filled again.
    pub(crate) fn release(&self, entry: Entry) {
        self.set_head(entry.next);
    }

    /// Consumer: declares that all entries before index `head` may be filled again.
    pub(crate) fn set_head(&self, head: u32) {
        // Order the accesses to the entries before the index that gives them away.
        kernel::sync::barrier::mb(kernel::sync::barrier::Full);
        io_write!(self.indexes, .cons_head, head);
    }

    /// Empties the ring and starts again at index zero. Nobody else may use it meanwhile.
    pub(crate) fn reset(&self) {
        io_write!(self.indexes, .cons_head, 0);
        io_write!(self.indexes, .prod_tail, 0);
    }
}
