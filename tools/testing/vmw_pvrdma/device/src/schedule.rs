// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the engine has to do next.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet, VecDeque};
use std::time::Instant;

/// A queue pair at a time: the reference does not find a later one with the same handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QpRef {
    /// Index of the adapter.
    pub adapter: usize,
    /// Handle of the queue pair.
    pub handle: u32,
    /// Its serial number.
    pub serial: u64,
}

/// Queue pairs that want attention, now or later.
#[derive(Debug, Default)]
pub struct Schedule {
    queue: VecDeque<QpRef>,
    queued: HashSet<QpRef>,
    timers: BinaryHeap<Reverse<(Instant, QpRef)>>,
}

impl Schedule {
    /// Look at this queue pair, after those that are already waiting.
    pub fn ready(&mut self, qp: QpRef) {
        if self.queued.insert(qp) {
            self.queue.push_back(qp);
        }
    }

    /// Look at this queue pair at a time.
    pub fn at(&mut self, time: Instant, qp: QpRef) {
        self.timers.push(Reverse((time, qp)));
    }

    /// The next queue pair to look at.
    pub fn pop(&mut self) -> Option<QpRef> {
        let qp = self.queue.pop_front()?;
        self.queued.remove(&qp);
        Some(qp)
    }

    /// The next queue pair whose time has come.
    pub fn expired(&mut self, now: Instant) -> Option<QpRef> {
        let Reverse((time, _)) = self.timers.peek()?;
        if *time > now {
            return None;
        }
        self.timers.pop().map(|Reverse((_, qp))| qp)
    }

    /// When the next timer ends.
    pub fn deadline(&self) -> Option<Instant> {
        self.timers.peek().map(|Reverse((time, _))| *time)
    }

    /// Whether a queue pair is to be looked at now.
    pub fn has_work(&self) -> bool {
        !self.queue.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn qp(handle: u32) -> QpRef {
        QpRef { adapter: 0, handle, serial: 0 }
    }

    #[test]
    fn everyone_gets_a_turn_once() {
        let mut schedule = Schedule::default();
        for handle in [1, 2, 1] {
            schedule.ready(qp(handle));
        }
        assert_eq!(
            [schedule.pop(), schedule.pop(), schedule.pop()],
            [Some(qp(1)), Some(qp(2)), None]
        );
        schedule.ready(qp(1));
        assert!(schedule.has_work());
    }

    #[test]
    fn timers_end_in_order() {
        let now = Instant::now();
        let later = |ms| now + Duration::from_millis(ms);
        let mut schedule = Schedule::default();
        schedule.at(later(20), qp(2));
        schedule.at(later(10), qp(1));
        assert_eq!(schedule.deadline(), Some(later(10)));
        assert_eq!(schedule.expired(later(9)), None);
        assert_eq!(schedule.expired(later(10)), Some(qp(1)));
        assert_eq!(schedule.expired(later(10)), None);
        assert_eq!(schedule.expired(later(30)), Some(qp(2)));
        assert_eq!(schedule.deadline(), None);
    }
}
