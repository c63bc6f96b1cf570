// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Doorbells: words that drivers and user libraries write to BAR 2.

use crate::abi::PAGE_SIZE;

/// A decoded doorbell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doorbell {
    /// A queue pair has new requests.
    Qp {
        /// Its handle.
        handle: u32,
        /// In the send queue.
        send: bool,
        /// In the receive queue.
        recv: bool,
    },
    /// A completion queue is armed or was found empty.
    Cq {
        /// Its handle.
        handle: u32,
        /// Notify of any completion.
        arm: bool,
        /// Notify of solicited completions.
        arm_solicited: bool,
        /// It was polled in vain.
        poll: bool,
    },
    /// A shared receive queue has new requests.
    Srq {
        /// Its handle.
        handle: u32,
        /// That is the only thing to say.
        recv: bool,
    },
}

const HANDLE: u32 = 0x00ff_ffff;

impl Doorbell {
    /// Decodes a word at an offset of BAR 2. Returns the page too.
    pub fn decode(offset: u64, word: u32) -> Option<(u32, Self)> {
        let page = u32::try_from(offset / PAGE_SIZE as u64).ok()?;
        let handle = word & HANDLE;
        let bit = |bit: u32| word & (1 << bit) != 0;
        let doorbell = match offset % PAGE_SIZE as u64 {
            0 => Self::Qp { handle, send: bit(30), recv: bit(31) },
            4 => Self::Cq { handle, arm: bit(30), arm_solicited: bit(29), poll: bit(31) },
            8 => Self::Srq { handle, recv: bit(30) },
            _ => return None,
        };
        Some((page, doorbell))
    }

    /// The kind of object, its handle and the names of the bits that are set.
    pub fn describe(&self) -> (&'static str, u32, Vec<&'static str>) {
        let names = |flags: &[(bool, &'static str)]| {
            flags.iter().filter(|(set, _)| *set).map(|(_, name)| *name).collect()
        };
        match *self {
            Self::Qp { handle, send, recv } => {
                ("qp", handle, names(&[(send, "send"), (recv, "recv")]))
            }
            Self::Cq { handle, arm, arm_solicited, poll } => (
                "cq",
                handle,
                names(&[(arm, "arm"), (arm_solicited, "arm_solicited"), (poll, "poll")]),
            ),
            Self::Srq { handle, recv } => ("srq", handle, names(&[(recv, "recv")])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_mean_what_the_interface_says() {
        let table = [
            (0x1000, 0x4000_0007, (1, "qp", 7, vec!["send"])),
            (0x0000, 0x8000_0001, (0, "qp", 1, vec!["recv"])),
            (0x2004, 0x4000_0000, (2, "cq", 0, vec!["arm"])),
            (0x2004, 0x2000_0003, (2, "cq", 3, vec!["arm_solicited"])),
            (0x2004, 0x80ff_ffff, (2, "cq", 0xff_ffff, vec!["poll"])),
            (0x3008, 0x4000_0002, (3, "srq", 2, vec!["recv"])),
        ];
        for (offset, word, expected) in table {
            let (page, doorbell) = Doorbell::decode(offset, word).unwrap();
            let (kind, handle, flags) = doorbell.describe();
            assert_eq!((page, kind, handle, flags), expected);
        }
        assert_eq!(Doorbell::decode(0xc, 0), None);
    }
}
