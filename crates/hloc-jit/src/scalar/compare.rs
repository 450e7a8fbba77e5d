//! Comparisons.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Type, Value};
use hloc_ir::{CompareType, ComparisonDirection, ElementType};

use crate::error::JitError;
use crate::kernel::Emitter;
use crate::repr::{Kind, Reg};

impl Emitter<'_, '_> {
    /// Compares two values of type `ty`; gives 0 or 1.
    pub(super) fn compare(
        &mut self,
        ty: ElementType,
        direction: ComparisonDirection,
        order: CompareType,
        lhs: Reg,
        rhs: Reg,
    ) -> Result<Reg, JitError> {
        let result = match Kind::of(ty) {
            Kind::Pred => {
                let condition = int_condition(direction, false);
                self.b.ins().icmp(condition, lhs.one(), rhs.one())
            }
            Kind::Int(kind) => {
                let condition = int_condition(direction, kind.signed);
                self.b.ins().icmp(condition, lhs.one(), rhs.one())
            }
            Kind::Float(_) | Kind::Narrow(_) => {
                let (x, y) = (self.computed(ty, lhs).one(), self.computed(ty, rhs).one());
                if order == CompareType::TotalOrder {
                    let (x, y) = (self.total_order_key(x), self.total_order_key(y));
                    self.b.ins().icmp(int_condition(direction, true), x, y)
                } else {
                    self.b.ins().fcmp(float_condition(direction), x, y)
                }
            }
            Kind::Complex(_) => {
                let ((a, b), (c, d)) = (lhs.pair(), rhs.pair());
                self.complex_compare(ty, direction, [a, b, c, d])?
            }
        };
        Ok(Reg::One(result))
    }

    fn complex_compare(
        &mut self,
        ty: ElementType,
        direction: ComparisonDirection,
        [a, b, c, d]: [Value; 4],
    ) -> Result<Value, JitError> {
        match direction {
            ComparisonDirection::Eq => {
                let (re, im) = (self.float_equal(a, c), self.float_equal(b, d));
                Ok(self.b.ins().band(re, im))
            }
            ComparisonDirection::Ne => {
                let re = self.b.ins().fcmp(FloatCC::NotEqual, a, c);
                let im = self.b.ins().fcmp(FloatCC::NotEqual, b, d);
                Ok(self.b.ins().bor(re, im))
            }
            ComparisonDirection::Ge
            | ComparisonDirection::Gt
            | ComparisonDirection::Le
            | ComparisonDirection::Lt => Err(self.unsupported("compare", ty)),
        }
    }

    fn float_equal(&mut self, x: Value, y: Value) -> Value {
        self.b.ins().fcmp(FloatCC::Equal, x, y)
    }

    /// A signed integer that is ordered as IEEE 754 totally orders floats: the bits, of negative numbers
    /// all but the sign flipped.
    fn total_order_key(&mut self, x: Value) -> Value {
        let bits = self.cast_to_int(x);
        let ty: Type = self.b.func.dfg.value_type(bits);
        let sign = self.b.ins().sshr_imm_u(bits, i64::from(ty.bits()) - 1);
        let flips = self.b.ins().ushr_imm_u(sign, 1);
        self.b.ins().bxor(bits, flips)
    }
}

/// The condition code for integers.
pub(crate) fn int_condition(direction: ComparisonDirection, signed: bool) -> IntCC {
    match (direction, signed) {
        (ComparisonDirection::Eq, _) => IntCC::Equal,
        (ComparisonDirection::Ne, _) => IntCC::NotEqual,
        (ComparisonDirection::Ge, true) => IntCC::SignedGreaterThanOrEqual,
        (ComparisonDirection::Gt, true) => IntCC::SignedGreaterThan,
        (ComparisonDirection::Le, true) => IntCC::SignedLessThanOrEqual,
        (ComparisonDirection::Lt, true) => IntCC::SignedLessThan,
        (ComparisonDirection::Ge, false) => IntCC::UnsignedGreaterThanOrEqual,
        (ComparisonDirection::Gt, false) => IntCC::UnsignedGreaterThan,
        (ComparisonDirection::Le, false) => IntCC::UnsignedLessThanOrEqual,
        (ComparisonDirection::Lt, false) => IntCC::UnsignedLessThan,
    }
}

/// The condition code for floats; with a NaN only NE holds.
pub(crate) fn float_condition(direction: ComparisonDirection) -> FloatCC {
    match direction {
        ComparisonDirection::Eq => FloatCC::Equal,
        ComparisonDirection::Ne => FloatCC::NotEqual,
        ComparisonDirection::Ge => FloatCC::GreaterThanOrEqual,
        ComparisonDirection::Gt => FloatCC::GreaterThan,
        ComparisonDirection::Le => FloatCC::LessThanOrEqual,
        ComparisonDirection::Lt => FloatCC::LessThan,
    }
}
