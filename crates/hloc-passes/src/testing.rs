//! What the tests of all passes share: text in, text out.

use hloc_diag::Source;
use hloc_ir::{Module, print_module};
use hloc_verify::{Options, VerifiedModule, verify_with};

use crate::Pass;

/// The verified module of `text`, unsorted broadcasts permitted.
pub(crate) fn module(text: &str) -> VerifiedModule {
    let source = Source::new("test.hlo", text).expect("tests are small");
    let module = hloc_parser::parse(&source)
        .unwrap_or_else(|diagnostics| panic!("does not parse: {diagnostics:#?}\n{text}"));
    let options = Options {
        permit_unsorted_broadcast: true,
        ..Options::default()
    };
    verify_with(module, &options).unwrap_or_else(|rejected| panic!("{rejected}\n{text}"))
}

/// Runs `pass` on a module and checks that it reports honestly and finds nothing to do a second time.
pub(crate) fn run_on(pass: &dyn Pass, before: &VerifiedModule) -> VerifiedModule {
    let Some(after) = pass.run(before).expect("passes do not fail") else {
        return before.clone();
    };
    let text = print_module(&after);
    assert_ne!(
        text,
        print_module(before),
        "claims a change: {}",
        pass.name()
    );
    let after = verify_with(after, &Options::default())
        .unwrap_or_else(|rejected| panic!("{rejected}\n{}\n{text}", print_module(before)));
    let again = pass.run(&after).expect("passes do not fail");
    assert!(
        again.is_none(),
        "{} is not idempotent:\n{text}\n{}",
        pass.name(),
        again.map_or(String::new(), |again| print_module(&again))
    );
    after
}

/// The text after running `pass` on `text`, without the header, layouts and blank lines.
pub(crate) fn rewritten(pass: &dyn Pass, text: &str) -> String {
    plain(&print_module(&run_on(pass, &module(text))))
}

/// The lines of the entry computation, without layouts.
pub(crate) fn plain_entry(module: &Module) -> String {
    let text = plain(&print_module(module));
    let (_, entry) = text.split_once("ENTRY ").expect("there is an entry");
    let lines = entry.lines().skip(1).filter(|line| *line != "}");
    lines.collect::<Vec<_>>().join("\n")
}

/// A module around an entry computation of these lines.
pub(crate) fn entry(body: &str) -> String {
    format!("HloModule test\n\nENTRY main {{\n{body}\n}}\n")
}

/// Asserts that `pass` turns the entry body `before` into the lines `after` (of the whole module,
/// spaces at the ends of lines ignored).
#[track_caller]
pub(crate) fn check(pass: &dyn Pass, before: &str, after: &str) {
    let trimmed = |text: &str| {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join("\n")
    };
    let text = plain_entry(&run_on(pass, &module(&entry(before))));
    assert_eq!(trimmed(&text), trimmed(after));
}

/// Drops the header, blank lines and layouts.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines().skip(1).filter(|line| !line.is_empty()) {
        out.push_str(&without_layouts(line));
        out.push('\n');
    }
    out
}

/// Drops `{1,0}` that follows `]`.
fn without_layouts(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find("]{") {
        out.push_str(&rest[..=at]);
        let end = rest[at..].find('}').map_or(rest.len(), |end| at + end + 1);
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}
