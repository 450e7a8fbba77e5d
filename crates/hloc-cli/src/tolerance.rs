//! How far a compiled result may be from the evaluator's.

use hloc_ir::{Computation, Module, Opcode, StructuralOp};
use hloc_tensor::{Array, ElementType, Scalar, Tolerance};

/// What the instructions of a module do to accuracy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Inexactness {
    /// Units in the last place of all instructions together.
    ulps: u64,
    /// How many instructions are inexact.
    inexact: usize,
    /// Whether sums may be formed in another order.
    reorders: bool,
}

/// The ops that add up many numbers, in an order of their own.
const SUMS: &[StructuralOp] = &[
    StructuralOp::BatchNormGrad,
    StructuralOp::BatchNormInference,
    StructuralOp::BatchNormTraining,
    StructuralOp::Cholesky,
    StructuralOp::Convolution,
    StructuralOp::Dot,
    StructuralOp::Fft,
    StructuralOp::RaggedDot,
    StructuralOp::Reduce,
    StructuralOp::ReduceWindow,
    StructuralOp::ScaledDot,
    StructuralOp::Scatter,
    StructuralOp::SelectAndScatter,
    StructuralOp::TriangularSolve,
];

/// The tolerance for one result.
///
/// Exact programs must agree bit for bit but for the sign of zero and NaN payloads; one inexact op may be off
/// as far as its row in the op table says. Beyond that, errors grow in ways that no table tells, and the
/// bound is relative to the greatest element.
pub(crate) fn tolerance(module: &Module, want: &Array) -> Tolerance {
    let mut total = Inexactness::default();
    for computation in module.computations.values() {
        add(&mut total, computation);
    }
    if !total.reorders && total.inexact <= 1 {
        return Tolerance::Ulps(total.ulps);
    }
    let rtol = relative_bound(want.element_type());
    let greatest = (0..want.num_elements())
        .map(|position| size(want.get(position)))
        .filter(|size| size.is_finite())
        .fold(0.0, f64::max);
    Tolerance::Close {
        rtol,
        atol: rtol * greatest,
    }
}

fn add(total: &mut Inexactness, computation: &Computation) {
    for instruction in computation.instructions.values() {
        let ulps = match instruction.op.opcode() {
            Opcode::Unary(op) => op.ulp(),
            Opcode::Binary(op) => op.ulp(),
            Opcode::Ternary(op) => op.ulp(),
            Opcode::Structural(op) => {
                total.reorders |= SUMS.contains(&op);
                0
            }
        };
        total.ulps += u64::from(ulps);
        total.inexact += usize::from(ulps > 0);
    }
}

/// Far above what rounding does in programs of a few thousand instructions, far below what a mistake does.
fn relative_bound(element_type: ElementType) -> f64 {
    let parts = element_type.component();
    if parts == ElementType::F64 {
        1e-9
    } else if parts == ElementType::F32 {
        1e-4
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
