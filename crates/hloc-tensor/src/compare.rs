//! Comparing two arrays within a tolerance, for tests and for `--compare`.

use std::fmt;

use crate::display::format_scalar;
use crate::{Array, ElementType, Scalar, float_format, index_at};

/// How far apart two elements may be.
///
/// But for [`Tolerance::Bits`], NaN equals NaN; with a distance, −0 equals +0. An infinity equals only itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// The same bits: −0 differs from +0, NaNs differ by sign and payload.
    Bits,
    /// The same value: −0 differs from +0, NaN is NaN whatever its bits.
    Value,
    /// At most so many representable values apart, each part of a complex number on its own.
    /// Integers and `pred` must be equal.
    Ulps(u64),
    /// `|got − want| ≤ atol + rtol · |want|`, for complex numbers by absolute value.
    Close {
        /// The part of the allowed difference that grows with the wanted value.
        rtol: f64,
        /// The part of the allowed difference that is always there.
        atol: f64,
    },
}

/// Where and how much two arrays differ.
#[derive(Clone, Debug, PartialEq)]
pub enum Mismatch {
    /// The arrays have different element types or dimensions.
    Shape {
        /// Element type and dimensions of the array that was computed.
        got: (ElementType, Vec<i64>),
        /// Element type and dimensions of the array that was expected.
        want: (ElementType, Vec<i64>),
    },
    /// Elements differ by more than the tolerance.
    Elements {
        /// The element type of both arrays.
        element_type: ElementType,
        /// How many elements differ.
        count: usize,
        /// How many elements there are.
        total: usize,
        /// The index of the first that differs.
        index: Vec<i64>,
        /// What was computed there.
        got: Scalar,
        /// What was expected there.
        want: Scalar,
    },
}

impl std::error::Error for Mismatch {}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::Shape { got, want } => {
                write!(f, "got {}{:?}, want {}{:?}", got.0, got.1, want.0, want.1)
            }
            Mismatch::Elements {
                element_type,
                count,
                total,
                index,
                got,
                want,
            } => {
                let (got, want) = (
                    format_scalar(*element_type, *got),
                    format_scalar(*element_type, *want),
                );
                write!(
                    f,
                    "{count} of {total} elements differ, first at {index:?}: got {got}, want {want}"
                )
            }
        }
    }
}

/// Compares two arrays element by element.
///
/// # Errors
///
/// A [`Mismatch`] that counts the differing elements and shows the first.
///
/// ```
/// use hloc_tensor::{Array, Tolerance, compare};
///
/// let (got, want) = (Array::scalar(1.0f32 + f32::EPSILON), Array::scalar(1.0f32));
/// assert!(compare(&got, &want, Tolerance::Ulps(1)).is_ok());
/// let mismatch = compare(&got, &want, Tolerance::Ulps(0)).unwrap_err();
/// assert_eq!(mismatch.to_string(), "1 of 1 elements differ, first at []: got 1.0000001, want 1.0");
/// ```
pub fn compare(got: &Array, want: &Array, tolerance: Tolerance) -> Result<(), Mismatch> {
    let element_type = want.element_type();
    if got.element_type() != element_type || got.dims() != want.dims() {
        let shape = |array: &Array| (array.element_type(), array.dims().to_vec());
        return Err(Mismatch::Shape {
            got: shape(got),
            want: shape(want),
        });
    }
    let size = element_type.size();
    let pairs = got
        .bytes()
        .chunks_exact(size)
        .zip(want.bytes().chunks_exact(size));
    let mut differing = pairs
        .enumerate()
        .filter(|(position, (got_bytes, want_bytes))| {
            // Same bits are within any tolerance, and the usual case.
            got_bytes != want_bytes
                && !within(
                    element_type,
                    got.get(*position),
                    want.get(*position),
                    tolerance,
                )
        })
        .map(|(position, _)| position);
    let Some(first) = differing.next() else {
        return Ok(());
    };
    Err(Mismatch::Elements {
        element_type,
        count: 1 + differing.count(),
        total: want.num_elements(),
        index: index_at(want.dims(), first),
        got: got.get(first),
        want: want.get(first),
    })
}

