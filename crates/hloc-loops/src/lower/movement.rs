//! Index functions of the ops that move elements: the index changes, the value does not.

use hloc_ir::attr::{PaddingDim, SliceDim};
use hloc_ir::{ArrayShape, ElementType, Instruction, Layout, Op, Shape};

use super::builder::{Builder, Built, Indices, Node};
use super::elemental::Small;
use super::{leaf_of_tuple, picked};
use crate::error::LowerError;
use crate::index::{Index, delinearized, linear_index};
use crate::ir::{ConstantBits, Expr, IndexRange, ValueId};

impl Builder<'_> {
    /// The ops that are not element-wise scalar ops.
    pub(super) fn structural(
        &mut self,
        node: Node,
        instruction: &Instruction,
        indices: &Indices,
    ) -> Built<ValueId> {
        if let Some(value) = self.renaming(node, instruction, indices)? {
            return Ok(value);
        }
        if let Op::Broadcast { dimensions } = &instruction.op {
            let operand = self.operand(node, 0)?;
            let indices = picked(indices, dimensions).ok_or_else(|| {
                LowerError::internal(instruction, "a dimension number is out of range")
            })?;
            self.value_at(operand, &indices)
        } else if let Op::Reshape { .. } = &instruction.op {
            self.reshape(node, indices)
        } else if let Op::Bitcast {} = &instruction.op {
            self.bitcast(node, indices)
        } else if let Op::Transpose { dimensions } = &instruction.op {
            self.transpose(node, dimensions, indices)
        } else if let Op::Slice { slice } = &instruction.op {
            let place = |(index, dim): (&Index, &SliceDim)| index.times(dim.stride).plus(dim.start);
            let indices: Indices = indices.iter().zip(slice).map(place).collect();
            let operand = self.operand(node, 0)?;
            self.value_at(operand, &indices)
        } else if let Op::Reverse { dimensions } = &instruction.op {
            self.reverse(node, dimensions, indices)
        } else if let Op::Pad { padding } = &instruction.op {
            self.pad(node, padding, indices)
        } else if let Op::Concatenate { dimensions } = &instruction.op {
            self.concatenate(node, dimensions, indices)
        } else if let Op::Iota { iota_dimension } = &instruction.op {
            self.iota(node, *iota_dimension, indices)
        } else if let Op::DynamicSlice { .. } = &instruction.op {
            self.dynamic_slice(node, indices)
        } else if let Op::DynamicUpdateSlice {} = &instruction.op {
            self.dynamic_update_slice(node, indices)
        } else {
            self.computing(node, instruction, indices)
        }
    }

    /// Ops that only pass a value on.
    fn renaming(
        &mut self,
        node: Node,
        instruction: &Instruction,
        indices: &Indices,
    ) -> Built<Option<ValueId>> {
        let source = if let Op::Parameter { number } = &instruction.op {
            return self.parameter(node, *number, indices).map(Some);
        } else if let Op::Constant { literal } = &instruction.op {
            return self.constant(node, literal, indices).map(Some);
        } else if let Op::Tuple {} = &instruction.op {
            self.tuple_leaf(node)?
        } else if let Op::GetTupleElement { index } = &instruction.op {
            let computation = &self.module.computations[self.computation_of(node)];
            let tuple = self.operand(node, 0)?;
            let shape = &computation.instructions[tuple.instr].shape;
            let leaf = leaf_of_tuple(shape, *index, node.leaf).ok_or_else(|| {
                LowerError::internal(instruction, "the tuple has no such element")
            })?;
            Node { leaf, ..tuple }
        } else if let Op::Copy {} | Op::OptBarrier {} | Op::Domain { .. } | Op::AddDependency {} =
            &instruction.op
        {
            self.operand_leaf(node, 0, node.leaf)?
        } else if let Op::Call { to_apply, .. } = &instruction.op {
            self.callee_leaf(node, *to_apply)
        } else if let Op::Fusion { calls, .. } = &instruction.op {
            self.callee_leaf(node, *calls)
        } else {
            return Ok(None);
        };
        self.value_at(source, indices).map(Some)
    }

    fn callee_leaf(&mut self, node: Node, computation: hloc_ir::ComputationId) -> Node {
        let frame = self.call_with_operands(node, computation);
        Node {
            frame,
            instr: self.module.computations[computation].root,
            leaf: node.leaf,
        }
    }

    /// The operand of a `tuple` that gives one of its arrays.
    pub(super) fn tuple_leaf(&self, node: Node) -> Built<Node> {
        let computation = &self.module.computations[self.computation_of(node)];
        let mut leaf = node.leaf;
        for operand in &self.instruction(node).operands {
            let leaves = computation.instructions[*operand].shape.leaves().len();
            if leaf < leaves {
                return Ok(Node {
                    frame: node.frame,
                    instr: *operand,
                    leaf,
                });
            }
            leaf -= leaves;
        }
        Err(LowerError::internal(
            self.instruction(node),
            "the tuple has fewer arrays",
        ))
    }

    /// Dimensions are split and joined in groups of equal size, so that indices outside stay as they are.
    fn reshape(&mut self, node: Node, indices: &Indices) -> Built<ValueId> {
        let operand = self.operand(node, 0)?;
        let (from, to) = (&self.shape(operand)?.dims, &self.shape(node)?.dims);
        let indices = self.reshaped(indices, to, from);
        self.value_at(operand, &indices)
    }

    /// The indices into an array of sizes `from` of the element at `indices` of its reshape to `to`.
    fn reshaped(&self, indices: &[Index], to: &[i64], from: &[i64]) -> Indices {
        let mut result = Indices::new();
        let (mut at_to, mut at_from) = (0, 0);
        while at_from < from.len() || at_to < to.len() {
            let (mut end_to, mut end_from) = (at_to, at_from);
            let (mut size_to, mut size_from) = (1i64, 1i64);
            loop {
                if size_to == size_from && (end_to > at_to || end_from > at_from) {
                    break;
                }
                if end_from < from.len() && (size_from <= size_to || end_to == to.len()) {
                    size_from = size_from.saturating_mul(from[end_from]);
                    end_from += 1;
                } else if end_to < to.len() {
                    size_to = size_to.saturating_mul(to[end_to]);
                    end_to += 1;
                } else {
                    break;
                }
            }
            let position = linear_index(&indices[at_to..end_to], &to[at_to..end_to]);
            result.extend(delinearized(&position, &from[at_from..end_from], self));
            (at_to, at_from) = (end_to, end_from);
        }
        result
    }

    /// The same bytes under another shape: positions in memory agree, which layouts give.
    fn bitcast(&mut self, node: Node, indices: &Indices) -> Built<ValueId> {
        let operand = self.operand(node, 0)?;
        let (from, to) = (self.shape(operand)?, self.shape(node)?);
        let dense = |shape: &ArrayShape| shape.layout.as_deref().is_none_or(Layout::is_dense);
        let is_array = self.instruction(node).shape.as_array().is_some();
        let same_width = from.element_type.bits() == to.element_type.bits();
        if !is_array || !same_width || !dense(from) || !dense(to) {
            let laid_out = |shape: &ArrayShape| {
                let shape = Shape::Array(shape.clone());
                shape.with_layout().to_string()
            };
            return Err(LowerError::unsupported(
                self.instruction(node),
                format!("a bitcast from {} to {}", laid_out(from), laid_out(to)),
            ));
        }
        let (order_to, order_from) = (super::major_to_minor(to), super::major_to_minor(from));
        let pick = |order: &[usize], dims: &[i64]| -> Vec<i64> {
            order.iter().map(|dim| dims[*dim]).collect()
        };
        let physical: Indices = order_to.iter().map(|dim| indices[*dim].clone()).collect();
        let moved = self.reshaped(
            &physical,
            &pick(&order_to, &to.dims),
            &pick(&order_from, &from.dims),
        );
        let mut result: Indices = (0..moved.len()).map(|_| Index::constant(0)).collect();
        for (index, dim) in moved.into_iter().zip(order_from) {
            result[dim] = index;
        }
        let value = self.value_at(operand, &result)?;
        Ok(if from.element_type == to.element_type {
            value
        } else {
            self.emit(to.element_type, Expr::BitcastConvert(value))
        })
    }

    fn transpose(&mut self, node: Node, dimensions: &[i64], indices: &Indices) -> Built<ValueId> {
        let mut moved: Indices = indices.clone();
        for (index, dim) in indices.iter().zip(dimensions) {
            let place = usize::try_from(*dim)
                .ok()
                .and_then(|dim| moved.get_mut(dim));
            match place {
                Some(place) => *place = index.clone(),
                None => {
                    let message = "a dimension number is out of range";
                    return Err(LowerError::internal(self.instruction(node), message));
                }
            }
        }
        let operand = self.operand(node, 0)?;
        self.value_at(operand, &moved)
    }

    fn reverse(&mut self, node: Node, dimensions: &[i64], indices: &Indices) -> Built<ValueId> {
        let dims = &self.shape(node)?.dims;
        let turn = |(dim, index): (usize, &Index)| {
            if dimensions.contains(&(dim as i64)) {
                index.times(-1).plus(dims[dim] - 1)
            } else {
                index.clone()
            }
        };
        let indices: Indices = indices.iter().enumerate().map(turn).collect();
        let operand = self.operand(node, 0)?;
        self.value_at(operand, &indices)
    }

    fn pad(&mut self, node: Node, padding: &[PaddingDim], indices: &Indices) -> Built<ValueId> {
        let (operand, value) = (self.operand(node, 0)?, self.operand(node, 1)?);
        let dims = &self.shape(operand)?.dims;
        let mut ranges = Vec::new();
        for ((index, pad), dim) in indices.iter().zip(padding).zip(dims) {
            let moved = index.plus(-pad.low);
            let step = pad.interior + 1;
            if step > 1 {
                ranges.push(IndexRange {
                    index: moved.rem(step, self),
                    low: 0,
                    high: 1,
                });
            }
            ranges.push(IndexRange {
                index: moved,
                low: 0,
                high: if *dim == 0 { 0 } else { (dim - 1) * step + 1 },
            });
        }
        let values = self.if_in_range(
            ranges,
            &mut |builder| {
                let place = |(index, pad): (&Index, &PaddingDim)| {
                    index.plus(-pad.low).div(pad.interior + 1, builder)
                };
                let inner: Indices = indices.iter().zip(padding).map(place).collect();
                Ok(vec![builder.value_at(operand, &inner)?])
            },
            &mut |builder| Ok(vec![builder.value_at(value, &[])?]),
        )?;
        Ok(values[0])
    }

    fn concatenate(&mut self, node: Node, dimensions: &[i64], indices: &Indices) -> Built<ValueId> {
        let (dim, pieces) = self.pieces(node, dimensions)?;
        self.concatenated(&pieces, dim, indices)
    }

    /// The dimension of a `concatenate`, and its operands that have elements with where each begins.
    pub(super) fn pieces(
        &self,
        node: Node,
        dimensions: &[i64],
    ) -> Built<(usize, Vec<(Node, i64)>)> {
        let instruction = self.instruction(node);
        let dim = dimensions
            .first()
            .and_then(|dim| usize::try_from(*dim).ok())
            .ok_or_else(|| LowerError::internal(instruction, "it has no dimension"))?;
        let mut pieces = Vec::new();
        let mut begin = 0;
        for at in 0..instruction.operands.len() {
            let operand = self.operand(node, at)?;
            let size = self.shape(operand)?.dims.get(dim).copied();
            let size =
                size.ok_or_else(|| LowerError::internal(instruction, "it has no such dimension"))?;
            if size > 0 {
                pieces.push((operand, begin));
            }
            begin += size;
        }
        Ok((dim, pieces))
    }

    /// Halves the pieces until one is left: conditions as deep as the logarithm of their number.
    pub(super) fn concatenated(
        &mut self,
        pieces: &[(Node, i64)],
        dim: usize,
        indices: &Indices,
    ) -> Built<ValueId> {
        if let [(operand, begin)] = pieces {
            let mut indices = indices.clone();
            indices[dim] = indices[dim].plus(-begin);
            return self.value_at(*operand, &indices);
        }
        let (first, second) = pieces.split_at(pieces.len() / 2);
        let (Some((_, low)), Some((_, middle))) = (first.first(), second.first()) else {
            let (node, _) = pieces[0];
            return Err(LowerError::internal(self.instruction(node), "no piece"));
        };
        let range = IndexRange {
            index: indices[dim].clone(),
            low: *low,
            high: *middle,
        };
        let values = self.if_in_range(
            vec![range],
            &mut |builder| Ok(vec![builder.concatenated(first, dim, indices)?]),
            &mut |builder| Ok(vec![builder.concatenated(second, dim, indices)?]),
        )?;
        Ok(values[0])
    }

    fn iota(&mut self, node: Node, dimension: i64, indices: &Indices) -> Built<ValueId> {
        let index = usize::try_from(dimension)
            .ok()
            .and_then(|dim| indices.get(dim));
        let index = index
            .cloned()
            .ok_or_else(|| LowerError::internal(self.instruction(node), "it has no dimension"))?;
        let element_type = self.shape(node)?.element_type;
        Ok(self.emit(element_type, Expr::Index(index)))
    }

    /// The starts of a dynamic slice, moved so that a block of `sizes` lies in the operand.
    pub(super) fn dynamic_starts(
        &mut self,
        node: Node,
        first: usize,
        sizes: &[i64],
    ) -> Built<Indices> {
        let operand = self.operand(node, 0)?;
        let dims = &self.shape(operand)?.dims;
        let starts = self.operand(node, first);
        let mut result = Indices::new();
        for (dim, (size, extent)) in sizes.iter().zip(dims).enumerate() {
            if size >= extent {
                result.push(Index::constant(0));
                continue;
            }
            // Old programs give all starts as one array.
            let as_array = match &starts {
                Ok(node) => self.shape(*node)?.num_dims() == 1,
                Err(_) => false,
            };
            let start = if as_array {
                self.value_at(starts.clone()?, &[Index::constant(dim as i64)])?
            } else {
                let start = self.operand(node, first + dim)?;
                self.value_at(start, &[])?
            };
            result.push(self.clamped_index(start, 0, extent - size));
        }
        Ok(result)
    }

    fn dynamic_slice(&mut self, node: Node, indices: &Indices) -> Built<ValueId> {
        let sizes = self.shape(node)?.dims.to_vec();
        let starts = self.dynamic_starts(node, 1, &sizes)?;
        let operand = self.operand(node, 0)?;
        let indices: Indices = indices
            .iter()
            .zip(&starts)
            .map(|(index, start)| index.add(start))
            .collect();
        self.value_at(operand, &indices)
    }

    fn dynamic_update_slice(&mut self, node: Node, indices: &Indices) -> Built<ValueId> {
        let (operand, update) = (self.operand(node, 0)?, self.operand(node, 1)?);
        let sizes = self.shape(update)?.dims.to_vec();
        let starts = self.dynamic_starts(node, 2, &sizes)?;
        let moved: Indices = indices
            .iter()
            .zip(&starts)
            .map(|(index, start)| index.add(&start.times(-1)))
            .collect();
        let ranges = moved
            .iter()
            .zip(&sizes)
            .map(|(index, size)| IndexRange {
                index: index.clone(),
                low: 0,
                high: *size,
            })
            .collect();
        let values = self.if_in_range(
            ranges,
            &mut |builder| Ok(vec![builder.value_at(update, &moved)?]),
            &mut |builder| Ok(vec![builder.value_at(operand, indices)?]),
        )?;
        Ok(values[0])
    }

    /// A zero of a type, as a value.
    pub(super) fn zero(&mut self, element_type: ElementType) -> ValueId {
        self.small_constant(element_type, Small::Zero)
    }

    /// A small non-negative integer of an unsigned type.
    pub(super) fn integer(&mut self, element_type: ElementType, number: u32) -> ValueId {
        self.emit(
            element_type,
            Expr::Constant(ConstantBits(u128::from(number))),
        )
    }
}
