//! Row-major strides, element counts, and walks over all indices of an array.

/// The number of elements of an array with these dimensions.
///
/// `None` when a dimension is negative or the product overflows; a zero anywhere gives `Some(0)`.
/// `&[2, 3]` gives `Some(6)`, `&[]` gives `Some(1)`.
pub fn num_elements(dims: &[i64]) -> Option<i64> {
    if dims.iter().any(|&dim| dim < 0) {
        return None;
    }
    if dims.contains(&0) {
        return Some(0);
    }
    dims.iter()
        .try_fold(1i64, |count, &dim| count.checked_mul(dim))
}

/// The row-major strides, in elements: `&[2, 3, 4]` gives `[12, 4, 1]`.
///
/// Dimensions for which [`num_elements`] is `None` or 0 have no element to step to; their strides
/// saturate instead of overflowing.
pub fn row_major_strides(dims: &[i64]) -> Vec<i64> {
    let mut strides = vec![1i64; dims.len()];
    for i in (1..dims.len()).rev() {
        strides[i - 1] = strides[i].saturating_mul(dims[i]);
    }
    strides
}

/// The index of the element at a row-major position: position 5 of `&[2, 3]` is `[1, 2]`.
///
/// The position is below the number of elements; beyond it, the index wraps around.
pub fn index_at(dims: &[i64], position: usize) -> Vec<i64> {
    let mut index = vec![0; dims.len()];
    let mut rest = position as i64;
    for (place, &dim) in index.iter_mut().zip(dims).rev() {
        let dim = dim.max(1);
        *place = rest % dim;
        rest /= dim;
    }
    index
}

/// Walks all indices of an array in row-major order, without an allocation per step.
///
/// ```
/// let mut walk = hloc_tensor::IndexIter::new(&[2, 2]);
/// let mut seen = Vec::new();
/// while let Some(index) = walk.next_index() {
///     seen.push([index[0], index[1]]);
/// }
/// assert_eq!(seen, [[0, 0], [0, 1], [1, 0], [1, 1]]);
/// ```
#[derive(Clone, Debug)]
pub struct IndexIter {
    dims: Vec<i64>,
    index: Vec<i64>,
    state: WalkState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WalkState {
    BeforeFirst,
    Walking,
    Done,
}

impl IndexIter {
    /// A walk over all indices of an array with these dimensions.
    ///
    /// There are none when a dimension is zero or negative, and one (empty) when there are no dimensions.
    pub fn new(dims: &[i64]) -> IndexIter {
        let empty = dims.iter().any(|&dim| dim <= 0);
        IndexIter {
            dims: dims.to_vec(),
            index: vec![0; dims.len()],
            state: if empty {
                WalkState::Done
            } else {
                WalkState::BeforeFirst
            },
        }
    }

    /// The next index, or `None` after the last. It is valid until the next call.
    pub fn next_index(&mut self) -> Option<&[i64]> {
        match self.state {
            WalkState::BeforeFirst => self.state = WalkState::Walking,
            WalkState::Walking => self.advance(),
            WalkState::Done => {}
        }
        (self.state != WalkState::Done).then_some(&self.index[..])
    }

    fn advance(&mut self) {
        for (position, &dim) in self.index.iter_mut().zip(&self.dims).rev() {
            *position += 1;
            if *position < dim {
                return;
            }
            *position = 0;
        }
        self.state = WalkState::Done;
    }
}

impl Iterator for IndexIter {
    type Item = Vec<i64>;

    /// The next index as an owned list; [`IndexIter::next_index`] lends it instead.
    fn next(&mut self) -> Option<Vec<i64>> {
        self.next_index().map(<[i64]>::to_vec)
    }
}

#[cfg(test)]
mod tests {
    use super::{IndexIter, index_at, num_elements, row_major_strides};

    #[test]
    fn counts_elements() {
        assert_eq!(num_elements(&[]), Some(1));
        assert_eq!(num_elements(&[2, 3]), Some(6));
        assert_eq!(num_elements(&[i64::MAX, i64::MAX, 0]), Some(0));
        assert_eq!(num_elements(&[i64::MAX, 2]), None);
        assert_eq!(num_elements(&[0, -1]), None);
    }

    #[test]
    fn strides_are_row_major() {
        assert_eq!(row_major_strides(&[2, 3, 4]), [12, 4, 1]);
        assert_eq!(row_major_strides(&[5]), [1]);
        assert_eq!(row_major_strides(&[]), [0i64; 0]);
        assert_eq!(
            row_major_strides(&[3, i64::MAX, i64::MAX]),
            [i64::MAX, i64::MAX, 1]
        );
    }

    #[test]
    fn walks_in_row_major_order() {
        let seen: Vec<_> = IndexIter::new(&[2, 1, 2]).collect();
        assert_eq!(seen, [[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 0, 1]]);
        assert_eq!(IndexIter::new(&[]).collect::<Vec<_>>(), [[0i64; 0]]);
        assert_eq!(IndexIter::new(&[3, 0]).count(), 0);
        assert_eq!(IndexIter::new(&[-1]).count(), 0);
    }

    #[test]
    fn positions_and_indices_agree() {
        let dims = [2, 3, 4];
        for (position, index) in IndexIter::new(&dims).enumerate() {
            assert_eq!(index_at(&dims, position), index);
        }
    }
}
