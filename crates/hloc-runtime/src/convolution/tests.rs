//! Convolutions of integers in floats, against sums over all places.

use hloc_ir::attr::{DimLabels, Window, WindowDim};
use hloc_ir::{ArrayShape, ElementType};
use hloc_loops::routine::{Convolution, Routine as Asked, RoutineCall};

use super::depthwise::Depthwise;
use super::direct::Direct;
use super::geometry::Geometry;
use super::{Products, plan};
use crate::pool::WorkerPool;
use crate::routine::Routine;

/// Dimension numbers for two spatial dimensions: features last, or before the spatial ones.
fn labels(features_last: bool) -> DimLabels {
    let (feature, spatial) = if features_last {
        (3, [1, 2])
    } else {
        (1, [2, 3])
    };
    let (output, input, kernel) = if features_last {
        (3, 2, [0, 1])
    } else {
        (0, 1, [2, 3])
    };
    DimLabels {
        input_batch: 0,
        input_feature: feature,
        input_spatial: spatial.to_vec(),
        kernel_output_feature: output,
        kernel_input_feature: input,
        kernel_spatial: kernel.to_vec(),
        output_batch: 0,
        output_feature: feature,
        output_spatial: spatial.to_vec(),
        unused: Default::default(),
    }
}

fn place(dims: &[i64], entries: &[(i64, i64)]) -> usize {
    let strides = hloc_tensor::row_major_strides(dims);
    let offset = entries.iter().map(|(dim, at)| strides[*dim as usize] * at);
    offset.sum::<i64>() as usize
}

/// Dimensions in the order of the labels: (batch, feature, rows, columns).
fn dims(order: [i64; 4], sizes: [i64; 4]) -> Vec<i64> {
    let mut dims = vec![0; 4];
    for (dim, size) in order.into_iter().zip(sizes) {
        dims[dim as usize] = size;
    }
    dims
}

/// A convolution with its sizes.
struct Case {
    asked: Convolution,
    /// Rows and columns of the input.
    size: [i64; 2],
    /// Input features of one group.
    features: i64,
    /// Output features.
    outputs: i64,
    x_dims: Vec<i64>,
    k_dims: Vec<i64>,
    o_dims: Vec<i64>,
}

impl Case {
    fn new(features_last: bool, window: [WindowDim; 2], groups: [i64; 2], sizes: [i64; 5]) -> Case {
        let labels = labels(features_last);
        let [batch, features, outputs, rows, columns] = sizes;
        let [feature_groups, batch_groups] = groups;
        let padded = |size: i64, dim: &WindowDim| {
            let size = (size - 1) * dim.base_dilation + 1 + dim.pad_low + dim.pad_high;
            (size - (dim.size - 1) * dim.window_dilation - 1) / dim.stride + 1
        };
        let order = |batch, feature, spatial: &[i64]| [batch, feature, spatial[0], spatial[1]];
        let x_order = order(0, labels.input_feature, &labels.input_spatial);
        let k_order = order(
            labels.kernel_output_feature,
            labels.kernel_input_feature,
            &labels.kernel_spatial,
        );
        let o_order = order(0, labels.output_feature, &labels.output_spatial);
        let out = [padded(rows, &window[0]), padded(columns, &window[1])];
        Case {
            x_dims: dims(x_order, [batch, features * feature_groups, rows, columns]),
            k_dims: dims(k_order, [outputs, features, window[0].size, window[1].size]),
            o_dims: dims(o_order, [batch / batch_groups, outputs, out[0], out[1]]),
            asked: Convolution {
                window: Window(window.to_vec()),
                labels,
                feature_groups,
                batch_groups,
            },
            size: [rows, columns],
            features,
            outputs,
        }
    }

    fn call(&self) -> RoutineCall {
        let shape = |dims: &[i64]| ArrayShape::new(ElementType::F32, dims);
        RoutineCall {
            routine: Asked::Convolution(Box::new(self.asked.clone())),
            inputs: vec![shape(&self.x_dims), shape(&self.k_dims)],
            outputs: vec![shape(&self.o_dims)],
        }
    }

