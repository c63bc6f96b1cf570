// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! The ring of a kernel consumer's completion queue.

#![forbid(unsafe_code)]

use crate::{
    handle::{
        Handle,
        Qp, //
    },
    page_dir::PageDir,
    ring::{
        Ring,
        Slots, //
    },
    wire::{
        self,
        Cqe,
        RingState,
        PAGE, //
    }, //
};
use kernel::{
    dma::CoherentView,
    io::{
        io_project,
        Io, //
    },
    prelude::*,
    sync::Arc, //
};

/// Bits of the queue pair field of an entry that hold the handle.
const QP_HANDLE_MASK: u64 = 0xffff;

/// Returns the queue pair that an entry belongs to.
pub(super) fn qp_handle(cqe: &Cqe) -> Handle<Qp> {
    // CAST: Fits, see the mask.
    Handle::new((cqe.qp & QP_HANDLE_MASK) as u32)
}

/// A ring that the device fills with completions.
///
/// The first page holds the indexes, the entries follow. To be used with the lock of the queue
/// held.
pub(super) struct CqRing {
    pages: Arc<PageDir>,
    slots: Slots,
}

impl CqRing {
    /// Uses `pages` as a ring of `slots` slots, a power of two.
    pub(super) fn new(pages: Arc<PageDir>, slots: Slots) -> Self {
        Self { pages, slots }
    }

    /// Returns the number of slots.
    pub(super) fn slots(&self) -> Slots {
        self.slots
    }

    fn ring(&self) -> Result<Ring<'_>> {
        let state = self.pages.view::<RingState>(0)?;

        Ok(Ring::new(io_project!(state, .rx), self.slots))
    }

    fn entry(&self, slot: usize) -> Result<CoherentView<'_, Cqe>> {
        self.pages.view(PAGE + slot * size_of::<Cqe>())
    }

    /// Takes a copy of the next entry; none if the ring is empty.
    ///
    /// # Errors
    ///
    /// [`EIO`] if the indexes make no sense.
    pub(super) fn take(&self) -> Result<Option<Cqe>> {
        let ring = self.ring()?;
        let Some(entry) = ring.data()? else {
            return Ok(None);
        };
        let cqe = self.entry(entry.slot())?.copy_read();

        ring.release(entry);
        Ok(Some(cqe))
    }

    /// Returns whether there is an entry.
    ///
    /// # Errors
    ///
    /// [`EIO`] if the indexes make no sense.
    pub(super) fn has_data(&self) -> Result<bool> {
        Ok(self.ring()?.data()?.is_some())
    }

    /// Removes the entries of the queue pair `qp`.
    ///
    /// The others move towards the tail, the oldest last, so that their order stays; the device may
    /// append meanwhile.
    ///
    /// # Errors
    ///
    /// [`EIO`] if the indexes make no sense.
    pub(super) fn purge(&self, qp: Handle<Qp>) -> Result {
        let ring = self.ring()?;
        let wire::Ring {
            prod_tail,
            cons_head,
        } = ring.indexes()?;
        let slot = |index| self.slots.slot(index) as usize;
        let mut from = prod_tail;
        let mut to = prod_tail;

        while from != cons_head {
            from = self.slots.prev(from);
            let cqe = self.entry(slot(from))?.copy_read();

            if qp_handle(&cqe) != qp {
                to = self.slots.prev(to);
                if to != from {
                    self.entry(slot(to))?.copy_write(cqe);
                }
            }
        }
        if to != cons_head {
            ring.set_head(to);
        }
        Ok(())
    }
}
