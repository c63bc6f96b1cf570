// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The memory of the guest as far as the adapter may reach it.
//!
//! QEMU maps and unmaps guest memory at any time, several times during firmware start alone. No
//! pointer into it is kept: every access looks the address up again.

use std::fs::File;
use std::io;
use std::sync::atomic::{fence, AtomicU64, Ordering};
use std::sync::Arc;

use vm_memory::{
    Bytes, FileOffset, GuestAddress, GuestMemoryBackend, GuestMemoryMmap, GuestMemoryRegion,
    GuestRegionMmap, MmapRegion, VolatileMemory,
};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// An access outside of the memory that the guest shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("address {0:#x} is not in shared guest memory")]
pub struct OutOfMemory(pub u64);

/// A contiguous piece of guest memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Bus address.
    pub addr: u64,
    /// Length in bytes.
    pub len: usize,
}

/// The mapped guest memory.
#[derive(Default)]
pub struct Memory {
    map: GuestMemoryMmap<()>,
}

impl Memory {
    /// Maps `size` bytes at bus address `addr`, which are at `offset` in `file`.
    pub fn map(&mut self, addr: u64, size: u64, file: File, offset: u64) -> io::Result<()> {
        let metadata = file.metadata()?;
        let end = offset.checked_add(size);
        // An access beyond the end of a file would kill the process.
        if metadata.is_file() && end.is_none_or(|end| end > metadata.len()) {
            return Err(io::Error::other("mapping goes beyond the end of the file"));
        }
        let size = usize::try_from(size).map_err(io::Error::other)?;
        let region =
            MmapRegion::from_file(FileOffset::new(file, offset), size).map_err(io::Error::other)?;
        let region = GuestRegionMmap::new(region, GuestAddress(addr))
            .ok_or_else(|| io::Error::other("mapping wraps around"))?;
        self.map = self.map.insert_region(Arc::new(region)).map_err(io::Error::other)?;
        Ok(())
    }

    /// Unmaps everything that begins in the range. What was never mapped is not an error: the
    /// guest also announces memory that cannot be shared.
    pub fn unmap(&mut self, addr: u64, size: u64) {
        let doomed: Vec<_> = self
            .map
            .iter()
            .map(|region| (region.start_addr(), region.len()))
            .filter(|(start, _)| start.0.checked_sub(addr).is_some_and(|offset| offset < size))
            .collect();
        for (start, len) in doomed {
            if let Ok((map, _)) = self.map.remove_region(start, len) {
                self.map = map;
            }
        }
    }

    /// Forgets all mappings.
    pub fn clear(&mut self) {
        self.map = GuestMemoryMmap::default();
    }

    /// True if all of the range is mapped.
    pub fn contains(&self, addr: u64, len: usize) -> bool {
        self.map.check_range(GuestAddress(addr), len)
    }

    /// Copies from guest memory.
    pub fn read(&self, addr: u64, bytes: &mut [u8]) -> Result<(), OutOfMemory> {
        self.map.read_slice(bytes, GuestAddress(addr)).map_err(|_| OutOfMemory(addr))
    }

    /// Copies to guest memory.
    pub fn write(&self, addr: u64, bytes: &[u8]) -> Result<(), OutOfMemory> {
        self.map.write_slice(bytes, GuestAddress(addr)).map_err(|_| OutOfMemory(addr))
    }

    /// Copies a record from guest memory, once.
    pub fn read_record<T: FromBytes + IntoBytes>(&self, addr: u64) -> Result<T, OutOfMemory> {
        let mut record = T::new_zeroed();
        self.read(addr, record.as_mut_bytes())?;
        Ok(record)
    }

    /// Copies a record to guest memory.
    pub fn write_record<T: IntoBytes + Immutable>(
        &self,
        addr: u64,
        record: &T,
    ) -> Result<(), OutOfMemory> {
        self.write(addr, record.as_bytes())
    }

    /// Copies bytes to pieces of guest memory, as far as they go.
    pub fn write_extents(&self, extents: &[Extent], bytes: &[u8]) -> Result<(), OutOfMemory> {
        let mut rest = bytes;
        for extent in extents {
            let (head, tail) = rest.split_at(extent.len.min(rest.len()));
            self.write(extent.addr, head)?;
            rest = tail;
        }
        Ok(())
    }

    /// Loads a ring index; what the guest wrote before it is visible afterwards.
    pub fn load_index(&self, addr: u64) -> Result<u32, OutOfMemory> {
        self.map.load(GuestAddress(addr), Ordering::Acquire).map_err(|_| OutOfMemory(addr))
    }

