//! The comments in a filetest that say what is tested.
//!
//! `// test STAGE [ARGUMENTS]`, `// run: main(LITERAL, …) == LITERAL`, and `// error: CODE` or
//! `// warning: CODE` at the end of a guilty line. `docs/testing.md` describes them.

/// What one `// test` line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test {
    /// The printed module is the snapshot, and printing is stable.
    Parse,
    /// The diagnostics are those that `// error:` marks say; if there are any, their text is the snapshot.
    Verify,
    /// The lints are exactly those that `// warning:` marks say; if there are any, their text is the snapshot.
    Lint,
    /// The module after these passes is the snapshot.
    Passes(Vec<String>),
    /// The loop nests and steps are the snapshot.
    Lower,
    /// The Cranelift text is the snapshot.
    Clif,
    /// Every `// run:` line holds on the evaluator, the JIT without and the JIT with passes.
    Run,
    /// The output of the command line with these arguments is the snapshot; `%` is the file.
    Cli(Vec<String>),
}

impl Test {
    /// The word in the snapshot's name.
    pub fn stage(&self) -> &'static str {
        match self {
            Test::Parse => "parse",
            Test::Verify => "verify",
            Test::Lint => "lint",
            Test::Passes(_) => "passes",
            Test::Lower => "lower",
            Test::Clif => "clif",
            Test::Run => "run",
            Test::Cli(_) => "cli",
        }
    }
}

/// How a `// run:` line compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`: the same bits, any NaN for a NaN.
    Exact,
    /// `~=`: floats within 4 units in the last place.
    Close,
}

/// One `// run:` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The arguments' literals.
    pub arguments: Vec<String>,
    /// How the result is compared.
    pub comparison: Comparison,
    /// The expected literal.
    pub expected: String,
    /// Line number from 1.
    pub line: usize,
}

/// Everything that the comments of one file say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directives {
    /// The tests in order.
    pub tests: Vec<Test>,
    /// The runs in order.
    pub runs: Vec<Run>,
    /// Line numbers from 1 and the codes expected there.
    pub errors: Vec<(usize, String)>,
    /// Line numbers from 1 and the codes of the lints expected there.
    pub warnings: Vec<(usize, String)>,
}

/// Reads the directives of a file.
///
/// # Errors
/// A line that looks like a directive and is none, or a file without a test.
pub fn read(text: &str) -> Result<Directives, String> {
    let mut directives = Directives::default();
    for (number, line) in text.lines().enumerate() {
        let Some((_, comment)) = line.split_once("// ") else {
            continue;
        };
        let at = |error| format!("line {}: {error}", number + 1);
        if let Some(test) = comment.strip_prefix("test ") {
            directives.tests.push(read_test(test).map_err(at)?);
        } else if let Some(run) = comment.strip_prefix("run: ") {
            directives.runs.push(read_run(run, number + 1).map_err(at)?);
        } else if let Some(code) = comment.strip_prefix("error: ") {
            directives.errors.extend(
                code.split_whitespace()
                    .map(|code| (number + 1, code.to_owned())),
            );
        } else if let Some(code) = comment.strip_prefix("warning: ") {
            directives.warnings.extend(
                code.split_whitespace()
                    .map(|code| (number + 1, code.to_owned())),
            );
        }
    }
    if directives.tests.is_empty() {
        return Err("no `// test` line".to_owned());
    }
    Ok(directives)
}

fn read_test(text: &str) -> Result<Test, String> {
    let mut words = text.split_whitespace();
    let stage = words.next().unwrap_or("");
    let rest: Vec<String> = words.map(str::to_owned).collect();
    match stage {
        "parse" => Ok(Test::Parse),
        "verify" => Ok(Test::Verify),
        "lint" => Ok(Test::Lint),
        "passes" => Ok(Test::Passes(
            rest.join("").split(',').map(str::to_owned).collect(),
        )),
        "lower" => Ok(Test::Lower),
        "clif" => Ok(Test::Clif),
        "run" => Ok(Test::Run),
        "cli" => Ok(Test::Cli(rest)),
        _ => Err(format!("unknown stage `{stage}`")),
    }
}

fn read_run(text: &str, line: usize) -> Result<Run, String> {
    let form = || "a run reads `main(LITERAL, …) == LITERAL`".to_owned();
    let inside = text.strip_prefix("main(").ok_or_else(form)?;
    let end = closing(inside).ok_or_else(form)?;
    let (arguments, rest) = inside.split_at(end);
    let rest = rest[1..].trim_start();
    let (comparison, expected) = match (rest.strip_prefix("=="), rest.strip_prefix("~=")) {
        (Some(expected), _) => (Comparison::Exact, expected),
        (None, Some(expected)) => (Comparison::Close, expected),
        (None, None) => return Err(form()),
    };
    Ok(Run {
        arguments: split_list(arguments),
        comparison,
        expected: expected.trim().to_owned(),
        line,
    })
}

/// Offset of the parenthesis that closes one opened before `text`.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 0 => return Some(at),
            b')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The parts of a list at its outermost commas; none for blank text.
pub fn split_list(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'{' => depth += 1,
            b')' | b'}' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(text[start..at].trim().to_owned());
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text.trim().is_empty() {
        parts.push(text[start..].trim().to_owned());
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::{Comparison, Test, read};

    #[test]
    fn reads_tests_runs_and_errors() {
        let text = "// test run\n// run: main({1,2}, (3, 4)) == {4,6}\nx // error: a_c1\n";
        let directives = read(text).expect("well formed");
        assert_eq!(directives.tests, [Test::Run]);
        assert_eq!(directives.runs[0].arguments, ["{1,2}", "(3, 4)"]);
        assert_eq!(directives.runs[0].comparison, Comparison::Exact);
        assert_eq!(directives.errors, [(3, "a_c1".to_owned())]);
    }
}
