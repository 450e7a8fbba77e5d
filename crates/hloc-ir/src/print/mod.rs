//! Modules as HLO text.
//!
//! The text is canonical: reading it gives an equal module, and printing that gives the same text. It
//! has the form of JAX's lowered text: no `%`, layouts on results, operands by name, one instruction
//! a line, constants in full.
//!
//! Text goes into one growing `String`; elements of constants are written there without a detour.

mod attribute;
mod common;
mod header;
mod literal;
mod number;
mod text;

use std::fmt::{self, Write};

use crate::{
    Computation, ComputationId, Id, InstrId, Instruction, Module, Op, ProgramShape, Shape,
};

pub use literal::print_literal;

use literal::write_literal;
use text::{push_joined, push_name, push_string};

/// The whole module as HLO text, ending with a line break.
///
/// Ids that point nowhere, which only a faulty pass makes, print as `?i7`.
pub fn print_module(module: &Module) -> String {
    let mut out = String::new();
    header::write_header(&mut out, module);
    for id in module.computations.ids() {
        out.push('\n');
        write_computation(&mut out, module, id);
    }
    out
}

/// One computation of a module as HLO text, ending with a line break; `ENTRY` stands before the entry.
pub fn print_computation(module: &Module, computation: ComputationId) -> String {
    let mut out = String::new();
    write_computation(&mut out, module, computation);
    out
}

/// One instruction as HLO text without indentation: `ROOT sum = f32[2]{0} add(x, y)`.
pub fn print_instruction(
    module: &Module,
    computation: ComputationId,
    instruction: InstrId,
) -> String {
    let mut out = String::new();
    match module.computations.get(computation) {
        Some(parent) => write_instruction(&mut out, module, parent, instruction),
        None => push_computation_name(&mut out, module, computation),
    }
    out
}

impl fmt::Display for Module {
    /// As [`print_module`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print_module(self))
    }
}

fn write_computation(out: &mut String, module: &Module, id: ComputationId) {
    let Some(computation) = module.computations.get(id) else {
        push_computation_name(out, module, id);
        return;
    };
    if id == module.entry {
        out.push_str("ENTRY ");
    }
    push_name(out, &computation.name);
    if let Some(signature) = &computation.signature {
        write_signature(out, computation, signature);
    }
    out.push_str(" {\n");
    for instruction in computation.instructions.ids() {
        out.push_str("  ");
        write_instruction(out, module, computation, instruction);
        out.push('\n');
    }
    out.push('}');
    if let Some(thread) = &computation.execution_thread {
        out.push_str(", execution_thread=");
        push_string(out, thread);
    }
    out.push('\n');
}

/// ` (x: f32[2], y: s32[]) -> f32[2]`.
fn write_signature(out: &mut String, computation: &Computation, signature: &ProgramShape) {
    out.push_str(" (");
    let parameters = signature.parameters.iter().enumerate();
    push_joined(out, ", ", parameters, |out, (number, shape)| {
        let parameter = computation.parameters.get(number);
        match parameter.and_then(|id| computation.instructions.get(*id)) {
            Some(parameter) => push_name(out, &parameter.name),
            None => push_display(out, format_args!("p{number}")),
        }
        out.push_str(": ");
        write_signature_shape(out, shape);
    });
    out.push_str(") -> ");
    write_signature_shape(out, &signature.result);
}

/// Signatures leave out row-major layouts.
fn write_signature_shape(out: &mut String, shape: &Shape) {
    let has_layout = |leaf: &&Shape| leaf.as_array().is_some_and(|array| array.layout.is_some());
    if shape.leaves().iter().any(has_layout) {
        push_display(out, shape.with_layout());
    } else {
        push_display(out, shape);
    }
}

fn write_instruction(out: &mut String, module: &Module, computation: &Computation, id: InstrId) {
    let Some(instruction) = computation.instructions.get(id) else {
        push_instruction_name(out, computation, id);
        return;
    };
    if id == computation.root {
        out.push_str("ROOT ");
    }
    push_name(out, &instruction.name);
    out.push_str(" = ");
    push_display(out, instruction.shape.with_layout());
    out.push(' ');
    out.push_str(instruction.op.opcode().name());
    out.push('(');
    write_operands(out, computation, instruction);
    out.push(')');
    for (name, value) in instruction.op.attribute_values() {
        attribute::write_attribute(out, module, name, &value);
    }
    if let Some(attributes) = &instruction.attributes {
        common::write_common(out, computation, attributes);
    }
}

/// What stands in the parentheses: operands, or the payload of a parameter or a constant.
fn write_operands(out: &mut String, computation: &Computation, instruction: &Instruction) {
    if let Op::Parameter { number } = &instruction.op {
        push_display(out, number);
    } else if let Op::Constant { literal } = &instruction.op {
        write_literal(out, literal);
    } else {
        push_joined(out, ", ", &instruction.operands, |out, operand| {
            push_instruction_name(out, computation, *operand);
        });
    }
}

