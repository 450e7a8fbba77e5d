//! Float ops in lanes.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{BlockArg, InstBuilder, Value, types};
use hloc_ir::{BinaryOp, UnaryOp};

use super::memory::FLAGS;
use super::{Vectors, Width};
use crate::error::JitError;
use crate::math::Inline;
use crate::math::clif::Clif;
use crate::math::inline::ANGLE_LIMIT;
use crate::math::power::power;
use crate::runtime::Helper;

impl Vectors<'_, '_, '_> {
    /// A float op with one operand.
    pub(super) fn float_unary(&mut self, op: UnaryOp, x: Value) -> Result<Value, JitError> {
        if let (Some(function), Width::Single) = (Inline::of(op), self.width()) {
            return self.inline(function, x);
        }
        Ok(match op {
            UnaryOp::Abs => self.with_magnitude_mask(x),
            UnaryOp::Negate => {
                let sign = self.sign_mask();
                self.bitwise(x, sign, false)
            }
            UnaryOp::Ceil => self.e.b.ins().ceil(x),
            UnaryOp::Floor => self.e.b.ins().floor(x),
            UnaryOp::RoundNearestEven => self.e.b.ins().nearest(x),
            UnaryOp::RoundNearestAfz => self.round_away(x),
            UnaryOp::Sqrt => self.e.b.ins().sqrt(x),
            UnaryOp::Rsqrt => {
                let root = self.e.b.ins().sqrt(x);
                let one = self.splat_float(1.0);
                self.e.b.ins().fdiv(one, root)
            }
            UnaryOp::Real => x,
            UnaryOp::Imag => self.splat_float(0.0),
            UnaryOp::IsFinite => {
                let magnitude = self.with_magnitude_mask(x);
                let infinity = self.splat_float(f32::INFINITY);
                let condition = FloatCC::LessThan;
                self.e.b.ins().fcmp(condition, magnitude, infinity)
            }
            UnaryOp::Sign => self.sign(x),
            UnaryOp::Acos
            | UnaryOp::Acosh
            | UnaryOp::Asin
            | UnaryOp::Asinh
            | UnaryOp::Atanh
            | UnaryOp::Cbrt
            | UnaryOp::Cosine
            | UnaryOp::Cosh
            | UnaryOp::CountLeadingZeros
            | UnaryOp::Erf
            | UnaryOp::Exponential
            | UnaryOp::ExponentialMinusOne
            | UnaryOp::Log
            | UnaryOp::LogPlusOne
            | UnaryOp::Logistic
            | UnaryOp::Not
            | UnaryOp::Popcnt
            | UnaryOp::Sine
            | UnaryOp::Sinh
            | UnaryOp::Tan
            | UnaryOp::Tanh => {
                return Err(self.e.malformed(format!("`{op}` has no vector form")));
            }
        })
    }

    /// A function in line, with calls for the lanes where that would be wrong. Other lanes keep what was
    /// computed in line, so that no lane's bits depend on its neighbors.
    fn inline(&mut self, function: Inline, x: Value) -> Result<Value, JitError> {
        let result = function.emit(&mut Clif::vector(&mut self.e.b), x);
        let Some(helper) = function.rare() else {
            return Ok(result);
        };
        let floats = self.width().floats();
        let (rare, merge) = (self.e.b.create_block(), self.e.b.create_block());
        let merged = self.e.b.append_block_param(merge, floats);
        let magnitude = self.with_magnitude_mask(x);
        let limit = self.splat_float(ANGLE_LIMIT);
        let condition = FloatCC::LessThan;
        let usual = self.e.b.ins().fcmp(condition, magnitude, limit);
        let all_usual = self.all(usual);
        let args = [BlockArg::Value(result)];
        self.e.b.ins().brif(all_usual, merge, &args, rare, &[]);
        self.e.b.set_cold_block(rare);
        self.e.b.switch_to_block(rare);
        self.e.b.seal_block(rare);
        let called = self.called(helper, x)?;
        let chosen = self.choose(usual, result, called);
        self.e.b.ins().jump(merge, &[BlockArg::Value(chosen)]);
        self.e.b.switch_to_block(merge);
        self.e.b.seal_block(merge);
        Ok(merged)
    }

    /// Whether a mask has all lanes set.
    fn all(&mut self, mask: Value) -> Value {
        if self.e.factor == 1 {
            return self.e.b.ins().vall_true(mask);
        }
        let all = (1 << self.lane_count()) - 1;
        let signs = self.e.b.ins().vhigh_bits(types::I32, mask);
        let signs = self.e.b.ins().band_imm_u(signs, all);
        self.e.b.ins().icmp_imm_u(IntCC::Equal, signs, all)
    }

    /// What a helper gives for each lane, one after the other.
    fn called(&mut self, helper: Helper, x: Value) -> Result<Value, JitError> {
        let address = self.e.lanes_address();
        self.store_vector(x, address, 0);
        let (body, exit) = (self.e.b.create_block(), self.e.b.create_block());
        let counter = self.e.b.append_block_param(body, types::I64);
        let zero = self.e.b.ins().iconst(types::I64, 0);
        self.e.b.ins().jump(body, &[BlockArg::Value(zero)]);
        self.e.b.set_cold_block(body);
        self.e.b.set_cold_block(exit);
        self.e.b.switch_to_block(body);
        let address = self.e.lanes_address();
        let offset = self.e.b.ins().ishl_imm_u(counter, 2);
        let place = self.e.b.ins().iadd(address, offset);
        let lane = self.e.b.ins().load(types::F32, FLAGS, place, 0);
        let value = self.e.call_real(helper, types::F32, &[lane])?;
        self.e.b.ins().store(FLAGS, value, place, 0);
        let next = self.e.b.ins().iadd_imm_s(counter, 1);
        let count = self.lane_count();
        let again = self
            .e
            .b
            .ins()
            .icmp_imm_s(IntCC::SignedLessThan, next, count);
        let args = [BlockArg::Value(next)];
        self.e.b.ins().brif(again, body, &args, exit, &[]);
        self.e.b.seal_block(body);
        self.e.b.switch_to_block(exit);
        self.e.b.seal_block(exit);
        let address = self.e.lanes_address();
        let floats = self.width().floats();
        Ok(self.load_vector(floats, address, 0))
    }

    /// A float op with two operands.
    pub(super) fn float_binary(
        &mut self,
        op: BinaryOp,
        x: Value,
        y: Value,
    ) -> Result<Value, JitError> {
        Ok(match op {
            BinaryOp::Add => self.e.b.ins().fadd(x, y),
            BinaryOp::Subtract => self.e.b.ins().fsub(x, y),
            BinaryOp::Multiply => self.e.b.ins().fmul(x, y),
            BinaryOp::Divide => self.e.b.ins().fdiv(x, y),
            BinaryOp::Maximum | BinaryOp::Minimum => self.extreme(op, (x, None), (y, None)),
            BinaryOp::Power if self.width() == Width::Single => {
                power(&mut Clif::vector(&mut self.e.b), x, y)
            }
            BinaryOp::And
            | BinaryOp::Atan2
            | BinaryOp::Complex
            | BinaryOp::Mulhi
            | BinaryOp::Or
            | BinaryOp::Power
            | BinaryOp::Remainder
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRightArithmetic
            | BinaryOp::ShiftRightLogical
            | BinaryOp::Xor => {
                return Err(self.e.malformed(format!("`{op}` has no vector form")));
            }
        })
    }

    fn sign_mask(&mut self) -> Value {
        let bits = self.width().int_lane().bits();
        self.splat_bits(1 << (bits - 1))
    }

    /// Bits of `x` with a mask: `and` or exclusive or.
    fn bitwise(&mut self, x: Value, mask: Value, and: bool) -> Value {
        let (ints, floats) = (self.width().ints(), self.width().floats());
        let bits = self.cast(ints, x);
        let result = if and {
            self.e.b.ins().band(bits, mask)
        } else {
            self.e.b.ins().bxor(bits, mask)
        };
        self.cast(floats, result)
    }

    fn with_magnitude_mask(&mut self, x: Value) -> Value {
        let bits = self.width().int_lane().bits();
        let mask = self.splat_bits((1 << (bits - 1)) - 1);
        self.bitwise(x, mask, true)
    }

    /// `magnitude`, which is not negative, with the sign of `x`.
    fn with_sign_of(&mut self, magnitude: Value, x: Value) -> Value {
        let mask = self.sign_mask();
        let sign = self.bitwise(x, mask, true);
        let sign = self.cast(self.width().ints(), sign);
        self.bitwise(magnitude, sign, false)
    }

    pub(super) fn choose(&mut self, mask: Value, a: Value, b: Value) -> Value {
        let mask = self.cast(self.width().floats(), mask);
        self.e.b.ins().bitselect(mask, a, b)
    }

    fn sign(&mut self, x: Value) -> Value {
        let (zero, one) = (self.splat_float(0.0), self.splat_float(1.0));
        let unit = self.with_sign_of(one, x);
        let positive = self.e.b.ins().fcmp(FloatCC::GreaterThan, x, zero);
        let negative = self.e.b.ins().fcmp(FloatCC::LessThan, x, zero);
        let nonzero = self.e.b.ins().bor(positive, negative);
        self.choose(nonzero, unit, x)
    }

    fn round_away(&mut self, x: Value) -> Value {
        let whole = self.e.b.ins().trunc(x);
        let fraction = self.e.b.ins().fsub(x, whole);
        let fraction = self.with_magnitude_mask(fraction);
        let (half, one) = (self.splat_float(0.5), self.splat_float(1.0));
        let condition = FloatCC::GreaterThanOrEqual;
        let far = self.e.b.ins().fcmp(condition, fraction, half);
        let step = self.with_sign_of(one, x);
        let next = self.e.b.ins().fadd(whole, step);
        self.choose(far, next, whole)
    }
}
