// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! Interrupts.
//!
//! With MSI-X the device has a vector for each of the three things that it reports. Without, there
//! is one interrupt and the cause register says what it is for. The causes are taken as a set: the
//! C driver looks for responses only, and only if nothing else happened, so that it gets neither
//! events nor completions from a device without MSI-X.

#![forbid(unsafe_code)]

use crate::{
    adapter::Adapter,
    device::Pvrdma,
    handle::Handle,
    regs,
    wire::{
        Eqe,
        EventType, //
    },
};
use kernel::{
    irq::{
        self,
        Flags,
        IrqReturn, //
    },
    pci,
    prelude::*,
    rdma::{
        self,
        CqEvent,
        DeviceEvent,
        QpEvent,
        SrqEvent, //
    },
    sync::{
        aref::ARef,
        Arc, //
    },
};

/// What an interrupt is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The response slot was written.
    Response,
    /// The event ring has entries.
    Events,
    /// The notification ring has entries.
    Completions,
    /// All of these; the cause register tells.
    Shared,
}

/// The vectors of a device with MSI-X, in their order.
pub(crate) const MSIX: [Role; 3] = [Role::Response, Role::Events, Role::Completions];

/// The vectors of a device without.
pub(crate) const SINGLE: [Role; 1] = [Role::Shared];

impl Role {
    /// Returns how the interrupt is to be requested.
    pub(crate) fn flags(self) -> Flags {
        match self {
            Self::Response | Self::Events | Self::Completions => Flags::TRIGGER_NONE,
            Self::Shared => Flags::SHARED,
        }
    }
}

/// Allocates the interrupt vectors and returns what each is for.
///
/// # Errors
///
/// What the PCI core answers if the device has no interrupt at all.
pub(crate) fn vectors<'a>(
    pdev: &'a pci::Device<kernel::device::Bound>,
) -> Result<(pci::IrqVectorRegistration<'a>, &'static [Role])> {
    let msix = pci::IrqTypes::default().with(pci::IrqType::MsiX);
    let other = pci::IrqTypes::default()
        .with(pci::IrqType::Msi)
        .with(pci::IrqType::Intx);

    // CAST: A small constant.
    let wanted = MSIX.len() as u32;
    match pdev.alloc_irq_vectors(wanted, wanted, msix) {
        Ok(vectors) => Ok((vectors, &MSIX)),
        Err(_) => Ok((pdev.alloc_irq_vectors(1, 1, other)?, &SINGLE)),
    }
}

/// The handler of one interrupt.
pub(crate) struct Handler<'a> {
    role: Role,
    adapter: Arc<Adapter<'a>>,
    ibdev: ARef<rdma::Device<Pvrdma>>,
}

impl<'a> Handler<'a> {
    /// Makes a handler that serves `role`.
    pub(crate) fn new(
        role: Role,
        adapter: Arc<Adapter<'a>>,
        ibdev: ARef<rdma::Device<Pvrdma>>,
    ) -> Self {
        Self {
            role,
            adapter,
            ibdev,
        }
    }

    /// Tells the command channel.
    fn response(&self) {
        self.adapter.channel().interrupt();
    }

    /// Delivers the events of the event ring.
    fn events(&self) {
        let adapter = &*self.adapter;

        adapter.events().drain(adapter.dev(), |eqe| {
            adapter.counters().events.inc();
            if self.event(eqe).is_none() {
                adapter.counters().strays.inc();
            }
        });
    }

    /// Delivers one event; returns whether there was somebody to deliver it to.
    fn event(&self, eqe: Eqe) -> Option<()> {
        let cq = |event| {
            let cq = self.adapter.cqs().get(Handle::new(eqe.info))?;
            cq.event(event);
            Some(())
        };
        let qp = |event| {
            let qp = self.adapter.qps().get(Handle::new(eqe.info))?;
            qp.event(event);
            Some(())
        };
        let srq = |event| {
            let srq = self.adapter.srqs().get(Handle::new(eqe.info))?;
            srq.event(event);
            Some(())
        };
        let port = |event: fn(u32) -> DeviceEvent| {
            let ports = u32::from(self.adapter.caps().phys_port_cnt);
            if !(1..=ports).contains(&eqe.info) {
                return None;
            }
            self.ibdev.dispatch(event(eqe.info));
            Some(())
        };

        match EventType::try_from(eqe.kind).ok()? {
            EventType::CqErr => cq(CqEvent::Error),
            EventType::QpFatal => qp(QpEvent::Fatal),
            EventType::QpReqErr => qp(QpEvent::RequestError),
            EventType::QpAccessErr => qp(QpEvent::AccessError),
            EventType::CommEst => qp(QpEvent::CommEstablished),
            EventType::SqDrained => qp(QpEvent::SqDrained),
            EventType::PathMig => qp(QpEvent::PathMigrated),
            EventType::PathMigErr => qp(QpEvent::PathMigrationError),
            EventType::QpLastWqeReached => qp(QpEvent::LastWqeReached),
            EventType::SrqErr => srq(SrqEvent::Error),
            EventType::SrqLimitReached => srq(SrqEvent::LimitReached),
            EventType::PortActive => port(DeviceEvent::PortActive),
            EventType::PortErr => port(DeviceEvent::PortErr),
            EventType::LidChange => port(DeviceEvent::LidChange),
            EventType::PkeyChange => port(DeviceEvent::PkeyChange),
            EventType::SmChange => port(DeviceEvent::SmChange),
            EventType::ClientReregister => port(DeviceEvent::ClientReregister),
            EventType::GidChange => port(DeviceEvent::GidChange),
            EventType::DeviceFatal => {
                self.ibdev.dispatch(DeviceEvent::Fatal);
                Some(())
            }
        }
    }

    /// Delivers the notifications of the notification ring.
    fn completions(&self) {
        let adapter = &*self.adapter;

        adapter.notifications().drain(adapter.dev(), |cqne| {
            adapter.counters().notifications.inc();
            match adapter.cqs().get(Handle::new(cqne.info)) {
                Some(cq) => cq.completion(),
                None => adapter.counters().strays.inc(),
            }
        });
    }

    /// Serves whatever the cause register names.
    fn shared(&self) -> IrqReturn {
        let cause = self.adapter.cause();

        // All ones: the adapter is gone, so this is somebody else's interrupt.
        if matches!(cause.into_raw(), 0 | regs::GONE) {
            return IrqReturn::None;
        }
        if cause.response() {
            self.response();
        }
        if cause.event() {
            self.events();
        }
        if cause.completion() {
            self.completions();
        }
        IrqReturn::Handled
    }
}

impl irq::Handler for Handler<'_> {
    fn handle(&self) -> IrqReturn {
        match self.role {
            Role::Response => self.response(),
            Role::Events => self.events(),
            Role::Completions => self.completions(),
            Role::Shared => return self.shared(),
        }
        IrqReturn::Handled
    }
}
