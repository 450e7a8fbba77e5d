//! Reads the values of constants straight into arrays.
//!
//! Constants may hold millions of numbers, so they are no part of the grammar: the parser finds the text
//! of a literal and this module scans it once, writing each element into the array that will hold it.
//! Commas between elements are optional, as in XLA; counts are exact at every level of braces.

mod array;
mod decimal;
mod fault;
mod float;
mod integer;
mod scanner;
#[cfg(test)]
mod tests;

use hloc_diag::Diagnostic;
use hloc_ir::{Literal, Shape};

use fault::{Fault, KIND};
use scanner::Scanner;

/// Reads the literal `text` of shape `shape`; `base` is where `text` begins in the source.
///
/// `{1, 2}` of `f32[2]` gives the array 1, 2. Layouts play no part: text is always row-major.
/// Memory is taken in proportion to the text, never to the shape.
///
/// # Errors
/// `literal-elided` for `{...}`, `literal-count` for more or fewer elements than the shape has,
/// `literal-range` for a value that the element type does not have, `literal-kind` for a value of another
/// kind or a shape without literals, `literal-syntax` for anything else. The span is the guilty token.
pub(crate) fn read_literal(text: &str, base: u32, shape: &Shape) -> Result<Literal, Diagnostic> {
    let mut scanner = Scanner::new(text, base);
    read_whole(&mut scanner, shape).map_err(|fault| *fault)
}

fn read_whole(scanner: &mut Scanner<'_>, shape: &Shape) -> Result<Literal, Fault> {
    let literal = read_shape(scanner, shape)?;
    scanner.skip_noise()?;
    if scanner.peek().is_some() {
        return Err(fault::trailing(scanner, shape));
    }
    Ok(literal)
}

fn read_shape(scanner: &mut Scanner<'_>, shape: &Shape) -> Result<Literal, Fault> {
    match shape {
        Shape::Array(array) => array::read_array(scanner, array).map(Literal::Array),
        Shape::Tuple(elements) => read_tuple(scanner, shape, elements),
        Shape::Token | Shape::Opaque | Shape::Buffer(_) => Err(scanner.fault_here(
            KIND,
            format!("a constant cannot be of shape {shape}: it has no literals"),
        )),
    }
}

fn read_tuple(
    scanner: &mut Scanner<'_>,
    shape: &Shape,
    elements: &[Shape],
) -> Result<Literal, Fault> {
    scanner.skip_noise()?;
    if scanner.peek() != Some(b'(') {
        return Err(fault::expected(
            scanner,
            &format!("`(` of a literal of {shape}"),
        ));
    }
    scanner.advance();
    let mut literals = Vec::with_capacity(elements.len().min(scanner.remaining()));
    for element in elements {
        scanner.skip_noise()?;
        if scanner.peek() == Some(b')') {
            return Err(fault::tuple_too_short(scanner, shape, literals.len()));
        }
        literals.push(read_shape(scanner, element)?);
    }
    scanner.skip_noise()?;
    if scanner.peek() != Some(b')') {
        return Err(fault::tuple_too_long(scanner, shape));
    }
    scanner.advance();
    Ok(Literal::Tuple(literals))
}
