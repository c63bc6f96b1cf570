// SPDX-License-Identifier: GPL-2.0

//! Attributes of queue pairs.

use super::{
    ah::AhAttr,
    enums::{
        MigState,
        Mtu,
        QpState, //
    },
    flags::{
        AccessFlags,
        QpAttrMask, //
    },
};
use crate::{
    bindings,
    prelude::*, //
};

/// Capacity of a queue pair.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct QpCap {
    /// Send requests outstanding.
    pub max_send_wr: u32,
    /// Receive requests outstanding.
    pub max_recv_wr: u32,
    /// Segments of a send request.
    pub max_send_sge: u32,
    /// Segments of a receive request.
    pub max_recv_sge: u32,
    /// Bytes that may be sent inline.
    pub max_inline_data: u32,
}

impl QpCap {
    /// Reads the capacity.
    #[inline]
    pub(super) fn read(raw: &bindings::ib_qp_cap) -> Self {
        Self {
            max_send_wr: raw.max_send_wr,
            max_recv_wr: raw.max_recv_wr,
            max_send_sge: raw.max_send_sge,
            max_recv_sge: raw.max_recv_sge,
            max_inline_data: raw.max_inline_data,
        }
    }

    /// Writes the capacity.
    #[inline]
    pub(super) fn write(&self, raw: &mut bindings::ib_qp_cap) {
        raw.max_send_wr = self.max_send_wr;
        raw.max_recv_wr = self.max_recv_wr;
        raw.max_send_sge = self.max_send_sge;
        raw.max_recv_sge = self.max_recv_sge;
        raw.max_inline_data = self.max_inline_data;
    }
}

/// Attributes of a queue pair.
///
/// Corresponds to the C `struct ib_qp_attr`. When a queue pair is modified, a value is present if,
/// and only if, the mask of the call has its bit; so an attribute that was not passed cannot be
/// taken for one.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct QpAttr {
    /// State to move to, or the state.
    pub state: Option<QpState>,
    /// State that the caller believes the queue pair to be in.
    pub cur_state: Option<QpState>,
    /// Path MTU.
    pub path_mtu: Option<Mtu>,
    /// Path migration state.
    pub mig_state: Option<MigState>,
    /// Q_Key.
    pub qkey: Option<u32>,
    /// Packet sequence number expected by the receive queue.
    pub rq_psn: Option<u32>,
    /// First packet sequence number of the send queue.
    pub sq_psn: Option<u32>,
    /// Queue pair number of the peer.
    pub dest_qpn: Option<u32>,
    /// Remote operations allowed.
    pub access: Option<AccessFlags>,
    /// Capacity of the queues.
    pub cap: Option<QpCap>,
    /// Primary path.
    pub ah: Option<AhAttr>,
    /// Alternate path.
    pub alt: Option<AltPath>,
    /// Index into the P_Key table.
    pub pkey_index: Option<u16>,
    /// Wish for an event when the send queue is drained.
    pub sqd_async_notify: Option<bool>,
    /// Whether the send queue is draining; only answered by queries.
    pub sq_draining: Option<bool>,
    /// Outstanding reads and atomics as initiator.
    pub max_rd_atomic: Option<u8>,
    /// Outstanding reads and atomics as responder.
    pub max_dest_rd_atomic: Option<u8>,
    /// Receiver-not-ready timer sent to the peer.
    pub min_rnr_timer: Option<u8>,
    /// Primary port.
    pub port: Option<u32>,
    /// Local acknowledge timeout.
    pub timeout: Option<u8>,
    /// Retry count.
    pub retry_cnt: Option<u8>,
    /// Receiver-not-ready retry count.
    pub rnr_retry: Option<u8>,
    /// Packet pacing in kilobits per second.
    pub rate_limit: Option<u32>,
}

/// Alternate path of a queue pair.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct AltPath {
    /// Address.
    pub ah: AhAttr,
    /// Index into the P_Key table.
    pub pkey_index: u16,
    /// Port.
    pub port: u32,
    /// Local acknowledge timeout.
    pub timeout: u8,
}

