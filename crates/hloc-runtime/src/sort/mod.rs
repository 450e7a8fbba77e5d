//! `sort` and `topk`: rows of arrays put in order.
//!
//! A row is everything along one dimension. Its elements' keys become unsigned numbers whose order is
//! the order asked for ([`keys`]); numbers that fit are packed with the element's place and sorted by
//! the standard library, others and incomparable ones are merged ([`merge`]). Orders that are no keys
//! are asked from a kernel ([`comparator`]).

mod comparator;
mod keys;
mod merge;
mod order;
mod rows;
#[cfg(test)]
mod tests;
mod top_k;

use hloc_ir::ArrayShape;
use hloc_jit::CompiledKernels;
use hloc_loops::ir::Program;
use hloc_loops::routine::{RoutineCall, SortOrder};

use crate::RunError;
use crate::routine::{Routine, invalid, unsupported};
use comparator::ComparedSort;
use order::KeyedSort;
use rows::Rows;
pub(crate) use top_k::TopK;

/// Prepares a `sort`.
///
/// # Errors
/// [`RunError::UnsupportedCall`] for keys without an order, [`RunError::InvalidProgram`] for arrays of
/// different dimensions.
pub(crate) fn plan(
    call: &RoutineCall,
    dimension: usize,
    order: &SortOrder,
    program: &Program,
    kernels: &CompiledKernels,
) -> Result<Box<dyn Routine>, RunError> {
    let first = call.outputs.first();
    let first = first.ok_or_else(|| invalid("a sort has no arrays"))?;
    let all = call.inputs.iter().chain(&call.outputs);
    let num_keys = match order {
        SortOrder::Keys(keys) => keys.len(),
        SortOrder::Comparator(_) => 0,
    };
    let arrays = call.inputs.get(num_keys..).unwrap_or_default();
    let types = |shapes: &[ArrayShape]| -> Vec<_> {
        shapes.iter().map(|shape| shape.element_type).collect()
    };
    let fits = all.clone().all(|shape| shape.same_dims(first))
        && dimension < first.dims.len()
        && types(arrays) == types(&call.outputs);
    if !fits {
        return Err(invalid("the arrays of a sort do not go together"));
    }
    let rows = Rows::new(&first.dims, dimension);
    let sizes = call.outputs.iter().map(|shape| shape.element_type.size());
    let sizes: Box<[usize]> = sizes.collect();
    match order {
        SortOrder::Keys(keys) => {
            let keyed = KeyedSort::new(rows, keys, call, sizes);
            Ok(Box::new(keyed.ok_or_else(|| unsupported(call))?))
        }
        SortOrder::Comparator(kernel) => Ok(Box::new(ComparedSort::new(
            rows,
            sizes,
            &call.outputs,
            *kernel,
            program,
            kernels,
        )?)),
    }
}
