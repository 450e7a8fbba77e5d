//! Texts that are wrong, each with the code and the place of the error.

use hloc_diag::{Diagnostic, Source};

fn error_of(text: &str) -> (Diagnostic, String) {
    let source = Source::new("t.hlo", text).expect("short");
    let mut errors = hloc_parser::parse(&source).expect_err(text);
    let error = errors.remove(0);
    let place = source.slice(error.primary.span).to_owned();
    (error, place)
}

/// Checks the code and the place of the error in a text.
fn check(text: &str, code: &str, place: &str) {
    let (error, found) = error_of(text);
    assert_eq!(
        (&*error.code, &*found),
        (code, place),
        "{text}\n{}",
        error.message
    );
}

/// Checks an error in the body of an entry that takes `x` of `f32[4]`.
fn check_body(body: &str, code: &str, place: &str) {
    let text = format!(
        "HloModule m\nsum {{ a = f32[] parameter(0) b = f32[] parameter(1) c = f32[] add(a, b) }}\n\
         ENTRY e {{ x = f32[4] parameter(0) {body} }}"
    );
    check(&text, code, place);
}

#[test]
fn modules_are_whole() {
    check("", "empty-module", "");
    check(" // nothing\n", "empty-module", "");
    check("HloModule m", "empty-module", "");
    check("HloModule", "unexpected-end", "");
    check("HloModule m {", "syntax-error", "{");
    check(
        "HloModule m, is_scheduled=true, is_scheduled=false",
        "duplicate-attribute",
        "is_scheduled",
    );
    check(
        "HloModule m, is_sheduled=true",
        "unknown-attribute",
        "is_sheduled",
    );
    check(
        "HloModule m, replica_count=18446744073709551616",
        "integer-range",
        "18446744073709551616",
    );
    check(
        "HloModule m, e { x = f32[] parameter(0) }",
        "syntax-error",
        "{",
    );
    check(
        "HloModule m e { x = f32[] parameter(0) } )",
        "text-after-end",
        ")",
    );
    check("f32[2] negate(f32[2] x) y", "text-after-end", "y");
    check("HloModule m\0 e { }", "nul-byte", "\0");
    check("HloModule m /* e { }", "unclosed-comment", "/*");
    check("HloModule m FileNames 2 \"a\"", "table-order", "2");
    check(
        "HloModule m StackFrames 1 {file_location_id=1}",
        "table-field",
        "1 {file_location_id=1}",
    );
    check(
        "HloModule m FileNames FileNames e {",
        "duplicate-table",
        "FileNames",
    );
}

#[test]
fn computations_are_whole() {
    check("ENTRY e { }", "empty-computation", "e");
    check("ENTRY e { x = f32[] parameter(0)", "unclosed-brace", "{");
    check(
        "ENTRY e { x = f32[] parameter(0) } ENTRY f { x = f32[] parameter(0) }",
        "two-entries",
        "f",
    );
    check(
        "e { x = f32[] parameter(0) } e { x = f32[] parameter(0) }",
        "duplicate-name",
        "e",
    );
    check(
        "e { x = f32[] parameter(0) }, thread=\"x\"",
        "unknown-attribute",
        "thread",
    );
    check("s32 { x = f32[] parameter(0) }", "reserved-name", "s32");
    check_body("x = f32[4] negate(x)", "duplicate-name", "x");
    check_body(
        "ROOT a = f32[4] negate(x) ROOT b = f32[4] negate(x)",
        "two-roots",
        "b",
    );
    check_body("y = f32[4] parameter(2)", "parameter-gap", "y");
    check_body("y = f32[4] parameter(0)", "duplicate-parameter", "y");
    check_body("y = f32[4] parameter(-1)", "parameter-number", "-1");
    check_body("y = f32[4] parameter()", "syntax-error", ")");
}

#[test]
fn names_are_defined_before_use() {
    check_body("y = f32[4] negate(z)", "undefined-name", "z");
    check_body("y = f32[4] negate(y)", "undefined-name", "y");
    check_body(
        "y = f32[] reduce(x, x), dimensions={0}, to_apply=sun",
        "undefined-name",
        "sun",
    );
    check_body(
        "y = f32[] reduce(x, x), dimensions={0}, to_apply=e",
        "undefined-name",
        "e",
    );
    check_body(
        "y = f32[] reduce(x, x), dimensions={0}, to_apply={%missing}",
        "syntax-error",
        "}",
    );
    check_body(
        "y = f32[4] negate(x), control-predecessors={z}",
        "undefined-name",
        "z",
    );
    check_body("s2 = f32[4] negate(x)", "reserved-name", "s2");
    check_body("%s2 = f32[4] negate(x)", "reserved-name", "%s2");
    check_body("true = f32[4] negate(x)", "reserved-name", "true");
    check_body("%1a = f32[4] negate(x)", "syntax-error", "%1a");
    check_body("y=f32[4] negate(x)", "syntax-error", "y");
    let (error, _) = error_of("e { value = f32[] parameter(0) y = f32[] negate(vlaue) }");
    assert_eq!(error.help, ["did you mean `value`?"]);
}

