//! Cholesky factors.

use faer::Par;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{LltError, cholesky_in_place, cholesky_in_place_scratch};

use crate::field::Field;
use crate::matrix::Matrix;

/// The lower factor of a self-adjoint matrix of which one triangle was given, or the number from 1 of
/// the first pivot that is not positive.
pub(crate) fn lower_factor<T: Field>(a: Matrix<T>, lower: bool) -> Result<Matrix<T>, i32> {
    let n = a.rows;
    let mut a = a.completed(lower);
    let params = Default::default();
    let scratch = cholesky_in_place_scratch::<T>(n, Par::Seq, params);
    let mut memory = MemBuffer::new(scratch);
    let stack = MemStack::new(&mut memory);
    let done = cholesky_in_place(a.view_mut(), Default::default(), Par::Seq, stack, params);
    match done {
        Err(LltError::NonPositivePivot { index }) => Err(index as i32 + 1),
        // A NaN compares with nothing, also not as positive.
        Ok(_) => match (0..n).find(|at| !a.at(*at, *at).finite()) {
            Some(at) => Err(at as i32 + 1),
            None => Ok(a),
        },
    }
}
