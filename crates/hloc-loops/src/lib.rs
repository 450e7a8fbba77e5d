//! The loop-nest representation, lowering from HLO, and the buffer plan.

pub mod index;
pub mod ir;
mod print;
pub mod transform;
mod verify;

pub use verify::{KernelError, verify_kernel};
