//! Emission of expressions on single elements.

mod compare;
mod complex;
mod convert;
mod float;
mod half;
mod int;
mod memory;

pub(crate) use compare::{float_condition, int_condition};
pub(crate) use memory::CAST;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use hloc_ir::{BinaryOp, ElementType, TernaryOp, UnaryOp};
use hloc_loops::ir::{Expr, ValueId};

use crate::error::JitError;
use crate::kernel::Emitter;
use crate::repr::{Kind, Reg};

impl Emitter<'_, '_> {
    /// The value of `expr`, of element type `ty`.
    pub(crate) fn expr(&mut self, ty: ElementType, expr: &Expr) -> Result<Reg, JitError> {
        match expr {
            Expr::Constant(bits) => Ok(self.constant(ty, bits.0)),
            Expr::Load { param, index } => {
                let (address, offset) = self.address(*param, index)?;
                let flags = self.load_flags(*param);
                Ok(self.load(ty, flags, address, offset))
            }
            Expr::Index(index) => {
                let value = self.index(index)?;
                self.convert(ElementType::S64, ty, Reg::One(value))
            }
            Expr::ClampIndex { value, low, high } => self.clamp_index(*value, *low, *high),
            Expr::Unary(op, operand) => {
                let reg = self.reg(*operand)?;
                self.unary(*op, self.type_of(*operand)?, reg)
            }
            Expr::Binary(op, lhs, rhs) => {
                let (a, b) = (self.reg(*lhs)?, self.reg(*rhs)?);
                self.binary(*op, self.type_of(*lhs)?, a, b)
            }
            Expr::Ternary(op, operands) => {
                let [a, b, c] = *operands;
                let regs = [self.reg(a)?, self.reg(b)?, self.reg(c)?];
                self.ternary(*op, ty, regs)
            }
            Expr::Compare {
                direction,
                order,
                lhs,
                rhs,
            } => {
                let operand_type = self.type_of(*lhs)?;
                let (a, b) = (self.reg(*lhs)?, self.reg(*rhs)?);
                self.compare(operand_type, *direction, *order, a, b)
            }
            Expr::Convert(value) => {
                let reg = self.reg(*value)?;
                self.convert(self.type_of(*value)?, ty, reg)
            }
            Expr::BitcastConvert(value) => {
                let reg = self.reg(*value)?;
                self.bitcast_convert(self.type_of(*value)?, ty, reg)
            }
            Expr::ReducePrecision {
                value,
                exponent_bits,
                mantissa_bits,
            } => {
                let reg = self.reg(*value)?;
                self.reduce_precision(ty, reg, *exponent_bits, *mantissa_bits)
            }
        }
    }

    fn clamp_index(&mut self, value: ValueId, low: i64, high: i64) -> Result<Reg, JitError> {
        let (ty, value) = (self.type_of(value)?, self.reg(value)?.one());
        let Kind::Int(kind) = Kind::of(ty) else {
            return Err(self.malformed(format!("an index is {ty}, not an integer")));
        };
        let wide = self.extended(kind, value, types::I64);
        let narrow_or_signed = kind.signed || kind.bits < 64;
        if !narrow_or_signed && high < 0 {
            return Ok(Reg::One(self.b.ins().iconst(types::I64, high)));
        }
        // No unsigned index is below 0, and as an unsigned number a negative bound would be above all.
        let low = if narrow_or_signed { low } else { low.max(0) };
        let (low, high) = (
            self.b.ins().iconst(types::I64, low),
            self.b.ins().iconst(types::I64, high),
        );
        let (low_condition, high_condition) = if narrow_or_signed {
            (IntCC::SignedLessThan, IntCC::SignedGreaterThan)
        } else {
            (IntCC::UnsignedLessThan, IntCC::UnsignedGreaterThan)
        };
        let too_high = self.b.ins().icmp(high_condition, wide, high);
        let at_most = self.b.ins().select(too_high, high, wide);
        let too_low = self.b.ins().icmp(low_condition, at_most, low);
        Ok(Reg::One(self.b.ins().select(too_low, low, at_most)))
    }

