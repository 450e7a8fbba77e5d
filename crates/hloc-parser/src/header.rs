//! Attributes of the module header.

use hloc_diag::{Diagnostic, Span};
use hloc_ir::{AliasKind, BoolOrList, BufferDonor, InputOutputAlias, ModuleAttributes, SourceSpan};

use crate::Parsed;
use crate::grammar::{Node, Rule};
use crate::module::Parser;
use crate::shape::program_shape;
use crate::split::{Cursor, canonical};
use crate::suggest::{closest, did_you_mean};
use crate::values;

const NAMES: [&str; 12] = [
    "is_scheduled",
    "input_output_alias",
    "buffer_donor",
    "alias_passthrough_params",
    "entry_computation_layout",
    "allow_spmd_sharding_propagation_to_parameters",
    "allow_spmd_sharding_propagation_to_output",
    "replica_count",
    "num_partitions",
    "frontend_attributes",
    "origin_recovery_table",
    "debug_attributes",
];

impl<'t> Parser<'t> {
    /// Reads `, name=value` as often as it stands.
    pub(crate) fn header_attributes(&mut self) -> Parsed<ModuleAttributes> {
        let mut attributes = ModuleAttributes::default();
        let mut seen: Vec<(&str, Span)> = Vec::new();
        loop {
            self.cursor.skip_blank()?;
            if self.cursor.peek() != Some(b',') {
                return Ok(attributes);
            }
            let (name, span) = self.attribute_name()?;
            if let Some((_, first)) = seen.iter().find(|(other, _)| *other == name) {
                return Err(duplicate(name, span, *first));
            }
            seen.push((name, span));
            self.header_attribute(name, span, &mut attributes)?;
        }
    }

    /// The name in `, name=` and its place; a value follows.
    pub(crate) fn attribute_name(&mut self) -> Parsed<(&'t str, Span)> {
        let name = match self.cursor.plain_attribute_name() {
            Some(name) => name,
            None => values::only_child(self.cursor.take(Rule::attribute_name)?).as_str(),
        };
        Ok((name, self.cursor.span_of_text(name)))
    }

    fn header_attribute(
        &mut self,
        name: &str,
        span: Span,
        attributes: &mut ModuleAttributes,
    ) -> Parsed<()> {
        match name {
            "is_scheduled" => attributes.is_scheduled = self.boolean()?,
            "input_output_alias" => attributes.input_output_alias = self.input_output_alias()?,
            "buffer_donor" => attributes.buffer_donor = self.buffer_donor()?,
            "alias_passthrough_params" => attributes.alias_passthrough_params = self.boolean()?,
            "entry_computation_layout" => self.entry_computation_layout(attributes)?,
            "allow_spmd_sharding_propagation_to_parameters" => {
                attributes.allow_spmd_sharding_propagation_to_parameters =
                    Some(self.boolean_or_list()?);
            }
            "allow_spmd_sharding_propagation_to_output" => {
                attributes.allow_spmd_sharding_propagation_to_output =
                    Some(self.boolean_or_list()?);
            }
            "replica_count" => attributes.replica_count = Some(self.integer()?),
            "num_partitions" => attributes.num_partitions = Some(self.integer()?),
            "frontend_attributes" => attributes.frontend_attributes = self.frontend_attributes()?,
            "origin_recovery_table" => {
                attributes.origin_recovery_table = Some(canonical(self.cursor.take_hlo_braces()?)?);
            }
            "debug_attributes" => {
                attributes.debug_attributes = Some(canonical(self.cursor.take_hlo_braces()?)?);
            }
            _ => return Err(unknown(name, span)),
        }
        Ok(())
    }

    pub(crate) fn boolean(&mut self) -> Parsed<bool> {
        Ok(values::boolean(&self.cursor.take(Rule::boolean)?))
    }

    pub(crate) fn integer(&mut self) -> Parsed<i64> {
        if let Some(value) = self.cursor.plain_integer() {
            return Ok(value);
        }
        let node = values::only_child(self.cursor.take(Rule::integer_value)?);
        values::integer(&self.cursor, &node)
    }

    fn boolean_or_list(&mut self) -> Parsed<BoolOrList> {
        let form = values::only_child(self.cursor.take(Rule::boolean_or_list)?);
        Ok(if form.as_rule() == Rule::boolean {
            BoolOrList::All(values::boolean(&form))
        } else {
            BoolOrList::Each(values::booleans(form))
        })
    }

    fn entry_computation_layout(&mut self, attributes: &mut ModuleAttributes) -> Parsed<()> {
        let node = self.cursor.take_shallow(Rule::program_shape)?;
        attributes.entry_computation_layout_span = SourceSpan(self.cursor.span_of(&node));
        attributes.entry_computation_layout = Some(program_shape(&self.cursor, node.into_inner())?);
        Ok(())
    }

    fn input_output_alias(&mut self) -> Parsed<Vec<InputOutputAlias>> {
        let list = self.cursor.take(Rule::alias_list)?;
        list.into_inner()
            .map(|entry| alias(&self.cursor, entry))
            .collect()
    }

    fn buffer_donor(&mut self) -> Parsed<Vec<BufferDonor>> {
        let list = self.cursor.take(Rule::donor_list)?;
        let donor = |entry: Node<'t>| {
            let (numbers, mut indices, _) = alias_parts(&self.cursor, entry)?;
            Ok(BufferDonor {
                parameter: numbers,
                parameter_index: indices.pop().unwrap_or_default(),
            })
        };
        list.into_inner().map(donor).collect()
    }
}

/// `{0}: (1, {}, may-alias)`; may-alias if no kind is written.
fn alias<'t>(cursor: &Cursor<'t>, entry: Node<'t>) -> Parsed<InputOutputAlias> {
    let (parameter, mut indices, must) = alias_parts(cursor, entry)?;
    let parameter_index = indices.pop().unwrap_or_default();
    Ok(InputOutputAlias {
        output: indices.pop().unwrap_or_default(),
        parameter,
        parameter_index,
        kind: if must == Some(true) {
            AliasKind::Must
        } else {
            AliasKind::May
        },
    })
}

/// The number, the index lists in order, and whether the kind is must-alias, if one is written.
pub(crate) fn alias_parts<'t>(
    cursor: &Cursor<'t>,
    entry: Node<'t>,
) -> Parsed<(i64, Vec<Vec<i64>>, Option<bool>)> {
    let mut number = 0;
    let mut indices = Vec::with_capacity(2);
    let mut must = None;
    for part in entry.into_inner() {
        let rule = part.as_rule();
        if rule == Rule::integer {
            number = values::integer(cursor, &part)?;
        } else if rule == Rule::index_list {
            indices.push(values::integers(cursor, part)?);
        } else {
            must = Some(part.as_str() == "must-alias");
        }
    }
    Ok((number, indices, must))
}

/// The error of an attribute written twice.
pub(crate) fn duplicate(name: &str, span: Span, first: Span) -> Box<Diagnostic> {
    let message = format!("the attribute `{name}` is written twice");
    let error = Diagnostic::error("duplicate-attribute", message, span);
    Box::new(error.with_label(first, "the first"))
}

fn unknown(name: &str, span: Span) -> Box<Diagnostic> {
    let message = format!("the module header has no attribute `{name}`");
    let mut error = Diagnostic::error("unknown-attribute", message, span)
        .with_note(format!("its attributes are: {}", NAMES.join(", ")));
    if let Some(near) = closest(name, NAMES) {
        error = error.with_help(did_you_mean(near));
    }
    Box::new(error)
}
