//! Tiles of products in registers: rows of scalars by lanes of vectors, for 512-bit vectors; `tile_256` cuts them
//! for narrower ones.

#![expect(
    unsafe_code,
    reason = "vector instructions, and a result written by several threads"
)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m512, _mm512_castpd_ps, _mm512_castps_pd, _mm512_fmadd_ps, _mm512_loadu_ps,
    _mm512_mask_storeu_ps, _mm512_maskz_loadu_ps, _mm512_set1_ps, _mm512_setzero_ps,
    _mm512_shuffle_f32x4, _mm512_storeu_ps, _mm512_unpackhi_pd, _mm512_unpackhi_ps,
    _mm512_unpacklo_pd, _mm512_unpacklo_ps,
};

#[cfg(target_arch = "x86_64")]
use super::tile_256;
use crate::dot::Target;

/// Most rows of a tile.
pub(super) const ROWS: usize = 14;
/// Most lanes of a tile: two vectors.
pub(super) const LANES: usize = 32;

/// Elements that are multiplied: from one feature to the next, `step` on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand<'a> {
    pub(super) data: &'a [f32],
    pub(super) step: usize,
}

impl Operand<'_> {
    /// The elements from `offset` on.
    pub(super) fn from(self, offset: usize) -> Self {
        Operand {
            data: self.data.get(offset..).unwrap_or(&[]),
            step: self.step,
        }
    }

    /// Whether `width` elements at each of `count` steps from `offset` on are there.
    fn holds(&self, offset: usize, count: usize, width: usize) -> bool {
        let last = count.saturating_sub(1).checked_mul(self.step);
        let end = last.and_then(|last| last.checked_add(offset)?.checked_add(width));
        count == 0 || end.is_some_and(|end| end <= self.data.len())
    }
}

/// Where the features of one window element begin in both operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) values: usize,
    pub(super) weights: usize,
}

/// The window elements of a line of tiles.
#[derive(Debug, Default)]
pub(super) struct Runs {
    list: Vec<Run>,
    /// The last place where any begins, in values and in weights.
    furthest: [usize; 2],
}

impl Runs {
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.furthest = [0; 2];
    }

    pub(super) fn push(&mut self, values: usize, weights: usize) {
        let [last_values, last_weights] = self.furthest;
        self.furthest = [last_values.max(values), last_weights.max(weights)];
        self.list.push(Run { values, weights });
    }
}

/// Whether the machine has vectors of 512 bits, or of 256.
pub(super) fn has_vectors() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        has_wide_vectors() || tile_256::has_vectors()
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// Whether the machine has vectors of 512 bits.
fn has_wide_vectors() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("avx512f")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// Writes the sums over all runs, and `count` features of each, of scalars times vectors, for `rows` by
/// `lanes` elements (`sizes`) at `offset` of the target, rows `stride` apart. `weights_are_vectors` says which operand
/// is which. Nobody else may touch these elements meanwhile.
///
/// # Panics
/// If a tile is too large, an operand too short, or the machine has no such vectors.
#[expect(clippy::too_many_arguments, reason = "the innermost function of all")]
#[inline]
pub(super) fn tile(
    runs: &Runs,
    count: usize,
    values: Operand<'_>,
    weights: Operand<'_>,
    target: Target<f32>,
    offset: usize,
    sizes: [usize; 2],
    stride: usize,
    weights_are_vectors: bool,
) {
    let [rows, lanes] = sizes;
    let widths = if weights_are_vectors {
        [rows, lanes]
    } else {
        [lanes, rows]
    };
    let fits = runs.list.is_empty()
        || values.holds(runs.furthest[0], count, widths[0])
            && weights.holds(runs.furthest[1], count, widths[1]);
    assert!(
        fits && rows <= ROWS && lanes <= LANES && has_vectors(),
        "a tile lies in its operands"
    );
    // SAFETY: the tasks of a convolution write different elements, each a tile at a time; `block` checks the
    // bounds.
    let mut block = unsafe { target.block(offset, [rows, lanes], stride) };
    let to = block.as_mut_ptr();
    // One by one, in registers: a copy of what was just stored would wait for the tile before.
    let (values, values_step) = (values.data.as_ptr(), values.step);
    let (weights, weights_step) = (weights.data.as_ptr(), weights.step);
    let runs = &runs.list[..];
    macro_rules! by_rows {
        ($($rows:literal)*) => {
            match rows {
                $(
                    // SAFETY: the operands hold what is read (asserted), the block what is written, and the
                    // machine has the instructions (asserted).
                    $rows => unsafe {
                        let steps = (values_step, weights_step);
                        if weights_are_vectors {
                            let steps = (steps.1, steps.0);
                            sums::<$rows, true>(runs, count, weights, values, steps, to, stride, lanes);
                        } else {
                            sums::<$rows, false>(runs, count, values, weights, steps, to, stride, lanes);
                        }
                    },
                )*
                _ => {}
            }
        };
    }
    #[cfg(target_arch = "x86_64")]
    if !has_wide_vectors() {
        let of_values = (values, values_step);
        let of_weights = (weights, weights_step);
        let (vectors, scalars) = if weights_are_vectors {
            (of_weights, of_values)
        } else {
            (of_values, of_weights)
        };
        let whole = tile_256::Tile {
            runs,
            count,
            vectors: vectors.0,
            scalars: scalars.0,
            steps: [vectors.1, scalars.1],
            to,
            stride,
        };
        // SAFETY: as below.
        unsafe {
            if weights_are_vectors {
                tile_256::tile::<true>(whole, sizes);
            } else {
                tile_256::tile::<false>(whole, sizes);
            }
        }
        return;
    }
    #[cfg(target_arch = "x86_64")]
    by_rows!(1 2 3 4 5 6 7 8 9 10 11 12 13 14);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (to, values, values_step, weights, weights_step, runs);
}

