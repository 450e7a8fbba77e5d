//! Where the elements of each row lie, and moving them.

use hloc_tensor::row_major_strides;

/// The rows of arrays of one shape along one dimension.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    /// Elements of a row.
    pub(super) extent: usize,
    /// Distance of neighbors in a row.
    stride: usize,
    /// Number of rows.
    pub(super) count: usize,
}

impl Rows {
    /// Rows along `dimension`, which is a dimension of `dims`.
    pub(super) fn new(dims: &[i64], dimension: usize) -> Rows {
        let size = |dim: i64| usize::try_from(dim).unwrap_or(0);
        let extent = size(dims[dimension]);
        let others = dims.iter().enumerate().filter(|(at, _)| *at != dimension);
        let count = others.map(|(_, dim)| size(*dim)).product();
        Rows {
            extent,
            stride: size(row_major_strides(dims)[dimension]),
            count: if extent == 0 { 0 } else { count },
        }
    }

    /// Position of the first element of a row.
    pub(super) fn base(&self, row: usize) -> usize {
        row / self.stride * self.stride * self.extent + row % self.stride
    }

    /// Position of element `at` of the row that begins at `base`.
    pub(super) fn place(&self, base: usize, at: usize) -> usize {
        base + at * self.stride
    }

    /// Writes the elements of a row in the order of `places`, for elements of `size` bytes.
    pub(super) fn permute(
        &self,
        base: usize,
        places: &[u32],
        size: usize,
        source: &[u8],
        target: &mut [u8],
    ) {
        match size {
            1 => self.permute_sized::<1>(base, places, source, target),
            2 => self.permute_sized::<2>(base, places, source, target),
            4 => self.permute_sized::<4>(base, places, source, target),
            8 => self.permute_sized::<8>(base, places, source, target),
            // Elements are of 1, 2, 4, 8 or 16 bytes.
            _ => self.permute_sized::<16>(base, places, source, target),
        }
    }

    fn permute_sized<const SIZE: usize>(
        &self,
        base: usize,
        places: &[u32],
        source: &[u8],
        target: &mut [u8],
    ) {
        let (source, _) = source.as_chunks::<SIZE>();
        let (target, _) = target.as_chunks_mut::<SIZE>();
        for (to, from) in places.iter().enumerate() {
            target[self.place(base, to)] = source[self.place(base, *from as usize)];
        }
    }
}
