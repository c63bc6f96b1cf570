// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An emulated VMware paravirtual RDMA adapter (PCI 15ad:0820).
//!
//! QEMU attaches it with its `vfio-user-pci` device. One process serves several adapters, of one
//! machine or of several, and moves data between them.
//!
//! From the outside in: [`vfio`] is the connection to QEMU, [`adapter`] the device with its
//! registers, `commands` and [`objects`] what the driver creates, `engine` what executes
//! requests, and [`fabric`] holds it all together. [`abi`] is the interface to drivers.

pub mod abi;
pub mod adapter;
mod answer;
mod commands;
pub mod config_space;
pub mod control;
pub mod counters;
mod deferred;
pub mod doorbell;
mod engine;
pub mod events;
pub mod fabric;
pub mod faults;
pub mod grh;
pub mod handles;
pub mod interrupts;
mod intrusion;
pub mod limits;
pub mod link;
pub mod memory;
pub mod objects;
pub mod page_dir;
pub mod patch;
pub mod qp_state;
pub mod regs;
pub mod request;
pub mod ring;
pub mod schedule;
pub mod trace;
pub mod vfio;
