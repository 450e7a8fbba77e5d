//! A module's entry computation in Graphviz's language.

use std::fmt::Write;

use hloc_ir::{Instruction, Module, Opcode, StructuralOp};

/// The entry as a graph: a node for each instruction, an arrow from each operand to its user.
pub(crate) fn graph(module: &Module) -> String {
    let entry = module.entry();
    let mut text = format!("digraph {} {{\n", quoted(&entry.name));
    text.push_str("  node [shape=box, style=filled, fillcolor=white, fontname=\"monospace\"];\n");
    for (id, instruction) in entry.instructions.iter() {
        let bold = if id == entry.root { ", penwidth=3" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "  {id} [label={}, fillcolor={}{bold}];",
            quoted(&label(module, instruction)),
            color(instruction.op.opcode())
        );
        for operand in &instruction.operands {
            let _ = writeln!(text, "  {operand} -> {id};");
        }
    }
    text.push_str("}\n");
    text
}

/// Name, opcode and shape; of a fusion also what it does.
fn label(module: &Module, instruction: &Instruction) -> String {
    let opcode = instruction.op.opcode();
    let mut label = format!("{}\n{opcode} {}", instruction.name, instruction.shape);
    if opcode == Opcode::Structural(StructuralOp::Fusion) {
        for called in instruction.op.called_computations() {
            let inside = module.computations[called].instructions.values();
            let names = inside
                .map(|each| each.op.opcode())
                .filter(|opcode| *opcode != Opcode::Structural(StructuralOp::Parameter))
                .map(|opcode| opcode.name());
            label.push('\n');
            label.push_str(&names.collect::<Vec<_>>().join(" "));
        }
    }
    label
}

fn color(opcode: Opcode) -> &'static str {
    match opcode {
        Opcode::Unary(_) | Opcode::Binary(_) | Opcode::Ternary(_) => "lightyellow",
        Opcode::Structural(StructuralOp::Parameter) => "lightblue",
        Opcode::Structural(StructuralOp::Constant) => "lightgray",
        Opcode::Structural(StructuralOp::Fusion) => "palegreen",
        Opcode::Structural(_) => "white",
    }
}

/// In quotes, with Graphviz's escapes.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", escaped.replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::graph;

    #[test]
    fn operands_point_to_users() {
        let text = "ENTRY e { x = f32[2] parameter(0) ROOT y = f32[2] negate(x) }";
        let parsed = hloc::Compiler::new().parse("t", text).expect("valid");
        assert_eq!(
            graph(&parsed.value),
            "digraph \"e\" {
  node [shape=box, style=filled, fillcolor=white, fontname=\"monospace\"];
  i0 [label=\"x\\nparameter f32[2]\", fillcolor=lightblue];
  i1 [label=\"y\\nnegate f32[2]\", fillcolor=lightyellow, penwidth=3];
  i0 -> i1;
}
"
        );
    }
}
