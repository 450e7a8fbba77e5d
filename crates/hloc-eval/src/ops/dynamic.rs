//! `dynamic-slice` and `dynamic-update-slice`.

use hloc_ir::Op;
use hloc_tensor::{Array, ElementClass};

use super::walk::Walk;
use super::{Operands, ensure};
use crate::EvalError;
use crate::scalar::Value;

/// One of the ops of this file.
pub(super) fn apply(op: &Op, mut operands: Operands) -> Result<Array, EvalError> {
    if let Op::DynamicSlice {
        dynamic_slice_sizes,
    } = op
    {
        let x = operands.array(0)?;
        let starts = starts(&operands, 1, x.num_dims())?;
        block(x.dims(), dynamic_slice_sizes, &starts)?.read(x)
    } else {
        let mut x = operands.take_array(0)?;
        let update = operands.take_array(1)?;
        let starts = starts(&operands, 2, x.num_dims())?;
        block(x.dims(), update.dims(), &starts)?.write(&update, &mut x)?;
        Ok(x)
    }
}

/// The start of each dimension: one scalar operand each from operand `first` on, or one list of all.
fn starts(operands: &Operands, first: usize, count: usize) -> Result<Vec<i128>, EvalError> {
    let arrays = operands.arrays_from(first)?;
    let starts: Vec<i128> = if let [list] = arrays[..]
        && list.num_dims() == 1
    {
        (0..list.num_elements())
            .map(|at| integer(list, at))
            .collect::<Result<_, _>>()?
    } else {
        ensure(
            arrays.iter().all(|start| start.num_dims() == 0),
            "start indices are scalars",
        )?;
        arrays
            .iter()
            .map(|start| integer(start, 0))
            .collect::<Result<_, _>>()?
    };
    ensure(
        starts.len() == count,
        "there is one start index for each dimension",
    )?;
    Ok(starts)
}

/// An element as an integer of its own signedness.
pub(super) fn integer(array: &Array, position: usize) -> Result<i128, EvalError> {
    match (array.element_type().class(), Value::at(array, position)) {
        (ElementClass::Signed | ElementClass::Unsigned, Value::Int(value)) => Ok(value),
        _ => Err(EvalError::argument("indices are integers")),
    }
}

/// The block of `sizes` that begins at `starts`, moved into the array.
fn block(dims: &[i64], sizes: &[i64], starts: &[i128]) -> Result<Walk, EvalError> {
    let fits = sizes.len() == dims.len()
        && sizes
            .iter()
            .zip(dims)
            .all(|(size, dim)| (0..=*dim).contains(size));
    ensure(fits, "the block is larger than the array")?;
    let whole = Walk::whole(dims);
    let mut base = 0;
    for (at, start) in starts.iter().enumerate() {
        let start = (*start).clamp(0, (dims[at] - sizes[at]).into());
        // Strides of an array without elements may be as large as they get.
        base = (start as i64)
            .saturating_mul(whole.strides[at])
            .saturating_add(base);
    }
    Ok(Walk {
        dims: sizes.to_vec(),
        base,
        strides: whole.strides,
    })
}
