//! Attribute values, one form for each kind.

use crate::attr::{
    AttrValue, DimLabels, DomainAttr, OutputAlias, PaddingDim, ReplicaGroups, ResultAccuracy,
    SliceDim, Window, WindowDim,
};
use crate::{Literal, Module};

use super::literal::write_literal;
use super::number::push_f64;
use super::text::{push_joined, push_list, push_string};
use super::{push_computation_name, push_display};

/// Writes `, name=value`.
pub(super) fn write_attribute(out: &mut String, module: &Module, name: &str, value: &AttrValue) {
    push_display(out, format_args!(", {name}="));
    write_value(out, module, value);
}

fn write_value(out: &mut String, module: &Module, value: &AttrValue) {
    match value {
        AttrValue::Integer(value) => push_display(out, value),
        AttrValue::Float(value) => push_f64(out, *value),
        AttrValue::Bool(value) => push_display(out, value),
        AttrValue::Integers(values) => push_list(out, values),
        AttrValue::Bools(values) => push_list(out, values),
        AttrValue::Slice(dims) => write_slice(out, dims),
        AttrValue::Padding(dims) => write_padding(out, dims),
        AttrValue::Window(window) => write_window(out, window),
        AttrValue::DimLabels(labels) => write_dim_labels(out, labels),
        AttrValue::Word(word) => out.push_str(word),
        AttrValue::Words(words) => push_list(out, words),
        AttrValue::String(text) => push_string(out, text),
        AttrValue::Computation(id) => push_computation_name(out, module, *id),
        AttrValue::Computations(ids) => {
            out.push('{');
            push_joined(out, ", ", ids, |out, id| {
                push_computation_name(out, module, *id);
            });
            out.push('}');
        }
        AttrValue::Shape(shape) => push_display(out, shape.with_layout()),
        AttrValue::Shapes(shapes) => {
            out.push('{');
            push_joined(out, ", ", shapes, |out, shape| {
                push_display(out, shape.with_layout());
            });
            out.push('}');
        }
        AttrValue::OutputAliases(aliases) => write_output_aliases(out, aliases),
        AttrValue::ReplicaGroups(groups) => write_replica_groups(out, groups),
        AttrValue::Pairs(pairs) => {
            out.push('{');
            push_joined(out, ",", pairs, |out, (from, to)| {
                push_list(out, [from, to]);
            });
            out.push('}');
        }
        AttrValue::Domain(domain) => write_domain(out, domain),
        AttrValue::ResultAccuracy(accuracy) => write_accuracy(out, accuracy),
        AttrValue::Literal(literal) => write_shaped_literal(out, literal),
        AttrValue::Text(text) => out.push_str(text),
    }
}

/// `{[0:2], [0:6]}`; strides on all dimensions if one is not 1.
fn write_slice(out: &mut String, dims: &[SliceDim]) {
    let strided = dims.iter().any(|dim| dim.stride != 1);
    out.push('{');
    push_joined(out, ", ", dims, |out, dim| {
        if strided {
            push_display(out, dim);
        } else {
            push_display(out, format_args!("[{}:{}]", dim.start, dim.limit));
        }
    });
    out.push('}');
}

/// `0_1x0_1`; the interior on all dimensions if one is not 0.
///
/// HLO has no text for no dimensions; hloc reads and writes `{}`.
fn write_padding(out: &mut String, dims: &[PaddingDim]) {
    if dims.is_empty() {
        out.push_str("{}");
        return;
    }
    let interior = dims.iter().any(|dim| dim.interior != 0);
    push_joined(out, "x", dims, |out, dim| {
        push_display(out, format_args!("{}_{}", dim.low, dim.high));
        if interior {
            push_display(out, format_args!("_{}", dim.interior));
        }
    });
}

/// `{size=3x3 stride=2x2 pad=0_1x0_1}`; fields that say nothing are left out, all of them without dimensions.
fn write_window(out: &mut String, window: &Window) {
    let Window(dims) = window;
    out.push('{');
    if !dims.is_empty() {
        out.push_str("size=");
        push_joined(out, "x", dims, |out, dim| push_display(out, dim.size));
        write_window_options(out, dims);
    }
    out.push('}');
}

fn write_window_options(out: &mut String, dims: &[WindowDim]) {
    write_window_field(out, " stride=", dims, |dim| dim.stride, 1);
    if dims.iter().any(|dim| (dim.pad_low, dim.pad_high) != (0, 0)) {
        out.push_str(" pad=");
        push_joined(out, "x", dims, |out, dim| {
            push_display(out, format_args!("{}_{}", dim.pad_low, dim.pad_high));
        });
    }
    write_window_field(out, " lhs_dilate=", dims, |dim| dim.base_dilation, 1);
    write_window_field(out, " rhs_dilate=", dims, |dim| dim.window_dilation, 1);
    write_window_field(out, " rhs_reversal=", dims, |dim| dim.reversal.into(), 0);
}

