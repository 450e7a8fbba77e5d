//! `pad`: a scalar around and between the elements.

use super::check::{array, count, require, scalar_of};
use crate::attr::PaddingDim;
use crate::{ArrayShape, Broken, Focus, Shape, ShapeContext};

/// Per dimension `low + n + max(n - 1, 0) * interior + high`.
pub(super) fn pad(cx: &ShapeContext<'_>, padding: &[PaddingDim]) -> Result<Shape, Broken> {
    let from = array(cx, 0)?;
    scalar_of(cx, 1, from.element_type, "pad_c1")?;
    require(padding.len() == from.num_dims(), || {
        Broken::new(
            "pad_c2",
            format!(
                "declares padding of {}, but its operand {from} has {}",
                count(padding.len(), "dimension"),
                count(from.num_dims(), "dimension")
            ),
        )
        .at(Focus::Attribute("padding"))
        .with_other(Focus::Operand(0), from.to_string())
    })?;
    let mut result = ArrayShape::new(from.element_type, &[]);
    for (dim, (entry, &size)) in padding.iter().zip(&from.dims).enumerate() {
        require(entry.interior >= 0, || {
            Broken::new(
                "pad_c3",
                format!(
                    "puts {} elements between neighbors in dimension {dim}: the number must not be negative",
                    entry.interior
                ),
            )
            .at(Focus::Attribute("padding"))
        })?;
        let padded = padded_size(size, *entry).ok_or_else(|| {
            Broken::new(
                "pad_c4",
                format!(
                    "gives dimension {dim} of size {size} padding {}_{}_{}, which leaves a negative or too large size",
                    entry.low, entry.high, entry.interior
                ),
            )
            .at(Focus::Attribute("padding"))
            .with_other(Focus::Operand(0), from.to_string())
        })?;
        result.dims.push(padded);
    }
    Ok(Shape::Array(result))
}

/// `None` if it is negative or does not fit.
fn padded_size(size: i64, entry: PaddingDim) -> Option<i64> {
    let between = size.checked_sub(1)?.max(0).checked_mul(entry.interior)?;
    let padded = size
        .checked_add(between)?
        .checked_add(entry.low)?
        .checked_add(entry.high)?;
    (padded >= 0).then_some(padded)
}
