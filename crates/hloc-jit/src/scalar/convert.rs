//! Conversions between element types: by value, by bits, and to fewer bits of the same type.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use hloc_ir::ElementType;

use crate::error::JitError;
use crate::kernel::Emitter;
use crate::repr::{IntKind, Kind, Reg, bits_type};

/// `pred` as a number.
const TRUTH: IntKind = IntKind {
    ty: types::I8,
    bits: 8,
    signed: false,
};

impl Emitter<'_, '_> {
    /// The value converted by HLO's rules: floats to integers truncate, saturate, and take NaN to 0;
    /// integers wrap; to a float the value is rounded once; complex numbers lose their imaginary part.
    pub(crate) fn convert(
        &mut self,
        from: ElementType,
        to: ElementType,
        reg: Reg,
    ) -> Result<Reg, JitError> {
        if from == to {
            return Ok(reg);
        }
        match (Kind::of(from), Kind::of(to)) {
            (Kind::Complex(_), Kind::Complex(part)) => {
                let (re, im) = reg.pair();
                Ok(Reg::Pair(
                    self.float_to_float(part, re),
                    self.float_to_float(part, im),
                ))
            }
            (Kind::Complex(_), _) => {
                let (re, _) = reg.pair();
                self.convert(from.component(), to, Reg::One(re))
            }
            (_, Kind::Complex(part)) => {
                let re = self.convert(from, to.component(), reg)?.one();
                Ok(Reg::Pair(re, self.float_constant(part, 0.0)))
            }
            (Kind::Pred, _) => Ok(self.convert_integer(TRUTH, to, reg.one())),
            (Kind::Int(kind), _) => Ok(self.convert_integer(kind, to, reg.one())),
            (Kind::Float(_) | Kind::Narrow(_), _) => {
                let value = self.computed(from, reg).one();
                Ok(self.convert_float(to, value))
            }
        }
    }

    fn convert_integer(&mut self, from: IntKind, to: ElementType, value: Value) -> Reg {
        Reg::One(match Kind::of(to) {
            Kind::Pred => self.b.ins().icmp_imm_u(IntCC::NotEqual, value, 0),
            Kind::Int(kind) if kind.ty.bits() > from.ty.bits() => {
                let wide = self.extended(from, value, kind.ty);
                self.normalized(kind, wide)
            }
            Kind::Int(kind) => self.truncated(kind, value),
            Kind::Float(float) => self.int_to_float(from, float, value),
            Kind::Narrow(_) => {
                let exact = self.int_to_odd_float(from, value);
                let odd = self.odd_single(exact);
                self.rounded(to, odd)
            }
            Kind::Complex(part) => self.int_to_float(from, part, value),
        })
    }

    fn int_to_float(&mut self, from: IntKind, float: Type, value: Value) -> Value {
        if from.bits < 32 {
            let wide = self.extended(from, value, types::I32);
            self.b.ins().fcvt_from_sint(float, wide)
        } else if from.bits < 64 {
            let wide = self.extended(from, value, types::I64);
            self.b.ins().fcvt_from_sint(float, wide)
        } else if from.signed {
            self.b.ins().fcvt_from_sint(float, value)
        } else {
            self.b.ins().fcvt_from_uint(float, value)
        }
    }

