//! Byte ranges of a source text.

/// A half-open byte range of one source text.
///
/// [`Span::NONE`] marks things that no text stands for (made by a builder, say).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset behind the last byte.
    pub end: u32,
}

impl Span {
    /// No place in any text.
    pub const NONE: Span = Span {
        start: u32::MAX,
        end: u32::MAX,
    };

    /// The range from `start` up to, not including, `end`.
    pub const fn new(start: u32, end: u32) -> Span {
        Span { start, end }
    }

    /// The range of `usize` offsets. Offsets beyond `u32` cannot occur: `Source` refuses such texts.
    pub fn from_range(range: std::ops::Range<usize>) -> Span {
        let clip = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX - 1);
        Span {
            start: clip(range.start),
            end: clip(range.end),
        }
    }

    /// Whether this is [`Span::NONE`].
    pub fn is_none(self) -> bool {
        self == Span::NONE
    }

    /// The smallest span that holds both; `NONE` adds nothing.
    pub fn join(self, other: Span) -> Span {
        if self.is_none() {
            return other;
        }
        if other.is_none() {
            return self;
        }
        Span {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    /// The span as a range of `usize`, empty for `NONE`.
    pub fn range(self) -> std::ops::Range<usize> {
        if self.is_none() {
            0..0
        } else {
            self.start as usize..self.end as usize
        }
    }
}

impl Default for Span {
    fn default() -> Span {
        Span::NONE
    }
}
