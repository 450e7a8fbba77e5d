//! What a `bitcast` does, said without layouts.
//!
//! A `bitcast` reads the memory of its operand as an array of another shape. Where elements lie in memory
//! is what layouts say, and nothing else in HLO depends on them. Said with other ops: the operand with its
//! dimensions in the order in which they lie in memory, reshaped to the sizes of the result in the order in
//! which those lie, with the dimensions then put where the result has them. Dimensions of size 1 lie
//! nowhere and take no part.

use hloc_ir::{ArrayShape, Dimensions, InstrId, Layout, Op, Shape};

use crate::rewriter::Rewriter;

/// Rebuilds the old `bitcast` number `id` from other ops; gives its value, or `None` if other ops cannot
/// say it.
pub(crate) fn spell_out(rebuilt: &mut Rewriter<'_>, id: InstrId) -> Option<InstrId> {
    let bitcast = &rebuilt.old().instructions[id];
    let operand = bitcast.operands.first().copied()?;
    let from = &rebuilt.old().instructions[operand].shape;
    let mut value = rebuilt.mapped(operand);
    let mut steps = if from.compatible(&bitcast.shape) && same_in_memory(from, &bitcast.shape) {
        Vec::new()
    } else {
        steps(from.as_array()?, bitcast.shape.as_array()?)?.done
    };
    let attributes = bitcast.attributes.as_ref();
    let ordered = attributes.is_some_and(|a| !a.control_predecessors.is_empty());
    let last = match steps.pop() {
        Some((last, _)) => last,
        None if ordered => Op::Copy {},
        None => {
            rebuilt.replace(id, value);
            return Some(value);
        }
    };
    for (op, shape) in steps {
        value = rebuilt.emit(id, op, &[value], Shape::Array(shape));
    }
    Some(rebuilt.put(id, last, &[value], bitcast.shape.clone()))
}

/// Whether layouts say of both that elements lie in the same order. Both have the same sizes.
pub(crate) fn same_in_memory(a: &Shape, b: &Shape) -> bool {
    let (a, b) = (a.leaves(), b.leaves());
    let layout = |shape: &Shape| {
        let layout = shape.as_array()?.layout.as_deref()?;
        (!layout.is_default()).then(|| layout.clone())
    };
    a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| layout(a) == layout(b))
}

/// Ops one after the other, each with the shape it makes.
struct Steps {
    element: ArrayShape,
    done: Vec<(Op, ArrayShape)>,
}

/// The ops that do what a `bitcast` between these shapes does, or `None` if there are none: tiled or
/// padded arrays, dynamic ones, and element types that `bitcast-convert` does not relate.
fn steps(from: &ArrayShape, to: &ArrayShape) -> Option<Steps> {
    let (from_order, to_order) = (memory_order(from)?, memory_order(to)?);
    let mut steps = Steps {
        element: ArrayShape::new(from.element_type, &from.dims),
        done: Vec::new(),
    };
    let (from_bits, to_bits) = (from.element_type.bits(), to.element_type.bits());
    if from.element_type != to.element_type {
        let related = from.element_type.is_complex() == to.element_type.is_complex()
            && from_bits
                .max(to_bits)
                .is_multiple_of(from_bits.min(to_bits).max(1));
        if !related {
            return None;
        }
        if from_bits == to_bits {
            steps.convert(ArrayShape::new(to.element_type, &from.dims));
        }
    }
    steps.reshape(without_ones(&from.dims));
    steps.transpose(&from_order);
    if from_bits > to_bits {
        let count = from.num_elements()?;
        steps.reshape(Dimensions::from_slice(&[count]));
        let split = [count, i64::from(from_bits / to_bits)];
        steps.convert(ArrayShape::new(to.element_type, &split));
    } else if from_bits < to_bits {
        let count = to.num_elements()?;
        let ratio = i64::from(to_bits / from_bits);
        steps.reshape(Dimensions::from_slice(&[count, ratio]));
        steps.convert(ArrayShape::new(to.element_type, &[count]));
    }
    let sizes = without_ones(&to.dims);
    steps.reshape(to_order.iter().map(|dim| sizes[*dim]).collect());
    let mut places = vec![0; to_order.len()];
    for (at, dim) in to_order.iter().enumerate() {
        places[*dim] = at;
    }
    steps.transpose(&places);
    steps.reshape(to.dims.clone());
    Some(steps)
}

impl Steps {
    /// What there is so far.
    fn shape(&self) -> &ArrayShape {
        self.done.last().map_or(&self.element, |(_, shape)| shape)
    }

    fn push(&mut self, op: Op, dims: &[i64]) {
        let shape = ArrayShape::new(self.shape().element_type, dims);
        self.done.push((op, shape));
    }

    fn convert(&mut self, shape: ArrayShape) {
        self.done.push((Op::BitcastConvert {}, shape));
    }

    /// Reshapes of reshapes are one.
    fn reshape(&mut self, dims: Dimensions) {
        if let Some((Op::Reshape { .. }, _)) = self.done.last() {
            self.done.pop();
        }
        if self.shape().dims != dims {
            let op = Op::Reshape {
                inferred_dimension: None,
            };
            self.push(op, &dims);
        }
    }

    /// Dimension `i` becomes what was `dimensions[i]`; transposes of transposes are one.
    fn transpose(&mut self, dimensions: &[usize]) {
        let mut dimensions: Vec<i64> = dimensions.iter().map(|dim| *dim as i64).collect();
        if let Some((Op::Transpose { dimensions: before }, _)) = self.done.last() {
            for dim in &mut dimensions {
                *dim = before[*dim as usize];
            }
            self.done.pop();
        }
        if !dimensions.is_sorted() {
            let sizes = &self.shape().dims;
            let dims: Dimensions = dimensions.iter().map(|dim| sizes[*dim as usize]).collect();
            self.push(Op::Transpose { dimensions }, &dims);
        }
    }
}

fn without_ones(dims: &[i64]) -> Dimensions {
    dims.iter().copied().filter(|size| *size != 1).collect()
}

/// The dimensions larger than 1, numbered among themselves, in the order in which they lie in memory, the
/// slowest first: `f32[1,3,4]{1,2,0}` gives 1, 0.
fn memory_order(shape: &ArrayShape) -> Option<Vec<usize>> {
    let dense = shape.layout.as_deref().is_none_or(Layout::is_dense);
    if !dense || shape.dynamic != 0 {
        return None;
    }
    let mut numbers = vec![None; shape.num_dims()];
    let larger = (0..shape.num_dims()).filter(|dim| shape.dims[*dim] != 1);
    for (number, dim) in larger.enumerate() {
        numbers[dim] = Some(number);
    }
    Some(match shape.layout.as_deref() {
        None => numbers.into_iter().flatten().collect(),
        Some(layout) => {
            let order = layout.minor_to_major.iter().rev();
            order.filter_map(|dim| numbers[*dim as usize]).collect()
        }
    })
}