fn write_window_field(
    out: &mut String,
    name: &str,
    dims: &[WindowDim],
    field: fn(&WindowDim) -> i64,
    default: i64,
) {
    if dims.iter().any(|dim| field(dim) != default) {
        out.push_str(name);
        push_joined(out, "x", dims, |out, dim| push_display(out, field(dim)));
    }
}

/// `b01f_01io->b01f`.
fn write_dim_labels(out: &mut String, labels: &DimLabels) {
    let [unused_input, unused_kernel, unused_output] = &labels.unused;
    write_labels(
        out,
        [('b', labels.input_batch), ('f', labels.input_feature)],
        &labels.input_spatial,
        unused_input,
    );
    out.push('_');
    write_labels(
        out,
        [
            ('i', labels.kernel_input_feature),
            ('o', labels.kernel_output_feature),
        ],
        &labels.kernel_spatial,
        unused_kernel,
    );
    out.push_str("->");
    write_labels(
        out,
        [('b', labels.output_batch), ('f', labels.output_feature)],
        &labels.output_spatial,
        unused_output,
    );
}

/// The labels of one array by dimension.
fn write_labels(out: &mut String, named: [(char, i64); 2], spatial: &[i64], unused: &[i64]) {
    let digit = |number: usize| char::from_digit(number as u32, 36).unwrap_or('?');
    let spatial = spatial.iter().enumerate();
    let mut labels: Vec<(i64, char)> = named
        .into_iter()
        .map(|(label, dim)| (dim, label))
        .chain(spatial.map(|(number, dim)| (*dim, digit(number))))
        .chain(unused.iter().map(|dim| (*dim, '?')))
        .collect();
    labels.sort_by_key(|(dim, _)| *dim);
    out.extend(labels.into_iter().map(|(_, label)| label));
}

/// `{{0}: (1, {}), {1}: (2, {0})}`.
fn write_output_aliases(out: &mut String, aliases: &[OutputAlias]) {
    out.push('{');
    push_joined(out, ", ", aliases, |out, alias| {
        push_list(out, &alias.output);
        push_display(out, format_args!(": ({}, ", alias.operand));
        push_list(out, &alias.operand_index);
        out.push(')');
    });
    out.push('}');
}

fn write_replica_groups(out: &mut String, groups: &ReplicaGroups) {
    match groups {
        ReplicaGroups::List(groups) => {
            out.push('{');
            push_joined(out, ",", groups, push_list);
            out.push('}');
        }
        ReplicaGroups::Iota {
            dims,
            reshape,
            transpose,
        } => {
            push_enclosed(out, '[', dims, ']');
            out.push_str("<=");
            push_enclosed(out, '[', reshape, ']');
            if !transpose.is_empty() {
                out.push('T');
                push_enclosed(out, '(', transpose, ')');
            }
        }
        ReplicaGroups::Mesh(text) => out.push_str(text),
    }
}

fn push_enclosed(out: &mut String, open: char, values: &[i64], close: char) {
    out.push(open);
    push_joined(out, ",", values, push_display);
    out.push(close);
}

/// `{kind="sharding", entry={maximal device=0}, exit={replicated}}`.
fn write_domain(out: &mut String, domain: &DomainAttr) {
    out.push_str("{kind=");
    push_string(out, &domain.kind);
    push_display(
        out,
        format_args!(", entry={}, exit={}}}", domain.entry, domain.exit),
    );
}

fn write_accuracy(out: &mut String, accuracy: &ResultAccuracy) {
    match accuracy {
        ResultAccuracy::Highest => out.push_str("{mode=highest}"),
        ResultAccuracy::Default => out.push_str("{mode=default}"),
        ResultAccuracy::Tolerance { atol, rtol, ulps } => {
            out.push_str("{tolerance={atol=");
            push_f64(out, *atol);
            out.push_str(",rtol=");
            push_f64(out, *rtol);
            push_display(out, format_args!(",ulps={ulps}}}}}"));
        }
    }
}

/// `s32[2]{0} {1, 2}`: with the layout, else the braces of the value would be taken for one.
fn write_shaped_literal(out: &mut String, literal: &Literal) {
    push_display(out, literal.shape().with_layout());
    out.push(' ');
    write_literal(out, literal);
}

#[cfg(test)]
mod tests;
