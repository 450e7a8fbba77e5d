//! Names, quoted strings and lists.

use std::fmt::Write;

use crate::ElementType;

/// Words that name something only with `%` before them.
const KEYWORDS: [&str; 19] = [
    "ENTRY",
    "FileLocations",
    "FileNames",
    "FunctionNames",
    "HloModule",
    "ROOT",
    "StackFrames",
    "false",
    "inf",
    "last_tile_dim_replicate",
    "manual",
    "maximal",
    "nan",
    "replicated",
    "shard_as",
    "shard_like",
    "true",
    "unknown",
    "unreduced",
];

/// Writes a name, with `%` if it would be read as something else without.
pub(super) fn push_name(out: &mut String, name: &str) {
    if is_reserved(name) {
        out.push('%');
    }
    out.push_str(name);
}

fn is_reserved(name: &str) -> bool {
    KEYWORDS.contains(&name)
        || matches!(name, "token" | "opaque")
        || ElementType::from_name(name).is_some()
}

/// Writes a string in double quotes, with C escapes that read back equal.
pub(super) fn push_string(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Octal escapes end after three digits; a hexadecimal one would swallow digits behind it.
            '\0'..='\x1f' | '\x7f' => {
                write!(out, "\\{:03o}", u32::from(character)).expect("a string takes any text")
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}

/// Writes items with a separator between them.
pub(super) fn push_joined<I: IntoIterator>(
    out: &mut String,
    separator: &str,
    items: I,
    mut push: impl FnMut(&mut String, I::Item),
) {
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.push_str(separator);
        }
        push(out, item);
    }
}

/// Writes items in braces with commas: `{0,1}`.
pub(super) fn push_list<I>(out: &mut String, items: I)
where
    I: IntoIterator,
    I::Item: std::fmt::Display,
{
    out.push('{');
    push_joined(out, ",", items, |out, item| {
        write!(out, "{item}").expect("a string takes any text");
    });
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::{push_list, push_name, push_string};

    #[test]
    fn reserved_words_get_a_percent_sign() {
        for (name, expected) in [
            ("x", "x"),
            ("true", "%true"),
            ("ENTRY", "%ENTRY"),
            ("f32", "%f32"),
            ("token", "%token"),
            ("F32", "F32"),
        ] {
            let mut out = String::new();
            push_name(&mut out, name);
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn strings_are_escaped() {
        let mut out = String::new();
        push_string(&mut out, "a\"b\\c\n\u{1}2é\u{7f}");
        assert_eq!(out, "\"a\\\"b\\\\c\\n\\0012é\\177\"");
    }

    #[test]
    fn lists_have_no_blanks() {
        let mut out = String::new();
        push_list(&mut out, [0, -1]);
        assert_eq!(out, "{0,-1}");
    }
}
