// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Page directories: how the driver hands over memory that is contiguous for the driver only.
//!
//! A directory is a page of 512 addresses of tables, a table is a page of 512 addresses of pages.
//! That is 1 GiB at most. The adapter reads a directory once, when the object is created.

use std::collections::HashSet;

use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::abi::PAGE_SIZE;
use crate::memory::{Extent, Memory, OutOfMemory};

const ENTRIES: usize = PAGE_SIZE / size_of::<u64>();

/// Most pages that a directory holds.
pub const MAX_PAGES: usize = ENTRIES * ENTRIES;

/// Why a directory cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageDirError {
    /// No page, or more than a directory holds.
    #[error("page directory with {0} pages")]
    Count(usize),
    /// An address is zero or not that of a page.
    #[error("page directory entry {0:#x}")]
    Entry(u64),
    /// The directory or a table is not in memory.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
}

/// Pages that form one buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pages(Vec<u64>);

impl Pages {
    /// Reads the first `count` pages of the directory at `pdir`.
    pub fn read(memory: &Memory, pdir: u64, count: usize) -> Result<Self, PageDirError> {
        if count == 0 || count > MAX_PAGES {
            return Err(PageDirError::Count(count));
        }
        let mut tables = vec![0_u64; count.div_ceil(ENTRIES)];
        memory.read(page_address(pdir)?, tables.as_mut_bytes())?;
        let mut pages = vec![0_u64; count];
        for (table, chunk) in tables.iter().zip(pages.chunks_mut(ENTRIES)) {
            memory.read(page_address(*table)?, chunk.as_mut_bytes())?;
        }
        for page in &pages {
            page_address(*page)?;
        }
        Ok(Self(pages))
    }

    /// Like [`Self::read`] for memory that the adapter itself uses: all of it must be mapped.
    pub fn read_mapped(memory: &Memory, pdir: u64, count: usize) -> Result<Self, PageDirError> {
        let pages = Self::read(memory, pdir, count)?;
        match pages.0.iter().find(|page| !memory.contains(**page, PAGE_SIZE)) {
            Some(page) => Err(OutOfMemory(*page).into()),
            None => Ok(pages),
        }
    }

    /// Whether a page occurs twice.
    pub fn has_duplicates(&self) -> bool {
        let mut seen = HashSet::new();
        !self.0.iter().all(|page| seen.insert(page))
    }

    /// Length of the buffer in bytes.
    pub fn len(&self) -> usize {
        self.0.len() * PAGE_SIZE
    }

    /// True if there is no page.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Address of a byte of the buffer.
    pub fn address(&self, offset: usize) -> Option<u64> {
        self.0.get(offset / PAGE_SIZE).map(|page| page + (offset % PAGE_SIZE) as u64)
    }

    /// Adds the pieces of memory behind a range of the buffer to `extents`.
    ///
    /// Returns `None`, and may have added some, if the range leaves the buffer.
    pub fn resolve(&self, offset: usize, len: usize, extents: &mut Vec<Extent>) -> Option<()> {
        let end = offset.checked_add(len)?;
        let mut at = offset;
        while at < end {
            let piece = (PAGE_SIZE - at % PAGE_SIZE).min(end - at);
            extents.push(Extent { addr: self.address(at)?, len: piece });
            at += piece;
        }
        Some(())
    }

    /// Copies a record from the buffer. It must not cross a page.
    pub fn read_record<T: FromBytes + IntoBytes>(
        &self,
        memory: &Memory,
        offset: usize,
    ) -> Result<T, OutOfMemory> {
        memory.read_record(self.address(offset).ok_or(OutOfMemory(offset as u64))?)
    }

    /// Copies a record to the buffer. It must not cross a page.
    pub fn write_record<T: IntoBytes + Immutable>(
        &self,
        memory: &Memory,
        offset: usize,
        record: &T,
    ) -> Result<(), OutOfMemory> {
        memory.write_record(self.address(offset).ok_or(OutOfMemory(offset as u64))?, record)
    }
}

fn page_address(address: u64) -> Result<u64, PageDirError> {
    if address == 0 || address % PAGE_SIZE as u64 != 0 {
        return Err(PageDirError::Entry(address));
    }
    Ok(address)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::memory::tests::test_memory;

    /// Writes a directory at 0x10000 with one table at 0x11000 for the given pages.
    pub(crate) fn write_directory(memory: &Memory, pages: &[u64]) -> u64 {
        memory.write_record(0x10000, &0x11000_u64).unwrap();
        memory.write(0x11000, pages.as_bytes()).unwrap();
        0x10000
    }

    #[test]
    fn buffer_follows_the_pages() {
        let memory = test_memory(6);
        let pdir = write_directory(&memory, &[0x14000, 0x13000, 0x15000]);
        let pages = Pages::read_mapped(&memory, pdir, 3).unwrap();
        assert_eq!(pages.len(), 3 * PAGE_SIZE);
        assert_eq!(pages.address(0x1010), Some(0x13010));
        assert_eq!(pages.address(0x3000), None);
        let mut extents = Vec::new();
        pages.resolve(0xff0, 0x1020, &mut extents).unwrap();
        assert_eq!(
            extents,
            [
                Extent { addr: 0x14ff0, len: 0x10 },
                Extent { addr: 0x13000, len: 0x1000 },
                Extent { addr: 0x15000, len: 0x10 }
            ]
        );
        assert_eq!(pages.resolve(0x2ff0, 0x11, &mut extents), None);
        assert_eq!(pages.resolve(usize::MAX, 2, &mut extents), None);
    }

    #[test]
    fn bad_directories_are_refused() {
        let memory = test_memory(6);
        let pdir = write_directory(&memory, &[0x14000, 0, 0x15008, 0x40000]);
        let read = |count| Pages::read_mapped(&memory, pdir, count);
        assert!(read(1).is_ok());
        assert_eq!(read(0), Err(PageDirError::Count(0)));
        assert_eq!(read(MAX_PAGES + 1), Err(PageDirError::Count(MAX_PAGES + 1)));
        assert_eq!(read(2), Err(PageDirError::Entry(0)));
        memory.write_record(0x11008, &0x13000_u64).unwrap();
        assert_eq!(read(3), Err(PageDirError::Entry(0x15008)));
        memory.write_record(0x11010, &0x15000_u64).unwrap();
        assert_eq!(read(4), Err(OutOfMemory(0x40000).into()));
        assert_eq!(Pages::read(&memory, 0, 1), Err(PageDirError::Entry(0)));
        assert_eq!(Pages::read(&memory, 0x40000, 1), Err(OutOfMemory(0x40000).into()));
        // The second table is missing.
        assert_eq!(Pages::read(&memory, pdir, ENTRIES + 1), Err(PageDirError::Entry(0)));
    }
}
