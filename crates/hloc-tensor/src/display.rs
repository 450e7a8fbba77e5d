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
