//! Transforms with plain results.

use hloc_ir::words::FftType;
use hloc_ir::{ArrayShape, ElementType};
use hloc_loops::routine::{Routine as Asked, RoutineCall};
use rustfft::num_complex::Complex;

use super::plan;
use crate::pool::WorkerPool;

fn run<X: bytemuck::Pod, R: bytemuck::Pod>(
    fft_type: FftType,
    dimensions: usize,
    x: (ElementType, &[i64], &[X]),
    result: (ElementType, &[i64]),
) -> Vec<R> {
    let call = RoutineCall {
        routine: Asked::Fft {
            fft_type,
            dimensions,
        },
        inputs: vec![ArrayShape::new(x.0, x.1)],
        outputs: vec![ArrayShape::new(result.0, result.1)],
    };
    let routine = plan(&call, fft_type, dimensions).expect("sound");
    let count = result.1.iter().product::<i64>() as usize;
    let mut values = vec![R::zeroed(); count];
    routine.run(
        &[bytemuck::cast_slice(x.2)],
        &mut [bytemuck::cast_slice_mut(&mut values)],
        &WorkerPool::new(1),
    );
    values
}

#[test]
fn a_cosine_has_two_lines() {
    let x = [1.0f64, 0.0, -1.0, 0.0];
    let half: Vec<Complex<f64>> = run(
        FftType::Rfft,
        1,
        (ElementType::F64, &[4], &x),
        (ElementType::C128, &[3]),
    );
    assert_eq!(half[1], Complex::new(2.0, 0.0));
    assert_eq!((half[0].re, half[2].re), (0.0, 0.0));
    let back: Vec<f64> = run(
        FftType::Irfft,
        1,
        (ElementType::C128, &[3], &half),
        (ElementType::F64, &[4]),
    );
    assert_eq!(back, x);
}

#[test]
fn there_and_back_in_three_dimensions() {
    let dims = [2i64, 3, 5];
    let x: Vec<Complex<f32>> = (0..30)
        .map(|at| Complex::new(at as f32, (at * at % 7) as f32))
        .collect();
    let shape = (ElementType::C64, &dims[..]);
    let there: Vec<Complex<f32>> = run(FftType::Fft, 3, (shape.0, shape.1, &x), shape);
    let total: Complex<f32> = x.iter().sum();
    assert!((there[0] - total).norm() < 1e-3);
    let back: Vec<Complex<f32>> = run(FftType::Ifft, 3, (shape.0, shape.1, &there), shape);
    for (x, back) in x.iter().zip(&back) {
        assert!((x - back).norm() < 1e-4);
    }
}
