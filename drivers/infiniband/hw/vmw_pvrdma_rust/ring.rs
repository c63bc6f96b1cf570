// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! Ring indexes.
//!
//! An index counts to twice the number of slots, so that a full ring and an empty one differ. The
//! C headers compute with masks instead of remainders, for rings whose number of slots is a power
//! of two and for the two that are not: the event ring has 1536 slots, the notification ring 3072.
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

    /// Returns the index before `index`.
    pub(crate) fn prev(self, index: u32) -> u32 {
        index.wrapping_sub(1) & ((self.0 << 1) - 1)
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

#[cfg(CONFIG_INFINIBAND_VMWARE_PVRDMA_RUST_KUNIT_TEST)]
#[kunit_tests(vmw_pvrdma_rust_ring)]
mod tests {
    use super::*;
    use crate::wire::{
        Cqne,
        Eqe, //
    };

    fn ring(prod_tail: u32, cons_head: u32) -> wire::Ring {
        wire::Ring {
            prod_tail,
            cons_head,
        }
    }

    #[test]
    fn number_of_slots_is_checked() -> Result {
        assert!(Slots::new(0).is_err());
        assert_eq!(Slots::new(1)?.count(), 1);
        assert_eq!(Slots::new(1 << 30)?.count(), 1 << 30);
        assert!(Slots::new((1 << 30) + 1).is_err());
        assert!(Slots::new(u32::MAX).is_err());
        Ok(())
    }

    #[test]
    fn empty_and_full_differ() -> Result {
        let slots = Slots::new(4)?;

        assert_eq!(slots.data(ring(3, 3))?, None);
        assert_eq!(slots.space(ring(3, 3))?, Some(Entry { slot: 3, next: 4 }));
        assert_eq!(slots.data(ring(7, 3))?, Some(Entry { slot: 3, next: 4 }));
        assert_eq!(slots.space(ring(7, 3))?, None);
        Ok(())
    }

    #[test]
    fn indexes_wrap_at_twice_the_slots() -> Result {
        let slots = Slots::new(4)?;

        assert_eq!(slots.next(3), 4);
        assert_eq!(slots.next(7), 0);
        assert_eq!(slots.prev(0), 7);
        assert_eq!(slots.data(ring(0, 7))?, Some(Entry { slot: 3, next: 0 }));
        assert_eq!(slots.space(ring(7, 4))?, Some(Entry { slot: 3, next: 0 }));
        Ok(())
    }

    #[test]
    fn impossible_indexes_are_errors() -> Result {
        let slots = Slots::new(4)?;

        for index in [8, 9, 1 << 31, u32::MAX] {
            assert!(slots.data(ring(index, 0)).is_err());
            assert!(slots.data(ring(0, index)).is_err());
            assert!(slots.space(ring(index, 0)).is_err());
            assert!(slots.space(ring(0, index)).is_err());
        }
        Ok(())
    }

    /// Goes once through all indexes and returns how many there are and the largest slot.
    fn round(slots: Slots) -> (u32, u32) {
        let (mut index, mut steps, mut largest) = (0, 0, 0);

        loop {
            largest = largest.max(slots.slot(index));
            index = slots.next(index);
            steps += 1;
            if index == 0 || steps > 2 * slots.count() {
                return (steps, largest);
            }
        }
    }

    /// The rings of the device: as the C masks have it, not as one would think.
    #[test]
    fn odd_rings_follow_the_masks() -> Result {
        let events = Slots::in_pages::<Eqe>(3)?;
        let notifications = Slots::in_pages::<Cqne>(3)?;

        assert_eq!(events.count(), 1536);
        assert_eq!(round(events), (1024, 511));
        assert_eq!(events.next(511), 512);
        assert_eq!(events.slot(512), 0);
        assert_eq!(events.next(1023), 0);

        assert_eq!(notifications.count(), 3072);
        assert_eq!(round(notifications), (2048, 1023));
        assert_eq!(notifications.slot(1024), 0);
        assert_eq!(notifications.next(2047), 0);

        // The bit that is missing in the mask makes these impossible.
        assert!(events.data(ring(0x400, 0)).is_err());
        assert!(notifications.data(ring(0, 0x800)).is_err());
        // And these possible.
        assert!(events.data(ring(0x800, 0)).is_ok());

        // A power of two is as one would think.
        assert_eq!(round(Slots::new(256)?), (512, 255));
        Ok(())
    }
}
