//! Which vector registers hold masks that a mask register holds, too.
//!
//! A 512-bit comparison gives a mask register, and a 512-bit blend takes one, where the 128-bit forms take
//! vectors of all ones and zeros. The vector is made only when something reads it as a vector: most masks
//! go from a comparison to blends.

use super::table::Lanes;

/// Number of vector registers that Cranelift uses.
const REGISTERS: usize = 16;

/// Mask registers but for the first, which means "no mask".
const MASKS: std::ops::RangeInclusive<u8> = 1..=7;

/// A mask register that holds what a vector register should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mask {
    /// Number of the mask register.
    pub(super) number: u8,
    /// What its bits stand for.
    pub(super) lanes: Lanes,
    /// Whether the vector register holds the same.
    pub(super) is_expanded: bool,
}

/// What is known at a point of the code.
#[derive(Clone, Debug, Default)]
pub(super) struct Masks {
    of: [Option<Mask>; REGISTERS],
    turn: u8,
}

impl Masks {
    /// The mask register that holds what vector register `vector` should.
    pub(super) fn get(&self, vector: usize) -> Option<Mask> {
        self.of.get(vector).copied().flatten()
    }

    /// Notes that vector register `vector` is written with something else.
    pub(super) fn forget(&mut self, vector: usize) {
        if let Some(known) = self.of.get_mut(vector) {
            *known = None;
        }
    }

    /// Notes that nothing is known.
    pub(super) fn clear(&mut self) {
        self.of = Default::default();
    }

    /// Notes that a mask register holds what vector register `vector` should.
    pub(super) fn set(&mut self, vector: usize, mask: Mask) {
        if let Some(known) = self.of.get_mut(vector) {
            *known = Some(mask);
        }
    }

    /// Vector registers whose masks are not expanded.
    pub(super) fn pending(&self) -> Vec<usize> {
        let is_pending = |at: &usize| self.of[*at].is_some_and(|mask| !mask.is_expanded);
        (0..REGISTERS).filter(is_pending).collect()
    }

    /// The vector register whose mask must give way to the next one: only if no mask register is free.
    pub(super) fn evicted(&self) -> Option<usize> {
        if self.free().is_some() {
            return None;
        }
        let number = MASKS.start() + self.turn;
        let holds = |at: &usize| self.of[*at].is_some_and(|mask| mask.number == number);
        (0..REGISTERS).find(holds)
    }

    /// A mask register that is free when the evicted one is forgotten.
    pub(super) fn take(&mut self) -> u8 {
        let number = self.free().unwrap_or(MASKS.start() + self.turn);
        self.turn = (self.turn + 1) % MASKS.end();
        number
    }

    fn free(&self) -> Option<u8> {
        let is_free = |number: &u8| {
            let mut held = self.of.iter().flatten();
            !held.any(|mask| mask.number == *number)
        };
        MASKS.into_iter().find(is_free)
    }
}
