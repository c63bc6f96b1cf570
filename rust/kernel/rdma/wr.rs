// SPDX-License-Identifier: GPL-2.0

//! Work requests of kernel consumers.

use super::{
    ah::Ah,
    enums::QpType,
    flags::{
        AccessFlags,
        SendFlags, //
    },
    mr::Mr,
    Driver, //
};
use crate::{
    bindings,
    container_of,
    prelude::*, //
};
use core::{
    marker::PhantomData,
    ptr::NonNull,
    slice, //
};

/// A segment of local memory.
#[repr(transparent)]
pub struct Sge(bindings::ib_sge);

impl Sge {
    /// Returns the address, as the key defines it.
    #[inline]
    pub fn addr(&self) -> u64 {
        self.0.addr
    }

    /// Returns the length in bytes.
    #[inline]
    pub fn length(&self) -> u32 {
        self.0.length
    }

    /// Returns the local key.
    #[inline]
    pub fn lkey(&self) -> u32 {
        self.0.lkey
    }
}

/// Makes a slice of a list of segments.
///
/// # Safety
///
/// If `num` is positive, `list` must point to that many segments that live for `'a`.
#[inline]
unsafe fn sges<'a>(list: *const bindings::ib_sge, num: crate::ffi::c_int) -> &'a [Sge] {
    match usize::try_from(num) {
        // SAFETY: By the requirement; `Sge` is transparent.
        Ok(num) if num > 0 => unsafe { slice::from_raw_parts(list.cast(), num) },
        _ => &[],
    }
}

/// Memory of the peer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Remote {
    /// Address, as the key defines it.
    pub addr: u64,
    /// Remote key.
    pub rkey: u32,
}

/// The operation of a send request.
///
/// Immediate data are in network byte order.
pub enum SendOp<'a, D: Driver> {
    /// Send over a connection.
    Send {
        /// Immediate data.
        imm: Option<u32>,
    },
    /// Send over a connection and have a key of the peer invalidated.
    SendInvalidate {
        /// The key.
        rkey: u32,
    },
    /// Send a datagram.
    Datagram {
        /// Destination.
        ah: &'a Ah<D>,
        /// Queue pair number of the destination.
        remote_qpn: u32,
        /// Q_Key of the destination.
        remote_qkey: u32,
        /// Index into the P_Key table, for the special queue pairs.
        pkey_index: u16,
        /// Immediate data.
        imm: Option<u32>,
    },
    /// Write to memory of the peer.
    RdmaWrite {
        /// The memory.
        remote: Remote,
        /// Immediate data.
        imm: Option<u32>,
    },
    /// Read from memory of the peer.
    RdmaRead {
        /// The memory.
        remote: Remote,
    },
    /// Atomic compare and swap in memory of the peer.
    CompareSwap {
        /// The memory.
        remote: Remote,
        /// Value to compare with.
        compare: u64,
        /// Value to store if it is equal.
        swap: u64,
    },
    /// Atomic fetch and add in memory of the peer.
    FetchAdd {
        /// The memory.
        remote: Remote,
        /// Value to add.
        add: u64,
    },
    /// Fast registration of a memory region.
    RegMr {
        /// The region, whose pages [`MemoryRegion::map_sg`](super::MemoryRegion::map_sg) set.
        mr: &'a Mr<D>,
        /// The new key.
        key: u32,
        /// Operations allowed.
        access: AccessFlags,
    },
    /// Invalidation of a local key.
    LocalInvalidate {
        /// The key.
        rkey: u32,
    },
}

/// A send request.
///
/// # Invariants
///
/// `raw` is a request of a list that a consumer posted on a queue pair of type `ty` of a device of
/// `D`, embedded in the structure that belongs to its operation.
pub struct SendWr<'a, D: Driver> {
    // No reference, as that would not cover the structure around the request.
    raw: NonNull<bindings::ib_send_wr>,
    ty: QpType,
    _request: PhantomData<&'a bindings::ib_send_wr>,
    _driver: PhantomData<fn() -> D>,
}

