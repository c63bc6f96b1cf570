// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Queue pairs: creation, modification, query.

use std::time::Instant;

use crate::abi::attrs::{qp_mask as mask, QpAttr, QpCap, AH_GRH};
use crate::abi::commands::{
    CreateQp, CreateQpResp, CreateQpRespV2, DestroyQp, ModifyQp, QueryQp, QueryQpResp, Response,
};
use crate::abi::wqe::{recv_stride, send_stride};
use crate::abi::{access, PAGE_SIZE, VERSION_QP_HANDLE};
use crate::adapter::Adapter;
use crate::events::AsyncEvent;
use crate::limits::{MAX_MTU, MAX_PKEYS, MAX_RD_ATOMIC, MAX_SGE, MAX_WR};
use crate::objects::port::PORT;
use crate::objects::{Errno, Outcome, Refusal, DONE};
use crate::page_dir::Pages;
use crate::qp_state::{is_allowed, QpState, QpType};
use crate::request::{RecvWqe, Request};
use crate::ring::{Half, Ring};
use crate::schedule::{QpRef, Schedule};

/// Number of the queue pair that connection managers talk to.
pub const GSI_QPN: u32 = 1;
/// Lowest handle of other queue pairs: 0 and 1 are special numbers where a handle is a number.
pub const FIRST_HANDLE: u32 = 2;
/// Numbers of queue pairs and of packets have 24 bits.
pub const MASK_24: u32 = 0xff_ffff;

/// From version 20 a number is the handle and, above these bits, a count that makes it differ
/// from the number which the handle stood for before.
const NUMBER_SHIFT: u32 = 12;
const NUMBER_COUNTS: u32 = (1 << (24 - NUMBER_SHIFT)) - 1;

/// A queue pair.
#[derive(Debug)]
pub struct Qp {
    /// Its number on the wire.
    pub qpn: u32,
    /// Tells it from others that had its handle.
    pub serial: u64,
    /// The protection domain.
    pub pd: u32,
    /// Where sends complete.
    pub send_cq: u32,
    /// Where receives complete.
    pub recv_cq: u32,
    /// Where receive buffers come from instead of its own receive queue.
    pub srq: Option<u32>,
    /// The transport.
    pub kind: QpType,
    /// Whether all sends report success.
    pub signal_all: bool,
    /// Where the rings lie.
    pub pages: Pages,
    /// The send queue.
    pub send_ring: Ring,
    /// The receive queue.
    pub recv_ring: Option<Ring>,
    /// The state; that in `attr` is not kept.
    pub state: QpState,
    /// The attributes. The packet numbers count on with traffic.
    pub attr: QpAttr,
    /// The send request that is being executed.
    pub request: Option<Request>,
    /// The receive request that a message of several steps is filling.
    pub recv: Option<RecvWqe>,
    /// The send queue pauses until then.
    pub wait: Option<Instant>,
    /// A message arrived before the driver said that the connection is established.
    pub established: bool,
    /// Tell when the send queue has stopped.
    pub notify_drained: bool,
}

impl Qp {
    /// Whether the send queue is to be worked on.
    pub fn may_send(&self) -> bool {
        match self.state {
            QpState::Rts => true,
            QpState::Sqd => self.request.is_some(),
            QpState::Reset | QpState::Init | QpState::Rtr | QpState::Sqe | QpState::Err => false,
        }
    }

    /// Forgets everything but what it was created with.
    fn reset(&mut self) {
        self.attr = QpAttr { cap: self.attr.cap, ..QpAttr::default() };
        self.request = None;
        self.recv = None;
        self.wait = None;
        self.established = false;
        self.notify_drained = false;
    }

    /// Takes the attributes that a mask names.
    fn apply(&mut self, new: &QpAttr, bits: u32) {
        let attr = &mut self.attr;
        macro_rules! take {
            ($($bit:ident: $field:ident,)*) => {
                $(if bits & mask::$bit != 0 { attr.$field = new.$field; })*
            };
        }
        take!(
            EN_SQD_ASYNC_NOTIFY: en_sqd_async_notify,
            ACCESS_FLAGS: qp_access_flags,
            PKEY_INDEX: pkey_index,
            PORT: port_num,
            QKEY: qkey,
            AV: ah_attr,
            PATH_MTU: path_mtu,
            TIMEOUT: timeout,
            RETRY_CNT: retry_cnt,
            RNR_RETRY: rnr_retry,
            RQ_PSN: rq_psn,
            MAX_QP_RD_ATOMIC: max_rd_atomic,
            MIN_RNR_TIMER: min_rnr_timer,
            SQ_PSN: sq_psn,
            MAX_DEST_RD_ATOMIC: max_dest_rd_atomic,
            DEST_QPN: dest_qp_num,
        );
    }
}

