//! Instructions: head, operands or payload, attributes.

use std::sync::Arc;

use hloc_diag::{Diagnostic, Span};
use hloc_ir::{
    ArrayShape, AttrValue, Computation, InstrId, Instruction, InstructionSpans, Op, Opcode,
    Operands, Origin, Shape, ShapeContext, SharedLiteral, StructuralOp,
};

use crate::Parsed;
use crate::attrs::Attributes;
use crate::computation::Scope;
use crate::fast::PlainHead;
use crate::grammar::{Node, Rule};
use crate::literal::read_literal;
use crate::module::Parser;
use crate::shape::{plain_array, shape};
use crate::suggest::{closest, did_you_mean};
use crate::values;

/// What stands up to the opening parenthesis.
pub(crate) struct Head<'t> {
    start: usize,
    is_root: bool,
    /// Without `%`; `None` for nested and single instructions.
    name: Option<(&'t str, Span)>,
    shape: Option<Shape>,
    shape_span: Span,
    opcode: &'t str,
    opcode_span: Span,
}

/// A step of an asynchronous computation written as `negate-start(x)`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AsyncStep {
    Start,
    Update,
    Done,
}

/// What an opcode's text means.
#[derive(Clone, Copy)]
pub(crate) enum Spelling {
    Plain(Opcode),
    /// The step, and the opcode that runs asynchronously.
    Async(AsyncStep, Opcode),
}

/// What stands between the parentheses.
struct Arguments {
    payload: Option<Payload>,
    operands: Operands,
    spans: Vec<Span>,
}

enum Payload {
    Parameter(i64),
    Literal(SharedLiteral),
}

impl<'t> Parser<'t> {
    /// Reads an instruction with a name and appends it.
    pub(crate) fn instruction(&mut self, scope: &mut Scope<'t>) -> Parsed<()> {
        let start = self.cursor.at();
        let head = match self.cursor.plain_head() {
            Some(plain) => self.plain_head(plain, start)?,
            None => self.any_head(start)?,
        };
        let (name, is_root) = (head.name.map_or("", |(name, _)| name), head.is_root);
        let instruction = self.rest_of_instruction(scope, head, true)?;
        scope.define(name, instruction, is_root)?;
        Ok(())
    }

    /// What was cut by hand.
    fn plain_head(&self, plain: PlainHead<'t>, start: usize) -> Parsed<Head<'t>> {
        Ok(Head {
            start,
            is_root: plain.is_root,
            name: Some(self.checked_name(plain.name)?),
            shape: Some(plain_array(&self.cursor, plain.shape)?),
            shape_span: self.cursor.span_of_text(plain.shape),
            opcode: plain.opcode,
            opcode_span: self.cursor.span_of_text(plain.opcode),
        })
    }

    /// Reads the head of an instruction with a name by the grammar.
    fn any_head(&mut self, start: usize) -> Parsed<Head<'t>> {
        self.check_head_depth(start)?;
        match self.cursor.take(Rule::instruction_head) {
            Ok(node) => self.head(node, start),
            Err(error) => Err(self.explain_head(error)),
        }
    }

    /// Reads an instruction that may lack a name.
    pub(crate) fn lone_instruction(&mut self, scope: &mut Scope<'t>) -> Parsed<()> {
        let start = self.cursor.at();
        self.check_head_depth(start)?;
        self.cursor.check_depth(start)?;
        let Ok(node) = self.cursor.take(Rule::nameless_head) else {
            return self.instruction(scope);
        };
        let head = self.head(node, start)?;
        let instruction = self.rest_of_instruction(scope, head, true)?;
        let id = scope.define_nameless(instruction);
        scope.set_last(id);
        Ok(())
    }

    /// Reads an instruction that stands as an operand and has no attributes; `node` is its head.
    pub(crate) fn nested_instruction(
        &mut self,
        scope: &mut Scope<'t>,
        node: Node<'t>,
        start: usize,
    ) -> Parsed<InstrId> {
        self.enter(self.cursor.span_of(&node))?;
        let head = self.head(node, start)?;
        let instruction = self.rest_of_instruction(scope, head, false)?;
        self.depth -= 1;
        Ok(scope.define_nameless(instruction))
    }

    /// Limits the depth of the shape behind the equals sign.
    fn check_head_depth(&mut self, start: usize) -> Parsed<()> {
        if self.cursor.at_word("ROOT") {
            self.cursor.move_to(start + "ROOT".len());
            self.cursor.skip_blank()?;
        }
        self.cursor.skip_name();
        self.cursor.skip_blank()?;
        if self.cursor.eat(b'=') {
            self.cursor.skip_blank()?;
            self.cursor.check_depth(self.cursor.at())?;
        }
        self.cursor.move_to(start);
        Ok(())
    }

