// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The adapter as QEMU sees it: regions and interrupts of a vfio-user device.
//!
//! While QEMU waits for a reply its whole machine stands still. Nothing here waits for anything
//! but the fabric's lock, and no request is ever failed: the protocol library cannot say why.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use vfio_bindings::bindings::vfio::{
    vfio_region_info, VFIO_IRQ_INFO_AUTOMASKED, VFIO_IRQ_INFO_EVENTFD, VFIO_IRQ_INFO_MASKABLE,
    VFIO_IRQ_INFO_NORESIZE, VFIO_IRQ_SET_ACTION_MASK, VFIO_IRQ_SET_ACTION_TRIGGER,
    VFIO_IRQ_SET_DATA_EVENTFD, VFIO_PCI_BAR0_REGION_INDEX, VFIO_PCI_BAR1_REGION_INDEX,
    VFIO_PCI_BAR2_REGION_INDEX, VFIO_PCI_CONFIG_REGION_INDEX, VFIO_PCI_INTX_IRQ_INDEX,
    VFIO_PCI_MSIX_IRQ_INDEX, VFIO_PCI_NUM_IRQS, VFIO_PCI_NUM_REGIONS, VFIO_REGION_INFO_FLAG_READ,
    VFIO_REGION_INFO_FLAG_WRITE,
};
use vfio_user::{DmaMapFlags, DmaUnmapFlags, IrqInfo, Server, ServerBackend, ServerRegion};

use crate::abi::{PAGE_SIZE, VECTORS};
use crate::config_space::{self, ConfigSpace, MSIX_PBA_OFFSET};
use crate::doorbell::Doorbell;
use crate::fabric::Fabric;
use crate::limits::MAX_UAR;
use crate::regs::Register;
use crate::trace::{Event, Trace};

const BAR0_SIZE: u64 = PAGE_SIZE as u64;
const BAR1_SIZE: u64 = PAGE_SIZE as u64;
const BAR2_SIZE: u64 = MAX_UAR as u64 * PAGE_SIZE as u64;

/// One adapter's end of a connection.
pub struct Backend {
    fabric: Arc<Fabric>,
    adapter: u32,
    config_space: ConfigSpace,
    vectors: u16,
    trace: Trace,
}

/// A server for one adapter with so many interrupt vectors, or with a line if there are none. It
/// serves one machine at a time.
pub fn server(path: &Path, vectors: u16) -> Result<Server, vfio_user::Error> {
    let regions = (0..VFIO_PCI_NUM_REGIONS)
        .map(|index| {
            let size = match index {
                VFIO_PCI_BAR0_REGION_INDEX => BAR0_SIZE,
                VFIO_PCI_BAR1_REGION_INDEX => BAR1_SIZE,
                VFIO_PCI_BAR2_REGION_INDEX => BAR2_SIZE,
                VFIO_PCI_CONFIG_REGION_INDEX => config_space::SIZE as u64,
                _ => 0,
            };
            let flags = match size {
                0 => 0,
                _ => VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE,
            };
            let argsz = size_of::<vfio_region_info>() as u32;
            let region_info = vfio_region_info { argsz, flags, index, size, ..Default::default() };
            ServerRegion { region_info, sparse_areas: Vec::new(), mmap_fd: None }
        })
        .collect();
    let irqs = (0..VFIO_PCI_NUM_IRQS)
        .map(|index| match index {
            VFIO_PCI_INTX_IRQ_INDEX if vectors == 0 => IrqInfo {
                index,
                flags: VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_MASKABLE | VFIO_IRQ_INFO_AUTOMASKED,
                count: 1,
            },
            VFIO_PCI_MSIX_IRQ_INDEX => IrqInfo {
                index,
                flags: VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_NORESIZE,
                count: vectors.into(),
            },
            _ => IrqInfo { index, flags: 0, count: 0 },
        })
        .collect();
    Server::new(path, true, irqs, regions)
}

impl Backend {
    /// The end of an adapter.
    pub fn new(fabric: Arc<Fabric>, adapter: u32, trace: &Trace) -> Self {
        let trace = trace.for_adapter(adapter);
        let vectors = fabric.with(adapter, |adapter, _| adapter.config().vectors());
        Self { fabric, adapter, config_space: ConfigSpace::new(vectors), vectors, trace }
    }

    /// Serves machines, one after the other, until the socket fails.
    pub fn serve(&mut self, server: &Server) -> vfio_user::Error {
        loop {
            let result = server.run(self);
            self.fabric.with(self.adapter, |adapter, _| adapter.detach());
            self.config_space = ConfigSpace::new(self.vectors);
            match result {
                Ok(()) => log::info!("adapter {}: machine gone", self.adapter),
                Err(error @ vfio_user::Error::SocketAccept(_)) => return error,
                Err(error) => log::warn!("adapter {}: machine gone: {error}", self.adapter),
            }
        }
    }

