//! `sort` and `topk`.

use super::check::{Called, DimNumbers, array, arrays, list, one_or_tuple, require};
use crate::{Broken, ComputationId, ElementType, Focus, Shape, ShapeContext};

/// The shapes of the operands.
pub(super) fn sort(
    cx: &ShapeContext<'_>,
    dimensions: &[i64],
    to_apply: ComputationId,
) -> Result<Shape, Broken> {
    let shapes = arrays(cx, 0)?;
    let first = shapes[0];
    if let Some(index) = (1..shapes.len()).find(|index| !shapes[*index].same_dims(first)) {
        return Err(Broken::new(
            "sort_c1",
            format!(
                "sorts {first} and {} together, whose dimensions differ",
                shapes[index]
            ),
        )
        .at(Focus::Operand(index))
        .with_other(Focus::Operand(0), first.to_string()));
    }
    require(dimensions.len() == 1, || {
        Broken::new(
            "sort_c2",
            format!(
                "declares dimensions={}, but sorts along one dimension",
                list(dimensions)
            ),
        )
        .at(Focus::Attribute("dimensions"))
    })?;
    DimNumbers {
        attribute: "dimensions",
        numbers: dimensions,
        limit: first.num_dims(),
        of: "operand 0",
    }
    .in_range("sort_c2")?;
    let comparator = Called::of(cx, to_apply, "to_apply")?;
    comparator.takes(2 * shapes.len(), "sort_c3")?;
    for (number, shape) in shapes.iter().enumerate() {
        let element = Shape::scalar(shape.element_type);
        comparator.parameter_is(2 * number, &element, "sort_c3")?;
        comparator.parameter_is(2 * number + 1, &element, "sort_c3")?;
    }
    let wanted = Shape::scalar(ElementType::Pred);
    require(comparator.result.compatible(&wanted), || {
        comparator.broken(
            "sort_c4",
            format!(
                "needs a comparator that gives {wanted}, but `{}` gives {}",
                comparator.name(),
                comparator.result
            ),
        )
    })?;
    Ok(one_or_tuple(
        cx.operands.iter().map(|shape| (*shape).clone()).collect(),
    ))
}

/// Values and s32 indices, `k` along the last dimension.
pub(super) fn topk(cx: &ShapeContext<'_>, k: i64) -> Result<Shape, Broken> {
    let shape = array(cx, 0)?;
    let last = shape.dims.last().copied();
    require(last.is_some_and(|last| (0..=last).contains(&k)), || {
        Broken::new(
            "topk_c1",
            format!("takes {k} elements of the last dimension of {shape}"),
        )
        .at(Focus::Attribute("k"))
        .with_other(Focus::Operand(0), shape.to_string())
    })?;
    let mut values = shape.with_element_type(shape.element_type);
    if let Some(last) = values.dims.last_mut() {
        *last = k;
    }
    let indices = values.with_element_type(ElementType::S32);
    Ok(Shape::Tuple(vec![
        Shape::Array(values),
        Shape::Array(indices),
    ]))
}
