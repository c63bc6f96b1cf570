// SPDX-License-Identifier: GPL-2.0

//! Memory of user processes.
//!
//! C headers: [`include/rdma/ib_umem.h`](srctree/include/rdma/ib_umem.h),
//! [`include/rdma/iter.h`](srctree/include/rdma/iter.h)

use super::{
    device::Ctx,
    flags::AccessFlags,
    Driver, //
};
use crate::{
    bindings,
    device,
    dma::DmaAddress,
    error::from_err_ptr,
    page::PAGE_SIZE,
    prelude::*,
    sync::aref::ARef,
    task::Task, //
};
use core::{
    marker::PhantomData,
    ptr::NonNull, //
};

/// A range of addresses of the calling process.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct UserRange {
    /// Address of the first byte.
    pub addr: u64,
    /// Length in bytes.
    pub len: u64,
}

/// Memory of a user process that is pinned and mapped for a device.
///
/// It is released when it is dropped, in any process context; the adapter must not use it any more.
///
/// # Invariants
///
/// `raw` is a user memory of the RDMA device that `_dev` is embedded in.
pub struct Umem {
    raw: NonNull<bindings::ib_umem>,
    /// Keeps the RDMA device in memory, which `ib_umem_release()` uses.
    _dev: ARef<device::Device>,
    /// Keeps the device that does DMA in memory, which `ib_umem_release()` uses too.
    _parent: Option<ARef<device::Device>>,
}

// SAFETY: User memory may be released from any thread.
unsafe impl Send for Umem {}

// SAFETY: Shared references only read what does not change.
unsafe impl Sync for Umem {}

impl Umem {
    /// Pins memory of the calling process and maps it for the device.
    ///
    /// It may sleep. Only a callback can do this, as there is a device that does DMA only while the
    /// RDMA device is registered.
    ///
    /// # Errors
    ///
    /// - `EINVAL` if this is no process with an address space, if the range is empty or wraps
    ///   around, if the access flags contradict each other, or if the device is not registered yet.
    /// - `ENOMEM` if the process may not pin so much.
    /// - `EFAULT` and others if the memory is not there or does not allow the access.
    pub fn get<D: Driver>(ctx: &Ctx<'_, D>, range: UserRange, access: AccessFlags) -> Result<Self> {
        let dev = ctx.device();
        // CAST: A flag word, which C keeps in a signed integer.
        let access = access.bits() as crate::ffi::c_int;
        let len = usize::try_from(range.len)?;

        // A kernel thread has no address space, and ib_umem_get_va() relies on there being one.
        // SAFETY: The current task is valid, and its address space does not change meanwhile.
        if unsafe { (*Task::current_raw()).mm }.is_null() {
            return Err(EINVAL);
        }

        // `Driver::netdev_port` may be called before ib_register_device() has set it.
        // SAFETY: The device is valid.
        if unsafe { (*dev.as_raw()).dma_device }.is_null() {
            return Err(EINVAL);
        }

        // SAFETY: The device is valid, and without attributes the range given is used. It is
        // checked there (ib_umem_get_va() in drivers/infiniband/core/umem.c).
        let raw = from_err_ptr(unsafe {
            bindings::ib_umem_get_attr_or_va(
                dev.as_raw(),
                core::ptr::null(),
                0,
                range.addr,
                len,
                access,
            )
        })?;

        // INVARIANT: The memory was just made for the device.
        Ok(Self {
            raw: NonNull::new(raw).ok_or(EINVAL)?,
            _dev: dev.as_ref().into(),
            _parent: dev.as_ref().parent().map(Into::into),
        })
    }

    /// Returns the number of pages that the memory touches.
    #[inline]
    pub fn num_pages(&self) -> usize {
        // SAFETY: By the type invariant.
        let umem = unsafe { self.raw.as_ref() };
        let mask = PAGE_SIZE as u64 - 1;
        let first = umem.iova & !mask;
        let end = umem
            .iova
            .wrapping_add(umem.length as u64)
            .wrapping_add(mask)
            & !mask;

        // CAST: At most the number of pages that were pinned.
        (end.wrapping_sub(first) / PAGE_SIZE as u64) as usize
    }

    /// Returns the DMA addresses of the pages, in order.
    #[inline]
    pub fn pages(&self) -> UmemPages<'_> {
        let mut iter: bindings::ib_block_iter = pin_init::zeroed();

        // SAFETY: By the type invariant.
        let umem = unsafe { self.raw.as_ref() };
        let table = &umem.sgt_append.sgt;

        // SAFETY: The list is mapped for DMA and has as many entries.
        unsafe { bindings::__rdma_block_iter_start(&mut iter, table.sgl, table.nents, PAGE_SIZE) };
        // The offset inside of the first page is no whole page, so nothing is to be skipped.
        iter.__sg_numblocks = self.num_pages();

        // INVARIANT: The iterator was started on a list that lives as long as `self`.
        UmemPages {
            iter,
            _umem: PhantomData,
        }
    }
}

impl Drop for Umem {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: By the type invariant; it is not used after this.
        unsafe { bindings::ib_umem_release(self.raw.as_ptr()) };
    }
}

/// Iterator of the DMA addresses of the pages of a [`Umem`].
///
/// # Invariants
///
/// `iter` was started on the list of the memory that is borrowed.
pub struct UmemPages<'a> {
    iter: bindings::ib_block_iter,
    _umem: PhantomData<&'a Umem>,
}

impl Iterator for UmemPages<'_> {
    type Item = DmaAddress;

    #[inline]
    fn next(&mut self) -> Option<DmaAddress> {
        // SAFETY: By the type invariant.
        if !unsafe { bindings::__rdma_block_iter_next(&mut self.iter) } {
            return None;
        }
        self.iter.__sg_numblocks = self.iter.__sg_numblocks.checked_sub(1)?;

        Some(self.iter.__dma_addr & !(PAGE_SIZE as DmaAddress - 1))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.iter.__sg_numblocks))
    }
}
