//! `ragged-dot` and `scaled-dot` as `dot`s.
//!
//! A free ragged dimension is multiplied with every group's matrix, and each row keeps the product of its
//! own group; rows behind the last group are zeros. A contracting one is multiplied once for each group
//! with everything else cleared on both sides. A batch one changes nothing.

use hloc_ir::attr::{ElidedDims, OperandPrecision};
use hloc_ir::{
    ArrayShape, BinaryOp, ComparisonDirection, ComputationId, ElementType, InstrId, Op, Shape,
};

use super::{addition, in_place};
use crate::make::Make;
use crate::module_rewriter::ModuleRewriter;
use crate::rewriter::Rewriter;

/// The dimension numbers of a `dot`, with its precision.
#[derive(Clone, Default)]
struct Numbers {
    lhs_batch: Vec<i64>,
    lhs_contracting: Vec<i64>,
    rhs_batch: Vec<i64>,
    rhs_contracting: Vec<i64>,
    precision: OperandPrecision,
}

impl Numbers {
    /// Those of a `ragged-dot` or a `scaled-dot`; `None` for other ops.
    fn of(op: &Op) -> Option<Numbers> {
        let (Op::RaggedDot {
            lhs_batch_dims,
            lhs_contracting_dims,
            rhs_batch_dims,
            rhs_contracting_dims,
            operand_precision,
            ..
        }
        | Op::ScaledDot {
            lhs_batch_dims,
            lhs_contracting_dims,
            rhs_batch_dims,
            rhs_contracting_dims,
            operand_precision,
        }) = op
        else {
            return None;
        };
        Some(Numbers {
            lhs_batch: lhs_batch_dims.to_vec(),
            lhs_contracting: lhs_contracting_dims.to_vec(),
            rhs_batch: rhs_batch_dims.to_vec(),
            rhs_contracting: rhs_contracting_dims.to_vec(),
            precision: operand_precision.clone(),
        })
    }

    fn dot(&self, make: &mut impl Make, lhs: InstrId, rhs: InstrId, ty: ElementType) -> InstrId {
        let (left, right) = (make.array(lhs), make.array(rhs));
        let free = |shape: &ArrayShape, batch: &[i64], contracting: &[i64]| -> Vec<i64> {
            let dims = (0..).zip(&shape.dims);
            dims.filter(|(at, _)| !batch.contains(at) && !contracting.contains(at))
                .map(|(_, size)| *size)
                .collect()
        };
        let mut dims: Vec<i64> = self
            .lhs_batch
            .iter()
            .map(|at| left.dims[*at as usize])
            .collect();
        dims.extend(free(&left, &self.lhs_batch, &self.lhs_contracting));
        dims.extend(free(&right, &self.rhs_batch, &self.rhs_contracting));
        let op = Op::Dot {
            lhs_batch_dims: ElidedDims(self.lhs_batch.clone()),
            lhs_contracting_dims: ElidedDims(self.lhs_contracting.clone()),
            rhs_batch_dims: ElidedDims(self.rhs_batch.clone()),
            rhs_contracting_dims: ElidedDims(self.rhs_contracting.clone()),
            operand_precision: self.precision.clone(),
            algorithm: None,
        };
        make.make(op, &[lhs, rhs], Shape::array(ty, &dims))
    }
}

/// The value of a `ragged-dot`, spelled out; `None` for forms without a meaning.
pub(super) fn ragged(
    module: &mut ModuleRewriter<'_>,
    rebuilt: &mut Rewriter<'_>,
    id: InstrId,
) -> Option<InstrId> {
    let instruction = &rebuilt.old().instructions[id];
    let Op::RaggedDot {
        lhs_ragged_dims,
        rhs_group_dims,
        ..
    } = &instruction.op
    else {
        return None;
    };
    let numbers = Numbers::of(&instruction.op)?;
    let ragged = *lhs_ragged_dims.first()?;
    let ty = instruction.shape.as_array()?.element_type;
    let origin = instruction.origin.in_pass("legalize-ops");
    let group = rhs_group_dims.first().copied();
    let operands = rebuilt.mapped_operands(id);
    let mut make = in_place(rebuilt, id);
    let (lhs, rhs, common) = same_type(&mut make, operands[0], operands[1], ty);
    let sizes = operands[2];
    let value = if numbers.lhs_batch.contains(&ragged) {
        numbers.dot(&mut make, lhs, rhs, common)
    } else if numbers.lhs_contracting.contains(&ragged) {
        per_group(&mut make, (lhs, rhs, sizes), &numbers, (ragged, common))?
    } else {
        let groups = (ragged, group?);
        let masked = own_group(&mut make, (lhs, rhs, sizes), &numbers, (groups, common))?;
        let sum = addition(module, common, origin);
        let mut make = in_place(rebuilt, id);
        sum_over(&mut make, masked, sum)
    };
    Some(in_place(rebuilt, id).convert(value, ty))
}

