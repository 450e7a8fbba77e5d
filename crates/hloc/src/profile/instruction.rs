//! The HLO instructions behind a step, and how its time is attributed to them.

use std::collections::HashMap;

use hloc_diag::Span;
use hloc_ir::{Computation, Cost, Instruction, Module, Op, Shape};
use hloc_loops::ir::InstrRef;

use super::ProfiledInstruction;

/// An instruction of the module.
pub(super) fn get(module: &Module, of: InstrRef) -> Option<&Instruction> {
    let computation = module.computations.get(of.computation)?;
    computation.instructions.get(of.instr)
}

/// What a step computes, without parameters, constants, and what only picks from tuples.
pub(super) fn computed(module: &Module, instructions: &[InstrRef]) -> Vec<ProfiledInstruction> {
    let mut found: Vec<ProfiledInstruction> = Vec::new();
    for of in instructions {
        let Some(instruction) = get(module, *of) else {
            continue;
        };
        if let Op::Parameter { .. }
        | Op::Constant { .. }
        | Op::Tuple {}
        | Op::GetTupleElement { .. }
        | Op::Fusion { .. } = &instruction.op
        {
            continue;
        }
        let work = work(&module.computations[of.computation], instruction);
        found.push(profiled(instruction, work));
    }
    let mut found = without_copies(found);
    let all: f64 = found.iter().map(|each| each.part).sum();
    let count = found.len() as f64;
    for each in &mut found {
        each.part = if all > 0.0 {
            each.part / all
        } else {
            1.0 / count
        };
    }
    found
}

/// Fusions that were joined may each hold a copy of an instruction, which counts as one.
fn without_copies(found: Vec<ProfiledInstruction>) -> Vec<ProfiledInstruction> {
    let mut places: HashMap<(String, Span), usize> = HashMap::new();
    let mut kept: Vec<ProfiledInstruction> = Vec::new();
    for each in found {
        let place = *places
            .entry((each.name.clone(), each.span))
            .or_insert(kept.len());
        match kept.get_mut(place) {
            Some(known) => known.part += each.part,
            None => kept.push(each),
        }
    }
    kept
}

/// `part` is the work, yet to be divided by that of the whole step.
fn profiled(instruction: &Instruction, part: f64) -> ProfiledInstruction {
    let metadata = instruction.metadata();
    let told = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    ProfiledInstruction {
        name: instruction.name.to_string(),
        opcode: instruction.op.opcode().name(),
        shape: instruction.shape.to_string(),
        op_name: metadata.and_then(|metadata| told(&metadata.op_name)),
        source: metadata.and_then(|metadata| {
            let file = told(&metadata.source_file)?;
            Some(match metadata.source_line {
                0 => file,
                line => format!("{file}:{line}"),
            })
        }),
        line: None,
        part,
        span: instruction.origin.span(),
    }
}

fn elements(shape: &Shape) -> f64 {
    let arrays = shape.leaves().into_iter().filter_map(Shape::as_array);
    arrays
        .map(|array| array.num_elements().unwrap_or(0) as f64)
        .sum()
}

/// An estimate of the work of an instruction in a kernel, in cheap operations.
fn work(computation: &Computation, instruction: &Instruction) -> f64 {
    let result = elements(&instruction.shape);
    let operand = |at: usize| {
        let id = instruction.operands.get(at);
        id.map_or(0.0, |id| elements(&computation.instructions[*id].shape))
    };
    if let Op::Unary { op, .. } = &instruction.op {
        result * cost(op.cost())
    } else if let Op::Binary { op, .. } = &instruction.op {
        result * cost(op.cost())
    } else if let Op::Broadcast { .. } | Op::Iota { .. } | Op::Reshape { .. } = &instruction.op {
        0.0
    } else if let Op::Dot { .. } = &instruction.op {
        // Each term of each sum: of `[m,k]` by `[k,n]` m·n·k.
        (operand(0) * operand(1) * result).sqrt()
    } else if let Op::Reduce { .. } | Op::Sort { .. } | Op::Scatter { .. } = &instruction.op {
        operand(0).max(result)
    } else {
        result
    }
}

fn cost(cost: Cost) -> f64 {
    match cost {
        Cost::Cheap => 1.0,
        Cost::Costly => 8.0,
    }
}
