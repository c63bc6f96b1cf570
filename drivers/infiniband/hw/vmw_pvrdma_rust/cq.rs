// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! Completion queues.

#![forbid(unsafe_code)]

mod ring;

use self::ring::CqRing;
use crate::{
    commands::{
        CreateCq,
        Destroy, //
    },
    convert,
    device::Pvrdma,
    handle::{
        self,
        Handle, //
    },
    lent::Lent,
    page_dir::PageDir,
    quota::Share,
    ring::Slots,
    wire::{
        uapi,
        wc_flag,
        Cqe,
        PAGE, //
    }, //
};
use kernel::{
    new_spinlock_irq,
    prelude::*,
    rdma::{
        self,
        AccessFlags,
        CompletionQueue,
        CqInit,
        Ctx,
        Notify,
        QpEvents,
        Udata,
        Umem,
        UserRange,
        Wc,
        WcData,
        WcSlots, //
    },
    static_lock_class,
    sync::{
        Arc,
        SpinLockIrq, //
    }, //
};

/// Pages in front of the entries: the ring indexes.
const HEADER_PAGES: usize = 1;

/// What the entries of a queue lie in.
struct Memory {
    directory: Arc<PageDir>,
    _umem: Option<Umem>,
}

/// A completion queue.
#[pin_data]
pub(crate) struct Cq {
    handle: Handle<handle::Cq>,
    /// None if the queue belongs to a user process, which polls it by itself.
    #[pin]
    ring: SpinLockIrq<Option<CqRing>>,
    memory: Lent<Memory>,
    _share: Share,
}

impl Cq {
    /// Returns what the device calls it.
    pub(crate) fn handle(&self) -> Handle<handle::Cq> {
        self.handle
    }

    /// Removes the completions of the queue pair `qp`; those of others stay, in their order.
    ///
    /// May be called in any context.
    pub(crate) fn purge(&self, ctx: &Ctx<'_, Pvrdma>, qp: Handle<handle::Qp>) {
        if let Some(ring) = &*self.ring.lock() {
            if ring.purge(qp).is_err() {
                dev_err!(
                    ctx.adapter.dev(),
                    "completion queue {} is broken\n",
                    self.handle
                );
            }
        }
    }
}

impl rdma::Request for uapi::CreateCq {}

/// Returns the length of a queue of `entries` entries in bytes, the header included.
fn queue_len(entries: u32) -> Result<usize> {
    usize::try_from(entries)?
        .checked_mul(size_of::<Cqe>())
        .and_then(|len| len.checked_add(HEADER_PAGES * PAGE))
        .ok_or(EINVAL)
}

/// Takes the memory of a queue of `entries` entries from the calling process.
///
/// # Errors
///
/// [`EINVAL`] if it does not begin with a page or is too small, or if it cannot be pinned.
fn user_memory(ctx: &Ctx<'_, Pvrdma>, udata: &Udata<'_>, entries: u32) -> Result<Memory> {
    let request: uapi::CreateCq = udata.read()?;
    let range = UserRange {
        addr: request.buf_addr,
        len: request.buf_size.into(),
    };

    crate::user_queue::check(&range, queue_len(entries)?)?;
    let umem = Umem::get(ctx, range, AccessFlags::LOCAL_WRITE)?;
    let directory = PageDir::new(ctx.adapter.dev(), umem.num_pages())?;

    directory.fill(0, umem.pages())?;
    Ok(Memory {
        directory: Arc::new(directory, GFP_KERNEL)?,
        _umem: Some(umem),
    })
}

/// Allocates the memory of a queue of `entries` entries.
fn kernel_memory(ctx: &Ctx<'_, Pvrdma>, entries: u32) -> Result<Memory> {
    let pages = queue_len(entries)?.div_ceil(PAGE);

    Ok(Memory {
        directory: Arc::new(PageDir::with_pages(ctx.adapter.dev(), pages)?, GFP_KERNEL)?,
        _umem: None,
    })
}

/// Returns the number of entries of a queue that has to hold `wanted` completions.
///
/// # Errors
///
/// [`EINVAL`] if the device cannot hold so many.
fn entries(wanted: u32, max: u32) -> Result<u32> {
    wanted
        .checked_next_power_of_two()
        .filter(|entries| wanted != 0 && *entries <= max)
        .ok_or(EINVAL)
}

#[vtable]
impl CompletionQueue for Cq {
    type Driver = Pvrdma;

    fn create(
        ctx: &Ctx<'_, Pvrdma>,
        init: &mut CqInit<'_, Pvrdma>,
        udata: Option<&Udata<'_>>,
    ) -> impl PinInit<Self, Error> {
        pin_init::pin_init_scope(move || {
            if init.flags() != 0 {
                return Err(EOPNOTSUPP);
            }
            let adapter = &*ctx.adapter;
            let entries = entries(init.cqe(), adapter.caps().max_cqe)?;
            let share = ctx.quotas.cq.take()?;
            let events = init.events(static_lock_class!())?;
            init.set_cqe(entries)?;

            let memory = match udata {
                Some(udata) => user_memory(ctx, udata, entries)?,
                None => kernel_memory(ctx, entries)?,
            };
            let directory = memory.directory.clone();
            let ring = match udata {
                Some(_) => None,
                None => Some(CqRing::new(directory.clone(), Slots::new(entries)?)),
            };

            let memory = Lent::new(memory);
            let table = adapter.cqs().change();
            let reply = memory.created(
                adapter.dev(),
                adapter.ask(&CreateCq {
                    context: init.ucontext().map(|ucontext| ucontext.handle()),
                    entries,
                    pages: (&*directory).into(),
                }),
            )?;

            // From here on the device has the queue, and has to be told if the driver cannot use
            // it: the number of entries decides where both look for them.
            let admitted = if reply.entries == entries {
                table.insert(reply.handle, events)
            } else {
                Err(EIO)
            };
            if let Err(error) = admitted {
                dev_err!(adapter.dev(), "the device answers nonsense to CREATE_CQ\n");
                memory.destroyed(adapter.dev(), adapter.tell(&Destroy(reply.handle)));
                return Err(error);
            }

            Ok(try_pin_init!(Self {
                handle: reply.handle,
                ring <- new_spinlock_irq!(ring),
                memory,
                _share: share,
            }? Error))
        })
    }

