//! `convolution` in full generality: strides, padding, dilations, reversal, feature and batch groups.

use hloc_ir::attr::{DimLabels, WindowDim};
use hloc_ir::{ArrayShape, Op};
use hloc_tensor::{Array, IndexIter, row_major_strides};

use super::dot::{IntoType, add_complex_product, complex, float, integer};
use super::window::base_index;
use super::{Operands, dimension, dimensions, ensure, zeros};
use crate::EvalError;
use crate::scalar::{Lane, Value};

/// One of the three arrays, its dimensions by role.
struct Roles {
    batch: usize,
    feature: usize,
    spatial: Vec<usize>,
    dims: Vec<i64>,
    strides: Vec<i64>,
}

impl Roles {
    fn new(dims: &[i64], batch: i64, feature: i64, spatial: &[i64]) -> Result<Roles, EvalError> {
        let roles = Roles {
            batch: dimension(batch, dims.len())?,
            feature: dimension(feature, dims.len())?,
            spatial: dimensions(spatial, dims.len())?,
            dims: dims.to_vec(),
            strides: row_major_strides(dims),
        };
        ensure(
            spatial.len() + 2 == dims.len(),
            "`dim_labels` does not fit an operand",
        )?;
        Ok(roles)
    }

    fn position(&self, batch: i64, feature: i64, spatial: &[i64]) -> i64 {
        let places = spatial.iter().zip(&self.spatial);
        let spatial: i64 = places.map(|(index, at)| index * self.strides[*at]).sum();
        batch * self.strides[self.batch] + feature * self.strides[self.feature] + spatial
    }
}

struct Convolution {
    window: Vec<WindowDim>,
    input: Roles,
    /// `batch` is the input feature and `feature` the output feature.
    kernel: Roles,
    output: Roles,
    feature_groups: i64,
    batch_groups: i64,
}

/// The convolution of an input with a kernel; accumulates as `dot` does.
pub(super) fn convolution(
    op: &Op,
    operands: &Operands,
    shape: &ArrayShape,
) -> Result<Array, EvalError> {
    let Op::Convolution {
        window,
        dim_labels: labels,
        feature_group_count,
        batch_group_count,
        ..
    } = op
    else {
        return Err(EvalError::unsupported(op, None));
    };
    let (x, k) = (operands.array(0)?, operands.array(1)?);
    let window = window
        .as_ref()
        .map_or_else(Vec::new, |window| window.0.clone());
    let groups = (feature_group_count.0.max(1), batch_group_count.0.max(1));
    let convolution = Convolution::new(window, labels, [x.dims(), k.dims(), &shape.dims], groups)?;
    let types = [x.element_type(), k.element_type(), shape.element_type];
    let mut result = zeros(shape.element_type, &shape.dims)?;
    if types.iter().any(|ty| ty.is_complex()) {
        convolution.write((x, k), &mut result, complex, add_complex_product)?;
    } else if types.iter().any(|ty| ty.is_float()) {
        convolution.write((x, k), &mut result, float, |sum: f64, x, y| sum + x * y)?;
    } else {
        convolution.write((x, k), &mut result, integer, |sum: i128, x, y| {
            sum.wrapping_add(x.wrapping_mul(y))
        })?;
    }
    Ok(result)
}

impl Convolution {
    fn new(
        window: Vec<WindowDim>,
        labels: &DimLabels,
        [input, kernel, output]: [&[i64]; 3],
        (feature_groups, batch_groups): (i64, i64),
    ) -> Result<Convolution, EvalError> {
        let convolution = Convolution {
            input: Roles::new(
                input,
                labels.input_batch,
                labels.input_feature,
                &labels.input_spatial,
            )?,
            kernel: Roles::new(
                kernel,
                labels.kernel_input_feature,
                labels.kernel_output_feature,
                &labels.kernel_spatial,
            )?,
            output: Roles::new(
                output,
                labels.output_batch,
                labels.output_feature,
                &labels.output_spatial,
            )?,
            window,
            feature_groups,
            batch_groups,
        };
        let count = convolution.window.len();
        let fits =
            input.len() == count + 2 && kernel.len() == count + 2 && output.len() == count + 2;
        ensure(fits, "`window` does not fit the operands")?;
        Ok(convolution)
    }

    /// out[n, o, p] = Σ over q and i of x[n', base(p, q), i'] · k[q', i, o].
    fn write<T: Lane + IntoType>(
        &self,
        (x, k): (&Array, &Array),
        result: &mut Array,
        of: fn(Value) -> T,
        add_product: impl Fn(T, T, T) -> T,
    ) -> Result<(), EvalError> {
        let decode = |array: &Array| -> Vec<T> {
            (0..array.num_elements())
                .map(|at| of(Value::at(array, at)))
                .collect()
        };
        let (xs, ks) = (decode(x), decode(k));
        let to = result.element_type();
        let mut outputs = IndexIter::new(&self.output.dims);
        for bytes in result.bytes_mut().chunks_exact_mut(to.size()) {
            let Some(output) = outputs.next_index() else {
                break;
            };
            let mut sum = of(Value::Int(0));
            self.for_each_pair(output, |x, k| {
                if let (Some(x), Some(k)) = (xs.get(x as usize), ks.get(k as usize)) {
                    sum = add_product(sum, *x, *k);
                }
            });
            sum.into_type(to).write(to, bytes);
        }
        Ok(())
    }

    /// Calls `visit` with the positions of input and kernel elements whose product goes into `output`.
    fn for_each_pair(&self, output: &[i64], mut visit: impl FnMut(i64, i64)) {
        let size = |roles: &Roles, at: usize| roles.dims[at];
        let (n, o) = (output[self.output.batch], output[self.output.feature]);
        let outputs = size(&self.output, self.output.feature);
        let group = |groups: i64| o / (outputs / groups).max(1);
        let features = size(&self.kernel, self.kernel.batch);
        let first_feature = if self.feature_groups > 1 {
            group(self.feature_groups) * features
        } else {
            0
        };
        let batches = size(&self.output, self.output.batch);
        let batch = if self.batch_groups > 1 {
            group(self.batch_groups) * batches + n
        } else {
            n
        };
        let taps: Vec<i64> = self.window.iter().map(|dim| dim.size).collect();
        let mut taps = IndexIter::new(if features == 0 { &[0] } else { &taps });
        while let Some(tap) = taps.next_index() {
            let Some((x_place, k_place)) = self.places(output, tap) else {
                continue;
            };
            for feature in 0..features {
                visit(
                    self.input
                        .position(batch, first_feature + feature, &x_place),
                    self.kernel.position(feature, o, &k_place),
                );
            }
        }
    }

    /// Spatial indices of input and kernel for one tap, `None` in padding or in a hole.
    fn places(&self, output: &[i64], tap: &[i64]) -> Option<(Vec<i64>, Vec<i64>)> {
        let (mut x_place, mut k_place) = (Vec::new(), Vec::new());
        for (at, dim) in self.window.iter().enumerate() {
            let size = self.input.dims[self.input.spatial[at]];
            let window = output[self.output.spatial[at]];
            x_place.push(base_index(dim, size, window, tap[at])?);
            k_place.push(if dim.reversal {
                dim.size - 1 - tap[at]
            } else {
                tap[at]
            });
        }
        Some((x_place, k_place))
    }
}
