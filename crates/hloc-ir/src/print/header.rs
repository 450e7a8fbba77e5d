//! The module header and the stack tables behind it.

use crate::{
    AliasKind, BoolOrList, BufferDonor, InputOutputAlias, Module, ModuleAttributes, ProgramShape,
    StackTables,
};

use super::common::write_frontend_attributes;
use super::push_display;
use super::text::{push_joined, push_list, push_name, push_string};

/// Writes `HloModule …` and the tables, if there are any; a blank line is to follow.
pub(super) fn write_header(out: &mut String, module: &Module) {
    out.push_str("HloModule ");
    push_name(out, &module.name);
    write_flags_and_aliases(out, &module.attributes);
    write_rest(out, &module.attributes);
    out.push('\n');
    write_stack_tables(out, &module.stack);
}

fn write_flags_and_aliases(out: &mut String, attributes: &ModuleAttributes) {
    if attributes.is_scheduled {
        out.push_str(", is_scheduled=true");
    }
    if !attributes.input_output_alias.is_empty() {
        out.push_str(", input_output_alias={ ");
        push_joined(out, ", ", &attributes.input_output_alias, write_alias);
        out.push_str(" }");
    }
    if !attributes.buffer_donor.is_empty() {
        out.push_str(", buffer_donor={ ");
        push_joined(out, ", ", &attributes.buffer_donor, write_donor);
        out.push_str(" }");
    }
    if attributes.alias_passthrough_params {
        out.push_str(", alias_passthrough_params=true");
    }
}

/// `{0}: (1, {}, may-alias)`.
fn write_alias(out: &mut String, alias: &InputOutputAlias) {
    push_list(out, &alias.output);
    push_display(out, format_args!(": ({}, ", alias.parameter));
    push_list(out, &alias.parameter_index);
    out.push_str(match alias.kind {
        AliasKind::May => ", may-alias)",
        AliasKind::Must => ", must-alias)",
    });
}

/// `(0, {})`.
fn write_donor(out: &mut String, donor: &BufferDonor) {
    push_display(out, format_args!("({}, ", donor.parameter));
    push_list(out, &donor.parameter_index);
    out.push(')');
}

fn write_rest(out: &mut String, attributes: &ModuleAttributes) {
    if let Some(shape) = &attributes.entry_computation_layout {
        out.push_str(", entry_computation_layout=");
        write_program_shape(out, shape);
    }
    write_bools(
        out,
        ", allow_spmd_sharding_propagation_to_parameters=",
        attributes
            .allow_spmd_sharding_propagation_to_parameters
            .as_ref(),
    );
    write_bools(
        out,
        ", allow_spmd_sharding_propagation_to_output=",
        attributes
            .allow_spmd_sharding_propagation_to_output
            .as_ref(),
    );
    if let Some(count) = attributes.replica_count {
        push_display(out, format_args!(", replica_count={count}"));
    }
    if let Some(count) = attributes.num_partitions {
        push_display(out, format_args!(", num_partitions={count}"));
    }
    write_frontend_attributes(out, &attributes.frontend_attributes);
    if let Some(text) = &attributes.origin_recovery_table {
        push_display(out, format_args!(", origin_recovery_table={text}"));
    }
    if let Some(text) = &attributes.debug_attributes {
        push_display(out, format_args!(", debug_attributes={text}"));
    }
}

/// `{(f32[2]{0}, /*index=5*/s32[])->f32[2]{0}}`.
fn write_program_shape(out: &mut String, shape: &ProgramShape) {
    out.push_str("{(");
    let parameters = shape.parameters.iter().enumerate();
    push_joined(out, ", ", parameters, |out, (number, parameter)| {
        if number > 0 && number % 5 == 0 {
            push_display(out, format_args!("/*index={number}*/"));
        }
        push_display(out, parameter.with_layout());
    });
    push_display(out, format_args!(")->{}}}", shape.result.with_layout()));
}

fn write_bools(out: &mut String, name: &str, value: Option<&BoolOrList>) {
    let Some(value) = value else { return };
    out.push_str(name);
    match value {
        BoolOrList::All(value) => push_display(out, value),
        BoolOrList::Each(values) => push_list(out, values),
    }
}

fn write_stack_tables(out: &mut String, stack: &StackTables) {
    write_table(out, "FileNames", &stack.file_names, |out, name| {
        push_string(out, name);
    });
    write_table(out, "FunctionNames", &stack.function_names, |out, name| {
        push_string(out, name);
    });
    write_table(out, "FileLocations", &stack.file_locations, |out, row| {
        push_display(
            out,
            format_args!(
                "{{file_name_id={} function_name_id={} line={} end_line={} column={} end_column={}}}",
                row.file_name_id,
                row.function_name_id,
                row.line,
                row.end_line,
                row.column,
                row.end_column
            ),
        );
    });
    write_table(out, "StackFrames", &stack.stack_frames, |out, row| {
        push_display(
            out,
            format_args!(
                "{{file_location_id={} parent_frame_id={}}}",
                row.file_location_id, row.parent_frame_id
            ),
        );
    });
}

/// Writes a blank line, the name of the table and its rows, numbered from 1; nothing for an empty one.
fn write_table<T>(out: &mut String, name: &str, rows: &[T], write: impl Fn(&mut String, &T)) {
    if rows.is_empty() {
        return;
    }
    push_display(out, format_args!("\n{name}\n"));
    for (at, row) in rows.iter().enumerate() {
        push_display(out, format_args!("{} ", at + 1));
        write(out, row);
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        AliasKind, BoolOrList, BufferDonor, FileLocation, InputOutputAlias, ModuleAttributes,
        StackFrame, StackTables,
    };

    #[test]
    fn header_attributes_stand_in_order() {
        let attributes = ModuleAttributes {
            is_scheduled: true,
            input_output_alias: vec![InputOutputAlias {
                output: vec![],
                parameter: 0,
                parameter_index: vec![1],
                kind: AliasKind::May,
            }],
            buffer_donor: vec![BufferDonor {
                parameter: 2,
                parameter_index: vec![],
            }],
            allow_spmd_sharding_propagation_to_output: Some(BoolOrList::Each(vec![true, false])),
            num_partitions: Some(2),
            ..ModuleAttributes::default()
        };
        let mut out = String::new();
        super::write_flags_and_aliases(&mut out, &attributes);
        super::write_rest(&mut out, &attributes);
        assert_eq!(
            out,
            ", is_scheduled=true, input_output_alias={ {}: (0, {1}, may-alias) }, \
             buffer_donor={ (2, {}) }, allow_spmd_sharding_propagation_to_output={true,false}, \
             num_partitions=2"
        );
    }

    #[test]
    fn tables_count_from_one() {
        let stack = StackTables {
            file_names: vec!["a.py".into()],
            function_names: vec![],
            file_locations: vec![FileLocation {
                file_name_id: 1,
                function_name_id: 2,
                line: 3,
                end_line: 3,
                column: 0,
                end_column: 9,
            }],
            stack_frames: vec![StackFrame {
                file_location_id: 1,
                parent_frame_id: 1,
            }],
        };
        let mut out = String::new();
        super::write_stack_tables(&mut out, &stack);
        assert_eq!(
            out,
            "\nFileNames\n1 \"a.py\"\n\nFileLocations\n1 {file_name_id=1 function_name_id=2 line=3 \
             end_line=3 column=0 end_column=9}\n\nStackFrames\n1 {file_location_id=1 parent_frame_id=1}\n"
        );
    }
}
