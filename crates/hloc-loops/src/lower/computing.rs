//! Index functions of ops that convert, look up or combine elements.

use hloc_ir::attr::Window;
use hloc_ir::{
    BinaryOp, CompareType, ComparisonDirection, ElementType, Instruction, Op, TernaryOp, UnaryOp,
};

use super::builder::{Builder, Built, Indices, Node};
use crate::error::LowerError;
use crate::index::Index;
use crate::ir::{Expr, ValueId};

/// Dimension numbers of a `gather`, and of a `scatter` seen as one.
pub(super) struct WindowDims<'a> {
    /// Dimensions of the result (or the updates) that run through a window.
    pub(super) offset_dims: &'a [i64],
    /// Dimensions of the operand that a window does not run through.
    pub(super) collapsed: &'a [i64],
    /// Dimension of the operand that each component of an index vector says a start of.
    pub(super) start_map: &'a [i64],
    /// Batching dimensions of the operand.
    pub(super) batching: &'a [i64],
    /// The dimensions of the indices that belong to them.
    pub(super) indices_batching: &'a [i64],
    /// Dimension of the indices along which an index vector lies.
    pub(super) index_vector_dim: i64,
}

impl WindowDims<'_> {
    /// The indices that do not run through a window, in order.
    pub(super) fn batch_indices(&self, indices: &[Index]) -> Indices {
        let is_batch = |(dim, _): &(usize, &Index)| !self.offset_dims.contains(&(*dim as i64));
        indices
            .iter()
            .enumerate()
            .filter(is_batch)
            .map(|(_, index)| index.clone())
            .collect()
    }

    /// The place in an array of start indices of component `component` for these batch indices.
    pub(super) fn index_place(
        &self,
        batch: &[Index],
        num_dims: usize,
        component: usize,
    ) -> Indices {
        let mut place = Indices::from(batch);
        let at = usize::try_from(self.index_vector_dim).unwrap_or(num_dims);
        if at < num_dims {
            place.insert(at.min(place.len()), Index::constant(component as i64));
        }
        place
    }

    /// Per operand dimension what lies in the window and in the batch, without the looked-up start.
    pub(super) fn offsets(&self, indices: &[Index], batch: &[Index], num_dims: usize) -> Indices {
        let mut windows = self.offset_dims.iter();
        let mut offset = |dim: usize| {
            let dim = dim as i64;
            if let Some(at) = self.batching.iter().position(|other| *other == dim) {
                return self.batching_index(at, batch);
            }
            if self.collapsed.contains(&dim) {
                return Index::constant(0);
            }
            let window = windows.next().and_then(|dim| usize::try_from(*dim).ok());
            window
                .and_then(|dim| indices.get(dim))
                .cloned()
                .unwrap_or_default()
        };
        (0..num_dims).map(&mut offset).collect()
    }

    fn batching_index(&self, at: usize, batch: &[Index]) -> Index {
        let dim = self.indices_batching.get(at).copied().unwrap_or(0);
        let position = if dim < self.index_vector_dim {
            dim
        } else {
            dim - 1
        };
        usize::try_from(position)
            .ok()
            .and_then(|position| batch.get(position))
            .cloned()
            .unwrap_or_default()
    }

    /// The size of a window along operand dimension `dim` is 1 if no window dimension runs through it.
    pub(super) fn runs_through(&self, dim: usize) -> bool {
        let dim = dim as i64;
        !self.collapsed.contains(&dim) && !self.batching.contains(&dim)
    }
}

