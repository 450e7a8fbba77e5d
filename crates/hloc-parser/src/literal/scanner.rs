//! A cursor over the text of a literal.

use hloc_diag::{Diagnostic, Span};

use super::fault::{Fault, SYNTAX};

/// A position in the text of a literal, with the offset of the text in the source.
pub(super) struct Scanner<'t> {
    text: &'t str,
    bytes: &'t [u8],
    pos: usize,
    base: u32,
}

/// Whether a token may end before this byte; the end of the text ends one too.
pub(super) fn ends_token(byte: Option<u8>) -> bool {
    match byte {
        None => true,
        Some(byte) => matches!(
            byte,
            b',' | b' ' | b'}' | b'\n' | b'{' | b'(' | b')' | b'/' | b'\t' | b'\r'
        ),
    }
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str, base: u32) -> Scanner<'t> {
        Scanner {
            text,
            bytes: text.as_bytes(),
            pos: 0,
            base,
        }
    }

    pub(super) fn pos(&self) -> usize {
        self.pos
    }

    /// Goes to `pos`, which is at most the length of the text.
    pub(super) fn set_pos(&mut self, pos: usize) {
        self.pos = pos.min(self.bytes.len());
    }

    pub(super) fn advance(&mut self) {
        self.set_pos(self.pos + 1);
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.pos).copied()
    }

    pub(super) fn peek_at(&self, pos: usize) -> Option<u8> {
        self.bytes.get(pos).copied()
    }

    /// The bytes from here on.
    pub(super) fn rest(&self) -> &'t [u8] {
        &self.bytes[self.pos..]
    }

    /// Number of bytes from here on; no literal has more elements than that.
    pub(super) fn remaining(&self) -> usize {
        self.bytes.len() - self.pos
    }

    /// The text between two positions, empty if they split a character.
    pub(super) fn slice(&self, start: usize, end: usize) -> &'t str {
        self.text.get(start..end).unwrap_or("")
    }

    /// Skips white space, commas and comments.
    #[inline]
    pub(super) fn skip_noise(&mut self) -> Result<(), Fault> {
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b',' | b'\n' | b'\t' | b'\r' => self.pos += 1,
                b'/' => self.skip_comment()?,
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    #[cold]
    fn skip_comment(&mut self) -> Result<(), Fault> {
        let body = self.pos + 2;
        let length = match self.peek_at(self.pos + 1) {
            Some(b'*') => memchr::memmem::find(&self.bytes[body..], b"*/").map(|at| at + 2),
            Some(b'/') => {
                Some(memchr::memchr(b'\n', &self.bytes[body..]).unwrap_or(self.bytes.len() - body))
            }
            Some(_) | None => {
                return Err(self.fault(SYNTAX, self.pos, self.pos + 1, "stray `/` in a literal"));
            }
        };
        match length {
            Some(length) => {
                self.set_pos(body + length);
                Ok(())
            }
            None => Err(self.fault(SYNTAX, self.pos, body, "this comment has no `*/`")),
        }
    }

    /// Where the token at `start` ends: behind one punctuation mark, or before the next.
    pub(super) fn token_end(&self, start: usize) -> usize {
        if start < self.bytes.len() && ends_token(self.peek_at(start)) {
            return start + 1;
        }
        let length = self.bytes[start..]
            .iter()
            .position(|byte| ends_token(Some(*byte)));
        length.map_or(self.bytes.len(), |length| start + length)
    }

    /// An error at a range of positions.
    pub(super) fn fault(
        &self,
        code: &'static str,
        start: usize,
        end: usize,
        message: impl Into<String>,
    ) -> Fault {
        let offset = |pos: usize| self.base.saturating_add(Span::from_range(pos..pos).start);
        let span = Span::new(offset(start), offset(end));
        Box::new(Diagnostic::error(code, message, span))
    }

    /// An error at the token that stands here.
    pub(super) fn fault_here(&self, code: &'static str, message: impl Into<String>) -> Fault {
        self.fault(code, self.pos, self.token_end(self.pos), message)
    }
}
