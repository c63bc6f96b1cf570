// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! Contexts of user processes, and the doorbell page that each of them owns.

#![forbid(unsafe_code)]

use crate::{
    adapter::{
        bar,
        Adapter, //
    },
    cmd::CmdError,
    commands::{
        CreateUc,
        Destroy, //
    },
    device::Pvrdma,
    handle::{
        self,
        Handle, //
    },
    uar::UarPage,
    wire::uapi::AllocUcontextResp, //
};
use kernel::{
    page::PAGE_SIZE,
    prelude::*,
    rdma::{
        self,
        Ctx,
        Udata,
        UserContext,
        UserMmap, //
    }, //
};

/// The context of a user process.
pub(crate) struct Ucontext {
    handle: Handle<handle::Uc>,
    uar: UarPage,
}

impl Ucontext {
    fn new(adapter: &Adapter<'_>) -> Result<Self> {
        let uar = adapter.uars().alloc()?;

        match adapter.ask(&CreateUc { pfn: uar.pfn() }) {
            Ok(handle) => Ok(Self { handle, uar }),
            Err(error) => {
                // After an unknown outcome the device may listen to the page for this context, so
                // nobody else may get it.
                if let CmdError::Refused(_) = error {
                    adapter.uars().free(&uar);
                }
                Err(error.code())
            }
        }
    }

    /// Returns what the device calls it.
    pub(crate) fn handle(&self) -> Handle<handle::Uc> {
        self.handle
    }
}

#[vtable]
impl UserContext for Ucontext {
    type Driver = Pvrdma;

    fn create(ctx: &Ctx<'_, Pvrdma>, _udata: Option<&Udata<'_>>) -> impl PinInit<Self, Error> {
        Self::new(&ctx.adapter)
    }

    fn respond(ctx: &Ctx<'_, Pvrdma>, _this: &rdma::Ucontext<Pvrdma>, udata: &Udata<'_>) -> Result {
        udata.respond(&AllocUcontextResp {
            qp_tab_size: ctx.adapter.caps().max_qp,
            reserved: 0,
        })
    }

    fn mmap(ctx: &Ctx<'_, Pvrdma>, this: &rdma::Ucontext<Pvrdma>, area: UserMmap<'_>) -> Result {
        if area.page_offset() != 0 || area.len() != PAGE_SIZE {
            return Err(EINVAL);
        }
        area.map_bar(ctx.adapter.pdev(), bar::UAR, this.uar.index())
    }

    fn destroy(ctx: &Ctx<'_, Pvrdma>, this: &rdma::Ucontext<Pvrdma>) {
        // A page that the device refuses to give up stays with it.
        if ctx.adapter.tell(&Destroy(this.handle)).is_ok() {
            ctx.adapter.uars().free(&this.uar);
        }
    }
}