/// Whether two elements that differ in their bits are close enough.
fn within(element_type: ElementType, got: Scalar, want: Scalar, tolerance: Tolerance) -> bool {
    match tolerance {
        Tolerance::Bits => false,
        // Their bits differ, so they are the same only where both are NaN.
        Tolerance::Value => same_nan(got, want),
        Tolerance::Ulps(ulps) => within_ulps(element_type, got, want, ulps),
        Tolerance::Close { rtol, atol } => within_relative(got, want, rtol, atol),
    }
}

/// Whether the parts that differ in their bits are NaN on both sides.
fn same_nan(got: Scalar, want: Scalar) -> bool {
    let part =
        |got: f64, want: f64| got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
    match (got, want) {
        (Scalar::Float(got), Scalar::Float(want)) => part(got, want),
        (Scalar::Complex(got_re, got_im), Scalar::Complex(want_re, want_im)) => {
            part(got_re, want_re) && part(got_im, want_im)
        }
        _ => false,
    }
}

fn within_ulps(element_type: ElementType, got: Scalar, want: Scalar, ulps: u64) -> bool {
    let part = element_type.component();
    match (got, want) {
        (Scalar::Float(got), Scalar::Float(want)) => floats_within_ulps(part, got, want, ulps),
        (Scalar::Complex(got_re, got_im), Scalar::Complex(want_re, want_im)) => {
            floats_within_ulps(part, got_re, want_re, ulps)
                && floats_within_ulps(part, got_im, want_im, ulps)
        }
        _ => got == want,
    }
}

fn floats_within_ulps(element_type: ElementType, got: f64, want: f64, ulps: u64) -> bool {
    if same(got, want) || !got.is_finite() || !want.is_finite() {
        return same(got, want);
    }
    let Some(format) = float_format(element_type) else {
        return false;
    };
    // Without the sign, bit patterns count the representable values from zero on.
    let place = |value: f64| {
        let magnitude = i128::from(format.encode(value.abs()));
        if value < 0.0 { -magnitude } else { magnitude }
    };
    place(got).abs_diff(place(want)) <= ulps.into()
}

fn within_relative(got: Scalar, want: Scalar, rtol: f64, atol: f64) -> bool {
    match (got, want) {
        (Scalar::Float(got), Scalar::Float(want)) => {
            same(got, want) || is_near((got - want).abs(), want.abs(), rtol, atol)
        }
        (Scalar::Complex(got_re, got_im), Scalar::Complex(want_re, want_im)) => {
            let (re_same, im_same) = (same(got_re, want_re), same(got_im, want_im));
            match (re_same, im_same) {
                (true, true) => true,
                // A part that is equally infinite or NaN says nothing about the other.
                (true, false) if !want_re.is_finite() => {
                    is_near((got_im - want_im).abs(), want_im.abs(), rtol, atol)
                }
                (false, true) if !want_im.is_finite() => {
                    is_near((got_re - want_re).abs(), want_re.abs(), rtol, atol)
                }
                _ => {
                    let distance = (got_re - want_re).hypot(got_im - want_im);
                    is_near(distance, want_re.hypot(want_im), rtol, atol)
                }
            }
        }
        (Scalar::Int(got), Scalar::Int(want)) => is_near(
            got.abs_diff(want) as f64,
            want.unsigned_abs() as f64,
            rtol,
            atol,
        ),
        (Scalar::Uint(got), Scalar::Uint(want)) => {
            is_near(got.abs_diff(want) as f64, want as f64, rtol, atol)
        }
        _ => got == want,
    }
}

/// False for infinite and NaN distances, and when the wanted value is infinite.
fn is_near(distance: f64, want: f64, rtol: f64, atol: f64) -> bool {
    distance.is_finite() && want.is_finite() && distance <= atol + rtol * want
}

/// Equal, or both NaN.
fn same(got: f64, want: f64) -> bool {
    got == want || (got.is_nan() && want.is_nan())
}

#[cfg(test)]
mod tests {
    use super::{Mismatch, Tolerance, compare};
    use crate::{Array, Complex, Element, Scalar};

    fn array<T: Element>(values: &[T]) -> Array {
        Array::from_slice(&[values.len() as i64], values).expect("one dimension")
    }

