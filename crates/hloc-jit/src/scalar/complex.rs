//! Ops on complex numbers.

use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{BlockArg, InstBuilder, Type, Value, types};
use hloc_ir::{BinaryOp, ElementType, UnaryOp};

use crate::error::JitError;
use crate::kernel::Emitter;
use crate::repr::Reg;
use crate::runtime::Helper;

impl Emitter<'_, '_> {
    /// A complex op with one operand.
    pub(super) fn complex_unary(
        &mut self,
        op: UnaryOp,
        ty: ElementType,
        part: Type,
        (re, im): (Value, Value),
    ) -> Result<Reg, JitError> {
        let helper = match op {
            UnaryOp::Abs => {
                let modulus = if part == types::F32 {
                    self.modulus(re, im)
                } else {
                    self.call_real(Helper::Hypot, part, &[re, im])?
                };
                return Ok(Reg::One(modulus));
            }
            UnaryOp::Negate => {
                return Ok(Reg::Pair(self.b.ins().fneg(re), self.b.ins().fneg(im)));
            }
            UnaryOp::Real => return Ok(Reg::One(re)),
            UnaryOp::Imag => return Ok(Reg::One(im)),
            UnaryOp::Acos => Helper::ComplexAcos,
            UnaryOp::Acosh => Helper::ComplexAcosh,
            UnaryOp::Asin => Helper::ComplexAsin,
            UnaryOp::Asinh => Helper::ComplexAsinh,
            UnaryOp::Atanh => Helper::ComplexAtanh,
            UnaryOp::Cosine => Helper::ComplexCos,
            UnaryOp::Cosh => Helper::ComplexCosh,
            UnaryOp::Exponential => Helper::ComplexExp,
            UnaryOp::ExponentialMinusOne => Helper::ComplexExpm1,
            UnaryOp::Log => Helper::ComplexLog,
            UnaryOp::LogPlusOne => Helper::ComplexLog1p,
            UnaryOp::Logistic => Helper::ComplexLogistic,
            UnaryOp::Rsqrt => Helper::ComplexRsqrt,
            UnaryOp::Sign => Helper::ComplexSign,
            UnaryOp::Sine => Helper::ComplexSin,
            UnaryOp::Sinh => Helper::ComplexSinh,
            UnaryOp::Sqrt => Helper::ComplexSqrt,
            UnaryOp::Tan => Helper::ComplexTan,
            UnaryOp::Tanh => Helper::ComplexTanh,
            UnaryOp::Cbrt
            | UnaryOp::Ceil
            | UnaryOp::CountLeadingZeros
            | UnaryOp::Erf
            | UnaryOp::Floor
            | UnaryOp::IsFinite
            | UnaryOp::Not
            | UnaryOp::Popcnt
            | UnaryOp::RoundNearestAfz
            | UnaryOp::RoundNearestEven => return Err(self.unsupported(op.name(), ty)),
        };
        Ok(self.complex_call(helper, part, &[re, im]))
    }

    /// The modulus of parts of type `f32`. Their squares are exact as `f64`, and no `f64` is too small or too great
    /// for the sum.
    fn modulus(&mut self, re: Value, im: Value) -> Value {
        let (re, im) = (self.promoted(re), self.promoted(im));
        let squares = (self.b.ins().fmul(re, re), self.b.ins().fmul(im, im));
        let sum = self.b.ins().fadd(squares.0, squares.1);
        let (rare, merge) = (self.b.create_block(), self.b.create_block());
        let merged = self.b.append_block_param(merge, types::F64);
        let is_number = self.b.ins().fcmp(FloatCC::Ordered, sum, sum);
        let args = [BlockArg::Value(sum)];
        self.b.ins().brif(is_number, merge, &args, rare, &[]);
        self.b.set_cold_block(rare);
        self.b.switch_to_block(rare);
        self.b.seal_block(rare);
        // An infinite part makes the modulus infinite even beside NaN.
        let infinity = self.b.ins().f64const(f64::INFINITY);
        let [re, im] = [re, im].map(|part| {
            let magnitude = self.b.ins().fabs(part);
            self.b.ins().fcmp(FloatCC::Equal, magnitude, infinity)
        });
        let is_infinite = self.b.ins().bor(re, im);
        let chosen = self.b.ins().select(is_infinite, infinity, sum);
        self.b.ins().jump(merge, &[BlockArg::Value(chosen)]);
        self.b.switch_to_block(merge);
        self.b.seal_block(merge);
        let root = self.b.ins().sqrt(merged);
        self.b.ins().fdemote(types::F32, root)
    }

    /// A complex op with two operands.
    pub(super) fn complex_binary(
        &mut self,
        op: BinaryOp,
        ty: ElementType,
        part: Type,
        (a, b): (Value, Value),
        (c, d): (Value, Value),
    ) -> Result<Reg, JitError> {
        Ok(match op {
            BinaryOp::Add => Reg::Pair(self.b.ins().fadd(a, c), self.b.ins().fadd(b, d)),
            BinaryOp::Subtract => Reg::Pair(self.b.ins().fsub(a, c), self.b.ins().fsub(b, d)),
            BinaryOp::Multiply => {
                // Rounded as XLA's compiler does. The sum is not fused: the factors could not be swapped then.
                let bd = self.b.ins().fmul(b, d);
                let minus = self.b.ins().fneg(bd);
                let (ad, bc) = (self.b.ins().fmul(a, d), self.b.ins().fmul(b, c));
                Reg::Pair(self.b.ins().fma(a, c, minus), self.b.ins().fadd(ad, bc))
            }
            BinaryOp::Maximum => self.complex_extremum(FloatCC::GreaterThanOrEqual, (a, b), (c, d)),
            BinaryOp::Minimum => self.complex_extremum(FloatCC::LessThanOrEqual, (a, b), (c, d)),
            BinaryOp::Divide => self.complex_call(Helper::ComplexDiv, part, &[a, b, c, d]),
            BinaryOp::Power => self.complex_call(Helper::ComplexPow, part, &[a, b, c, d]),
            BinaryOp::And
            | BinaryOp::Atan2
            | BinaryOp::Complex
            | BinaryOp::Mulhi
            | BinaryOp::Or
            | BinaryOp::Remainder
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRightArithmetic
            | BinaryOp::ShiftRightLogical
            | BinaryOp::Xor => return Err(self.unsupported(op.name(), ty)),
        })
    }

    /// The operand that compares so by its real part; a NaN there wins.
    fn complex_extremum(
        &mut self,
        condition: FloatCC,
        (a, b): (Value, Value),
        (c, d): (Value, Value),
    ) -> Reg {
        let wins = self.b.ins().fcmp(condition, a, c);
        let nan = self.b.ins().fcmp(FloatCC::Unordered, a, a);
        let first = self.b.ins().bor(wins, nan);
        Reg::Pair(
            self.b.ins().select(first, a, c),
            self.b.ins().select(first, b, d),
        )
    }

    /// Calls a function of double precision; parts of type `f32` are widened and rounded once.
    fn complex_call(&mut self, helper: Helper, part: Type, args: &[Value]) -> Reg {
        let wide: Vec<Value> = args.iter().map(|arg| self.promoted(*arg)).collect();
        let (re, im) = self.call_complex(helper, &wide).pair();
        if part == types::F64 {
            Reg::Pair(re, im)
        } else {
            Reg::Pair(
                self.b.ins().fdemote(part, re),
                self.b.ins().fdemote(part, im),
            )
        }
    }
}
