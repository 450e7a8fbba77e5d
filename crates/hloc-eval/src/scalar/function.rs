//! From an op and an element type to the function of single elements, chosen once for many elements.

use hloc_ir::{BinaryOp, CompareType, ComparisonDirection, UnaryOp};
use hloc_tensor::{Array, ElementClass, ElementType};

use super::{C128, Lane, Value, complex, float, integer};
use crate::EvalError;

/// A function of one element of type `from`, with a result of type `to`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnaryFn {
    pub(crate) from: ElementType,
    pub(crate) to: ElementType,
    function: Unary,
}

#[derive(Clone, Copy, Debug)]
enum Unary {
    Pred(fn(bool) -> bool),
    Int(integer::Unary),
    Float(float::Unary),
    Complex(fn(C128) -> C128),
    IsFinite(fn(f64) -> bool),
    Part(fn(C128) -> f64),
}

impl UnaryFn {
    /// The function behind `op` for elements of type `from`, `None` if there is none.
    pub(crate) fn select(op: UnaryOp, from: ElementType) -> Option<UnaryFn> {
        let function = match from.class() {
            ElementClass::Predicate => Unary::Pred(pred_unary(op)?),
            ElementClass::Signed | ElementClass::Unsigned => Unary::Int(integer::unary(op)?),
            ElementClass::Float if op == UnaryOp::IsFinite => Unary::IsFinite(f64::is_finite),
            ElementClass::Float => Unary::Float(float::unary(op)?),
            ElementClass::Complex => complex_unary(op)?,
        };
        Some(UnaryFn {
            from,
            to: op.result_type(from),
            function,
        })
    }

    /// The result for one value of type `from`, `None` for a value of another kind.
    pub(crate) fn call(&self, x: Value) -> Option<Value> {
        fn apply<X: Lane, R: Lane>(x: Value, to: ElementType, f: impl Fn(X) -> R) -> Option<Value> {
            Some(f(X::unwrap(x)?).rounded(to).wrap())
        }
        match self.function {
            Unary::Pred(f) => apply(x, self.to, f),
            Unary::Int(f) => apply(x, self.to, |x| f(x, self.from.bits())),
            Unary::Float(f) => apply(x, self.to, f),
            Unary::Complex(f) => apply(x, self.to, f),
            Unary::IsFinite(f) => apply(x, self.to, f),
            Unary::Part(f) => apply(x, self.to, f),
        }
    }

    /// The results for all elements of an array of type `from`.
    pub(crate) fn map(&self, x: &Array) -> Result<Array, EvalError> {
        match self.function {
            Unary::Pred(f) => map1(x, self.to, f),
            Unary::Int(f) => map1(x, self.to, |x| f(x, self.from.bits())),
            Unary::Float(f) => map1(x, self.to, f),
            Unary::Complex(f) => map1(x, self.to, f),
            Unary::IsFinite(f) => map1(x, self.to, f),
            Unary::Part(f) => map1(x, self.to, f),
        }
    }
}

/// A function of two elements of type `from`, with a result of type `to`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BinaryFn {
    pub(crate) from: ElementType,
    pub(crate) to: ElementType,
    function: Binary,
}

#[derive(Clone, Copy, Debug)]
enum Binary {
    Pred(fn(bool, bool) -> bool),
    Int(integer::Binary),
    Float(float::Binary),
    Complex(fn(C128, C128, ElementType) -> C128),
    Join(fn(f64, f64) -> C128),
}

impl BinaryFn {
    /// The function behind `op` for elements of type `from`, `None` if there is none.
    pub(crate) fn select(op: BinaryOp, from: ElementType) -> Option<BinaryFn> {
        let function = match from.class() {
            ElementClass::Predicate => Binary::Pred(pred_binary(op)?),
            ElementClass::Signed | ElementClass::Unsigned => Binary::Int(integer::binary(op)?),
            ElementClass::Float if op == BinaryOp::Complex => Binary::Join(C128::new),
            ElementClass::Float => Binary::Float(float::binary(op)?),
            ElementClass::Complex => Binary::Complex(complex_binary(op)?),
        };
        Some(BinaryFn {
            from,
            to: op.result_type(from)?,
            function,
        })
    }

