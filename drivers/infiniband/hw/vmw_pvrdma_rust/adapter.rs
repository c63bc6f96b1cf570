// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! One adapter: its registers, the memory it shares with the driver, and what is known about it.

#![forbid(unsafe_code)]

use crate::{
    caps::{
        Caps,
        Version, //
    },
    cmd::{
        Ask,
        Channel,
        CmdError,
        Tell, //
    },
    counters::Counters,
    device_ring::DeviceRing,
    doorbell::Doorbells,
    handle::{
        Cq,
        Qp,
        Srq, //
    },
    page_dir::Page,
    regs::{
        self,
        Control,
        Regs, //
    },
    table::Table,
    uar::{
        Layout,
        Uars, //
    },
    wire::{
        self,
        Cqne,
        DeviceCaps,
        Eqe,
        GosInfo,
        SharedRegion, //
    },
};
use kernel::{
    device::{
        Bound,
        Device, //
    },
    io::{
        io_project,
        Io, //
    },
    pci,
    prelude::*,
    rdma::{
        CqEvents,
        NetDevice,
        QpEvents,
        SrqEvents, //
    },
    sync::Arc,
    time::{
        delay::fsleep,
        Delta, //
    },
};
use zerocopy::FromZeros;

/// BARs of the device. BAR 0 holds the interrupt vectors.
pub(crate) mod bar {
    /// The registers.
    pub(crate) const REGS: u32 = 1;
    /// The doorbell pages.
    pub(crate) const UAR: u32 = 2;
}

/// How often the device is asked to become active, and how long to wait in between.
///
/// A hot-added adapter refuses until its virtual link is connected, which takes a moment.
const ACTIVATIONS: u32 = 10;
const ACTIVATION_DELAY: Delta = Delta::from_millis(200);

/// Device id of the network function that goes with the adapter.
const VMXNET3: u16 = 0x07b0;

/// The device from the moment it knows the shared region.
///
/// Dropping it resets the device, after which it touches no memory of the driver any more.
struct HandedOver<'a> {
    regs: Regs<'a>,
}

impl<'a> HandedOver<'a> {
    /// Hands the shared region at bus address `region` over.
    fn new(regs: Regs<'a>, region: u64) -> Self {
        regs.hand_over(region);
        Self { regs }
    }
}

impl Drop for HandedOver<'_> {
    fn drop(&mut self) {
        self.regs.reset();
    }
}

/// An adapter.
///
/// It is shared by the interrupt handlers, the RDMA device and the PCI driver data. With the last
/// reference the device is reset, then the memory goes away.
#[pin_data]
pub(crate) struct Adapter<'a> {
    /// Must be declared before everything that the device has an address of.
    hw: HandedOver<'a>,
    doorbells: Doorbells<'a>,
    pdev: &'a pci::Device<Bound>,
    caps: Caps,
    #[pin]
    channel: Channel,
    /// Only kept for the device.
    _region: Page,
    events: DeviceRing<Eqe>,
    notifications: DeviceRing<Cqne>,
    #[pin]
    uars: Uars,
    #[pin]
    cqs: Table<Cq, CqEvents>,
    #[pin]
    qps: Table<Qp, QpEvents>,
    #[pin]
    srqs: Table<Srq, SrqEvents>,
    counters: Arc<Counters>,
}

