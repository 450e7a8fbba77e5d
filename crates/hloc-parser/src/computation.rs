//! Computations: heads, bodies, parameters and roots.

use hloc_diag::{Diagnostic, Span};
use hloc_ir::{
    Computation, ComputationId, HashMap, InstrId, Instruction, Name, Op, ProgramShape, SourceSpan,
};

use crate::Parsed;
use crate::grammar::Rule;
use crate::limits::MAX_NESTING;
use crate::module::Parser;
use crate::names::FreshNames;
use crate::shape::{plain_array, program_shape};
use crate::split::Cursor;
use crate::suggest::{closest, did_you_mean};
use crate::values;

/// A computation whose body is being read.
pub(crate) struct Scope<'t> {
    pub(crate) computation: Computation,
    names: HashMap<&'t str, InstrId>,
    /// Number, instruction and place of each parameter in text order.
    parameters: Vec<(i64, InstrId, Span)>,
    root: Option<(InstrId, Span)>,
    last: Option<InstrId>,
    nameless: Vec<InstrId>,
    /// Whether names that nothing defines become parameters.
    pub(crate) makes_parameters: bool,
}

impl<'t> Scope<'t> {
    pub(crate) fn new(name: impl Into<Name>) -> Scope<'t> {
        Scope {
            computation: Computation::new(name),
            names: HashMap::default(),
            parameters: Vec::new(),
            root: None,
            last: None,
            nameless: Vec::new(),
            makes_parameters: false,
        }
    }

    pub(crate) fn of_single_instruction(name: &str) -> Scope<'t> {
        Scope {
            makes_parameters: true,
            ..Scope::new(name)
        }
    }

    /// The instruction called `name`.
    pub(crate) fn lookup(&self, name: &str) -> Option<InstrId> {
        self.names.get(name).copied()
    }

    /// The error of a name that nothing defines before its use.
    pub(crate) fn undefined(&self, name: &str, span: Span) -> Box<Diagnostic> {
        let message = format!(
            "no instruction `{name}` stands before this use in `{}`",
            self.computation.name
        );
        let mut error = Diagnostic::error("undefined-name", message, span);
        let names = self.computation.instructions.values().rev();
        if let Some(near) = closest(name, names.map(|other| &*other.name)) {
            error = error.with_help(did_you_mean(near));
        }
        Box::new(error)
    }

    /// Appends an instruction that the text names.
    pub(crate) fn define(
        &mut self,
        name: &'t str,
        instruction: Instruction,
        is_root: bool,
    ) -> Parsed<InstrId> {
        let span = instruction_name_span(&instruction);
        if let Some(first) = self.lookup(name) {
            let message = format!("`{name}` is defined twice in `{}`", self.computation.name);
            let first = instruction_name_span(&self.computation.instructions[first]);
            let error = Diagnostic::error("duplicate-name", message, span);
            return Err(Box::new(error.with_label(first, "the first")));
        }
        let id = self.push(instruction, span);
        self.names.insert(name, id);
        self.last = Some(id);
        if is_root {
            if let Some((_, first)) = self.root {
                let message = format!("`{}` has two roots", self.computation.name);
                let error = Diagnostic::error("two-roots", message, span);
                return Err(Box::new(error.with_label(first, "the first")));
            }
            self.root = Some((id, span));
        }
        Ok(id)
    }

    /// Appends an instruction that the text leaves nameless; it gets its name at the end.
    pub(crate) fn define_nameless(&mut self, instruction: Instruction) -> InstrId {
        let span = instruction.origin.span();
        let id = self.push(instruction, span);
        self.nameless.push(id);
        id
    }

    /// Makes the nameless instruction `id` the root unless another is marked.
    pub(crate) fn set_last(&mut self, id: InstrId) {
        self.last = Some(id);
    }

    /// How many parameters there are.
    pub(crate) fn parameter_count(&self) -> usize {
        self.parameters.len()
    }

    fn push(&mut self, instruction: Instruction, span: Span) -> InstrId {
        let number = if let Op::Parameter { number } = instruction.op {
            Some(number)
        } else {
            None
        };
        let id = self.computation.instructions.push(instruction);
        if let Some(number) = number {
            self.parameters.push((number, id, span));
        }
        id
    }

    /// Checks parameters and root and names the nameless; `span` is where the computation stands.
    pub(crate) fn finish(mut self, span: Span) -> Parsed<Computation> {
        self.computation.parameters = self.ordered_parameters()?;
        let root = self.root.map(|(id, _)| id).or(self.last);
        let Some(root) = root else {
            let message = format!("`{}` has no instructions", self.computation.name);
            return Err(Box::new(Diagnostic::error(
                "empty-computation",
                message,
                span,
            )));
        };
        self.computation.root = root;
        if !self.nameless.is_empty() {
            let taken = self.names.keys().map(|name| Name::from(*name));
            let mut fresh = FreshNames::avoiding(taken);
            for id in self.nameless {
                let instruction = &mut self.computation.instructions[id];
                instruction.name = fresh.fresh(instruction.op.opcode().name());
            }
        }
        Ok(self.computation)
    }

    fn ordered_parameters(&mut self) -> Parsed<Vec<InstrId>> {
        self.parameters
            .sort_by_key(|(number, id, _)| (*number, *id));
        let mut previous: Option<Span> = None;
        for (due, (number, _, span)) in self.parameters.iter().enumerate() {
            let due = due as i64;
            if *number == due {
                previous = Some(*span);
                continue;
            }
            let name = &self.computation.name;
            let error = if *number < due {
                let message = format!("`{name}` has two parameters {number}");
                let error = Diagnostic::error("duplicate-parameter", message, *span);
                error.with_label(previous.unwrap_or(Span::NONE), "the first")
            } else {
                let message = format!("`{name}` has a parameter {number} but no parameter {due}");
                Diagnostic::error("parameter-gap", message, *span)
            };
            return Err(Box::new(error));
        }
        Ok(self.parameters.iter().map(|(_, id, _)| *id).collect())
    }
}

