// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Interrupts: MSI-X vectors, or a line, each an event descriptor that QEMU hands over.
//!
//! With fewer vectors than there are things to tell, the last one tells the rest.

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
    /// Number of vectors; without any there is a line.
    count: usize,
    line: Option<File>,
    /// The machine masks the line with each interrupt until the guest has seen to it.
    line_is_masked: bool,
    mask: u32,
    pending: u32,
    cause: u32,
    trace: Trace,
}

impl Interrupts {
    /// All masked, none set up.
    pub fn new(count: u16, trace: Trace) -> Self {
        Self {
            vectors: [const { None }; VECTORS],
            count: count.into(),
            line: None,
            line_is_masked: false,
            mask: u32::MAX,
            pending: 0,
            cause: 0,
            trace,
        }
    }

    /// Raises an interrupt.
    pub fn raise(&mut self, vector: Vector) {
        self.cause |= 1 << vector as usize;
        self.pending |= 1 << (vector as usize).min(self.count.saturating_sub(1));
        self.deliver();
    }

    /// Sets the line up, or takes it down.
    pub fn set_line(&mut self, event: Option<File>) {
        self.line = event;
        self.line_is_masked = false;
        self.deliver();
    }

    /// Masks or unmasks the line.
    pub fn mask_line(&mut self, is_masked: bool) {
        self.line_is_masked = is_masked;
        self.deliver();
    }

    /// Sets a vector up, or takes it down.
    pub fn set_vector(&mut self, vector: usize, event: Option<File>) {
        if let Some(slot) = self.vectors.get_mut(vector) {
            *slot = event;
            self.deliver();
        }
    }

    /// Takes the line and all vectors down.
    pub fn clear_vectors(&mut self) {
        self.line = None;
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

    /// Reads and clears the cause register; the line goes down with it.
    pub fn take_cause(&mut self) -> u32 {
        if self.count == 0 {
            self.pending = 0;
        }
        std::mem::take(&mut self.cause)
    }

    /// Masks everything and forgets what is pending; vectors stay set up.
    pub fn reset(&mut self) {
        self.mask = u32::MAX;
        self.pending = 0;
        self.cause = 0;
    }

    fn deliver(&mut self) {
        if let Some(line) = &mut self.line {
            if self.pending & !self.mask != 0 && !self.line_is_masked {
                self.line_is_masked = true;
                self.trace.emit(|| Event::Irq { vector: 0 });
                signal(line);
            }
        }
        for (vector, event) in self.vectors.iter_mut().enumerate() {
            let bit = 1 << vector;
            if self.pending & !self.mask & bit == 0 {
                continue;
            }
            if let Some(event) = event {
                self.pending &= !bit;
                self.trace.emit(|| Event::Irq { vector });
                signal(event);
            }
        }
    }
}

fn signal(event: &mut File) {
    if let Err(error) = event.write_all(&1_u64.to_ne_bytes()) {
        log::warn!("interrupt is lost: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek};

    fn interrupts() -> (Interrupts, File) {
        let mut interrupts = Interrupts::new(3, Trace::default());
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

    #[test]
    fn the_last_vector_tells_the_rest() {
        let mut interrupts = Interrupts::new(2, Trace::default());
        let mut file = tempfile::tempfile().unwrap();
        interrupts.set_vector(1, Some(file.try_clone().unwrap()));
        interrupts.set_mask(0);
        interrupts.raise(Vector::Async);
        interrupts.raise(Vector::Completion);
        assert_eq!(count(&mut file), 2);
        assert_eq!(interrupts.take_cause(), 6);
    }

    #[test]
    fn a_line_stays_up_until_its_cause_is_read() {
        let mut interrupts = Interrupts::new(0, Trace::default());
        let mut file = tempfile::tempfile().unwrap();
        interrupts.set_line(Some(file.try_clone().unwrap()));
        interrupts.set_mask(0);
        interrupts.raise(Vector::Async);
        interrupts.raise(Vector::Completion);
        assert_eq!(count(&mut file), 1);
        interrupts.mask_line(false);
        assert_eq!(count(&mut file), 2, "unmasked, and still up");
        assert_eq!(interrupts.take_cause(), 6);
        interrupts.mask_line(false);
        assert_eq!(count(&mut file), 2);
    }
}
