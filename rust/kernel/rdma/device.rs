// SPDX-License-Identifier: GPL-2.0

//! RDMA devices and their registration.
//!
//! C header: [`include/rdma/ib_verbs.h`](srctree/include/rdma/ib_verbs.h)

use super::{
    gid::Guid,
    kmalloc_size,
    netdev::Follower,
    ops::Ops,
    Driver, //
};
use crate::{
    bindings,
    device,
    error::to_result,
    prelude::*,
    sync::{
        aref::{
            ARef,
            AlwaysRefCounted, //
        },
        atomic::{
            Atomic,
            Relaxed, //
        },
    },
    types::Opaque, //
};
use core::{
    cell::UnsafeCell,
    ops::Deref,
    ptr::{
        null_mut,
        NonNull, //
    },
};

/// An RDMA device.
///
/// The memory is counted with the embedded device, so an [`ARef`] keeps it alive also after the
/// device was unregistered.
///
/// # Invariants
///
/// - `ib` is at offset 0 and was initialised by `_ib_alloc_device()`.
/// - While a callback of the device may run, `data` points to the registration data.
#[repr(C)]
pub struct Device<D: Driver> {
    ib: Opaque<bindings::ib_device>,
    data: UnsafeCell<NonNull<D::RegistrationData<'static>>>,
}

// SAFETY: The device is counted and may be released from any thread.
unsafe impl<D: Driver> Send for Device<D> {}

// SAFETY: `ib` is protected by the core. `data` is written only while no callback can run and the
// registration data are `Sync`.
unsafe impl<D: Driver> Sync for Device<D> {}

// SAFETY: The reference counter is that of the embedded device; ib_device_release() in
// drivers/infiniband/core/device.c frees the memory with the last reference.
unsafe impl<D: Driver> AlwaysRefCounted for Device<D> {
    #[inline]
    fn inc_ref(&self) {
        // SAFETY: The shared reference proves that the counter is not zero.
        unsafe { bindings::get_device(self.as_ref().as_raw()) };
    }

    #[inline]
    unsafe fn dec_ref(obj: NonNull<Self>) {
        // SAFETY: The caller owns a reference.
        let dev = unsafe { obj.as_ref() }.as_ref().as_raw();
        // SAFETY: As above.
        unsafe { bindings::put_device(dev) };
    }
}

impl<D: Driver> AsRef<device::Device> for Device<D> {
    #[inline]
    fn as_ref(&self) -> &device::Device {
        // SAFETY: The union member `dev` is the one that is in use for a device that is no
        // `ib_core_device`, and `_ib_alloc_device()` initialised it.
        let dev = unsafe { &raw mut (*self.as_raw()).__bindgen_anon_1.dev };
        // SAFETY: As above; the result lives as long as the reference to `self`.
        unsafe { device::Device::from_raw(dev) }
    }
}

/// Something that happened to a device or to a port.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DeviceEvent {
    /// The device failed for good.
    Fatal,
    /// The port became active.
    PortActive(u32),
    /// The port is not usable any more.
    PortErr(u32),
    /// The local identifier of the port changed.
    LidChange(u32),
    /// The P_Key table of the port changed.
    PkeyChange(u32),
    /// The subnet manager of the port changed.
    SmChange(u32),
    /// Clients of the subnet manager have to register again.
    ClientReregister(u32),
    /// The GID table of the port changed.
    GidChange(u32),
}

impl<D: Driver> Device<D> {
    /// Returns the C structure.
    #[inline]
    pub(super) fn as_raw(&self) -> *mut bindings::ib_device {
        self.ib.get()
    }

    /// Makes a reference out of the C pointer.
    ///
    /// # Safety
    ///
    /// `ptr` must point to a live device that was allocated by [`UnregisteredDevice::new`] for the
    /// same `D`.
    #[inline]
    pub(super) unsafe fn from_raw<'a>(ptr: *mut bindings::ib_device) -> &'a Self {
        // SAFETY: By the requirement; the type invariant places `ib` at offset 0.
        unsafe { &*ptr.cast() }
    }

