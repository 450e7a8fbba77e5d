//! Diagnostics as JSON, one object each, with stable fields.

use serde_json::{Value, json};

use crate::{Diagnostic, Label, Source};

/// One line of JSON: `code`, `severity`, `message`, `file`, `line`, `column`, `end_line`,
/// `end_column`, `labels`, `notes`, `help`. Places that no text stands for have `null` lines.
pub fn render_json(diagnostic: &Diagnostic, source: &Source) -> String {
    let mut object = place(&diagnostic.primary, source);
    object["code"] = json!(diagnostic.code);
    object["severity"] = json!(diagnostic.severity.name());
    object["message"] = json!(diagnostic.message);
    object["file"] = json!(source.name());
    object["labels"] = diagnostic
        .secondary
        .iter()
        .map(|label| place(label, source))
        .collect();
    object["notes"] = json!(diagnostic.notes);
    object["help"] = json!(diagnostic.help);
    object.to_string()
}

fn place(label: &Label, source: &Source) -> Value {
    if label.span.is_none() {
        return json!({"text": label.text, "line": null, "column": null, "end_line": null, "end_column": null});
    }
    let start = source.position(label.span.start);
    let end = source.position(label.span.end);
    json!({
        "text": label.text,
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
    })
}
