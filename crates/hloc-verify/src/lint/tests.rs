//! Every lint is documented; the options silence.

use hloc_ir::{Builder, ElementType, Module, Shape};

use super::{LINTS, LintOptions, explain_lint, lint, lint_with};
use crate::verify;

/// `reduce((x - y)²)` of (n,1) against (n).
fn loss(allow: Option<&str>) -> Module {
    let b = Builder::new("loss");
    let x = b.parameter(Shape::array(ElementType::F32, &[4, 1]), "x");
    let y = b.parameter(Shape::array(ElementType::F32, &[4]), "y");
    let d = b.subtract_in_dim(x, y, &[1]);
    if let Some(codes) = allow {
        b.frontend_attribute(d, "hloc.allow", codes);
    }
    let loss = b.reduce_add(b.multiply(d, d), &[0, 1]);
    b.build(loss).expect("it is valid")
}

#[test]
fn every_lint_is_documented() {
    for code in LINTS {
        let text =
            explain_lint(code).unwrap_or_else(|| panic!("docs/lints.md says nothing of `{code}`"));
        assert!(text.len() > 80, "{code}: {text}");
    }
    assert_eq!(explain_lint("no-such-lint"), None);
}

#[test]
fn differences_of_all_pairs_are_told_with_the_loss() {
    let found = lint(&verify(loss(None)).expect("it is valid"));
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].code, "accidental-outer-product");
    assert!(
        found[0].message.contains("`reduce` reduces all 16 pairs"),
        "{}",
        found[0].message
    );
}

#[test]
fn attributes_and_options_silence() {
    let allowed = loss(Some("unused-parameter, accidental-outer-product"));
    assert!(lint(&verify(allowed).expect("it is valid")).is_empty());
    let options = LintOptions {
        allow: vec!["accidental-outer-product".to_owned()],
    };
    let verified = verify(loss(None)).expect("it is valid");
    assert!(lint_with(&verified, &options).is_empty());
    assert_eq!(
        lint(&verify(loss(Some("dead-computation"))).expect("it is valid")).len(),
        1
    );
}
