//! Kernels built by hand, compiled and run.

pub(crate) mod harness;
mod loops;
mod ops;
mod widths;
