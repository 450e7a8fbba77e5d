//! The reference evaluator: simple, slow, obviously right.
//!
//! It is the witness for everything else: passes, lowering and machine code must give what it gives.
//! It shares no code with them but the op tables. Arrays are row-major whatever layouts the text
//! names. Subnormals are kept, `maximum` and `minimum` propagate NaN, types below `f32` are computed
//! in `f32` and rounded after each op, reductions are left folds in row-major order (sums of floats
//! keep what rounding drops and add it at the end), and sums of products are accumulated in `f64` and
//! rounded once.
//!
//! Inside, `scalar` has the functions of single elements and `ops` one file per op or family.

mod error;
mod evaluator;
mod ops;
mod scalar;
mod tolerance;

use hloc_ir::{CustomCalls, Literal, Module, Op, Shape};
use hloc_verify::VerifiedModule;

pub use error::{EvalError, Place};
pub use ops::supports;
pub use scalar::complex;
pub use tolerance::tolerance;

use evaluator::{Evaluator, Run};

/// The most bytes an array may have while a program is evaluated.
pub const MAX_ARRAY_BYTES: usize = 1 << 32;

/// The deepest nesting of called computations that is evaluated.
pub const MAX_CALL_DEPTH: usize = 100;

/// The result of a program for these arguments, one for each parameter.
///
/// A token is an empty tuple. What nothing uses is not computed, random numbers aside: each `rng` moves the
/// counter from which the next one draws.
///
/// # Errors
/// [`EvalError::Argument`] if the arguments do not have the parameters' shapes,
/// [`EvalError::Unsupported`] for an op the evaluator does not know, [`EvalError::Limit`] beyond
/// [`MAX_ARRAY_BYTES`] or [`MAX_CALL_DEPTH`].
pub fn evaluate(module: &VerifiedModule, arguments: &[Literal]) -> Result<Literal, EvalError> {
    evaluate_with(module, arguments, &NO_CALLS)
}

static NO_CALLS: CustomCalls = CustomCalls::new();

/// As [`evaluate`]; `calls` answers custom calls.
///
/// # Errors
/// As [`evaluate`], and [`EvalError::CustomCall`] if a handler fails.
pub fn evaluate_with(
    module: &VerifiedModule,
    arguments: &[Literal],
    calls: &CustomCalls,
) -> Result<Literal, EvalError> {
    let entry = module.entry();
    if arguments.len() != entry.parameters.len() {
        return Err(EvalError::argument(format!(
            "{} arguments are given, but `{}` has {} parameters",
            arguments.len(),
            entry.name,
            entry.parameters.len()
        )));
    }
    for (argument, parameter) in arguments.iter().zip(&entry.parameters) {
        let parameter = &entry.instructions[*parameter];
        let shape = argument.shape();
        if !evaluator::holds_value_of(&parameter.shape, argument) {
            let message = format!("the argument is {shape}, the parameter {}", parameter.shape);
            return Err(EvalError::argument(message).at(parameter));
        }
    }
    Evaluator::new(module, &Run::new(), calls).computation(module.entry, arguments.to_vec())
}

/// The result of one op, for constant folding.
///
/// Called computations are those of `module`. `shape` is the shape of the instruction: some ops
/// (`broadcast`, `convert`, `iota`) say only there what they make. The operand of a `bitcast` is taken
/// as row-major.
///
/// # Errors
/// As [`evaluate`], without a place. Operands that do not fit the op are [`EvalError::Argument`].
pub fn evaluate_op(
    op: &Op,
    operands: &[&Literal],
    shape: &Shape,
    module: &Module,
) -> Result<Literal, EvalError> {
    let operands = operands.iter().map(|operand| (*operand).clone()).collect();
    ops::apply(
        Evaluator::new(module, &Run::new(), &NO_CALLS),
        op,
        operands,
        shape,
    )
}