#[test]
fn instructions_have_their_parts() {
    check_body("y f32[4] negate(x)", "syntax-error", "f32");
    check_body("y = f32[4] (x)", "syntax-error", "(");
    check_body("y = f32[4] negate x", "syntax-error", "x");
    check_body("y = f32[4]{} negate(x)", "syntax-error", "{");
    check_body("y = f32[4] negate(x", "syntax-error", "}");
    check_body("y = f32[4] negate(x,)", "syntax-error", ")");
    check_body("y = f32[4] negate(x) z", "syntax-error", "}");
    check_body("y = f32[4] negate(f32[5] x)", "operand-shape", "f32[5] x");
    check_body("y = f32[4] negate(x#0)", "tuple-index", "#0");
    check_body("y = F32[4] negate(x)", "unknown-type", "F32");
    check_body("y = f32[4] negtae(x)", "unknown-opcode", "negtae");
    check_body("y = constant(1)", "shape-omitted", "constant");
    check_body("y = parameter(1)", "shape-omitted", "parameter");
    check_body("y = (f32[4]) negate-done(x)", "async-chain", "x");
    check_body("y = f32[4] negate-start(x)", "async-shape", "negate-start");
    check_body("y = f32[4] constant({1, 2", "unclosed-parenthesis", "(");
    check("negate(x)", "operand-shape-omitted", "x");
}

#[test]
fn attributes_are_known_and_written_once() {
    check_body(
        "y = f32[4] negate(x), dimensions={0}",
        "unknown-attribute",
        "dimensions",
    );
    check_body(
        "y = f32[2] slice(x), slices={[0:2]}",
        "unknown-attribute",
        "slices",
    );
    check_body(
        "y = f32[4] negate(x), metadata={}, metadata={}",
        "duplicate-attribute",
        "metadata",
    );
    check_body("y = f32[2] slice(x)", "missing-attribute", "slice");
    check_body("y = f32[4] negate(x),", "syntax-error", "}");
    check_body(
        "y = f32[4] negate(x), metadata={op_name=\"a",
        "unclosed-string",
        "\"",
    );
    check_body(
        "y = f32[4] negate(x), metadata={op_name=3}",
        "attribute-value",
        "op_name=3",
    );
    check_body(
        "y = f32[4] negate(x), backend_config={\"a\": {",
        "unclosed-brace",
        "{",
    );
    check_body(
        "y = f32[4] negate(x), backend_config=\"\\q\"",
        "string-escape",
        "\"\\q\"",
    );
    check_body(
        "y = f32[4] negate(x), backend_config=\"\\xff\"",
        "string-encoding",
        "\"\\xff\"",
    );
    check_body(
        "y = f32[4] negate(x), sharding={replicate}",
        "syntax-error",
        "replicate",
    );
    let (error, _) = error_of("e { x = f32[4] parameter(0) y = f32[2] slice(x), slcie={[0:2]} }");
    assert_eq!(error.help, ["did you mean `slice`?"]);
    assert!(error.notes[0].starts_with("its attributes are: slice, sharding, "));
}

#[test]
fn attribute_values_have_their_form() {
    check_body(
        "y = pred[4] compare(x, x), direction=gt",
        "unknown-word",
        "gt",
    );
    check_body(
        "y = f32[4] iota(), iota_dimension=1.5",
        "syntax-error",
        ".5",
    );
    check_body("y = f32[2] slice(x), slice={[0]}", "syntax-error", "]");
    check_body(
        "y = f32[4] reverse(x), dimensions={0 1}",
        "syntax-error",
        "1",
    );
    check_body("y = f32[4] pad(x, x), padding=", "syntax-error", "}");
    for (window, code) in [
        ("{size=3 size=3}", "window-form"),
        ("{stride=3}", "window-form"),
        ("{size=3x3 stride=1}", "window-form"),
        ("{size=3, stride=1}", "syntax-error"),
        ("{size=3 colour=1}", "window-form"),
        ("{size=3 rhs_reversal=2}", "window-form"),
        ("{size=3 pad=1}", "window-form"),
    ] {
        let body = format!("y = f32[4] reduce-window(x, x), to_apply=sum, window={window}");
        let text = format!(
            "sum {{ a = f32[] parameter(0) b = f32[] parameter(1) c = f32[] add(a, b) }} \
             e {{ x = f32[4] parameter(0) {body} }}"
        );
        assert_eq!(error_of(&text).0.code, code, "{window}");
    }
    for labels in [
        "bf_io->b",
        "b0f_io->b0f",
        "bb0f_01io->b01f",
        "b1f_1io->b1f",
        "bxf_io->bf",
    ] {
        let body = format!("y = f32[4] convolution(x, x), dim_labels={labels}");
        let text = format!("e {{ x = f32[4] parameter(0) {body} }}");
        let code = error_of(&text).0.code;
        assert!(
            code == "dim-labels-form" || code == "syntax-error",
            "{labels}: {code}"
        );
    }
    check_body(
        "y = f32[4] all-reduce(x), to_apply=sum, replica_groups=mesh[\"a\"]{\"a\"}",
        "syntax-error",
        "]",
    );
    check_body(
        "y = f32[4] all-reduce(x), to_apply=sum, replica_groups=[2]<=",
        "syntax-error",
        "}",
    );
}

