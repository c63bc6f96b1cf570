// SPDX-License-Identifier: Apache-2.0 OR MIT
//! User contexts: a doorbell page and what was created over it.

use crate::abi::commands::{CreateUc, CreateUcResp, DestroyUc, Response};
use crate::abi::VERSION_PFN64;
use crate::adapter::Adapter;
use crate::limits::MAX_UAR;
use crate::objects::{Errno, Outcome, DONE};

/// Handle that stands for the kernel.
pub const KERNEL: u32 = 0;

/// A user context.
#[derive(Debug)]
pub struct Uc {
    /// Its doorbell page.
    pub uar: u32,
}

impl Adapter {
    /// CREATE_UC: the page must be one of BAR 2, not the kernel's and not taken.
    pub(crate) fn create_uc(&mut self, command: &CreateUc) -> Outcome {
        let pfn = self.frame_number(command.pfn);
        let base = self.shared()?.uar_pfn;
        let uar = pfn
            .checked_sub(base)
            .and_then(|page| u32::try_from(page).ok())
            .filter(|page| (1..MAX_UAR).contains(page))
            .ok_or(Errno::Invalid)?;
        if self.objects.ucs.iter().any(|(_, other)| other.uar == uar) {
            return Err(Errno::Busy.into());
        }
        let ctx_handle = self.objects.ucs.vacant().ok_or(Errno::NoMemory)?;
        self.objects.ucs.insert(ctx_handle, Uc { uar });
        Ok(Response::CreateUc(CreateUcResp { ctx_handle, ..Default::default() }))
    }

    /// DESTROY_UC: nothing may be left in it.
    pub(crate) fn destroy_uc(&mut self, command: &DestroyUc) -> Outcome {
        let handle = command.ctx_handle;
        self.objects.ucs.get(handle).ok_or(Errno::NoEntry)?;
        if self.objects.pds.iter().any(|(_, pd)| pd.context == handle)
            || self.objects.cqs.iter().any(|(_, cq)| cq.context == handle)
        {
            return Err(Errno::Busy.into());
        }
        self.objects.ucs.remove(handle);
        DONE
    }

    /// A page frame number as wide as the version has it.
    pub(crate) fn frame_number(&self, raw: u64) -> u64 {
        if self.config().version() < VERSION_PFN64 {
            raw & u64::from(u32::MAX)
        } else {
            raw
        }
    }

    /// Checks that a context exists.
    pub(crate) fn check_context(&self, context: u32) -> Result<(), Errno> {
        if context == KERNEL || self.objects.ucs.get(context).is_some() {
            Ok(())
        } else {
            Err(Errno::NoEntry)
        }
    }

    /// Whether the doorbells of a context are on this page.
    pub(crate) fn owns_page(&self, context: u32, uar: u32) -> bool {
        match context {
            KERNEL => uar == 0,
            context => self.objects.ucs.get(context).is_some_and(|uc| uc.uar == uar),
        }
    }
}
