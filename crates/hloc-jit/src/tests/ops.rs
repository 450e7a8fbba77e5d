//! Every op on every element type, on this processor and on the least one.

use hloc_ir::{
    Array, BinaryOp, CompareType, ComparisonDirection, ElementClass, ElementType, TernaryOp,
    UnaryOp,
};
use hloc_loops::ir::{Expr, LoopKind};
use hloc_tensor::Scalar;

use super::harness::{constant, elementwise, program, row_reduction, run};
use crate::repr::Kind;
use crate::{
    JitError, JitOptions, VectorWidth, asm_text, clif_text, compile_kernels, object_bytes, support,
};

/// A kind of loop for each of [`all_options`]: parallel loops are cut in two.
const KINDS: [LoopKind; 6] = [
    LoopKind::Serial,
    LoopKind::Vector,
    LoopKind::Parallel,
    LoopKind::Parallel,
    LoopKind::Vector,
    LoopKind::Parallel,
];

/// Every combination of processor and loop emission.
pub(super) fn all_options() -> Vec<JitOptions> {
    let mut all = Vec::new();
    for baseline_cpu in [false, true] {
        for vectorize in [false, true] {
            all.push(JitOptions {
                baseline_cpu,
                vectorize,
                width: VectorWidth::Bits128,
                streaming_bytes: None,
                any_range: false,
                threads: 1,
            });
        }
    }
    for width in [VectorWidth::Bits256, VectorWidth::Bits512] {
        all.push(JitOptions {
            width,
            threads: 1,
            ..JitOptions::default()
        });
    }
    all
}

/// An array of type `ty` of these numbers, converted.
pub(super) fn numbers(ty: ElementType, values: &[f64]) -> Array {
    let length = i64::try_from(values.len()).expect("a short list");
    let mut array = Array::zeros(ty, &[length]).expect("a short array");
    for (at, value) in values.iter().enumerate() {
        let scalar = match ty.class() {
            ElementClass::Complex => Scalar::Complex(*value, 0.5),
            ElementClass::Predicate
            | ElementClass::Signed
            | ElementClass::Unsigned
            | ElementClass::Float => Scalar::Float(*value).converted(ty),
        };
        array.set(at, scalar);
    }
    array
}

fn all_numbers(array: &Array) -> Vec<Scalar> {
    (0..array.num_elements()).map(|at| array.get(at)).collect()
}

#[test]
fn every_supported_op_compiles_on_every_type() {
    let mut kernels = Vec::new();
    let kind = LoopKind::Vector;
    for &ty in ElementType::ALL {
        for &op in UnaryOp::ALL.iter().filter(|op| support::unary(**op, ty)) {
            kernels.push(elementwise(&[ty], op.result_type(ty), 11, kind, |v| {
                Expr::Unary(op, v[0])
            }));
        }
        for &op in BinaryOp::ALL.iter().filter(|op| support::binary(**op, ty)) {
            let result = op.result_type(ty).expect("supported ops have a result");
            kernels.push(elementwise(&[ty, ty], result, 11, kind, |v| {
                Expr::Binary(op, v[0], v[1])
            }));
        }
        for &to in ElementType::ALL {
            kernels.push(elementwise(&[ty], to, 11, kind, |v| Expr::Convert(v[0])));
            if support::bitcast_convert(ty, to) {
                kernels.push(elementwise(&[ty], to, 11, kind, |v| {
                    Expr::BitcastConvert(v[0])
                }));
            }
        }
        let select = |v: &[_]| Expr::Ternary(TernaryOp::Select, [v[0], v[1], v[2]]);
        kernels.push(elementwise(
            &[ElementType::Pred, ty, ty],
            ty,
            11,
            kind,
            select,
        ));
        for direction in DIRECTIONS {
            if support::compare(direction, ty) {
                kernels.push(comparison(ty, direction, CompareType::Float));
                kernels.push(comparison(ty, direction, CompareType::TotalOrder));
            }
        }
        for op in [
            BinaryOp::Add,
            BinaryOp::Multiply,
            BinaryOp::Maximum,
            BinaryOp::Minimum,
        ] {
            kernels.push(row_reduction(ty, 3, 37, kind, |a, b| {
                Expr::Binary(op, a, b)
            }));
        }
    }
    for options in all_options() {
        compile_kernels(&program(kernels.clone()), &options).expect("everything compiles");
    }
}

