//! Ops on floats of at most 16 bits: computed in `f32`, rounded to the format after each op.

use cranelift_codegen::ir::{Value, types};
use hloc_ir::{BinaryOp, ElementType, UnaryOp};

use crate::error::JitError;
use crate::kernel::Emitter;
use crate::math::clif::Clif;
use crate::math::narrow;
use crate::repr::Reg;

impl Emitter<'_, '_> {
    /// An `f32` rounded to the format of `ty`.
    pub(super) fn rounded(&mut self, ty: ElementType, value: Value) -> Value {
        let mut machine = Clif::scalar(&mut self.b);
        narrow::round(&mut machine, ty, value)
    }

    /// A narrow float op with one operand.
    pub(super) fn narrow_unary(
        &mut self,
        op: UnaryOp,
        ty: ElementType,
        operand: Reg,
    ) -> Result<Reg, JitError> {
        if op == UnaryOp::Real {
            return Ok(operand);
        }
        let x = self.computed(ty, operand).one();
        let result = self.float_unary(op, ty, types::F32, x)?.one();
        if op == UnaryOp::IsFinite {
            return Ok(Reg::One(result));
        }
        Ok(Reg::One(self.rounded(ty, result)))
    }

    /// A narrow float op with two operands.
    pub(super) fn narrow_binary(
        &mut self,
        op: BinaryOp,
        ty: ElementType,
        lhs: Reg,
        rhs: Reg,
    ) -> Result<Reg, JitError> {
        if op == BinaryOp::Complex {
            return Err(self.unsupported(op.name(), ty));
        }
        let (x, y) = (self.computed(ty, lhs).one(), self.computed(ty, rhs).one());
        let result = self.float_binary(op, ty, types::F32, x, y)?.one();
        // The greater and the lesser of two values of the format are values of it.
        if op == BinaryOp::Maximum || op == BinaryOp::Minimum {
            return Ok(Reg::One(result));
        }
        Ok(Reg::One(self.rounded(ty, result)))
    }
}
