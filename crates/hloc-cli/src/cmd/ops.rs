//! `hloc ops`: the table of opcodes.

use clap::Args;
use hloc_ir::{AttrSpec, Opcode, StructuralOp, Support};

use crate::failure::Status;
use crate::options::EXIT_STATUSES;
use crate::output::{aligned, print};

const HELP: &str = "Examples:
  hloc ops
  hloc ops --markdown

";

/// Arguments of `hloc ops`.
#[derive(Debug, Args)]
#[command(after_help = format!("{HELP}{EXIT_STATUSES}"))]
pub(crate) struct OpsArgs {
    /// As a Markdown table.
    #[arg(long)]
    markdown: bool,
}

const HEADER: [&str; 6] = [
    "opcode",
    "operands",
    "element types",
    "ulp",
    "support",
    "attributes",
];

pub(crate) fn run(args: &OpsArgs) -> anyhow::Result<Status> {
    let text = if args.markdown {
        markdown()
    } else {
        aligned(&rows())
    };
    print(&text)?;
    Ok(Status::Fine)
}

fn rows() -> Vec<Vec<String>> {
    let mut opcodes: Vec<Opcode> = Opcode::all().collect();
    opcodes.sort_by_key(|opcode| opcode.name());
    let header = HEADER.iter().map(|cell| (*cell).to_owned()).collect();
    std::iter::once(header)
        .chain(opcodes.into_iter().map(row))
        .collect()
}

fn row(opcode: Opcode) -> Vec<String> {
    vec![
        opcode.name().to_owned(),
        operands(opcode),
        element_types(opcode),
        accuracy(opcode),
        opcode.support().name().to_owned(),
        attributes(opcode.attributes()),
    ]
}

fn operands(opcode: Opcode) -> String {
    let arity = opcode.arity();
    if arity.max == usize::MAX {
        format!("{}+", arity.min)
    } else if arity.min == arity.max {
        arity.min.to_string()
    } else {
        format!("{}-{}", arity.min, arity.max)
    }
}

/// Names, optional ones in brackets.
fn attributes(specs: &[AttrSpec]) -> String {
    let name = |spec: &AttrSpec| {
        if spec.required {
            spec.name.to_owned()
        } else {
            format!("[{}]", spec.name)
        }
    };
    let names: Vec<String> = specs.iter().map(name).collect();
    or_dash(names.join(", "))
}

fn element_types(opcode: Opcode) -> String {
    match opcode {
        Opcode::Unary(op) => op.domain().describe().to_owned(),
        Opcode::Binary(op) => op.domain().describe().to_owned(),
        Opcode::Ternary(op) => op.domain().describe().to_owned(),
        Opcode::Structural(StructuralOp::Parameter | StructuralOp::Constant) => {
            "any element type".to_owned()
        }
        Opcode::Structural(_) => or_dash(String::new()),
    }
}

/// Worst error of a compiled result; exact ones are `0`.
fn accuracy(opcode: Opcode) -> String {
    match opcode {
        Opcode::Unary(op) => op.ulp().to_string(),
        Opcode::Binary(op) => op.ulp().to_string(),
        Opcode::Ternary(op) => op.ulp().to_string(),
        Opcode::Structural(_) => or_dash(String::new()),
    }
}

fn or_dash(text: String) -> String {
    if text.is_empty() {
        "-".to_owned()
    } else {
        text
    }
}

/// The table with a summary, for documents.
fn markdown() -> String {
    let mut text = summary();
    text.push('\n');
    for (at, row) in rows().iter().enumerate() {
        text.push_str(&format!("| {} |\n", row.join(" | ")));
        if at == 0 {
            text.push_str(&format!("|{}\n", "---|".repeat(row.len())));
        }
    }
    text
}

fn summary() -> String {
    let count = |support| {
        let opcodes = Opcode::all();
        opcodes.filter(|opcode| opcode.support() == support).count()
    };
    format!(
        "{} opcodes: {} compile in all forms, {} in some, {} are read, printed and checked.\n",
        Opcode::all().count(),
        count(Support::Full),
        count(Support::Partial),
        count(Support::Checked)
    )
}

#[cfg(test)]
mod tests {
    use super::{markdown, rows};

    #[test]
    fn every_opcode_has_one_full_row() {
        let rows = rows();
        assert_eq!(rows.len(), 134);
        assert!(rows.iter().all(|row| row.len() == 6));
        let add = rows.iter().find(|row| row[0] == "add").expect("add");
        assert_eq!(add[1..5], ["2", "any element type", "0", "full"]);
        assert_eq!(add[5], "[broadcast_dimensions]");
    }

    #[test]
    fn markdown_is_a_table() {
        assert!(markdown().contains("\n|---|---|---|---|---|---|\n"));
    }
}
