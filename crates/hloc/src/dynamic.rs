//! Programs with dynamic sizes: the caller's arrays have their real sizes, the program's their bounds.
//!
//! The pass `legalize-dynamic` adds a scalar parameter for each dynamic dimension of a parameter and a
//! scalar result for each of a result; a module attribute says which.

use hloc_ir::{ArrayShape, ElementType, FrontendValue, Module};
use hloc_passes::DYNAMIC_ATTRIBUTE;
use hloc_tensor::{Array, IndexIter, TensorError, row_major_strides};

/// Which arrays of a program have sizes beside them: numbers of arrays and of dimensions, in the order of
/// the sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DynamicSizes {
    inputs: Vec<(usize, usize)>,
    outputs: Vec<(usize, usize)>,
}

impl DynamicSizes {
    /// What the module says, if that fits arrays of these shapes; nothing otherwise.
    pub(crate) fn of(
        module: &Module,
        inputs: &[ArrayShape],
        outputs: &[ArrayShape],
    ) -> DynamicSizes {
        let attributes = &module.attributes.frontend_attributes;
        let Some(FrontendValue::String(text)) = attributes.get(DYNAMIC_ATTRIBUTE) else {
            return DynamicSizes::default();
        };
        parse(text)
            .filter(|sizes| fit(&sizes.inputs, inputs) && fit(&sizes.outputs, outputs))
            .unwrap_or_default()
    }

    /// Whether no size is dynamic.
    pub(crate) fn is_empty(&self) -> bool {
        self.inputs.is_empty() && self.outputs.is_empty()
    }

    /// The arrays that the caller gives, of all that the program takes, with their dynamic dimensions.
    pub(crate) fn parameters(&self, all: Vec<ArrayShape>) -> Vec<ArrayShape> {
        marked(all, &self.inputs)
    }

    /// The arrays that the caller gets, of all that the program gives, with their dynamic dimensions.
    pub(crate) fn results(&self, all: Vec<ArrayShape>) -> Vec<ArrayShape> {
        marked(all, &self.outputs)
    }

    /// The program's inputs: the caller's at their bounds, then the sizes.
    ///
    /// An array that does not fit stays as it is, and is refused by whoever checks it.
    pub(crate) fn extended(
        &self,
        inputs: &[Array],
        bounds: &[ArrayShape],
    ) -> Result<Vec<Array>, TensorError> {
        let mut extended = Vec::with_capacity(inputs.len() + self.inputs.len());
        for (number, (array, bound)) in inputs.iter().zip(bounds).enumerate() {
            let fits = array.num_dims() == bound.num_dims()
                && (0..bound.num_dims()).all(|dim| {
                    let (size, most) = (array.dims()[dim], bound.dims[dim]);
                    size == most || (size < most && self.inputs.contains(&(number, dim)))
                });
            extended.push(if fits {
                resized(array, &bound.dims)?
            } else {
                array.clone()
            });
        }
        for (number, dim) in &self.inputs {
            let size = inputs.get(*number).and_then(|array| array.dims().get(*dim));
            let size = size.and_then(|size| i32::try_from(*size).ok());
            extended.push(Array::scalar(size.unwrap_or(0)));
        }
        Ok(extended)
    }

    /// The caller's results: the program's without the sizes, cut to these.
    pub(crate) fn cut(&self, mut results: Vec<Array>) -> Result<Vec<Array>, TensorError> {
        let sizes = results.split_off(results.len().saturating_sub(self.outputs.len()));
        let mut dims: Vec<Vec<i64>> = results.iter().map(|array| array.dims().to_vec()).collect();
        for ((number, dim), size) in self.outputs.iter().zip(&sizes) {
            let size = size
                .as_slice::<i32>()
                .and_then(|size| size.first().copied());
            let place = dims.get_mut(*number).and_then(|dims| dims.get_mut(*dim));
            if let (Some(size), Some(place)) = (size, place) {
                *place = i64::from(size).clamp(0, *place);
            }
        }
        let resize = |(array, dims): (&Array, &Vec<i64>)| resized(array, dims);
        results.iter().zip(&dims).map(resize).collect()
    }
}

