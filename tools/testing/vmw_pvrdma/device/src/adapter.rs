// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An adapter: registers, shared region, doorbells, and everything that hangs on them.

use crate::abi::shared::{SharedRegion, CAPS_OFFSET};
use crate::abi::{Mac, PAGE_SIZE};
use crate::counters::Counters;
use crate::deferred::Deferred;
use crate::doorbell::Doorbell;
use crate::events::NotifyRing;
use crate::faults::Faults;
use crate::interrupts::Interrupts;
use crate::intrusion::Storm;
use crate::limits::Config;
use crate::link::Link;
use crate::memory::Memory;
use crate::objects::cq::Arm;
use crate::objects::qp::GSI_QPN;
use crate::objects::{Errno, Objects};
use crate::qp_state::{QpState, QpType};
use crate::regs::{Control, Register};
use crate::schedule::Schedule;
use crate::trace::{Event, Trace};

/// The error register before activation.
const ERR_INITIAL: u32 = 0xffff;

/// What the driver said in the shared region.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Address of the command slot.
    pub(crate) cmd_slot: u64,
    /// Address of the answer slot.
    pub(crate) resp_slot: u64,
    /// The event ring.
    pub(crate) events: NotifyRing,
    /// The notification ring.
    pub(crate) notifications: NotifyRing,
    /// Frame of doorbell page 0, that is of BAR 2.
    pub(crate) uar_pfn: u64,
}

/// An adapter.
pub struct Adapter {
    id: u32,
    mac: Mac,
    dsr: u64,
    shared: Option<Shared>,
    is_active: bool,
    err: u32,
    serial: u64,
    pub(crate) config: Config,
    pub(crate) link: Link,
    pub(crate) memory: Memory,
    pub(crate) interrupts: Interrupts,
    pub(crate) objects: Objects,
    pub(crate) qkey_violations: u32,
    pub(crate) faults: Faults,
    pub(crate) deferred: Deferred,
    pub(crate) storm: Option<Storm>,
    pub(crate) counters: Counters,
    pub(crate) trace: Trace,
}

impl Adapter {
    /// Number `id` among the adapters of the process, as it is after power on.
    pub fn new(id: u32, config: Config, trace: &Trace) -> Self {
        let trace = trace.for_adapter(id);
        let [.., high, low] = (id + 1).to_be_bytes();
        Self {
            id,
            mac: Mac([0x00, 0x50, 0x56, 0, high, low]),
            dsr: 0,
            shared: None,
            is_active: false,
            err: ERR_INITIAL,
            serial: 0,
            config,
            link: Link::Up,
            memory: Memory::default(),
            interrupts: Interrupts::new(config.vectors(), trace.clone()),
            objects: Objects::default(),
            qkey_violations: 0,
            faults: Faults::default(),
            deferred: Deferred::default(),
            storm: None,
            counters: Counters::default(),
            trace,
        }
    }

    /// Number of the adapter.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// What was chosen on the command line.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// The guest's memory, to map and unmap it.
    pub fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// The interrupts, to set vectors up.
    pub fn interrupts_mut(&mut self) -> &mut Interrupts {
        &mut self.interrupts
    }

    /// The faults, to put them in force.
    pub fn faults_mut(&mut self) -> &mut Faults {
        &mut self.faults
    }

    /// The shared region, if the driver gave one.
    pub(crate) fn shared(&self) -> Result<&Shared, Errno> {
        self.shared.as_ref().ok_or(Errno::Invalid)
    }

    /// The shared region of an activated device.
    pub(crate) fn active(&self) -> Option<&Shared> {
        self.shared.as_ref().filter(|_| self.is_active)
    }

    /// A number that no queue pair of this adapter had before.
    pub(crate) fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// Whether no driver uses the device.
    pub fn is_idle(&self) -> bool {
        !self.is_active
    }

    /// Forgets everything that the driver said. Memory and vectors belong to the machine.
    pub fn reset(&mut self) {
        self.dsr = 0;
        self.shared = None;
        self.is_active = false;
        self.err = ERR_INITIAL;
        self.interrupts.reset();
        self.objects = Objects::default();
        self.qkey_violations = 0;
        self.deferred.clear();
        self.storm = None;
    }

    /// The machine is gone.
    pub fn detach(&mut self) {
        self.reset();
        self.memory.clear();
        self.interrupts.clear_vectors();
    }

    /// Reads a register.
    pub fn read_register(&mut self, register: Register) -> u32 {
        let [a, b, c, d, e, f] = self.mac.0;
        let value = match register {
            Register::Version => self.config.version(),
            Register::Err => self.err,
            Register::Icr => self.interrupts.take_cause(),
            Register::Imr => self.interrupts.mask(),
            Register::MacLow => u32::from_le_bytes([a, b, c, d]),
            Register::MacHigh => u32::from_le_bytes([e, f, 0, 0]),
            Register::DsrLow | Register::DsrHigh | Register::Ctl | Register::Request => 0,
        };
        let value = self.faults.register(register).unwrap_or(value);
        self.trace.emit(|| Event::Reg { op: "read", name: register.name(), value });
        value
    }

