// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! Sizes of work queues, as the device and the user-space library compute them.

#![forbid(unsafe_code)]

use crate::wire::{
    PlainWqe,
    RqWqe,
    Sge,
    PAGE, //
};
use kernel::{
    prelude::*,
    rdma::QpCap, //
};

/// Largest number of requests or segments that is computed with; far above what devices have.
const MAX_COUNT: u32 = 1 << 20;

/// The size of one work queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Number of requests, a power of two.
    pub(crate) requests: u32,
    /// Number of segments of a request.
    pub(crate) segments: u32,
    /// Distance of the requests in bytes, a power of two.
    pub(crate) stride: usize,
}

impl Geometry {
    /// Computes the size of a queue of at least `requests` requests of at least `segments` segments
    /// that follow `header` bytes.
    ///
    /// # Errors
    ///
    /// [`EINVAL`] if that is too large to be computed with.
    fn new(requests: u32, segments: u32, header: usize) -> Result<Self> {
        if requests > MAX_COUNT || segments > MAX_COUNT {
            return Err(EINVAL);
        }
        let requests = requests.max(1).next_power_of_two();
        let segments = segments.max(1);
        let stride = header + usize::try_from(segments)? * size_of::<Sge>();

        Ok(Self {
            requests,
            segments,
            stride: stride.next_power_of_two(),
        })
    }

    /// Returns the length in bytes.
    pub(crate) fn len(&self) -> usize {
        // CAST: `usize` has 64 bits here. The factors are below 2^21 and 2^26.
        self.requests as usize * self.stride
    }

    /// Returns the number of pages.
    pub(crate) fn pages(&self) -> usize {
        self.len().div_ceil(PAGE)
    }
}

/// Returns the size of a send queue.
///
/// # Errors
///
/// As for [`Geometry::new`].
pub(crate) fn send(requests: u32, segments: u32) -> Result<Geometry> {
    Geometry::new(requests, segments, size_of::<PlainWqe>())
}

/// Returns the size of a receive queue, of a queue pair or shared.
///
/// # Errors
///
/// As for [`Geometry::new`].
pub(crate) fn recv(requests: u32, segments: u32) -> Result<Geometry> {
    Geometry::new(requests, segments, size_of::<RqWqe>())
}

/// What the device can do.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Requests in a queue.
    pub(super) requests: u32,
    /// Segments of a request.
    pub(super) segments: u32,
}

impl Limits {
    fn allow(&self, requests: u32, segments: u32) -> bool {
        requests <= self.requests && segments <= self.segments
    }

    /// Checks the capacity that a kernel consumer asks for, of the send queue and, if there is one,
    /// of the receive queue.
    ///
    /// # Errors
    ///
    /// [`EINVAL`] if it is more than the device can do, or if a request would not fit into a page.
    pub(super) fn kernel(&self, cap: &QpCap, with_recv: bool) -> Result<(Geometry, Geometry)> {
        let (max_recv_wr, max_recv_sge) = match with_recv {
            true => (cap.max_recv_wr, cap.max_recv_sge),
            false => (0, 0),
        };
        let round = |segments: u32| segments.checked_next_power_of_two().ok_or(EINVAL);
        let send = send(cap.max_send_wr, round(cap.max_send_sge)?)?;
        let recv = recv(max_recv_wr, round(max_recv_sge)?)?;

        // Pages are not contiguous, so a request must lie in one.
        if self.allow(cap.max_send_wr, cap.max_send_sge)
            && self.allow(max_recv_wr, max_recv_sge)
            && send.stride <= PAGE
            && recv.stride <= PAGE
        {
            Ok((send, recv))
        } else {
            Err(EINVAL)
        }
    }

