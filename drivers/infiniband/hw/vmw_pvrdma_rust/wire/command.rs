// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! Commands and responses as they lie in their slots.
//!
//! `wire::command` holds bytes; what the driver wants to say is in [`commands`](crate::commands).

#![forbid(unsafe_code)]

use super::{
    layout,
    wire_consts,
    wire_enum,
    PortAttr,
    QpAttr,
    SrqAttr, //
};
use kernel::prelude::*;

wire_enum! {
    /// Number of a command.
    Opcode(u32) {
        QueryPort = 0 => PVRDMA_CMD_QUERY_PORT,
        QueryPkey = 1 => PVRDMA_CMD_QUERY_PKEY,
        CreatePd = 2 => PVRDMA_CMD_CREATE_PD,
        DestroyPd = 3 => PVRDMA_CMD_DESTROY_PD,
        CreateMr = 4 => PVRDMA_CMD_CREATE_MR,
        DestroyMr = 5 => PVRDMA_CMD_DESTROY_MR,
        CreateCq = 6 => PVRDMA_CMD_CREATE_CQ,
        ResizeCq = 7 => PVRDMA_CMD_RESIZE_CQ,
        DestroyCq = 8 => PVRDMA_CMD_DESTROY_CQ,
        CreateQp = 9 => PVRDMA_CMD_CREATE_QP,
        ModifyQp = 10 => PVRDMA_CMD_MODIFY_QP,
        QueryQp = 11 => PVRDMA_CMD_QUERY_QP,
        DestroyQp = 12 => PVRDMA_CMD_DESTROY_QP,
        CreateUc = 13 => PVRDMA_CMD_CREATE_UC,
        DestroyUc = 14 => PVRDMA_CMD_DESTROY_UC,
        CreateBind = 15 => PVRDMA_CMD_CREATE_BIND,
        DestroyBind = 16 => PVRDMA_CMD_DESTROY_BIND,
        CreateSrq = 17 => PVRDMA_CMD_CREATE_SRQ,
        ModifySrq = 18 => PVRDMA_CMD_MODIFY_SRQ,
        QuerySrq = 19 => PVRDMA_CMD_QUERY_SRQ,
        DestroySrq = 20 => PVRDMA_CMD_DESTROY_SRQ,
    }
}

wire_consts! {
    /// Acknowledgment in the header of a response: the command's number with the top bit set.
    mod ack: u32 {
        FIRST = 1 << 31 => PVRDMA_CMD_FIRST_RESP,
        QUERY_PORT = FIRST => PVRDMA_CMD_QUERY_PORT_RESP,
        CREATE_QP = FIRST | 9 => PVRDMA_CMD_CREATE_QP_RESP,
        QUERY_SRQ = FIRST | 19 => PVRDMA_CMD_QUERY_SRQ_RESP,
        DESTROY_SRQ = FIRST | 20 => PVRDMA_CMD_DESTROY_SRQ_RESP,
    }
}

impl Opcode {
    /// Returns the acknowledgment that belongs to this command.
    pub(crate) fn ack(self) -> u32 {
        ack::FIRST | u32::from(self)
    }
}

wire_consts! {
    /// Bits of [`CreateMr::flags`].
    mod mr_flag: u32 {
        DMA = 1 << 0 => PVRDMA_MR_FLAG_DMA,
        FRMR = 1 << 1 => PVRDMA_MR_FLAG_FRMR,
    }
}

/// Number of bytes of the command slot that a command may use: the size of the largest command.
pub(crate) const REQUEST_LEN: usize = 184;

/// Number of bytes of the response slot that a response may use: the size of the largest one.
pub(crate) const RESPONSE_LEN: usize = 176;

/// The command slot, always written as a whole so that no byte of an earlier command stays.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct Request {
    pub(crate) words: [u64; REQUEST_LEN / 8],
}

layout!(Request, "union pvrdma_cmd_req", 184, {});

