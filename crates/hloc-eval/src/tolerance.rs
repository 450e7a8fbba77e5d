//! How far a compiled result may be from the evaluator's.
//!
//! The one rule behind `hloc run --compare` and the corpus runner.

use hloc_ir::{BinaryOp, Computation, Instruction, Module, Opcode, Shape, StructuralOp, UnaryOp};
use hloc_tensor::{Array, ElementType, Scalar, Tolerance};

/// What the instructions of a module do to accuracy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Inexactness {
    /// Units in the last place of all instructions together.
    ulps: u32,
    /// How many instructions are inexact or form sums.
    inexact: u32,
    /// Whether something else computes with floats, so that small errors may become large.
    carries: bool,
    /// Whether sums may be formed in another order, or instructions run any number of times.
    unbounded: bool,
}

/// The ops that add up many numbers, in an order of their own.
const SUMS: &[StructuralOp] = &[
    StructuralOp::BatchNormGrad,
    StructuralOp::BatchNormInference,
    StructuralOp::BatchNormTraining,
    StructuralOp::Cholesky,
    StructuralOp::Convolution,
    StructuralOp::CustomCall,
    StructuralOp::Dot,
    StructuralOp::Fft,
    StructuralOp::RaggedDot,
    StructuralOp::Reduce,
    StructuralOp::ReduceWindow,
    StructuralOp::ScaledDot,
    StructuralOp::Scan,
    StructuralOp::Scatter,
    StructuralOp::SelectAndScatter,
    StructuralOp::TriangularSolve,
];

/// Ops that are exact for real numbers but computed by other formulas for complex ones.
const COMPLEX_UNARY: &[UnaryOp] = &[UnaryOp::Abs, UnaryOp::Sign];

/// Ops that move numbers rather than compute with them.
const MOVES: &[UnaryOp] = &[UnaryOp::Abs, UnaryOp::Imag, UnaryOp::Negate, UnaryOp::Real];

/// Ops that choose one of their operands or join them.
const CHOICES: &[BinaryOp] = &[BinaryOp::Complex, BinaryOp::Maximum, BinaryOp::Minimum];

/// Units in the last place by which a complex quotient or modulus may be off.
const COMPLEX_ULPS: u32 = 4;

/// The tolerance for one result.
///
/// Exact programs must agree bit for bit but for the sign of zero and NaN payloads; one inexact op may be off
/// as far as its row in the op table says (of complex numbers, in units of the greater part). Beyond that,
/// errors grow in ways that no table tells, and the bound is relative to the greatest element.
pub fn tolerance(module: &Module, want: &Array) -> Tolerance {
    let mut total = Inexactness::default();
    for computation in module.computations.values() {
        for instruction in computation.instructions.values() {
            add(&mut total, computation, instruction);
        }
    }
    let ty = want.element_type();
    if total.inexact == 0 && !total.unbounded {
        return Tolerance::Ulps(0);
    }
    if total.inexact <= 1 && !total.unbounded && !total.carries {
        return if ty.is_complex() {
            let rtol = f64::from(total.ulps) * last_place(ty.component());
            Tolerance::Close { rtol, atol: 0.0 }
        } else {
            Tolerance::Ulps(total.ulps.into())
        };
    }
    // Errors of many instructions add up as in a random walk.
    let rtol = relative_bound(ty) * (f64::from(total.inexact) / 25.0).sqrt().max(1.0);
    let greatest = (0..want.num_elements())
        .map(|position| size(want.get(position)))
        .filter(|size| size.is_finite())
        .fold(0.0, f64::max);
    Tolerance::Close {
        rtol,
        atol: rtol * greatest,
    }
}

fn add(total: &mut Inexactness, computation: &Computation, instruction: &Instruction) {
    let types = instruction.operands.iter();
    let types = types.filter_map(|id| element_type(&computation.instructions[*id].shape));
    let complex = types.clone().any(ElementType::is_complex);
    let float = complex || types.clone().any(ElementType::is_float);
    let ulps = match instruction.op.opcode() {
        Opcode::Unary(op) => {
            total.carries |= float && op.ulp() == 0 && !MOVES.contains(&op);
            op.ulp().max(if complex && COMPLEX_UNARY.contains(&op) {
                COMPLEX_ULPS
            } else {
                0
            })
        }
        Opcode::Binary(op) => {
            let quotient = complex && op == BinaryOp::Divide;
            total.carries |= float && op.ulp() == 0 && !quotient && !CHOICES.contains(&op);
            op.ulp().max(if quotient { COMPLEX_ULPS } else { 0 })
        }
        Opcode::Ternary(op) => op.ulp(),
        Opcode::Structural(op) => {
            let sums = SUMS.contains(&op);
            total.unbounded |= sums || op == StructuralOp::While;
            total.inexact += u32::from(sums);
            0
        }
    };
    total.ulps = total.ulps.saturating_add(ulps);
    total.inexact = total.inexact.saturating_add(u32::from(ulps > 0));
}

fn element_type(shape: &Shape) -> Option<ElementType> {
    shape.as_array().map(|shape| shape.element_type)
}

/// The distance from 1 to the next greater number.
fn last_place(ty: ElementType) -> f64 {
    if ty == ElementType::F64 {
        f64::EPSILON
    } else {
        f32::EPSILON.into()
    }
}

/// Far above what rounding does in programs of a few dozen inexact instructions, far below what a mistake
/// does.
fn relative_bound(element_type: ElementType) -> f64 {
    let parts = element_type.component();
    if parts == ElementType::F64 {
        1e-9
    } else if parts == ElementType::F32 {
        3e-4
    } else if parts == ElementType::F16 {
        1e-2
    } else if parts == ElementType::BF16 {
        6e-2
    } else if parts.is_float() {
        0.5
    } else {
        0.0
    }
}

fn size(value: Scalar) -> f64 {
    match value {
        Scalar::Complex(re, im) => re.hypot(im),
        Scalar::Pred(_) | Scalar::Int(_) | Scalar::Uint(_) | Scalar::Float(_) => {
            value.to_f64().abs()
        }
    }
}
