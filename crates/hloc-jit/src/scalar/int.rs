//! Integer ops. None of them traps: division selects a harmless divisor first.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use hloc_ir::{BinaryOp, ElementType, UnaryOp};

use crate::error::JitError;
use crate::kernel::Emitter;
use crate::repr::{IntKind, Reg};
use crate::runtime::Helper;

impl Emitter<'_, '_> {
    /// The value in a wider (or the same) register, by the type's own signedness.
    pub(crate) fn extended(&mut self, kind: IntKind, value: Value, ty: Type) -> Value {
        if kind.ty == ty {
            value
        } else if kind.signed {
            self.b.ins().sextend(ty, value)
        } else {
            self.b.ins().uextend(ty, value)
        }
    }

    /// The value with only the bits of its type, zero-extended to 64.
    fn zero_extended(&mut self, kind: IntKind, value: Value) -> Value {
        let bits = self.own_bits(kind, value);
        if kind.ty == types::I64 {
            bits
        } else {
            self.b.ins().uextend(types::I64, bits)
        }
    }

    /// The value with register bits beyond the type set to 0.
    fn own_bits(&mut self, kind: IntKind, value: Value) -> Value {
        if kind.is_sub_byte() && kind.signed {
            self.b.ins().band_imm_u(value, (1 << kind.bits) - 1)
        } else {
            value
        }
    }

    /// Wraps a result: types below 8 bits are sign- or zero-extended again.
    pub(crate) fn normalized(&mut self, kind: IntKind, value: Value) -> Value {
        if !kind.is_sub_byte() {
            value
        } else if kind.signed {
            let unused = i64::from(8 - kind.bits);
            let high = self.b.ins().ishl_imm_u(value, unused);
            self.b.ins().sshr_imm_u(high, unused)
        } else {
            self.b.ins().band_imm_u(value, (1 << kind.bits) - 1)
        }
    }

    /// The lower part of a 64-bit result in the type's register, wrapped.
    pub(crate) fn truncated(&mut self, kind: IntKind, value: Value) -> Value {
        let from = self.b.func.dfg.value_type(value);
        let value = if from.bits() > kind.ty.bits() {
            self.b.ins().ireduce(kind.ty, value)
        } else {
            value
        };
        self.normalized(kind, value)
    }

