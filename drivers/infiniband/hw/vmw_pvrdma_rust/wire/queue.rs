// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! The queues in memory: ring indexes, work requests, completions, notifications and events.

#![forbid(unsafe_code)]

use super::{
    layout,
    wire_consts,
    wire_enum, //
};
use kernel::prelude::*;

/// The two indexes of one ring.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct Ring {
    /// Next slot that the producer fills.
    pub(crate) prod_tail: u32,
    /// Next slot that the consumer takes.
    pub(crate) cons_head: u32,
}

layout!(Ring, "struct pvrdma_ring", 8, {
    prod_tail: 0,
    cons_head: 4,
});

/// Head of the first page of a queue.
///
/// A queue pair uses both halves for its send and its receive queue. The rings that only the
/// device fills (completions, notifications, events) use [`rx`](Self::rx).
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct RingState {
    pub(crate) tx: Ring,
    pub(crate) rx: Ring,
}

layout!(RingState, "struct pvrdma_ring_state", 16, {
    tx: 0,
    rx: 8,
});

wire_enum! {
    /// What an asynchronous event reports.
    EventType(u32) {
        CqErr = 0 => PVRDMA_EVENT_CQ_ERR,
        QpFatal = 1 => PVRDMA_EVENT_QP_FATAL,
        QpReqErr = 2 => PVRDMA_EVENT_QP_REQ_ERR,
        QpAccessErr = 3 => PVRDMA_EVENT_QP_ACCESS_ERR,
        CommEst = 4 => PVRDMA_EVENT_COMM_EST,
        SqDrained = 5 => PVRDMA_EVENT_SQ_DRAINED,
        PathMig = 6 => PVRDMA_EVENT_PATH_MIG,
        PathMigErr = 7 => PVRDMA_EVENT_PATH_MIG_ERR,
        DeviceFatal = 8 => PVRDMA_EVENT_DEVICE_FATAL,
        PortActive = 9 => PVRDMA_EVENT_PORT_ACTIVE,
        PortErr = 10 => PVRDMA_EVENT_PORT_ERR,
        LidChange = 11 => PVRDMA_EVENT_LID_CHANGE,
        PkeyChange = 12 => PVRDMA_EVENT_PKEY_CHANGE,
        SmChange = 13 => PVRDMA_EVENT_SM_CHANGE,
        SrqErr = 14 => PVRDMA_EVENT_SRQ_ERR,
        SrqLimitReached = 15 => PVRDMA_EVENT_SRQ_LIMIT_REACHED,
        QpLastWqeReached = 16 => PVRDMA_EVENT_QP_LAST_WQE_REACHED,
        ClientReregister = 17 => PVRDMA_EVENT_CLIENT_REREGISTER,
        GidChange = 18 => PVRDMA_EVENT_GID_CHANGE,
    }
}

/// Entry of the event ring.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct Eqe {
    /// An [`EventType`].
    pub(crate) kind: u32,
    /// Handle or port, depending on the type.
    pub(crate) info: u32,
}

layout!(Eqe, "struct pvrdma_eqe", 8, {
    kind = "type": 0,
    info: 4,
});

/// Entry of the notification ring.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct Cqne {
    /// Handle of the completion queue.
    pub(crate) info: u32,
}

layout!(Cqne, "struct pvrdma_cqne", 4, {
    info: 0,
});

wire_enum! {
    /// Operation of a work request.
    WrOpcode(u32) {
        RdmaWrite = 0 => PVRDMA_WR_RDMA_WRITE,
        RdmaWriteWithImm = 1 => PVRDMA_WR_RDMA_WRITE_WITH_IMM,
        Send = 2 => PVRDMA_WR_SEND,
        SendWithImm = 3 => PVRDMA_WR_SEND_WITH_IMM,
        RdmaRead = 4 => PVRDMA_WR_RDMA_READ,
        AtomicCmpAndSwp = 5 => PVRDMA_WR_ATOMIC_CMP_AND_SWP,
        AtomicFetchAndAdd = 6 => PVRDMA_WR_ATOMIC_FETCH_AND_ADD,
        Lso = 7 => PVRDMA_WR_LSO,
        SendWithInv = 8 => PVRDMA_WR_SEND_WITH_INV,
        RdmaReadWithInv = 9 => PVRDMA_WR_RDMA_READ_WITH_INV,
        LocalInv = 10 => PVRDMA_WR_LOCAL_INV,
        FastRegMr = 11 => PVRDMA_WR_FAST_REG_MR,
        MaskedAtomicCmpAndSwp = 12 => PVRDMA_WR_MASKED_ATOMIC_CMP_AND_SWP,
        MaskedAtomicFetchAndAdd = 13 => PVRDMA_WR_MASKED_ATOMIC_FETCH_AND_ADD,
        BindMw = 14 => PVRDMA_WR_BIND_MW,
        RegSigMr = 15 => PVRDMA_WR_REG_SIG_MR,
    }
}

