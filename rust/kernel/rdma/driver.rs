// SPDX-License-Identifier: GPL-2.0

//! The trait of an RDMA device driver.

use super::{
    ah::AddressHandle,
    attr::{
        DeviceAttr,
        PortAttr,
        PortEvent,
        PortImmutable,
        PortModify, //
    },
    counters::CounterName,
    cq::CompletionQueue,
    device::Ctx,
    enums::{
        DriverId,
        LinkLayer, //
    },
    gid::{
        Gid,
        GidEntry, //
    },
    mr::MemoryRegion,
    netdev::NetDevice,
    pd::ProtectionDomain,
    qp::QueuePair,
    srq::SharedReceiveQueue,
    ucontext::UserContext, //
};
use crate::{
    error::VTABLE_DEFAULT_ERROR,
    fmt,
    prelude::*, //
};

/// Values of the three classic sysfs attributes of an RDMA device.
///
/// They appear below `/sys/class/infiniband/<device>/` and are read by older tools.
#[derive(Clone, Copy)]
pub struct Identity {
    /// Content of `hca_type`.
    pub hca_type: &'static CStr,
    /// Content of `hw_rev`.
    pub hw_rev: &'static CStr,
    /// Content of `board_id`.
    pub board_id: &'static CStr,
}

/// An RDMA device driver.
///
/// The implementing type names the types of the objects and answers the questions about the device
/// itself. It is usually an empty type; the state of a device lives in its
/// [`RegistrationData`](Driver::RegistrationData).
///
/// All methods may sleep unless said otherwise.
#[vtable]
pub trait Driver: Sized + Send + Sync + 'static {
    /// State of a registered device.
    ///
    /// It is owned by the [`Registration`](super::Registration) and reached through [`Ctx`]. The
    /// lifetime is that of the binding of the parent device, so it may hold references to BARs and
    /// interrupts.
    type RegistrationData<'a>: Send + Sync + 'a
    where
        Self: 'a;

    /// Context of a user process.
    type Ucontext: UserContext<Driver = Self>;
    /// Protection domain.
    type Pd: ProtectionDomain<Driver = Self>;
    /// Completion queue.
    type Cq: CompletionQueue<Driver = Self>;
    /// Queue pair.
    type Qp: QueuePair<Driver = Self>;
    /// Shared receive queue; only used if the device was registered with support for it.
    type Srq: SharedReceiveQueue<Driver = Self>;
    /// Address handle.
    type Ah: AddressHandle<Driver = Self>;
    /// Memory region.
    type Mr: MemoryRegion<Driver = Self>;

    /// Pattern of the device names, with one `%d`.
    const NAME: &'static CStr;

    /// Identity in the user-space ABI.
    const ID: DriverId;

    /// Version of the driver's part of the user-space ABI.
    const UVERBS_ABI: u32;

    /// Link layer of all ports.
    const LINK_LAYER: LinkLayer;

    /// The classic sysfs attributes, for drivers that always had them.
    const IDENTITY: Option<Identity> = None;

    /// Names of the hardware counters of a port; see [`Driver::read_counter`].
    const COUNTERS: &'static [CounterName] = &[];

    /// Returns the properties of the device.
    ///
    /// The call is refused for a caller that passes driver data, so there is none.
    fn query_device(ctx: &Ctx<'_, Self>) -> Result<DeviceAttr>;

    /// Returns the properties of a port.
    fn query_port(ctx: &Ctx<'_, Self>, port: u32) -> Result<PortAttr>;

    /// Returns what never changes about a port; called once a port while registering.
    fn port_immutable(ctx: &Ctx<'_, Self>, port: u32) -> Result<PortImmutable>;

    /// Returns an entry of the P_Key table.
    fn query_pkey(ctx: &Ctx<'_, Self>, port: u32, index: u16) -> Result<u16>;

    /// Returns an entry of the GID table.
    ///
    /// The core keeps the table of a RoCE port itself and does not ask for it.
    fn query_gid(ctx: &Ctx<'_, Self>, port: u32, index: u32) -> Result<Gid>;

    /// Puts an entry into the GID table of a RoCE port.
    fn add_gid(ctx: &Ctx<'_, Self>, entry: &GidEntry<'_>) -> Result;

    /// Removes an entry from the GID table of a RoCE port.
    ///
    /// The core forgets the entry whatever the answer is.
    fn del_gid(ctx: &Ctx<'_, Self>, entry: &GidEntry<'_>) -> Result;

    /// Changes a port.
    ///
    /// Without this method the core answers for RoCE ports itself.
    fn modify_port(_ctx: &Ctx<'_, Self>, _port: u32, _change: &PortModify) -> Result {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Writes the firmware version; at most 31 bytes are kept.
    fn firmware_version(ctx: &Ctx<'_, Self>, out: &mut dyn fmt::Write) -> fmt::Result;

    /// Returns the value of the counter of a port that is at `index` in [`Driver::COUNTERS`].
    fn read_counter(_ctx: &Ctx<'_, Self>, _port: u32, _index: usize) -> u64 {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Tells that the net device of a port went up or down.
    ///
    /// Called with the RTNL held. Reporting the state to consumers, with
    /// [`Device::dispatch`](super::Device::dispatch), is the business of the driver.
    fn port_event(_ctx: &Ctx<'_, Self>, _port: u32, _event: PortEvent) {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Returns the port that a net device carries the traffic of, if any.
    ///
    /// With this method the core's association of ports and net devices is kept up to date: it is
    /// asked for each net device that exists when the device is registered and for each one that
    /// appears later, so the order in which drivers are bound does not matter. Called with the RTNL
    /// held; it must not sleep for long.
    fn netdev_port(_ctx: &Ctx<'_, Self>, _netdev: &NetDevice) -> Option<u32> {
        build_error!(VTABLE_DEFAULT_ERROR)
    }
}
