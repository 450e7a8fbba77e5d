//! Each treatment of an instruction.

use iced_x86::{Code, Instruction, OpKind, Register};

use super::encode::Fix;
use super::masks::Mask;
use super::rewrite::{Layout, Rewriter, mask_register, memory_operand, registers, vector_number};
use super::table::{Access, Form, Lanes, is_spread};
use super::{Refusal, Wide};

impl Rewriter<'_> {
    /// A vector instruction.
    pub(super) fn vector(&mut self, instruction: &Instruction, form: Form) -> Result<(), Refusal> {
        match form {
            Form::Lanes(pair) => self.lanes(instruction, self.code(pair)),
            Form::Counted(pair) => {
                if memory_operand(instruction).is_some() {
                    return Err(Refusal::memory(instruction));
                }
                self.with_last(instruction, self.code(pair), |_, last| last)
            }
            Form::Spread(pair) => self.with_last(instruction, self.code(pair), |_, last| last),
            Form::FromHalf(pair) => {
                self.with_last(instruction, self.code(pair), |this, last| this.half(last))
            }
            // A quarter of 512 bits, or as much of what 128 bits hold.
            Form::FromQuarter(pair) => self.with_last(instruction, self.code(pair), |_, last| last),
            Form::Compare {
                narrow,
                mask,
                lanes,
            } => match self.wide {
                Wide::Bits256 => self.lanes(instruction, narrow),
                Wide::Bits512 => self.compare(instruction, mask, lanes),
            },
            Form::Blend {
                narrow,
                blend,
                lanes,
            } => match self.wide {
                Wide::Bits256 => self.lanes(instruction, narrow),
                Wide::Bits512 => self.blend(instruction, blend, lanes),
            },
            Form::Load(access) => self.load(instruction, access),
            Form::Store(access) => self.store(instruction, access),
            Form::Shuffle => self.shuffle(instruction),
            Form::Duplicate => self.duplicate(instruction),
            Form::Pack { bytes } => self.pack(instruction, bytes),
            Form::Across(across) => self.across(instruction, across),
            Form::Signs { narrow, lanes } => self.signs(instruction, narrow, lanes),
            Form::Scalar => self.scalar(instruction),
            Form::Old(_) => Err(Refusal::instruction(instruction)),
        }
    }

    /// The same instruction on wide registers.
    fn lanes(&mut self, instruction: &Instruction, code: Code) -> Result<(), Refusal> {
        self.reads(instruction)?;
        let mut new = *instruction;
        new.set_code(code);
        for (at, register) in registers(instruction) {
            if register.is_vector_register() {
                new.set_op_register(at, self.whole(register));
            }
        }
        let fix = self.vector_memory(&mut new)?;
        self.writes(instruction);
        self.push(new, fix);
        Ok(())
    }

    /// Places an operand in memory that is a whole vector.
    fn vector_memory(&mut self, instruction: &mut Instruction) -> Result<Fix, Refusal> {
        let Some(at) = memory_operand(instruction) else {
            return Ok(Fix::None);
        };
        if let Some(register) = self.promoted.register(instruction) {
            instruction.set_op_kind(at, OpKind::Register);
            instruction.set_op_register(at, register);
            return Ok(Fix::None);
        }
        self.place(instruction, Layout::Repeated)
    }

    /// The same instruction with all but the last operand wide.
    fn with_last(
        &mut self,
        instruction: &Instruction,
        code: Code,
        last: impl Fn(&Self, Register) -> Register,
    ) -> Result<(), Refusal> {
        self.reads(instruction)?;
        let mut new = *instruction;
        new.set_code(code);
        let count = instruction.op_count();
        for (at, register) in registers(instruction) {
            let wide = if at + 1 == count {
                last(self, register)
            } else {
                self.whole(register)
            };
            new.set_op_register(at, wide);
        }
        let is_number = is_spread(code);
        let layout = if is_number {
            Layout::Same
        } else {
            Layout::Repeated
        };
        let fix = self.place(&mut new, layout)?;
        self.writes(instruction);
        self.push(new, fix);
        Ok(())
    }

    fn compare(
        &mut self,
        instruction: &Instruction,
        code: Code,
        lanes: Lanes,
    ) -> Result<(), Refusal> {
        let (result, lhs) = (instruction.op0_register(), instruction.op1_register());
        let is_same =
            instruction.op2_kind() == OpKind::Register && instruction.op2_register() == lhs;
        if is_same && instruction.op_count() == 3 && is_equality(code) {
            self.writes(instruction);
            let all = self.whole(result);
            return self.push_new(Instruction::with4(
                Code::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8,
                all,
                all,
                all,
                0xff,
            ));
        }
        self.reads(instruction)?;
        let mut new = *instruction;
        new.set_code(code);
        for (at, register) in registers(instruction) {
            if at > 0 {
                new.set_op_register(at, self.whole(register));
            }
        }
        let fix = self.vector_memory(&mut new)?;
        self.writes(instruction);
        let number = self.take_mask()?;
        new.set_op_register(0, mask_register(number));
        self.push(new, fix);
        let mask = Mask {
            number,
            lanes,
            is_expanded: false,
        };
        self.masks.set(result.number(), mask);
        Ok(())
    }

    fn blend(
        &mut self,
        instruction: &Instruction,
        code: Code,
        lanes: Lanes,
    ) -> Result<(), Refusal> {
        let selector = instruction.op3_register();
        for (at, register) in registers(instruction) {
            if at == 1 || at == 2 {
                self.expand(register.number())?;
            }
        }
        let known = self.masks.get(selector.number());
        let usable = known.filter(|mask| mask.lanes == lanes || lanes == Lanes::Bytes);
        let (number, code) = match usable {
            Some(mask) if mask.lanes == lanes => (mask.number, code),
            // The bytes of a lane are alike.
            Some(mask) if mask.lanes == Lanes::Single => {
                (mask.number, Code::EVEX_Vpblendmd_zmm_k1z_zmm_zmmm512b32)
            }
            Some(mask) => (mask.number, Code::EVEX_Vpblendmq_zmm_k1z_zmm_zmmm512b64),
            None => (self.mask_of(selector, lanes)?, code),
        };
        let mut new = *instruction;
        new.set_code(code);
        for (at, register) in registers(instruction) {
            if at < 3 {
                new.set_op_register(at, self.whole(register));
            }
        }
        new.set_op_mask(mask_register(number));
        let fix = self.vector_memory(&mut new)?;
        self.writes(instruction);
        self.push(new, fix);
        Ok(())
    }

    /// The signs of a vector's lanes in a mask register.
    fn mask_of(&mut self, vector: Register, lanes: Lanes) -> Result<u8, Refusal> {
        self.expand(vector.number())?;
        let number = self.take_mask()?;
        let code = match lanes {
            Lanes::Bytes => Code::EVEX_Vpmovb2m_kr_zmm,
            Lanes::Single => Code::EVEX_Vpmovd2m_kr_zmm,
            Lanes::Double => Code::EVEX_Vpmovq2m_kr_zmm,
        };
        self.push_new(Instruction::with2(
            code,
            mask_register(number),
            self.whole(vector),
        ))?;
        Ok(number)
    }

    fn load(&mut self, instruction: &Instruction, access: Access) -> Result<(), Refusal> {
        self.reads(instruction)?;
        let result = instruction.op0_register();
        let (whole, moved) = match self.wide {
            Wide::Bits256 => (Code::VEX_Vmovups_ymm_ymmm256, Code::VEX_Vmovaps_ymm_ymmm256),
            Wide::Bits512 => (
                Code::EVEX_Vmovups_zmm_k1z_zmmm512,
                Code::EVEX_Vmovaps_zmm_k1z_zmmm512,
            ),
        };
        self.writes(instruction);
        let mut new = *instruction;
        if memory_operand(instruction).is_none() {
            new.set_code(moved);
            new.set_op_register(0, self.whole(result));
            new.set_op_register(1, self.whole(instruction.op1_register()));
            self.push(new, Fix::None);
            return Ok(());
        }
        if self.is_whole(instruction, access) {
            let is_promoted = self.promoted.register(instruction).is_some();
            new.set_code(if is_promoted { moved } else { whole });
            new.set_op_register(0, self.whole(result));
            let fix = self.vector_memory(&mut new)?;
            self.fetch_ahead(instruction)?;
            self.push(new, fix);
            return Ok(());
        }
        let (code, register) = match (access, self.wide) {
            (Access::Half, Wide::Bits512) => (Code::VEX_Vmovupd_ymm_ymmm256, self.half(result)),
            (Access::Whole | Access::Half | Access::Fixed, _) => {
                (Code::VEX_Vmovdqu_xmm_xmmm128, result)
            }
        };
        new.set_code(code);
        new.set_op_register(0, register);
        let fix = self.place(&mut new, Layout::Same)?;
        self.push(new, fix);
        Ok(())
    }

    fn store(&mut self, instruction: &Instruction, access: Access) -> Result<(), Refusal> {
        if memory_operand(instruction).is_none() {
            // The other encoding of a move between registers.
            return Err(Refusal::instruction(instruction));
        }
        let source = instruction.op1_register();
        self.expand(source.number())?;
        let mut new = *instruction;
        if self.is_whole(instruction, access) {
            let is_promoted = self.promoted.register(instruction).is_some();
            let is_streaming = access == Access::Whole && self.is_streaming(instruction);
            new.set_code(match (self.wide, is_promoted) {
                (Wide::Bits256, _) if is_streaming => Code::VEX_Vmovntps_m256_ymm,
                (Wide::Bits512, _) if is_streaming => Code::EVEX_Vmovntps_m512_zmm,
                (Wide::Bits256, _) => Code::VEX_Vmovups_ymmm256_ymm,
                (Wide::Bits512, false) => Code::EVEX_Vmovups_zmmm512_k1z_zmm,
                (Wide::Bits512, true) => Code::EVEX_Vmovaps_zmmm512_k1z_zmm,
            });
            new.set_op_register(1, self.whole(source));
            let fix = self.vector_memory(&mut new)?;
            self.push(new, fix);
            return Ok(());
        }
        let (code, register) = match (access, self.wide) {
            (Access::Half, Wide::Bits512) => (Code::VEX_Vmovupd_ymmm256_ymm, self.half(source)),
            (Access::Whole | Access::Half | Access::Fixed, _) => {
                (Code::VEX_Vmovdqu_xmmm128_xmm, source)
            }
        };
        new.set_code(code);
        new.set_op_register(1, register);
        let fix = self.place(&mut new, Layout::Same)?;
        self.push(new, fix);
        Ok(())
    }

    /// Whether a move accesses a whole vector: by its kind, or because it spills or reads a constant.
    fn is_whole(&self, instruction: &Instruction, access: Access) -> bool {
        let base = instruction.memory_base();
        let is_spill =
            base == Register::RSP && self.frame.is_spill(instruction.memory_displacement64());
        base == Register::RIP || is_spill || access == Access::Whole
    }

    fn shuffle(&mut self, instruction: &Instruction) -> Result<(), Refusal> {
        if memory_operand(instruction).is_some() {
            return Err(Refusal::memory(instruction));
        }
        let code = match (instruction.immediate8(), self.wide) {
            (0x00, Wide::Bits256) => Code::VEX_Vpbroadcastd_ymm_xmmm32,
            (0x00, Wide::Bits512) => Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32,
            (0x44, Wide::Bits256) => Code::VEX_Vpbroadcastq_ymm_xmmm64,
            (0x44, Wide::Bits512) => Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64,
            (_, _) => return Err(Refusal::instruction(instruction)),
        };
        self.reads(instruction)?;
        self.writes(instruction);
        let result = self.whole(instruction.op0_register());
        self.push_new(Instruction::with2(code, result, instruction.op1_register()))
    }

    fn duplicate(&mut self, instruction: &Instruction) -> Result<(), Refusal> {
        self.reads(instruction)?;
        self.writes(instruction);
        let is_memory = memory_operand(instruction).is_some();
        let mut new = *instruction;
        new.set_code(match (self.wide, is_memory) {
            (Wide::Bits256, true) => Code::VEX_Vbroadcastsd_ymm_m64,
            (Wide::Bits256, false) => Code::VEX_Vbroadcastsd_ymm_xmm,
            (Wide::Bits512, _) => Code::EVEX_Vbroadcastsd_zmm_k1z_xmmm64,
        });
        new.set_op_register(0, self.whole(instruction.op0_register()));
        let fix = self.place(&mut new, Layout::Same)?;
        self.push(new, fix);
        Ok(())
    }

    /// Of an operand with itself only the lower half of the result means something: the elements in order.
    fn pack(&mut self, instruction: &Instruction, bytes: bool) -> Result<(), Refusal> {
        let is_same = instruction.op2_kind() == OpKind::Register
            && instruction.op1_register() == instruction.op2_register();
        if !is_same {
            return Err(Refusal::instruction(instruction));
        }
        self.reads(instruction)?;
        self.writes(instruction);
        let (result, source) = (instruction.op0_register(), instruction.op1_register());
        match (self.wide, bytes) {
            (Wide::Bits512, false) => self.push_new(Instruction::with2(
                Code::EVEX_Vpmovsdw_ymmm256_k1z_zmm,
                self.half(result),
                self.whole(source),
            )),
            (Wide::Bits512, true) => self.push_new(Instruction::with2(
                Code::EVEX_Vpmovswb_xmmm128_k1z_ymm,
                result,
                self.half(source),
            )),
            (Wide::Bits256, false) => {
                let (result, source) = (self.whole(result), self.whole(source));
                let pack = Code::VEX_Vpackssdw_ymm_ymm_ymmm256;
                self.push_new(Instruction::with3(pack, result, source, source))?;
                // The halves were packed apart: the first and third quarter are what is wanted.
                let order = Code::VEX_Vpermq_ymm_ymmm256_imm8;
                self.push_new(Instruction::with3(order, result, result, 0x08))
            }
            (Wide::Bits256, true) => {
                self.push(*instruction, Fix::None);
                Ok(())
            }
        }
    }

    fn signs(
        &mut self,
        instruction: &Instruction,
        narrow: Code,
        lanes: Lanes,
    ) -> Result<(), Refusal> {
        if self.wide == Wide::Bits256 {
            return self.lanes(instruction, narrow);
        }
        let vector = instruction.op1_register();
        let number = match self.masks.get(vector.number()) {
            Some(mask) if mask.lanes == lanes => mask.number,
            Some(_) | None => self.mask_of(vector, lanes)?,
        };
        let result = instruction.op0_register().full_register32();
        let code = Code::VEX_Kmovw_r32_kr;
        self.push_new(Instruction::with2(code, result, mask_register(number)))
    }

    fn scalar(&mut self, instruction: &Instruction) -> Result<(), Refusal> {
        for (_, register) in registers(instruction) {
            if let Some(number) = vector_number(register) {
                self.expand(number)?;
            }
        }
        self.writes(instruction);
        let mut new = *instruction;
        let fix = self.place(&mut new, Layout::Same)?;
        self.push(new, fix);
        Ok(())
    }
}

/// Whether equal operands give all ones, of any contents.
fn is_equality(code: Code) -> bool {
    code == Code::EVEX_Vpcmpeqd_kr_k1_zmm_zmmm512b32
        || code == Code::EVEX_Vpcmpeqq_kr_k1_zmm_zmmm512b64
}
