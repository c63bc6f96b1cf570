// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! The device shared region: what the driver tells the device when it hands itself over, and the
//! capabilities that the device answers with.

#![forbid(unsafe_code)]

use super::{
    layout,
    wire_consts,
    wire_enum, //
};
use kernel::{
    bitfield,
    prelude::*, //
};

wire_consts! {
    /// Device versions that introduced something the driver has to know.
    mod version: u32 {
        ROCE_V1 = 17 => PVRDMA_ROCEV1_VERSION,
        ROCE_V2 = 18 => PVRDMA_ROCEV2_VERSION,
        PPN64 = 19 => PVRDMA_PPN64_VERSION,
        QP_HANDLE = 20 => PVRDMA_QPHANDLE_VERSION,
        DRIVER = 20 => PVRDMA_VERSION,
    }
}

wire_consts! {
    /// Numbers that describe the board in sysfs.
    mod board: u32 {
        ID = 1 => PVRDMA_BOARD_ID,
        REVISION = 1 => PVRDMA_REV_ID,
    }
}

wire_consts! {
    /// Bits of [`DeviceCaps::atomic_ops`].
    mod atomic_op: u8 {
        COMP_SWAP = 1 << 0 => PVRDMA_ATOMIC_OP_COMP_SWAP,
        FETCH_ADD = 1 << 1 => PVRDMA_ATOMIC_OP_FETCH_ADD,
        MASK_COMP_SWAP = 1 << 2 => PVRDMA_ATOMIC_OP_MASK_COMP_SWAP,
        MASK_FETCH_ADD = 1 << 3 => PVRDMA_ATOMIC_OP_MASK_FETCH_ADD,
    }
}

wire_consts! {
    /// Bits of [`DeviceCaps::bmme_flags`]: parts of the base memory management extension.
    mod bmme: u8 {
        LOCAL_INV = 1 << 0 => PVRDMA_BMME_FLAG_LOCAL_INV,
        REMOTE_INV = 1 << 1 => PVRDMA_BMME_FLAG_REMOTE_INV,
        FAST_REG_WR = 1 << 2 => PVRDMA_BMME_FLAG_FAST_REG_WR,
    }
}

wire_consts! {
    /// Bits of [`DeviceCaps::gid_types`] and the values of the GID type in a binding.
    mod gid_type: u8 {
        ROCE_V1 = 1 << 0 => PVRDMA_GID_TYPE_FLAG_ROCE_V1,
        ROCE_V2 = 1 << 1 => PVRDMA_GID_TYPE_FLAG_ROCE_V2,
    }
}

wire_enum! {
    /// Transport of the device, in [`DeviceCaps::mode`].
    DeviceMode(u8) {
        Roce = 0 => PVRDMA_DEVICE_MODE_ROCE,
        Iwarp = 1 => PVRDMA_DEVICE_MODE_IWARP,
        Ib = 2 => PVRDMA_DEVICE_MODE_IB,
    }
}

wire_enum! {
    /// Word size of the guest.
    GosBits(u32) {
        Unknown = 0 => PVRDMA_GOS_BITS_UNK,
        Bits32 = 1 => PVRDMA_GOS_BITS_32,
        Bits64 = 2 => PVRDMA_GOS_BITS_64,
    }
}

wire_enum! {
    /// Operating system of the guest.
    GosType(u32) {
        Unknown = 0 => PVRDMA_GOS_TYPE_UNK,
        Linux = 1 => PVRDMA_GOS_TYPE_LINUX,
    }
}

wire_enum! {
    /// What can be written to the control register.
    Control(u32) {
        /// Take up work.
        Activate = 0 => PVRDMA_DEVICE_CTL_ACTIVATE,
        /// Take up work again, the link is back.
        Unquiesce = 1 => PVRDMA_DEVICE_CTL_UNQUIESCE,
        /// Drop everything, the shared region included.
        Reset = 2 => PVRDMA_DEVICE_CTL_RESET,
    }
}

bitfield! {
    /// First word of `struct pvrdma_gos_info`: who the guest is.
    pub(crate) struct GosInfo(u32) {
        1:0 bits;
        5:2 kind;
        21:6 version;
        31:22 misc;
    }
}

impl GosInfo {
    /// A 64-bit Linux guest.
    // CAST: Both enumerations are `repr(u32)`.
    pub(crate) const LINUX64: Self = Self::from_raw(0)
        .with_const_bits::<{ GosBits::Bits64 as u32 }>()
        .with_const_kind::<{ GosType::Linux as u32 }>()
        .with_const_version::<1>();
}

