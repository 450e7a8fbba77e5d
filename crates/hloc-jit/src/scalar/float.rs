//! Ops on `f32` and `f64`.

use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{BlockArg, InstBuilder, Type, Value, types};
use hloc_ir::{BinaryOp, ElementType, UnaryOp};

use crate::error::JitError;
use crate::kernel::Emitter;
use crate::math::Inline;
use crate::math::clif::Clif;
use crate::math::inline::ANGLE_LIMIT;
use crate::math::power::power;
use crate::repr::Reg;
use crate::runtime::Helper;

impl Emitter<'_, '_> {
    /// A float op with one operand.
    pub(super) fn float_unary(
        &mut self,
        op: UnaryOp,
        ty: ElementType,
        float: Type,
        x: Value,
    ) -> Result<Reg, JitError> {
        if let (Some(function), types::F32) = (Inline::of(op), float) {
            return Ok(Reg::One(self.inline(function, x)?));
        }
        let result = match op {
            UnaryOp::Abs => self.b.ins().fabs(x),
            UnaryOp::Ceil => self.b.ins().ceil(x),
            UnaryOp::Floor => self.b.ins().floor(x),
            UnaryOp::Imag => self.float_constant(float, 0.0),
            UnaryOp::IsFinite => {
                let magnitude = self.b.ins().fabs(x);
                let infinity = self.float_constant(float, f32::INFINITY);
                self.b.ins().fcmp(FloatCC::LessThan, magnitude, infinity)
            }
            UnaryOp::Negate => self.b.ins().fneg(x),
            UnaryOp::Real => x,
            UnaryOp::RoundNearestAfz => self.round_away(float, x),
            UnaryOp::RoundNearestEven => self.b.ins().nearest(x),
            UnaryOp::Rsqrt => {
                let root = self.b.ins().sqrt(x);
                let one = self.float_constant(float, 1.0);
                self.b.ins().fdiv(one, root)
            }
            UnaryOp::Sign => self.float_sign(float, x),
            UnaryOp::Sqrt => self.b.ins().sqrt(x),
            UnaryOp::Acos => self.call_real(Helper::Acos, float, &[x])?,
            UnaryOp::Acosh => self.call_real(Helper::Acosh, float, &[x])?,
            UnaryOp::Asin => self.call_real(Helper::Asin, float, &[x])?,
            UnaryOp::Asinh => self.call_real(Helper::Asinh, float, &[x])?,
            UnaryOp::Atanh => self.call_real(Helper::Atanh, float, &[x])?,
            UnaryOp::Cbrt => self.call_real(Helper::Cbrt, float, &[x])?,
            UnaryOp::Cosine => self.call_real(Helper::Cos, float, &[x])?,
            UnaryOp::Cosh => self.call_real(Helper::Cosh, float, &[x])?,
            UnaryOp::Erf => self.call_real(Helper::Erf, float, &[x])?,
            UnaryOp::Exponential => self.call_real(Helper::Exp, float, &[x])?,
            UnaryOp::ExponentialMinusOne => self.call_real(Helper::Expm1, float, &[x])?,
            UnaryOp::Log => self.call_real(Helper::Log, float, &[x])?,
            UnaryOp::LogPlusOne => self.call_real(Helper::Log1p, float, &[x])?,
            UnaryOp::Logistic => self.call_real(Helper::Logistic, float, &[x])?,
            UnaryOp::Sine => self.call_real(Helper::Sin, float, &[x])?,
            UnaryOp::Sinh => self.call_real(Helper::Sinh, float, &[x])?,
            UnaryOp::Tan => self.call_real(Helper::Tan, float, &[x])?,
            UnaryOp::Tanh => self.call_real(Helper::Tanh, float, &[x])?,
            UnaryOp::CountLeadingZeros | UnaryOp::Not | UnaryOp::Popcnt => {
                return Err(self.unsupported(op.name(), ty));
            }
        };
        Ok(Reg::One(result))
    }

