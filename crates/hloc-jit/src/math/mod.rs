//! Functions of numbers: those that compiled code calls, and those it computes in line.
//!
//! The latter are written once over [`Machine`], a handful of operations on 32-bit lanes, and run either
//! as emitted code ([`clif::Clif`], one lane or four) or as plain Rust ([`plain::Plain`], for tests).
//! Both give the same bits: nothing is contracted or reordered but what says so.

mod angle;
pub(crate) mod clif;
pub(crate) mod complex;
mod double;
mod exponential;
pub(crate) mod inline;
pub(crate) mod integer;
mod logarithm;
pub(crate) mod machine;
pub(crate) mod modulus;
pub(crate) mod narrow;
#[cfg(test)]
pub(crate) mod plain;
pub(crate) mod power;
pub(crate) mod real;
mod steps;

pub(crate) use inline::Inline;
pub(crate) use machine::Machine;
