// SPDX-License-Identifier: Apache-2.0 OR MIT
//! PCI configuration space.
//!
//! QEMU itself emulates the address registers and the control word of MSI-X; what it reads here
//! first tells it what they are like.

use crate::limits::{PCI_DEVICE, PCI_VENDOR};

/// Size of configuration space. There is no PCI Express capability, so that is all.
pub const SIZE: usize = 256;
/// Offset of the MSI-X table in BAR 0.
pub const MSIX_TABLE_OFFSET: u32 = 0;
/// Offset of the MSI-X pending bits in BAR 0.
pub const MSIX_PBA_OFFSET: u32 = 0x800;

const COMMAND: usize = 0x04;
const STATUS: usize = 0x06;
const CAP_POINTER: usize = 0x34;
const INTERRUPT_LINE: usize = 0x3c;
const INTERRUPT_PIN: usize = 0x3d;
const MSIX: usize = 0x40;

const STATUS_CAP_LIST: u16 = 1 << 4;
const CLASS_NETWORK_OTHER: [u8; 3] = [0x00, 0x80, 0x02];
const BAR_64BIT: u32 = 0x4;
const CAP_MSIX: u8 = 0x11;
/// Memory space, bus master, parity, SERR, INTx disable.
const COMMAND_WRITABLE: u16 = 0x0546;

/// Configuration space of an adapter.
pub struct ConfigSpace {
    bytes: [u8; SIZE],
}

impl ConfigSpace {
    /// As after power on, of an adapter with so many interrupt vectors, or with a line if none.
    pub fn new(vectors: u16) -> Self {
        let mut space = Self { bytes: [0; SIZE] };
        space.put(0x00, &PCI_VENDOR.to_le_bytes());
        space.put(0x02, &PCI_DEVICE.to_le_bytes());
        space.put(0x08, &[1]);
        space.put(0x09, &CLASS_NETWORK_OTHER);
        space.put(0x18, &BAR_64BIT.to_le_bytes());
        space.put(0x2c, &PCI_VENDOR.to_le_bytes());
        space.put(0x2e, &PCI_DEVICE.to_le_bytes());
        match vectors.checked_sub(1) {
            Some(last) => space.put_msix(last),
            None => space.put(INTERRUPT_PIN, &[1]),
        }
        space
    }

    fn put_msix(&mut self, last_vector: u16) {
        self.put(STATUS, &STATUS_CAP_LIST.to_le_bytes());
        self.put(CAP_POINTER, &[MSIX as u8]);
        self.put(MSIX, &[CAP_MSIX, 0]);
        self.put(MSIX + 2, &last_vector.to_le_bytes());
        self.put(MSIX + 4, &MSIX_TABLE_OFFSET.to_le_bytes());
        self.put(MSIX + 8, &MSIX_PBA_OFFSET.to_le_bytes());
    }

    fn put(&mut self, offset: usize, bytes: &[u8]) {
        self.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    /// Reads; beyond the end there are zeroes.
    pub fn read(&self, offset: u64, data: &mut [u8]) {
        for (index, byte) in data.iter_mut().enumerate() {
            let at = usize::try_from(offset).ok().and_then(|offset| offset.checked_add(index));
            *byte = at.and_then(|at| self.bytes.get(at)).copied().unwrap_or(0);
        }
    }

    /// Writes what can be written.
    pub fn write(&mut self, offset: u64, data: &[u8]) {
        for (index, byte) in data.iter().enumerate() {
            let at = usize::try_from(offset).ok().and_then(|offset| offset.checked_add(index));
            let [low, high] = COMMAND_WRITABLE.to_le_bytes();
            let (at, mask) = match at {
                Some(COMMAND) => (COMMAND, low),
                Some(at) if at == COMMAND + 1 => (at, high),
                Some(INTERRUPT_LINE) => (INTERRUPT_LINE, 0xff),
                _ => continue,
            };
            self.bytes[at] = self.bytes[at] & !mask | byte & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<const N: usize>(space: &ConfigSpace, offset: u64) -> [u8; N] {
        let mut data = [0xee; N];
        space.read(offset, &mut data);
        data
    }

    #[test]
    fn identity_and_capability() {
        let space = ConfigSpace::new(3);
        assert_eq!(read(&space, 0), [0xad, 0x15, 0x20, 0x08]);
        assert_eq!(read(&space, 0x34), [0x40]);
        assert_eq!(read(&space, 0x40), [0x11, 0, 2, 0, 0, 0, 0, 0, 0, 8, 0, 0]);
        assert_eq!(read(&space, 0x3c), [0, 0]);
        assert_eq!(read(&space, 0xfe), [0; 4]);
        assert_eq!(read(&space, u64::MAX), [0; 2]);
        assert_eq!(read(&ConfigSpace::new(1), 0x40), [0x11, 0, 0, 0]);
    }

    #[test]
    fn without_vectors_there_is_a_line() {
        let space = ConfigSpace::new(0);
        assert_eq!(read(&space, 0x06), [0, 0]);
        assert_eq!(read(&space, 0x34), [0]);
        assert_eq!(read(&space, 0x3c), [0, 1]);
    }

    #[test]
    fn only_control_bits_change() {
        let mut space = ConfigSpace::new(3);
        space.write(0, &[0xff; 8]);
        assert_eq!(read(&space, 0), [0xad, 0x15, 0x20, 0x08, 0x46, 0x05, 0x10, 0]);
        space.write(0x3c, &[0x0b, 0xff]);
        assert_eq!(read(&space, 0x3c), [0x0b, 0]);
        space.write(u64::MAX, &[1, 2]);
    }
}
