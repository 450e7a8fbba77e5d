//! Constant values.

use std::sync::Arc;

use hloc_tensor::Array;

use crate::{ArrayShape, Shape};

/// The value of a constant: an array or a tuple of literals.
#[derive(Clone)]
pub enum Literal {
    /// A dense array; cloning shares the data.
    Array(Array),
    /// A tuple.
    Tuple(Vec<Literal>),
}

impl Literal {
    /// The shape of the value, static and row-major.
    pub fn shape(&self) -> Shape {
        match self {
            Literal::Array(array) => {
                Shape::Array(ArrayShape::new(array.element_type(), array.dims()))
            }
            Literal::Tuple(elements) => Shape::Tuple(elements.iter().map(Literal::shape).collect()),
        }
    }

    /// The array, or `None` for a tuple.
    pub fn as_array(&self) -> Option<&Array> {
        match self {
            Literal::Array(array) => Some(array),
            Literal::Tuple(_) => None,
        }
    }

    /// The arrays in order, tuples flattened.
    pub fn into_leaves(self) -> Vec<Array> {
        match self {
            Literal::Array(array) => vec![array],
            Literal::Tuple(elements) => elements
                .into_iter()
                .flat_map(Literal::into_leaves)
                .collect(),
        }
    }

    /// Whether both have the same shape and the same bits.
    pub fn same_bits(&self, other: &Literal) -> bool {
        match (self, other) {
            (Literal::Array(a), Literal::Array(b)) => {
                a.element_type() == b.element_type()
                    && a.dims() == b.dims()
                    && a.bytes() == b.bytes()
            }
            (Literal::Tuple(a), Literal::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same_bits(b))
            }
            (Literal::Array(_) | Literal::Tuple(_), _) => false,
        }
    }
}

/// Shows the shape only: the elements may be millions.
impl std::fmt::Debug for Literal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "literal of {}", self.shape())
    }
}

/// A literal shared between instructions; equality is of bits, so NaN equals itself.
#[derive(Clone, Debug)]
pub struct SharedLiteral(pub Arc<Literal>);

impl PartialEq for SharedLiteral {
    fn eq(&self, other: &SharedLiteral) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.same_bits(&other.0)
    }
}

impl std::ops::Deref for SharedLiteral {
    type Target = Literal;
    fn deref(&self) -> &Literal {
        &self.0
    }
}

impl From<Literal> for SharedLiteral {
    fn from(literal: Literal) -> SharedLiteral {
        SharedLiteral(Arc::new(literal))
    }
}

impl From<Array> for SharedLiteral {
    fn from(array: Array) -> SharedLiteral {
        Literal::Array(array).into()
    }
}