    fn respond(_ctx: &Ctx<'_, Pvrdma>, this: &rdma::Cq<Pvrdma>, udata: &Udata<'_>) -> Result {
        udata.respond(&uapi::CreateCqResp {
            cqn: this.handle.raw(),
            reserved: 0,
        })
    }

    fn poll(ctx: &Ctx<'_, Pvrdma>, this: &rdma::Cq<Pvrdma>, out: &mut WcSlots<'_>) -> Result {
        let ring = this.ring.lock();
        let ring = ring.as_ref().ok_or(EINVAL)?;
        let mut asked = false;

        // One round at the most, so that a device cannot keep the caller here for ever.
        for _ in 0..=ring.slots().count() {
            if out.is_full() {
                break;
            }
            match ring.take()? {
                Some(cqe) => {
                    asked = false;
                    deliver(ctx, &cqe, out)?;
                }
                None if asked => break,
                None => {
                    // Gives the device the chance to write what it holds back.
                    ctx.adapter.doorbells().poll(this.handle);
                    asked = true;
                }
            }
        }
        Ok(())
    }

    fn request_notify(
        ctx: &Ctx<'_, Pvrdma>,
        this: &rdma::Cq<Pvrdma>,
        notify: Notify,
    ) -> Result<bool> {
        let ring = this.ring.lock();

        // The core arms the queue of a process here if that asks it to.
        if notify.solicited_only {
            ctx.adapter.doorbells().arm_solicited(this.handle);
        } else {
            ctx.adapter.doorbells().arm(this.handle);
        }

        match &*ring {
            Some(ring) if notify.report_missed => ring.has_data(),
            _ => Ok(false),
        }
    }

    fn destroy(ctx: &Ctx<'_, Pvrdma>, this: &rdma::Cq<Pvrdma>) {
        let adapter = &*ctx.adapter;
        let table = adapter.cqs().change();

        this.memory
            .destroyed(adapter.dev(), adapter.tell(&Destroy(this.handle)));
        table.remove(this.handle);
    }
}

/// Finds the queue pair of a completion.
///
/// Devices have no more queue pairs than the table has slots. What they write into the bits above
/// was never looked at, so it is ignored here too.
fn qp_of(ctx: &Ctx<'_, Pvrdma>, cqe: &Cqe) -> Option<Arc<QpEvents>> {
    ctx.adapter.qps().get(ring::qp_handle(cqe))
}

/// Hands a completion to the consumer.
///
/// One of a queue pair that does not exist (any more) is dropped: nobody could make use of it, and
/// it must not keep back those behind it.
fn deliver(ctx: &Ctx<'_, Pvrdma>, cqe: &Cqe, out: &mut WcSlots<'_>) -> Result {
    let Some(qp) = qp_of(ctx, cqe) else {
        ctx.adapter.counters().strays.inc();
        return Ok(());
    };
    let has = |flag| cqe.wc_flags & flag != 0;

    out.push(&Wc {
        wr_id: cqe.wr_id,
        status: convert::wc_status(cqe.status),
        opcode: convert::wc_opcode(cqe.opcode),
        vendor_err: cqe.vendor_err,
        byte_len: cqe.byte_len,
        qp: &qp,
        data: if has(wc_flag::WITH_IMM) {
            WcData::Imm(cqe.imm_data)
        } else if has(wc_flag::WITH_INVALIDATE) {
            WcData::Invalidate(cqe.imm_data)
        } else {
            WcData::None
        },
        src_qp: cqe.src_qp,
        grh: has(wc_flag::GRH),
        pkey_index: cqe.pkey_index,
        slid: cqe.slid.into(),
        sl: cqe.sl,
        dlid_path_bits: cqe.dlid_path_bits,
        port: cqe.port_num.into(),
        smac: has(wc_flag::WITH_SMAC).then_some(cqe.smac),
        // The device has no field for it, whatever its flags say.
        vlan_id: None,
        network: has(wc_flag::WITH_NETWORK_HDR_TYPE)
            .then(|| convert::network_type(cqe.network_hdr_type)),
    })
}

#[cfg(CONFIG_INFINIBAND_VMWARE_PVRDMA_RUST_KUNIT_TEST)]
#[kunit_tests(vmw_pvrdma_rust_cq)]
mod tests {
    use super::*;

    #[test]
    fn rounds_the_number_of_entries() {
        for (wanted, max, expected) in [
            (0, 1024, None),
            (1, 1024, Some(1)),
            (3, 1024, Some(4)),
            (1024, 1024, Some(1024)),
            (1025, 1024, None),
            (0x4000_0001, 1024, None),
            (0x8000_0001, u32::MAX, None),
            (u32::MAX, u32::MAX, None),
        ] {
            assert_eq!(entries(wanted, max).ok(), expected);
        }
    }

    #[test]
    fn computes_the_length() -> Result {
        assert_eq!(queue_len(1)?, PAGE + 64);
        assert_eq!(queue_len(64)?, 2 * PAGE);
        Ok(())
    }
}
