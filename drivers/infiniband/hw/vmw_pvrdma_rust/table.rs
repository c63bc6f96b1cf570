// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! Tables of objects by handle, for what the device reports in interrupts.

#![forbid(unsafe_code)]

use crate::handle::Handle;
use core::marker::PhantomData;
use kernel::{
    new_mutex, new_spinlock_irq,
    prelude::*,
    sync::{
        Arc,
        Mutex,
        MutexGuard,
        SpinLockIrq, //
    },
};

/// Objects of kind `K`, each represented by a `T`.
///
/// Values are handed out as counted references, which must be safe to drop in interrupt context;
/// the lock is not held while the caller uses one.
#[pin_data]
pub(crate) struct Table<K, T> {
    // LOCKING: Outside of the command channel and of `entries`.
    #[pin]
    changes: Mutex<()>,
    #[pin]
    entries: SpinLockIrq<KVVec<Option<Arc<T>>>>,
    kind: PhantomData<fn() -> K>,
}

/// The right to create and destroy objects of a kind.
///
/// To be held from before the command until the table agrees with the device again: the device may
/// give a handle to a new object as soon as it has destroyed the old one.
pub(crate) struct Changes<'a, K, T> {
    table: &'a Table<K, T>,
    _guard: MutexGuard<'a, ()>,
}

/// Returns where the object `handle` is in `entries`, if there is room for it.
///
/// There is no other way from a handle to an index.
fn entry<K, T>(entries: &mut [Option<T>], handle: Handle<K>) -> Option<&mut Option<T>> {
    entries.get_mut(usize::try_from(handle.raw()).ok()?)
}

/// Puts `value` at `handle`.
///
/// # Errors
///
/// [`EIO`] if the handle is out of range or in use.
fn insert<K, T>(entries: &mut [Option<T>], handle: Handle<K>, value: T) -> Result {
    match entry(entries, handle) {
        Some(free @ None) => {
            *free = Some(value);
            Ok(())
        }
        Some(Some(_)) | None => Err(EIO),
    }
}

impl<K, T> Table<K, T> {
    /// Makes a table for the handles below `len`.
    pub(crate) fn new(len: u32) -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            changes <- new_mutex!(()),
            entries <- new_spinlock_irq!(empty(len)?),
            kind: PhantomData,
        })
    }

    /// Returns the object `handle`. May be called in any context.
    pub(crate) fn get(&self, handle: Handle<K>) -> Option<Arc<T>> {
        entry(&mut self.entries.lock(), handle)?.clone()
    }

    /// Waits until nobody else creates or destroys an object of the kind. Sleeps.
    pub(crate) fn change(&self) -> Changes<'_, K, T> {
        Changes {
            table: self,
            _guard: self.changes.lock(),
        }
    }
}

impl<K, T> Changes<'_, K, T> {
    /// Enters `value` as the object that the device calls `handle`.
    ///
    /// # Errors
    ///
    /// [`EIO`] if the handle is out of range or in use: the device made a mistake.
    pub(crate) fn insert(&self, handle: Handle<K>, value: Arc<T>) -> Result {
        insert(&mut self.table.entries.lock(), handle, value)
    }

    /// Removes the object `handle`.
    pub(crate) fn remove(&self, handle: Handle<K>) -> Option<Arc<T>> {
        entry(&mut self.table.entries.lock(), handle)?.take()
    }
}

/// Allocates a table without objects.
fn empty<T>(len: u32) -> Result<KVVec<Option<Arc<T>>>> {
    let len = usize::try_from(len)?;
    let mut entries = KVVec::with_capacity(len, GFP_KERNEL)?;

    for _ in 0..len {
        entries.push(None, GFP_KERNEL)?;
    }
    Ok(entries)
}

#[cfg(CONFIG_INFINIBAND_VMWARE_PVRDMA_RUST_KUNIT_TEST)]
#[kunit_tests(vmw_pvrdma_rust_table)]
mod tests {
    use super::*;
    use crate::handle::Cq;

    fn table() -> Result<Arc<Table<Cq, u32>>> {
        Arc::pin_init(Table::new(4), GFP_KERNEL)
    }

    fn value(value: u32) -> Result<Arc<u32>> {
        Ok(Arc::new(value, GFP_KERNEL)?)
    }

    #[test]
    fn what_was_inserted_is_found_until_removed() -> Result {
        let table = table()?;
        let handle = Handle::new(3);

        assert!(table.get(handle).is_none());
        table.change().insert(handle, value(7)?)?;
        assert_eq!(table.get(handle).map(|value| *value), Some(7));
        assert!(table.get(Handle::new(2)).is_none());
        assert_eq!(table.change().remove(handle).map(|value| *value), Some(7));
        assert!(table.change().remove(handle).is_none());
        assert!(table.get(handle).is_none());
        Ok(())
    }

    #[test]
    fn a_handle_in_use_is_refused() -> Result {
        let table = table()?;
        let handle = Handle::new(0);

        table.change().insert(handle, value(1)?)?;
        assert_eq!(table.change().insert(handle, value(2)?), Err(EIO));
        assert_eq!(table.get(handle).map(|value| *value), Some(1));
        Ok(())
    }

    #[test]
    fn a_handle_out_of_range_is_refused() -> Result {
        let table = table()?;

        for raw in [4, 8, u32::MAX] {
            assert_eq!(table.change().insert(Handle::new(raw), value(1)?), Err(EIO));
            assert!(table.get(Handle::new(raw)).is_none());
            assert!(table.change().remove(Handle::new(raw)).is_none());
        }
        // Nothing ended up anywhere else.
        for raw in 0..4 {
            assert!(table.get(Handle::new(raw)).is_none());
        }
        Ok(())
    }
}
