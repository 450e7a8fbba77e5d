//! Products: `dot`, `ragged-dot`, `scaled-dot`.

use super::check::{DimNumbers, array, arrays, count, list, require};
use super::reshape::without;
use crate::{ArrayShape, Broken, Dimensions, ElementType, Focus, Shape, ShapeContext};

/// The dimension numbers of a product.
#[derive(Clone, Copy, Debug)]
pub(super) struct DotNumbers<'a> {
    /// Batch dimensions of the left operand.
    pub(super) lhs_batch: &'a [i64],
    /// Contracting dimensions of the left operand.
    pub(super) lhs_contracting: &'a [i64],
    /// Batch dimensions of the right operand.
    pub(super) rhs_batch: &'a [i64],
    /// Contracting dimensions of the right operand.
    pub(super) rhs_contracting: &'a [i64],
}

/// Batch sizes, then the free sizes of the left operand, then those of the right.
pub(super) fn dot(cx: &ShapeContext<'_>, numbers: DotNumbers<'_>) -> Result<Shape, Broken> {
    let (lhs, rhs) = (array(cx, 0)?, array(cx, 1)?);
    check_numbers(lhs, rhs, numbers)?;
    let element_type = element_type(cx, lhs, rhs)?;
    Ok(Shape::Array(ArrayShape::new(
        element_type,
        &result_dims(lhs, rhs, numbers),
    )))
}

fn result_dims(lhs: &ArrayShape, rhs: &ArrayShape, numbers: DotNumbers<'_>) -> Dimensions {
    let batch = numbers.lhs_batch.iter().map(|dim| lhs.dims[*dim as usize]);
    let mut dims: Dimensions = batch.collect();
    dims.extend(without(
        lhs,
        &[numbers.lhs_batch, numbers.lhs_contracting].concat(),
    ));
    dims.extend(without(
        rhs,
        &[numbers.rhs_batch, numbers.rhs_contracting].concat(),
    ));
    dims
}

fn check_numbers(
    lhs: &ArrayShape,
    rhs: &ArrayShape,
    numbers: DotNumbers<'_>,
) -> Result<(), Broken> {
    one_side(
        lhs,
        "operand 0",
        ("lhs_batch_dims", numbers.lhs_batch),
        ("lhs_contracting_dims", numbers.lhs_contracting),
    )?;
    one_side(
        rhs,
        "operand 1",
        ("rhs_batch_dims", numbers.rhs_batch),
        ("rhs_contracting_dims", numbers.rhs_contracting),
    )?;
    pair(
        (lhs, "lhs_batch_dims", numbers.lhs_batch),
        (rhs, "rhs_batch_dims", numbers.rhs_batch),
    )?;
    pair(
        (lhs, "lhs_contracting_dims", numbers.lhs_contracting),
        (rhs, "rhs_contracting_dims", numbers.rhs_contracting),
    )
}

