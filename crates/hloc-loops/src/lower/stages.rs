//! Reductions of many elements to few, or of long columns: in several kernels, each of which combines
//! pieces of what is left.
//!
//! ```text
//! sum(f32[4096,4096], dimensions={0})   f32[128,4096]: sums of 32 rows, on several threads
//!                                       f32[4,4096]:   sums of 32 of those
//!                                       f32[4096]:     the sum of these and the initial value
//! ```
//!
//! Pieces are cut by shape alone. Rows of a column sum are taken 32 at a time, which the processor reads
//! as fast as one; what no whole piece holds is combined by the last kernel.

use hloc_ir::{ArrayShape, BinaryOp, ComputationId, ElementType, InstrId, Op};

use super::builder::{ArgSource, Builder, Built, Indices, Node};
use super::elemental::Small;
use super::is_empty;
use super::region::{Leaves, Region};
use super::steps::Lowerer;
use super::sum::{COLUMN_BLOCK, Cut, ROW_BLOCK, Summation, Term, accumulator, loops};
use crate::index::{Index, linear_index};
use crate::ir::{Access, BufferId, ConstantBits, Expr, LoopKind, Stmt, ValueId};

/// Elements of a piece of a row.
const ROW_PIECE: i64 = 16_384;
/// Fewer elements are combined by one kernel.
const MIN_ELEMENTS: i64 = 1 << 17;
/// Fewer elements that earlier kernels made are combined by one kernel.
const MIN_PARTIAL_ELEMENTS: i64 = 1 << 15;
/// So many results keep all threads busy.
const MANY_RESULTS: i64 = 64;
/// From this size in bytes on, the next row lies in another page of memory soon.
const WIDE_ROW: i64 = 1024;
/// Columns that fill the widest vectors.
const LANES: i64 = 16;

/// What is left to combine: elements by the kept dimensions before the reduced ones, the reduced ones
/// and the kept ones behind them.
#[derive(Clone)]
struct Level {
    before: Vec<i64>,
    reduced: Vec<i64>,
    after: Vec<i64>,
    /// Where the elements are; the operand if nowhere.
    partial: Option<BufferId>,
}

/// The pieces of a level: `step * group` iterations of the reduced dimensions up to `at` and all inside,
/// of which every `group`-th go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pieces {
    at: usize,
    step: i64,
    group: i64,
}

/// Iterations of the reduced dimensions up to `at`, counted as one, and all inside.
#[derive(Clone, Copy)]
struct Part {
    level: usize,
    at: usize,
    begin: i64,
    count: i64,
}

/// A reduction by one op.
struct Reduction {
    fused: Option<ComputationId>,
    op: BinaryOp,
    /// Type of the elements of a level.
    work: ElementType,
    levels: Vec<Level>,
}

impl<'m> Lowerer<'m> {
    /// The kernels of a `reduce` in stages, or of a fusion with such a root; `None` if one kernel is as
    /// good, or if the reducer cannot be regrouped.
    pub(super) fn staged(
        &mut self,
        region: &Region<'m>,
        id: InstrId,
        fused: Option<ComputationId>,
        root: InstrId,
    ) -> Built<Option<Leaves>> {
        let instruction = &region.computation.instructions[id];
        let Some(shape) = instruction.shape.as_array() else {
            return Ok(None);
        };
        if shape.dynamic != 0 || is_empty(shape) {
            return Ok(None);
        }
        let Some(mut reduction) = self.reduction(region, id, fused, root)? else {
            return Ok(None);
        };
        let mut parts = Vec::new();
        while let Some(pieces) = reduction.last().pieces(reduction.work) {
            let part = self.partial_kernel(region, id, root, &mut reduction, pieces)?;
            parts.extend(part);
        }
        if reduction.levels.len() == 1 {
            return Ok(None);
        }
        parts.push(Part {
            level: reduction.levels.len() - 1,
            at: 0,
            begin: 0,
            count: reduction.last().reduced[0],
        });
        parts.reverse();
        let (output, leaf) = self.output(region, id, 0, shape);
        let (mut builder, frame) = self.builder(region, id, fused);
        let node = root_node(frame, root);
        let source = ArgSource::Buffer(output);
        let param = builder.param(source, shape.element_type, &shape.dims, Access::Write);
        builder.store_nest(&shape.dims, true, &mut |builder, kept| {
            let init = builder.operand(node, 1)?;
            let init = builder.value_at(init, &[])?;
            let value = builder.combined(node, &reduction, &parts, kept, init)?;
            let value = builder.converted(value, shape.element_type);
            builder.push(Stmt::Store {
                param,
                index: linear_index(kept, &shape.dims),
                value,
            });
            Ok(())
        })?;
        let kernel = builder.finish();
        self.run(instruction, kernel)?;
        Ok(Some(Leaves::from_iter([leaf])))
    }

