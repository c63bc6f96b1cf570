// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Protection domains: what belongs together.

use crate::abi::commands::{CreatePd, CreatePdResp, DestroyPd, Response};
use crate::adapter::Adapter;
use crate::objects::{Errno, Outcome, DONE};

/// A protection domain.
#[derive(Debug)]
pub struct Pd {
    /// The user context it was created in.
    pub context: u32,
}

impl Adapter {
    /// CREATE_PD
    pub(crate) fn create_pd(&mut self, command: &CreatePd) -> Outcome {
        self.check_context(command.ctx_handle)?;
        let pd_handle = self.objects.pds.vacant().ok_or(Errno::NoMemory)?;
        self.objects.pds.insert(pd_handle, Pd { context: command.ctx_handle });
        Ok(Response::CreatePd(CreatePdResp { pd_handle, ..Default::default() }))
    }

    /// DESTROY_PD: nothing may be left in it.
    pub(crate) fn destroy_pd(&mut self, command: &DestroyPd) -> Outcome {
        let handle = command.pd_handle;
        self.objects.pds.get(handle).ok_or(Errno::NoEntry)?;
        if self.objects.mrs.iter().any(|(_, mr)| mr.pd == handle)
            || self.objects.srqs.iter().any(|(_, srq)| srq.pd == handle)
            || self.objects.qps.iter().any(|(_, qp)| qp.pd == handle)
        {
            return Err(Errno::Busy.into());
        }
        self.objects.pds.remove(handle);
        DONE
    }
}
