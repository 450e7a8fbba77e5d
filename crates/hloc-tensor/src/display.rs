//! Arrays as readable text, much as NumPy prints them.
//!
//! Large arrays show three items at each edge of each dimension. Floats print the fewest digits that
//! read back as the same value of the array's own type: 0.1 in `bf16` is `0.1`, not `0.100097656`.

use std::fmt::{self, Write};

use crate::number_text::{Column, FloatText, float_text};
use crate::{Array, ElementType, Scalar, row_major_strides};

/// Arrays of more elements than this are shown in part.
const MAX_ELEMENTS: usize = 1000;

/// How many items stay at each end of a dimension that is shown in part.
const EDGE_ITEMS: i64 = 3;

/// Rows break before this column.
const LINE_WIDTH: usize = 78;

/// An array of more dimensions than this is shown as one flat row. XLA has none.
const MAX_DIMS: usize = 32;

impl fmt::Display for Array {
    /// Element type, dimensions, elements: `s32[2,2] [[1, 2],` and `[3, 4]]` below.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut header = format!("{}[", self.element_type());
        for (i, dim) in self.dims().iter().enumerate() {
            write!(header, "{}{dim}", if i == 0 { "" } else { "," })?;
        }
        header.push_str("] ");
        f.write_str(&header)?;
        f.write_str(&elements_text(self, header.len()))
    }
}

impl fmt::Debug for Array {
    /// As `Display` does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One element as text: `true`, `-3`, `0.1`, `1.5e-7`, `nan`, `1+2j`.
///
/// Floats print the fewest digits that give the same value of `element_type` back, with a point or
/// an exponent, so that they differ from integers: `1.0`.
pub fn format_scalar(element_type: ElementType, value: Scalar) -> String {
    match value {
        Scalar::Pred(value) => value.to_string(),
        Scalar::Int(value) => value.to_string(),
        Scalar::Uint(value) => value.to_string(),
        Scalar::Float(value) => float_text(element_type, value).standalone(),
        Scalar::Complex(re, im) => complex_text(element_type, re, im),
    }
}

fn complex_text(element_type: ElementType, re: f64, im: f64) -> String {
    let part = element_type.component();
    let (re, im) = (float_text(part, re).short(), float_text(part, im).short());
    let plus = if im.starts_with('-') { "" } else { "+" };
    format!("{re}{plus}{im}j")
}

/// The elements in brackets; lines after the first are indented by `indent`.
fn elements_text(array: &Array, indent: usize) -> String {
    let flat = [array.num_elements() as i64];
    let dims = if array.num_dims() > MAX_DIMS {
        &flat
    } else {
        array.dims()
    };
    if array.num_elements() == 0 {
        return "[]".to_owned();
    }
    if dims.is_empty() {
        return format_scalar(array.element_type(), array.get(0));
    }
    let elide = array.num_elements() > MAX_ELEMENTS;
    let positions = shown_positions(dims, elide);
    let mut printer = Printer {
        dims,
        elide,
        indent,
        cells: cells(array, &positions).into_iter(),
        out: String::new(),
    };
    printer.dimension(0);
    printer.out
}

/// The indices shown of a dimension: the head, and where the tail starts when there is a gap.
fn shown(dim: i64, elide: bool) -> (i64, i64) {
    if elide && dim > 2 * EDGE_ITEMS {
        (EDGE_ITEMS, dim - EDGE_ITEMS)
    } else {
        (dim, dim)
    }
}

/// The row-major positions of all elements shown, in order.
fn shown_positions(dims: &[i64], elide: bool) -> Vec<usize> {
    let mut positions = vec![0];
    for (&dim, &stride) in dims.iter().zip(&row_major_strides(dims)) {
        let (head, tail) = shown(dim, elide);
        positions = positions
            .iter()
            .flat_map(|&base| {
                (0..head)
                    .chain(tail..dim)
                    .map(move |i| base + (i * stride) as usize)
            })
            .collect();
    }
    positions
}

/// The texts of these elements, all of one width.
fn cells(array: &Array, positions: &[usize]) -> Vec<String> {
    let element_type = array.element_type();
    let elements = positions.iter().map(|&position| array.get(position));
    if element_type.is_float() {
        let texts: Vec<FloatText> = elements
            .map(|element| float_text(element_type, element.to_f64()))
            .collect();
        let column = Column::of(&texts);
        return texts.iter().map(|text| column.aligned(text)).collect();
    }
    let texts: Vec<String> = elements
        .map(|element| format_scalar(element_type, element))
        .collect();
    let width = texts.iter().map(String::len).max().unwrap_or(0);
    texts.iter().map(|text| format!("{text:>width$}")).collect()
}

struct Printer<'a, Cells> {
    dims: &'a [i64],
    elide: bool,
    indent: usize,
    cells: Cells,
    out: String,
}