    /// The result for two values of type `from`, `None` for values of another kind.
    pub(crate) fn call(&self, x: Value, y: Value) -> Option<Value> {
        fn apply<X: Lane, R: Lane>(
            (x, y): (Value, Value),
            to: ElementType,
            f: impl Fn(X, X) -> R,
        ) -> Option<Value> {
            Some(f(X::unwrap(x)?, X::unwrap(y)?).rounded(to).wrap())
        }
        match self.function {
            Binary::Pred(f) => apply((x, y), self.to, f),
            Binary::Int(f) => apply((x, y), self.to, |x, y| f(x, y, self.from.bits())),
            Binary::Float(f) => apply((x, y), self.to, f),
            Binary::Complex(f) => apply((x, y), self.to, |x, y| f(x, y, self.from)),
            Binary::Join(f) => apply((x, y), self.to, f),
        }
    }

    /// The results for all pairs of elements of two arrays of type `from` and equal dimensions.
    pub(crate) fn map(&self, x: &Array, y: &Array) -> Result<Array, EvalError> {
        match self.function {
            Binary::Pred(f) => map2(x, y, self.to, f),
            Binary::Int(f) => map2(x, y, self.to, |x, y| f(x, y, self.from.bits())),
            Binary::Float(f) => map2(x, y, self.to, f),
            Binary::Complex(f) => map2(x, y, self.to, |x, y| f(x, y, self.from)),
            Binary::Join(f) => map2(x, y, self.to, f),
        }
    }
}

/// A comparison of two elements of one type.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CompareFn {
    Pred(fn(bool, bool) -> bool),
    Int(fn(i128, i128) -> bool),
    Float(fn(f64, f64) -> bool),
    Complex(fn(C128, C128) -> bool),
}

impl CompareFn {
    /// The comparison, `None` if elements of type `ty` have none: complex numbers are only equal or not.
    pub(crate) fn select(
        direction: ComparisonDirection,
        compare_type: Option<CompareType>,
        ty: ElementType,
    ) -> Option<CompareFn> {
        let total = compare_type == Some(CompareType::TotalOrder);
        match ty.class() {
            ElementClass::Predicate => Some(CompareFn::Pred(ordered(direction))),
            ElementClass::Signed | ElementClass::Unsigned => {
                Some(CompareFn::Int(ordered(direction)))
            }
            ElementClass::Float if total => Some(CompareFn::Float(totally_ordered(direction))),
            ElementClass::Float => Some(CompareFn::Float(ordered(direction))),
            ElementClass::Complex => match direction {
                ComparisonDirection::Eq => Some(CompareFn::Complex(|x, y| x == y)),
                ComparisonDirection::Ne => Some(CompareFn::Complex(|x, y| x != y)),
                ComparisonDirection::Ge
                | ComparisonDirection::Gt
                | ComparisonDirection::Le
                | ComparisonDirection::Lt => None,
            },
        }
    }

    /// Whether it holds, `None` for values of another kind.
    pub(crate) fn call(&self, x: Value, y: Value) -> Option<Value> {
        let holds = match self {
            CompareFn::Pred(f) => f(Lane::unwrap(x)?, Lane::unwrap(y)?),
            CompareFn::Int(f) => f(Lane::unwrap(x)?, Lane::unwrap(y)?),
            CompareFn::Float(f) => f(Lane::unwrap(x)?, Lane::unwrap(y)?),
            CompareFn::Complex(f) => f(Lane::unwrap(x)?, Lane::unwrap(y)?),
        };
        Some(Value::Pred(holds))
    }

