//! Every rule is documented, cited in code, broken by one program and kept by another; broadcasting is what an
//! oracle written from the rules says; limits hold.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use hloc_diag::Source;
use hloc_ir::{Array, Literal};
use hloc_tests::random::Random;
use hloc_tests::{directives, files_below, repository, stages};

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Rules that no text breaks, because reading refuses it before: the rule, and the test of a built module that
/// breaks it.
const BUILT: &[(&str, &str)] = &[
    ("called_c1", "called_computations_exist"),
    ("computation_c1", "operands_stand_before_their_users"),
    (
        "computation_c2",
        "computations_have_roots_and_modules_entries",
    ),
    ("computation_c3", "parameters_are_dense_and_names_distinct"),
    ("computation_c4", "parameters_are_dense_and_names_distinct"),
    ("computation_c7", "control_predecessors_stand_before"),
    ("constant_c1", "arity_padding_and_constants_are_checked"),
    ("layout_c1", "shapes_and_layouts_are_bounded"),
    ("module_c1", "computations_have_roots_and_modules_entries"),
    ("module_c2", "calls_go_backwards"),
    ("module_c3", "calls_go_backwards"),
    ("parameter_c1", "parameters_are_dense_and_names_distinct"),
    ("shape_c3", "shapes_and_layouts_are_bounded"),
];

/// `gather_c7` is broken in `verify/gather/gather_c7.hlo`.
fn folder(label: &str) -> String {
    label
        .rsplit_once("_c")
        .map_or(label, |(op, _)| op)
        .replace('_', "-")
}

fn program(label: &str, suffix: &str) -> PathBuf {
    let name = format!(
        "tests/filetests/verify/{}/{label}{suffix}.hlo",
        folder(label)
    );
    repository().join(name)
}

#[test]
fn every_rule_is_documented_and_cited() {
    let mut sources = String::new();
    for folder in ["crates/hloc-verify/src", "crates/hloc-ir/src/ops"] {
        for file in files_below(&repository().join(folder), ".rs").expect("sources can be read") {
            sources.push_str(&read(&file));
        }
    }
    for rule in hloc_verify::CONSTRAINTS.iter() {
        assert!(
            sources.contains(&format!("\"{}\"", rule.label)),
            "no code cites {}",
            rule.label
        );
        assert!(
            rule.summary.ends_with('.'),
            "docs/ops says nothing of {}",
            rule.label
        );
        assert!(
            !rule.section.is_empty(),
            "docs/ops has no section for {}",
            rule.label
        );
    }
}

#[test]
fn every_rule_is_broken_alone_and_kept_narrowly() {
    let tests = [
        "crates/hloc-verify/tests/built.rs",
        "crates/hloc-ir/src/ops/mod.rs",
    ];
    let tests: String = tests
        .iter()
        .map(|file| read(&repository().join(file)))
        .collect();
    for rule in hloc_verify::CONSTRAINTS.iter() {
        let label = rule.label;
        if let Some((_, test)) = BUILT.iter().find(|(built, _)| *built == label) {
            let body = tests
                .split(&format!("fn {test}()"))
                .nth(1)
                .and_then(|rest| rest.split("\n}").next());
            let breaks = body.is_some_and(|body| body.contains(&format!("\"{label}\"")));
            assert!(breaks, "no test {test} breaks {label}");
            continue;
        }
        let text = read(&program(label, ""));
        let directives = directives::read(&text).expect("a filetest");
        let codes: BTreeSet<&str> = directives
            .errors
            .iter()
            .map(|(_, code)| code.as_str())
            .collect();
        assert_eq!(
            codes,
            BTreeSet::from([label]),
            "{label} is not broken alone"
        );
        let kept = text.contains(" ok = ") || program(label, "_ok").exists();
        assert!(kept, "no program keeps {label}");
    }
    for (built, _) in BUILT {
        assert!(hloc_verify::explain(built).is_some(), "no rule {built}");
    }
}

#[test]
fn every_mistake_comes_with_help() {
    let files = files_below(&repository().join("tests/filetests/verify"), ".hlo")
        .expect("filetests can be read");
    for file in files {
        let source = Source::new("case.hlo", read(&file)).expect("short");
        for found in stages::diagnose(&source) {
            assert!(
                !found.help.is_empty(),
                "{}: {} has no help",
                file.display(),
                found.code
            );
        }
    }
}

/// An element-wise op on two arrays, as the rules see it.
#[derive(Clone, Debug)]
struct Case {
    left: Vec<i64>,
    right: Vec<i64>,
    mapping: Option<Vec<i64>>,
}

