//! Cuts the text: steps over white space, matches grammar rules at the current place, and takes out what
//! is no part of the grammar (literals, text in braces) without looking inside.
//!
//! All scanning here is iterative and linear, so no text is too deep or too long for it.

use hloc_diag::{Diagnostic, Span};
use memchr::{memchr, memchr3, memmem};

use crate::Parsed;
use crate::grammar::{Node, Rule, expected, match_at};
use crate::limits::MAX_BRACKETS;

/// A place in the text.
pub(crate) struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    pub(crate) fn new(text: &'t str) -> Cursor<'t> {
        Cursor { text, at: 0 }
    }

    /// The byte offset of the place.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The byte at the place; `None` at the end.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The text from `start` up to the place.
    pub(crate) fn text_from(&self, start: usize) -> &'t str {
        &self.text[start..self.at]
    }

    /// The text at `span`, which lies inside.
    pub(crate) fn text_at(&self, span: Span) -> &'t str {
        &self.text[span.start as usize..span.end as usize]
    }

    /// The byte at `offset`; `None` behind the end.
    pub(crate) fn byte_at(&self, offset: u32) -> Option<u8> {
        self.text.as_bytes().get(offset as usize).copied()
    }

    /// The text from the place on.
    pub(crate) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Whether the word `word` stands here and ends there.
    pub(crate) fn at_word(&self, word: &str) -> bool {
        self.rest().strip_prefix(word).is_some_and(|rest| {
            !rest
                .bytes()
                .next()
                .is_some_and(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
        })
    }

    /// The place of a part of the text that a rule matched.
    pub(crate) fn span_of(&self, node: &Node<'t>) -> Span {
        self.span_of_text(node.as_str())
    }

    /// The place of a slice of the text.
    pub(crate) fn span_of_text(&self, part: &'t str) -> Span {
        let start = part.as_ptr() as usize - self.text.as_ptr() as usize;
        Span::from_range(start..start + part.len())
    }

    /// From `start` up to here.
    pub(crate) fn span_from(&self, start: usize) -> Span {
        Span::from_range(start..self.at)
    }

    /// The character here as a span; empty at the end.
    pub(crate) fn span_here(&self) -> Span {
        let len = self.rest().chars().next().map_or(0, char::len_utf8);
        Span::from_range(self.at..self.at + len)
    }

    /// An error that says what should stand here.
    pub(crate) fn expected(&self, what: &str) -> Box<Diagnostic> {
        expected(what, self.text, self.at)
    }

    /// Steps over white space and comments.
    ///
    /// # Errors
    /// `unclosed-comment`.
    pub(crate) fn skip_blank(&mut self) -> Parsed<()> {
        self.at = blank_end(self.text, self.at)?;
        Ok(())
    }

    /// Steps over characters of names, of which there may be none.
    pub(crate) fn skip_name(&mut self) {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"%_.-".contains(byte);
        self.at += self.rest().bytes().take_while(|byte| is_part(byte)).count();
    }

    /// Steps over `byte` and reports whether it was here.
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let here = self.peek() == Some(byte);
        self.at += usize::from(here);
        here
    }

    /// Steps over `byte`, which must be here.
    pub(crate) fn expect(&mut self, byte: u8) -> Parsed<()> {
        if self.eat(byte) {
            Ok(())
        } else {
            Err(self.expected(&format!("`{}`", char::from(byte))))
        }
    }

    /// Matches `rule` here and steps over it.
    pub(crate) fn take(&mut self, rule: Rule) -> Parsed<Node<'t>> {
        let node = match_at(rule, self.text, self.at)?;
        self.at += node.as_str().len();
        Ok(node)
    }

    /// Like [`Cursor::take`] for rules that recurse: the depth is limited first.
    pub(crate) fn take_shallow(&mut self, rule: Rule) -> Parsed<Node<'t>> {
        self.check_depth(self.at)?;
        self.take(rule)
    }

    /// Steps to an earlier or later place of the same text.
    pub(crate) fn move_to(&mut self, at: usize) {
        self.at = at;
    }

    /// Refuses text at `start` that has more than [`MAX_BRACKETS`] open brackets before it ends.
    ///
    /// Text ends where all brackets are closed and a blank, a comma or another bracket's end follows.
    pub(crate) fn check_depth(&self, start: usize) -> Parsed<()> {
        let bytes = self.text.as_bytes();
        let mut depth = 0_usize;
        let mut at = start;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' | b',' if depth == 0 => return Ok(()),
                b')' | b']' | b'}' => depth -= 1,
                b' ' | b'\t' | b'\r' | b'\n' | b'/' => {
                    let next = blank_end(self.text, at)?;
                    if depth == 0 && !matches!(bytes.get(next), Some(b'{' | b'(' | b'[')) {
                        return Ok(());
                    }
                    at = next.max(at + 1);
                    continue;
                }
                b'"' | b'\'' => {
                    at = string_end(self.text, at)?;
                    continue;
                }
                _ => {}
            }
            if depth > MAX_BRACKETS {
                let message = format!("brackets are nested more than {MAX_BRACKETS} deep");
                let span = Span::from_range(at..at + 1);
                return Err(Box::new(Diagnostic::error(
                    "nesting-too-deep",
                    message,
                    span,
                )));
            }
            at += 1;
        }
        Ok(())
    }

    /// Takes the text up to the `)` that closes the parenthesis just opened, and steps behind it.
    ///
    /// # Errors
    /// `unclosed-parenthesis` at the opening one.
    pub(crate) fn take_payload(&mut self) -> Parsed<&'t str> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut depth = 1_usize;
        let mut at = start;
        while let Some(offset) = memchr3(b'(', b')', b'/', &bytes[at..]) {
            at += offset;
            match bytes[at] {
                b'(' => depth += 1,
                b')' => depth -= 1,
                _ => {
                    at = blank_end(self.text, at)?.max(at + 1);
                    continue;
                }
            }
            at += 1;
            if depth == 0 {
                self.at = at;
                return Ok(&self.text[start..at - 1]);
            }
        }
        let span = Span::from_range(start.saturating_sub(1)..start);
        Err(Box::new(Diagnostic::error(
            "unclosed-parenthesis",
            "`(` is never closed",
            span,
        )))
    }

    /// Takes text in braces with the braces. Only braces and double-quoted strings count inside: the text
    /// may be JSON, MLIR attributes or anything else.
    ///
    /// # Errors
    /// `unclosed-brace` at the opening one.
    pub(crate) fn take_braces(&mut self) -> Parsed<&'t str> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        self.expect(b'{')?;
        let mut depth = 1_usize;
        let mut at = self.at;
        while let Some(offset) = memchr3(b'{', b'}', b'"', &bytes[at..]) {
            at += offset;
            match bytes[at] {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                _ => {
                    at = string_end(self.text, at)?;
                    continue;
                }
            }
            at += 1;
            if depth == 0 {
                self.at = at;
                return Ok(&self.text[start..at]);
            }
        }
        Err(self.unclosed_brace(start))
    }

    /// Takes HLO text in braces with the braces: comments and strings of both kinds are stepped over and
    /// the depth is limited.
    ///
    /// # Errors
    /// `unclosed-brace`, `nesting-too-deep`.
    pub(crate) fn take_hlo_braces(&mut self) -> Parsed<&'t str> {
        let start = self.at;
        if self.peek() != Some(b'{') {
            return Err(self.expected("`{`"));
        }
        let bytes = self.text.as_bytes();
        let mut depth = 0_usize;
        let mut at = start;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                b'/' => {
                    at = blank_end(self.text, at)?.max(at + 1);
                    continue;
                }
                b'"' | b'\'' => {
                    at = string_end(self.text, at)?;
                    continue;
                }
                _ => {}
            }
            at += 1;
            if depth == 0 {
                self.check_depth(start)?;
                self.at = at;
                return Ok(&self.text[start..at]);
            }
        }
        Err(self.unclosed_brace(start))
    }

    fn unclosed_brace(&self, start: usize) -> Box<Diagnostic> {
        let span = Span::from_range(start..start + 1);
        Box::new(Diagnostic::error(
            "unclosed-brace",
            "`{` is never closed",
            span,
        ))
    }
}

