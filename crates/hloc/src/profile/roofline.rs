//! What the machine can do at best.

use std::time::Duration;

use hloc_runtime::{WorkerPool, multiply_add_rate};
use hloc_tensor::{Array, ElementType};

use super::{ProfileOptions, Work};
use crate::{Compiler, Error};

/// Bytes touched by the probes: what fits in the first cache, in the second, in the last, and what fits in none.
const PROBED: [u64; 4] = [32 << 10, 1 << 20, 8 << 20, 128 << 20];

/// How fast this machine moves bytes and multiplies, as measured by small programs.
#[derive(Clone, Debug, PartialEq)]
pub struct Roofline {
    /// Bytes touched, and bytes read and written in a second by a program that does nothing else: the faster of
    /// the negation of `f32` numbers and of their sum, compiled by hloc.
    pub bandwidths: Vec<(u64, f64)>,
    /// Operations in a second of multiply-adds on vectors of `f32` in registers.
    pub operations_per_second: f64,
    /// Threads that the probes used.
    pub threads: usize,
}

impl Roofline {
    /// Measures with the threads and vectors that programs of `compiler` use; takes about 0.2 seconds.
    ///
    /// # Errors
    /// As [`Compiler::compile`] and [`Executable::run`](crate::Executable::run); only for want of memory.
    pub fn measure(compiler: &Compiler) -> Result<Roofline, Error> {
        let threads = compiler.current_options().threads;
        let mut bandwidths = Vec::new();
        for bytes in PROBED {
            let copied = elements(bytes / 2);
            let copy = format!(
                "ENTRY e {{ x = f32[{copied}] parameter(0) ROOT y = f32[{copied}] negate(x) }}"
            );
            let read = elements(bytes);
            let sum = format!(
                "add {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }}
                ENTRY e {{ x = f32[{read}] parameter(0) zero = f32[] constant(0)
                ROOT y = f32[] reduce(x, zero), dimensions={{0}}, to_apply=add }}"
            );
            let rates = [rate(compiler, &copy, copied)?, rate(compiler, &sum, read)?];
            bandwidths.push((bytes, rates[0].max(rates[1])));
        }
        Ok(Roofline {
            bandwidths,
            operations_per_second: multiply_add_rate(&WorkerPool::new(threads)),
            threads,
        })
    }

    /// Bytes in a second for something that touches so many bytes.
    pub fn bandwidth(&self, bytes: u64) -> f64 {
        let fitting = self.bandwidths.iter().find(|(size, _)| bytes <= *size);
        let (_, rate) = fitting
            .or(self.bandwidths.last())
            .copied()
            .unwrap_or((0, f64::INFINITY));
        rate
    }

    /// The least time that the machine needs for some work, and whether memory sets it (or arithmetic).
    pub fn least_time(&self, work: Work) -> (Duration, bool) {
        let memory = work.bytes() as f64 / self.bandwidth(work.bytes());
        let lanes = if work.is_double { 0.5 } else { 1.0 };
        let peak = self.operations_per_second * lanes;
        let arithmetic = work.operations.unwrap_or(0) as f64 / peak;
        let seconds = Duration::try_from_secs_f64(memory.max(arithmetic)).unwrap_or_default();
        (seconds, memory >= arithmetic)
    }
}

fn elements(bytes: u64) -> i64 {
    (bytes / 4).cast_signed()
}

/// Bytes in a second of the fastest run of a program of one kernel.
fn rate(compiler: &Compiler, text: &str, count: i64) -> Result<f64, Error> {
    let executable = compiler.compile(text)?;
    let x =
        Array::zeros(ElementType::F32, &[count]).map_err(hloc_runtime::RunError::OutOfMemory)?;
    let options = ProfileOptions {
        min_time: Duration::from_millis(10),
        ..ProfileOptions::default()
    };
    let (_, profile) = executable.profile(&[x], &options)?;
    let steps = profile.steps.iter();
    let (bytes, time) = steps.fold((0, Duration::ZERO), |(bytes, time), step| {
        (bytes + step.work.bytes(), time + step.timing.least)
    });
    Ok(bytes as f64 / time.as_secs_f64().max(1e-9))
}