/// # Safety
/// `vectors` and `scalars` hold `lanes` and `R` elements at each of `count` steps of each run, of which one
/// begins as the run says of values, the other as it says of weights; `to` may be written for `R` rows of `lanes`
/// elements, `stride` apart; the machine has the instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[expect(clippy::too_many_arguments, reason = "each in a register")]
unsafe fn sums<const R: usize, const WEIGHTS_ARE_VECTORS: bool>(
    runs: &[Run],
    count: usize,
    vectors: *const f32,
    scalars: *const f32,
    (vectors_step, scalars_step): (usize, usize),
    to: *mut f32,
    stride: usize,
    lanes: usize,
) {
    let all = u32::MAX.checked_shr(32 - lanes as u32).unwrap_or(0);
    let masks = [(all & 0xffff) as u16, (all >> 16) as u16];
    let mut sums = [[_mm512_setzero_ps(); 2]; R];
    for run in runs {
        let (first_vector, first_scalar) = if WEIGHTS_ARE_VECTORS {
            (run.weights, run.values)
        } else {
            (run.values, run.weights)
        };
        let mut vectors = vectors.wrapping_add(first_vector);
        let mut scalars = scalars.wrapping_add(first_scalar);
        for _ in 0..count {
            // SAFETY: the operands hold these elements (the caller's promise); lanes outside the mask are not
            // read.
            unsafe {
                let low = _mm512_maskz_loadu_ps(masks[0], vectors);
                let high = _mm512_maskz_loadu_ps(masks[1], vectors.wrapping_add(16));
                for (row, sum) in sums.iter_mut().enumerate() {
                    let scalar = _mm512_set1_ps(*scalars.wrapping_add(row));
                    sum[0] = _mm512_fmadd_ps(scalar, low, sum[0]);
                    sum[1] = _mm512_fmadd_ps(scalar, high, sum[1]);
                }
            }
            vectors = vectors.wrapping_add(vectors_step);
            scalars = scalars.wrapping_add(scalars_step);
        }
    }
    for (row, sum) in sums.iter().enumerate() {
        let to = to.wrapping_add(row * stride);
        // SAFETY: the block has these elements (the caller's promise).
        unsafe {
            _mm512_mask_storeu_ps(to, masks[0], sum[0]);
            _mm512_mask_storeu_ps(to.wrapping_add(16), masks[1], sum[1]);
        }
    }
}

/// Rows and columns of what is transposed at a time.
const SQUARE: usize = 16;

