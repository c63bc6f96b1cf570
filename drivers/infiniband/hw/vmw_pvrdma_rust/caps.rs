// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! What the device can do, as far as the driver believes it.
//!
//! The capabilities are copied out of the shared region once, when the device took it over, and
//! validated. What the device writes there later has no effect.

#![forbid(unsafe_code)]

use crate::{
    page_dir, regs,
    wire::{
        bmme,
        gid_type,
        version,
        DeviceCaps,
        DeviceMode,
        PAGE, //
    },
};
use core::ops::Deref;
use kernel::{
    device::Device,
    prelude::*,
    sizes::SZ_1M, //
};

/// Limit of the number of queue pairs, completion queues and shared receive queues: there is a
/// table with a slot for each. Also keeps handles below the 24 bits they have in a doorbell.
const MAX_OBJECTS: u32 = {
    assert!(SZ_1M < 1 << 24);
    // CAST: Fits, see above.
    SZ_1M as u32
};

/// Limit of the number of doorbell pages, for the same reason.
const MAX_UARS: u32 = MAX_OBJECTS;

/// Limit of the length of the GID table, for the same reason.
const MAX_GIDS: u32 = 1 << 16;

/// Limit of the number of queue pairs: a completion names one with 16 bits.
const MAX_QPS: u32 = 1 << 16;

/// Limit of the number of pages of a fast registration.
pub(crate) const MAX_FAST_REG_PAGES: u32 = 128;

/// Version of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version(u32);

impl Version {
    /// Judges what the version register says.
    ///
    /// # Errors
    ///
    /// - [`ENODEV`] if nothing answers,
    /// - [`EFAULT`] if the device is older than the driver can handle.
    pub(crate) fn new(raw: u32) -> Result<Self> {
        match raw {
            regs::GONE => Err(ENODEV),
            version::ROCE_V1.. => Ok(Self(raw)),
            _ => Err(EFAULT),
        }
    }

    /// Returns the number.
    pub(crate) fn raw(self) -> u32 {
        self.0
    }

    /// Returns whether the device has all the capabilities of RoCE v2, whichever version it runs.
    pub(crate) fn has_roce_v2(self) -> bool {
        self.0 >= version::ROCE_V2
    }

    /// Returns whether page frame numbers have 64 bits.
    pub(crate) fn has_wide_pfn(self) -> bool {
        self.0 >= version::PPN64
    }

    /// Returns whether the handle of a queue pair is not its number.
    pub(crate) fn has_qp_handle(self) -> bool {
        self.0 >= version::QP_HANDLE
    }
}

/// The protocol that the device's GIDs are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GidType {
    /// RoCE version 1, Ethernet only.
    RoceV1,
    /// RoCE version 2, over UDP.
    RoceV2,
}

/// Validated capabilities. Dereferences to the numbers.
///
/// # Invariants
///
/// The numbers have gone through [`Caps::new`].
pub(crate) struct Caps {
    version: Version,
    gid_type: GidType,
    caps: DeviceCaps,
}

impl Caps {
    /// Validates what the device reported.
    ///
    /// # Errors
    ///
    /// - [`EFAULT`] if the device does not speak RoCE, or not in the way its version should,
    /// - [`EINVAL`] if a number makes no sense; the log tells which.
    pub(crate) fn new(dev: &Device, version: Version, mut caps: DeviceCaps) -> Result<Self> {
        let gid_type = gid_type(version, caps.mode, caps.gid_types).ok_or_else(|| {
            dev_err!(
                dev,
                "version {} with mode {} and GID types {:#x} is not supported\n",
                version.raw(),
                caps.mode,
                caps.gid_types
            );
            EFAULT
        })?;

        check_numbers(&caps).inspect_err(|number| {
            dev_err!(dev, "device reports {} = {}\n", number.name, number.value)
        })?;

        sanitise(version, &mut caps);

        // INVARIANT: This is the validation.
        Ok(Self {
            version,
            gid_type,
            caps,
        })
    }

    /// Returns the version of the device.
    pub(crate) fn version(&self) -> Version {
        self.version
    }

    /// Returns the protocol that the device's GIDs are for.
    pub(crate) fn gid_type(&self) -> GidType {
        self.gid_type
    }

    /// Returns whether the device has all that makes up the memory management extensions.
    pub(crate) fn has_mem_mgt_extensions(&self) -> bool {
        const ALL: u8 = bmme::LOCAL_INV | bmme::REMOTE_INV | bmme::FAST_REG_WR;

        self.bmme_flags & ALL == ALL
    }
}

impl Deref for Caps {
    type Target = DeviceCaps;

    fn deref(&self) -> &DeviceCaps {
        &self.caps
    }
}

/// Returns the protocol of the GIDs if the combination is one that the driver supports.
fn gid_type(version: Version, mode: u8, types: u8) -> Option<GidType> {
    if !matches!(DeviceMode::try_from(mode), Ok(DeviceMode::Roce)) {
        return None;
    }
    match types {
        gid_type::ROCE_V1 => Some(GidType::RoceV1),
        gid_type::ROCE_V2 if version.has_roce_v2() => Some(GidType::RoceV2),
        _ => None,
    }
}

/// A number that makes no sense.
#[derive(Debug, PartialEq, Eq)]
struct BadNumber {
    name: &'static str,
    value: u32,
}

impl From<BadNumber> for Error {
    fn from(_: BadNumber) -> Self {
        EINVAL
    }
}

