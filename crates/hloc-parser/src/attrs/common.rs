//! The attributes that any instruction may carry.

use hloc_diag::Diagnostic;
use hloc_ir::{BackendConfig, CommonAttributes, FrontendAttributes, FrontendValue, InstrId};

use crate::Parsed;
use crate::computation::Scope;
use crate::grammar::Rule;
use crate::module::Parser;
use crate::split::canonical;
use crate::values;

/// Their names.
pub(crate) const NAMES: [&str; 8] = [
    "sharding",
    "frontend_attributes",
    "statistics",
    "parameter_replication",
    "control-predecessors",
    "origin",
    "metadata",
    "backend_config",
];

impl<'t> Parser<'t> {
    /// Reads the value of the common attribute `name`; false if there is none of that name.
    pub(crate) fn common_attribute(
        &mut self,
        scope: &Scope<'t>,
        name: &str,
        common: &mut Option<Box<CommonAttributes>>,
    ) -> Parsed<bool> {
        if !NAMES.contains(&name) {
            return Ok(false);
        }
        let common = common.get_or_insert_default();
        match name {
            "sharding" => common.sharding = Some(self.sharding()?),
            "frontend_attributes" => common.frontend_attributes = self.frontend_attributes()?,
            "statistics" => {
                let node = self.cursor.take(Rule::statistics)?;
                common.statistics = Some(canonical(node.as_str())?);
            }
            "parameter_replication" => common.parameter_replication = Some(self.boolean_list()?),
            "control-predecessors" => {
                common.control_predecessors = self.control_predecessors(scope)?;
            }
            "origin" => common.origin = Some(self.origin()?),
            "metadata" => common.metadata = Some(self.metadata()?),
            _ => common.backend_config = Some(self.backend_config()?),
        }
        Ok(true)
    }

    fn backend_config(&mut self) -> Parsed<BackendConfig> {
        Ok(if self.cursor.peek() == Some(b'{') {
            BackendConfig::Braces(self.cursor.take_braces()?.into())
        } else {
            BackendConfig::String(self.string()?)
        })
    }

    /// `{a, %b}`: instructions of the same computation that stand before.
    fn control_predecessors(&mut self, scope: &Scope<'t>) -> Parsed<Vec<InstrId>> {
        let list = self.cursor.take(Rule::name_list)?;
        let predecessor = |node: crate::grammar::Node<'t>| {
            let (name, span) = self.checked_name(node.as_str())?;
            scope
                .lookup(name)
                .ok_or_else(|| scope.undefined(name, span))
        };
        list.into_inner().map(predecessor).collect()
    }

    /// `{key="string",key.with.dots={text}}`.
    pub(crate) fn frontend_attributes(&mut self) -> Parsed<FrontendAttributes> {
        let mut attributes = FrontendAttributes::new();
        self.cursor.expect(b'{')?;
        self.cursor.skip_blank()?;
        if self.cursor.eat(b'}') {
            return Ok(attributes);
        }
        loop {
            let key = values::only_child(self.cursor.take(Rule::frontend_key)?);
            let span = self.cursor.span_of(&key);
            let value = if self.cursor.peek() == Some(b'{') {
                FrontendValue::Braces(self.cursor.take_braces()?.into())
            } else {
                FrontendValue::String(self.string()?)
            };
            if attributes.insert(key.as_str().into(), value).is_some() {
                let message = format!("`{}` is written twice", key.as_str());
                let error = Diagnostic::error("duplicate-attribute", message, span);
                return Err(Box::new(error));
            }
            self.cursor.skip_blank()?;
            if self.cursor.eat(b'}') {
                return Ok(attributes);
            }
            if !self.cursor.eat(b',') {
                return Err(self.cursor.expected("`,` or `}`"));
            }
            self.cursor.skip_blank()?;
        }
    }
}