/// Copies `sizes` rows and columns of `from`, rows `strides[0]` apart, to columns of `to`, which are rows
/// `strides[1]` apart there.
///
/// # Panics
/// If the elements do not lie in the slices.
pub(super) fn transpose(
    from: &[f32],
    to: &mut [f32],
    [rows, columns]: [usize; 2],
    strides: [usize; 2],
) {
    if rows == 0 || columns == 0 {
        return;
    }
    let end = |count: usize, stride: usize, width: usize| (count - 1) * stride + width;
    assert!(
        end(rows, strides[0], columns) <= from.len() && end(columns, strides[1], rows) <= to.len(),
        "both sides hold the elements"
    );
    let whole = [rows / SQUARE * SQUARE, columns / SQUARE * SQUARE];
    #[cfg(target_arch = "x86_64")]
    if has_wide_vectors() {
        for row in (0..whole[0]).step_by(SQUARE) {
            for column in (0..whole[1]).step_by(SQUARE) {
                let from = &from[row * strides[0] + column..];
                let to = &mut to[column * strides[1] + row..];
                // SAFETY: the square lies in both slices (asserted); the machine has the instructions.
                unsafe { square(from.as_ptr(), to.as_mut_ptr(), strides) };
            }
        }
    }
    let is_done =
        |row: usize, column: usize| has_wide_vectors() && row < whole[0] && column < whole[1];
    for row in 0..rows {
        let first = if is_done(row, 0) { whole[1] } else { 0 };
        for column in first..columns {
            to[column * strides[1] + row] = from[row * strides[0] + column];
        }
    }
}

/// # Safety
/// 16 rows of 16 elements may be read, `strides[0]` apart, and written, `strides[1]` apart; the machine has the
/// instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn square(from: *const f32, to: *mut f32, strides: [usize; 2]) {
    let mut rows = [_mm512_setzero_ps(); SQUARE];
    for (at, row) in rows.iter_mut().enumerate() {
        // SAFETY: the caller's promise.
        *row = unsafe { _mm512_loadu_ps(from.wrapping_add(at * strides[0])) };
    }
    // Pairs of rows, then of pairs, within each quarter of a vector.
    let mut quarters = [_mm512_setzero_ps(); SQUARE];
    for four in 0..4 {
        let [a, b, c, d]: [__m512; 4] = std::array::from_fn(|at| rows[4 * four + at]);
        let pairs = [
            (_mm512_unpacklo_ps(a, b), _mm512_unpacklo_ps(c, d)),
            (_mm512_unpackhi_ps(a, b), _mm512_unpackhi_ps(c, d)),
        ];
        for (half, (low, high)) in pairs.into_iter().enumerate() {
            let (low, high) = (_mm512_castps_pd(low), _mm512_castps_pd(high));
            let place = 4 * four + 2 * half;
            quarters[place] = _mm512_castpd_ps(_mm512_unpacklo_pd(low, high));
            quarters[place + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low, high));
        }
    }
    // Column 4 * q + c of the rows is quarter q of `quarters[4 * four + c]`, for each four rows.
    for column in 0..4 {
        let [a, b, c, d]: [__m512; 4] = std::array::from_fn(|four| quarters[4 * four + column]);
        let low = [
            _mm512_shuffle_f32x4::<0b01_00_01_00>(a, b),
            _mm512_shuffle_f32x4::<0b01_00_01_00>(c, d),
        ];
        let high = [
            _mm512_shuffle_f32x4::<0b11_10_11_10>(a, b),
            _mm512_shuffle_f32x4::<0b11_10_11_10>(c, d),
        ];
        for (quarter, [ab, cd]) in [low, high].into_iter().enumerate() {
            let even = _mm512_shuffle_f32x4::<0b10_00_10_00>(ab, cd);
            let odd = _mm512_shuffle_f32x4::<0b11_01_11_01>(ab, cd);
            for (at, values) in [even, odd].into_iter().enumerate() {
                let row = 4 * (2 * quarter + at) + column;
                // SAFETY: the caller's promise.
                unsafe { _mm512_storeu_ps(to.wrapping_add(row * strides[1]), values) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::transpose;

    #[test]
    fn transposes_squares_and_what_is_left() {
        for [rows, columns] in [[1, 1], [16, 16], [15, 33], [17, 16], [48, 50], [3, 70]] {
            let from: Vec<f32> = (0..rows * (columns + 3)).map(|at| at as f32).collect();
            let mut to = vec![-1.0; columns * (rows + 5)];
            transpose(&from, &mut to, [rows, columns], [columns + 3, rows + 5]);
            for (at, value) in to.iter().enumerate() {
                let (column, row) = (at / (rows + 5), at % (rows + 5));
                let inside = row < rows;
                let want = if inside {
                    from[row * (columns + 3) + column]
                } else {
                    -1.0
                };
                assert_eq!(*value, want, "{rows} by {columns} at {at}");
            }
        }
    }
}
