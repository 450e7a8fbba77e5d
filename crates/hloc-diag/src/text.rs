//! Diagnostics as text with source lines and carets.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use crate::{Diagnostic, Severity, Source};

/// Whether a rendering carries terminal colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// Plain text.
    Never,
    /// ANSI escape sequences.
    Always,
}

/// The diagnostic with its source lines, carets, notes and help, ending without a newline.
///
/// The first line is `error[code]: message`.
pub fn render_text(diagnostic: &Diagnostic, source: &Source, color: Color) -> String {
    let renderer = match color {
        Color::Never => Renderer::plain(),
        Color::Always => Renderer::styled(),
    };
    let renderer = renderer.decor_style(DecorStyle::Ascii);
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level
        .primary_title(&*diagnostic.message)
        .id(&*diagnostic.code);
    let mut snippet = Snippet::source(source.text())
        .path(source.name())
        .fold(true);
    let mut placed = false;
    let primary = std::iter::once((&diagnostic.primary, AnnotationKind::Primary));
    let secondary = diagnostic
        .secondary
        .iter()
        .map(|label| (label, AnnotationKind::Context));
    for (label, kind) in primary.chain(secondary) {
        let range = label.span.range();
        if label.span.is_none() || source.text().get(range.clone()).is_none() {
            continue;
        }
        placed = true;
        let annotation = kind.span(range);
        let text = (!label.text.is_empty()).then_some(&*label.text);
        snippet = snippet.annotation(annotation.label(text));
    }
    let mut group = if placed {
        title.element(snippet)
    } else {
        annotate_snippets::Group::with_title(title)
    };
    for note in &diagnostic.notes {
        group = group.element(Level::NOTE.message(&**note));
    }
    for help in &diagnostic.help {
        group = group.element(Level::HELP.message(&**help));
    }
    renderer.render(&[group])
}

#[cfg(test)]
mod tests {
    use super::{Color, render_text};
    use crate::{Diagnostic, Source, Span};

    #[test]
    fn shows_code_line_and_help() {
        let source = Source::new("m.hlo", "a = f32[]\n").expect("short");
        let diagnostic =
            Diagnostic::error("some_c1", "`a` is odd", Span::new(4, 9)).with_help("make it even");
        let text = render_text(&diagnostic, &source, Color::Never);
        assert!(text.starts_with("error[some_c1]: `a` is odd\n"), "{text}");
        assert!(
            text.contains("m.hlo:1:5") && text.contains("^^^^^"),
            "{text}"
        );
        assert!(text.contains("help: make it even"), "{text}");
    }
}
