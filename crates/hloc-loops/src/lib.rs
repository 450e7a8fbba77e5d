//! The loop-nest representation, lowering from HLO, and the buffer plan.

pub mod buffers;
mod error;
mod finish;
pub mod index;
pub mod ir;
mod lower;
mod mentions;
mod print;
pub mod routine;
pub mod split;
pub mod transform;
mod verify;
mod work;

pub use error::LowerError;
pub use finish::finish;
pub use lower::{lower, lower_with};
pub use verify::{KernelError, verify_kernel};
pub use work::Work;
