// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The objects that the driver creates, and the commands on them.

use serde::Serialize;

use crate::abi::commands::Response;
use crate::handles::Table;
use crate::limits;

pub mod cq;
pub mod gid;
pub mod mr;
pub mod pd;
pub mod port;
pub mod qp;
pub mod srq;
pub mod uc;

/// Error numbers of the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Errno {
    /// No such object.
    NoEntry = 2,
    /// No free handle.
    NoMemory = 12,
    /// An address is not in memory.
    Fault = 14,
    /// The object is in use.
    Busy = 16,
    /// A field has an impossible value.
    Invalid = 22,
    /// The adapter does not have this.
    NotSupported = 95,
}

/// How a command is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// At once, in the error register. No answer follows.
    Register(Errno),
    /// In the error byte of the answer.
    Answer(Errno),
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Self {
        Self::Register(errno)
    }
}

/// What a command leads to.
pub type Outcome = Result<Response, Refusal>;

/// Answer of the commands that have none, or only a head.
pub const DONE: Outcome = Ok(Response::Empty {});

/// All objects of an adapter.
pub struct Objects {
    /// User contexts. Handle 0 means the kernel.
    pub ucs: Table<uc::Uc>,
    /// Protection domains.
    pub pds: Table<pd::Pd>,
    /// Memory regions. Keys are made of their handles; 0 is no key.
    pub mrs: Table<mr::Mr>,
    /// Completion queues.
    pub cqs: Table<cq::Cq>,
    /// Shared receive queues.
    pub srqs: Table<srq::Srq>,
    /// Queue pairs. Handles 0 and 1 are special queue pair numbers before version 20.
    pub qps: Table<qp::Qp>,
    /// Addresses.
    pub gids: gid::GidTable,
    /// Number of memory regions created.
    pub mrs_created: u32,
    /// Number of queue pairs created.
    pub qps_created: u32,
}

impl Objects {
    /// How many there are of each kind.
    pub fn counts(&self) -> Counts {
        Counts {
            ucs: self.ucs.iter().count(),
            pds: self.pds.iter().count(),
            mrs: self.mrs.iter().count(),
            cqs: self.cqs.iter().count(),
            srqs: self.srqs.iter().count(),
            qps: self.qps.iter().count(),
            gids: self.gids.count(),
        }
    }
}

/// Numbers of objects, under the names that [`Objects`] has for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Counts {
    pub ucs: usize,
    pub pds: usize,
    pub mrs: usize,
    pub cqs: usize,
    pub srqs: usize,
    pub qps: usize,
    pub gids: usize,
}

impl Default for Objects {
    fn default() -> Self {
        Self {
            ucs: Table::new(1, limits::MAX_UAR - 1),
            pds: Table::new(0, limits::MAX_PD),
            mrs: Table::new(1, limits::MAX_MR),
            cqs: Table::new(0, limits::MAX_CQ),
            srqs: Table::new(0, limits::MAX_SRQ),
            qps: Table::new(qp::FIRST_HANDLE, limits::MAX_QP - qp::FIRST_HANDLE),
            gids: gid::GidTable::default(),
            mrs_created: 0,
            qps_created: 0,
        }
    }
}
