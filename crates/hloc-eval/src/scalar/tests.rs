//! Values from the case-by-case list of HLO semantics.

use hloc_ir::{BinaryOp, CompareType, ComparisonDirection, UnaryOp};
use hloc_tensor::{Array, ElementType};

use super::{BinaryFn, CompareFn, UnaryFn, Value, bitcast_convert, clamp, reduce_precision};

fn int2(op: BinaryOp, ty: ElementType, x: i128, y: i128) -> i128 {
    let f = BinaryFn::select(op, ty).expect("the op takes integers");
    match f.call(Value::Int(x), Value::Int(y)) {
        Some(Value::Int(value)) => value,
        other => panic!("{other:?}"),
    }
}

fn int1(op: UnaryOp, ty: ElementType, x: i128) -> i128 {
    let f = UnaryFn::select(op, ty).expect("the op takes integers");
    match f.call(Value::Int(x)) {
        Some(Value::Int(value)) => value,
        other => panic!("{other:?}"),
    }
}

fn float2(op: BinaryOp, x: f64, y: f64) -> f64 {
    let f = BinaryFn::select(op, ElementType::F32).expect("the op takes floats");
    match f.call(Value::Float(x), Value::Float(y)) {
        Some(Value::Float(value)) => value,
        other => panic!("{other:?}"),
    }
}

fn float1(op: UnaryOp, ty: ElementType, x: f64) -> f64 {
    let f = UnaryFn::select(op, ty).expect("the op takes floats");
    match f.call(Value::Float(x)) {
        Some(Value::Float(value)) => value,
        other => panic!("{other:?}"),
    }
}

/// −0 differs from 0, NaN equals NaN.
fn same(got: f64, want: f64) {
    let equal = got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan());
    assert!(equal, "{got} is not {want}");
}

#[test]
fn integers_wrap_at_their_width() {
    use ElementType::{S2, S8, S32, S64, U4, U8, U64};
    assert_eq!(int2(BinaryOp::Add, S8, 127, 1), -128);
    assert_eq!(int2(BinaryOp::Add, U4, 15, 1), 0);
    assert_eq!(
        int2(BinaryOp::Multiply, U64, u64::MAX.into(), u64::MAX.into()),
        1
    );
    assert_eq!(
        int2(BinaryOp::Subtract, S64, i64::MIN.into(), 1),
        i64::MAX.into()
    );
    assert_eq!(int1(UnaryOp::Abs, S32, i32::MIN.into()), i32::MIN.into());
    assert_eq!(int1(UnaryOp::Negate, S2, -2), -2);
    assert_eq!(int1(UnaryOp::Negate, U8, 1), 255);
    assert_eq!(int1(UnaryOp::Not, U8, 1), 254);
}

#[test]
fn division_by_zero_and_overflow_have_values() {
    use ElementType::{S8, U8};
    assert_eq!(int2(BinaryOp::Divide, S8, 7, 0), -1);
    assert_eq!(int2(BinaryOp::Divide, U8, 7, 0), 255);
    assert_eq!(int2(BinaryOp::Divide, S8, -128, -1), -128);
    assert_eq!(int2(BinaryOp::Divide, S8, -7, 2), -3);
    assert_eq!(int2(BinaryOp::Remainder, S8, 7, 0), 7);
    assert_eq!(int2(BinaryOp::Remainder, S8, -128, -1), 0);
    assert_eq!(int2(BinaryOp::Remainder, S8, -7, 2), -1);
}

#[test]
fn shifts_beyond_the_width_give_zero_or_the_sign() {
    use ElementType::{S8, U8, U64};
    assert_eq!(int2(BinaryOp::ShiftLeft, U8, 1, 8), 0);
    assert_eq!(int2(BinaryOp::ShiftLeft, S8, 1, -1), 0);
    assert_eq!(int2(BinaryOp::ShiftLeft, U64, u64::MAX.into(), 63), 1 << 63);
    assert_eq!(int2(BinaryOp::ShiftRightLogical, S8, -1, 1), 127);
    assert_eq!(int2(BinaryOp::ShiftRightLogical, S8, -1, 8), 0);
    assert_eq!(int2(BinaryOp::ShiftRightArithmetic, U8, 255, 1), 255);
    assert_eq!(int2(BinaryOp::ShiftRightArithmetic, S8, -128, 100), -1);
}

