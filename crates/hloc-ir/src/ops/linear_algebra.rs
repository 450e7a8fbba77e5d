//! `cholesky`, `triangular-solve` and `fft`.

use super::check::{array, list, require};
use crate::words::{FftType, Transpose};
use crate::{ArrayShape, Broken, ElementType, Focus, Shape, ShapeContext};

/// A stack of square matrices of floats or complex numbers.
fn square(cx: &ShapeContext<'_>, label: &'static str) -> Result<(), Broken> {
    let shape = array(cx, 0)?;
    let ty = shape.element_type;
    let is_square = match *shape.dims {
        [.., rows, columns] => rows == columns,
        [] | [_] => false,
    };
    require(is_square && (ty.is_float() || ty.is_complex()), || {
        Broken::new(
            label,
            format!("takes square matrices of float or complex elements, but operand 0 is {shape}"),
        )
        .at(Focus::Operand(0))
    })
}

/// The operand's shape.
pub(super) fn cholesky(cx: &ShapeContext<'_>) -> Result<Shape, Broken> {
    square(cx, "cholesky_c1")?;
    let shape = array(cx, 0)?;
    Ok(Shape::Array(shape.with_element_type(shape.element_type)))
}

/// The shape of the right-hand sides.
pub(super) fn triangular_solve(
    cx: &ShapeContext<'_>,
    left_side: bool,
    transpose_a: Option<Transpose>,
) -> Result<Shape, Broken> {
    square(cx, "triangular_solve_c1")?;
    let (a, b) = (array(cx, 0)?, array(cx, 1)?);
    let broken = |label, message: String| {
        Broken::new(label, message)
            .at(Focus::Operand(1))
            .with_other(Focus::Operand(0), a.to_string())
    };
    let n = a.num_dims();
    let stacked =
        a.element_type == b.element_type && b.num_dims() == n && a.dims[..n - 2] == b.dims[..n - 2];
    require(stacked, || {
        broken(
            "triangular_solve_c2",
            format!(
                "solves {a} for {b}: element types, numbers of dimensions and batch sizes must agree"
            ),
        )
    })?;
    let shared = if left_side { n - 2 } else { n - 1 };
    require(b.dims[shared] == a.dims[n - 1], || {
        broken(
            "triangular_solve_c3",
            format!(
                "solves matrices of size {} for {b}, whose dimension {shared} has size {}",
                a.dims[n - 1],
                b.dims[shared]
            ),
        )
    })?;
    require(transpose_a.is_some(), || {
        Broken::new("triangular_solve_c4", "leaves out transpose_a")
            .with_help("write transpose_a=NO_TRANSPOSE")
    })?;
    Ok(Shape::Array(b.with_element_type(b.element_type)))
}

/// The spectrum or the signal, by type of transform.
pub(super) fn fft(
    cx: &ShapeContext<'_>,
    fft_type: FftType,
    fft_length: &[i64],
) -> Result<Shape, Broken> {
    let shape = array(cx, 0)?;
    let count = fft_length.len();
    require(
        (1..=3).contains(&count) && count <= shape.num_dims(),
        || {
            Broken::new(
                "fft_c1",
                format!(
                    "declares fft_length={} for {shape}: 1 to 3 dimensions of the operand are transformed",
                    list(fft_length)
                ),
            )
            .at(Focus::Attribute("fft_length"))
        },
    )?;
    let result_type = fft_element_type(shape, fft_type)?;
    let lengths_ok = fft_length.iter().all(|length| *length >= 0);
    let last_length = fft_length[count - 1];
    let half = last_length / 2 + 1;
    let half = if last_length == 0 { 0 } else { half };
    let first = shape.num_dims() - count;
    let mut wanted = fft_length.to_vec();
    let mut result = fft_length.to_vec();
    match fft_type {
        FftType::Fft | FftType::Ifft => {}
        FftType::Rfft => result[count - 1] = half,
        FftType::Irfft => wanted[count - 1] = half,
    }
    require(lengths_ok && shape.dims[first..] == *wanted, || {
        Broken::new(
            "fft_c3",
            format!(
                "declares fft_length={}, but the last dimensions of its operand {shape} must be {}",
                list(fft_length),
                list(&wanted)
            ),
        )
        .at(Focus::Attribute("fft_length"))
        .with_other(Focus::Operand(0), shape.to_string())
    })?;
    let mut dims = shape.dims.clone();
    dims[first..].copy_from_slice(&result);
    Ok(Shape::array(result_type, &dims))
}

fn fft_element_type(shape: &ArrayShape, fft_type: FftType) -> Result<ElementType, Broken> {
    let ty = shape.element_type;
    let result = match fft_type {
        FftType::Fft | FftType::Ifft => ty.is_complex().then_some(ty),
        FftType::Rfft if ty == ElementType::F32 => Some(ElementType::C64),
        FftType::Rfft if ty == ElementType::F64 => Some(ElementType::C128),
        FftType::Rfft => None,
        FftType::Irfft => ty.is_complex().then(|| ty.component()),
    };
    result.ok_or_else(|| {
        Broken::new(
            "fft_c2",
            format!("makes a transform of type {fft_type} of {shape}: FFT, IFFT and IRFFT take complex, RFFT takes f32 or f64"),
        )
        .at(Focus::Operand(0))
    })
}