const DIRECTIONS: [ComparisonDirection; 6] = [
    ComparisonDirection::Eq,
    ComparisonDirection::Ne,
    ComparisonDirection::Ge,
    ComparisonDirection::Gt,
    ComparisonDirection::Le,
    ComparisonDirection::Lt,
];

fn comparison(
    ty: ElementType,
    direction: ComparisonDirection,
    order: CompareType,
) -> hloc_loops::ir::Kernel {
    elementwise(&[ty, ty], ElementType::Pred, 9, LoopKind::Vector, |v| {
        Expr::Compare {
            direction,
            order,
            lhs: v[0],
            rhs: v[1],
        }
    })
}

#[test]
fn an_op_without_emission_is_refused_by_name() {
    let kernel = elementwise(
        &[ElementType::F32],
        ElementType::F32,
        4,
        LoopKind::Serial,
        |v| Expr::Unary(UnaryOp::Popcnt, v[0]),
    );
    let error = compile_kernels(&program([kernel]), &JitOptions::default()).expect_err("refused");
    assert!(matches!(&error, JitError::Unsupported { op, .. } if op == "popcnt"));
    assert_eq!(
        error.to_string(),
        "kernel `test`: `popcnt` of f32 cannot be compiled"
    );
}

/// The cases over and over, so that every one of them meets vectors, single vectors and the rest.
fn repeated<T: Copy>(cases: &[T]) -> Vec<T> {
    let length = 16 * cases.len() + 7;
    cases.iter().copied().cycle().take(length).collect()
}

/// Runs a binary op in every way and compares with numbers.
#[track_caller]
fn check_binary(op: BinaryOp, ty: ElementType, cases: &[(f64, f64, f64)]) {
    let cases = repeated(cases);
    let (x, y): (Vec<f64>, Vec<f64>) = cases.iter().map(|case| (case.0, case.1)).unzip();
    let expected: Vec<f64> = cases.iter().map(|case| case.2).collect();
    let length = i64::try_from(cases.len()).expect("a short list");
    for (options, kind) in all_options().into_iter().zip(KINDS) {
        let kernel = elementwise(&[ty, ty], ty, length, kind, |v| {
            Expr::Binary(op, v[0], v[1])
        });
        let result = run(kernel, &options, &[numbers(ty, &x), numbers(ty, &y)]).expect("it runs");
        let expected = numbers(ty, &expected);
        assert_same(&result, &expected, &format!("{op} of {ty} {options:?}"));
    }
}

#[track_caller]
fn check_unary(op: UnaryOp, ty: ElementType, cases: &[(f64, f64)]) {
    let cases = repeated(cases);
    let (x, expected): (Vec<f64>, Vec<f64>) = cases.iter().copied().unzip();
    let length = i64::try_from(cases.len()).expect("a short list");
    for (options, kind) in all_options().into_iter().zip(KINDS) {
        let kernel = elementwise(&[ty], op.result_type(ty), length, kind, |v| {
            Expr::Unary(op, v[0])
        });
        let result = run(kernel, &options, &[numbers(ty, &x)]).expect("it runs");
        let expected = numbers(op.result_type(ty), &expected);
        assert_same(&result, &expected, &format!("{op} of {ty} {options:?}"));
    }
}

#[track_caller]
pub(super) fn assert_same(actual: &Array, expected: &Array, what: &str) {
    // Debug text tells -0 from 0 and holds NaN equal to NaN.
    let text = |array: &Array| format!("{:?}", all_numbers(array)).replace("-NaN", "NaN");
    assert_eq!(text(actual), text(expected), "{what}");
}

