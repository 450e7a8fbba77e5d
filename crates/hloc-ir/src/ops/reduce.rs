//! `reduce` and `map`: computations of scalars over arrays.

use super::check::{
    Called, DimNumbers, array, arrays, count, list, one_or_tuple, operand, reducer, require,
};
use super::reshape::without;
use crate::{ArrayShape, Broken, ComputationId, ElementType, Focus, Shape, ShapeContext};

/// The first half of the operands, which are combined, as arrays of the same dimensions, and the
/// types of the second half, which are scalars to begin with.
pub(super) fn inputs_and_inits<'a>(
    cx: &ShapeContext<'a>,
) -> Result<(Vec<&'a ArrayShape>, Vec<ElementType>), Broken> {
    let total = cx.operands.len();
    require(total.is_multiple_of(2) && total > 0, || {
        Broken::new(
            "reduce_c1",
            format!(
                "has {}, but takes as many initial values as arrays",
                count(total, "operand")
            ),
        )
    })?;
    let half = total / 2;
    let mut inputs = Vec::with_capacity(half);
    for index in 0..half {
        inputs.push(array(cx, index)?);
    }
    let first = inputs[0];
    if let Some(index) = (1..half).find(|index| !inputs[*index].same_dims(first)) {
        return Err(Broken::new(
            "reduce_c2",
            format!(
                "reduces {first} and {} together, whose dimensions differ",
                inputs[index]
            ),
        )
        .at(Focus::Operand(index))
        .with_other(Focus::Operand(0), first.to_string()));
    }
    let mut inits = Vec::with_capacity(half);
    for index in half..total {
        let shape = operand(cx, index)?;
        let scalar = shape.as_array().filter(|array| array.is_scalar());
        let scalar = scalar.ok_or_else(|| {
            Broken::new(
                "reduce_c3",
                format!("takes a scalar as initial value, but operand {index} has shape {shape}"),
            )
            .at(Focus::Operand(index))
        })?;
        inits.push(scalar.element_type);
    }
    Ok((inputs, inits))
}

/// The element types of arrays.
pub(super) fn element_types(shapes: &[&ArrayShape]) -> Vec<ElementType> {
    shapes.iter().map(|shape| shape.element_type).collect()
}

/// The inputs without the reduced dimensions, of the accumulators' types.
pub(super) fn reduce(
    cx: &ShapeContext<'_>,
    dimensions: &[i64],
    to_apply: ComputationId,
) -> Result<Shape, Broken> {
    let (inputs, inits) = inputs_and_inits(cx)?;
    let numbers = DimNumbers {
        attribute: "dimensions",
        numbers: dimensions,
        limit: inputs[0].num_dims(),
        of: "operand 0",
    };
    numbers.in_range("reduce_c4")?;
    numbers.unique("reduce_c5")?;
    let called = Called::of(cx, to_apply, "to_apply")?;
    reducer(&called, &inits, &element_types(&inputs))?;
    let dims = without(inputs[0], dimensions);
    let results = inits.iter().map(|ty| Shape::array(*ty, &dims));
    Ok(one_or_tuple(results.collect()))
}

/// The dimensions of the operands, of the type that the computation gives.
pub(super) fn map(
    cx: &ShapeContext<'_>,
    dimensions: &[i64],
    to_apply: ComputationId,
) -> Result<Shape, Broken> {
    let shapes = arrays(cx, 0)?;
    let first = shapes[0];
    if let Some(index) = (1..shapes.len()).find(|index| !shapes[*index].same_dims(first)) {
        return Err(Broken::new(
            "map_c1",
            format!(
                "maps {first} and {}, whose dimensions differ",
                shapes[index]
            ),
        )
        .at(Focus::Operand(index))
        .with_other(Focus::Operand(0), first.to_string()));
    }
    let all = dimensions.iter().copied().eq(0..first.num_dims() as i64);
    require(dimensions.is_empty() || all, || {
        Broken::new(
            "map_c2",
            format!(
                "declares dimensions={}, but maps over all {} of {first} in order",
                list(dimensions),
                count(first.num_dims(), "dimension")
            ),
        )
        .at(Focus::Attribute("dimensions"))
    })?;
    let called = Called::of(cx, to_apply, "to_apply")?;
    called.takes(shapes.len(), "map_c3")?;
    for (number, shape) in shapes.iter().enumerate() {
        called.parameter_is(number, &Shape::scalar(shape.element_type), "map_c4")?;
    }
    let result = called.result.as_array().filter(|array| array.is_scalar());
    let result = result.ok_or_else(|| {
        called.broken(
            "map_c5",
            format!(
                "needs a computation that gives a scalar, but `{}` gives {}",
                called.name(),
                called.result
            ),
        )
    })?;
    Ok(Shape::array(result.element_type, &first.dims))
}
