//! Spilled vectors in the registers that Cranelift does not know: 16 to 31 of AVX-512.

use std::collections::BTreeMap;

use iced_x86::{Instruction, Register};

use super::decode::Listing;
use super::frame::Frame;
use super::rewrite::{NARROW_BYTES, memory_operand, modern, registers};
use super::table::{Form, form};

/// The first register that is free.
const FIRST: Register = Register::ZMM16;

/// How many are free.
const COUNT: usize = 16;

/// Which places of spilled vectors become registers.
#[derive(Clone, Debug, Default)]
pub(super) struct Promoted {
    /// By offset from the stack pointer in the old frame.
    registers: BTreeMap<u64, Register>,
}

/// What is known of a place in the frame.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    weight: u64,
    is_other: bool,
}

impl Promoted {
    /// The places that are used most, inner loops counting more, of those that only hold whole vectors; of the
    /// registers the last one stays free if `keeps_last`.
    pub(super) fn choose(listing: &Listing, frame: Frame, keeps_last: bool) -> Promoted {
        let mut uses: BTreeMap<u64, Use> = BTreeMap::new();
        for (instruction, depth) in listing.instructions.iter().zip(depths(listing)) {
            let is_stack =
                memory_operand(instruction).is_some() && instruction.memory_base() == Register::RSP;
            let offset = instruction.memory_displacement64();
            if !is_stack || !frame.is_spill(offset) {
                continue;
            }
            if is_whole(instruction) {
                let weight = 1 << (3 * depth.min(8));
                uses.entry(offset).or_default().weight += weight;
            } else {
                let start = offset / NARROW_BYTES * NARROW_BYTES;
                uses.entry(start).or_default().is_other = true;
            }
        }
        let is_clear = |offset: u64| {
            let mut near =
                uses.range(offset.saturating_sub(NARROW_BYTES - 1)..offset + NARROW_BYTES);
            near.all(|(other, used)| *other == offset && !used.is_other)
        };
        let mut clear: Vec<(u64, u64)> = uses
            .iter()
            .filter(|(offset, _)| is_clear(**offset))
            .map(|(offset, used)| (used.weight, *offset))
            .collect();
        clear.sort_by_key(|(weight, offset)| (std::cmp::Reverse(*weight), *offset));
        let places = clear
            .iter()
            .take(COUNT - usize::from(keeps_last))
            .map(|(_, offset)| *offset);
        let registers = places.zip((0u32..).map(|at| FIRST + at)).collect();
        Promoted { registers }
    }

    /// The register in place of the operand in memory.
    pub(super) fn register(&self, instruction: &Instruction) -> Option<Register> {
        if instruction.memory_base() != Register::RSP {
            return None;
        }
        let offset = instruction.memory_displacement64();
        self.registers.get(&offset).copied()
    }

    /// Every place with its register.
    pub(super) fn all(&self) -> Vec<(u64, Register)> {
        let all = self.registers.iter();
        all.map(|(offset, register)| (*offset, *register)).collect()
    }
}

/// Whether the operand in memory is a whole vector that may as well be a register.
fn is_whole(instruction: &Instruction) -> bool {
    let is_vector = registers(instruction).any(|(_, register)| register.is_vector_register());
    is_vector
        && match form(modern(instruction).code()) {
            Some(
                Form::Lanes(_)
                | Form::Compare { .. }
                | Form::Blend { .. }
                | Form::Load(_)
                | Form::Store(_),
            ) => true,
            Some(
                Form::Counted(_)
                | Form::Spread(_)
                | Form::FromHalf(_)
                | Form::FromQuarter(_)
                | Form::Shuffle
                | Form::Duplicate
                | Form::Pack { .. }
                | Form::Across(_)
                | Form::Signs { .. }
                | Form::Scalar
                | Form::Old(_),
            )
            | None => false,
        }
}

/// How many loops are around each instruction, taking every branch back for one.
fn depths(listing: &Listing) -> Vec<u32> {
    let mut changes: BTreeMap<u64, i32> = BTreeMap::new();
    for instruction in &listing.instructions {
        let target = instruction.near_branch_target();
        let is_branch = instruction.is_jcc_short_or_near() || instruction.is_jmp_short_or_near();
        if is_branch && target <= instruction.ip() {
            *changes.entry(target).or_default() += 1;
            *changes.entry(instruction.next_ip()).or_default() -= 1;
        }
    }
    let mut changes = changes.into_iter().peekable();
    let mut depth = 0;
    let mut depths = Vec::with_capacity(listing.instructions.len());
    for instruction in &listing.instructions {
        while let Some((_, change)) = changes.next_if(|(at, _)| *at <= instruction.ip()) {
            depth += change;
        }
        depths.push(u32::try_from(depth).unwrap_or(0));
    }
    depths
}
