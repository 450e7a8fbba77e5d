//! Products of a matrix and a vector, which are bound by memory.
//!
//! Each sum is formed in a fixed order, by the same operations on every machine.

#![expect(
    unsafe_code,
    reason = "functions compiled for wider vectors are called where the machine has them"
)]

use std::ops::{Add, Mul};

use super::gemm::{Block, GemmElement, Matrix};

/// Partial sums of one row: enough to fill registers and hide latency.
const PARTS: usize = 32;

/// Elements of a result that are summed up at once, small enough to stay in the first cache.
const STRIP: usize = 1024;

/// How far ahead of the loads memory is asked for, in bytes: what the processor fetches by itself leaves a part
/// of one thread's bandwidth unused.
const AHEAD: usize = 4096;

/// What can be added and multiplied.
pub(super) trait Number: GemmElement + Add<Output = Self> + Mul<Output = Self> {}

impl<T: GemmElement + Add<Output = T> + Mul<Output = T>> Number for T {}

/// Computes the block if one side is a vector and the elements lie well; else says `false`.
pub(super) fn multiply<T: Number>(
    k: usize,
    lhs: Matrix<'_, T>,
    rhs: Matrix<'_, T>,
    block: &mut Block<T>,
) -> bool {
    let (matrix, vector, rows) = if block.rows == 1 {
        (rhs, lhs, block.columns)
    } else if block.columns == 1 && block.is_contiguous() {
        (lhs, rhs, block.rows)
    } else {
        return false;
    };
    let Some(vector) = vector.data.get(..k).filter(|_| vector.column_stride == 1) else {
        return false;
    };
    let Some(result) = block.contiguous() else {
        return false;
    };
    debug_assert_eq!(result.len(), rows, "the block is the result vector");
    if matrix.column_stride == 1 {
        run_rows(matrix, vector, result);
    } else if matrix.row_stride == 1 {
        run_columns(matrix, vector, result);
    } else {
        return false;
    }
    true
}

macro_rules! dispatched {
    ($name:ident, $wide:ident, $plain:ident) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2")]
        fn $wide<T: Number>(matrix: Matrix<'_, T>, vector: &[T], result: &mut [T]) {
            $plain(matrix, vector, result);
        }

        fn $name<T: Number>(matrix: Matrix<'_, T>, vector: &[T], result: &mut [T]) {
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the machine has the feature. The operations are the same, so the bits are.
                unsafe { $wide(matrix, vector, result) };
                return;
            }
            $plain(matrix, vector, result);
        }
    };
}

dispatched!(run_rows, wide_rows, rows);
dispatched!(run_columns, wide_columns, columns);

/// `result[i] = sum over l of matrix[i, l] * vector[l]` for contiguous rows.
#[inline(always)]
fn rows<T: Number>(matrix: Matrix<'_, T>, vector: &[T], result: &mut [T]) {
    let row = |at: usize| &matrix.data[at * matrix.row_stride..][..vector.len()];
    if !reads_pairs() {
        for (at, element) in result.iter_mut().enumerate() {
            *element = inner_product(row(at), vector);
        }
        return;
    }
    let (pairs, last) = result.as_chunks_mut();
    for (at, pair) in pairs.iter_mut().enumerate() {
        *pair = inner_products([row(2 * at), row(2 * at + 1)], vector);
    }
    if let [element] = last {
        *element = inner_product(row(2 * pairs.len()), vector);
    }
}

/// Whether the processor reads two rows side by side faster than one: those without vectors of 512 bits took 4.0 ms
/// instead of 4.8 for 64 MiB, and 5.7 where memory was asked for ahead.
fn reads_pairs() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        !std::arch::is_x86_feature_detected!("avx512f")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// [`inner_product`] of two rows.
#[inline(always)]
fn inner_products<T: Number>([a, b]: [&[T]; 2], vector: &[T]) -> [T; 2] {
    let mut parts = [[T::ZERO; PARTS]; 2];
    let ((a_chunks, a_rest), (b_chunks, b_rest)) = (a.as_chunks(), b.as_chunks());
    let (chunks, rest) = vector.as_chunks();
    for ((a, b), x) in a_chunks.iter().zip(b_chunks).zip(chunks) {
        add_products(&mut parts[0], a, x);
        add_products(&mut parts[1], b, x);
    }
    let [first, second] = parts;
    [
        sum_of_parts(first, a_rest, rest),
        sum_of_parts(second, b_rest, rest),
    ]
}

#[inline(always)]
fn inner_product<T: Number>(a: &[T], b: &[T]) -> T {
    let mut parts = [T::ZERO; PARTS];
    let ((a_chunks, a_rest), (b_chunks, b_rest)) = (a.as_chunks(), b.as_chunks());
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        fetch_ahead(a);
        add_products(&mut parts, a, b);
    }
    sum_of_parts(parts, a_rest, b_rest)
}

/// The sum of partial sums and the products that are left over.
#[inline(always)]
fn sum_of_parts<T: Number>(mut parts: [T; PARTS], a: &[T], b: &[T]) -> T {
    for (part, (a, b)) in parts.iter_mut().zip(a.iter().zip(b)) {
        *part = *part + *a * *b;
    }
    let mut width = PARTS / 2;
    while width > 0 {
        for at in 0..width {
            parts[at] = parts[at] + parts[at + width];
        }
        width /= 2;
    }
    parts[0]
}

/// Asks for the memory that will be read soon if what is at `here` is read now.
#[inline(always)]
fn fetch_ahead<T>(here: &[T; PARTS]) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..size_of::<[T; PARTS]>()).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = here.as_ptr().cast::<i8>().wrapping_add(AHEAD + line);
        // SAFETY: a hint, which any address may be in.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (here, AHEAD);
}

/// One product onto each partial sum. Arrays of a known length become vector registers.
#[inline(always)]
fn add_products<T: Number>(parts: &mut [T; PARTS], a: &[T; PARTS], b: &[T; PARTS]) {
    for at in 0..PARTS {
        parts[at] = parts[at] + a[at] * b[at];
    }
}

/// The same for contiguous columns, a strip of the result at a time.
#[inline(always)]
fn columns<T: Number>(matrix: Matrix<'_, T>, vector: &[T], result: &mut [T]) {
    for (strip, sums) in result.chunks_mut(STRIP).enumerate() {
        let column = |l: usize| {
            let start = l * matrix.column_stride + strip * STRIP;
            &matrix.data[start..][..sums.len()]
        };
        let mut totals = [T::ZERO; STRIP];
        let totals = &mut totals[..sums.len()];
        let mut l = 0;
        while l + 4 <= vector.len() {
            let [a, b, c, d] = [column(l), column(l + 1), column(l + 2), column(l + 3)];
            let [x, y, z, w] = [vector[l], vector[l + 1], vector[l + 2], vector[l + 3]];
            for (at, total) in totals.iter_mut().enumerate() {
                *total = *total + a[at] * x + b[at] * y + c[at] * z + d[at] * w;
            }
            l += 4;
        }
        for (l, x) in vector.iter().enumerate().skip(l) {
            for (total, a) in totals.iter_mut().zip(column(l)) {
                *total = *total + *a * *x;
            }
        }
        sums.copy_from_slice(totals);
    }
}