    /// Checks the capacity that a user process asks for.
    ///
    /// The library has rounded the number of requests up to a power of two already, some versions of
    /// it that of segments too; either may be above the limits of the device then. It asks for no
    /// receive queue next to a shared one.
    ///
    /// # Errors
    ///
    /// [`EINVAL`] if it is more than the device can do, or if the number of requests is not rounded.
    pub(super) fn user(&self, cap: &QpCap, with_recv: bool) -> Result<(Geometry, Geometry)> {
        let rounded = Self {
            requests: self.requests.checked_next_power_of_two().ok_or(EINVAL)?,
            segments: self.segments.checked_next_power_of_two().ok_or(EINVAL)?,
        };
        let fits = |requests: u32, segments| {
            requests.is_power_of_two() && rounded.allow(requests, segments)
        };

        if fits(cap.max_send_wr, cap.max_send_sge)
            && (!with_recv || fits(cap.max_recv_wr, cap.max_recv_sge))
        {
            Ok((
                send(cap.max_send_wr, cap.max_send_sge)?,
                recv(cap.max_recv_wr, cap.max_recv_sge)?,
            ))
        } else {
            Err(EINVAL)
        }
    }
}

#[cfg(CONFIG_INFINIBAND_VMWARE_PVRDMA_RUST_KUNIT_TEST)]
#[kunit_tests(vmw_pvrdma_rust_geometry)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        requests: 1000,
        segments: 16,
    };

    fn cap(max_send_wr: u32, max_send_sge: u32) -> QpCap {
        QpCap {
            max_send_wr,
            max_send_sge,
            max_recv_wr: 1,
            max_recv_sge: 1,
            max_inline_data: 0,
        }
    }

    #[test]
    fn strides_are_powers_of_two() -> Result {
        assert_eq!(send(1, 1)?.stride, 128);
        assert_eq!(send(1, 3)?.stride, 128);
        assert_eq!(send(1, 4)?.stride, 256);
        assert_eq!(recv(1, 1)?.stride, 32);
        assert_eq!(recv(1, 3)?.stride, 64);
        assert_eq!(recv(0, 0)?, recv(1, 1)?);
        assert_eq!(recv(5, 2)?.requests, 8);
        assert_eq!(recv(512, 1)?.pages(), 4);
        assert_eq!(recv(1, 1)?.pages(), 1);
        Ok(())
    }

    #[test]
    fn kernel_consumers_stay_within_the_limits() {
        assert!(LIMITS.kernel(&cap(1000, 16), true).is_ok());
        assert!(LIMITS.kernel(&cap(1001, 16), true).is_err());
        assert!(LIMITS.kernel(&cap(1000, 17), true).is_err());
        assert!(LIMITS.kernel(&cap(u32::MAX, 1), true).is_err());
    }

    #[test]
    fn kernel_consumers_get_rounded_segments() -> Result {
        let (send, recv) = LIMITS.kernel(&cap(1, 3), true)?;

        assert_eq!((send.segments, send.stride), (4, 256));
        assert_eq!((recv.segments, recv.stride), (1, 32));
        Ok(())
    }

    #[test]
    fn kernel_requests_fit_into_a_page() {
        let limits = Limits {
            requests: 8,
            segments: 1024,
        };

        assert!(limits.kernel(&cap(1, 128), true).is_ok());
        assert!(limits.kernel(&cap(1, 512), true).is_err());
    }

    #[test]
    fn user_processes_may_round_up() -> Result {
        assert!(LIMITS.user(&cap(1024, 16), true).is_ok());
        assert!(LIMITS.user(&cap(2048, 16), true).is_err());
        assert!(LIMITS.user(&cap(1000, 16), true).is_err());
        assert!(LIMITS.user(&cap(1024, 32), true).is_err());
        assert!(LIMITS.user(&cap(u32::MAX, 1), true).is_err());

        // They need not round the segments, and have no more memory then.
        let (send, _) = LIMITS.user(&cap(16, 3), true)?;
        assert_eq!(send.stride, 128);
        Ok(())
    }

    #[test]
    fn a_shared_queue_replaces_the_receive_queue() {
        let none = QpCap {
            max_recv_wr: 0,
            max_recv_sge: 0,
            ..cap(16, 1)
        };

        assert!(LIMITS.user(&none, false).is_ok());
        assert!(LIMITS.user(&none, true).is_err());
    }
}