    /// Calls `f` with the device and its registration data.
    ///
    /// The lifetime of the data is erased; the higher-ranked closure keeps it from escaping.
    ///
    /// # Safety
    ///
    /// - As for [`from_raw`](Self::from_raw).
    /// - The caller must be a callback of the device, which cannot run before the registration data
    ///   were set nor after `ib_unregister_device()` returned.
    #[inline]
    pub(super) unsafe fn with<R>(
        ptr: *mut bindings::ib_device,
        f: impl for<'a> FnOnce(&Ctx<'a, D>) -> R,
    ) -> R {
        // SAFETY: By the requirement.
        let dev = unsafe { Self::from_raw(ptr) };
        // SAFETY: By the type invariant, as this is a callback. Lifetimes have no influence on the
        // layout.
        let data = unsafe { (*dev.data.get()).cast::<D::RegistrationData<'_>>().as_ref() };

        f(&Ctx { dev, data })
    }

    /// Tells the consumers of the device about an event.
    ///
    /// May be called in any context. Before and after the device is registered the event is
    /// dropped, as nobody is there to hear it.
    pub fn dispatch(&self, event: DeviceEvent) {
        let (kind, port) = match event {
            DeviceEvent::Fatal => (bindings::ib_event_type_IB_EVENT_DEVICE_FATAL, 0),
            DeviceEvent::PortActive(p) => (bindings::ib_event_type_IB_EVENT_PORT_ACTIVE, p),
            DeviceEvent::PortErr(p) => (bindings::ib_event_type_IB_EVENT_PORT_ERR, p),
            DeviceEvent::LidChange(p) => (bindings::ib_event_type_IB_EVENT_LID_CHANGE, p),
            DeviceEvent::PkeyChange(p) => (bindings::ib_event_type_IB_EVENT_PKEY_CHANGE, p),
            DeviceEvent::SmChange(p) => (bindings::ib_event_type_IB_EVENT_SM_CHANGE, p),
            DeviceEvent::ClientReregister(p) => {
                (bindings::ib_event_type_IB_EVENT_CLIENT_REREGISTER, p)
            }
            DeviceEvent::GidChange(p) => (bindings::ib_event_type_IB_EVENT_GID_CHANGE, p),
        };

        if !self.try_get() {
            return;
        }

        let mut raw: bindings::ib_event = pin_init::zeroed();
        raw.device = self.as_raw();
        raw.element.port_num = port;
        raw.event = kind;

        // SAFETY: The reference taken above makes ib_unregister_device() wait, and after that
        // ib_cache_cleanup_one() in drivers/infiniband/core/cache.c waits for the work that is
        // queued here. The function copies the event and may be called in any context.
        unsafe { bindings::ib_dispatch_event(&raw) };

        // SAFETY: `try_get` took the reference.
        unsafe { bindings::ib_device_put(self.as_raw()) };
    }

    /// Takes a reference that keeps the device registered; fails when it is not.
    ///
    /// Same as the C inline function `ib_device_try_get()`.
    fn try_get(&self) -> bool {
        // SAFETY: `refcount` is a valid `refcount_t`, whose only content is an `atomic_t`, for as
        // long as the memory of the device is there. It is only accessed with atomic operations.
        let refs = unsafe { Atomic::from_ptr(&raw mut (*self.as_raw()).refcount.refs.counter) };
        let mut old: i32 = refs.load(Relaxed);

        // A negative value is the saturated state of `refcount_t`, which must be left alone.
        loop {
            match old {
                0 => return false,
                ..0 => return true,
                1.. => match refs.cmpxchg(old, old.saturating_add(1), Relaxed) {
                    Ok(_) => return true,
                    Err(now) => old = now,
                },
            }
        }
    }

    /// Associates a net device with a port, or removes the association.
    ///
    /// # Safety
    ///
    /// - `ib_dealloc_device()` must not have been called yet, nor be called meanwhile.
    /// - `netdev` must be null or point to a registered net device that stays so meanwhile.
    #[inline]
    pub(super) unsafe fn set_netdev(&self, netdev: *mut bindings::net_device, port: u32) -> Result {
        // SAFETY: By the requirements. The function takes its own reference to the net device.
        to_result(unsafe { bindings::ib_device_set_netdev(self.as_raw(), netdev, port) })
    }
}

