// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! A work queue of a kernel consumer's queue pair: a ring of requests that the driver fills.

#![forbid(unsafe_code)]

use super::geometry::Geometry;
use crate::{
    page_dir::PageDir,
    ring::{
        Entry,
        Ring,
        Slots, //
    },
    wire::{
        self,
        RingState, //
    }, //
};
use kernel::{
    io::{
        io_project,
        Io, //
    },
    prelude::*,
    rdma::Sge,
    sync::Arc, //
};

/// Which of the two rings whose indexes are in the header page.
#[derive(Clone, Copy)]
pub(super) enum Half {
    /// That of the send queue.
    Send,
    /// That of the receive queue.
    Recv,
}

/// A work queue; to be used with its lock held.
pub(super) struct Queue {
    pages: Arc<PageDir>,
    half: Half,
    slots: Slots,
    geometry: Geometry,
    /// Where the first request lies, in bytes.
    offset: usize,
}

impl Queue {
    /// Uses `pages` from byte `offset` on for the requests.
    ///
    /// # Errors
    ///
    /// [`EINVAL`] if the number of requests is out of range.
    pub(super) fn new(
        pages: Arc<PageDir>,
        half: Half,
        geometry: Geometry,
        offset: usize,
    ) -> Result<Self> {
        Ok(Self {
            pages,
            half,
            slots: Slots::new(geometry.requests)?,
            geometry,
            offset,
        })
    }

    fn ring(&self) -> Result<Ring<'_>> {
        let state = self.pages.view::<RingState>(0)?;
        let indexes = match self.half {
            Half::Send => io_project!(state, .tx),
            Half::Recv => io_project!(state, .rx),
        };

        Ok(Ring::new(indexes, self.slots))
    }

    /// Returns room for the next request, which has the segments `sges`.
    ///
    /// # Errors
    ///
    /// - [`EINVAL`] if there are too many segments.
    /// - [`ENOMEM`] if the queue is full.
    /// - [`EIO`] if the device broke the indexes of the queue.
    pub(super) fn room<'a>(&'a self, sges: &'a [Sge]) -> Result<Room<'a>> {
        // CAST: `usize` has 64 bits here.
        if sges.len() > self.geometry.segments as usize {
            return Err(EINVAL);
        }
        let ring = self.ring()?;
        let entry = ring.space()?.ok_or(ENOMEM)?;

        Ok(Room {
            queue: self,
            offset: self.offset + entry.slot() * self.geometry.stride,
            ring,
            entry,
            sges,
        })
    }

    /// Forgets all requests. The device must not use the queue meanwhile.
    pub(super) fn reset(&self) -> Result {
        self.ring()?.reset();
        Ok(())
    }
}

/// Room for a request.
pub(super) struct Room<'a> {
    queue: &'a Queue,
    ring: Ring<'a>,
    entry: Entry,
    offset: usize,
    sges: &'a [Sge],
}

impl Room<'_> {
    /// Returns the number of segments.
    pub(super) fn num_sge(&self) -> u32 {
        // CAST: Checked against a number of this type.
        self.sges.len() as u32
    }

    /// Writes the request, `head` and then the segments, and gives it to the device.
    pub(super) fn post<T: FromBytes + IntoBytes>(self, head: T) -> Result {
        let pages = &self.queue.pages;

        pages.view::<T>(self.offset)?.copy_write(head);
        for (index, sge) in self.sges.iter().enumerate() {
            let offset = self.offset + size_of::<T>() + index * size_of::<wire::Sge>();

            pages.view::<wire::Sge>(offset)?.copy_write(wire::Sge {
                addr: sge.addr(),
                length: sge.length(),
                lkey: sge.lkey(),
            });
        }
        self.ring.publish(self.entry);
        Ok(())
    }
}
