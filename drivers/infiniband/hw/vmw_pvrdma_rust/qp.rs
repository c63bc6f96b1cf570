// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! Queue pairs.

#![forbid(unsafe_code)]

pub(crate) mod geometry;
mod memory;
mod modify;
mod queue;
mod send;

use self::{
    memory::Memory,
    modify::Decision,
    queue::Queue, //
};
use crate::{
    adapter::Adapter,
    commands::{
        CreateQp,
        Destroy,
        ModifyQp,
        QueryQp, //
    },
    convert,
    device::Pvrdma,
    handle::{
        self,
        Handle, //
    },
    lent::Lent,
    quota::Share,
    wire::{
        self,
        uapi, //
    }, //
};
use kernel::{
    new_mutex,
    new_spinlock_irq,
    prelude::*,
    rdma::{
        self,
        Ctx,
        QpAttr,
        QpAttrMask,
        QpCap,
        QpInit,
        QpInitAttr,
        QpState,
        QpType,
        QueuePair,
        RecvWrs,
        SendWrs,
        Udata, //
    },
    static_lock_class,
    sync::{
        Mutex,
        SpinLockIrq, //
    }, //
};

/// Largest number of a queue pair; it has 24 bits in a packet, and the core relies on that.
const MAX_NUMBER: u32 = 0x00ff_ffff;

/// A send or receive queue, as it is seen by those who post.
///
/// The state is that of the queue pair as the device agreed to it last.
struct WorkQueue {
    /// None if the queue belongs to a user process, or if there is a shared one in its place.
    queue: Option<Queue>,
    state: QpState,
    /// Q_Key of the queue pair; only the send queue needs it.
    qkey: u32,
}

impl WorkQueue {
    fn new(queue: Option<Queue>) -> Self {
        Self {
            queue,
            state: QpState::Reset,
            qkey: 0,
        }
    }

    /// Takes over what the device agreed to.
    fn agree(&mut self, state: QpState, qkey: Option<u32>) -> Result {
        self.state = state;
        if let Some(qkey) = qkey {
            self.qkey = qkey;
        }
        match (&self.queue, state) {
            (Some(queue), QpState::Reset) => queue.reset(),
            _ => Ok(()),
        }
    }
}

/// A queue pair.
#[pin_data]
pub(crate) struct Qp {
    handle: Handle<handle::Qp>,
    ty: QpType,
    port: u32,
    cap: QpCap,
    signal_all: bool,
    /// State as the device agreed to it; held while the device is asked to change it.
    #[pin]
    state: Mutex<QpState>,
    // LOCKING: Inside of `state`; outside of the lock of a completion queue.
    #[pin]
    sq: SpinLockIrq<WorkQueue>,
    #[pin]
    rq: SpinLockIrq<WorkQueue>,
    memory: Lent<Memory>,
    _share: Share,
}

impl rdma::Request for uapi::CreateQp {}

/// Takes over that the device moved a queue pair to `state`, with `qkey` if that changed.
fn agree(
    ctx: &Ctx<'_, Pvrdma>,
    this: &rdma::Qp<Pvrdma>,
    state: QpState,
    qkey: Option<u32>,
) -> Result {
    if state == QpState::Reset {
        purge(ctx, this);
    }
    this.sq.lock().agree(state, qkey)?;
    this.rq.lock().agree(state, None)
}

/// Removes the completions of a queue pair that a kernel consumer has not polled yet.
fn purge(ctx: &Ctx<'_, Pvrdma>, this: &rdma::Qp<Pvrdma>) {
    for cq in [this.send_cq(), this.recv_cq()].into_iter().flatten() {
        cq.purge(ctx, this.handle);
    }
}

/// Checks what can be said about a new queue pair without looking at its size.
///
/// # Errors
///
/// - [`EOPNOTSUPP`] for creation flags and for types other than RC, UD and GSI.
/// - [`EINVAL`] if the special queue pair is for a port that does not exist, or if a shared receive
///   queue is given although the device has none.
fn check(adapter: &Adapter<'_>, init: &QpInit<'_, Pvrdma>) -> Result<wire::QpType> {
    let caps = adapter.caps();
    let ports = u32::from(caps.phys_port_cnt);

    if init.flags() != 0 {
        return Err(EOPNOTSUPP);
    }
    let kind = convert::qp_type(init.qp_type())?;

    if init.qp_type() == QpType::Gsi && !(1..=ports).contains(&init.port())
        || init.srq().is_some() && caps.max_srq == 0
    {
        return Err(EINVAL);
    }
    Ok(kind)
}

/// Returns what the device calls a completion queue that a queue pair cannot do without.
fn cq_handle(cq: Option<&rdma::Cq<Pvrdma>>) -> Result<Handle<handle::Cq>> {
    cq.map(|cq| cq.handle()).ok_or(EINVAL)
}