    /// An integer op with one operand.
    pub(super) fn int_unary(
        &mut self,
        op: UnaryOp,
        ty: ElementType,
        kind: IntKind,
        x: Value,
    ) -> Result<Reg, JitError> {
        let result = match op {
            UnaryOp::Abs if kind.signed => {
                let negative = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, x, 0);
                let negated = self.b.ins().ineg(x);
                let negated = self.normalized(kind, negated);
                self.b.ins().select(negative, negated, x)
            }
            UnaryOp::Negate => {
                let negated = self.b.ins().ineg(x);
                self.normalized(kind, negated)
            }
            UnaryOp::Not => {
                let flipped = self.b.ins().bnot(x);
                self.normalized(kind, flipped)
            }
            UnaryOp::Sign if kind.signed => self.int_sign(kind, x),
            UnaryOp::CountLeadingZeros => {
                let wide = self.zero_extended(kind, x);
                let zeros = self.b.ins().clz(wide);
                let own = self.b.ins().iadd_imm_s(zeros, i64::from(kind.bits) - 64);
                self.truncated(kind, own)
            }
            UnaryOp::Popcnt => {
                let wide = self.zero_extended(kind, x);
                let ones = self.b.ins().popcnt(wide);
                self.truncated(kind, ones)
            }
            UnaryOp::Abs
            | UnaryOp::Sign
            | UnaryOp::Acos
            | UnaryOp::Acosh
            | UnaryOp::Asin
            | UnaryOp::Asinh
            | UnaryOp::Atanh
            | UnaryOp::Cbrt
            | UnaryOp::Ceil
            | UnaryOp::Cosine
            | UnaryOp::Cosh
            | UnaryOp::Erf
            | UnaryOp::Exponential
            | UnaryOp::ExponentialMinusOne
            | UnaryOp::Floor
            | UnaryOp::Imag
            | UnaryOp::IsFinite
            | UnaryOp::Log
            | UnaryOp::LogPlusOne
            | UnaryOp::Logistic
            | UnaryOp::Real
            | UnaryOp::RoundNearestAfz
            | UnaryOp::RoundNearestEven
            | UnaryOp::Rsqrt
            | UnaryOp::Sine
            | UnaryOp::Sinh
            | UnaryOp::Sqrt
            | UnaryOp::Tan
            | UnaryOp::Tanh => return Err(self.unsupported(op.name(), ty)),
        };
        Ok(Reg::One(result))
    }

    /// -1, 0 or 1, which `s1` wraps.
    fn int_sign(&mut self, kind: IntKind, x: Value) -> Value {
        let sign = self.b.ins().sshr_imm_u(x, i64::from(kind.ty.bits()) - 1);
        let positive = self.b.ins().icmp_imm_s(IntCC::SignedGreaterThan, x, 0);
        let one = self.b.ins().iconst(kind.ty, 1);
        let result = self.b.ins().select(positive, one, sign);
        self.normalized(kind, result)
    }

    /// An integer op with two operands.
    pub(super) fn int_binary(
        &mut self,
        op: BinaryOp,
        ty: ElementType,
        kind: IntKind,
        x: Value,
        y: Value,
    ) -> Result<Reg, JitError> {
        let wrapped = match op {
            BinaryOp::Add => self.b.ins().iadd(x, y),
            BinaryOp::Subtract => self.b.ins().isub(x, y),
            BinaryOp::Multiply => self.b.ins().imul(x, y),
            BinaryOp::And => self.b.ins().band(x, y),
            BinaryOp::Or => self.b.ins().bor(x, y),
            BinaryOp::Xor => self.b.ins().bxor(x, y),
            BinaryOp::Maximum => self.int_extremum(kind, x, y, true),
            BinaryOp::Minimum => self.int_extremum(kind, x, y, false),
            BinaryOp::Divide => self.int_divide(kind, x, y),
            BinaryOp::Remainder => self.int_remainder(kind, x, y),
            BinaryOp::Mulhi => self.int_mulhi(kind, x, y),
            BinaryOp::Power => self.int_power(kind, x, y)?,
            BinaryOp::ShiftLeft => self.int_shift_left(kind, x, y),
            BinaryOp::ShiftRightLogical => self.int_shift_right_logical(kind, x, y),
            BinaryOp::ShiftRightArithmetic => self.int_shift_right_arithmetic(kind, x, y),
            BinaryOp::Atan2 | BinaryOp::Complex => {
                return Err(self.unsupported(op.name(), ty));
            }
        };
        Ok(Reg::One(self.normalized(kind, wrapped)))
    }

    fn int_extremum(&mut self, kind: IntKind, x: Value, y: Value, greater: bool) -> Value {
        let condition = match (greater, kind.signed) {
            (true, true) => IntCC::SignedGreaterThan,
            (true, false) => IntCC::UnsignedGreaterThan,
            (false, true) => IntCC::SignedLessThan,
            (false, false) => IntCC::UnsignedLessThan,
        };
        let first = self.b.ins().icmp(condition, x, y);
        self.b.ins().select(first, x, y)
    }

    /// A divisor that neither is 0 nor overflows, and whether the true one is 0. Where the quotient
    /// would overflow, division by 1 gives the wanted quotient and remainder.
    fn harmless_divisor(&mut self, kind: IntKind, x: Value, y: Value) -> (Value, Value) {
        let zero = self.b.ins().icmp_imm_u(IntCC::Equal, y, 0);
        let harmful = if kind.signed {
            let minimum = i64::MIN >> (64 - kind.ty.bits());
            let minimum = self.integer_bits(kind.ty, minimum.cast_unsigned());
            let is_minimum = self.b.ins().icmp(IntCC::Equal, x, minimum);
            let minus_one = self.b.ins().icmp_imm_s(IntCC::Equal, y, -1);
            let overflow = self.b.ins().band(is_minimum, minus_one);
            self.b.ins().bor(zero, overflow)
        } else {
            zero
        };
        let one = self.b.ins().iconst(kind.ty, 1);
        (self.b.ins().select(harmful, one, y), zero)
    }

    fn int_divide(&mut self, kind: IntKind, x: Value, y: Value) -> Value {
        let (divisor, zero) = self.harmless_divisor(kind, x, y);
        let quotient = if kind.signed {
            self.b.ins().sdiv(x, divisor)
        } else {
            self.b.ins().udiv(x, divisor)
        };
        let all_ones = self.integer_bits(kind.ty, u64::MAX);
        self.b.ins().select(zero, all_ones, quotient)
    }

    fn int_remainder(&mut self, kind: IntKind, x: Value, y: Value) -> Value {
        let (divisor, zero) = self.harmless_divisor(kind, x, y);
        let rest = if kind.signed {
            self.b.ins().srem(x, divisor)
        } else {
            self.b.ins().urem(x, divisor)
        };
        self.b.ins().select(zero, x, rest)
    }

    fn int_mulhi(&mut self, kind: IntKind, x: Value, y: Value) -> Value {
        if kind.bits == 64 {
            return if kind.signed {
                self.b.ins().smulhi(x, y)
            } else {
                self.b.ins().umulhi(x, y)
            };
        }
        let (x, y) = (
            self.extended(kind, x, types::I64),
            self.extended(kind, y, types::I64),
        );
        let product = self.b.ins().imul(x, y);
        let upper = self.b.ins().sshr_imm_u(product, i64::from(kind.bits));
        self.b.ins().ireduce(kind.ty, upper)
    }

    fn int_power(&mut self, kind: IntKind, x: Value, y: Value) -> Result<Value, JitError> {
        let (x, y) = (
            self.extended(kind, x, types::I64),
            self.extended(kind, y, types::I64),
        );
        let helper = if kind.signed {
            Helper::PowSigned
        } else {
            Helper::PowUnsigned
        };
        match self.call(helper, &[x, y]) {
            Some(power) if kind.ty == types::I64 => Ok(power),
            Some(power) => Ok(self.b.ins().ireduce(kind.ty, power)),
            None => Err(self.malformed("a helper for powers gives nothing")),
        }
    }

    /// Whether a shift amount, taken as unsigned, is not below the width.
    fn is_beyond(&mut self, kind: IntKind, amount: Value) -> Value {
        let width = i64::from(kind.bits);
        let condition = IntCC::UnsignedGreaterThanOrEqual;
        self.b.ins().icmp_imm_u(condition, amount, width)
    }

    fn int_shift_left(&mut self, kind: IntKind, x: Value, amount: Value) -> Value {
        let beyond = self.is_beyond(kind, amount);
        let shifted = self.b.ins().ishl(x, amount);
        let zero = self.b.ins().iconst(kind.ty, 0);
        self.b.ins().select(beyond, zero, shifted)
    }

    fn int_shift_right_logical(&mut self, kind: IntKind, x: Value, amount: Value) -> Value {
        let beyond = self.is_beyond(kind, amount);
        let own = self.own_bits(kind, x);
        let shifted = self.b.ins().ushr(own, amount);
        let zero = self.b.ins().iconst(kind.ty, 0);
        self.b.ins().select(beyond, zero, shifted)
    }

    /// The uppermost bit of the type is copied in, whether or not the type is signed.
    fn int_shift_right_arithmetic(&mut self, kind: IntKind, x: Value, amount: Value) -> Value {
        let signed = IntKind {
            signed: true,
            ..kind
        };
        let x = self.normalized(signed, x);
        let beyond = self.is_beyond(kind, amount);
        let last = self.b.ins().iconst(kind.ty, i64::from(kind.bits) - 1);
        let amount = self.b.ins().select(beyond, last, amount);
        self.b.ins().sshr(x, amount)
    }
}
