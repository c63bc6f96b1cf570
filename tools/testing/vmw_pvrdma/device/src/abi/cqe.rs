// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Completion queue elements.

use std::mem::{offset_of, size_of};

use serde::{Deserialize, Serialize};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::Mac;

/// How a work request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[repr(u32)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Done.
    Success = 0,
    /// A message does not fit: into the receive buffer, or into what the port carries.
    LocalLength = 1,
    /// The request itself makes no sense on this queue pair.
    LocalOperation = 2,
    /// A local buffer is not what its key allows.
    LocalProtection = 4,
    /// Not executed: the queue pair is in the error state.
    Flushed = 5,
    /// The peer cannot execute the request.
    RemoteInvalidRequest = 9,
    /// The peer's memory is not what the key allows.
    RemoteAccess = 10,
    /// The peer failed to complete the request on its side.
    RemoteOperation = 11,
    /// No answer from the peer.
    RetryExceeded = 12,
    /// The peer had no receive buffer.
    RnrRetryExceeded = 13,
}

/// Which operation completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[repr(u32)]
#[allow(missing_docs)]
#[serde(rename_all = "snake_case")]
pub enum Opcode {
    Send = 0,
    RdmaWrite = 1,
    RdmaRead = 2,
    CompSwap = 3,
    FetchAdd = 4,
    LocalInv = 7,
    FastRegMr = 8,
    Recv = 1 << 7,
    RecvRdmaWithImm = (1 << 7) + 1,
}

/// Bits of [`Cqe::wc_flags`].
pub mod flags {
    /// The first 40 bytes of the buffer hold the route.
    pub const GRH: u32 = 1 << 0;
    /// `imm_data` is set.
    pub const WITH_IMM: u32 = 1 << 1;
    /// `imm_data` holds the key that was invalidated.
    pub const WITH_INVALIDATE: u32 = 1 << 2;
    /// `network_hdr_type` is set.
    pub const WITH_NETWORK_HDR_TYPE: u32 = 1 << 6;
}

/// Values of [`Cqe::network_hdr_type`].
pub mod network {
    /// RoCE v1.
    pub const ROCE_V1: u8 = 0;
    /// RoCE v2 over IPv4.
    pub const IPV4: u8 = 1;
    /// RoCE v2 over IPv6.
    pub const IPV6: u8 = 2;
}

/// Completion queue element.
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
pub struct Cqe {
    pub wr_id: u64,
    pub qp: u64,
    pub opcode: u32,
    pub status: u32,
    pub byte_len: u32,
    /// Big endian immediate data, or an invalidated key.
    pub imm_data: u32,
    pub src_qp: u32,
    pub wc_flags: u32,
    pub vendor_err: u32,
    pub pkey_index: u16,
    pub slid: u16,
    pub sl: u8,
    pub dlid_path_bits: u8,
    pub port_num: u8,
    pub smac: Mac,
    pub network_hdr_type: u8,
    #[serde(skip)]
    pub reserved: [u8; 6],
}
const _: () = assert!(size_of::<Cqe>() == 64);
const _: () = assert!(offset_of!(Cqe, opcode) == 16);
const _: () = assert!(offset_of!(Cqe, pkey_index) == 44);
const _: () = assert!(offset_of!(Cqe, network_hdr_type) == 57);
