//! Linear algebra on single matrices: products, factors, equations, eigenvalues, singular values.
//!
//! Products, triangular equations, eigenvalues and singular values are those of the `faer` crate.
//! Factors with reflections are hloc's own, for their signs are part of LAPACK's interface. Everything
//! heavy is compiled here, once, for the four types of [`Routines`].

mod canonical;
mod cholesky;
mod eigen;
mod field;
mod hessenberg;
mod lu;
mod matrix;
mod qr;
mod routines;
mod schur;
#[cfg(test)]
mod tests;
mod triangular;
mod tridiagonal;

pub use eigen::{Eigen, EigenField, Singular};
pub use field::{Field, Part};
pub use hessenberg::{Tridiagonal, reduce, tridiagonalize};
pub use matrix::Matrix;
pub use routines::{Packed, Routines};
pub use schur::Schur;
pub use triangular::Triangular;
pub use tridiagonal::{Diagonals, solve as solve_tridiagonal};
