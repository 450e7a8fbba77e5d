//! Instructions that make, place, cut and join arrays.

use std::panic::Location;

use super::state::Place;
use super::{Builder, Value};
use crate::attr::{PaddingDim, SliceDim};
use crate::{ArrayShape, Dimensions, Op, Shape};

impl Builder {
    /// Puts dimensions of these sizes in front and repeats the array along them: `f32[3]` with `[2]`
    /// gives `f32[2,3]`.
    #[track_caller]
    pub fn broadcast(&self, x: Value, sizes: &[i64]) -> Value {
        let at = Location::caller();
        let shape = self.derived(x, |array| {
            let mut shape = array.with_element_type(array.element_type);
            shape.dims = sizes.iter().chain(&array.dims).copied().collect();
            shape.dynamic = array.dynamic.checked_shl(sizes.len() as u32).unwrap_or(0);
            shape
        });
        let num_dims = shape.as_array().map_or(0, ArrayShape::num_dims) as i64;
        let dimensions = (sizes.len() as i64..num_dims).collect();
        self.emit(Op::Broadcast { dimensions }, &[x], Some(shape), at)
    }

    /// Places operand dimension `i` at result dimension `dimensions[i]`, where its size is the result's
    /// or 1, and repeats along the rest: `f32[1,3]` to `[4,3]` by `[0,1]`.
    ///
    /// Sizes of 1 that grow cost a `reshape` in front of the `broadcast`; nothing is added for an array
    /// that already has the sizes.
    #[track_caller]
    pub fn broadcast_in_dim(&self, x: Value, sizes: &[i64], dimensions: &[i64]) -> Value {
        self.placed(x, sizes, dimensions, Location::caller())
    }

    pub(super) fn placed(&self, x: Value, sizes: &[i64], dimensions: &[i64], at: Place) -> Value {
        let Some(array) = self.array_shape(x) else {
            // What is wrong with the operand, the rule of `broadcast` says.
            let dimensions = dimensions.to_vec();
            return self.emit(Op::Broadcast { dimensions }, &[x], Some(Shape::Token), at);
        };
        if let Err(message) = check_placement(&array, sizes, dimensions) {
            return self.mistake(
                "builder-broadcast-in-dim",
                format!("`broadcast_in_dim` of {array} to {sizes:?} by {dimensions:?} {message}"),
                None,
                at,
            );
        }
        let grows = |dim: &usize| array.dims[*dim] != sizes[dimensions[*dim] as usize];
        let kept: Vec<usize> = (0..array.num_dims()).filter(|dim| !grows(dim)).collect();
        let reshaped = if kept.len() == array.num_dims() {
            x
        } else {
            let dims: Dimensions = kept.iter().map(|dim| array.dims[*dim]).collect();
            self.reshaped(x, &dims, at)
        };
        if kept.len() == sizes.len() {
            return reshaped;
        }
        let op = Op::Broadcast {
            dimensions: kept.iter().map(|dim| dimensions[*dim]).collect(),
        };
        let shape = Shape::array(array.element_type, sizes);
        self.emit(op, &[reshaped], Some(shape), at)
    }

    /// The same elements in order under other dimensions.
    #[track_caller]
    pub fn reshape(&self, x: Value, dims: &[i64]) -> Value {
        self.reshaped(x, dims, Location::caller())
    }

    pub(super) fn reshaped(&self, x: Value, dims: &[i64], at: Place) -> Value {
        let shape = self.derived(x, |array| ArrayShape::new(array.element_type, dims));
        let op = Op::Reshape {
            inferred_dimension: None,
        };
        self.emit(op, &[x], Some(shape), at)
    }

    /// Result dimension `i` is operand dimension `permutation[i]`.
    #[track_caller]
    pub fn transpose(&self, x: Value, permutation: &[i64]) -> Value {
        let op = Op::Transpose {
            dimensions: permutation.to_vec(),
        };
        self.emit(op, &[x], None, Location::caller())
    }

    /// The elements from `starts` up to, not including, `limits`, every `strides`-th.
    #[track_caller]
    pub fn slice(&self, x: Value, starts: &[i64], limits: &[i64], strides: &[i64]) -> Value {
        let at = Location::caller();
        if starts.len() != limits.len() || starts.len() != strides.len() {
            let message = format!(
                "`slice` has {} starts, {} limits and {} strides",
                starts.len(),
                limits.len(),
                strides.len()
            );
            let help = Some("each dimension has one of each");
            return self.mistake("builder-lengths", message, help, at);
        }
        let bounds = starts.iter().zip(limits).zip(strides);
        let slice = bounds
            .map(|((&start, &limit), &stride)| SliceDim {
                start,
                limit,
                stride,
            })
            .collect();
        self.emit(Op::Slice { slice }, &[x], None, at)
    }

    /// The elements `start` up to `limit` of one dimension, all of the others: `x[:, 0:1]` is
    /// `slice_in_dim(x, 0, 1, 1, 1)`.
    #[track_caller]
    pub fn slice_in_dim(
        &self,
        x: Value,
        start: i64,
        limit: i64,
        stride: i64,
        dimension: i64,
    ) -> Value {
        let at = Location::caller();
        let dims = self.dims(x).unwrap_or_default();
        let known = usize::try_from(dimension).is_ok_and(|dimension| dimension < dims.len());
        if !known && self.array_shape(x).is_some() {
            let message = format!(
                "`slice_in_dim` cuts dimension {dimension} of an array with {} dimensions",
                dims.len()
            );
            return self.mistake("builder-lengths", message, None, at);
        }
        let whole = |(dim, size): (usize, &i64)| {
            let cut = dim as i64 == dimension;
            SliceDim {
                start: if cut { start } else { 0 },
                limit: if cut { limit } else { *size },
                stride: if cut { stride } else { 1 },
            }
        };
        let slice = dims.iter().enumerate().map(whole).collect();
        self.emit(Op::Slice { slice }, &[x], None, at)
    }

