// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Attribute records that commands and answers carry.

use std::mem::{offset_of, size_of};

use serde::{Deserialize, Serialize};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{Gid, Mac};

/// State of the port.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Serialize,
    Deserialize,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
)]
#[repr(C)]
#[allow(missing_docs)]
pub struct PortAttr {
    pub state: u32,
    pub max_mtu: u32,
    pub active_mtu: u32,
    pub gid_tbl_len: u32,
    pub port_cap_flags: u32,
    pub max_msg_sz: u32,
    pub bad_pkey_cntr: u32,
    pub qkey_viol_cntr: u32,
    pub pkey_tbl_len: u16,
    pub lid: u16,
    pub sm_lid: u16,
    pub lmc: u8,
    pub max_vl_num: u8,
    pub sm_sl: u8,
    pub subnet_timeout: u8,
    pub init_type_reply: u8,
    pub active_width: u8,
    pub active_speed: u8,
    pub phys_state: u8,
    #[serde(skip)]
    pub reserved: [u8; 2],
}
const _: () = assert!(size_of::<PortAttr>() == 48);
const _: () = assert!(offset_of!(PortAttr, pkey_tbl_len) == 32);
const _: () = assert!(offset_of!(PortAttr, phys_state) == 45);

/// Route of a packet.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Serialize,
    Deserialize,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
)]
#[repr(C)]
#[allow(missing_docs)]
pub struct GlobalRoute {
    pub dgid: Gid,
    pub flow_label: u32,
    pub sgid_index: u8,
    pub hop_limit: u8,
    pub traffic_class: u8,
    #[serde(skip)]
    pub reserved: u8,
}
const _: () = assert!(size_of::<GlobalRoute>() == 24);

/// The address handle has a route; always so in RoCE.
pub const AH_GRH: u8 = 1;

/// Path to a peer.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Serialize,
    Deserialize,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
)]
#[repr(C)]
#[allow(missing_docs)]
pub struct AhAttr {
    pub grh: GlobalRoute,
    pub dlid: u16,
    pub vlan_id: u16,
    pub sl: u8,
    pub src_path_bits: u8,
    pub static_rate: u8,
    pub ah_flags: u8,
    pub port_num: u8,
    pub dmac: Mac,
    #[serde(skip)]
    pub reserved: u8,
}
const _: () = assert!(size_of::<AhAttr>() == 40);
const _: () = assert!(offset_of!(AhAttr, dmac) == 33);

/// Capacities of a queue pair.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Serialize,
    Deserialize,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
)]
#[repr(C)]
#[allow(missing_docs)]
pub struct QpCap {
    pub max_send_wr: u32,
    pub max_recv_wr: u32,
    pub max_send_sge: u32,
    pub max_recv_sge: u32,
    pub max_inline_data: u32,
    #[serde(skip)]
    pub reserved: u32,
}
const _: () = assert!(size_of::<QpCap>() == 24);

/// Attributes of a shared receive queue.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Serialize,
    Deserialize,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
)]
#[repr(C)]
#[allow(missing_docs)]
pub struct SrqAttr {
    pub max_wr: u32,
    pub max_sge: u32,
    pub srq_limit: u32,
    #[serde(skip)]
    pub reserved: u32,
}
const _: () = assert!(size_of::<SrqAttr>() == 16);

/// Attributes of a queue pair.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Serialize,
    Deserialize,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
)]
#[repr(C)]
#[allow(missing_docs)]
pub struct QpAttr {
    pub qp_state: u32,
    pub cur_qp_state: u32,
    pub path_mtu: u32,
    pub path_mig_state: u32,
    pub qkey: u32,
    pub rq_psn: u32,
    pub sq_psn: u32,
    pub dest_qp_num: u32,
    pub qp_access_flags: u32,
    pub pkey_index: u16,
    pub alt_pkey_index: u16,
    pub en_sqd_async_notify: u8,
    pub sq_draining: u8,
    pub max_rd_atomic: u8,
    pub max_dest_rd_atomic: u8,
    pub min_rnr_timer: u8,
    pub port_num: u8,
    pub timeout: u8,
    pub retry_cnt: u8,
    pub rnr_retry: u8,
    pub alt_port_num: u8,
    pub alt_timeout: u8,
    #[serde(skip)]
    pub reserved: [u8; 5],
    pub cap: QpCap,
    pub ah_attr: AhAttr,
    pub alt_ah_attr: AhAttr,
}
const _: () = assert!(size_of::<QpAttr>() == 160);
const _: () = assert!(offset_of!(QpAttr, pkey_index) == 36);
const _: () = assert!(offset_of!(QpAttr, cap) == 56);
const _: () = assert!(offset_of!(QpAttr, ah_attr) == 80);

/// Bits that say which fields of [`QpAttr`] a modify command means.
pub mod qp_mask {
    /// `qp_state`
    pub const STATE: u32 = 1 << 0;
    /// `cur_qp_state`
    pub const CUR_STATE: u32 = 1 << 1;
    /// `en_sqd_async_notify`
    pub const EN_SQD_ASYNC_NOTIFY: u32 = 1 << 2;
    /// `qp_access_flags`
    pub const ACCESS_FLAGS: u32 = 1 << 3;
    /// `pkey_index`
    pub const PKEY_INDEX: u32 = 1 << 4;
    /// `port_num`
    pub const PORT: u32 = 1 << 5;
    /// `qkey`
    pub const QKEY: u32 = 1 << 6;
    /// `ah_attr`
    pub const AV: u32 = 1 << 7;
    /// `path_mtu`
    pub const PATH_MTU: u32 = 1 << 8;
    /// `timeout`
    pub const TIMEOUT: u32 = 1 << 9;
    /// `retry_cnt`
    pub const RETRY_CNT: u32 = 1 << 10;
    /// `rnr_retry`
    pub const RNR_RETRY: u32 = 1 << 11;
    /// `rq_psn`
    pub const RQ_PSN: u32 = 1 << 12;
    /// `max_rd_atomic`
    pub const MAX_QP_RD_ATOMIC: u32 = 1 << 13;
    /// `alt_ah_attr`, `alt_port_num`, `alt_pkey_index` and `alt_timeout`
    pub const ALT_PATH: u32 = 1 << 14;
    /// `min_rnr_timer`
    pub const MIN_RNR_TIMER: u32 = 1 << 15;
    /// `sq_psn`
    pub const SQ_PSN: u32 = 1 << 16;
    /// `max_dest_rd_atomic`
    pub const MAX_DEST_RD_ATOMIC: u32 = 1 << 17;
    /// `path_mig_state`
    pub const PATH_MIG_STATE: u32 = 1 << 18;
    /// `cap`
    pub const CAP: u32 = 1 << 19;
    /// `dest_qp_num`
    pub const DEST_QPN: u32 = 1 << 20;
    /// Every defined bit.
    pub const ALL: u32 = (1 << 21) - 1;
}