wire_consts! {
    /// Bits of [`SqWqeHeader::send_flags`].
    mod send_flag: u32 {
        FENCE = 1 << 0 => PVRDMA_SEND_FENCE,
        SIGNALED = 1 << 1 => PVRDMA_SEND_SIGNALED,
        SOLICITED = 1 << 2 => PVRDMA_SEND_SOLICITED,
        INLINE = 1 << 3 => PVRDMA_SEND_INLINE,
        IP_CSUM = 1 << 4 => PVRDMA_SEND_IP_CSUM,
    }
}

/// Scatter/gather element.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct Sge {
    pub(crate) addr: u64,
    pub(crate) length: u32,
    pub(crate) lkey: u32,
}

layout!(Sge, "struct pvrdma_sge", 16, {
    addr: 0,
    length: 8,
    lkey: 12,
});

/// Head of a receive work request; [`Sge`]s follow.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct RqWqe {
    pub(crate) wr_id: u64,
    pub(crate) num_sge: u32,
    /// Not used by the device, zero.
    pub(crate) total_len: u32,
}

layout!(RqWqe, "struct pvrdma_rq_wqe_hdr", 16, {
    wr_id: 0,
    num_sge: 8,
    total_len: 12,
});

/// Address vector of a datagram.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct Av {
    /// Port number in the top byte, handle of the protection domain below.
    pub(crate) port_pd: u32,
    pub(crate) sl_tclass_flowlabel: u32,
    pub(crate) dgid: [u8; 16],
    pub(crate) src_path_bits: u8,
    pub(crate) gid_index: u8,
    pub(crate) stat_rate: u8,
    pub(crate) hop_limit: u8,
    pub(crate) dmac: [u8; 6],
    pub(crate) reserved: [u8; 6],
}

layout!(Av, "struct pvrdma_av", 40, {
    port_pd: 0,
    sl_tclass_flowlabel: 4,
    dgid: 8,
    src_path_bits: 24,
    gid_index: 25,
    stat_rate: 26,
    hop_limit: 27,
    dmac: 28,
    reserved: 34,
});

/// What all send work requests begin with.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct SqWqeHeader {
    pub(crate) wr_id: u64,
    pub(crate) num_sge: u32,
    /// Not used by the device, zero.
    pub(crate) total_len: u32,
    /// A [`WrOpcode`].
    pub(crate) opcode: u32,
    /// Bits of [`send_flag`].
    pub(crate) send_flags: u32,
    /// Immediate data in network byte order, or the key to invalidate.
    pub(crate) ex: u32,
    pub(crate) reserved: u32,
}

layout!(SqWqeHeader, prefix "struct pvrdma_sq_wqe_hdr", 32, {
    wr_id: 0,
    num_sge: 8,
    total_len: 12,
    opcode: 16,
    send_flags: 20,
    ex: 24,
    reserved: 28,
});

/// Send work request without parameters of its own: send, local invalidate.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct PlainWqe {
    pub(crate) header: SqWqeHeader,
    pub(crate) reserved: [u8; 48],
}

layout!(PlainWqe, "struct pvrdma_sq_wqe_hdr", 80, {
    header = "wr_id": 0,
    reserved = "wr": 32,
});

/// RDMA read or write.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct RdmaWqe {
    pub(crate) header: SqWqeHeader,
    pub(crate) remote_addr: u64,
    pub(crate) rkey: u32,
    pub(crate) reserved: [u8; 36],
}

