//! Tables of the documentation that are written from the code.

use std::fmt::Write;

use hloc_ir::{Opcode, Support};

/// Where a table stands in a document: between `<!-- begin NAME -->` and `<!-- end NAME -->`.
///
/// # Errors
/// A document without both marks.
pub fn with_table(document: &str, name: &str, table: &str) -> Result<String, String> {
    let (begin, end) = (
        format!("<!-- begin {name} -->\n"),
        format!("<!-- end {name} -->"),
    );
    let start = document
        .find(&begin)
        .ok_or_else(|| format!("no mark {begin}"))?
        + begin.len();
    let stop = document[start..]
        .find(&end)
        .ok_or_else(|| format!("no mark {end}"))?
        + start;
    Ok(format!(
        "{}{table}{}",
        &document[..start],
        &document[stop..]
    ))
}

/// How far each opcode is supported, a row per degree.
pub fn support_summary() -> String {
    let mut table = String::from("| status | opcodes | |\n|---|---|---|\n");
    for (support, meaning) in [
        (Support::Full, "full: read, verified, evaluated, compiled"),
        (
            Support::Partial,
            "partial: some forms are refused when compiling",
        ),
        (
            Support::Checked,
            "checked: read, printed and verified; compiling is refused",
        ),
    ] {
        let names: Vec<String> = Opcode::all()
            .filter(|op| op.support() == support)
            .map(|op| format!("`{op}`"))
            .collect();
        writeln!(
            table,
            "| {meaning} | {} | {} |",
            names.len(),
            names.join(" ")
        )
        .expect("writing to a string does not fail");
    }
    table
}

/// Every opcode with operands, attributes and accuracy.
pub fn opcode_table() -> String {
    let mut table = String::from(
        "| opcode | operands | attributes | status | what it does |\n|---|---|---|---|---|\n",
    );
    for op in Opcode::all() {
        let arity = op.arity();
        let operands = match (arity.min, arity.max) {
            (min, usize::MAX) => format!("{min} or more"),
            (min, max) if min == max => min.to_string(),
            (min, max) => format!("{min} to {max}"),
        };
        let name = |spec: &hloc_ir::AttrSpec| {
            if spec.required {
                format!("**{}**", spec.name)
            } else {
                spec.name.to_owned()
            }
        };
        let attributes: Vec<String> = op.attributes().iter().map(name).collect();
        let doc = op.doc().replace('\n', " ").replace('|', "\\|");
        let status = op.support().name();
        writeln!(
            table,
            "| `{op}` | {operands} | {} | {status} | {doc} |",
            attributes.join(", ")
        )
        .expect("writing to a string does not fail");
    }
    table
}
