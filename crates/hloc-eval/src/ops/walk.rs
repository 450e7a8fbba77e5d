//! Walks over the elements of an array by strides.

use hloc_tensor::{Array, IndexIter, row_major_strides};

use super::zeros;
use crate::EvalError;

/// The elements at `base + Σ index · stride`, for all indices of `dims` in row-major order.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    pub(super) dims: Vec<i64>,
    pub(super) base: i64,
    pub(super) strides: Vec<i64>,
}

impl Walk {
    /// All elements of an array in order.
    pub(super) fn whole(dims: &[i64]) -> Walk {
        Walk {
            dims: dims.to_vec(),
            base: 0,
            strides: row_major_strides(dims),
        }
    }

    /// Fails unless every element that is visited is one of `count`.
    pub(super) fn check(&self, count: usize) -> Result<(), EvalError> {
        if self.dims.contains(&0) {
            return Ok(());
        }
        let (mut least, mut greatest) = (i128::from(self.base), i128::from(self.base));
        for (dim, stride) in self.dims.iter().zip(&self.strides) {
            let reach = i128::from(dim - 1) * i128::from(*stride);
            least += reach.min(0);
            greatest += reach.max(0);
        }
        if least < 0 || greatest >= count as i128 || self.dims.len() != self.strides.len() {
            let message =
                format!("elements {least} to {greatest} are asked for, there are {count}");
            return Err(EvalError::argument(message));
        }
        Ok(())
    }

    /// Calls `visit` with each position, which is only meaningful if [`Walk::check`] held.
    pub(super) fn for_each(&self, mut visit: impl FnMut(usize)) {
        if self.dims.contains(&0) {
            return;
        }
        let (outer, inner) = match self.dims.split_last() {
            Some((inner, outer)) => (outer, *inner),
            None => (&[][..], 1),
        };
        let step = self.strides.last().copied().unwrap_or(0);
        let mut indices = IndexIter::new(outer);
        while let Some(index) = indices.next_index() {
            let offsets = index.iter().zip(&self.strides);
            let mut position = self.base + offsets.map(|(at, stride)| at * stride).sum::<i64>();
            for _ in 0..inner {
                visit(position as usize);
                position = position.wrapping_add(step);
            }
        }
    }

    /// All positions.
    pub(super) fn positions(&self) -> Vec<usize> {
        let mut positions = Vec::new();
        self.for_each(|position| positions.push(position));
        positions
    }

    /// A new array of the visited elements of `source`.
    pub(super) fn read(&self, source: &Array) -> Result<Array, EvalError> {
        self.check(source.num_elements())?;
        let size = source.element_type().size();
        let mut result = zeros(source.element_type(), &self.dims)?;
        let (from, to) = (source.bytes(), result.bytes_mut());
        let mut next = 0;
        self.for_each(|position| {
            to[next..next + size].copy_from_slice(&from[position * size..][..size]);
            next += size;
        });
        Ok(result)
    }

    /// Writes the elements of `source`, an array of the walk's dimensions, to the visited elements of
    /// `target`, which has the same element type.
    pub(super) fn write(&self, source: &Array, target: &mut Array) -> Result<(), EvalError> {
        self.check(target.num_elements())?;
        let fits = source.element_type() == target.element_type() && source.dims() == self.dims;
        super::ensure(fits, "the elements to write are not those of the target")?;
        let size = source.element_type().size();
        let (from, to) = (source.bytes(), target.bytes_mut());
        let mut next = 0;
        self.for_each(|position| {
            to[position * size..][..size].copy_from_slice(&from[next..next + size]);
            next += size;
        });
        Ok(())
    }
}
