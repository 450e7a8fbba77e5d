//! Literals written in tests.

use hloc_diag::Source;
use hloc_ir::{Literal, Op, Shape};

/// The value that `text` stands for as `shape`, read by hloc's own parser.
///
/// # Errors
/// The parser's message.
pub fn read(text: &str, shape: &Shape) -> Result<Literal, String> {
    let module = format!("HloModule literal\nENTRY e {{ ROOT c = {shape} constant({text}) }}\n");
    let source = Source::new("literal", module).map_err(|error| error.to_string())?;
    let module =
        hloc_parser::parse(&source).map_err(|diagnostics| crate::stages::messages(&diagnostics))?;
    let op = &module.entry().root().op;
    if let Op::Constant { literal } = op {
        Ok(Literal::clone(literal))
    } else {
        Err(format!("the literal became {}", op.opcode()))
    }
}

/// The literal's text, as a constant prints it.
pub fn text(literal: &Literal) -> String {
    match literal {
        Literal::Array(array) => array.to_string(),
        Literal::Tuple(elements) => {
            let parts: Vec<String> = elements.iter().map(text).collect();
            format!("({})", parts.join(", "))
        }
    }
}