#[test]
fn powers_and_bit_counts() {
    use ElementType::{S8, S32, U8, U64};
    assert_eq!(int2(BinaryOp::Power, S32, 0, 0), 1);
    assert_eq!(int2(BinaryOp::Power, S32, 0, -1), 0);
    assert_eq!(int2(BinaryOp::Power, S32, -1, -3), -1);
    assert_eq!(int2(BinaryOp::Power, S32, 2, -1), 0);
    assert_eq!(int2(BinaryOp::Power, U8, 3, 6), 729 % 256);
    assert_eq!(int2(BinaryOp::Mulhi, U64, u64::MAX.into(), 2), 1);
    assert_eq!(int2(BinaryOp::Mulhi, S8, -128, 127), -64);
    assert_eq!(int1(UnaryOp::CountLeadingZeros, S8, 0), 8);
    assert_eq!(int1(UnaryOp::CountLeadingZeros, S8, -1), 0);
    assert_eq!(int1(UnaryOp::Popcnt, S8, -1), 8);
}

#[test]
fn maximum_and_minimum_propagate_nan_and_order_zeros() {
    let nan = f64::NAN;
    for op in [BinaryOp::Maximum, BinaryOp::Minimum] {
        same(float2(op, 1.0, nan), nan);
        same(float2(op, nan, 1.0), nan);
    }
    same(float2(BinaryOp::Maximum, -0.0, 0.0), 0.0);
    same(float2(BinaryOp::Maximum, 0.0, -0.0), 0.0);
    same(float2(BinaryOp::Minimum, 0.0, -0.0), -0.0);
    let clamped = |low, x, high| clamp(Value::Float(low), Value::Float(x), Value::Float(high));
    assert_eq!(clamped(3.0, 5.0, 1.0), Some(Value::Float(1.0)));
    assert_eq!(clamped(0.0, 5.0, 1.0), Some(Value::Float(1.0)));
    assert!(matches!(clamped(nan, 5.0, 1.0), Some(Value::Float(x)) if x.is_nan()));
}

#[test]
fn float_corner_cases() {
    use ElementType::F32;
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    same(float2(BinaryOp::Remainder, 5.0, 0.0), nan);
    same(float2(BinaryOp::Remainder, 5.0, inf), 5.0);
    same(float2(BinaryOp::Remainder, -0.0, 3.0), -0.0);
    same(float2(BinaryOp::Remainder, -5.0, 3.0), -2.0);
    same(float2(BinaryOp::Power, nan, 0.0), 1.0);
    same(float2(BinaryOp::Power, 1.0, nan), 1.0);
    same(float2(BinaryOp::Power, -1.0, inf), 1.0);
    same(float2(BinaryOp::Power, -0.0, -1.0), -inf);
    same(float2(BinaryOp::Power, -0.0, 0.5), 0.0);
    same(float2(BinaryOp::Power, -inf, 0.5), inf);
    same(float2(BinaryOp::Power, -8.0, 1.0 / 3.0), nan);
    same(float1(UnaryOp::Sqrt, F32, -0.0), -0.0);
    same(float1(UnaryOp::Rsqrt, F32, -0.0), -inf);
    same(float1(UnaryOp::LogPlusOne, F32, -1.0), -inf);
    same(float1(UnaryOp::RoundNearestEven, F32, 2.5), 2.0);
    same(float1(UnaryOp::RoundNearestAfz, F32, -0.5), -1.0);
    same(float1(UnaryOp::Floor, F32, -0.0), -0.0);
    same(float1(UnaryOp::Sign, F32, -0.0), -0.0);
    same(float1(UnaryOp::Sign, F32, nan), nan);
    assert!(float1(UnaryOp::Cosh, F32, 89.0).is_finite());
}

