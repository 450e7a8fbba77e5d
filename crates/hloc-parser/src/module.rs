//! Whole texts: with a header, without one, or a single instruction.

use hloc_diag::{Diagnostic, Span};
use hloc_ir::{
    Arena, Computation, ComputationId, HashMap, Module, ModuleAttributes, Name, StackTables,
};
use memchr::memchr;

use crate::Parsed;
use crate::computation::Scope;
use crate::grammar::{Rule, match_at};
use crate::names::{FreshNames, plain_name};
use crate::split::Cursor;

/// The state of one parse.
pub(crate) struct Parser<'t> {
    pub(crate) cursor: Cursor<'t>,
    /// The finished computations.
    pub(crate) computations: Arena<ComputationId, Computation>,
    /// The computations that the text names.
    pub(crate) names: HashMap<&'t str, ComputationId>,
    /// The computations that the text leaves nameless, with the name to start from.
    pub(crate) nameless: Vec<(ComputationId, &'static str)>,
    /// How many nested operands and inline computations are open.
    pub(crate) depth: usize,
    entry: Option<(ComputationId, Span)>,
}

/// Reads `text` as a module.
pub(crate) fn parse(text: &str) -> Parsed<Module> {
    if let Some(at) = memchr(0, text.as_bytes()) {
        let message = "the text contains a NUL byte";
        let span = Span::from_range(at..at + 1);
        return Err(Box::new(Diagnostic::error("nul-byte", message, span)));
    }
    let mut parser = Parser {
        cursor: Cursor::new(text),
        computations: Arena::new(),
        names: HashMap::default(),
        nameless: Vec::new(),
        depth: 0,
        entry: None,
    };
    parser.cursor.skip_blank()?;
    if parser.cursor.at_word("HloModule") {
        parser.with_header()
    } else if parser.cursor.peek().is_none() {
        let message = "the text holds no module";
        let span = Span::from_range(text.len()..text.len());
        Err(Box::new(Diagnostic::error("empty-module", message, span)))
    } else if parser.begins_with_computation()? {
        parser.without_header()
    } else {
        parser.single_instruction()
    }
}

impl<'t> Parser<'t> {
    fn with_header(mut self) -> Parsed<Module> {
        let head = self.cursor.take(Rule::module_head)?;
        let name = head.into_inner().as_str();
        let name = name.strip_prefix('%').unwrap_or(name);
        let attributes = self.header_attributes()?;
        let stack = self.stack_tables()?;
        let entry = self.computations()?;
        Ok(self.finish(name.into(), attributes, stack, entry))
    }

    fn without_header(mut self) -> Parsed<Module> {
        let entry = self.computations()?;
        let name = format!("module_{}", self.computations[entry].name);
        Ok(self.finish(
            name.into(),
            ModuleAttributes::default(),
            StackTables::default(),
            entry,
        ))
    }

    /// Reads one instruction; operands that nothing defines become parameters.
    fn single_instruction(mut self) -> Parsed<Module> {
        let name = "single_op";
        let mut scope = Scope::of_single_instruction(name);
        self.lone_instruction(&mut scope)?;
        self.cursor.skip_blank()?;
        if self.cursor.peek().is_some() {
            return Err(text_after_end(&self.cursor, "the single instruction"));
        }
        let computation = scope.finish(self.cursor.span_from(0))?;
        let entry = self.computations.push(computation);
        Ok(self.finish(
            name.into(),
            ModuleAttributes::default(),
            StackTables::default(),
            entry,
        ))
    }

    /// Reads computations up to the end of the text and says which is the entry.
    fn computations(&mut self) -> Parsed<ComputationId> {
        self.cursor.skip_blank()?;
        while self.cursor.peek().is_some() {
            if !self.cursor.at_word("ENTRY") && !self.computations.is_empty() && !self.at_name() {
                return Err(text_after_end(&self.cursor, "the last computation"));
            }
            self.computation()?;
            self.cursor.skip_blank()?;
        }
        let last = self.computations.ids().next_back();
        self.entry.map(|(id, _)| id).or(last).ok_or_else(|| {
            Box::new(Diagnostic::error(
                "empty-module",
                "the module holds no computation",
                self.cursor.span_here(),
            ))
        })
    }

    fn at_name(&self) -> bool {
        self.cursor
            .peek()
            .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_' || byte == b'%')
    }

    /// Marks `id`, whose name stands at `span`, as the entry.
    pub(crate) fn set_entry(&mut self, id: ComputationId, span: Span) -> Parsed<()> {
        if let Some((_, first)) = self.entry {
            let message = "the module has two entry computations";
            let error =
                Diagnostic::error("two-entries", message, span).with_label(first, "the first");
            return Err(Box::new(error));
        }
        self.entry = Some((id, span));
        Ok(())
    }

    /// Whether the text begins with a computation: `ENTRY`, `name {` or `name (…) ->`.
    fn begins_with_computation(&self) -> Parsed<bool> {
        let text = self.cursor.rest();
        if self.cursor.at_word("ENTRY") {
            return Ok(true);
        }
        let Ok(name) = match_at(Rule::name, text, 0) else {
            return Ok(false);
        };
        let mut ahead = Cursor::new(text);
        ahead.move_to(name.as_str().len());
        ahead.skip_blank()?;
        if ahead.peek() == Some(b'{') {
            return Ok(true);
        }
        if !ahead.eat(b'(') || ahead.take_payload().is_err() {
            return Ok(false);
        }
        ahead.skip_blank()?;
        Ok(ahead.rest().starts_with("->"))
    }

    /// Names what the text leaves nameless and puts the module together.
    fn finish(
        mut self,
        name: Name,
        attributes: ModuleAttributes,
        stack: StackTables,
        entry: ComputationId,
    ) -> Module {
        if !self.nameless.is_empty() {
            let taken = self.names.keys().map(|name| Name::from(*name));
            let mut fresh = FreshNames::avoiding(taken);
            for (id, base) in self.nameless {
                self.computations[id].name = fresh.fresh(base);
            }
        }
        Module {
            name,
            attributes,
            stack,
            computations: self.computations,
            entry,
        }
    }

    /// The name without `%` and its place; reserved words are refused.
    pub(crate) fn checked_name(&self, written: &'t str) -> Parsed<(&'t str, Span)> {
        let span = self.cursor.span_of_text(written);
        Ok((plain_name(written, span)?, span))
    }
}

fn text_after_end(cursor: &Cursor<'_>, end: &str) -> Box<Diagnostic> {
    let message = format!("text follows behind {end}");
    Box::new(Diagnostic::error(
        "text-after-end",
        message,
        cursor.span_here(),
    ))
}
