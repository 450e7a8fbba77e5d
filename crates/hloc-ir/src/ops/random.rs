//! Random numbers.

use super::check::{array, declared, declared_array, require, scalar_of};
use crate::words::{Distribution, RngAlgorithm};
use crate::{Broken, ElementType, Focus, Shape, ShapeContext};

/// The declared shape; two scalars of its type.
pub(super) fn rng(cx: &ShapeContext<'_>, distribution: Distribution) -> Result<Shape, Broken> {
    let shape = declared_array(cx)?;
    let ty = shape.element_type;
    let fits = match distribution {
        Distribution::Uniform => !ty.is_complex(),
        Distribution::Normal => ty.is_float(),
    };
    require(fits, || {
        Broken::new(
            "rng_c1",
            format!("draws {shape} from {distribution}, which is not defined for {ty}"),
        )
        .at(Focus::Attribute("distribution"))
    })?;
    require(cx.operands.len() == 2, || {
        Broken::new(
            "rng_c2",
            format!("has {} operands, but takes 2", cx.operands.len()),
        )
    })?;
    scalar_of(cx, 0, ty, "rng_c2")?;
    scalar_of(cx, 1, ty, "rng_c2")?;
    Ok(Shape::Array(shape.clone()))
}

/// The declared shape: the new state and the bits, or the bits alone.
pub(super) fn bit_generator(
    cx: &ShapeContext<'_>,
    algorithm: RngAlgorithm,
) -> Result<Shape, Broken> {
    let state = array(cx, 0)?;
    let words = match algorithm {
        RngAlgorithm::ThreeFry => 2..=2,
        RngAlgorithm::Default | RngAlgorithm::Philox => 2..=3,
    };
    let fits = state.element_type == ElementType::U64
        && state.num_dims() == 1
        && words.contains(&state.dims[0]);
    require(fits, || {
        Broken::new(
            "rng_bit_generator_c1",
            format!(
                "takes a state of u64[{}] for {algorithm}, but operand 0 is {state}",
                words.start()
            ),
        )
        .at(Focus::Operand(0))
    })?;
    let shape = declared(cx)?;
    let bits = match shape.as_tuple() {
        None => Some(shape),
        Some([new_state, bits]) if new_state.as_array().is_some_and(|s| s.compatible(state)) => {
            Some(bits)
        }
        Some(_) => None,
    };
    let bits = bits.and_then(Shape::as_array);
    require(
        bits.is_some_and(|bits| bits.element_type.is_integer()),
        || {
            Broken::new(
                "rng_bit_generator_c2",
                format!("declares {shape}, but gives the new state {state} and an integer array"),
            )
            .at(Focus::Result)
            .with_other(Focus::Operand(0), state.to_string())
        },
    )?;
    Ok(shape.clone())
}

/// The state before.
pub(super) fn get_and_update_state() -> Shape {
    Shape::array(ElementType::U64, &[2])
}
