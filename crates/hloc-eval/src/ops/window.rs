//! Windows: which elements of an array each window of `reduce-window` and its kin covers.

use hloc_ir::attr::{Window, WindowDim};
use hloc_ir::{Literal, Op, Shape};
use hloc_tensor::{Array, IndexIter, row_major_strides};

use super::callee::Callee;
use super::reduce::{collect, equal_dims};
use super::{Operands, check_size, ensure};
use crate::EvalError;
use crate::evaluator::Evaluator;
use crate::scalar::Value;

/// The index that window element `element` of window `window` has along one dimension of size `size`;
/// `None` in padding and in the holes of a dilated base.
pub(super) fn base_index(dim: &WindowDim, size: i64, window: i64, element: i64) -> Option<i64> {
    let place = window
        .checked_mul(dim.stride)?
        .checked_add(element.checked_mul(dim.window_dilation)?)?
        .checked_sub(dim.pad_low)?;
    let dilation = dim.base_dilation.max(1);
    let index = place / dilation;
    (place >= 0 && place % dilation == 0 && index < size).then_some(index)
}

/// The window's dimensions; without the attribute, windows are single elements.
fn window_dims(window: Option<&Window>, count: usize) -> Result<Vec<WindowDim>, EvalError> {
    let dims = window.map_or_else(
        || vec![WindowDim::of_size(1); count],
        |window| window.0.clone(),
    );
    ensure(dims.len() == count, "`window` does not fit the operand")?;
    Ok(dims)
}

/// A base array under a window.
struct Windows {
    dims: Vec<WindowDim>,
    sizes: Vec<i64>,
    base_dims: Vec<i64>,
    strides: Vec<i64>,
}

impl Windows {
    fn new(window: Option<&Window>, base: &Array) -> Result<Windows, EvalError> {
        let dims = window_dims(window, base.num_dims())?;
        Ok(Windows {
            sizes: dims.iter().map(|dim| dim.size).collect(),
            dims,
            base_dims: base.dims().to_vec(),
            strides: row_major_strides(base.dims()),
        })
    }

    /// Positions of the base elements that the window at `at` covers, in row-major order.
    fn positions(&self, at: &[i64]) -> Vec<usize> {
        let mut positions = Vec::new();
        let mut elements = IndexIter::new(&self.sizes);
        while let Some(element) = elements.next_index() {
            let mut position = Some(0);
            for (dim, spec) in self.dims.iter().enumerate() {
                let index = base_index(spec, self.base_dims[dim], at[dim], element[dim]);
                position = position
                    .zip(index)
                    .map(|(position, index)| position + index * self.strides[dim]);
            }
            positions.extend(position.map(|position| position as usize));
        }
        positions
    }
}

/// Folds each window from the left, beginning with the initial value; padding takes no part.
pub(super) fn reduce_window(
    evaluator: Evaluator<'_>,
    op: &Op,
    operands: &Operands,
    shape: &Shape,
) -> Result<Literal, EvalError> {
    let Op::ReduceWindow { window, to_apply } = op else {
        return Err(EvalError::unsupported(op, None));
    };
    let arrays = operands.arrays()?;
    let (inputs, inits) = arrays.split_at(arrays.len() / 2);
    equal_dims(inputs, inits)?;
    let windows = Windows::new(window.as_ref(), inputs[0])?;
    let leaves = shape.leaves();
    let dims = match leaves.first().and_then(|leaf| leaf.as_array()) {
        Some(shape) if shape.num_dims() == inputs[0].num_dims() => shape.dims.to_vec(),
        _ => return Err(EvalError::argument("the result does not fit the operand")),
    };
    check_size(inits[0].element_type(), &dims)?;
    let count = inputs.len();
    let mut callee = Callee::new(evaluator, *to_apply, 2 * count)?;
    let mut values = Vec::new();
    let mut results = vec![Value::Pred(false); count];
    let mut outputs = IndexIter::new(&dims);
    while let Some(at) = outputs.next_index() {
        let mut accumulator: Vec<Value> = inits.iter().map(|init| Value::at(init, 0)).collect();
        for position in windows.positions(at) {
            let elements = inputs.iter().map(|input| Value::at(input, position));
            callee.call(accumulator.iter().copied().chain(elements), &mut results)?;
            accumulator.copy_from_slice(&results);
        }
        values.extend(accumulator);
    }
    collect(&values, inits, &dims)
}

/// Each source element goes to the element that its window selects, combined by `scatter`.
pub(super) fn select_and_scatter(
    evaluator: Evaluator<'_>,
    op: &Op,
    operands: &Operands,
) -> Result<Array, EvalError> {
    let Op::SelectAndScatter {
        window,
        select,
        scatter,
    } = op
    else {
        return Err(EvalError::unsupported(op, None));
    };
    let (x, source, init) = (operands.array(0)?, operands.array(1)?, operands.array(2)?);
    let fits = source.num_dims() == x.num_dims()
        && init.num_dims() == 0
        && init.element_type() == source.element_type();
    ensure(
        fits,
        "the source or the initial value does not fit the operand",
    )?;
    let windows = Windows::new(window.as_ref(), x)?;
    let mut select = Callee::new(evaluator, *select, 2)?;
    let mut scatter = Callee::new(evaluator, *scatter, 2)?;
    let mut sums = vec![Value::at(init, 0); x.num_elements()];
    let mut sources = IndexIter::new(source.dims());
    let mut number = 0;
    while let Some(at) = sources.next_index() {
        let mut selected: Option<usize> = None;
        for candidate in windows.positions(at) {
            let keeps = match selected {
                Some(kept) => {
                    select.holds([Value::at(x, kept), Value::at(x, candidate)].into_iter())?
                }
                None => false,
            };
            if !keeps {
                selected = Some(candidate);
            }
        }
        if let Some(position) = selected {
            let arguments = [sums[position], Value::at(source, number)];
            scatter.call(arguments.into_iter(), &mut sums[position..=position])?;
        }
        number += 1;
    }
    let mut result = super::zeros(source.element_type(), x.dims())?;
    let ty = source.element_type();
    for (bytes, sum) in result.bytes_mut().chunks_exact_mut(ty.size()).zip(sums) {
        sum.write(ty, bytes);
    }
    Ok(result)
}
