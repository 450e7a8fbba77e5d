//! Narrow instructions as wide ones.

use std::collections::BTreeMap;

use iced_x86::{Code, FlowControl, IcedError, Instruction, MemoryOperand, OpKind, Register};

use super::across::{self, Across};
use super::decode::Listing;
use super::encode::{Fix, Line, Lines};
use super::frame::Frame;
use super::masks::{Mask, Masks};
use super::promote::Promoted;
use super::rotate::{REPLACED, Rotation, rotation};
use super::table::{Form, Lanes, Pair, form};
use super::{Narrow, Refusal, Wide};

/// Bytes that one 128-bit vector takes.
pub(super) const NARROW_BYTES: u64 = 16;

/// How a constant is laid out for the new function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Layout {
    /// As it was.
    Same,
    /// Repeated to the new width.
    Repeated,
    /// The places of a shuffle, of which the old function knows nothing.
    Places(Across, bool),
}

/// Rewrites a function.
///
/// # Errors
/// What is not in the table, and memory that is not understood.
pub(super) fn rewrite(
    listing: &Listing,
    narrow: &Narrow<'_>,
    wide: Wide,
) -> Result<Lines, Refusal> {
    let frame = Frame::new(narrow.slots, frame_size(listing), wide)?;
    let has_across = across::has_any(listing);
    let mut rewriter = Rewriter {
        narrow,
        wide,
        end: listing.end,
        frame,
        promoted: match wide {
            Wide::Bits256 => Promoted::default(),
            Wide::Bits512 => Promoted::choose(listing, frame, has_across),
        },
        scratch: if has_across {
            across::scratch(listing, wide)
        } else {
            None
        },
        masks: Masks::default(),
        lines: Lines::default(),
        constants: BTreeMap::new(),
    };
    let mut relocated = listing.relocated.iter().enumerate().peekable();
    let mut replaced = 0;
    for (at, instruction) in listing.instructions.iter().enumerate() {
        let offset = usize::try_from(instruction.ip()).unwrap_or(usize::MAX);
        if listing.is_target.get(offset) == Some(&true) {
            rewriter.expand_all()?;
            rewriter.masks.clear();
            let line = rewriter.lines.lines.len();
            rewriter.lines.labels.insert(instruction.ip(), line);
        }
        if replaced > 0 {
            replaced -= 1;
            continue;
        }
        if let Some(rotation) = rotation(listing, at).filter(|_| wide == Wide::Bits512) {
            rewriter.rotate(rotation)?;
            replaced = REPLACED - 1;
            continue;
        }
        match relocated.next_if(|(_, (which, _))| *which == at) {
            Some((number, (_, field))) => {
                rewriter.relocated(instruction, Fix::Relocation(number, *field))?;
            }
            None => rewriter.instruction(instruction)?,
        }
    }
    Ok(rewriter.lines)
}

/// What the prologue takes from the stack pointer.
fn frame_size(listing: &Listing) -> u64 {
    let mut instructions = listing.instructions.iter();
    let sub = instructions.find(|each| is_stack_adjustment(each) && is_subtraction(each));
    sub.map_or(0, |sub| sub.immediate(1))
}

fn is_subtraction(instruction: &Instruction) -> bool {
    instruction.code() == Code::Sub_rm64_imm8 || instruction.code() == Code::Sub_rm64_imm32
}

fn is_stack_adjustment(instruction: &Instruction) -> bool {
    let is_addition =
        instruction.code() == Code::Add_rm64_imm8 || instruction.code() == Code::Add_rm64_imm32;
    (is_addition || is_subtraction(instruction))
        && instruction.op0_kind() == OpKind::Register
        && instruction.op0_register() == Register::RSP
}

/// Number of a vector register, `None` for others.
pub(super) fn vector_number(register: Register) -> Option<usize> {
    register.is_vector_register().then(|| register.number())
}

/// The operands that are registers, with their positions.
pub(super) fn registers(instruction: &Instruction) -> impl Iterator<Item = (u32, Register)> + '_ {
    (0..instruction.op_count())
        .filter(|at| instruction.op_kind(*at) == OpKind::Register)
        .map(|at| (at, instruction.op_register(at)))
}

/// Position of the operand in memory.
pub(super) fn memory_operand(instruction: &Instruction) -> Option<u32> {
    (0..instruction.op_count()).find(|at| instruction.op_kind(*at) == OpKind::Memory)
}

fn encoding(error: IcedError) -> Refusal {
    Refusal::Encode(error.to_string())
}

/// The mask register of this number.
pub(super) fn mask_register(number: u8) -> Register {
    Register::K0 + u32::from(number)
}

