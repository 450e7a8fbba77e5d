//! Hashes of ops with their attributes, in agreement with the equality of `Op`.

use std::hash::{Hash, Hasher};

use hloc_ir::{AttrValue, Literal, Op, Shape};

/// Feeds an op with its attributes and payload.
pub(crate) fn hash_op(op: &Op, state: &mut impl Hasher) {
    op.opcode().hash(state);
    if let Op::Constant { literal } = op {
        hash_literal(literal, state);
    } else if let Op::Parameter { number } = op {
        number.hash(state);
    } else if !is_plain(op) {
        for (name, value) in op.attribute_values() {
            name.hash(state);
            hash_value(&value, state);
        }
    }
}

/// Whether this is an element-wise op without attributes, which are most.
fn is_plain(op: &Op) -> bool {
    matches!(
        op,
        Op::Unary {
            result_accuracy: None,
            ..
        } | Op::Binary {
            broadcast_dimensions: None,
            ..
        } | Op::Ternary {
            broadcast_dimensions: None,
            ..
        }
    )
}

/// Feeds element types and sizes, not layouts.
pub(crate) fn hash_shape(shape: &Shape, state: &mut impl Hasher) {
    match shape {
        Shape::Array(array) => {
            array.element_type.hash(state);
            array.dims.hash(state);
            array.dynamic.hash(state);
        }
        Shape::Tuple(elements) => {
            elements.len().hash(state);
            elements
                .iter()
                .for_each(|element| hash_shape(element, state));
        }
        Shape::Token => 1u8.hash(state),
        Shape::Opaque => 2u8.hash(state),
        Shape::Buffer(inner) => hash_shape(inner, state),
    }
}

/// Large literals are told apart by their ends; equality looks at everything.
fn hash_literal(literal: &Literal, state: &mut impl Hasher) {
    const ENDS: usize = 4096;
    match literal {
        Literal::Array(array) => {
            let bytes = array.bytes();
            array.element_type().hash(state);
            array.dims().hash(state);
            bytes[..bytes.len().min(ENDS)].hash(state);
            bytes[bytes.len().saturating_sub(ENDS)..].hash(state);
        }
        Literal::Tuple(elements) => {
            elements
                .iter()
                .for_each(|element| hash_literal(element, state));
        }
    }
}

/// Values that hold floats or literals, and those without a hash of their own, are not told apart.
fn hash_value(value: &AttrValue, state: &mut impl Hasher) {
    match value {
        AttrValue::Integer(value) => value.hash(state),
        AttrValue::Bool(value) => value.hash(state),
        AttrValue::Integers(value) => value.hash(state),
        AttrValue::Bools(value) => value.hash(state),
        AttrValue::Slice(value) => value.hash(state),
        AttrValue::Padding(value) => value.hash(state),
        AttrValue::Window(value) => value.hash(state),
        AttrValue::DimLabels(value) => value.hash(state),
        AttrValue::Word(value) => value.hash(state),
        AttrValue::Words(value) => value.hash(state),
        AttrValue::String(value) | AttrValue::Text(value) => value.hash(state),
        AttrValue::Computation(value) => value.hash(state),
        AttrValue::Computations(value) => value.hash(state),
        AttrValue::Shape(value) => hash_shape(value, state),
        AttrValue::Pairs(value) => value.hash(state),
        AttrValue::OutputAliases(value) => value.hash(state),
        AttrValue::ReplicaGroups(value) => value.hash(state),
        AttrValue::Domain(value) => value.hash(state),
        AttrValue::Float(_)
        | AttrValue::ResultAccuracy(_)
        | AttrValue::Literal(_)
        | AttrValue::Shapes(_) => {}
    }
}
