//! `slice`, `dynamic-slice` and `dynamic-update-slice`.

use super::check::{array, count, list, operand, require};
use crate::attr::SliceDim;
use crate::{ArrayShape, Broken, Focus, Shape, ShapeContext};

/// Every `stride`-th element from `start` up to, not including, `limit`.
pub(super) fn slice(cx: &ShapeContext<'_>, dims: &[SliceDim]) -> Result<Shape, Broken> {
    let from = array(cx, 0)?;
    require(dims.len() == from.num_dims(), || {
        Broken::new(
            "slice_c1",
            format!(
                "declares {} in slice, but its operand {from} has {}",
                count(dims.len(), "range"),
                count(from.num_dims(), "dimension")
            ),
        )
        .at(Focus::Attribute("slice"))
        .with_other(Focus::Operand(0), from.to_string())
    })?;
    let mut result = ArrayShape::new(from.element_type, &[]);
    for (dim, (range, &size)) in dims.iter().zip(&from.dims).enumerate() {
        let fits = 0 <= range.start && range.start <= range.limit && range.limit <= size;
        require(fits, || out_of_bounds(from, dim, *range, size))?;
        require(range.stride > 0, || {
            Broken::new(
                "slice_c3",
                format!(
                    "declares stride {} in dimension {dim}, but strides are positive",
                    range.stride
                ),
            )
            .at(Focus::Attribute("slice"))
            .with_help("use `reverse` to turn the order around")
        })?;
        // 0 <= limit - start, so neither step can overflow.
        let span = range.limit - range.start;
        result.dims.push(if span == 0 {
            0
        } else {
            (span - 1) / range.stride + 1
        });
    }
    Ok(Shape::Array(result))
}

fn out_of_bounds(from: &ArrayShape, dim: usize, range: SliceDim, size: i64) -> Broken {
    Broken::new(
        "slice_c2",
        format!(
            "takes {} up to {} of dimension {dim}, which has size {size}: 0 <= start <= limit <= size must hold",
            range.start, range.limit
        ),
    )
    .at(Focus::Attribute("slice"))
    .with_other(Focus::Operand(0), from.to_string())
}

/// The start operands from `first` on: one integer scalar per dimension, all of one type.
fn starts(
    cx: &ShapeContext<'_>,
    first: usize,
    from: &ArrayShape,
    labels: [&'static str; 2],
) -> Result<(), Broken> {
    let given = cx.operands.len() - first;
    require(given == from.num_dims(), || {
        Broken::new(
            labels[0],
            format!(
                "takes {}, but its operand {from} has {}",
                count(given, "start"),
                count(from.num_dims(), "dimension")
            ),
        )
        .with_help("pass one integer scalar per dimension")
    })?;
    let mut reference = None;
    for index in first..cx.operands.len() {
        let shape = operand(cx, index)?;
        let ty = shape.as_array().filter(|array| array.is_scalar());
        let ty = ty
            .map(|array| array.element_type)
            .filter(|ty| ty.is_integer());
        let same = ty.is_some() && reference.is_none_or(|reference| ty == Some(reference));
        require(same, || {
            let wanted = match reference {
                Some(ty) => format!("{ty}[] like the starts before"),
                None => "an integer scalar".to_owned(),
            };
            Broken::new(
                labels[1],
                format!("takes {wanted} as start operand {index}, which has shape {shape}"),
            )
            .at(Focus::Operand(index))
        })?;
        reference = ty;
    }
    Ok(())
}

/// A block of the given sizes.
pub(super) fn dynamic_slice(cx: &ShapeContext<'_>, sizes: &[i64]) -> Result<Shape, Broken> {
    let from = array(cx, 0)?;
    starts(cx, 1, from, ["dynamic_slice_c1", "dynamic_slice_c2"])?;
    require(sizes.len() == from.num_dims(), || {
        Broken::new(
            "dynamic_slice_c3",
            format!(
                "declares dynamic_slice_sizes={}, but its operand {from} has {}",
                list(sizes),
                count(from.num_dims(), "dimension")
            ),
        )
        .at(Focus::Attribute("dynamic_slice_sizes"))
        .with_other(Focus::Operand(0), from.to_string())
    })?;
    for (dim, (&size, &limit)) in sizes.iter().zip(&from.dims).enumerate() {
        require((0..=limit).contains(&size), || {
            Broken::new(
                "dynamic_slice_c4",
                format!("takes {size} elements of dimension {dim}, which has size {limit}"),
            )
            .at(Focus::Attribute("dynamic_slice_sizes"))
            .with_other(Focus::Operand(0), from.to_string())
        })?;
    }
    Ok(Shape::array(from.element_type, sizes))
}

/// The shape of the array that is updated.
pub(super) fn dynamic_update_slice(cx: &ShapeContext<'_>) -> Result<Shape, Broken> {
    let (into, update) = (array(cx, 0)?, array(cx, 1)?);
    require(into.element_type == update.element_type, || {
        Broken::new(
            "dynamic_update_slice_c3",
            format!("writes {update} into {into}: the element types differ"),
        )
        .at(Focus::Operand(1))
        .with_other(Focus::Operand(0), into.to_string())
    })?;
    let fits = into.num_dims() == update.num_dims()
        && into
            .dims
            .iter()
            .zip(&update.dims)
            .all(|(size, part)| part <= size);
    require(fits, || {
        Broken::new(
            "dynamic_update_slice_c4",
            format!("writes {update} into {into}, which does not hold it"),
        )
        .at(Focus::Operand(1))
        .with_other(Focus::Operand(0), into.to_string())
        .with_help("the update has as many dimensions as operand 0, none larger")
    })?;
    let labels = ["dynamic_update_slice_c1", "dynamic_update_slice_c2"];
    starts(cx, 2, into, labels)?;
    Ok(Shape::Array(into.with_element_type(into.element_type)))
}