    /// The reduction that the instruction is, if its op may be regrouped and it reduces neighbors.
    fn reduction(
        &self,
        region: &Region<'m>,
        id: InstrId,
        fused: Option<ComputationId>,
        root: InstrId,
    ) -> Built<Option<Reduction>> {
        let (builder, frame) = self.builder(region, id, fused);
        let node = root_node(frame, root);
        let instruction = builder.instruction(node);
        let Op::Reduce {
            dimensions,
            to_apply,
        } = &instruction.op
        else {
            return Ok(None);
        };
        let op = builder.single_op(*to_apply);
        let (Some(op), 2) = (op, instruction.operands.len()) else {
            return Ok(None);
        };
        let operand = builder.shape(builder.operand(node, 0)?)?;
        let work = if op == BinaryOp::Add || op == BinaryOp::Multiply {
            accumulator(operand.element_type)
        } else {
            operand.element_type
        };
        if identity(op, work).is_none() {
            return Ok(None);
        }
        let level = Level::of(&operand.dims, dimensions);
        Ok(level.map(|level| Reduction {
            fused,
            op,
            work,
            levels: vec![level],
        }))
    }

    /// A kernel that combines the pieces of the last level into a new one; gives what is left over.
    fn partial_kernel(
        &mut self,
        region: &Region<'m>,
        id: InstrId,
        root: InstrId,
        reduction: &mut Reduction,
        pieces: Pieces,
    ) -> Built<Option<Part>> {
        let level = reduction.last().clone();
        let Pieces { at, step, group } = pieces;
        let rows: i64 = level.reduced[..=at].iter().product();
        let count = rows / (step * group);
        let whole = count * step * group;
        let next = Level {
            before: level.before.clone(),
            reduced: vec![count * group],
            after: level.after.clone(),
            partial: None,
        };
        let dims = next.dims();
        let buffer = self.temporary(&ArrayShape::new(reduction.work, &dims));
        let (mut builder, frame) = self.builder(region, id, reduction.fused);
        builder.kernel.name.push_str(".partial");
        let node = root_node(frame, root);
        let param = builder.param(
            ArgSource::Buffer(buffer),
            reduction.work,
            &dims,
            Access::Write,
        );
        let mut nest = level.before.clone();
        nest.extend([count, group]);
        nest.extend_from_slice(&level.after);
        builder.store_nest(&nest, true, &mut |builder, indices| {
            let (before, rest) = indices.split_at(level.before.len());
            let (piece, after) = rest.split_at(2);
            let first = piece[0].times(step * group).add(&piece[1]);
            let value = builder.piece(node, reduction, pieces, &first, (before, after))?;
            let mut place = Indices::from(before);
            place.push(piece[0].times(group).add(&piece[1]));
            place.extend(after.iter().cloned());
            builder.push(Stmt::Store {
                param,
                index: linear_index(&place, &dims),
                value,
            });
            Ok(())
        })?;
        let kernel = builder.finish();
        self.run(&region.computation.instructions[id], kernel)?;
        let left = Part {
            level: reduction.levels.len() - 1,
            at,
            begin: whole,
            count: rows - whole,
        };
        reduction.levels.push(Level {
            partial: Some(buffer),
            ..next
        });
        Ok((left.count > 0).then_some(left))
    }
}

fn root_node(frame: usize, instr: InstrId) -> Node {
    Node {
        frame,
        instr,
        leaf: 0,
    }
}

impl Reduction {
    fn last(&self) -> &Level {
        &self.levels[self.levels.len() - 1]
    }

    /// Terms that are added without compensation.
    fn block(&self, level: &Level) -> i64 {
        if level.is_row() {
            ROW_BLOCK
        } else if level.partial.is_some() {
            1
        } else {
            COLUMN_BLOCK
        }
    }
}

impl Level {
    /// The dimensions of an operand, if those that are reduced are neighbors.
    fn of(dims: &[i64], reduced: &[i64]) -> Option<Level> {
        let is_reduced = |dim: &usize| reduced.contains(&(*dim as i64));
        let first = (0..dims.len()).find(is_reduced)?;
        let end = (first..dims.len())
            .find(|dim| !is_reduced(dim))
            .unwrap_or(dims.len());
        if (end..dims.len()).any(|dim| is_reduced(&dim)) {
            return None;
        }
        Some(Level {
            before: dims[..first].to_vec(),
            reduced: dims[first..end].to_vec(),
            after: dims[end..].to_vec(),
            partial: None,
        })
    }

    fn dims(&self) -> Vec<i64> {
        [&self.before[..], &self.reduced[..], &self.after[..]].concat()
    }