/// Both operands in one element type, and the type in which their products are summed up.
fn same_type(
    make: &mut impl Make,
    lhs: InstrId,
    rhs: InstrId,
    result: ElementType,
) -> (InstrId, InstrId, ElementType) {
    let (left, right) = (make.array(lhs).element_type, make.array(rhs).element_type);
    if left != right {
        let wide = ElementType::F64;
        return (make.convert(lhs, wide), make.convert(rhs, wide), wide);
    }
    let widens = left.class() == result.class() && result.bits() >= left.bits();
    let sum = if widens || (left.is_integer() && result.is_float()) {
        result
    } else {
        left
    };
    (lhs, rhs, sum)
}

/// Where the dimensions that group sizes speak of lie in an array.
struct Places {
    /// Sizes of the array.
    dims: Vec<i64>,
    /// Its dimension that counts groups.
    group: usize,
    /// Its ragged dimension.
    ragged: usize,
    /// Its dimensions that have group sizes of their own each, in the order of the group sizes.
    leading: Vec<usize>,
}

/// Per element whether its position along the ragged dimension lies in its group.
///
/// Group sizes are one list for all, or one list for each index of the leading dimensions.
fn members(make: &mut impl Make, sizes: InstrId, places: &Places) -> Option<InstrId> {
    let wide = ElementType::S64;
    let sizes = make.convert(sizes, wide);
    let shape = make.array(sizes).dims;
    let (groups, leading) = shape.split_last()?;
    let fits = leading.is_empty()
        || leading
            .iter()
            .copied()
            .eq(places.leading.iter().map(|at| places.dims[*at]));
    if !fits {
        return None;
    }
    let square = [*groups, *groups];
    let (from, to) = (make.iota(wide, &square, 0), make.iota(wide, &square, 1));
    let counts = make.compare(ComparisonDirection::Le, from, to);
    let counts = make.convert(counts, wide);
    let numbers = Numbers {
        lhs_contracting: vec![leading.len() as i64],
        rhs_contracting: vec![0],
        ..Numbers::default()
    };
    let ends = numbers.dot(make, sizes, counts, wide);
    let starts = make.binary(BinaryOp::Subtract, ends, sizes);
    let own: &[usize] = if leading.is_empty() {
        &[]
    } else {
        &places.leading
    };
    let mut targets: Vec<usize> = own.to_vec();
    targets.push(places.group);
    let starts = spread_to(make, starts, &targets, &places.dims);
    let ends = spread_to(make, ends, &targets, &places.dims);
    let at = make.iota(wide, &places.dims, places.ragged);
    let behind_start = make.compare(ComparisonDirection::Ge, at, starts);
    let before_end = make.compare(ComparisonDirection::Lt, at, ends);
    Some(make.binary(BinaryOp::And, behind_start, before_end))
}

/// An array whose dimension `i` goes to dimension `targets[i]` of these sizes.
fn spread_to(make: &mut impl Make, x: InstrId, targets: &[usize], dims: &[i64]) -> InstrId {
    let mut order: Vec<usize> = (0..targets.len()).collect();
    order.sort_by_key(|at| targets[*at]);
    let shape = make.array(x);
    let sorted: Vec<i64> = order.iter().map(|at| shape.dims[*at]).collect();
    let x = if order.is_sorted() {
        x
    } else {
        let op = Op::Transpose {
            dimensions: order.iter().map(|at| *at as i64).collect(),
        };
        make.make(op, &[x], Shape::array(shape.element_type, &sorted))
    };
    let dimensions: Vec<i64> = order.iter().map(|at| targets[*at] as i64).collect();
    make.broadcast(x, dims, &dimensions)
}

/// The products of a free ragged dimension with all groups, cleared but for each row's own group; and the
/// place of the groups among the dimensions.
fn own_group(
    make: &mut impl Make,
    (lhs, rhs, sizes): (InstrId, InstrId, InstrId),
    numbers: &Numbers,
    ((ragged, group), ty): ((i64, i64), ElementType),
) -> Option<(InstrId, usize)> {
    let product = numbers.dot(make, lhs, rhs, ty);
    let dims = make.array(product).dims.to_vec();
    let free = |count: usize, batch: &[i64], contracting: &[i64]| -> Vec<i64> {
        let dims = 0..count as i64;
        dims.filter(|at| !batch.contains(at) && !contracting.contains(at))
            .collect()
    };
    let batch = numbers.lhs_batch.len();
    let left = free(
        make.array(lhs).num_dims(),
        &numbers.lhs_batch,
        &numbers.lhs_contracting,
    );
    let right = free(
        make.array(rhs).num_dims(),
        &numbers.rhs_batch,
        &numbers.rhs_contracting,
    );
    let row = left.iter().position(|dim| *dim == ragged)?;
    let column = right.iter().position(|dim| *dim == group)?;
    let places = Places {
        group: batch + left.len() + column,
        ragged: batch + row,
        leading: (0..batch + row).collect(),
        dims: dims.clone(),
    };
    let member = members(make, sizes, &places)?;
    let zeros = make.zeros(ty, &dims);
    Some((make.select(member, product, zeros), places.group))
}