    /// Stores a ring index; what was written before it is visible to who reads it.
    pub fn store_index(&self, addr: u64, index: u32) -> Result<(), OutOfMemory> {
        self.map
            .store(index, GuestAddress(addr), Ordering::Release)
            .map_err(|_| OutOfMemory(addr))?;
        // A store here and a later load of what the guest stored must not pass each other.
        fence(Ordering::SeqCst);
        Ok(())
    }

    /// Runs `operation` on an aligned 64-bit word of guest memory.
    pub fn with_atomic<R>(
        &self,
        addr: u64,
        operation: impl FnOnce(&AtomicU64) -> R,
    ) -> Result<R, OutOfMemory> {
        let slice = self.map.get_slice(GuestAddress(addr), 8).map_err(|_| OutOfMemory(addr))?;
        let word = slice.get_atomic_ref::<AtomicU64>(0).map_err(|_| OutOfMemory(addr))?;
        Ok(operation(word))
    }
}

/// Copies the bytes of `src` to `dst`, which may be in the memories of two guests and must be of
/// the same length.
pub fn copy(
    (src_memory, src): (&Memory, &[Extent]),
    (dst_memory, dst): (&Memory, &[Extent]),
) -> Result<(), OutOfMemory> {
    let mut sources = src.iter().copied();
    let mut from = Extent { addr: 0, len: 0 };
    for to in dst {
        let mut to = *to;
        while to.len > 0 {
            while from.len == 0 {
                match sources.next() {
                    Some(next) => from = next,
                    None => return Ok(()),
                }
            }
            let len = from.len.min(to.len);
            let source = src_memory
                .map
                .get_slice(GuestAddress(from.addr), len)
                .map_err(|_| OutOfMemory(from.addr))?;
            let target = dst_memory
                .map
                .get_slice(GuestAddress(to.addr), len)
                .map_err(|_| OutOfMemory(to.addr))?;
            source.copy_to_volatile_slice(target);
            for extent in [&mut from, &mut to] {
                extent.addr += len as u64;
                extent.len -= len;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Memory of `pages` pages at address 0x10000.
    pub(crate) fn test_memory(pages: usize) -> Memory {
        let file = tempfile::tempfile().unwrap();
        let size = (pages * crate::abi::PAGE_SIZE) as u64;
        file.set_len(size).unwrap();
        let mut memory = Memory::default();
        memory.map(0x10000, size, file, 0).unwrap();
        memory
    }

    #[test]
    fn unmapped_memory_is_out_of_reach() {
        let mut memory = test_memory(2);
        assert!(memory.contains(0x10000, 0x2000));
        assert!(!memory.contains(0x10000, 0x2001));
        memory.write_record(0x10000, &7_u64).unwrap();
        assert_eq!(memory.read_record::<u64>(0x10000), Ok(7));
        memory.unmap(0x10000, 0x2000);
        assert_eq!(memory.read_record::<u64>(0x10000), Err(OutOfMemory(0x10000)));
        memory.unmap(0x10000, 0x2000);
    }

    #[test]
    fn overlapping_maps_are_refused() {
        let mut memory = test_memory(2);
        let file = tempfile::tempfile().unwrap();
        file.set_len(0x1000).unwrap();
        assert!(memory.map(0x11000, 0x1000, file, 0).is_err());
    }

    #[test]
    fn maps_beyond_the_file_are_refused() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(0x1000).unwrap();
        assert!(Memory::default().map(0, 0x2000, file, 0).is_err());
    }

    #[test]
    fn copies_across_pieces_of_different_length() {
        let memory = test_memory(2);
        memory.write(0x10000, b"abcdefgh").unwrap();
        let src = [Extent { addr: 0x10000, len: 3 }, Extent { addr: 0x10003, len: 5 }];
        let dst = [Extent { addr: 0x11000, len: 6 }, Extent { addr: 0x11100, len: 2 }];
        copy((&memory, &src), (&memory, &dst)).unwrap();
        let mut bytes = [0; 6];
        memory.read(0x11000, &mut bytes).unwrap();
        assert_eq!(&bytes, b"abcdef");
        memory.read(0x11100, &mut bytes).unwrap();
        assert_eq!(&bytes[..3], b"gh\0");
    }

    #[test]
    fn atomics_need_alignment() {
        let memory = test_memory(1);
        memory.write_record(0x10008, &5_u64).unwrap();
        let old = memory.with_atomic(0x10008, |word| word.fetch_add(3, Ordering::SeqCst));
        assert_eq!(old, Ok(5));
        assert_eq!(memory.read_record::<u64>(0x10008), Ok(8));
        assert!(memory.with_atomic(0x10004, |_| ()).is_err());
    }
}
