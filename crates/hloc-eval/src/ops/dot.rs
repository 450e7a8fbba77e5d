//! `dot`: sums of products over the contracting dimensions.
//!
//! Floats accumulate in `f64` and round once to the result type; integers wrap; of `pred`, sums are
//! or and products are and.

use hloc_ir::{ArrayShape, ElementType, Op};
use hloc_tensor::{Array, row_major_strides};

use super::walk::Walk;
use super::{Operands, count, dimensions, ensure, zeros};
use crate::EvalError;
use crate::scalar::{C128, Lane, Value};

/// Dimensions of one operand by role.
struct Side {
    batch: Vec<usize>,
    contracting: Vec<usize>,
    free: Vec<usize>,
}

impl Side {
    fn new(x: &Array, batch: &[i64], contracting: &[i64]) -> Result<Side, EvalError> {
        let batch = dimensions(batch, x.num_dims())?;
        let contracting = dimensions(contracting, x.num_dims())?;
        let free = (0..x.num_dims())
            .filter(|at| !batch.contains(at) && !contracting.contains(at))
            .collect();
        Ok(Side {
            batch,
            contracting,
            free,
        })
    }

    fn sizes(x: &Array, dims: &[usize]) -> Vec<i64> {
        dims.iter().map(|at| x.dims()[*at]).collect()
    }

    /// The elements in the order batch, free, contracting.
    fn elements<T: Lane>(&self, x: &Array, of: impl Fn(Value) -> T) -> Result<Vec<T>, EvalError> {
        let order = self.batch.iter().chain(&self.free).chain(&self.contracting);
        let order: Vec<usize> = order.copied().collect();
        let strides = row_major_strides(x.dims());
        let walk = Walk {
            dims: Side::sizes(x, &order),
            base: 0,
            strides: order.iter().map(|at| strides[*at]).collect(),
        };
        walk.check(x.num_elements())?;
        let mut elements = Vec::with_capacity(x.num_elements());
        walk.for_each(|position| elements.push(of(Value::at(x, position))));
        Ok(elements)
    }
}

/// General product: any batch and contracting dimensions.
pub(super) fn dot(op: &Op, operands: &Operands, shape: &ArrayShape) -> Result<Array, EvalError> {
    let Op::Dot {
        lhs_batch_dims,
        lhs_contracting_dims,
        rhs_batch_dims,
        rhs_contracting_dims,
        ..
    } = op
    else {
        return Err(EvalError::unsupported(op, None));
    };
    let (x, y) = (operands.array(0)?, operands.array(1)?);
    let left = Side::new(x, lhs_batch_dims, lhs_contracting_dims)?;
    let right = Side::new(y, rhs_batch_dims, rhs_contracting_dims)?;
    let batch = Side::sizes(x, &left.batch);
    let contracted = Side::sizes(x, &left.contracting);
    ensure(
        batch == Side::sizes(y, &right.batch) && contracted == Side::sizes(y, &right.contracting),
        "batch or contracting dimensions differ",
    )?;
    let (rows, columns) = (Side::sizes(x, &left.free), Side::sizes(y, &right.free));
    let dims: Vec<i64> = [&batch[..], &rows, &columns].concat();
    let sizes = Sizes {
        batch: count(&batch),
        rows: count(&rows),
        columns: count(&columns),
        depth: count(&contracted),
    };
    let types = [x.element_type(), y.element_type(), shape.element_type];
    let mut result = zeros(shape.element_type, &dims)?;
    if result.num_elements() == 0 {
        return Ok(result);
    }
    let product = Product {
        x,
        y,
        left: &left,
        right: &right,
        sizes,
    };
    if types.iter().any(|ty| ty.is_complex()) {
        product.write(&mut result, complex, add_complex_product)?;
    } else if types.iter().any(|ty| ty.is_float()) {
        product.write(&mut result, float, |sum: f64, x, y| sum + x * y)?;
    } else if types.iter().all(|ty| ty.is_predicate()) {
        product.write(&mut result, truth, |sum, x, y| sum | (x & y))?;
    } else {
        product.write(&mut result, integer, |sum: i128, x, y| {
            sum.wrapping_add(x.wrapping_mul(y))
        })?;
    }
    Ok(result)
}

struct Sizes {
    batch: usize,
    rows: usize,
    columns: usize,
    depth: usize,
}

struct Product<'a> {
    x: &'a Array,
    y: &'a Array,
    left: &'a Side,
    right: &'a Side,
    sizes: Sizes,
}

impl Product<'_> {
    /// Accumulates in `T`, from its zero, and writes rounded to the result's type.
    fn write<T: Lane + IntoType>(
        &self,
        result: &mut Array,
        of: fn(Value) -> T,
        add_product: impl Fn(T, T, T) -> T,
    ) -> Result<(), EvalError> {
        let x = self.left.elements(self.x, of)?;
        let y = self.right.elements(self.y, of)?;
        let Sizes {
            batch,
            rows,
            columns,
            depth,
        } = self.sizes;
        let to = result.element_type();
        let mut results = result.bytes_mut().chunks_exact_mut(to.size());
        for group in 0..batch {
            for row in 0..rows {
                let row = &x[(group * rows + row) * depth..][..depth];
                for column in 0..columns {
                    let column = &y[(group * columns + column) * depth..][..depth];
                    let pairs = row.iter().zip(column);
                    let sum = pairs.fold(of(Value::Int(0)), |sum, (x, y)| add_product(sum, *x, *y));
                    if let Some(bytes) = results.next() {
                        sum.into_type(to).write(to, bytes);
                    }
                }
            }
        }
        Ok(())
    }
}

/// `sum + z · w` by the plain formula.
pub(super) fn add_complex_product(sum: C128, z: C128, w: C128) -> C128 {
    C128::new(
        sum.re + (z.re * w.re - z.im * w.im),
        sum.im + (z.re * w.im + z.im * w.re),
    )
}

/// An accumulated sum as a value of the class of the result type.
pub(super) trait IntoType {
    fn into_type(self, ty: ElementType) -> Value;
}

impl IntoType for C128 {
    fn into_type(self, ty: ElementType) -> Value {
        if ty.is_complex() {
            Value::Complex(self)
        } else {
            self.re.into_type(ty)
        }
    }
}

impl IntoType for f64 {
    fn into_type(self, ty: ElementType) -> Value {
        // Rounds once, where `write` alone would round types below `f32` twice.
        Value::Float(self).converted(ElementType::F64, ty)
    }
}

impl IntoType for i128 {
    fn into_type(self, ty: ElementType) -> Value {
        if ty.is_integer() {
            Value::Int(self)
        } else {
            Value::Int(self).converted(ElementType::S64, ty)
        }
    }
}

impl IntoType for bool {
    fn into_type(self, _: ElementType) -> Value {
        Value::Pred(self)
    }
}

pub(super) fn complex(value: Value) -> C128 {
    if let Value::Complex(value) = value {
        value
    } else {
        C128::new(float(value), 0.0)
    }
}

pub(super) fn float(value: Value) -> f64 {
    match value {
        Value::Float(value) => value,
        Value::Int(value) => value as f64,
        Value::Pred(value) => f64::from(u8::from(value)),
        Value::Complex(value) => value.re,
    }
}

pub(super) fn integer(value: Value) -> i128 {
    match value {
        Value::Int(value) => value,
        Value::Pred(value) => value.into(),
        Value::Float(_) | Value::Complex(_) => 0,
    }
}

fn truth(value: Value) -> bool {
    value == Value::Pred(true)
}
