// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! The registers in BAR 1.
//!
//! Writes are posted: the device has seen one for certain only when a later read has returned. An
//! adapter that was pulled out reads as all ones.

#![forbid(unsafe_code)]

pub(crate) use crate::wire::Control;
use kernel::{
    io::{
        register,
        Io, //
    },
    pci, //
};

register! {
    /// Version of the device. Read-only.
    pub(crate) VERSION(u32) @ 0x00 {
        31:0 value;
    }

    /// Low half of the bus address of the shared region. Write-only.
    pub(crate) DSR_LOW(u32) @ 0x04 {
        31:0 value;
    }

    /// High half of the bus address of the shared region. Write-only.
    ///
    /// To be written last: the write makes the device take the region over.
    pub(crate) DSR_HIGH(u32) @ 0x08 {
        31:0 value;
    }

    /// Takes a [`Control`]. Write-only.
    pub(crate) CTL(u32) @ 0x0c {
        31:0 value;
    }

    /// Starts the command in the command slot. Write-only.
    pub(crate) REQUEST(u32) @ 0x10 {
        31:0 value;
    }

    /// Zero if the device accepted the last command or control. Read-only.
    pub(crate) ERR(u32) @ 0x14 {
        31:0 value;
    }

    /// Causes of an interrupt on a line that other devices share, zero if it is not from this
    /// device. Read-only.
    pub(crate) ICR(u32) @ 0x18 {
        31:0 value;
    }

    /// Interrupt mask; a set bit holds an interrupt back.
    pub(crate) IMR(u32) @ 0x1c {
        31:0 value;
    }
}

/// One past the last register.
pub(crate) const END: usize = 0x28;

/// What a register reads as when nothing answers.
pub(crate) const GONE: u32 = !0;

/// The mapped registers.
pub(crate) struct Regs<'a>(pci::Bar<'a, END>);

impl<'a> Regs<'a> {
    /// Takes the mapping of the register BAR.
    pub(crate) fn new(bar: pci::Bar<'a, END>) -> Self {
        Self(bar)
    }

    /// Returns the version of the device.
    pub(crate) fn version(&self) -> u32 {
        self.0.read(VERSION).into_raw()
    }

    /// Returns whether the adapter has left its slot.
    pub(crate) fn is_gone(&self) -> bool {
        self.version() == GONE
    }

    /// Hands the shared region at bus address `address` to the device and waits until the device
    /// has taken note of it. Its capabilities can be read from the region afterwards.
    pub(crate) fn hand_over(&self, address: u64) {
        // CAST: The two halves of the address.
        self.0.write_reg(DSR_LOW::from_raw(address as u32));
        self.0.write_reg(DSR_HIGH::from_raw((address >> 32) as u32));
        self.flush();
    }

    /// Writes `control`.
    pub(crate) fn control(&self, control: Control) {
        self.0.write_reg(CTL::from_raw(control.into()));
    }

    /// Starts the command in the command slot.
    pub(crate) fn request(&self) {
        self.0.write_reg(REQUEST::from_raw(0));
    }

    /// Returns what the device says about the last command or control: zero if it accepted it.
    pub(crate) fn error(&self) -> u32 {
        self.0.read(ERR).into_raw()
    }

    /// Returns why the device raised an interrupt, zero if it did not.
    pub(crate) fn cause(&self) -> u32 {
        self.0.read(ICR).into_raw()
    }

    /// Lets all interrupts through.
    pub(crate) fn unmask_interrupts(&self) {
        self.0.write_reg(IMR::from_raw(0));
    }

    /// Holds all interrupts back and waits until the device knows.
    pub(crate) fn mask_interrupts(&self) {
        self.0.write_reg(IMR::from_raw(!0));
        self.flush();
    }

    /// Resets the device and waits until it knows: it does not touch memory afterwards.
    pub(crate) fn reset(&self) {
        self.control(Control::Reset);
        self.flush();
    }

    /// Waits until all earlier writes have reached the device: a read cannot overtake them.
    fn flush(&self) {
        self.version();
    }
}