/// Where the white space and the comments at `at` end.
fn blank_end(text: &str, mut at: usize) -> Parsed<usize> {
    let bytes = text.as_bytes();
    loop {
        match bytes.get(at) {
            Some(b' ' | b'\t' | b'\r' | b'\n') => at += 1,
            Some(b'/') if bytes.get(at + 1) == Some(&b'/') => {
                at = memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |offset| at + offset);
            }
            Some(b'/') if bytes.get(at + 1) == Some(&b'*') => {
                match memmem::find(&bytes[at + 2..], b"*/") {
                    Some(offset) => at += offset + 4,
                    None => {
                        let span = Span::from_range(at..at + 2);
                        return Err(Box::new(Diagnostic::error(
                            "unclosed-comment",
                            "`/*` is never closed",
                            span,
                        )));
                    }
                }
            }
            _ => return Ok(at),
        }
    }
}

/// Where the string whose opening quote is at `at` ends.
fn string_end(text: &str, at: usize) -> Parsed<usize> {
    let bytes = text.as_bytes();
    let quote = bytes[at];
    let mut end = at + 1;
    while let Some(offset) = memchr::memchr2(quote, b'\\', &bytes[end..]) {
        end += offset;
        if bytes[end] == quote {
            return Ok(end + 1);
        }
        end = (end + 2).min(bytes.len());
    }
    let span = Span::from_range(at..at + 1);
    Err(Box::new(Diagnostic::error(
        "unclosed-string",
        "the string that begins here is never closed",
        span,
    )))
}