impl<'a, D: Driver> SendWr<'a, D> {
    /// Returns the part that all requests have.
    #[inline]
    fn raw(&self) -> &'a bindings::ib_send_wr {
        // SAFETY: Valid by the type invariant.
        unsafe { self.raw.as_ref() }
    }

    /// Returns the consumer's identifier of the request.
    #[inline]
    pub fn id(&self) -> u64 {
        // SAFETY: The members of the union are an integer and a pointer of the same size, which C
        // drivers treat alike.
        unsafe { self.raw().__bindgen_anon_1.wr_id }
    }

    /// Returns the flags.
    #[inline]
    pub fn flags(&self) -> SendFlags {
        // CAST: A flag word, which C keeps in a signed integer.
        SendFlags::from_bits(self.raw().send_flags as u32)
    }

    /// Returns the segments to send or to read into.
    #[inline]
    pub fn sges(&self) -> &'a [Sge] {
        // SAFETY: The consumer passes as many segments as it says, and keeps them while it posts.
        unsafe { sges(self.raw().sg_list, self.raw().num_sge) }
    }

    /// Returns the number of the operation, for messages.
    #[inline]
    pub fn opcode(&self) -> u32 {
        self.raw().opcode
    }

    /// Returns immediate data.
    #[inline]
    fn imm(&self) -> u32 {
        // SAFETY: All members of the union are plain integers of the same size.
        unsafe { self.raw().ex.imm_data }
    }

    /// Returns the key to invalidate.
    #[inline]
    fn invalidate_rkey(&self) -> u32 {
        // SAFETY: As for `imm`.
        unsafe { self.raw().ex.invalidate_rkey }
    }

    /// Returns the memory of the peer.
    ///
    /// # Safety
    ///
    /// The operation must be an RDMA read or write.
    #[inline]
    unsafe fn remote(&self) -> Remote {
        // SAFETY: By the requirement the request is inside of such a structure.
        let wr = unsafe { &*container_of!(self.raw.as_ptr(), bindings::ib_rdma_wr, wr) };

        Remote {
            addr: wr.remote_addr,
            rkey: wr.rkey,
        }
    }

    /// Returns the operation as a datagram.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there is no address handle.
    ///
    /// # Safety
    ///
    /// The operation must be a send on an unreliable datagram queue pair.
    #[inline]
    unsafe fn datagram(&self, imm: Option<u32>) -> Result<SendOp<'a, D>> {
        // SAFETY: By the requirement the request is inside of such a structure.
        let wr = unsafe { &*container_of!(self.raw.as_ptr(), bindings::ib_ud_wr, wr) };

        Ok(SendOp::Datagram {
            // SAFETY: The consumer keeps the address handle while it posts; it is one of the same
            // device.
            ah: unsafe { Ah::from_raw_or_null(wr.ah) }.ok_or(EINVAL)?,
            remote_qpn: wr.remote_qpn,
            remote_qkey: wr.remote_qkey,
            pkey_index: wr.pkey_index,
            imm,
        })
    }

    /// Returns the operation.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the operation is not known, or not possible on the type of the queue pair.
    pub fn op(&self) -> Result<SendOp<'a, D>> {
        use bindings as b;

        let op = self.raw().opcode;
        let imm = || Some(self.imm());

        match self.ty {
            // SAFETY: The type and the operation are the right ones.
            QpType::Ud | QpType::Gsi => unsafe {
                match op {
                    b::ib_wr_opcode_IB_WR_SEND => self.datagram(None),
                    b::ib_wr_opcode_IB_WR_SEND_WITH_IMM => self.datagram(imm()),
                    _ => Err(EINVAL),
                }
            },
            QpType::Rc | QpType::Uc => Ok(match op {
                b::ib_wr_opcode_IB_WR_SEND => SendOp::Send { imm: None },
                b::ib_wr_opcode_IB_WR_SEND_WITH_IMM => SendOp::Send { imm: imm() },
                b::ib_wr_opcode_IB_WR_SEND_WITH_INV => SendOp::SendInvalidate {
                    rkey: self.invalidate_rkey(),
                },
                b::ib_wr_opcode_IB_WR_RDMA_WRITE => SendOp::RdmaWrite {
                    // SAFETY: The operation is the right one.
                    remote: unsafe { self.remote() },
                    imm: None,
                },
                b::ib_wr_opcode_IB_WR_RDMA_WRITE_WITH_IMM => SendOp::RdmaWrite {
                    // SAFETY: The operation is the right one.
                    remote: unsafe { self.remote() },
                    imm: imm(),
                },
                b::ib_wr_opcode_IB_WR_RDMA_READ => SendOp::RdmaRead {
                    // SAFETY: The operation is the right one.
                    remote: unsafe { self.remote() },
                },
                b::ib_wr_opcode_IB_WR_ATOMIC_CMP_AND_SWP
                | b::ib_wr_opcode_IB_WR_ATOMIC_FETCH_AND_ADD => {
                    // SAFETY: The operation is one whose request is inside of such a structure.
                    let wr =
                        unsafe { &*container_of!(self.raw.as_ptr(), bindings::ib_atomic_wr, wr) };
                    let remote = Remote {
                        addr: wr.remote_addr,
                        rkey: wr.rkey,
                    };

                    if op == b::ib_wr_opcode_IB_WR_ATOMIC_CMP_AND_SWP {
                        SendOp::CompareSwap {
                            remote,
                            compare: wr.compare_add,
                            swap: wr.swap,
                        }
                    } else {
                        SendOp::FetchAdd {
                            remote,
                            add: wr.compare_add,
                        }
                    }
                }
                b::ib_wr_opcode_IB_WR_REG_MR => {
                    // SAFETY: The operation is one whose request is inside of such a structure.
                    let wr = unsafe { &*container_of!(self.raw.as_ptr(), bindings::ib_reg_wr, wr) };

                    SendOp::RegMr {
                        // SAFETY: The consumer keeps the region while it posts; it is one of the
                        // same device.
                        mr: unsafe { Mr::from_raw_or_null(wr.mr) }.ok_or(EINVAL)?,
                        key: wr.key,
                        // CAST: A flag word, which C keeps in a signed integer.
                        access: AccessFlags::from_bits(wr.access as u32),
                    }
                }
                b::ib_wr_opcode_IB_WR_LOCAL_INV => SendOp::LocalInvalidate {
                    rkey: self.invalidate_rkey(),
                },
                _ => return Err(EINVAL),
            }),
        }
    }
}

