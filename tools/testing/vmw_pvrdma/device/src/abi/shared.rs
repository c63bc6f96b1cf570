// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The shared region: where the driver says where everything is, and the device what it can do.

use std::mem::{offset_of, size_of};

use serde::{Deserialize, Serialize};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Where a ring of the device lies.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct RingPages {
    /// Pages, the one with the indices included.
    pub num_pages: u32,
    /// Not used.
    pub reserved: u32,
    /// Address of the page directory.
    pub pdir_dma: u64,
}
const _: () = assert!(size_of::<RingPages>() == 16);

/// The part of the shared region that the driver writes.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct SharedRegion {
    /// Interface version of the driver.
    pub driver_version: u32,
    /// Not used.
    pub pad: u32,
    /// Kind of operating system, a bit field.
    pub gos_info: u32,
    /// Not used.
    pub gos_pad: u32,
    /// Address of the command slot.
    pub cmd_slot_dma: u64,
    /// Address of the answer slot.
    pub resp_slot_dma: u64,
    /// The ring of asynchronous events.
    pub async_ring_pages: RingPages,
    /// The ring of completion notifications.
    pub cq_ring_pages: RingPages,
    /// Page frame of doorbell page 0; the upper half is undefined before 64-bit numbers.
    pub uar_pfn: u64,
}
const _: () = assert!(size_of::<SharedRegion>() == CAPS_OFFSET as usize);

/// Offset of [`DeviceCaps`] in the shared region.
pub const CAPS_OFFSET: u64 = 72;

/// GID types, as in [`DeviceCaps::gid_types`] and in bindings.
pub mod gid_type {
    /// RoCE v1: its own Ethernet type.
    pub const ROCE_V1: u8 = 1 << 0;
    /// RoCE v2: in UDP.
    pub const ROCE_V2: u8 = 1 << 1;
}

/// [`DeviceCaps::atomic_ops`]: compare and swap.
pub const ATOMIC_COMP_SWAP: u8 = 1 << 0;
/// [`DeviceCaps::atomic_ops`]: fetch and add.
pub const ATOMIC_FETCH_ADD: u8 = 1 << 1;
/// [`DeviceCaps::bmme_flags`]: local and remote invalidation and fast registration.
pub const BMME_ALL: u8 = 0x7;
/// [`DeviceCaps::mode`]: RoCE.
pub const MODE_ROCE: u8 = 0;

/// What the device can do. Fields without a meaning here stay zero.
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
pub struct DeviceCaps {
    pub fw_ver: u64,
    /// Big endian.
    pub node_guid: [u8; 8],
    /// Big endian.
    pub sys_image_guid: [u8; 8],
    pub max_mr_size: u64,
    pub page_size_cap: u64,
    pub atomic_arg_sizes: u64,
    pub ex_comp_mask: u32,
    pub device_cap_flags2: u32,
    pub max_fa_bit_boundary: u32,
    pub log_max_atomic_inline_arg: u32,
    pub vendor_id: u32,
    pub vendor_part_id: u32,
    pub hw_ver: u32,
    pub max_qp: u32,
    pub max_qp_wr: u32,
    pub device_cap_flags: u32,
    pub max_sge: u32,
    pub max_sge_rd: u32,
    pub max_cq: u32,
    pub max_cqe: u32,
    pub max_mr: u32,
    pub max_pd: u32,
    pub max_qp_rd_atom: u32,
    pub max_ee_rd_atom: u32,
    pub max_res_rd_atom: u32,
    pub max_qp_init_rd_atom: u32,
    pub max_ee_init_rd_atom: u32,
    pub max_ee: u32,
    pub max_rdd: u32,
    pub max_mw: u32,
    pub max_raw_ipv6_qp: u32,
    pub max_raw_ethy_qp: u32,
    pub max_mcast_grp: u32,
    pub max_mcast_qp_attach: u32,
    pub max_total_mcast_qp_attach: u32,
    pub max_ah: u32,
    pub max_fmr: u32,
    pub max_map_per_fmr: u32,
    pub max_srq: u32,
    pub max_srq_wr: u32,
    pub max_srq_sge: u32,
    pub max_uar: u32,
    pub gid_tbl_len: u32,
    pub max_pkeys: u16,
    pub local_ca_ack_delay: u8,
    pub phys_port_cnt: u8,
    pub mode: u8,
    pub atomic_ops: u8,
    pub bmme_flags: u8,
    pub gid_types: u8,
    pub max_fast_reg_page_list_len: u32,
}
const _: () = assert!(size_of::<DeviceCaps>() == 208);
const _: () = assert!(offset_of!(DeviceCaps, vendor_id) == 64);
const _: () = assert!(offset_of!(DeviceCaps, max_pkeys) == 196);
const _: () = assert!(offset_of!(DeviceCaps, gid_types) == 203);
