//! The attributes that any instruction may carry.

use crate::{
    BackendConfig, CommonAttributes, Computation, FrontendAttributes, FrontendValue, Metadata,
};

use super::text::{push_joined, push_list, push_string};
use super::{push_display, push_instruction_name};

/// Writes `, sharding={…}, …, backend_config=…`, what there is of it.
pub(super) fn write_common(
    out: &mut String,
    computation: &Computation,
    attributes: &CommonAttributes,
) {
    write_text(out, "sharding", attributes.sharding.as_deref());
    write_frontend_attributes(out, &attributes.frontend_attributes);
    write_text(out, "statistics", attributes.statistics.as_deref());
    if let Some(replication) = &attributes.parameter_replication {
        out.push_str(", parameter_replication=");
        push_list(out, replication);
    }
    if !attributes.control_predecessors.is_empty() {
        out.push_str(", control-predecessors={");
        push_joined(out, ", ", &attributes.control_predecessors, |out, id| {
            push_instruction_name(out, computation, *id);
        });
        out.push('}');
    }
    write_text(out, "origin", attributes.origin.as_deref());
    if let Some(metadata) = &attributes.metadata {
        out.push_str(", metadata=");
        write_metadata(out, metadata);
    }
    match &attributes.backend_config {
        Some(BackendConfig::String(text)) => {
            out.push_str(", backend_config=");
            push_string(out, text);
        }
        Some(BackendConfig::Braces(text)) => write_text(out, "backend_config", Some(text)),
        None => {}
    }
}

/// Writes `, name=text` for text that is kept as it is printed.
fn write_text(out: &mut String, name: &str, text: Option<&str>) {
    if let Some(text) = text {
        push_display(out, format_args!(", {name}={text}"));
    }
}

/// Writes `, frontend_attributes={key="value",other={text}}` unless there are none.
pub(super) fn write_frontend_attributes(out: &mut String, attributes: &FrontendAttributes) {
    if attributes.is_empty() {
        return;
    }
    out.push_str(", frontend_attributes={");
    push_joined(out, ",", attributes, |out, (key, value)| {
        out.push_str(key);
        out.push('=');
        match value {
            FrontendValue::String(text) => push_string(out, text),
            FrontendValue::Braces(text) => out.push_str(text),
        }
    });
    out.push('}');
}

/// `{op_type="a" op_name="b" source_line=3}`; empty strings and zeros are left out.
fn write_metadata(out: &mut String, metadata: &Metadata) {
    let open = out.len();
    let strings = [
        (" op_type=", &metadata.op_type),
        (" op_name=", &metadata.op_name),
        (" source_file=", &metadata.source_file),
    ];
    for (name, value) in strings.into_iter().filter(|(_, value)| !value.is_empty()) {
        out.push_str(name);
        push_string(out, value);
    }
    let numbers = [
        ("source_line", metadata.source_line),
        ("source_end_line", metadata.source_end_line),
        ("source_column", metadata.source_column),
        ("source_end_column", metadata.source_end_column),
        ("stack_frame_id", metadata.stack_frame_id),
    ];
    for (name, value) in numbers.into_iter().filter(|(_, value)| *value != 0) {
        push_display(out, format_args!(" {name}={value}"));
    }
    for (name, value) in &metadata.other {
        push_display(out, format_args!(" {name}={value}"));
    }
    // Every field has a blank before it; the first one's becomes the brace.
    if out.len() > open {
        out.replace_range(open..=open, "{");
    } else {
        out.push('{');
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::{write_common, write_metadata};
    use crate::{BackendConfig, CommonAttributes, Computation, FrontendValue, Metadata};

    #[test]
    fn all_common_attributes_stand_in_order() {
        let attributes = CommonAttributes {
            sharding: Some("{replicated}".into()),
            frontend_attributes: [
                ("a.b".into(), FrontendValue::String("1\"".into())),
                ("c".into(), FrontendValue::Braces("{x}".into())),
            ]
            .into_iter()
            .collect(),
            statistics: Some("{visualizing_index=0}".into()),
            parameter_replication: Some(vec![true, false]),
            control_predecessors: vec![],
            origin: Some("{{\"p\"}}".into()),
            metadata: Some(Metadata::default()),
            backend_config: Some(BackendConfig::Braces("{uplo = 76 : ui8}".into())),
        };
        let mut out = String::new();
        write_common(&mut out, &Computation::new("c"), &attributes);
        assert_eq!(
            out,
            ", sharding={replicated}, frontend_attributes={a.b=\"1\\\"\",c={x}}, \
             statistics={visualizing_index=0}, parameter_replication={true,false}, \
             origin={{\"p\"}}, metadata={}, backend_config={uplo = 76 : ui8}"
        );
    }

    #[test]
    fn metadata_leaves_out_what_is_not_known() {
        let metadata = Metadata {
            op_type: "add".into(),
            stack_frame_id: 7,
            other: vec![("deduplicated_name".into(), "\"x\"".into())],
            ..Metadata::default()
        };
        let mut out = String::new();
        write_metadata(&mut out, &metadata);
        assert_eq!(
            out,
            "{op_type=\"add\" stack_frame_id=7 deduplicated_name=\"x\"}"
        );
    }
}