/// A device and its registration data inside of a callback.
///
/// It dereferences to the registration data.
pub struct Ctx<'a, D: Driver> {
    dev: &'a Device<D>,
    data: &'a D::RegistrationData<'a>,
}

impl<'a, D: Driver> Ctx<'a, D> {
    /// Returns the device.
    #[inline]
    pub fn device(&self) -> &'a Device<D> {
        self.dev
    }
}

impl<'a, D: Driver> Deref for Ctx<'a, D> {
    type Target = D::RegistrationData<'a>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        self.data
    }
}

/// A device that consumers do not see yet.
///
/// # Invariants
///
/// The pointer is to a device on which `ib_dealloc_device()` was not called yet; calling it is the
/// privilege of this object.
pub struct UnregisteredDevice<D: Driver>(NonNull<Device<D>>);

// SAFETY: The device may be set up and released from any thread.
unsafe impl<D: Driver> Send for UnregisteredDevice<D> {}

impl<D: Driver> UnregisteredDevice<D> {
    /// Allocates a device, with one port and one completion vector.
    pub fn new() -> Result<Self> {
        const_assert!(
            core::mem::offset_of!(Device<D>, ib) == 0,
            "struct ib_device must be at offset 0"
        );

        // SAFETY: The size covers the whole `Device<D>` and its alignment, and `init_net` lives for
        // ever.
        let raw = unsafe {
            bindings::_ib_alloc_device(kmalloc_size::<Device<D>>(), &raw mut bindings::init_net)
        };
        let dev = NonNull::new(raw.cast::<Device<D>>()).ok_or(ENOMEM)?;

        // SAFETY: The memory was just allocated and nobody else knows it.
        unsafe { (&raw mut (*dev.as_ptr()).data).write(UnsafeCell::new(NonNull::dangling())) };

        // INVARIANT: The device was just allocated.
        let mut dev = Self(dev);
        // CAST: The node types are small numbers.
        // SAFETY: As in the setters below.
        unsafe { (*dev.as_raw()).node_type = bindings::RDMA_NODE_IB_CA as u8 };
        dev.set_ports(1);
        dev.set_num_comp_vectors(1);
        Ok(dev)
    }

    /// Returns the C structure.
    #[inline]
    fn as_raw(&self) -> *mut bindings::ib_device {
        self.0.as_ptr().cast()
    }

    /// Returns a counted reference, to be used once the device is registered.
    #[inline]
    pub fn handle(&self) -> ARef<Device<D>> {
        // SAFETY: Valid by the type invariant.
        unsafe { self.0.as_ref() }.into()
    }

    /// Sets the identifier of the node.
    #[inline]
    pub fn set_node_guid(&mut self, guid: Guid) {
        // SAFETY: Valid by the type invariant. As long as the device is not registered nobody else
        // uses the member.
        unsafe { (*self.as_raw()).node_guid = guid.to_raw() };
    }

    /// Sets the number of ports.
    #[inline]
    pub fn set_ports(&mut self, ports: u32) {
        // SAFETY: As for `set_node_guid`.
        unsafe { (*self.as_raw()).phys_port_cnt = ports };
    }

    /// Sets the number of completion vectors.
    #[inline]
    pub fn set_num_comp_vectors(&mut self, vectors: u16) {
        // SAFETY: As for `set_node_guid`.
        unsafe { (*self.as_raw()).num_comp_vectors = vectors.into() };
    }
}

impl<D: Driver> Drop for UnregisteredDevice<D> {
    fn drop(&mut self) {
        // SAFETY: By the type invariant nobody did this before. The device is not registered: its
        // registration, if there was one, ended before.
        unsafe { bindings::ib_dealloc_device(self.as_raw()) };
    }
}

