// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! Memory regions.

#![forbid(unsafe_code)]

use crate::{
    caps::MAX_FAST_REG_PAGES,
    commands::{
        CreateMr,
        Destroy,
        Region, //
    },
    convert,
    device::Pvrdma,
    handle::{
        self,
        Handle, //
    },
    lent::Lent,
    page_dir::{
        PageDir,
        MAX_PAGES, //
    },
    quota::Share,
    wire::PAGE, //
};
use kernel::{
    dma::DmaAddress,
    prelude::*,
    rdma::{
        self,
        AccessFlags,
        Ctx,
        MemoryRegion,
        MrInit,
        MrType,
        SgList,
        Udata,
        Umem,
        UserRange, //
    },
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    }, //
};

/// What the pages of a region are described with.
struct Memory {
    _directory: Option<Arc<PageDir>>,
    _umem: Option<Umem>,
}

/// The pages that the next fast registration registers.
struct PageList {
    directory: Arc<PageDir>,
    len: Atomic<u32>,
}

/// A memory region.
pub(crate) struct Mr {
    handle: Handle<handle::Mr>,
    /// Only of a region for fast registration.
    list: Option<PageList>,
    memory: Lent<Memory>,
    _share: Share,
}

impl Mr {
    /// Creates a region on the device.
    fn new(
        ctx: &Ctx<'_, Pvrdma>,
        pd: &rdma::Pd<Pvrdma>,
        init: &MrInit,
        access: u32,
        region: Region,
        memory: Memory,
        list: Option<PageList>,
    ) -> Result<Self> {
        let share = ctx.quotas.mr.take()?;
        let memory = Lent::new(memory);
        let reply = memory.created(
            ctx.adapter.dev(),
            ctx.adapter.ask(&CreateMr {
                pd: pd.handle(),
                access,
                region,
            }),
        )?;

        init.set_keys(reply.lkey, reply.rkey);
        Ok(Self {
            handle: reply.handle,
            list,
            memory,
            _share: share,
        })
    }

    /// Returns the page directory of the pages that were set last, and their number.
    ///
    /// # Errors
    ///
    /// [`EINVAL`] if the region is not for fast registration.
    pub(crate) fn page_list(&self) -> Result<(DmaAddress, u32)> {
        let list = self.list.as_ref().ok_or(EINVAL)?;

        Ok((list.directory.dma_address(), list.len.load(Relaxed)))
    }
}

/// Returns how many pages the bytes of `range` touch.
///
/// # Errors
///
/// [`EINVAL`] if there is no byte, if the addresses wrap around, or if one page directory cannot
/// describe so many pages.
fn pages_touched(range: &UserRange) -> Result<usize> {
    // CAST: A small constant.
    let page = PAGE as u64;
    let last = range
        .len
        .checked_sub(1)
        .and_then(|len| range.addr.checked_add(len))
        .ok_or(EINVAL)?;
    let count = usize::try_from(last / page - range.addr / page)? + 1;

    if count <= MAX_PAGES {
        Ok(count)
    } else {
        Err(EINVAL)
    }
}

#[vtable]
impl MemoryRegion for Mr {
    type Driver = Pvrdma;

    fn get_dma(
        ctx: &Ctx<'_, Pvrdma>,
        pd: &rdma::Pd<Pvrdma>,
        init: &MrInit,
        access: AccessFlags,
    ) -> impl PinInit<Self, Error> {
        pin_init::pin_init_scope(move || {
            if !AccessFlags::LOCAL_WRITE.contains(access) {
                return Err(EOPNOTSUPP);
            }
            let memory = Memory {
                _directory: None,
                _umem: None,
            };
            let access = convert::access_to_wire(access)?;

            Ok(Self::new(ctx, pd, init, access, Region::Dma, memory, None))
        })
    }

