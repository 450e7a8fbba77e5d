//! Emits loop nests as machine code with Cranelift.
//!
//! [`compile_kernels`] turns every kernel of a program into a function ([`KernelFn`]) in executable
//! memory, which [`CompiledKernels`] owns. [`clif_text`] and [`asm_text`] show one kernel's code,
//! [`object_bytes`] writes a whole program as an object file.

mod compile;
mod error;
mod hoist;
mod index;
mod kernel;
mod math;
mod memory;
mod repr;
mod retarget;
mod runtime;
mod scalar;
mod stmt;
mod support;
#[cfg(test)]
mod tests;
mod vector;

pub use compile::{
    CompiledKernels, Emission, JitOptions, KernelWidth, VectorWidth, asm_text, clif_text,
    compile_kernels, object_bytes,
};
pub use error::JitError;
pub use memory::KernelFn;
