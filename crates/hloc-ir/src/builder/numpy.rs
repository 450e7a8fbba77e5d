//! NumPy's broadcasting, for programs that build modules.
//!
//! Shapes are aligned on the right and padded with 1 on the left; sizes that meet are equal, or one of
//! them is 1, which then grows. PyTorch's rule is the same alignment. HLO itself has no such rule:
//! these helpers write `reshape` and `broadcast` instructions, and an array that already has the
//! result's sizes is used as it is.
//!
//! ```
//! use hloc_ir::builder::numpy;
//! use hloc_ir::{Builder, ElementType, Shape};
//!
//! assert_eq!(numpy::broadcast_shapes(&[&[5, 1, 4], &[1, 3, 1]]), Ok(vec![5, 3, 4]));
//!
//! let b = Builder::new("rows");
//! let x = b.parameter(Shape::array(ElementType::F32, &[2, 3]), "x");
//! let row = b.parameter(Shape::array(ElementType::F32, &[3]), "row");
//! let sum = numpy::add(&b, x, row);
//! assert_eq!(b.dims(sum), Some(vec![2, 3]));
//! ```
//!
//! `(n,1)` against `(n)` gives `(n,n)`, which is nearly always a mistake: it is told among
//! [`Builder::warnings`](super::Builder::warnings) as `accidental-outer-product`.

use std::panic::Location;

use hloc_diag::{Diagnostic, Span};

use super::state::Place;
use super::{Builder, Value};
use crate::outer_product::{CODE, HELP};
use crate::{BinaryOp, ComparisonDirection, Op, TernaryOp};

/// The most ways out that a message lists.
const MAX_SUGGESTIONS: usize = 2;

/// Bounds the search for them in shapes with many equal sizes.
const MAX_STEPS: usize = 1000;

/// The shape that arrays of these shapes have together: `[3,4]` and `[4]` give `[3,4]`; no shape gives
/// a scalar's.
///
/// # Errors
/// A [`Diagnostic`] `numpy-broadcast` that shows the two shapes that clash one below the other.
pub fn broadcast_shapes(shapes: &[&[i64]]) -> Result<Vec<i64>, Diagnostic> {
    let num_dims = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let mut result = vec![1; num_dims];
    let mut given_by = vec![0; num_dims];
    for (index, shape) in shapes.iter().enumerate() {
        let shift = num_dims - shape.len();
        for (dim, &size) in shape.iter().enumerate() {
            let at = shift + dim;
            if result[at] == 1 {
                (result[at], given_by[at]) = (size, index);
            } else if size != 1 && size != result[at] {
                return Err(clash(shapes[given_by[at]], shape));
            }
        }
    }
    Ok(result)
}

macro_rules! binary_helpers {
    ($( $name:ident = $op:ident, $doc:literal; )*) => { $(
        #[doc = concat!($doc, ", with NumPy's broadcasting.")]
        #[track_caller]
        pub fn $name(builder: &Builder, x: Value, y: Value) -> Value {
            apply(builder, Op::binary(BinaryOp::$op), &[x, y], Location::caller())
        }
    )* };
}

binary_helpers! {
    add = Add, "`x + y`";
    sub = Subtract, "`x - y`";
    mul = Multiply, "`x * y`";
    div = Divide, "`x / y`";
    power = Power, "`x ** y`";
    maximum = Maximum, "The greater of `x` and `y`";
    minimum = Minimum, "The lesser of `x` and `y`";
    remainder = Remainder, "The remainder with the sign of `x` (C's, not Python's)";
    atan2 = Atan2, "The angle of the point (`y`, `x`), where `x` is the first argument";
    logical_and = And, "`x & y`";
    logical_or = Or, "`x | y`";
    logical_xor = Xor, "`x ^ y`";
}

/// Compares `x` and `y`, with NumPy's broadcasting; the result is `pred`.
#[track_caller]
pub fn compare(builder: &Builder, x: Value, y: Value, direction: ComparisonDirection) -> Value {
    let op = Op::Compare {
        direction,
        compare_type: None,
        broadcast_dimensions: None,
    };
    apply(builder, op, &[x, y], Location::caller())
}