    fn reg_user(
        ctx: &Ctx<'_, Pvrdma>,
        pd: &rdma::Pd<Pvrdma>,
        init: &MrInit,
        range: UserRange,
        iova: u64,
        access: AccessFlags,
        _udata: Option<&Udata<'_>>,
    ) -> impl PinInit<Self, Error> {
        pin_init::pin_init_scope(move || {
            // Before the pages are pinned, which takes long for what is too large.
            if range.len > ctx.adapter.caps().max_mr_size {
                return Err(EINVAL);
            }
            let count = pages_touched(&range)?;
            let access_bits = convert::access_to_wire(access)?;

            let umem = Umem::get(ctx, range, access)?;
            let directory = Arc::new(PageDir::new(ctx.adapter.dev(), count)?, GFP_KERNEL)?;
            directory.fill(0, umem.pages())?;

            let region = Region::User {
                // The device knows the region by the addresses that work requests use.
                start: iova,
                length: range.len,
                pages: (&*directory).into(),
            };
            let memory = Memory {
                _directory: Some(directory),
                _umem: Some(umem),
            };

            Ok(Self::new(ctx, pd, init, access_bits, region, memory, None))
        })
    }

    fn alloc(
        ctx: &Ctx<'_, Pvrdma>,
        pd: &rdma::Pd<Pvrdma>,
        init: &MrInit,
        ty: MrType,
        max_pages: u32,
    ) -> impl PinInit<Self, Error> {
        pin_init::pin_init_scope(move || {
            if ty != MrType::MemReg || !(1..=MAX_FAST_REG_PAGES).contains(&max_pages) {
                return Err(EINVAL);
            }
            let count = usize::try_from(max_pages)?;
            let directory = Arc::new(PageDir::new(ctx.adapter.dev(), count)?, GFP_KERNEL)?;

            let region = Region::FastReg { max_pages };
            let memory = Memory {
                _directory: Some(directory.clone()),
                _umem: None,
            };
            let list = PageList {
                directory,
                len: Atomic::new(0),
            };

            Ok(Self::new(ctx, pd, init, 0, region, memory, Some(list)))
        })
    }

    fn map_sg(
        _ctx: &Ctx<'_, Pvrdma>,
        this: &rdma::Mr<Pvrdma>,
        sg: SgList<'_, Pvrdma>,
    ) -> Result<usize> {
        let list = this.list.as_ref().ok_or(EINVAL)?;

        // The work request says that pages have this size.
        if sg.page_size() != PAGE {
            return Err(EINVAL);
        }

        let mut len = 0;
        let mapped = sg.map_pages(|address| {
            // The consumer takes this for the end of the room, as it does with every driver.
            list.directory.set(len, address).map_err(|_| ENOMEM)?;
            len += 1;
            Ok(())
        })?;

        list.len.store(len.try_into()?, Relaxed);
        Ok(mapped)
    }

    fn dereg(ctx: &Ctx<'_, Pvrdma>, this: &rdma::Mr<Pvrdma>) {
        this.memory
            .destroyed(ctx.adapter.dev(), ctx.adapter.tell(&Destroy(this.handle)));
    }
}

#[cfg(CONFIG_INFINIBAND_VMWARE_PVRDMA_RUST_KUNIT_TEST)]
#[kunit_tests(vmw_pvrdma_rust_mr)]
mod tests {
    use super::*;

    fn touched(addr: u64, len: u64) -> Option<usize> {
        pages_touched(&UserRange { addr, len }).ok()
    }

    #[test]
    fn counts_pages() {
        assert_eq!(touched(0x1000, 1), Some(1));
        assert_eq!(touched(0x1fff, 1), Some(1));
        assert_eq!(touched(0x1fff, 2), Some(2));
        assert_eq!(touched(0x1000, 0x1000), Some(1));
        assert_eq!(touched(0x1001, 0x1000), Some(2));
    }

    #[test]
    fn ends_at_one_directory() {
        const GIB: u64 = 1 << 30;

        assert_eq!(touched(0x1000, GIB), Some(MAX_PAGES));
        assert_eq!(touched(0x1000, GIB + 1), None);
        assert_eq!(touched(0x1001, GIB), None);
    }

    #[test]
    fn refuses_nonsense() {
        assert_eq!(touched(0x1000, 0), None);
        assert_eq!(touched(u64::MAX, 2), None);
        assert_eq!(touched(0, u64::MAX), None);
    }
}
