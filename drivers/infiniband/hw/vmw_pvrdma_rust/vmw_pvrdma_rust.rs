// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! Driver for VMware's paravirtual RDMA adapter.
//!
//! A verb takes the same way always: [`kernel::rdma`] turns the call of the RDMA core into typed
//! references, the verb in the file of its object checks and decides, a typed command says what
//! the device is to do ([`commands`]), and the channel carries it there ([`cmd`]). What the device
//! reports on its own arrives in [`irq`].

mod adapter;
mod ah;
mod caps;
mod cmd;
mod commands;
mod convert;
mod counters;
mod cq;
mod device;
mod device_ring;
mod doorbell;
mod driver;
mod gid;
mod handle;
mod irq;
mod lent;
mod mr;
mod page_dir;
mod pd;
mod port;
mod qp;
mod quota;
mod regs;
mod ring;
mod srq;
mod table;
mod uar;
mod ucontext;
mod user_queue;
mod wire;

use kernel::{
    driver::Registration,
    pci,
    prelude::*,
    InPlaceModule,
    ThisModule, //
};

/// The module: as long as it is loaded, the PCI driver is registered.
#[pin_data]
struct PvrdmaModule {
    #[pin]
    _driver: Registration<pci::Adapter<driver::Driver>>,
}

impl InPlaceModule for PvrdmaModule {
    fn init(module: &'static ThisModule) -> impl PinInit<Self, Error> {
        // Not `module_pci_driver!`, which would give the driver the name of the module.
        try_pin_init!(Self {
            _driver <- Registration::new(driver::NAME, module),
        })
    }
}

module! {
    type: PvrdmaModule,
    name: "vmw_pvrdma_rust",
    authors: ["The vmw_pvrdma_rust authors"],
    description: "VMware Paravirtual RDMA driver",
    license: "Dual BSD/GPL",
}
