//! Rules of the module's header: entry, layouts, aliases.

use std::collections::BTreeSet;

use hloc_diag::Span;
use hloc_ir::ops::shape_at;
use hloc_ir::{AliasKind, Computation, Op, Shape};

use crate::report::Report;
use crate::shapes;

/// All rules of the header.
pub(crate) fn check(report: &mut Report<'_>) {
    let module = report.module;
    let Some(entry) = module.computations.get(module.entry) else {
        report.at(
            "module_c1",
            format!("module `{}` has no entry computation", module.name),
            Span::NONE,
        );
        return;
    };
    check_counts(report, entry);
    check_entry_is_not_fused(report, entry);
    check_layout(report, entry);
    check_aliases(report, entry);
}

fn check_counts(report: &mut Report<'_>, entry: &Computation) {
    let attributes = &report.module.attributes;
    for (name, count) in [
        ("replica_count", attributes.replica_count),
        ("num_partitions", attributes.num_partitions),
    ] {
        if let Some(count) = count.filter(|count| *count < 1) {
            report.at(
                "module_c4",
                format!("{name} is {count}, but a module runs on at least one device"),
                entry.span.0,
            );
        }
    }
}

fn check_entry_is_not_fused(report: &mut Report<'_>, entry: &Computation) {
    let module = report.module;
    let instructions = module
        .computations
        .values()
        .flat_map(|computation| computation.instructions.values());
    for instruction in instructions {
        if let Op::Fusion { calls, .. } = &instruction.op
            && *calls == module.entry
        {
            report.at(
                "module_c5",
                format!(
                    "the entry `{}` is fused into `{}`",
                    entry.name, instruction.name
                ),
                entry.span.0,
            );
            return;
        }
    }
}

/// `entry_computation_layout` says what the entry's parameters and root say.
fn check_layout(report: &mut Report<'_>, entry: &Computation) {
    let module = report.module;
    let Some(layout) = &module.attributes.entry_computation_layout else {
        return;
    };
    let span = module.attributes.entry_computation_layout_span.0;
    for shape in layout.parameters.iter().chain([&layout.result]) {
        if let Some((label, text)) = shapes::flaw(shape) {
            report.at(label, format!("entry_computation_layout {text}"), span);
        }
    }
    if layout.parameters.len() != entry.parameters.len() {
        report.at(
            "entry_layout_c1",
            format!(
                "entry_computation_layout has {} parameters, the entry `{}` has {}",
                layout.parameters.len(),
                entry.name,
                entry.parameters.len()
            ),
            span,
        );
        return;
    }
    for (number, (written, id)) in layout.parameters.iter().zip(&entry.parameters).enumerate() {
        if let Some(parameter) = entry.instructions.get(*id)
            && !written.compatible(&parameter.shape)
        {
            report.at(
                "entry_layout_c2",
                format!(
                    "entry_computation_layout has {written} as parameter {number}, but `{}` declares {}",
                    parameter.name, parameter.shape
                ),
                span,
            );
        }
    }
    if let Some(root) = entry.instructions.get(entry.root)
        && !layout.result.compatible(&root.shape)
    {
        report.at(
            "entry_layout_c3",
            format!(
                "entry_computation_layout gives {}, but the root `{}` declares {}",
                layout.result, root.name, root.shape
            ),
            span,
        );
    }
}

/// The part of a parameter that an alias or a donor names.
fn parameter_part<'a>(entry: &'a Computation, parameter: i64, path: &[i64]) -> Option<&'a Shape> {
    let id = entry.parameters.get(usize::try_from(parameter).ok()?)?;
    shape_at(&entry.instructions.get(*id)?.shape, path)
}

/// Aliases and donors name buffers that exist, each once.
fn check_aliases(report: &mut Report<'_>, entry: &Computation) {
    let attributes = &report.module.attributes;
    let mut given: BTreeSet<(i64, &[i64])> = BTreeSet::new();
    let mut taken: BTreeSet<&[i64]> = BTreeSet::new();
    for alias in &attributes.input_output_alias {
        let place = format!(
            "input_output_alias of parameter {} at {:?}",
            alias.parameter, alias.parameter_index
        );
        let input = parameter_part(entry, alias.parameter, &alias.parameter_index);
        let root = entry.instructions.get(entry.root);
        let output = root.and_then(|root| shape_at(&root.shape, &alias.output));
        let (Some(input), Some(output)) = (input, output) else {
            let text = format!(
                "{place} and result at {:?} names a part that does not exist",
                alias.output
            );
            report.at("alias_c1", text, entry.span.0);
            continue;
        };
        if !given.insert((alias.parameter, &alias.parameter_index)) || !taken.insert(&alias.output)
        {
            let text = format!("{place} shares a buffer that is shared already");
            report.at("alias_c2", text, entry.span.0);
        }
        let agree = match alias.kind {
            AliasKind::Must => input.compatible(output),
            AliasKind::May => bytes(input) == bytes(output),
        };
        if !agree {
            let text = format!("{place} shares memory of {input} with {output}, which differ");
            report.at("alias_c3", text, entry.span.0);
        }
    }
    for donor in &attributes.buffer_donor {
        let place = format!(
            "buffer_donor of parameter {} at {:?}",
            donor.parameter, donor.parameter_index
        );
        if parameter_part(entry, donor.parameter, &donor.parameter_index).is_none() {
            let text = format!("{place} names a part that does not exist");
            report.at("donor_c1", text, entry.span.0);
        } else if !given.insert((donor.parameter, &donor.parameter_index)) {
            let text = format!("{place} gives a buffer that is given or shared already");
            report.at("donor_c2", text, entry.span.0);
        }
    }
}

/// Bytes of all arrays; sizes that do not fit are reported elsewhere.
fn bytes(shape: &Shape) -> i64 {
    let leaves = shape.leaves();
    let sizes = leaves
        .iter()
        .filter_map(|leaf| leaf.as_array()?.byte_size());
    sizes.fold(0, i64::saturating_add)
}
