//! Ops on complex numbers.

use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use hloc_ir::{BinaryOp, ElementType, UnaryOp};

use crate::error::JitError;
use crate::kernel::Emitter;
use crate::math::clif::Clif;
use crate::math::modulus::modulus;
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
                    modulus(&mut Clif::scalar(&mut self.b), re, im)
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
                let [re, im] = self.complex_product((a, b), (c, d));
                Reg::Pair(re, im)
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

    /// The parts of a product, of scalars or of vectors.
    pub(crate) fn complex_product(
        &mut self,
        (a, b): (Value, Value),
        (c, d): (Value, Value),
    ) -> [Value; 2] {
        // Rounded as XLA's compiler does. The sum is not fused: the factors could not be swapped then.
        let bd = self.b.ins().fmul(b, d);
        let minus = self.b.ins().fneg(bd);
        let (ad, bc) = (self.b.ins().fmul(a, d), self.b.ins().fmul(b, c));
        [self.b.ins().fma(a, c, minus), self.b.ins().fadd(ad, bc)]
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
