//! Broadcasting rules that accept, dialects, and what diagnostics say.

use hloc_diag::{Color, Diagnostic, Source, render_text};
use hloc_verify::{Dialect, Options, verify_with};

const XLA: Options = Options {
    dialect: Dialect::Xla,
    permit_unsorted_broadcast: false,
};

fn diagnostics(text: &str, options: &Options) -> (Vec<Diagnostic>, Source) {
    let source = Source::new("case.hlo", text).expect("short");
    let module = hloc_parser::parse(&source).expect("the case parses");
    let diagnostics = match verify_with(module, options) {
        Ok(_) => Vec::new(),
        Err(rejected) => rejected.diagnostics,
    };
    (diagnostics, source)
}

fn codes(text: &str, options: &Options) -> Vec<String> {
    let (diagnostics, _) = diagnostics(text, options);
    diagnostics
        .iter()
        .map(|found| found.code.to_string())
        .collect()
}

/// `a` and `b` of these shapes joined by `op`, declared to give `result`.
fn binary(a: &str, b: &str, result: &str, op: &str) -> String {
    format!("ENTRY e {{ a = {a} parameter(0) b = {b} parameter(1) ROOT r = {result} {op} }}")
}

#[test]
fn implicit_broadcasts_follow_the_builder() {
    for (a, b, result, mapping) in [
        ("f32[4]", "f32[4]", "f32[4]", ""),
        ("f32[4]", "f32[]", "f32[4]", ""),
        ("f32[4]", "f32[]", "f32[4]", ", broadcast_dimensions={}"),
        (
            "f32[4,2]",
            "f32[4,2]",
            "f32[4,2]",
            ", broadcast_dimensions={0,1}",
        ),
        ("f32[2,1]", "f32[1,3]", "f32[2,3]", ""),
        ("f32[1]", "f32[0]", "f32[0]", ""),
        (
            "f32[2,3]",
            "f32[3]",
            "f32[2,3]",
            ", broadcast_dimensions={1}",
        ),
        (
            "f32[3]",
            "f32[2,3]",
            "f32[2,3]",
            ", broadcast_dimensions={1}",
        ),
        (
            "f32[4]",
            "f32[1,2]",
            "f32[4,2]",
            ", broadcast_dimensions={0}",
        ),
        (
            "f32[4,3,1]",
            "f32[1,2]",
            "f32[4,3,2]",
            ", broadcast_dimensions={1,2}",
        ),
        (
            "f32[2,3]",
            "f32[1]",
            "f32[2,3]",
            ", broadcast_dimensions={0}",
        ),
    ] {
        let text = binary(a, b, result, &format!("add(a, b){mapping}"));
        assert!(codes(&text, &Options::default()).is_empty(), "{text}");
        let same = a == b && mapping.is_empty();
        assert_eq!(codes(&text, &XLA).is_empty(), same, "{text}");
    }
}

#[test]
fn xla_knows_scalars_of_select_and_clamp_only() {
    let select = "ENTRY e { p = pred[] parameter(0) a = f32[4] parameter(1) ROOT r = f32[4] select(p, a, a) }";
    let clamp =
        "ENTRY e { p = f32[] parameter(0) a = f32[4] parameter(1) ROOT r = f32[4] clamp(p, a, p) }";
    assert!(codes(select, &XLA).is_empty() && codes(clamp, &XLA).is_empty());
    let branch = "ENTRY e { p = pred[4] parameter(0) a = f32[] parameter(1) ROOT r = f32[4] select(p, a, a) }";
    assert_eq!(codes(branch, &XLA), ["dialect_c2"]);
    assert!(codes(branch, &Options::default()).is_empty());
    let mapped = binary(
        "f32[2]",
        "f32[2]",
        "f32[2]",
        "add(a, b), broadcast_dimensions={0}",
    );
    assert_eq!(codes(&mapped, &XLA), ["dialect_c1"]);
}