/// A list of send requests.
///
/// # Invariants
///
/// `next` is null or a request that satisfies the invariants of [`SendWr`].
pub struct SendWrs<'a, D: Driver> {
    current: *const bindings::ib_send_wr,
    next: *const bindings::ib_send_wr,
    ty: QpType,
    _list: PhantomData<&'a bindings::ib_send_wr>,
    _driver: PhantomData<fn() -> D>,
}

impl<D: Driver> SendWrs<'_, D> {
    /// Makes a list out of what a consumer posted.
    ///
    /// # Safety
    ///
    /// `first` must be a list of valid requests, posted on a queue pair of type `ty` of a device of
    /// `D`, that live for as long as the result.
    #[inline]
    pub(super) unsafe fn new(first: *const bindings::ib_send_wr, ty: QpType) -> Self {
        // INVARIANT: By the requirement.
        Self {
            current: first,
            next: first,
            ty,
            _list: PhantomData,
            _driver: PhantomData,
        }
    }

    /// Returns the request that was taken last, or the first one if none was.
    #[inline]
    pub(super) fn current(&self) -> *const bindings::ib_send_wr {
        self.current
    }
}

impl<'a, D: Driver> Iterator for SendWrs<'a, D> {
    type Item = SendWr<'a, D>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        // SAFETY: By the type invariant.
        let next = unsafe { self.next.as_ref() }?.next;
        let raw = NonNull::new(self.next.cast_mut())?;

        self.current = self.next;
        // INVARIANT: The rest of the list is as valid as this request.
        self.next = next;
        // INVARIANT: By the type invariant of the list.
        Some(SendWr {
            raw,
            ty: self.ty,
            _request: PhantomData,
            _driver: PhantomData,
        })
    }
}

/// A receive request.
pub struct RecvWr<'a>(&'a bindings::ib_recv_wr);

impl<'a> RecvWr<'a> {
    /// Returns the consumer's identifier of the request.
    #[inline]
    pub fn id(&self) -> u64 {
        // SAFETY: The members of the union are an integer and a pointer of the same size, which C
        // drivers treat alike.
        unsafe { self.0.__bindgen_anon_1.wr_id }
    }

    /// Returns the segments to receive into.
    #[inline]
    pub fn sges(&self) -> &'a [Sge] {
        // SAFETY: The consumer passes as many segments as it says, and keeps them while it posts.
        unsafe { sges(self.0.sg_list, self.0.num_sge) }
    }
}

/// A list of receive requests.
///
/// # Invariants
///
/// `next` is null or a valid request.
pub struct RecvWrs<'a> {
    current: *const bindings::ib_recv_wr,
    next: *const bindings::ib_recv_wr,
    _list: PhantomData<&'a bindings::ib_recv_wr>,
}

impl RecvWrs<'_> {
    /// Makes a list out of what a consumer posted.
    ///
    /// # Safety
    ///
    /// `first` must be a list of valid requests that live for as long as the result.
    #[inline]
    pub(super) unsafe fn new(first: *const bindings::ib_recv_wr) -> Self {
        // INVARIANT: By the requirement.
        Self {
            current: first,
            next: first,
            _list: PhantomData,
        }
    }

    /// Returns the request that was taken last, or the first one if none was.
    #[inline]
    pub(super) fn current(&self) -> *const bindings::ib_recv_wr {
        self.current
    }
}

impl<'a> Iterator for RecvWrs<'a> {
    type Item = RecvWr<'a>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        // SAFETY: By the type invariant.
        let raw = unsafe { self.next.as_ref() }?;

        self.current = self.next;
        // INVARIANT: The rest of the list is as valid as this request.
        self.next = raw.next;
        Some(RecvWr(raw))
    }
}
