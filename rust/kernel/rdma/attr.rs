// SPDX-License-Identifier: GPL-2.0

//! Properties of devices and ports.

use super::{
    enums::{
        AtomicCap,
        LinkSpeed,
        LinkWidth,
        Mtu,
        PortPhysState,
        PortState, //
    },
    flags::{
        DeviceCapFlags,
        PortCapFlags,
        PortModifyMask, //
    },
    gid::Guid, //
};
use crate::{
    bindings,
    prelude::*, //
};

/// Properties of a device.
///
/// Corresponds to the C `struct ib_device_attr`; what a driver leaves at its default is reported as
/// zero, that is as not supported.
#[derive(Clone, Copy)]
#[expect(
    missing_docs,
    reason = "the names are those of the InfiniBand specification"
)]
pub struct DeviceAttr {
    pub fw_ver: u64,
    pub sys_image_guid: Guid,
    pub max_mr_size: u64,
    pub page_size_cap: u64,
    pub vendor_id: u32,
    pub vendor_part_id: u32,
    pub hw_ver: u32,
    pub max_qp: u32,
    pub max_qp_wr: u32,
    pub cap_flags: DeviceCapFlags,
    pub max_send_sge: u32,
    pub max_recv_sge: u32,
    pub max_sge_rd: u32,
    pub max_cq: u32,
    pub max_cqe: u32,
    pub max_mr: u32,
    pub max_pd: u32,
    pub max_qp_rd_atom: u32,
    pub max_qp_init_rd_atom: u32,
    pub max_res_rd_atom: u32,
    pub atomic_cap: AtomicCap,
    pub masked_atomic_cap: AtomicCap,
    pub max_ah: u32,
    pub max_srq: u32,
    pub max_srq_wr: u32,
    pub max_srq_sge: u32,
    pub max_fast_reg_page_list_len: u32,
    pub max_pkeys: u16,
    pub local_ca_ack_delay: u8,
}

impl Default for DeviceAttr {
    #[inline]
    fn default() -> Self {
        Self {
            fw_ver: 0,
            sys_image_guid: Guid::default(),
            max_mr_size: 0,
            page_size_cap: 0,
            vendor_id: 0,
            vendor_part_id: 0,
            hw_ver: 0,
            max_qp: 0,
            max_qp_wr: 0,
            cap_flags: DeviceCapFlags::NONE,
            max_send_sge: 0,
            max_recv_sge: 0,
            max_sge_rd: 0,
            max_cq: 0,
            max_cqe: 0,
            max_mr: 0,
            max_pd: 0,
            max_qp_rd_atom: 0,
            max_qp_init_rd_atom: 0,
            max_res_rd_atom: 0,
            atomic_cap: AtomicCap::None,
            masked_atomic_cap: AtomicCap::None,
            max_ah: 0,
            max_srq: 0,
            max_srq_wr: 0,
            max_srq_sge: 0,
            max_fast_reg_page_list_len: 0,
            max_pkeys: 0,
            local_ca_ack_delay: 0,
        }
    }
}

impl DeviceAttr {
    /// Writes the properties into the C structure, which the core has zeroed.
    #[inline]
    pub(super) fn write(&self, out: &mut bindings::ib_device_attr) {
        out.fw_ver = self.fw_ver;
        out.sys_image_guid = self.sys_image_guid.to_raw();
        out.max_mr_size = self.max_mr_size;
        out.page_size_cap = self.page_size_cap;
        out.vendor_id = self.vendor_id;
        out.vendor_part_id = self.vendor_part_id;
        out.hw_ver = self.hw_ver;
        out.max_qp = self.max_qp;
        out.max_qp_wr = self.max_qp_wr;
        out.device_cap_flags = self.cap_flags.bits();
        out.max_send_sge = self.max_send_sge;
        out.max_recv_sge = self.max_recv_sge;
        out.max_sge_rd = self.max_sge_rd;
        out.max_cq = self.max_cq;
        out.max_cqe = self.max_cqe;
        out.max_mr = self.max_mr;
        out.max_pd = self.max_pd;
        out.max_qp_rd_atom = self.max_qp_rd_atom;
        out.max_qp_init_rd_atom = self.max_qp_init_rd_atom;
        out.max_res_rd_atom = self.max_res_rd_atom;
        out.atomic_cap = self.atomic_cap.into();
        out.masked_atomic_cap = self.masked_atomic_cap.into();
        out.max_ah = self.max_ah;
        out.max_srq = self.max_srq;
        out.max_srq_wr = self.max_srq_wr;
        out.max_srq_sge = self.max_srq_sge;
        out.max_fast_reg_page_list_len = self.max_fast_reg_page_list_len;
        out.max_pkeys = self.max_pkeys;
        out.local_ca_ack_delay = self.local_ca_ack_delay;
    }
}