    /// Writes a register.
    pub fn write_register(&mut self, register: Register, value: u32, schedule: &mut Schedule) {
        self.trace.emit(|| Event::Reg { op: "write", name: register.name(), value });
        match register {
            Register::DsrLow => self.dsr = u64::from(value),
            Register::DsrHigh => {
                self.dsr = (u64::from(value) << 32) | (self.dsr & u64::from(u32::MAX));
                self.load_shared();
            }
            Register::Ctl => self.control(value),
            Register::Request => self.err = self.request(schedule),
            Register::Imr => self.interrupts.set_mask(value),
            Register::MacLow => self.mac.0[..4].copy_from_slice(&value.to_le_bytes()),
            Register::MacHigh => self.mac.0[4..].copy_from_slice(&value.to_le_bytes()[..2]),
            Register::Version | Register::Err | Register::Icr => {}
        }
    }

    fn control(&mut self, value: u32) {
        let control = Control::from_wire(value);
        if let Some(err) = control.and_then(|control| self.refusal_of_control(control)) {
            self.err = err;
            return;
        }
        match control {
            Some(Control::Activate) if self.shared.is_some() => {
                self.is_active = true;
                self.err = 0;
            }
            Some(Control::Unquiesce) if self.is_active => self.err = 0,
            Some(Control::Reset) => self.reset(),
            Some(Control::Activate | Control::Unquiesce) | None => {
                self.err = Errno::Invalid as u32;
            }
        }
    }

    /// The value of the error register by which a control is to be refused, if a rule says so.
    fn refusal_of_control(&mut self, control: Control) -> Option<u32> {
        let name = control.name();
        let (rule, effect) = self.faults.occurs(name, false)?;
        self.trace.emit(|| Event::Fault { name, rule, effect: &effect });
        effect.reg_err
    }

    /// Takes over the shared region and fills in the capabilities. A region that cannot be used
    /// is left as it is, and the device cannot be activated.
    ///
    /// A driver whose probe failed late may come back without having reset the device; what the
    /// device knows of its former life is then as good as gone.
    fn load_shared(&mut self) {
        let dsr = self.dsr;
        if self.shared.is_some() {
            log::info!("adapter {}: new shared region without a reset", self.id);
            self.reset();
        }
        self.dsr = dsr;
        self.shared = self.read_shared();
        if self.shared.is_none() {
            log::warn!("adapter {}: shared region at {:#x} is unusable", self.id, self.dsr);
        }
    }

    fn read_shared(&self) -> Option<Shared> {
        let memory = &self.memory;
        let region: SharedRegion = memory.read_record(self.dsr).ok()?;
        let slot = |address: u64| {
            let aligned = address != 0 && address % PAGE_SIZE as u64 == 0;
            (aligned && memory.contains(address, PAGE_SIZE)).then_some(address)
        };
        let shared = Shared {
            cmd_slot: slot(region.cmd_slot_dma)?,
            resp_slot: slot(region.resp_slot_dma)?,
            events: NotifyRing::events(memory, &region.async_ring_pages)?,
            notifications: NotifyRing::notifications(memory, &region.cq_ring_pages)?,
            uar_pfn: self.frame_number(region.uar_pfn),
        };
        self.write_caps()?;
        Some(shared)
    }

    /// Tells the driver in the shared region what the adapter can do.
    pub(crate) fn write_caps(&self) -> Option<()> {
        let address = self.dsr.checked_add(CAPS_OFFSET)?;
        let caps = self.faults.caps(&self.config.caps(self.mac));
        self.memory.write_record(address, &caps).ok()
    }

    /// A doorbell rang. Those of objects that do not belong to the page's owner are ignored.
    pub fn doorbell(&mut self, page: u32, doorbell: Doorbell, schedule: &mut Schedule) {
        if self.ring(page, doorbell, schedule).is_none() {
            log::info!("adapter {}: {doorbell:?} on page {page} is ignored", self.id);
        }
    }

    fn ring(&mut self, page: u32, doorbell: Doorbell, schedule: &mut Schedule) -> Option<()> {
        let context_of = |pd| self.objects.pds.get(pd).map(|pd| pd.context);
        match doorbell {
            Doorbell::Qp { handle, send, recv } => {
                let qp = self.objects.qps.get(handle)?;
                self.owns_page(context_of(qp.pd)?, page).then_some(())?;
                // Receive requests wait to be used, except in the error state.
                if send || (recv && qp.state == QpState::Err) {
                    schedule.ready(self.qp_ref(handle));
                }
            }
            Doorbell::Cq { handle, arm, arm_solicited, .. } => {
                let context = self.objects.cqs.get(handle)?.context;
                self.owns_page(context, page).then_some(())?;
                let cq = self.objects.cqs.get_mut(handle)?;
                cq.arm = match cq.arm {
                    _ if arm => Arm::Next,
                    Arm::No if arm_solicited => Arm::Solicited,
                    unchanged => unchanged,
                };
            }
            Doorbell::Srq { handle, .. } => {
                let srq = self.objects.srqs.get(handle)?;
                self.owns_page(context_of(srq.pd)?, page).then_some(())?;
            }
        }
        Some(())
    }

    /// The handle of the queue pair with this number.
    pub(crate) fn qp_by_number(&self, qpn: u32) -> Option<u32> {
        if qpn == GSI_QPN {
            return self
                .objects
                .qps
                .iter()
                .find(|(_, qp)| qp.kind == QpType::Gsi)
                .map(|(handle, _)| handle);
        }
        let handle = crate::objects::qp::handle_in_number(qpn);
        self.objects.qps.get(handle).filter(|qp| qp.qpn == qpn).map(|_| handle)
    }
}