impl Adapter {
    /// CREATE_QP
    pub(crate) fn create_qp(&mut self, command: &CreateQp) -> Outcome {
        self.objects.pds.get(command.pd_handle).ok_or(Errno::NoEntry)?;
        self.objects.cqs.get(command.send_cq_handle).ok_or(Errno::NoEntry)?;
        self.objects.cqs.get(command.recv_cq_handle).ok_or(Errno::NoEntry)?;
        let srq = match command.is_srq {
            0 => None,
            _ => Some(command.srq_handle),
        };
        if let Some(srq) = srq {
            self.objects.srqs.get(srq).ok_or(Errno::NoEntry)?;
        }
        let kind = QpType::from_wire(command.qp_type).ok_or(Errno::NotSupported)?;
        if command.max_inline_data != 0 {
            return Err(Errno::NotSupported.into());
        }
        let cap = QpCap {
            max_send_wr: command.max_send_wr,
            max_recv_wr: command.max_recv_wr,
            max_send_sge: command.max_send_sge,
            max_recv_sge: command.max_recv_sge,
            ..Default::default()
        };
        let queue_is_possible =
            |wr: u32, sge| wr.is_power_of_two() && wr <= MAX_WR && (1..=MAX_SGE).contains(&sge);
        if !queue_is_possible(cap.max_send_wr, cap.max_send_sge)
            || (srq.is_none() && !queue_is_possible(cap.max_recv_wr, cap.max_recv_sge))
            || (srq.is_some() && (cap.max_recv_wr, cap.max_recv_sge) != (0, 0))
        {
            return Err(Errno::Invalid.into());
        }

        let pages = self.ring_pages(command.pdir_dma, command.total_chunks.into())?;
        let send_ring = Ring {
            half: Half::Tx,
            offset: PAGE_SIZE,
            stride: send_stride(cap.max_send_sge),
            size: cap.max_send_wr,
        };
        let recv_offset = (usize::from(command.send_chunks) + 1) * PAGE_SIZE;
        let recv_ring = srq.is_none().then(|| Ring {
            half: Half::Rx,
            offset: recv_offset,
            stride: recv_stride(cap.max_recv_sge),
            size: cap.max_recv_wr,
        });
        let end = |ring: &Ring| ring.offset + ring.stride * ring.size as usize;
        if end(&send_ring) > recv_offset
            || recv_offset > pages.len()
            || recv_ring.as_ref().is_some_and(|ring| end(ring) > pages.len())
        {
            return Err(Errno::Invalid.into());
        }

        let (qp_handle, qpn) = self.queue_pair_number(kind)?;
        let qp = Qp {
            qpn,
            serial: self.next_serial(),
            pd: command.pd_handle,
            send_cq: command.send_cq_handle,
            recv_cq: command.recv_cq_handle,
            srq,
            kind,
            signal_all: command.sq_sig_all != 0,
            pages,
            send_ring,
            recv_ring,
            state: QpState::Reset,
            attr: QpAttr { cap, ..Default::default() },
            request: None,
            recv: None,
            wait: None,
            established: false,
            notify_drained: false,
        };
        self.objects.qps.insert(qp_handle, qp);
        let QpCap { max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, .. } = cap;
        let max_inline_data = 0;
        Ok(if self.config().version() < VERSION_QP_HANDLE {
            Response::CreateQp(CreateQpResp {
                qpn,
                max_send_wr,
                max_recv_wr,
                max_send_sge,
                max_recv_sge,
                max_inline_data,
            })
        } else {
            Response::CreateQpV2(CreateQpRespV2 {
                qpn,
                qp_handle,
                max_send_wr,
                max_recv_wr,
                max_send_sge,
                max_recv_sge,
                max_inline_data,
                pad: 0,
            })
        })
    }

    /// Handle and number for a new queue pair.
    fn queue_pair_number(&mut self, kind: QpType) -> Result<(u32, u32), Errno> {
        let objects = &mut self.objects;
        let gsi = kind == QpType::Gsi;
        if gsi && objects.qps.iter().any(|(_, qp)| qp.kind == QpType::Gsi) {
            return Err(Errno::Busy);
        }
        let vacant = objects.qps.vacant().ok_or(Errno::NoMemory);
        let numbers = match (gsi, self.config.version() < VERSION_QP_HANDLE) {
            (true, true) => (GSI_QPN, GSI_QPN),
            (true, false) => (vacant?, GSI_QPN),
            (false, true) => (vacant?, vacant?),
            (false, false) => {
                let handle = vacant?;
                let count = objects.qps_created % NUMBER_COUNTS + 1;
                (handle, (count << NUMBER_SHIFT) | handle)
            }
        };
        objects.qps_created += 1;
        Ok(numbers)
    }

    /// MODIFY_QP. An impossible change is refused in the answer, an unknown queue pair at once.
    pub(crate) fn modify_qp(&mut self, command: &ModifyQp, schedule: &mut Schedule) -> Outcome {
        let qp = self.objects.qps.get(command.qp_handle).ok_or(Errno::NoEntry)?;
        let next = self.check_modify(qp, command).map_err(Refusal::Answer)?;
        let current = qp.state;
        let handle = command.qp_handle;
        let Some(qp) = self.objects.qps.get_mut(handle) else {
            return Err(Errno::NoEntry.into());
        };
        match next {
            QpState::Reset => {
                qp.reset();
                qp.state = QpState::Reset;
            }
            QpState::Err => self.fail_qp(handle, schedule),
            _ => {
                qp.apply(&command.attrs, command.attr_mask);
                qp.state = next;
                if current != next && next == QpState::Sqd {
                    qp.notify_drained = command.attr_mask & mask::EN_SQD_ASYNC_NOTIFY != 0
                        && command.attrs.en_sqd_async_notify != 0;
                }
                let drained = next == QpState::Sqd && qp.request.is_none();
                if drained && std::mem::take(&mut qp.notify_drained) {
                    self.async_event(AsyncEvent::SendQueueDrained(handle));
                }
                schedule.ready(self.qp_ref(handle));
            }
        }
        DONE
    }

