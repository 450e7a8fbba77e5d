//! Ops that keep every element: `reshape`, `transpose`, `reverse`, `bitcast`, `copy`, `dynamic-reshape`.

use super::check::{
    DimNumbers, array, count, declared, declared_array, list, one_dimension, operand, require,
};
use crate::{ArrayShape, Broken, Dimensions, ElementType, Focus, Shape, ShapeContext};

/// The declared shape, which must have the operand's element type and count.
pub(super) fn reshape(
    cx: &ShapeContext<'_>,
    inferred_dimension: Option<i64>,
) -> Result<Shape, Broken> {
    let from = array(cx, 0)?;
    let to = declared_array(cx)?;
    require(from.element_type == to.element_type, || {
        Broken::new(
            "reshape_c1",
            format!("declares {to}, but its operand is {from}: `reshape` keeps the element type"),
        )
        .at(Focus::Result)
        .with_other(Focus::Operand(0), from.to_string())
    })?;
    let counts = (from.num_elements(), to.num_elements());
    require(counts.0.is_some() && counts.0 == counts.1, || {
        Broken::new("reshape_c2", uneven(from, to))
            .at(Focus::Result)
            .with_other(Focus::Operand(0), from.to_string())
    })?;
    if let Some(dim) = inferred_dimension.filter(|dim| *dim != -1) {
        one_dimension(
            "inferred_dimension",
            dim,
            (to.num_dims(), "the result"),
            "reshape_c3",
        )?;
    }
    Ok(Shape::Array(to.clone()))
}

fn uneven(from: &ArrayShape, to: &ArrayShape) -> String {
    let elements = |shape: &ArrayShape| match shape.num_elements() {
        Some(number) => count(usize::try_from(number).unwrap_or(usize::MAX), "element"),
        None => "no fixed number of elements".to_owned(),
    };
    format!(
        "declares {to} with {}, but its operand {from} has {}",
        elements(to),
        elements(from)
    )
}

/// Sizes for each dimension as scalars; the declared shape has their number of dimensions.
pub(super) fn dynamic_reshape(cx: &ShapeContext<'_>) -> Result<Shape, Broken> {
    let from = array(cx, 0)?;
    let to = declared_array(cx)?;
    require(
        from.element_type == to.element_type && from.num_elements() == to.num_elements(),
        || {
            Broken::new("dynamic_reshape_c1", uneven(from, to))
                .at(Focus::Result)
                .with_other(Focus::Operand(0), from.to_string())
        },
    )?;
    require(cx.operands.len() == to.num_dims() + 1, || {
        Broken::new(
            "dynamic_reshape_c2",
            format!(
                "takes {}, but its result {to} has {}",
                count(cx.operands.len() - 1, "size"),
                count(to.num_dims(), "dimension")
            ),
        )
    })?;
    for index in 1..cx.operands.len() {
        super::check::scalar_of(cx, index, ElementType::S32, "dynamic_reshape_c3")?;
    }
    Ok(Shape::Array(to.clone()))
}

/// Result dimension `i` has the size of operand dimension `dimensions[i]`.
pub(super) fn transpose(cx: &ShapeContext<'_>, dimensions: &[i64]) -> Result<Shape, Broken> {
    let from = array(cx, 0)?;
    require(dimensions.len() == from.num_dims(), || {
        Broken::new(
            "transpose_c1",
            format!(
                "declares dimensions={}, but its operand {from} has {}",
                list(dimensions),
                count(from.num_dims(), "dimension")
            ),
        )
        .at(Focus::Attribute("dimensions"))
        .with_other(Focus::Operand(0), from.to_string())
    })?;
    let numbers = DimNumbers {
        attribute: "dimensions",
        numbers: dimensions,
        limit: from.num_dims(),
        of: "the operand",
    };
    numbers.in_range("transpose_c2")?;
    numbers.unique("transpose_c3")?;
    let mut result = ArrayShape::new(from.element_type, &[]);
    for (at, dim) in dimensions.iter().map(|dim| *dim as usize).enumerate() {
        result.dims.push(from.dims[dim]);
        if from.is_dynamic(dim) {
            result.dynamic |= 1u64.checked_shl(at as u32).unwrap_or(0);
        }
    }
    Ok(Shape::Array(result))
}

/// The operand's shape.
pub(super) fn reverse(cx: &ShapeContext<'_>, dimensions: &[i64]) -> Result<Shape, Broken> {
    let from = array(cx, 0)?;
    let numbers = DimNumbers {
        attribute: "dimensions",
        numbers: dimensions,
        limit: from.num_dims(),
        of: "the operand",
    };
    numbers.in_range("reverse_c1")?;
    numbers.unique("reverse_c2")?;
    Ok(Shape::Array(from.with_element_type(from.element_type)))
}

/// The declared shape, of as many bits as the operand.
///
/// How the elements lie depends on both layouts; dense ones are compared here.
pub(super) fn bitcast(cx: &ShapeContext<'_>) -> Result<Shape, Broken> {
    let (from, to) = (operand(cx, 0)?, declared(cx)?);
    let (Some(from_array), Some(to_array)) = (from.as_array(), to.as_array()) else {
        return require(from.compatible(to), || {
            Broken::new(
                "bitcast_c1",
                format!("declares {to}, but its operand is {from}"),
            )
            .at(Focus::Result)
            .with_other(Focus::Operand(0), from.to_string())
        })
        .map(|()| to.clone());
    };
    let bits = |shape: &ArrayShape| {
        shape
            .num_elements()?
            .checked_mul(i64::from(shape.element_type.bits()))
    };
    require(bits(from_array) == bits(to_array), || {
        Broken::new(
            "bitcast_c2",
            format!("declares {to}, whose elements take another number of bits than those of its operand {from}"),
        )
        .at(Focus::Result)
        .with_other(Focus::Operand(0), from.to_string())
    })?;
    Ok(to.clone())
}

/// The shape of operand 0, whatever it is.
pub(super) fn same_as_operand(cx: &ShapeContext<'_>) -> Result<Shape, Broken> {
    operand(cx, 0).cloned()
}

/// Dimensions of `shape` without those listed in the (sorted or not) `removed`.
pub(super) fn without(shape: &ArrayShape, removed: &[i64]) -> Dimensions {
    let mut gone = vec![false; shape.num_dims()];
    for &dim in removed {
        if let Some(gone) = usize::try_from(dim).ok().and_then(|at| gone.get_mut(at)) {
            *gone = true;
        }
    }
    let kept = shape.dims.iter().zip(&gone).filter(|(_, gone)| !**gone);
    kept.map(|(size, _)| *size).collect()
}