/// The response slot.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct Response {
    pub(crate) header: ResponseHeader,
    pub(crate) body: [u64; RESPONSE_LEN / 8 - 2],
}

layout!(Response, "union pvrdma_cmd_resp", 176, {
    header = "hdr": 0,
});

/// Header of a command.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct RequestHeader {
    /// Key that the device repeats in the response.
    pub(crate) response: u64,
    /// An [`Opcode`].
    pub(crate) cmd: u32,
    pub(crate) reserved: u32,
}

layout!(RequestHeader, "struct pvrdma_cmd_hdr", 16, {
    response: 0,
    cmd: 8,
    reserved: 12,
});

/// Header of a response.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct ResponseHeader {
    /// Key of the command that is answered.
    pub(crate) response: u64,
    /// See [`Opcode::ack`].
    pub(crate) ack: u32,
    /// Zero if the command was carried out.
    pub(crate) err: u8,
    pub(crate) reserved: [u8; 3],
}

layout!(ResponseHeader, "struct pvrdma_cmd_resp_hdr", 16, {
    response: 0,
    ack: 8,
    err: 12,
    reserved: 13,
});

/// Asks for the attributes of a port.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct QueryPort {
    pub(crate) hdr: RequestHeader,
    pub(crate) port_num: u8,
    pub(crate) reserved: [u8; 7],
}

layout!(QueryPort, "struct pvrdma_cmd_query_port", 24, {
    hdr: 0,
    port_num: 16,
    reserved: 17,
});

/// Answer to [`QueryPort`].
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct QueryPortResp {
    pub(crate) hdr: ResponseHeader,
    pub(crate) attrs: PortAttr,
}

layout!(QueryPortResp, "struct pvrdma_cmd_query_port_resp", 64, {
    hdr: 0,
    attrs: 16,
});

/// Asks for an entry of the partition key table.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct QueryPkey {
    pub(crate) hdr: RequestHeader,
    pub(crate) port_num: u8,
    pub(crate) index: u8,
    pub(crate) reserved: [u8; 6],
}

layout!(QueryPkey, "struct pvrdma_cmd_query_pkey", 24, {
    hdr: 0,
    port_num: 16,
    index: 17,
    reserved: 18,
});

/// Answer to [`QueryPkey`].
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct QueryPkeyResp {
    pub(crate) hdr: ResponseHeader,
    pub(crate) pkey: u16,
    pub(crate) reserved: [u8; 6],
}

layout!(QueryPkeyResp, "struct pvrdma_cmd_query_pkey_resp", 24, {
    hdr: 0,
    pkey: 16,
    reserved: 18,
});

/// Creates a user context.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct CreateUc {
    pub(crate) hdr: RequestHeader,
    /// Page frame number of the doorbell page; 32 bits wide below version 19.
    pub(crate) pfn: u64,
}

layout!(CreateUc, "struct pvrdma_cmd_create_uc", 24, {
    hdr: 0,
    pfn = "pfn64": 16,
});

/// Answer to [`CreateUc`].
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct CreateUcResp {
    pub(crate) hdr: ResponseHeader,
    pub(crate) ctx_handle: u32,
    pub(crate) reserved: [u8; 4],
}

layout!(CreateUcResp, "struct pvrdma_cmd_create_uc_resp", 24, {
    hdr: 0,
    ctx_handle: 16,
    reserved: 20,
});

/// Creates a protection domain.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct CreatePd {
    pub(crate) hdr: RequestHeader,
    pub(crate) ctx_handle: u32,
    pub(crate) reserved: [u8; 4],
}

layout!(CreatePd, "struct pvrdma_cmd_create_pd", 24, {
    hdr: 0,
    ctx_handle: 16,
    reserved: 20,
});

/// Answer to [`CreatePd`].
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct CreatePdResp {
    pub(crate) hdr: ResponseHeader,
    pub(crate) pd_handle: u32,
    pub(crate) reserved: [u8; 4],
}

