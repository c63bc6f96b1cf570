// SPDX-License-Identifier: GPL-2.0

//! Memory regions.

use super::{
    device::{
        Ctx,
        Device, //
    },
    enums::MrType,
    flags::AccessFlags,
    pd::Pd,
    udata::Udata,
    umem::UserRange,
    Driver, //
};
use crate::{
    bindings,
    error::to_result,
    prelude::*,
    types::Opaque, //
};
use core::cell::{
    Cell,
    UnsafeCell, //
};

/// The driver's part of a memory region.
///
/// The three ways to create one differ in where the memory comes from.
#[vtable]
pub trait MemoryRegion: Sized + Send + Sync + 'static {
    /// The driver.
    type Driver: Driver<Mr = Self>;

    /// Creates a region of all memory that the adapter can reach, for kernel consumers.
    fn get_dma(
        ctx: &Ctx<'_, Self::Driver>,
        pd: &Pd<Self::Driver>,
        init: &MrInit,
        access: AccessFlags,
    ) -> impl PinInit<Self, Error>;

    /// Creates a region of memory of the calling process.
    ///
    /// `iova` is the address that the peers use for its first byte.
    fn reg_user(
        ctx: &Ctx<'_, Self::Driver>,
        pd: &Pd<Self::Driver>,
        init: &MrInit,
        range: UserRange,
        iova: u64,
        access: AccessFlags,
        udata: Option<&Udata<'_>>,
    ) -> impl PinInit<Self, Error>;

    /// Creates an empty region for up to `max_pages` pages, for fast registration.
    fn alloc(
        ctx: &Ctx<'_, Self::Driver>,
        pd: &Pd<Self::Driver>,
        init: &MrInit,
        ty: MrType,
        max_pages: u32,
    ) -> impl PinInit<Self, Error>;

    /// Sets the pages of a region made by [`alloc`](Self::alloc).
    ///
    /// The driver stores the addresses that [`SgList::map_pages`] gives it, for the fast
    /// registration to follow.
    ///
    /// Must not sleep.
    fn map_sg(
        ctx: &Ctx<'_, Self::Driver>,
        this: &Mr<Self::Driver>,
        list: SgList<'_, Self::Driver>,
    ) -> Result<usize>;

    /// Takes the region away from the adapter.
    ///
    /// It is dropped afterwards.
    fn dereg(ctx: &Ctx<'_, Self::Driver>, this: &Mr<Self::Driver>);
}

/// A closure of [`SgList::map_pages`], which lives on the stack of that function.
type SetPage<'a> = &'a mut dyn FnMut(u64) -> Result;

/// A memory region.
///
/// It dereferences to the driver's part.
#[repr(C)]
#[pin_data]
pub struct Mr<D: Driver> {
    ib: Opaque<bindings::ib_mr>,
    /// The closure that is in use during `ib_sg_to_pages()`.
    set_page: UnsafeCell<*mut SetPage<'static>>,
    #[pin]
    data: D::Mr,
}

core_object!(Mr, ib_mr, Mr);

impl<D: Driver> Mr<D> {
    /// Returns the local key.
    #[inline]
    pub fn lkey(&self) -> u32 {
        // SAFETY: The C structure is valid.
        unsafe { (*self.as_raw()).lkey }
    }

    /// Returns the remote key.
    #[inline]
    pub fn rkey(&self) -> u32 {
        // SAFETY: The C structure is valid.
        unsafe { (*self.as_raw()).rkey }
    }

    /// Returns the address of the first byte, as the peers see it.
    #[inline]
    pub fn iova(&self) -> u64 {
        // SAFETY: The C structure is valid.
        unsafe { (*self.as_raw()).iova }
    }

    /// Returns the length in bytes.
    #[inline]
    pub fn length(&self) -> u64 {
        // SAFETY: The C structure is valid.
        unsafe { (*self.as_raw()).length }
    }

    /// Allocates a region and initialises the driver's part.
    ///
    /// `data` is called when there is memory for the region, so nothing can fail after the driver
    /// has created it. `init` is the one that the initialiser uses.
    pub(super) fn allocate<I: PinInit<D::Mr, Error>>(
        pd: &Pd<D>,
        init: &MrInit,
        data: impl FnOnce() -> I,
    ) -> Result<*mut bindings::ib_mr> {
        const_assert!(
            core::mem::offset_of!(Self, ib) == 0,
            "struct ib_mr must be at offset 0"
        );

        let mr = KBox::<Self>::new_uninit(GFP_KERNEL)?;
        let data = data();
        let mr = mr.write_pin_init(try_pin_init!(Self {
            ib: Opaque::zeroed(),
            set_page: UnsafeCell::new(core::ptr::null_mut()),
            data <- data,
        }? Error))?;
        let raw = mr.as_raw();
        let (lkey, rkey) = init.keys.get();

        // SAFETY: The core does not know the region yet.
        unsafe {
            (*raw).device = pd.device().as_raw();
            (*raw).pd = pd.as_raw();
            (*raw).lkey = lkey;
            (*raw).rkey = rkey;
        }

        // SAFETY: The region is not moved until `destroy` drops it in place.
        Ok(KBox::into_raw(unsafe { Pin::into_inner_unchecked(mr) }).cast())
    }