/// `x` where `condition` (`pred`) holds, else `y`, all three with NumPy's broadcasting.
#[track_caller]
pub fn where_(builder: &Builder, condition: Value, x: Value, y: Value) -> Value {
    let op = Op::ternary(TernaryOp::Select);
    apply(builder, op, &[condition, x, y], Location::caller())
}

/// `x` grown to `dims`, as `numpy.broadcast_to` does.
#[track_caller]
pub fn broadcast_to(builder: &Builder, x: Value, dims: &[i64]) -> Value {
    let at = Location::caller();
    let Some(own) = builder.dims(x) else {
        return builder.placed(x, dims, &[], at);
    };
    match broadcast_shapes(&[&own, dims]) {
        Ok(result) if result == dims => grown(builder, x, &own, dims, at),
        Ok(_) => refuse(builder, clash(&own, dims), at),
        Err(diagnostic) => refuse(builder, diagnostic, at),
    }
}

/// The instruction on operands of one shape.
fn apply(builder: &Builder, op: Op, operands: &[Value], at: Place) -> Value {
    let shapes: Option<Vec<Vec<i64>>> = operands.iter().map(|x| builder.dims(*x)).collect();
    let Some(shapes) = shapes else {
        // The op's rule says which operand is no array; poisoned ones need no word.
        return builder.emit(op, operands, None, at);
    };
    let views: Vec<&[i64]> = shapes.iter().map(Vec::as_slice).collect();
    let dims = match broadcast_shapes(&views) {
        Ok(dims) => dims,
        Err(diagnostic) => return refuse(builder, diagnostic, at),
    };
    if let [x, y] = operands
        && let Some(message) = outer_product(&shapes[0], &shapes[1], &dims)
        && !builder.shared().is_deliberate_table(*x, *y)
    {
        builder.shared().warn(CODE, message, &[HELP], at);
    }
    let same: Vec<Value> = operands
        .iter()
        .zip(&shapes)
        .map(|(x, own)| grown(builder, *x, own, &dims, at))
        .collect();
    builder.emit(op, &same, None, at)
}

fn refuse(builder: &Builder, diagnostic: Diagnostic, at: Place) -> Value {
    let mut shared = builder.shared();
    shared.tell(diagnostic, at);
    shared.poison()
}

fn grown(builder: &Builder, x: Value, own: &[i64], dims: &[i64], at: Place) -> Value {
    if own == dims {
        return x;
    }
    let shift = (dims.len() - own.len()) as i64;
    let places: Vec<i64> = (0..own.len() as i64).map(|dim| dim + shift).collect();
    builder.placed(x, dims, &places, at)
}

/// What to say of `(n,1)` against `(n)`.
fn outer_product(x: &[i64], y: &[i64], dims: &[i64]) -> Option<String> {
    let (one, two) = (only_long(x, dims.len())?, only_long(y, dims.len())?);
    let accidental = x.len() != y.len() && one.1 == two.1 && one.0 != two.0;
    accidental.then(|| {
        format!(
            "{} against {} gives {}: every element of one vector of length {} meets every element of another",
            shown(x),
            shown(y),
            shown(dims),
            one.1
        )
    })
}

/// The place, counted in `num_dims` dimensions, and length of the only size that is not 1.
fn only_long(shape: &[i64], num_dims: usize) -> Option<(usize, i64)> {
    let shift = num_dims - shape.len();
    let mut long = shape.iter().enumerate().filter(|(_, size)| **size != 1);
    let (dim, size) = long.next()?;
    (long.next().is_none() && *size > 1).then_some((dim + shift, *size))
}

/// `(3,4)`.
fn shown(shape: &[i64]) -> String {
    let sizes: Vec<String> = shape.iter().map(i64::to_string).collect();
    format!("({})", sizes.join(","))
}

