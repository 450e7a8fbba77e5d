//! Batch normalization.

use super::check::{arrays, one_dimension, require};
use crate::{ArrayShape, Broken, Focus, Shape, ShapeContext};

/// The operand's shape and the shape of one value per feature.
fn features(
    cx: &ShapeContext<'_>,
    feature_index: i64,
    vectors: std::ops::Range<usize>,
) -> Result<(ArrayShape, ArrayShape), Broken> {
    let shapes = arrays(cx, 0)?;
    let operand = shapes[0];
    require(
        operand.element_type.is_float() && !operand.is_scalar(),
        || {
            Broken::new(
                "batch_norm_c1",
                format!(
                    "takes a float array with at least 1 dimension, but operand 0 is {operand}"
                ),
            )
            .at(Focus::Operand(0))
        },
    )?;
    one_dimension(
        "feature_index",
        feature_index,
        (operand.num_dims(), "operand 0"),
        "batch_norm_c2",
    )?;
    let size = operand.dims[feature_index as usize];
    let vector = ArrayShape::new(operand.element_type, &[size]);
    for index in vectors {
        require(shapes[index].compatible(&vector), || {
            Broken::new(
                "batch_norm_c3",
                format!(
                    "takes {vector} as operand {index}, one value per feature, which has shape {}",
                    shapes[index]
                ),
            )
            .at(Focus::Operand(index))
            .with_other(Focus::Operand(0), operand.to_string())
        })?;
    }
    Ok((operand.with_element_type(operand.element_type), vector))
}

/// The normalized operand, the means and the variances.
pub(super) fn training(cx: &ShapeContext<'_>, feature_index: i64) -> Result<Shape, Broken> {
    let (operand, vector) = features(cx, feature_index, 1..3)?;
    let vector = Shape::Array(vector);
    Ok(Shape::Tuple(vec![
        Shape::Array(operand),
        vector.clone(),
        vector,
    ]))
}

/// The normalized operand.
pub(super) fn inference(cx: &ShapeContext<'_>, feature_index: i64) -> Result<Shape, Broken> {
    let (operand, _) = features(cx, feature_index, 1..5)?;
    Ok(Shape::Array(operand))
}

/// The gradients of operand, scale and offset.
pub(super) fn grad(cx: &ShapeContext<'_>, feature_index: i64) -> Result<Shape, Broken> {
    let (operand, vector) = features(cx, feature_index, 1..4)?;
    let gradient = super::check::array(cx, 4)?;
    require(gradient.compatible(&operand), || {
        Broken::new(
            "batch_norm_c4",
            format!("takes the gradient {gradient} of an output of shape {operand}"),
        )
        .at(Focus::Operand(4))
        .with_other(Focus::Operand(0), operand.to_string())
    })?;
    let vector = Shape::Array(vector);
    Ok(Shape::Tuple(vec![
        Shape::Array(operand),
        vector.clone(),
        vector,
    ]))
}