#[test]
fn subnormals_are_kept_and_narrow_types_round_after_each_op() {
    let tiny = f64::from(1e-40f32);
    same(
        float2(BinaryOp::Add, tiny, tiny),
        f64::from(1e-40f32 + 1e-40f32),
    );
    let add = BinaryFn::select(BinaryOp::Add, ElementType::BF16).expect("add takes bf16");
    let sum = add.call(Value::Float(256.0), Value::Float(1.0));
    assert_eq!(sum, Some(Value::Float(256.0)));
    same(
        float1(UnaryOp::Exponential, ElementType::F16, 12.0),
        f64::INFINITY,
    );
}

#[test]
fn total_order_tells_zeros_and_nans_apart() {
    let holds = |direction, order, x, y| {
        let f = CompareFn::select(direction, order, ElementType::F32).expect("floats compare");
        f.call(Value::Float(x), Value::Float(y)) == Some(Value::Pred(true))
    };
    let total = Some(CompareType::TotalOrder);
    assert!(holds(ComparisonDirection::Lt, total, -0.0, 0.0));
    assert!(holds(
        ComparisonDirection::Lt,
        total,
        f64::INFINITY,
        f64::NAN
    ));
    assert!(holds(
        ComparisonDirection::Lt,
        total,
        -f64::NAN,
        f64::NEG_INFINITY
    ));
    assert!(holds(ComparisonDirection::Ne, None, f64::NAN, f64::NAN));
    assert!(holds(ComparisonDirection::Eq, None, -0.0, 0.0));
}

#[test]
fn predicates_add_and_multiply_as_or_and_and() {
    let call = |op, x, y| {
        let f = BinaryFn::select(op, ElementType::Pred).expect("the op takes pred");
        f.call(Value::Pred(x), Value::Pred(y)) == Some(Value::Pred(true))
    };
    assert!(call(BinaryOp::Add, true, true) && call(BinaryOp::Maximum, true, false));
    assert!(!call(BinaryOp::Multiply, true, false) && !call(BinaryOp::Xor, true, true));
}

#[test]
fn conversions_saturate_wrap_and_round() {
    use ElementType::{C64, F8E4M3Fn, F32, Pred, S8, S32, U8};
    let from_float = |x, to| Value::Float(x).converted(F32, to);
    assert_eq!(from_float(1e10, S32), Value::Int(i32::MAX.into()));
    assert_eq!(from_float(-1.5, U8), Value::Int(0));
    assert_eq!(from_float(f64::NAN, S8), Value::Int(0));
    assert_eq!(from_float(f64::NAN, Pred), Value::Pred(true));
    assert_eq!(from_float(464.0, F8E4M3Fn), Value::Float(448.0));
    assert_eq!(Value::Int(300).converted(S32, S8), Value::Int(44));
    let imaginary = Value::Complex(super::C128::new(0.0, 2.0));
    assert_eq!(imaginary.converted(C64, Pred), Value::Pred(false));
}

#[test]
fn reduced_precision_rounds_overflows_and_flushes() {
    use ElementType::{F16, F32};
    same(reduce_precision(F32, 1.0 + 1.0 / 256.0, 8, 7), 1.0);
    same(
        reduce_precision(F32, 1.0 + 3.0 / 256.0, 8, 7),
        1.0 + 2.0 / 128.0,
    );
    same(reduce_precision(F32, 65520.0, 5, 10), f64::INFINITY);
    same(reduce_precision(F32, -1e-6, 5, 10), -0.0);
    same(reduce_precision(F32, f64::NAN, 5, 0), f64::NAN);
    same(reduce_precision(F16, 1.5, 8, 23), 1.5);
    same(reduce_precision(F32, f64::INFINITY, 5, 0), f64::INFINITY);
}

#[test]
fn bitcasts_count_from_the_low_bits() {
    let wide = Array::from_slice(&[1], &[0x0403_0201u32]).expect("one element");
    let bytes = bitcast_convert(&wide, ElementType::U8, &[1, 4]).expect("four bytes");
    assert_eq!(bytes.as_slice::<u8>(), Some(&[1, 2, 3, 4][..]));
    let back = bitcast_convert(&bytes, ElementType::U32, &[1]).expect("one word");
    assert_eq!(back, wide);
    let nibbles = bitcast_convert(&bytes, ElementType::S4, &[1, 4, 2]).expect("eight nibbles");
    assert_eq!(nibbles.bytes(), [1, 0, 2, 0, 3, 0, 4, 0]);
}
