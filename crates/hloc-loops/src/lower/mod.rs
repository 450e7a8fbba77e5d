//! Lowering: from a verified module to kernels and steps.
//!
//! [`lower`] walks the entry computation once. Instructions that only rename arrays cost nothing;
//! broadcasts, iotas and scalar constants are computed where they are used; everything else becomes a
//! kernel ([`kernels`]), a library call or a control step ([`control`]). Inside a kernel, values are
//! functions of indices ([`elemental`], [`movement`], [`computing`], [`reduce`]).

mod analysis;
mod batch_norm;
mod builder;
mod computing;
mod control;
mod convolution;
mod cumulative;
mod dot;
mod elemental;
mod kernels;
mod lapack;
mod library;
mod movement;
mod order;
mod reduce;
mod refusal;
mod region;
mod scatter;
mod select_scatter;
mod stages;
mod steps;
mod sum;
#[cfg(test)]
mod tests;
mod uses;

use hloc_ir::{
    Array, ArrayShape, Computation, CustomCalls, InstrId, Instruction, Op, Shape, StructuralOp,
};
use hloc_verify::VerifiedModule;
use smallvec::SmallVec;

use crate::error::LowerError;
use crate::index::Index;
use crate::ir::{ConstantBits, Program};

/// Lowers the entry computation of a module to a program, with its buffer plan.
///
/// Each instruction becomes a kernel of its own; a fusion becomes one kernel.
///
/// # Errors
/// [`LowerError`] if the module uses an op or a form of an op that is not compiled, or is too large.
pub fn lower(module: &VerifiedModule) -> Result<Program, LowerError> {
    lower_with(module, &CustomCalls::new(), false)
}

/// As [`lower`]; custom calls of the targets in `calls` become calls of their handlers. If `joined`, kernels
/// over the same rows become one.
///
/// # Errors
/// As [`lower`].
pub fn lower_with(
    module: &VerifiedModule,
    calls: &CustomCalls,
    joined: bool,
) -> Result<Program, LowerError> {
    let mut program = steps::Lowerer::new(module, calls, joined).program()?;
    crate::buffers::plan(&mut program);
    Ok(program)
}

/// The shape of one array of a flattened shape.
fn leaf_shape(shape: &Shape, leaf: usize) -> Option<&Shape> {
    match shape {
        Shape::Array(_) if leaf == 0 => Some(shape),
        Shape::Array(_) | Shape::Tuple(_) | Shape::Token | Shape::Opaque | Shape::Buffer(_) => {
            shape.leaves().get(leaf).copied()
        }
    }
}

/// The place among all arrays of a tuple of array `leaf` of its element `index`.
fn leaf_of_tuple(shape: &Shape, index: i64, leaf: usize) -> Option<usize> {
    let index = usize::try_from(index).ok()?;
    let elements = shape.as_tuple()?.get(..index)?;
    Some(
        elements
            .iter()
            .map(|element| element.leaves().len())
            .sum::<usize>()
            + leaf,
    )
}

/// The indices at these dimension numbers, `None` if a number is out of range.
fn picked(indices: &[Index], dimensions: &[i64]) -> Option<SmallVec<[Index; 4]>> {
    let pick = |dim: &i64| indices.get(usize::try_from(*dim).ok()?).cloned();
    dimensions.iter().map(pick).collect()
}

/// The bits of an array's elements if they are all the same.
fn splat_bits(array: &Array) -> Option<ConstantBits> {
    let size = array.element_type().size();
    let (first, rest) = array.bytes().split_at_checked(size)?;
    if !rest.chunks_exact(size).all(|element| element == first) {
        return None;
    }
    let mut bytes = [0; 16];
    bytes.get_mut(..size)?.copy_from_slice(first);
    Some(ConstantBits(u128::from_le_bytes(bytes)))
}

/// Dimension numbers in the order in which they lie in memory, the slowest first.
fn major_to_minor(shape: &ArrayShape) -> Vec<usize> {
    match &shape.layout {
        Some(layout) => layout
            .minor_to_major
            .iter()
            .rev()
            .filter_map(|dim| usize::try_from(*dim).ok())
            .collect(),
        None => (0..shape.num_dims()).collect(),
    }
}

/// Whether an instruction's value is that of its first operand, with the elements in the same order.
fn passes_operand_on(computation: &Computation, instruction: &Instruction) -> bool {
    if let Op::Copy {}
    | Op::OptBarrier {}
    | Op::Domain { .. }
    | Op::AddDependency {}
    | Op::Reshape { .. } = &instruction.op
    {
        return true;
    }
    if let Op::CustomCall {
        custom_call_target, ..
    } = &instruction.op
    {
        return is_annotation(custom_call_target)
            && instruction.operands.len() == 1
            && computation.instructions[instruction.operands[0]]
                .shape
                .compatible(&instruction.shape);
    }
    if let Op::Bitcast {} = &instruction.op {
        let operand = &computation.instructions[instruction.operands[0]].shape;
        return match (operand.as_array(), instruction.shape.as_array()) {
            (Some(from), Some(to)) => {
                let in_order = |shape: &ArrayShape| major_to_minor(shape).is_sorted();
                from.element_type == to.element_type && in_order(from) && in_order(to)
            }
            _ => false,
        };
    }
    false
}

/// Custom calls that only note how an array is to be spread over devices.
fn is_annotation(target: &str) -> bool {
    ["Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape"].contains(&target)
}

/// Whether an instruction is computed again at each use rather than stored.
fn is_virtual(instruction: &Instruction) -> bool {
    if let Op::Constant { literal } = &instruction.op {
        return literal
            .as_array()
            .is_some_and(|array| splat_bits(array).is_some());
    }
    let (Op::Broadcast { .. } | Op::Iota { .. } | Op::PartitionId { .. } | Op::ReplicaId {}) =
        &instruction.op
    else {
        return false;
    };
    true
}

/// The operands that an instruction reads at the very indices of its own element.
fn same_index_operands(computation: &Computation, instr: InstrId) -> SmallVec<[InstrId; 3]> {
    let instruction = &computation.instructions[instr];
    let is_same_index = match &instruction.op.opcode() {
        hloc_ir::Opcode::Unary(_) | hloc_ir::Opcode::Binary(_) | hloc_ir::Opcode::Ternary(_) => {
            true
        }
        hloc_ir::Opcode::Structural(op) => [
            StructuralOp::Compare,
            StructuralOp::Convert,
            StructuralOp::BitcastConvert,
            StructuralOp::Copy,
            StructuralOp::OptBarrier,
            StructuralOp::ReducePrecision,
            StructuralOp::Map,
        ]
        .contains(op),
    };
    let Some(shape) = instruction.shape.as_array().filter(|_| is_same_index) else {
        return SmallVec::new();
    };
    let has_same_dims = |operand: &&InstrId| {
        let operand = &computation.instructions[**operand].shape;
        operand
            .as_array()
            .is_some_and(|operand| operand.same_dims(shape))
    };
    let operands = instruction.operands.iter().filter(has_same_dims);
    operands.copied().collect()
}

/// Whether an array has no elements, so that nothing is to be done for it.
fn is_empty(shape: &ArrayShape) -> bool {
    shape.dims.contains(&0)
}

/// Where an instruction's operand `at` is, for errors that cannot happen in verified modules.
fn operand_id(instruction: &Instruction, at: usize) -> Result<InstrId, LowerError> {
    instruction
        .operands
        .get(at)
        .copied()
        .ok_or_else(|| LowerError::internal(instruction, format!("it has no operand {at}")))
}
