//! `broadcast`: places operand dimensions in a larger array and repeats along the rest.

use super::check::{DimNumbers, array, count, declared_array, list, require};
use crate::{ArrayShape, Broken, Focus, Shape, ShapeContext};

/// The label of the rule that `--permit-unsorted-broadcast` lifts; it is checked last.
pub const UNSORTED: &str = "broadcast_c6";

/// The declared shape, once every operand dimension has its place in it.
pub(super) fn broadcast(cx: &ShapeContext<'_>, dimensions: &[i64]) -> Result<Shape, Broken> {
    let from = array(cx, 0)?;
    let to = declared_array(cx)?;
    require(from.element_type == to.element_type, || {
        Broken::new(
            "broadcast_c1",
            format!("declares {to}, but its operand is {from}: `broadcast` keeps the element type"),
        )
        .at(Focus::Result)
        .with_other(Focus::Operand(0), from.to_string())
        .with_help("convert before or after the broadcast")
    })?;
    require(dimensions.len() == from.num_dims(), || {
        Broken::new(
            "broadcast_c2",
            format!(
                "declares dimensions={}, but its operand {from} has {}",
                list(dimensions),
                count(from.num_dims(), "dimension")
            ),
        )
        .at(Focus::Attribute("dimensions"))
        .with_other(Focus::Operand(0), from.to_string())
        .with_help("list the result dimension of each operand dimension")
    })?;
    let numbers = DimNumbers {
        attribute: "dimensions",
        numbers: dimensions,
        limit: to.num_dims(),
        of: "the result",
    };
    numbers.in_range("broadcast_c3")?;
    numbers.unique("broadcast_c5")?;
    sizes_agree(from, to, dimensions)?;
    numbers
        .increasing(UNSORTED)
        .map_err(|broken| broken.with_help(transposed(from, dimensions)))?;
    Ok(Shape::Array(to.clone()))
}

fn sizes_agree(from: &ArrayShape, to: &ArrayShape, dimensions: &[i64]) -> Result<(), Broken> {
    for (dim, &at) in dimensions.iter().enumerate() {
        let (have, want) = (from.dims[dim], to.dims[at as usize]);
        if have == want {
            continue;
        }
        let help = if have == 1 {
            format!(
                "`broadcast` does not grow a size of 1: reshape the operand to drop dimension {dim}, then broadcast"
            )
        } else {
            format!("dimension {at} of the result must be {have}, or reshape the operand first")
        };
        return Err(Broken::new(
            "broadcast_c4",
            format!(
                "declares dimensions={}, but operand dimension {dim} has size {have} and result dimension {at} has size {want}",
                list(dimensions)
            ),
        )
        .at(Focus::Result)
        .with_other(Focus::Operand(0), from.to_string())
        .with_help(help));
    }
    Ok(())
}

/// The transpose and broadcast that say the same as unsorted unique dimensions.
fn transposed(from: &ArrayShape, dimensions: &[i64]) -> String {
    let (permutation, sorted) = sort_dimensions(dimensions);
    let dims: Vec<i64> = permutation
        .iter()
        .map(|dim| from.dims[*dim as usize])
        .collect();
    format!(
        "say the same with t = {} transpose(operand), dimensions={} and broadcast(t), dimensions={}",
        ArrayShape::new(from.element_type, &dims),
        list(&permutation),
        list(&sorted)
    )
}

/// The permutation of the operand's dimensions that sorts `dimensions`, and them sorted: a broadcast
/// with `{1,0}` is `transpose` by `{1,0}`, then `broadcast` with `{0,1}`.
pub fn sort_dimensions(dimensions: &[i64]) -> (Vec<i64>, Vec<i64>) {
    let mut permutation: Vec<i64> = (0..dimensions.len() as i64).collect();
    permutation.sort_by_key(|dim| dimensions[*dim as usize]);
    let sorted = permutation
        .iter()
        .map(|dim| dimensions[*dim as usize])
        .collect();
    (permutation, sorted)
}