impl<'a> Adapter<'a> {
    /// Takes the adapter into use: hands the shared region over and reads the capabilities.
    ///
    /// The PCI device must be enabled, with DMA allowed. The device raises no interrupt yet, see
    /// [`Self::unmask_interrupts`], and does not work before [`Self::activate`].
    ///
    /// # Errors
    ///
    /// - [`ENODEV`] if nothing answers, or if the network function is missing,
    /// - [`EFAULT`] if the driver does not support the device,
    /// - [`EINVAL`] if what the device says about itself makes no sense,
    /// - [`ENOMEM`], [`EBUSY`].
    pub(crate) fn new(pdev: &'a pci::Device<Bound>) -> impl PinInit<Self, Error> + 'a {
        pin_init::pin_init_scope(move || {
            check_network_function(pdev)?;

            let dev: &'a Device<Bound> = pdev.as_ref();
            let regs = Regs::new(
                pdev.iomap_region_sized::<{ regs::END }>(bar::REGS, c"vmw_pvrdma/registers")?,
            );
            let doorbells = Doorbells::new(
                pdev.iomap_region_sized::<{ wire::PAGE }>(bar::UAR, c"vmw_pvrdma/doorbells")?,
            );
            let version = Version::new(regs.version())
                .inspect_err(|_| dev_err!(dev, "version {} is not supported\n", regs.version()))?;
            let layout = Layout::new(
                version,
                pdev.resource_start(bar::UAR)?,
                pdev.resource_len(bar::UAR)?,
            )?;

            let counters = Arc::new(Counters::new(), GFP_KERNEL)?;

            dev_info!(
                dev,
                "device version {}, driver version {}\n",
                version.raw(),
                wire::version::DRIVER
            );

            Ok(try_pin_init!(Self {
                doorbells,
                pdev,
                channel <- Channel::new(dev, version, counters.clone()),
                events: DeviceRing::new(dev, "event ring")?,
                notifications: DeviceRing::new(dev, "notification ring")?,
                _region: {
                    let (cmd_slot_dma, resp_slot_dma) = channel.addresses();

                    shared_region(dev, SharedRegion {
                        driver_version: wire::version::DRIVER,
                        pad: 0,
                        gos_info: GosInfo::LINUX64.into_raw(),
                        gos_pad: 0,
                        cmd_slot_dma,
                        resp_slot_dma,
                        async_ring_pages: events.info(),
                        cq_ring_pages: notifications.info(),
                        uar_pfn: layout.kernel_pfn(),
                        caps: DeviceCaps::new_zeroed(),
                    })?
                },
                // Initialised after everything that the device is told of, and so the first to be
                // dropped if one of the following fails.
                hw: HandedOver::new(regs, _region.dma_address()),
                caps: Caps::new(dev, version, reported(_region)?)?,
                uars <- Uars::new(layout, caps.max_uar),
                cqs <- Table::new(caps.max_cq),
                qps <- Table::new(caps.max_qp),
                srqs <- Table::new(caps.max_srq),
                counters,
            }))
        })
    }

    /// Returns the device, for messages and DMA.
    pub(crate) fn dev(&self) -> &'a Device<Bound> {
        self.pdev.as_ref()
    }

