//! From a broken rule to a diagnostic: places, second places, the line of the user's own program.

use hloc_diag::{Diagnostic, Span};
use hloc_ir::{
    Broken, Computation, Focus, Instruction, InstructionSpans, Metadata, Module, StackTables,
};

use crate::{MAX_DIAGNOSTICS, explain};

/// Longest message: shapes of huge tuples are cut.
const MAX_TEXT: usize = 2000;

/// The mistakes found so far.
pub(crate) struct Report<'m> {
    pub(crate) module: &'m Module,
    diagnostics: Vec<Diagnostic>,
}

impl<'m> Report<'m> {
    pub(crate) fn new(module: &'m Module) -> Report<'m> {
        Report {
            module,
            diagnostics: Vec::new(),
        }
    }

    /// Whether the limit is reached; what follows is not told.
    pub(crate) fn is_full(&self) -> bool {
        self.diagnostics.len() >= MAX_DIAGNOSTICS
    }

    /// The mistakes, with a last one that says so if there are too many.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        if self.is_full() {
            self.diagnostics.truncate(MAX_DIAGNOSTICS);
            self.diagnostics.push(Diagnostic::error(
                "too-many-errors",
                format!("only the first {MAX_DIAGNOSTICS} mistakes are told"),
                Span::NONE,
            ));
        }
        self.diagnostics
    }

    /// A mistake outside of instructions.
    pub(crate) fn at(&mut self, code: &'static str, message: impl Into<String>, span: Span) {
        let message = cut(message.into());
        self.push(Diagnostic::error(code, message, span));
    }

    /// A mistake of an instruction; the message of `broken` follows its name.
    pub(crate) fn instruction(
        &mut self,
        computation: &Computation,
        instruction: &Instruction,
        broken: Broken,
    ) {
        let mut diagnostic = Diagnostic::error(
            broken.constraint,
            cut(format!("`{}` {}", instruction.name, broken.message)),
            place(instruction, broken.focus),
        );
        if let Focus::Operand(index) = broken.focus
            && let Some(shape) = operand(computation, instruction, index).map(|def| &def.shape)
        {
            diagnostic = diagnostic.with_primary_text(cut(shape.to_string()));
        }
        for focus in std::iter::once(broken.focus).chain(broken.other.iter().map(|other| other.0)) {
            diagnostic = with_definition(diagnostic, computation, instruction, focus);
        }
        if let Some((focus, text)) = broken.other {
            diagnostic = diagnostic.with_label(place(instruction, focus), cut(text));
        }
        if let Some(help) = broken.help {
            diagnostic = diagnostic.with_help(cut(help));
        }
        if let Some(note) = written_at(instruction, &self.module.stack) {
            diagnostic = diagnostic.with_note(note);
        }
        self.push(diagnostic);
    }

    /// A mistake without its own way out gets the rule as help.
    fn push(&mut self, mut diagnostic: Diagnostic) {
        if diagnostic.help.is_empty()
            && let Some(rule) = explain(&diagnostic.code)
        {
            diagnostic = diagnostic.with_help(rule.summary);
        }
        self.diagnostics.push(diagnostic);
    }
}

fn cut(mut text: String) -> String {
    if text.len() > MAX_TEXT {
        let mut end = MAX_TEXT;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str(" ...");
    }
    text
}

fn operand<'a>(
    computation: &'a Computation,
    instruction: &Instruction,
    index: usize,
) -> Option<&'a Instruction> {
    computation
        .instructions
        .get(*instruction.operands.get(index)?)
}

/// Where `focus` stands; the opcode or the whole instruction if that part was left out.
fn place(instruction: &Instruction, focus: Focus) -> Span {
    let Some(spans) = &instruction.origin.spans else {
        return Span::NONE;
    };
    let part = match focus {
        Focus::Instruction => spans.opcode,
        Focus::Result => spans.shape,
        Focus::Operand(index) => spans.operands.get(index).copied().unwrap_or(Span::NONE),
        Focus::Attribute(name) => attribute(spans, name),
    };
    [part, spans.opcode, spans.whole]
        .into_iter()
        .find(|span| !span.is_none())
        .unwrap_or(Span::NONE)
}

fn attribute(spans: &InstructionSpans, name: &str) -> Span {
    let found = spans
        .attributes
        .iter()
        .find(|(written, _)| &**written == name);
    found.map_or(Span::NONE, |(_, span)| *span)
}

/// Adds the place where the operand under `focus` is defined, with its shape.
fn with_definition(
    diagnostic: Diagnostic,
    computation: &Computation,
    instruction: &Instruction,
    focus: Focus,
) -> Diagnostic {
    let Focus::Operand(index) = focus else {
        return diagnostic;
    };
    let Some(definition) = operand(computation, instruction, index) else {
        return diagnostic;
    };
    let Some(spans) = &definition.origin.spans else {
        return diagnostic;
    };
    let span = if spans.name.is_none() {
        spans.whole
    } else {
        spans.name
    };
    let known = diagnostic.secondary.iter().any(|label| label.span == span);
    if span.is_none() || known {
        return diagnostic;
    }
    let text = cut(format!("defined here as {}", definition.shape));
    diagnostic.with_label(span, text)
}

/// `written at model.py:12 in forward`, from the metadata or the stack tables.
pub(crate) fn written_at(instruction: &Instruction, stack: &StackTables) -> Option<String> {
    let metadata = instruction.metadata()?;
    if !metadata.source_file.is_empty() {
        let file = &metadata.source_file;
        return Some(match metadata.source_line {
            0 => format!("written in {file}"),
            line => format!("written at {file}:{line}"),
        });
    }
    from_stack(metadata, stack)
}

fn from_stack(metadata: &Metadata, stack: &StackTables) -> Option<String> {
    let frame = row(&stack.stack_frames, metadata.stack_frame_id)?;
    let location = row(&stack.file_locations, frame.file_location_id)?;
    let file = row(&stack.file_names, location.file_name_id)?;
    let function = row(&stack.function_names, location.function_name_id);
    let place = function.map_or(String::new(), |function| format!(" in {function}"));
    Some(format!("written at {file}:{}{place}", location.line))
}

/// Row `number` of a table that counts from 1.
fn row<T>(table: &[T], number: i64) -> Option<&T> {
    table.get(usize::try_from(number).ok()?.checked_sub(1)?)
}
