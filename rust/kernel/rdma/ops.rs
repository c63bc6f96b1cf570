// SPDX-License-Identifier: GPL-2.0

//! The tables of callbacks.
//!
//! Each callback turns C pointers into typed references and calls the driver. The rules it relies
//! on are those of [`struct ib_device_ops`](srctree/include/rdma/ib_verbs.h) and of
//! Documentation/infiniband/core_locking.rst: the core calls a callback between
//! `ib_register_device()` and the end of `ib_unregister_device()`, with valid objects of the device
//! that the table was set for.

use super::{
    ah::Ah,
    attr::{
        PortEvent,
        PortModify, //
    },
    counters,
    cq::{
        Cq,
        Notify, //
    },
    device::Device,
    flags::{
        AccessFlags,
        PortModifyMask,
        QpAttrMask,
        SrqAttrMask, //
    },
    gid::GidEntry,
    mmap::UserMmap,
    mr::{
        MemoryRegion,
        Mr,
        MrInit,
        SgList, //
    },
    pd::Pd,
    qp::{
        Qp,
        QueuePair, //
    },
    qp_attr::QpAttr,
    srq::{
        SharedReceiveQueue,
        Srq,
        SrqAttr, //
    },
    sysfs::Attributes,
    ucontext::{
        Ucontext,
        UserContext, //
    },
    udata::Udata,
    umem::UserRange,
    wc::WcSlots,
    wr::{
        RecvWrs,
        SendWrs, //
    },
    CompletionQueue,
    Driver, //
};
use crate::{
    bindings,
    error::{
        from_result,
        to_result, //
    },
    ffi::{
        c_char,
        c_int,
        c_uint,
        c_ulong,
        c_void, //
    },
    fmt::{
        self,
        Write, //
    },
    module::this_module,
    prelude::*, //
};
use core::marker::PhantomData;

/// The tables of callbacks of a driver.
pub(super) struct Ops<D: Driver>(PhantomData<D>);

impl<D: Driver> Ops<D> {
    /// The callbacks of every device.
    pub(super) const TABLE: bindings::ib_device_ops = bindings::ib_device_ops {
        owner: this_module::<D::OwnerModule>().as_ptr(),
        // CAST: The enumeration is `repr(u32)`.
        driver_id: D::ID as u32,
        uverbs_abi_ver: D::UVERBS_ABI,
        device_group: Attributes::<D>::GROUP,

        add_gid: Some(Self::add_gid),
        alloc_hw_port_stats: if D::HAS_READ_COUNTER {
            Some(Self::alloc_hw_port_stats)
        } else {
            None
        },
        alloc_mr: Some(Self::alloc_mr),
        alloc_pd: Some(Self::alloc_pd),
        alloc_ucontext: Some(Self::alloc_ucontext),
        create_ah: Some(Self::create_ah),
        create_cq: Some(Self::create_cq),
        create_qp: Some(Self::create_qp),
        dealloc_pd: Some(Self::dealloc_pd),
        dealloc_ucontext: Some(Self::dealloc_ucontext),
        del_gid: Some(Self::del_gid),
        dereg_mr: Some(Self::dereg_mr),
        destroy_ah: Some(Self::destroy_ah),
        destroy_cq: Some(Self::destroy_cq),
        destroy_qp: Some(Self::destroy_qp),
        disassociate_ucontext: Some(Self::disassociate_ucontext),
        get_dev_fw_str: Some(Self::get_dev_fw_str),
        get_dma_mr: Some(Self::get_dma_mr),
        get_hw_stats: if D::HAS_READ_COUNTER {
            Some(Self::get_hw_stats)
        } else {
            None
        },
        get_link_layer: Some(Self::get_link_layer),
        get_port_immutable: Some(Self::get_port_immutable),
        map_mr_sg: Some(Self::map_mr_sg),
        mmap: Some(Self::mmap),
        modify_port: if D::HAS_MODIFY_PORT {
            Some(Self::modify_port)
        } else {
            None
        },
        modify_qp: Some(Self::modify_qp),
        poll_cq: Some(Self::poll_cq),
        post_recv: Some(Self::post_recv),
        post_send: Some(Self::post_send),
        query_device: Some(Self::query_device),
        query_gid: Some(Self::query_gid),
        query_pkey: Some(Self::query_pkey),
        query_port: Some(Self::query_port),
        query_qp: Some(Self::query_qp),
        reg_user_mr: Some(Self::reg_user_mr),
        report_port_event: if D::HAS_PORT_EVENT {
            Some(Self::report_port_event)
        } else {
            None
        },
        req_notify_cq: Some(Self::req_notify_cq),

        size_ib_ah: Ah::<D>::SIZE,
        size_ib_cq: Cq::<D>::SIZE,
        size_ib_pd: Pd::<D>::SIZE,
        size_ib_qp: Qp::<D>::SIZE,
        size_ib_ucontext: Ucontext::<D>::SIZE,
        ..pin_init::zeroed()
    };

