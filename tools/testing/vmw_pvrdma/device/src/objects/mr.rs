// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory regions: what keys stand for.
//!
//! A key is the handle of its region and eight more bits. For fast registrations the driver
//! chooses these bits anew with each registration; for the others they tell an old key from a
//! new one with the same handle.

use crate::abi::commands::{CreateMr, CreateMrResp, DestroyMr, Response};
use crate::abi::wqe::{FastRegBody, Sge};
use crate::abi::{access, PAGE_SIZE};
use crate::adapter::Adapter;
use crate::limits::{MAX_FAST_REG_PAGES, MAX_MR_SIZE};
use crate::memory::Extent;
use crate::objects::{Errno, Outcome, DONE};
use crate::page_dir::Pages;

const KEY_SHIFT: u32 = 8;
const KEY_MASK: u32 = (1 << KEY_SHIFT) - 1;

const FLAG_DMA: u32 = 1 << 0;
const FLAG_FAST: u32 = 1 << 1;

/// What lies behind a key.
#[derive(Clone, Debug)]
enum Target {
    /// All memory; addresses are bus addresses.
    Dma,
    /// Pages of a buffer that begins at an address.
    Buffer { start: u64, length: u64, pages: Pages },
    /// Nothing: to be registered by a work request first.
    Unregistered,
}

/// A memory region.
#[derive(Clone, Debug)]
pub struct Mr {
    /// The protection domain.
    pub pd: u32,
    key: u32,
    access: u32,
    target: Target,
    /// Room for this many pages if it may be registered by work requests.
    fast_pages: Option<u32>,
}

/// A key does not allow an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyError;

impl Mr {
    /// Adds the memory behind a range of the region to `extents`.
    fn resolve(&self, addr: u64, len: u32, extents: &mut Vec<Extent>) -> Option<()> {
        match &self.target {
            Target::Dma => extents.push(Extent { addr, len: len as usize }),
            Target::Buffer { start, length, pages } => {
                let offset = addr.checked_sub(*start)?;
                if offset.checked_add(len.into())? > *length {
                    return None;
                }
                let first = start % PAGE_SIZE as u64;
                pages.resolve(usize::try_from(first + offset).ok()?, len as usize, extents)?;
            }
            Target::Unregistered => return None,
        }
        Some(())
    }
}

impl Adapter {
    /// CREATE_MR
    pub(crate) fn create_mr(&mut self, command: &CreateMr) -> Outcome {
        self.objects.pds.get(command.pd_handle).ok_or(Errno::NoEntry)?;
        let rights = command.access_flags & !access::OPTIONAL;
        let remote_changes = access::REMOTE_WRITE | access::REMOTE_ATOMIC;
        if rights & !access::SUPPORTED != 0
            || (rights & remote_changes != 0 && rights & access::LOCAL_WRITE == 0)
        {
            return Err(Errno::Invalid.into());
        }
        let mut fast_pages = None;
        let target = match command.flags {
            0 => self.buffer(command)?,
            FLAG_DMA if rights & !access::LOCAL_WRITE == 0 => Target::Dma,
            FLAG_FAST if (1..=MAX_FAST_REG_PAGES).contains(&command.nchunks) => {
                fast_pages = Some(command.nchunks);
                Target::Unregistered
            }
            _ => return Err(Errno::Invalid.into()),
        };
        let mr_handle = self.objects.mrs.vacant().ok_or(Errno::NoMemory)?;
        let key = (mr_handle << KEY_SHIFT) | (self.objects.mrs_created & KEY_MASK);
        self.objects.mrs_created += 1;
        let mr = Mr { pd: command.pd_handle, key, access: rights, target, fast_pages };
        self.objects.mrs.insert(mr_handle, mr);
        let (lkey, rkey) = (key, key);
        Ok(Response::CreateMr(CreateMrResp { mr_handle, lkey, rkey, ..Default::default() }))
    }

    fn buffer(&self, command: &CreateMr) -> Result<Target, Errno> {
        let CreateMr { start, length, .. } = *command;
        if length == 0 || length > MAX_MR_SIZE || start.checked_add(length).is_none() {
            return Err(Errno::Invalid);
        }
        let page = PAGE_SIZE as u64;
        if u64::from(command.nchunks) != (start % page + length).div_ceil(page) {
            return Err(Errno::Invalid);
        }
        let pages = Pages::read(&self.memory, command.pdir_dma, command.nchunks as usize).map_err(
            |error| {
                log::info!("adapter {}: {error}", self.id());
                Errno::Invalid
            },
        )?;
        Ok(Target::Buffer { start, length, pages })
    }

    /// DESTROY_MR
    pub(crate) fn destroy_mr(&mut self, command: &DestroyMr) -> Outcome {
        self.objects.mrs.remove(command.mr_handle).ok_or(Errno::NoEntry)?;
        DONE
    }

    /// Adds the memory behind `len` bytes at `addr` to `extents`, if the key is one of the
    /// protection domain and grants all of `rights`.
    pub(crate) fn resolve(
        &self,
        pd: u32,
        sge: Sge,
        rights: u32,
        extents: &mut Vec<Extent>,
    ) -> Result<(), KeyError> {
        if sge.length == 0 {
            return Ok(());
        }
        let mr = self.objects.mrs.get(sge.lkey >> KEY_SHIFT).ok_or(KeyError)?;
        if mr.key != sge.lkey || mr.pd != pd || mr.access & rights != rights {
            return Err(KeyError);
        }
        let begin = extents.len();
        mr.resolve(sge.addr, sge.length, extents).ok_or(KeyError)?;
        if extents[begin..].iter().all(|extent| self.memory.contains(extent.addr, extent.len)) {
            Ok(())
        } else {
            Err(KeyError)
        }
    }

    /// Registers pages under a key, as a work request asks.
    pub(crate) fn fast_register(&mut self, pd: u32, body: &FastRegBody) -> Result<(), KeyError> {
        let handle = body.rkey >> KEY_SHIFT;
        let mr = self.objects.mrs.get(handle).filter(|mr| mr.pd == pd).ok_or(KeyError)?;
        let room = mr.fast_pages.ok_or(KeyError)?;
        let page = PAGE_SIZE as u64;
        let first = body.iova_start % page;
        let rights = body.access_flags & !access::OPTIONAL;
        if !matches!(mr.target, Target::Unregistered)
            || rights & !access::SUPPORTED != 0
            || body.page_shift != page.trailing_zeros()
            || body.length == 0
            || body.page_list_len > room
            || u64::from(body.page_list_len) * page < first + u64::from(body.length)
        {
            return Err(KeyError);
        }
        let pages = Pages::read(&self.memory, body.pl_pdir_dma, body.page_list_len as usize)
            .map_err(|_| KeyError)?;
        let (start, length) = (body.iova_start, body.length.into());
        let mr = self.objects.mrs.get_mut(handle).ok_or(KeyError)?;
        mr.key = body.rkey;
        mr.access = rights;
        mr.target = Target::Buffer { start, length, pages };
        Ok(())
    }

    /// Takes back a fast registration.
    pub(crate) fn invalidate(&mut self, pd: u32, key: u32) -> Result<(), KeyError> {
        let mr = self.objects.mrs.get_mut(key >> KEY_SHIFT).ok_or(KeyError)?;
        if mr.key != key
            || mr.pd != pd
            || mr.fast_pages.is_none()
            || matches!(mr.target, Target::Unregistered)
        {
            return Err(KeyError);
        }
        mr.target = Target::Unregistered;
        Ok(())
    }
}