#[test]
fn integer_division_never_traps() {
    for ty in [
        ElementType::S8,
        ElementType::S16,
        ElementType::S32,
        ElementType::S4,
    ] {
        let minimum = -(2f64.powi(i32::try_from(ty.bits()).expect("small") - 1));
        let divide = [
            (7.0, 2.0, 3.0),
            (-7.0, 2.0, -3.0),
            (5.0, 0.0, -1.0),
            (minimum, -1.0, minimum),
        ];
        check_binary(BinaryOp::Divide, ty, &divide);
        let remainder = [
            (7.0, 2.0, 1.0),
            (-7.0, 2.0, -1.0),
            (5.0, 0.0, 5.0),
            (minimum, -1.0, 0.0),
        ];
        check_binary(BinaryOp::Remainder, ty, &remainder);
    }
    check_binary(
        BinaryOp::Divide,
        ElementType::U4,
        &[(13.0, 3.0, 4.0), (5.0, 0.0, 15.0)],
    );
    check_binary(
        BinaryOp::Divide,
        ElementType::U8,
        &[(250.0, 3.0, 83.0), (5.0, 0.0, 255.0)],
    );
    check_binary(
        BinaryOp::Remainder,
        ElementType::U32,
        &[(4e9, 3.0, 1.0), (5.0, 0.0, 5.0)],
    );
}

#[test]
fn integers_wrap_at_their_own_width() {
    check_binary(
        BinaryOp::Add,
        ElementType::S4,
        &[(7.0, 1.0, -8.0), (-8.0, -1.0, 7.0)],
    );
    check_binary(
        BinaryOp::Multiply,
        ElementType::U2,
        &[(3.0, 3.0, 1.0), (2.0, 2.0, 0.0)],
    );
    check_binary(
        BinaryOp::Add,
        ElementType::S32,
        &[(2147483647.0, 1.0, -2147483648.0)],
    );
    check_binary(BinaryOp::Subtract, ElementType::U16, &[(0.0, 1.0, 65535.0)]);
    check_unary(
        UnaryOp::Abs,
        ElementType::S8,
        &[(-128.0, -128.0), (-5.0, 5.0), (5.0, 5.0)],
    );
    check_unary(
        UnaryOp::Negate,
        ElementType::U8,
        &[(1.0, 255.0), (0.0, 0.0)],
    );
    check_unary(UnaryOp::Not, ElementType::U4, &[(5.0, 10.0), (0.0, 15.0)]);
    check_unary(
        UnaryOp::Sign,
        ElementType::S16,
        &[(-300.0, -1.0), (0.0, 0.0), (9.0, 1.0)],
    );
    check_unary(
        UnaryOp::CountLeadingZeros,
        ElementType::S4,
        &[(0.0, 4.0), (-1.0, 0.0), (1.0, 3.0)],
    );
    check_unary(
        UnaryOp::Popcnt,
        ElementType::S16,
        &[(-1.0, 16.0), (5.0, 2.0)],
    );
}

#[test]
fn shifts_by_the_width_and_more_are_defined() {
    let left = [
        (1.0, 3.0, 8.0),
        (1.0, 31.0, -2147483648.0),
        (1.0, 32.0, 0.0),
        (1.0, -1.0, 0.0),
    ];
    check_binary(BinaryOp::ShiftLeft, ElementType::S32, &left);
    let right = [(-8.0, 1.0, -4.0), (-8.0, 40.0, -1.0), (8.0, -1.0, 0.0)];
    check_binary(BinaryOp::ShiftRightArithmetic, ElementType::S32, &right);
    check_binary(
        BinaryOp::ShiftRightArithmetic,
        ElementType::U8,
        &[(255.0, 1.0, 255.0), (127.0, 9.0, 0.0)],
    );
    check_binary(
        BinaryOp::ShiftRightArithmetic,
        ElementType::U4,
        &[(8.0, 1.0, 12.0)],
    );
    check_binary(
        BinaryOp::ShiftRightLogical,
        ElementType::S4,
        &[(-1.0, 1.0, 7.0), (-1.0, 4.0, 0.0)],
    );
    check_binary(
        BinaryOp::ShiftRightLogical,
        ElementType::S32,
        &[(-1.0, 28.0, 15.0)],
    );
}

#[test]
fn integer_powers_and_high_products() {
    let powers = [
        (3.0, 4.0, 81.0),
        (2.0, -1.0, 0.0),
        (-1.0, -3.0, -1.0),
        (0.0, 0.0, 1.0),
        (10.0, 3.0, -24.0),
    ];
    check_binary(BinaryOp::Power, ElementType::S8, &powers);
    check_binary(
        BinaryOp::Mulhi,
        ElementType::S8,
        &[(100.0, 100.0, 39.0), (-100.0, 100.0, -40.0)],
    );
    check_binary(
        BinaryOp::Mulhi,
        ElementType::U32,
        &[(4294967295.0, 4294967295.0, 4294967294.0)],
    );
    check_binary(
        BinaryOp::Mulhi,
        ElementType::S64,
        &[(4e18, 8.0, 1.0), (-4e18, 8.0, -2.0)],
    );
    check_binary(BinaryOp::Mulhi, ElementType::U4, &[(15.0, 15.0, 14.0)]);
}