    /// The callbacks of a device with shared receive queues, next to those above.
    pub(super) const SRQ_TABLE: bindings::ib_device_ops = bindings::ib_device_ops {
        create_srq: Some(Self::create_srq),
        destroy_srq: Some(Self::destroy_srq),
        modify_srq: Some(Self::modify_srq),
        post_srq_recv: if D::Srq::HAS_POST_RECV {
            Some(Self::post_srq_recv)
        } else {
            None
        },
        query_srq: Some(Self::query_srq),
        size_ib_srq: Srq::<D>::SIZE,
        ..pin_init::zeroed()
    };
}

/// The callbacks about the device and its ports.
impl<D: Driver> Ops<D> {
    /// # Safety
    ///
    /// To be called by the core as `query_device`.
    unsafe extern "C" fn query_device(
        dev: *mut bindings::ib_device,
        attr: *mut bindings::ib_device_attr,
        udata: *mut bindings::ib_udata,
    ) -> c_int {
        from_result(|| {
            // SAFETY: The driver data are those of the call.
            if let Some(udata) = unsafe { Udata::from_raw(udata) } {
                udata.no_io()?;
            }
            // SAFETY: This is a callback of the device.
            let result = unsafe { Device::<D>::with(dev, D::query_device) }?;

            // SAFETY: The core passes a structure of its own that it has zeroed.
            result.write(unsafe { &mut *attr });
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// To be called by the core as `get_dev_fw_str`.
    unsafe extern "C" fn get_dev_fw_str(dev: *mut bindings::ib_device, out: *mut c_char) {
        let mut out = FirmwareVersion { out, len: 0 };

        // What did not fit or could not be formatted is left out.
        // SAFETY: This is a callback of the device.
        let _ = unsafe { Device::<D>::with(dev, |ctx| D::firmware_version(ctx, &mut out)) };
        out.finish();
    }

    /// # Safety
    ///
    /// To be called by the core as `query_port`.
    unsafe extern "C" fn query_port(
        dev: *mut bindings::ib_device,
        port: u32,
        attr: *mut bindings::ib_port_attr,
    ) -> c_int {
        from_result(|| {
            // SAFETY: This is a callback of the device.
            let result = unsafe { Device::<D>::with(dev, |ctx| D::query_port(ctx, port)) }?;

            // SAFETY: The core passes a structure of its own that it has zeroed.
            result.write(unsafe { &mut *attr })?;
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// To be called by the core as `modify_port`.
    unsafe extern "C" fn modify_port(
        dev: *mut bindings::ib_device,
        port: u32,
        mask: c_int,
        change: *mut bindings::ib_port_modify,
    ) -> c_int {
        from_result(|| {
            // SAFETY: The core passes a valid structure.
            let change = unsafe { &*change };
            let change = PortModify {
                // CAST: A flag word, which C keeps in a signed integer.
                mask: PortModifyMask::from_bits(mask as u32),
                set_caps: change.set_port_cap_mask,
                clear_caps: change.clr_port_cap_mask,
            };

            // SAFETY: This is a callback of the device.
            unsafe { Device::<D>::with(dev, |ctx| D::modify_port(ctx, port, &change)) }?;
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// To be called by the core as `get_port_immutable`.
    unsafe extern "C" fn get_port_immutable(
        dev: *mut bindings::ib_device,
        port: u32,
        immutable: *mut bindings::ib_port_immutable,
    ) -> c_int {
        from_result(|| {
            // SAFETY: This is a callback of the device.
            let result = unsafe { Device::<D>::with(dev, |ctx| D::port_immutable(ctx, port)) }?;
            let mut attr = pin_init::zeroed();

            // SAFETY: The port is the one that the core asks about. The function checks it and ends
            // up in `query_port`.
            to_result(unsafe { bindings::ib_query_port(dev, port, &mut attr) })?;

            // SAFETY: The core passes a structure of its own.
            let immutable = unsafe { &mut *immutable };
            immutable.core_cap_flags = result.caps.bits();
            immutable.max_mad_size = result.max_mad_size;
            immutable.pkey_tbl_len = attr.pkey_tbl_len.into();
            immutable.gid_tbl_len = attr.gid_tbl_len;
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// To be called by the core as `get_link_layer`.
    unsafe extern "C" fn get_link_layer(
        _dev: *mut bindings::ib_device,
        _port: u32,
    ) -> bindings::rdma_link_layer {
        bindings::rdma_link_layer(D::LINK_LAYER.into())
    }

    /// # Safety
    ///
    /// To be called by the core as `query_pkey`.
    unsafe extern "C" fn query_pkey(
        dev: *mut bindings::ib_device,
        port: u32,
        index: u16,
        pkey: *mut u16,
    ) -> c_int {
        from_result(|| {
            // SAFETY: This is a callback of the device.
            let result = unsafe { Device::<D>::with(dev, |ctx| D::query_pkey(ctx, port, index)) }?;

            // SAFETY: The core passes a variable of its own.
            unsafe { *pkey = result };
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// To be called by the core as `query_gid`.
    unsafe extern "C" fn query_gid(
        dev: *mut bindings::ib_device,
        port: u32,
        index: c_int,
        gid: *mut bindings::ib_gid,
    ) -> c_int {
        from_result(|| {
            let index = index.try_into()?;
            // SAFETY: This is a callback of the device.
            let result = unsafe { Device::<D>::with(dev, |ctx| D::query_gid(ctx, port, index)) }?;

            // SAFETY: The core passes a variable of its own.
            unsafe { (*gid).raw = result.0 };
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// To be called by the core as `alloc_hw_port_stats`.
    unsafe extern "C" fn alloc_hw_port_stats(
        _dev: *mut bindings::ib_device,
        _port: u32,
    ) -> *mut bindings::rdma_hw_stats {
        counters::alloc::<D>()
    }

    /// # Safety
    ///
    /// To be called by the core as `get_hw_stats`.
    unsafe extern "C" fn get_hw_stats(
        dev: *mut bindings::ib_device,
        stats: *mut bindings::rdma_hw_stats,
        port: u32,
        _index: c_int,
    ) -> c_int {
        from_result(|| {
            // SAFETY: This is a callback of the device. The structure is the one that was allocated
            // by `alloc_hw_port_stats`. The callers in drivers/infiniband/core/{sysfs,nldev}.c hold
            // its lock, except for setup_hw_port_stats(), before anybody else knows it.
            unsafe { Device::<D>::with(dev, |ctx| counters::read(ctx, port, stats)) }
        })
    }

    /// # Safety
    ///
    /// To be called by the core as `add_gid`.
    unsafe extern "C" fn add_gid(
        attr: *const bindings::ib_gid_attr,
        _context: *mut *mut c_void,
    ) -> c_int {
        from_result(|| {
            // SAFETY: The core passes a valid entry.
            let entry = unsafe { GidEntry::new(attr) };

            // SAFETY: This is a callback of the device.
            unsafe { Device::<D>::with((*attr).device, |ctx| D::add_gid(ctx, &entry)) }?;
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// To be called by the core as `del_gid`.
    unsafe extern "C" fn del_gid(
        attr: *const bindings::ib_gid_attr,
        _context: *mut *mut c_void,
    ) -> c_int {
        from_result(|| {
            // SAFETY: The core passes a valid entry.
            let entry = unsafe { GidEntry::new(attr) };

            // SAFETY: This is a callback of the device.
            unsafe { Device::<D>::with((*attr).device, |ctx| D::del_gid(ctx, &entry)) }?;
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// To be called by the core as `report_port_event`.
    unsafe extern "C" fn report_port_event(
        dev: *mut bindings::ib_device,
        netdev: *mut bindings::net_device,
        event: c_ulong,
    ) {
        // CAST: The events are small numbers.
        let event = match event as u32 {
            bindings::netdev_cmd_NETDEV_UP => PortEvent::Up,
            bindings::netdev_cmd_NETDEV_DOWN => PortEvent::Down,
            _ => return,
        };
        let mut port = 0;

        // SAFETY: The core passes its device and a net device that is associated with it.
        if unsafe { bindings::ib_query_netdev_port(dev, netdev, &mut port) } != 0 {
            return;
        }
        // SAFETY: This is a callback of the device.
        unsafe { Device::<D>::with(dev, |ctx| D::port_event(ctx, port, event)) };
    }
}

/// The callbacks about user contexts, protection domains and address handles.
impl<D: Driver> Ops<D> {
    /// # Safety
    ///
    /// To be called by the core as `alloc_ucontext`.
    unsafe extern "C" fn alloc_ucontext(
        context: *mut bindings::ib_ucontext,
        udata: *mut bindings::ib_udata,
    ) -> c_int {
        from_result(|| {
            // SAFETY: This is the callback, and the core has set the device.
            unsafe {
                Ucontext::<D>::with_device(context, |ctx| Ucontext::create(ctx, context, udata))
            }?;
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// To be called by the core as `dealloc_ucontext`.
    unsafe extern "C" fn dealloc_ucontext(context: *mut bindings::ib_ucontext) {
        // SAFETY: This is a callback of the device; nobody uses the context any more.
        unsafe { Ucontext::<D>::with_device(context, |ctx| Ucontext::destroy(ctx, context)) };
    }

    /// Allows the device to go away while processes have it open.
    ///
    /// The core replaces the mappings made by `rdma_user_mmap_io()` and destroys the objects.
    ///
    /// # Safety
    ///
    /// To be called by the core as `disassociate_ucontext`.
    unsafe extern "C" fn disassociate_ucontext(_context: *mut bindings::ib_ucontext) {}

    /// # Safety
    ///
    /// To be called by the core as `mmap`.
    unsafe extern "C" fn mmap(
        context: *mut bindings::ib_ucontext,
        vma: *mut bindings::vm_area_struct,
    ) -> c_int {
        from_result(|| {
            // SAFETY: These are the arguments of the callback.
            let area = unsafe { UserMmap::new(context, vma) };

            // SAFETY: This is a callback of the device, and the context is valid.
            unsafe {
                Ucontext::<D>::with(context, |ctx, this| D::Ucontext::mmap(ctx, this, area))
            }?;
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// To be called by the core as `alloc_pd`.
    unsafe extern "C" fn alloc_pd(
        pd: *mut bindings::ib_pd,
        udata: *mut bindings::ib_udata,
    ) -> c_int {
        from_result(|| {
            // SAFETY: This is the callback, and the core has set the device.
            unsafe { Pd::<D>::with_device(pd, |ctx| Pd::create(ctx, pd, udata)) }?;
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// To be called by the core as `dealloc_pd`.
    unsafe extern "C" fn dealloc_pd(
        pd: *mut bindings::ib_pd,
        _udata: *mut bindings::ib_udata,
    ) -> c_int {
        // SAFETY: This is a callback of the device; nobody uses the protection domain any more.
        unsafe { Pd::<D>::with_device(pd, |ctx| Pd::destroy(ctx, pd)) };
        0
    }

    /// # Safety
    ///
    /// To be called by the core as `create_ah`.
    unsafe extern "C" fn create_ah(
        ah: *mut bindings::ib_ah,
        attr: *mut bindings::rdma_ah_init_attr,
        _udata: *mut bindings::ib_udata,
    ) -> c_int {
        from_result(|| {
            // SAFETY: This is the callback, and the core has set the device.
            unsafe { Ah::<D>::with_device(ah, |ctx| Ah::create(ctx, ah, attr)) }?;
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// To be called by the core as `destroy_ah`.
    unsafe extern "C" fn destroy_ah(ah: *mut bindings::ib_ah, flags: u32) -> c_int {
        // SAFETY: This is a callback of the device; nobody uses the address handle any more.
        unsafe { Ah::<D>::with_device(ah, |ctx| Ah::destroy(ctx, ah, flags)) };
        0
    }
}

/// The callbacks about completion queues.
impl<D: Driver> Ops<D> {
    /// # Safety
    ///
    /// To be called by the core as `create_cq`.
    unsafe extern "C" fn create_cq(
        cq: *mut bindings::ib_cq,
        attr: *const bindings::ib_cq_init_attr,
        bundle: *mut bindings::uverbs_attr_bundle,
    ) -> c_int {
        from_result(|| {
            // SAFETY: This is the callback, and the core has set the device.
            unsafe { Cq::<D>::with_device(cq, |ctx| Cq::create(ctx, cq, attr, bundle)) }?;
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// To be called by the core as `destroy_cq`.
    unsafe extern "C" fn destroy_cq(
        cq: *mut bindings::ib_cq,
        _udata: *mut bindings::ib_udata,
    ) -> c_int {
        // SAFETY: This is a callback of the device; nobody uses the queue any more.
        unsafe { Cq::<D>::with_device(cq, |ctx| Cq::destroy(ctx, cq)) };
        0
    }

    /// # Safety
    ///
    /// To be called by the core as `poll_cq`.
    unsafe extern "C" fn poll_cq(
        cq: *mut bindings::ib_cq,
        num: c_int,
        wc: *mut bindings::ib_wc,
    ) -> c_int {
        from_result(|| {
            // SAFETY: The consumer passes room for as many entries.
            let mut out = unsafe { WcSlots::new(wc, num.try_into()?) };
            // SAFETY: This is a callback of the device, and the queue is valid.
            let result = unsafe { Cq::<D>::with(cq, |ctx, cq| D::Cq::poll(ctx, cq, &mut out)) };

            if out.used() == 0 {
                result?;
            }
            Ok(out.used().try_into()?)
        })
    }

    /// # Safety
    ///
    /// To be called by the core as `req_notify_cq`.
    unsafe extern "C" fn req_notify_cq(
        cq: *mut bindings::ib_cq,
        flags: bindings::ib_cq_notify_flags,
    ) -> c_int {
        use bindings::ib_cq_notify_flags as Flags;

        from_result(|| {
            let notify = Notify {
                solicited_only: flags.0 & Flags::IB_CQ_SOLICITED_MASK.0 == Flags::IB_CQ_SOLICITED.0,
                report_missed: flags.0 & Flags::IB_CQ_REPORT_MISSED_EVENTS.0 != 0,
            };
            let missed =
                // SAFETY: This is a callback of the device, and the queue is valid.
                unsafe { Cq::<D>::with(cq, |ctx, cq| D::Cq::request_notify(ctx, cq, notify)) }?;

            Ok((notify.report_missed && missed).into())
        })
    }
}

/// The callbacks about queue pairs.
impl<D: Driver> Ops<D> {
    /// # Safety
    ///
    /// To be called by the core as `create_qp`.
    unsafe extern "C" fn create_qp(
        qp: *mut bindings::ib_qp,
        attr: *mut bindings::ib_qp_init_attr,
        udata: *mut bindings::ib_udata,
    ) -> c_int {
        from_result(|| {
            // SAFETY: This is the callback, and the core has set the device.
            unsafe { Qp::<D>::with_device(qp, |ctx| Qp::create(ctx, qp, attr, udata)) }?;
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// To be called by the core as `destroy_qp`.
    unsafe extern "C" fn destroy_qp(
        qp: *mut bindings::ib_qp,
        _udata: *mut bindings::ib_udata,
    ) -> c_int {
        // SAFETY: This is a callback of the device; nobody uses the queue pair any more.
        unsafe { Qp::<D>::with_device(qp, |ctx| Qp::destroy(ctx, qp)) };
        0
    }

    /// # Safety
    ///
    /// To be called by the core as `modify_qp`.
    unsafe extern "C" fn modify_qp(
        qp: *mut bindings::ib_qp,
        attr: *mut bindings::ib_qp_attr,
        mask: c_int,
        udata: *mut bindings::ib_udata,
    ) -> c_int {
        from_result(|| {
            // CAST: A flag word, which C keeps in a signed integer.
            let mask = QpAttrMask::from_bits(mask as u32);
            // SAFETY: The core passes a valid structure.
            let attr = QpAttr::read(unsafe { &*attr }, mask)?;
            // SAFETY: The driver data are those of the call.
            let udata = unsafe { Udata::from_raw(udata) };

            // SAFETY: This is a callback of the device, and the queue pair is valid.
            unsafe {
                Qp::<D>::with(qp, |ctx, qp| {
                    D::Qp::modify(ctx, qp, &attr, mask, udata.as_ref())
                })
            }?;
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// To be called by the core as `query_qp`.
    unsafe extern "C" fn query_qp(
        qp: *mut bindings::ib_qp,
        attr: *mut bindings::ib_qp_attr,
        mask: c_int,
        init_attr: *mut bindings::ib_qp_init_attr,
    ) -> c_int {
        from_result(|| {
            // CAST: A flag word, which C keeps in a signed integer.
            let mask = QpAttrMask::from_bits(mask as u32);
            let (result, init_result) =
                // SAFETY: This is a callback of the device, and the queue pair is valid.
                unsafe { Qp::<D>::with(qp, |ctx, qp| D::Qp::query(ctx, qp, mask)) }?;

            // ib_uverbs_query_qp() in drivers/infiniband/core/uverbs_cmd.c does not clear the two
            // structures, and copies nearly all of them to user space.
            // SAFETY: The core passes structures of its own.
            unsafe { attr.write(pin_init::zeroed()) };
            // SAFETY: As above.
            unsafe { init_attr.write(pin_init::zeroed()) };

            // SAFETY: As above; it was initialised.
            result.write(unsafe { &mut *attr });
            // SAFETY: As above; the queue pair is valid.
            unsafe { init_result.write(&mut *init_attr, qp) };
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// To be called by the core as `post_send`.
    unsafe extern "C" fn post_send(
        qp: *mut bindings::ib_qp,
        first: *const bindings::ib_send_wr,
        bad: *mut *const bindings::ib_send_wr,
    ) -> c_int {
        from_result(|| {
            // SAFETY: ib_post_send() in include/rdma/ib_verbs.h never passes null.
            unsafe { *bad = first };

            // SAFETY: The queue pair is valid; only types that `QpType` knows are created.
            let ty = unsafe { (*qp).qp_type }.try_into()?;
            // SAFETY: The consumer passes a valid list, made for the type of the queue pair.
            let mut list = unsafe { SendWrs::new(first, ty) };
            // SAFETY: This is a callback of the device, and the queue pair is valid.
            let result =
                unsafe { Qp::<D>::with(qp, |ctx, qp| D::Qp::post_send(ctx, qp, &mut list)) };

            if result.is_err() {
                // SAFETY: As above.
                unsafe { *bad = list.current() };
            }
            result?;
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// To be called by the core as `post_recv`.
    unsafe extern "C" fn post_recv(
        qp: *mut bindings::ib_qp,
        first: *const bindings::ib_recv_wr,
        bad: *mut *const bindings::ib_recv_wr,
    ) -> c_int {
        from_result(|| {
            // SAFETY: The consumer passes a valid list.
            let mut list = unsafe { RecvWrs::new(first) };
            // SAFETY: This is a callback of the device, and the queue pair is valid.
            let result =
                unsafe { Qp::<D>::with(qp, |ctx, qp| D::Qp::post_recv(ctx, qp, &mut list)) };

            if result.is_err() {
                // SAFETY: ib_post_recv() in include/rdma/ib_verbs.h never passes null.
                unsafe { *bad = list.current() };
            }
            result?;
            Ok(0)
        })
    }
}

/// The callbacks about shared receive queues.
impl<D: Driver> Ops<D> {
    /// # Safety
    ///
    /// To be called by the core as `create_srq`.
    unsafe extern "C" fn create_srq(
        srq: *mut bindings::ib_srq,
        attr: *mut bindings::ib_srq_init_attr,
        udata: *mut bindings::ib_udata,
    ) -> c_int {
        from_result(|| {
            // SAFETY: This is the callback, and the core has set the device.
            unsafe { Srq::<D>::with_device(srq, |ctx| Srq::create(ctx, srq, attr, udata)) }?;
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// To be called by the core as `destroy_srq`.
    unsafe extern "C" fn destroy_srq(
        srq: *mut bindings::ib_srq,
        _udata: *mut bindings::ib_udata,
    ) -> c_int {
        // SAFETY: This is a callback of the device; nobody uses the queue any more.
        unsafe { Srq::<D>::with_device(srq, |ctx| Srq::destroy(ctx, srq)) };
        0
    }

    /// # Safety
    ///
    /// To be called by the core as `modify_srq`.
    unsafe extern "C" fn modify_srq(
        srq: *mut bindings::ib_srq,
        attr: *mut bindings::ib_srq_attr,
        mask: bindings::ib_srq_attr_mask,
        udata: *mut bindings::ib_udata,
    ) -> c_int {
        from_result(|| {
            let mask = SrqAttrMask::from_bits(mask.0);
            // SAFETY: The core passes a valid structure.
            let attr = SrqAttr::read(unsafe { &*attr });
            // SAFETY: The driver data are those of the call.
            let udata = unsafe { Udata::from_raw(udata) };

            // SAFETY: This is a callback of the device, and the queue is valid.
            unsafe {
                Srq::<D>::with(srq, |ctx, srq| {
                    D::Srq::modify(ctx, srq, &attr, mask, udata.as_ref())
                })
            }?;
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// To be called by the core as `query_srq`.
    unsafe extern "C" fn query_srq(
        srq: *mut bindings::ib_srq,
        attr: *mut bindings::ib_srq_attr,
    ) -> c_int {
        from_result(|| {
            // SAFETY: This is a callback of the device, and the queue is valid.
            let result = unsafe { Srq::<D>::with(srq, D::Srq::query) }?;

            // SAFETY: The core passes a structure of its own, all of which is written.
            result.write(unsafe { &mut *attr });
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// To be called by the core as `post_srq_recv`.
    unsafe extern "C" fn post_srq_recv(
        srq: *mut bindings::ib_srq,
        first: *const bindings::ib_recv_wr,
        bad: *mut *const bindings::ib_recv_wr,
    ) -> c_int {
        from_result(|| {
            // SAFETY: The consumer passes a valid list.
            let mut list = unsafe { RecvWrs::new(first) };
            // SAFETY: This is a callback of the device, and the queue is valid.
            let result =
                unsafe { Srq::<D>::with(srq, |ctx, srq| D::Srq::post_recv(ctx, srq, &mut list)) };

            if result.is_err() {
                // SAFETY: ib_post_srq_recv() in include/rdma/ib_verbs.h never passes null.
                unsafe { *bad = list.current() };
            }
            result?;
            Ok(0)
        })
    }
}

/// The callbacks about memory regions.
impl<D: Driver> Ops<D> {
    /// Returns the region or the error as C expects it.
    fn mr_or_err(result: Result<*mut bindings::ib_mr>) -> *mut bindings::ib_mr {
        result.unwrap_or_else(|e| e.to_ptr())
    }

    /// # Safety
    ///
    /// To be called by the core as `get_dma_mr`.
    unsafe extern "C" fn get_dma_mr(
        pd: *mut bindings::ib_pd,
        access: c_int,
    ) -> *mut bindings::ib_mr {
        // CAST: A flag word, which C keeps in a signed integer.
        let access = AccessFlags::from_bits(access as u32);
        let init = MrInit::new();

        // SAFETY: This is a callback of the device, and the protection domain is valid.
        Self::mr_or_err(unsafe {
            Pd::<D>::with(pd, |ctx, pd| {
                Mr::allocate(pd, &init, || D::Mr::get_dma(ctx, pd, &init, access))
            })
        })
    }

    /// # Safety
    ///
    /// To be called by the core as `reg_user_mr`.
    unsafe extern "C" fn reg_user_mr(
        pd: *mut bindings::ib_pd,
        start: u64,
        length: u64,
        iova: u64,
        access: c_int,
        dmah: *mut bindings::ib_dmah,
        udata: *mut bindings::ib_udata,
    ) -> *mut bindings::ib_mr {
        // CAST: A flag word, which C keeps in a signed integer.
        let access = AccessFlags::from_bits(access as u32);
        let range = UserRange {
            addr: start,
            len: length,
        };
        let init = MrInit::new();

        if !dmah.is_null() {
            return EOPNOTSUPP.to_ptr();
        }
        // SAFETY: The driver data are those of the call.
        let udata = unsafe { Udata::from_raw(udata) };

        // SAFETY: This is a callback of the device, and the protection domain is valid.
        Self::mr_or_err(unsafe {
            Pd::<D>::with(pd, |ctx, pd| {
                Mr::allocate(pd, &init, || {
                    D::Mr::reg_user(ctx, pd, &init, range, iova, access, udata.as_ref())
                })
            })
        })
    }

    /// # Safety
    ///
    /// To be called by the core as `alloc_mr`.
    unsafe extern "C" fn alloc_mr(
        pd: *mut bindings::ib_pd,
        ty: bindings::ib_mr_type,
        max_pages: u32,
    ) -> *mut bindings::ib_mr {
        let Ok(ty) = ty.0.try_into() else {
            return EOPNOTSUPP.to_ptr();
        };
        let init = MrInit::new();

        // SAFETY: This is a callback of the device, and the protection domain is valid.
        Self::mr_or_err(unsafe {
            Pd::<D>::with(pd, |ctx, pd| {
                Mr::allocate(pd, &init, || D::Mr::alloc(ctx, pd, &init, ty, max_pages))
            })
        })
    }

    /// # Safety
    ///
    /// To be called by the core as `map_mr_sg`.
    unsafe extern "C" fn map_mr_sg(
        mr: *mut bindings::ib_mr,
        sg: *mut bindings::scatterlist,
        nents: c_int,
        offset: *mut c_uint,
    ) -> c_int {
        from_result(|| {
            // SAFETY: This is a callback of the device, with its arguments.
            let mapped = unsafe {
                Mr::<D>::with(mr, |ctx, mr| {
                    D::Mr::map_sg(ctx, mr, SgList::new(mr, sg, nents, offset))
                })
            }?;

            Ok(mapped.try_into()?)
        })
    }

    /// # Safety
    ///
    /// To be called by the core as `dereg_mr`.
    unsafe extern "C" fn dereg_mr(
        mr: *mut bindings::ib_mr,
        _udata: *mut bindings::ib_udata,
    ) -> c_int {
        // SAFETY: This is a callback of the device; nobody uses the region any more.
        unsafe { Mr::<D>::with_device(mr, |ctx| Mr::destroy(ctx, mr)) };
        0
    }
}

/// Room for a firmware version, `IB_FW_VERSION_NAME_MAX` bytes with the final zero.
struct FirmwareVersion {
    out: *mut c_char,
    len: usize,
}

impl FirmwareVersion {
    /// Longest version without the final zero.
    const MAX: usize = bindings::ETHTOOL_FWVERS_LEN as usize - 1;

    /// Writes the final zero.
    #[inline]
    fn finish(self) {
        // SAFETY: The core passes room for `MAX + 1` bytes, and `len` is at most `MAX`.
        unsafe { *self.out.add(self.len) = 0 };
    }
}

impl Write for FirmwareVersion {
    #[inline]
    fn write_str(&mut self, s: &str) -> fmt::Result {
        for &byte in s.as_bytes() {
            if self.len == Self::MAX {
                return Err(fmt::Error);
            }
            // SAFETY: As for `finish`.
            unsafe { *self.out.add(self.len) = byte };
            self.len += 1;
        }
        Ok(())
    }
}