    /// Every way that takes the shapes; the first is what a program gets.
    fn ways(&self) -> Vec<Box<dyn Routine>> {
        let call = self.call();
        let geometry = Geometry::new(&call, &self.asked).expect("sound");
        let mut ways = vec![plan(&call, &self.asked).expect("sound")];
        if let Some(way) = Depthwise::<f32>::new(&geometry) {
            ways.push(Box::new(way));
        }
        if let Some(way) = Direct::new(&geometry) {
            ways.push(Box::new(way));
        }
        ways.push(Box::new(Products::<f32>::new(geometry)));
        ways
    }

    fn run(&self, way: &dyn Routine, x: &[f32], k: &[f32], threads: usize) -> Vec<f32> {
        let mut result = vec![f32::NAN; self.o_dims.iter().product::<i64>() as usize];
        way.run(
            &[bytemuck::cast_slice(x), bytemuck::cast_slice(k)],
            &mut [bytemuck::cast_slice_mut(&mut result)],
            &WorkerPool::new(threads),
        );
        result
    }

    /// One output element: a sum over the window and the features.
    fn sum(&self, [n, o, r, c]: [i64; 4], x: &[f32], k: &[f32]) -> f32 {
        let (labels, window) = (&self.asked.labels, &self.asked.window.0);
        let group = o / (self.outputs / (self.asked.feature_groups * self.asked.batch_groups));
        let (first, n_in) = if self.asked.feature_groups > 1 {
            (group * self.features, n)
        } else {
            (0, group * self.o_dims[0] + n)
        };
        let mut sum = 0.0;
        for (p, q) in (0..window[0].size).flat_map(|p| (0..window[1].size).map(move |q| (p, q))) {
            let row = input_at(&window[0], self.size[0], r, p);
            let column = input_at(&window[1], self.size[1], c, q);
            let Some((row, column)) = row.zip(column) else {
                continue;
            };
            for i in 0..self.features {
                let entries = [
                    (0, n_in),
                    (labels.input_feature, first + i),
                    (labels.input_spatial[0], row),
                    (labels.input_spatial[1], column),
                ];
                let factors = [
                    (labels.kernel_output_feature, o),
                    (labels.kernel_input_feature, i),
                    (labels.kernel_spatial[0], p),
                    (labels.kernel_spatial[1], q),
                ];
                sum += x[place(&self.x_dims, &entries)] * k[place(&self.k_dims, &factors)];
            }
        }
        sum
    }
}

fn input_at(dim: &WindowDim, size: i64, place: i64, element: i64) -> Option<i64> {
    let element = if dim.reversal {
        dim.size - 1 - element
    } else {
        element
    };
    let at = place * dim.stride + element * dim.window_dilation - dim.pad_low;
    let is_element = at >= 0 && at % dim.base_dilation == 0 && at / dim.base_dilation < size;
    is_element.then_some(at / dim.base_dilation)
}

fn numbers(dims: &[i64], factor: i64) -> Vec<f32> {
    let count = dims.iter().product::<i64>();
    (0..count).map(|at| (at * factor % 11 - 5) as f32).collect()
}

fn check(features_last: bool, window: [WindowDim; 2], groups: [i64; 2], sizes: [i64; 5]) {
    let case = Case::new(features_last, window, groups, sizes);
    let (x, k) = (numbers(&case.x_dims, 7), numbers(&case.k_dims, 3));
    let labels = &case.asked.labels;
    let order = [
        0,
        labels.output_feature,
        labels.output_spatial[0],
        labels.output_spatial[1],
    ];
    let count = case.o_dims.iter().product::<i64>() as usize;
    let want: Vec<f32> = (0..count)
        .map(|position| {
            let at = hloc_tensor::index_at(&case.o_dims, position);
            case.sum(order.map(|dim| at[dim as usize]), &x, &k)
        })
        .collect();
    for way in case.ways() {
        let got = case.run(&*way, &x, &k, 2);
        assert_eq!(got, want, "{sizes:?} {groups:?} {window:?} {way:?}");
    }
}

