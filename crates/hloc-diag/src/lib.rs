//! Source spans, diagnostics as data, and their renderers.
//!
//! A [`Diagnostic`] says that the user's HLO is wrong. It is plain data: the parser and the verifier
//! build it, [`render_text`] and [`render_json`] show it. Nothing here knows HLO.

mod diagnostic;
mod json;
mod source;
mod span;
mod text;

pub use diagnostic::{Diagnostic, Label, Severity};
pub use json::render_json;
pub use source::{Position, Source, SourceTooLarge};
pub use span::Span;
pub use text::{Color, render_text};