/// The sum over one dimension.
fn sum_over(
    make: &mut impl Make,
    (x, dimension): (InstrId, usize),
    addition: ComputationId,
) -> InstrId {
    let shape = make.array(x);
    let zero = make.zeros(shape.element_type, &[]);
    let mut dims = shape.dims.to_vec();
    dims.remove(dimension);
    let op = Op::Reduce {
        dimensions: vec![dimension as i64],
        to_apply: addition,
    };
    make.make(op, &[x, zero], Shape::array(shape.element_type, &dims))
}

/// One product for each group of a contracting ragged dimension.
fn per_group(
    make: &mut impl Make,
    (lhs, rhs, sizes): (InstrId, InstrId, InstrId),
    numbers: &Numbers,
    (ragged, ty): (i64, ElementType),
) -> Option<InstrId> {
    let at = numbers
        .lhs_contracting
        .iter()
        .position(|dim| *dim == ragged)?;
    let side = |batch: &[i64], contracting: &[i64]| -> Vec<usize> {
        batch
            .iter()
            .chain(&contracting[..at])
            .map(|dim| *dim as usize + 1)
            .collect()
    };
    let left = side(&numbers.lhs_batch, &numbers.lhs_contracting);
    let right = side(&numbers.rhs_batch, &numbers.rhs_contracting);
    let left = cleared(make, (lhs, sizes), left, ragged)?;
    let right = cleared(make, (rhs, sizes), right, numbers.rhs_contracting[at])?;
    let shifted = |dims: &[i64]| dims.iter().map(|dim| dim + 1).collect::<Vec<i64>>();
    let with_group = |dims: &[i64]| [&[0], &shifted(dims)[..]].concat();
    let numbers = Numbers {
        lhs_batch: with_group(&numbers.lhs_batch),
        lhs_contracting: shifted(&numbers.lhs_contracting),
        rhs_batch: with_group(&numbers.rhs_batch),
        rhs_contracting: shifted(&numbers.rhs_contracting),
        precision: numbers.precision.clone(),
    };
    Some(numbers.dot(make, left, right, ty))
}

/// A copy of an operand for each group, cleared outside of the group.
fn cleared(
    make: &mut impl Make,
    (x, sizes): (InstrId, InstrId),
    leading: Vec<usize>,
    ragged: i64,
) -> Option<InstrId> {
    let shape = make.array(x);
    let groups = *make.array(sizes).dims.last()?;
    let dims = [&[groups], &shape.dims[..]].concat();
    let places = Places {
        dims: dims.clone(),
        group: 0,
        ragged: ragged as usize + 1,
        leading,
    };
    let member = members(make, sizes, &places)?;
    let dimensions: Vec<i64> = (1..dims.len() as i64).collect();
    let copies = make.broadcast(x, &dims, &dimensions);
    let zeros = make.zeros(shape.element_type, &dims);
    Some(make.select(member, copies, zeros))
}

/// The value of a `scaled-dot`, spelled out; `None` for operands that are no real numbers.
pub(super) fn scaled(rebuilt: &mut Rewriter<'_>, id: InstrId) -> Option<InstrId> {
    let instruction = &rebuilt.old().instructions[id];
    let Op::ScaledDot { .. } = &instruction.op else {
        return None;
    };
    let numbers = Numbers::of(&instruction.op)?;
    let ty = instruction.shape.as_array()?.element_type;
    let operands = rebuilt.mapped_operands(id);
    let mut make = in_place(rebuilt, id);
    let types = operands
        .iter()
        .map(|operand| make.array(*operand).element_type);
    let types: Vec<ElementType> = types.chain([ty]).collect();
    if types.iter().any(|ty| ty.is_complex()) {
        return None;
    }
    let wide = if types.contains(&ElementType::F64) {
        ElementType::F64
    } else {
        ElementType::F32
    };
    let lhs = times_scale(&mut make, operands[0], operands[2], wide);
    let rhs = times_scale(&mut make, operands[1], operands[3], wide);
    let product = numbers.dot(&mut make, lhs, rhs, wide);
    Some(make.convert(product, ty))
}

/// Each element times the scale of its block.
fn times_scale(make: &mut impl Make, x: InstrId, scale: InstrId, ty: ElementType) -> InstrId {
    let (dims, blocks) = (make.array(x).dims, make.array(scale).dims);
    let x = make.convert(x, ty);
    let scale = make.convert(scale, ty);
    let scale = if blocks.is_empty() {
        make.spread(scale, &dims)
    } else {
        let (mut split, mut dimensions) = (Vec::new(), Vec::new());
        for (size, blocks) in dims.iter().zip(&blocks) {
            dimensions.push(split.len() as i64);
            split.extend([*blocks, size / blocks]);
        }
        let spread = make.broadcast(scale, &split, &dimensions);
        make.reshape(spread, &dims)
    };
    make.binary(BinaryOp::Multiply, x, scale)
}
