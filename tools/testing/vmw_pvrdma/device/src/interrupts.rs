// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Interrupts: three MSI-X vectors, each an event descriptor that QEMU hands over.

use std::fs::File;
use std::io::Write;

use serde::Deserialize;

use crate::abi::VECTORS;
use crate::trace::{Event, Trace};

/// What a vector tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(usize)]
pub enum Vector {
    /// An answer is in its slot.
    Response = 0,
    /// The event ring has entries.
    Async = 1,
    /// The notification ring has entries.
    Completion = 2,
}

/// State of the interrupts.
///
/// An interrupt that cannot be delivered, because the driver masks it or the guest has not set
/// the vector up, stays pending and is delivered when it can be.
pub struct Interrupts {
    vectors: [Option<File>; VECTORS],
    mask: u32,
    pending: u32,
    cause: u32,
    trace: Trace,
}

impl Interrupts {
    /// All masked, none set up.
    pub fn new(trace: Trace) -> Self {
        Self { vectors: [const { None }; VECTORS], mask: u32::MAX, pending: 0, cause: 0, trace }
    }

    /// Raises an interrupt.
    pub fn raise(&mut self, vector: Vector) {
        let bit = 1 << vector as usize;
        self.cause |= bit;
        self.pending |= bit;
        self.deliver();
    }

    /// Sets a vector up, or takes it down.
    pub fn set_vector(&mut self, vector: usize, event: Option<File>) {
        if let Some(slot) = self.vectors.get_mut(vector) {
            *slot = event;
            self.deliver();
        }
    }

    /// Takes all vectors down.
    pub fn clear_vectors(&mut self) {
        self.vectors = [const { None }; VECTORS];
    }

    /// Sets the mask register.
    pub fn set_mask(&mut self, mask: u32) {
        self.mask = mask;
        self.deliver();
    }

    /// The mask register.
    pub fn mask(&self) -> u32 {
        self.mask
    }

    /// The pending bits, as the MSI-X pending bit array shows them.
    pub fn pending(&self) -> u32 {
        self.pending
    }

    /// Reads and clears the cause register.
    pub fn take_cause(&mut self) -> u32 {
        std::mem::take(&mut self.cause)
    }

    /// Masks everything and forgets what is pending; vectors stay set up.
    pub fn reset(&mut self) {
        self.mask = u32::MAX;
        self.pending = 0;
        self.cause = 0;
    }

    fn deliver(&mut self) {
        for (vector, event) in self.vectors.iter_mut().enumerate() {
            let bit = 1 << vector;
            if self.pending & !self.mask & bit == 0 {
                continue;
            }
            if let Some(event) = event {
                self.pending &= !bit;
                self.trace.emit(|| Event::Irq { vector });
                if let Err(error) = event.write_all(&1_u64.to_ne_bytes()) {
                    log::warn!("interrupt {vector}: {error}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek};

    fn interrupts() -> (Interrupts, File) {
        let mut interrupts = Interrupts::new(Trace::default());
        let file = tempfile::tempfile().unwrap();
        interrupts.set_vector(1, Some(file.try_clone().unwrap()));
        (interrupts, file)
    }

    fn count(file: &mut File) -> usize {
        let mut bytes = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut bytes).unwrap();
        bytes.len() / 8
    }

    #[test]
    fn masked_interrupt_waits() {
        let (mut interrupts, mut file) = interrupts();
        interrupts.raise(Vector::Async);
        interrupts.raise(Vector::Async);
        assert_eq!((count(&mut file), interrupts.pending()), (0, 2));
        interrupts.set_mask(0);
        assert_eq!((count(&mut file), interrupts.pending()), (1, 0));
        interrupts.raise(Vector::Async);
        assert_eq!(count(&mut file), 2);
        assert_eq!((interrupts.take_cause(), interrupts.take_cause()), (2, 0));
    }

    #[test]
    fn interrupt_without_vector_waits_and_reset_drops_it() {
        let (mut interrupts, _file) = interrupts();
        interrupts.set_mask(0);
        interrupts.raise(Vector::Completion);
        assert_eq!(interrupts.pending(), 4);
        let mut late = tempfile::tempfile().unwrap();
        interrupts.set_vector(2, Some(late.try_clone().unwrap()));
        assert_eq!((count(&mut late), interrupts.pending()), (1, 0));
        interrupts.raise(Vector::Response);
        interrupts.reset();
        assert_eq!((interrupts.pending(), interrupts.mask()), (0, u32::MAX));
        interrupts.set_vector(7, None);
    }
}
