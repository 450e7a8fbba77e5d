//! Constant values as HLO text, in XLA's layout.

use std::fmt::{self, Write};

use hloc_tensor::{Array, Complex, ElementType};

use super::number::{push_f32_element, push_f64_element, push_narrow_element};
use crate::Literal;

/// Arrays without elements whose full text would have more braces than this print as `{}`.
const MAX_EMPTY_BRACES: i64 = 4096;

/// From so many dimensions on, comments say where one is.
const COMMENTED_DIMS: usize = 4;

/// A literal as HLO text, in full and exact to the bit: `{ { 1, 2 }, { 3, 4 } }` for `s32[2,2]`.
pub fn print_literal(literal: &Literal) -> String {
    let mut out = String::new();
    write_literal(&mut out, literal);
    out
}

impl fmt::Display for Literal {
    /// As [`print_literal`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print_literal(self))
    }
}

pub(super) fn write_literal(out: &mut String, literal: &Literal) {
    match literal {
        Literal::Array(array) => write_array(out, array),
        Literal::Tuple(elements) => {
            out.push_str("( ");
            super::push_joined(out, ", ", elements, write_literal);
            out.push_str(" )");
        }
    }
}

fn write_array(out: &mut String, array: &Array) {
    match array.element_type() {
        ElementType::Pred => write_predicates(out, array),
        ElementType::S8 => write_displayed(out, array, array.as_slice::<i8>()),
        ElementType::S16 => write_displayed(out, array, array.as_slice::<i16>()),
        ElementType::S32 => write_displayed(out, array, array.as_slice::<i32>()),
        ElementType::S64 => write_displayed(out, array, array.as_slice::<i64>()),
        ElementType::U8
        | ElementType::U16
        | ElementType::U32
        | ElementType::U64
        | ElementType::U1
        | ElementType::U2
        | ElementType::U4 => write_unsigned(out, array),
        ElementType::S1 | ElementType::S2 | ElementType::S4 => {
            write_elements(out, array, array.bytes(), |out, byte| {
                push_integer(out, byte.cast_signed());
            });
        }
        ElementType::F4E2M1Fn
        | ElementType::F6E2M3Fn
        | ElementType::F6E3M2Fn
        | ElementType::F8E3M4
        | ElementType::F8E4M3
        | ElementType::F8E4M3Fn
        | ElementType::F8E4M3B11Fnuz
        | ElementType::F8E4M3Fnuz
        | ElementType::F8E5M2
        | ElementType::F8E5M2Fnuz
        | ElementType::F8E8M0Fnu => {
            let element_type = array.element_type();
            write_elements(out, array, array.bytes(), |out, bits| {
                push_narrow_element(out, element_type, (*bits).into());
            });
        }
        ElementType::F16 => {
            let elements = array.as_slice::<half::f16>().unwrap_or_default();
            write_elements(out, array, elements, |out, value| {
                push_narrow_element(out, ElementType::F16, value.to_bits().into());
            });
        }
        ElementType::BF16 => {
            let elements = array.as_slice::<half::bf16>().unwrap_or_default();
            write_elements(out, array, elements, |out, value| {
                push_narrow_element(out, ElementType::BF16, value.to_bits().into());
            });
        }
        ElementType::F32 => {
            let elements = array.as_slice::<f32>().unwrap_or_default();
            write_elements(out, array, elements, |out, value| {
                push_f32_element(out, *value)
            });
        }
        ElementType::F64 => {
            let elements = array.as_slice::<f64>().unwrap_or_default();
            write_elements(out, array, elements, |out, value| {
                push_f64_element(out, *value)
            });
        }
        ElementType::C64 => write_complex(out, array, push_f32_element),
        ElementType::C128 => write_complex(out, array, push_f64_element),
    }
}

/// Words for a scalar, digits in arrays, as XLA does.
fn write_predicates(out: &mut String, array: &Array) {
    let scalar = array.num_dims() == 0;
    write_elements(out, array, array.bytes(), |out, byte| {
        out.push_str(match (scalar, *byte != 0) {
            (true, true) => "true",
            (true, false) => "false",
            (false, true) => "1",
            (false, false) => "0",
        });
    });
}

fn write_unsigned(out: &mut String, array: &Array) {
    match array.element_type().size() {
        1 => write_displayed(out, array, Some(array.bytes())),
        2 => write_displayed(out, array, array.as_slice::<u16>()),
        4 => write_displayed(out, array, array.as_slice::<u32>()),
        _ => write_displayed(out, array, array.as_slice::<u64>()),
    }
}

fn write_displayed<T: fmt::Display>(out: &mut String, array: &Array, elements: Option<&[T]>) {
    write_elements(out, array, elements.unwrap_or_default(), |out, value| {
        push_integer(out, value);
    });
}

fn push_integer(out: &mut String, value: impl fmt::Display) {
    write!(out, "{value}").expect("a string takes any text");
}

/// `(re, im)` elements; `push` writes one part.
fn write_complex<T: Copy>(out: &mut String, array: &Array, push: fn(&mut String, T))
where
    Complex<T>: hloc_tensor::Element,
{
    let elements = array.as_slice::<Complex<T>>().unwrap_or_default();
    write_elements(out, array, elements, |out, value| {
        out.push('(');
        push(out, value.re);
        out.push_str(", ");
        push(out, value.im);
        out.push(')');
    });
}

