//! Index functions of ops that sum or combine: `reduce` and the loop form of `dot`.
//!
//! How the terms of sums are grouped is in [`super::sum`].

use hloc_ir::attr::{Window, WindowDim};
use hloc_ir::{BinaryOp, ComputationId, InstrId, Instruction, Op};

use super::builder::{Builder, Built, Indices, Node};
use super::sum::{COLUMN_BLOCK, ROW_BLOCK, accumulator, loops};
use crate::error::LowerError;
use crate::index::{Bounds, Index};
use crate::ir::{Expr, IndexRange, LoopKind, ValueId};

impl<'a> Builder<'a> {
    /// An element of a `reduce`: loops over the reduced dimensions around the reducer's scalar code.
    pub(super) fn reduce(
        &mut self,
        node: Node,
        dimensions: &[i64],
        to_apply: ComputationId,
        indices: &Indices,
    ) -> Built<ValueId> {
        let count = self.instruction(node).operands.len() / 2;
        if dimensions.is_empty() {
            // Nothing is combined: the operand itself, without the initial value.
            let input = self.operand(node, node.leaf)?;
            return self.value_at(input, indices);
        }
        let input = self.operand(node, 0)?;
        let dims = self.shape(input)?.dims.to_vec();
        let is_reduced = |dim: usize| dimensions.contains(&(dim as i64));
        let extents: Vec<i64> = (0..dims.len())
            .filter(|dim| is_reduced(*dim))
            .map(|dim| dims[dim])
            .collect();
        let place = |vars: &[Index]| -> Indices {
            let (mut vars, mut kept) = (vars.iter(), indices.iter());
            (0..dims.len())
                .filter_map(|dim| {
                    if is_reduced(dim) {
                        vars.next().cloned()
                    } else {
                        kept.next().cloned()
                    }
                })
                .collect()
        };
        let mut init = Vec::new();
        for at in 0..count {
            let operand = self.operand(node, count + at)?;
            init.push(self.value_at(operand, &[])?);
        }
        if extents.contains(&0) {
            return Ok(init[node.leaf]);
        }
        let op = if count == 1 {
            self.single_op(to_apply)
        } else {
            None
        };
        if let Some(BinaryOp::Add) = op {
            let element_type = self.type_of(init[0]);
            let mut term =
                |builder: &mut Builder<'a>, vars: &[Index]| builder.value_at(input, &place(vars));
            let block = sum_block(&dims, dimensions);
            return self.sum(element_type, &extents, block, Some(init[0]), &mut term);
        }
        let results = self.combine(node, to_apply, op, &extents, init, &place)?;
        for (leaf, value) in results.iter().enumerate() {
            self.remember(Node { leaf, ..node }, indices, *value);
        }
        Ok(results[node.leaf])
    }

