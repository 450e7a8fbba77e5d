//! Which sizes an op gives, and what it needs to keep its meaning on padded arrays.

use hloc_ir::{BinaryOp, Id, InstrId, Op, Shape};

use super::{Done, Dynamic, Leaves, Region, Sizes, bounded, no_sizes, size_at};
use crate::make::Make;

impl<'m> Dynamic<'m> {
    /// Makes an instruction on arrays of which some are dynamic, and tells the sizes of its value.
    pub(super) fn rule(&mut self, region: &mut Region<'m>, id: InstrId) -> Done<Leaves> {
        let instruction = &region.rebuilt.old().instructions[id];
        let operands = &instruction.operands;
        let op = &instruction.op;
        if let Op::Tuple {} = op {
            region.copy(id);
            let leaves = operands
                .iter()
                .flat_map(|id| region.sizes[id.index()].clone());
            return Ok(leaves.collect());
        }
        if let Op::GetTupleElement { index } = op {
            region.copy(id);
            let tuple = &region.rebuilt.old().instructions[operands[0]].shape;
            let elements = tuple.as_tuple().unwrap_or_default();
            let at = usize::try_from(*index).unwrap_or(0).min(elements.len());
            let first: usize = elements[..at]
                .iter()
                .map(|shape| shape.leaves().len())
                .sum();
            let count = instruction.shape.leaves().len();
            let all = &region.sizes[operands[0].index()];
            return Ok(all.iter().skip(first).take(count).cloned().collect());
        }
        if let Op::Copy {} | Op::OptBarrier {} | Op::Domain { .. } | Op::AddDependency {} = op {
            region.copy(id);
            return Ok(region.sizes[operands[0].index()].clone());
        }
        if let Op::AfterAll {} = op {
            region.copy(id);
            return Ok(no_sizes(&instruction.shape));
        }
        if let Op::GetDimensionSize { dimensions } = op {
            let at = dimension(dimensions);
            let sizes = region.sizes_of(operands[0]);
            let x = region.rebuilt.mapped(operands[0]);
            let size = size_at(&mut region.make(id), x, &sizes, at);
            region.rebuilt.replace(id, size);
            return Ok(no_sizes(&instruction.shape));
        }
        if let Op::SetDimensionSize { dimensions } = op {
            return Ok(vec![set_size(region, id, dimension(dimensions))]);
        }
        if is_elementwise(op) {
            return elementwise(region, id).map(|sizes| vec![sizes]);
        }
        if let Some(sizes) = self.movement(region, id)? {
            return Ok(vec![sizes]);
        }
        self.masked(region, id)
    }
}

/// The one dimension of an attribute.
pub(super) fn dimension(dimensions: &[i64]) -> usize {
    let first = dimensions
        .first()
        .and_then(|dim| usize::try_from(*dim).ok());
    first.unwrap_or(0)
}

fn is_elementwise(op: &Op) -> bool {
    matches!(
        op,
        Op::Unary { .. }
            | Op::Binary { .. }
            | Op::Ternary { .. }
            | Op::Compare { .. }
            | Op::Convert {}
            | Op::BitcastConvert {}
            | Op::ReducePrecision { .. }
            | Op::Map { .. }
    )
}

/// Operands meet on the smallest sizes.
fn elementwise(region: &mut Region<'_>, id: InstrId) -> Done<Sizes> {
    let instruction = &region.rebuilt.old().instructions[id];
    let Some(result) = instruction.shape.as_array() else {
        return region.refused(id, "its value is no array");
    };
    let mut sizes: Sizes = vec![None; result.num_dims()];
    for operand in &instruction.operands {
        let shape = region.rebuilt.old().instructions[*operand].shape.as_array();
        let own = region.sizes_of(*operand);
        if own.iter().all(Option::is_none) {
            continue;
        }
        if shape.is_none_or(|shape| shape.dims != result.dims) {
            return region.refused(id, "an operand has other dimensions than the result");
        }
        for (size, own) in sizes.iter_mut().zip(own) {
            *size = match (*size, own) {
                (Some(a), Some(b)) if a != b => {
                    Some(region.make(id).binary(BinaryOp::Minimum, a, b))
                }
                (known, own) => known.or(own),
            };
        }
    }
    region.copy(id);
    Ok(sizes)
}

/// The operand with another size; elements that come to light are zeros.
fn set_size(region: &mut Region<'_>, id: InstrId, at: usize) -> Sizes {
    let instruction = &region.rebuilt.old().instructions[id];
    let operands = region.rebuilt.mapped_operands(id);
    let mut sizes = region.sizes_of(instruction.operands[0]);
    let mut make = region.make(id);
    let x = if sizes[at].is_some() {
        super::masked::cleared(&mut make, operands[0], &sizes, &[at])
    } else {
        operands[0]
    };
    let shape = make.array(x);
    let zero = make.scalar(0i32);
    let bound = make.scalar(i32::try_from(shape.dims[at]).unwrap_or(i32::MAX));
    let size = make.binary(BinaryOp::Maximum, operands[1], zero);
    let size = make.binary(BinaryOp::Minimum, size, bound);
    sizes[at] = Some(size);
    region.rebuilt.replace(id, x);
    sizes
}

/// Puts an op with these operands and the declared bounds.
pub(super) fn put(region: &mut Region<'_>, id: InstrId, op: Op, operands: &[InstrId]) {
    let shape: Shape = bounded(&region.rebuilt.old().instructions[id].shape);
    region.rebuilt.put(id, op, operands, shape);
}
