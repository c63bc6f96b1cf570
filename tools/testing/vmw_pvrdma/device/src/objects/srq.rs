// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Shared receive queues.

use crate::abi::attrs::SrqAttr;
use crate::abi::commands::{
    CreateSrq, CreateSrqResp, DestroySrq, ModifySrq, QuerySrq, QuerySrqResp, Response,
};
use crate::abi::wqe::recv_stride;
use crate::abi::PAGE_SIZE;
use crate::adapter::Adapter;
use crate::limits::{MAX_SGE, MAX_WR};
use crate::objects::{Errno, Outcome, DONE};
use crate::page_dir::Pages;
use crate::ring::{Half, Ring};

/// Type of an ordinary shared receive queue.
const TYPE_BASIC: u8 = 0;
/// Mask bit of a modify command: change the limit.
const MASK_LIMIT: u32 = 1 << 1;

/// A shared receive queue.
#[derive(Debug)]
pub struct Srq {
    /// The protection domain.
    pub pd: u32,
    /// Capacity and limit. A limit of 0 is none.
    pub attr: SrqAttr,
    /// Its ring.
    pub ring: Ring,
    /// Where the ring lies.
    pub pages: Pages,
}

impl Adapter {
    /// CREATE_SRQ
    pub(crate) fn create_srq(&mut self, command: &CreateSrq) -> Outcome {
        self.objects.pds.get(command.pd_handle).ok_or(Errno::NoEntry)?;
        if command.srq_type != TYPE_BASIC {
            return Err(Errno::NotSupported.into());
        }
        let attr = command.attrs;
        if !attr.max_wr.is_power_of_two()
            || attr.max_wr > MAX_WR
            || !(1..=MAX_SGE).contains(&attr.max_sge)
            || attr.srq_limit > attr.max_wr
        {
            return Err(Errno::Invalid.into());
        }
        let srqn = self.objects.srqs.vacant().ok_or(Errno::NoMemory)?;
        let pages = self.ring_pages(command.pdir_dma, command.nchunks)?;
        let ring = Ring {
            half: Half::Rx,
            offset: PAGE_SIZE,
            stride: recv_stride(attr.max_sge),
            size: attr.max_wr,
        };
        if ring.offset + ring.stride * ring.size as usize > pages.len() {
            return Err(Errno::Invalid.into());
        }
        self.objects.srqs.insert(srqn, Srq { pd: command.pd_handle, attr, ring, pages });
        Ok(Response::CreateSrq(CreateSrqResp { srqn, ..Default::default() }))
    }

    /// MODIFY_SRQ: only the limit can be changed.
    pub(crate) fn modify_srq(&mut self, command: &ModifySrq) -> Outcome {
        let srq = self.objects.srqs.get_mut(command.srq_handle).ok_or(Errno::NoEntry)?;
        if command.attr_mask != MASK_LIMIT || command.attrs.srq_limit > srq.attr.max_wr {
            return Err(Errno::Invalid.into());
        }
        srq.attr.srq_limit = command.attrs.srq_limit;
        DONE
    }

    /// QUERY_SRQ
    pub(crate) fn query_srq(&self, command: &QuerySrq) -> Outcome {
        let srq = self.objects.srqs.get(command.srq_handle).ok_or(Errno::NoEntry)?;
        Ok(Response::QuerySrq(QuerySrqResp { attrs: srq.attr }))
    }

    /// DESTROY_SRQ: no queue pair may use it.
    pub(crate) fn destroy_srq(&mut self, command: &DestroySrq) -> Outcome {
        let handle = command.srq_handle;
        self.objects.srqs.get(handle).ok_or(Errno::NoEntry)?;
        if self.objects.qps.iter().any(|(_, qp)| qp.srq == Some(handle)) {
            return Err(Errno::Busy.into());
        }
        self.objects.srqs.remove(handle);
        DONE
    }
}