fn write_elements<T>(
    out: &mut String,
    array: &Array,
    elements: &[T],
    push: impl FnMut(&mut String, &T),
) {
    let dims = array.dims();
    let braces = dims
        .iter()
        .fold(1i64, |braces, dim| braces.saturating_mul((*dim).max(1)));
    if array.num_elements() == 0 && braces > MAX_EMPTY_BRACES {
        out.push_str("{}");
        return;
    }
    let mut writing = Writing {
        dims,
        elements: elements.iter(),
        push,
    };
    if dims.is_empty() {
        writing.element(out);
    } else {
        writing.level(out, 0, 0);
    }
}

/// The writing of one array: the elements still to come, and how to write one.
struct Writing<'a, T, P> {
    dims: &'a [i64],
    elements: std::slice::Iter<'a, T>,
    push: P,
}

impl<T, P: FnMut(&mut String, &T)> Writing<'_, T, P> {
    fn element(&mut self, out: &mut String) {
        if let Some(element) = self.elements.next() {
            (self.push)(out, element);
        }
    }

    /// Writes the braces of dimension `dim` and all in them, at `index` of the dimension before.
    fn level(&mut self, out: &mut String, dim: usize, index: i64) {
        if dim + 1 == self.dims.len() {
            return self.row(out, dim);
        }
        let size = self.dims[dim];
        out.push('{');
        if dim > 0 && self.dims.len() >= COMMENTED_DIMS {
            let outer = dim - 1;
            write!(out, " /*i{outer}={index}*/").expect("a string takes any text");
            if size > 0 {
                out.push(' ');
            }
        } else {
            out.push(' ');
        }
        for inner in 0..size {
            if inner > 0 {
                out.push_str(", ");
            }
            self.level(out, dim + 1, inner);
        }
        out.push_str(" }");
    }

    /// Writes the innermost braces; blanks inside them for two and more elements, but not in one dimension.
    fn row(&mut self, out: &mut String, dim: usize) {
        let size = self.dims[dim];
        let spaced = self.dims.len() > 1 && size > 1;
        out.push_str(if spaced { "{ " } else { "{" });
        for at in 0..size {
            if at > 0 {
                out.push_str(", ");
            }
            self.element(out);
        }
        out.push_str(if spaced { " }" } else { "}" });
    }
}

#[cfg(test)]
mod tests {
    use super::print_literal;
    use crate::Literal;
    use hloc_tensor::{Array, Complex, Element, ElementType};

    fn text<T: Element>(dims: &[i64], elements: &[T]) -> String {
        let array =
            Array::from_slice(dims, elements).expect("as many elements as the dimensions ask");
        print_literal(&Literal::Array(array))
    }

    fn bytes(element_type: ElementType, bytes: &[u8]) -> String {
        let dims = [bytes.len() as i64];
        let array = Array::new(element_type, &dims, bytes.to_vec()).expect("one byte an element");
        print_literal(&Literal::Array(array))
    }

    #[test]
    fn braces_are_xlas() {
        assert_eq!(text(&[], &[7i32]), "7");
        assert_eq!(text(&[2], &[1i32, -2]), "{1, -2}");
        assert_eq!(text(&[2, 2], &[1i32, 2, 3, 4]), "{ { 1, 2 }, { 3, 4 } }");
        assert_eq!(text(&[2, 1], &[1u8, 2]), "{ {1}, {2} }");
        assert_eq!(
            text(&[1, 1, 2], &[1u64, u64::MAX]),
            "{ { { 1, 18446744073709551615 } } }"
        );
        assert_eq!(
            text(&[1, 2, 1, 1], &[1i64, i64::MIN]),
            "{ { /*i0=0*/ { /*i1=0*/ {1} }, { /*i1=1*/ {-9223372036854775808} } } }"
        );
    }

    #[test]
    fn empty_arrays() {
        assert_eq!(text::<f32>(&[0], &[]), "{}");
        assert_eq!(text::<f32>(&[2, 0], &[]), "{ {}, {} }");
        assert_eq!(text::<f32>(&[0, 3], &[]), "{  }");
        assert_eq!(text::<f32>(&[1 << 40, 0], &[]), "{}");
    }

    #[test]
    fn elements_of_each_kind() {
        assert_eq!(text(&[], &[true]), "true");
        assert_eq!(text(&[2], &[true, false]), "{1, 0}");
        assert_eq!(text(&[2], &[-0.0f32, 0.5]), "{-0.0, 0.5}");
        assert_eq!(
            text(
                &[1],
                &[Complex {
                    re: f32::NAN,
                    im: -1.0
                }]
            ),
            "{(nan, -1)}"
        );
        assert_eq!(bytes(ElementType::S4, &[0xf8, 0x07]), "{-8, 7}");
        assert_eq!(bytes(ElementType::U4, &[15, 0]), "{15, 0}");
        assert_eq!(bytes(ElementType::F8E4M3Fn, &[0x38, 0xff]), "{1, -nan}");
    }

    #[test]
    fn tuples_nest() {
        let one = || Literal::Array(Array::scalar(1i32));
        let tuple = Literal::Tuple(vec![one(), Literal::Tuple(vec![one()])]);
        assert_eq!(tuple.to_string(), "( 1, ( 1 ) )");
    }
}
