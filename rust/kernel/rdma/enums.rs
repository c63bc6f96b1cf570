// SPDX-License-Identifier: GPL-2.0

//! Enumerations of the verbs.
//!
//! Each converts to the number that the C side uses with [`From`], and back with [`TryFrom`], which
//! answers `EINVAL` for a number that is not part of the enumeration.
//!
//! C headers: [`include/rdma/ib_verbs.h`](srctree/include/rdma/ib_verbs.h),
//! [`include/uapi/rdma/ib_user_verbs.h`](srctree/include/uapi/rdma/ib_user_verbs.h)

use crate::{
    bindings,
    prelude::*, //
};

/// Defines an enumeration whose values are constants of the bindings.
macro_rules! c_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $( $(#[$variant_meta:meta])* $variant:ident = $value:expr, )+
        }
    ) => {
        $(#[$meta])*
        #[repr(u32)]
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub enum $name {
            $( $(#[$variant_meta])* $variant = $value, )+
        }

        impl TryFrom<u32> for $name {
            type Error = Error;

            #[inline]
            fn try_from(value: u32) -> Result<Self> {
                match value {
                    // CAST: The enumeration is `repr(u32)`.
                    $( value if value == Self::$variant as u32 => Ok(Self::$variant), )+
                    _ => Err(EINVAL),
                }
            }
        }

        impl From<$name> for u32 {
            #[inline]
            fn from(value: $name) -> Self {
                // CAST: The enumeration is `repr(u32)`.
                value as u32
            }
        }
    };
}

c_enum! {
    /// State of a queue pair.
    pub enum QpState {
        /// Just created; no work is accepted.
        Reset = bindings::ib_qp_state_IB_QPS_RESET,
        /// Receive requests may be posted.
        Init = bindings::ib_qp_state_IB_QPS_INIT,
        /// Ready to receive.
        Rtr = bindings::ib_qp_state_IB_QPS_RTR,
        /// Ready to send.
        Rts = bindings::ib_qp_state_IB_QPS_RTS,
        /// Send queue drained.
        Sqd = bindings::ib_qp_state_IB_QPS_SQD,
        /// Send queue error.
        Sqe = bindings::ib_qp_state_IB_QPS_SQE,
        /// Error; outstanding work is flushed.
        Err = bindings::ib_qp_state_IB_QPS_ERR,
    }
}

c_enum! {
    /// Transport service of a queue pair.
    ///
    /// Types that no Rust driver offers are left out; creating one of them is refused with
    /// `EOPNOTSUPP` before the driver is asked.
    pub enum QpType {
        /// The special queue pair of the general services interface.
        Gsi = bindings::ib_qp_type_IB_QPT_GSI,
        /// Reliable connection.
        Rc = bindings::ib_qp_type_IB_QPT_RC,
        /// Unreliable connection.
        Uc = bindings::ib_qp_type_IB_QPT_UC,
        /// Unreliable datagram.
        Ud = bindings::ib_qp_type_IB_QPT_UD,
    }
}

c_enum! {
    /// Path maximum transfer unit.
    pub enum Mtu {
        /// 256 bytes.
        B256 = bindings::ib_mtu_IB_MTU_256,
        /// 512 bytes.
        B512 = bindings::ib_mtu_IB_MTU_512,
        /// 1024 bytes.
        B1024 = bindings::ib_mtu_IB_MTU_1024,
        /// 2048 bytes.
        B2048 = bindings::ib_mtu_IB_MTU_2048,
        /// 4096 bytes.
        B4096 = bindings::ib_mtu_IB_MTU_4096,
    }
}

c_enum! {
    /// Path migration state of a queue pair.
    pub enum MigState {
        /// The alternate path is in use.
        Migrated = bindings::ib_mig_state_IB_MIG_MIGRATED,
        /// A new alternate path is about to be armed.
        Rearm = bindings::ib_mig_state_IB_MIG_REARM,
        /// The alternate path is armed.
        Armed = bindings::ib_mig_state_IB_MIG_ARMED,
    }
}

c_enum! {
    /// Logical state of a port.
    pub enum PortState {
        /// No change.
        Nop = bindings::ib_port_state_IB_PORT_NOP,
        /// No link.
        Down = bindings::ib_port_state_IB_PORT_DOWN,
        /// Link trained, not configured yet.
        Init = bindings::ib_port_state_IB_PORT_INIT,
        /// Configured.
        Armed = bindings::ib_port_state_IB_PORT_ARMED,
        /// Ready for traffic.
        Active = bindings::ib_port_state_IB_PORT_ACTIVE,
        /// Active, link errors being repaired.
        ActiveDefer = bindings::ib_port_state_IB_PORT_ACTIVE_DEFER,
    }
}

c_enum! {
    /// Physical state of a port.
    pub enum PortPhysState {
        /// Asleep.
        Sleep = bindings::ib_port_phys_state_IB_PORT_PHYS_STATE_SLEEP,
        /// Looking for a peer.
        Polling = bindings::ib_port_phys_state_IB_PORT_PHYS_STATE_POLLING,
        /// Switched off.
        Disabled = bindings::ib_port_phys_state_IB_PORT_PHYS_STATE_DISABLED,
        /// Training the link.
        Training = bindings::ib_port_phys_state_IB_PORT_PHYS_STATE_PORT_CONFIGURATION_TRAINING,
        /// Link up.
        LinkUp = bindings::ib_port_phys_state_IB_PORT_PHYS_STATE_LINK_UP,
        /// Recovering from an error.
        ErrorRecovery = bindings::ib_port_phys_state_IB_PORT_PHYS_STATE_LINK_ERROR_RECOVERY,
        /// Under test.
        PhyTest = bindings::ib_port_phys_state_IB_PORT_PHYS_STATE_PHY_TEST,
    }
}

c_enum! {
    /// Number of lanes of a link.
    pub enum LinkWidth {
        /// One lane.
        X1 = bindings::ib_port_width_IB_WIDTH_1X,
        /// Two lanes.
        X2 = bindings::ib_port_width_IB_WIDTH_2X,
        /// Four lanes.
        X4 = bindings::ib_port_width_IB_WIDTH_4X,
        /// Eight lanes.
        X8 = bindings::ib_port_width_IB_WIDTH_8X,
        /// Twelve lanes.
        X12 = bindings::ib_port_width_IB_WIDTH_12X,
    }
}

c_enum! {
    /// Speed of one lane of a link.
    pub enum LinkSpeed {
        /// 2.5 Gb/s.
        Sdr = bindings::ib_port_speed_IB_SPEED_SDR,
        /// 5 Gb/s.
        Ddr = bindings::ib_port_speed_IB_SPEED_DDR,
        /// 10 Gb/s.
        Qdr = bindings::ib_port_speed_IB_SPEED_QDR,
        /// 10.3125 Gb/s.
        Fdr10 = bindings::ib_port_speed_IB_SPEED_FDR10,
        /// 14.0625 Gb/s.
        Fdr = bindings::ib_port_speed_IB_SPEED_FDR,
        /// 25 Gb/s.
        Edr = bindings::ib_port_speed_IB_SPEED_EDR,
        /// 50 Gb/s.
        Hdr = bindings::ib_port_speed_IB_SPEED_HDR,
        /// 100 Gb/s.
        Ndr = bindings::ib_port_speed_IB_SPEED_NDR,
        /// 200 Gb/s.
        Xdr = bindings::ib_port_speed_IB_SPEED_XDR,
    }
}

c_enum! {
    /// Link layer of a port.
    pub enum LinkLayer {
        /// InfiniBand.
        InfiniBand = bindings::rdma_link_layer::IB_LINK_LAYER_INFINIBAND.0,
        /// Ethernet, that is RoCE.
        Ethernet = bindings::rdma_link_layer::IB_LINK_LAYER_ETHERNET.0,
    }
}

c_enum! {
    /// Type of a GID table entry.
    pub enum GidType {
        /// InfiniBand.
        InfiniBand = bindings::ib_gid_type_IB_GID_TYPE_IB,
        /// RoCE v1.
        RoceV1 = bindings::ib_gid_type_IB_GID_TYPE_ROCE,
        /// RoCE v2, over UDP.
        RoceV2 = bindings::ib_gid_type_IB_GID_TYPE_ROCE_UDP_ENCAP,
    }
}

c_enum! {
    /// Type of a memory region that a kernel consumer asks for.
    ///
    /// Other types are refused with `EOPNOTSUPP` before the driver is asked.
    pub enum MrType {
        /// Fast registration of a page list.
        MemReg = bindings::ib_mr_type::IB_MR_TYPE_MEM_REG.0,
        /// Fast registration of a scatter list with gaps.
        SgGaps = bindings::ib_mr_type::IB_MR_TYPE_SG_GAPS.0,
    }
}

c_enum! {
    /// Guarantee of atomic operations.
    pub enum AtomicCap {
        /// Not supported.
        None = bindings::ib_atomic_cap_IB_ATOMIC_NONE,
        /// Atomic with respect to this adapter.
        Hca = bindings::ib_atomic_cap_IB_ATOMIC_HCA,
        /// Atomic with respect to everything.
        Global = bindings::ib_atomic_cap_IB_ATOMIC_GLOB,
    }
}

c_enum! {
    /// Kind of a shared receive queue.
    pub enum SrqType {
        /// A plain one.
        Basic = bindings::ib_srq_type_IB_SRQT_BASIC,
        /// For extended reliable connections.
        Xrc = bindings::ib_srq_type_IB_SRQT_XRC,
        /// With tag matching.
        TagMatching = bindings::ib_srq_type_IB_SRQT_TM,
    }
}

c_enum! {
    /// Status of a work completion.
    pub enum WcStatus {
        /// Done.
        Success = bindings::ib_wc_status_IB_WC_SUCCESS,
        /// Local length error.
        LocLenErr = bindings::ib_wc_status_IB_WC_LOC_LEN_ERR,
        /// Local queue pair operation error.
        LocQpOpErr = bindings::ib_wc_status_IB_WC_LOC_QP_OP_ERR,
        /// Local end-to-end context operation error.
        LocEecOpErr = bindings::ib_wc_status_IB_WC_LOC_EEC_OP_ERR,
        /// Local protection error.
        LocProtErr = bindings::ib_wc_status_IB_WC_LOC_PROT_ERR,
        /// Flushed, the queue pair is in the error state.
        WrFlushErr = bindings::ib_wc_status_IB_WC_WR_FLUSH_ERR,
        /// Memory window bind error.
        MwBindErr = bindings::ib_wc_status_IB_WC_MW_BIND_ERR,
        /// Unexpected response.
        BadRespErr = bindings::ib_wc_status_IB_WC_BAD_RESP_ERR,
        /// Local access error.
        LocAccessErr = bindings::ib_wc_status_IB_WC_LOC_ACCESS_ERR,
        /// The peer found the request invalid.
        RemInvReqErr = bindings::ib_wc_status_IB_WC_REM_INV_REQ_ERR,
        /// The peer refused the access.
        RemAccessErr = bindings::ib_wc_status_IB_WC_REM_ACCESS_ERR,
        /// The peer could not complete the operation.
        RemOpErr = bindings::ib_wc_status_IB_WC_REM_OP_ERR,
        /// Transport retries exhausted.
        RetryExcErr = bindings::ib_wc_status_IB_WC_RETRY_EXC_ERR,
        /// Receiver-not-ready retries exhausted.
        RnrRetryExcErr = bindings::ib_wc_status_IB_WC_RNR_RETRY_EXC_ERR,
        /// Local reliable datagram domain violation.
        LocRddViolErr = bindings::ib_wc_status_IB_WC_LOC_RDD_VIOL_ERR,
        /// The peer found the reliable datagram request invalid.
        RemInvRdReqErr = bindings::ib_wc_status_IB_WC_REM_INV_RD_REQ_ERR,
        /// The peer aborted the operation.
        RemAbortErr = bindings::ib_wc_status_IB_WC_REM_ABORT_ERR,
        /// Invalid end-to-end context number.
        InvEecnErr = bindings::ib_wc_status_IB_WC_INV_EECN_ERR,
        /// Invalid end-to-end context state.
        InvEecStateErr = bindings::ib_wc_status_IB_WC_INV_EEC_STATE_ERR,
        /// Fatal error.
        FatalErr = bindings::ib_wc_status_IB_WC_FATAL_ERR,
        /// No response in time.
        RespTimeoutErr = bindings::ib_wc_status_IB_WC_RESP_TIMEOUT_ERR,
        /// Any other error.
        GeneralErr = bindings::ib_wc_status_IB_WC_GENERAL_ERR,
    }
}

c_enum! {
    /// Operation that a work completion reports.
    pub enum WcOpcode {
        /// Send.
        Send = bindings::ib_wc_opcode_IB_WC_SEND,
        /// RDMA write.
        RdmaWrite = bindings::ib_wc_opcode_IB_WC_RDMA_WRITE,
        /// RDMA read.
        RdmaRead = bindings::ib_wc_opcode_IB_WC_RDMA_READ,
        /// Atomic compare and swap.
        CompSwap = bindings::ib_wc_opcode_IB_WC_COMP_SWAP,
        /// Atomic fetch and add.
        FetchAdd = bindings::ib_wc_opcode_IB_WC_FETCH_ADD,
        /// Memory window bind.
        BindMw = bindings::ib_wc_opcode_IB_WC_BIND_MW,
        /// Local invalidate.
        LocalInv = bindings::ib_wc_opcode_IB_WC_LOCAL_INV,
        /// Large send offload.
        Lso = bindings::ib_wc_opcode_IB_WC_LSO,
        /// Fast registration.
        RegMr = bindings::ib_wc_opcode_IB_WC_REG_MR,
        /// Atomic masked compare and swap.
        MaskedCompSwap = bindings::ib_wc_opcode_IB_WC_MASKED_COMP_SWAP,
        /// Atomic masked fetch and add.
        MaskedFetchAdd = bindings::ib_wc_opcode_IB_WC_MASKED_FETCH_ADD,
        /// Receive.
        Recv = bindings::ib_wc_opcode_IB_WC_RECV,
        /// Receive of an RDMA write with immediate data.
        RecvRdmaWithImm = bindings::ib_wc_opcode_IB_WC_RECV_RDMA_WITH_IMM,
    }
}

c_enum! {
    /// Kind of the network header in front of a received datagram.
    pub enum NetworkType {
        /// InfiniBand.
        InfiniBand = bindings::rdma_network_type_RDMA_NETWORK_IB,
        /// RoCE v1.
        RoceV1 = bindings::rdma_network_type_RDMA_NETWORK_ROCE_V1,
        /// IPv4.
        Ipv4 = bindings::rdma_network_type_RDMA_NETWORK_IPV4,
        /// IPv6.
        Ipv6 = bindings::rdma_network_type_RDMA_NETWORK_IPV6,
    }
}

c_enum! {
    /// Identity of a driver in the user-space ABI.
    pub enum DriverId {
        /// VMware paravirtual RDMA.
        VmwPvrdma = bindings::rdma_driver_id_RDMA_DRIVER_VMW_PVRDMA,
    }
}
