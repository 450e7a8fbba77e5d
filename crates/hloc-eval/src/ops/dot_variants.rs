//! `ragged-dot` and `scaled-dot`.

use hloc_ir::{ArrayShape, ElementType, Op};
use hloc_tensor::{Array, IndexIter, row_major_strides};

use super::dot::{IntoType, add_complex_product, complex, float, integer};
use super::dynamic::integer as index;
use super::{Operands, ensure, zeros};
use crate::EvalError;
use crate::scalar::{C128, Lane, Value};

/// Dimension numbers as the op lists them.
struct Numbers<'a> {
    lhs_batch: &'a [i64],
    lhs_contracting: &'a [i64],
    rhs_batch: &'a [i64],
    rhs_contracting: &'a [i64],
}

impl Numbers<'_> {
    /// Free dimensions: all others.
    fn free(x: &Array, batch: &[i64], contracting: &[i64]) -> Vec<usize> {
        let dims = 0..x.num_dims();
        dims.filter(|at| !batch.contains(&(*at as i64)) && !contracting.contains(&(*at as i64)))
            .collect()
    }
}

/// The index into an array that has these numbers at these dimensions, the rest 0.
fn place(x: &Array, parts: &[(usize, i64)]) -> usize {
    let strides = row_major_strides(x.dims());
    let offsets = parts.iter().map(|(dim, at)| strides[*dim] * at);
    offsets.sum::<i64>() as usize
}

fn number(dim: i64) -> usize {
    usize::try_from(dim).unwrap_or(0)
}

/// A `ragged-dot` with its operands.
struct Ragged<'a> {
    numbers: Numbers<'a>,
    arrays: [&'a Array; 3],
    ragged: i64,
    group: Option<usize>,
    /// Free dimensions of both sides, the groups not among them.
    left: Vec<usize>,
    right: Vec<usize>,
}

/// Each element of the result by itself: the sum over the contracting indices that belong to it.
pub(super) fn ragged(op: &Op, operands: &Operands, shape: &ArrayShape) -> Result<Array, EvalError> {
    let Op::RaggedDot {
        lhs_batch_dims,
        lhs_contracting_dims,
        rhs_batch_dims,
        rhs_contracting_dims,
        lhs_ragged_dims,
        rhs_group_dims,
        ..
    } = op
    else {
        return Err(EvalError::unsupported(op, None));
    };
    let numbers = Numbers {
        lhs_batch: lhs_batch_dims,
        lhs_contracting: lhs_contracting_dims,
        rhs_batch: rhs_batch_dims,
        rhs_contracting: rhs_contracting_dims,
    };
    let [ragged] = lhs_ragged_dims[..] else {
        return Err(EvalError::argument("there is one ragged dimension"));
    };
    let arrays = [operands.array(0)?, operands.array(1)?, operands.array(2)?];
    let group = rhs_group_dims.first().map(|dim| number(*dim));
    let left = Numbers::free(arrays[0], numbers.lhs_batch, numbers.lhs_contracting);
    let mut right = Numbers::free(arrays[1], numbers.rhs_batch, numbers.rhs_contracting);
    right.retain(|dim| Some(*dim) != group);
    let dot = Ragged {
        numbers,
        arrays,
        ragged,
        group,
        left,
        right,
    };
    let to = shape.element_type;
    let mut result = zeros(to, &shape.dims)?;
    let mut indices = IndexIter::new(&shape.dims);
    let mut targets = result.bytes_mut().chunks_exact_mut(to.size());
    while let (Some(at), Some(target)) = (indices.next_index(), targets.next()) {
        dot.element(at, to)?.write(to, target);
    }
    Ok(result)
}

/// Dimension numbers with an index each.
fn at(dims: &[i64], indices: &[i64]) -> Vec<(usize, i64)> {
    let dims = dims.iter().map(|dim| number(*dim));
    dims.zip(indices.iter().copied()).collect()
}

impl Ragged<'_> {
    fn element(&self, index: &[i64], to: ElementType) -> Result<Value, EvalError> {
        let numbers = &self.numbers;
        let [x, y, sizes] = self.arrays;
        let column = numbers
            .lhs_contracting
            .iter()
            .position(|dim| *dim == self.ragged);
        let (group, index) = match column {
            Some(_) => (index.first().copied(), index.get(1..).unwrap_or_default()),
            None => (None, index),
        };
        let (batch, rest) = index.split_at(numbers.lhs_batch.len());
        let (rows, columns) = rest.split_at(self.left.len());
        let mut left = at(numbers.lhs_batch, batch);
        left.extend(self.left.iter().copied().zip(rows.iter().copied()));
        let mut right = at(numbers.rhs_batch, batch);
        right.extend(self.right.iter().copied().zip(columns.iter().copied()));
        let mut sum = Sum::new([x.element_type(), y.element_type(), to]);
        if let Some(dim) = self.group {
            // The row's own group, if it has one.
            let row = self.left.iter().position(|dim| *dim as i64 == self.ragged);
            let row = row.unwrap_or(0);
            let leading = [batch, &rows[..row]].concat();
            match group_of(sizes, &leading, rows[row])? {
                Some(group) => right.push((dim, group)),
                None => return Ok(sum.value(to)),
            }
        }
        let depth = numbers.lhs_contracting.iter();
        let depth: Vec<i64> = depth.map(|dim| x.dims()[number(*dim)]).collect();
        let mut steps = IndexIter::new(&depth);
        while let Some(step) = steps.next_index() {
            if let (Some(group), Some(column)) = (group, column) {
                let leading = [batch, &step[..column]].concat();
                if group_of(sizes, &leading, step[column])? != Some(group) {
                    continue;
                }
            }
            let lhs = [&left[..], &at(numbers.lhs_contracting, step)].concat();
            let rhs = [&right[..], &at(numbers.rhs_contracting, step)].concat();
            sum.add(Value::at(x, place(x, &lhs)), Value::at(y, place(y, &rhs)));
        }
        Ok(sum.value(to))
    }
}

