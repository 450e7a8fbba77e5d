//! Every rule that a text can break, broken once: the code of the only diagnostic is the rule's label.

mod arrays;
mod calls;

use std::collections::BTreeSet;

use hloc_diag::Source;
use hloc_verify::{CONSTRAINTS, explain, verify};

/// Computations that the cases call.
const CALLED: &str = "
add_f32 { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
add_bf16 { a = bf16[] parameter(0) b = bf16[] parameter(1) ROOT r = bf16[] add(a, b) }
gives_pred { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=GT }
mixed { a = f32[] parameter(0) b = bf16[] parameter(1) ROOT r = f32[] negate(a) }
negate { a = f32[] parameter(0) ROOT r = f32[] negate(a) }
pair { a = f32[] parameter(0) ROOT r = (f32[], f32[]) tuple(a, a) }
nothing { ROOT c = f32[] constant(1) }
positive { a = f32[] parameter(0) z = f32[] constant(0) ROOT r = pred[] compare(a, z), direction=GT }
vector { a = f32[4] parameter(0) ROOT r = f32[4] negate(a) }
root_used { a = f32[] parameter(0) ROOT r = f32[] negate(a) s = f32[] negate(r) }
unused { a = f32[] parameter(0) s = f32[] abs(a) ROOT r = f32[] negate(a) }
";

/// Cases whose instructions go between these parameters and the end of the entry.
const PARAMETERS: &str = "
  x = f32[2,3] parameter(0)
  v = f32[3] parameter(1)
  s = f32[] parameter(2)
  i = s32[] parameter(3)
  p = pred[] parameter(4)
  n = s32[4] parameter(5)
  h = bf16[2,3] parameter(6)
  z = c64[2,3] parameter(7)
  t = (f32[2,3], s32[]) parameter(8)
  tk = token[] parameter(9)
  n2 = s32[4,2] parameter(10)
  sq = f32[5,3,3] parameter(11)
  hs = bf16[] parameter(12)
  sq2 = f32[1,3,3] parameter(13)
";

fn codes(text: &str) -> Vec<String> {
    let source = Source::new("case.hlo", text).expect("short");
    let module = match hloc_parser::parse(&source) {
        Ok(module) => module,
        Err(errors) => {
            let told = errors.iter();
            return told
                .map(|error| format!("does not parse: {}", error.message))
                .collect();
        }
    };
    match verify(module) {
        Ok(_) => Vec::new(),
        Err(rejected) => {
            for diagnostic in &rejected.diagnostics {
                assert!(explain(&diagnostic.code).is_some(), "{}", diagnostic.code);
                assert!(!diagnostic.help.is_empty(), "{}", diagnostic.code);
            }
            let codes = rejected.diagnostics.iter();
            codes
                .map(|diagnostic| diagnostic.code.to_string())
                .collect()
        }
    }
}

fn entry(body: &str) -> String {
    format!("HloModule m\n{CALLED}\nENTRY e {{ {PARAMETERS}\n{body}\n}}\n")
}

#[test]
fn each_broken_rule_gives_its_label_once() {
    let mut wrong = Vec::new();
    for (label, body) in arrays::BROKEN.iter().chain(calls::BROKEN) {
        let found = codes(&entry(body));
        if found != [*label] {
            wrong.push(format!("{label}: {found:?} from {body}"));
        }
    }
    for (label, text) in calls::BROKEN_MODULES {
        let found = codes(text);
        if found != [*label] {
            wrong.push(format!("{label}: {found:?} from {text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Rules that no text can break: the parser refuses such texts, or no text can say it. The tests of
/// built modules and of the shape rules break them.
const BUILT: &[&str] = &[
    "arity_c1",
    "called_c1",
    "computation_c1",
    "computation_c2",
    "computation_c3",
    "computation_c4",
    "computation_c7",
    "constant_c1",
    "layout_c1",
    "module_c1",
    "module_c2",
    "module_c3",
    "pad_c3",
    "parameter_c1",
    "result_c2",
    "shape_c3",
];

/// Rules of XLA's dialect, broken in the tests of broadcasting.
const DIALECT: &[&str] = &["dialect_c1", "dialect_c2"];

#[test]
fn each_rule_is_broken_once() {
    let texts = arrays::BROKEN
        .iter()
        .chain(calls::BROKEN)
        .chain(calls::BROKEN_MODULES)
        .map(|case| case.0);
    let broken: BTreeSet<&str> = texts
        .chain(BUILT.iter().copied())
        .chain(DIALECT.iter().copied())
        .collect();
    let rules: BTreeSet<&str> = CONSTRAINTS.iter().map(|rule| rule.label).collect();
    assert_eq!(broken, rules);
}
