// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Ring indices, with the arithmetic that driver and device share bit for bit.
//!
//! An index runs through the masked values of twice the ring's size, so that a full ring differs
//! from an empty one. The same masks are used where the size is no power of two: the event ring
//! has 1536 entries and uses 512 of them, the notification ring has 3072 and uses 1024. That
//! cannot be "repaired" on one side only.

use crate::memory::{Memory, OutOfMemory};
use crate::page_dir::Pages;

/// An index that cannot be one of this ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RingError {
    /// The guest stored an impossible index.
    #[error("ring index {0:#x} is invalid")]
    Index(u32),
    /// The ring is not in memory.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
}

fn check(index: u32, size: u32) -> Result<u32, RingError> {
    if index & !(size * 2 - 1) == 0 {
        Ok(index)
    } else {
        Err(RingError::Index(index))
    }
}

/// The entry that a valid index means.
pub fn slot(index: u32, size: u32) -> u32 {
    index & (size - 1)
}

/// The index after a valid index.
pub fn next(index: u32, size: u32) -> u32 {
    (index + 1) & (size * 2 - 1)
}

/// Whether an entry may be added.
pub fn has_space(tail: u32, head: u32, size: u32) -> Result<bool, RingError> {
    Ok(check(tail, size)? != check(head, size)? ^ size)
}

/// Whether an entry waits to be taken.
pub fn has_data(tail: u32, head: u32, size: u32) -> Result<bool, RingError> {
    Ok(check(tail, size)? != check(head, size)?)
}

/// Number of entries that wait. Exact for sizes that are powers of two.
pub fn pending(tail: u32, head: u32, size: u32) -> u32 {
    tail.wrapping_sub(head) & (size * 2 - 1)
}

/// Which of the two index pairs of a header page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// Send queue.
    Tx,
    /// Receive queue, completions, events.
    Rx,
}

/// A ring in guest memory: the place of its indices and the place and number of its entries.
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    /// Index pair in the first page of the buffer.
    pub half: Half,
    /// Offset of the first entry in the buffer.
    pub offset: usize,
    /// Distance of two entries.
    pub stride: usize,
    /// Number of entries.
    pub size: u32,
}

impl Ring {
    fn index_offset(&self) -> usize {
        match self.half {
            Half::Tx => 0,
            Half::Rx => 8,
        }
    }

    fn index_address(&self, pages: &Pages, offset: usize) -> Result<u64, OutOfMemory> {
        let offset = self.index_offset() + offset;
        pages.address(offset).ok_or(OutOfMemory(offset as u64))
    }

    /// Tail and head as they are now in memory.
    pub fn indices(&self, memory: &Memory, pages: &Pages) -> Result<(u32, u32), OutOfMemory> {
        Ok((
            memory.load_index(self.index_address(pages, 0)?)?,
            memory.load_index(self.index_address(pages, 4)?)?,
        ))
    }

    /// Overwrites indices, with valid values or not.
    pub fn set_indices(
        &self,
        memory: &Memory,
        pages: &Pages,
        tail: Option<u32>,
        head: Option<u32>,
    ) -> Result<(), OutOfMemory> {
        for (offset, index) in [(0, tail), (4, head)] {
            if let Some(index) = index {
                memory.store_index(self.index_address(pages, offset)?, index)?;
            }
        }
        Ok(())
    }

    /// Offset of the next entry to take, if there is one.
    pub fn front(&self, memory: &Memory, pages: &Pages) -> Result<Option<usize>, RingError> {
        let (tail, head) = self.indices(memory, pages)?;
        Ok(has_data(tail, head, self.size)?.then(|| self.entry(head)))
    }

    /// Gives the entry at the front back to the guest.
    pub fn pop(&self, memory: &Memory, pages: &Pages) -> Result<(), RingError> {
        let address = self.index_address(pages, 4)?;
        let head = check(memory.load_index(address)?, self.size)?;
        Ok(memory.store_index(address, next(head, self.size))?)
    }

