//! Mistakes of the caller as diagnostics: no place in a text, but the lines of the calls.

use hloc_diag::{Diagnostic, Span};

use super::state::{Place, Shared};
use crate::{Broken, Focus, Id, InstrId, Opcode};

/// `called at src/main.rs:3:7`.
fn called_at(at: Place) -> String {
    format!("called at {at}")
}

impl Shared {
    /// Remembers a mistake of a call at `at`.
    pub(super) fn mistake(
        &mut self,
        code: &'static str,
        message: String,
        help: Option<&str>,
        at: Place,
    ) {
        let mut diagnostic = Diagnostic::error(code, message, Span::NONE).with_note(called_at(at));
        if let Some(help) = help {
            diagnostic = diagnostic.with_help(help);
        }
        self.errors.push(diagnostic);
    }

    /// Remembers a finished diagnostic, adding the line of the call.
    pub(super) fn tell(&mut self, diagnostic: Diagnostic, at: Place) {
        self.errors.push(diagnostic.with_note(called_at(at)));
    }

    /// Remembers that something is odd, once for each call.
    pub(super) fn warn(&mut self, code: &'static str, message: String, help: &[&str], at: Place) {
        let note = called_at(at);
        let known = |warning: &Diagnostic| warning.code == code && warning.notes.contains(&note);
        if self.warnings.iter().any(known) {
            return;
        }
        let mut diagnostic = Diagnostic::warning(code, message, Span::NONE).with_note(note);
        diagnostic.help = help.iter().map(|help| (*help).to_owned()).collect();
        self.warnings.push(diagnostic);
    }

    /// Remembers a broken rule, with the lines at which the operands in question were made.
    pub(super) fn broken(
        &mut self,
        frame: u32,
        opcode: Opcode,
        operands: &[InstrId],
        broken: Broken,
        at: Place,
    ) {
        let message = format!("`{opcode}` {}", broken.message);
        let mut diagnostic =
            Diagnostic::error(broken.constraint, message, Span::NONE).with_note(called_at(at));
        let other = broken.other.as_ref().map(|(focus, _)| *focus);
        let mut told = Vec::new();
        for focus in [Some(broken.focus), other].into_iter().flatten() {
            if let Focus::Operand(index) = focus
                && let Some(id) = operands.get(index)
                && !told.contains(&index)
            {
                told.push(index);
                diagnostic = diagnostic.with_note(self.operand_note(frame, index, *id));
            }
        }
        if let Some(help) = broken.help {
            diagnostic = diagnostic.with_help(help);
        }
        self.errors.push(diagnostic);
    }

    fn operand_note(&self, frame: u32, index: usize, id: InstrId) -> String {
        let frame = &self.frames[frame as usize];
        let instruction = &frame.computation.instructions[id];
        let place = frame.places[id.index()];
        format!(
            "operand {index} is `{}`, {}, made at {place}",
            instruction.name, instruction.shape
        )
    }
}
