//! Complex numbers in lanes: one vector of real parts and one of imaginary parts.
//!
//! In memory parts take turns. What is loaded is two vectors whose elements at even places are the real parts, at
//! odd places the imaginary ones. The retargeter knows the shuffles that take them apart and put them together.

use cranelift_codegen::ir::{Immediate, InstBuilder, Value, types};
use hloc_ir::{BinaryOp, ComparisonDirection, TernaryOp, UnaryOp};
use hloc_loops::ir::{Expr, Kernel, ValueId};

use super::{Lane, Vectors, Width};
use crate::error::JitError;
use crate::math::clif::Clif;
use crate::math::modulus::modulus;
use crate::repr::Reg;
use crate::scalar::float_condition;

/// The bytes of two vectors that a shuffle takes, as places of 32-bit elements: those of the second from 4 on.
const fn elements(places: [u8; 4]) -> [u8; 16] {
    let mut bytes = [0; 16];
    let mut at = 0;
    while at < 16 {
        bytes[at] = places[at / 4] * 4 + (at % 4) as u8;
        at += 1;
    }
    bytes
}

/// Elements at even places of both vectors, in order.
const EVEN: [u8; 16] = elements([0, 2, 4, 6]);
/// Elements at odd places.
const ODD: [u8; 16] = elements([1, 3, 5, 7]);
/// The first halves of both vectors, element by element.
pub(super) const LOW: [u8; 16] = elements([0, 4, 1, 5]);
/// The second halves.
pub(super) const HIGH: [u8; 16] = elements([2, 6, 3, 7]);

/// Whether an expression with complex operands or result is emitted in lanes.
pub(super) fn is_emitted(kernel: &Kernel, width: Width, value: ValueId, expr: &Expr) -> bool {
    let ty = |value: ValueId| kernel.values.get(value).map(|value| value.element_type);
    let is_complex = |value: ValueId| ty(value).is_some_and(|ty| width.is_complex(ty));
    let is_float = |value: ValueId| ty(value).and_then(|ty| width.lane(ty)) == Some(Lane::Float);
    match expr {
        Expr::Load { .. } => true,
        Expr::Unary(op, _) => *op == UnaryOp::Negate || is_part(*op) || *op == UnaryOp::Abs,
        Expr::Binary(op, ..) => {
            *op == BinaryOp::Add
                || *op == BinaryOp::Subtract
                || *op == BinaryOp::Multiply
                || *op == BinaryOp::Complex
        }
        Expr::Ternary(op, _) => *op == TernaryOp::Select,
        Expr::Compare { direction, .. } => is_equality(*direction),
        Expr::Convert(operand) => {
            is_complex(value) && is_float(*operand) || is_float(value) && is_complex(*operand)
        }
        Expr::Constant(_)
        | Expr::Index(_)
        | Expr::ClampIndex { .. }
        | Expr::BitcastConvert(_)
        | Expr::ReducePrecision { .. } => false,
    }
}

fn is_part(op: UnaryOp) -> bool {
    op == UnaryOp::Real || op == UnaryOp::Imag
}

fn is_equality(direction: ComparisonDirection) -> bool {
    direction == ComparisonDirection::Eq || direction == ComparisonDirection::Ne
}