    /// The state that the change leads to.
    fn check_modify(&self, qp: &Qp, command: &ModifyQp) -> Result<QpState, Errno> {
        let (bits, attr) = (command.attr_mask, &command.attrs);
        let has = |bit| bits & bit != 0;
        let must = |condition| if condition { Ok(()) } else { Err(Errno::Invalid) };

        let state = |value| QpState::from_wire(value).ok_or(Errno::Invalid);
        let next = if has(mask::STATE) { state(attr.qp_state)? } else { qp.state };
        must(!has(mask::CUR_STATE) || state(attr.cur_qp_state)? == qp.state)?;
        must(is_allowed(qp.state, next, qp.kind, bits))?;
        // There is one path only.
        if has(mask::ALT_PATH) || (has(mask::PATH_MIG_STATE) && attr.path_mig_state != 0) {
            return Err(Errno::NotSupported);
        }
        must(!has(mask::PKEY_INDEX) || attr.pkey_index < MAX_PKEYS)?;
        must(!has(mask::PORT) || attr.port_num == PORT)?;
        must(!has(mask::ACCESS_FLAGS) || attr.qp_access_flags & !access::SUPPORTED == 0)?;
        must(!has(mask::PATH_MTU) || (1..=MAX_MTU).contains(&attr.path_mtu))?;
        must(!has(mask::DEST_QPN) || attr.dest_qp_num & !MASK_24 == 0)?;
        must(!has(mask::RQ_PSN) || attr.rq_psn & !MASK_24 == 0)?;
        must(!has(mask::SQ_PSN) || attr.sq_psn & !MASK_24 == 0)?;
        must(!has(mask::MIN_RNR_TIMER) || attr.min_rnr_timer < 32)?;
        must(!has(mask::TIMEOUT) || attr.timeout < 32)?;
        must(!has(mask::RETRY_CNT) || attr.retry_cnt < 8)?;
        must(!has(mask::RNR_RETRY) || attr.rnr_retry < 8)?;
        must(!has(mask::MAX_QP_RD_ATOMIC) || attr.max_rd_atomic <= MAX_RD_ATOMIC)?;
        must(!has(mask::MAX_DEST_RD_ATOMIC) || attr.max_dest_rd_atomic <= MAX_RD_ATOMIC)?;
        if has(mask::AV) {
            let path = &attr.ah_attr;
            must(path.ah_flags & AH_GRH != 0 && path.port_num == PORT)?;
            must(self.objects.gids.get(path.grh.sgid_index).is_some())?;
            // Without both the peer cannot be found on an Ethernet.
            must(!path.grh.dgid.is_zero() && !path.dmac.is_zero())?;
        }
        Ok(next)
    }

    /// QUERY_QP
    pub(crate) fn query_qp(&self, command: &QueryQp) -> Outcome {
        let qp = self.objects.qps.get(command.qp_handle).ok_or(Errno::NoEntry)?;
        let attrs = QpAttr {
            qp_state: qp.state as u32,
            cur_qp_state: qp.state as u32,
            sq_draining: (qp.state == QpState::Sqd && qp.request.is_some()).into(),
            ..qp.attr
        };
        Ok(Response::QueryQp(QueryQpResp { attrs }))
    }

    /// DESTROY_QP. No access to its memory follows: the engine looks queue pairs up each time.
    pub(crate) fn destroy_qp(&mut self, command: &DestroyQp) -> Outcome {
        self.objects.qps.remove(command.qp_handle).ok_or(Errno::NoEntry)?;
        DONE
    }

    /// Moves a queue pair to the error state, where what is posted gets flushed.
    pub(crate) fn fail_qp(&mut self, handle: u32, schedule: &mut Schedule) {
        let Some(qp) = self.objects.qps.get_mut(handle) else {
            return;
        };
        qp.wait = None;
        let has_srq = qp.srq.is_some();
        if std::mem::replace(&mut qp.state, QpState::Err) != QpState::Err && has_srq {
            self.async_event(AsyncEvent::LastWqeReached(handle));
        }
        schedule.ready(self.qp_ref(handle));
    }

    /// A reference that does not survive the queue pair.
    pub(crate) fn qp_ref(&self, handle: u32) -> QpRef {
        let serial = self.objects.qps.get(handle).map_or(0, |qp| qp.serial);
        QpRef { adapter: self.id() as usize, handle, serial }
    }
}

/// The handle that a queue pair number was made of, in all versions.
pub(crate) fn handle_in_number(qpn: u32) -> u32 {
    qpn & ((1 << NUMBER_SHIFT) - 1)
}
