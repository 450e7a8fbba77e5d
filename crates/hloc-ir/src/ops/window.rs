//! Windows: `reduce-window`, `select-and-scatter`, and the sizes that windows give.

use super::check::{Called, array, count, one_or_tuple, reducer, require, scalar_of};
use super::reduce::{element_types, inputs_and_inits};
use crate::attr::{Window, WindowDim};
use crate::{Broken, ComputationId, Dimensions, ElementType, Focus, Shape, ShapeContext};

fn broken(label: &'static str, message: String) -> Broken {
    Broken::new(label, message).at(Focus::Attribute("window"))
}

/// Size `n` with distances of `dilation`: 0 stays 0, 3 at 2 gives 5.
fn dilated(size: i64, dilation: i64) -> Option<i64> {
    if size == 0 {
        return Some(0);
    }
    size.checked_sub(1)?.checked_mul(dilation)?.checked_add(1)
}

/// How many windows fit along a dimension of `size`: 5 elements, windows of 3 at stride 2 give 2.
///
/// # Errors
/// [`Broken`] with `window_c2` to `window_c5`.
pub fn window_count(dim: usize, size: i64, window: &WindowDim) -> Result<i64, Broken> {
    require(window.size > 0, || {
        broken(
            "window_c2",
            format!(
                "declares a window of size {} in dimension {dim}, but sizes are positive",
                window.size
            ),
        )
    })?;
    require(window.stride > 0, || {
        broken(
            "window_c3",
            format!(
                "declares stride {} in window dimension {dim}, but strides are positive",
                window.stride
            ),
        )
    })?;
    require(
        window.base_dilation >= 1 && window.window_dilation >= 1,
        || {
            broken(
                "window_c4",
                format!(
                    "declares lhs_dilate {} and rhs_dilate {} in window dimension {dim}, but dilations are at least 1",
                    window.base_dilation, window.window_dilation
                ),
            )
        },
    )?;
    let padded = dilated(size, window.base_dilation)
        .and_then(|base| base.checked_add(window.pad_low))
        .and_then(|base| base.checked_add(window.pad_high))
        .filter(|padded| *padded >= 0);
    let spread = dilated(window.size, window.window_dilation);
    let (Some(padded), Some(spread)) = (padded, spread) else {
        return Err(broken(
            "window_c5",
            format!(
                "pads dimension {dim} of size {size} by {}_{}, which leaves a negative or too large size",
                window.pad_low, window.pad_high
            ),
        ));
    };
    // 1 <= spread <= padded, so the sum cannot overflow.
    Ok(if spread > padded {
        0
    } else {
        (padded - spread) / window.stride + 1
    })
}

/// How many windows fit along each dimension.
pub(super) fn window_dims(dims: &[i64], window: Option<&Window>) -> Result<Dimensions, Broken> {
    let entries = window.map_or(&[][..], |window| &window.0);
    require(entries.len() == dims.len(), || {
        broken(
            "window_c1",
            format!(
                "declares a window of {} for an array of {}",
                count(entries.len(), "dimension"),
                count(dims.len(), "dimension")
            ),
        )
    })?;
    let pairs = dims.iter().zip(entries).enumerate();
    pairs
        .map(|(dim, (size, window))| window_count(dim, *size, window))
        .collect()
}

/// One element per window, of the accumulators' types.
pub(super) fn reduce_window(
    cx: &ShapeContext<'_>,
    window: Option<&Window>,
    to_apply: ComputationId,
) -> Result<Shape, Broken> {
    let (inputs, inits) = inputs_and_inits(cx)?;
    let dims = window_dims(&inputs[0].dims, window)?;
    let called = Called::of(cx, to_apply, "to_apply")?;
    reducer(&called, &inits, &element_types(&inputs))?;
    let results = inits.iter().map(|ty| Shape::array(*ty, &dims));
    Ok(one_or_tuple(results.collect()))
}

/// The operand's shape.
pub(super) fn select_and_scatter(
    cx: &ShapeContext<'_>,
    window: Option<&Window>,
    select: ComputationId,
    scatter: ComputationId,
) -> Result<Shape, Broken> {
    let (operand, source) = (array(cx, 0)?, array(cx, 1)?);
    scalar_of(cx, 2, operand.element_type, "select_and_scatter_c1")?;
    let dims = window_dims(&operand.dims, window)?;
    require(dims == source.dims, || {
        let wanted = crate::ArrayShape::new(source.element_type, &dims);
        Broken::new(
            "select_and_scatter_c2",
            format!("takes source {source}, but the windows of {operand} make {wanted}"),
        )
        .at(Focus::Operand(1))
        .with_other(Focus::Operand(0), operand.to_string())
    })?;
    let select = Called::of(cx, select, "select")?;
    select.takes(2, "select_and_scatter_c3")?;
    let element = Shape::scalar(operand.element_type);
    select.parameter_is(0, &element, "select_and_scatter_c3")?;
    select.parameter_is(1, &element, "select_and_scatter_c3")?;
    let wanted = Shape::scalar(ElementType::Pred);
    require(select.result.compatible(&wanted), || {
        select.broken(
            "select_and_scatter_c4",
            format!(
                "needs a selection that gives {wanted}, but `{}` gives {}",
                select.name(),
                select.result
            ),
        )
    })?;
    let scatter = Called::of(cx, scatter, "scatter")?;
    reducer(&scatter, &[operand.element_type], &[source.element_type])?;
    Ok(Shape::Array(
        operand.with_element_type(operand.element_type),
    ))
}
