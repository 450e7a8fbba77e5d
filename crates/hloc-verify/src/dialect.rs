//! What XLA's text parser refuses and hloc's takes; asked for with `--dialect=xla`.

use hloc_diag::Span;
use hloc_ir::{Broken, ElementType, FileLocation, Focus, Instruction, Module, StackFrame};

use crate::report::Report;

/// Words that XLA's lexer takes for something else than a name.
const WORDS: &[&str] = &[
    "ENTRY",
    "FileLocations",
    "FileNames",
    "FunctionNames",
    "HloModule",
    "ROOT",
    "StackFrames",
    "false",
    "inf",
    "last_tile_dim_replicate",
    "manual",
    "maximal",
    "nan",
    "opaque",
    "replicated",
    "shard_as",
    "shard_like",
    "token",
    "true",
    "unknown",
    "unreduced",
];

/// The module's name and the numbers of the stack tables.
pub(crate) fn check_module(report: &mut Report<'_>) {
    let module = report.module;
    let name = &*module.name;
    if WORDS.contains(&name) || ElementType::from_name(name).is_some() {
        report.at(
            "dialect_c3",
            format!("the module is named `{name}`, which XLA's lexer takes for a type or keyword"),
            Span::NONE,
        );
    }
    if let Some(number) = large_number(module) {
        report.at(
            "dialect_c4",
            format!("the stack tables hold {number}, which does not fit in 32 bits with sign"),
            Span::NONE,
        );
    }
}

fn large_number(module: &Module) -> Option<i64> {
    let locations = module
        .stack
        .file_locations
        .iter()
        .flat_map(location_numbers);
    let frames = module.stack.stack_frames.iter().flat_map(frame_numbers);
    locations.chain(frames).find(is_large)
}

fn is_large(number: &i64) -> bool {
    i32::try_from(*number).is_err()
}

fn location_numbers(location: &FileLocation) -> [i64; 6] {
    let FileLocation {
        file_name_id,
        function_name_id,
        line,
        end_line,
        column,
        end_column,
    } = *location;
    [
        file_name_id,
        function_name_id,
        line,
        end_line,
        column,
        end_column,
    ]
}

fn frame_numbers(frame: &StackFrame) -> [i64; 2] {
    [frame.file_location_id, frame.parent_frame_id]
}

/// The numbers of an instruction's metadata.
pub(crate) fn check_metadata(instruction: &Instruction) -> Result<(), Broken> {
    let Some(metadata) = instruction.metadata() else {
        return Ok(());
    };
    let numbers = [
        metadata.source_line,
        metadata.source_end_line,
        metadata.source_column,
        metadata.source_end_column,
        metadata.stack_frame_id,
    ];
    numbers.into_iter().find(is_large).map_or(Ok(()), |number| {
        Err(Broken::new(
            "dialect_c4",
            format!("has {number} in its metadata, which does not fit in 32 bits with sign"),
        )
        .at(Focus::Attribute("metadata")))
    })
}