/// What the rules give: sizes of the result, and for each operand the operand's dimension that each result
/// dimension counts along, if it counts along one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Meaning {
    sizes: Vec<i64>,
    left: Vec<Option<usize>>,
    right: Vec<Option<usize>>,
}

/// Where dimensions of the smaller operand go: `None` if the rules refuse the program.
fn placement(case: &Case) -> Option<Vec<usize>> {
    let (small, large) = (
        case.left.len().min(case.right.len()),
        case.left.len().max(case.right.len()),
    );
    let identity: Vec<i64> = (0..).take(small).collect();
    let written = match &case.mapping {
        // Operands with as many dimensions say nothing or the identity; a scalar has no dimensions to place.
        None if small == large || small == 0 => identity,
        None => return None,
        Some(mapping) if small == large && mapping.is_empty() => identity,
        Some(mapping) => mapping.clone(),
    };
    let places = |number: &i64| usize::try_from(*number).ok().filter(|at| *at < large);
    let placed: Vec<usize> = written.iter().map(places).collect::<Option<_>>()?;
    let increases = placed.windows(2).all(|pair| pair[0] < pair[1]);
    (placed.len() == small && increases).then_some(placed)
}

/// The rules, from the text of the broadcasting document: place the smaller operand, then let sizes of 1 grow.
fn meaning(case: &Case) -> Option<Meaning> {
    let placed = placement(case)?;
    let left_is_small = case.left.len() < case.right.len();
    let (small, large) = if left_is_small {
        (&case.left, &case.right)
    } else {
        (&case.right, &case.left)
    };
    let (mut sizes, mut of_small, mut of_large) = (Vec::new(), Vec::new(), Vec::new());
    for (dimension, &size) in large.iter().enumerate() {
        let from = placed.iter().position(|place| *place == dimension);
        let other = from.map_or(size, |from| small[from]);
        let result = match (size, other) {
            (one, other) if one == other => one,
            (1, other) => other,
            (one, 1) => one,
            _ => return None,
        };
        sizes.push(result);
        of_large.push((size == result).then_some(dimension));
        of_small.push(from.filter(|_| other == result));
    }
    let (left, right) = if left_is_small {
        (of_small, of_large)
    } else {
        (of_large, of_small)
    };
    Some(Meaning { sizes, left, right })
}

/// A case that is near the rules: sizes of one large array, some dropped, some 1, some wrong.
fn random_case(random: &mut Random) -> Case {
    let sizes = [0, 1, 1, 2, 3, 4];
    let large: Vec<i64> = (0..random.below(5)).map(|_| *random.pick(&sizes)).collect();
    let mut mapping: Vec<i64> = Vec::new();
    let mut small = Vec::new();
    for (at, size) in (0i64..).zip(&large) {
        if random.one_in(3) {
            continue;
        }
        mapping.push(at);
        small.push(match random.below(12) {
            0..4 => 1,
            4..7 => size + 1,
            _ => *size,
        });
    }
    let large: Vec<i64> = large
        .iter()
        .map(|size| if random.one_in(8) { 1 } else { *size })
        .collect();
    if !mapping.is_empty() && random.one_in(4) {
        let at = random.below(mapping.len());
        mapping[at] = *random.pick(&[-1, 0, 1, 2, 5]);
    }
    if random.one_in(12) {
        mapping.push(*random.pick(&[0, 1, 3]));
    }
    let whole = small.len() == large.len() || small.is_empty();
    let mapping = (!random.one_in(if whole { 2 } else { 6 })).then_some(mapping);
    if random.one_in(2) {
        Case {
            left: large,
            right: small,
            mapping,
        }
    } else {
        Case {
            left: small,
            right: large,
            mapping,
        }
    }
}

fn shape(sizes: &[i64]) -> String {
    let sizes: Vec<String> = sizes.iter().map(i64::to_string).collect();
    format!("s32[{}]", sizes.join(","))
}

/// The program; one that the rules refuse declares the larger operand's shape.
fn text(case: &Case, result: Option<&Meaning>) -> String {
    let large = if case.left.len() < case.right.len() {
        &case.right
    } else {
        &case.left
    };
    let result = shape(result.map_or(large, |meaning| &meaning.sizes));
    let mapping = case.mapping.as_ref().map_or_else(String::new, |mapping| {
        let numbers: Vec<String> = mapping.iter().map(i64::to_string).collect();
        format!(", broadcast_dimensions={{{}}}", numbers.join(","))
    });
    format!(
        "HloModule case\nENTRY main {{\n  a = {} parameter(0)\n  b = {} parameter(1)\n  ROOT r = {result} subtract(a, b){mapping}\n}}\n",
        shape(&case.left),
        shape(&case.right)
    )
}

fn count(sizes: &[i64]) -> usize {
    sizes
        .iter()
        .map(|size| usize::try_from(*size).expect("sizes are not negative"))
        .product()
}

