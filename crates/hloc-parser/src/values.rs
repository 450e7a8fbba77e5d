//! Values made of single tokens: numbers, truth values, strings, words.

use hloc_diag::{Diagnostic, Span};

use crate::Parsed;
use crate::grammar::{Node, Rule};
use crate::split::Cursor;

/// The single part of a rule that has exactly one.
pub(crate) fn only_child(node: Node<'_>) -> Node<'_> {
    node.into_inner()
        .next()
        .expect("the grammar demands a part here")
}

/// A 64-bit integer: from −2^63 to 2^63 − 1, and up to 2^64 − 1 with the bits kept (−1).
///
/// # Errors
/// `integer-range`.
pub(crate) fn integer<'t>(cursor: &Cursor<'t>, node: &Node<'t>) -> Parsed<i64> {
    integer_text(node.as_str(), cursor.span_of(node))
}

/// Like [`integer`], of text that is known to be an integer.
pub(crate) fn integer_text(text: &str, span: Span) -> Parsed<i64> {
    let wrapped = |_| text.parse::<u64>().map(u64::cast_signed);
    text.parse::<i64>().or_else(wrapped).map_err(|_| {
        let message = format!("{} does not fit in 64 bits", abridged(text));
        Box::new(Diagnostic::error("integer-range", message, span))
    })
}

fn abridged(text: &str) -> String {
    match text.get(..30) {
        Some(start) if text.len() > 30 => format!("{start}…"),
        _ => text.to_owned(),
    }
}

/// The integers among the parts of `node`.
pub(crate) fn integers<'t>(cursor: &Cursor<'t>, node: Node<'t>) -> Parsed<Vec<i64>> {
    node.into_inner()
        .map(|item| integer(cursor, &item))
        .collect()
}

/// `true` or `false`.
pub(crate) fn boolean(node: &Node<'_>) -> bool {
    node.as_str() == "true"
}

/// The truth values among the parts of `node`.
pub(crate) fn booleans(node: Node<'_>) -> Vec<bool> {
    node.into_inner().map(|item| boolean(&item)).collect()
}

/// A number of an attribute, as f64.
///
/// # Errors
/// `number-range` if it is finite and rounds to infinity.
pub(crate) fn number<'t>(cursor: &Cursor<'t>, node: &Node<'t>) -> Parsed<f64> {
    let text = node.as_str();
    let value = match text.trim_start_matches('-') {
        "inf" => f64::INFINITY,
        "nan" => f64::NAN,
        digits => fast_float2::parse::<f64, _>(digits).unwrap_or(f64::NAN),
    };
    if value.is_infinite() && !text.ends_with("inf") {
        let message = format!("{} does not fit in f64", abridged(text));
        return Err(Box::new(Diagnostic::error(
            "number-range",
            message,
            cursor.span_of(node),
        )));
    }
    Ok(if text.starts_with('-') { -value } else { value })
}

/// A quoted string without quotes and escapes.
///
/// # Errors
/// `string-escape` for an escape that C does not have; `string-encoding` if the bytes are not UTF-8.
pub(crate) fn string<'t>(cursor: &Cursor<'t>, node: &Node<'t>) -> Parsed<Box<str>> {
    debug_assert!(node.as_rule() == Rule::string, "only strings have quotes");
    let quoted = node.as_str();
    let span = cursor.span_of(node);
    let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or("");
    if !inner.contains('\\') {
        return Ok(inner.into());
    }
    let bytes = unescaped(inner.as_bytes()).map_err(|escape| {
        let message = format!("unknown escape `\\{}` in a string", escape.escape_default());
        Box::new(Diagnostic::error("string-escape", message, span))
    })?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text.into()),
        Err(_) => Err(Box::new(Diagnostic::error(
            "string-encoding",
            "the escapes of this string give bytes that are not UTF-8",
            span,
        ))),
    }
}

/// The bytes that C escapes stand for, or the character behind a backslash that is no escape.
fn unescaped(text: &[u8]) -> Result<Vec<u8>, char> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let Some((&kind, after)) = rest.split_first() else {
            return Err('\\');
        };
        rest = after;
        let simple = match kind {
            b'n' => Some(b'\n'),
            b't' => Some(b'\t'),
            b'r' => Some(b'\r'),
            b'a' => Some(7),
            b'b' => Some(8),
            b'f' => Some(12),
            b'v' => Some(11),
            b'\\' | b'"' | b'\'' | b'?' => Some(kind),
            _ => None,
        };
        if let Some(byte) = simple {
            bytes.push(byte);
            continue;
        }
        let (digits, base, skip) = match kind {
            b'x' | b'X' => (rest, 16, 2),
            b'0'..=b'7' => (&text[text.len() - rest.len() - 1..], 8, 3),
            _ => return Err(char::from(kind)),
        };
        let (value, used) = leading_number(digits, base, skip);
        if used == 0 || value > 255 {
            return Err(char::from(kind));
        }
        bytes.push(value as u8);
        rest = &digits[used..];
    }
    Ok(bytes)
}

/// The number that at most `most` digits in front spell, and how many they are.
fn leading_number(text: &[u8], base: u32, most: usize) -> (u32, usize) {
    let mut value = 0;
    let mut used = 0;
    for byte in text.iter().take(most) {
        let Some(digit) = char::from(*byte).to_digit(base) else {
            break;
        };
        value = value * base + digit;
        used += 1;
    }
    (value, used)
}

#[cfg(test)]
mod tests {
    use hloc_diag::Span;

    use super::{integer_text, unescaped};

    #[test]
    fn reads_64_bit_integers() {
        let read = |text| integer_text(text, Span::NONE).map_err(|error| error.code.to_string());
        assert_eq!(read("-9223372036854775808"), Ok(i64::MIN));
        assert_eq!(read("18446744073709551615"), Ok(-1));
        for refused in ["18446744073709551616", "-9223372036854775809"] {
            assert_eq!(read(refused), Err("integer-range".to_owned()));
        }
    }

    #[test]
    fn reads_c_escapes() {
        assert_eq!(
            unescaped(br#"a\"\n\x41\101\0"#).as_deref(),
            Ok(&b"a\"\nAA\0"[..])
        );
        assert_eq!(unescaped(br"\q"), Err('q'));
    }
}
