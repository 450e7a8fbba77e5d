//! `concatenate`: arrays joined along one dimension.

use super::check::{DimNumbers, arrays, list, require};
use crate::{Broken, Focus, Shape, ShapeContext};

/// The sizes of the operands, summed along the dimension.
pub(super) fn concatenate(cx: &ShapeContext<'_>, dimensions: &[i64]) -> Result<Shape, Broken> {
    let shapes = arrays(cx, 0)?;
    let first = shapes[0];
    require(dimensions.len() == 1, || {
        Broken::new(
            "concatenate_c1",
            format!(
                "declares dimensions={}, but joins along one dimension",
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
    .in_range("concatenate_c2")?;
    let along = dimensions[0] as usize;
    let mut result = first.with_element_type(first.element_type);
    for (index, shape) in shapes.iter().enumerate().skip(1) {
        let broken = |label, what: &str| {
            Broken::new(label, format!("joins {first} and {shape}, {what}"))
                .at(Focus::Operand(index))
                .with_other(Focus::Operand(0), first.to_string())
        };
        require(shape.element_type == first.element_type, || {
            broken("concatenate_c3", "whose element types differ")
        })?;
        require(shape.num_dims() == first.num_dims(), || {
            broken(
                "concatenate_c4",
                "which have different numbers of dimensions",
            )
        })?;
        let differing =
            (0..first.num_dims()).find(|dim| *dim != along && shape.dims[*dim] != first.dims[*dim]);
        if let Some(dim) = differing {
            let what = format!("whose sizes differ in dimension {dim}, not only along {along}");
            return Err(broken("concatenate_c5", &what));
        }
        result.dims[along] = result.dims[along]
            .checked_add(shape.dims[along])
            .ok_or_else(|| broken("concatenate_c6", "which together are too large"))?;
        result.dynamic |= shape.dynamic;
    }
    Ok(Shape::Array(result))
}