    /// Whether it holds, for all pairs of elements of two arrays of equal dimensions.
    pub(crate) fn map(&self, x: &Array, y: &Array) -> Result<Array, EvalError> {
        match *self {
            CompareFn::Pred(f) => map2(x, y, ElementType::Pred, f),
            CompareFn::Int(f) => map2(x, y, ElementType::Pred, f),
            CompareFn::Float(f) => map2(x, y, ElementType::Pred, f),
            CompareFn::Complex(f) => map2(x, y, ElementType::Pred, f),
        }
    }
}

fn ordered<T: PartialOrd>(direction: ComparisonDirection) -> fn(T, T) -> bool {
    match direction {
        ComparisonDirection::Eq => |x, y| x == y,
        ComparisonDirection::Ne => |x, y| x != y,
        ComparisonDirection::Ge => |x, y| x >= y,
        ComparisonDirection::Gt => |x, y| x > y,
        ComparisonDirection::Le => |x, y| x <= y,
        ComparisonDirection::Lt => |x, y| x < y,
    }
}

fn totally_ordered(direction: ComparisonDirection) -> fn(f64, f64) -> bool {
    match direction {
        ComparisonDirection::Eq => |x, y| x.total_cmp(&y).is_eq(),
        ComparisonDirection::Ne => |x, y| x.total_cmp(&y).is_ne(),
        ComparisonDirection::Ge => |x, y| x.total_cmp(&y).is_ge(),
        ComparisonDirection::Gt => |x, y| x.total_cmp(&y).is_gt(),
        ComparisonDirection::Le => |x, y| x.total_cmp(&y).is_le(),
        ComparisonDirection::Lt => |x, y| x.total_cmp(&y).is_lt(),
    }
}

/// `min(max(x, low), high)`, `None` for values of different kinds.
pub(crate) fn clamp(low: Value, x: Value, high: Value) -> Option<Value> {
    Some(match (low, x, high) {
        (Value::Pred(low), Value::Pred(x), Value::Pred(high)) => Value::Pred((x | low) & high),
        (Value::Int(low), Value::Int(x), Value::Int(high)) => Value::Int(x.max(low).min(high)),
        (Value::Float(low), Value::Float(x), Value::Float(high)) => {
            Value::Float(float::minimum(float::maximum(x, low), high))
        }
        (Value::Complex(low), Value::Complex(x), Value::Complex(high)) => {
            Value::Complex(complex_minimum(complex_maximum(x, low), high))
        }
        _ => return None,
    })
}

fn pred_unary(op: UnaryOp) -> Option<fn(bool) -> bool> {
    if op == UnaryOp::Not {
        Some(|x| !x)
    } else {
        None
    }
}

fn pred_binary(op: BinaryOp) -> Option<fn(bool, bool) -> bool> {
    Some(match op {
        BinaryOp::Add | BinaryOp::Maximum | BinaryOp::Or => |x, y| x | y,
        BinaryOp::Multiply | BinaryOp::Minimum | BinaryOp::And => |x, y| x & y,
        BinaryOp::Xor => |x, y| x ^ y,
        BinaryOp::Atan2
        | BinaryOp::Complex
        | BinaryOp::Divide
        | BinaryOp::Mulhi
        | BinaryOp::Power
        | BinaryOp::Remainder
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRightArithmetic
        | BinaryOp::ShiftRightLogical
        | BinaryOp::Subtract => return None,
    })
}

