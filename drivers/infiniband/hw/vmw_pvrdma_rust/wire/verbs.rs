// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! The InfiniBand vocabulary as the device speaks it: attributes, states and flags.
//!
//! Many numbers equal those of the RDMA core, but they are the device's own and stay the same when
//! the core renumbers. Conversions between the two are made value by value, never by a cast.

#![forbid(unsafe_code)]

use super::{
    layout,
    wire_consts,
    wire_enum, //
};
use kernel::prelude::*;

wire_enum! {
    /// Maximum transfer unit of a path or port.
    Mtu(u32) {
        Mtu256 = 1 => PVRDMA_MTU_256,
        Mtu512 = 2 => PVRDMA_MTU_512,
        Mtu1024 = 3 => PVRDMA_MTU_1024,
        Mtu2048 = 4 => PVRDMA_MTU_2048,
        Mtu4096 = 5 => PVRDMA_MTU_4096,
    }
}

wire_enum! {
    /// Logical state of a port.
    PortState(u32) {
        Nop = 0 => PVRDMA_PORT_NOP,
        Down = 1 => PVRDMA_PORT_DOWN,
        Init = 2 => PVRDMA_PORT_INIT,
        Armed = 3 => PVRDMA_PORT_ARMED,
        Active = 4 => PVRDMA_PORT_ACTIVE,
        ActiveDefer = 5 => PVRDMA_PORT_ACTIVE_DEFER,
    }
}

wire_enum! {
    /// Number of lanes of a port.
    PortWidth(u8) {
        X1 = 1 => PVRDMA_WIDTH_1X,
        X4 = 2 => PVRDMA_WIDTH_4X,
        X8 = 4 => PVRDMA_WIDTH_8X,
        X12 = 8 => PVRDMA_WIDTH_12X,
    }
}

wire_enum! {
    /// Signalling rate of one lane of a port.
    PortSpeed(u8) {
        Sdr = 1 => PVRDMA_SPEED_SDR,
        Ddr = 2 => PVRDMA_SPEED_DDR,
        Qdr = 4 => PVRDMA_SPEED_QDR,
        Fdr10 = 8 => PVRDMA_SPEED_FDR10,
        Fdr = 16 => PVRDMA_SPEED_FDR,
        Edr = 32 => PVRDMA_SPEED_EDR,
    }
}

wire_enum! {
    /// Transport service of a queue pair.
    QpType(u8) {
        Smi = 0 => PVRDMA_QPT_SMI,
        Gsi = 1 => PVRDMA_QPT_GSI,
        Rc = 2 => PVRDMA_QPT_RC,
        Uc = 3 => PVRDMA_QPT_UC,
        Ud = 4 => PVRDMA_QPT_UD,
        RawIpv6 = 5 => PVRDMA_QPT_RAW_IPV6,
        RawEthertype = 6 => PVRDMA_QPT_RAW_ETHERTYPE,
        RawPacket = 8 => PVRDMA_QPT_RAW_PACKET,
        XrcIni = 9 => PVRDMA_QPT_XRC_INI,
        XrcTgt = 10 => PVRDMA_QPT_XRC_TGT,
    }
}

wire_enum! {
    /// State of a queue pair.
    QpState(u32) {
        Reset = 0 => PVRDMA_QPS_RESET,
        Init = 1 => PVRDMA_QPS_INIT,
        Rtr = 2 => PVRDMA_QPS_RTR,
        Rts = 3 => PVRDMA_QPS_RTS,
        Sqd = 4 => PVRDMA_QPS_SQD,
        Sqe = 5 => PVRDMA_QPS_SQE,
        Err = 6 => PVRDMA_QPS_ERR,
    }
}

wire_enum! {
    /// Path migration state of a queue pair.
    MigState(u32) {
        Migrated = 0 => PVRDMA_MIG_MIGRATED,
        Rearm = 1 => PVRDMA_MIG_REARM,
        Armed = 2 => PVRDMA_MIG_ARMED,
    }
}