/// The message about two shapes that do not fit.
fn clash(one: &[i64], two: &[i64]) -> Diagnostic {
    let num_dims = one.len().max(two.len());
    let size =
        |shape: &[i64], at: usize| at.checked_sub(num_dims - shape.len()).map(|dim| shape[dim]);
    let clashes = |at: &usize| match (size(one, *at), size(two, *at)) {
        (Some(one), Some(two)) => one != two && one != 1 && two != 1,
        (Some(_), None) | (None, Some(_)) | (None, None) => false,
    };
    let marked: Vec<usize> = (0..num_dims).filter(clashes).collect();
    let pairs: Vec<String> = marked
        .iter()
        .filter_map(|at| Some(format!("{} and {}", size(one, *at)?, size(two, *at)?)))
        .collect();
    let what = if pairs.is_empty() {
        "the first would have to shrink".to_owned()
    } else {
        format!("aligned on the right, {} meet", pairs.join(", "))
    };
    let message = format!(
        "shapes {} and {} do not broadcast: {what}",
        shown(one),
        shown(two)
    );
    let mut diagnostic = Diagnostic::error("numpy-broadcast", message, Span::NONE)
        .with_note(rows(one, two, &marked));
    for help in ways_out(one, two) {
        diagnostic = diagnostic.with_help(help);
    }
    diagnostic
}

/// Both shapes one below the other, and marks below the sizes that clash.
fn rows(one: &[i64], two: &[i64], marked: &[usize]) -> String {
    let num_dims = one.len().max(two.len());
    let text = |shape: &[i64]| -> Vec<String> {
        let padding = std::iter::repeat_n(String::new(), num_dims - shape.len());
        padding.chain(shape.iter().map(i64::to_string)).collect()
    };
    let (first, second) = (text(one), text(two));
    let widths: Vec<usize> = first
        .iter()
        .zip(&second)
        .map(|(one, two)| one.len().max(two.len()))
        .collect();
    let marks = (0..num_dims).map(|at| if marked.contains(&at) { "^" } else { "" });
    let marks: Vec<String> = marks.map(str::to_owned).collect();
    format!(
        "aligned on the right:\n{}\n{}\n{}",
        row(&first, &widths, num_dims - one.len(), true),
        row(&second, &widths, num_dims - two.len(), true),
        row(&marks, &widths, num_dims, false)
    )
}

/// Cells of equal widths; those from `first` on stand in parentheses.
fn row(cells: &[String], widths: &[usize], first: usize, closed: bool) -> String {
    let mut line = String::from(" ");
    for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let before = match at.cmp(&first) {
            std::cmp::Ordering::Less => "  ",
            std::cmp::Ordering::Equal => " (",
            std::cmp::Ordering::Greater => ", ",
        };
        line.push_str(&format!("{before}{cell:>width$}"));
    }
    if closed {
        line.push(')');
    }
    line.trim_end().to_owned()
}

/// Reshapes of the smaller shape that would fit, or what else helps.
fn ways_out(one: &[i64], two: &[i64]) -> Vec<String> {
    let (small, large) = if one.len() < two.len() {
        (one, two)
    } else {
        (two, one)
    };
    if small.len() == large.len() {
        if small.len() > 1 && small.iter().rev().eq(large) {
            return vec![format!("transpose {} first", shown(small))];
        }
        return vec!["sizes that meet are equal, or one of them is 1".to_owned()];
    }
    let mut found = Vec::new();
    let mut steps = MAX_STEPS;
    let mut partial = vec![1; large.len()];
    place(small, large, &mut partial, (0, 0), &mut steps, &mut found);
    if found.is_empty() {
        return vec!["sizes that meet are equal, or one of them is 1".to_owned()];
    }
    let suggestion = |reshaped: Vec<i64>| {
        let kept: Vec<i64> = reshaped
            .iter()
            .skip_while(|size| **size == 1)
            .copied()
            .collect();
        format!(
            "if that is meant, reshape {} to {}",
            shown(small),
            shown(&kept)
        )
    };
    found.into_iter().map(suggestion).collect()
}

/// Finds the places of `small`'s sizes among equal ones of `large`, in order; the rest is 1.
fn place(
    small: &[i64],
    large: &[i64],
    partial: &mut Vec<i64>,
    (dim, from): (usize, usize),
    steps: &mut usize,
    found: &mut Vec<Vec<i64>>,
) {
    let Some(size) = small.get(dim) else {
        found.push(partial.clone());
        return;
    };
    // What is left of the large shape must hold what is left of the small one.
    let last = (large.len() + dim + 1).saturating_sub(small.len());
    for at in from..last {
        if found.len() >= MAX_SUGGESTIONS || *steps == 0 {
            return;
        }
        *steps -= 1;
        if large[at] == *size {
            partial[at] = *size;
            place(small, large, partial, (dim + 1, at + 1), steps, found);
            partial[at] = 1;
        }
    }
}
