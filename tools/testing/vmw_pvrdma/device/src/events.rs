// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The two rings on which the adapter speaks first: events and completion notifications.

use std::mem::size_of;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::abi::shared::RingPages;
use crate::abi::PAGE_SIZE;
use crate::adapter::Adapter;
use crate::interrupts::Vector;
use crate::memory::Memory;
use crate::objects::port::PORT;
use crate::page_dir::Pages;
use crate::ring::{Half, Ring};
use crate::trace::Event;

/// Something that happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsyncEvent {
    /// A completion queue overran.
    CqError(u32),
    /// A queue pair cannot go on.
    QpFatal(u32),
    /// A peer sent a request to a queue pair which it cannot execute.
    QpRequestError(u32),
    /// A peer tried to access memory in a way that it may not.
    QpAccessError(u32),
    /// A message came in on a connection that the driver does not know to be established.
    Established(u32),
    /// The send queue has stopped as asked.
    SendQueueDrained(u32),
    /// The port has a carrier.
    PortActive,
    /// The port has lost its carrier.
    PortError,
    /// A shared receive queue has fewer entries than its limit.
    SrqLimitReached(u32),
    /// A queue pair will take no more entries from its shared receive queue.
    LastWqeReached(u32),
}

impl AsyncEvent {
    /// Type and argument as the driver sees them.
    fn to_wire(self) -> (u32, u32) {
        match self {
            Self::CqError(cq) => (0, cq),
            Self::QpFatal(qp) => (1, qp),
            Self::QpRequestError(qp) => (2, qp),
            Self::QpAccessError(qp) => (3, qp),
            Self::Established(qp) => (4, qp),
            Self::SendQueueDrained(qp) => (5, qp),
            Self::PortActive => (9, PORT.into()),
            Self::PortError => (10, PORT.into()),
            Self::SrqLimitReached(srq) => (15, srq),
            Self::LastWqeReached(qp) => (16, qp),
        }
    }
}

/// Entry of the event ring.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct EventEntry {
    kind: u32,
    info: u32,
}
const _: () = assert!(size_of::<EventEntry>() == 8);

/// One of the two rings.
#[derive(Debug)]
pub struct NotifyRing {
    ring: Ring,
    pages: Pages,
}

impl NotifyRing {
    /// The ring of events.
    pub fn events(memory: &Memory, place: &RingPages) -> Option<Self> {
        Self::new(memory, place, size_of::<EventEntry>())
    }

    /// The ring of completion notifications.
    pub fn notifications(memory: &Memory, place: &RingPages) -> Option<Self> {
        Self::new(memory, place, size_of::<u32>())
    }

    fn new(memory: &Memory, place: &RingPages, stride: usize) -> Option<Self> {
        // One page of indices, at least one of entries, and no more than one table holds.
        let count = usize::try_from(place.num_pages).ok()?;
        if !(2..=PAGE_SIZE / size_of::<u64>()).contains(&count) {
            return None;
        }
        let pages = Pages::read_mapped(memory, place.pdir_dma, count).ok()?;
        if pages.has_duplicates() {
            return None;
        }
        let size = u32::try_from((count - 1) * PAGE_SIZE / stride).ok()?;
        Some(Self { ring: Ring { half: Half::Rx, offset: PAGE_SIZE, stride, size }, pages })
    }

    /// The ring and its pages.
    pub(crate) fn parts(&self) -> (&Ring, &Pages) {
        (&self.ring, &self.pages)
    }

    fn push<T: IntoBytes + Immutable>(&self, memory: &Memory, entry: &T) -> bool {
        let Ok(Some(offset)) = self.ring.back(memory, &self.pages) else {
            return false;
        };
        self.pages.write_record(memory, offset, entry).is_ok()
            && self.ring.push(memory, &self.pages).is_ok()
    }
}

impl Adapter {
    /// Tells the driver of an event. Before activation there is nobody to tell.
    pub(crate) fn async_event(&mut self, event: AsyncEvent) {
        let (kind, info) = event.to_wire();
        self.raw_event(kind, info);
    }

    /// Writes an event of any kind, known or not.
    pub(crate) fn raw_event(&mut self, kind: u32, info: u32) {
        let Some(shared) = self.active() else {
            return;
        };
        self.trace.emit(|| Event::Async { kind, info });
        if shared.events.push(&self.memory, &EventEntry { kind, info }) {
            self.counters.events += 1;
            self.interrupts.raise(Vector::Async);
        } else {
            log::warn!("adapter {}: event {kind} of {info} is lost: no room", self.id());
        }
    }

    /// Tells the driver that a completion queue has what it was armed for.
    pub(crate) fn notify_cq(&mut self, cq: u32) {
        let Some(shared) = self.active() else {
            return;
        };
        if shared.notifications.push(&self.memory, &cq) {
            self.counters.notifications += 1;
            self.interrupts.raise(Vector::Completion);
        } else {
            log::warn!("adapter {}: notification of CQ {cq} is lost: no room", self.id());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::tests::test_memory;
    use crate::page_dir::tests::write_directory;

    #[test]
    fn rings_have_the_sizes_that_drivers_compute() {
        let memory = test_memory(6);
        let pdir_dma = write_directory(&memory, &[0x12000, 0x13000, 0x14000, 0x15000]);
        let place = RingPages { num_pages: 4, pdir_dma, ..Default::default() };
        let events = NotifyRing::events(&memory, &place).unwrap();
        assert_eq!((events.ring.size, events.ring.stride), (1536, 8));
        let notifications = NotifyRing::notifications(&memory, &place).unwrap();
        assert_eq!((notifications.ring.size, notifications.ring.stride), (3072, 4));
        assert!(events.push(&memory, &EventEntry { kind: 9, info: 1 }));
        assert_eq!(memory.read_record::<[u32; 4]>(0x12000), Ok([0, 0, 1, 0]));
        assert_eq!(memory.read_record::<[u32; 2]>(0x13000), Ok([9, 1]));
    }

    #[test]
    fn impossible_rings_are_refused() {
        let memory = test_memory(6);
        let pdir_dma = write_directory(&memory, &[0x12000, 0x13000]);
        for num_pages in [0, 1, 3, 513, u32::MAX] {
            let place = RingPages { num_pages, pdir_dma, ..Default::default() };
            assert!(NotifyRing::events(&memory, &place).is_none(), "{num_pages}");
        }
        let pdir_dma = write_directory(&memory, &[0x12000, 0x13000, 0x12000]);
        let place = RingPages { num_pages: 3, pdir_dma, ..Default::default() };
        assert!(NotifyRing::events(&memory, &place).is_none(), "the same page twice");
    }
}