wire_consts! {
    /// Attributes of a queue pair that a command names.
    mod qp_attr: u32 {
        STATE = 1 << 0 => PVRDMA_QP_STATE,
        CUR_STATE = 1 << 1 => PVRDMA_QP_CUR_STATE,
        EN_SQD_ASYNC_NOTIFY = 1 << 2 => PVRDMA_QP_EN_SQD_ASYNC_NOTIFY,
        ACCESS_FLAGS = 1 << 3 => PVRDMA_QP_ACCESS_FLAGS,
        PKEY_INDEX = 1 << 4 => PVRDMA_QP_PKEY_INDEX,
        PORT = 1 << 5 => PVRDMA_QP_PORT,
        QKEY = 1 << 6 => PVRDMA_QP_QKEY,
        AV = 1 << 7 => PVRDMA_QP_AV,
        PATH_MTU = 1 << 8 => PVRDMA_QP_PATH_MTU,
        TIMEOUT = 1 << 9 => PVRDMA_QP_TIMEOUT,
        RETRY_CNT = 1 << 10 => PVRDMA_QP_RETRY_CNT,
        RNR_RETRY = 1 << 11 => PVRDMA_QP_RNR_RETRY,
        RQ_PSN = 1 << 12 => PVRDMA_QP_RQ_PSN,
        MAX_QP_RD_ATOMIC = 1 << 13 => PVRDMA_QP_MAX_QP_RD_ATOMIC,
        ALT_PATH = 1 << 14 => PVRDMA_QP_ALT_PATH,
        MIN_RNR_TIMER = 1 << 15 => PVRDMA_QP_MIN_RNR_TIMER,
        SQ_PSN = 1 << 16 => PVRDMA_QP_SQ_PSN,
        MAX_DEST_RD_ATOMIC = 1 << 17 => PVRDMA_QP_MAX_DEST_RD_ATOMIC,
        PATH_MIG_STATE = 1 << 18 => PVRDMA_QP_PATH_MIG_STATE,
        CAP = 1 << 19 => PVRDMA_QP_CAP,
        DEST_QPN = 1 << 20 => PVRDMA_QP_DEST_QPN,
        MASK_MAX = 1 << 20 => PVRDMA_QP_ATTR_MASK_MAX,
    }
}

wire_consts! {
    /// Access rights of a memory region or queue pair.
    mod access: u32 {
        LOCAL_WRITE = 1 << 0 => PVRDMA_ACCESS_LOCAL_WRITE,
        REMOTE_WRITE = 1 << 1 => PVRDMA_ACCESS_REMOTE_WRITE,
        REMOTE_READ = 1 << 2 => PVRDMA_ACCESS_REMOTE_READ,
        REMOTE_ATOMIC = 1 << 3 => PVRDMA_ACCESS_REMOTE_ATOMIC,
        MW_BIND = 1 << 4 => PVRDMA_ACCESS_MW_BIND,
        ZERO_BASED = 1 << 5 => PVRDMA_ZERO_BASED,
        ON_DEMAND = 1 << 6 => PVRDMA_ACCESS_ON_DEMAND,
    }
}

wire_consts! {
    /// Bits of [`AhAttr::ah_flags`].
    mod ah_flag: u8 {
        GRH = 1 => PVRDMA_AH_GRH,
    }
}

/// Attributes of a port.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct PortAttr {
    /// A [`PortState`].
    pub(crate) state: u32,
    /// An [`Mtu`].
    pub(crate) max_mtu: u32,
    /// An [`Mtu`].
    pub(crate) active_mtu: u32,
    pub(crate) gid_tbl_len: u32,
    pub(crate) port_cap_flags: u32,
    pub(crate) max_msg_sz: u32,
    pub(crate) bad_pkey_cntr: u32,
    pub(crate) qkey_viol_cntr: u32,
    pub(crate) pkey_tbl_len: u16,
    pub(crate) lid: u16,
    pub(crate) sm_lid: u16,
    pub(crate) lmc: u8,
    pub(crate) max_vl_num: u8,
    pub(crate) sm_sl: u8,
    pub(crate) subnet_timeout: u8,
    pub(crate) init_type_reply: u8,
    /// A [`PortWidth`].
    pub(crate) active_width: u8,
    /// A [`PortSpeed`]. Eight bits: the speeds above EDR have no number here.
    pub(crate) active_speed: u8,
    pub(crate) phys_state: u8,
    pub(crate) reserved: [u8; 2],
}

layout!(PortAttr, "struct pvrdma_port_attr", 48, {
    state: 0,
    max_mtu: 4,
    active_mtu: 8,
    gid_tbl_len: 12,
    port_cap_flags: 16,
    max_msg_sz: 20,
    bad_pkey_cntr: 24,
    qkey_viol_cntr: 28,
    pkey_tbl_len: 32,
    lid: 34,
    sm_lid: 36,
    lmc: 38,
    max_vl_num: 39,
    sm_sl: 40,
    subnet_timeout: 41,
    init_type_reply: 42,
    active_width: 43,
    active_speed: 44,
    phys_state: 45,
    reserved: 46,
});

