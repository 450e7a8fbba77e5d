//! The stages of hloc as tests run them: text in, text out.

use hloc_diag::{Color, Diagnostic, Source, render_text};
use hloc_ir::{Array, Literal, Module, Shape};
use hloc_passes::Pipeline;
use hloc_verify::VerifiedModule;

/// The messages of diagnostics, a line each.
pub fn messages(diagnostics: &[Diagnostic]) -> String {
    let line =
        |diagnostic: &Diagnostic| format!("error[{}]: {}", diagnostic.code, diagnostic.message);
    diagnostics.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Diagnostics as a user sees them, without color.
pub fn rendered(diagnostics: &[Diagnostic], source: &Source) -> String {
    let render = |diagnostic: &Diagnostic| render_text(diagnostic, source, Color::Never) + "\n";
    diagnostics
        .iter()
        .map(render)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Parses a text.
///
/// # Errors
/// The rendered diagnostics.
pub fn parse(source: &Source) -> Result<Module, String> {
    hloc_parser::parse(source).map_err(|diagnostics| rendered(&diagnostics, source))
}

/// All diagnostics that parsing and verifying give.
pub fn diagnose(source: &Source) -> Vec<Diagnostic> {
    match hloc_parser::parse(source) {
        Err(diagnostics) => diagnostics,
        Ok(module) => hloc_verify::verify(module)
            .err()
            .map_or_else(Vec::new, |rejected| rejected.diagnostics),
    }
}

/// Parses and verifies a text.
///
/// # Errors
/// The rendered diagnostics.
pub fn verified(source: &Source) -> Result<VerifiedModule, String> {
    hloc_verify::verify(parse(source)?).map_err(|rejected| rendered(&rejected.diagnostics, source))
}

/// Runs the named passes.
///
/// # Errors
/// The text of the pass error.
pub fn with_passes(module: VerifiedModule, names: &[&str]) -> Result<VerifiedModule, String> {
    let pipeline = Pipeline::from_names(names).map_err(|error| error.to_string())?;
    pipeline
        .run(module, &mut |_, _| {})
        .map_err(|error| error.to_string())
}

/// Evaluates the entry on flattened arguments.
///
/// # Errors
/// The evaluator's message.
pub fn evaluate(module: &VerifiedModule, arguments: &[Literal]) -> Result<Literal, String> {
    hloc_eval::evaluate(module, arguments).map_err(|error| error.to_string())
}

/// Compiles a text with or without passes, as the environment says, and runs it once; gives the flattened
/// result.
///
/// # Errors
/// hloc's message.
pub fn compile_and_run(
    text: &str,
    passes: hloc::PassSelection,
    arguments: &[Array],
) -> Result<Vec<Array>, String> {
    let options = hloc::CompileOptions::from_environment().map_err(|error| error.to_string())?;
    let options = hloc::CompileOptions {
        passes,
        threads: 2,
        ..options
    };
    compile_and_run_with(text, options, arguments)
}

/// Compiles a text with these options and runs it once; gives the flattened result.
///
/// # Errors
/// hloc's message.
pub fn compile_and_run_with(
    text: &str,
    options: hloc::CompileOptions,
    arguments: &[Array],
) -> Result<Vec<Array>, String> {
    let compiler = hloc::Compiler::new().options(options);
    let executable = compiler.compile(text).map_err(|error| error.to_string())?;
    executable.run(arguments).map_err(|error| error.to_string())
}

/// Compiles a text with all passes for every width of vectors and one thread or two; the results must have
/// the same bits.
///
/// # Errors
/// hloc's message, or which result differs where.
pub fn same_bits(text: &str, arguments: &[Array]) -> Result<(), String> {
    let widths = [
        hloc::VectorWidth::Bits128,
        hloc::VectorWidth::Bits256,
        hloc::VectorWidth::Bits512,
    ];
    let mut first: Option<Vec<Array>> = None;
    for vector_width in widths {
        for threads in [1, 2] {
            let options = hloc::CompileOptions {
                vector_width,
                threads,
                ..hloc::CompileOptions::default()
            };
            let found = compile_and_run_with(text, options, arguments)?;
            let expected = first.get_or_insert_with(|| found.clone());
            let pairs = found.iter().zip(&*expected).enumerate();
            for (number, (found, expected)) in pairs {
                if found.bytes() != expected.bytes() {
                    return Err(format!(
                        "result {number} differs with {vector_width:?} and {threads} threads"
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Arrays grouped into a literal of `shape`; `leaves` runs through them in order.
///
/// # Errors
/// Too few arrays, or a shape that holds something else than arrays.
pub fn grouped(shape: &Shape, leaves: &mut dyn Iterator<Item = Array>) -> Result<Literal, String> {
    match shape {
        Shape::Array(_) => leaves
            .next()
            .map(Literal::Array)
            .ok_or_else(|| "too few arrays".to_owned()),
        Shape::Tuple(elements) => {
            let parts = elements.iter().map(|element| grouped(element, leaves));
            Ok(Literal::Tuple(parts.collect::<Result<_, _>>()?))
        }
        Shape::Token | Shape::Opaque | Shape::Buffer(_) => Err(format!("{shape} is no array")),
    }
}
