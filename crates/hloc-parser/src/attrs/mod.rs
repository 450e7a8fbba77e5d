//! Attributes of instructions: which an opcode takes, and the op they make with it.

mod common;
mod numbers;
mod provenance;
mod structured;

use hloc_diag::{Diagnostic, Span};
use hloc_ir::{
    AttrError, AttrKind, AttrSpec, AttrValue, CommonAttributes, Op, Opcode, StructuralOp,
};

use crate::Parsed;
use crate::computation::Scope;
use crate::grammar::Rule;
use crate::header::duplicate;
use crate::instruction::{AsyncStep, Spelling};
use crate::literal::read_literal;
use crate::module::Parser;
use crate::shape::shape;
use crate::split::canonical;
use crate::suggest::{closest, did_you_mean};
use crate::values;

/// The attributes of one instruction.
#[derive(Default)]
pub(crate) struct Attributes {
    own: Vec<(&'static str, AttrValue, Span)>,
    /// Those that any instruction may carry.
    pub(crate) common: Option<Box<CommonAttributes>>,
    /// Name and place of each, as written.
    pub(crate) spans: Vec<(Box<str>, Span)>,
}

impl Attributes {
    /// Where the last attribute ends; `end` if there is none.
    pub(crate) fn end(&self, end: usize) -> usize {
        self.spans.last().map_or(end, |(_, span)| span.end as usize)
    }

    /// Adds an attribute that is not in the text.
    pub(crate) fn put(&mut self, name: &'static str, value: AttrValue, span: Span) {
        self.own.push((name, value, span));
    }

    /// Whether the opcode's attribute `name` was written or put.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.own.iter().any(|(own, _, _)| *own == name)
    }

    /// The op that `opcode` and the attributes make; takes those that belong to it.
    pub(crate) fn op(&mut self, opcode: Opcode, opcode_span: Span) -> Parsed<Op> {
        let own = &mut self.own;
        let mut taken: Vec<(&'static str, Span)> = Vec::new();
        let op = Op::from_attributes(opcode, &mut |name| {
            let at = own.iter().position(|(other, _, _)| *other == name)?;
            let (name, value, span) = own.swap_remove(at);
            taken.push((name, span));
            Some(value)
        });
        op.map_err(|(name, error)| {
            let place = taken.iter().find(|(other, _)| *other == name);
            let span = place.map_or(opcode_span, |(_, span)| *span);
            Box::new(match error {
                AttrError::Missing => {
                    let message = format!("`{opcode}` needs the attribute `{name}`");
                    Diagnostic::error("missing-attribute", message, span)
                }
                AttrError::WrongKind => {
                    let message = format!("the attribute `{name}` of `{opcode}` has another form");
                    Diagnostic::error("attribute-value", message, span)
                }
                AttrError::Invalid(reason) => {
                    let message = format!("the attribute `{name}` of `{opcode}`: {reason}");
                    Diagnostic::error("attribute-value", message, span)
                }
            })
        })
    }
}

/// The attributes that an opcode as written takes.
fn specs(spelling: Spelling) -> impl Iterator<Item = &'static AttrSpec> + Clone {
    let structural = |op: StructuralOp| Opcode::Structural(op).attributes();
    let (own, step) = match spelling {
        Spelling::Plain(opcode) => (opcode.attributes(), &[][..]),
        Spelling::Async(AsyncStep::Start, wrapped) => {
            (wrapped.attributes(), structural(StructuralOp::AsyncStart))
        }
        Spelling::Async(AsyncStep::Update, _) => (&[][..], structural(StructuralOp::AsyncUpdate)),
        Spelling::Async(AsyncStep::Done, _) => (&[][..], structural(StructuralOp::AsyncDone)),
    };
    let is_sugar = !step.is_empty();
    own.iter().chain(
        step.iter()
            .filter(move |spec| !(is_sugar && spec.name == "calls")),
    )
}

