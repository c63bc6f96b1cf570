// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! Limits of the number of objects.

#![forbid(unsafe_code)]

use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    },
};

/// How many objects of a kind there may be, and are.
pub(crate) struct Quota {
    used: Atomic<u32>,
    max: u32,
}

/// The right to have one object. Given back when dropped.
pub(crate) struct Share(Arc<Quota>);

impl Quota {
    /// Allows `max` objects.
    pub(crate) fn new(max: u32) -> Result<Arc<Self>> {
        Ok(Arc::new(
            Self {
                used: Atomic::new(0),
                max,
            },
            GFP_KERNEL,
        )?)
    }

    /// Returns the right to have one more object. May be called in any context.
    ///
    /// # Errors
    ///
    /// [`ENOMEM`] if there are as many as allowed.
    pub(crate) fn take(self: &Arc<Self>) -> Result<Share> {
        let mut used = self.used.load(Relaxed);

        while used < self.max {
            match self.used.cmpxchg(used, used + 1, Relaxed) {
                Ok(_) => return Ok(Share(self.clone())),
                Err(now) => used = now,
            }
        }
        Err(ENOMEM)
    }

    /// Returns how many objects there are.
    pub(crate) fn used(&self) -> u32 {
        self.used.load(Relaxed)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.0.used.fetch_sub(1, Relaxed);
    }
}

#[cfg(CONFIG_INFINIBAND_VMWARE_PVRDMA_RUST_KUNIT_TEST)]
#[kunit_tests(vmw_pvrdma_rust_quota)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_allowed() -> Result {
        let quota = Quota::new(2)?;
        let first = quota.take()?;
        let _second = quota.take()?;

        assert_eq!(quota.used(), 2);
        assert!(quota.take().is_err());
        drop(first);
        assert_eq!(quota.used(), 1);
        assert!(quota.take().is_ok());
        Ok(())
    }

    #[test]
    fn none_if_none_is_allowed() -> Result {
        assert!(Quota::new(0)?.take().is_err());
        Ok(())
    }
}
