// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! Doorbell pages for user contexts.
//!
//! BAR 2 is a row of doorbell pages. The first belongs to the kernel, each user context has one of
//! the others.

#![forbid(unsafe_code)]

use crate::{
    caps::Version,
    wire::PAGE, //
};
use kernel::{
    bitmap::BitmapVec,
    new_mutex,
    prelude::*,
    sync::Mutex, //
};

/// Place of the doorbell pages in the address space.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    first_pfn: u64,
    pages: u64,
}

impl Layout {
    /// Describes a BAR of `len` bytes at `start`.
    ///
    /// # Errors
    ///
    /// [`EINVAL`] if the BAR holds no page, or if a device of this version cannot be told the page
    /// frame numbers.
    pub(crate) fn new(version: Version, start: u64, len: u64) -> Result<Self> {
        // CAST: A constant.
        let page = PAGE as u64;
        let (first_pfn, pages) = (start / page, len / page);

        if pages == 0 || start % page != 0 {
            return Err(EINVAL);
        }
        if !version.has_wide_pfn() {
            u32::try_from(first_pfn + pages - 1).map_err(|_| EINVAL)?;
        }
        Ok(Self { first_pfn, pages })
    }

    /// Returns the page frame number of the kernel's page.
    pub(crate) fn kernel_pfn(self) -> u64 {
        self.first_pfn
    }
}

/// The doorbell page of a user context.
///
/// Must be given back with [`Uars::free`], unless the device may go on listening to it.
pub(crate) struct UarPage {
    index: usize,
    pfn: u64,
}

impl UarPage {
    /// Returns its place in the BAR, in pages.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Returns its page frame number.
    pub(crate) fn pfn(&self) -> u64 {
        self.pfn
    }
}

/// Which doorbell pages are in use.
#[pin_data]
pub(crate) struct Uars {
    layout: Layout,
    #[pin]
    used: Mutex<BitmapVec>,
}

impl Uars {
    /// Manages the pages of a device that has `max_uar` of them, the kernel's included.
    pub(crate) fn new(layout: Layout, max_uar: u32) -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            layout,
            used <- new_mutex!(all_but_first(layout.pages.min(max_uar.into()))?),
        })
    }

    /// Takes the first free page.
    ///
    /// # Errors
    ///
    /// [`ENOMEM`] if there is none.
    pub(crate) fn alloc(&self) -> Result<UarPage> {
        let mut used = self.used.lock();
        let index = used.next_zero_bit(0).ok_or(ENOMEM)?;

        used.set_bit(index);
        Ok(UarPage {
            index,
            // CAST: `usize` has 64 bits here.
            pfn: self.layout.first_pfn + index as u64,
        })
    }

    /// Gives a page back.
    pub(crate) fn free(&self, uar: &UarPage) {
        self.used.lock().clear_bit(uar.index);
    }
}

/// Returns a map of `count` pages of which the first is in use.
fn all_but_first(count: u64) -> Result<BitmapVec> {
    let mut used = BitmapVec::new(count.try_into()?, GFP_KERNEL)?;

    used.set_bit(0);
    Ok(used)
}

#[cfg(CONFIG_INFINIBAND_VMWARE_PVRDMA_RUST_KUNIT_TEST)]
#[kunit_tests(vmw_pvrdma_rust_uar)]
mod tests {
    use super::*;
    use kernel::sync::Arc;

    fn version(raw: u32) -> Result<Version> {
        Version::new(raw)
    }

    #[test]
    fn the_first_free_page_is_taken() -> Result {
        let layout = Layout::new(version(20)?, 0x10_0000, 0x4000)?;
        let uars = Arc::pin_init(Uars::new(layout, 4), GFP_KERNEL)?;

        let (first, second, third) = (uars.alloc()?, uars.alloc()?, uars.alloc()?);
        assert_eq!(layout.kernel_pfn(), 0x100);
        assert_eq!(first.pfn(), 0x101);
        assert_eq!(second.pfn(), 0x102);
        assert_eq!(third.pfn(), 0x103);
        assert_eq!(uars.alloc().map(|uar| uar.pfn()), Err(ENOMEM));

        uars.free(&second);
        assert_eq!(uars.alloc()?.pfn(), 0x102);
        assert!(uars.alloc().is_err());
        Ok(())
    }

    #[test]
    fn the_bar_limits_the_pages() -> Result {
        let layout = Layout::new(version(20)?, 0x10_0000, 0x2fff)?;
        let uars = Arc::pin_init(Uars::new(layout, 512), GFP_KERNEL)?;

        assert_eq!(uars.alloc()?.pfn(), 0x101);
        assert!(uars.alloc().is_err());
        Ok(())
    }

    #[test]
    fn bad_bars_are_refused() -> Result {
        assert!(Layout::new(version(20)?, 0x10_0000, 0xfff).is_err());
        assert!(Layout::new(version(20)?, 0x10_0001, 0x1000).is_err());
        Ok(())
    }

    #[test]
    fn old_devices_take_narrow_frame_numbers() -> Result {
        const LAST: u64 = 0x0fff_ffff_f000;

        assert!(Layout::new(version(18)?, LAST, 0x1000).is_ok());
        assert!(Layout::new(version(18)?, LAST, 0x2000).is_err());
        assert!(Layout::new(version(18)?, LAST + 0x1000, 0x1000).is_err());
        assert!(Layout::new(version(19)?, LAST + 0x1000, 0x1000).is_ok());
        Ok(())
    }
}
