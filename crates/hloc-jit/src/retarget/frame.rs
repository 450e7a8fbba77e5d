//! The wide function's stack frame.
//!
//! From the stack pointer up, Cranelift's frame holds the stack slots that the emitter asked for, spilled
//! registers, and saved registers. The slots keep their places: the emitter made them as large as wide code
//! needs. Everything above them moves up so that each 16 bytes become a wide vector.

use super::{Refusal, Wide};

/// A function with a larger frame is refused.
const LARGEST: u64 = 1 << 15;

/// Size of the pages that guard stacks: a larger frame must touch each of its own on the way.
const PAGE: u64 = 4096;

/// How old offsets from the stack pointer become new ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    slots: u64,
    size: u64,
    factor: u64,
}

impl Frame {
    /// The frame of a function with `slots` bytes of stack slots and `size` bytes in all.
    pub(super) fn new(slots: u32, size: u64, wide: Wide) -> Result<Frame, Refusal> {
        let frame = Frame {
            slots: u64::from(slots).min(size),
            size,
            factor: u64::from(wide.factor()),
        };
        let new = frame.new_size();
        if new > LARGEST {
            return Err(Refusal::Frame(new));
        }
        Ok(frame)
    }

    /// Size of the wide frame.
    pub(super) fn new_size(&self) -> u64 {
        self.moved(self.size)
    }

    /// Distances below the stack pointer at which the wide function must touch the stack before it takes its
    /// frame.
    pub(super) fn touched(&self) -> impl Iterator<Item = u64> + use<> {
        (1..=self.new_size() / PAGE).map(|page| page * PAGE)
    }

    /// Whether the old offset is one of a spilled register.
    pub(super) fn is_spill(&self, offset: u64) -> bool {
        (self.slots..self.size).contains(&offset)
    }

    /// The new place of what lies `offset` bytes above the stack pointer; `None` outside of the frame.
    pub(super) fn place(&self, offset: u64) -> Option<u64> {
        if offset < self.slots {
            Some(offset)
        } else if offset < self.size {
            Some(self.moved(offset))
        } else {
            None
        }
    }

    fn moved(&self, offset: u64) -> u64 {
        self.slots.next_multiple_of(64) + (offset - self.slots) * self.factor
    }
}
