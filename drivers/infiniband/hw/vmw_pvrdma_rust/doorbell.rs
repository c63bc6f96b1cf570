// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! Doorbells: how the device learns that there is work.
//!
//! A doorbell page has one word for queue pairs, one for completion queues and one for shared
//! receive queues. A write names the object and says what happened. User contexts have pages of
//! their own, the first one is the kernel's.

#![forbid(unsafe_code)]

use crate::{
    handle::{
        Cq,
        Handle,
        Qp, //
    },
    wire::PAGE, //
};
use kernel::{
    io::{
        register,
        Io, //
    },
    pci, //
};

register! {
    /// Doorbell of queue pairs.
    QP(u32) @ 0x0 {
        23:0 handle;
        /// There are requests in the send queue.
        30:30 send => bool;
        /// There are requests in the receive queue.
        31:31 recv => bool;
    }

    /// Doorbell of completion queues.
    CQ(u32) @ 0x4 {
        23:0 handle;
        /// Notify of the next solicited completion.
        29:29 arm_sol => bool;
        /// Notify of the next completion.
        30:30 arm => bool;
        /// The queue looks empty: is it?
        31:31 poll => bool;
    }

    /// Doorbell of shared receive queues.
    SRQ(u32) @ 0x8 {
        23:0 handle;
        /// There are requests in the queue.
        30:30 recv => bool;
    }
}

/// Bits of a doorbell that name the object.
const HANDLE_MASK: u32 = 0x00ff_ffff;

/// Returns a doorbell word for the object `handle`, without an action.
///
/// Handles come from a table that has fewer than 2^24 slots.
fn word<K>(handle: Handle<K>) -> u32 {
    handle.raw() & HANDLE_MASK
}

fn qp(handle: Handle<Qp>) -> QP {
    QP::from_raw(word(handle))
}

fn cq(handle: Handle<Cq>) -> CQ {
    CQ::from_raw(word(handle))
}

/// The kernel's doorbell page. May be used in any context.
///
/// The writes are ordered behind all writes to memory that came before.
pub(crate) struct Doorbells<'a>(pci::Bar<'a, PAGE>);

impl<'a> Doorbells<'a> {
    /// Takes the mapping of the doorbell BAR, which begins with the kernel's page.
    pub(crate) fn new(bar: pci::Bar<'a, PAGE>) -> Self {
        Self(bar)
    }

    /// There are requests in the send queue of `handle`.
    pub(crate) fn send(&self, handle: Handle<Qp>) {
        self.0.write_reg(qp(handle).with_send(true));
    }

    /// There are requests in the receive queue of `handle`.
    pub(crate) fn recv(&self, handle: Handle<Qp>) {
        self.0.write_reg(qp(handle).with_recv(true));
    }

    /// Asks for a notification of the next completion in `handle`.
    pub(crate) fn arm(&self, handle: Handle<Cq>) {
        self.0.write_reg(cq(handle).with_arm(true));
    }

    /// Asks for a notification of the next solicited completion in `handle`.
    pub(crate) fn arm_solicited(&self, handle: Handle<Cq>) {
        self.0.write_reg(cq(handle).with_arm_sol(true));
    }

    /// Tells the device that the driver sees no completion in `handle`.
    pub(crate) fn poll(&self, handle: Handle<Cq>) {
        self.0.write_reg(cq(handle).with_poll(true));
    }
}

#[cfg(CONFIG_INFINIBAND_VMWARE_PVRDMA_RUST_KUNIT_TEST)]
#[kernel::prelude::kunit_tests(vmw_pvrdma_rust_doorbell)]
mod tests {
    use super::*;

    #[test]
    fn words_of_queue_pairs() {
        let word = qp(Handle::new(0x00ab_cdef));

        assert_eq!(word.with_send(true).into_raw(), 0x40ab_cdef);
        assert_eq!(word.with_recv(true).into_raw(), 0x80ab_cdef);
    }

    #[test]
    fn words_of_completion_queues() {
        let word = cq(Handle::new(3));

        assert_eq!(word.with_arm_sol(true).into_raw(), 0x2000_0003);
        assert_eq!(word.with_arm(true).into_raw(), 0x4000_0003);
        assert_eq!(word.with_poll(true).into_raw(), 0x8000_0003);
    }

    #[test]
    fn handles_do_not_reach_the_action_bits() {
        assert_eq!(qp(Handle::new(u32::MAX)).into_raw(), 0x00ff_ffff);
    }
}
