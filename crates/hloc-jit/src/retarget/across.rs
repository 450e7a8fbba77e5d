//! Shuffles that put two vectors of 32-bit elements together or take them apart.
//!
//! The narrow instruction takes the elements at even places of four and four; the wide one takes those of all that
//! both vectors hold, in order. AVX-512 has one instruction for that, which reads the places from a register;
//! AVX2 works in halves, whose parts are moved afterwards. Both need a register more.

use iced_x86::{Code, Instruction, OpKind, Register};

use super::decode::Listing;
use super::encode::Fix;
use super::rewrite::{Layout, Rewriter, memory_operand, modern, registers};
use super::table::{Form, form};
use super::{Refusal, Wide};

/// Which elements of two vectors a shuffle takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Across {
    /// `vshufps`: those at even places, or at odd ones, as its immediate says.
    Alternate,
    /// `vpunpckldq`: the first halves, element by element.
    Low,
    /// `vpunpckhdq`: the second halves.
    High,
}

/// The immediate of `vshufps` that takes elements at even places.
pub(super) const EVEN: u8 = 0b10_00_10_00;
/// The one that takes those at odd places.
pub(super) const ODD: u8 = 0b11_01_11_01;

/// The order of quarters of 128 bits' halves: 0, 2, 1, 3.
const MIDDLE_EXCHANGED: u32 = 0b11_01_10_00;

/// Elements of 32 bits in 512.
const ELEMENTS: u32 = 16;

/// Whether a function has such shuffles.
pub(super) fn has_any(listing: &Listing) -> bool {
    listing.instructions.iter().any(|each| {
        let form = form(modern(each).code());
        form.is_some_and(|form| matches!(form, Form::Across(_)))
    })
}

/// A vector register that the function does not use: number 31 is left free by [`super::promote`].
pub(super) fn scratch(listing: &Listing, wide: Wide) -> Option<Register> {
    if wide == Wide::Bits512 {
        return Some(Register::ZMM31);
    }
    let mut used = [false; 16];
    for instruction in &listing.instructions {
        for (_, register) in registers(instruction) {
            if register.is_vector_register()
                && let Some(used) = used.get_mut(register.number())
            {
                *used = true;
            }
        }
    }
    let free = used.iter().position(|used| !used)?;
    Some(Register::YMM0 + u32::try_from(free).ok()?)
}

/// The places that AVX-512 takes elements from: those of the second vector from 16 on.
fn places(across: Across, is_odd: bool) -> [u32; ELEMENTS as usize] {
    std::array::from_fn(|at| {
        let at = at as u32;
        let half = ELEMENTS / 2;
        match across {
            Across::Alternate => 2 * at + u32::from(is_odd),
            Across::Low => at / 2 + at % 2 * ELEMENTS,
            Across::High => half + at / 2 + at % 2 * ELEMENTS,
        }
    })
}

impl Rewriter<'_> {
    /// A shuffle of two vectors.
    pub(super) fn across(
        &mut self,
        instruction: &Instruction,
        across: Across,
    ) -> Result<(), Refusal> {
        let is_odd = across == Across::Alternate && instruction.immediate8() == ODD;
        let is_known = across != Across::Alternate || is_odd || instruction.immediate8() == EVEN;
        let Some(scratch) = self.scratch.filter(|_| is_known) else {
            return Err(Refusal::instruction(instruction));
        };
        if memory_operand(instruction).is_some() {
            return Err(Refusal::memory(instruction));
        }
        self.reads(instruction)?;
        self.writes(instruction);
        let [result, a, b] = [
            instruction.op0_register(),
            instruction.op1_register(),
            instruction.op2_register(),
        ]
        .map(|register| self.whole(register));
        match self.wide {
            Wide::Bits512 => {
                self.load_places(scratch, across, is_odd)?;
                let permute = Code::EVEX_Vpermi2ps_zmm_k1z_zmm_zmmm512b32;
                self.push_new(Instruction::with3(permute, scratch, a, b))?;
                let moved = Code::EVEX_Vmovaps_zmm_k1z_zmmm512;
                self.push_new(Instruction::with2(moved, result, scratch))
            }
            Wide::Bits256 => self.across_halves(across, instruction.immediate8(), [result, a, b]),
        }
    }

    fn load_places(
        &mut self,
        register: Register,
        across: Across,
        is_odd: bool,
    ) -> Result<(), Refusal> {
        let places = places(across, is_odd).map(u32::to_le_bytes);
        let offset = self.table(Layout::Places(across, is_odd), places.as_flattened());
        let mut load = Instruction::default();
        load.set_code(Code::EVEX_Vmovups_zmm_k1z_zmmm512);
        load.set_op_register(0, register);
        load.set_op_kind(1, OpKind::Memory);
        load.set_memory_base(Register::RIP);
        load.set_memory_displ_size(8);
        self.push(load, Fix::Constant(offset));
        Ok(())
    }

    /// By instructions that work in halves: each gives the first or second half of both results' halves.
    fn across_halves(
        &mut self,
        across: Across,
        immediate: u8,
        [result, a, b]: [Register; 3],
    ) -> Result<(), Refusal> {
        let (low, high) = (
            Code::VEX_Vpunpckldq_ymm_ymm_ymmm256,
            Code::VEX_Vpunpckhdq_ymm_ymm_ymmm256,
        );
        let half = match across {
            Across::Alternate => {
                let shuffle = Code::VEX_Vshufps_ymm_ymm_ymmm256_imm8;
                let immediate = u32::from(immediate);
                self.push_new(Instruction::with4(shuffle, result, a, b, immediate))?;
                let order = Code::VEX_Vpermq_ymm_ymmm256_imm8;
                let exchanged = Instruction::with3(order, result, result, MIDDLE_EXCHANGED);
                return self.push_new(exchanged);
            }
            Across::Low => 0x20,
            Across::High => 0x31,
        };
        let Some(scratch) = self.scratch else {
            return Ok(());
        };
        self.push_new(Instruction::with3(low, scratch, a, b))?;
        self.push_new(Instruction::with3(high, result, a, b))?;
        let join = Code::VEX_Vperm2i128_ymm_ymm_ymmm256_imm8;
        self.push_new(Instruction::with4(join, result, scratch, result, half))
    }
}
