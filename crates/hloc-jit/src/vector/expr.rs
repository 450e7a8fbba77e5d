//! Expressions in lanes.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, SourceLoc, Value, types};
use hloc_ir::{BinaryOp, CompareType, ComparisonDirection, TernaryOp, UnaryOp};
use hloc_loops::index::Index;
use hloc_loops::ir::{Expr, ValueId};

use super::extreme::is_extreme_op;
use super::{Lane, Vectors, Width};
use crate::error::JitError;
use crate::math::clif::Clif;
use crate::math::narrow;
use crate::repr::IntKind;
use crate::retarget::Wide;
use crate::scalar::{float_condition, int_condition};

impl Vectors<'_, '_, '_> {
    /// The lanes of a varying value in one copy. The plan has checked that it can be emitted.
    pub(super) fn expr(
        &mut self,
        value: ValueId,
        expr: &Expr,
        copy: i64,
    ) -> Result<Value, JitError> {
        let (ty, lane) = self.lane_of(value)?;
        match expr {
            Expr::Load { param, index } => match index.stride(self.plan.var) {
                Some(1) => {
                    let (address, offset) = self.place(*param, index, copy)?;
                    // Of a long body few iterations are on their way at once, so that each waits for its
                    // loads. Beside stores that pass the caches a short one would take twice the time.
                    // Sums gain with vectors of 512 bits; the processors without them took 5.7 ms for 64 MiB
                    // instead of 4.8.
                    let is_fold = self.e.factor == Wide::Bits512.factor()
                        && !self.plan.reductions.is_empty()
                        && self.e.streamed.is_empty();
                    let is_long = is_fold || self.plan.copies == 1 || self.plan.rows.is_some();
                    let is_ahead = self.is_wide()
                        && is_long
                        && self.e.read_ahead.contains(param)
                        && index.dynamic_values().is_empty();
                    if is_ahead {
                        self.e.b.set_srcloc(self.ahead_mark());
                    }
                    let lanes = self.load(ty, lane, address, offset);
                    if is_ahead {
                        self.e.b.set_srcloc(SourceLoc::default());
                    }
                    Ok(lanes)
                }
                Some(stride) => self.load_strided((ty, lane), *param, (index, stride), copy),
                None => self.load_uneven((ty, lane), *param, index, copy),
            },
            Expr::Index(index) => self.index(lane, index, copy),
            Expr::Unary(op, operand) => {
                let (_, from) = self.lane_of(*operand)?;
                let x = self.lanes(*operand, copy)?;
                self.unary(*op, from, x)
            }
            Expr::Binary(op, lhs, rhs) => {
                let x = self.lanes(*lhs, copy)?;
                match self.e.known_bits(*rhs) {
                    Some(amount) if is_shift(*op) => self.shift(*op, lane, x, amount as u32),
                    Some(_) | None => {
                        let y = self.lanes(*rhs, copy)?;
                        if is_extreme_op(*op, lane) {
                            let (x, y) = ((x, self.limit(*lhs)), (y, self.limit(*rhs)));
                            return Ok(self.extreme(*op, x, y));
                        }
                        self.binary(*op, lane, x, y)
                    }
                }
            }
            Expr::Ternary(op, [a, b, c]) => {
                let lanes = [
                    self.lanes(*a, copy)?,
                    self.lanes(*b, copy)?,
                    self.lanes(*c, copy)?,
                ];
                let (low, high) = (self.limit(*a), self.limit(*c));
                self.ternary(*op, lane, lanes, [low, high])
            }
            Expr::Compare {
                direction,
                order,
                lhs,
                rhs,
            } => {
                let (_, from) = self.lane_of(*lhs)?;
                let (x, y) = (self.lanes(*lhs, copy)?, self.lanes(*rhs, copy)?);
                Ok(self.compare(*direction, *order, from, x, y))
            }
            Expr::Convert(operand) => {
                let (_, from) = self.lane_of(*operand)?;
                let x = self.lanes(*operand, copy)?;
                Ok(self.convert(from, lane, x))
            }
            Expr::BitcastConvert(operand) => {
                let x = self.lanes(*operand, copy)?;
                Ok(self.cast(lane.vector(self.width()), x))
            }
            Expr::Constant(_) | Expr::ClampIndex { .. } | Expr::ReducePrecision { .. } => {
                Err(self.e.malformed(format!("{value} has no vector form")))
            }
        }
    }

    /// Evenly spaced numbers.
    fn index(&mut self, lane: Lane, index: &Index, copy: i64) -> Result<Value, JitError> {
        let width = self.width();
        let stride = index.stride(self.plan.var).unwrap_or(0);
        let first = index.plus(copy * self.lane_count() * stride);
        let first = self.e.index(&first)?;
        let first = match width {
            Width::Single => self.e.b.ins().ireduce(types::I32, first),
            Width::Double => first,
        };
        let first = self.e.b.ins().splat(width.ints(), first);
        let numbers = self.lane_numbers();
        let steps = if stride == 1 {
            numbers
        } else {
            let stride = self.splat_bits(stride.cast_unsigned());
            self.e.b.ins().imul(numbers, stride)
        };
        let lanes = self.e.b.ins().iadd(first, steps);
        Ok(match lane {
            Lane::Int(kind) => self.normalized(kind, lanes),
            Lane::Float | Lane::Narrow(_) => self.e.b.ins().fcvt_from_sint(width.floats(), lanes),
            Lane::Mask => lanes,
        })
    }

    fn unary(&mut self, op: UnaryOp, lane: Lane, x: Value) -> Result<Value, JitError> {
        match lane {
            Lane::Mask => Ok(self.e.b.ins().bnot(x)),
            Lane::Int(kind) => self.int_unary(op, kind, x),
            Lane::Float => self.float_unary(op, x),
            Lane::Narrow(ty) => {
                let result = self.float_unary(op, x)?;
                if op == UnaryOp::IsFinite {
                    return Ok(result);
                }
                Ok(narrow::round(&mut Clif::vector(&mut self.e.b), ty, result))
            }
        }
    }

    fn int_unary(&mut self, op: UnaryOp, kind: IntKind, x: Value) -> Result<Value, JitError> {
        let zero = self.splat_bits(0);
        let result = if op == UnaryOp::Not {
            self.e.b.ins().bnot(x)
        } else if op == UnaryOp::Negate {
            self.e.b.ins().isub(zero, x)
        } else if op == UnaryOp::Abs {
            let negated = self.e.b.ins().isub(zero, x);
            let negative = self.e.b.ins().icmp(IntCC::SignedLessThan, x, zero);
            self.e.b.ins().bitselect(negative, negated, x)
        } else if op == UnaryOp::Sign {
            // A mask of all ones is -1.
            let negative = self.e.b.ins().icmp(IntCC::SignedLessThan, x, zero);
            let positive = self.e.b.ins().icmp(IntCC::SignedLessThan, zero, x);
            self.e.b.ins().isub(negative, positive)
        } else {
            return Err(self.e.malformed(format!("`{op}` has no vector form")));
        };
        Ok(self.normalized(kind, result))
    }

    /// An op on two vectors of the same kind of lanes.
    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        lane: Lane,
        x: Value,
        y: Value,
    ) -> Result<Value, JitError> {
        match lane {
            Lane::Mask => Ok(match op {
                BinaryOp::Add | BinaryOp::Maximum | BinaryOp::Or => self.e.b.ins().bor(x, y),
                BinaryOp::Xor => self.e.b.ins().bxor(x, y),
                // The plan lets only these and `and`, `multiply`, `minimum` through.
                BinaryOp::And
                | BinaryOp::Multiply
                | BinaryOp::Minimum
                | BinaryOp::Atan2
                | BinaryOp::Complex
                | BinaryOp::Divide
                | BinaryOp::Mulhi
                | BinaryOp::Power
                | BinaryOp::Remainder
                | BinaryOp::ShiftLeft
                | BinaryOp::ShiftRightArithmetic
                | BinaryOp::ShiftRightLogical
                | BinaryOp::Subtract => self.e.b.ins().band(x, y),
            }),
            Lane::Int(kind) => self.int_binary(op, kind, x, y),
            Lane::Float => self.float_binary(op, x, y),
            Lane::Narrow(ty) => {
                let result = self.float_binary(op, x, y)?;
                Ok(narrow::round(&mut Clif::vector(&mut self.e.b), ty, result))
            }
        }
    }

    fn int_binary(
        &mut self,
        op: BinaryOp,
        kind: IntKind,
        x: Value,
        y: Value,
    ) -> Result<Value, JitError> {
        let result = match op {
            BinaryOp::Add => self.e.b.ins().iadd(x, y),
            BinaryOp::Subtract => self.e.b.ins().isub(x, y),
            BinaryOp::Multiply => self.e.b.ins().imul(x, y),
            BinaryOp::And => self.e.b.ins().band(x, y),
            BinaryOp::Or => self.e.b.ins().bor(x, y),
            BinaryOp::Xor => self.e.b.ins().bxor(x, y),
            BinaryOp::Maximum => {
                let less = self.int_less(kind, x, y);
                self.e.b.ins().bitselect(less, y, x)
            }
            BinaryOp::Minimum => {
                let less = self.int_less(kind, x, y);
                self.e.b.ins().bitselect(less, x, y)
            }
            BinaryOp::Atan2
            | BinaryOp::Complex
            | BinaryOp::Divide
            | BinaryOp::Mulhi
            | BinaryOp::Power
            | BinaryOp::Remainder
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRightArithmetic
            | BinaryOp::ShiftRightLogical => {
                return Err(self.e.malformed(format!("`{op}` has no vector form")));
            }
        };
        Ok(self.normalized(kind, result))
    }

    fn int_less(&mut self, kind: IntKind, x: Value, y: Value) -> Value {
        let (x, y) = (self.ordered(kind, x), self.ordered(kind, y));
        self.e.b.ins().icmp(IntCC::SignedLessThan, x, y)
    }

    /// Integers whose signed order is the order of the type: unsigned ones as wide as the lane are moved
    /// by half their range.
    fn ordered(&mut self, kind: IntKind, x: Value) -> Value {
        let width = self.width().int_lane().bits();
        if kind.signed || kind.bits < width {
            return x;
        }
        let half = self.splat_bits(1 << (width - 1));
        self.e.b.ins().bxor(x, half)
    }

    /// A shift of all lanes by an amount below the width.
    fn shift(
        &mut self,
        op: BinaryOp,
        lane: Lane,
        x: Value,
        amount: u32,
    ) -> Result<Value, JitError> {
        let Lane::Int(kind) = lane else {
            return Err(self.e.malformed(format!("`{op}` of what is no integer")));
        };
        let amount = i64::from(amount);
        let result = if op == BinaryOp::ShiftLeft {
            self.e.b.ins().ishl_imm_u(x, amount)
        } else if op == BinaryOp::ShiftRightLogical {
            let unsigned = IntKind {
                signed: false,
                ..kind
            };
            let own = self.normalized(unsigned, x);
            self.e.b.ins().ushr_imm_u(own, amount)
        } else {
            let signed = IntKind {
                signed: true,
                ..kind
            };
            let own = self.normalized(signed, x);
            self.e.b.ins().sshr_imm_u(own, amount)
        };
        Ok(self.normalized(kind, result))
    }

    fn ternary(
        &mut self,
        op: TernaryOp,
        lane: Lane,
        [a, b, c]: [Value; 3],
        [low, high]: [Option<f64>; 2],
    ) -> Result<Value, JitError> {
        match op {
            TernaryOp::Select => {
                let mask = self.cast(lane.vector(self.width()), a);
                Ok(self.e.b.ins().bitselect(mask, b, c))
            }
            TernaryOp::Clamp if is_extreme_op(BinaryOp::Maximum, lane) => {
                let above = self.extreme(BinaryOp::Maximum, (b, None), (a, low));
                Ok(self.extreme(BinaryOp::Minimum, (above, None), (c, high)))
            }
            TernaryOp::Clamp => {
                let above = self.binary(BinaryOp::Maximum, lane, b, a)?;
                self.binary(BinaryOp::Minimum, lane, above, c)
            }
        }
    }

    fn compare(
        &mut self,
        direction: ComparisonDirection,
        order: CompareType,
        lane: Lane,
        x: Value,
        y: Value,
    ) -> Value {
        match lane {
            // All ones is -1, and so below 0 where true should be above false.
            Lane::Mask => self.int_compare(direction, y, x),
            Lane::Int(kind) => {
                let (x, y) = (self.ordered(kind, x), self.ordered(kind, y));
                self.int_compare(direction, x, y)
            }
            Lane::Float | Lane::Narrow(_) if order == CompareType::TotalOrder => {
                let (x, y) = (self.total_order_key(x), self.total_order_key(y));
                self.int_compare(direction, x, y)
            }
            Lane::Float | Lane::Narrow(_) => self.e.b.ins().fcmp(float_condition(direction), x, y),
        }
    }

    fn int_compare(&mut self, direction: ComparisonDirection, x: Value, y: Value) -> Value {
        self.e.b.ins().icmp(int_condition(direction, true), x, y)
    }

    /// As in scalar code: the bits, of negative numbers all but the sign flipped.
    fn total_order_key(&mut self, x: Value) -> Value {
        let bits = self.cast(self.width().ints(), x);
        let zero = self.splat_bits(0);
        let negative = self.e.b.ins().icmp(IntCC::SignedLessThan, bits, zero);
        let flips = self.e.b.ins().ushr_imm_u(negative, 1);
        self.e.b.ins().bxor(bits, flips)
    }

    fn convert(&mut self, from: Lane, to: Lane, x: Value) -> Value {
        match (from, to) {
            (Lane::Mask, Lane::Mask) => x,
            (Lane::Mask, Lane::Int(kind)) => {
                let one = self.splat_bits(1);
                let bit = self.e.b.ins().band(x, one);
                self.normalized(kind, bit)
            }
            (Lane::Mask, Lane::Float | Lane::Narrow(_)) => {
                let one = self.splat_float(1.0);
                let one = self.cast(self.width().ints(), one);
                let bits = self.e.b.ins().band(x, one);
                let value = self.cast(self.width().floats(), bits);
                self.rounded_to(to, value)
            }
            (Lane::Int(_), Lane::Mask) => {
                let zero = self.splat_bits(0);
                self.e.b.ins().icmp(IntCC::NotEqual, x, zero)
            }
            (Lane::Int(_), Lane::Int(kind)) => self.normalized(kind, x),
            (Lane::Int(kind), Lane::Float | Lane::Narrow(_)) => self.int_to_float(kind, to, x),
            (Lane::Float | Lane::Narrow(_), Lane::Mask) => {
                let zero = self.splat_float(0.0);
                let condition = float_condition(ComparisonDirection::Ne);
                self.e.b.ins().fcmp(condition, x, zero)
            }
            (Lane::Float | Lane::Narrow(_), Lane::Int(kind)) => self.float_to_int(kind, x),
            (Lane::Float | Lane::Narrow(_), Lane::Float | Lane::Narrow(_)) => {
                self.rounded_to(to, x)
            }
        }
    }

    fn int_to_float(&mut self, kind: IntKind, to: Lane, x: Value) -> Value {
        let floats = self.width().floats();
        let value = if kind.signed || kind.bits < 32 {
            self.e.b.ins().fcvt_from_sint(floats, x)
        } else {
            self.e.b.ins().fcvt_from_uint(floats, x)
        };
        self.rounded_to(to, value)
    }

    /// Floats rounded to the format of narrow ones.
    fn rounded_to(&mut self, to: Lane, value: Value) -> Value {
        match to {
            Lane::Narrow(ty) => narrow::round(&mut Clif::vector(&mut self.e.b), ty, value),
            Lane::Mask | Lane::Int(_) | Lane::Float => value,
        }
    }

    fn float_to_int(&mut self, kind: IntKind, x: Value) -> Value {
        let ints = self.width().ints();
        if kind.bits == 32 && !kind.signed {
            return self.e.b.ins().fcvt_to_uint_sat(ints, x);
        }
        let value = self.e.b.ins().fcvt_to_sint_sat(ints, x);
        if kind.bits == 32 {
            return value;
        }
        let low = self.splat_bits(kind.minimum().cast_unsigned());
        let high = self.splat_bits(kind.maximum().cast_unsigned());
        let too_low = self.e.b.ins().icmp(IntCC::SignedLessThan, value, low);
        let at_least = self.e.b.ins().bitselect(too_low, low, value);
        let too_high = self.e.b.ins().icmp(IntCC::SignedLessThan, high, at_least);
        self.e.b.ins().bitselect(too_high, high, at_least)
    }
}

fn is_shift(op: BinaryOp) -> bool {
    op == BinaryOp::ShiftLeft
        || op == BinaryOp::ShiftRightArithmetic
        || op == BinaryOp::ShiftRightLogical
}