    /// Whether the elements of one result lie side by side.
    fn is_row(&self) -> bool {
        self.after.iter().all(|dim| *dim == 1)
    }

    /// The pieces to combine by a kernel of their own, `None` if one kernel does it all.
    fn pieces(&self, work: ElementType) -> Option<Pieces> {
        let product = |dims: &[i64]| dims.iter().fold(1i64, |all, dim| all.saturating_mul(*dim));
        let (before, reduced, after) = (
            product(&self.before),
            product(&self.reduced),
            product(&self.after),
        );
        let results = before.saturating_mul(after);
        let elements = results.saturating_mul(reduced);
        let least = match self.partial {
            None => MIN_ELEMENTS,
            Some(_) => MIN_PARTIAL_ELEMENTS,
        };
        if elements < least {
            return None;
        }
        if self.is_row() {
            let Cut { at, step } = Cut::of(&self.reduced, ROW_PIECE);
            let pays = results < MANY_RESULTS && reduced >= 2 * ROW_PIECE;
            let group = 1;
            return pays.then_some(Pieces { at, step, group });
        }
        let row = after.saturating_mul(i64::try_from(work.size()).unwrap_or(1));
        let group = group(after);
        let pays = row >= WIDE_ROW || before < MANY_RESULTS;
        (pays && reduced >= 2 * COLUMN_BLOCK * group).then_some(Pieces {
            at: self.reduced.len() - 1,
            step: COLUMN_BLOCK,
            group,
        })
    }
}

/// How many rows of `columns` elements are taken for one, so that they fill vectors.
fn group(columns: i64) -> i64 {
    let gcd = |mut a: i64, mut b: i64| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    if columns < 4 * LANES {
        LANES / gcd(LANES, columns)
    } else {
        1
    }
}

/// The kept dimensions' indices, those before the reduced ones and those behind.
type Kept<'i> = (&'i [Index], &'i [Index]);

impl<'a> Builder<'a> {
    /// What a piece of the last level that begins at iteration `first` combines to.
    fn piece(
        &mut self,
        node: Node,
        reduction: &Reduction,
        pieces: Pieces,
        first: &Index,
        kept: Kept<'_>,
    ) -> Built<ValueId> {
        let (level, work) = (reduction.last(), reduction.work);
        let mut extents = vec![pieces.step];
        extents.extend_from_slice(&level.reduced[pieces.at + 1..]);
        let mut term = |builder: &mut Builder<'a>, vars: &[Index]| {
            let row = first.add(&vars[0].times(pieces.group));
            builder.level_element(node, (reduction, level), &row, &vars[1..], kept)
        };
        if reduction.op == BinaryOp::Add {
            let start = self.small_constant(work, Small::NegativeZero);
            let block = reduction.block(level);
            return self.sum(work, &extents, block, Some(start), &mut term);
        }
        let start = ConstantBits(identity(reduction.op, work).unwrap_or(0));
        let start = self.emit(work, Expr::Constant(start));
        self.folded(reduction.op, &extents, start, &mut term)
    }

    /// What the initial value and all parts combine to.
    fn combined(
        &mut self,
        node: Node,
        reduction: &Reduction,
        parts: &[Part],
        kept: &[Index],
        init: ValueId,
    ) -> Built<ValueId> {
        let kept = kept.split_at(reduction.levels[0].before.len());
        let init = self.converted(init, reduction.work);
        let summation = (reduction.op == BinaryOp::Add).then(|| Summation::of(reduction.work));
        let mut carried = match summation {
            Some(summation) => summation.start(self, init),
            None => vec![init],
        };
        for part in parts {
            let level = &reduction.levels[part.level];
            let mut extents = vec![part.count];
            extents.extend_from_slice(&level.reduced[part.at + 1..]);
            let mut term = |builder: &mut Builder<'a>, vars: &[Index]| {
                let row = vars[0].plus(part.begin);
                builder.level_element(node, (reduction, level), &row, &vars[1..], kept)
            };
            carried = match summation {
                Some(summation) => {
                    let block = reduction.block(level);
                    self.blocks(summation, &extents, block, carried, &mut term)?
                }
                None => vec![self.folded(reduction.op, &extents, carried[0], &mut term)?],
            };
        }
        Ok(match summation {
            Some(summation) => summation.finish(self, &carried),
            None => carried[0],
        })
    }

    /// `start` and all terms combined by `op`.
    fn folded(
        &mut self,
        op: BinaryOp,
        extents: &[i64],
        start: ValueId,
        term: Term<'_, 'a>,
    ) -> Built<ValueId> {
        let work = self.type_of(start);
        let mut fold = |builder: &mut Builder<'a>, vars: &[Index], current: &[ValueId]| {
            let value = term(builder, vars)?;
            let value = builder.converted(value, work);
            let next = Expr::Binary(op, current[0], value);
            Ok(vec![builder.emit(work, next)])
        };
        Ok(self.nest(&loops(extents, LoopKind::Vector), vec![start], &mut fold)?[0])
    }

    /// The element of a level whose reduced dimensions have the joint index `row` but for those inside.
    fn level_element(
        &mut self,
        node: Node,
        (reduction, level): (&Reduction, &Level),
        row: &Index,
        inside: &[Index],
        (before, after): Kept<'_>,
    ) -> Built<ValueId> {
        let mut place = Indices::from(before);
        let outer = level.reduced.len() - inside.len();
        for dim in 0..outer {
            let below: i64 = level.reduced[dim + 1..outer].iter().product();
            let index = row.div(below, self);
            place.push(match dim {
                0 => index,
                _ => index.rem(level.reduced[dim], self),
            });
        }
        place.extend(inside.iter().cloned());
        place.extend(after.iter().cloned());
        let Some(buffer) = level.partial else {
            let operand = self.operand(node, 0)?;
            return self.value_at(operand, &place);
        };
        let (dims, source) = (level.dims(), ArgSource::Buffer(buffer));
        let param = self.param(source, reduction.work, &dims, Access::Read);
        Ok(self.load(param, &place, &dims))
    }
}

