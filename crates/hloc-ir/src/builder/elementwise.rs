//! Element-wise instructions, with implicit broadcasting.

use std::panic::Location;

use super::{Builder, Value};
use crate::{BinaryOp, CompareType, ComparisonDirection, ElementType, Op, TernaryOp, UnaryOp};

/// One method per row, and a match that the compiler refuses when the op table has a row more.
macro_rules! unary_methods {
    ($( $method:ident = $op:ident; )*) => {
        impl Builder { $(
            #[doc = concat!("Element by element: [`UnaryOp::", stringify!($op), "`].")]
            #[track_caller]
            pub fn $method(&self, x: Value) -> Value {
                self.emit(Op::unary(UnaryOp::$op), &[x], None, Location::caller())
            }
        )* }

        /// The method that builds each op.
        #[cfg(test)]
        pub(super) fn unary_method(op: UnaryOp) -> &'static str {
            match op { $( UnaryOp::$op => stringify!($method), )* }
        }
    };
}

macro_rules! binary_methods {
    ($( $method:ident, $in_dim:ident = $op:ident; )*) => {
        impl Builder { $(
            #[doc = concat!("Element by element: [`BinaryOp::", stringify!($op), "`].")]
            ///
            /// Scalars and sizes of 1 broadcast; operands with different numbers of dimensions need
            #[doc = concat!("[`Builder::", stringify!($in_dim), "`].")]
            #[track_caller]
            pub fn $method(&self, x: Value, y: Value) -> Value {
                self.emit(Op::binary(BinaryOp::$op), &[x, y], None, Location::caller())
            }

            #[doc = concat!("As [`Builder::", stringify!($method), "`]; dimension `i` of the operand with fewer")]
            /// dimensions lies at `broadcast_dimensions[i]` of the other.
            #[track_caller]
            pub fn $in_dim(&self, x: Value, y: Value, broadcast_dimensions: &[i64]) -> Value {
                let op = Op::Binary {
                    op: BinaryOp::$op,
                    broadcast_dimensions: Some(broadcast_dimensions.to_vec()),
                };
                self.emit(op, &[x, y], None, Location::caller())
            }
        )* }

        /// The method that builds each op.
        #[cfg(test)]
        pub(super) fn binary_method(op: BinaryOp) -> &'static str {
            match op { $( BinaryOp::$op => stringify!($method), )* }
        }
    };
}

unary_methods! {
    abs = Abs;
    acos = Acos;
    acosh = Acosh;
    asin = Asin;
    asinh = Asinh;
    atanh = Atanh;
    cbrt = Cbrt;
    ceil = Ceil;
    cosine = Cosine;
    cosh = Cosh;
    count_leading_zeros = CountLeadingZeros;
    erf = Erf;
    exponential = Exponential;
    exponential_minus_one = ExponentialMinusOne;
    floor = Floor;
    imag = Imag;
    is_finite = IsFinite;
    log = Log;
    log_plus_one = LogPlusOne;
    logistic = Logistic;
    negate = Negate;
    not = Not;
    popcnt = Popcnt;
    real = Real;
    round_nearest_afz = RoundNearestAfz;
    round_nearest_even = RoundNearestEven;
    rsqrt = Rsqrt;
    sign = Sign;
    sine = Sine;
    sinh = Sinh;
    sqrt = Sqrt;
    tan = Tan;
    tanh = Tanh;
}

binary_methods! {
    add, add_in_dim = Add;
    and, and_in_dim = And;
    atan2, atan2_in_dim = Atan2;
    complex, complex_in_dim = Complex;
    divide, divide_in_dim = Divide;
    maximum, maximum_in_dim = Maximum;
    minimum, minimum_in_dim = Minimum;
    mulhi, mulhi_in_dim = Mulhi;
    multiply, multiply_in_dim = Multiply;
    or, or_in_dim = Or;
    power, power_in_dim = Power;
    remainder, remainder_in_dim = Remainder;
    shift_left, shift_left_in_dim = ShiftLeft;
    shift_right_arithmetic, shift_right_arithmetic_in_dim = ShiftRightArithmetic;
    shift_right_logical, shift_right_logical_in_dim = ShiftRightLogical;
    subtract, subtract_in_dim = Subtract;
    xor, xor_in_dim = Xor;
}

