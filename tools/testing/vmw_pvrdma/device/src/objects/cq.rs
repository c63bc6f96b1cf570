// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Completion queues.

use std::mem::size_of;

use crate::abi::commands::{CreateCq, CreateCqResp, DestroyCq, ResizeCq, Response};
use crate::abi::cqe::Cqe;
use crate::abi::PAGE_SIZE;
use crate::adapter::Adapter;
use crate::limits::MAX_CQE;
use crate::memory::Memory;
use crate::objects::{Errno, Outcome, DONE};
use crate::page_dir::Pages;
use crate::ring::{Half, Ring};

/// What a completion queue notifies of. A notification disarms it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// Nothing.
    No,
    /// A completion that the sender or an error marks.
    Solicited,
    /// Any completion.
    Next,
}

/// A completion queue.
#[derive(Debug)]
pub struct Cq {
    /// The user context it was created in.
    pub context: u32,
    /// What to notify of.
    pub arm: Arm,
    ring: Ring,
    pages: Pages,
    overrun: bool,
}

/// A completion found no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CqFull {
    /// For the first time.
    Now,
    /// Not for the first time: the queue is of no use any more.
    Already,
}

impl Cq {
    /// The ring and its pages.
    pub(crate) fn parts(&self) -> (&Ring, &Pages) {
        (&self.ring, &self.pages)
    }

    /// Writes a completion. Returns whether to notify.
    pub fn push(&mut self, memory: &Memory, cqe: &Cqe, solicited: bool) -> Result<bool, CqFull> {
        if self.overrun {
            return Err(CqFull::Already);
        }
        if !self.write(memory, cqe) {
            self.overrun = true;
            return Err(CqFull::Now);
        }
        let notify = match self.arm {
            Arm::No => false,
            Arm::Solicited => solicited,
            Arm::Next => true,
        };
        if notify {
            self.arm = Arm::No;
        }
        Ok(notify)
    }

    fn write(&self, memory: &Memory, cqe: &Cqe) -> bool {
        let Ok(Some(offset)) = self.ring.back(memory, &self.pages) else {
            return false;
        };
        self.pages.write_record(memory, offset, cqe).is_ok()
            && self.ring.push(memory, &self.pages).is_ok()
    }
}

impl Adapter {
    /// CREATE_CQ
    pub(crate) fn create_cq(&mut self, command: &CreateCq) -> Outcome {
        self.check_context(command.ctx_handle)?;
        let cqe = command.cqe;
        if cqe > MAX_CQE || !cqe.is_power_of_two() {
            return Err(Errno::Invalid.into());
        }
        let cq_handle = self.objects.cqs.vacant().ok_or(Errno::NoMemory)?;
        let pages = self.ring_pages(command.pdir_dma, command.nchunks)?;
        let ring = Ring { half: Half::Rx, offset: PAGE_SIZE, stride: size_of::<Cqe>(), size: cqe };
        if ring.offset + ring.stride * cqe as usize > pages.len() {
            return Err(Errno::Invalid.into());
        }
        let context = command.ctx_handle;
        self.objects
            .cqs
            .insert(cq_handle, Cq { context, arm: Arm::No, ring, pages, overrun: false });
        Ok(Response::CreateCq(CreateCqResp { cq_handle, cqe }))
    }

    /// RESIZE_CQ: the adapter does not have it, nor does the Linux driver use it.
    pub(crate) fn resize_cq(&self, command: &ResizeCq) -> Outcome {
        self.objects.cqs.get(command.cq_handle).ok_or(Errno::NoEntry)?;
        Err(Errno::NotSupported.into())
    }

    /// DESTROY_CQ: no queue pair may use it.
    pub(crate) fn destroy_cq(&mut self, command: &DestroyCq) -> Outcome {
        let handle = command.cq_handle;
        self.objects.cqs.get(handle).ok_or(Errno::NoEntry)?;
        let uses = |qp: &super::qp::Qp| qp.send_cq == handle || qp.recv_cq == handle;
        if self.objects.qps.iter().any(|(_, qp)| uses(qp)) {
            return Err(Errno::Busy.into());
        }
        self.objects.cqs.remove(handle);
        DONE
    }

    /// Reads the page directory of a queue.
    pub(crate) fn ring_pages(&self, pdir: u64, chunks: u32) -> Result<Pages, Errno> {
        Pages::read_mapped(&self.memory, pdir, chunks as usize).map_err(|error| {
            log::info!("adapter {}: {error}", self.id());
            Errno::Invalid
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::tests::test_memory;
    use crate::page_dir::tests::write_directory;

    fn cq(memory: &Memory) -> Cq {
        let pdir = write_directory(memory, &[0x12000, 0x13000]);
        let pages = Pages::read_mapped(memory, pdir, 2).unwrap();
        let ring = Ring { half: Half::Rx, offset: PAGE_SIZE, stride: 64, size: 2 };
        Cq { context: 0, arm: Arm::No, ring, pages, overrun: false }
    }

    #[test]
    fn notifies_of_what_it_is_armed_for_once() {
        let memory = test_memory(4);
        let mut cq = cq(&memory);
        let cqe = Cqe::default();
        let mut push = |arm: Option<Arm>, solicited| {
            if let Some(arm) = arm {
                cq.arm = arm;
            }
            let notify = cq.push(&memory, &cqe, solicited);
            cq.ring.pop(&memory, &cq.pages).unwrap();
            notify
        };
        assert_eq!(push(None, true), Ok(false));
        assert_eq!(push(Some(Arm::Next), false), Ok(true));
        assert_eq!(push(None, true), Ok(false));
        assert_eq!(push(Some(Arm::Solicited), false), Ok(false));
        assert_eq!(push(None, true), Ok(true));
        assert_eq!(push(None, true), Ok(false));
    }

    #[test]
    fn overrun_is_final() {
        let memory = test_memory(4);
        let mut cq = cq(&memory);
        let cqe = Cqe { wr_id: 9, ..Default::default() };
        assert_eq!(cq.push(&memory, &cqe, false), Ok(false));
        assert_eq!(cq.push(&memory, &cqe, false), Ok(false));
        assert_eq!(cq.push(&memory, &cqe, false), Err(CqFull::Now));
        cq.ring.pop(&memory, &cq.pages).unwrap();
        assert_eq!(cq.push(&memory, &cqe, false), Err(CqFull::Already));
        assert_eq!(memory.read_record::<Cqe>(0x13040), Ok(cqe));
    }
}