/// What the device can do; written by the device when it takes over the shared region.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct DeviceCaps {
    /// Firmware version, 32.16.16 bits.
    pub(crate) fw_ver: u64,
    /// Node GUID, in network byte order.
    pub(crate) node_guid: [u8; 8],
    /// System image GUID, in network byte order.
    pub(crate) sys_image_guid: [u8; 8],
    pub(crate) max_mr_size: u64,
    pub(crate) page_size_cap: u64,
    pub(crate) atomic_arg_sizes: u64,
    pub(crate) ex_comp_mask: u32,
    pub(crate) device_cap_flags2: u32,
    pub(crate) max_fa_bit_boundary: u32,
    pub(crate) log_max_atomic_inline_arg: u32,
    pub(crate) vendor_id: u32,
    pub(crate) vendor_part_id: u32,
    pub(crate) hw_ver: u32,
    pub(crate) max_qp: u32,
    pub(crate) max_qp_wr: u32,
    pub(crate) device_cap_flags: u32,
    pub(crate) max_sge: u32,
    pub(crate) max_sge_rd: u32,
    pub(crate) max_cq: u32,
    pub(crate) max_cqe: u32,
    pub(crate) max_mr: u32,
    pub(crate) max_pd: u32,
    pub(crate) max_qp_rd_atom: u32,
    pub(crate) max_ee_rd_atom: u32,
    pub(crate) max_res_rd_atom: u32,
    pub(crate) max_qp_init_rd_atom: u32,
    pub(crate) max_ee_init_rd_atom: u32,
    pub(crate) max_ee: u32,
    pub(crate) max_rdd: u32,
    pub(crate) max_mw: u32,
    pub(crate) max_raw_ipv6_qp: u32,
    pub(crate) max_raw_ethy_qp: u32,
    pub(crate) max_mcast_grp: u32,
    pub(crate) max_mcast_qp_attach: u32,
    pub(crate) max_total_mcast_qp_attach: u32,
    pub(crate) max_ah: u32,
    pub(crate) max_fmr: u32,
    pub(crate) max_map_per_fmr: u32,
    pub(crate) max_srq: u32,
    pub(crate) max_srq_wr: u32,
    pub(crate) max_srq_sge: u32,
    pub(crate) max_uar: u32,
    pub(crate) gid_tbl_len: u32,
    pub(crate) max_pkeys: u16,
    pub(crate) local_ca_ack_delay: u8,
    pub(crate) phys_port_cnt: u8,
    /// A [`DeviceMode`].
    pub(crate) mode: u8,
    /// Bits of [`atomic_op`].
    pub(crate) atomic_ops: u8,
    /// Bits of [`bmme`].
    pub(crate) bmme_flags: u8,
    /// Bits of [`gid_type`].
    pub(crate) gid_types: u8,
    pub(crate) max_fast_reg_page_list_len: u32,
}

layout!(DeviceCaps, "struct pvrdma_device_caps", 208, {
    fw_ver: 0,
    node_guid: 8,
    sys_image_guid: 16,
    max_mr_size: 24,
    page_size_cap: 32,
    atomic_arg_sizes: 40,
    ex_comp_mask: 48,
    device_cap_flags2: 52,
    max_fa_bit_boundary: 56,
    log_max_atomic_inline_arg: 60,
    vendor_id: 64,
    vendor_part_id: 68,
    hw_ver: 72,
    max_qp: 76,
    max_qp_wr: 80,
    device_cap_flags: 84,
    max_sge: 88,
    max_sge_rd: 92,
    max_cq: 96,
    max_cqe: 100,
    max_mr: 104,
    max_pd: 108,
    max_qp_rd_atom: 112,
    max_ee_rd_atom: 116,
    max_res_rd_atom: 120,
    max_qp_init_rd_atom: 124,
    max_ee_init_rd_atom: 128,
    max_ee: 132,
    max_rdd: 136,
    max_mw: 140,
    max_raw_ipv6_qp: 144,
    max_raw_ethy_qp: 148,
    max_mcast_grp: 152,
    max_mcast_qp_attach: 156,
    max_total_mcast_qp_attach: 160,
    max_ah: 164,
    max_fmr: 168,
    max_map_per_fmr: 172,
    max_srq: 176,
    max_srq_wr: 180,
    max_srq_sge: 184,
    max_uar: 188,
    gid_tbl_len: 192,
    max_pkeys: 196,
    local_ca_ack_delay: 198,
    phys_port_cnt: 199,
    mode: 200,
    atomic_ops: 201,
    bmme_flags: 202,
    gid_types: 203,
    max_fast_reg_page_list_len: 204,
});

/// Where a ring of the device is; written by the driver.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct RingPageInfo {
    /// Number of pages, the page with the ring state included.
    pub(crate) num_pages: u32,
    pub(crate) reserved: u32,
    /// Bus address of the page directory.
    pub(crate) pdir_dma: u64,
}

layout!(RingPageInfo, "struct pvrdma_ring_page_info", 16, {
    num_pages: 0,
    reserved: 4,
    pdir_dma: 8,
});

/// The shared region. The driver writes everything but the last field, the device only that one.
#[derive(Clone, Copy, FromBytes, IntoBytes)]
#[repr(C)]
pub(crate) struct SharedRegion {
    pub(crate) driver_version: u32,
    pub(crate) pad: u32,
    /// A [`GosInfo`].
    pub(crate) gos_info: u32,
    pub(crate) gos_pad: u32,
    /// Bus address of the page that takes commands.
    pub(crate) cmd_slot_dma: u64,
    /// Bus address of the page that takes responses.
    pub(crate) resp_slot_dma: u64,
    /// The ring of asynchronous events.
    pub(crate) async_ring_pages: RingPageInfo,
    /// The ring of completion notifications.
    pub(crate) cq_ring_pages: RingPageInfo,
    /// Page frame number of the driver's doorbell page; 32 bits wide below [`version::PPN64`].
    pub(crate) uar_pfn: u64,
    pub(crate) caps: DeviceCaps,
}

layout!(SharedRegion, "struct pvrdma_device_shared_region", 280, {
    driver_version: 0,
    pad: 4,
    gos_info: 8,
    cmd_slot_dma: 16,
    resp_slot_dma: 24,
    async_ring_pages: 32,
    cq_ring_pages: 48,
    uar_pfn = "uar_pfn64": 64,
    caps: 72,
});
