// SPDX-License-Identifier: GPL-2.0

//! RDMA device drivers.
//!
//! A driver implements [`Driver`] and one trait an object, for example [`QueuePair`]. It allocates
//! an [`UnregisteredDevice`] and turns it into a [`Registration`], which lives in the private data
//! of the bus device. From then on consumers, in the kernel and in user space, call the methods of
//! the traits. Each of them gets a [`Ctx`] that gives access to the registration data.
//!
//! The core allocates most objects: the driver's part is initialised in place, behind the C
//! structure. Its type, for example `Qp<D>`, dereferences to that part.
//!
//! Everything in here is generic, inline, constant or a type, so that nothing of it is compiled
//! into the `kernel` crate, which is built in, while `ib_core` may be a module. Keep it that way:
//! no statics, no lock classes.
//!
//! C header: [`include/rdma/ib_verbs.h`](srctree/include/rdma/ib_verbs.h)
//!
//! Guide: [`Documentation/rust/rdma.rst`](srctree/Documentation/rust/rdma.rst)

use core::alloc::Layout;

#[macro_use]
mod object;

mod ah;
mod attr;
mod counters;
mod cq;
mod device;
mod driver;
mod enums;
mod events;
mod flags;
mod gid;
mod mmap;
mod mr;
mod netdev;
mod ops;
mod pd;
mod qp;
mod qp_attr;
mod srq;
mod sysfs;
mod ucontext;
mod udata;
mod umem;
mod wc;
mod wr;

pub use self::{
    ah::{
        AddressHandle,
        Ah,
        AhAttr,
        GlobalRoute, //
    },
    attr::{
        DeviceAttr,
        PortAttr,
        PortEvent,
        PortImmutable,
        PortModify, //
    },
    counters::CounterName,
    cq::{
        CompletionQueue,
        Cq,
        CqInit,
        Notify, //
    },
    device::{
        Ctx,
        Device,
        DeviceEvent,
        RegisterOptions,
        Registration,
        UnregisteredDevice, //
    },
    driver::{
        Driver,
        Identity, //
    },
    enums::*,
    events::{
        CqEvent,
        CqEvents,
        EventSink,
        QpEvent,
        QpEvents,
        SrqEvent,
        SrqEvents, //
    },
    flags::*,
    gid::{
        Gid,
        GidEntry,
        Guid, //
    },
    mmap::UserMmap,
    mr::{
        MemoryRegion,
        Mr,
        MrInit,
        SgList, //
    },
    netdev::NetDevice,
    pd::{
        Pd,
        ProtectionDomain, //
    },
    qp::{
        modify_qp_is_ok,
        Qp,
        QpInit,
        QueuePair, //
    },
    qp_attr::{
        AltPath,
        QpAttr,
        QpCap,
        QpInitAttr, //
    },
    srq::{
        SharedReceiveQueue,
        Srq,
        SrqAttr,
        SrqInit, //
    },
    ucontext::{
        Ucontext,
        UserContext, //
    },
    udata::{
        Request,
        Udata, //
    },
    umem::{
        Umem,
        UmemPages,
        UserRange, //
    },
    wc::{
        Wc,
        WcData,
        WcSlots, //
    },
    wr::{
        RecvWr,
        RecvWrs,
        Remote,
        SendOp,
        SendWr,
        SendWrs,
        Sge, //
    },
};

/// Returns a size for `kmalloc()` that makes it return memory aligned for `T`.
const fn kmalloc_size<T>() -> usize {
    Layout::new::<T>().pad_to_align().size()
}
