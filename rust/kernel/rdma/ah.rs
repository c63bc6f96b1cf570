// SPDX-License-Identifier: GPL-2.0

//! Addresses and address handles.

use super::{
    device::{
        Ctx,
        Device, //
    },
    gid::Gid,
    pd::Pd,
    Driver, //
};
use crate::{
    bindings,
    prelude::*,
    types::Opaque, //
};

/// Global part of an address.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct GlobalRoute {
    /// Identifier of the destination.
    pub dgid: Gid,
    /// Flow label.
    pub flow_label: u32,
    /// Index of the source in the GID table.
    pub sgid_index: u8,
    /// Hop limit.
    pub hop_limit: u8,
    /// Traffic class.
    pub traffic_class: u8,
}

/// An address of a RoCE destination.
///
/// Corresponds to the C `struct rdma_ah_attr`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct AhAttr {
    /// Global part; RoCE does not work without.
    pub grh: Option<GlobalRoute>,
    /// Port to send from.
    pub port: u32,
    /// Service level.
    pub sl: u8,
    /// Static rate limit.
    pub static_rate: u8,
    /// Ethernet address of the next hop.
    pub dmac: [u8; 6],
}

impl AhAttr {
    /// Reads an address.
    ///
    /// # Errors
    ///
    /// `EINVAL` if it is not a RoCE address.
    #[inline]
    pub(super) fn read(raw: &bindings::rdma_ah_attr) -> Result<Self> {
        if raw.type_ != bindings::rdma_ah_attr_type_RDMA_AH_ATTR_TYPE_ROCE {
            return Err(EINVAL);
        }
        let has_grh = u32::from(raw.ah_flags) & bindings::ib_ah_flags_IB_AH_GRH != 0;

        Ok(Self {
            grh: has_grh.then(|| GlobalRoute {
                dgid: Gid::from_raw(&raw.grh.dgid),
                flow_label: raw.grh.flow_label,
                sgid_index: raw.grh.sgid_index,
                hop_limit: raw.grh.hop_limit,
                traffic_class: raw.grh.traffic_class,
            }),
            port: raw.port_num,
            sl: raw.sl,
            static_rate: raw.static_rate,
            // SAFETY: The type was checked, and the member consists of plain bytes.
            dmac: unsafe { raw.__bindgen_anon_1.roce.dmac },
        })
    }

    /// Writes an address into a structure that was zeroed.
    #[inline]
    pub(super) fn write(&self, raw: &mut bindings::rdma_ah_attr) {
        raw.type_ = bindings::rdma_ah_attr_type_RDMA_AH_ATTR_TYPE_ROCE;
        if let Some(grh) = &self.grh {
            // CAST: The flag is one bit.
            raw.ah_flags = bindings::ib_ah_flags_IB_AH_GRH as u8;
            raw.grh.dgid.raw = grh.dgid.0;
            raw.grh.flow_label = grh.flow_label;
            raw.grh.sgid_index = grh.sgid_index;
            raw.grh.hop_limit = grh.hop_limit;
            raw.grh.traffic_class = grh.traffic_class;
        }
        raw.port_num = self.port;
        raw.sl = self.sl;
        raw.static_rate = self.static_rate;
        raw.__bindgen_anon_1.roce.dmac = self.dmac;
    }
}

/// The driver's part of an address handle.
#[vtable]
pub trait AddressHandle: Sized + Send + Sync + 'static {
    /// The driver.
    type Driver: Driver<Ah = Self>;

    /// Creates an address handle for a kernel consumer.
    ///
    /// It must not sleep unless `may_sleep` is set.
    fn create(
        ctx: &Ctx<'_, Self::Driver>,
        pd: &Pd<Self::Driver>,
        attr: &AhAttr,
        may_sleep: bool,
    ) -> impl PinInit<Self, Error>;

    /// Destroys the address handle, which is dropped afterwards.
    ///
    /// Neither may sleep unless `may_sleep` is set.
    fn destroy(ctx: &Ctx<'_, Self::Driver>, this: &Ah<Self::Driver>, may_sleep: bool);
}

/// An address handle.
///
/// It dereferences to the driver's part.
#[repr(C)]
pub struct Ah<D: Driver> {
    ib: Opaque<bindings::ib_ah>,
    data: D::Ah,
}

core_object!(Ah, ib_ah, Ah);

impl<D: Driver> Ah<D> {
    /// Creates the driver's part of an address handle.
    ///
    /// # Safety
    ///
    /// To be called by the `create_ah` callback with its arguments.
    pub(super) unsafe fn create(
        ctx: &Ctx<'_, D>,
        raw: *mut bindings::ib_ah,
        attr: *mut bindings::rdma_ah_init_attr,
    ) -> Result {
        // SAFETY: The core passes a valid structure with a valid address in it.
        let attr = unsafe { &*attr };
        let may_sleep = attr.flags & bindings::rdma_create_ah_flags_RDMA_CREATE_AH_SLEEPABLE != 0;
        // SAFETY: As above.
        let address = AhAttr::read(unsafe { &*attr.ah_attr })?;
        // SAFETY: _rdma_create_ah() in drivers/infiniband/core/verbs.c set the protection domain,
        // which lives longer than the address handle.
        let pd = unsafe { Pd::from_raw((*raw).pd) };
        let this = raw.cast::<Self>();

        // SAFETY: `SIZE` bytes are reserved (`size_ib_ah`). The memory does not move until the core
        // frees it, which it does if this fails or after `destroy_ah`.
        unsafe {
            pin_init::raw_try_init(
                &raw mut (*this).data,
                D::Ah::create(ctx, pd, &address, may_sleep),
            )
        }
    }

    /// Destroys the driver's part of an address handle.
    ///
    /// # Safety
    ///
    /// `raw` must be an address handle that was created and that nobody uses any more.
    pub(super) unsafe fn destroy(ctx: &Ctx<'_, D>, raw: *mut bindings::ib_ah, flags: u32) {
        let may_sleep = flags & bindings::rdma_destroy_ah_flags_RDMA_DESTROY_AH_SLEEPABLE != 0;

        // SAFETY: By the requirement.
        D::Ah::destroy(ctx, unsafe { Self::from_raw(raw) }, may_sleep);
        // SAFETY: By the requirement; it is not used after this.
        unsafe { core::ptr::drop_in_place(&raw mut (*raw.cast::<Self>()).data) };
    }
}