#[vtable]
impl QueuePair for Qp {
    type Driver = Pvrdma;

    fn create(
        ctx: &Ctx<'_, Pvrdma>,
        init: &mut QpInit<'_, Pvrdma>,
        udata: Option<&Udata<'_>>,
    ) -> impl PinInit<Self, Error> {
        pin_init::pin_init_scope(move || {
            let adapter = &*ctx.adapter;
            let kind = check(adapter, init)?;
            let send_cq = cq_handle(init.send_cq())?;
            let recv_cq = cq_handle(init.recv_cq())?;

            // A library that does not take the handle would use the number in its place.
            if udata.is_some_and(|udata| udata.out_len() < size_of::<uapi::CreateQpResp>())
                && adapter.caps().version().has_qp_handle()
            {
                return Err(EOPNOTSUPP);
            }

            let share = ctx.quotas.qp.take()?;
            let events = init.events(static_lock_class!())?;
            let memory::Layout {
                memory,
                cap,
                total_pages,
                send_pages,
                send_queue,
                recv_queue,
            } = memory::Layout::new(ctx, init, udata)?;

            let directory = memory.directory();
            let memory = Lent::new(memory);
            let table = adapter.qps().change();
            let reply = memory.created(
                adapter.dev(),
                adapter.ask(&CreateQp {
                    pd: init.pd().handle(),
                    send_cq,
                    recv_cq,
                    srq: init.srq().map(|srq| srq.handle()),
                    cap: convert::cap_to_wire(&cap),
                    access: wire::access::LOCAL_WRITE,
                    kind,
                    signal_all: init.signal_all(),
                    directory,
                    total_pages,
                    send_pages,
                }),
            )?;

            let admitted = if reply.number <= MAX_NUMBER {
                table.insert(reply.handle, events)
            } else {
                Err(EIO)
            };
            if let Err(error) = admitted {
                dev_err!(adapter.dev(), "the device answers nonsense to CREATE_QP\n");
                memory.destroyed(adapter.dev(), adapter.tell(&Destroy(reply.handle)));
                return Err(error);
            }
            init.set_num(reply.number);
            init.set_cap(&cap);

            Ok(try_pin_init!(Self {
                handle: reply.handle,
                ty: init.qp_type(),
                port: init.port(),
                cap,
                signal_all: init.signal_all(),
                state <- new_mutex!(QpState::Reset),
                sq <- new_spinlock_irq!(WorkQueue::new(send_queue)),
                rq <- new_spinlock_irq!(WorkQueue::new(recv_queue)),
                memory,
                _share: share,
            }? Error))
        })
    }

    fn respond(_ctx: &Ctx<'_, Pvrdma>, this: &rdma::Qp<Pvrdma>, udata: &Udata<'_>) -> Result {
        udata.respond(&uapi::CreateQpResp {
            qpn: this.num(),
            qp_handle: this.handle.raw(),
        })
    }

    /// modify_qp - change the attributes of a queue pair, its state above all.
    ///
    /// # Arguments
    ///
    /// - `ctx`: the device, with its adapter.
    /// - `this`: the queue pair.
    /// - `attr`: the new attributes, one for each bit of `mask`.
    /// - `mask`: which attributes are to be changed. With [`QpAttrMask::STATE`] the queue pair moves
    ///   to `attr.state`; without, it keeps its state. With [`QpAttrMask::CUR_STATE`] the caller
    ///   says which state it believes the queue pair to be in, and the request is judged for that.
    /// - `_udata`: data of the user-space library. There is none for this verb.
    ///
    /// # Description
    ///
    /// The request is validated first, see [`modify::decide`]. If it is valid, the device is asked
    /// with the command `MODIFY_QP`, and only when it has agreed the driver's own idea of the queue
    /// pair changes: its state, its Q_Key and, on the way to RESET, its queues, which are emptied,
    /// and its completions, which are removed from the completion queues of kernel consumers. If
    /// the device refuses, nothing has changed and the request may be repeated.
    ///
    /// A queue pair that stays in RESET has no attributes on the device, so no command is sent.
    ///
    /// Only the attributes in `mask` are sent, the others are zero in the command.
    ///
    /// # Errors
    ///
    /// - [`EOPNOTSUPP`]: `mask` has bits beyond the attributes of the InfiniBand specification, for
    ///   example a rate limit.
    /// - [`EINVAL`]: the transition is not allowed for the type of the queue pair, it lacks an
    ///   attribute or does not take one of those given; the port does not exist; the index is
    ///   outside of the P_Key table; the receiver-not-ready timer is above 31; an attribute has a
    ///   value that it cannot have; or the device refused the request in its answer.
    /// - [`EFAULT`]: the device refused the request through its error register.
    /// - [`ETIMEDOUT`]: the device did not answer within ten seconds. Whether it changed the queue
    ///   pair is not known; the driver's idea stays as it was, and no further command is sent.
    /// - [`EIO`]: no command can be sent after an earlier time-out.
    /// - [`ENODEV`]: the adapter is gone.
    ///
    /// # Context
    ///
    /// Process context; sleeps. Signals do not interrupt it. Requests for the same queue pair are
    /// carried out one after the other (the lock is `state`), and so are all commands of an
    /// adapter. Posting work requests is possible meanwhile.
    ///
    /// # See also
    ///
    /// [`create`](Self::create), [`destroy`](Self::destroy), [`query`](Self::query),
    /// [`post_send`](Self::post_send), [`post_recv`](Self::post_recv)
    fn modify(
        ctx: &Ctx<'_, Pvrdma>,
        this: &rdma::Qp<Pvrdma>,
        attr: &QpAttr,
        mask: QpAttrMask,
        _udata: Option<&Udata<'_>>,
    ) -> Result {
        let caps = ctx.adapter.caps();
        let limits = modify::Limits {
            ports: caps.phys_port_cnt.into(),
            pkeys: caps.max_pkeys,
        };
        let mut state = this.state.lock();

        let next = match modify::decide(this.ty, *state, attr, mask, &limits)? {
            Decision::Nothing => return Ok(()),
            Decision::Ask(next) => next,
        };

        ctx.adapter
            .ask(&ModifyQp {
                handle: this.handle,
                mask: convert::qp_attr_mask(mask),
                attrs: convert::qp_attr_to_wire(attr)?,
            })
            .map_err(|error| error.code())?;

        *state = next;
        agree(ctx, this, next, attr.qkey)
    }

