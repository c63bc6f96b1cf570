// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! The PCI driver: how an adapter is brought up and taken down.
//!
//! Bringing up follows the order that the device expects: shared region, interrupts, activation,
//! registration with the RDMA core. Taking down is the reverse and is written down as the order of
//! the fields of [`Data`]; it also ends a probe that failed half way.
//!
//! The network function of the adapter may be bound later, earlier or again: the RDMA device is
//! associated with its net device whenever there is one.
//!
//! This is the only file of the driver with `unsafe` code: the promises that set-up functions ask
//! for.

use crate::{
    adapter::Adapter,
    device::{
        Pvrdma,
        State, //
    },
    irq::{
        self,
        Handler, //
    },
};
use core::marker::PhantomPinned;
use kernel::{
    device::{
        Bound,
        Core, //
    },
    dma::{
        Device as _,
        DmaMask, //
    },
    irq::Registration,
    pci,
    prelude::*,
    rdma::{
        self,
        Guid,
        RegisterOptions,
        UnregisteredDevice, //
    },
    sync::{
        aref::ARef,
        Arc, //
    },
};

/// PCI device id of the adapter.
const PVRDMA: u32 = 0x0820;

/// Name of the driver, the same as that of the C driver: udev rules know it.
pub(crate) const NAME: &CStr = c"vmw_pvrdma";

/// The PCI driver.
pub(crate) struct Driver;

/// What belongs to a bound adapter, in the order in which it is taken down.
#[pin_data]
pub(crate) struct Data<'bound> {
    /// Unregistered first: nobody uses the device any more afterwards.
    rdma: rdma::Registration<'bound, Pvrdma>,
    /// Must be declared after `rdma`: destroying objects needs answers.
    interrupts: Interrupts<'bound>,
    /// Must be declared after `interrupts`, which borrows it.
    vectors: pci::IrqVectorRegistration<'bound>,
    /// The last reference, as those above have theirs: the device is reset and memory freed.
    adapter: Arc<Adapter<'bound>>,
    /// Keeps `vectors` where `interrupts` found it.
    #[pin]
    _pin: PhantomPinned,
}

/// The interrupt handlers.
///
/// When dropped, the device is told to be quiet before the handlers go away.
struct Interrupts<'a> {
    _handlers: KVec<Pin<KBox<Registration<'a, Handler<'a>>>>>,
    adapter: Arc<Adapter<'a>>,
}

impl<'a> Interrupts<'a> {
    /// Requests the interrupts of all `vectors`.
    ///
    /// # Safety
    ///
    /// The result must not be forgotten.
    unsafe fn new(
        vectors: &'a pci::IrqVectorRegistration<'a>,
        adapter: &Arc<Adapter<'a>>,
        ibdev: &ARef<rdma::Device<Pvrdma>>,
    ) -> Result<Self> {
        let mut handlers = KVec::with_capacity(vectors.len(), GFP_KERNEL)?;

        for (index, role) in irq::roles(vectors).enumerate() {
            let handler = Handler::new(role, adapter.clone(), ibdev.clone());
            let request = vectors.index(index)?.into();
            // SAFETY: The registration is owned by `Self`, which by the requirement is dropped.
            let registration =
                unsafe { Registration::new(request, role.flags(), NAME, Ok(handler)) };

            handlers.push(KBox::pin_init(registration, GFP_KERNEL)?, GFP_KERNEL)?;
        }

        Ok(Self {
            _handlers: handlers,
            adapter: adapter.clone(),
        })
    }
}

impl Drop for Interrupts<'_> {
    fn drop(&mut self) {
        self.adapter.mask_interrupts();
    }
}

kernel::pci_device_table!(
    PCI_TABLE,
    <Driver as pci::Driver>::IdInfo,
    [(pci::DeviceId::from_id(pci::Vendor::VMWARE, PVRDMA), ())]
);

impl pci::Driver for Driver {
    type IdInfo = ();
    type Data<'bound> = Data<'bound>;

    const ID_TABLE: pci::IdTable<Self::IdInfo> = &PCI_TABLE;

    fn probe<'bound>(
        pdev: &'bound pci::Device<Core<'_>>,
        _info: Option<&'bound Self::IdInfo>,
    ) -> impl PinInit<Self::Data<'bound>, Error> + 'bound {
        pin_init::pin_init_scope(move || {
            pdev.enable_device_mem()?;
            set_up_dma(pdev)?;
            pdev.set_master();

            let pdev: &'bound pci::Device<Bound> = pdev;
            let adapter = Arc::pin_init(Adapter::new(pdev), GFP_KERNEL)?;
            let ibdev = rdma_device(&adapter)?;
            let handle = ibdev.handle();
            let vectors = irq::vectors(pdev)
                .inspect_err(|error| dev_err!(pdev, "no interrupts: {:?}\n", error))?;

            Ok(try_pin_init!(Data {
                adapter,
                vectors,
                interrupts: {
                    // SAFETY: `vectors` has its final place in `Data`, which is not `Unpin`, and
                    // goes away after `interrupts`: it is declared later and initialised earlier.
                    let vectors = unsafe { &*core::ptr::from_ref(vectors) };

                    // SAFETY: It becomes part of `Data`, which the driver core never forgets.
                    unsafe { Interrupts::new(vectors, adapter, &handle) }?
                },
                rdma: {
                    adapter.unmask_interrupts();
                    adapter.activate()?;
                    register(pdev, ibdev, adapter)?
                },
                _pin: PhantomPinned,
            }))
        })
    }
}

/// Tells the kernel how the device addresses memory.
fn set_up_dma(pdev: &pci::Device<Core<'_>>) -> Result {
    // SAFETY: This is the probe function; nothing was allocated or mapped for DMA yet.
    unsafe { pdev.dma_set_mask_and_coherent(DmaMask::new::<64>()) }?;

    // SAFETY: As above.
    unsafe { pdev.dma_set_max_seg_size(u32::MAX) };
    Ok(())
}

/// Allocates the RDMA device.
fn rdma_device(adapter: &Adapter<'_>) -> Result<UnregisteredDevice<Pvrdma>> {
    let caps = adapter.caps();
    let mut ibdev = UnregisteredDevice::new()?;

    ibdev.set_node_guid(Guid(caps.node_guid));
    ibdev.set_ports(caps.phys_port_cnt.into());
    ibdev.set_num_comp_vectors(1);
    Ok(ibdev)
}

/// Registers the RDMA device.
fn register<'bound>(
    pdev: &'bound pci::Device<Bound>,
    ibdev: UnregisteredDevice<Pvrdma>,
    adapter: &Arc<Adapter<'bound>>,
) -> Result<rdma::Registration<'bound, Pvrdma>> {
    let options = RegisterOptions {
        srq: adapter.caps().max_srq != 0,
    };

    // SAFETY: The registration becomes part of `Data`, which the driver core never forgets.
    unsafe { rdma::Registration::new(pdev.as_ref(), ibdev, options, State::new(adapter.clone())) }
}
