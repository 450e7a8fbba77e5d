//! Runs every file below `tests/filetests`: the comments in a file say what is tested.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use hloc_diag::Source;
use hloc_ir::{CustomCalls, Literal};
use hloc_tensor::Tolerance;
use hloc_tests::directives::{self, Comparison, Directives, Run, Test};
use hloc_tests::{files_below, literals, repository, stages};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let root = repository().join("tests/filetests");
    let files = files_below(&root, ".hlo").expect("tests/filetests can be read");
    let trials = files
        .into_iter()
        .flat_map(|file| trials_of(&root, file))
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trials_of(root: &Path, file: PathBuf) -> Vec<Trial> {
    let name = file
        .strip_prefix(root)
        .unwrap_or(&file)
        .display()
        .to_string();
    let text = std::fs::read_to_string(&file).expect("a filetest is UTF-8 text");
    match directives::read(&text) {
        Err(error) => vec![Trial::test(name, move || Err(error.into()))],
        Ok(directives) => {
            let trial = |test: &Test| {
                let (test, file, text, directives) =
                    (test.clone(), file.clone(), text.clone(), directives.clone());
                let run = move || run_test(&test, &file, &text, &directives).map_err(Failed::from);
                (run, name.clone())
            };
            let named = |test: &Test| {
                let (run, name) = trial(test);
                Trial::test(format!("{name}::{}", test.stage()), run)
            };
            directives.tests.iter().map(named).collect()
        }
    }
}

fn run_test(test: &Test, file: &Path, text: &str, directives: &Directives) -> Result<(), String> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let source = Source::new(name, text).map_err(|error| error.to_string())?;
    match test {
        Test::Parse => check_parse(file, &source),
        Test::Verify => check_verify(file, &source, directives),
        Test::Lint => check_lint(file, &source, directives),
        Test::Passes(names) => {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let module = stages::with_passes(stages::verified(&source)?, &names)?;
            check_snapshot(file, test.stage(), &hloc_ir::print_module(&module))
        }
        Test::Lower => {
            let program = lowered(&source)?;
            check_snapshot(file, test.stage(), &program.to_string())
        }
        Test::Clif => {
            let program = lowered(&source)?;
            let options = hloc_jit::JitOptions {
                baseline_cpu: true,
                ..hloc_jit::JitOptions::default()
            };
            let texts = program
                .kernels
                .values()
                .map(|kernel| hloc_jit::clif_text(kernel, &options));
            let texts: Vec<String> = texts
                .collect::<Result<_, _>>()
                .map_err(|error| error.to_string())?;
            check_snapshot(file, test.stage(), &texts.join("\n"))
        }
        Test::Run => directives
            .runs
            .iter()
            .try_for_each(|run| check_run(&source, run)),
        Test::Cli(arguments) => check_cli(file, arguments),
    }
}

fn lowered(source: &Source) -> Result<hloc_loops::ir::Program, String> {
    let module = stages::verified(source)?;
    let pipeline = hloc_passes::Pipeline::default_pipeline();
    let module = pipeline
        .run(module, &mut |_, _| {})
        .map_err(|error| error.to_string())?;
    let program = hloc_loops::lower_with(&module, &CustomCalls::new(), true)
        .and_then(|program| hloc_loops::finish(program, true));
    program.map_err(|error| error.to_string())
}

/// Compares with the snapshot beside the input, `NAME.STAGE.snap`.
fn check_snapshot(file: &Path, stage: &str, content: &str) -> Result<(), String> {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(file.parent().unwrap_or(Path::new(".")));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let input = file.strip_prefix(repository()).unwrap_or(file);
    settings.set_description(input.display().to_string());
    let name = format!(
        "{}.{stage}",
        file.file_stem().unwrap_or_default().to_string_lossy()
    );
    settings.bind(|| insta::assert_snapshot!(name, content));
    Ok(())
}

fn check_parse(file: &Path, source: &Source) -> Result<(), String> {
    let text = match stages::parse(source) {
        Err(diagnostics) => return check_snapshot(file, "parse", &diagnostics),
        Ok(module) => hloc_ir::print_module(&module),
    };
    let again = Source::new("printed", text.as_str()).map_err(|error| error.to_string())?;
    let printed = hloc_ir::print_module(&stages::parse(&again)?);
    if printed != text {
        return Err(format!(
            "printing is not stable:\n{text}\nbecomes\n{printed}"
        ));
    }
    check_snapshot(file, "parse", &text)
}

fn check_verify(file: &Path, source: &Source, directives: &Directives) -> Result<(), String> {
    let diagnostics = stages::diagnose(source);
    check_marks(file, source, "verify", &diagnostics, &directives.errors)
}

