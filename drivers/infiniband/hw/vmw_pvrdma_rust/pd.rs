// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! Protection domains.

#![forbid(unsafe_code)]

use crate::{
    commands::{
        CreatePd,
        Destroy, //
    },
    device::Pvrdma,
    handle::{
        self,
        Handle, //
    },
    quota::Share,
    wire::uapi::AllocPdResp, //
};
use kernel::{
    prelude::*,
    rdma::{
        self,
        Ctx,
        ProtectionDomain,
        Ucontext,
        Udata, //
    }, //
};

/// A protection domain.
pub(crate) struct Pd {
    handle: Handle<handle::Pd>,
    _share: Share,
}

impl Pd {
    fn new(ctx: &Ctx<'_, Pvrdma>, ucontext: Option<&Ucontext<Pvrdma>>) -> Result<Self> {
        let share = ctx.quotas.pd.take()?;
        let handle = ctx.adapter.ask(&CreatePd {
            context: ucontext.map(|ucontext| ucontext.handle()),
        });

        Ok(Self {
            handle: handle.map_err(|error| error.code())?,
            _share: share,
        })
    }

    /// Returns what the device calls it.
    pub(crate) fn handle(&self) -> Handle<handle::Pd> {
        self.handle
    }
}

#[vtable]
impl ProtectionDomain for Pd {
    type Driver = Pvrdma;

    fn create(
        ctx: &Ctx<'_, Pvrdma>,
        ucontext: Option<&Ucontext<Pvrdma>>,
        _udata: Option<&Udata<'_>>,
    ) -> impl PinInit<Self, Error> {
        Self::new(ctx, ucontext)
    }

    fn respond(_ctx: &Ctx<'_, Pvrdma>, this: &rdma::Pd<Pvrdma>, udata: &Udata<'_>) -> Result {
        udata.respond(&AllocPdResp {
            pdn: this.handle.raw(),
            reserved: 0,
        })
    }

    fn destroy(ctx: &Ctx<'_, Pvrdma>, this: &rdma::Pd<Pvrdma>) {
        // The channel has logged a failure. There is no memory of the driver in it.
        let _ = ctx.adapter.tell(&Destroy(this.handle));
    }
}