const FLOATS: [ElementType; 4] = [
    ElementType::F32,
    ElementType::F64,
    ElementType::F16,
    ElementType::BF16,
];

#[test]
fn maximum_and_minimum_follow_nan_and_the_sign_of_zero() {
    let nan = f64::NAN;
    let greatest = [
        (1.0, 2.0, 2.0),
        (nan, 1.0, nan),
        (1.0, nan, nan),
        (-0.0, 0.0, 0.0),
        (0.0, -0.0, 0.0),
    ];
    let least = [
        (1.0, 2.0, 1.0),
        (nan, 1.0, nan),
        (1.0, nan, nan),
        (-0.0, 0.0, -0.0),
        (0.0, -0.0, -0.0),
    ];
    for ty in FLOATS {
        check_binary(BinaryOp::Maximum, ty, &greatest);
        check_binary(BinaryOp::Minimum, ty, &least);
    }
}

#[test]
fn float_rounding_keeps_the_sign_of_zero() {
    for ty in FLOATS {
        check_unary(
            UnaryOp::Floor,
            ty,
            &[(-0.5, -1.0), (-0.0, -0.0), (2.75, 2.0)],
        );
        check_unary(UnaryOp::Ceil, ty, &[(-0.5, -0.0), (0.0, 0.0), (2.25, 3.0)]);
        let even = [
            (0.5, 0.0),
            (1.5, 2.0),
            (2.5, 2.0),
            (-0.5, -0.0),
            (f64::INFINITY, f64::INFINITY),
        ];
        check_unary(UnaryOp::RoundNearestEven, ty, &even);
        let away = [
            (0.5, 1.0),
            (-0.5, -1.0),
            (2.5, 3.0),
            (-0.25, -0.0),
            (f64::INFINITY, f64::INFINITY),
        ];
        check_unary(UnaryOp::RoundNearestAfz, ty, &away);
        check_unary(
            UnaryOp::Sign,
            ty,
            &[(-3.0, -1.0), (-0.0, -0.0), (f64::NAN, f64::NAN), (7.0, 1.0)],
        );
        check_unary(
            UnaryOp::IsFinite,
            ty,
            &[(1.0, 1.0), (f64::INFINITY, 0.0), (f64::NAN, 0.0)],
        );
    }
}

#[test]
fn float_special_cases() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    for ty in FLOATS {
        check_binary(
            BinaryOp::Power,
            ty,
            &[
                (nan, 0.0, 1.0),
                (1.0, nan, 1.0),
                (-1.0, inf, 1.0),
                (2.0, 3.0, 8.0),
            ],
        );
        let rest = [
            (5.5, 2.0, 1.5),
            (-5.5, 2.0, -1.5),
            (1.0, 0.0, nan),
            (1.0, inf, 1.0),
            (-0.0, 1.0, -0.0),
        ];
        check_binary(BinaryOp::Remainder, ty, &rest);
        check_unary(UnaryOp::Sqrt, ty, &[(-0.0, -0.0), (4.0, 2.0), (-1.0, nan)]);
        check_unary(
            UnaryOp::Rsqrt,
            ty,
            &[(-0.0, -inf), (0.0, inf), (4.0, 0.5), (inf, 0.0)],
        );
        check_unary(
            UnaryOp::Log,
            ty,
            &[(0.0, -inf), (1.0, 0.0), (-1.0, nan), (inf, inf)],
        );
        check_unary(
            UnaryOp::LogPlusOne,
            ty,
            &[(-1.0, -inf), (0.0, 0.0), (-0.0, -0.0)],
        );
        check_unary(
            UnaryOp::Exponential,
            ty,
            &[(-inf, 0.0), (0.0, 1.0), (inf, inf), (nan, nan)],
        );
        check_unary(
            UnaryOp::ExponentialMinusOne,
            ty,
            &[(-inf, -1.0), (-0.0, -0.0), (inf, inf)],
        );
        check_unary(
            UnaryOp::Tanh,
            ty,
            &[(-inf, -1.0), (-0.0, -0.0), (inf, 1.0), (nan, nan)],
        );
        check_unary(
            UnaryOp::Logistic,
            ty,
            &[(-inf, 0.0), (0.0, 0.5), (inf, 1.0), (nan, nan)],
        );
        check_unary(UnaryOp::Sine, ty, &[(-0.0, -0.0), (inf, nan)]);
        check_unary(UnaryOp::Cosine, ty, &[(-0.0, 1.0), (inf, nan)]);
        check_unary(UnaryOp::Cbrt, ty, &[(-8.0, -2.0), (-0.0, -0.0)]);
    }
}