    /// Finds the part of an instruction's head that is wrong; `error` serves if each seems right.
    fn explain_head(&mut self, error: Box<Diagnostic>) -> Box<Diagnostic> {
        self.head_fault().err().unwrap_or(error)
    }

    fn head_fault(&mut self) -> Parsed<()> {
        if self.cursor.at_word("ROOT") {
            self.cursor.take(Rule::root)?;
            self.cursor.skip_blank()?;
        }
        if self.cursor.take(Rule::name).is_err() {
            return Err(self.cursor.expected("an instruction or `}`"));
        }
        self.cursor.skip_blank()?;
        if !self.cursor.eat(b'=') {
            return Err(self.cursor.expected("`=` behind the instruction's name"));
        }
        self.cursor.skip_blank()?;
        let behind_equals = self.cursor.at();
        self.cursor.skip_name();
        self.cursor.skip_blank()?;
        let next = self.cursor.peek();
        let is_shape =
            next == Some(b'[') || (next == Some(b'(') && self.cursor.at() == behind_equals);
        self.cursor.move_to(behind_equals);
        if is_shape {
            self.cursor.take(Rule::shape)?;
            self.cursor.skip_blank()?;
            self.check_no_layout()?;
        }
        let Ok(opcode) = self.cursor.take(Rule::opcode) else {
            return Err(self.cursor.expected(if is_shape {
                "an opcode"
            } else {
                "a shape or an opcode"
            }));
        };
        self.cursor.skip_blank()?;
        if !self.cursor.eat(b'(') {
            let what = format!("`(` behind the opcode `{}`", opcode.as_str());
            return Err(self.cursor.expected(&what));
        }
        Ok(())
    }

    /// A brace behind a shape is a layout that the shape did not take: it says what a layout is.
    fn check_no_layout(&mut self) -> Parsed<()> {
        let at = self.cursor.at();
        if self.cursor.peek() != Some(b'{') {
            return Ok(());
        }
        self.cursor.take(Rule::layout)?;
        self.cursor.move_to(at);
        Err(self.cursor.expected("an opcode or a layout with numbers"))
    }

