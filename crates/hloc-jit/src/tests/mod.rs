//! Kernels built by hand, compiled and run.

mod harness;
mod loops;
mod ops;