/// Runs a conversion in every way and compares with `Scalar::converted`.
fn check_convert(from: ElementType, to: ElementType, values: &[f64]) {
    let values = repeated(values);
    let input = numbers(from, &values);
    let mut expected = Array::zeros(to, input.dims()).expect("a short array");
    for at in 0..input.num_elements() {
        expected.set(at, input.get(at).converted(to));
    }
    // Vector code for this processor and scalar code for the least one.
    for options in all_options()
        .into_iter()
        .filter(|o| o.vectorize != o.baseline_cpu)
    {
        let length = i64::try_from(values.len()).expect("a short list");
        let kernel = elementwise(&[from], to, length, LoopKind::Vector, |v| {
            Expr::Convert(v[0])
        });
        let result = run(kernel, &options, std::slice::from_ref(&input)).expect("it runs");
        assert_same(
            &result,
            &expected,
            &format!("convert {from} to {to} {options:?}"),
        );
    }
}

#[test]
fn conversions_agree_with_the_reference() {
    let values = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.3,
        -0.7,
        1.5,
        2.5,
        100.7,
        -130.2,
        300.0,
        65519.9,
        70000.0,
        -3e9,
        5e9,
        1e19,
        -1e19,
        1e30,
        1e-6,
        3e-8,
        1e-40,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        1.00390625,
        1.003_906_250_000_1,
        9_007_199_254_740_993.0,
        16_777_217.0,
    ];
    for &from in ElementType::ALL {
        for &to in ElementType::ALL {
            check_convert(from, to, &values);
        }
    }
}

#[test]
fn narrow_floats_round_after_each_op() {
    // 256 + 1 is a tie in bf16 that goes to even, and so back to 256.
    check_binary(
        BinaryOp::Add,
        ElementType::BF16,
        &[(256.0, 1.0, 256.0), (256.0, 3.0, 260.0)],
    );
    check_binary(
        BinaryOp::Add,
        ElementType::F16,
        &[(2048.0, 1.0, 2048.0), (65504.0, 65504.0, f64::INFINITY)],
    );
    check_binary(
        BinaryOp::Multiply,
        ElementType::F8E4M3Fn,
        &[(448.0, 2.0, f64::NAN), (1.125, 1.125, 1.25)],
    );
    check_binary(
        BinaryOp::Multiply,
        ElementType::F4E2M1Fn,
        &[(6.0, 6.0, 6.0), (0.5, 0.5, 0.0)],
    );
    check_binary(
        BinaryOp::Multiply,
        ElementType::F8E8M0Fnu,
        &[(2.0, 4.0, 8.0)],
    );
}

#[test]
fn comparisons_by_both_orders() {
    use ComparisonDirection::{Eq, Ge, Lt, Ne};
    let (x, y) = ([f64::NAN, -0.0, 1.0, f64::NAN], [f64::NAN, 0.0, 2.0, 1.0]);
    let cases = [
        (Eq, CompareType::Float, [0, 1, 0, 0]),
        (Ne, CompareType::Float, [1, 0, 1, 1]),
        (Lt, CompareType::Float, [0, 0, 1, 0]),
        (Eq, CompareType::TotalOrder, [1, 0, 0, 0]),
        (Lt, CompareType::TotalOrder, [0, 1, 1, 0]),
        (Ge, CompareType::TotalOrder, [1, 0, 0, 1]),
    ];
    for ty in FLOATS {
        for (direction, order, expected) in cases {
            for options in all_options() {
                let mut kernel = comparison(ty, direction, order);
                for param in kernel.params.values_mut() {
                    param.dims = vec![4];
                }
                for var in kernel.vars.values_mut() {
                    var.extent = 4;
                }
                let inputs = [numbers(ty, &x), numbers(ty, &y)];
                let result = run(kernel, &options, &inputs).expect("it runs");
                assert_eq!(result.bytes(), expected, "{direction} {order} of {ty}");
            }
        }
    }
}

