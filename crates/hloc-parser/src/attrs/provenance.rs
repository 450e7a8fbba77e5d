//! Where instructions come from and where they run: metadata and shardings.

use hloc_diag::{Diagnostic, Span};
use hloc_ir::Metadata;

use crate::Parsed;
use crate::fast::PlainField;
use crate::grammar::{Node, Rule};
use crate::module::Parser;
use crate::split::canonical;
use crate::values;

impl<'t> Parser<'t> {
    /// `{op_name="jit(f)/add" source_line=3}`; fields hloc does not know are kept as text.
    pub(crate) fn metadata(&mut self) -> Parsed<Metadata> {
        let start = self.cursor.at();
        if let Some(metadata) = self.plain_metadata() {
            return Ok(metadata);
        }
        self.cursor.move_to(start);
        let node = self.cursor.take_shallow(Rule::metadata)?;
        let mut metadata = Metadata::default();
        let mut seen: Vec<&str> = Vec::new();
        for field in node.into_inner() {
            let span = self.cursor.span_of(&field);
            let mut parts = field.into_inner();
            let (Some(name), Some(value)) = (parts.next(), parts.next()) else {
                continue;
            };
            let name = name.as_str();
            if seen.contains(&name) {
                let message = format!("`{name}` is written twice");
                return Err(Box::new(Diagnostic::error(
                    "duplicate-attribute",
                    message,
                    span,
                )));
            }
            seen.push(name);
            self.metadata_field(name, &value, span, &mut metadata)?;
        }
        Ok(metadata)
    }

    /// Metadata of plain strings and numbers only, each field once.
    fn plain_metadata(&mut self) -> Option<Metadata> {
        let mut fields = [const { None }; 8];
        self.cursor.plain_fields(&mut fields)?;
        if !matches!(self.cursor.peek(), None | Some(b',' | b'\n')) {
            return None;
        }
        let mut metadata = Metadata::default();
        for (at, field) in fields.iter().enumerate() {
            let Some((name, value)) = field else {
                break;
            };
            let mut before = fields[..at].iter().flatten();
            if before.any(|(other, _)| other == name) {
                return None;
            }
            match (*name, value) {
                ("op_type", PlainField::String(text)) => metadata.op_type = (*text).into(),
                ("op_name", PlainField::String(text)) => metadata.op_name = (*text).into(),
                ("source_file", PlainField::String(text)) => metadata.source_file = (*text).into(),
                ("source_line", PlainField::Integer(number)) => metadata.source_line = *number,
                ("source_end_line", PlainField::Integer(number)) => {
                    metadata.source_end_line = *number;
                }
                ("source_column", PlainField::Integer(number)) => metadata.source_column = *number,
                ("source_end_column", PlainField::Integer(number)) => {
                    metadata.source_end_column = *number;
                }
                ("stack_frame_id", PlainField::Integer(number)) => {
                    metadata.stack_frame_id = *number;
                }
                _ => return None,
            }
        }
        Some(metadata)
    }

    fn metadata_field(
        &self,
        name: &str,
        value: &Node<'t>,
        span: Span,
        metadata: &mut Metadata,
    ) -> Parsed<()> {
        match name {
            "op_type" => metadata.op_type = self.metadata_string(value, span)?,
            "op_name" => metadata.op_name = self.metadata_string(value, span)?,
            "source_file" => metadata.source_file = self.metadata_string(value, span)?,
            "source_line" => metadata.source_line = self.metadata_integer(value, span)?,
            "source_end_line" => metadata.source_end_line = self.metadata_integer(value, span)?,
            "source_column" => metadata.source_column = self.metadata_integer(value, span)?,
            "source_end_column" => {
                metadata.source_end_column = self.metadata_integer(value, span)?;
            }
            "stack_frame_id" => metadata.stack_frame_id = self.metadata_integer(value, span)?,
            _ => metadata
                .other
                .push((name.into(), canonical(value.as_str())?)),
        }
        Ok(())
    }

    fn metadata_string(&self, value: &Node<'t>, span: Span) -> Parsed<Box<str>> {
        if value.as_rule() == Rule::string {
            values::string(&self.cursor, value)
        } else {
            Err(wrong_value("a quoted string", value, span))
        }
    }

    fn metadata_integer(&self, value: &Node<'t>, span: Span) -> Parsed<i64> {
        let text = value.as_str();
        let is_integer = text
            .bytes()
            .all(|byte| byte == b'-' || byte.is_ascii_digit());
        if value.as_rule() == Rule::number && is_integer {
            values::integer(&self.cursor, value)
        } else {
            Err(wrong_value("an integer", value, span))
        }
    }

    /// `{replicated}` and the other forms, as canonical text.
    pub(crate) fn sharding(&mut self) -> Parsed<Box<str>> {
        self.checked_text(Rule::sharding)
    }

    /// `{{"p"}}` and the other forms, as canonical text.
    pub(crate) fn origin(&mut self) -> Parsed<Box<str>> {
        self.checked_text(Rule::origin)
    }

    /// Canonical text of what `rule` matches; the rule may recurse and begins and ends with a brace.
    fn checked_text(&mut self, rule: Rule) -> Parsed<Box<str>> {
        let start = self.cursor.at();
        let end = start + self.cursor.take_hlo_braces()?.len();
        self.cursor.move_to(start);
        let node = self.cursor.take(rule)?;
        self.cursor.move_to(end);
        canonical(node.as_str())
    }
}

fn wrong_value(what: &str, value: &Node<'_>, span: Span) -> Box<Diagnostic> {
    let shown: String = value.as_str().chars().take(40).collect();
    let message = format!("this field holds {what}, not `{shown}`");
    Box::new(Diagnostic::error("attribute-value", message, span))
}
