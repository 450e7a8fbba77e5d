//! Index functions: the value of one element of an instruction, from elements of its operands.
//!
//! [`Builder::value_at`] emits what computes an element into the open block. An operand that is a
//! buffer is loaded; any other is computed in the same way, so that a chain of ops needs no memory.

use hloc_ir::{
    CompareType, ComparisonDirection, ElementClass, ElementType, InstrId, Instruction, Op,
    SharedLiteral,
};
use hloc_tensor::small_float;

use super::builder::{ArgSource, Bound, Builder, Built, Indices, MAX_DEPTH, MAX_VALUES, Node};
use super::same_index_operands;
use crate::error::LowerError;
use crate::index::Index;
use crate::ir::{Access, ConstantBits, Expr, ValueId};

impl Builder<'_> {
    /// The element of `node` at `indices`, as a value of the open block.
    pub(super) fn value_at(&mut self, node: Node, indices: &[Index]) -> Built<ValueId> {
        let indices = self.normal_indices(node, indices)?;
        if let Some(value) = self.recall(node, &indices) {
            return Ok(value);
        }
        let instruction = self.instruction(node);
        if self.depth >= MAX_DEPTH {
            return Err(LowerError::limit(
                instruction,
                "nested index functions in one kernel",
                MAX_DEPTH,
            ));
        }
        if self.kernel.values.len() > MAX_VALUES {
            return Err(LowerError::limit(
                instruction,
                "scalar values in one kernel",
                MAX_VALUES,
            ));
        }
        self.depth += 1;
        let value = self.computed_at(node, &indices);
        self.depth -= 1;
        value
    }

    /// The indices with 0 along dimensions of size 1, so that equal elements have equal indices.
    fn normal_indices(&self, node: Node, indices: &[Index]) -> Built<Indices> {
        let dims = &self.shape(node)?.dims;
        if dims.len() != indices.len() {
            let message = format!("{} indices for {} dimensions", indices.len(), dims.len());
            return Err(LowerError::internal(self.instruction(node), message));
        }
        let normal = |(index, dim): (&Index, &i64)| {
            if *dim == 1 {
                Index::constant(0)
            } else {
                index.clone()
            }
        };
        Ok(indices.iter().zip(dims).map(normal).collect())
    }

    /// Computes first, in order, the operands at the same indices: long chains need no deep recursion.
    fn computed_at(&mut self, node: Node, indices: &Indices) -> Built<ValueId> {
        for instr in self.pending(node, indices) {
            let operand = Node {
                frame: node.frame,
                instr,
                leaf: 0,
            };
            if self.recall(operand, indices).is_none() {
                let value = self.element(operand, indices)?;
                self.remember(operand, indices, value);
            }
        }
        let value = self.element(node, indices)?;
        self.remember(node, indices, value);
        Ok(value)
    }

    /// The instructions below `node` that are used at the same indices and not yet computed, in order.
    fn pending(&self, node: Node, indices: &Indices) -> Vec<InstrId> {
        let computation = &self.module.computations[self.computation_of(node)];
        let mut found = std::collections::BTreeSet::new();
        let mut open = vec![node.instr];
        while let Some(instr) = open.pop() {
            for operand in same_index_operands(computation, instr) {
                let operand = Node {
                    frame: node.frame,
                    instr: operand,
                    leaf: 0,
                };
                if self.buffer_of(operand).is_none()
                    && self.recall(operand, indices).is_none()
                    && found.insert(operand.instr)
                {
                    open.push(operand.instr);
                }
            }
        }
        found.into_iter().collect()
    }

    fn element(&mut self, node: Node, indices: &Indices) -> Built<ValueId> {
        let shape = self.shape(node)?;
        if let Some(buffer) = self.buffer_of(node) {
            let source = ArgSource::Buffer(buffer);
            let param = self.param(source, shape.element_type, &shape.dims, Access::Read);
            return Ok(self.load(param, indices, &shape.dims));
        }
        let instruction = self.instruction(node);
        if shape.dynamic != 0 {
            return Err(LowerError::unsupported(
                instruction,
                "dynamic dimensions are not compiled",
            ));
        }
        self.note(node);
        match self.scalar_op(node, instruction, shape.element_type, indices)? {
            Some(value) => Ok(value),
            None => self.structural(node, instruction, indices),
        }
    }

    /// The element-wise ops.
    fn scalar_op(
        &mut self,
        node: Node,
        instruction: &Instruction,
        result: ElementType,
        indices: &Indices,
    ) -> Built<Option<ValueId>> {
        let expr = if let Op::Unary { op, .. } = &instruction.op {
            Expr::Unary(*op, self.broadcast_operand(node, 0, None, indices)?)
        } else if let Op::Binary {
            op,
            broadcast_dimensions,
        } = &instruction.op
        {
            let dims = broadcast_dimensions.as_deref();
            let lhs = self.broadcast_operand(node, 0, dims, indices)?;
            let rhs = self.broadcast_operand(node, 1, dims, indices)?;
            Expr::Binary(*op, lhs, rhs)
        } else if let Op::Ternary {
            op,
            broadcast_dimensions,
        } = &instruction.op
        {
            let dims = broadcast_dimensions.as_deref();
            let first = self.broadcast_operand(node, 0, dims, indices)?;
            let second = self.broadcast_operand(node, 1, dims, indices)?;
            let third = self.broadcast_operand(node, 2, dims, indices)?;
            Expr::Ternary(*op, [first, second, third])
        } else if let Op::Compare {
            direction,
            broadcast_dimensions,
            ..
        } = &instruction.op
        {
            self.compare(node, *direction, broadcast_dimensions.as_deref(), indices)?
        } else if let Op::ReducePrecision {
            exponent_bits,
            mantissa_bits,
        } = &instruction.op
        {
            self.reduce_precision(node, *exponent_bits, *mantissa_bits, indices)?
        } else {
            return Ok(None);
        };
        Ok(Some(self.emit(result, expr)))
    }

    fn compare(
        &mut self,
        node: Node,
        direction: ComparisonDirection,
        dims: Option<&[i64]>,
        indices: &Indices,
    ) -> Built<Expr> {
        let lhs = self.broadcast_operand(node, 0, dims, indices)?;
        let rhs = self.broadcast_operand(node, 1, dims, indices)?;
        let order = self.compare_order(node, lhs);
        Ok(Expr::Compare {
            direction,
            order,
            lhs,
            rhs,
        })
    }

    /// The order that `compare` names, or the natural one of the element type.
    fn compare_order(&self, node: Node, operand: ValueId) -> CompareType {
        if let Op::Compare {
            compare_type: Some(order),
            ..
        } = &self.instruction(node).op
        {
            return *order;
        }
        match self.type_of(operand).class() {
            ElementClass::Signed => CompareType::Signed,
            ElementClass::Unsigned | ElementClass::Predicate => CompareType::Unsigned,
            ElementClass::Float | ElementClass::Complex => CompareType::Float,
        }
    }

    fn reduce_precision(
        &mut self,
        node: Node,
        exponent_bits: i64,
        mantissa_bits: i64,
        indices: &Indices,
    ) -> Built<Expr> {
        let value = self.broadcast_operand(node, 0, None, indices)?;
        let bits = |count| {
            u32::try_from(count).map_err(|_| {
                LowerError::internal(self.instruction(node), "a negative number of bits")
            })
        };
        Ok(Expr::ReducePrecision {
            value,
            exponent_bits: bits(exponent_bits)?,
            mantissa_bits: bits(mantissa_bits)?,
        })
    }

    /// Operand `at` of an element-wise op at the result's indices: it may have fewer dimensions, which
    /// `broadcast_dimensions` places, and sizes of 1.
    fn broadcast_operand(
        &mut self,
        node: Node,
        at: usize,
        broadcast_dimensions: Option<&[i64]>,
        indices: &Indices,
    ) -> Built<ValueId> {
        let operand = self.operand(node, at)?;
        let num_dims = self.shape(operand)?.num_dims();
        if num_dims == indices.len() {
            return self.value_at(operand, indices);
        }
        let places = broadcast_dimensions.unwrap_or(&[]);
        let picked = super::picked(indices, places)
            .filter(|picked: &Indices| picked.len() == num_dims || num_dims == 0);
        match picked {
            Some(picked) if num_dims > 0 => self.value_at(operand, &picked),
            Some(_) => self.value_at(operand, &[]),
            None => Err(LowerError::internal(
                self.instruction(node),
                format!("operand {at} is not broadcast to the result"),
            )),
        }
    }

    /// A number as a constant of `element_type`: 0, 1 or −0.
    pub(super) fn small_constant(&mut self, element_type: ElementType, number: Small) -> ValueId {
        let bits = constant_bits(element_type, number);
        self.emit(element_type, Expr::Constant(bits))
    }

    /// An element of a constant: a value if all elements are equal, a load otherwise.
    pub(super) fn constant(
        &mut self,
        node: Node,
        literal: &SharedLiteral,
        indices: &Indices,
    ) -> Built<ValueId> {
        let instruction = self.instruction(node);
        let Some(array) = literal.as_array() else {
            return Err(LowerError::internal(
                instruction,
                "a tuple constant is no array",
            ));
        };
        let element_type = array.element_type();
        if let Some(bits) = super::splat_bits(array) {
            return Ok(self.emit(element_type, Expr::Constant(bits)));
        }
        let source = ArgSource::Constant(self.computation_of(node), node.instr);
        let param = self.param(source, element_type, array.dims(), Access::Read);
        Ok(self.load(param, indices, array.dims()))
    }

    /// An element of a parameter of an inlined computation.
    pub(super) fn parameter(
        &mut self,
        node: Node,
        number: i64,
        indices: &Indices,
    ) -> Built<ValueId> {
        match self.bound(node, number) {
            Some(Bound::Scalar(value)) => Ok(value),
            Some(Bound::Node(outer)) => self.value_at(outer, indices),
            None => Err(LowerError::internal(
                self.instruction(node),
                "the parameter is not bound",
            )),
        }
    }
}

/// Constants that the lowering itself needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Small {
    Zero,
    /// The identity of float addition: −0.
    NegativeZero,
}

/// The bits of a small constant. Formats without zero (`f8e8m0fnu`) have NaN for it, those without a
/// negative zero the only one they have.
fn constant_bits(element_type: ElementType, number: Small) -> ConstantBits {
    if element_type.is_float() && element_type.bits() <= 8 {
        let value = match number {
            Small::Zero => 0.0,
            Small::NegativeZero => -0.0,
        };
        return ConstantBits(small_float::encode(element_type, value).into());
    }
    if number == Small::Zero || !(element_type.is_float() || element_type.is_complex()) {
        return ConstantBits(0);
    }
    let part = element_type.component().bits();
    let sign = 1u128 << (part - 1);
    if element_type.is_complex() {
        ConstantBits(sign | sign << part)
    } else {
        ConstantBits(sign)
    }
}