    /// A float op with two operands.
    pub(super) fn float_binary(
        &mut self,
        op: BinaryOp,
        ty: ElementType,
        float: Type,
        x: Value,
        y: Value,
    ) -> Result<Reg, JitError> {
        let result = match op {
            BinaryOp::Add => self.b.ins().fadd(x, y),
            BinaryOp::Subtract => self.b.ins().fsub(x, y),
            BinaryOp::Multiply => self.b.ins().fmul(x, y),
            BinaryOp::Divide => self.b.ins().fdiv(x, y),
            // Cranelift's rules are HLO's: NaN wins, and -0 is below +0.
            BinaryOp::Maximum => self.b.ins().fmax(x, y),
            BinaryOp::Minimum => self.b.ins().fmin(x, y),
            BinaryOp::Complex => return Ok(Reg::Pair(x, y)),
            BinaryOp::Atan2 => self.call_real(Helper::Atan2, float, &[x, y])?,
            BinaryOp::Power if float == types::F32 => power(&mut Clif::scalar(&mut self.b), x, y),
            BinaryOp::Power => self.call_real(Helper::Pow, float, &[x, y])?,
            // The remainder of two `f32` is an `f32`, so double precision changes nothing.
            BinaryOp::Remainder => self.call_real(Helper::Fmod, float, &[x, y])?,
            BinaryOp::And
            | BinaryOp::Mulhi
            | BinaryOp::Or
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRightArithmetic
            | BinaryOp::ShiftRightLogical
            | BinaryOp::Xor => return Err(self.unsupported(op.name(), ty)),
        };
        Ok(Reg::One(result))
    }

    /// A function of `f32` in line, or a call where that would be wrong: the same bits as in lanes.
    fn inline(&mut self, function: Inline, x: Value) -> Result<Value, JitError> {
        let result = function.emit(&mut Clif::scalar(&mut self.b), x);
        let Some(helper) = function.rare() else {
            return Ok(result);
        };
        let (rare, merge) = (self.b.create_block(), self.b.create_block());
        let merged = self.b.append_block_param(merge, types::F32);
        let magnitude = self.b.ins().fabs(x);
        let limit = self.b.ins().f32const(ANGLE_LIMIT);
        let usual = self.b.ins().fcmp(FloatCC::LessThan, magnitude, limit);
        let args = [BlockArg::Value(result)];
        self.b.ins().brif(usual, merge, &args, rare, &[]);
        self.b.set_cold_block(rare);
        self.b.switch_to_block(rare);
        self.b.seal_block(rare);
        let called = self.call_real(helper, types::F32, &[x])?;
        self.b.ins().jump(merge, &[BlockArg::Value(called)]);
        self.b.switch_to_block(merge);
        self.b.seal_block(merge);
        Ok(merged)
    }

    /// Calls a function of `f64`; `f32` operands are widened and the result rounded once.
    pub(crate) fn call_real(
        &mut self,
        helper: Helper,
        float: Type,
        args: &[Value],
    ) -> Result<Value, JitError> {
        let wide: Vec<Value> = args.iter().map(|arg| self.promoted(*arg)).collect();
        match self.call(helper, &wide) {
            Some(result) if float == types::F64 => Ok(result),
            Some(result) => Ok(self.b.ins().fdemote(float, result)),
            None => Err(self.malformed(format!("{} gives nothing", helper.name()))),
        }
    }

    /// The value as an `f64`.
    pub(super) fn promoted(&mut self, value: Value) -> Value {
        if self.b.func.dfg.value_type(value) == types::F64 {
            value
        } else {
            self.b.ins().fpromote(types::F64, value)
        }
    }

    fn float_sign(&mut self, float: Type, x: Value) -> Value {
        let zero = self.float_constant(float, 0.0);
        let (one, minus_one) = (
            self.float_constant(float, 1.0),
            self.float_constant(float, -1.0),
        );
        let positive = self.b.ins().fcmp(FloatCC::GreaterThan, x, zero);
        let negative = self.b.ins().fcmp(FloatCC::LessThan, x, zero);
        let not_positive = self.b.ins().select(negative, minus_one, x);
        self.b.ins().select(positive, one, not_positive)
    }

    /// Nearest integer, ties away from zero. The fraction is exact, so the comparison is, too.
    fn round_away(&mut self, float: Type, x: Value) -> Value {
        let whole = self.b.ins().trunc(x);
        let fraction = self.b.ins().fsub(x, whole);
        let fraction = self.b.ins().fabs(fraction);
        let half = self.float_constant(float, 0.5);
        let far = self
            .b
            .ins()
            .fcmp(FloatCC::GreaterThanOrEqual, fraction, half);
        let one = self.float_constant(float, 1.0);
        let step = self.b.ins().fcopysign(one, x);
        let next = self.b.ins().fadd(whole, step);
        self.b.ins().select(far, next, whole)
    }
}