/// Which group a position along the ragged dimension lies in; `None` behind the last.
///
/// Group sizes are one list for all, or one for each index of the leading dimensions.
fn group_of(sizes: &Array, leading: &[i64], position: i64) -> Result<Option<i64>, EvalError> {
    let Some((groups, lists)) = sizes.dims().split_last() else {
        return Err(EvalError::argument("group sizes are a list"));
    };
    ensure(
        lists.is_empty() || lists.len() == leading.len(),
        "group sizes have other leading dimensions than the operands",
    )?;
    let mut first = 0i64;
    for (at, size) in leading.iter().zip(lists) {
        ensure(
            at < size,
            "group sizes have other leading dimensions than the operands",
        )?;
        first = first * size + at;
    }
    let mut end = 0i128;
    for group in 0..*groups {
        end += index(sizes, number(first * groups + group))?;
        if i128::from(position) < end {
            return Ok(Some(group));
        }
    }
    Ok(None)
}

/// A sum of products in the widest type of the kind of its operands.
enum Sum {
    Complex(C128),
    Float(f64),
    Int(i128),
    Pred(bool),
}

impl Sum {
    fn new(types: [ElementType; 3]) -> Sum {
        if types.iter().any(|ty| ty.is_complex()) {
            Sum::Complex(C128::new(0.0, 0.0))
        } else if types.iter().any(|ty| ty.is_float()) {
            Sum::Float(0.0)
        } else if types.iter().all(|ty| ty.is_predicate()) {
            Sum::Pred(false)
        } else {
            Sum::Int(0)
        }
    }

    fn add(&mut self, x: Value, y: Value) {
        match self {
            Sum::Complex(sum) => *sum = add_complex_product(*sum, complex(x), complex(y)),
            Sum::Float(sum) => *sum += float(x) * float(y),
            Sum::Int(sum) => *sum = sum.wrapping_add(integer(x).wrapping_mul(integer(y))),
            Sum::Pred(sum) => *sum |= x == Value::Pred(true) && y == Value::Pred(true),
        }
    }

    fn value(self, ty: ElementType) -> Value {
        match self {
            Sum::Complex(sum) => sum.into_type(ty),
            Sum::Float(sum) => sum.into_type(ty),
            Sum::Int(sum) => sum.into_type(ty),
            Sum::Pred(sum) => sum.into_type(ty),
        }
    }
}

/// The product of operands that were multiplied with the scales of their blocks, in `f32` or `f64`.
pub(super) fn scaled(op: &Op, operands: &Operands, shape: &ArrayShape) -> Result<Array, EvalError> {
    let Op::ScaledDot {
        lhs_batch_dims,
        lhs_contracting_dims,
        rhs_batch_dims,
        rhs_contracting_dims,
        operand_precision,
    } = op
    else {
        return Err(EvalError::unsupported(op, None));
    };
    let arrays = operands.arrays()?;
    let types: Vec<ElementType> = arrays.iter().map(|array| array.element_type()).collect();
    if types
        .iter()
        .chain([&shape.element_type])
        .any(|ty| ty.is_complex())
    {
        return Err(EvalError::unsupported(op, Some(types[0])));
    }
    let wide = if types.contains(&ElementType::F64) || shape.element_type == ElementType::F64 {
        ElementType::F64
    } else {
        ElementType::F32
    };
    let lhs = times_scale(operands.array(0)?, operands.array(2)?, wide)?;
    let rhs = times_scale(operands.array(1)?, operands.array(3)?, wide)?;
    let dot = Op::Dot {
        lhs_batch_dims: lhs_batch_dims.clone(),
        lhs_contracting_dims: lhs_contracting_dims.clone(),
        rhs_batch_dims: rhs_batch_dims.clone(),
        rhs_contracting_dims: rhs_contracting_dims.clone(),
        operand_precision: operand_precision.clone(),
        algorithm: None,
    };
    let scaled = Operands(vec![
        hloc_ir::Literal::Array(lhs),
        hloc_ir::Literal::Array(rhs),
    ]);
    let product = super::dot::dot(&dot, &scaled, &ArrayShape::new(wide, &shape.dims))?;
    super::convert::convert(&Operands(vec![hloc_ir::Literal::Array(product)]), shape)
}

fn times_scale(x: &Array, scale: &Array, wide: ElementType) -> Result<Array, EvalError> {
    let mut result = zeros(wide, x.dims())?;
    let mut indices = IndexIter::new(x.dims());
    let mut position = 0;
    let read = |array: &Array, at: usize| float(Value::at(array, at)).rounded(wide);
    while let Some(at) = indices.next_index() {
        let blocks: Vec<(usize, i64)> = (0..scale.num_dims())
            .map(|dim| (dim, at[dim] / (x.dims()[dim] / scale.dims()[dim])))
            .collect();
        let value = read(x, position) * read(scale, place(scale, &blocks));
        value.write(
            wide,
            &mut result.bytes_mut()[position * wide.size()..][..wide.size()],
        );
        position += 1;
    }
    Ok(result)
}
