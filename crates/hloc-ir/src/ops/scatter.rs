//! `scatter`: updates combined into an array at places that an index array lists.

use super::check::{Called, DimNumbers, array, count, list, one_or_tuple, reducer, require};
use super::gather::{Batching, IndexBatch, IndexMap, disjoint, index_batch, integer_indices};
use super::reduce::element_types;
use crate::{ArrayShape, Broken, ComputationId, Focus, Shape, ShapeContext};

/// The dimension numbers of a scatter.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScatterNumbers<'a> {
    /// Update dimensions that hold the windows.
    pub(super) update_window_dims: &'a [i64],
    /// Operand dimensions in which a window has size 1 and the update no dimension.
    pub(super) inserted_window_dims: &'a [i64],
    /// The operand dimension of each part of an index vector.
    pub(super) to_operand_dims: &'a [i64],
    /// Operand dimensions that run along with index dimensions.
    pub(super) input_batching: &'a [i64],
    /// The index dimensions that these run along with.
    pub(super) indices_batching: &'a [i64],
    /// The index dimension that holds the vectors.
    pub(super) index_vector_dim: i64,
}

/// The shapes of the arrays that are written to.
pub(super) fn scatter(
    cx: &ShapeContext<'_>,
    numbers: ScatterNumbers<'_>,
    to_apply: ComputationId,
) -> Result<Shape, Broken> {
    let total = cx.operands.len();
    require(total % 2 == 1, || {
        Broken::new(
            "scatter_c1",
            format!(
                "has {}, but takes arrays, one index array, and as many updates",
                count(total, "operand")
            ),
        )
    })?;
    let half = total / 2;
    let operands = alike(cx, 0..half)?;
    let updates = alike(cx, half + 1..total)?;
    let indices = array(cx, half)?;
    integer_indices(indices, half, "scatter_c3")?;
    let batch = index_batch(indices, numbers.index_vector_dim, "scatter_c4")?;
    let operand = operands[0];
    check_window_dims(operand, updates[0], numbers)?;
    IndexMap {
        attribute: "scatter_dims_to_operand_dims",
        numbers: numbers.to_operand_dims,
        batching: ("input_batching_dims", numbers.input_batching),
        labels: ["scatter_c8", "scatter_c9", "scatter_c10", "scatter_c11"],
    }
    .check(operand, &batch)?;
    Batching {
        operand,
        indices,
        operand_dims: ("input_batching_dims", numbers.input_batching),
        indices_dims: ("scatter_indices_batching_dims", numbers.indices_batching),
        index_vector_dim: numbers.index_vector_dim,
        labels: ["scatter_c12", "scatter_c13", "scatter_c14"],
    }
    .check()?;
    check_updates(operand, updates[0], &batch, numbers, half + 1)?;
    let called = Called::of(cx, to_apply, "to_apply")?;
    reducer(&called, &element_types(&operands), &element_types(&updates))?;
    let results = operands
        .iter()
        .map(|shape| Shape::Array(shape.with_element_type(shape.element_type)));
    Ok(one_or_tuple(results.collect()))
}

/// These operands, which must have the same dimensions.
fn alike<'a>(
    cx: &ShapeContext<'a>,
    range: std::ops::Range<usize>,
) -> Result<Vec<&'a ArrayShape>, Broken> {
    let first = range.start;
    let mut shapes: Vec<&ArrayShape> = Vec::with_capacity(range.len());
    for index in range {
        let shape = array(cx, index)?;
        let reference = *shapes.first().unwrap_or(&shape);
        require(shape.same_dims(reference), || {
            Broken::new(
                "scatter_c2",
                format!("works on {reference} and {shape} together, whose dimensions differ"),
            )
            .at(Focus::Operand(index))
            .with_other(Focus::Operand(first), reference.to_string())
        })?;
        shapes.push(shape);
    }
    Ok(shapes)
}

fn check_window_dims(
    operand: &ArrayShape,
    updates: &ArrayShape,
    numbers: ScatterNumbers<'_>,
) -> Result<(), Broken> {
    for (attribute, dims, shape, of) in [
        (
            "update_window_dims",
            numbers.update_window_dims,
            updates,
            "the update",
        ),
        (
            "inserted_window_dims",
            numbers.inserted_window_dims,
            operand,
            "operand 0",
        ),
        (
            "input_batching_dims",
            numbers.input_batching,
            operand,
            "operand 0",
        ),
    ] {
        let dims = DimNumbers {
            attribute,
            numbers: dims,
            limit: shape.num_dims(),
            of,
        };
        dims.in_range("scatter_c5")?;
        dims.increasing("scatter_c6")?;
    }
    disjoint(
        ("inserted_window_dims", numbers.inserted_window_dims),
        ("input_batching_dims", numbers.input_batching),
        "scatter_c11",
    )?;
    let accounted = numbers.update_window_dims.len()
        + numbers.inserted_window_dims.len()
        + numbers.input_batching.len();
    require(accounted == operand.num_dims(), || {
        Broken::new(
            "scatter_c7",
            format!(
                "accounts for {} of its operand {operand} in update_window_dims={}, inserted_window_dims={} and input_batching_dims={}",
                count(accounted, "dimension"),
                list(numbers.update_window_dims),
                list(numbers.inserted_window_dims),
                list(numbers.input_batching),
            ),
        )
        .at(Focus::Attribute("update_window_dims"))
        .with_other(Focus::Operand(0), operand.to_string())
    })
}

/// Window dimensions fit in the operand, the others are those of the index array.
fn check_updates(
    operand: &ArrayShape,
    updates: &ArrayShape,
    batch: &IndexBatch,
    numbers: ScatterNumbers<'_>,
    index: usize,
) -> Result<(), Broken> {
    let windows = numbers.update_window_dims.len();
    let broken = |label, message| {
        Broken::new(label, message)
            .at(Focus::Operand(index))
            .with_other(Focus::Operand(0), operand.to_string())
    };
    require(updates.num_dims() == windows + batch.dims.len(), || {
        broken(
            "scatter_c15",
            format!(
                "takes updates {updates}, but {} and {} make {}",
                count(windows, "window dimension"),
                count(batch.dims.len(), "index dimension"),
                windows + batch.dims.len()
            ),
        )
    })?;
    let inserted = |dim: &i64| {
        numbers.inserted_window_dims.contains(dim) || numbers.input_batching.contains(dim)
    };
    let mut window_limits = (0..operand.num_dims() as i64).filter(|dim| !inserted(dim));
    let mut batches = batch.dims.iter();
    for (dim, &size) in updates.dims.iter().enumerate() {
        if numbers.update_window_dims.contains(&(dim as i64)) {
            let Some(at) = window_limits.next() else {
                continue;
            };
            let limit = operand.dims[at as usize];
            require(size <= limit, || {
                broken(
                    "scatter_c16",
                    format!(
                        "writes windows of {updates} into {operand}: size {size} of update dimension {dim} does not fit in operand dimension {at} of size {limit}"
                    ),
                )
            })?;
        } else if let Some(&wanted) = batches.next() {
            require(size == wanted, || {
                broken(
                    "scatter_c17",
                    format!(
                        "takes updates {updates}, whose dimension {dim} must have size {wanted} like the indices"
                    ),
                )
            })?;
        }
    }
    Ok(())
}