/// The bits of the value that `op` combines with any other to that other; `None` for types and ops that
/// are combined by one kernel.
fn identity(op: BinaryOp, ty: ElementType) -> Option<u128> {
    let ones = |bits: u32| (1u128 << bits) - 1;
    let (all, half) = (ones(ty.bits()), ones(ty.bits().max(1) - 1));
    // The infinities, one, and minus zero of a float of this many mantissa bits.
    let float = |one: u128, infinity: u128| (half + 1, one, half + 1 + infinity, infinity);
    let (sum, product, least, greatest) = if ty == ElementType::F32 {
        float(0x3f80_0000, 0x7f80_0000)
    } else if ty == ElementType::F64 {
        float(0x3ff0 << 48, 0x7ff0 << 48)
    } else if ty == ElementType::BF16 {
        float(0x3f80, 0x7f80)
    } else if ty == ElementType::F16 {
        float(0x3c00, 0x7c00)
    } else if ty.is_signed_integer() && ty.bits() >= 8 {
        (0, 1, half + 1, half)
    } else if ty.is_unsigned_integer() && ty.bits() >= 8 {
        (0, 1, 0, all)
    } else {
        return None;
    };
    let by_op = [
        (BinaryOp::Add, sum),
        (BinaryOp::Multiply, product),
        (BinaryOp::Maximum, least),
        (BinaryOp::Minimum, greatest),
        (BinaryOp::And, all),
        (BinaryOp::Or, 0),
        (BinaryOp::Xor, 0),
    ];
    let found = by_op.iter().find(|(other, _)| *other == op);
    found.map(|(_, bits)| *bits)
}

#[cfg(test)]
mod tests {
    use hloc_ir::{BinaryOp, ElementType};

    use super::{Level, Pieces, identity};

    fn pieces(dims: &[i64], reduced: &[i64]) -> Option<Pieces> {
        Level::of(dims, reduced)?.pieces(ElementType::F32)
    }

    #[test]
    fn pieces_follow_from_the_shape() {
        let piece = |at, step, group| Some(Pieces { at, step, group });
        assert_eq!(pieces(&[4096, 4096], &[0]), piece(0, 32, 1));
        assert_eq!(pieces(&[4096, 4096], &[1]), None);
        assert_eq!(pieces(&[1 << 24], &[0]), piece(0, 16_384, 1));
        assert_eq!(pieces(&[8192, 1024], &[0, 1]), piece(0, 16, 1));
        assert_eq!(pieces(&[100_000, 3], &[0]), piece(0, 32, 16));
        assert_eq!(pieces(&[64, 3, 64], &[0, 2]), None);
        assert_eq!(pieces(&[63, 1024], &[0]), None);
    }

    #[test]
    fn identities_change_nothing() {
        assert_eq!(identity(BinaryOp::Add, ElementType::F32), Some(0x8000_0000));
        assert_eq!(identity(BinaryOp::Maximum, ElementType::BF16), Some(0xff80));
        assert_eq!(identity(BinaryOp::Minimum, ElementType::S8), Some(0x7f));
        assert_eq!(identity(BinaryOp::Maximum, ElementType::S16), Some(0x8000));
        assert_eq!(identity(BinaryOp::And, ElementType::U32), Some(0xffff_ffff));
        assert_eq!(identity(BinaryOp::Add, ElementType::C64), None);
    }
}
