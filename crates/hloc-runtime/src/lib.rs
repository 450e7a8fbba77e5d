//! Runs compiled programs: buffers, steps, library kernels, worker threads.
//!
//! An [`Executable`] is a program of loop nests with its machine code. Running it fills a table of
//! buffers, walks the steps, and hands the results over. Nothing here is global: memory and threads
//! belong to the executable, and several threads may run one executable at once.

mod buffers;
mod convolution;
mod dot;
mod error;
mod executable;
mod execute;
mod fft;
mod linalg;
mod observe;
mod plan;
mod pool;
mod probe;
mod random;
mod registered;
mod routine;
mod sort;
#[cfg(test)]
mod tests;

pub use error::RunError;
pub use executable::{Executable, Runner};
pub use observe::{Event, Recorder, StepTimes};
pub use pool::WorkerPool;
pub use probe::multiply_add_rate;