layout!(CreatePdResp, "struct pvrdma_cmd_create_pd_resp", 24, {
    hdr: 0,
    pd_handle: 16,
    reserved: 20,
});

/// Creates a memory region.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct CreateMr {
    pub(crate) hdr: RequestHeader,
    pub(crate) start: u64,
    pub(crate) length: u64,
    pub(crate) pdir_dma: u64,
    pub(crate) pd_handle: u32,
    /// Bits of [`access`](super::access).
    pub(crate) access_flags: u32,
    /// Bits of [`mr_flag`].
    pub(crate) flags: u32,
    pub(crate) nchunks: u32,
}

layout!(CreateMr, "struct pvrdma_cmd_create_mr", 56, {
    hdr: 0,
    start: 16,
    length: 24,
    pdir_dma: 32,
    pd_handle: 40,
    access_flags: 44,
    flags: 48,
    nchunks: 52,
});

/// Answer to [`CreateMr`].
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct CreateMrResp {
    pub(crate) hdr: ResponseHeader,
    pub(crate) mr_handle: u32,
    pub(crate) lkey: u32,
    pub(crate) rkey: u32,
    pub(crate) reserved: [u8; 4],
}

layout!(CreateMrResp, "struct pvrdma_cmd_create_mr_resp", 32, {
    hdr: 0,
    mr_handle: 16,
    lkey: 20,
    rkey: 24,
    reserved: 28,
});

/// Creates a completion queue.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct CreateCq {
    pub(crate) hdr: RequestHeader,
    pub(crate) pdir_dma: u64,
    pub(crate) ctx_handle: u32,
    pub(crate) cqe: u32,
    pub(crate) nchunks: u32,
    pub(crate) reserved: [u8; 4],
}

layout!(CreateCq, "struct pvrdma_cmd_create_cq", 40, {
    hdr: 0,
    pdir_dma: 16,
    ctx_handle: 24,
    cqe: 28,
    nchunks: 32,
    reserved: 36,
});

/// Answer to [`CreateCq`].
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct CreateCqResp {
    pub(crate) hdr: ResponseHeader,
    pub(crate) cq_handle: u32,
    pub(crate) cqe: u32,
}

layout!(CreateCqResp, "struct pvrdma_cmd_create_cq_resp", 24, {
    hdr: 0,
    cq_handle: 16,
    cqe: 20,
});

/// Creates a shared receive queue.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct CreateSrq {
    pub(crate) hdr: RequestHeader,
    pub(crate) pdir_dma: u64,
    pub(crate) pd_handle: u32,
    pub(crate) nchunks: u32,
    pub(crate) attrs: SrqAttr,
    pub(crate) srq_type: u8,
    pub(crate) reserved: [u8; 7],
}

layout!(CreateSrq, "struct pvrdma_cmd_create_srq", 56, {
    hdr: 0,
    pdir_dma: 16,
    pd_handle: 24,
    nchunks: 28,
    attrs: 32,
    srq_type: 48,
    reserved: 49,
});

/// Answer to [`CreateSrq`].
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct CreateSrqResp {
    pub(crate) hdr: ResponseHeader,
    pub(crate) srqn: u32,
    pub(crate) reserved: [u8; 4],
}

layout!(CreateSrqResp, "struct pvrdma_cmd_create_srq_resp", 24, {
    hdr: 0,
    srqn: 16,
    reserved: 20,
});

/// Changes a shared receive queue.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct ModifySrq {
    pub(crate) hdr: RequestHeader,
    pub(crate) srq_handle: u32,
    pub(crate) attr_mask: u32,
    pub(crate) attrs: SrqAttr,
}

layout!(ModifySrq, "struct pvrdma_cmd_modify_srq", 40, {
    hdr: 0,
    srq_handle: 16,
    attr_mask: 20,
    attrs: 24,
});

