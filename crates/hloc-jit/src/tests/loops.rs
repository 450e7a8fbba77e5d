//! Loops in lanes: order, alignment, what is left over, and that no bit depends on how a loop is cut.

use hloc_ir::{Array, BinaryOp, ElementType, UnaryOp};
use hloc_loops::ir::{Expr, LoopKind, Stmt, ValueId};

use super::harness::{elementwise, reduction, row_reduction, run, run_parts};
use super::ops::{all_options, assert_same, numbers};
use crate::clif_text;
use crate::math::Inline;
use crate::math::inline::ANGLE_LIMIT;
use crate::math::plain::Plain;

fn sum(a: ValueId, b: ValueId) -> Expr {
    Expr::Binary(BinaryOp::Add, a, b)
}

#[test]
fn reductions_fold_each_row() {
    for ty in [
        ElementType::F32,
        ElementType::F64,
        ElementType::S32,
        ElementType::S64,
        ElementType::U8,
        ElementType::BF16,
    ] {
        for columns in [1i64, 3, 4, 16, 37, 129] {
            let values: Vec<f64> = (0..3 * columns)
                .map(|at| f64::from(i32::try_from(at % 3).expect("small")))
                .collect();
            let rows = values.chunks(usize::try_from(columns).expect("small"));
            let sums: Vec<f64> = rows.map(|row| row.iter().sum::<f64>() + 1.0).collect();
            for options in all_options() {
                let kernel = row_reduction(ty, 3, columns, LoopKind::Vector, |a, b| {
                    Expr::Binary(BinaryOp::Add, a, b)
                });
                let inputs = [numbers(ty, &values), numbers(ty, &[1.0])];
                let result = run(kernel, &options, &inputs).expect("it runs");
                assert_same(
                    &result,
                    &numbers(ty, &sums),
                    &format!("{ty} {columns} {options:?}"),
                );
            }
        }
    }
}

#[test]
fn functions_in_line_have_the_bits_of_the_plain_machine() {
    let mut inputs: Vec<f32> = (0..4000u32)
        .map(|at| f32::from_bits(at.wrapping_mul(1_073_741)))
        .collect();
    inputs.extend([
        0.0,
        -0.0,
        1.0,
        -1.0,
        88.8,
        -103.9,
        1e5,
        99_999.0,
        3e7,
        f32::INFINITY,
        f32::NAN,
    ]);
    let input = Array::from_slice(&[4011], &inputs).expect("a short array");
    for &op in UnaryOp::ALL {
        let Some(function) = Inline::of(op) else {
            continue;
        };
        let expected: Vec<f32> = inputs
            .iter()
            .map(|x| function.emit(&mut Plain, *x))
            .collect();
        for options in all_options() {
            let f32 = ElementType::F32;
            let kernel = elementwise(&[f32], f32, 4011, LoopKind::Vector, |v| {
                Expr::Unary(op, v[0])
            });
            let result = run(kernel, &options, std::slice::from_ref(&input)).expect("it runs");
            let result = result.as_slice::<f32>().expect("it is f32");
            for ((x, actual), expected) in inputs.iter().zip(result).zip(&expected) {
                let is_rare = function.rare().is_some() && (x.is_nan() || x.abs() >= ANGLE_LIMIT);
                let same =
                    actual.to_bits() == expected.to_bits() || actual.is_nan() && expected.is_nan();
                assert!(
                    same || is_rare,
                    "{op} of {x:e}: {actual:e}, not {expected:e}"
                );
                if is_rare && *x == 3e7 {
                    let called = if op == UnaryOp::Sine {
                        3e7f64.sin()
                    } else {
                        3e7f64.cos()
                    };
                    assert_eq!(*actual, called as f32);
                }
            }
        }
    }
}

#[test]
fn vectors_need_no_alignment() {
    for options in all_options() {
        let f32 = ElementType::F32;
        let mut kernel = elementwise(&[f32, f32], f32, 40, LoopKind::Vector, |v| {
            Expr::Binary(BinaryOp::Add, v[0], v[1])
        });
        for stmt in &mut kernel.body {
            let Stmt::For(inner) = stmt else { continue };
            for stmt in &mut inner.body {
                match stmt {
                    Stmt::Let {
                        expr: Expr::Load { index, .. },
                        ..
                    }
                    | Stmt::Store { index, .. } => {
                        *index = index.plus(1);
                    }
                    Stmt::Let { .. } | Stmt::For(_) | Stmt::If(_) => {}
                }
            }
        }
        for param in kernel.params.values_mut() {
            param.dims = vec![41];
        }
        let values: Vec<f64> = (0..41u32).map(f64::from).collect();
        let inputs = [numbers(f32, &values), numbers(f32, &values)];
        let result = run(kernel, &options, &inputs).expect("it runs");
        let expected: Vec<f64> = values.iter().map(|value| 2.0 * value).collect();
        assert_same(&result, &numbers(f32, &expected), "moved by one element");
    }
}

#[test]
fn no_bit_depends_on_how_a_parallel_loop_is_cut() {
    // Sums of rows, sums of columns, and sums of windows, which could run in lanes either way.
    for strides in [(37, 1), (1, 29), (1, 1)] {
        let kernel = || reduction(ElementType::F32, (29, 37), strides, LoopKind::Vector, sum);
        let length = kernel()
            .params
            .values()
            .next()
            .map_or(0, |param| param.num_elements());
        let values = (0..length)
            .map(|at| 1.0 / (1.0 + at as f64))
            .collect::<Vec<_>>();
        let inputs = [
            numbers(ElementType::F32, &values),
            numbers(ElementType::F32, &[0.1]),
        ];
        for options in all_options() {
            let whole = run_parts(kernel(), &options, &inputs, 0).expect("it runs");
            for middle in [1, 3, 7, 16, 28, 29] {
                let parts = run_parts(kernel(), &options, &inputs, middle).expect("it runs");
                assert_eq!(parts.bytes(), whole.bytes(), "{strides:?} cut at {middle}");
            }
        }
    }
}

#[test]
fn loops_of_whitelisted_ops_have_vectors() {
    let f32 = ElementType::F32;
    let exp = |v: &[ValueId]| Expr::Unary(UnaryOp::Exponential, v[0]);
    let acos = |v: &[ValueId]| Expr::Unary(UnaryOp::Acos, v[0]);
    let options = &all_options()[1];
    for (kernel, has_vectors) in [
        (elementwise(&[f32], f32, 64, LoopKind::Vector, exp), true),
        (elementwise(&[f32], f32, 64, LoopKind::Parallel, exp), true),
        (elementwise(&[f32], f32, 64, LoopKind::Serial, exp), false),
        (elementwise(&[f32], f32, 64, LoopKind::Vector, acos), false),
        (row_reduction(f32, 3, 64, LoopKind::Vector, sum), true),
        (
            reduction(f32, (64, 3), (1, 64), LoopKind::Vector, sum),
            true,
        ),
        (reduction(f32, (8, 64), (1, 8), LoopKind::Serial, sum), true),
        (
            // Lanes that lie apart are loaded one by one.
            reduction(f32, (3, 64), (100, 2), LoopKind::Vector, sum),
            true,
        ),
    ] {
        let text = clif_text(&kernel, options).expect("it is emitted");
        assert_eq!(text.contains("f32x4"), has_vectors, "{text}");
    }
}