    fn equal<T: Element>(got: &[T], want: &[T], tolerance: Tolerance) -> bool {
        compare(&array(got), &array(want), tolerance).is_ok()
    }

    #[test]
    fn mismatches_are_counted_and_the_first_is_shown() {
        let got = Array::from_slice(&[2, 2], &[1.0f32, 2.0, 3.0, 4.0]).expect("four elements");
        let want = Array::from_slice(&[2, 2], &[1.0f32, 2.0, 0.1, 5.0]).expect("four elements");
        let mismatch = compare(&got, &want, Tolerance::Ulps(4)).expect_err("two differ");
        assert_eq!(
            mismatch.to_string(),
            "2 of 4 elements differ, first at [1, 0]: got 3.0, want 0.1"
        );
        assert!(matches!(
            mismatch,
            Mismatch::Elements {
                count: 2,
                got: Scalar::Float(3.0),
                ..
            }
        ));
    }

    #[test]
    fn shapes_must_agree() {
        let mismatch = compare(&array(&[1i32]), &Array::scalar(1i32), Tolerance::Bits);
        assert_eq!(
            mismatch.expect_err("other dimensions").to_string(),
            "got s32[1], want s32[]"
        );
        assert!(compare(&array(&[1i32]), &array(&[1u32]), Tolerance::Bits).is_err());
    }

    #[test]
    fn zeros_nans_and_infinities() {
        let (nan, other_nan) = (f32::NAN, f32::from_bits(0xffc0_0001));
        let close = Tolerance::Close {
            rtol: 1e-3,
            atol: 0.0,
        };
        for tolerance in [Tolerance::Ulps(0), close] {
            assert!(equal(&[0.0f32, nan], &[-0.0, other_nan], tolerance));
            assert!(!equal(&[nan], &[1.0], tolerance));
            assert!(!equal(&[f32::INFINITY], &[f32::NEG_INFINITY], tolerance));
        }
        assert!(!equal(&[f32::INFINITY], &[f32::MAX], Tolerance::Ulps(1)));
        assert!(!equal(&[f32::MAX], &[f32::INFINITY], close));
        assert!(!equal(&[0.0f32], &[-0.0], Tolerance::Bits));
        assert!(!equal(&[0.0f32], &[-0.0], Tolerance::Value));
        assert!(equal(&[nan], &[other_nan], Tolerance::Value));
        assert!(!equal(&[nan], &[other_nan], Tolerance::Bits));
        assert!(equal(&[nan], &[nan], Tolerance::Bits));
    }

    #[test]
    fn ulps_are_those_of_the_element_type() {
        let step = half::bf16::from_bits(half::bf16::ONE.to_bits() + 2);
        assert!(equal(&[step], &[half::bf16::ONE], Tolerance::Ulps(2)));
        assert!(!equal(&[step], &[half::bf16::ONE], Tolerance::Ulps(1)));
        let tiny = f64::from_bits(1);
        assert!(equal(&[tiny], &[-tiny], Tolerance::Ulps(2)));
        assert!(!equal(&[tiny], &[-tiny], Tolerance::Ulps(1)));
        let next = 1.0f32.next_up();
        assert!(equal(
            &[Complex::new(next, 1.0)],
            &[Complex::new(1.0, next)],
            Tolerance::Ulps(1)
        ));
        assert!(!equal(&[2i32], &[1], Tolerance::Ulps(9)));
    }

    #[test]
    fn relative_and_absolute_tolerances_add_up() {
        let tolerance = Tolerance::Close {
            rtol: 0.01,
            atol: 0.5,
        };
        assert!(equal(&[101.5f64], &[100.0], tolerance));
        assert!(!equal(&[101.6f64], &[100.0], tolerance));
        assert!(equal(&[101i64], &[100], tolerance));
        assert!(equal(
            &[Complex::new(100.0f64, 0.9)],
            &[Complex::new(100.0, 0.0)],
            tolerance
        ));
        let infinite = Complex::new(f64::INFINITY, 1.0);
        assert!(equal(
            &[Complex::new(f64::INFINITY, 1.1)],
            &[infinite],
            tolerance
        ));
        assert!(!equal(
            &[Complex::new(f64::INFINITY, 9.0)],
            &[infinite],
            tolerance
        ));
    }
}