layout!(RdmaWqe, "struct pvrdma_sq_wqe_hdr", 80, {
    header = "wr_id": 0,
    remote_addr = "wr.rdma.remote_addr": 32,
    rkey = "wr.rdma.rkey": 40,
    reserved = "wr.rdma.reserved": 44,
});

/// Atomic operation.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct AtomicWqe {
    pub(crate) header: SqWqeHeader,
    pub(crate) remote_addr: u64,
    /// Value to compare with, or to add.
    pub(crate) compare_add: u64,
    pub(crate) swap: u64,
    pub(crate) rkey: u32,
    pub(crate) reserved: [u8; 20],
}

layout!(AtomicWqe, "struct pvrdma_sq_wqe_hdr", 80, {
    header = "wr_id": 0,
    remote_addr = "wr.atomic.remote_addr": 32,
    compare_add = "wr.atomic.compare_add": 40,
    swap = "wr.atomic.swap": 48,
    rkey = "wr.atomic.rkey": 56,
    reserved = "wr.atomic.reserved": 60,
});

/// Fast registration of a memory region.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct FastRegWqe {
    pub(crate) header: SqWqeHeader,
    pub(crate) iova_start: u64,
    /// Bus address of the page directory.
    pub(crate) pl_pdir_dma: u64,
    pub(crate) page_shift: u32,
    pub(crate) page_list_len: u32,
    pub(crate) length: u32,
    /// Bits of [`access`](super::access).
    pub(crate) access_flags: u32,
    pub(crate) rkey: u32,
    pub(crate) reserved: [u8; 12],
}

layout!(FastRegWqe, "struct pvrdma_sq_wqe_hdr", 80, {
    header = "wr_id": 0,
    iova_start = "wr.fast_reg.iova_start": 32,
    pl_pdir_dma = "wr.fast_reg.pl_pdir_dma": 40,
    page_shift = "wr.fast_reg.page_shift": 48,
    page_list_len = "wr.fast_reg.page_list_len": 52,
    length = "wr.fast_reg.length": 56,
    access_flags = "wr.fast_reg.access_flags": 60,
    rkey = "wr.fast_reg.rkey": 64,
    reserved = "wr.fast_reg.reserved": 68,
});

/// Datagram.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct UdWqe {
    pub(crate) header: SqWqeHeader,
    pub(crate) remote_qpn: u32,
    pub(crate) remote_qkey: u32,
    pub(crate) av: Av,
}

layout!(UdWqe, "struct pvrdma_sq_wqe_hdr", 80, {
    header = "wr_id": 0,
    remote_qpn = "wr.ud.remote_qpn": 32,
    remote_qkey = "wr.ud.remote_qkey": 36,
    av = "wr.ud.av": 40,
});

wire_enum! {
    /// Result of a work request.
    WcStatus(u32) {
        Success = 0 => PVRDMA_WC_SUCCESS,
        LocLenErr = 1 => PVRDMA_WC_LOC_LEN_ERR,
        LocQpOpErr = 2 => PVRDMA_WC_LOC_QP_OP_ERR,
        LocEecOpErr = 3 => PVRDMA_WC_LOC_EEC_OP_ERR,
        LocProtErr = 4 => PVRDMA_WC_LOC_PROT_ERR,
        WrFlushErr = 5 => PVRDMA_WC_WR_FLUSH_ERR,
        MwBindErr = 6 => PVRDMA_WC_MW_BIND_ERR,
        BadRespErr = 7 => PVRDMA_WC_BAD_RESP_ERR,
        LocAccessErr = 8 => PVRDMA_WC_LOC_ACCESS_ERR,
        RemInvReqErr = 9 => PVRDMA_WC_REM_INV_REQ_ERR,
        RemAccessErr = 10 => PVRDMA_WC_REM_ACCESS_ERR,
        RemOpErr = 11 => PVRDMA_WC_REM_OP_ERR,
        RetryExcErr = 12 => PVRDMA_WC_RETRY_EXC_ERR,
        RnrRetryExcErr = 13 => PVRDMA_WC_RNR_RETRY_EXC_ERR,
        LocRddViolErr = 14 => PVRDMA_WC_LOC_RDD_VIOL_ERR,
        RemInvRdReqErr = 15 => PVRDMA_WC_REM_INV_RD_REQ_ERR,
        RemAbortErr = 16 => PVRDMA_WC_REM_ABORT_ERR,
        InvEecnErr = 17 => PVRDMA_WC_INV_EECN_ERR,
        InvEecStateErr = 18 => PVRDMA_WC_INV_EEC_STATE_ERR,
        FatalErr = 19 => PVRDMA_WC_FATAL_ERR,
        RespTimeoutErr = 20 => PVRDMA_WC_RESP_TIMEOUT_ERR,
        GeneralErr = 21 => PVRDMA_WC_GENERAL_ERR,
    }
}

