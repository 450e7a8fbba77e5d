//! Shapes and layouts.

use hloc_diag::{Diagnostic, Span};
use hloc_ir::{ArrayShape, Dimensions, ElementType, Layout, ProgramShape, Shape};

use crate::Parsed;
use crate::grammar::{Node, Rule};
use crate::limits::MAX_DIMS;
use crate::split::Cursor;
use crate::suggest::{closest, did_you_mean};
use crate::values;

/// The shape that a `shape`, `literal_shape` or one of their alternatives matched.
///
/// The depth of the text was limited before it was matched.
pub(crate) fn shape<'t>(cursor: &Cursor<'t>, node: Node<'t>) -> Parsed<Shape> {
    let rule = node.as_rule();
    if rule == Rule::shape || rule == Rule::literal_shape {
        return shape(cursor, values::only_child(node));
    }
    if rule == Rule::tuple_shape {
        let elements = node.into_inner().map(|element| shape(cursor, element));
        return Ok(Shape::Tuple(elements.collect::<Parsed<_>>()?));
    }
    if rule == Rule::buffer_shape {
        let inner = shape(cursor, values::only_child(node))?;
        return Ok(Shape::Buffer(Box::new(inner)));
    }
    if rule == Rule::plain_array {
        return plain_array(cursor, node.as_str());
    }
    leaf(cursor, node)
}

/// `f32[2,3]{1,0}`: the shape that `text` spells in the form of the rule `plain_array`.
pub(crate) fn plain_array<'t>(cursor: &Cursor<'t>, text: &'t str) -> Parsed<Shape> {
    let span = cursor.span_of_text(text);
    let (name, rest) = text.split_once('[').unwrap_or((text, "]"));
    let (dims, layout) = rest.split_once(']').unwrap_or((rest, ""));
    let element_type = match ElementType::from_name(name) {
        Some(element_type) => element_type,
        None => return other_type(name, rest == "]", span),
    };
    let mut array = ArrayShape::new(element_type, &[]);
    for dim in dims.split(',').filter(|dim| !dim.is_empty()) {
        push_static(dim, &mut array, cursor.span_of_text(dim))?;
    }
    let layout = layout.trim_matches(['{', '}']);
    if !layout.is_empty() {
        let minor_to_major = layout
            .split(',')
            .map(|dim| values::integer_text(dim, span))
            .collect::<Parsed<_>>()?;
        array.layout = checked_layout(minor_to_major, "", &array, span)?;
    }
    Ok(Shape::Array(array))
}

/// `token[]` and `opaque[]`, which have neither dimensions nor a layout.
fn other_type(name: &str, is_bare: bool, span: Span) -> Parsed<Shape> {
    let special = match name {
        "token" => Shape::Token,
        "opaque" => Shape::Opaque,
        _ => return Err(unknown_type(name, span)),
    };
    if is_bare {
        return Ok(special);
    }
    let message = format!("`{name}` takes neither dimensions nor a layout");
    Err(Box::new(Diagnostic::error("shape-form", message, span)))
}

/// An array, `token[]` or `opaque[]`.
fn leaf<'t>(cursor: &Cursor<'t>, node: Node<'t>) -> Parsed<Shape> {
    let whole = cursor.span_of(&node);
    let mut children = node.into_inner();
    let name = children.next().map_or("", |name| name.as_str());
    let Some(element_type) = ElementType::from_name(name) else {
        return other_type(name, children.next().is_none(), whole);
    };
    let mut array = ArrayShape::new(element_type, &[]);
    let mut layout = None;
    for child in children {
        if child.as_rule() == Rule::layout {
            layout = Some(child);
        } else {
            push_dimension(cursor, child, &mut array)?;
        }
    }
    array.layout = match layout {
        Some(layout) => self::layout(cursor, layout, &array)?,
        None => None,
    };
    Ok(Shape::Array(array))
}

fn unknown_type(name: &str, whole: Span) -> Box<Diagnostic> {
    let end = whole.start + u32::try_from(name.len()).unwrap_or(0);
    let message = format!("unknown element type `{name}`");
    let mut error = Diagnostic::error("unknown-type", message, Span::new(whole.start, end));
    let lower = name.to_ascii_lowercase();
    let names = ElementType::ALL
        .iter()
        .map(|ty| ty.name())
        .chain(["token", "opaque"]);
    if let Some(near) = closest(&lower, names) {
        error = error.with_help(did_you_mean(near));
    }
    Box::new(error)
}

fn push_dimension<'t>(cursor: &Cursor<'t>, node: Node<'t>, array: &mut ArrayShape) -> Parsed<()> {
    let span = cursor.span_of(&node);
    check_room(array, span)?;
    let form = values::only_child(node);
    let rule = form.as_rule();
    if rule != Rule::integer {
        array.dynamic |= 1 << array.dims.len();
    }
    if rule == Rule::unbounded {
        array.dims.push(ArrayShape::UNBOUNDED);
        return Ok(());
    }
    let digits = if rule == Rule::bounded {
        values::only_child(form)
    } else {
        form
    };
    push_static(digits.as_str(), array, span)
}

fn check_room(array: &ArrayShape, span: Span) -> Parsed<()> {
    if array.dims.len() < MAX_DIMS {
        return Ok(());
    }
    let message = format!("an array has at most {MAX_DIMS} dimensions");
    Err(Box::new(Diagnostic::error(
        "too-many-dimensions",
        message,
        span,
    )))
}

