//! The tiles of [`super::tile`] for 256-bit vectors, cut into pieces that 16 registers hold.

#![expect(unsafe_code, reason = "vector instructions")]

use std::arch::x86_64::{
    __m256, __m256i, _mm256_cmpgt_epi32, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_maskload_ps,
    _mm256_maskstore_ps, _mm256_set1_epi32, _mm256_set1_ps, _mm256_setr_epi32, _mm256_setzero_ps,
    _mm256_storeu_ps,
};

use super::tile::Run;

/// Most rows of a piece: with two vectors each, 12 registers of sums.
const ROWS: usize = 6;
/// Lanes of a piece: two vectors.
const LANES: usize = 16;

/// Whether the machine has the vectors.
pub(super) fn has_vectors() -> bool {
    std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
}

/// What is multiplied, and where the sums go.
#[derive(Clone, Copy)]
pub(super) struct Tile<'a> {
    pub(super) runs: &'a [Run],
    /// Features of each run.
    pub(super) count: usize,
    pub(super) vectors: *const f32,
    pub(super) scalars: *const f32,
    /// From one feature to the next, of vectors and of scalars.
    pub(super) steps: [usize; 2],
    pub(super) to: *mut f32,
    /// From one row of the result to the next.
    pub(super) stride: usize,
}

/// Writes the sums over all runs of scalars times vectors, for `rows` by `lanes` elements.
///
/// # Safety
/// `vectors` and `scalars` hold `lanes` and `rows` elements at each of `count` steps of each run, of which one
/// begins as the run says of values, the other as it says of weights; `to` may be written for `rows` rows of
/// `lanes` elements, `stride` apart; the machine has the instructions.
pub(super) unsafe fn tile<const WEIGHTS_ARE_VECTORS: bool>(
    tile: Tile<'_>,
    [rows, lanes]: [usize; 2],
) {
    let height = rows.div_ceil(rows.div_ceil(ROWS).max(1)).max(1);
    for row in (0..rows).step_by(height) {
        for lane in (0..lanes).step_by(LANES) {
            let piece = Tile {
                vectors: tile.vectors.wrapping_add(lane),
                scalars: tile.scalars.wrapping_add(row),
                to: tile.to.wrapping_add(row * tile.stride + lane),
                ..tile
            };
            let (height, width) = (height.min(rows - row), LANES.min(lanes - lane));
            // SAFETY: a part of what the caller promised.
            unsafe { by_rows::<WEIGHTS_ARE_VECTORS>(piece, height, width) };
        }
    }
}

/// # Safety
/// As [`tile`].
unsafe fn by_rows<const WEIGHTS_ARE_VECTORS: bool>(tile: Tile<'_>, rows: usize, lanes: usize) {
    macro_rules! by_rows {
        ($($rows:literal)*) => {
            match (rows, lanes == LANES) {
                $(
                    // SAFETY: the caller's promise.
                    ($rows, true) => unsafe { sums::<$rows, true, WEIGHTS_ARE_VECTORS>(tile, lanes) },
                    // SAFETY: the caller's promise.
                    ($rows, false) => unsafe { sums::<$rows, false, WEIGHTS_ARE_VECTORS>(tile, lanes) },
                )*
                _ => {}
            }
        };
    }
    by_rows!(1 2 3 4 5 6);
}

/// # Safety
/// As [`tile`], for `R` rows and `lanes` lanes, which are all of two vectors if `IS_FULL`.
#[target_feature(enable = "avx2,fma")]
unsafe fn sums<const R: usize, const IS_FULL: bool, const WEIGHTS_ARE_VECTORS: bool>(
    tile: Tile<'_>,
    lanes: usize,
) {
    let masks = masks(lanes);
    let mut sums = [[_mm256_setzero_ps(); 2]; R];
    for run in tile.runs {
        let (first_vector, first_scalar) = if WEIGHTS_ARE_VECTORS {
            (run.weights, run.values)
        } else {
            (run.values, run.weights)
        };
        let mut vectors = tile.vectors.wrapping_add(first_vector);
        let mut scalars = tile.scalars.wrapping_add(first_scalar);
        for _ in 0..tile.count {
            // SAFETY: the operands hold these elements (the caller's promise); lanes outside the masks are not read.
            unsafe {
                let [low, high] = load::<IS_FULL>(vectors, masks);
                for (row, sum) in sums.iter_mut().enumerate() {
                    let scalar = _mm256_set1_ps(*scalars.wrapping_add(row));
                    sum[0] = _mm256_fmadd_ps(scalar, low, sum[0]);
                    sum[1] = _mm256_fmadd_ps(scalar, high, sum[1]);
                }
            }
            vectors = vectors.wrapping_add(tile.steps[0]);
            scalars = scalars.wrapping_add(tile.steps[1]);
        }
    }
    for (row, sum) in sums.iter().enumerate() {
        let to = tile.to.wrapping_add(row * tile.stride);
        // SAFETY: the block has these elements (the caller's promise).
        unsafe { store::<IS_FULL>(to, *sum, masks) };
    }
}

/// All bits set in the lanes of two vectors that are among the first `lanes`.
#[inline]
#[target_feature(enable = "avx2")]
fn masks(lanes: usize) -> [__m256i; 2] {
    let numbers = [
        _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
        _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15),
    ];
    let lanes = _mm256_set1_epi32(lanes as i32);
    numbers.map(|numbers| _mm256_cmpgt_epi32(lanes, numbers))
}

/// # Safety
/// The lanes of `masks`, all if `IS_FULL`, may be read.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load<const IS_FULL: bool>(from: *const f32, masks: [__m256i; 2]) -> [__m256; 2] {
    let next = from.wrapping_add(8);
    // SAFETY: the caller's promise.
    unsafe {
        if IS_FULL {
            [_mm256_loadu_ps(from), _mm256_loadu_ps(next)]
        } else {
            [
                _mm256_maskload_ps(from, masks[0]),
                _mm256_maskload_ps(next, masks[1]),
            ]
        }
    }
}

/// # Safety
/// The lanes of `masks`, all if `IS_FULL`, may be written.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn store<const IS_FULL: bool>(to: *mut f32, sums: [__m256; 2], masks: [__m256i; 2]) {
    let next = to.wrapping_add(8);
    // SAFETY: the caller's promise.
    unsafe {
        if IS_FULL {
            _mm256_storeu_ps(to, sums[0]);
            _mm256_storeu_ps(next, sums[1]);
        } else {
            _mm256_maskstore_ps(to, masks[0], sums[0]);
            _mm256_maskstore_ps(next, masks[1], sums[1]);
        }
    }
}