    /// Returns the PCI device.
    pub(crate) fn pdev(&self) -> &'a pci::Device<Bound> {
        self.pdev
    }

    /// Returns the PCI device id.
    pub(crate) fn part_id(&self) -> u32 {
        self.pdev.device_id().into()
    }

    /// Returns what the device can do.
    pub(crate) fn caps(&self) -> &Caps {
        &self.caps
    }

    /// Returns the kernel's doorbells.
    pub(crate) fn doorbells(&self) -> &Doorbells<'a> {
        &self.doorbells
    }

    /// Returns the doorbell pages for user contexts.
    pub(crate) fn uars(&self) -> &Uars {
        &self.uars
    }

    /// Returns where completion queues are found by handle.
    pub(crate) fn cqs(&self) -> &Table<Cq, CqEvents> {
        &self.cqs
    }

    /// Returns where queue pairs are found by handle.
    pub(crate) fn qps(&self) -> &Table<Qp, QpEvents> {
        &self.qps
    }

    /// Returns where shared receive queues are found by handle.
    pub(crate) fn srqs(&self) -> &Table<Srq, SrqEvents> {
        &self.srqs
    }

    /// Returns the ring of asynchronous events.
    pub(crate) fn events(&self) -> &DeviceRing<Eqe> {
        &self.events
    }

    /// Returns the ring of completion notifications.
    pub(crate) fn notifications(&self) -> &DeviceRing<Cqne> {
        &self.notifications
    }

    /// Returns the counts of what happened.
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the command channel.
    pub(crate) fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Sends a command and waits for the answer. Sleeps; see [`Channel::ask`].
    pub(crate) fn ask<C: Ask>(&self, command: &C) -> Result<C::Reply, CmdError> {
        self.channel.ask(self.dev(), &self.hw.regs, command)
    }

    /// Sends a command that has no answer. Sleeps; see [`Channel::tell`].
    pub(crate) fn tell<C: Tell>(&self, command: &C) -> Result<(), CmdError> {
        self.channel.tell(self.dev(), &self.hw.regs, command)
    }

    /// Writes the control register. Sleeps; see [`Channel::control`].
    pub(crate) fn control(&self, control: Control) -> Result {
        self.channel.control(self.dev(), &self.hw.regs, control)
    }

    /// Makes the device take up work. Sleeps.
    ///
    /// A device whose link is not connected yet refuses, so it is asked again for some seconds.
    ///
    /// # Errors
    ///
    /// [`EFAULT`] if the device goes on refusing; binding the driver again repeats the attempt.
    pub(crate) fn activate(&self) -> Result {
        for attempt in 1.. {
            match self.control(Control::Activate) {
                Err(EFAULT) if attempt < ACTIVATIONS => fsleep(ACTIVATION_DELAY),
                Err(error) => {
                    dev_err!(
                        self.dev(),
                        "the device refuses to become active: {:?}\n",
                        error
                    );
                    return Err(error);
                }
                Ok(()) => break,
            }
        }
        Ok(())
    }

    /// Returns why the device raised an interrupt, zero if it did not.
    pub(crate) fn cause(&self) -> u32 {
        self.hw.regs.cause()
    }

    /// Lets the device raise interrupts.
    pub(crate) fn unmask_interrupts(&self) {
        self.hw.regs.unmask_interrupts();
    }

    /// Keeps the device from raising interrupts.
    pub(crate) fn mask_interrupts(&self) {
        self.hw.regs.mask_interrupts();
    }

    /// Returns whether `netdev` belongs to the network function of this adapter.
    pub(crate) fn is_partner(&self, netdev: &NetDevice) -> bool {
        netdev
            .parent()
            .and_then(|parent| <&pci::Device>::try_from(parent).ok())
            .is_some_and(|pdev| {
                pdev.function() == 0 && pdev.same_slot(self.pdev) && is_network_function(pdev)
            })
    }
}

/// Returns whether `pdev` is of the kind that goes with an adapter.
fn is_network_function(pdev: &pci::Device) -> bool {
    pdev.vendor_id() == pci::Vendor::VMWARE && pdev.device_id() == VMXNET3
}

/// Checks that function 0 of the slot is there and is of the kind that goes with an adapter.
///
/// # Errors
///
/// [`ENODEV`] if it is not.
fn check_network_function(pdev: &pci::Device) -> Result {
    if pdev
        .sibling(0)
        .is_some_and(|pdev| is_network_function(&pdev))
    {
        Ok(())
    } else {
        dev_err!(
            pdev,
            "function 0 of the slot is no vmxnet3 network adapter\n"
        );
        Err(ENODEV)
    }
}

/// Allocates the page with the shared region.
fn shared_region(dev: &Device<Bound>, content: SharedRegion) -> Result<Page> {
    let page = Page::zeroed(dev, GFP_KERNEL)?;

    (&page).try_cast::<SharedRegion>()?.copy_write(content);
    Ok(page)
}

/// Returns a copy of the capabilities that the device wrote to the shared region.
fn reported(region: &Page) -> Result<DeviceCaps> {
    let region = region.try_cast::<SharedRegion>()?;

    // Order the register read that waited for the device before the reads of what it wrote.
    kernel::sync::barrier::mb(kernel::sync::barrier::Full);
    Ok(io_project!(region, .caps).copy_read())
}