    fn ring(&self, offset: u64, word: u32) {
        let Some((uar, doorbell)) = Doorbell::decode(offset, word) else {
            return;
        };
        self.trace.emit(|| {
            let (kind, handle, flags) = doorbell.describe();
            Event::Doorbell { uar, kind, handle, flags }
        });
        // Polls in vain come by the hundred thousand and change nothing.
        if let Doorbell::Cq { arm: false, arm_solicited: false, .. } = doorbell {
            return;
        }
        self.fabric.with(self.adapter, |adapter, schedule| {
            adapter.doorbell(uar, doorbell, schedule);
        });
    }
}

impl ServerBackend for Backend {
    fn region_read(&mut self, region: u32, offset: u64, data: &mut [u8]) -> io::Result<()> {
        data.fill(0);
        match region {
            VFIO_PCI_CONFIG_REGION_INDEX => self.config_space.read(offset, data),
            VFIO_PCI_BAR0_REGION_INDEX if offset == u64::from(MSIX_PBA_OFFSET) => {
                let pending =
                    self.fabric.with(self.adapter, |adapter, _| adapter.interrupts_mut().pending());
                for (byte, value) in data.iter_mut().zip(pending.to_le_bytes()) {
                    *byte = value;
                }
            }
            VFIO_PCI_BAR1_REGION_INDEX => {
                if let (Some(register), Ok(data)) =
                    (Register::at(offset), <&mut [u8; 4]>::try_from(data))
                {
                    let value = self
                        .fabric
                        .with(self.adapter, |adapter, _| adapter.read_register(register));
                    *data = value.to_le_bytes();
                }
            }
            VFIO_PCI_BAR2_REGION_INDEX => data.fill(0xff),
            _ => {}
        }
        Ok(())
    }

    fn region_write(&mut self, region: u32, offset: u64, data: &[u8]) -> io::Result<()> {
        let word = <[u8; 4]>::try_from(data).map(u32::from_le_bytes);
        match (region, word) {
            (VFIO_PCI_CONFIG_REGION_INDEX, _) => self.config_space.write(offset, data),
            (VFIO_PCI_BAR1_REGION_INDEX, Ok(value)) => {
                if let Some(register) = Register::at(offset) {
                    self.fabric.with(self.adapter, |adapter, schedule| {
                        adapter.write_register(register, value, schedule);
                    });
                }
            }
            (VFIO_PCI_BAR2_REGION_INDEX, Ok(word)) => self.ring(offset, word),
            _ => {}
        }
        Ok(())
    }

    fn dma_map(
        &mut self,
        flags: DmaMapFlags,
        offset: u64,
        address: u64,
        size: u64,
        file: Option<File>,
    ) -> io::Result<()> {
        // Memory that cannot be shared, or only be read, is not for data: firmware mostly.
        if let (Some(file), true) = (file, flags.contains(DmaMapFlags::READ_WRITE)) {
            let result = self.fabric.with(self.adapter, |adapter, _| {
                adapter.memory_mut().map(address, size, file, offset)
            });
            if let Err(error) = result {
                log::warn!("adapter {}: map {address:#x}+{size:#x}: {error}", self.adapter);
            }
        }
        Ok(())
    }

    fn dma_unmap(&mut self, flags: DmaUnmapFlags, address: u64, size: u64) -> io::Result<()> {
        self.fabric.with(self.adapter, |adapter, _| {
            if flags.contains(DmaUnmapFlags::UNMAP_ALL) {
                adapter.memory_mut().clear();
            } else {
                adapter.memory_mut().unmap(address, size);
            }
        });
        Ok(())
    }

    fn reset(&mut self) -> io::Result<()> {
        self.fabric.with(self.adapter, |adapter, _| adapter.reset());
        self.config_space = ConfigSpace::new(self.vectors);
        Ok(())
    }

    fn set_irqs(
        &mut self,
        index: u32,
        flags: u32,
        start: u32,
        count: u32,
        files: Vec<File>,
    ) -> io::Result<()> {
        let has_files = flags & VFIO_IRQ_SET_DATA_EVENTFD != 0;
        let mut files = files.into_iter();
        self.fabric.with(self.adapter, |adapter, _| {
            let interrupts = adapter.interrupts_mut();
            match index {
                VFIO_PCI_INTX_IRQ_INDEX if flags & VFIO_IRQ_SET_ACTION_TRIGGER != 0 => {
                    interrupts.set_line(files.next());
                }
                // A descriptor here would let the machine unmask without a message.
                VFIO_PCI_INTX_IRQ_INDEX if !has_files => {
                    interrupts.mask_line(flags & VFIO_IRQ_SET_ACTION_MASK != 0);
                }
                // Without data the only request is to take all vectors down.
                VFIO_PCI_MSIX_IRQ_INDEX if !has_files && count == 0 => interrupts.clear_vectors(),
                // A vector without a descriptor is taken down.
                VFIO_PCI_MSIX_IRQ_INDEX if has_files => {
                    for vector in start..start.saturating_add(count).min(VECTORS as u32) {
                        interrupts.set_vector(vector as usize, files.next());
                    }
                }
                _ => {}
            }
        });
        Ok(())
    }
}
