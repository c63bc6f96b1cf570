// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! Page directories: how memory is described to the device.
//!
//! A directory page holds the bus addresses of up to 512 table pages, a table page those of up to
//! 512 pages. That makes 1 GiB.

#![forbid(unsafe_code)]

use crate::wire::PAGE;
use kernel::{
    device::{
        Bound,
        Device, //
    },
    dma::{
        Coherent,
        CoherentView,
        DmaAddress, //
    },
    io::{
        io_project,
        io_write,
        Io, //
    },
    prelude::*, //
};

/// A page that the driver and the device share.
pub(crate) type Page = Coherent<[u8; PAGE]>;

/// A page of bus addresses.
type Table = Coherent<[u64; ENTRIES]>;

/// Number of entries of a directory or table page.
const ENTRIES: usize = PAGE / size_of::<u64>();

/// Number of pages that one directory can describe.
pub(crate) const MAX_PAGES: usize = ENTRIES * ENTRIES;

/// Position of the entry for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Position {
    /// Index into the directory.
    table: usize,
    /// Index into that table.
    entry: usize,
}

impl Position {
    /// Returns where page number `index` is described.
    const fn of(index: usize) -> Self {
        Self {
            table: index / ENTRIES,
            entry: index % ENTRIES,
        }
    }
}

/// Returns how many tables are needed for `count` pages.
///
/// # Errors
///
/// [`EINVAL`] if there are none or more than one directory can describe.
fn tables_for(count: usize) -> Result<usize> {
    match count {
        1..=MAX_PAGES => Ok(count.div_ceil(ENTRIES)),
        _ => Err(EINVAL),
    }
}

/// A page directory, with pages of its own or without.
pub(crate) struct PageDir {
    directory: Table,
    tables: KVec<Table>,
    /// The described pages, if they belong to the directory.
    pages: KVec<Page>,
    count: usize,
}

impl PageDir {
    /// Creates a directory for `count` pages that belong to somebody else; see [`Self::fill`].
    ///
    /// # Errors
    ///
    /// [`EINVAL`] if `count` is zero or above [`MAX_PAGES`], [`ENOMEM`].
    pub(crate) fn new(dev: &Device<Bound>, count: usize) -> Result<Self> {
        let directory = Table::zeroed(dev, GFP_KERNEL)?;
        let mut tables = KVec::with_capacity(tables_for(count)?, GFP_KERNEL)?;

        for index in 0..tables_for(count)? {
            let table = Table::zeroed(dev, GFP_KERNEL)?;

            io_write!(&directory, [try: index], table.dma_address());
            tables.push(table, GFP_KERNEL)?;
        }

        Ok(Self {
            directory,
            tables,
            pages: KVec::new(),
            count,
        })
    }

    /// Creates a directory with `count` zeroed pages.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub(crate) fn with_pages(dev: &Device<Bound>, count: usize) -> Result<Self> {
        let mut this = Self::new(dev, count)?;

        this.pages.reserve(count, GFP_KERNEL)?;
        for index in 0..count {
            let page = Page::zeroed(dev, GFP_KERNEL)?;

            this.set(index, page.dma_address())?;
            this.pages.push(page, GFP_KERNEL)?;
        }

        Ok(this)
    }

    /// Returns the bus address that the device is given.
    pub(crate) fn dma_address(&self) -> DmaAddress {
        self.directory.dma_address()
    }

    /// Returns how many pages the directory describes.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Describes page number `index`.
    ///
    /// # Errors
    ///
    /// [`EINVAL`] if there is no such page.
    pub(crate) fn set(&self, index: usize, address: DmaAddress) -> Result {
        if index >= self.count {
            return Err(EINVAL);
        }
        let Position { table, entry } = Position::of(index);

        io_write!(self.tables.get(table).ok_or(EINVAL)?, [try: entry], address);
        Ok(())
    }

    /// Describes the pages from number `first` on, in order.
    ///
    /// # Errors
    ///
    /// [`EINVAL`] if there are more `addresses` than pages.
    pub(crate) fn fill(
        &self,
        first: usize,
        addresses: impl IntoIterator<Item = DmaAddress>,
    ) -> Result {
        for (offset, address) in addresses.into_iter().enumerate() {
            self.set(first.checked_add(offset).ok_or(EINVAL)?, address)?;
        }
        Ok(())
    }

    /// Returns the structure at byte `offset` of the directory's own pages.
    ///
    /// # Errors
    ///
    /// [`EINVAL`] if it does not lie within one page, aligned.
    pub(crate) fn view<T: FromBytes + IntoBytes>(
        &self,
        offset: usize,
    ) -> Result<CoherentView<'_, T>> {
        let page = self.pages.get(offset / PAGE).ok_or(EINVAL)?;

        io_project!(page, [try: offset % PAGE..]).try_cast()
    }
}

#[cfg(CONFIG_INFINIBAND_VMWARE_PVRDMA_RUST_KUNIT_TEST)]
#[kunit_tests(vmw_pvrdma_rust_page_dir)]
mod tests {
    use super::*;

    #[test]
    fn positions() {
        for (index, table, entry) in [
            (0, 0, 0),
            (511, 0, 511),
            (512, 1, 0),
            (1025, 2, 1),
            (MAX_PAGES - 1, 511, 511),
        ] {
            assert_eq!(Position::of(index), Position { table, entry });
        }
    }

    #[test]
    fn number_of_tables() -> Result {
        assert_eq!(MAX_PAGES, 262_144);
        assert!(tables_for(0).is_err());
        assert_eq!(tables_for(1)?, 1);
        assert_eq!(tables_for(512)?, 1);
        assert_eq!(tables_for(513)?, 2);
        assert_eq!(tables_for(MAX_PAGES)?, 512);
        assert!(tables_for(MAX_PAGES + 1).is_err());
        assert!(tables_for(usize::MAX).is_err());
        Ok(())
    }
}