/// Global route of an address.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct GlobalRoute {
    pub(crate) dgid: [u8; 16],
    pub(crate) flow_label: u32,
    pub(crate) sgid_index: u8,
    pub(crate) hop_limit: u8,
    pub(crate) traffic_class: u8,
    pub(crate) reserved: u8,
}

layout!(GlobalRoute, "struct pvrdma_global_route", 24, {
    dgid: 0,
    flow_label: 16,
    sgid_index: 20,
    hop_limit: 21,
    traffic_class: 22,
    reserved: 23,
});

/// Address of a remote port.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct AhAttr {
    pub(crate) grh: GlobalRoute,
    pub(crate) dlid: u16,
    pub(crate) vlan_id: u16,
    pub(crate) sl: u8,
    pub(crate) src_path_bits: u8,
    pub(crate) static_rate: u8,
    /// Bits of [`ah_flag`].
    pub(crate) ah_flags: u8,
    pub(crate) port_num: u8,
    pub(crate) dmac: [u8; 6],
    pub(crate) reserved: u8,
}

layout!(AhAttr, "struct pvrdma_ah_attr", 40, {
    grh: 0,
    dlid: 24,
    vlan_id: 26,
    sl: 28,
    src_path_bits: 29,
    static_rate: 30,
    ah_flags: 31,
    port_num: 32,
    dmac: 33,
    reserved: 39,
});

/// Capacity of a queue pair.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct QpCap {
    pub(crate) max_send_wr: u32,
    pub(crate) max_recv_wr: u32,
    pub(crate) max_send_sge: u32,
    pub(crate) max_recv_sge: u32,
    pub(crate) max_inline_data: u32,
    pub(crate) reserved: u32,
}

layout!(QpCap, "struct pvrdma_qp_cap", 24, {
    max_send_wr: 0,
    max_recv_wr: 4,
    max_send_sge: 8,
    max_recv_sge: 12,
    max_inline_data: 16,
    reserved: 20,
});

/// Attributes of a queue pair.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct QpAttr {
    /// A [`QpState`].
    pub(crate) qp_state: u32,
    /// A [`QpState`].
    pub(crate) cur_qp_state: u32,
    /// An [`Mtu`].
    pub(crate) path_mtu: u32,
    /// A [`MigState`].
    pub(crate) path_mig_state: u32,
    pub(crate) qkey: u32,
    pub(crate) rq_psn: u32,
    pub(crate) sq_psn: u32,
    pub(crate) dest_qp_num: u32,
    /// Bits of [`access`].
    pub(crate) qp_access_flags: u32,
    pub(crate) pkey_index: u16,
    pub(crate) alt_pkey_index: u16,
    pub(crate) en_sqd_async_notify: u8,
    pub(crate) sq_draining: u8,
    pub(crate) max_rd_atomic: u8,
    pub(crate) max_dest_rd_atomic: u8,
    pub(crate) min_rnr_timer: u8,
    pub(crate) port_num: u8,
    pub(crate) timeout: u8,
    pub(crate) retry_cnt: u8,
    pub(crate) rnr_retry: u8,
    pub(crate) alt_port_num: u8,
    pub(crate) alt_timeout: u8,
    pub(crate) reserved: [u8; 5],
    pub(crate) cap: QpCap,
    pub(crate) ah_attr: AhAttr,
    pub(crate) alt_ah_attr: AhAttr,
}

layout!(QpAttr, "struct pvrdma_qp_attr", 160, {
    qp_state: 0,
    cur_qp_state: 4,
    path_mtu: 8,
    path_mig_state: 12,
    qkey: 16,
    rq_psn: 20,
    sq_psn: 24,
    dest_qp_num: 28,
    qp_access_flags: 32,
    pkey_index: 36,
    alt_pkey_index: 38,
    en_sqd_async_notify: 40,
    sq_draining: 41,
    max_rd_atomic: 42,
    max_dest_rd_atomic: 43,
    min_rnr_timer: 44,
    port_num: 45,
    timeout: 46,
    retry_cnt: 47,
    rnr_retry: 48,
    alt_port_num: 49,
    alt_timeout: 50,
    reserved: 51,
    cap: 56,
    ah_attr: 80,
    alt_ah_attr: 120,
});

/// Attributes of a shared receive queue.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct SrqAttr {
    pub(crate) max_wr: u32,
    pub(crate) max_sge: u32,
    pub(crate) srq_limit: u32,
    pub(crate) reserved: u32,
}

layout!(SrqAttr, "struct pvrdma_srq_attr", 16, {
    max_wr: 0,
    max_sge: 4,
    srq_limit: 8,
    reserved: 12,
});
