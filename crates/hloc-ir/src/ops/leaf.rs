//! Ops that take no operands: `parameter`, `constant`, `iota`, `partition-id`, `replica-id`.

use super::check::{declared, declared_array, one_dimension, require};
use crate::{Broken, ElementType, Focus, Literal, Shape, ShapeContext};

/// The declared shape.
pub(super) fn parameter(cx: &ShapeContext<'_>, number: i64) -> Result<Shape, Broken> {
    require(number >= 0, || {
        Broken::new(
            "parameter_c1",
            format!("is parameter {number}, but numbers begin at 0"),
        )
    })?;
    declared(cx).cloned()
}

/// The literal's shape, which must be the declared one.
pub(super) fn constant(cx: &ShapeContext<'_>, literal: &Literal) -> Result<Shape, Broken> {
    let value = literal.shape();
    let Some(declared) = cx.declared else {
        return Ok(value);
    };
    require(declared.compatible(&value), || {
        Broken::new(
            "constant_c1",
            format!("declares {declared}, but its value has shape {value}"),
        )
        .at(Focus::Result)
    })?;
    Ok(declared.clone())
}

/// The declared shape, which needs the dimension that is counted along.
pub(super) fn iota(cx: &ShapeContext<'_>, iota_dimension: i64) -> Result<Shape, Broken> {
    let shape = declared_array(cx)?;
    require(!shape.is_scalar(), || {
        Broken::new(
            "iota_c1",
            format!("declares {shape}, but needs a dimension to count along"),
        )
        .at(Focus::Result)
        .with_help("an `iota` of no dimensions is the constant 0")
    })?;
    one_dimension(
        "iota_dimension",
        iota_dimension,
        (shape.num_dims(), "the result"),
        "iota_c2",
    )?;
    require(!shape.element_type.is_predicate(), || {
        Broken::new(
            "iota_c3",
            format!("declares {shape}, but counts in integer, float or complex elements"),
        )
        .at(Focus::Result)
    })?;
    Ok(Shape::Array(shape.clone()))
}

/// `partition-id` and `replica-id`.
pub(super) fn device_number() -> Shape {
    Shape::scalar(ElementType::U32)
}
