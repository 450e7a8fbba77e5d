//! Rotations: two shifts and what joins them, as the one instruction that AVX-512 has for it.
//!
//! before:  vpslld $13, %xmm1, %xmm2   vpsrld $19, %xmm1, %xmm1   vpor %xmm1, %xmm2, %xmm1
//! after:   vprold $13, %zmm1, %zmm1
//!
//! The shifts stand next to each other, as they are emitted. Their results must not be used again: each is the
//! register that the rotation writes, or is overwritten before it is read and before any branch.

use iced_x86::{Code, FlowControl, Instruction, OpKind, Register};

use super::decode::Listing;
use super::rewrite::{modern, registers, vector_number};
use super::table::{Form, form, is_fused};

/// Number of instructions that a rotation replaces.
pub(super) const REPLACED: usize = 3;

/// Instructions that are looked through for the end of a value.
const MAX_DISTANCE: usize = 64;

/// Lanes rotated to the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rotation {
    /// The 512-bit form.
    pub(super) code: Code,
    /// Number of the vector that is written.
    pub(super) result: usize,
    /// Number of the vector that is read.
    pub(super) source: usize,
    /// By so many bits.
    pub(super) amount: u8,
}

/// The rotation that begins with instruction `at`, if there is one.
pub(super) fn rotation(listing: &Listing, at: usize) -> Option<Rotation> {
    let three = listing.instructions.get(at..at + REPLACED)?;
    let [first, second, join] = [modern(&three[0]), modern(&three[1]), modern(&three[2])];
    let (code, amount) = opposite(&first, &second).or_else(|| opposite(&second, &first))?;
    let (high, source) = (register(&first, 0)?, register(&first, 1)?);
    let low = register(&second, 0)?;
    let is_same = register(&second, 1)? == source && high != source && high != low;
    let joined = (register(&join, 1)?, register(&join, 2)?);
    let is_joined = join.code() == Code::VEX_Vpor_xmm_xmm_xmmm128
        && (joined == (high, low) || joined == (low, high));
    if !is_same || !is_joined || three[1..].iter().any(|each| is_target(listing, each)) {
        return None;
    }
    let result = register(&join, 0)?;
    let ends = |vector| vector == result || is_overwritten(listing, at + REPLACED, vector);
    (ends(high) && ends(low)).then_some(Rotation {
        code,
        result,
        source,
        amount,
    })
}

/// The rotation that a shift to the left and one to the right make.
fn opposite(left: &Instruction, right: &Instruction) -> Option<(Code, u8)> {
    let (code, bits) = if left.code() == Code::VEX_Vpslld_xmm_xmm_imm8
        && right.code() == Code::VEX_Vpsrld_xmm_xmm_imm8
    {
        (Code::EVEX_Vprold_zmm_k1z_zmmm512b32_imm8, 32)
    } else if left.code() == Code::VEX_Vpsllq_xmm_xmm_imm8
        && right.code() == Code::VEX_Vpsrlq_xmm_xmm_imm8
    {
        (Code::EVEX_Vprolq_zmm_k1z_zmmm512b64_imm8, 64)
    } else {
        return None;
    };
    let (up, down) = (left.immediate8(), right.immediate8());
    let is_whole = up > 0 && down > 0 && up.checked_add(down) == Some(bits);
    is_whole.then_some((code, up))
}

/// Number of the vector register that operand `at` is.
fn register(instruction: &Instruction, at: u32) -> Option<usize> {
    let is_register = at < instruction.op_count() && instruction.op_kind(at) == OpKind::Register;
    is_register
        .then(|| vector_number(instruction.op_register(at)))
        .flatten()
}

fn is_target(listing: &Listing, instruction: &Instruction) -> bool {
    let offset = usize::try_from(instruction.ip()).unwrap_or(usize::MAX);
    listing.is_target.get(offset) == Some(&true)
}

/// Whether a vector is written before it is read, on the way straight on from instruction `at`.
fn is_overwritten(listing: &Listing, at: usize, vector: usize) -> bool {
    let rest = listing.instructions.iter().skip(at).take(MAX_DISTANCE);
    for instruction in rest {
        if instruction.flow_control() != FlowControl::Next {
            return false;
        }
        let instruction = modern(instruction);
        let is_it = |register: Register| vector_number(register) == Some(vector);
        let mut uses = registers(&instruction).filter(|(_, register)| is_it(*register));
        match uses.next() {
            None => {}
            Some((0, _)) => return uses.next().is_none() && only_writes(&instruction),
            Some(_) => return false,
        }
    }
    false
}

/// Whether all of the first operand is written, and it is not read.
fn only_writes(instruction: &Instruction) -> bool {
    let is_new = match form(instruction.code()) {
        Some(
            Form::Lanes(_)
            | Form::Counted(_)
            | Form::Spread(_)
            | Form::FromHalf(_)
            | Form::FromQuarter(_)
            | Form::Compare { .. }
            | Form::Blend { .. }
            | Form::Load(_)
            | Form::Shuffle
            | Form::Duplicate,
        ) => true,
        Some(
            Form::Store(_)
            | Form::Pack { .. }
            | Form::Across(_)
            | Form::Signs { .. }
            | Form::Scalar
            | Form::Old(_),
        )
        | None => false,
    };
    is_new && !is_fused(instruction.code())
}