/// Asks for the attributes of a shared receive queue.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct QuerySrq {
    pub(crate) hdr: RequestHeader,
    pub(crate) srq_handle: u32,
    pub(crate) reserved: [u8; 4],
}

layout!(QuerySrq, "struct pvrdma_cmd_query_srq", 24, {
    hdr: 0,
    srq_handle: 16,
    reserved: 20,
});

/// Answer to [`QuerySrq`].
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct QuerySrqResp {
    pub(crate) hdr: ResponseHeader,
    pub(crate) attrs: SrqAttr,
}

layout!(QuerySrqResp, "struct pvrdma_cmd_query_srq_resp", 32, {
    hdr: 0,
    attrs: 16,
});

/// Creates a queue pair.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct CreateQp {
    pub(crate) hdr: RequestHeader,
    pub(crate) pdir_dma: u64,
    pub(crate) pd_handle: u32,
    pub(crate) send_cq_handle: u32,
    pub(crate) recv_cq_handle: u32,
    pub(crate) srq_handle: u32,
    pub(crate) max_send_wr: u32,
    pub(crate) max_recv_wr: u32,
    pub(crate) max_send_sge: u32,
    pub(crate) max_recv_sge: u32,
    pub(crate) max_inline_data: u32,
    pub(crate) lkey: u32,
    /// Bits of [`access`](super::access).
    pub(crate) access_flags: u32,
    /// Number of pages, all headers included.
    pub(crate) total_chunks: u16,
    /// Number of pages of the send queue, without its header page.
    pub(crate) send_chunks: u16,
    pub(crate) max_atomic_arg: u16,
    pub(crate) sq_sig_all: u8,
    /// A [`QpType`](super::QpType).
    pub(crate) qp_type: u8,
    pub(crate) is_srq: u8,
    pub(crate) reserved: [u8; 3],
}

layout!(CreateQp, "struct pvrdma_cmd_create_qp", 80, {
    hdr: 0,
    pdir_dma: 16,
    pd_handle: 24,
    send_cq_handle: 28,
    recv_cq_handle: 32,
    srq_handle: 36,
    max_send_wr: 40,
    max_recv_wr: 44,
    max_send_sge: 48,
    max_recv_sge: 52,
    max_inline_data: 56,
    lkey: 60,
    access_flags: 64,
    total_chunks: 68,
    send_chunks: 70,
    max_atomic_arg: 72,
    sq_sig_all: 74,
    qp_type: 75,
    is_srq: 76,
    reserved: 77,
});

/// Answer to [`CreateQp`] below version 20.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct CreateQpResp {
    pub(crate) hdr: ResponseHeader,
    pub(crate) qpn: u32,
    pub(crate) max_send_wr: u32,
    pub(crate) max_recv_wr: u32,
    pub(crate) max_send_sge: u32,
    pub(crate) max_recv_sge: u32,
    pub(crate) max_inline_data: u32,
}

layout!(CreateQpResp, "struct pvrdma_cmd_create_qp_resp", 40, {
    hdr: 0,
    qpn: 16,
    max_send_wr: 20,
    max_recv_wr: 24,
    max_send_sge: 28,
    max_recv_sge: 32,
    max_inline_data: 36,
});

/// Answer to [`CreateQp`] from version 20 on.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct CreateQpRespV2 {
    pub(crate) hdr: ResponseHeader,
    pub(crate) qpn: u32,
    pub(crate) qp_handle: u32,
    pub(crate) max_send_wr: u32,
    pub(crate) max_recv_wr: u32,
    pub(crate) max_send_sge: u32,
    pub(crate) max_recv_sge: u32,
    pub(crate) max_inline_data: u32,
    /// What C leaves as padding behind the last field.
    pub(crate) tail: u32,
}

