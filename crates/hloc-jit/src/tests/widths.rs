//! Every op on every element type gives the same bits with 128-, 256- and 512-bit vectors.

use hloc_ir::{
    Array, BinaryOp, CompareType, ComparisonDirection, ElementType, Id, TernaryOp, UnaryOp,
};
use hloc_loops::index::Index;
use hloc_loops::ir::{Access, Block, Expr, For, Kernel, KernelId, LoopKind, Stmt, ValueId, VarId};

use hloc_tensor::Tolerance;

use super::harness::{Build, constant, elementwise, program, row_reduction, run};
use crate::compile::widest;
use crate::retarget::Wide;
use crate::{JitOptions, KernelWidth, VectorWidth, compile_kernels, support};

/// Not a multiple of any number of lanes.
const LENGTH: i64 = 77;

/// Arrays of random bits.
fn random(ty: ElementType, seed: u64) -> Array {
    let mut array = Array::zeros(ty, &[LENGTH]).expect("a short array");
    let mut state = seed;
    let mask = if ty == ElementType::Pred {
        1
    } else if ty.bits() < 8 {
        (1 << ty.bits()) - 1
    } else {
        u8::MAX
    };
    for byte in array.bytes_mut() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        *byte = (state >> 56) as u8 & mask;
        if ty == ElementType::S4 {
            *byte = ((*byte << 4).cast_signed() >> 4).cast_unsigned();
        }
    }
    array
}

fn options(width: VectorWidth) -> JitOptions {
    JitOptions {
        width,
        // Some stores are aligned, others are not.
        streaming_bytes: Some(1),
        threads: 1,
        ..JitOptions::default()
    }
}

/// How wide the kernel became.
fn width_of(kernel: &Kernel) -> KernelWidth {
    let options = options(VectorWidth::Auto);
    let compiled = compile_kernels(&program([kernel.clone()]), &options).expect("it compiles");
    compiled.width(KernelId::from_index(0)).clone()
}

fn check(name: &str, kernel: &Kernel, inputs: &[ElementType], narrow: &mut Vec<String>) {
    let inputs: Vec<Array> = (1..)
        .zip(inputs)
        .map(|(seed, ty)| random(*ty, seed))
        .collect();
    let narrow_options = options(VectorWidth::Bits128);
    let expected = run(kernel.clone(), &narrow_options, &inputs).expect("it compiles");
    for width in [VectorWidth::Bits256, VectorWidth::Bits512] {
        let found = run(kernel.clone(), &options(width), &inputs).expect("it compiles");
        // What a NaN of 16 bits carries depends on whether vector code moves it.
        let is_narrow = [ElementType::F16, ElementType::BF16].contains(&found.element_type());
        let tolerance = if is_narrow {
            Tolerance::Ulps(0)
        } else {
            Tolerance::Bits
        };
        let same = hloc_tensor::compare(&found, &expected, tolerance);
        assert!(same.is_ok(), "{name} with {width:?}: {same:?}");
    }
    if let Some(refusal) = width_of(kernel).refusal {
        narrow.push(format!("{name}: {refusal}"));
    }
}

const KINDS: [LoopKind; 2] = [LoopKind::Vector, LoopKind::Parallel];

/// Types that live in lanes.
const TYPES: [ElementType; 14] = [
    ElementType::Pred,
    ElementType::S4,
    ElementType::S8,
    ElementType::S16,
    ElementType::S32,
    ElementType::S64,
    ElementType::U8,
    ElementType::U16,
    ElementType::U32,
    ElementType::U64,
    ElementType::F16,
    ElementType::BF16,
    ElementType::F32,
    ElementType::F64,
];

#[test]
fn unary_ops_and_conversions() {
    let mut narrow = Vec::new();
    for ty in TYPES {
        for kind in KINDS {
            for &op in UnaryOp::ALL.iter().filter(|op| support::unary(**op, ty)) {
                let kernel = elementwise(&[ty], op.result_type(ty), LENGTH, kind, |v| {
                    Expr::Unary(op, v[0])
                });
                check(&format!("{op} {ty}"), &kernel, &[ty], &mut narrow);
            }
            for to in TYPES {
                let kernel = elementwise(&[ty], to, LENGTH, kind, |v| Expr::Convert(v[0]));
                check(&format!("{ty} to {to}"), &kernel, &[ty], &mut narrow);
            }
        }
    }
    check_narrow(&narrow);
}

#[test]
fn binary_and_ternary_ops() {
    let mut narrow = Vec::new();
    for ty in TYPES {
        for kind in KINDS {
            for &op in BinaryOp::ALL.iter().filter(|op| support::binary(**op, ty)) {
                let result = op.result_type(ty).expect("supported ops have a result");
                let kernel = elementwise(&[ty, ty], result, LENGTH, kind, |v| {
                    Expr::Binary(op, v[0], v[1])
                });
                check(&format!("{op} {ty}"), &kernel, &[ty, ty], &mut narrow);
            }
            let inputs = [ElementType::Pred, ty, ty];
            let kernel = elementwise(&inputs, ty, LENGTH, kind, |v| {
                Expr::Ternary(TernaryOp::Select, [v[0], v[1], v[2]])
            });
            check(&format!("select {ty}"), &kernel, &inputs, &mut narrow);
            if ty != ElementType::Pred {
                let kernel = elementwise(&[ty; 3], ty, LENGTH, kind, |v| {
                    Expr::Ternary(TernaryOp::Clamp, [v[0], v[1], v[2]])
                });
                check(&format!("clamp {ty}"), &kernel, &[ty; 3], &mut narrow);
            }
            let orders: &[CompareType] = if ty == ElementType::F32 || ty == ElementType::F64 {
                &[CompareType::Float, CompareType::TotalOrder]
            } else {
                &[CompareType::Float]
            };
            for &order in orders {
                for direction in [
                    ComparisonDirection::Eq,
                    ComparisonDirection::Ne,
                    ComparisonDirection::Ge,
                    ComparisonDirection::Lt,
                ] {
                    let kernel = elementwise(&[ty, ty], ElementType::Pred, LENGTH, kind, |v| {
                        Expr::Compare {
                            direction,
                            order,
                            lhs: v[0],
                            rhs: v[1],
                        }
                    });
                    check(
                        &format!("{direction} {ty}"),
                        &kernel,
                        &[ty, ty],
                        &mut narrow,
                    );
                }
            }
        }
    }
    check_narrow(&narrow);
}

