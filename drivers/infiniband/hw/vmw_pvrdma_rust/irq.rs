// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! Interrupts.
//!
//! With MSI-X the device has a vector for each of the three things that it reports. If there are
//! fewer vectors, the last one has to do for the rest. With a single one, and with a line that is
//! shared with other devices, the C driver looks for responses only, so that it gets neither events
//! nor completions.
//!
//! An interrupt says no more than that it is worth while to look: to look in vain does no harm.

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
    device::Bound,
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

/// Something that the device reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// The response slot was written.
    Response,
    /// The event ring has entries.
    Event,
    /// The notification ring has entries.
    Completion,
}

/// What is reported, in the order of the vectors.
const CAUSES: [Cause; 3] = [Cause::Response, Cause::Event, Cause::Completion];

/// What an interrupt is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Role {
    causes: &'static [Cause],
    /// Whether it may be the interrupt of another device; the cause register tells.
    is_line: bool,
}

impl Role {
    /// Returns what vector number `index` of `count` is for.
    fn new(index: usize, count: usize, is_line: bool) -> Self {
        let end = if index + 1 < count {
            index + 1
        } else {
            CAUSES.len()
        };

        Self {
            causes: CAUSES.get(index..end).unwrap_or_default(),
            is_line,
        }
    }

    /// Returns how the interrupt is to be requested.
    pub(crate) fn flags(self) -> Flags {
        if self.is_line {
            Flags::SHARED
        } else {
            Flags::TRIGGER_NONE
        }
    }
}

/// Allocates the interrupt vectors.
///
/// # Errors
///
/// What the PCI core answers if the device has no interrupt at all.
pub(crate) fn vectors(pdev: &pci::Device<Bound>) -> Result<pci::IrqVectorRegistration<'_>> {
    let msix = pci::IrqTypes::default().with(pci::IrqType::MsiX);
    let other = pci::IrqTypes::default()
        .with(pci::IrqType::Msi)
        .with(pci::IrqType::Intx);

    // CAST: A small constant.
    pdev.alloc_irq_vectors(1, CAUSES.len() as u32, msix)
        .or_else(|_| pdev.alloc_irq_vectors(1, 1, other))
}

/// Returns what each of `vectors` is for.
pub(crate) fn roles<'a>(
    vectors: &'a pci::IrqVectorRegistration<'_>,
) -> impl Iterator<Item = Role> + 'a {
    let is_line = matches!(vectors.irq_type(), pci::IrqType::Intx);

    (0..vectors.len()).map(move |index| Role::new(index, vectors.len(), is_line))
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

    /// Returns whether the interrupt comes from another device.
    ///
    /// An adapter that is gone reads as all ones and raises no interrupts.
    fn is_foreign(&self) -> bool {
        self.role.is_line && matches!(self.adapter.cause(), 0 | regs::GONE)
    }
}

impl irq::Handler for Handler<'_> {
    fn handle(&self) -> IrqReturn {
        if self.is_foreign() {
            return IrqReturn::None;
        }
        for cause in self.role.causes {
            match cause {
                Cause::Response => self.response(),
                Cause::Event => self.events(),
                Cause::Completion => self.completions(),
            }
        }
        IrqReturn::Handled
    }
}

#[cfg(CONFIG_INFINIBAND_VMWARE_PVRDMA_RUST_KUNIT_TEST)]
#[kunit_tests(vmw_pvrdma_rust_irq)]
mod tests {
    use super::*;

    fn causes(count: usize) -> impl Iterator<Item = &'static [Cause]> {
        (0..count).map(move |index| Role::new(index, count, false).causes)
    }

    #[test]
    fn each_vector_has_its_cause() {
        use Cause::*;

        assert!(causes(3).eq([&[Response][..], &[Event], &[Completion]]));
    }

    #[test]
    fn the_last_vector_has_the_rest() {
        use Cause::*;

        assert!(causes(2).eq([&[Response][..], &[Event, Completion]]));
        assert!(causes(1).eq([&[Response, Event, Completion][..]]));
    }
}