    /// Offset of the next free entry, if there is one.
    pub fn back(&self, memory: &Memory, pages: &Pages) -> Result<Option<usize>, RingError> {
        let (tail, head) = self.indices(memory, pages)?;
        Ok(has_space(tail, head, self.size)?.then(|| self.entry(tail)))
    }

    /// Publishes the entry at the back.
    pub fn push(&self, memory: &Memory, pages: &Pages) -> Result<(), RingError> {
        let address = self.index_address(pages, 0)?;
        let tail = check(memory.load_index(address)?, self.size)?;
        Ok(memory.store_index(address, next(tail, self.size))?)
    }

    /// Number of entries that wait.
    pub fn len(&self, memory: &Memory, pages: &Pages) -> Result<u32, RingError> {
        let (tail, head) = self.indices(memory, pages)?;
        Ok(pending(check(tail, self.size)?, check(head, self.size)?, self.size))
    }

    fn entry(&self, index: u32) -> usize {
        self.offset + slot(index, self.size) as usize * self.stride
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::PAGE_SIZE;
    use crate::memory::tests::test_memory;
    use crate::page_dir::tests::write_directory;

    #[test]
    fn power_of_two_ring_wraps_and_fills() {
        let size = 4;
        let (mut tail, head) = (0, 0);
        for expected in [0, 1, 2, 3] {
            assert_eq!(has_space(tail, head, size), Ok(true));
            assert_eq!(slot(tail, size), expected);
            tail = next(tail, size);
        }
        assert_eq!(has_space(tail, head, size), Ok(false));
        assert_eq!(pending(tail, head, size), 4);
        assert_eq!(next(7, size), 0);
        assert_eq!(pending(1, 7, size), 2);
    }

    #[test]
    fn invalid_indices_are_errors() {
        assert_eq!(has_data(8, 0, 4), Err(RingError::Index(8)));
        assert_eq!(has_space(0, u32::MAX, 4), Err(RingError::Index(u32::MAX)));
        // A bit that 2 * 1536 - 1 does not have.
        assert_eq!(has_data(0x400, 0, 1536), Err(RingError::Index(0x400)));
    }

    /// What the masks make of the sizes of the two notification rings.
    #[test]
    fn odd_sizes_use_a_part_of_their_entries() {
        for (size, indices, slots) in [(1536, 1024, 512), (3072, 2048, 1024)] {
            let mut index = 0;
            for step in 0..indices {
                assert_eq!(index, step);
                assert!(slot(index, size) < slots);
                assert_eq!(slot(index, size), step % slots);
                index = next(index, size);
            }
            assert_eq!(index, 0, "size {size}");
        }
    }

    #[test]
    fn entries_are_produced_and_consumed_in_memory() {
        let memory = test_memory(4);
        let pdir = write_directory(&memory, &[0x12000, 0x13000]);
        let pages = Pages::read_mapped(&memory, pdir, 2).unwrap();
        let ring = Ring { half: Half::Rx, offset: PAGE_SIZE, stride: 64, size: 2 };
        assert_eq!(ring.front(&memory, &pages), Ok(None));
        assert_eq!(ring.back(&memory, &pages), Ok(Some(PAGE_SIZE)));
        ring.push(&memory, &pages).unwrap();
        ring.push(&memory, &pages).unwrap();
        assert_eq!(ring.back(&memory, &pages), Ok(None));
        assert_eq!(ring.len(&memory, &pages), Ok(2));
        ring.pop(&memory, &pages).unwrap();
        assert_eq!(ring.front(&memory, &pages), Ok(Some(PAGE_SIZE + 64)));
        assert_eq!(memory.read_record::<[u32; 4]>(0x12000), Ok([0, 0, 2, 1]));
        memory.write_record(0x12008, &9_u32).unwrap();
        assert_eq!(ring.front(&memory, &pages), Err(RingError::Index(9)));
    }
}
