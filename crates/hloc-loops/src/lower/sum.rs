//! Sums: how terms are grouped, so that 10^6 floats keep 1e-6 relative accuracy.
//!
//! Terms are added in blocks in the accumulator's type. The blocks' sums are added with the error of
//! every addition kept beside the sum (`TwoSum`), all in that same type, so that the code stays in lanes
//! of one width. The structure depends on the shape alone: every run gives the same bits.

use hloc_ir::{BinaryOp, CompareType, ComparisonDirection, ElementType, TernaryOp, UnaryOp};

use super::builder::{Builder, Built};
use super::elemental::Small;
use crate::index::Index;
use crate::ir::{Expr, LoopKind, ValueId};

/// Terms of a block where they lie side by side in memory and are added in lanes: 16 in each of 16.
pub(super) const ROW_BLOCK: i64 = 256;

/// Terms of a block where neighbors in memory belong to different sums: one after the other, and few
/// enough that as many rows are read at once as the processor follows.
pub(super) const COLUMN_BLOCK: i64 = 32;

/// Gives one term of a sum for the loop variables of the summed dimensions.
pub(super) type Term<'t, 'a> = &'t mut dyn FnMut(&mut Builder<'a>, &[Index]) -> Built<ValueId>;

/// How the sums of blocks are added up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Summation {
    /// Type of terms and of a block's sum.
    narrow: ElementType,
    method: Method,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    /// In the type of the terms.
    Plain,
    /// As a sum and the sum of all rounding errors.
    Compensated,
    /// In this wider type.
    Wide(ElementType),
}

impl Summation {
    /// How sums of `element_type` are formed.
    pub(super) fn of(element_type: ElementType) -> Summation {
        let narrow = accumulator(element_type);
        let method = match (narrow, wider(narrow)) {
            (ElementType::F32, _) => Method::Compensated,
            (narrow, wide) if narrow == wide => Method::Plain,
            (_, wide) => Method::Wide(wide),
        };
        Summation { narrow, method }
    }

    /// What is carried before the first block: `init`, of the type of the terms.
    pub(super) fn start(self, builder: &mut Builder<'_>, init: ValueId) -> Vec<ValueId> {
        match self.method {
            Method::Plain => vec![init],
            Method::Compensated => vec![init, builder.zero(self.narrow)],
            Method::Wide(wide) => vec![builder.converted(init, wide)],
        }
    }

    /// What is carried after a block with the sum `value`.
    fn add(self, builder: &mut Builder<'_>, carried: &[ValueId], value: ValueId) -> Vec<ValueId> {
        let mut op = |op, lhs, rhs| builder.emit(self.narrow, Expr::Binary(op, lhs, rhs));
        match (self.method, carried) {
            (Method::Compensated, &[sum, error]) => {
                // TwoSum: `next` and what its rounding lost.
                let next = op(BinaryOp::Add, sum, value);
                let taken = op(BinaryOp::Subtract, next, sum);
                let kept = op(BinaryOp::Subtract, next, taken);
                let lost_sum = op(BinaryOp::Subtract, sum, kept);
                let lost_value = op(BinaryOp::Subtract, value, taken);
                let lost = op(BinaryOp::Add, lost_sum, lost_value);
                vec![next, op(BinaryOp::Add, error, lost)]
            }
            (Method::Wide(wide), carried) => {
                let value = builder.converted(value, wide);
                vec![builder.emit(wide, Expr::Binary(BinaryOp::Add, carried[0], value))]
            }
            (Method::Plain | Method::Compensated, carried) => {
                vec![op(BinaryOp::Add, carried[0], value)]
            }
        }
    }

    /// The sum that the carried values stand for, in the type of the terms.
    ///
    /// The error is left out where it is 0, so that a sum of -0 keeps its sign, and where it is NaN, as
    /// it is beside an infinite sum.
    pub(super) fn finish(self, builder: &mut Builder<'_>, carried: &[ValueId]) -> ValueId {
        let &[sum, error] = carried else {
            return builder.converted(carried[0], self.narrow);
        };
        let size = builder.emit(self.narrow, Expr::Unary(UnaryOp::Abs, error));
        let zero = builder.zero(self.narrow);
        let counts = Expr::Compare {
            direction: ComparisonDirection::Gt,
            order: CompareType::Float,
            lhs: size,
            rhs: zero,
        };
        let counts = builder.emit(ElementType::Pred, counts);
        let whole = builder.emit(self.narrow, Expr::Binary(BinaryOp::Add, sum, error));
        let select = Expr::Ternary(TernaryOp::Select, [counts, whole, sum]);
        builder.emit(self.narrow, select)
    }
}

/// How the summed dimensions are cut into blocks: `step` iterations of dimension `at` and all of those
/// inside it are a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) at: usize,
    pub(super) step: i64,
}

impl Cut {
    /// The blocks of at most `block` terms of dimensions of these extents, at least one of them.
    pub(super) fn of(extents: &[i64], block: i64) -> Cut {
        let (mut at, mut inside) = (extents.len() - 1, 1i64);
        while at > 0 && inside.saturating_mul(extents[at]) <= block {
            inside *= extents[at];
            at -= 1;
        }
        Cut {
            at,
            step: (block / inside).clamp(1, extents[at].max(1)),
        }
    }
}