#[test]
fn complex_arithmetic() {
    for ty in [ElementType::C64, ElementType::C128] {
        for options in all_options() {
            let kernel = elementwise(&[ty, ty], ty, 2, LoopKind::Vector, |v| {
                Expr::Binary(BinaryOp::Multiply, v[0], v[1])
            });
            let result = run(
                kernel,
                &options,
                &[numbers(ty, &[1.0, 2.0]), numbers(ty, &[3.0, -1.0])],
            );
            let result = all_numbers(&result.expect("it runs"));
            assert_eq!(
                result,
                [Scalar::Complex(2.75, 2.0), Scalar::Complex(-2.25, 0.5)]
            );
            let kernel = elementwise(&[ty], ty, 1, LoopKind::Vector, |v| {
                Expr::Unary(UnaryOp::Sqrt, v[0])
            });
            let result = run(kernel, &options, &[numbers(ty, &[0.0])]).expect("it runs");
            assert_eq!(all_numbers(&result), [Scalar::Complex(0.5, 0.5)]);
        }
    }
}

#[test]
fn precision_is_reduced_in_the_own_type() {
    for (ty, exponent, mantissa, value, expected) in [
        (ElementType::F32, 5, 10, 1.0 + 1.0 / 2048.0, 1.0),
        (ElementType::F32, 5, 10, 1e6, f64::INFINITY),
        (ElementType::F32, 5, 10, 1e-6, 0.0),
        (ElementType::F64, 8, 23, 1e300, f64::INFINITY),
        (ElementType::F32, 8, 7, f64::NAN, f64::NAN),
        (ElementType::F16, 5, 2, 1.1, 1.0),
        (ElementType::BF16, 5, 2, -1.2, -1.25),
    ] {
        for options in all_options() {
            let kernel = elementwise(&[ty], ty, 1, LoopKind::Vector, |v| Expr::ReducePrecision {
                value: v[0],
                exponent_bits: exponent,
                mantissa_bits: mantissa,
            });
            let result = run(kernel, &options, &[numbers(ty, &[value])]).expect("it runs");
            assert_same(&result, &numbers(ty, &[expected]), &format!("{ty} {value}"));
        }
    }
}

#[test]
fn constants_of_every_type() {
    for &ty in ElementType::ALL {
        let array = numbers(ty, &[1.0]);
        let mut bits = [0u8; 16];
        bits[..array.bytes().len()].copy_from_slice(array.bytes());
        for options in all_options() {
            let kernel = elementwise(&[], ty, 1, LoopKind::Serial, |_| {
                constant(u128::from_le_bytes(bits))
            });
            let result = run(kernel, &options, &[]).expect("it runs");
            assert_same(&result, &array, &format!("{ty} {:?}", Kind::of(ty)));
        }
    }
}

#[test]
fn dumps_and_object_files_name_what_they_hold() {
    let f32 = ElementType::F32;
    let kernel = || {
        elementwise(&[f32], f32, 64, LoopKind::Vector, |v| {
            Expr::Unary(UnaryOp::Acos, v[0])
        })
    };
    for options in all_options() {
        let clif = clif_text(&kernel(), &options).expect("it is emitted");
        assert!(
            clif.starts_with("; kernel test\n; p0 = b0: f32[64]\n"),
            "{clif}"
        );
        assert!(clif.contains("= hloc_acos"), "{clif}");
        let asm = asm_text(&kernel(), &options).expect("it compiles");
        assert!(asm.contains("call"), "{asm}");
        let object = object_bytes(&program([kernel()]), &options).expect("it compiles");
        let has = |name: &[u8]| object.windows(name.len()).any(|window| window == name);
        assert!(has(b"test\0") && has(b"hloc_acos\0"));
    }
}
