// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! Counts of what happened on an adapter, for `rdma statistic` and sysfs.

#![forbid(unsafe_code)]

use kernel::{
    rdma::CounterName,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

/// A count that any context may raise.
pub(crate) struct Counter(Atomic<u64>);

impl Counter {
    /// Nothing has happened yet.
    const fn new() -> Self {
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

macro_rules! counters {
    ($($(#[$meta:meta])* $counter:ident = $name:literal,)*) => {
        /// What is counted.
        pub(crate) struct Counters {
            $($(#[$meta])* pub(crate) $counter: Counter,)*
        }

        impl Counters {
            /// The names, as they appear in sysfs, in the order of [`Self::get`].
            pub(crate) const NAMES: &'static [CounterName] = &[$(CounterName::new($name),)*];

            /// Nothing has happened yet.
            pub(crate) const fn new() -> Self {
                Self {
                    $($counter: Counter::new(),)*
                }
            }

            /// Returns the count whose name is at `index`; zero if there is none.
            pub(crate) fn get(&self, index: usize) -> u64 {
                let counters = [$(&self.$counter,)*];

                counters.get(index).map_or(0, |counter| counter.get())
            }
        }
    };
}

counters! {
    /// Commands that were sent.
    commands = c"commands",
    /// Commands that the device refused.
    refused = c"commands_refused",
    /// Commands that were not answered in time.
    timeouts = c"commands_timed_out",
    /// Asynchronous events.
    events = c"async_events",
    /// Completion notifications.
    notifications = c"cq_notifications",
    /// Events, notifications and completions of objects that do not exist.
    strays = c"stray_reports",
}
