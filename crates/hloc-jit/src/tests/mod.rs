//! Kernels built by hand, compiled and run.

mod harness;
mod ops;
