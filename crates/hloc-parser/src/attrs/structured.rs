//! Attribute values with inner structure: aliases, replica groups, pairs, domains, accuracies.

use hloc_diag::Diagnostic;
use hloc_ir::attr::{DomainAttr, OutputAlias, ReplicaGroups, ResultAccuracy};

use crate::Parsed;
use crate::grammar::{Node, Rule};
use crate::header::alias_parts;
use crate::module::Parser;
use crate::split::{Cursor, canonical};
use crate::values;

impl<'t> Parser<'t> {
    /// `{ {0}: (1, {}) }`.
    pub(crate) fn output_aliases(&mut self) -> Parsed<Vec<OutputAlias>> {
        let list = self.cursor.take(Rule::alias_list)?;
        let alias = |entry: Node<'t>| {
            let span = self.cursor.span_of(&entry);
            let (operand, mut indices, kind) = alias_parts(&self.cursor, entry)?;
            if kind.is_some() {
                let message = "aliases of an instruction have no kind";
                return Err(Box::new(Diagnostic::error("alias-kind", message, span)));
            }
            let operand_index = indices.pop().unwrap_or_default();
            Ok(OutputAlias {
                output: indices.pop().unwrap_or_default(),
                operand,
                operand_index,
            })
        };
        list.into_inner().map(alias).collect()
    }

    /// `{{0,1},{2,3}}`, `[2,2]<=[4]T(1,0)` or `mesh["a"=2]{"a"}`.
    pub(crate) fn replica_groups(&mut self) -> Parsed<ReplicaGroups> {
        let form = values::only_child(self.cursor.take(Rule::replica_groups)?);
        let rule = form.as_rule();
        if rule == Rule::integer_lists {
            let groups = form
                .into_inner()
                .map(|list| values::integers(&self.cursor, list));
            return Ok(ReplicaGroups::List(groups.collect::<Parsed<_>>()?));
        }
        if rule == Rule::mesh_groups {
            return Ok(ReplicaGroups::Mesh(canonical(form.as_str())?));
        }
        iota_groups(&self.cursor, form)
    }

    /// `{{0,1},{1,0}}`.
    pub(crate) fn pairs(&mut self) -> Parsed<Vec<(i64, i64)>> {
        let list = self.cursor.take(Rule::pair_list)?;
        let pair = |node| {
            let numbers = values::integers(&self.cursor, node)?;
            Ok((numbers[0], numbers[1]))
        };
        list.into_inner().map(pair).collect()
    }

    /// `{kind="sharding", entry={…}, exit={…}}`.
    pub(crate) fn domain(&mut self) -> Parsed<DomainAttr> {
        let node = self.cursor.take_shallow(Rule::domain)?;
        let mut parts = node.into_inner();
        let kind = match parts.next() {
            Some(kind) => values::string(&self.cursor, &kind)?,
            None => "".into(),
        };
        let mut text = || canonical(parts.next().map_or("", |part| part.as_str()));
        Ok(DomainAttr {
            kind,
            entry: text()?,
            exit: text()?,
        })
    }

    /// `{mode=highest}` or `{tolerance={atol=1,rtol=0.1,ulps=2}}`.
    pub(crate) fn result_accuracy(&mut self) -> Parsed<ResultAccuracy> {
        let node = self.cursor.take(Rule::result_accuracy)?;
        let form = values::only_child(node);
        let span = self.cursor.span_of(&form);
        if form.as_rule() == Rule::accuracy_mode {
            let mode = values::only_child(form);
            return match &*mode.as_str().to_ascii_lowercase() {
                "highest" => Ok(ResultAccuracy::Highest),
                "default" => Ok(ResultAccuracy::Default),
                other => {
                    let message = format!("the mode is `default` or `highest`, not `{other}`");
                    Err(Box::new(Diagnostic::error(
                        "result-accuracy",
                        message,
                        span,
                    )))
                }
            };
        }
        self.tolerance(form)
    }

    fn tolerance(&self, form: Node<'t>) -> Parsed<ResultAccuracy> {
        let (mut atol, mut rtol, mut ulps) = (None, None, None);
        for field in form.into_inner() {
            let span = self.cursor.span_of(&field);
            let mut parts = field.into_inner();
            let (Some(name), Some(value)) = (parts.next(), parts.next()) else {
                continue;
            };
            let twice = match name.as_str() {
                "atol" => atol
                    .replace(values::number(&self.cursor, &value)?)
                    .is_some(),
                "rtol" => rtol
                    .replace(values::number(&self.cursor, &value)?)
                    .is_some(),
                "ulps" => {
                    let value_span = self.cursor.span_of(&value);
                    ulps.replace(whole_number(value.as_str(), value_span)?)
                        .is_some()
                }
                other => {
                    let message =
                        format!("unknown field `{other}`; the fields are atol, rtol, ulps");
                    return Err(Box::new(Diagnostic::error(
                        "result-accuracy",
                        message,
                        span,
                    )));
                }
            };
            if twice {
                let message = format!("`{}` is written twice", name.as_str());
                return Err(Box::new(Diagnostic::error(
                    "result-accuracy",
                    message,
                    span,
                )));
            }
        }
        Ok(ResultAccuracy::Tolerance {
            atol: atol.unwrap_or(0.0),
            rtol: rtol.unwrap_or(0.0),
            ulps: ulps.unwrap_or(0),
        })
    }
}

fn whole_number(text: &str, span: hloc_diag::Span) -> Parsed<i64> {
    if text
        .bytes()
        .all(|byte| byte == b'-' || byte.is_ascii_digit())
    {
        return values::integer_text(text, span);
    }
    let message = format!("`ulps` is an integer, not {text}");
    Err(Box::new(Diagnostic::error(
        "result-accuracy",
        message,
        span,
    )))
}

/// Tile dimensions, reshape dimensions, and the permutation if there is one.
fn iota_groups<'t>(cursor: &Cursor<'t>, form: Node<'t>) -> Parsed<ReplicaGroups> {
    let mut lists = form.into_inner().map(|list| values::integers(cursor, list));
    let mut next = || lists.next().unwrap_or_else(|| Ok(Vec::new()));
    Ok(ReplicaGroups::Iota {
        dims: next()?,
        reshape: next()?,
        transpose: next()?,
    })
}