/// The position in row-major order of the element that an operand gives for an index of the result.
fn position(operand: &[i64], dims: &[Option<usize>], index: &[i64]) -> usize {
    let mut along = vec![0; operand.len()];
    for (place, from) in index.iter().zip(dims) {
        if let Some(from) = from {
            along[*from] = *place;
        }
    }
    let at = along
        .iter()
        .zip(operand)
        .fold(0, |at, (index, size)| at * size + index);
    usize::try_from(at).expect("it is a position")
}

/// `a - b`, where element `i` of `a` is `1000 + 7 i` and of `b` is `i * i`.
fn values(case: &Case, meaning: &Meaning) -> Vec<i32> {
    let total = count(&meaning.sizes);
    let one = |number: usize| {
        let mut rest = number;
        let mut index = vec![0; meaning.sizes.len()];
        for (place, size) in index.iter_mut().zip(&meaning.sizes).rev() {
            let size = usize::try_from(*size).expect("it has elements");
            *place = i64::try_from(rest % size).expect("small");
            rest /= size;
        }
        left_value(position(&case.left, &meaning.left, &index))
            - right_value(position(&case.right, &meaning.right, &index))
    };
    (0..total).map(one).collect()
}

fn left_value(at: usize) -> i32 {
    1000 + 7 * i32::try_from(at).expect("small")
}

fn right_value(at: usize) -> i32 {
    let at = i32::try_from(at).expect("small");
    at * at
}

fn array(sizes: &[i64], value: impl Fn(usize) -> i32) -> Array {
    let values: Vec<i32> = (0..count(sizes)).map(value).collect();
    Array::from_slice(sizes, &values).expect("sizes and values agree")
}

fn numbers(array: &Array) -> Vec<i32> {
    array.to_vec().expect("the result has type s32")
}

#[test]
fn broadcasting_is_what_the_rules_say() {
    let mut random = Random::new(2024);
    let (mut accepted, mut compiled) = (0, 0);
    for number in 0..5000 {
        let case = random_case(&mut random);
        let wanted = meaning(&case);
        let text = text(&case, wanted.as_ref());
        let source = Source::new("case.hlo", text.as_str()).expect("short");
        let verified = stages::verified(&source);
        let Some(wanted) = wanted else {
            assert!(verified.is_err(), "the rules refuse case {number}:\n{text}");
            continue;
        };
        accepted += 1;
        let module = verified.unwrap_or_else(|error| panic!("case {number}: {error}"));
        let arguments = [
            array(&case.left, left_value),
            array(&case.right, right_value),
        ];
        let literals: Vec<Literal> = arguments.iter().cloned().map(Literal::Array).collect();
        let result = stages::evaluate(&module, &literals)
            .unwrap_or_else(|error| panic!("case {number}: {error}"));
        let leaves = result.into_leaves();
        let expected = values(&case, &wanted);
        assert_eq!(
            numbers(&leaves[0]),
            expected,
            "the evaluator, case {number}:\n{text}"
        );
        if accepted % 4 == 0 {
            compiled += 1;
            let result = stages::compile_and_run(&text, hloc::PassSelection::All, &arguments);
            let result = result.unwrap_or_else(|error| panic!("case {number}: {error}"));
            assert_eq!(
                numbers(&result[0]),
                expected,
                "compiled code, case {number}:\n{text}"
            );
        }
    }
    assert!(
        (2000..4000).contains(&accepted),
        "{accepted} of 5000 cases are accepted"
    );
    assert!(compiled >= 500, "{compiled} cases are compiled");
}

/// The words behind `// NAME` at the beginning of lines.
fn comments<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("// "));
    lines.filter_map(|line| line.strip_prefix(name)).collect()
}

/// A program without the comments that make it a test.
fn without_marks(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with("//"));
    let plain = |line: &str| line.split(" // error: ").next().unwrap_or("").to_owned() + "\n";
    lines.map(plain).collect()
}

/// One mistake: the program, what hloc says, what XLA says.
fn gallery_entry(file: &Path) -> String {
    let text = read(file);
    let title = text
        .lines()
        .nth(1)
        .and_then(|line| line.strip_prefix("// "))
        .expect("the second line is a title");
    let program = without_marks(&text);
    let stem = file
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let name = stem
        .split_once('_')
        .map_or(stem.clone(), |(_, name)| format!("{name}.hlo"));
    let source = Source::new(name, program.as_str()).expect("short");
    let told = stages::rendered(&stages::diagnose(&source), &source);
    let other = comments(&text, "xla: ").join("\n");
    format!(
        "## {}\n\n```\n{program}```\n\nhloc:\n\n```\n{told}```\n\nXLA:\n\n```\n{other}\n```\n",
        title.trim_end_matches('.')
    )
}