fn check_lint(file: &Path, source: &Source, directives: &Directives) -> Result<(), String> {
    let options = hloc_verify::LintOptions::default();
    let warnings = hloc_verify::lint_text(&stages::verified(source)?, source, &options);
    check_marks(file, source, "lint", &warnings, &directives.warnings)
}

/// The diagnostics stand where the marks are, and their text is the snapshot.
fn check_marks(
    file: &Path,
    source: &Source,
    stage: &str,
    diagnostics: &[hloc_diag::Diagnostic],
    marks: &[(usize, String)],
) -> Result<(), String> {
    let line = |span: hloc_diag::Span| {
        if span.is_none() {
            0
        } else {
            source.position(span.start).line
        }
    };
    let mut found: Vec<(usize, String)> = diagnostics
        .iter()
        .map(|found| (line(found.primary.span), found.code.to_string()))
        .collect();
    found.sort();
    let mut wanted = marks.to_vec();
    wanted.sort();
    if found != wanted {
        let shown = stages::rendered(diagnostics, source);
        return Err(format!(
            "expected (line, code) {wanted:?}, found {found:?}:\n{shown}"
        ));
    }
    if diagnostics.is_empty() {
        Ok(())
    } else {
        check_snapshot(file, stage, &stages::rendered(diagnostics, source))
    }
}

fn check_run(source: &Source, run: &Run) -> Result<(), String> {
    let at = |error: String| format!("line {}: {error}", run.line);
    let module = stages::verified(source)?;
    let shapes = module.entry().program_shape();
    if shapes.parameters.len() != run.arguments.len() {
        return Err(at(format!(
            "{} arguments for {} parameters",
            run.arguments.len(),
            shapes.parameters.len()
        )));
    }
    let read = |(text, shape): (&String, &hloc_ir::Shape)| literals::read(text, shape);
    let arguments: Vec<Literal> = run
        .arguments
        .iter()
        .zip(&shapes.parameters)
        .map(read)
        .collect::<Result<_, _>>()
        .map_err(at)?;
    let expected = literals::read(&run.expected, &shapes.result).map_err(at)?;
    let evaluated = stages::evaluate(&module, &arguments).map_err(at)?;
    compare("the evaluator", evaluated, &expected, run.comparison).map_err(at)?;
    let arrays: Vec<_> = arguments
        .into_iter()
        .flat_map(Literal::into_leaves)
        .collect();
    for (who, passes) in [
        ("the JIT without passes", hloc::PassSelection::None),
        ("the JIT with all passes", hloc::PassSelection::All),
    ] {
        let result = stages::compile_and_run(source.text(), passes, &arrays).map_err(at)?;
        let result = stages::grouped(&shapes.result, &mut result.into_iter()).map_err(at)?;
        compare(who, result, &expected, run.comparison).map_err(at)?;
    }
    Ok(())
}

fn compare(who: &str, got: Literal, want: &Literal, comparison: Comparison) -> Result<(), String> {
    let tolerance = match comparison {
        Comparison::Exact => Tolerance::Value,
        Comparison::Close => Tolerance::Ulps(4),
    };
    let shown = format!(
        "{who} gives {}, not {}",
        literals::text(&got),
        literals::text(want)
    );
    let (got, want) = (got.into_leaves(), want.clone().into_leaves());
    let mut pairs = got.iter().zip(&want);
    let equal = got.len() == want.len()
        && pairs.all(|(got, want)| hloc_tensor::compare(got, want, tolerance).is_ok());
    if equal { Ok(()) } else { Err(shown) }
}

fn check_cli(file: &Path, arguments: &[String]) -> Result<(), String> {
    let directory = file.parent().unwrap_or(Path::new("."));
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let words = arguments.iter().map(|word| {
        if word == "%" {
            name.to_string()
        } else {
            word.clone()
        }
    });
    let output = Command::new(binary()?)
        .args(words)
        .current_dir(directory)
        .output();
    let output = output.map_err(|error| error.to_string())?;
    let text = format!(
        "exit status: {}\n--- stdout\n{}--- stderr\n{}",
        output.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    check_snapshot(file, "cli", &text)
}

/// The binary `hloc` of the build that this test belongs to.
fn binary() -> Result<PathBuf, String> {
    let test = std::env::current_exe().map_err(|error| error.to_string())?;
    let build = test
        .parent()
        .and_then(Path::parent)
        .ok_or("the test has no build directory")?;
    let binary = build.join(format!("hloc{}", std::env::consts::EXE_SUFFIX));
    if binary.exists() {
        Ok(binary)
    } else {
        Err("the binary is not built: run `cargo build -p hloc-cli`".to_owned())
    }
}