impl Builder<'_> {
    /// The last group of ops: converting, looking up, combining.
    pub(super) fn computing(
        &mut self,
        node: Node,
        instruction: &Instruction,
        indices: &Indices,
    ) -> Built<ValueId> {
        if let Op::Convert {} = &instruction.op {
            let operand = self.operand(node, 0)?;
            let value = self.value_at(operand, indices)?;
            let element_type = self.shape(node)?.element_type;
            Ok(self.converted(value, element_type))
        } else if let Op::BitcastConvert {} = &instruction.op {
            self.bitcast_convert(node, indices)
        } else if let Op::Gather { .. } = &instruction.op {
            self.gather(node, instruction, indices)
        } else if let Op::Reduce {
            dimensions,
            to_apply,
        } = &instruction.op
        {
            self.reduce(node, dimensions, *to_apply, indices)
        } else if let Op::ReduceWindow { window, to_apply } = &instruction.op {
            // A scalar has a window without dimensions, which is not written.
            let none = Window::default();
            let window = window.as_ref().unwrap_or(&none);
            self.reduce_window(node, window, *to_apply, indices)
        } else if let Op::Dot { .. } = &instruction.op {
            self.dot(node, instruction, indices)
        } else if let Op::Convolution { .. } = &instruction.op {
            self.convolution(node, instruction, indices)
        } else if let Op::Map { to_apply, .. } = &instruction.op {
            self.map(node, instruction, *to_apply, indices)
        } else if let Op::GetDimensionSize { dimensions } = &instruction.op {
            self.dimension_size(node, dimensions)
        } else if let Op::PartitionId { .. } | Op::ReplicaId {} = &instruction.op {
            Ok(self.zero(ElementType::U32))
        } else {
            let reason = "it is not compiled yet";
            Err(LowerError::unsupported(instruction, reason))
        }
    }

    /// The size of a dimension, which is the same in every run.
    fn dimension_size(&mut self, node: Node, dimensions: &[i64]) -> Built<ValueId> {
        let shape = self.shape(self.operand(node, 0)?)?;
        let instruction = self.instruction(node);
        if shape.dynamic != 0 {
            let reason = "dynamic dimensions are not compiled";
            return Err(LowerError::unsupported(instruction, reason));
        }
        let dim = dimensions
            .first()
            .and_then(|dim| usize::try_from(*dim).ok());
        let size = dim.and_then(|dim| shape.dims.get(dim)).copied();
        let size = size.ok_or_else(|| LowerError::internal(instruction, "no such dimension"))?;
        Ok(self.emit(ElementType::S32, Expr::Index(Index::constant(size))))
    }

    fn map(
        &mut self,
        node: Node,
        instruction: &Instruction,
        to_apply: hloc_ir::ComputationId,
        indices: &Indices,
    ) -> Built<ValueId> {
        let mut args = Vec::new();
        for at in 0..instruction.operands.len() {
            let operand = self.operand(node, at)?;
            args.push(self.value_at(operand, indices)?);
        }
        let values = self.apply(to_apply, &args)?;
        let first = values.first().copied();
        first.ok_or_else(|| LowerError::internal(instruction, "the computation gives nothing"))
    }

    /// Widths that differ add or drop a last dimension of the elements' parts, the low bits first.
    fn bitcast_convert(&mut self, node: Node, indices: &Indices) -> Built<ValueId> {
        let operand = self.operand(node, 0)?;
        let (from, to) = (
            self.shape(operand)?.element_type,
            self.shape(node)?.element_type,
        );
        if from == to {
            return self.value_at(operand, indices);
        }
        if from.bits() == to.bits() {
            let value = self.value_at(operand, indices)?;
            return Ok(self.emit(to, Expr::BitcastConvert(value)));
        }
        if from.is_complex() {
            return self.complex_bits(operand, to, indices);
        }
        let instruction = self.instruction(node);
        let unsigned = |ty: ElementType| {
            unsigned_of_bits(ty.bits()).ok_or_else(|| {
                LowerError::unsupported(
                    instruction,
                    format!("a bitcast-convert from {from} to {to}"),
                )
            })
        };
        let (from_bits, to_bits) = (unsigned(from)?, unsigned(to)?);
        let (narrow, wide) = (from.bits().min(to.bits()), from.bits().max(to.bits()));
        if from.bits() > to.bits() {
            let Some((part, rest)) = indices.split_last() else {
                return Err(LowerError::internal(instruction, "no dimension of parts"));
            };
            let value = self.value_at(operand, rest)?;
            let value = self.bits_as(value, from_bits);
            let amount = self.emit(from_bits, Expr::Index(part.times(i64::from(narrow))));
            let shifted = Expr::Binary(BinaryOp::ShiftRightLogical, value, amount);
            let shifted = self.emit(from_bits, shifted);
            let part = self.converted(shifted, to_bits);
            return Ok(self.bits_as(part, to));
        }
        let mut whole = None;
        for part in 0..wide / narrow {
            let mut place = indices.clone();
            place.push(Index::constant(i64::from(part)));
            let value = self.value_at(operand, &place)?;
            let value = self.bits_as(value, from_bits);
            let value = self.converted(value, to_bits);
            whole = Some(match whole {
                None => value,
                Some(low) => {
                    let amount = self.integer(to_bits, part * narrow);
                    let high = Expr::Binary(BinaryOp::ShiftLeft, value, amount);
                    let high = self.emit(to_bits, high);
                    self.emit(to_bits, Expr::Binary(BinaryOp::Or, low, high))
                }
            });
        }
        let whole = whole.ok_or_else(|| LowerError::internal(instruction, "no parts"))?;
        Ok(self.bits_as(whole, to))
    }

    /// Between `c64` and `c128`: a part of a wide number has the bits of a narrow number.
    fn complex_bits(
        &mut self,
        operand: Node,
        to: ElementType,
        indices: &Indices,
    ) -> Built<ValueId> {
        if to == ElementType::C64 {
            let instruction = self.instruction(operand);
            let Some((part, rest)) = indices.split_last() else {
                return Err(LowerError::internal(instruction, "no dimension of parts"));
            };
            let value = self.value_at(operand, rest)?;
            let re = self.emit(ElementType::F64, Expr::Unary(UnaryOp::Real, value));
            let im = self.emit(ElementType::F64, Expr::Unary(UnaryOp::Imag, value));
            let (re, im) = (
                self.bits_as(re, ElementType::U64),
                self.bits_as(im, ElementType::U64),
            );
            let part = self.emit(ElementType::S64, Expr::Index(part.clone()));
            let is_first = Expr::Compare {
                direction: ComparisonDirection::Lt,
                order: CompareType::Signed,
                lhs: part,
                rhs: self.integer(ElementType::S64, 1),
            };
            let is_first = self.emit(ElementType::Pred, is_first);
            let chosen = Expr::Ternary(TernaryOp::Select, [is_first, re, im]);
            let chosen = self.emit(ElementType::U64, chosen);
            return Ok(self.bits_as(chosen, to));
        }
        let mut part = |number: i64| {
            let mut place = indices.clone();
            place.push(Index::constant(number));
            let value = self.value_at(operand, &place)?;
            let bits = self.bits_as(value, ElementType::U64);
            Ok::<ValueId, LowerError>(self.bits_as(bits, ElementType::F64))
        };
        let (re, im) = (part(0)?, part(1)?);
        Ok(self.emit(to, Expr::Binary(BinaryOp::Complex, re, im)))
    }

    fn bits_as(&mut self, value: ValueId, element_type: ElementType) -> ValueId {
        if self.type_of(value) == element_type {
            value
        } else {
            self.emit(element_type, Expr::BitcastConvert(value))
        }
    }

    fn gather(
        &mut self,
        node: Node,
        instruction: &Instruction,
        indices: &Indices,
    ) -> Built<ValueId> {
        let Op::Gather {
            offset_dims,
            collapsed_slice_dims,
            start_index_map,
            operand_batching_dims,
            start_indices_batching_dims,
            index_vector_dim,
            slice_sizes,
            ..
        } = &instruction.op
        else {
            return Err(LowerError::internal(instruction, "it is no gather"));
        };
        let dims = WindowDims {
            offset_dims,
            collapsed: collapsed_slice_dims,
            start_map: start_index_map,
            batching: operand_batching_dims,
            indices_batching: start_indices_batching_dims,
            index_vector_dim: *index_vector_dim,
        };
        let (operand, starts) = (self.operand(node, 0)?, self.operand(node, 1)?);
        let extents = &self.shape(operand)?.dims;
        let start_dims = self.shape(starts)?.num_dims();
        let batch = dims.batch_indices(indices);
        let mut place = dims.offsets(indices, &batch, extents.len());
        for (component, dim) in dims.start_map.iter().enumerate() {
            let dim = usize::try_from(*dim).unwrap_or(usize::MAX);
            let (Some(extent), Some(size)) = (extents.get(dim), slice_sizes.get(dim)) else {
                let message = "a dimension number is out of range";
                return Err(LowerError::internal(instruction, message));
            };
            let at = dims.index_place(&batch, start_dims, component);
            if extent > size {
                let start = self.value_at(starts, &at)?;
                let start = self.clamped_index(start, 0, extent - size);
                place[dim] = place[dim].add(&start);
            }
        }
        self.value_at(operand, &place)
    }
}

/// The unsigned integer type of this width.
/// The unsigned integer type of this width; six bits are held in eight.
fn unsigned_of_bits(bits: u32) -> Option<ElementType> {
    let bits = if bits == 6 { 8 } else { bits };
    let types = [
        ElementType::U1,
        ElementType::U2,
        ElementType::U4,
        ElementType::U8,
        ElementType::U16,
        ElementType::U32,
        ElementType::U64,
    ];
    types.into_iter().find(|ty| ty.bits() == bits)
}
