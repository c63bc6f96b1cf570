// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! Memory that is lent to the device.
//!
//! The device reads and writes the rings, page directories and user pages of an object from the
//! command that creates it until it accepted the command that destroys it. Whether it still knows
//! them is not always certain: a create may time out, and a destroy may be refused. [`Lent`] makes
//! the safe answer the default: what was not given back is leaked, never freed.

#![forbid(unsafe_code)]

use crate::cmd::CmdError;
use core::mem;
use kernel::{
    device::Device,
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

/// Owns memory that the device may access, and keeps it until the device has let go of it.
///
/// Dropping a `Lent` frees the memory only if it was given back; otherwise the memory is leaked on
/// purpose, because freeing it would hand pages to others while the device may still write to them.
pub(crate) struct Lent<T> {
    /// `None` only during drop.
    memory: Option<T>,
    returned: Atomic<bool>,
}

impl<T> Lent<T> {
    /// Lends `memory` to the device; to be called before the command that names it is sent.
    pub(crate) fn new(memory: T) -> Self {
        Self {
            memory: Some(memory),
            returned: Atomic::new(false),
        }
    }

    /// Settles the command that was to create the object.
    ///
    /// If the device refused it, the memory is given back; after any other failure the device may
    /// have the object all the same.
    pub(crate) fn created<R>(&self, dev: &Device, answer: Result<R, CmdError>) -> Result<R> {
        answer.map_err(|error| {
            match error {
                CmdError::Refused(_) => self.give_back(),
                CmdError::Unknown => Self::warn(dev),
            }
            error.code()
        })
    }

    /// Settles the command that was to destroy the object.
    ///
    /// The memory is given back if the device accepted it, or is not there any more.
    pub(crate) fn destroyed(&self, dev: &Device, answer: Result<(), CmdError>) {
        match answer {
            Ok(()) | Err(CmdError::Refused(ENODEV)) => self.give_back(),
            // The channel is dead and has said so; a line for each object would tell nothing new.
            Err(CmdError::Refused(EIO)) => (),
            Err(_) => Self::warn(dev),
        }
    }

    fn give_back(&self) {
        self.returned.store(true, Relaxed);
    }

    fn warn(dev: &Device) {
        dev_warn!(
            dev,
            "the device may keep an object, its memory is not freed\n"
        );
    }
}

impl<T> Drop for Lent<T> {
    fn drop(&mut self) {
        if !self.returned.load(Relaxed) {
            mem::forget(self.memory.take());
        }
    }
}