impl<Cells: Iterator<Item = String>> Printer<'_, Cells> {
    /// Prints dimension `depth` and all inside it. At most [`MAX_DIMS`] deep.
    fn dimension(&mut self, depth: usize) {
        if depth == self.dims.len() {
            self.out.extend(self.cells.next());
            return;
        }
        self.out.push('[');
        if depth + 1 == self.dims.len() {
            self.row(depth);
        } else {
            self.block(depth);
        }
        self.out.push(']');
    }

    /// The innermost dimension: items on one line, or as many lines as it takes.
    fn row(&mut self, depth: usize) {
        let (head, tail) = shown(self.dims[depth], self.elide);
        let shown_count = head + (self.dims[depth] - tail);
        let mut column = self.indent + depth + 1;
        for i in 0..shown_count {
            if i == head {
                self.row_item("...", depth, &mut column, i == 0);
            }
            if let Some(cell) = self.cells.next() {
                self.row_item(&cell, depth, &mut column, i == 0);
            }
        }
    }

    fn row_item(&mut self, item: &str, depth: usize, column: &mut usize, first: bool) {
        if !first {
            self.out.push(',');
            let start = self.indent + depth + 1;
            // The item, its comma, and the brackets that may close after it.
            if *column + 2 + item.len() + self.dims.len() > LINE_WIDTH && *column > start {
                self.new_line(depth);
                *column = start;
            } else {
                self.out.push(' ');
                *column += 2;
            }
        }
        self.out.push_str(item);
        *column += item.len();
    }

    /// An outer dimension: one item below the other, with blank lines between blocks.
    fn block(&mut self, depth: usize) {
        let dim = self.dims[depth];
        let (head, tail) = shown(dim, self.elide);
        for i in (0..head).chain(tail..dim) {
            if i > 0 {
                self.between_items(depth);
            }
            if i == tail && head < tail {
                self.out.push_str("...");
                self.between_items(depth);
            }
            self.dimension(depth + 1);
        }
    }

    fn between_items(&mut self, depth: usize) {
        self.out.push(',');
        let inner_dims = self.dims.len() - depth - 1;
        self.out.extend(std::iter::repeat_n('\n', inner_dims - 1));
        self.new_line(depth);
    }

    fn new_line(&mut self, depth: usize) {
        self.out.push('\n');
        self.out
            .extend(std::iter::repeat_n(' ', self.indent + depth + 1));
    }
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use crate::{Array, Complex, Element, ElementType};

    fn text<T: Element>(dims: &[i64], values: &[T]) -> String {
        Array::from_slice(dims, values)
            .expect("matching dimensions")
            .to_string()
    }

    #[test]
    fn columns_are_aligned() {
        assert_eq!(
            text(
                &[2, 3],
                &[1.0f32, 0.1, -3.25, 1e-3, f32::NAN, f32::NEG_INFINITY]
            ),
            "f32[2,3] [[ 1.   ,  0.1  , -3.25 ],\n          [ 0.001,    nan,   -inf]]"
        );
        assert_eq!(
            text(&[2, 2], &[1i32, -20, 3, 4]),
            "s32[2,2] [[  1, -20],\n          [  3,   4]]"
        );
        assert_eq!(text(&[2], &[true, false]), "pred[2] [ true, false]");
        assert_eq!(
            text(&[1, 2, 1], &[1u8, 2]),
            "u8[1,2,1] [[[1],\n            [2]]]"
        );
        assert_eq!(
            text(&[2, 1, 1], &[1u8, 2]),
            "u8[2,1,1] [[[1]],\n\n           [[2]]]"
        );
    }

    #[test]
    fn scalars_and_empty_arrays() {
        assert_eq!(Array::scalar(3.0f32).to_string(), "f32[] 3.0");
        assert_eq!(Array::scalar(-0.0f64).to_string(), "f64[] -0.0");
        assert_eq!(Array::scalar(true).to_string(), "pred[] true");
        assert_eq!(
            Array::scalar(u64::MAX).to_string(),
            "u64[] 18446744073709551615"
        );
        assert_eq!(text::<f32>(&[0, 3], &[]), "f32[0,3] []");
        assert_eq!(format!("{:?}", Array::scalar(1i8)), "s8[] 1");
    }

    #[test]
    fn floats_print_the_fewest_digits_of_their_type() {
        assert_eq!(Array::scalar(0.1f32).to_string(), "f32[] 0.1");
        assert_eq!(Array::scalar(bf16::from_f32(0.1)).to_string(), "bf16[] 0.1");
        assert_eq!(
            Array::scalar(f16::from_f32(1.0 / 3.0)).to_string(),
            "f16[] 0.3333"
        );
        assert_eq!(Array::scalar(bf16::MAX).to_string(), "bf16[] 3.39e38");
        assert_eq!(
            Array::scalar(16_777_216.0f32).to_string(),
            "f32[] 16777216.0"
        );
        assert_eq!(Array::scalar(1e-5f32).to_string(), "f32[] 1e-5");
        assert_eq!(text(&[2], &[1e300f64, -2.5]), "f64[2] [ 1e300, -2.5e0]");
        let least = Array::zeros(ElementType::F8E8M0Fnu, &[]).expect("one element");
        assert_eq!(least.to_string(), "f8e8m0fnu[] 6e-39");
    }

    #[test]
    fn complex_numbers_print_both_parts() {
        let values = [
            Complex::new(1.0f32, 2.0),
            Complex::new(-0.5, -0.0),
            Complex::new(f32::NAN, f32::INFINITY),
        ];
        assert_eq!(text(&[3], &values), "c64[3] [    1+2j,  -0.5-0j, nan+infj]");
    }

    #[test]
    fn large_arrays_show_their_edges() {
        let values: Vec<i32> = (0..2000).collect();
        assert_eq!(
            text(&[2000], &values),
            "s32[2000] [   0,    1,    2, ..., 1997, 1998, 1999]"
        );
        let lines = text(&[20, 100], &values);
        assert_eq!(lines.lines().count(), 7);
        assert_eq!(lines.lines().nth(3), Some("             ...,"));
        assert!(lines.ends_with("[1900, 1901, 1902, ..., 1997, 1998, 1999]]"));
        assert!(!text(&[1000], &values[..1000]).contains("..."));
    }

    #[test]
    fn long_rows_break_within_the_width() {
        let values: Vec<i32> = (0..100).collect();
        let lines = text(&[1, 100], &values);
        assert!(lines.lines().count() > 1);
        assert!(lines.lines().all(|line| line.len() <= 78));
        let shown: Vec<i32> = lines
            .split_once("] ")
            .expect("a header")
            .1
            .split(',')
            .filter_map(|item| item.trim_matches(['[', ']', ' ', '\n']).parse().ok())
            .collect();
        assert_eq!(shown, values);
    }

    #[test]
    fn many_dimensions_print_flat() {
        let array = Array::zeros(ElementType::S8, &[1; 50_000]).expect("one element");
        assert!(array.to_string().ends_with("] [0]"));
    }
}