impl<'t> Parser<'t> {
    /// Reads `, name=value` as often as it stands.
    pub(crate) fn attributes(
        &mut self,
        scope: &Scope<'t>,
        spelling: Spelling,
    ) -> Parsed<Attributes> {
        let mut attributes = Attributes::default();
        loop {
            let end = self.cursor.at();
            self.cursor.skip_blank()?;
            if self.cursor.peek() != Some(b',') {
                self.cursor.move_to(end);
                let nothing = CommonAttributes::default();
                attributes.common = attributes.common.filter(|common| **common != nothing);
                return Ok(attributes);
            }
            let (name, span) = self.attribute_name()?;
            let first = attributes.spans.iter().find(|(other, _)| **other == *name);
            if let Some((_, first)) = first {
                return Err(duplicate(name, span, *first));
            }
            let spec = specs(spelling).find(|spec| spec.name == name);
            let value = match spec {
                Some(spec) => Some((spec.name, self.attribute_value(spec.kind)?)),
                None if self.common_attribute(scope, name, &mut attributes.common)? => None,
                None => return Err(unknown(spelling, name, span)),
            };
            let whole = span.join(self.cursor.span_from(self.cursor.at()));
            if let Some((name, value)) = value {
                attributes.own.push((name, value, whole));
            }
            attributes.spans.push((name.into(), whole));
        }
    }

    /// Reads a value of the form `kind`.
    fn attribute_value(&mut self, kind: AttrKind) -> Parsed<AttrValue> {
        Ok(match kind {
            AttrKind::Integer => AttrValue::Integer(self.integer()?),
            AttrKind::Float => AttrValue::Float(self.number()?),
            AttrKind::Bool => AttrValue::Bool(self.boolean()?),
            AttrKind::Integers => AttrValue::Integers(self.integer_list()?),
            AttrKind::Bools => AttrValue::Bools(self.boolean_list()?),
            AttrKind::Slice => AttrValue::Slice(self.slice()?),
            AttrKind::Padding => AttrValue::Padding(self.padding()?),
            AttrKind::Window => AttrValue::Window(self.window()?),
            AttrKind::DimLabels => AttrValue::DimLabels(self.dim_labels()?),
            AttrKind::Word(words) => AttrValue::Word(self.word(words)?),
            AttrKind::Words(words) => AttrValue::Words(self.words(words)?),
            AttrKind::String => AttrValue::String(self.string()?),
            AttrKind::Computation => AttrValue::Computation(self.called_computation()?),
            AttrKind::Computations => AttrValue::Computations(self.called_computations()?),
            AttrKind::Shape => {
                let node = self.cursor.take_shallow(Rule::shape)?;
                AttrValue::Shape(shape(&self.cursor, node)?)
            }
            AttrKind::Shapes => {
                let list = self.cursor.take_shallow(Rule::shape_list)?;
                let shapes = list.into_inner().map(|node| shape(&self.cursor, node));
                AttrValue::Shapes(shapes.collect::<Parsed<_>>()?)
            }
            AttrKind::OutputAliases => AttrValue::OutputAliases(self.output_aliases()?),
            AttrKind::ReplicaGroups => AttrValue::ReplicaGroups(self.replica_groups()?),
            AttrKind::Pairs => AttrValue::Pairs(self.pairs()?),
            AttrKind::Domain => AttrValue::Domain(self.domain()?),
            AttrKind::ResultAccuracy => AttrValue::ResultAccuracy(self.result_accuracy()?),
            AttrKind::Literal => self.literal_attribute()?,
            AttrKind::Text => AttrValue::Text(self.raw_text()?),
        })
    }