fn instruction_name_span(instruction: &Instruction) -> Span {
    let spans = instruction.origin.spans.as_ref();
    spans.map_or(Span::NONE, |spans| spans.name)
}

impl<'t> Parser<'t> {
    /// Reads a computation with a head.
    pub(crate) fn computation(&mut self) -> Parsed<()> {
        let start = self.cursor.at();
        let (head, head_end) = self.computation_head(start)?;
        let mut scope = Scope::new(head.name);
        scope.computation.span = SourceSpan(head.span);
        scope.computation.signature = head.signature;
        self.cursor.move_to(head_end);
        self.body(&mut scope)?;
        scope.computation.execution_thread = self.execution_thread()?;
        let computation = scope.finish(head.span)?;
        let id = self.computations.push(computation);
        if let Some(first) = self.names.insert(head.name, id) {
            let message = format!("two computations are called `{}`", head.name);
            let error = Diagnostic::error("duplicate-name", message, head.span)
                .with_label(self.computations[first].span.0, "the first");
            return Err(Box::new(error));
        }
        if head.is_entry {
            self.set_entry(id, head.span)?;
        }
        Ok(())
    }

    fn computation_head(&mut self, start: usize) -> Parsed<(Head<'t>, usize)> {
        if let Some(plain) = self.cursor.plain_computation()
            && let Ok(signature) = plain_signature(&self.cursor, &plain.shapes)
        {
            let (name, span) = self.checked_name(plain.name)?;
            let head = Head {
                name,
                span,
                is_entry: plain.is_entry,
                signature,
            };
            return Ok((head, self.cursor.at()));
        }
        self.cursor.move_to(start);
        self.check_signature_depth(start)?;
        let node = self.cursor.take(Rule::computation_head)?;
        let end = self.cursor.at();
        let mut head = Head::default();
        for part in node.into_inner() {
            let rule = part.as_rule();
            if rule == Rule::entry {
                head.is_entry = true;
            } else if rule == Rule::name {
                (head.name, head.span) = self.checked_name(part.as_str())?;
            } else {
                let shapes = part.into_inner().map(|part| {
                    if part.as_rule() == Rule::signature_parameter {
                        part.into_inner()
                            .nth(1)
                            .expect("the grammar demands a shape behind the name")
                    } else {
                        part
                    }
                });
                head.signature = Some(program_shape(&self.cursor, shapes)?);
            }
        }
        Ok((head, end))
    }