/// The rewriting of one function.
pub(super) struct Rewriter<'c> {
    narrow: &'c Narrow<'c>,
    /// The new width.
    pub(super) wide: Wide,
    /// Where the old code's constants begin.
    end: u64,
    /// The new stack frame.
    pub(super) frame: Frame,
    /// Spilled vectors that become registers.
    pub(super) promoted: Promoted,
    /// A register that the old function does not use, if a shuffle needs one.
    pub(super) scratch: Option<Register>,
    /// What mask registers hold.
    pub(super) masks: Masks,
    lines: Lines,
    constants: BTreeMap<(u64, Layout), u64>,
}

/// Whether an instruction lies in one of the ranges and does not access the frame.
fn is_marked(ranges: &[(u32, u32)], instruction: &Instruction) -> bool {
    let at = instruction.ip();
    let next = ranges.partition_point(|(_, end)| u64::from(*end) <= at);
    let inside = ranges
        .get(next)
        .is_some_and(|(start, _)| u64::from(*start) <= at);
    inside && instruction.memory_base() != Register::RSP
}

impl Rewriter<'_> {
    /// Whether the emitter has marked the instruction as a store that passes the caches.
    pub(super) fn is_streaming(&self, instruction: &Instruction) -> bool {
        is_marked(self.narrow.streaming, instruction)
    }

    /// Asks for the memory that lies ahead of a load, if the emitter has marked that.
    pub(super) fn fetch_ahead(&mut self, load: &Instruction) -> Result<(), Refusal> {
        let ranges = self.narrow.ahead;
        let next = ranges.partition_point(|(_, end, _)| u64::from(*end) <= load.ip());
        let Some((_, _, distance)) = ranges
            .get(next)
            .filter(|(start, _, _)| u64::from(*start) <= load.ip())
        else {
            return Ok(());
        };
        if load.memory_base() == Register::RSP || load.is_ip_rel_memory_operand() {
            return Ok(());
        }
        let displacement = load.memory_displacement64().cast_signed();
        let ahead = MemoryOperand::new(
            load.memory_base(),
            load.memory_index(),
            load.memory_index_scale(),
            displacement.wrapping_add(*distance),
            8,
            false,
            Register::None,
        );
        self.push_new(Instruction::with1(Code::Prefetcht0_m8, ahead))
    }

    pub(super) fn push(&mut self, instruction: Instruction, fix: Fix) {
        self.lines.lines.push(Line { instruction, fix });
    }

    pub(super) fn push_new(
        &mut self,
        instruction: Result<Instruction, IcedError>,
    ) -> Result<(), Refusal> {
        self.push(instruction.map_err(encoding)?, Fix::None);
        Ok(())
    }

    /// The wide register of the same number.
    pub(super) fn whole(&self, register: Register) -> Register {
        let first = match self.wide {
            Wide::Bits256 => Register::YMM0,
            Wide::Bits512 => Register::ZMM0,
        };
        first + register.number() as u32
    }

    /// Half a wide register of the same number.
    pub(super) fn half(&self, register: Register) -> Register {
        let first = match self.wide {
            Wide::Bits256 => Register::XMM0,
            Wide::Bits512 => Register::YMM0,
        };
        first + register.number() as u32
    }

    pub(super) fn code(&self, pair: Pair) -> Code {
        match self.wide {
            Wide::Bits256 => pair.bits256,
            Wide::Bits512 => pair.bits512,
        }
    }

    /// An instruction with a field that a relocation fills in: only general ones.
    fn relocated(&mut self, instruction: &Instruction, fix: Fix) -> Result<(), Refusal> {
        if registers(instruction).any(|(_, register)| register.is_vector_register()) {
            return Err(Refusal::memory(instruction));
        }
        self.push(*instruction, fix);
        Ok(())
    }

    fn instruction(&mut self, instruction: &Instruction) -> Result<(), Refusal> {
        match instruction.flow_control() {
            FlowControl::Next | FlowControl::Exception => {}
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
                self.expand_all()?;
                self.push(*instruction, Fix::Branch(instruction.near_branch_target()));
                return Ok(());
            }
            FlowControl::Return => {
                self.masks.clear();
                if !self.narrow.streaming.is_empty() {
                    // Such stores become visible to other threads in no order but by this.
                    self.push_new(Ok(Instruction::with(Code::Sfence)))?;
                }
                self.push_new(Ok(zero_uppers()))?;
                self.push(*instruction, Fix::None);
                return Ok(());
            }
            FlowControl::IndirectCall => return self.call(instruction),
            FlowControl::Call
            | FlowControl::IndirectBranch
            | FlowControl::Interrupt
            | FlowControl::XbeginXabortXend => return Err(Refusal::instruction(instruction)),
        }
        if is_stack_adjustment(instruction) {
            return self.adjust_stack(instruction);
        }
        let is_vector = registers(instruction).any(|(_, register)| register.is_vector_register());
        if !is_vector {
            return self.general(instruction);
        }
        let instruction = modern(instruction);
        match form(instruction.code()) {
            Some(form) => self.vector(&instruction, form),
            None => Err(Refusal::instruction(&instruction)),
        }
    }

    /// One instruction for two shifts and what joins them.
    fn rotate(&mut self, rotation: Rotation) -> Result<(), Refusal> {
        self.expand(rotation.source)?;
        self.masks.forget(rotation.result);
        let register = |number: usize| Register::ZMM0 + number as u32;
        self.push_new(Instruction::with3(
            rotation.code,
            register(rotation.result),
            register(rotation.source),
            u32::from(rotation.amount),
        ))
    }

    /// A call. No vector register keeps its value, so nothing is lost when their upper parts are cleared,
    /// but for spilled values that live in registers.
    fn call(&mut self, instruction: &Instruction) -> Result<(), Refusal> {
        if instruction.op0_kind() != OpKind::Register {
            return Err(Refusal::instruction(instruction));
        }
        self.masks.clear();
        for (offset, register) in self.promoted.all() {
            self.push_new(spill(self.frame, offset, register, true))?;
        }
        self.push_new(Ok(zero_uppers()))?;
        self.push(*instruction, Fix::None);
        for (offset, register) in self.promoted.all() {
            self.push_new(spill(self.frame, offset, register, false))?;
        }
        Ok(())
    }

    /// The new frame begins at a multiple of 64. The frame pointer restores the stack pointer.
    fn adjust_stack(&mut self, instruction: &Instruction) -> Result<(), Refusal> {
        let size = i32::try_from(self.frame.new_size()).unwrap_or(i32::MAX);
        let is_subtraction = is_subtraction(instruction);
        if is_subtraction {
            for distance in self.frame.touched() {
                let place = MemoryOperand::with_base_displ(Register::RSP, -distance.cast_signed());
                let touch = Code::Test_rm32_r32;
                self.push_new(Instruction::with2(touch, place, Register::EAX))?;
            }
        }
        let code = if is_subtraction {
            Code::Sub_rm64_imm32
        } else {
            Code::Add_rm64_imm32
        };
        self.push_new(Instruction::with2(code, Register::RSP, size))?;
        if is_subtraction {
            self.push_new(Instruction::with2(Code::And_rm64_imm8, Register::RSP, -64))?;
        }
        Ok(())
    }

    /// An instruction without vectors.
    fn general(&mut self, instruction: &Instruction) -> Result<(), Refusal> {
        let is_frame = |register: Register| register == Register::RSP || register == Register::RBP;
        let mut uses = registers(instruction).map(|(_, register)| register);
        let is_frame_code = [
            Code::Mov_rm64_r64,
            Code::Mov_r64_rm64,
            Code::Push_r64,
            Code::Pop_r64,
        ]
        .contains(&instruction.code());
        if uses.any(is_frame) && !is_frame_code {
            return Err(Refusal::instruction(instruction));
        }
        let mut new = *instruction;
        let fix = self.place(&mut new, Layout::Same)?;
        self.push(new, fix);
        Ok(())
    }

    /// Moves the operand in memory to where it is in the new function.
    pub(super) fn place(
        &mut self,
        instruction: &mut Instruction,
        layout: Layout,
    ) -> Result<Fix, Refusal> {
        if memory_operand(instruction).is_none() {
            return Ok(Fix::None);
        }
        let refusal = Refusal::memory(instruction);
        let base = instruction.memory_base();
        if base == Register::RIP {
            let old = instruction.ip_rel_memory_address();
            return Ok(Fix::Constant(self.constant(old, layout).ok_or(refusal)?));
        }
        if base == Register::RBP {
            return Err(refusal);
        }
        if base == Register::RSP {
            if instruction.memory_index() != Register::None {
                return Err(refusal);
            }
            let old = instruction.memory_displacement64();
            let new = self.frame.place(old).ok_or(refusal)?;
            set_displacement(instruction, new);
        }
        Ok(Fix::None)
    }

    /// Where in the pool the constant is that was at offset `old`.
    fn constant(&mut self, old: u64, layout: Layout) -> Option<u64> {
        if let Some(known) = self.constants.get(&(old, layout)) {
            return Some(*known);
        }
        if old < self.end {
            return None;
        }
        let bytes = self.narrow.code.get(usize::try_from(old).ok()?..)?;
        let bytes = &bytes[..bytes.len().min(NARROW_BYTES as usize)];
        let new = self.lines.pool.len() as u64;
        match layout {
            Layout::Same => {
                let mut padded = bytes.to_vec();
                padded.resize(NARROW_BYTES as usize, 0);
                self.lines.pool.extend(padded);
            }
            Layout::Repeated => {
                if bytes.len() < NARROW_BYTES as usize {
                    return None;
                }
                let repeated = bytes.repeat(self.wide.factor() as usize);
                self.lines.pool.extend(repeated);
            }
            Layout::Places(..) => return None,
        }
        self.constants.insert((old, layout), new);
        Some(new)
    }

    /// Where in the pool a table is.
    pub(super) fn table(&mut self, layout: Layout, bytes: &[u8]) -> u64 {
        let pool = &mut self.lines.pool;
        *self.constants.entry((0, layout)).or_insert_with(|| {
            let offset = pool.len() as u64;
            pool.extend_from_slice(bytes);
            offset
        })
    }

    /// A mask register to write.
    pub(super) fn take_mask(&mut self) -> Result<u8, Refusal> {
        if let Some(evicted) = self.masks.evicted() {
            self.expand(evicted)?;
            self.masks.forget(evicted);
        }
        Ok(self.masks.take())
    }

    /// Makes the vector of a mask that only a mask register holds.
    pub(super) fn expand(&mut self, vector: usize) -> Result<(), Refusal> {
        let Some(mask) = self.masks.get(vector).filter(|mask| !mask.is_expanded) else {
            return Ok(());
        };
        let code = match mask.lanes {
            Lanes::Bytes => Code::EVEX_Vpmovm2b_zmm_kr,
            Lanes::Single => Code::EVEX_Vpmovm2d_zmm_kr,
            Lanes::Double => Code::EVEX_Vpmovm2q_zmm_kr,
        };
        let register = Register::ZMM0 + vector as u32;
        self.push_new(Instruction::with2(
            code,
            register,
            mask_register(mask.number),
        ))?;
        let expanded = Mask {
            is_expanded: true,
            ..mask
        };
        self.masks.set(vector, expanded);
        Ok(())
    }

    fn expand_all(&mut self) -> Result<(), Refusal> {
        let pending = self.masks.pending();
        pending.into_iter().try_for_each(|each| self.expand(each))
    }

    /// Makes every vector that the instruction reads. Only some read what they write; asking for more than
    /// is read does no harm.
    pub(super) fn reads(&mut self, instruction: &Instruction) -> Result<(), Refusal> {
        let skipped = u32::from(writes_only(instruction));
        for (at, register) in registers(instruction) {
            if at >= skipped
                && let Some(number) = vector_number(register)
            {
                self.expand(number)?;
            }
        }
        Ok(())
    }

    /// Notes that the first operand is written.
    pub(super) fn writes(&mut self, instruction: &Instruction) {
        if instruction.op0_kind() == OpKind::Register
            && let Some(number) = vector_number(instruction.op0_register())
        {
            self.masks.forget(number);
        }
    }
}