fn complex_unary(op: UnaryOp) -> Option<Unary> {
    Some(Unary::Complex(match op {
        UnaryOp::Abs => return Some(Unary::Part(complex::abs)),
        UnaryOp::Real => return Some(Unary::Part(|z| z.re)),
        UnaryOp::Imag => return Some(Unary::Part(|z| z.im)),
        UnaryOp::Acos => complex::acos,
        UnaryOp::Acosh => complex::acosh,
        UnaryOp::Asin => complex::asin,
        UnaryOp::Asinh => complex::asinh,
        UnaryOp::Atanh => complex::atanh,
        UnaryOp::Cosine => complex::cos,
        UnaryOp::Cosh => complex::cosh,
        UnaryOp::Exponential => complex::exp,
        UnaryOp::ExponentialMinusOne => complex::expm1,
        UnaryOp::Log => complex::log,
        UnaryOp::LogPlusOne => complex::log1p,
        UnaryOp::Logistic => complex::logistic,
        UnaryOp::Negate => |z| C128::new(-z.re, -z.im),
        UnaryOp::Rsqrt => complex::rsqrt,
        UnaryOp::Sign => complex::sign,
        UnaryOp::Sine => complex::sin,
        UnaryOp::Sinh => complex::sinh,
        UnaryOp::Sqrt => complex::sqrt,
        UnaryOp::Tan => complex::tan,
        UnaryOp::Tanh => complex::tanh,
        UnaryOp::Cbrt
        | UnaryOp::Ceil
        | UnaryOp::CountLeadingZeros
        | UnaryOp::Erf
        | UnaryOp::Floor
        | UnaryOp::IsFinite
        | UnaryOp::Not
        | UnaryOp::Popcnt
        | UnaryOp::RoundNearestAfz
        | UnaryOp::RoundNearestEven => return None,
    }))
}

fn complex_binary(op: BinaryOp) -> Option<fn(C128, C128, ElementType) -> C128> {
    Some(match op {
        BinaryOp::Add => |z, w, _| C128::new(z.re + w.re, z.im + w.im),
        BinaryOp::Divide => |z, w, _| complex::divide(z, w),
        BinaryOp::Maximum => |z, w, _| complex_maximum(z, w),
        BinaryOp::Minimum => |z, w, _| complex_minimum(z, w),
        BinaryOp::Multiply => |z, w, ty| {
            if ty == ElementType::C64 {
                complex::multiply_single(z, w)
            } else {
                complex::multiply(z, w)
            }
        },
        BinaryOp::Power => |z, w, _| complex::pow(z, w),
        BinaryOp::Subtract => |z, w, _| C128::new(z.re - w.re, z.im - w.im),
        BinaryOp::And
        | BinaryOp::Atan2
        | BinaryOp::Complex
        | BinaryOp::Mulhi
        | BinaryOp::Or
        | BinaryOp::Remainder
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRightArithmetic
        | BinaryOp::ShiftRightLogical
        | BinaryOp::Xor => return None,
    })
}

/// Complex numbers compare by their real parts.
fn complex_maximum(z: C128, w: C128) -> C128 {
    if z.re.is_nan() || z.re >= w.re { z } else { w }
}

fn complex_minimum(z: C128, w: C128) -> C128 {
    if z.re.is_nan() || z.re <= w.re { z } else { w }
}

/// `f` of each element.
fn map1<X: Lane, R: Lane>(
    x: &Array,
    to: ElementType,
    f: impl Fn(X) -> R,
) -> Result<Array, EvalError> {
    let from = x.element_type();
    let mut result = Array::zeros(to, x.dims())?;
    let results = result.bytes_mut().chunks_exact_mut(to.size());
    for (bytes, x) in results.zip(x.bytes().chunks_exact(from.size())) {
        f(X::read(from, x)).write(to, bytes);
    }
    Ok(result)
}

/// `f` of each pair of elements.
fn map2<X: Lane, R: Lane>(
    x: &Array,
    y: &Array,
    to: ElementType,
    f: impl Fn(X, X) -> R,
) -> Result<Array, EvalError> {
    let from = x.element_type();
    let size = from.size();
    let mut result = Array::zeros(to, x.dims())?;
    let operands = x
        .bytes()
        .chunks_exact(size)
        .zip(y.bytes().chunks_exact(size));
    let results = result.bytes_mut().chunks_exact_mut(to.size());
    for (bytes, (x, y)) in results.zip(operands) {
        f(X::read(from, x), X::read(from, y)).write(to, bytes);
    }
    Ok(result)
}
