//! What happens to a lowered program before code is emitted: transforms, then the proof of soundness.

use crate::error::LowerError;
use crate::ir::{Kernel, Program};
use crate::{buffers, transform, verify_kernel};

/// The program with its kernels transformed if `transformed`, and every kernel proved sound.
///
/// # Errors
/// [`LowerError::Internal`] naming the kernel that is not sound: a bug of the lowering or of a transform.
pub fn finish(mut program: Program, transformed: bool) -> Result<Program, LowerError> {
    if transformed && transform::merge_loops(&mut program) {
        buffers::plan(&mut program);
    }
    for kernel in program.kernels.values_mut() {
        if transformed {
            verified(kernel)?;
            transform::optimize(kernel);
        }
        verified(kernel)?;
    }
    Ok(program)
}

fn verified(kernel: &Kernel) -> Result<(), LowerError> {
    verify_kernel(kernel).map_err(|error| LowerError::Internal {
        message: format!("{error}\n{kernel}"),
        instruction: kernel.name.clone(),
        span: kernel.span,
    })
}