#[test]
fn elided_literals_are_refused_with_the_way_out() {
    let (error, place) = error_of("e { c = f32[100] constant({...}) }");
    assert_eq!((&*error.code, &*place), ("literal-elided", "{...}"));
    assert!(
        error
            .help
            .iter()
            .any(|help| help.contains("print_large_constants")),
        "{:?}",
        error.help
    );
    check("e { c = token[] constant({}) }", "literal-kind", "{");
}

#[test]
fn nothing_is_too_deep() {
    let deep = |open: &str, count: usize| open.repeat(count);
    for text in [
        format!("e {{ x = {}f32[]", deep("(", 100_000)),
        format!("e {{ x = f32[1]{}", deep("{0:P(f32[1]", 50_000)),
        format!("e {{ x = f32[] add({}", deep("f32[] add(", 100_000)),
        format!("e {{ x = f32[] add({}", deep("(", 100_000)),
        format!("e (x: {}", deep("(", 100_000)),
        format!("e () -> {}", deep("(", 100_000)),
        format!(
            "HloModule m, entry_computation_layout={{{}",
            deep("(", 100_000)
        ),
        format!(
            "HloModule m, frontend_attributes={{a={}",
            deep("{", 100_000)
        ),
        format!("e {{ x = f32[] constant({}", deep("{", 100_000)),
        format!(
            "e {{ x = f32[] parameter(0), sharding={}{}",
            deep("{", 100_000),
            deep("}", 100_000)
        ),
        format!(
            "e {{ x = f32[] parameter(0), metadata={{a={}",
            deep("{", 100_000)
        ),
        format!("e {{ {}", deep("x = f32[] call(), to_apply={", 100_000)),
        deep("f32[] add(", 100_000),
        deep("(", 100_000),
    ] {
        let start = std::time::Instant::now();
        let (error, _) = error_of(&text);
        let shown: String = text.chars().take(60).collect();
        assert!(
            start.elapsed().as_secs() < 3,
            "{shown}: {:?}",
            start.elapsed()
        );
        assert!(!error.message.is_empty(), "{shown}");
    }
}

#[test]
fn the_deepest_accepted_nesting_fits_a_small_stack() {
    let nested = format!(
        "{}f32[] constant(1){}",
        "f32[] negate(".repeat(60),
        ")".repeat(60)
    );
    let tuple = format!("{}f32[]{}", "(".repeat(190), ")".repeat(190));
    let inline = format!(
        "{}x = f32[] constant(1){}",
        "x = f32[] call(), to_apply={".repeat(60),
        "}".repeat(60)
    );
    let texts = [
        format!("e {{ x = f32[] negate({nested}) }}"),
        format!("e {{ x = {tuple} parameter(0) }}"),
        format!("e {{ {inline} }}"),
        format!(
            "e {{ x = f32[] parameter(0) y = f32[] negate({}, {tuple} parameter(1)){} }}",
            nested, ""
        ),
    ];
    let thread = std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(move || {
            for text in texts {
                let source = Source::new("t.hlo", text).expect("short");
                hloc_parser::parse(&source).expect("within the limits");
            }
        });
    thread.expect("spawned").join().expect("no overflow");
}

#[test]
fn damaged_text_gives_errors_at_places_of_the_text() {
    let text = "HloModule m, entry_computation_layout={(f32[4]{0})->f32[4]{0}}\n\
        sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n\
        ENTRY %e (x: f32[4]) -> f32[4] { %x = f32[4]{0:T(8)} parameter(0), sharding={devices=[2]<=[2]}\n\
        s = f32[] constant(0) /* é */ w = f32[4] reduce-window(x, s), window={size=3 pad=1_1}, to_apply=sum\n\
        q = ((f32[4]), f32[4], s32[]) negate-start(w) d = f32[4] negate-done(q)\n\
        ROOT r = f32[4] add(f32[4] d, negate(x)), metadata={op_name=\"a\\n\" source_line=3}, \
        backend_config={\"k\": [1, {}]} }";
    let source = Source::new("t.hlo", text).expect("short");
    hloc_parser::parse(&source).expect("whole");
    let boundaries: Vec<usize> = (0..text.len())
        .filter(|at| text.is_char_boundary(*at))
        .collect();
    for at in boundaries {
        let next = at + text[at..].chars().next().map_or(0, char::len_utf8);
        for damaged in [
            text[..at].to_owned(),
            format!("{}{}", &text[..at], &text[next..]),
            format!("{}\"{}", &text[..at], &text[at..]),
            format!("{}({}", &text[..at], &text[at..]),
            format!("{}}}{}", &text[..at], &text[next..]),
        ] {
            let source = Source::new("t.hlo", damaged).expect("short");
            if let Err(errors) = hloc_parser::parse(&source) {
                let span = errors[0].primary.span;
                let place = source.text().get(span.range());
                assert!(!span.is_none() && place.is_some(), "{:?}", errors[0]);
            }
        }
    }
}