/// Numbers of iterations, and shifts by constants.
#[test]
fn indices_and_shifts() {
    let mut narrow = Vec::new();
    for ty in [
        ElementType::S32,
        ElementType::U8,
        ElementType::S64,
        ElementType::F32,
    ] {
        for kind in KINDS {
            let kernel = with_constant(ty, kind, |var, _, _| {
                Expr::Index(Index::var(var).times(-3).plus(1000))
            });
            check(&format!("index {ty}"), &kernel, &[ty], &mut narrow);
        }
    }
    for ty in TYPES.into_iter().filter(|ty| ty.is_integer()) {
        for op in [
            BinaryOp::ShiftLeft,
            BinaryOp::ShiftRightArithmetic,
            BinaryOp::ShiftRightLogical,
        ] {
            let kernel = with_constant(ty, LoopKind::Vector, |_, x, three| {
                Expr::Binary(op, x, three)
            });
            check(&format!("{op} {ty}"), &kernel, &[ty], &mut narrow);
        }
    }
    check_narrow(&narrow);
}

/// Partial results are the same whatever the width.
#[test]
fn reductions() {
    let mut narrow = Vec::new();
    for ty in TYPES {
        let ops = [
            BinaryOp::Add,
            BinaryOp::Multiply,
            BinaryOp::Maximum,
            BinaryOp::Minimum,
            BinaryOp::And,
            BinaryOp::Xor,
        ];
        for op in ops.into_iter().filter(|op| support::binary(*op, ty)) {
            for columns in [16, 25, 38] {
                let kernel = row_reduction(ty, 2, columns, LoopKind::Vector, |sum, x| {
                    Expr::Binary(op, sum, x)
                });
                check(
                    &format!("reduce {op} {ty}"),
                    &kernel,
                    &[ty, ty],
                    &mut narrow,
                );
            }
        }
    }
    check_narrow(&narrow);
}

/// A kernel of one input whose loop also has the constant 3.
fn with_constant(
    ty: ElementType,
    kind: LoopKind,
    make: impl Fn(VarId, ValueId, ValueId) -> Expr,
) -> Kernel {
    let mut build = Build::new();
    let input = build.param(ty, LENGTH, Access::Read);
    let out = build.param(ty, LENGTH, Access::Write);
    let var = build.var(LENGTH);
    let mut body = Block::new();
    let load = Expr::Load {
        param: input,
        index: Index::var(var),
    };
    let x = build.bind(&mut body, ty, load);
    let three = build.bind(&mut body, ty, constant(3));
    let value = build.bind(&mut body, ty, make(var, x, three));
    body.push(Stmt::Store {
        param: out,
        index: Index::var(var),
        value,
    });
    build.kernel.body.push(Stmt::For(For {
        var,
        kind,
        carried: Vec::new(),
        body,
    }));
    build.kernel
}

/// No iteration runs twice where it would read what it has written.
#[test]
fn arrays_changed_in_place_are_changed_once() {
    for (kind, length) in [(LoopKind::Vector, 61), (LoopKind::Parallel, 135)] {
        let ty = ElementType::F32;
        let mut build = Build::new();
        let input = build.param(ty, length, Access::Read);
        let out = build.param(ty, length, Access::ReadWrite);
        let var = build.var(length);
        let mut body = Block::new();
        let mut load = |param| {
            let index = Index::var(var);
            build.bind(&mut body, ty, Expr::Load { param, index })
        };
        let (x, old) = (load(input), load(out));
        let sum = build.bind(&mut body, ty, Expr::Binary(BinaryOp::Add, x, old));
        body.push(Stmt::Store {
            param: out,
            index: Index::var(var),
            value: sum,
        });
        build.kernel.body.push(Stmt::For(For {
            var,
            kind,
            carried: Vec::new(),
            body,
        }));
        let numbers: Vec<f32> = (1..=length).map(|at| at as f32).collect();
        let array = |numbers: &[f32]| Array::from_slice(&[length], numbers).expect("a short array");
        // A kernel without a parallel loop runs twice.
        let times = if kind == LoopKind::Vector { 2.0 } else { 1.0 };
        let expected: Vec<f32> = numbers.iter().map(|number| number * times).collect();
        let (numbers, expected) = (array(&numbers), array(&expected));
        for width in [
            VectorWidth::Bits128,
            VectorWidth::Bits256,
            VectorWidth::Bits512,
        ] {
            let inputs = std::slice::from_ref(&numbers);
            let found = run(build.kernel.clone(), &options(width), inputs).expect("it compiles");
            assert_eq!(found.bytes(), expected.bytes(), "{width:?}");
        }
        assert!(widest().is_none() || width_of(&build.kernel).bits > 128);
    }
}

/// The ops that have no wide form: those that call, and those that Cranelift does lane by lane.
fn check_narrow(names: &[String]) {
    if widest() != Some(Wide::Bits512) {
        return;
    }
    let mut names = names.to_vec();
    names.dedup();
    assert_eq!(names, Vec::<String>::new());
}
