// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writing into the driver's rings what no correct adapter would: entries without a reason, and
//! impossible indices.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::abi::cqe::Cqe;
use crate::adapter::Adapter;
use crate::interrupts::Vector;
use crate::memory::OutOfMemory;
use crate::objects::cq::CqFull;
use crate::page_dir::Pages;
use crate::ring::{next, Ring};

/// One of the rings that driver or library share with the adapter.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RingName {
    /// The ring of asynchronous events.
    Events,
    /// The ring of completion notifications.
    Notifications,
    /// The completion queue with this handle.
    Cq(u32),
    /// The send queue of the queue pair with this handle.
    Send(u32),
    /// The receive queue of the queue pair with this handle.
    Recv(u32),
}

/// Both indices of a ring.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Indices {
    tail: u32,
    head: u32,
}

/// A ring whose tail does not come to rest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Storm {
    name: RingName,
    until: Instant,
}

/// Why nothing could be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IntrusionError {
    /// There is no such ring, or no driver.
    #[error("there is no ring {0:?}")]
    NoRing(RingName),
    /// The ring is full.
    #[error("the ring has no room")]
    Full,
    /// The ring is not in memory any more.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
}

impl Adapter {
    fn ring_parts(&self, name: RingName) -> Result<(&Ring, &Pages), IntrusionError> {
        let objects = &self.objects;
        let parts = match name {
            RingName::Events => self.active().map(|shared| shared.events.parts()),
            RingName::Notifications => self.active().map(|shared| shared.notifications.parts()),
            RingName::Cq(handle) => objects.cqs.get(handle).map(|cq| cq.parts()),
            RingName::Send(handle) => objects.qps.get(handle).map(|qp| (&qp.send_ring, &qp.pages)),
            RingName::Recv(handle) => {
                objects.qps.get(handle).and_then(|qp| Some((qp.recv_ring.as_ref()?, &qp.pages)))
            }
        };
        parts.ok_or(IntrusionError::NoRing(name))
    }

    /// Overwrites indices of a ring. Returns what they were.
    pub(crate) fn set_indices(
        &self,
        name: RingName,
        tail: Option<u32>,
        head: Option<u32>,
    ) -> Result<Indices, IntrusionError> {
        let (ring, pages) = self.ring_parts(name)?;
        let (old_tail, old_head) = ring.indices(&self.memory, pages)?;
        ring.set_indices(&self.memory, pages, tail, head)?;
        Ok(Indices { tail: old_tail, head: old_head })
    }

    /// Writes a completion into a queue and notifies as usual.
    pub(crate) fn raw_completion(&mut self, handle: u32, cqe: &Cqe) -> Result<(), IntrusionError> {
        let ring = IntrusionError::NoRing(RingName::Cq(handle));
        let cq = self.objects.cqs.get_mut(handle).ok_or(ring)?;
        match cq.push(&self.memory, cqe, true) {
            Ok(true) => self.notify_cq(handle),
            Ok(false) => {}
            Err(CqFull::Now | CqFull::Already) => return Err(IntrusionError::Full),
        }
        Ok(())
    }

    /// Moves the tail of a ring without a pause for a while, as fast as the engine can.
    pub(crate) fn start_storm(&mut self, name: RingName, duration: Duration) {
        self.storm = Some(Storm { name, until: Instant::now() + duration });
    }

    /// Goes on with the storm, if there is one. Returns whether there is.
    pub(crate) fn storm_step(&mut self, now: Instant) -> bool {
        let Some(Storm { name, until }) = self.storm else {
            return false;
        };
        if until <= now || self.move_tail(name).is_err() {
            self.storm = None;
        }
        true
    }

    fn move_tail(&mut self, name: RingName) -> Result<(), IntrusionError> {
        let (ring, pages) = self.ring_parts(name)?;
        let (tail, _) = ring.indices(&self.memory, pages)?;
        ring.set_indices(&self.memory, pages, Some(next(tail, ring.size)), None)?;
        match name {
            RingName::Events => self.interrupts.raise(Vector::Async),
            RingName::Notifications => self.interrupts.raise(Vector::Completion),
            RingName::Cq(_) | RingName::Send(_) | RingName::Recv(_) => {}
        }
        Ok(())
    }
}