#[test]
fn unsorted_broadcasts_can_be_permitted() {
    let text =
        "ENTRY e { a = f32[2,3] parameter(0) ROOT r = f32[3,2] broadcast(a), dimensions={1,0} }";
    let (found, _) = diagnostics(text, &Options::default());
    assert_eq!(found[0].code, "broadcast_c6");
    assert_eq!(
        found[0].help,
        [
            "say the same with t = f32[3,2] transpose(operand), dimensions={1,0} and broadcast(t), dimensions={0,1}"
        ]
    );
    let permitting = Options {
        permit_unsorted_broadcast: true,
        ..Options::default()
    };
    assert!(codes(text, &permitting).is_empty());
    let doubled = text
        .replace("f32[2,3]", "f32[3,3]")
        .replace("{1,0}", "{0,0}");
    assert_eq!(codes(&doubled, &permitting), ["broadcast_c5"]);
}

#[test]
fn a_diagnostic_shows_both_facts_and_the_way_out() {
    let text = "HloModule m\n\nENTRY e {\n  b = f32[3] parameter(0)\n  ROOT y = f32[2,4] broadcast(b), dimensions={1}, metadata={source_file=\"model.py\" source_line=7}\n}\n";
    let (found, source) = diagnostics(text, &Options::default());
    let [diagnostic] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(
        diagnostic.message,
        "`y` declares dimensions={1}, but operand dimension 0 has size 3 and result dimension 1 has size 4"
    );
    let shown = render_text(diagnostic, &source, Color::Never);
    for part in [
        "error[broadcast_c4]",
        "case.hlo:5:12",
        "defined here as f32[3]",
        "written at model.py:7",
        "help: dimension 1 of the result must be 3, or reshape the operand first",
    ] {
        assert!(shown.contains(part), "{part} is not in\n{shown}");
    }
}

#[test]
fn the_stack_tables_give_the_python_line() {
    let text = "HloModule m\nFileNames\n1 \"train.py\"\nFunctionNames\n1 \"loss\"\nFileLocations\n1 {file_name_id=1 function_name_id=1 line=12 end_line=12 column=4 end_column=9}\nStackFrames\n1 {file_location_id=1 parent_frame_id=1}\n\nENTRY e { b = f32[3] parameter(0) ROOT y = f32[4] negate(b), metadata={stack_frame_id=1} }";
    let (found, _) = diagnostics(text, &Options::default());
    assert_eq!(found[0].notes, ["written at train.py:12 in loss"]);
}

#[test]
fn missing_mappings_are_listed() {
    let text = binary("f32[3,2,3]", "f32[3]", "f32[3,2,3]", "add(a, b)");
    let (found, _) = diagnostics(&text, &Options::default());
    assert_eq!(found[0].code, "elementwise_c5");
    assert_eq!(found[0].help, ["write broadcast_dimensions={0} or {2}"]);
}

#[test]
fn all_mistakes_are_told_and_each_once() {
    // `a` should be f32[2]; `b` says so and is right, `c` goes along with `a`. `d` is a mistake of its own.
    let text = "ENTRY e { x = f32[2] parameter(0) a = f32[3] negate(x) b = f32[2] negate(a) c = f32[3] abs(a) \
        d = f32[5] abs(x) ROOT t = (f32[2], f32[3], f32[5]) tuple(b, c, d) }";
    assert_eq!(codes(text, &Options::default()), ["result_c1", "result_c1"]);
    // A called computation with a doubtful root does not make its callers wrong.
    let called = "f { a = f32[2] parameter(0) ROOT r = f32[3] negate(a) }\nENTRY e { x = f32[2] parameter(0) ROOT c = f32[2] call(x), to_apply=f }";
    assert_eq!(codes(called, &Options::default()), ["result_c1"]);
}

#[test]
fn verifying_is_linear_in_the_module() {
    let chain = |length: usize| {
        let mut text = String::from("ENTRY e {\n  n0 = f32[8] parameter(0)\n");
        for at in 1..length {
            text.push_str(&format!("  n{at} = f32[8] negate(n{})\n", at - 1));
        }
        text.push('}');
        let source = Source::new("chain.hlo", text).expect("short");
        let module = hloc_parser::parse(&source).expect("the chain parses");
        let start = std::time::Instant::now();
        assert!(hloc_verify::verify(module).is_ok());
        start.elapsed()
    };
    let (short, long) = (chain(2_000), chain(20_000));
    // Ten times the work; the slack is for a busy machine.
    assert!(
        long < 60 * short.max(std::time::Duration::from_millis(1)),
        "{short:?} {long:?}"
    );
}