fn parse(text: &str) -> Option<DynamicSizes> {
    let rest = text.strip_prefix("in")?;
    let (inputs, outputs) = rest.split_once("out")?;
    let list = |text: &str| -> Option<Vec<(usize, usize)>> {
        let pair = |word: &str| {
            let (number, dim) = word.split_once(':')?;
            Some((number.parse().ok()?, dim.parse().ok()?))
        };
        text.split_whitespace().map(pair).collect()
    };
    Some(DynamicSizes {
        inputs: list(inputs)?,
        outputs: list(outputs)?,
    })
}

/// Whether the last arrays are the sizes and the first have these dimensions.
fn fit(sizes: &[(usize, usize)], arrays: &[ArrayShape]) -> bool {
    let Some(count) = arrays.len().checked_sub(sizes.len()) else {
        return false;
    };
    let (given, added) = arrays.split_at(count);
    let is_size = |shape: &ArrayShape| shape.is_scalar() && shape.element_type == ElementType::S32;
    let exists = |(number, dim): &(usize, usize)| {
        given
            .get(*number)
            .is_some_and(|shape| *dim < shape.num_dims())
    };
    added.iter().all(is_size) && sizes.iter().all(exists)
}

fn marked(mut all: Vec<ArrayShape>, sizes: &[(usize, usize)]) -> Vec<ArrayShape> {
    all.truncate(all.len().saturating_sub(sizes.len()));
    for (number, dim) in sizes {
        if let Some(shape) = all.get_mut(*number) {
            shape.dynamic |= 1u64.checked_shl(*dim as u32).unwrap_or(0);
        }
    }
    all
}

/// The array with other sizes: cut at the end, or longer by zeros.
fn resized(array: &Array, dims: &[i64]) -> Result<Array, TensorError> {
    if array.dims() == dims {
        return Ok(array.clone());
    }
    let mut result = Array::zeros(array.element_type(), dims)?;
    let common: Vec<i64> = array
        .dims()
        .iter()
        .zip(dims)
        .map(|(a, b)| *a.min(b))
        .collect();
    let Some((inner, outer)) = common.split_last() else {
        return Ok(result);
    };
    let size = array.element_type().size();
    let bytes = usize::try_from(*inner).unwrap_or(0) * size;
    let (from, to) = (row_major_strides(array.dims()), row_major_strides(dims));
    let at = |index: &[i64], strides: &[i64]| {
        let offset: i64 = index
            .iter()
            .zip(strides)
            .map(|(at, stride)| at * stride)
            .sum();
        usize::try_from(offset).unwrap_or(0) * size
    };
    let (source, target) = (array.bytes(), result.bytes_mut());
    let mut rows = IndexIter::new(outer);
    while let Some(index) = rows.next_index() {
        let (from, to) = (at(index, &from), at(index, &to));
        if let (Some(source), Some(target)) = (
            source.get(from..from + bytes),
            target.get_mut(to..to + bytes),
        ) {
            target.copy_from_slice(source);
        }
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use hloc_tensor::Array;

    use super::{DynamicSizes, parse, resized};

    #[test]
    fn attributes_are_read() {
        let sizes = parse("in 0:1 2:0 out 1:0").expect("it is one");
        assert_eq!(
            (sizes.inputs, sizes.outputs),
            (vec![(0, 1), (2, 0)], vec![(1, 0)])
        );
        assert_eq!(parse("in out"), Some(DynamicSizes::default()));
        assert_eq!(parse("in x out"), None);
    }

    #[test]
    fn arrays_are_cut_and_grown() {
        let array = Array::from_slice(&[2, 3], &[1, 2, 3, 4, 5, 6]).expect("6 elements");
        let cut = resized(&array, &[2, 2]).expect("it is small");
        assert_eq!(cut.as_slice::<i32>(), Some(&[1, 2, 4, 5][..]));
        let grown = resized(&cut, &[3, 3]).expect("it is small");
        assert_eq!(
            grown.as_slice::<i32>(),
            Some(&[1, 2, 0, 4, 5, 0, 0, 0, 0][..])
        );
    }
}
