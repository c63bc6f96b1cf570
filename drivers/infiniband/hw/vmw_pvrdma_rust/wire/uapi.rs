// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! The private part of the uverbs ABI: what the user-space library and the driver tell each other.
//!
//! C header: [`include/uapi/rdma/vmw_pvrdma-abi.h`](srctree/include/uapi/rdma/vmw_pvrdma-abi.h)

#![forbid(unsafe_code)]

use super::{
    layout,
    wire_consts, //
};
use kernel::prelude::*;
use zerocopy_derive::Immutable;

wire_consts! {
    /// Version of the ABI.
    mod abi: u32 {
        VERSION = 3 => PVRDMA_UVERBS_ABI_VERSION,
    }
}

/// Answer to the creation of a user context.
#[derive(Clone, Copy, FromBytes, Immutable, IntoBytes)]
#[repr(C)]
pub(crate) struct AllocUcontextResp {
    /// Number of queue pair handles the library must be able to look up.
    pub(crate) qp_tab_size: u32,
    pub(crate) reserved: u32,
}

layout!(AllocUcontextResp, "struct pvrdma_alloc_ucontext_resp", 8, {
    qp_tab_size: 0,
    reserved: 4,
});

/// Answer to the creation of a protection domain.
#[derive(Clone, Copy, FromBytes, Immutable, IntoBytes)]
#[repr(C)]
pub(crate) struct AllocPdResp {
    pub(crate) pdn: u32,
    pub(crate) reserved: u32,
}

layout!(AllocPdResp, "struct pvrdma_alloc_pd_resp", 8, {
    pdn: 0,
    reserved: 4,
});

/// Request for a completion queue.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct CreateCq {
    pub(crate) buf_addr: u64,
    pub(crate) buf_size: u32,
    /// Not initialised by the library: to be ignored.
    pub(crate) reserved: u32,
}

layout!(CreateCq, "struct pvrdma_create_cq", 16, {
    buf_addr: 0,
    buf_size: 8,
    reserved: 12,
});

/// Answer to the creation of a completion queue.
#[derive(Clone, Copy, FromBytes, Immutable, IntoBytes)]
#[repr(C)]
pub(crate) struct CreateCqResp {
    pub(crate) cqn: u32,
    pub(crate) reserved: u32,
}

layout!(CreateCqResp, "struct pvrdma_create_cq_resp", 8, {
    cqn: 0,
    reserved: 4,
});

/// Request for a shared receive queue.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct CreateSrq {
    pub(crate) buf_addr: u64,
    pub(crate) buf_size: u32,
    pub(crate) reserved: u32,
}

layout!(CreateSrq, "struct pvrdma_create_srq", 16, {
    buf_addr: 0,
    buf_size: 8,
    reserved: 12,
});

/// Answer to the creation of a shared receive queue.
#[derive(Clone, Copy, FromBytes, Immutable, IntoBytes)]
#[repr(C)]
pub(crate) struct CreateSrqResp {
    pub(crate) srqn: u32,
    pub(crate) reserved: u32,
}

layout!(CreateSrqResp, "struct pvrdma_create_srq_resp", 8, {
    srqn: 0,
    reserved: 4,
});

/// Request for a queue pair.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct CreateQp {
    pub(crate) rbuf_addr: u64,
    pub(crate) sbuf_addr: u64,
    pub(crate) rbuf_size: u32,
    pub(crate) sbuf_size: u32,
    pub(crate) qp_addr: u64,
}

layout!(CreateQp, "struct pvrdma_create_qp", 32, {
    rbuf_addr: 0,
    sbuf_addr: 8,
    rbuf_size: 16,
    sbuf_size: 20,
    qp_addr: 24,
});

/// Answer to the creation of a queue pair.
///
/// Old libraries have no room for it. They work with devices that make no difference between the
/// number and the handle of a queue pair.
#[derive(Clone, Copy, FromBytes, Immutable, IntoBytes)]
#[repr(C)]
pub(crate) struct CreateQpResp {
    pub(crate) qpn: u32,
    pub(crate) qp_handle: u32,
}

layout!(CreateQpResp, "struct pvrdma_create_qp_resp", 8, {
    qpn: 0,
    qp_handle: 4,
});