    /// A block of `sizes` that begins where scalars say, moved into the array if it would leave it.
    #[track_caller]
    pub fn dynamic_slice(&self, x: Value, starts: &[Value], sizes: &[i64]) -> Value {
        let op = Op::DynamicSlice {
            dynamic_slice_sizes: sizes.to_vec(),
        };
        let operands = [&[x], starts].concat();
        self.emit(op, &operands, None, Location::caller())
    }

    /// `x` with a block replaced by `update`, where scalars say, moved into the array if it would leave
    /// it.
    #[track_caller]
    pub fn dynamic_update_slice(&self, x: Value, update: Value, starts: &[Value]) -> Value {
        let operands = [&[x, update], starts].concat();
        self.emit(
            Op::DynamicUpdateSlice {},
            &operands,
            None,
            Location::caller(),
        )
    }

    /// The order along `dimensions` turned around.
    #[track_caller]
    pub fn reverse(&self, x: Value, dimensions: &[i64]) -> Value {
        let op = Op::Reverse {
            dimensions: dimensions.to_vec(),
        };
        self.emit(op, &[x], None, Location::caller())
    }

    /// The scalar `padding_value` put before, behind and between the elements; negative counts take away.
    #[track_caller]
    pub fn pad(&self, x: Value, padding_value: Value, padding: &[PaddingDim]) -> Value {
        let op = Op::Pad {
            padding: padding.to_vec(),
        };
        self.emit(op, &[x, padding_value], None, Location::caller())
    }

    /// Arrays one behind the other along `dimension`.
    #[track_caller]
    pub fn concatenate(&self, parts: &[Value], dimension: i64) -> Value {
        let op = Op::Concatenate {
            dimensions: vec![dimension],
        };
        self.emit(op, parts, None, Location::caller())
    }

    /// An array that counts 0, 1, 2 ... along `iota_dimension`.
    #[track_caller]
    pub fn iota(&self, shape: Shape, iota_dimension: i64) -> Value {
        self.emit(
            Op::Iota { iota_dimension },
            &[],
            Some(shape),
            Location::caller(),
        )
    }

    /// A copy.
    #[track_caller]
    pub fn copy(&self, x: Value) -> Value {
        self.emit(Op::Copy {}, &[x], None, Location::caller())
    }

    /// Values joined in a tuple.
    #[track_caller]
    pub fn tuple(&self, elements: &[Value]) -> Value {
        self.emit(Op::Tuple {}, elements, None, Location::caller())
    }

    /// One element of a tuple.
    #[track_caller]
    pub fn get_tuple_element(&self, tuple: Value, index: i64) -> Value {
        self.emit(
            Op::GetTupleElement { index },
            &[tuple],
            None,
            Location::caller(),
        )
    }

    /// All elements of a tuple, each by a `get-tuple-element`; none if it is poisoned.
    #[track_caller]
    pub fn unpack(&self, tuple: Value) -> Vec<Value> {
        let at = Location::caller();
        let count = match self.shape(tuple) {
            Some(Shape::Tuple(elements)) => elements.len(),
            // The rule of `get-tuple-element` says what is wrong.
            Some(_) => 1,
            None => 0,
        };
        (0..count as i64)
            .map(|index| self.emit(Op::GetTupleElement { index }, &[tuple], None, at))
            .collect()
    }

    /// The size of one dimension at run time, as `s32`.
    #[track_caller]
    pub fn get_dimension_size(&self, x: Value, dimension: i64) -> Value {
        let op = Op::GetDimensionSize {
            dimensions: vec![dimension],
        };
        self.emit(op, &[x], None, Location::caller())
    }

    /// The operands unchanged; nothing is moved across.
    #[track_caller]
    pub fn opt_barrier(&self, x: Value) -> Value {
        self.emit(Op::OptBarrier {}, &[x], None, Location::caller())
    }
}

/// The rules of `broadcast_in_dim`; the error continues a sentence.
fn check_placement(array: &ArrayShape, sizes: &[i64], dimensions: &[i64]) -> Result<(), String> {
    if dimensions.len() != array.num_dims() {
        return Err(format!(
            "names {} result dimensions for {} operand dimensions",
            dimensions.len(),
            array.num_dims()
        ));
    }
    if array.dynamic != 0 {
        return Err("has a dynamic operand dimension but static sizes".to_owned());
    }
    let mut last = -1;
    for (dim, &at) in dimensions.iter().enumerate() {
        let target = usize::try_from(at).ok().and_then(|at| sizes.get(at));
        let Some(&target) = target else {
            return Err(format!(
                "places operand dimension {dim} at {at}, but the result has {} dimensions",
                sizes.len()
            ));
        };
        if at <= last {
            return Err(format!(
                "places operand dimension {dim} at {at}, not behind {last}: transpose the operand first"
            ));
        }
        last = at;
        let size = array.dims[dim];
        if size != target && size != 1 {
            return Err(format!(
                "places operand dimension {dim} of size {size} at result dimension {at} of size {target}: only a size of 1 grows"
            ));
        }
    }
    Ok(())
}
