//! `dot` as a library call.

use hloc_ir::{ArrayShape, Computation, ElementType, InstrId, Instruction, Op};

use super::builder::Built;
use super::operand_id;
use super::region::{Leaves, Region};
use super::steps::Lowerer;
use crate::error::LowerError;
use crate::ir::{DotCall, InstrRef, LibraryCall, LibraryStep, Step};

/// Products per dot below which a loop nest is as fast as a library call.
const SMALL_DOT: i64 = 512;

impl<'m> Lowerer<'m> {
    /// A matrix product by the library, or a loop nest where that has no routine or is no faster.
    pub(super) fn dot(
        &mut self,
        region: &mut Region<'m>,
        id: InstrId,
        instruction: &'m Instruction,
    ) -> Built<Leaves> {
        let Some(call) = library_call(region.computation, instruction) else {
            return self.single(region, id);
        };
        let Some(result) = instruction.shape.as_array() else {
            return Err(LowerError::internal(instruction, "a dot gives a tuple"));
        };
        let inputs = vec![
            self.materialize(region, operand_id(instruction, 0)?, 0)?,
            self.materialize(region, operand_id(instruction, 1)?, 0)?,
        ];
        let (output, leaf) = self.output(region, id, 0, result);
        self.push(
            instruction,
            Step::Library(LibraryStep {
                call: LibraryCall::Dot(Box::new(call)),
                inputs,
                outputs: vec![output],
                span: instruction.origin.span(),
                instruction: Some(InstrRef {
                    computation: region.id,
                    instr: id,
                }),
            }),
        )?;
        Ok(Leaves::from_iter([leaf]))
    }
}

/// The library call for an instruction, `None` if it is no dot or a loop nest serves it better.
pub(super) fn library_call(
    computation: &Computation,
    instruction: &Instruction,
) -> Option<DotCall> {
    let Op::Dot {
        lhs_batch_dims,
        lhs_contracting_dims,
        rhs_batch_dims,
        rhs_contracting_dims,
        ..
    } = &instruction.op
    else {
        return None;
    };
    let array = |at: usize| {
        let operand = instruction.operands.get(at)?;
        computation.instructions[*operand].shape.as_array()
    };
    let (lhs, rhs, result) = (array(0)?, array(1)?, instruction.shape.as_array()?);
    let extent = |dim: &i64| lhs.dims.get(usize::try_from(*dim).ok()?).copied();
    let terms: i64 = lhs_contracting_dims.iter().filter_map(extent).product();
    let products = result.num_elements()?.saturating_mul(terms);
    if products < SMALL_DOT || !has_routine(lhs, rhs, result) {
        return None;
    }
    let plain = |shape: &ArrayShape| ArrayShape::new(shape.element_type, &shape.dims);
    Some(DotCall {
        lhs: plain(lhs),
        rhs: plain(rhs),
        result: plain(result),
        lhs_batch: lhs_batch_dims.to_vec(),
        rhs_batch: rhs_batch_dims.to_vec(),
        lhs_contracting: lhs_contracting_dims.to_vec(),
        rhs_contracting: rhs_contracting_dims.to_vec(),
    })
}

/// Whether the library has a routine for these element types.
fn has_routine(lhs: &ArrayShape, rhs: &ArrayShape, result: &ArrayShape) -> bool {
    const FLOATS: [ElementType; 4] = [
        ElementType::F16,
        ElementType::BF16,
        ElementType::F32,
        ElementType::F64,
    ];
    const COMPLEX: [ElementType; 2] = [ElementType::C64, ElementType::C128];
    let (from, to) = (lhs.element_type, result.element_type);
    let is_wider_or_same = from == to || from.bits() < to.bits();
    let same_class = [FLOATS.as_slice(), COMPLEX.as_slice()]
        .iter()
        .any(|class| class.contains(&from) && class.contains(&to));
    from == rhs.element_type && same_class && is_wider_or_same
}
