//! What all lints share: where a warning is silenced, where it points.

use hloc_diag::{Diagnostic, Source, Span};
use hloc_ir::{
    Computation, ComputationId, FrontendAttributes, FrontendValue, InstrId, Instruction,
};

use super::LintOptions;
use crate::VerifiedModule;
use crate::report::written_at;

/// The frontend attribute that lists allowed codes.
const ALLOW: &str = "hloc.allow";

/// The warnings found so far.
pub(super) struct Lints<'m> {
    pub(super) module: &'m VerifiedModule,
    /// The text that the module was read from, if it is at hand.
    pub(super) source: Option<&'m Source>,
    options: &'m LintOptions,
    found: Vec<Diagnostic>,
}

impl<'m> Lints<'m> {
    pub(super) fn new(
        module: &'m VerifiedModule,
        options: &'m LintOptions,
        source: Option<&'m Source>,
    ) -> Lints<'m> {
        Lints {
            module,
            source,
            options,
            found: Vec::new(),
        }
    }

    pub(super) fn finish(self) -> Vec<Diagnostic> {
        self.found
    }

    pub(super) fn computation(&self, id: ComputationId) -> &'m Computation {
        &self.module.computations[id]
    }

    /// Warns about an instruction, at its opcode; `message` follows its name.
    pub(super) fn instruction(
        &mut self,
        code: &'static str,
        instruction: &Instruction,
        message: &str,
        help: &str,
    ) {
        let spans = instruction.origin.spans.as_ref();
        let place = spans.map_or(Span::NONE, |spans| spans.opcode);
        self.push(
            code,
            instruction,
            place,
            format!("`{}` {message}", instruction.name),
            help,
        );
    }

    /// Warns about a computation, at its name.
    pub(super) fn whole(
        &mut self,
        code: &'static str,
        computation: &Computation,
        message: &str,
        help: &str,
    ) {
        let place = computation.span.0;
        let message = format!("`{}` {message}", computation.name);
        self.push(code, computation.root(), place, message, help);
    }

    /// `holder` is the instruction whose attributes may allow the code.
    fn push(
        &mut self,
        code: &'static str,
        holder: &Instruction,
        place: Span,
        message: String,
        help: &str,
    ) {
        if self.is_allowed(code, holder) {
            return;
        }
        let mut diagnostic = Diagnostic::warning(code, message, place).with_help(help);
        if let Some(note) = written_at(holder, &self.module.stack) {
            diagnostic = diagnostic.with_note(note);
        }
        self.found.push(diagnostic);
    }

    fn is_allowed(&self, code: &str, holder: &Instruction) -> bool {
        let own = holder.attributes.as_ref();
        self.options.allow.iter().any(|allowed| allowed == code)
            || own.is_some_and(|own| lists(&own.frontend_attributes, code))
            || lists(&self.module.attributes.frontend_attributes, code)
    }
}

/// Whether `hloc.allow` holds the code.
fn lists(attributes: &FrontendAttributes, code: &str) -> bool {
    match attributes.get(ALLOW) {
        Some(FrontendValue::String(codes)) => codes.split(',').any(|each| each.trim() == code),
        Some(FrontendValue::Braces(_)) | None => false,
    }
}

/// The instruction behind `id`, through those that only place or repeat elements.
pub(super) fn unplaced(computation: &Computation, id: InstrId) -> &Instruction {
    use hloc_ir::Op;
    let mut instruction = &computation.instructions[id];
    while let Op::Broadcast { .. }
    | Op::Reshape { .. }
    | Op::Transpose { .. }
    | Op::Copy {}
    | Op::Bitcast {} = instruction.op
    {
        let Some(operand) = instruction.operands.first() else {
            break;
        };
        instruction = &computation.instructions[*operand];
    }
    instruction
}
