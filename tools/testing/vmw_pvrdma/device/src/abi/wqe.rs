// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Work queue elements.

use std::mem::size_of;

use serde::Serialize;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{Gid, Mac};

/// Scatter/gather element.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Serialize, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct Sge {
    /// Address within the memory region.
    pub addr: u64,
    /// Length in bytes.
    pub length: u32,
    /// Key of the memory region.
    pub lkey: u32,
}
const _: () = assert!(size_of::<Sge>() == 16);

/// Head of a receive work queue element; the scatter list follows.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct RecvHeader {
    /// Given back in the completion.
    pub wr_id: u64,
    /// Length of the scatter list.
    pub num_sge: u32,
    /// Not used.
    pub total_len: u32,
}
const _: () = assert!(size_of::<RecvHeader>() == 16);

/// Head of a send work queue element; one of the bodies and the gather list follow.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct SendHeader {
    /// Given back in the completion.
    pub wr_id: u64,
    /// Length of the gather list.
    pub num_sge: u32,
    /// Not used.
    pub total_len: u32,
    /// A [`SendOpcode`].
    pub opcode: u32,
    /// [`send_flags`] bits.
    pub send_flags: u32,
    /// Immediate data (big endian) or a key to invalidate.
    pub ex: u32,
    /// Not used.
    pub reserved: u32,
}
const _: () = assert!(size_of::<SendHeader>() == 32);

/// Room for any body between head and gather list.
pub const SEND_BODY_SIZE: usize = 48;
/// Offset of the gather list.
pub const SEND_SGE_OFFSET: usize = size_of::<SendHeader>() + SEND_BODY_SIZE;

/// Bits of [`SendHeader::send_flags`].
pub mod send_flags {
    /// Wait for earlier reads. This adapter executes in order anyway.
    pub const FENCE: u32 = 1 << 0;
    /// Report success too.
    pub const SIGNALED: u32 = 1 << 1;
    /// The receiver's completion is a solicited one.
    pub const SOLICITED: u32 = 1 << 2;
    /// Data instead of a gather list. Not supported.
    pub const INLINE: u32 = 1 << 3;
}

/// Operations of a send queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[repr(u32)]
#[allow(missing_docs)]
#[serde(rename_all = "snake_case")]
pub enum SendOpcode {
    RdmaWrite = 0,
    RdmaWriteWithImm = 1,
    Send = 2,
    SendWithImm = 3,
    RdmaRead = 4,
    AtomicCmpAndSwp = 5,
    AtomicFetchAndAdd = 6,
    SendWithInv = 8,
    LocalInv = 10,
    FastRegMr = 11,
}

impl SendOpcode {
    /// The operation with this number, if the adapter has it.
    pub fn from_wire(value: u32) -> Option<Self> {
        Some(match value {
            0 => Self::RdmaWrite,
            1 => Self::RdmaWriteWithImm,
            2 => Self::Send,
            3 => Self::SendWithImm,
            4 => Self::RdmaRead,
            5 => Self::AtomicCmpAndSwp,
            6 => Self::AtomicFetchAndAdd,
            8 => Self::SendWithInv,
            10 => Self::LocalInv,
            11 => Self::FastRegMr,
            _ => return None,
        })
    }
}

/// Body of reads and writes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Serialize, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
#[allow(missing_docs)]
pub struct RdmaBody {
    pub remote_addr: u64,
    pub rkey: u32,
    #[serde(skip)]
    pub reserved: u32,
}
const _: () = assert!(size_of::<RdmaBody>() == 16);

/// Body of atomic operations.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Serialize, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
#[allow(missing_docs)]
pub struct AtomicBody {
    pub remote_addr: u64,
    pub compare_add: u64,
    pub swap: u64,
    pub rkey: u32,
    #[serde(skip)]
    pub reserved: u32,
}
const _: () = assert!(size_of::<AtomicBody>() == 32);

/// Body of a fast registration.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Serialize, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
#[allow(missing_docs)]
pub struct FastRegBody {
    pub iova_start: u64,
    pub pl_pdir_dma: u64,
    pub page_shift: u32,
    pub page_list_len: u32,
    pub length: u32,
    pub access_flags: u32,
    pub rkey: u32,
    #[serde(skip)]
    pub reserved: u32,
}
const _: () = assert!(size_of::<FastRegBody>() == 40);

/// Address vector of a datagram.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Serialize, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
#[allow(missing_docs)]
pub struct AddressVector {
    pub port_pd: u32,
    pub sl_tclass_flowlabel: u32,
    pub dgid: Gid,
    pub src_path_bits: u8,
    pub gid_index: u8,
    pub stat_rate: u8,
    pub hop_limit: u8,
    pub dmac: Mac,
    #[serde(skip)]
    pub reserved: [u8; 6],
}
const _: () = assert!(size_of::<AddressVector>() == 40);

/// Body of a datagram.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Serialize, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
#[allow(missing_docs)]
pub struct UdBody {
    pub remote_qpn: u32,
    pub remote_qkey: u32,
    pub av: AddressVector,
}
const _: () = assert!(size_of::<UdBody>() == SEND_BODY_SIZE);

/// The body of a send work queue element, by operation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[allow(missing_docs)]
pub enum SendBody {
    /// Plain sends on connected queue pairs, and invalidations.
    Empty {},
    Rdma(RdmaBody),
    Atomic(AtomicBody),
    FastReg(FastRegBody),
    Ud(UdBody),
}

/// Distance of two elements of a send queue whose elements have `max_sge` gather elements.
pub fn send_stride(max_sge: u32) -> usize {
    (SEND_SGE_OFFSET + max_sge as usize * size_of::<Sge>()).next_power_of_two()
}

/// Distance of two elements of a receive queue whose elements have `max_sge` scatter elements.
pub fn recv_stride(max_sge: u32) -> usize {
    (size_of::<RecvHeader>() + max_sge as usize * size_of::<Sge>()).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_are_those_of_the_library() {
        assert_eq!([1, 2, 4, 16].map(send_stride), [128, 128, 256, 512]);
        assert_eq!([1, 2, 4, 16].map(recv_stride), [32, 64, 128, 512]);
    }

    #[test]
    fn opcodes_have_the_numbers_of_the_abi() {
        for value in 0..64 {
            if let Some(opcode) = SendOpcode::from_wire(value) {
                assert_eq!(opcode as u32, value);
            }
        }
        assert_eq!(SendOpcode::from_wire(7), None);
        assert_eq!(SendOpcode::from_wire(9), None);
        assert_eq!(SendOpcode::from_wire(12), None);
    }
}