impl Vectors<'_, '_, '_> {
    /// Whether a value is a complex number of this width.
    pub(super) fn is_complex(&self, value: ValueId) -> Result<bool, JitError> {
        let ty = self.e.type_of(value)?;
        Ok(self.width().is_complex(ty))
    }

    /// Whether the result or an operand of an expression is complex.
    pub(super) fn has_complex(&self, value: ValueId, expr: &Expr) -> Result<bool, JitError> {
        if self.is_complex(value)? {
            return Ok(true);
        }
        match expr {
            Expr::Unary(_, operand)
            | Expr::Convert(operand)
            | Expr::Binary(_, operand, _)
            | Expr::Compare { lhs: operand, .. } => self.is_complex(*operand),
            Expr::Constant(_)
            | Expr::Load { .. }
            | Expr::Index(_)
            | Expr::ClampIndex { .. }
            | Expr::Ternary(..)
            | Expr::BitcastConvert(_)
            | Expr::ReducePrecision { .. } => Ok(false),
        }
    }

    /// The lanes of such an expression in one copy. The plan has checked that it can be emitted.
    pub(super) fn complex_expr(
        &mut self,
        value: ValueId,
        expr: &Expr,
        copy: i64,
    ) -> Result<Reg, JitError> {
        match expr {
            Expr::Load { param, index } => {
                let (address, offset) = self.place(*param, index, copy)?;
                Ok(self.load_parts(address, offset))
            }
            Expr::Unary(op, operand) => {
                let (re, im) = self.parts_of(*operand, copy)?;
                self.complex_unary(*op, re, im)
            }
            Expr::Binary(BinaryOp::Complex, re, im) => {
                Ok(Reg::Pair(self.lanes(*re, copy)?, self.lanes(*im, copy)?))
            }
            Expr::Binary(op, lhs, rhs) => {
                let (x, y) = (self.parts_of(*lhs, copy)?, self.parts_of(*rhs, copy)?);
                self.complex_binary(*op, x, y)
            }
            Expr::Ternary(_, [condition, on_true, on_false]) => {
                let mask = self.lanes(*condition, copy)?;
                let mask = self.cast(self.width().floats(), mask);
                let (a, b) = self.parts_of(*on_true, copy)?;
                let (c, d) = self.parts_of(*on_false, copy)?;
                let re = self.e.b.ins().bitselect(mask, a, c);
                Ok(Reg::Pair(re, self.e.b.ins().bitselect(mask, b, d)))
            }
            Expr::Compare {
                direction,
                lhs,
                rhs,
                ..
            } => {
                let (x, y) = (self.parts_of(*lhs, copy)?, self.parts_of(*rhs, copy)?);
                Ok(Reg::One(self.complex_compare(*direction, x, y)))
            }
            Expr::Convert(operand) if self.is_complex(*operand)? => {
                Ok(Reg::One(self.parts_of(*operand, copy)?.0))
            }
            Expr::Convert(operand) => {
                let re = self.lanes(*operand, copy)?;
                Ok(Reg::Pair(re, self.splat_float(0.0)))
            }
            Expr::Constant(_)
            | Expr::Index(_)
            | Expr::ClampIndex { .. }
            | Expr::BitcastConvert(_)
            | Expr::ReducePrecision { .. } => {
                Err(self.e.malformed(format!("{value} has no vector form")))
            }
        }
    }

    fn complex_unary(&mut self, op: UnaryOp, re: Value, im: Value) -> Result<Reg, JitError> {
        if op == UnaryOp::Real {
            return Ok(Reg::One(re));
        }
        if op == UnaryOp::Imag {
            return Ok(Reg::One(im));
        }
        if op == UnaryOp::Abs {
            let modulus = modulus(&mut Clif::vector(&mut self.e.b), re, im);
            return Ok(Reg::One(modulus));
        }
        let (re, im) = (self.float_unary(op, re)?, self.float_unary(op, im)?);
        Ok(Reg::Pair(re, im))
    }

    fn complex_binary(
        &mut self,
        op: BinaryOp,
        (a, b): (Value, Value),
        (c, d): (Value, Value),
    ) -> Result<Reg, JitError> {
        if op == BinaryOp::Multiply {
            let [re, im] = self.e.complex_product((a, b), (c, d));
            return Ok(Reg::Pair(re, im));
        }
        let (re, im) = (self.float_binary(op, a, c)?, self.float_binary(op, b, d)?);
        Ok(Reg::Pair(re, im))
    }

    fn complex_compare(
        &mut self,
        direction: ComparisonDirection,
        (a, b): (Value, Value),
        (c, d): (Value, Value),
    ) -> Value {
        let condition = float_condition(direction);
        let re = self.e.b.ins().fcmp(condition, a, c);
        let im = self.e.b.ins().fcmp(condition, b, d);
        if direction == ComparisonDirection::Ne {
            self.e.b.ins().bor(re, im)
        } else {
            self.e.b.ins().band(re, im)
        }
    }

    /// Real and imaginary parts of consecutive elements.
    fn load_parts(&mut self, address: Value, offset: i32) -> Reg {
        let floats = self.width().floats();
        let first = self.load_vector(floats, address, offset);
        let (address, offset) = self.displaced(address, offset, i64::from(self.vector_bytes()));
        let second = self.load_vector(floats, address, offset);
        let re = self.shuffle(first, second, EVEN);
        Reg::Pair(re, self.shuffle(first, second, ODD))
    }

    /// Writes consecutive elements.
    pub(super) fn store_parts(&mut self, (re, im): (Value, Value), address: Value, offset: i32) {
        let first = self.shuffle(re, im, LOW);
        let second = self.shuffle(re, im, HIGH);
        self.store_vector(first, address, offset);
        let (address, offset) = self.displaced(address, offset, i64::from(self.vector_bytes()));
        self.store_vector(second, address, offset);
    }

    /// Elements of 32 bits of two vectors.
    pub(super) fn shuffle(&mut self, a: Value, b: Value, bytes: [u8; 16]) -> Value {
        // What such a shuffle becomes moves elements of wide vectors.
        self.e.crosses_lanes |= self.e.factor > 1 && !self.is_wide();
        let (a, b) = (self.cast(types::I8X16, a), self.cast(types::I8X16, b));
        let immediates = &mut self.e.b.func.dfg.immediates;
        let mask: Immediate = immediates.push(bytes.as_slice().into());
        let shuffled = self.e.b.ins().shuffle(a, b, mask);
        self.cast(self.width().floats(), shuffled)
    }
}
