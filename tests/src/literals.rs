//! Literals written in tests.

use hloc_diag::Source;
use hloc_ir::{Literal, Op, Shape};

/// The value that `text` stands for as `shape`, read by hloc's own parser.
///
/// # Errors
/// The parser's message.
pub fn read(text: &str, shape: &Shape) -> Result<Literal, String> {
    // A literal has the sizes that are written, whatever the bounds of dynamic dimensions.
    let shape = sized(shape, &Nested::read(&mut text.chars().peekable()));
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

/// What is written in braces and parentheses.
#[derive(Default)]
struct Nested(Vec<Nested>);

impl Nested {
    fn read(text: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Nested {
        let mut parts = Nested::default();
        while text.next_if(|c| c.is_whitespace()).is_some() {}
        if text.next_if(|c| "{(".contains(*c)).is_none() {
            while text.next_if(|c| !"{}(),".contains(*c)).is_some() {}
            return parts;
        }
        loop {
            while text.next_if(|c| c.is_whitespace() || *c == ',').is_some() {}
            if text.next_if(|c| "})".contains(*c)).is_some() || text.peek().is_none() {
                return parts;
            }
            parts.0.push(Nested::read(text));
        }
    }
}

/// The shape with the sizes that are written.
fn sized(shape: &Shape, written: &Nested) -> Shape {
    match shape {
        Shape::Array(array) if array.dynamic != 0 => {
            let mut dims = array.dims.clone();
            let mut part = Some(written);
            for dim in &mut dims {
                *dim = part.map_or(0, |part| part.0.len() as i64);
                part = part.and_then(|part| part.0.first());
            }
            Shape::array(array.element_type, &dims)
        }
        Shape::Tuple(elements) => {
            let parts = elements.iter().zip(&written.0);
            Shape::Tuple(parts.map(|(shape, part)| sized(shape, part)).collect())
        }
        Shape::Array(_) | Shape::Token | Shape::Opaque | Shape::Buffer(_) => shape.clone(),
    }
}

/// The literal's text, as a constant prints it.
pub fn text(literal: &Literal) -> String {
    hloc_ir::print_literal(literal)
}
