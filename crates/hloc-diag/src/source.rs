//! A named text and its lines.

use crate::Span;

/// A text longer than spans can address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceTooLarge {
    /// Length of the text in bytes.
    pub len: usize,
}

impl std::fmt::Display for SourceTooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the text has {} bytes, more than the limit of {}",
            self.len,
            Source::MAX_LEN
        )
    }
}

impl std::error::Error for SourceTooLarge {}

/// A line and a column, both counted from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Line number from 1.
    pub line: usize,
    /// Column in characters from 1.
    pub column: usize,
}

/// A source text with a name for messages.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    text: String,
    line_starts: Vec<u32>,
}

impl Source {
    /// The longest accepted text in bytes.
    pub const MAX_LEN: usize = u32::MAX as usize - 2;

    /// Wraps `text`; `name` is what messages call it (a file name or `<stdin>`).
    ///
    /// # Errors
    /// [`SourceTooLarge`] if the text is longer than [`Source::MAX_LEN`].
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Result<Source, SourceTooLarge> {
        let text = text.into();
        if text.len() > Source::MAX_LEN {
            return Err(SourceTooLarge { len: text.len() });
        }
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let line_starts = std::iter::once(0)
            .chain(newlines.map(|(at, _)| Span::from_range(at + 1..at + 1).start))
            .collect();
        Ok(Source {
            name: name.into(),
            text,
            line_starts,
        })
    }

    /// The name used in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of `span`; empty for [`Span::NONE`] and for spans outside the text.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or("")
    }

    /// Line and column of a byte offset: offset 0 is 1:1.
    pub fn position(&self, offset: u32) -> Position {
        let line = self
            .line_starts
            .partition_point(|start| *start <= offset)
            .max(1);
        let start = self.line_starts[line - 1] as usize;
        let end = (offset as usize).clamp(start, self.text.len());
        let column = self
            .text
            .get(start..end)
            .map_or(end - start, |prefix| prefix.chars().count())
            + 1;
        Position { line, column }
    }
}

#[cfg(test)]
mod tests {
    use super::{Position, Source};

    #[test]
    fn positions_count_from_one() {
        let source = Source::new("t", "ab\ncd").expect("short");
        assert_eq!(source.position(0), Position { line: 1, column: 1 });
        assert_eq!(source.position(4), Position { line: 2, column: 2 });
    }
}