/// Checks the numbers that the driver computes with.
fn check_numbers(caps: &DeviceCaps) -> Result<(), BadNumber> {
    for (name, value, range) in [
        ("max_qp", caps.max_qp, 1..=MAX_OBJECTS),
        ("max_cq", caps.max_cq, 1..=MAX_OBJECTS),
        ("max_srq", caps.max_srq, 0..=MAX_OBJECTS),
        ("max_pd", caps.max_pd, 1..=u32::MAX),
        ("max_uar", caps.max_uar, 2..=MAX_UARS),
        ("gid_tbl_len", caps.gid_tbl_len, 1..=MAX_GIDS),
        ("phys_port_cnt", caps.phys_port_cnt.into(), 1..=u32::MAX),
    ] {
        if !range.contains(&value) || name == "max_uar" && !value.is_power_of_two() {
            return Err(BadNumber { name, value });
        }
    }
    Ok(())
}

/// Puts numbers in the place of those that old devices do not report, and limits those beyond what
/// the driver can do.
fn sanitise(version: Version, caps: &mut DeviceCaps) {
    if !version.has_roce_v2() {
        caps.max_sge_rd = caps.max_sge;
        caps.max_fast_reg_page_list_len = MAX_FAST_REG_PAGES;
    }
    caps.max_fast_reg_page_list_len = caps.max_fast_reg_page_list_len.min(MAX_FAST_REG_PAGES);

    caps.max_qp = caps.max_qp.min(MAX_QPS);

    // CAST: `usize` has 64 bits here.
    caps.max_mr_size = caps.max_mr_size.min((page_dir::MAX_PAGES * PAGE) as u64);
}

#[cfg(CONFIG_INFINIBAND_VMWARE_PVRDMA_RUST_KUNIT_TEST)]
#[kunit_tests(vmw_pvrdma_rust_caps)]
mod tests {
    use super::*;
    use zerocopy::FromZeros;

    /// Capabilities that a device could have.
    fn plausible() -> DeviceCaps {
        DeviceCaps {
            max_qp: 64,
            max_cq: 64,
            max_srq: 0,
            max_pd: 64,
            max_uar: 512,
            gid_tbl_len: 16,
            phys_port_cnt: 1,
            max_sge: 16,
            max_sge_rd: 4,
            max_mr_size: u64::MAX,
            max_fast_reg_page_list_len: 64,
            ..DeviceCaps::new_zeroed()
        }
    }

    #[test]
    fn versions() {
        assert_eq!(Version::new(16), Err(EFAULT));
        assert_eq!(Version::new(0), Err(EFAULT));
        assert_eq!(Version::new(u32::MAX), Err(ENODEV));
        for (raw, roce_v2, wide, handle) in [
            (17, false, false, false),
            (18, true, false, false),
            (19, true, true, false),
            (20, true, true, true),
            (21, true, true, true),
        ] {
            let version = Version::new(raw);

            assert_eq!(version.map(Version::has_roce_v2), Ok(roce_v2));
            assert_eq!(version.map(Version::has_wide_pfn), Ok(wide));
            assert_eq!(version.map(Version::has_qp_handle), Ok(handle));
        }
    }

    #[test]
    fn one_gid_type_that_the_version_knows() -> Result {
        for raw in 17..=21 {
            let version = Version::new(raw)?;
            let v2 = (raw > 17).then_some(GidType::RoceV2);

            assert_eq!(gid_type(version, 0, 0), None);
            assert_eq!(gid_type(version, 0, 1), Some(GidType::RoceV1));
            assert_eq!(gid_type(version, 0, 2), v2);
            assert_eq!(gid_type(version, 0, 3), None);
            for mode in [1, 2, 3] {
                for types in 0..=3 {
                    assert_eq!(gid_type(version, mode, types), None);
                }
            }
        }
        Ok(())
    }

    #[test]
    fn absurd_numbers_are_refused() {
        type Change = fn(&mut DeviceCaps, u32);
        let changes: [(&'static str, Change, &[u32]); 5] = [
            ("max_qp", |caps, value| caps.max_qp = value, &[0, u32::MAX]),
            ("max_cq", |caps, value| caps.max_cq = value, &[0, u32::MAX]),
            ("max_srq", |caps, value| caps.max_srq = value, &[u32::MAX]),
            (
                "max_uar",
                |caps, value| caps.max_uar = value,
                &[0, 1, 3, 1 << 31],
            ),
            (
                "gid_tbl_len",
                |caps, value| caps.gid_tbl_len = value,
                &[0, u32::MAX],
            ),
        ];

        assert_eq!(check_numbers(&plausible()), Ok(()));
        for (name, change, values) in changes {
            for &value in values {
                let mut caps = plausible();

                change(&mut caps, value);
                assert_eq!(check_numbers(&caps), Err(BadNumber { name, value }));
            }
        }
    }

    #[test]
    fn old_devices_do_not_report_everything() -> Result {
        let mut caps = plausible();
        sanitise(Version::new(17)?, &mut caps);
        assert_eq!(caps.max_sge_rd, 16);
        assert_eq!(caps.max_fast_reg_page_list_len, 128);

        let mut caps = plausible();
        sanitise(Version::new(18)?, &mut caps);
        assert_eq!(caps.max_sge_rd, 4);
        assert_eq!(caps.max_fast_reg_page_list_len, 64);
        Ok(())
    }

    #[test]
    fn the_driver_has_limits_too() -> Result {
        let mut caps = plausible();

        caps.max_fast_reg_page_list_len = 256;
        caps.max_qp = 1 << 17;
        sanitise(Version::new(20)?, &mut caps);
        assert_eq!(caps.max_fast_reg_page_list_len, 128);
        assert_eq!(caps.max_mr_size, 1 << 30);
        assert_eq!(caps.max_qp, 1 << 16);
        Ok(())
    }
}
