// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Registers in BAR 1.

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    /// Version of the device. Read only.
    Version,
    /// Low half of the address of the shared region. Write only.
    DsrLow,
    /// High half of it; writing it makes the device load the region. Write only.
    DsrHigh,
    /// What the device is to do, a [`Control`]. Write only.
    Ctl,
    /// Take the command from the slot. Write only.
    Request,
    /// 0 if the last control write or request was accepted, an errno otherwise. Read only.
    Err,
    /// Interrupt causes since it was last read. Read only.
    Icr,
    /// Mask of interrupts that are held back.
    Imr,
    /// Low half of the Ethernet address.
    MacLow,
    /// High half of the Ethernet address.
    MacHigh,
}

impl Register {
    /// The names of all registers in the ABI.
    pub const NAMES: &[&str] =
        &["VERSION", "DSRLOW", "DSRHIGH", "CTL", "REQUEST", "ERR", "ICR", "IMR", "MACL", "MACH"];

    /// The register at an offset.
    pub fn at(offset: u64) -> Option<Self> {
        Some(match offset {
            0x00 => Self::Version,
            0x04 => Self::DsrLow,
            0x08 => Self::DsrHigh,
            0x0c => Self::Ctl,
            0x10 => Self::Request,
            0x14 => Self::Err,
            0x18 => Self::Icr,
            0x1c => Self::Imr,
            0x20 => Self::MacLow,
            0x24 => Self::MacHigh,
            _ => return None,
        })
    }

    /// The register's name in the ABI.
    pub fn name(self) -> &'static str {
        match self {
            Self::Version => "VERSION",
            Self::DsrLow => "DSRLOW",
            Self::DsrHigh => "DSRHIGH",
            Self::Ctl => "CTL",
            Self::Request => "REQUEST",
            Self::Err => "ERR",
            Self::Icr => "ICR",
            Self::Imr => "IMR",
            Self::MacLow => "MACL",
            Self::MacHigh => "MACH",
        }
    }
}

/// Values of the control register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Start.
    Activate,
    /// Go on: the network interface is up again.
    Unquiesce,
    /// Stop and forget everything.
    Reset,
}

impl Control {
    /// The names of all controls in the ABI.
    pub const NAMES: &[&str] = &["ACTIVATE", "UNQUIESCE", "RESET"];

    /// The control's name in the ABI.
    pub fn name(self) -> &'static str {
        match self {
            Self::Activate => "ACTIVATE",
            Self::Unquiesce => "UNQUIESCE",
            Self::Reset => "RESET",
        }
    }

    /// The control value with this number.
    pub fn from_wire(value: u32) -> Option<Self> {
        Some(match value {
            0 => Self::Activate,
            1 => Self::Unquiesce,
            2 => Self::Reset,
            _ => return None,
        })
    }
}