    fn head(&self, node: Node<'t>, start: usize) -> Parsed<Head<'t>> {
        let mut head = Head {
            start,
            is_root: false,
            name: None,
            shape: None,
            shape_span: Span::NONE,
            opcode: "",
            opcode_span: Span::NONE,
        };
        for part in node.into_inner() {
            let rule = part.as_rule();
            let span = self.cursor.span_of(&part);
            if rule == Rule::root {
                head.is_root = true;
            } else if rule == Rule::name {
                let (name, span) = self.checked_name(part.as_str())?;
                self.check_equals_apart(part.as_str(), span)?;
                head.name = Some((name, span));
            } else if rule == Rule::shape || rule == Rule::plain_array {
                head.shape = Some(shape(&self.cursor, part)?);
                head.shape_span = span;
            } else {
                (head.opcode, head.opcode_span) = (part.as_str(), span);
            }
        }
        Ok(head)
    }

    /// A name without `%` directly at `=` is an attribute's name to XLA.
    fn check_equals_apart(&self, written: &str, span: Span) -> Parsed<()> {
        if written.starts_with('%') || self.cursor.byte_at(span.end) != Some(b'=') {
            return Ok(());
        }
        let message = format!("`{written}=` begins an attribute, not an instruction");
        let help = format!("write `{written} =` or `%{written}=`");
        let error = Diagnostic::error("syntax-error", message, span);
        Err(Box::new(error.with_help(help)))
    }

    /// Reads what stands behind the opening parenthesis.
    fn rest_of_instruction(
        &mut self,
        scope: &mut Scope<'t>,
        head: Head<'t>,
        with_attributes: bool,
    ) -> Parsed<Instruction> {
        let spelling =
            spelling(head.opcode).ok_or_else(|| unknown_opcode(head.opcode, head.opcode_span))?;
        let arguments = self.arguments(scope, spelling, &head)?;
        let mut end = self.cursor.at();
        let mut attributes = Attributes::default();
        if with_attributes {
            attributes = self.attributes(scope, spelling)?;
            end = attributes.end(end);
        }
        let whole = Span::from_range(head.start..end);
        let op = self.op(scope, spelling, &head, &arguments, &mut attributes)?;
        let name = head.name;
        let declared = head.shape;
        let shape = match declared {
            Some(shape) => shape,
            None => self.inferred(scope, &op, &arguments.operands, head.opcode_span)?,
        };
        let spans = InstructionSpans {
            whole,
            name: name.map_or(Span::NONE, |(_, span)| span),
            shape: head.shape_span,
            opcode: head.opcode_span,
            operands: arguments.spans.into(),
            attributes: attributes.spans.into(),
        };
        Ok(Instruction {
            name: name.map_or("", |(name, _)| name).into(),
            op,
            operands: arguments.operands,
            shape,
            attributes: attributes.common,
            origin: Origin {
                spans: Some(Arc::new(spans)),
                pass: None,
            },
        })
    }

    fn arguments(
        &mut self,
        scope: &mut Scope<'t>,
        spelling: Spelling,
        head: &Head<'t>,
    ) -> Parsed<Arguments> {
        let payload = match spelling {
            Spelling::Plain(Opcode::Structural(StructuralOp::Parameter)) => {
                Payload::Parameter(self.parameter_number()?)
            }
            Spelling::Plain(Opcode::Structural(StructuralOp::Constant)) => {
                Payload::Literal(self.literal(head)?)
            }
            Spelling::Plain(_) | Spelling::Async(..) => {
                let (operands, spans) = self.operands(scope)?;
                return Ok(Arguments {
                    payload: None,
                    operands,
                    spans,
                });
            }
        };
        Ok(Arguments {
            payload: Some(payload),
            operands: Operands::new(),
            spans: Vec::new(),
        })
    }

    fn parameter_number(&mut self) -> Parsed<i64> {
        if let Some(number) = self.cursor.plain_parameter_number() {
            return Ok(number);
        }
        let node = values::only_child(self.cursor.take(Rule::parameter_number)?);
        let number = values::integer(&self.cursor, &node)?;
        if number < 0 {
            let message = format!("a parameter number is not negative: {}", node.as_str());
            let span = self.cursor.span_of(&node);
            return Err(Box::new(Diagnostic::error(
                "parameter-number",
                message,
                span,
            )));
        }
        Ok(number)
    }

    fn literal(&mut self, head: &Head<'t>) -> Parsed<SharedLiteral> {
        let Some(shape) = &head.shape else {
            return Err(shape_omitted(head.opcode, head.opcode_span));
        };
        let text = self.cursor.take_payload()?;
        let base = self.cursor.span_of_text(text).start;
        let literal = read_literal(text, base, shape).map_err(Box::new)?;
        Ok(literal.into())
    }

    fn op(
        &mut self,
        scope: &Scope<'t>,
        spelling: Spelling,
        head: &Head<'t>,
        arguments: &Arguments,
        attributes: &mut Attributes,
    ) -> Parsed<Op> {
        match (spelling, &arguments.payload) {
            (_, Some(Payload::Parameter(number))) => Ok(Op::Parameter { number: *number }),
            (_, Some(Payload::Literal(literal))) => Ok(Op::Constant {
                literal: literal.clone(),
            }),
            (Spelling::Plain(opcode), None) => {
                if may_omit_dimensions(opcode, scope, arguments) && !attributes.has("dimensions") {
                    let none = AttrValue::Integers(Vec::new());
                    attributes.put("dimensions", none, head.opcode_span);
                }
                attributes.op(opcode, head.opcode_span)
            }
            (Spelling::Async(AsyncStep::Start, wrapped), None) => {
                self.async_start(scope, wrapped, head, arguments, attributes)
            }
            (Spelling::Async(step, wrapped), None) => {
                check_async_chain(scope, wrapped, head, arguments, &self.computations)?;
                let opcode = if step == AsyncStep::Done {
                    StructuralOp::AsyncDone
                } else {
                    StructuralOp::AsyncUpdate
                };
                attributes.op(Opcode::Structural(opcode), head.opcode_span)
            }
        }
    }

    /// Wraps `wrapped` in a computation and starts that.
    fn async_start(
        &mut self,
        scope: &Scope<'t>,
        wrapped: Opcode,
        head: &Head<'t>,
        arguments: &Arguments,
        attributes: &mut Attributes,
    ) -> Parsed<Op> {
        let result = head.shape.as_ref().and_then(Shape::as_tuple);
        let Some(result) = result.and_then(|elements| elements.get(1)) else {
            let message = format!(
                "`{}` needs its result shape written: a tuple of operands, result and context",
                head.opcode
            );
            let error = Diagnostic::error("async-shape", message, head.opcode_span);
            return Err(Box::new(error));
        };
        let mut computation = Computation::new("async_computation");
        let mut inner = Operands::new();
        for (number, operand) in arguments.operands.iter().enumerate() {
            let shape = scope.computation.instructions[*operand].shape.clone();
            let op = Op::Parameter {
                number: number as i64,
            };
            inner.push(computation.push(Instruction::new(
                format!("param_{number}"),
                op,
                &[],
                shape,
            )));
        }
        let op = attributes.op(wrapped, head.opcode_span)?;
        let root = Instruction::new(wrapped.name(), op, &inner, result.clone());
        computation.root = computation.push(root);
        let calls = self.computations.push(computation);
        self.nameless.push((calls, "async_computation"));
        attributes.put("calls", AttrValue::Computation(calls), head.opcode_span);
        let start = Opcode::Structural(StructuralOp::AsyncStart);
        attributes.op(start, head.opcode_span)
    }

    /// The shape by the op's rule, for an instruction that leaves it out.
    fn inferred(
        &self,
        scope: &Scope<'t>,
        op: &Op,
        operands: &Operands,
        span: Span,
    ) -> Parsed<Shape> {
        if let Op::Parameter { .. } | Op::Constant { .. } = op {
            return Err(shape_omitted(op.opcode().name(), span));
        }
        let instructions = &scope.computation.instructions;
        let shapes: Vec<&Shape> = operands.iter().map(|id| &instructions[*id].shape).collect();
        let context = ShapeContext {
            op,
            operands: &shapes,
            computations: &self.computations,
            declared: None,
        };
        hloc_ir::infer_shape(&context).map_err(|broken| {
            let message = format!("`{}` {}", op.opcode(), broken.message);
            let mut error = Diagnostic::error(broken.constraint, message, span);
            error.help.extend(broken.help);
            Box::new(error)
        })
    }
}

/// What `opcode` means; `negate-start` and the like are steps of asynchronous computations.
fn spelling(opcode: &str) -> Option<Spelling> {
    if let Some(opcode) = Opcode::from_name(opcode) {
        return Some(Spelling::Plain(opcode));
    }
    let steps = [
        ("-start", AsyncStep::Start),
        ("-update", AsyncStep::Update),
        ("-done", AsyncStep::Done),
    ];
    let (wrapped, step) = steps
        .iter()
        .find_map(|(suffix, step)| Some((opcode.strip_suffix(suffix)?, *step)))?;
    let wrapped = Opcode::from_name(wrapped)?;
    let has_payload = [StructuralOp::Parameter, StructuralOp::Constant]
        .map(Opcode::Structural)
        .contains(&wrapped);
    (!has_payload).then_some(Spelling::Async(step, wrapped))
}

fn unknown_opcode(opcode: &str, span: Span) -> Box<Diagnostic> {
    let message = format!("unknown opcode `{opcode}`");
    let mut error = Diagnostic::error("unknown-opcode", message, span);
    if let Some(near) = closest(opcode, Opcode::all().map(Opcode::name)) {
        error = error.with_help(did_you_mean(near));
    }
    Box::new(error)
}

fn shape_omitted(opcode: &str, span: Span) -> Box<Diagnostic> {
    let message = format!("`{opcode}` needs its result shape written");
    Box::new(Diagnostic::error("shape-omitted", message, span))
}

/// Checks that the operand of a later step stems from the start of the same opcode.
fn check_async_chain(
    scope: &Scope<'_>,
    wrapped: Opcode,
    head: &Head<'_>,
    arguments: &Arguments,
    computations: &hloc_ir::Arena<hloc_ir::ComputationId, Computation>,
) -> Parsed<()> {
    let instructions = &scope.computation.instructions;
    let mut operand = arguments.operands.first();
    while let Some(id) = operand {
        let instruction = &instructions[*id];
        if let Op::AsyncStart { calls, .. } = &instruction.op {
            let started = computations[*calls].root().op.opcode();
            if started == wrapped {
                return Ok(());
            }
            let message = format!("`{}` ends an asynchronous `{started}`", head.opcode);
            let error = Diagnostic::error("async-chain", message, head.opcode_span);
            return Err(Box::new(
                error.with_label(instruction.origin.span(), "begun here"),
            ));
        }
        let is_step = matches!(instruction.op, Op::AsyncUpdate { .. });
        operand = instruction.operands.first().filter(|_| is_step);
    }
    let message = format!(
        "the operand of `{}` is no asynchronous `{wrapped}`",
        head.opcode
    );
    let span = arguments.spans.first().copied().unwrap_or(head.opcode_span);
    Err(Box::new(Diagnostic::error("async-chain", message, span)))
}

/// A `broadcast` of a scalar needs no `dimensions`.
fn may_omit_dimensions(opcode: Opcode, scope: &Scope<'_>, arguments: &Arguments) -> bool {
    let is_scalar = |id: &InstrId| {
        let shape = scope.computation.instructions[*id].shape.as_array();
        shape.is_some_and(ArrayShape::is_scalar)
    };
    opcode == Opcode::Structural(StructuralOp::Broadcast)
        && arguments.operands.iter().all(is_scalar)
}
