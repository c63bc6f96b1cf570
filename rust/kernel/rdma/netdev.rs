// SPDX-License-Identifier: GPL-2.0

//! Net devices of RDMA ports.
//!
//! C header: [`include/linux/netdevice.h`](srctree/include/linux/netdevice.h)

use super::{
    device::Device,
    Driver, //
};
use crate::{
    bindings,
    container_of,
    device,
    error::to_result,
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
    types::Opaque, //
};
use core::ptr::{
    null_mut,
    NonNull, //
};

/// A net device.
///
/// # Invariants
///
/// A reference exists only while the net device does.
#[repr(transparent)]
pub struct NetDevice(Opaque<bindings::net_device>);

impl NetDevice {
    /// Makes a reference out of the C pointer.
    ///
    /// # Safety
    ///
    /// `ptr` must point to a net device that exists for `'a`.
    #[inline]
    unsafe fn from_raw<'a>(ptr: *mut bindings::net_device) -> &'a Self {
        // SAFETY: By the requirement; `Self` is transparent.
        unsafe { &*ptr.cast() }
    }

    /// Returns the device that the net device belongs to, for example a PCI function.
    #[inline]
    pub fn parent(&self) -> Option<&device::Device> {
        // SAFETY: By the type invariant the net device exists; its parent does not change and is
        // kept by it.
        let parent = unsafe { (*self.0.get()).dev.parent };

        if parent.is_null() {
            return None;
        }
        // SAFETY: The parent is valid as above.
        Some(unsafe { device::Device::from_raw(parent) })
    }
}

/// Keeps the association of the ports of one device with net devices up to date.
///
/// Registering a notifier replays the events of all net devices that exist, and unregistering it
/// those of their disappearance, to this notifier alone; see `register_netdevice_notifier()` and
/// `unregister_netdevice_notifier()` in net/core/dev.c.
///
/// # Invariants
///
/// - `nb` is registered from the end of initialisation to `drop`.
/// - `current` is the net device that the device is associated with through `port`, or null. Both
///   are only changed with the RTNL held.
#[pin_data(PinnedDrop)]
pub(super) struct Follower<D: Driver> {
    #[pin]
    nb: Opaque<bindings::notifier_block>,
    dev: NonNull<Device<D>>,
    current: Atomic<*mut bindings::net_device>,
    port: Atomic<u32>,
}

// SAFETY: The device may be used from any thread.
unsafe impl<D: Driver> Send for Follower<D> {}

// SAFETY: As above; the other members are atomic or belong to the notifier chain.
unsafe impl<D: Driver> Sync for Follower<D> {}

impl<D: Driver> Follower<D> {
    /// Starts to follow the net devices.
    ///
    /// # Safety
    ///
    /// The follower must be dropped before the registration data of the device are and before
    /// `ib_dealloc_device()` is called.
    pub(super) unsafe fn new(dev: NonNull<Device<D>>) -> impl PinInit<Self, Error> {
        try_pin_init!(&this in Self {
            nb: Opaque::new(bindings::notifier_block {
                notifier_call: Some(Self::notify),
                ..pin_init::zeroed()
            }),
            dev,
            current: Atomic::new(null_mut()),
            port: Atomic::new(0),
            _: {
                // SAFETY: All fields are initialised. The notifier is pinned and unregistered
                // before it goes away: by `drop`, or by the function itself if it fails.
                to_result(unsafe {
                    bindings::register_netdevice_notifier(
                        Opaque::cast_into(&raw const (*this.as_ptr()).nb),
                    )
                })?
            },
        }? Error)
    }

    /// Handles an event of a net device.
    fn event(&self, event: usize, raw: *mut bindings::net_device) {
        // SAFETY: By the requirement of `new` the device was not deallocated.
        let dev = unsafe { self.dev.as_ref() };

        // CAST: The events are small numbers.
        match event as u32 {
            bindings::netdev_cmd_NETDEV_REGISTER => {
                // SAFETY: The RTNL is held, so the net device exists.
                let netdev = unsafe { NetDevice::from_raw(raw) };
                // SAFETY: The registration data are set before and dropped after the follower, so
                // this is as good as a callback of the device.
                let port =
                    unsafe { Device::<D>::with(dev.as_raw(), |ctx| D::netdev_port(ctx, netdev)) };

                let Some(port) = port else {
                    return;
                };
                // SAFETY: As above for both devices.
                match unsafe { dev.set_netdev(raw, port) } {
                    // INVARIANT: The association was made, and the RTNL is held.
                    Ok(()) => {
                        self.current.store(raw, Relaxed);
                        self.port.store(port, Relaxed);
                    }
                    Err(e) => {
                        dev_err!(
                            dev.as_ref(),
                            "cannot use net device for port {port}: {e:?}\n"
                        )
                    }
                }
            }
            bindings::netdev_cmd_NETDEV_UNREGISTER if self.current.load(Relaxed) == raw => {
                // SAFETY: As above; there is no net device.
                let result = unsafe { dev.set_netdev(null_mut(), self.port.load(Relaxed)) };

                if let Err(e) = result {
                    dev_err!(dev.as_ref(), "cannot let go of the net device: {e:?}\n");
                }
                // INVARIANT: The association was removed, and the RTNL is held.
                self.current.store(null_mut(), Relaxed);
            }
            _ => {}
        }
    }

    /// Callback of the notifier.
    ///
    /// # Safety
    ///
    /// To be called by the notifier chain of net devices only.
    unsafe extern "C" fn notify(
        nb: *mut bindings::notifier_block,
        event: crate::ffi::c_ulong,
        info: *mut crate::ffi::c_void,
    ) -> crate::ffi::c_int {
        // SAFETY: The notifier is the one inside of a live follower.
        let this = unsafe { &*container_of!(Opaque::cast_from(nb), Self, nb) };
        // SAFETY: All notifications of the chain start with this structure.
        let netdev = unsafe { (*info.cast::<bindings::netdev_notifier_info>()).dev };

        this.event(event, netdev);
        0
    }
}

#[pinned_drop]
impl<D: Driver> PinnedDrop for Follower<D> {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: The notifier is registered by the type invariant. It takes the RTNL, so it waits
        // for a callback that runs.
        unsafe { bindings::unregister_netdevice_notifier(self.nb.get()) };
    }
}