const GALLERY: &str = "# Thirty common mistakes

What hloc says of a wrong program, beside what XLA says (the parser and the CPU compiler behind jaxlib 0.10.2).
Written by `HLOC_BLESS=1 cargo test -p hloc-tests --test strictness` from `tests/filetests/gallery`.
";

#[test]
fn the_gallery_is_that_of_the_code() {
    let files = files_below(&repository().join("tests/filetests/gallery"), ".hlo")
        .expect("the gallery can be read");
    assert!(files.len() >= 30, "{} mistakes", files.len());
    let entries: Vec<String> = files.iter().map(|file| gallery_entry(file)).collect();
    let wanted = format!("{GALLERY}\n{}", entries.join("\n"));
    let path = repository().join("docs/diagnostics-gallery.md");
    if std::env::var_os("HLOC_BLESS").is_some() {
        std::fs::write(&path, wanted).expect("documents can be written");
    } else {
        assert!(
            read(&path) == wanted,
            "docs/diagnostics-gallery.md is stale: run with HLOC_BLESS=1"
        );
    }
}

/// The only code that a text is refused with.
fn code(text: &str) -> String {
    let source = Source::new("limit.hlo", text).expect("short");
    let found = stages::diagnose(&source);
    found.first().map_or_else(
        || "accepted".to_owned(),
        |diagnostic| diagnostic.code.to_string(),
    )
}

fn entry(body: &str) -> String {
    format!("HloModule limit\nENTRY main {{\n{body}\n}}\n")
}

#[test]
fn sizes_are_counted_without_allocating() {
    // Nothing of these sizes is ever made: they are refused, or accepted and not run.
    let large = entry(
        "  x = pred[9223372036854775807] parameter(0)\n  ROOT r = pred[9223372036854775807] not(x)",
    );
    assert_eq!(code(&large), "accepted");
    assert_eq!(
        code(&entry("  ROOT x = f32[9223372036854775807] parameter(0)")),
        "shape_c2"
    );
    assert_eq!(
        code(&entry("  ROOT x = f32[4294967296,4294967296] parameter(0)")),
        "shape_c2"
    );
    let elided = entry("  ROOT x = f32[1000000000000] constant({...})");
    assert_ne!(code(&elided), "shape_c2");
    let short = entry("  ROOT x = f32[1000000000000] constant({1, 2})");
    assert_ne!(code(&short), "accepted");
}

#[test]
fn nesting_is_bounded() {
    let tuple = |depth: usize| format!("{}f32[]{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(
        code(&entry(&format!("  ROOT x = {} parameter(0)", tuple(20)))),
        "accepted"
    );
    for depth in [2000, 100_000] {
        assert_ne!(
            code(&entry(&format!("  ROOT x = {} parameter(0)", tuple(depth)))),
            "accepted"
        );
        let braces = format!("{}1{}", "{".repeat(depth), "}".repeat(depth));
        assert_ne!(
            code(&entry(&format!("  ROOT x = f32[1] constant({braces})"))),
            "accepted"
        );
        let sharding = format!(
            "  ROOT x = f32[1] parameter(0), sharding={}{}",
            "{".repeat(depth),
            "}".repeat(depth)
        );
        assert_ne!(code(&entry(&sharding)), "accepted");
    }
    let sizes = vec!["1"; 65].join(",");
    assert_ne!(
        code(&entry(&format!("  ROOT x = f32[{sizes}] parameter(0)"))),
        "accepted"
    );
}

#[test]
fn time_grows_with_the_text() {
    let chain = |length: usize| {
        let mut body = String::from("  x0 = f32[8] parameter(0)\n");
        for at in 1..length {
            body.push_str(&format!("  x{at} = f32[8] negate(x{})\n", at - 1));
        }
        entry(&format!("{body}  ROOT r = f32[8] negate(x{})", length - 1))
    };
    let start = std::time::Instant::now();
    assert_eq!(code(&chain(100_000)), "accepted");
    assert!(
        start.elapsed().as_secs() < 10,
        "100,000 instructions took {:?}",
        start.elapsed()
    );
    let mistakes: String = (0..5000)
        .map(|at| format!("  x{at} = f32[2] negate(f)\n"))
        .collect();
    let source = Source::new(
        "many.hlo",
        entry(&format!(
            "  f = f32[3] parameter(0)\n{mistakes}  ROOT r = f32[3] negate(f)"
        )),
    );
    let found = stages::diagnose(&source.expect("short"));
    assert_eq!(found.len(), hloc_verify::MAX_DIAGNOSTICS + 1);
}
