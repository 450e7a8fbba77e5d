//! Constant indices that lie outside of the array.

use hloc_ir::{Array, ArrayShape, Computation, ComputationId, Instruction, Op, Scalar};

use super::report::{Lints, unplaced};

pub(super) const OUT_OF_RANGE: &str = "index-out-of-range";

/// How many index vectors are looked at.
const MOST_VECTORS: usize = 65_536;

pub(super) fn check(lints: &mut Lints<'_>, id: ComputationId) {
    let computation = lints.computation(id);
    for instruction in computation.instructions.values() {
        let found = out_of_range(computation, instruction);
        if let Some(found) = found {
            let (message, help) = found.text(&instruction.op);
            lints.instruction(OUT_OF_RANGE, instruction, &message, help);
        }
    }
}

fn out_of_range(computation: &Computation, instruction: &Instruction) -> Option<Found> {
    if let Op::DynamicSlice {
        dynamic_slice_sizes,
    } = &instruction.op
    {
        return starts(computation, instruction, 1, dynamic_slice_sizes);
    }
    if let Op::DynamicUpdateSlice {} = instruction.op {
        let update = &computation.instructions[*instruction.operands.get(1)?];
        return starts(computation, instruction, 2, &update.shape.as_array()?.dims);
    }
    if let Op::Gather {
        start_index_map,
        index_vector_dim,
        slice_sizes,
        ..
    } = &instruction.op
    {
        let map = (&start_index_map[..], *index_vector_dim);
        return vectors(computation, instruction, map, slice_sizes);
    }
    if let Op::Scatter {
        scatter_dims_to_operand_dims,
        index_vector_dim,
        ..
    } = &instruction.op
    {
        // Where a window ends is not asked: that the update begins outside is enough to be told.
        let map = (&scatter_dims_to_operand_dims[..], *index_vector_dim);
        return vectors(computation, instruction, map, &[]);
    }
    None
}

/// An index that is out of range.
struct Found {
    index: i128,
    dimension: i64,
    size: i64,
    slice: i64,
}

impl Found {
    fn text(&self, op: &Op) -> (String, &'static str) {
        let most = i128::from(self.size) - i128::from(self.slice);
        let used = self.index.clamp(0, most.max(0));
        let ends = if let Op::Scatter { .. } = op {
            "the update is dropped".to_owned()
        } else {
            format!("{used} is used instead")
        };
        let message = format!(
            "begins at the constant index {} of dimension {}, but 0 to {most} is the range for {} of {} elements: {ends}",
            self.index, self.dimension, self.slice, self.size
        );
        (
            message,
            "correct the index; it is never an error when the program runs",
        )
    }
}

fn found(index: i128, dimension: i64, size: i64, slice: i64) -> Option<Found> {
    let most = i128::from(size) - i128::from(slice);
    (index < 0 || index > most).then_some(Found {
        index,
        dimension,
        size,
        slice,
    })
}

fn operand_shape<'c>(
    computation: &'c Computation,
    instruction: &Instruction,
) -> Option<&'c ArrayShape> {
    let operand = instruction.operands.first()?;
    computation.instructions[*operand].shape.as_array()
}

/// The scalar starts of `dynamic-slice` and `dynamic-update-slice`.
fn starts(
    computation: &Computation,
    instruction: &Instruction,
    first: usize,
    sizes: &[i64],
) -> Option<Found> {
    let shape = operand_shape(computation, instruction)?;
    let starts = instruction.operands.iter().skip(first);
    starts.enumerate().find_map(|(dim, start)| {
        let Op::Constant { literal } = &unplaced(computation, *start).op else {
            return None;
        };
        let array = literal
            .as_array()
            .filter(|array| array.num_elements() == 1)?;
        let (size, slice) = (*shape.dims.get(dim)?, *sizes.get(dim)?);
        found(integer(array, 0), dim as i64, size, slice)
    })
}

/// The index vectors of `gather` and `scatter`.
fn vectors(
    computation: &Computation,
    instruction: &Instruction,
    (map, index_vector_dim): (&[i64], i64),
    slice_sizes: &[i64],
) -> Option<Found> {
    let shape = operand_shape(computation, instruction)?;
    let indices = &computation.instructions[*instruction.operands.get(1)?];
    let dims = &indices.shape.as_array()?.dims;
    let array = same_order(computation, indices)?;
    let vector_dim = usize::try_from(index_vector_dim).ok()?;
    let inner: i64 = dims.iter().skip(vector_dim + 1).product();
    let (length, inner) = (map.len().max(1), usize::try_from(inner).ok()?.max(1));
    let count = array.num_elements().min(MOST_VECTORS);
    (0..count).find_map(|position| {
        let component = position / inner % length;
        let dim = *map.get(component)?;
        let size = *shape.dims.get(usize::try_from(dim).ok()?)?;
        let slice = slice_sizes.get(dim as usize).copied().unwrap_or(1);
        found(integer(array, position), dim, size, slice)
    })
}

/// The constant whose elements, in order, are those of `instruction`.
fn same_order<'c>(computation: &'c Computation, instruction: &'c Instruction) -> Option<&'c Array> {
    let count = |each: &Instruction| each.shape.as_array().and_then(ArrayShape::num_elements);
    let mut current = instruction;
    loop {
        if let Op::Constant { literal } = &current.op {
            return literal.as_array();
        }
        let keeps = matches!(
            current.op,
            Op::Reshape { .. } | Op::Copy {} | Op::Broadcast { .. }
        );
        let operand = &computation.instructions[*current.operands.first()?];
        if !keeps || count(operand) != count(instruction) {
            return None;
        }
        current = operand;
    }
}

fn integer(array: &Array, position: usize) -> i128 {
    match array.get(position) {
        Scalar::Int(value) => value.into(),
        Scalar::Uint(value) => value.into(),
        Scalar::Pred(value) => value.into(),
        Scalar::Float(value) | Scalar::Complex(value, _) => value as i128,
    }
}