/// Choices made when a device is registered.
#[derive(Clone, Copy, Debug, Default)]
pub struct RegisterOptions {
    /// Offer shared receive queues.
    pub srq: bool,
}

/// A registered device.
///
/// When it is dropped, the device is unregistered first, which waits for all callbacks; then the
/// registration data and at last the device go away.
pub struct Registration<'a, D: Driver> {
    // The order is that of destruction.
    follower: Option<Pin<KBox<Follower<D>>>>,
    _data: Pin<KBox<D::RegistrationData<'a>>>,
    dev: UnregisteredDevice<D>,
}

// SAFETY: Unregistering may be done from any thread, and the registration data are `Send`.
unsafe impl<D: Driver> Send for Registration<'_, D> {}

impl<'a, D: Driver> Registration<'a, D> {
    /// Registers a device with the given data.
    ///
    /// Callbacks are called before this function returns: the hardware must be ready to answer.
    ///
    /// # Safety
    ///
    /// The result must not be forgotten, for example with `mem::forget()`: the device has to be
    /// unregistered before the parent is unbound and before `'a` ends.
    pub unsafe fn new(
        parent: &'a device::Device<device::Bound>,
        dev: UnregisteredDevice<D>,
        options: RegisterOptions,
        data: impl PinInit<D::RegistrationData<'a>, Error>,
    ) -> Result<Self> {
        let data = KBox::pin_init(data, GFP_KERNEL)?;

        // SAFETY: As in the setters of `UnregisteredDevice`.
        unsafe { (*dev.as_raw()).__bindgen_anon_1.dev.parent = parent.as_raw() };

        // SAFETY: The device is valid by the type invariant of `UnregisteredDevice`.
        let this = unsafe { dev.0.as_ref() };

        // SAFETY: No callback can run yet, so nobody reads the pointer.
        unsafe { *this.data.get() = NonNull::from(&*data).cast() };

        // SAFETY: The table is a constant; ib_set_device_ops() in
        // drivers/infiniband/core/device.c copies the entries.
        unsafe { bindings::ib_set_device_ops(this.as_raw(), &Ops::<D>::TABLE) };
        if options.srq {
            // SAFETY: As above.
            unsafe { bindings::ib_set_device_ops(this.as_raw(), &Ops::<D>::SRQ_TABLE) };
        }

        // From now on `Driver::netdev_port` may be called. It is declared after `data` and so
        // dropped before it if the registration fails.
        let follower = if D::HAS_NETDEV_PORT {
            // Has alloc_port_data() in drivers/infiniband/core/device.c done its work before the
            // follower and ib_register_device() can do it at the same time.
            // SAFETY: The device was not deallocated.
            unsafe { this.set_netdev(null_mut(), 1) }?;

            // SAFETY: The follower is dropped before `data` and `dev`, here and in `drop`.
            Some(KBox::pin_init(unsafe { Follower::new(dev.0) }, GFP_KERNEL)?)
        } else {
            None
        };

        // SAFETY: The device is set up completely, its name is a constant and the parent is bound.
        // If it fails the device is not registered and still allocated, see ib_register_device()
        // in drivers/infiniband/core/device.c.
        to_result(unsafe {
            bindings::ib_register_device(this.as_raw(), D::NAME.as_char_ptr(), parent.as_raw())
        })?;

        Ok(Self {
            follower,
            _data: data,
            dev,
        })
    }

    /// Returns the device.
    #[inline]
    pub fn device(&self) -> &Device<D> {
        // SAFETY: The device is valid by the type invariant of `UnregisteredDevice`.
        unsafe { self.dev.0.as_ref() }
    }
}

impl<D: Driver> Drop for Registration<'_, D> {
    fn drop(&mut self) {
        // SAFETY: The device is registered and the parent still bound. When the function returns
        // all clients have released their objects, and no callback runs or will run.
        unsafe { bindings::ib_unregister_device(self.device().as_raw()) };

        // Its callback uses both the registration data and the device.
        self.follower = None;
    }
}
