// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the adapter can do: the numbers that drivers are told and that commands are held to.

use crate::abi::shared::{
    gid_type, DeviceCaps, ATOMIC_COMP_SWAP, ATOMIC_FETCH_ADD, BMME_ALL, MODE_ROCE,
};
use crate::abi::{Mac, PAGE_SIZE, VECTORS, VERSION_ROCE_V2};

/// PCI vendor.
pub const PCI_VENDOR: u16 = 0x15ad;
/// PCI device.
pub const PCI_DEVICE: u16 = 0x0820;

/// Queue pairs.
pub const MAX_QP: u32 = 1024;
/// Completion queues. The notification ring has room for one entry each.
pub const MAX_CQ: u32 = 1024;
/// Shared receive queues.
pub const MAX_SRQ: u32 = 256;
/// Memory regions.
pub const MAX_MR: u32 = 65536;
/// Protection domains.
pub const MAX_PD: u32 = 1024;
/// Doorbell pages, a power of two. The first is the kernel's.
pub const MAX_UAR: u32 = 256;
/// Work requests of a queue.
pub const MAX_WR: u32 = 16384;
/// Scatter/gather elements of a work request.
pub const MAX_SGE: u32 = 16;
/// Entries of a completion queue.
pub const MAX_CQE: u32 = 65536;
/// Reads and atomic operations under way.
pub const MAX_RD_ATOMIC: u8 = 16;
/// Addresses of the port.
pub const GID_TABLE_LEN: u32 = 64;
/// Partition keys of the port.
pub const MAX_PKEYS: u16 = 1;
/// Pages of a fast registration. The Linux driver has this number built in.
pub const MAX_FAST_REG_PAGES: u32 = 128;
/// Bytes of a memory region: what a page directory holds.
pub const MAX_MR_SIZE: u64 = 1 << 30;
/// Bytes of a message.
pub const MAX_MESSAGE: u32 = 1 << 30;

/// Encoded path MTU of 1024 bytes: what fits into an Ethernet frame of usual size.
pub const ACTIVE_MTU: u32 = 3;
/// Encoded path MTU of 4096 bytes.
pub const MAX_MTU: u32 = 5;

/// Bytes of an encoded path MTU.
pub fn mtu_bytes(encoded: u32) -> u32 {
    128 << encoded
}

/// GID type of the addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Roce {
    /// Its own Ethernet type.
    V1,
    /// In UDP.
    V2,
}

impl Roce {
    /// The bit of this type.
    pub fn gid_type(self) -> u8 {
        match self {
            Self::V1 => gid_type::ROCE_V1,
            Self::V2 => gid_type::ROCE_V2,
        }
    }
}

/// What is chosen on the command line.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    version: u32,
    roce: Roce,
    vectors: u16,
}

/// Oldest version.
pub const MIN_VERSION: u32 = 17;
/// Newest version.
pub const MAX_VERSION: u32 = 20;

impl Config {
    /// An adapter of this version. Without a choice of addresses, the newest kind it has.
    pub fn new(version: u32, roce: Option<Roce>) -> anyhow::Result<Self> {
        anyhow::ensure!(
            (MIN_VERSION..=MAX_VERSION).contains(&version),
            "version {version} is not in {MIN_VERSION}..{MAX_VERSION}"
        );
        let newest = if version < VERSION_ROCE_V2 { Roce::V1 } else { Roce::V2 };
        let roce = roce.unwrap_or(newest);
        anyhow::ensure!(
            roce == Roce::V1 || newest == Roce::V2,
            "RoCE v2 needs version {VERSION_ROCE_V2} or later, not {version}"
        );
        Ok(Self { version, roce, vectors: VECTORS as u16 })
    }

    /// The same adapter with fewer interrupt vectors; without any it has an interrupt line.
    pub fn with_vectors(self, vectors: u16) -> Self {
        Self { vectors: vectors.min(VECTORS as u16), ..self }
    }

    /// Number of interrupt vectors.
    pub fn vectors(&self) -> u16 {
        self.vectors
    }

    /// Version of the interface.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Kind of addresses.
    pub fn roce(&self) -> Roce {
        self.roce
    }

    /// The capabilities of an adapter with this Ethernet address.
    pub fn caps(&self, mac: Mac) -> DeviceCaps {
        let guid = guid(mac);
        DeviceCaps {
            fw_ver: 1 << 32,
            node_guid: guid,
            sys_image_guid: guid,
            max_mr_size: MAX_MR_SIZE,
            page_size_cap: PAGE_SIZE as u64,
            atomic_arg_sizes: 8,
            vendor_id: PCI_VENDOR.into(),
            vendor_part_id: PCI_DEVICE.into(),
            hw_ver: self.version,
            max_qp: MAX_QP,
            max_qp_wr: MAX_WR,
            max_sge: MAX_SGE,
            max_sge_rd: MAX_SGE,
            max_cq: MAX_CQ,
            max_cqe: MAX_CQE,
            max_mr: MAX_MR,
            max_pd: MAX_PD,
            max_qp_rd_atom: MAX_RD_ATOMIC.into(),
            max_res_rd_atom: u32::from(MAX_RD_ATOMIC) * MAX_QP,
            max_qp_init_rd_atom: MAX_RD_ATOMIC.into(),
            max_ah: 65536,
            max_srq: MAX_SRQ,
            max_srq_wr: MAX_WR,
            max_srq_sge: MAX_SGE,
            max_uar: MAX_UAR,
            gid_tbl_len: GID_TABLE_LEN,
            max_pkeys: MAX_PKEYS,
            local_ca_ack_delay: 15,
            phys_port_cnt: 1,
            mode: MODE_ROCE,
            atomic_ops: ATOMIC_COMP_SWAP | ATOMIC_FETCH_ADD,
            bmme_flags: BMME_ALL,
            gid_types: self.roce.gid_type(),
            max_fast_reg_page_list_len: MAX_FAST_REG_PAGES,
            ..DeviceCaps::default()
        }
    }
}

/// The 64-bit identifier made of an Ethernet address.
fn guid(Mac([a, b, c, d, e, f]): Mac) -> [u8; 8] {
    [a ^ 2, b, c, 0xff, 0xfe, d, e, f]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_depend_on_the_version() {
        for version in MIN_VERSION..=MAX_VERSION {
            for roce in [None, Some(Roce::V1), Some(Roce::V2)] {
                let config = Config::new(version, roce);
                let impossible = version == 17 && roce == Some(Roce::V2);
                assert_eq!(config.is_err(), impossible, "{version} {roce:?}");
                if let (Ok(config), Some(roce)) = (config, roce) {
                    assert_eq!(config.roce(), roce);
                }
            }
        }
        assert_eq!(Config::new(17, None).unwrap().roce(), Roce::V1);
        assert_eq!(Config::new(20, None).unwrap().roce(), Roce::V2);
        assert!(Config::new(16, None).is_err());
        assert!(Config::new(21, None).is_err());
    }

    /// What Linux asks of capabilities before it uses the device at all.
    #[test]
    fn drivers_accept_the_capabilities() {
        let caps = Config::new(20, None).unwrap().caps(Mac([0, 0x50, 0x56, 0, 0, 1]));
        assert_eq!(caps.gid_types.count_ones(), 1);
        assert!(caps.max_uar.is_power_of_two());
        assert_eq!(caps.node_guid, [2, 0x50, 0x56, 0xff, 0xfe, 0, 0, 1]);
        assert_eq!([ACTIVE_MTU, MAX_MTU].map(mtu_bytes), [1024, 4096]);
    }
}