    /// Limits the depth of the signature, which begins at the first parenthesis behind the name.
    fn check_signature_depth(&mut self, start: usize) -> Parsed<()> {
        let mut ahead = start;
        for _ in 0..2 {
            self.cursor.move_to(ahead);
            if !self
                .cursor
                .peek()
                .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_' || byte == b'%')
            {
                break;
            }
            if self.cursor.plain_name().is_none() {
                break;
            }
            self.cursor.skip_blank()?;
            ahead = self.cursor.at();
        }
        if self.cursor.peek() == Some(b'(') {
            self.cursor.check_depth(ahead)?;
            self.cursor.expect(b'(')?;
            self.cursor.take_payload()?;
            self.cursor.skip_blank()?;
            if self.cursor.rest().starts_with("->") {
                let arrow_end = self.cursor.at() + 2;
                self.cursor.move_to(arrow_end);
                self.cursor.skip_blank()?;
                self.cursor.check_depth(self.cursor.at())?;
            }
        }
        self.cursor.move_to(start);
        Ok(())
    }

    /// Reads instructions up to the closing brace and steps behind it.
    fn body(&mut self, scope: &mut Scope<'t>) -> Parsed<()> {
        let open = self.cursor.at().saturating_sub(1);
        loop {
            self.cursor.skip_blank()?;
            match self.cursor.peek() {
                Some(b'}') => break,
                None => {
                    let span = Span::from_range(open..open + 1);
                    let message = "the body that begins here is never closed";
                    let error = Diagnostic::error("unclosed-brace", message, span);
                    return Err(Box::new(error));
                }
                Some(_) => self.instruction(scope)?,
            }
        }
        self.cursor.expect(b'}')
    }

    fn execution_thread(&mut self) -> Parsed<Option<Box<str>>> {
        self.cursor.skip_blank()?;
        if self.cursor.peek() != Some(b',') {
            return Ok(None);
        }
        let name = values::only_child(self.cursor.take(Rule::attribute_name)?);
        if name.as_str() != "execution_thread" {
            let message = format!("a computation has no attribute `{}`", name.as_str());
            let span = self.cursor.span_of(&name);
            let error = Diagnostic::error("unknown-attribute", message, span);
            return Err(Box::new(
                error.with_note("its only attribute is execution_thread"),
            ));
        }
        let thread = self.cursor.take(Rule::string)?;
        Ok(Some(values::string(&self.cursor, &thread)?))
    }

    /// Reads a nameless computation in braces: `to_apply={ a = f32[] parameter(0) … }`.
    pub(crate) fn inline_computation(&mut self) -> Parsed<ComputationId> {
        let span = self.cursor.span_here();
        self.cursor.expect(b'{')?;
        self.enter(span)?;
        let mut scope = Scope::new("_");
        scope.computation.span = SourceSpan(span);
        self.body(&mut scope)?;
        self.depth -= 1;
        let computation = scope.finish(span)?;
        let id = self.computations.push(computation);
        self.nameless.push((id, "_"));
        Ok(id)
    }

    /// Counts one more open nested part; the caller counts down.
    pub(crate) fn enter(&mut self, span: Span) -> Parsed<()> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            let message =
                format!("operands and computations are nested more than {MAX_NESTING} deep");
            return Err(Box::new(Diagnostic::error(
                "nesting-too-deep",
                message,
                span,
            )));
        }
        Ok(())
    }

    /// The computation called `name`.
    pub(crate) fn called(&self, written: &'t str) -> Parsed<ComputationId> {
        let (name, span) = self.checked_name(written)?;
        self.names.get(name).copied().ok_or_else(|| {
            let message = format!("no computation `{name}` stands before this use");
            let mut error = Diagnostic::error("undefined-name", message, span);
            let names = self.computations.values().rev();
            if let Some(near) = closest(name, names.map(|other| &*other.name)) {
                error = error.with_help(did_you_mean(near));
            }
            Box::new(error)
        })
    }
}

/// What stands in front of a body.
#[derive(Default)]
struct Head<'t> {
    name: &'t str,
    span: Span,
    is_entry: bool,
    signature: Option<ProgramShape>,
}

/// Parameters and result; `None` without shapes.
fn plain_signature<'t>(cursor: &Cursor<'t>, shapes: &[&'t str]) -> Parsed<Option<ProgramShape>> {
    let Some((result, parameters)) = shapes.split_last() else {
        return Ok(None);
    };
    let parameters = parameters.iter().map(|shape| plain_array(cursor, shape));
    Ok(Some(ProgramShape {
        parameters: parameters.collect::<Parsed<_>>()?,
        result: plain_array(cursor, result)?,
    }))
}
