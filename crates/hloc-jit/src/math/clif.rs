//! The machine that emits code: one lane in scalar registers or four in a vector.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{ConstantData, InstBuilder, MemFlagsData, Type, Value, types};
use cranelift_frontend::FunctionBuilder;

use super::Machine;

/// A vector of type `ty`, of 128 bits, with `bits` in every lane: one instruction, where a scalar to spread takes two
/// that Cranelift makes into this one.
pub(crate) fn vector_constant(b: &mut FunctionBuilder<'_>, ty: Type, bits: u64) -> Value {
    let lane = usize::try_from(ty.lane_type().bytes()).unwrap_or(8);
    let bytes = bits.to_le_bytes();
    let lanes: Vec<u8> = bytes.iter().take(lane).copied().cycle().take(16).collect();
    let constant = b.func.dfg.constants.insert(ConstantData::from(&lanes[..]));
    b.ins().vconst(ty, constant)
}

/// Emits each operation into a function.
pub(crate) struct Clif<'b, 'f> {
    b: &'b mut FunctionBuilder<'f>,
    vector: bool,
}

impl<'b, 'f> Clif<'b, 'f> {
    /// A machine of one lane.
    pub(crate) fn scalar(b: &'b mut FunctionBuilder<'f>) -> Self {
        Clif { b, vector: false }
    }

    /// A machine of four lanes.
    pub(crate) fn vector(b: &'b mut FunctionBuilder<'f>) -> Self {
        Clif { b, vector: true }
    }

    fn ty(&self, lane: Type) -> Type {
        match (self.vector, lane) {
            (false, lane) => lane,
            (true, types::F32) => types::F32X4,
            (true, _) => types::I32X4,
        }
    }

    fn cast(&mut self, lane: Type, value: Value) -> Value {
        let ty = self.ty(lane);
        if self.b.func.dfg.value_type(value) == ty {
            return value;
        }
        let flags = MemFlagsData::new().with_endianness(cranelift_codegen::ir::Endianness::Little);
        self.b.ins().bitcast(ty, flags, value)
    }

    fn choose(&mut self, lane: Type, mask: Value, a: Value, b: Value) -> Value {
        if self.vector {
            let mask = self.cast(lane, mask);
            self.b.ins().bitselect(mask, a, b)
        } else {
            self.b.ins().select(mask, a, b)
        }
    }
}

impl Machine for Clif<'_, '_> {
    type Float = Value;
    type Bits = Value;
    type Mask = Value;

    fn float(&mut self, value: f32) -> Value {
        if self.vector {
            vector_constant(self.b, types::F32X4, u64::from(value.to_bits()))
        } else {
            self.b.ins().f32const(value)
        }
    }
    fn bits(&mut self, value: u32) -> Value {
        if self.vector {
            vector_constant(self.b, types::I32X4, u64::from(value))
        } else {
            self.b.ins().iconst(types::I32, i64::from(value))
        }
    }
    fn add(&mut self, a: Value, b: Value) -> Value {
        self.b.ins().fadd(a, b)
    }
    fn sub(&mut self, a: Value, b: Value) -> Value {
        self.b.ins().fsub(a, b)
    }
    fn mul(&mut self, a: Value, b: Value) -> Value {
        self.b.ins().fmul(a, b)
    }
    fn fma(&mut self, a: Value, b: Value, c: Value) -> Value {
        self.b.ins().fma(a, b, c)
    }
    fn fms(&mut self, a: Value, b: Value, c: Value) -> Value {
        let minus = self.b.ins().fneg(c);
        self.b.ins().fma(a, b, minus)
    }
    fn fnma(&mut self, a: Value, b: Value, c: Value) -> Value {
        let minus = self.b.ins().fneg(a);
        self.b.ins().fma(minus, b, c)
    }
    fn sqrt(&mut self, a: Value) -> Value {
        self.b.ins().sqrt(a)
    }
    fn div(&mut self, a: Value, b: Value) -> Value {
        self.b.ins().fdiv(a, b)
    }
    fn to_bits(&mut self, a: Value) -> Value {
        self.cast(types::I32, a)
    }
    fn float_of_bits(&mut self, a: Value) -> Value {
        self.cast(types::F32, a)
    }
    fn float_of_int(&mut self, a: Value) -> Value {
        let ty = self.ty(types::F32);
        self.b.ins().fcvt_from_sint(ty, a)
    }
    fn iadd(&mut self, a: Value, b: Value) -> Value {
        self.b.ins().iadd(a, b)
    }
    fn isub(&mut self, a: Value, b: Value) -> Value {
        self.b.ins().isub(a, b)
    }
    fn and(&mut self, a: Value, b: Value) -> Value {
        self.b.ins().band(a, b)
    }
    fn or(&mut self, a: Value, b: Value) -> Value {
        self.b.ins().bor(a, b)
    }
    fn xor(&mut self, a: Value, b: Value) -> Value {
        self.b.ins().bxor(a, b)
    }
    fn shl(&mut self, a: Value, amount: u32) -> Value {
        self.b.ins().ishl_imm_u(a, i64::from(amount))
    }
    fn shr(&mut self, a: Value, amount: u32) -> Value {
        self.b.ins().ushr_imm_u(a, i64::from(amount))
    }
    fn sar(&mut self, a: Value, amount: u32) -> Value {
        self.b.ins().sshr_imm_u(a, i64::from(amount))
    }
    fn lt(&mut self, a: Value, b: Value) -> Value {
        self.b.ins().fcmp(FloatCC::LessThan, a, b)
    }
    fn ilt(&mut self, a: Value, b: Value) -> Value {
        self.b.ins().icmp(IntCC::SignedLessThan, a, b)
    }
    fn ieq(&mut self, a: Value, b: Value) -> Value {
        self.b.ins().icmp(IntCC::Equal, a, b)
    }
    fn select(&mut self, mask: Value, a: Value, b: Value) -> Value {
        self.choose(types::F32, mask, a, b)
    }
    fn select_bits(&mut self, mask: Value, a: Value, b: Value) -> Value {
        self.choose(types::I32, mask, a, b)
    }
}
