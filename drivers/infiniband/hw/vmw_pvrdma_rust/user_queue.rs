// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! Queues in memory of user processes.
//!
//! A process chooses the size of a queue and the memory for it separately, and the device believes
//! both. So they are compared before the device hears of them.

#![forbid(unsafe_code)]

use crate::{
    page_dir::MAX_PAGES,
    wire::PAGE, //
};
use kernel::{
    prelude::*,
    rdma::UserRange, //
};

/// Checks that a queue of `needed` bytes, from its first page on, fits into `range`.
///
/// # Errors
///
/// [`EINVAL`] if it does not, if the range does not begin with a page, or if it has more pages than
/// a directory can describe.
pub(crate) fn check(range: &UserRange, needed: usize) -> Result {
    let len = usize::try_from(range.len)?;

    // CAST: A small constant.
    if range.addr % PAGE as u64 == 0 && needed <= len && len <= MAX_PAGES * PAGE {
        Ok(())
    } else {
        Err(EINVAL)
    }
}

#[cfg(CONFIG_INFINIBAND_VMWARE_PVRDMA_RUST_KUNIT_TEST)]
#[kunit_tests(vmw_pvrdma_rust_user_queue)]
mod tests {
    use super::*;

    fn ok(addr: u64, len: u64, needed: usize) -> bool {
        check(&UserRange { addr, len }, needed).is_ok()
    }

    #[test]
    fn compares_both_sizes() {
        assert!(ok(0x1000, 0x2000, 0x2000));
        assert!(ok(0x1000, 0x3000, 0x2000));
        assert!(!ok(0x1000, 0x1fff, 0x2000));
        assert!(!ok(0x1000, 0, 1));
    }

    #[test]
    fn wants_whole_pages() {
        assert!(!ok(0x1010, 0x2000, 0x1000));
        // The end is not shared with anything, so it may lie anywhere.
        assert!(ok(0x1000, 0x1010, 0x1000));
    }

    #[test]
    fn ends_at_one_directory() {
        assert!(ok(0x1000, 1 << 30, 1));
        assert!(!ok(0x1000, (1 << 30) + 1, 1));
    }
}
