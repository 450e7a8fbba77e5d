//! `dot`: products of matrices with any batch, free and contracting dimensions.
//!
//! Operands whose dimensions collapse to one stride for rows, columns and so on are read where they
//! lie; all others, and those of narrower types, are first copied into scratch memory in the working
//! type. Sums are formed in the working type and rounded once to the result type.

mod convert;
mod gemm;
mod multiply;
mod plan;

#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod tiles;
mod vector;

pub(crate) use gemm::Target;
pub(crate) use plan::DotPlan;
