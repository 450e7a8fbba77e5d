//! Library routines that are no products: how a call is made ready, and how it runs.

use hloc_ir::ElementType;
use hloc_jit::CompiledKernels;
use hloc_loops::ir::Program;
use hloc_loops::routine::{Routine as Asked, RoutineCall};

use crate::pool::WorkerPool;
use crate::random::RngBits;
use crate::{RunError, convolution, fft, linalg, sort};

/// A routine with everything decided that the shapes decide.
pub(crate) trait Routine: std::fmt::Debug + Send + Sync {
    /// Reads all inputs and writes all outputs, which have the bytes that the call's shapes say.
    fn run(&self, inputs: &[&[u8]], outputs: &mut [&mut [u8]], pool: &WorkerPool);
}

/// Prepares a call.
///
/// # Errors
/// [`RunError::UnsupportedCall`] for element types that the routine does not take,
/// [`RunError::InvalidProgram`] for shapes that do not fit the routine.
pub(crate) fn plan(
    call: &RoutineCall,
    program: &Program,
    kernels: &CompiledKernels,
) -> Result<Box<dyn Routine>, RunError> {
    Ok(match &call.routine {
        Asked::Sort { dimension, order } => sort::plan(call, *dimension, order, program, kernels)?,
        Asked::TopK { largest } => Box::new(sort::TopK::new(call, *largest)?),
        Asked::Fft {
            fft_type,
            dimensions,
        } => fft::plan(call, *fft_type, *dimensions)?,
        Asked::Convolution(asked) => convolution::plan(call, asked)?,
        Asked::RngBits { algorithm } => Box::new(RngBits::new(call, *algorithm)?),
        // The step itself does it (`Planned::NextRandom`): a routine knows nothing of the run.
        Asked::RngState { .. } => {
            return Err(invalid("the counter of random numbers has two words"));
        }
        Asked::Cholesky { lower } => linalg::plan_cholesky(call, *lower)?,
        Asked::TriangularSolve(asked) => linalg::plan_triangular(call, *asked)?,
        Asked::Lapack(asked) => linalg::plan_lapack(call, *asked)?,
        Asked::Registered(_) => return Err(invalid("a handler is no routine of the library")),
    })
}

/// The error for a call that breaks a rule.
pub(crate) fn invalid(message: &str) -> RunError {
    RunError::InvalidProgram(message.to_owned())
}

/// The error for element types that a routine does not take.
pub(crate) fn unsupported(call: &RoutineCall) -> RunError {
    let shape = call.inputs.first().or(call.outputs.first());
    RunError::UnsupportedCall {
        routine: call.routine.name(),
        element_type: shape.map_or(ElementType::Pred, |shape| shape.element_type),
    }
}
