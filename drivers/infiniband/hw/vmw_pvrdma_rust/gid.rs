// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! The GID table of the port.
//!
//! The core decides what is in the table and keeps it; the driver binds each entry on the device
//! and remembers what is bound, as the device wants the GID again when it is to be released.

#![forbid(unsafe_code)]

use crate::{
    adapter::Adapter,
    commands::{
        CreateBind,
        DestroyBind, //
    },
    wire, //
};
use kernel::{
    new_mutex,
    prelude::*,
    rdma::{
        Gid,
        GidEntry,
        GidType, //
    },
    sync::Mutex, //
};

/// What is bound on the device.
#[pin_data]
pub(crate) struct GidTable {
    #[pin]
    bound: Mutex<KVec<Gid>>,
}

impl GidTable {
    /// Makes an empty table of `len` entries.
    pub(crate) fn new(len: usize) -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            bound <- new_mutex!(KVec::from_elem(Gid::default(), len, GFP_KERNEL)?),
        })
    }

    /// Binds an entry. Sleeps.
    ///
    /// # Errors
    ///
    /// [`EINVAL`] if there is no such entry, or what the command channel answers; nothing is bound
    /// then.
    pub(crate) fn add(&self, adapter: &Adapter<'_>, entry: &GidEntry<'_>) -> Result {
        let index = usize::try_from(entry.index())?;
        let mut bound = self.bound.lock();
        let bound = bound.get_mut(index).ok_or(EINVAL)?;

        adapter
            .tell(&CreateBind {
                index: entry.index(),
                gid: entry.gid().0,
                gid_type: match entry.gid_type()? {
                    GidType::RoceV2 => wire::gid_type::ROCE_V2,
                    GidType::RoceV1 => wire::gid_type::ROCE_V1,
                    GidType::InfiniBand => return Err(EINVAL),
                },
            })
            .map_err(|error| error.code())?;
        *bound = entry.gid();
        Ok(())
    }

    /// Releases an entry. Sleeps.
    ///
    /// # Errors
    ///
    /// As for [`Self::add`]; the entry is still bound then.
    pub(crate) fn del(&self, adapter: &Adapter<'_>, entry: &GidEntry<'_>) -> Result {
        let index = usize::try_from(entry.index())?;
        let mut bound = self.bound.lock();
        let bound = bound.get_mut(index).ok_or(EINVAL)?;

        adapter
            .tell(&DestroyBind {
                index: entry.index(),
                gid: bound.0,
            })
            .map_err(|error| error.code())?;
        *bound = Gid::default();
        Ok(())
    }

    /// Returns what is bound at `index`, zero if nothing is.
    ///
    /// # Errors
    ///
    /// [`EINVAL`] if there is no such entry.
    pub(crate) fn get(&self, index: u32) -> Result<Gid> {
        let bound = self.bound.lock();

        bound.get(usize::try_from(index)?).copied().ok_or(EINVAL)
    }
}