wire_enum! {
    /// Operation that a completion reports.
    WcOpcode(u32) {
        Send = 0 => PVRDMA_WC_SEND,
        RdmaWrite = 1 => PVRDMA_WC_RDMA_WRITE,
        RdmaRead = 2 => PVRDMA_WC_RDMA_READ,
        CompSwap = 3 => PVRDMA_WC_COMP_SWAP,
        FetchAdd = 4 => PVRDMA_WC_FETCH_ADD,
        BindMw = 5 => PVRDMA_WC_BIND_MW,
        Lso = 6 => PVRDMA_WC_LSO,
        LocalInv = 7 => PVRDMA_WC_LOCAL_INV,
        FastRegMr = 8 => PVRDMA_WC_FAST_REG_MR,
        MaskedCompSwap = 9 => PVRDMA_WC_MASKED_COMP_SWAP,
        MaskedFetchAdd = 10 => PVRDMA_WC_MASKED_FETCH_ADD,
        Recv = 128 => PVRDMA_WC_RECV,
        RecvRdmaWithImm = 129 => PVRDMA_WC_RECV_RDMA_WITH_IMM,
    }
}

wire_consts! {
    /// Bits of [`Cqe::wc_flags`].
    mod wc_flag: u32 {
        GRH = 1 << 0 => PVRDMA_WC_GRH,
        WITH_IMM = 1 << 1 => PVRDMA_WC_WITH_IMM,
        WITH_INVALIDATE = 1 << 2 => PVRDMA_WC_WITH_INVALIDATE,
        IP_CSUM_OK = 1 << 3 => PVRDMA_WC_IP_CSUM_OK,
        WITH_SMAC = 1 << 4 => PVRDMA_WC_WITH_SMAC,
        WITH_VLAN = 1 << 5 => PVRDMA_WC_WITH_VLAN,
        WITH_NETWORK_HDR_TYPE = 1 << 6 => PVRDMA_WC_WITH_NETWORK_HDR_TYPE,
    }
}

wire_enum! {
    /// Network header of a received datagram.
    NetworkType(u8) {
        RoceV1 = 0 => PVRDMA_NETWORK_ROCE_V1,
        Ipv4 = 1 => PVRDMA_NETWORK_IPV4,
        Ipv6 = 2 => PVRDMA_NETWORK_IPV6,
    }
}

/// Completion queue entry.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct Cqe {
    pub(crate) wr_id: u64,
    /// Handle of the queue pair.
    pub(crate) qp: u64,
    /// A [`WcOpcode`].
    pub(crate) opcode: u32,
    /// A [`WcStatus`].
    pub(crate) status: u32,
    pub(crate) byte_len: u32,
    /// Immediate data in network byte order, or the key that was invalidated.
    pub(crate) imm_data: u32,
    pub(crate) src_qp: u32,
    /// Bits of [`wc_flag`].
    pub(crate) wc_flags: u32,
    pub(crate) vendor_err: u32,
    pub(crate) pkey_index: u16,
    pub(crate) slid: u16,
    pub(crate) sl: u8,
    pub(crate) dlid_path_bits: u8,
    pub(crate) port_num: u8,
    pub(crate) smac: [u8; 6],
    /// A [`NetworkType`].
    pub(crate) network_hdr_type: u8,
    pub(crate) reserved2: [u8; 6],
}

layout!(Cqe, "struct pvrdma_cqe", 64, {
    wr_id: 0,
    qp: 8,
    opcode: 16,
    status: 20,
    byte_len: 24,
    imm_data: 28,
    src_qp: 32,
    wc_flags: 36,
    vendor_err: 40,
    pkey_index: 44,
    slid: 46,
    sl: 48,
    dlid_path_bits: 49,
    port_num: 50,
    smac: 51,
    network_hdr_type: 57,
    reserved2: 58,
});