fn one_side(
    shape: &ArrayShape,
    of: &'static str,
    batch: (&'static str, &[i64]),
    contracting: (&'static str, &[i64]),
) -> Result<(), Broken> {
    for (attribute, numbers) in [batch, contracting] {
        let numbers = DimNumbers {
            attribute,
            numbers,
            limit: shape.num_dims(),
            of,
        };
        numbers.in_range("dot_c1")?;
        numbers.unique("dot_c2")?;
    }
    // Both lists are unique and in range, so this is bounded by the square of the number of dimensions.
    let shared = batch.1.iter().find(|dim| contracting.1.contains(dim));
    shared.map_or(Ok(()), |dim| {
        Err(Broken::new(
            "dot_c3",
            format!(
                "uses dimension {dim} of {of} both in {} and in {}",
                batch.0, contracting.0
            ),
        )
        .at(Focus::Attribute(contracting.0))
        .with_other(Focus::Attribute(batch.0), format!("also names {dim}")))
    })
}

fn pair(
    (lhs, lhs_name, lhs_dims): (&ArrayShape, &'static str, &[i64]),
    (rhs, rhs_name, rhs_dims): (&ArrayShape, &'static str, &[i64]),
) -> Result<(), Broken> {
    require(lhs_dims.len() == rhs_dims.len(), || {
        Broken::new(
            "dot_c4",
            format!(
                "declares {lhs_name}={} and {rhs_name}={}, which pair {} with {}",
                list(lhs_dims),
                list(rhs_dims),
                count(lhs_dims.len(), "dimension"),
                count(rhs_dims.len(), "dimension"),
            ),
        )
        .at(Focus::Attribute(rhs_name))
    })?;
    for (&left, &right) in lhs_dims.iter().zip(rhs_dims) {
        let sizes = (lhs.dims[left as usize], rhs.dims[right as usize]);
        require(sizes.0 == sizes.1, || {
            Broken::new(
                "dot_c5",
                format!(
                    "pairs dimension {left} of {lhs} with dimension {right} of {rhs}, whose sizes are {} and {}",
                    sizes.0, sizes.1
                ),
            )
            .at(Focus::Operand(1))
            .with_other(Focus::Operand(0), lhs.to_string())
        })?;
    }
    Ok(())
}

/// Operands of one type; the declared result may be wider, or a float where the operands are integers.
fn element_type(
    cx: &ShapeContext<'_>,
    lhs: &ArrayShape,
    rhs: &ArrayShape,
) -> Result<ElementType, Broken> {
    let both_small_floats = [lhs, rhs]
        .iter()
        .all(|shape| shape.element_type.is_float() && shape.element_type.bits() <= 8);
    require(
        lhs.element_type == rhs.element_type || both_small_floats,
        || {
            Broken::new(
                "dot_c6",
                format!("multiplies {lhs} by {rhs}, whose element types differ"),
            )
            .at(Focus::Operand(1))
            .with_other(Focus::Operand(0), lhs.to_string())
            .with_help("convert one operand first")
        },
    )?;
    let Some(declared) = cx.declared.and_then(Shape::as_array) else {
        return Ok(lhs.element_type);
    };
    let (from, to) = (lhs.element_type, declared.element_type);
    let widens = from == to
        || (from.class() == to.class() && to.bits() >= from.bits())
        || (from.is_integer() && to.is_integer() && to.bits() > from.bits())
        || (from.is_integer() && to.is_float());
    require(widens, || {
        Broken::new(
            "dot_c7",
            format!("declares {declared} for operands of {from}: the result has the same type or a wider one of its kind"),
        )
        .at(Focus::Result)
        .with_other(Focus::Operand(0), lhs.to_string())
        .with_help("convert the result after the product")
    })?;
    Ok(to)
}

/// The declared shape; the dimension numbers must fit the first two operands.
pub(super) fn ragged_dot(
    cx: &ShapeContext<'_>,
    numbers: DotNumbers<'_>,
    lhs_ragged: &[i64],
    rhs_group: &[i64],
) -> Result<Shape, Broken> {
    let shapes = arrays(cx, 0)?;
    let (lhs, rhs) = (shapes[0], shapes[1]);
    check_numbers(lhs, rhs, numbers)?;
    require(shapes[2].element_type.is_integer(), || {
        Broken::new(
            "ragged_dot_c1",
            format!("takes integer group sizes, but operand 2 is {}", shapes[2]),
        )
        .at(Focus::Operand(2))
    })?;
    for (attribute, dims, shape, of) in [
        ("lhs_ragged_dims", lhs_ragged, lhs, "operand 0"),
        ("rhs_group_dims", rhs_group, rhs, "operand 1"),
    ] {
        let numbers = DimNumbers {
            attribute,
            numbers: dims,
            limit: shape.num_dims(),
            of,
        };
        numbers.in_range("ragged_dot_c2")?;
        numbers.unique("ragged_dot_c3")?;
    }
    let dims = ragged_dims(&shapes, numbers, lhs_ragged, rhs_group)?;
    let declared = super::check::declared_array(cx)?;
    Ok(Shape::Array(ArrayShape::new(declared.element_type, &dims)))
}

/// Sizes of the result. A free ragged dimension goes with one group dimension on the right; a contracting
/// one gives one product for each group; a batch one changes nothing.
fn ragged_dims(
    shapes: &[&ArrayShape],
    numbers: DotNumbers<'_>,
    lhs_ragged: &[i64],
    rhs_group: &[i64],
) -> Result<Vec<i64>, Broken> {
    let (lhs, rhs, sizes) = (shapes[0], shapes[1], shapes[2]);
    let groups = sizes.dims.last().copied().unwrap_or(1);
    let wrong = |attribute, text: String| {
        Err(Broken::new("ragged_dot_c4", text).at(Focus::Attribute(attribute)))
    };
    let [ragged] = lhs_ragged else {
        return wrong(
            "lhs_ragged_dims",
            format!("has {} ragged dimensions, but needs one", lhs_ragged.len()),
        );
    };
    let contracts = numbers.lhs_contracting.contains(ragged);
    if contracts || numbers.lhs_batch.contains(ragged) {
        if !rhs_group.is_empty() {
            let text =
                format!("has group dimensions, but dimension {ragged} of operand 0 is no free one");
            return wrong("rhs_group_dims", text);
        }
        let mut dims = result_dims(lhs, rhs, numbers).to_vec();
        if contracts {
            dims.insert(0, groups);
        }
        return Ok(dims);
    }
    let [group] = rhs_group else {
        return wrong(
            "rhs_group_dims",
            format!("has {} group dimensions, but needs one", rhs_group.len()),
        );
    };
    if numbers.rhs_contracting.contains(group) || numbers.rhs_batch.contains(group) {
        let text = format!("has group dimension {group}, which is batch or contracting too");
        return wrong("rhs_group_dims", text);
    }
    let size = usize::try_from(*group)
        .ok()
        .and_then(|at| rhs.dims.get(at))
        .copied();
    if size != Some(groups) {
        let text =
            format!("has {groups} group sizes, but dimension {group} of {rhs} has another size");
        return wrong("rhs_group_dims", text);
    }
    // Each row of the left side meets one group, so that dimension is gone like a contracting one.
    let gone: Vec<i64> = numbers
        .rhs_contracting
        .iter()
        .chain([group])
        .copied()
        .collect();
    let without_group = DotNumbers {
        rhs_contracting: &gone,
        ..numbers
    };
    Ok(result_dims(lhs, rhs, without_group).to_vec())
}

/// As `dot` on the first two operands; the element type is the declared one.
pub(super) fn scaled_dot(cx: &ShapeContext<'_>, numbers: DotNumbers<'_>) -> Result<Shape, Broken> {
    let shapes = arrays(cx, 0)?;
    let (lhs, rhs) = (shapes[0], shapes[1]);
    check_numbers(lhs, rhs, numbers)?;
    for (index, (operand, scale)) in [(lhs, shapes[2]), (rhs, shapes[3])].into_iter().enumerate() {
        let divides = scale.num_dims() == operand.num_dims()
            && operand
                .dims
                .iter()
                .zip(&scale.dims)
                .all(|(size, scale)| *scale > 0 && size % scale == 0);
        require(divides, || {
            Broken::new(
                "scaled_dot_c1",
                format!("scales {operand} by {scale}, whose sizes do not divide it"),
            )
            .at(Focus::Operand(index + 2))
            .with_other(Focus::Operand(index), operand.to_string())
        })?;
    }
    let declared = super::check::declared_array(cx)?;
    Ok(Shape::Array(ArrayShape::new(
        declared.element_type,
        &result_dims(lhs, rhs, numbers),
    )))
}
