// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Handle tables: small numbers, and always the lowest free one, so that runs can be compared.

/// Objects by handle.
#[derive(Debug)]
pub struct Table<T> {
    slots: Vec<Option<T>>,
    first: u32,
    limit: u32,
}

impl<T> Table<T> {
    /// A table for at most `count` objects with handles from `first` on.
    pub fn new(first: u32, count: u32) -> Self {
        Self { slots: Vec::new(), first, limit: first + count }
    }

    /// The handle that the next object gets.
    pub fn vacant(&self) -> Option<u32> {
        let free = self.slots.iter().skip(self.first as usize).position(Option::is_none);
        let free = match free {
            Some(position) => self.first + position as u32,
            None => self.first.max(self.slots.len() as u32),
        };
        (free < self.limit).then_some(free)
    }

    /// Stores an object under a free handle.
    pub fn insert(&mut self, handle: u32, object: T) {
        let index = handle as usize;
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, || None);
        }
        self.slots[index] = Some(object);
    }

    /// The object with this handle.
    pub fn get(&self, handle: u32) -> Option<&T> {
        self.slots.get(handle as usize)?.as_ref()
    }

    /// The object with this handle, to change it.
    pub fn get_mut(&mut self, handle: u32) -> Option<&mut T> {
        self.slots.get_mut(handle as usize)?.as_mut()
    }

    /// Takes the object out; its handle is free again.
    pub fn remove(&mut self, handle: u32) -> Option<T> {
        self.slots.get_mut(handle as usize)?.take()
    }

    /// All objects with their handles.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.slots.iter().zip(0..).filter_map(|(slot, handle)| Some((handle, slot.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lowest_free_handle_is_reused() {
        let mut table = Table::new(2, 3);
        for expected in [2, 3, 4] {
            let handle = table.vacant().unwrap();
            assert_eq!(handle, expected);
            table.insert(handle, handle * 10);
        }
        assert_eq!(table.vacant(), None);
        assert_eq!(table.remove(3), Some(30));
        assert_eq!(table.remove(3), None);
        assert_eq!(table.vacant(), Some(3));
        assert_eq!(table.iter().collect::<Vec<_>>(), [(2, &20), (4, &40)]);
    }

    #[test]
    fn a_handle_below_the_first_does_not_disturb() {
        let mut table = Table::new(2, 4);
        table.insert(1, 'g');
        assert_eq!(table.vacant(), Some(2));
        assert_eq!(table.get(1), Some(&'g'));
        assert_eq!(table.get(0), None);
        assert_eq!(table.get(99), None);
    }
}