fn push_instruction_name(out: &mut String, computation: &Computation, id: InstrId) {
    match computation.instructions.get(id) {
        Some(instruction) => push_name(out, &instruction.name),
        None => push_display(out, format_args!("?i{}", id.index())),
    }
}

fn push_computation_name(out: &mut String, module: &Module, id: ComputationId) {
    match module.computations.get(id) {
        Some(computation) => push_name(out, &computation.name),
        None => push_display(out, format_args!("?c{}", id.index())),
    }
}

fn push_display(out: &mut String, value: impl fmt::Display) {
    write!(out, "{value}").expect("a string takes any text");
}

#[cfg(test)]
mod tests {
    use super::{print_instruction, print_module};
    use crate::words::ComparisonDirection;
    use crate::{
        Arena, Array, BinaryOp, CommonAttributes, Computation, Id, Instruction, Metadata, Module,
        ModuleAttributes, Op, Shape, StackTables,
    };
    use hloc_tensor::ElementType;

    /// `main(x, true) = x < 1` with a name that needs `%`.
    fn module() -> Module {
        let (array, scalar) = (
            Shape::array(ElementType::F32, &[2, 3]),
            Shape::scalar(ElementType::F32),
        );
        let mut main = Computation::new("main");
        let x = main.push(Instruction::new(
            "true",
            Op::Parameter { number: 0 },
            &[],
            array.clone(),
        ));
        let one = main.push(Instruction::new(
            "one",
            Op::Constant {
                literal: Array::scalar(1f32).into(),
            },
            &[],
            scalar,
        ));
        let mut broadcast = Instruction::new(
            "ones",
            Op::Broadcast { dimensions: vec![] },
            &[one],
            array.clone(),
        );
        broadcast.attributes = Some(Box::new(CommonAttributes {
            control_predecessors: vec![x],
            metadata: Some(Metadata {
                op_name: "jit(f)/\"lt\"".into(),
                source_line: 3,
                ..Metadata::default()
            }),
            ..CommonAttributes::default()
        }));
        let ones = main.push(broadcast);
        let sum = main.push(Instruction::new(
            "sum",
            Op::binary(BinaryOp::Add),
            &[x, ones],
            array,
        ));
        main.root = main.push(Instruction::new(
            "less",
            Op::Compare {
                direction: ComparisonDirection::Lt,
                compare_type: None,
                broadcast_dimensions: None,
            },
            &[x, sum],
            Shape::array(ElementType::Pred, &[2, 3]),
        ));
        Module {
            name: "jit_f".into(),
            attributes: ModuleAttributes {
                entry_computation_layout: Some(main.program_shape()),
                ..ModuleAttributes::default()
            },
            stack: StackTables::default(),
            computations: Arena::from_iter([main]),
            entry: Id::from_index(0),
        }
    }

    #[test]
    fn a_module_looks_as_jax_prints_it() {
        let expected = "\
HloModule jit_f, entry_computation_layout={(f32[2,3]{1,0})->pred[2,3]{1,0}}

ENTRY main {
  %true = f32[2,3]{1,0} parameter(0)
  one = f32[] constant(1)
  ones = f32[2,3]{1,0} broadcast(one), dimensions={}, control-predecessors={%true}, \
metadata={op_name=\"jit(f)/\\\"lt\\\"\" source_line=3}
  sum = f32[2,3]{1,0} add(%true, ones)
  ROOT less = pred[2,3]{1,0} compare(%true, sum), direction=LT
}
";
        assert_eq!(print_module(&module()), expected);
        assert_eq!(module().to_string(), expected);
    }

    #[test]
    fn faulty_ids_print_without_panic() {
        let mut module = module();
        let main = &mut module.computations[Id::from_index(0)];
        main.instructions[Id::from_index(3)].operands[1] = Id::from_index(70);
        let text = print_instruction(&module, Id::from_index(0), Id::from_index(3));
        assert_eq!(text, "sum = f32[2,3]{1,0} add(%true, ?i70)");
        assert_eq!(
            print_instruction(&module, Id::from_index(9), Id::from_index(0)),
            "?c9"
        );
    }

    #[test]
    fn signatures_and_threads_are_kept() {
        let mut module = module();
        let main = &mut module.computations[Id::from_index(0)];
        main.signature = Some(main.program_shape());
        main.execution_thread = Some("host".into());
        let text = print_module(&module);
        assert!(text.contains("ENTRY main (%true: f32[2,3]) -> pred[2,3] {\n"));
        assert!(text.ends_with("\n}, execution_thread=\"host\"\n"));
    }
}
