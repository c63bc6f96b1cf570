// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! The memory of a queue pair.
//!
//! The first page holds the ring indexes of both queues. The requests of the send queue follow,
//! then, from a new page on, those of the receive queue, unless there is a shared one. All pages
//! are described by one directory.

#![forbid(unsafe_code)]

use super::{
    geometry::{
        Geometry,
        Limits, //
    },
    queue::{
        Half,
        Queue, //
    },
};
use crate::{
    device::Pvrdma,
    page_dir::PageDir,
    user_queue,
    wire::{
        uapi,
        PAGE, //
    }, //
};
use kernel::{
    dma::DmaAddress,
    prelude::*,
    rdma::{
        AccessFlags,
        Ctx,
        QpCap,
        QpInit,
        Udata,
        Umem,
        UserRange, //
    },
    sync::Arc, //
};

/// Pages in front of the send queue: the ring indexes.
const HEADER_PAGES: usize = 1;

/// What the queues lie in.
pub(super) struct Memory {
    directory: Arc<PageDir>,
    /// Those of the send and receive queue of a user process.
    _umem: [Option<Umem>; 2],
}

impl Memory {
    /// Returns the bus address of the page directory.
    pub(super) fn directory(&self) -> DmaAddress {
        self.directory.dma_address()
    }
}

/// A queue pair laid out in memory.
pub(super) struct Layout {
    pub(super) memory: Memory,
    /// The capacity of the queues.
    pub(super) cap: QpCap,
    /// Number of all pages.
    pub(super) total_pages: u16,
    /// Number of pages of the send queue, without the header.
    pub(super) send_pages: u16,
    /// The queues of a kernel consumer.
    pub(super) send_queue: Option<Queue>,
    pub(super) recv_queue: Option<Queue>,
}

impl Layout {
    /// Lays out the queue pair that `init` asks for.
    ///
    /// # Errors
    ///
    /// [`EINVAL`] if the device cannot do what is asked for or if the memory of the process is too
    /// small for it, [`ENOMEM`], or what pinning the memory answers.
    pub(super) fn new(
        ctx: &Ctx<'_, Pvrdma>,
        init: &QpInit<'_, Pvrdma>,
        udata: Option<&Udata<'_>>,
    ) -> Result<Self> {
        let caps = ctx.adapter.caps();
        let limits = Limits {
            requests: caps.max_qp_wr,
            segments: caps.max_sge,
        };
        let with_recv = init.srq().is_none();
        // There is no inline data, whatever was asked for.
        let cap = QpCap {
            max_inline_data: 0,
            ..init.cap()
        };

        match udata {
            Some(udata) => {
                let (send, recv) = limits.user(&cap, with_recv)?;
                Self::user(ctx, udata, cap, send, with_recv.then_some(recv))
            }
            None => {
                let (send, recv) = limits.kernel(&cap, with_recv)?;
                Self::kernel(ctx, cap, send, with_recv.then_some(recv))
            }
        }
    }

    /// Uses memory of the calling process.
    fn user(
        ctx: &Ctx<'_, Pvrdma>,
        udata: &Udata<'_>,
        cap: QpCap,
        send: Geometry,
        recv: Option<Geometry>,
    ) -> Result<Self> {
        let request: uapi::CreateQp = udata.read()?;
        let send_range = UserRange {
            addr: request.sbuf_addr,
            len: request.sbuf_size.into(),
        };
        let recv_range = UserRange {
            addr: request.rbuf_addr,
            len: request.rbuf_size.into(),
        };

        user_queue::check(&send_range, HEADER_PAGES * PAGE + send.len())?;
        if let Some(recv) = &recv {
            user_queue::check(&recv_range, recv.len())?;
        }

        // The device writes the indexes in the header, so the process must be allowed to, too.
        let pin = |range| Umem::get(ctx, range, AccessFlags::LOCAL_WRITE);
        let send_umem = pin(send_range)?;
        let recv_umem = recv.map(|_| pin(recv_range)).transpose()?;
        let send_pages = send_umem.num_pages();
        let recv_pages = recv_umem.as_ref().map_or(0, Umem::num_pages);

        let (total, send) = counts(send_pages, recv_pages)?;
        let directory = PageDir::new(ctx.adapter.dev(), total.into())?;
        directory.fill(0, send_umem.pages())?;
        if let Some(recv_umem) = &recv_umem {
            directory.fill(send_pages, recv_umem.pages())?;
        }

        Ok(Self {
            memory: Memory {
                directory: Arc::new(directory, GFP_KERNEL)?,
                _umem: [Some(send_umem), recv_umem],
            },
            cap,
            total_pages: total,
            send_pages: send,
            send_queue: None,
            recv_queue: None,
        })
    }

    /// Allocates memory for a kernel consumer.
    fn kernel(
        ctx: &Ctx<'_, Pvrdma>,
        cap: QpCap,
        send: Geometry,
        recv: Option<Geometry>,
    ) -> Result<Self> {
        let send_pages = HEADER_PAGES + send.pages();
        let recv_pages = recv.as_ref().map_or(0, Geometry::pages);
        let (total_pages, send_chunks) = counts(send_pages, recv_pages)?;
        let directory = Arc::new(
            PageDir::with_pages(ctx.adapter.dev(), total_pages.into())?,
            GFP_KERNEL,
        )?;

        Ok(Self {
            memory: Memory {
                directory: directory.clone(),
                _umem: [None, None],
            },
            cap: QpCap {
                max_send_wr: send.requests,
                max_send_sge: send.segments,
                max_recv_wr: recv.map_or(0, |recv| recv.requests),
                max_recv_sge: recv.map_or(0, |recv| recv.segments),
                ..cap
            },
            total_pages,
            send_pages: send_chunks,
            send_queue: Some(Queue::new(
                directory.clone(),
                Half::Send,
                send,
                HEADER_PAGES * PAGE,
            )?),
            recv_queue: recv
                .map(|recv| Queue::new(directory, Half::Recv, recv, send_pages * PAGE))
                .transpose()?,
        })
    }
}

/// Returns the number of all pages, and of those of the send queue without its header, as the
/// device is told them.
///
/// # Errors
///
/// [`EINVAL`] if they do not fit, or if there is no send queue.
fn counts(send_pages: usize, recv_pages: usize) -> Result<(u16, u16)> {
    let total = send_pages.checked_add(recv_pages).ok_or(EINVAL)?;
    let send = send_pages
        .checked_sub(HEADER_PAGES)
        .filter(|send| *send > 0)
        .ok_or(EINVAL)?;

    Ok((total.try_into()?, send.try_into()?))
}

#[cfg(CONFIG_INFINIBAND_VMWARE_PVRDMA_RUST_KUNIT_TEST)]
#[kunit_tests(vmw_pvrdma_rust_qp_memory)]
mod tests {
    use super::*;

    #[test]
    fn counts_without_the_header() -> Result {
        assert_eq!(counts(3, 2)?, (5, 2));
        assert_eq!(counts(2, 0)?, (2, 1));
        Ok(())
    }

    #[test]
    fn counts_end_at_sixteen_bits() {
        assert!(counts(0xffff, 0).is_ok());
        assert!(counts(0xfffe, 1).is_ok());
        assert!(counts(0xffff, 1).is_err());
        assert!(counts(1, 4).is_err());
        assert!(counts(0, 4).is_err());
    }
}