    /// Takes the region away from the adapter and frees it.
    ///
    /// # Safety
    ///
    /// `raw` must come from [`allocate`](Self::allocate), and nobody may use it any more.
    pub(super) unsafe fn destroy(ctx: &Ctx<'_, D>, raw: *mut bindings::ib_mr) {
        // SAFETY: By the requirement.
        D::Mr::dereg(ctx, unsafe { Self::from_raw(raw) });
        // SAFETY: By the requirement; the box is dropped without being moved out of.
        drop(unsafe { KBox::from_raw(raw.cast::<Self>()) });
    }

    /// Hands a page of `ib_sg_to_pages()` to the closure in use.
    ///
    /// # Safety
    ///
    /// To be called by `ib_sg_to_pages()` as called by [`SgList::map_pages`].
    unsafe extern "C" fn set_page(raw: *mut bindings::ib_mr, addr: u64) -> crate::ffi::c_int {
        // SAFETY: `raw` is the region that was passed to `ib_sg_to_pages()`.
        let this = unsafe { Self::from_raw(raw) };
        // SAFETY: `map_pages` set the pointer, keeps the closure alive and does not use it while
        // `ib_sg_to_pages()` runs.
        let set_page = unsafe { &mut **this.set_page.get() };

        match set_page(addr) {
            Ok(()) => 0,
            Err(e) => e.to_errno(),
        }
    }
}

/// A memory region that is being created.
pub struct MrInit {
    keys: Cell<(u32, u32)>,
}

impl MrInit {
    /// Starts with keys of zero.
    #[inline]
    pub(super) fn new() -> Self {
        Self {
            keys: Cell::new((0, 0)),
        }
    }

    /// Sets the keys of the region.
    #[inline]
    pub fn set_keys(&self, lkey: u32, rkey: u32) {
        self.keys.set((lkey, rkey));
    }
}

/// A mapped scatter list that becomes the memory of a region.
///
/// # Invariants
///
/// The members are the arguments of the `map_mr_sg` callback that runs. The consumer does not map
/// another list for the same region meanwhile, as `ib_map_mr_sg()` demands: it changes the region
/// without a lock.
pub struct SgList<'a, D: Driver> {
    mr: &'a Mr<D>,
    sg: *mut bindings::scatterlist,
    nents: crate::ffi::c_int,
    offset: *mut crate::ffi::c_uint,
}

impl<'a, D: Driver> SgList<'a, D> {
    /// Makes a list out of what the core passed.
    ///
    /// # Safety
    ///
    /// To be called by the `map_mr_sg` callback with its arguments.
    #[inline]
    pub(super) unsafe fn new(
        mr: &'a Mr<D>,
        sg: *mut bindings::scatterlist,
        nents: crate::ffi::c_int,
        offset: *mut crate::ffi::c_uint,
    ) -> Self {
        // INVARIANT: By the requirement.
        Self {
            mr,
            sg,
            nents,
            offset,
        }
    }

    /// Returns the page size that the consumer wants the list to be cut into.
    #[inline]
    pub fn page_size(&self) -> usize {
        // SAFETY: ib_map_mr_sg() in drivers/infiniband/core/verbs.c set it.
        let size = unsafe { (*self.mr.as_raw()).page_size };

        // CAST: The kernel runs on machines where `usize` is at least 32 bits wide.
        size as usize
    }

    /// Cuts the list into pages and calls `f` with the DMA address of each.
    ///
    /// Returns how many entries of the list were consumed, which are fewer than there are if `f`
    /// fails or if the list has gaps.
    ///
    /// # Errors
    ///
    /// That of `f`, if it fails for the first entry.
    pub fn map_pages(self, mut f: impl FnMut(u64) -> Result) -> Result<usize> {
        let mut f: SetPage<'_> = &mut f;

        // SAFETY: By the type invariant nobody else uses the field. The lifetime is erased only
        // until `ib_sg_to_pages()` returns.
        unsafe { *self.mr.set_page.get() = (&raw mut f).cast() };

        // SAFETY: By the type invariant these are the arguments that the core passed. The callback
        // is called from inside of the function only.
        let mapped = unsafe {
            bindings::ib_sg_to_pages(
                self.mr.as_raw(),
                self.sg,
                self.nents,
                self.offset,
                Some(Mr::<D>::set_page),
            )
        };

        // SAFETY: As above.
        unsafe { *self.mr.set_page.get() = core::ptr::null_mut() };

        to_result(mapped.min(0))?;
        Ok(usize::try_from(mapped)?)
    }
}
