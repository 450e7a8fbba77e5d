//! What can be wrong with a literal, in words.

use hloc_diag::Diagnostic;
use hloc_ir::{ArrayShape, ElementClass, ElementType, Shape};

use super::scanner::Scanner;

/// An error on its way out; boxed because every element's reading may return one.
pub(super) type Fault = Box<Diagnostic>;

/// The text is no literal.
pub(super) const SYNTAX: &str = "literal-syntax";
/// More or fewer elements than the shape has.
pub(super) const COUNT: &str = "literal-count";
/// The element type has no such value.
pub(super) const RANGE: &str = "literal-range";
/// The value is of another kind than the element type.
pub(super) const KIND: &str = "literal-kind";
/// `{...}` stands for elements that were left out.
const ELIDED: &str = "literal-elided";

/// Longest piece of the text that a message repeats.
const MAX_QUOTED: usize = 40;

/// The text in back quotes, shortened.
pub(super) fn quoted(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED) {
        Some((at, _)) => format!("`{}…`", &text[..at]),
        None => format!("`{text}`"),
    }
}

/// The error for something else than `what`; says so if elements were left out.
#[cold]
pub(super) fn expected(scanner: &Scanner<'_>, what: &str) -> Fault {
    if let Some(fault) = elided(scanner) {
        return fault;
    }
    let start = scanner.pos();
    let end = scanner.token_end(start);
    if start == end {
        return scanner.fault(
            SYNTAX,
            start,
            end,
            format!("expected {what}, but the literal ends"),
        );
    }
    let found = quoted(scanner.slice(start, end));
    scanner.fault(
        SYNTAX,
        start,
        end,
        format!("expected {what}, found {found}"),
    )
}

/// The error for `{...}` or `...` here, if that is what stands here.
#[cold]
pub(super) fn elided(scanner: &Scanner<'_>) -> Option<Fault> {
    let start = scanner.pos();
    let rest = scanner.rest();
    let braces = usize::from(rest.first() == Some(&b'{'));
    let blanks = rest[braces..]
        .iter()
        .take_while(|byte| byte.is_ascii_whitespace())
        .count();
    let dots = braces + blanks;
    if !rest[dots..].starts_with(b"...") {
        return None;
    }
    let closing = usize::from(braces == 1 && rest.get(dots + 3) == Some(&b'}'));
    let mut fault = scanner.fault(
        ELIDED,
        start,
        start + dots + 3 + closing,
        "the elements of this constant were left out when the text was printed",
    );
    fault.help.extend([
        "lowered text has them: `jax.jit(f).lower(...).as_text('hlo')`".to_owned(),
        "for compiled text set `HloPrintOptions.print_large_constants = True` and print with \
         `hlo_modules()[0].to_string(options)`"
            .to_owned(),
        "XLA's dumps have them with `--xla_dump_large_constants=true`".to_owned(),
    ]);
    Some(fault)
}

/// Text behind a complete literal.
#[cold]
pub(super) fn trailing(scanner: &Scanner<'_>, shape: &Shape) -> Fault {
    if let Some(fault) = elided(scanner) {
        return fault;
    }
    let (start, end) = (scanner.pos(), scanner.token_end(scanner.pos()));
    let found = quoted(scanner.slice(start, end));
    let scalar = shape.as_array().is_some_and(ArrayShape::is_scalar);
    let message = if scalar {
        format!("{shape} has one element, but {found} follows it")
    } else {
        format!("the literal of {shape} is complete, but {found} follows it")
    };
    scanner.fault(COUNT, start, end, message)
}

#[cold]
pub(super) fn tuple_too_short(scanner: &Scanner<'_>, shape: &Shape, given: usize) -> Fault {
    let wanted = shape.as_tuple().map_or(0, <[Shape]>::len);
    scanner.fault_here(
        COUNT,
        format!("the tuple {shape} has {wanted} elements, but the literal gives {given}"),
    )
}

#[cold]
pub(super) fn tuple_too_long(scanner: &Scanner<'_>, shape: &Shape) -> Fault {
    if scanner.peek().is_none() {
        return expected(scanner, &format!("`)` behind the elements of {shape}"));
    }
    let wanted = shape.as_tuple().map_or(0, <[Shape]>::len);
    scanner.fault_here(
        COUNT,
        format!("the tuple {shape} has {wanted} elements, but the literal gives more"),
    )
}

/// The error for a token that is no value of `element_type`.
#[cold]
pub(super) fn bad_value(scanner: &Scanner<'_>, start: usize, element_type: ElementType) -> Fault {
    let end = scanner.token_end(start);
    let token = scanner.slice(start, end);
    let found = quoted(token);
    let word = matches!(token, "true" | "false");
    let number = fast_float2::parse::<f64, _>(token).is_ok()
        && token.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    let floating = number || matches!(token, "nan" | "-nan" | "inf" | "-inf");
    let class = element_type.class();
    let message = match class {
        ElementClass::Predicate if floating => {
            format!("{found} is no value of pred: write `true`, `false` or an integer")
        }
        ElementClass::Signed | ElementClass::Unsigned if floating => {
            format!("{found} is a float, but the elements are {element_type}")
        }
        ElementClass::Signed | ElementClass::Unsigned | ElementClass::Float if word => {
            format!("{found} is a value of pred, but the elements are {element_type}")
        }
        ElementClass::Complex if word || floating => {
            let help = "write complex numbers as `(re, im)`";
            let message = format!("{found} is no value of {element_type}: {help}");
            return scanner.fault(KIND, start, end, message);
        }
        ElementClass::Predicate
        | ElementClass::Signed
        | ElementClass::Unsigned
        | ElementClass::Float
        | ElementClass::Complex => {
            return expected(scanner, &format!("a value of {element_type}"));
        }
    };
    scanner.fault(KIND, start, end, message)
}