/// The instruction that replaces one from before AVX; others as they are.
pub(super) fn modern(old: &Instruction) -> Instruction {
    let is_memory = memory_operand(old).is_some();
    let code = match form(old.code()) {
        Some(Form::Old(code)) => code,
        Some(_) => return *old,
        None => match super::table::scalar_move(old.code(), is_memory) {
            Some(code) => code,
            None => return *old,
        },
    };
    let mut new = *old;
    new.set_code(code);
    if new.op_count() > old.op_count() {
        new.set_op_kind(2, old.op1_kind());
        if old.op1_kind() == OpKind::Register {
            new.set_op_register(2, old.op1_register());
        }
        new.set_op_kind(1, OpKind::Register);
        new.set_op_register(1, old.op0_register());
    }
    new
}

/// Whether the first operand is not read: of all but fused multiplications and additions.
fn writes_only(instruction: &Instruction) -> bool {
    !super::table::is_fused(instruction.code())
}

fn zero_uppers() -> Instruction {
    Instruction::with(Code::VEX_Vzeroupper)
}

fn set_displacement(instruction: &mut Instruction, displacement: u64) {
    instruction.set_memory_displacement64(displacement);
    // The encoder takes more bytes where one does not suffice.
    instruction.set_memory_displ_size(1);
}

/// A move between a register and the place of a spilled one.
fn spill(
    frame: Frame,
    offset: u64,
    register: Register,
    is_store: bool,
) -> Result<Instruction, IcedError> {
    let place = frame.place(offset).unwrap_or(0);
    let memory = MemoryOperand::with_base_displ(Register::RSP, place.cast_signed());
    if is_store {
        Instruction::with2(Code::EVEX_Vmovups_zmmm512_k1z_zmm, memory, register)
    } else {
        Instruction::with2(Code::EVEX_Vmovups_zmm_k1z_zmmm512, register, memory)
    }
}