    /// An element-wise op on one operand of type `ty`.
    pub(crate) fn unary(
        &mut self,
        op: UnaryOp,
        ty: ElementType,
        operand: Reg,
    ) -> Result<Reg, JitError> {
        match Kind::of(ty) {
            Kind::Pred => self.pred_unary(op, operand.one()),
            Kind::Int(kind) => self.int_unary(op, ty, kind, operand.one()),
            Kind::Float(float) => self.float_unary(op, ty, float, operand.one()),
            Kind::Narrow(_) => self.narrow_unary(op, ty, operand),
            Kind::Complex(part) => self.complex_unary(op, ty, part, operand.pair()),
        }
    }

    /// An element-wise op on two operands of type `ty`.
    pub(crate) fn binary(
        &mut self,
        op: BinaryOp,
        ty: ElementType,
        lhs: Reg,
        rhs: Reg,
    ) -> Result<Reg, JitError> {
        match Kind::of(ty) {
            Kind::Pred => self.pred_binary(op, lhs.one(), rhs.one()),
            Kind::Int(kind) => self.int_binary(op, ty, kind, lhs.one(), rhs.one()),
            Kind::Float(float) => self.float_binary(op, ty, float, lhs.one(), rhs.one()),
            Kind::Narrow(_) => self.narrow_binary(op, ty, lhs, rhs),
            Kind::Complex(part) => self.complex_binary(op, ty, part, lhs.pair(), rhs.pair()),
        }
    }

    /// An element-wise op on three operands that gives type `ty`.
    pub(crate) fn ternary(
        &mut self,
        op: TernaryOp,
        ty: ElementType,
        [a, b, c]: [Reg; 3],
    ) -> Result<Reg, JitError> {
        match op {
            TernaryOp::Select => Ok(self.select(ty, a.one(), b, c)),
            TernaryOp::Clamp => {
                let above = self.binary(BinaryOp::Maximum, ty, b, a)?;
                self.binary(BinaryOp::Minimum, ty, above, c)
            }
        }
    }

    /// `yes` if the `i8` is not 0, else `no`.
    pub(crate) fn select(&mut self, ty: ElementType, condition: Value, yes: Reg, no: Reg) -> Reg {
        match (yes, no) {
            (Reg::Pair(a_re, a_im), Reg::Pair(b_re, b_im)) => Reg::Pair(
                self.b.ins().select(condition, a_re, b_re),
                self.b.ins().select(condition, a_im, b_im),
            ),
            (Reg::Bits(a), Reg::Bits(b)) => Reg::Bits(self.b.ins().select(condition, a, b)),
            (yes, no) => {
                let (yes, no) = (self.computed(ty, yes).one(), self.computed(ty, no).one());
                Reg::One(self.b.ins().select(condition, yes, no))
            }
        }
    }

    fn pred_unary(&mut self, op: UnaryOp, x: Value) -> Result<Reg, JitError> {
        if op == UnaryOp::Not {
            Ok(Reg::One(self.b.ins().bxor_imm_u(x, 1)))
        } else {
            Err(self.unsupported(op.name(), ElementType::Pred))
        }
    }

    fn pred_binary(&mut self, op: BinaryOp, x: Value, y: Value) -> Result<Reg, JitError> {
        let result = match op {
            BinaryOp::Add | BinaryOp::Maximum | BinaryOp::Or => self.b.ins().bor(x, y),
            BinaryOp::Multiply | BinaryOp::Minimum | BinaryOp::And => self.b.ins().band(x, y),
            BinaryOp::Xor => self.b.ins().bxor(x, y),
            BinaryOp::Atan2
            | BinaryOp::Complex
            | BinaryOp::Divide
            | BinaryOp::Mulhi
            | BinaryOp::Power
            | BinaryOp::Remainder
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRightArithmetic
            | BinaryOp::ShiftRightLogical
            | BinaryOp::Subtract => return Err(self.unsupported(op.name(), ElementType::Pred)),
        };
        Ok(Reg::One(result))
    }
}