    /// An `f64` that rounds to any narrow float as the integer itself would: of integers beyond 2^53 the
    /// lower bits are folded into one sticky bit.
    fn int_to_odd_float(&mut self, from: IntKind, value: Value) -> Value {
        if from.bits < 64 {
            return self.int_to_float(from, types::F64, value);
        }
        let magnitude = if from.signed {
            let negative = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, value, 0);
            let negated = self.b.ins().ineg(value);
            self.b.ins().select(negative, negated, value)
        } else {
            value
        };
        let low = self.b.ins().band_imm_u(magnitude, 0x7ff);
        let has_low = self.b.ins().icmp_imm_u(IntCC::NotEqual, low, 0);
        let sticky = self.b.ins().uextend(types::I64, has_low);
        let sticky = self.b.ins().ishl_imm_u(sticky, 11);
        let high = self.b.ins().bxor(magnitude, low);
        let folded = self.b.ins().bor(high, sticky);
        let limit = 1i64 << 53;
        let fits = self
            .b
            .ins()
            .icmp_imm_u(IntCC::UnsignedLessThan, magnitude, limit);
        let exact = self.b.ins().select(fits, magnitude, folded);
        let float = self.b.ins().fcvt_from_uint(types::F64, exact);
        if !from.signed {
            return float;
        }
        let negated = self.b.ins().fneg(float);
        let negative = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, value, 0);
        self.b.ins().select(negative, negated, float)
    }

    /// The `f64` as an `f32`, rounded to odd: truncated, with the last bit set if that lost anything. It
    /// then rounds to any narrower float as the `f64` itself would.
    fn odd_single(&mut self, value: Value) -> Value {
        if self.b.func.dfg.value_type(value) == types::F32 {
            return value;
        }
        let single = self.b.ins().fdemote(types::F32, value);
        let back = self.b.ins().fpromote(types::F64, single);
        let bits = self.cast_to_int(single);
        let magnitude = self.b.ins().fabs(value);
        let back_magnitude = self.b.ins().fabs(back);
        let too_great = self
            .b
            .ins()
            .fcmp(FloatCC::GreaterThan, back_magnitude, magnitude);
        let below = self.b.ins().iadd_imm_s(bits, -1);
        let truncated = self.b.ins().select(too_great, below, bits);
        let odd = self.b.ins().bor_imm_u(truncated, 1);
        // Ordered and different: a NaN stays as it is.
        let less = self
            .b
            .ins()
            .fcmp(FloatCC::LessThan, back_magnitude, magnitude);
        let inexact = self.b.ins().bor(too_great, less);
        let result = self.b.ins().select(inexact, odd, bits);
        self.cast_to_float(result)
    }

    fn convert_float(&mut self, to: ElementType, value: Value) -> Reg {
        Reg::One(match Kind::of(to) {
            Kind::Pred => {
                let ty = self.b.func.dfg.value_type(value);
                let zero = self.float_constant(ty, 0.0);
                self.b.ins().fcmp(FloatCC::NotEqual, value, zero)
            }
            Kind::Int(kind) => self.float_to_int(kind, value),
            Kind::Float(float) => self.float_to_float(float, value),
            Kind::Narrow(_) => {
                let odd = self.odd_single(value);
                self.rounded(to, odd)
            }
            Kind::Complex(part) => self.float_to_float(part, value),
        })
    }

    fn float_to_float(&mut self, to: Type, value: Value) -> Value {
        match (self.b.func.dfg.value_type(value), to) {
            (types::F32, types::F64) => self.b.ins().fpromote(to, value),
            (types::F64, types::F32) => self.b.ins().fdemote(to, value),
            (_, _) => value,
        }
    }

    fn float_to_int(&mut self, kind: IntKind, value: Value) -> Value {
        if kind.bits >= 32 {
            return if kind.signed {
                self.b.ins().fcvt_to_sint_sat(kind.ty, value)
            } else {
                self.b.ins().fcvt_to_uint_sat(kind.ty, value)
            };
        }
        let wide = self.b.ins().fcvt_to_sint_sat(types::I32, value);
        let low = self
            .b
            .ins()
            .iconst(types::I32, kind.minimum() & 0xffff_ffff);
        let high = self.b.ins().iconst(types::I32, kind.maximum());
        let too_low = self.b.ins().icmp(IntCC::SignedLessThan, wide, low);
        let at_least = self.b.ins().select(too_low, low, wide);
        let too_high = self.b.ins().icmp(IntCC::SignedGreaterThan, at_least, high);
        let clamped = self.b.ins().select(too_high, high, at_least);
        self.b.ins().ireduce(kind.ty, clamped)
    }

    /// The value's bits as another type of the same width.
    pub(super) fn bitcast_convert(
        &mut self,
        from: ElementType,
        to: ElementType,
        reg: Reg,
    ) -> Result<Reg, JitError> {
        if from == to {
            return Ok(reg);
        }
        if from.size() != to.size() {
            return Err(self.malformed(format!("bits of {from} do not make {to}")));
        }
        let bits = self.raw_bits(from, reg)?;
        Ok(match Kind::of(to) {
            Kind::Pred => Reg::One(self.b.ins().icmp_imm_u(IntCC::NotEqual, bits, 0)),
            Kind::Int(kind) => Reg::One(self.normalized(kind, bits)),
            Kind::Float(_) => Reg::One(self.cast_to_float(bits)),
            Kind::Narrow(_) if to.bits() < 8 => {
                Reg::Bits(self.b.ins().band_imm_u(bits, (1 << to.bits()) - 1))
            }
            Kind::Narrow(_) => Reg::Bits(bits),
            Kind::Complex(types::F32) => {
                let (low, high) = (
                    self.b.ins().ireduce(types::I32, bits),
                    self.b.ins().ushr_imm_u(bits, 32),
                );
                let high = self.b.ins().ireduce(types::I32, high);
                Reg::Pair(self.cast_to_float(low), self.cast_to_float(high))
            }
            Kind::Complex(_) => return Err(self.unsupported("bitcast-convert", to)),
        })
    }

    fn raw_bits(&mut self, from: ElementType, reg: Reg) -> Result<Value, JitError> {
        match Kind::of(from) {
            Kind::Pred | Kind::Int(_) => Ok(reg.one()),
            Kind::Float(_) => Ok(self.cast_to_int(reg.one())),
            Kind::Narrow(_) => Ok(self.memory_form(from, reg).one()),
            Kind::Complex(types::F32) => {
                let (re, im) = reg.pair();
                let (re, im) = (self.cast_to_int(re), self.cast_to_int(im));
                let (re, im) = (
                    self.b.ins().uextend(types::I64, re),
                    self.b.ins().uextend(types::I64, im),
                );
                let high = self.b.ins().ishl_imm_u(im, 32);
                Ok(self.b.ins().bor(re, high))
            }
            Kind::Complex(_) => Err(self.unsupported("bitcast-convert", from)),
        }
    }

    /// The value rounded to a format of fewer bits: ties to even, overflow to infinity, what is below
    /// the least normal number to zero, NaN kept.
    pub(super) fn reduce_precision(
        &mut self,
        ty: ElementType,
        reg: Reg,
        exponent_bits: u32,
        mantissa_bits: u32,
    ) -> Result<Reg, JitError> {
        let own = match Kind::of(ty) {
            Kind::Narrow(ElementType::F16) => (types::I16, 5, 10),
            Kind::Narrow(ElementType::BF16) => (types::I16, 8, 7),
            Kind::Float(types::F64) => (types::I64, 11, 52),
            Kind::Float(_) | Kind::Narrow(_) => (types::I32, 8, 23),
            Kind::Pred | Kind::Int(_) | Kind::Complex(_) => {
                return Err(self.unsupported("reduce-precision", ty));
            }
        };
        let is_half = own.0 == types::I16;
        let bits = if is_half {
            self.memory_form(ty, reg).one()
        } else {
            let value = self.computed(ty, reg).one();
            self.cast_to_int(value)
        };
        let reduced = self.reduced_bits(own, bits, exponent_bits, mantissa_bits);
        Ok(match Kind::of(ty) {
            Kind::Narrow(_) if is_half => {
                debug_assert_eq!(own.0, bits_type(ty), "half floats have 16 bits");
                Reg::Bits(reduced)
            }
            Kind::Narrow(_) => {
                let value = self.cast_to_float(reduced);
                Reg::One(self.rounded(ty, value))
            }
            Kind::Pred | Kind::Int(_) | Kind::Float(_) | Kind::Complex(_) => {
                Reg::One(self.cast_to_float(reduced))
            }
        })
    }

    fn reduced_bits(
        &mut self,
        (ty, own_exponent, own_mantissa): (Type, u32, u32),
        bits: Value,
        exponent_bits: u32,
        mantissa_bits: u32,
    ) -> Value {
        let magnitude_mask = u64::MAX >> (65 - ty.bits());
        let mask = self.integer_bits(ty, magnitude_mask);
        let magnitude = self.b.ins().band(bits, mask);
        let sign = self.b.ins().bxor(bits, magnitude);
        let mut rounded = magnitude;
        if mantissa_bits < own_mantissa {
            let dropped = own_mantissa - mantissa_bits;
            let odd = self.b.ins().ushr_imm_u(rounded, i64::from(dropped));
            let odd = self.b.ins().band_imm_u(odd, 1);
            let below_half = self.integer_bits(ty, (1 << (dropped - 1)) - 1);
            let sum = self.b.ins().iadd(rounded, below_half);
            let sum = self.b.ins().iadd(sum, odd);
            let kept = self.integer_bits(ty, !((1 << dropped) - 1));
            rounded = self.b.ins().band(sum, kept);
        }
        let infinity = ((1u64 << own_exponent) - 1) << own_mantissa;
        let infinity_value = self.integer_bits(ty, infinity);
        if exponent_bits < own_exponent {
            let own_bias = (1u64 << (own_exponent - 1)) - 1;
            let bias = (1u64 << exponent_bits.saturating_sub(1)) - 1;
            let greatest = self.integer_bits(ty, ((own_bias + bias + 1) << own_mantissa) - 1);
            let least = self.integer_bits(ty, (own_bias - bias + 1) << own_mantissa);
            let zero = self.b.ins().iconst(ty, 0);
            let overflows = self
                .b
                .ins()
                .icmp(IntCC::UnsignedGreaterThan, rounded, greatest);
            let underflows = self.b.ins().icmp(IntCC::UnsignedLessThan, rounded, least);
            let not_small = self.b.ins().select(underflows, zero, rounded);
            rounded = self.b.ins().select(overflows, infinity_value, not_small);
        }
        let is_nan = self
            .b
            .ins()
            .icmp(IntCC::UnsignedGreaterThan, magnitude, infinity_value);
        let kept = self.b.ins().select(is_nan, magnitude, rounded);
        self.b.ins().bor(kept, sign)
    }
}
