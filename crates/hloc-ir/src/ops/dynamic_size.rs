//! Sizes known at run time: `get-dimension-size` and `set-dimension-size`.

use super::check::{DimNumbers, array, list, require, scalar_of};
use crate::{Broken, ElementType, Focus, Shape, ShapeContext};

fn one_dimension(
    cx: &ShapeContext<'_>,
    dimensions: &[i64],
    label: &'static str,
) -> Result<usize, Broken> {
    let shape = array(cx, 0)?;
    require(dimensions.len() == 1, || {
        Broken::new(
            label,
            format!("declares dimensions={}, but takes one", list(dimensions)),
        )
        .at(Focus::Attribute("dimensions"))
    })?;
    DimNumbers {
        attribute: "dimensions",
        numbers: dimensions,
        limit: shape.num_dims(),
        of: "operand 0",
    }
    .in_range(label)?;
    let dim = dimensions[0] as usize;
    require(i32::try_from(shape.dims[dim]).is_ok(), || {
        Broken::new(
            label,
            format!("counts dimension {dim} of {shape} in s32, where it does not fit"),
        )
        .at(Focus::Operand(0))
    })?;
    Ok(dim)
}

/// The size of one dimension.
pub(super) fn get(cx: &ShapeContext<'_>, dimensions: &[i64]) -> Result<Shape, Broken> {
    one_dimension(cx, dimensions, "get_dimension_size_c1")?;
    Ok(Shape::scalar(ElementType::S32))
}

/// The operand with one dimension dynamic.
pub(super) fn set(cx: &ShapeContext<'_>, dimensions: &[i64]) -> Result<Shape, Broken> {
    let dim = one_dimension(cx, dimensions, "set_dimension_size_c1")?;
    scalar_of(cx, 1, ElementType::S32, "set_dimension_size_c2")?;
    let shape = array(cx, 0)?;
    let mut result = shape.with_element_type(shape.element_type);
    result.dynamic |= 1u64.checked_shl(dim as u32).unwrap_or(0);
    Ok(Shape::Array(result))
}
