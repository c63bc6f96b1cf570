// SPDX-License-Identifier: GPL-2.0

//! Work completions.

use super::{
    enums::{
        NetworkType,
        WcOpcode,
        WcStatus, //
    },
    events::QpEvents, //
};
use crate::{
    bindings,
    prelude::*, //
};
use core::marker::PhantomData;

/// What a completed receive request carries next to its data.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum WcData {
    /// Nothing.
    #[default]
    None,
    /// Immediate data, in network byte order.
    Imm(u32),
    /// A key that the peer had invalidated.
    Invalidate(u32),
}

/// A work completion.
///
/// Corresponds to the C `struct ib_wc`.
pub struct Wc<'a> {
    /// The consumer's identifier of the request.
    pub wr_id: u64,
    /// How it ended.
    pub status: WcStatus,
    /// What it was.
    pub opcode: WcOpcode,
    /// The vendor's details of an error.
    pub vendor_err: u32,
    /// Bytes received.
    pub byte_len: u32,
    /// The queue pair.
    pub qp: &'a QpEvents,
    /// What came next to the data.
    pub data: WcData,
    /// Queue pair number of the sender of a datagram.
    pub src_qp: u32,
    /// Whether a global route header is in front of the datagram.
    pub grh: bool,
    /// Index into the P_Key table.
    pub pkey_index: u16,
    /// Local identifier of the sender.
    pub slid: u32,
    /// Service level.
    pub sl: u8,
    /// Path bits of the destination.
    pub dlid_path_bits: u8,
    /// Port, for datagrams to the special queue pairs.
    pub port: u32,
    /// Ethernet address of the sender, if it is known.
    pub smac: Option<[u8; 6]>,
    /// VLAN, if it is known.
    pub vlan_id: Option<u16>,
    /// Kind of the network header, if it is known.
    pub network: Option<NetworkType>,
}

/// Room for work completions, given by a consumer that polls.
///
/// # Invariants
///
/// `base` points to `room` entries, the first `used` of which are initialised.
pub struct WcSlots<'a> {
    base: *mut bindings::ib_wc,
    room: usize,
    used: usize,
    _wc: PhantomData<&'a mut bindings::ib_wc>,
}

impl WcSlots<'_> {
    /// Makes room out of what the core passed.
    ///
    /// # Safety
    ///
    /// `base` must be valid for writing `room` entries for as long as the result is used.
    #[inline]
    pub(super) unsafe fn new(base: *mut bindings::ib_wc, room: usize) -> Self {
        // INVARIANT: By the requirement; no entry is used.
        Self {
            base,
            room,
            used: 0,
            _wc: PhantomData,
        }
    }

    /// Returns the number of entries that were filled.
    #[inline]
    pub fn used(&self) -> usize {
        self.used
    }

    /// Returns whether there is no room left.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.used == self.room
    }

    /// Fills the next entry, every byte of it.
    ///
    /// A completion of a queue pair that is being destroyed is dropped.
    ///
    /// # Errors
    ///
    /// `ENOSPC` if there is no room left.
    #[inline]
    pub fn push(&mut self, wc: &Wc<'_>) -> Result {
        if self.is_full() {
            return Err(ENOSPC);
        }
        let qp = wc.qp.object();
        if qp.is_null() {
            return Ok(());
        }

        let mut flags = 0;
        let mut raw: bindings::ib_wc = pin_init::zeroed();
        raw.__bindgen_anon_1.wr_id = wc.wr_id;
        raw.status = wc.status.into();
        raw.opcode = wc.opcode.into();
        raw.vendor_err = wc.vendor_err;
        raw.byte_len = wc.byte_len;
        raw.qp = qp;
        match wc.data {
            WcData::None => {}
            WcData::Imm(imm) => {
                flags |= bindings::ib_wc_flags_IB_WC_WITH_IMM;
                raw.ex.imm_data = imm;
            }
            WcData::Invalidate(key) => {
                flags |= bindings::ib_wc_flags_IB_WC_WITH_INVALIDATE;
                raw.ex.invalidate_rkey = key;
            }
        }
        raw.src_qp = wc.src_qp;
        if wc.grh {
            flags |= bindings::ib_wc_flags_IB_WC_GRH;
        }
        raw.pkey_index = wc.pkey_index;
        raw.slid = wc.slid;
        raw.sl = wc.sl;
        raw.dlid_path_bits = wc.dlid_path_bits;
        raw.port_num = wc.port;
        if let Some(smac) = wc.smac {
            flags |= bindings::ib_wc_flags_IB_WC_WITH_SMAC;
            raw.smac = smac;
        }
        // What consumers take for "no VLAN" if they do not look at the flag.
        raw.vlan_id = 0xffff;
        if let Some(vlan_id) = wc.vlan_id {
            flags |= bindings::ib_wc_flags_IB_WC_WITH_VLAN;
            raw.vlan_id = vlan_id;
        }
        if let Some(network) = wc.network {
            flags |= bindings::ib_wc_flags_IB_WC_WITH_NETWORK_HDR_TYPE;
            raw.network_hdr_type = u32::from(network).try_into()?;
        }
        raw.wc_flags = flags.try_into()?;

        // SAFETY: There is room by the check above and the type invariant.
        unsafe { self.base.add(self.used).write(raw) };
        // INVARIANT: The entry was initialised.
        self.used += 1;
        Ok(())
    }
}