impl QpAttr {
    /// Reads the attributes that `mask` names; others are not even looked at, as a kernel consumer
    /// need not initialise them.
    ///
    /// # Errors
    ///
    /// `EINVAL` if a value is none that the attribute can have.
    #[inline]
    pub(super) fn read(raw: &bindings::ib_qp_attr, mask: QpAttrMask) -> Result<Self> {
        // Gives the structure only to those who may look at it.
        let has = |bit| mask.contains(bit).then_some(raw);
        let mut attr = Self::default();

        if let Some(raw) = has(QpAttrMask::STATE) {
            attr.state = Some(raw.qp_state.try_into()?);
        }
        if let Some(raw) = has(QpAttrMask::CUR_STATE) {
            attr.cur_state = Some(raw.cur_qp_state.try_into()?);
        }
        if let Some(raw) = has(QpAttrMask::PATH_MTU) {
            attr.path_mtu = Some(raw.path_mtu.try_into()?);
        }
        if let Some(raw) = has(QpAttrMask::PATH_MIG_STATE) {
            attr.mig_state = Some(raw.path_mig_state.try_into()?);
        }
        attr.qkey = has(QpAttrMask::QKEY).map(|raw| raw.qkey);
        attr.rq_psn = has(QpAttrMask::RQ_PSN).map(|raw| raw.rq_psn);
        attr.sq_psn = has(QpAttrMask::SQ_PSN).map(|raw| raw.sq_psn);
        attr.dest_qpn = has(QpAttrMask::DEST_QPN).map(|raw| raw.dest_qp_num);
        if let Some(raw) = has(QpAttrMask::ACCESS_FLAGS) {
            // CAST: A flag word, which C keeps in a signed integer.
            attr.access = Some(AccessFlags::from_bits(raw.qp_access_flags as u32));
        }
        attr.cap = has(QpAttrMask::CAP).map(|raw| QpCap::read(&raw.cap));
        if let Some(raw) = has(QpAttrMask::AV) {
            attr.ah = Some(AhAttr::read(&raw.ah_attr)?);
        }
        if let Some(raw) = has(QpAttrMask::ALT_PATH) {
            attr.alt = Some(AltPath {
                ah: AhAttr::read(&raw.alt_ah_attr)?,
                pkey_index: raw.alt_pkey_index,
                port: raw.alt_port_num,
                timeout: raw.alt_timeout,
            });
        }
        attr.pkey_index = has(QpAttrMask::PKEY_INDEX).map(|raw| raw.pkey_index);
        attr.sqd_async_notify =
            has(QpAttrMask::EN_SQD_ASYNC_NOTIFY).map(|raw| raw.en_sqd_async_notify != 0);
        attr.max_rd_atomic = has(QpAttrMask::MAX_QP_RD_ATOMIC).map(|raw| raw.max_rd_atomic);
        attr.max_dest_rd_atomic =
            has(QpAttrMask::MAX_DEST_RD_ATOMIC).map(|raw| raw.max_dest_rd_atomic);
        attr.min_rnr_timer = has(QpAttrMask::MIN_RNR_TIMER).map(|raw| raw.min_rnr_timer);
        attr.port = has(QpAttrMask::PORT).map(|raw| raw.port_num);
        attr.timeout = has(QpAttrMask::TIMEOUT).map(|raw| raw.timeout);
        attr.retry_cnt = has(QpAttrMask::RETRY_CNT).map(|raw| raw.retry_cnt);
        attr.rnr_retry = has(QpAttrMask::RNR_RETRY).map(|raw| raw.rnr_retry);
        attr.rate_limit = has(QpAttrMask::RATE_LIMIT).map(|raw| raw.rate_limit);
        Ok(attr)
    }

    /// Writes the attributes that are present into a structure that was zeroed.
    #[inline]
    pub(super) fn write(&self, raw: &mut bindings::ib_qp_attr) {
        // CAST: Flag words, which C keeps in a signed integer; the others are enumerations.
        raw.qp_state = self.state.map_or(0, Into::into);
        raw.cur_qp_state = self.cur_state.map_or(0, Into::into);
        raw.path_mtu = self.path_mtu.map_or(0, Into::into);
        raw.path_mig_state = self.mig_state.map_or(0, Into::into);
        raw.qkey = self.qkey.unwrap_or(0);
        raw.rq_psn = self.rq_psn.unwrap_or(0);
        raw.sq_psn = self.sq_psn.unwrap_or(0);
        raw.dest_qp_num = self.dest_qpn.unwrap_or(0);
        raw.qp_access_flags = self.access.map_or(0, AccessFlags::bits) as crate::ffi::c_int;
        if let Some(cap) = &self.cap {
            cap.write(&mut raw.cap);
        }
        if let Some(ah) = &self.ah {
            ah.write(&mut raw.ah_attr);
        }
        if let Some(alt) = &self.alt {
            alt.ah.write(&mut raw.alt_ah_attr);
            raw.alt_pkey_index = alt.pkey_index;
            raw.alt_port_num = alt.port;
            raw.alt_timeout = alt.timeout;
        }
        raw.pkey_index = self.pkey_index.unwrap_or(0);
        raw.en_sqd_async_notify = self.sqd_async_notify.unwrap_or(false).into();
        raw.sq_draining = self.sq_draining.unwrap_or(false).into();
        raw.max_rd_atomic = self.max_rd_atomic.unwrap_or(0);
        raw.max_dest_rd_atomic = self.max_dest_rd_atomic.unwrap_or(0);
        raw.min_rnr_timer = self.min_rnr_timer.unwrap_or(0);
        raw.port_num = self.port.unwrap_or(0);
        raw.timeout = self.timeout.unwrap_or(0);
        raw.retry_cnt = self.retry_cnt.unwrap_or(0);
        raw.rnr_retry = self.rnr_retry.unwrap_or(0);
        raw.rate_limit = self.rate_limit.unwrap_or(0);
    }
}

/// What a queue pair was created with, as a query answers it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct QpInitAttr {
    /// Capacity of the queues.
    pub cap: QpCap,
    /// Whether all send requests are reported in the completion queue.
    pub signal_all: bool,
    /// The port.
    pub port: u32,
}

impl QpInitAttr {
    /// Writes the answer into a structure that was zeroed; the rest comes from the queue pair.
    ///
    /// # Safety
    ///
    /// `qp` must point to a live queue pair.
    #[inline]
    pub(super) unsafe fn write(
        &self,
        raw: &mut bindings::ib_qp_init_attr,
        qp: *const bindings::ib_qp,
    ) {
        // SAFETY: By the requirement; these members do not change after the creation.
        unsafe {
            raw.event_handler = (*qp).registered_event_handler;
            raw.qp_context = (*qp).qp_context;
            raw.send_cq = (*qp).send_cq;
            raw.recv_cq = (*qp).recv_cq;
            raw.srq = (*qp).srq;
            raw.qp_type = (*qp).qp_type;
        }
        raw.sq_sig_type = if self.signal_all {
            bindings::ib_sig_type_IB_SIGNAL_ALL_WR
        } else {
            bindings::ib_sig_type_IB_SIGNAL_REQ_WR
        };
        raw.port_num = self.port;
        self.cap.write(&mut raw.cap);
    }
}