    fn query(
        ctx: &Ctx<'_, Pvrdma>,
        this: &rdma::Qp<Pvrdma>,
        mask: QpAttrMask,
    ) -> Result<(QpAttr, QpInitAttr)> {
        let mut state = this.state.lock();

        // In RESET the device has no attributes; the size is what it was created with.
        let mut attr = if *state == QpState::Reset {
            QpAttr {
                state: Some(QpState::Reset),
                cap: Some(this.cap),
                ..QpAttr::default()
            }
        } else {
            let wire = ctx
                .adapter
                .ask(&QueryQp {
                    handle: this.handle,
                    mask: convert::qp_attr_mask(mask),
                })
                .map_err(|error| error.code())?;

            convert::qp_attr_from_wire(&wire)?
        };

        // The device moves a queue pair by itself when something fails.
        let now = attr.state.ok_or(EIO)?;
        if now != *state {
            *state = now;
            agree(ctx, this, now, None)?;
        }
        attr.cur_state = Some(now);

        let init = QpInitAttr {
            cap: attr.cap.unwrap_or(this.cap),
            signal_all: this.signal_all,
            port: this.port,
        };
        Ok((attr, init))
    }

    fn post_send(
        ctx: &Ctx<'_, Pvrdma>,
        this: &rdma::Qp<Pvrdma>,
        list: &mut SendWrs<'_, Pvrdma>,
    ) -> Result {
        let sq = this.sq.lock();

        // In the states after "ready to send" the device decides what becomes of a request.
        let ready = !matches!(sq.state, QpState::Reset | QpState::Init | QpState::Rtr);
        let queue = sq.queue.as_ref().filter(|_| ready).ok_or(EINVAL)?;
        let mut posted = false;

        let result = list.try_for_each(|wr| {
            send::post(queue, &wr, sq.qkey)?;
            posted = true;
            Ok(())
        });

        // Those before a bad one are as good as if they had been posted alone.
        if posted {
            ctx.adapter.doorbells().send(this.handle);
        }
        result
    }

    fn post_recv(ctx: &Ctx<'_, Pvrdma>, this: &rdma::Qp<Pvrdma>, list: &mut RecvWrs<'_>) -> Result {
        let rq = this.rq.lock();
        let ready = rq.state != QpState::Reset;
        let queue = rq.queue.as_ref().filter(|_| ready).ok_or(EINVAL)?;
        let mut posted = false;

        let result = list.try_for_each(|wr| {
            let room = queue.room(wr.sges())?;
            let head = wire::RqWqe {
                wr_id: wr.id(),
                num_sge: room.num_sge(),
                total_len: 0,
            };

            room.post(head)?;
            posted = true;
            Ok(())
        });

        if posted {
            ctx.adapter.doorbells().recv(this.handle);
        }
        result
    }

    fn destroy(ctx: &Ctx<'_, Pvrdma>, this: &rdma::Qp<Pvrdma>) {
        let adapter = &*ctx.adapter;
        // Completions are told apart by handle, so no other queue pair may get this one before they
        // are removed.
        let table = adapter.qps().change();

        this.memory
            .destroyed(adapter.dev(), adapter.tell(&Destroy(this.handle)));
        purge(ctx, this);
        table.remove(this.handle);
    }
}