    /// Combines all elements in order with the reducer's code.
    fn combine(
        &mut self,
        node: Node,
        to_apply: ComputationId,
        op: Option<BinaryOp>,
        extents: &[i64],
        init: Vec<ValueId>,
        place: &dyn Fn(&[Index]) -> Indices,
    ) -> Built<Vec<ValueId>> {
        let types: Vec<_> = init.iter().map(|value| self.type_of(*value)).collect();
        // A product of many narrow floats is rounded once.
        let wide = match op {
            Some(BinaryOp::Multiply) => accumulator(types[0]),
            Some(_) | None => types[0],
        };
        let kind = if op.is_some() {
            LoopKind::Vector
        } else {
            LoopKind::Serial
        };
        let start = if op.is_some() {
            vec![self.converted(init[0], wide)]
        } else {
            init
        };
        let mut body = |builder: &mut Builder<'a>, vars: &[Index], current: &[ValueId]| {
            let place = place(vars);
            let mut args = current.to_vec();
            for at in 0..current.len() {
                let input = builder.operand(node, at)?;
                args.push(builder.value_at(input, &place)?);
            }
            match op {
                Some(op) => {
                    let element = builder.converted(args[1], wide);
                    Ok(vec![builder.emit(wide, Expr::Binary(op, args[0], element))])
                }
                None => builder.apply(to_apply, &args),
            }
        };
        let results = self.nest(&loops(extents, kind), start, &mut body)?;
        if results.len() != types.len() {
            let message = "the reducer gives another number of values";
            return Err(LowerError::internal(self.instruction(node), message));
        }
        let pairs = results.into_iter().zip(types);
        Ok(pairs.map(|(value, ty)| self.converted(value, ty)).collect())
    }

    /// An element of a `reduce-window`: loops over the window; places outside the base change nothing.
    pub(super) fn reduce_window(
        &mut self,
        node: Node,
        window: &Window,
        to_apply: ComputationId,
        indices: &Indices,
    ) -> Built<ValueId> {
        let count = self.instruction(node).operands.len() / 2;
        let input = self.operand(node, 0)?;
        let dims = self.shape(input)?.dims.to_vec();
        let mut init = Vec::new();
        for at in 0..count {
            let operand = self.operand(node, count + at)?;
            init.push(self.value_at(operand, &[])?);
        }
        let types: Vec<_> = init.iter().map(|value| self.type_of(*value)).collect();
        let op = self.single_op(to_apply).filter(|_| count == 1);
        let wide = op.map(|_| accumulator(types[0]));
        if let Some(wide) = wide {
            init[0] = self.converted(init[0], wide);
        }
        let sizes: Vec<i64> = window.0.iter().map(|dim| dim.size).collect();
        let mut body = |builder: &mut Builder<'a>, vars: &[Index], current: &[ValueId]| {
            let (place, ranges) = window_place(window, &dims, indices, vars, builder);
            let current = current.to_vec();
            let unchanged = current.clone();
            builder.if_in_range(
                ranges,
                &mut |builder| {
                    let divided =
                        |(index, dim): (&Index, &WindowDim)| index.div(dim.base_dilation, builder);
                    let place: Indices = place.iter().zip(&window.0).map(divided).collect();
                    let mut args = current.clone();
                    for at in 0..count {
                        let input = builder.operand(node, at)?;
                        args.push(builder.value_at(input, &place)?);
                    }
                    match (op, wide) {
                        (Some(op), Some(wide)) => {
                            let element = builder.converted(args[1], wide);
                            let next = Expr::Binary(op, args[0], element);
                            Ok(vec![builder.emit(wide, next)])
                        }
                        (Some(_) | None, _) => builder.apply(to_apply, &args),
                    }
                },
                &mut |_| Ok(unchanged.clone()),
            )
        };
        let results = self.nest(&loops(&sizes, LoopKind::Serial), init, &mut body)?;
        for (leaf, (value, element_type)) in results.iter().zip(types).enumerate() {
            let value = self.converted(*value, element_type);
            self.remember(Node { leaf, ..node }, indices, value);
        }
        self.recall(node, indices).ok_or_else(|| {
            let message = "the reducer gives another number of values";
            LowerError::internal(self.instruction(node), message)
        })
    }

    /// The op if the reducer is that op alone, applied to both parameters, and free to be regrouped.
    pub(super) fn single_op(&self, to_apply: ComputationId) -> Option<BinaryOp> {
        let computation = &self.module.computations[to_apply];
        let root = computation.root();
        let Op::Binary { op, .. } = &root.op else {
            return None;
        };
        let is_parameter =
            |id: &InstrId| matches!(computation.instructions[*id].op, Op::Parameter { .. });
        let takes_both = root.operands.len() == 2
            && root.operands[0] != root.operands[1]
            && root.operands.iter().all(is_parameter);
        let is_free = match op {
            BinaryOp::Add
            | BinaryOp::Multiply
            | BinaryOp::Maximum
            | BinaryOp::Minimum
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Xor => true,
            BinaryOp::Atan2
            | BinaryOp::Complex
            | BinaryOp::Divide
            | BinaryOp::Mulhi
            | BinaryOp::Power
            | BinaryOp::Remainder
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRightArithmetic
            | BinaryOp::ShiftRightLogical
            | BinaryOp::Subtract => false,
        };
        (takes_both && is_free).then_some(*op)
    }

    /// An element of a `dot`: a loop over the contracting dimensions.
    pub(super) fn dot(
        &mut self,
        node: Node,
        instruction: &Instruction,
        indices: &Indices,
    ) -> Built<ValueId> {
        let Op::Dot {
            lhs_batch_dims,
            lhs_contracting_dims,
            rhs_batch_dims,
            rhs_contracting_dims,
            ..
        } = &instruction.op
        else {
            return Err(LowerError::internal(instruction, "it is no dot"));
        };
        let (lhs, rhs) = (self.operand(node, 0)?, self.operand(node, 1)?);
        let element_type = self.shape(node)?.element_type;
        let product_type = accumulator(element_type);
        let lhs_dims = self.shape(lhs)?.dims.to_vec();
        let rhs_dims = self.shape(rhs)?.dims.to_vec();
        let lhs_free = lhs_dims.len() - lhs_batch_dims.len() - lhs_contracting_dims.len();
        let num_batch = lhs_batch_dims.len();
        let (batch, free) = indices.split_at(num_batch.min(indices.len()));
        let (left, right) = free.split_at(lhs_free.min(free.len()));
        let extents: Vec<i64> = lhs_contracting_dims
            .iter()
            .filter_map(|dim| lhs_dims.get(usize::try_from(*dim).ok()?).copied())
            .collect();
        if extents.contains(&0) {
            return Ok(self.zero(element_type));
        }
        let mut term = |builder: &mut Builder<'a>, vars: &[Index]| {
            let at = operand_place(
                lhs_dims.len(),
                lhs_batch_dims,
                batch,
                lhs_contracting_dims,
                vars,
                left,
            );
            let lhs = builder.value_at(lhs, &at)?;
            let at = operand_place(
                rhs_dims.len(),
                rhs_batch_dims,
                batch,
                rhs_contracting_dims,
                vars,
                right,
            );
            let rhs = builder.value_at(rhs, &at)?;
            let (lhs, rhs) = (
                builder.converted(lhs, product_type),
                builder.converted(rhs, product_type),
            );
            Ok(builder.emit(product_type, Expr::Binary(BinaryOp::Multiply, lhs, rhs)))
        };
        self.sum(element_type, &extents, ROW_BLOCK, None, &mut term)
    }
}

