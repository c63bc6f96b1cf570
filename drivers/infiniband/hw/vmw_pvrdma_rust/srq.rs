// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! Shared receive queues, for user processes.

#![forbid(unsafe_code)]

use crate::{
    commands::{
        CreateSrq,
        Destroy,
        ModifySrq,
        QuerySrq, //
    },
    device::Pvrdma,
    handle::{
        self,
        Handle, //
    },
    lent::Lent,
    page_dir::PageDir,
    qp::geometry,
    quota::Share,
    user_queue,
    wire::{
        self,
        uapi,
        PAGE, //
    }, //
};
use kernel::{
    prelude::*,
    rdma::{
        self,
        AccessFlags,
        Ctx,
        SharedReceiveQueue,
        SrqAttr,
        SrqAttrMask,
        SrqInit,
        SrqType,
        Udata,
        Umem,
        UserRange, //
    },
    static_lock_class, //
};

/// Bit of the attribute mask on the wire: the limit.
const MASK_LIMIT: u32 = 1 << 1;

/// What the requests lie in.
struct Memory {
    _directory: PageDir,
    _umem: Umem,
}

/// A shared receive queue.
pub(crate) struct Srq {
    handle: Handle<handle::Srq>,
    memory: Lent<Memory>,
    _share: Share,
}

impl Srq {
    fn new(
        ctx: &Ctx<'_, Pvrdma>,
        init: &mut SrqInit<'_, Pvrdma>,
        udata: Option<&Udata<'_>>,
    ) -> Result<Self> {
        let adapter = &*ctx.adapter;
        let caps = adapter.caps();
        let attr = init.attr();

        // As in the C driver, there are none for kernel consumers.
        let udata = udata.ok_or(EOPNOTSUPP)?;
        if init.srq_type() != SrqType::Basic {
            return Err(EOPNOTSUPP);
        }
        if attr.max_wr > caps.max_srq_wr
            || attr.max_sge > caps.max_srq_sge
            || !attr.max_wr.is_power_of_two()
            || attr.limit > attr.max_wr
        {
            return Err(EINVAL);
        }

        let share = ctx.quotas.srq.take()?;
        let events = init.events(static_lock_class!())?;
        let request: uapi::CreateSrq = udata.read()?;
        let range = UserRange {
            addr: request.buf_addr,
            len: request.buf_size.into(),
        };
        let requests = geometry::recv(attr.max_wr, attr.max_sge)?.len();

        user_queue::check(&range, PAGE + requests)?;
        // The device writes the indexes in the header, so the process must be allowed to, too.
        let umem = Umem::get(ctx, range, AccessFlags::LOCAL_WRITE)?;
        let directory = PageDir::new(adapter.dev(), umem.num_pages())?;
        directory.fill(0, umem.pages())?;

        let pages = (&directory).into();
        let memory = Lent::new(Memory {
            _directory: directory,
            _umem: umem,
        });
        let table = adapter.srqs().change();
        let handle = memory.created(
            adapter.dev(),
            adapter.ask(&CreateSrq {
                pd: init.pd().handle(),
                attrs: to_wire(&attr),
                pages,
            }),
        )?;

        if let Err(error) = table.insert(handle, events) {
            dev_err!(adapter.dev(), "the device answers nonsense to CREATE_SRQ\n");
            memory.destroyed(adapter.dev(), adapter.tell(&Destroy(handle)));
            return Err(error);
        }
        Ok(Self {
            handle,
            memory,
            _share: share,
        })
    }

    /// Returns what the device calls it.
    pub(crate) fn handle(&self) -> Handle<handle::Srq> {
        self.handle
    }
}

impl rdma::Request for uapi::CreateSrq {}

/// Converts attributes.
fn to_wire(attr: &SrqAttr) -> wire::SrqAttr {
    wire::SrqAttr {
        max_wr: attr.max_wr,
        max_sge: attr.max_sge,
        srq_limit: attr.limit,
        reserved: 0,
    }
}

#[vtable]
impl SharedReceiveQueue for Srq {
    type Driver = Pvrdma;

    fn create(
        ctx: &Ctx<'_, Pvrdma>,
        init: &mut SrqInit<'_, Pvrdma>,
        udata: Option<&Udata<'_>>,
    ) -> impl PinInit<Self, Error> {
        Self::new(ctx, init, udata)
    }

    fn respond(_ctx: &Ctx<'_, Pvrdma>, this: &rdma::Srq<Pvrdma>, udata: &Udata<'_>) -> Result {
        udata.respond(&uapi::CreateSrqResp {
            srqn: this.handle.raw(),
            reserved: 0,
        })
    }

    fn modify(
        ctx: &Ctx<'_, Pvrdma>,
        this: &rdma::Srq<Pvrdma>,
        attr: &SrqAttr,
        mask: SrqAttrMask,
        _udata: Option<&Udata<'_>>,
    ) -> Result {
        // The device cannot resize a queue.
        if mask != SrqAttrMask::LIMIT {
            return Err(EINVAL);
        }
        ctx.adapter
            .tell(&ModifySrq {
                handle: this.handle,
                mask: MASK_LIMIT,
                attrs: to_wire(&SrqAttr {
                    limit: attr.limit,
                    ..SrqAttr::default()
                }),
            })
            .map_err(|error| match error.code() {
                // The device says so if the limit is above the size of the queue.
                EFAULT => EINVAL,
                code => code,
            })
    }

    fn query(ctx: &Ctx<'_, Pvrdma>, this: &rdma::Srq<Pvrdma>) -> Result<SrqAttr> {
        let attrs = ctx
            .adapter
            .ask(&QuerySrq {
                handle: this.handle,
            })
            .map_err(|error| error.code())?;

        Ok(SrqAttr {
            max_wr: attrs.max_wr,
            max_sge: attrs.max_sge,
            limit: attrs.srq_limit,
        })
    }

    fn destroy(ctx: &Ctx<'_, Pvrdma>, this: &rdma::Srq<Pvrdma>) {
        let adapter = &*ctx.adapter;
        let table = adapter.srqs().change();

        this.memory
            .destroyed(adapter.dev(), adapter.tell(&Destroy(this.handle)));
        table.remove(this.handle);
    }
}