/// HLO text without comments and with single spaces, none inside brackets: `{ a, /*x*/ b }` gives `{a, b}`.
///
/// Strings are kept. What this returns stays the same when it is given here again.
pub(crate) fn canonical(text: &str) -> Parsed<Box<str>> {
    let bytes = text.as_bytes();
    let mut canonical = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let blank = blank_end(text, at)?;
        if blank > at {
            let opened = canonical.ends_with(['{', '(', '[']);
            let closes = matches!(bytes.get(blank), None | Some(b'}' | b')' | b']' | b','));
            if !opened && !closes && !canonical.is_empty() {
                canonical.push(' ');
            }
            at = blank;
            continue;
        }
        let end = if byte == b'"' || byte == b'\'' {
            string_end(text, at)?
        } else {
            at + text[at..].chars().next().map_or(1, char::len_utf8)
        };
        canonical.push_str(&text[at..end]);
        at = end;
    }
    Ok(canonical.into())
}

#[cfg(test)]
mod tests {
    use super::{Cursor, canonical};

    #[test]
    fn takes_payloads_over_comments() {
        let mut cursor = Cursor::new("{(1, 2), /* ) */ (3, 4)}) x");
        assert_eq!(
            cursor.take_payload().expect("closed"),
            "{(1, 2), /* ) */ (3, 4)}"
        );
        assert_eq!(cursor.rest(), " x");
    }

    #[test]
    fn takes_braces_over_strings() {
        let mut cursor = Cursor::new(r#"{"a}": {b = 'c}}, rest"#);
        assert_eq!(cursor.take_braces().expect("closed"), r#"{"a}": {b = 'c}}"#);
        let error = Cursor::new("{ {").take_braces().expect_err("open");
        assert_eq!(error.code, "unclosed-brace");
    }

    #[test]
    fn limits_depth() {
        let deep = "(".repeat(1_000_000);
        let error = Cursor::new(&deep).check_depth(0).expect_err("deep");
        assert_eq!(error.code, "nesting-too-deep");
    }

    #[test]
    fn canonical_text_is_stable() {
        let once = canonical("{ devices=[2, 1]0,1 /*x*/\n  last , \"a  b\" }").expect("closed");
        assert_eq!(&*once, "{devices=[2, 1]0,1 last, \"a  b\"}");
        assert_eq!(canonical(&once).expect("closed"), once);
    }
}
