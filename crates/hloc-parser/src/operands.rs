//! Operands: names, elements of tuples, nested instructions, parameters made on the way.

use std::sync::Arc;

use hloc_diag::{Diagnostic, Span};
use hloc_ir::{InstrId, Instruction, InstructionSpans, Op, Operands, Origin, Shape};
use memchr::memchr2;

use crate::Parsed;
use crate::computation::Scope;
use crate::grammar::{Node, Rule};
use crate::module::Parser;
use crate::shape::shape;
use crate::values;

impl<'t> Parser<'t> {
    /// Reads operands up to the closing parenthesis and steps behind it.
    pub(crate) fn operands(&mut self, scope: &mut Scope<'t>) -> Parsed<(Operands, Vec<Span>)> {
        if let Some(names) = self.cursor.plain_operands() {
            let mut operands = Operands::with_capacity(names.len());
            for name in &names {
                let name = self.cursor.text_at(*name);
                operands.push(self.named_operand(scope, name, None, &[])?);
            }
            return Ok((operands, names));
        }
        let rest = self.cursor.rest().as_bytes();
        let only_names = memchr2(b'(', b')', rest).is_some_and(|at| rest[at] == b')');
        if only_names && let Ok(list) = self.cursor.take(Rule::operand_list) {
            let mut operands = Operands::new();
            let mut spans = Vec::new();
            for node in list.into_inner() {
                spans.push(self.cursor.span_of(&node));
                operands.push(self.operand(scope, node)?);
            }
            return Ok((operands, spans));
        }
        self.mixed_operands(scope)
    }

    /// The same one operand at a time: an operand may be an instruction, or wrong.
    fn mixed_operands(&mut self, scope: &mut Scope<'t>) -> Parsed<(Operands, Vec<Span>)> {
        let mut operands = Operands::new();
        let mut spans = Vec::new();
        self.cursor.skip_blank()?;
        if self.cursor.eat(b')') {
            return Ok((operands, spans));
        }
        loop {
            let start = self.cursor.at();
            let form = values::only_child(self.cursor.take_shallow(Rule::operand_start)?);
            let id = if form.as_rule() == Rule::operand {
                self.operand(scope, form)?
            } else {
                self.nested_instruction(scope, form, start)?
            };
            operands.push(id);
            spans.push(self.cursor.span_from(start));
            self.cursor.skip_blank()?;
            if self.cursor.eat(b')') {
                return Ok((operands, spans));
            }
            if !self.cursor.eat(b',') {
                return Err(self.cursor.expected("`,` or `)` behind an operand"));
            }
            self.cursor.skip_blank()?;
        }
    }

    fn operand(&mut self, scope: &mut Scope<'t>, node: Node<'t>) -> Parsed<InstrId> {
        let whole = self.cursor.span_of(&node);
        let mut written = None;
        let mut name = None;
        let mut indices = Vec::new();
        for part in node.into_inner() {
            let rule = part.as_rule();
            if rule == Rule::shape {
                written = Some(shape(&self.cursor, part)?);
            } else if rule == Rule::name {
                name = Some(part);
            } else {
                let span = self.cursor.span_of(&part);
                let index = values::integer(&self.cursor, &values::only_child(part))?;
                indices.push((index, span));
            }
        }
        let name = name.expect("the grammar demands a name");
        let mut id = self.named_operand(scope, name.as_str(), written.as_ref(), &indices)?;
        for (index, span) in indices {
            id = tuple_element(scope, id, index, span)?;
        }
        if let Some(written) = written {
            check_operand_shape(scope, id, &written, whole)?;
        }
        Ok(id)
    }

    /// The instruction that is named, or a new parameter where the text is a single instruction.
    fn named_operand(
        &mut self,
        scope: &mut Scope<'t>,
        name: &'t str,
        shape: Option<&Shape>,
        indices: &[(i64, Span)],
    ) -> Parsed<InstrId> {
        let (name, span) = self.checked_name(name)?;
        if let Some(id) = scope.lookup(name) {
            return Ok(id);
        }
        if !scope.makes_parameters {
            return Err(scope.undefined(name, span));
        }
        let Some(shape) = shape.filter(|_| indices.is_empty()) else {
            let message = format!("the shape of operand `{name}` is not known");
            let help = format!("write it in front: `f32[2] {name}`");
            let error = Diagnostic::error("operand-shape-omitted", message, span);
            return Err(Box::new(error.with_help(help)));
        };
        let number = scope.parameter_count() as i64;
        let mut parameter = Instruction::new(name, Op::Parameter { number }, &[], shape.clone());
        parameter.origin = origin_at(span, span);
        scope.define(name, parameter, false)
    }
}

/// The origin of an instruction that stands at `whole` under the name at `name`.
fn origin_at(whole: Span, name: Span) -> Origin {
    Origin {
        spans: Some(Arc::new(InstructionSpans {
            whole,
            name,
            ..InstructionSpans::default()
        })),
        pass: None,
    }
}

/// Takes element `index` of the tuple `of`, as `x#1` asks.
fn tuple_element(scope: &mut Scope<'_>, of: InstrId, index: i64, span: Span) -> Parsed<InstrId> {
    let shape = &scope.computation.instructions[of].shape;
    let element = shape
        .as_tuple()
        .and_then(|elements| elements.get(usize::try_from(index).ok()?));
    let Some(element) = element.cloned() else {
        let message = format!("{shape} has no element {index}");
        return Err(Box::new(Diagnostic::error("tuple-index", message, span)));
    };
    let op = Op::GetTupleElement { index };
    let mut instruction = Instruction::new("", op, &[of], element);
    instruction.origin = origin_at(span, Span::NONE);
    Ok(scope.define_nameless(instruction))
}

fn check_operand_shape(scope: &Scope<'_>, id: InstrId, written: &Shape, span: Span) -> Parsed<()> {
    let instruction = &scope.computation.instructions[id];
    if written.compatible(&instruction.shape) {
        return Ok(());
    }
    let message = format!(
        "the operand is written as {written} but `{}` is {}",
        instruction.name, instruction.shape
    );
    let error = Diagnostic::error("operand-shape", message, span);
    Err(Box::new(error.with_label(
        instruction.origin.span(),
        format!("{}", instruction.shape),
    )))
}