impl Builder {
    /// Compares element by element: `b.compare(x, y, ComparisonDirection::Lt)` is `pred`. Broadcasts as
    /// [`Builder::add`] does.
    #[track_caller]
    pub fn compare(&self, x: Value, y: Value, direction: ComparisonDirection) -> Value {
        let op = Op::Compare {
            direction,
            compare_type: None,
            broadcast_dimensions: None,
        };
        self.emit(op, &[x, y], None, Location::caller())
    }

    /// As [`Builder::compare`]; dimension `i` of the operand with fewer dimensions lies at
    /// `broadcast_dimensions[i]` of the other.
    #[track_caller]
    pub fn compare_in_dim(
        &self,
        x: Value,
        y: Value,
        direction: ComparisonDirection,
        broadcast_dimensions: &[i64],
    ) -> Value {
        let op = Op::Compare {
            direction,
            compare_type: None,
            broadcast_dimensions: Some(broadcast_dimensions.to_vec()),
        };
        self.emit(op, &[x, y], None, Location::caller())
    }

    /// Compares floats by their total order, in which −0 is less than +0 and NaN greater than infinity.
    #[track_caller]
    pub fn compare_total_order(&self, x: Value, y: Value, direction: ComparisonDirection) -> Value {
        let op = Op::Compare {
            direction,
            compare_type: Some(CompareType::TotalOrder),
            broadcast_dimensions: None,
        };
        self.emit(op, &[x, y], None, Location::caller())
    }

    /// `on_true` where `condition` (`pred`) holds, else `on_false`. Scalars and sizes of 1 broadcast.
    #[track_caller]
    pub fn select(&self, condition: Value, on_true: Value, on_false: Value) -> Value {
        let op = Op::ternary(TernaryOp::Select);
        let operands = [condition, on_true, on_false];
        self.emit(op, &operands, None, Location::caller())
    }

    /// `min(max(x, low), high)`. Scalars and sizes of 1 broadcast.
    #[track_caller]
    pub fn clamp(&self, low: Value, x: Value, high: Value) -> Value {
        let op = Op::ternary(TernaryOp::Clamp);
        self.emit(op, &[low, x, high], None, Location::caller())
    }

    /// Each element converted: integers wrap, floats truncate and saturate into integers.
    #[track_caller]
    pub fn convert(&self, x: Value, element_type: ElementType) -> Value {
        let at = Location::caller();
        let shape = self.derived(x, |array| array.with_element_type(element_type));
        self.emit(Op::Convert {}, &[x], Some(shape), at)
    }

    /// The same bits as another type: a wider type takes the last dimension together, a narrower one
    /// adds a last dimension.
    #[track_caller]
    pub fn bitcast_convert(&self, x: Value, element_type: ElementType) -> Value {
        let at = Location::caller();
        let shape = self.derived(x, |array| {
            let mut shape = array.with_element_type(element_type);
            let (from, to) = (array.element_type.size(), element_type.size());
            if from > to {
                shape.dims.push((from / to) as i64);
            } else if from < to {
                shape.dims.pop();
            }
            shape
        });
        self.emit(Op::BitcastConvert {}, &[x], Some(shape), at)
    }

    /// Rounds to a float format with fewer bits, within the type.
    #[track_caller]
    pub fn reduce_precision(&self, x: Value, exponent_bits: i64, mantissa_bits: i64) -> Value {
        let op = Op::ReducePrecision {
            exponent_bits,
            mantissa_bits,
        };
        self.emit(op, &[x], None, Location::caller())
    }
}