layout!(CreateQpRespV2, "struct pvrdma_cmd_create_qp_resp_v2", 48, {
    hdr: 0,
    qpn: 16,
    qp_handle: 20,
    max_send_wr: 24,
    max_recv_wr: 28,
    max_send_sge: 32,
    max_recv_sge: 36,
    max_inline_data: 40,
});

/// Changes a queue pair.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct ModifyQp {
    pub(crate) hdr: RequestHeader,
    pub(crate) qp_handle: u32,
    /// Bits of [`qp_attr`](super::qp_attr).
    pub(crate) attr_mask: u32,
    pub(crate) attrs: QpAttr,
}

layout!(ModifyQp, "struct pvrdma_cmd_modify_qp", 184, {
    hdr: 0,
    qp_handle: 16,
    attr_mask: 20,
    attrs: 24,
});

/// Asks for the attributes of a queue pair.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct QueryQp {
    pub(crate) hdr: RequestHeader,
    pub(crate) qp_handle: u32,
    /// Bits of [`qp_attr`](super::qp_attr).
    pub(crate) attr_mask: u32,
}

layout!(QueryQp, "struct pvrdma_cmd_query_qp", 24, {
    hdr: 0,
    qp_handle: 16,
    attr_mask: 20,
});

/// Answer to [`QueryQp`].
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct QueryQpResp {
    pub(crate) hdr: ResponseHeader,
    pub(crate) attrs: QpAttr,
}

layout!(QueryQpResp, "struct pvrdma_cmd_query_qp_resp", 176, {
    hdr: 0,
    attrs: 16,
});

/// Destroys the object that has this handle: a context, protection domain, memory region,
/// completion queue, shared receive queue or queue pair. The structures of the C header are equal.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct Destroy {
    pub(crate) hdr: RequestHeader,
    pub(crate) handle: u32,
    pub(crate) reserved: [u8; 4],
}

layout!(Destroy, "struct pvrdma_cmd_destroy_uc", 24, {
    hdr: 0,
    handle = "ctx_handle": 16,
    reserved: 20,
});
layout!(Destroy, "struct pvrdma_cmd_destroy_pd", 24, {
    hdr: 0,
    handle = "pd_handle": 16,
    reserved: 20,
});
layout!(Destroy, "struct pvrdma_cmd_destroy_mr", 24, {
    hdr: 0,
    handle = "mr_handle": 16,
    reserved: 20,
});
layout!(Destroy, "struct pvrdma_cmd_destroy_cq", 24, {
    hdr: 0,
    handle = "cq_handle": 16,
    reserved: 20,
});
layout!(Destroy, "struct pvrdma_cmd_destroy_srq", 24, {
    hdr: 0,
    handle = "srq_handle": 16,
    reserved: 20,
});
layout!(Destroy, "struct pvrdma_cmd_destroy_qp", 24, {
    hdr: 0,
    handle = "qp_handle": 16,
    reserved: 20,
});

/// Fills an entry of the device's GID table.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct CreateBind {
    pub(crate) hdr: RequestHeader,
    pub(crate) mtu: u32,
    pub(crate) vlan: u32,
    pub(crate) index: u32,
    pub(crate) new_gid: [u8; 16],
    /// A value of [`gid_type`](super::gid_type).
    pub(crate) gid_type: u8,
    pub(crate) reserved: [u8; 3],
}

layout!(CreateBind, "struct pvrdma_cmd_create_bind", 48, {
    hdr: 0,
    mtu: 16,
    vlan: 20,
    index: 24,
    new_gid: 28,
    gid_type: 44,
    reserved: 45,
});

/// Clears an entry of the device's GID table.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct DestroyBind {
    pub(crate) hdr: RequestHeader,
    pub(crate) index: u32,
    pub(crate) dest_gid: [u8; 16],
    pub(crate) reserved: [u8; 4],
}

layout!(DestroyBind, "struct pvrdma_cmd_destroy_bind", 40, {
    hdr: 0,
    index: 16,
    dest_gid: 20,
    reserved: 36,
});
