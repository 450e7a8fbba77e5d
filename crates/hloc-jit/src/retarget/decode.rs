//! Machine code as a list of instructions.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction};

use super::Refusal;

/// The part of an instruction that a relocation fills in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// The displacement of its address.
    Displacement,
    /// Its immediate operand.
    Immediate,
}

/// A decoded function.
pub(super) struct Listing {
    /// All instructions in order; each knows its offset as its address.
    pub(super) instructions: Vec<Instruction>,
    /// By offset, whether a branch leads there.
    pub(super) is_target: Vec<bool>,
    /// By number of the relocation, the instruction that it is about.
    pub(super) relocated: Vec<(usize, Field)>,
    /// Where the instructions end.
    pub(super) end: u64,
}

/// Decodes everything that is reachable from the first byte.
///
/// Instructions follow each other without gaps. What comes behind an unconditional branch that nothing before
/// leads to is not code.
///
/// # Errors
/// Bytes that are no instruction, indirect branches, branches into instructions.
pub(super) fn decode(code: &[u8], relocations: &[u32]) -> Result<Listing, Refusal> {
    let mut decoder = Decoder::with_ip(64, code, 0, DecoderOptions::NONE);
    let mut instructions = Vec::with_capacity(code.len() / 5);
    let mut is_start = vec![false; code.len()];
    let mut targets = Vec::new();
    let mut relocated = Vec::new();
    let mut furthest = 0;
    loop {
        let at = decoder.ip();
        if !decoder.can_decode() {
            return Err(Refusal::Decode(at));
        }
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            return Err(Refusal::Decode(at));
        }
        if let Some(start) = usize::try_from(at).ok().and_then(|at| is_start.get_mut(at)) {
            *start = true;
        }
        let is_last = match instruction.flow_control() {
            FlowControl::Next | FlowControl::IndirectCall => false,
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
                let target = instruction.near_branch_target();
                furthest = furthest.max(target);
                targets.push(target);
                instruction.flow_control() == FlowControl::UnconditionalBranch
            }
            FlowControl::Return | FlowControl::Exception => true,
            FlowControl::IndirectBranch
            | FlowControl::Call
            | FlowControl::Interrupt
            | FlowControl::XbeginXabortXend => return Err(Refusal::Decode(at)),
        };
        let end = instruction.next_ip();
        while let Some(&field) = relocations
            .get(relocated.len())
            .filter(|field| u64::from(**field) < end)
        {
            let inside = u64::from(field).checked_sub(at);
            let offsets = decoder.get_constant_offsets(&instruction);
            let is_at = |has: bool, offset: usize| has && inside == u64::try_from(offset).ok();
            let field = if is_at(offsets.has_immediate(), offsets.immediate_offset()) {
                Field::Immediate
            } else if is_at(offsets.has_displacement(), offsets.displacement_offset()) {
                Field::Displacement
            } else {
                return Err(Refusal::Decode(at));
            };
            relocated.push((instructions.len(), field));
        }
        instructions.push(instruction);
        if is_last && end > furthest {
            break;
        }
    }
    let mut is_target = vec![false; code.len()];
    for target in targets {
        let at = usize::try_from(target).unwrap_or(usize::MAX);
        match is_target.get_mut(at) {
            Some(flag) if is_start[at] => *flag = true,
            Some(_) | None => return Err(Refusal::Decode(target)),
        }
    }
    if relocated.len() != relocations.len() {
        return Err(Refusal::Decode(decoder.ip()));
    }
    Ok(Listing {
        instructions,
        is_target,
        relocated,
        end: decoder.ip(),
    })
}
