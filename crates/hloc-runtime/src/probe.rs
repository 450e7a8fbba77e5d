//! How fast this machine multiplies and adds, to compare kernels with.

#![expect(
    unsafe_code,
    reason = "functions compiled for wider vectors are called where the machine has them"
)]

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::pool::WorkerPool;

/// Sums that are formed side by side: 8 vectors of 512 bits, more than the latency of an addition.
const SUMS: usize = 128;

/// Terms of each sum in one chunk: about 20 µs.
const TERMS: usize = 10_000;

/// Most operations a second on 32-bit floats in `x * y + z` of vectors in registers, all threads of `pool`
/// together: the best of a few measurements that take some milliseconds in all.
///
/// A core with two 512-bit units at 3 GHz gives 1.9e11.
pub fn multiply_add_rate(pool: &WorkerPool) -> f64 {
    let chunks = 8 * pool.threads();
    let operations = (chunks * SUMS * TERMS * 2) as f64;
    let sum = AtomicU64::new(0);
    let mut best: f64 = 0.0;
    for _ in 0..8 {
        let begin = Instant::now();
        pool.run(chunks, &|chunk| {
            let value = sums(black_box(1.0 + chunk as f32));
            sum.fetch_add(u64::from(value.to_bits()), Ordering::Relaxed);
        });
        best = best.max(operations / begin.elapsed().as_secs_f64());
    }
    black_box(sum.into_inner());
    best
}

#[cfg(target_arch = "x86_64")]
fn sums(start: f32) -> f32 {
    if std::arch::is_x86_feature_detected!("avx512f") {
        // SAFETY: the machine has the feature.
        unsafe { sums_avx512(start) }
    } else if std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("fma")
    {
        // SAFETY: the machine has the features.
        unsafe { sums_fma(start) }
    } else {
        plain_sums(start, |x, y, z| x * y + z)
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn sums(start: f32) -> f32 {
    plain_sums(start, f32::mul_add)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,fma")]
fn sums_avx512(start: f32) -> f32 {
    plain_sums(start, f32::mul_add)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn sums_fma(start: f32) -> f32 {
    plain_sums(start, f32::mul_add)
}

#[inline(always)]
fn plain_sums(start: f32, multiply_add: impl Fn(f32, f32, f32) -> f32) -> f32 {
    let mut sums = [start; SUMS];
    let (factor, term) = (black_box(0.999), black_box(0.001));
    for _ in 0..TERMS {
        for sum in &mut sums {
            *sum = multiply_add(*sum, factor, term);
        }
    }
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::multiply_add_rate;
    use crate::pool::WorkerPool;

    #[test]
    fn machines_do_more_than_a_hundred_million_operations() {
        let rate = multiply_add_rate(&WorkerPool::new(1));
        assert!(rate > 1e8 && rate.is_finite(), "{rate}");
    }
}