impl<'a> Builder<'a> {
    /// The sum of `init` (if any) and all terms, as a value of `element_type`; blocks of `block` terms.
    pub(super) fn sum(
        &mut self,
        element_type: ElementType,
        extents: &[i64],
        block: i64,
        init: Option<ValueId>,
        term: Term<'_, 'a>,
    ) -> Built<ValueId> {
        let summation = Summation::of(element_type);
        let narrow = summation.narrow;
        let count = extents
            .iter()
            .fold(1i64, |count, extent| count.saturating_mul(*extent));
        let is_blocked = count > block && (narrow.is_float() || narrow.is_complex());
        let start = match init {
            Some(init) => self.converted(init, narrow),
            None => self.zero(narrow),
        };
        let total = if is_blocked {
            let start = summation.start(self, start);
            let carried = self.blocks(summation, extents, block, start, term)?;
            summation.finish(self, &carried)
        } else {
            let mut add = |builder: &mut Builder<'a>, vars: &[Index], current: &[ValueId]| {
                builder.added_term(narrow, vars, current, term)
            };
            self.nest(&loops(extents, LoopKind::Vector), vec![start], &mut add)?[0]
        };
        Ok(self.converted(total, element_type))
    }

    /// `current + term`.
    fn added_term(
        &mut self,
        element_type: ElementType,
        vars: &[Index],
        current: &[ValueId],
        term: Term<'_, 'a>,
    ) -> Built<Vec<ValueId>> {
        let value = term(self, vars)?;
        let value = self.converted(value, element_type);
        let sum = Expr::Binary(BinaryOp::Add, current[0], value);
        Ok(vec![self.emit(element_type, sum)])
    }

    /// Adds the terms, block by block, to what is carried.
    pub(super) fn blocks(
        &mut self,
        summation: Summation,
        extents: &[i64],
        block: i64,
        carried: Vec<ValueId>,
        term: Term<'_, 'a>,
    ) -> Built<Vec<ValueId>> {
        let Cut { at, step } = Cut::of(extents, block);
        let (count, rest) = (extents[at] / step, extents[at] % step);
        let inside = &extents[at + 1..];
        let mut row = |builder: &mut Builder<'a>, outer: &[Index], current: &[ValueId]| {
            let mut add = |builder: &mut Builder<'a>, first: Index, len, current: &[ValueId]| {
                let sum = builder.block(summation, outer, (first, len), inside, term)?;
                Ok::<_, crate::LowerError>(summation.add(builder, current, sum))
            };
            let mut carried = current.to_vec();
            if count > 0 {
                let blocks = loops(&[count], LoopKind::Serial);
                carried = builder.nest(&blocks, carried, &mut |builder, vars, current| {
                    add(builder, vars[0].times(step), step, current)
                })?;
            }
            if rest > 0 {
                carried = add(builder, Index::constant(count * step), rest, &carried)?;
            }
            Ok(carried)
        };
        self.nest(&loops(&extents[..at], LoopKind::Serial), carried, &mut row)
    }

    /// The sum of one block: iterations `first..first + len` of a dimension and all inside it.
    fn block(
        &mut self,
        summation: Summation,
        outer: &[Index],
        (first, len): (Index, i64),
        inside: &[i64],
        term: Term<'_, 'a>,
    ) -> Built<ValueId> {
        let narrow = summation.narrow;
        let place = |vars: &[Index]| {
            let mut place = outer.to_vec();
            place.push(first.add(&vars[0]));
            place.extend_from_slice(&vars[1..]);
            place
        };
        let mut extents = vec![len];
        extents.extend_from_slice(inside);
        if extents.iter().all(|extent| *extent == 1) {
            let value = term(self, &place(&vec![Index::constant(0); extents.len()]))?;
            return Ok(self.converted(value, narrow));
        }
        let identity = self.small_constant(narrow, Small::NegativeZero);
        let mut add = |builder: &mut Builder<'a>, vars: &[Index], current: &[ValueId]| {
            builder.added_term(narrow, &place(vars), current, term)
        };
        let sums = self.nest(&loops(&extents, LoopKind::Vector), vec![identity], &mut add)?;
        Ok(sums[0])
    }
}

/// Loops of these extents, the innermost of `kind`, the others in order.
pub(super) fn loops(extents: &[i64], kind: LoopKind) -> Vec<(i64, LoopKind)> {
    let innermost = extents.iter().rposition(|extent| *extent > 1);
    let with_kind = |(at, extent): (usize, &i64)| {
        let kind = if Some(at) == innermost {
            kind
        } else {
            LoopKind::Serial
        };
        (*extent, kind)
    };
    extents.iter().enumerate().map(with_kind).collect()
}

/// The type in which sums and products of `element_type` are formed: floats narrower than `f32` in `f32`.
pub(super) fn accumulator(element_type: ElementType) -> ElementType {
    if element_type.is_float() && element_type.bits() < 32 {
        ElementType::F32
    } else {
        element_type
    }
}

/// The type in which running sums are kept where each of them is stored.
pub(super) fn wider(element_type: ElementType) -> ElementType {
    if element_type == ElementType::F32 {
        ElementType::F64
    } else if element_type == ElementType::C64 {
        ElementType::C128
    } else {
        element_type
    }
}

#[cfg(test)]
mod tests {
    use super::Cut;

    #[test]
    fn blocks_take_whole_inner_dimensions() {
        assert_eq!(Cut::of(&[1000], 32), Cut { at: 0, step: 32 });
        assert_eq!(Cut::of(&[10, 7, 7], 100), Cut { at: 0, step: 2 });
        assert_eq!(Cut::of(&[10, 300], 256), Cut { at: 1, step: 256 });
        assert_eq!(Cut::of(&[4, 4], 256), Cut { at: 0, step: 4 });
        assert_eq!(Cut::of(&[9], 1), Cut { at: 0, step: 1 });
    }
}
