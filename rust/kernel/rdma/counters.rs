// SPDX-License-Identifier: GPL-2.0

//! Hardware counters of ports.
//!
//! They appear below `ports/<port>/hw_counters` of the device in sysfs and in `rdma statistic`.
//!
//! C header: [`include/rdma/ib_verbs.h`](srctree/include/rdma/ib_verbs.h)

use super::{
    device::Ctx,
    Driver, //
};
use crate::{
    bindings,
    ffi::c_int,
    prelude::*,
    str::as_char_ptr_in_const_context, //
};

/// How old the values that a reader gets may be, in milliseconds.
const LIFESPAN: usize = 10;

/// The name of a counter.
#[repr(transparent)]
pub struct CounterName(bindings::rdma_stat_desc);

impl CounterName {
    /// Names a counter; `name` becomes the name of a file.
    #[inline]
    pub const fn new(name: &'static CStr) -> Self {
        Self(bindings::rdma_stat_desc {
            name: as_char_ptr_in_const_context(name),
            ..pin_init::zeroed()
        })
    }
}

/// Allocates what the core keeps the values of the counters of a port in; null if there is no
/// memory.
#[inline]
pub(super) fn alloc<D: Driver>() -> *mut bindings::rdma_hw_stats {
    let Ok(len) = c_int::try_from(D::COUNTERS.len()) else {
        return core::ptr::null_mut();
    };

    // SAFETY: The names are constants, of which there are as many; `CounterName` is transparent.
    // The core frees the memory (rdma_free_hw_stats_struct() in drivers/infiniband/core/verbs.c).
    unsafe { bindings::rdma_alloc_hw_stats_struct(D::COUNTERS.as_ptr().cast(), len, LIFESPAN) }
}

/// Reads all counters of a port into `stats`, and returns their number.
///
/// # Safety
///
/// `stats` must come from [`alloc`] for the same `D`, and nobody else may use it meanwhile.
#[inline]
pub(super) unsafe fn read<D: Driver>(
    ctx: &Ctx<'_, D>,
    port: u32,
    stats: *mut bindings::rdma_hw_stats,
) -> Result<c_int> {
    // SAFETY: By the requirement; the array behind the structure has as many values as there are
    // names.
    let values = unsafe { (&raw mut (*stats).value).cast::<u64>() };

    for index in 0..D::COUNTERS.len() {
        // SAFETY: As above.
        unsafe { *values.add(index) = D::read_counter(ctx, port, index) };
    }
    Ok(c_int::try_from(D::COUNTERS.len())?)
}