const PLAIN: WindowDim = WindowDim {
    size: 3,
    stride: 1,
    pad_low: 0,
    pad_high: 0,
    base_dilation: 1,
    window_dilation: 1,
    reversal: false,
};

const ODD: WindowDim = WindowDim {
    size: 2,
    stride: 2,
    pad_low: 2,
    pad_high: -1,
    base_dilation: 2,
    window_dilation: 2,
    reversal: true,
};

/// Padding on both sides, as most programs have it.
const SAME: WindowDim = WindowDim {
    pad_low: 1,
    pad_high: 1,
    ..PLAIN
};

#[test]
fn windows_groups_and_layouts() {
    for features_last in [true, false] {
        for window in [[PLAIN, PLAIN], [ODD, PLAIN], [PLAIN, ODD], [ODD, ODD]] {
            for groups in [[1, 1], [2, 1], [1, 2], [6, 1]] {
                check(features_last, window, groups, [4, 2, 6, 6, 7]);
            }
        }
        check(features_last, [PLAIN, PLAIN], [1, 1], [2, 5, 6, 30, 40]);
    }
}

#[test]
fn tiles_and_lanes_in_part() {
    let strided = WindowDim { stride: 3, ..SAME };
    for features_last in [true, false] {
        for columns in [1, 4, 13, 15, 31, 32, 33, 47, 65] {
            check(features_last, [SAME, SAME], [1, 1], [1, 3, 16, 3, columns]);
            check(
                features_last,
                [SAME, strided],
                [1, 1],
                [1, 2, 4, 3, columns],
            );
            check(features_last, [SAME, SAME], [5, 1], [2, 1, 10, 3, columns]);
        }
        for features in [4, 13, 14, 15, 29, 31, 32, 33, 66] {
            check(features_last, [SAME, SAME], [1, 1], [1, 4, features, 2, 17]);
        }
    }
}

#[test]
fn windows_of_one_element() {
    let one = WindowDim { size: 1, ..PLAIN };
    let apart = WindowDim { stride: 2, ..one };
    for features_last in [true, false] {
        for window in [[one, one], [one, apart], [apart, one], [one, PLAIN]] {
            check(features_last, window, [1, 1], [2, 9, 18, 7, 9]);
            check(features_last, window, [3, 1], [2, 5, 12, 7, 9]);
        }
        check(features_last, [PLAIN, PLAIN], [4, 1], [2, 1, 4, 9, 150]);
    }
}

#[test]
fn no_number_of_threads_changes_a_bit() {
    for (features_last, groups, sizes) in [
        (true, [1, 1], [3, 24, 40, 40, 41]),
        (false, [1, 1], [3, 24, 40, 40, 41]),
        (false, [40, 1], [3, 1, 40, 60, 61]),
        (true, [40, 1], [3, 1, 40, 60, 61]),
    ] {
        let case = Case::new(features_last, [SAME, SAME], groups, sizes);
        let fractions = |values: Vec<f32>| -> Vec<f32> {
            let numbered = values.into_iter().enumerate();
            numbered
                .map(|(at, x)| x + 1.0 / (at % 1013 + 3) as f32)
                .collect()
        };
        let x = fractions(numbers(&case.x_dims, 7));
        let k = fractions(numbers(&case.k_dims, 3));
        for way in case.ways() {
            let one = case.run(&*way, &x, &k, 1);
            assert!(one == case.run(&*way, &x, &k, 3), "{way:?}");
        }
    }
}

#[test]
fn points_are_split_among_threads() {
    // One line of many places, more work than one task.
    let one = WindowDim { size: 1, ..PLAIN };
    check(false, [one, one], [1, 1], [1, 40, 33, 60, 61]);
    // Products of whole matrices.
    check(false, [one, one], [1, 1], [2, 40, 33, 60, 61]);
    check(true, [one, one], [1, 1], [2, 40, 33, 60, 61]);
}