    /// One of `words`.
    fn word(&mut self, words: &'static [&'static str]) -> Parsed<&'static str> {
        let word = match self.cursor.plain_ident() {
            Some(word) => word,
            None => self.cursor.take(Rule::ident)?.as_str(),
        };
        known_word(word, words, self.cursor.span_of_text(word))
    }

    fn words(&mut self, words: &'static [&'static str]) -> Parsed<Vec<&'static str>> {
        let list = self.cursor.take(Rule::word_list)?;
        list.into_inner()
            .map(|node| known_word(node.as_str(), words, self.cursor.span_of(&node)))
            .collect()
    }

    /// A quoted string.
    pub(crate) fn string(&mut self) -> Parsed<Box<str>> {
        if let Some(quoted) = self.cursor.plain_string() {
            return Ok(quoted[1..quoted.len() - 1].into());
        }
        let node = self.cursor.take(Rule::string)?;
        values::string(&self.cursor, &node)
    }

    /// A computation by name or in braces.
    fn called_computation(&mut self) -> Parsed<hloc_ir::ComputationId> {
        if self.cursor.peek() == Some(b'{') {
            return self.inline_computation();
        }
        let name = match self.cursor.plain_name() {
            Some(name) => name,
            None => self.cursor.take(Rule::name)?.as_str(),
        };
        self.called(name)
    }

    fn called_computations(&mut self) -> Parsed<Vec<hloc_ir::ComputationId>> {
        let mut computations = Vec::new();
        self.cursor.expect(b'{')?;
        self.cursor.skip_blank()?;
        if self.cursor.eat(b'}') {
            return Ok(computations);
        }
        loop {
            computations.push(self.called_computation()?);
            self.cursor.skip_blank()?;
            if self.cursor.eat(b'}') {
                return Ok(computations);
            }
            if !self.cursor.eat(b',') {
                return Err(self.cursor.expected("`,` or `}` behind a computation"));
            }
            self.cursor.skip_blank()?;
        }
    }

    /// `s32[2]{0} {1,2}`: a shape and a value.
    fn literal_attribute(&mut self) -> Parsed<AttrValue> {
        let node = self.cursor.take_shallow(Rule::literal_shape)?;
        let shape = shape(&self.cursor, node)?;
        self.cursor.skip_blank()?;
        let text = match self.cursor.peek() {
            Some(b'{') => self.cursor.take_braces()?,
            Some(b'(') => {
                let start = self.cursor.at();
                self.cursor.expect(b'(')?;
                self.cursor.take_payload()?;
                self.cursor.text_from(start)
            }
            Some(b'a'..=b'z') => self.cursor.take(Rule::ident)?.as_str(),
            _ => self.cursor.take(Rule::number)?.as_str(),
        };
        let base = self.cursor.span_of_text(text).start;
        let literal = read_literal(text, base, &shape).map_err(Box::new)?;
        Ok(AttrValue::Literal(literal.into()))
    }

    /// Text that no stage looks into: braces, a string, a word or a number.
    fn raw_text(&mut self) -> Parsed<Box<str>> {
        match self.cursor.peek() {
            Some(b'{') => canonical(self.cursor.take_hlo_braces()?),
            Some(b'"' | b'\'') => Ok(self.cursor.take(Rule::string)?.as_str().into()),
            Some(b'-' | b'0'..=b'9') => Ok(self.cursor.take(Rule::number_value)?.as_str().into()),
            _ => Ok(self.cursor.take(Rule::ident)?.as_str().into()),
        }
    }
}

fn known_word(word: &str, words: &'static [&'static str], span: Span) -> Parsed<&'static str> {
    let known = words.iter().find(|known| **known == word).copied();
    known.ok_or_else(|| {
        let message = format!("unknown word `{word}`");
        let mut error = Diagnostic::error("unknown-word", message, span)
            .with_note(format!("the words here are: {}", words.join(", ")));
        if let Some(near) = closest(word, words.iter().copied()) {
            error = error.with_help(did_you_mean(near));
        }
        Box::new(error)
    })
}

fn unknown(spelling: Spelling, name: &str, span: Span) -> Box<Diagnostic> {
    let opcode = match spelling {
        Spelling::Plain(opcode) | Spelling::Async(_, opcode) => opcode,
    };
    let names = specs(spelling)
        .map(|spec| spec.name)
        .chain(common::NAMES.iter().copied());
    let message = format!("`{opcode}` has no attribute `{name}`");
    let allowed: Vec<&str> = names.clone().collect();
    let mut error = Diagnostic::error("unknown-attribute", message, span)
        .with_note(format!("its attributes are: {}", allowed.join(", ")));
    if let Some(near) = closest(name, names) {
        error = error.with_help(did_you_mean(near));
    }
    Box::new(error)
}
