// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Answers that are to come later.
//!
//! A guest stands still while it accesses a register, so nothing may wait there. What is late is
//! put aside here, and the thread of the engine delivers it in time.

use std::time::{Duration, Instant};

use crate::adapter::Adapter;
use crate::answer::Answer;

/// What is to be delivered, and when.
#[derive(Debug, Default)]
pub(crate) struct Deferred {
    answers: Vec<(Instant, Answer)>,
    stalled_until: Option<Instant>,
}

impl Deferred {
    /// When there is something to do.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.answers.iter().map(|(time, _)| *time).min()
    }

    /// Takes out what is due, the earliest first; what has the same time keeps its order.
    fn due(&mut self, now: Instant) -> Vec<Answer> {
        self.answers.sort_by_key(|(time, _)| *time);
        let due = self.answers.partition_point(|(time, _)| *time <= now);
        self.answers.drain(..due).map(|(_, answer)| answer).collect()
    }

    /// Forgets the answers: the driver they are for is gone.
    pub(crate) fn clear(&mut self) {
        self.answers.clear();
    }

    /// The end of a stall, if it is still to come.
    pub(crate) fn stalled_until(&self, now: Instant) -> Option<Instant> {
        self.stalled_until.filter(|until| *until > now)
    }
}

impl Adapter {
    /// Delivers an answer after `delay`, or after the stall if that ends later.
    pub(crate) fn deliver_later(&mut self, answer: Answer, delay: Duration) {
        let now = Instant::now();
        let earliest = self.deferred.stalled_until(now).unwrap_or(now);
        match earliest.max(now + delay) {
            time if time == now => self.deliver(&answer),
            time => self.deferred.answers.push((time, answer)),
        }
    }

    /// Delivers the answers that are due.
    pub(crate) fn deliver_due(&mut self, now: Instant) {
        for answer in self.deferred.due(now) {
            self.deliver(&answer);
        }
    }

    /// Answers no command and moves no data for a while, like an adapter whose machine is on its
    /// way to another host.
    pub(crate) fn stall(&mut self, duration: Duration) {
        self.deferred.stalled_until = Some(Instant::now() + duration);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_out_in_time_and_order() {
        let now = Instant::now();
        let at = |ms| now + Duration::from_millis(ms);
        let mut deferred = Deferred::default();
        for (time, name) in [(at(20), "late"), (at(10), "first"), (at(10), "second")] {
            let answer = Answer { name, message: None, interrupt: true };
            deferred.answers.push((time, answer));
        }
        assert_eq!(deferred.deadline(), Some(at(10)));
        assert!(deferred.due(at(9)).is_empty());
        let names: Vec<_> = deferred.due(at(10)).iter().map(|answer| answer.name).collect();
        assert_eq!(names, ["first", "second"]);
        assert_eq!(deferred.due(at(20)).len(), 1);
        assert_eq!(deferred.deadline(), None);
    }

    #[test]
    fn a_stall_ends() {
        let now = Instant::now();
        let until = now + Duration::from_secs(1);
        let deferred = Deferred { stalled_until: Some(until), ..Default::default() };
        assert_eq!(deferred.stalled_until(now), Some(until));
        assert_eq!(deferred.stalled_until(until), None);
    }
}
