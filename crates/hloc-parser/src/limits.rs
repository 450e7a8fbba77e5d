//! What the parser refuses because it is too large, so that no text can exhaust stack or time.
//!
//! A text is shorter than 4 GiB (`hloc_diag::Source::MAX_LEN`).

/// Brackets that may be open at once in a shape, a sharding or other structured attribute text.
pub(crate) const MAX_BRACKETS: usize = 200;

/// Nested operands and inline computations that may be open at once.
pub(crate) const MAX_NESTING: usize = 64;

/// Dimensions of an array.
pub(crate) const MAX_DIMS: usize = hloc_ir::ArrayShape::MAX_DIMS;

/// Names looked at for a spelling suggestion.
pub(crate) const MAX_SUGGESTION_CANDIDATES: usize = 10_000;

/// Longest name for which a spelling suggestion is made.
pub(crate) const MAX_SUGGESTION_LEN: usize = 64;

/// Characters of the text that a message quotes.
pub(crate) const MAX_QUOTED: usize = 40;