/// Properties of a port.
///
/// Corresponds to the C `struct ib_port_attr`.
#[derive(Clone, Copy)]
#[expect(
    missing_docs,
    reason = "the names are those of the InfiniBand specification"
)]
pub struct PortAttr {
    pub state: PortState,
    pub phys_state: PortPhysState,
    pub max_mtu: Mtu,
    pub active_mtu: Mtu,
    pub gid_tbl_len: u32,
    pub pkey_tbl_len: u16,
    /// Whether the GID table holds IP addresses, as it does for RoCE.
    pub ip_gids: bool,
    /// Capability mask of the specification; the bits are those of the C `enum
    /// ib_uverbs_query_port_cap_flags`.
    pub port_cap_flags: u32,
    pub max_msg_sz: u32,
    pub bad_pkey_cntr: u32,
    pub qkey_viol_cntr: u32,
    pub lid: u32,
    pub sm_lid: u32,
    pub lmc: u8,
    pub max_vl_num: u8,
    pub sm_sl: u8,
    pub subnet_timeout: u8,
    pub init_type_reply: u8,
    pub active_width: LinkWidth,
    pub active_speed: LinkSpeed,
}

impl PortAttr {
    /// Bit of [`port_cap_flags`](Self::port_cap_flags): connections can be managed.
    pub const CM_SUP: u32 = bindings::ib_uverbs_query_port_cap_flags_IB_UVERBS_PCF_CM_SUP;

    /// Writes the properties into the C structure, which the core has zeroed.
    ///
    /// # Errors
    ///
    /// `EINVAL` if a value does not fit.
    #[inline]
    pub(super) fn write(&self, out: &mut bindings::ib_port_attr) -> Result {
        out.state = self.state.into();
        out.phys_state = u32::from(self.phys_state).try_into()?;
        out.max_mtu = self.max_mtu.into();
        out.active_mtu = self.active_mtu.into();
        out.gid_tbl_len = self.gid_tbl_len.try_into()?;
        out.pkey_tbl_len = self.pkey_tbl_len;
        out.set_ip_gids(self.ip_gids.into());
        out.port_cap_flags = self.port_cap_flags;
        out.max_msg_sz = self.max_msg_sz;
        out.bad_pkey_cntr = self.bad_pkey_cntr;
        out.qkey_viol_cntr = self.qkey_viol_cntr;
        out.lid = self.lid;
        out.sm_lid = self.sm_lid;
        out.lmc = self.lmc;
        out.max_vl_num = self.max_vl_num;
        out.sm_sl = self.sm_sl;
        out.subnet_timeout = self.subnet_timeout;
        out.init_type_reply = self.init_type_reply;
        out.active_width = u32::from(self.active_width).try_into()?;
        out.active_speed = u32::from(self.active_speed).try_into()?;
        Ok(())
    }
}

/// What never changes about a port.
///
/// The table sizes of the C `struct ib_port_immutable` are taken from
/// [`Driver::query_port`](super::Driver::query_port).
#[derive(Clone, Copy)]
pub struct PortImmutable {
    /// What the core may do with the port.
    pub caps: PortCapFlags,
    /// Largest management datagram in bytes, 0 if there are none.
    pub max_mad_size: u32,
}

impl PortImmutable {
    /// Size of an InfiniBand management datagram.
    pub const IB_MAD_SIZE: u32 = 256;
}

/// A wish to change a port.
#[derive(Clone, Copy)]
pub struct PortModify {
    /// Kinds of change asked for, next to the capability bits.
    pub mask: PortModifyMask,
    /// Capability bits to set.
    pub set_caps: u32,
    /// Capability bits to clear.
    pub clear_caps: u32,
}

/// Change of the net device of a port.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PortEvent {
    /// It went up.
    Up,
    /// It went down.
    Down,
}
