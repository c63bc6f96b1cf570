// SPDX-License-Identifier: GPL-2.0

//! Mappings of device memory into user processes.

use crate::{
    bindings,
    device::Bound,
    error::to_result,
    mm::virt::VmaNew,
    page::{
        PAGE_SHIFT,
        PAGE_SIZE, //
    },
    pci,
    prelude::*, //
};

/// The wish of a process to map memory of the device.
///
/// # Invariants
///
/// `context` is the user context and `vma` the area that the core passed to the `mmap` callback
/// that runs.
pub struct UserMmap<'a> {
    context: *mut bindings::ib_ucontext,
    vma: &'a VmaNew,
}

impl UserMmap<'_> {
    /// Makes a wish of what the core passed.
    ///
    /// # Safety
    ///
    /// To be called by the `mmap` callback with its arguments; the result must not outlive it.
    #[inline]
    pub(super) unsafe fn new(
        context: *mut bindings::ib_ucontext,
        vma: *mut bindings::vm_area_struct,
    ) -> Self {
        // INVARIANT: By the requirement.
        Self {
            context,
            // SAFETY: ib_uverbs_mmap() in drivers/infiniband/core/uverbs_main.c passes the area of
            // an mmap() call that is in progress.
            vma: unsafe { VmaNew::from_raw(vma) },
        }
    }

    /// Returns the offset that the process asked for, in pages.
    #[inline]
    pub fn page_offset(&self) -> usize {
        // SAFETY: The area is valid by the type invariant of `VmaNew`.
        unsafe { (*self.vma.as_ptr()).vm_pgoff }
    }

    /// Returns the length in bytes, a multiple of the page size that is not zero.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a mapping is never empty")]
    pub fn len(&self) -> usize {
        self.vma.end() - self.vma.start()
    }

    /// Maps pages of a PCI BAR, not cached, from `page` on.
    ///
    /// Child processes do not inherit the mapping. It is replaced when the device goes away while
    /// the process has it open.
    ///
    /// # Errors
    ///
    /// - `EINVAL` if the mapping is private, if it does not lie inside of the BAR, or if the BAR is
    ///   not one of memory.
    /// - `EAGAIN` if the page tables cannot be set up.
    // `pgprot_noncached()` is a macro of each architecture; so far only that of x86 was needed.
    #[cfg(CONFIG_X86)]
    #[inline]
    pub fn map_bar(self, pdev: &pci::Device<Bound>, bar: u32, page: usize) -> Result {
        let start: u64 = pdev.resource_start(bar)?;
        let pages = usize::try_from(pdev.resource_len(bar)?)? / PAGE_SIZE;
        let len = self.len();

        if !pdev.bar_is_memory(bar) {
            return Err(EINVAL);
        }

        if page.checked_add(len / PAGE_SIZE).ok_or(EINVAL)? > pages {
            return Err(EINVAL);
        }
        let pfn = usize::try_from(start >> PAGE_SHIFT)? + page;

        self.vma.set_dontcopy();
        self.vma.set_dontexpand();

        // SAFETY: The area is valid by the type invariant of `VmaNew`.
        let mut prot = unsafe { (*self.vma.as_ptr()).vm_page_prot };
        // SAFETY: The function only looks up a table that is set up early.
        let noncached = unsafe {
            bindings::cachemode2protval(bindings::page_cache_mode__PAGE_CACHE_MODE_UC_MINUS)
        };
        prot.pgprot |= bindings::pgprotval_t::try_from(noncached)?;

        // SAFETY: By the type invariant this is the callback of `context` and its area, called with
        // the SRCU lock that rdma_user_mmap_io() in drivers/infiniband/core/ib_core_uverbs.c
        // wants. The pages are those of a BAR, so no memory of the kernel becomes reachable.
        to_result(unsafe {
            bindings::rdma_user_mmap_io(
                self.context,
                self.vma.as_ptr(),
                pfn,
                len,
                prot,
                core::ptr::null_mut(),
            )
        })
    }
}
