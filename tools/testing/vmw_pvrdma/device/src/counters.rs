// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What an adapter counts, for whoever watches it from outside.

use serde::Serialize;

/// Counts since the start of the process, or since they were last set to zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Commands that came in.
    pub commands: u64,
    /// Commands whose slot held something behind the command: left-overs of the driver's memory.
    pub dirty_commands: u64,
    /// Commands that were refused.
    pub refused: u64,
    /// Commands that went wrong on purpose.
    pub faults: u64,
    /// Asynchronous events.
    pub events: u64,
    /// Notifications of completions.
    pub notifications: u64,
}
