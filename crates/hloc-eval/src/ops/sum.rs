//! Sums of many floats: left folds that keep what rounding drops and add it at the end.
//!
//! So the sum of a million terms is as accurate as that of two, and still overflows where the terms, added
//! one by one, do.

use hloc_ir::{BinaryOp, Computation, ElementType, Op};
use hloc_tensor::Array;

use super::dot::IntoType;
use crate::scalar::{C128, Lane, Value};

/// Whether a reducer adds its two parameters.
pub(super) fn is_sum(reducer: &Computation) -> bool {
    let root = reducer.instructions.get(reducer.root);
    let Some(root) = root else {
        return false;
    };
    let Op::Binary {
        op: BinaryOp::Add, ..
    } = &root.op
    else {
        return false;
    };
    let [x, y] = root.operands[..] else {
        return false;
    };
    let parameters = &reducer.parameters;
    parameters.len() == 2 && x != y && parameters.contains(&x) && parameters.contains(&y)
}

/// A sum so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sum {
    rounded: C128,
    dropped: C128,
}

impl Sum {
    /// A sum that begins with the only element of `init`; `None` unless that is a float or complex.
    pub(super) fn new(init: &Array) -> Option<Sum> {
        Some(Sum {
            rounded: parts(Value::at(init, 0))?,
            dropped: C128::new(0.0, 0.0),
        })
    }

    /// Adds an element of type `ty`.
    pub(super) fn add(&mut self, value: Value, ty: ElementType) {
        let Some(value) = parts(value) else {
            return;
        };
        let ty = ty.component();
        let (re, re_dropped) = sum(self.rounded.re, value.re, ty);
        let (im, im_dropped) = sum(self.rounded.im, value.im, ty);
        self.rounded = C128::new(re, im);
        self.dropped += C128::new(re_dropped, im_dropped);
    }

    /// The sum as an element of type `ty`.
    pub(super) fn value(self, ty: ElementType) -> Value {
        let whole = |rounded: f64, dropped: f64| {
            // Infinite sums have dropped nothing that counts; sums of -0 have dropped nothing.
            let whole = rounded + dropped;
            if dropped != 0.0 && rounded.is_finite() && whole.is_finite() {
                whole
            } else {
                rounded
            }
        };
        let whole = C128::new(
            whole(self.rounded.re, self.dropped.re),
            whole(self.rounded.im, self.dropped.im),
        );
        whole.into_type(ty)
    }
}

/// Real and imaginary part.
fn parts(value: Value) -> Option<C128> {
    match value {
        Value::Float(value) => Some(C128::new(value, 0.0)),
        Value::Complex(value) => Some(value),
        Value::Pred(_) | Value::Int(_) => None,
    }
}

/// x + y rounded to `ty`, and what that drops.
fn sum(x: f64, y: f64, ty: ElementType) -> (f64, f64) {
    let sum = x + y;
    let part = sum - x;
    let low = (x - (sum - part)) + (y - part);
    let rounded = sum.rounded(ty);
    (rounded, (sum - rounded) + low)
}