/// Where a window element lies in the dilated base, and what must hold for it to be an element there.
pub(super) fn window_place(
    window: &Window,
    dims: &[i64],
    indices: &[Index],
    vars: &[Index],
    bounds: &dyn Bounds,
) -> (Vec<Index>, Vec<IndexRange>) {
    let mut ranges = Vec::new();
    let mut place = Vec::new();
    for (((window, size), index), var) in window.0.iter().zip(dims).zip(indices).zip(vars) {
        let element = if window.reversal {
            var.times(-1).plus(window.size - 1)
        } else {
            var.clone()
        };
        let at = index
            .times(window.stride)
            .add(&element.times(window.window_dilation))
            .plus(-window.pad_low);
        if window.base_dilation > 1 {
            ranges.push(IndexRange {
                index: at.rem(window.base_dilation, bounds),
                low: 0,
                high: 1,
            });
        }
        ranges.push(IndexRange {
            index: at.clone(),
            low: 0,
            high: if *size == 0 {
                0
            } else {
                (size - 1) * window.base_dilation + 1
            },
        });
        place.push(at);
    }
    (place, ranges)
}

/// The indices of a dot operand: its batch, contracting and free dimensions each from their list.
fn operand_place(
    num_dims: usize,
    batch_dims: &[i64],
    batch: &[Index],
    contracting_dims: &[i64],
    contracting: &[Index],
    free: &[Index],
) -> Indices {
    let mut free = free.iter();
    let mut index = |dim: usize| {
        let dim = dim as i64;
        let listed = |dims: &[i64], indices: &[Index]| {
            let at = dims.iter().position(|other| *other == dim)?;
            indices.get(at).cloned()
        };
        listed(batch_dims, batch)
            .or_else(|| listed(contracting_dims, contracting))
            .or_else(|| free.next().cloned())
            .unwrap_or_default()
    };
    (0..num_dims).map(&mut index).collect()
}

/// The terms of a block of a sum over `dimensions` of an array of sizes `dims`.
pub(super) fn sum_block(dims: &[i64], dimensions: &[i64]) -> i64 {
    let innermost = dims.iter().rposition(|dim| *dim > 1);
    match innermost {
        Some(dim) if !dimensions.contains(&(dim as i64)) => COLUMN_BLOCK,
        Some(_) | None => ROW_BLOCK,
    }
}
