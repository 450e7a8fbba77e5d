//! Functions of numbers: those that compiled code calls, and those it computes in line.
//!
//! The latter are written once over [`Machine`], a handful of operations on 32-bit lanes, and run either
//! as emitted code ([`clif::Clif`], one lane or four) or as plain Rust ([`plain::Plain`], for tests).
//! Both give the same bits: no operation is contracted or reordered.

pub(crate) mod clif;
pub(crate) mod complex;
pub(crate) mod integer;
pub(crate) mod machine;
pub(crate) mod narrow;
#[cfg(test)]
pub(crate) mod plain;
pub(crate) mod real;

pub(crate) use machine::Machine;

use hloc_ir::UnaryOp;

/// A function of `f32` that compiled code computes in line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inline {}

impl Inline {
    /// The function that `op` is, `None` if it is called or is an instruction.
    pub(crate) fn of(_op: UnaryOp) -> Option<Inline> {
        None
    }

    /// Emits the function.
    pub(crate) fn emit<M: Machine>(self, _m: &mut M, x: M::Float) -> M::Float {
        match self {}
    }
}