fn push_static(digits: &str, array: &mut ArrayShape, span: Span) -> Parsed<()> {
    check_room(array, span)?;
    let size = digits.parse::<i64>().ok().filter(|size| *size >= 0);
    let Some(size) = size else {
        let message = format!(
            "a dimension is an integer from 0 to {}, not {digits}",
            i64::MAX
        );
        return Err(Box::new(Diagnostic::error("dimension-size", message, span)));
    };
    array.dims.push(size);
    Ok(())
}

/// The layout, which has to have as many dimensions as the array; see [`checked_layout`].
fn layout<'t>(
    cursor: &Cursor<'t>,
    node: Node<'t>,
    array: &ArrayShape,
) -> Parsed<Option<Box<Layout>>> {
    let span = cursor.span_of(&node);
    let mut minor_to_major = Dimensions::new();
    let mut suffixes = String::new();
    for child in node.into_inner() {
        if child.as_rule() == Rule::integer {
            minor_to_major.push(values::integer(cursor, &child)?);
        } else {
            suffixes = dense(child.as_str());
            check_physical_shape(cursor, child)?;
        }
    }
    checked_layout(minor_to_major, &suffixes, array, span)
}

/// The layout; `None` for row-major without further parts, which is the same as none written.
fn checked_layout(
    minor_to_major: Dimensions,
    suffixes: &str,
    array: &ArrayShape,
    span: Span,
) -> Parsed<Option<Box<Layout>>> {
    if minor_to_major.len() != array.num_dims() {
        let message = format!(
            "the layout names {} dimensions but {array} has {}",
            minor_to_major.len(),
            array.num_dims()
        );
        return Err(Box::new(Diagnostic::error("layout-length", message, span)));
    }
    let layout = Layout {
        minor_to_major,
        suffixes: suffixes.into(),
    };
    Ok((!layout.is_default()).then(|| Box::new(layout)))
}

/// A physical shape inside a layout is kept as text, but it has to be one.
fn check_physical_shape<'t>(cursor: &Cursor<'t>, suffixes: Node<'t>) -> Parsed<()> {
    for suffix in suffixes.into_inner() {
        if suffix.as_rule() == Rule::physical_shape {
            shape(cursor, values::only_child(suffix))?;
        }
    }
    Ok(())
}

/// The text without white space and comments: layouts hold no words that need a blank between them.
fn dense(text: &str) -> String {
    let mut dense = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let comment_end = if rest.starts_with("/*") {
            rest.find("*/").map(|end| end + 2)
        } else if rest.starts_with("//") {
            rest.find('\n')
        } else {
            Some(0)
        };
        let skip = comment_end.unwrap_or(rest.len());
        if skip > 0 {
            rest = &rest[skip..];
            continue;
        }
        if !first.is_ascii_whitespace() {
            dense.push(first);
        }
        rest = &rest[first.len_utf8()..];
    }
    dense
}

/// Shapes with the result last, of signatures and `entry_computation_layout`.
pub(crate) fn program_shape<'t>(
    cursor: &Cursor<'t>,
    shapes: impl Iterator<Item = Node<'t>>,
) -> Parsed<ProgramShape> {
    let mut parameters = shapes
        .map(|node| shape(cursor, node))
        .collect::<Parsed<Vec<_>>>()?;
    let result = parameters
        .pop()
        .expect("the grammar demands a result shape");
    Ok(ProgramShape { parameters, result })
}

#[cfg(test)]
mod tests {
    use super::shape;
    use crate::grammar::Rule;
    use crate::split::Cursor;

    fn read(text: &str) -> Result<String, String> {
        let mut cursor = Cursor::new(text);
        let node = cursor
            .take_shallow(Rule::shape)
            .map_err(|error| error.code.to_string())?;
        let shape = shape(&cursor, node).map_err(|error| error.code.to_string())?;
        Ok(format!("{}{}", shape.with_layout(), cursor.rest()))
    }

    #[test]
    fn reads_every_form_of_shape() {
        for same in [
            "f32[]",
            "f32[2,3]{0,1}",
            "(f32[2]{0}, (), token[])",
            "b(f32[3]{0})",
            "f32[<=3,?]{1,0}",
            "f32[]{:S(5)}",
            "s4[2,2]{1,0:T(8,128)(2,1)L(2)#(u32)*(u8)E(4)S(3)SC(0:4,8)P(f32[2]{0})M(4)}",
            "f32[2]{0:D(D+~)}",
        ] {
            assert_eq!(read(same).as_deref(), Ok(same));
        }
        assert_eq!(
            read("f32 [ 2 , /*c*/3 ] { 1 , 0 : S( 5 ) }").as_deref(),
            Ok("f32[2,3]{1,0:S(5)}")
        );
        assert_eq!(read("f32[2] x").as_deref(), Ok("f32[2]{0} x"));
    }

    #[test]
    fn refuses_wrong_shapes() {
        for (text, code) in [
            ("F32[]", "unknown-type"),
            ("f32[-1]", "dimension-size"),
            ("f32[9223372036854775808]", "dimension-size"),
            ("f32[2]{1,0}", "layout-length"),
            ("f32[?<=5]", "syntax-error"),
            ("token[2]", "shape-form"),
            ("(f32[]", "unexpected-end"),
        ] {
            assert_eq!(read(text), Err(code.to_owned()), "{text}");
        }
        let many = format!("f32[{}1]", "1,".repeat(64));
        assert_eq!(read(&many), Err("too-many-dimensions".to_owned()));
        let deep = format!("{}f32[]", "(".repeat(100_000));
        assert_eq!(read(&deep), Err("nesting-too-deep".to_owned()));
    }
}
