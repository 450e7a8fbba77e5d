//! Lints: valid programs that probably do not mean what they say.
//!
//! Each lint has a code, a section of `docs/lints.md`, and files below `tests/filetests/lint`. A
//! `frontend_attributes={hloc.allow="CODE,CODE"}` on an instruction or on the module silences it there,
//! [`LintOptions::allow`] everywhere. A lint about a whole computation looks at its root.

mod constants;
mod indices;
mod outer_product;
mod reductions;
mod report;
#[cfg(test)]
mod tests;
mod unused;

use hloc_diag::{Diagnostic, Source};

use crate::VerifiedModule;
use report::Lints;

/// The code of every lint, in the order of `docs/lints.md`.
pub const LINTS: &[&str] = &[
    hloc_ir::outer_product::CODE,
    reductions::LOW_PRECISION,
    unused::DEAD_COMPUTATION,
    unused::UNUSED_PARAMETER,
    constants::OVERFLOW,
    constants::SUBNORMAL,
    constants::NAN_COMPARISON,
    constants::ZERO_DIVISOR,
    indices::OUT_OF_RANGE,
];

const DOCUMENT: &str = include_str!("../../../../docs/lints.md");

/// The section about a lint in `docs/lints.md`, without its heading; none for other codes.
pub fn explain_lint(code: &str) -> Option<&'static str> {
    let code = LINTS.iter().find(|known| **known == code)?;
    let mut sections = DOCUMENT.split("\n## ");
    let section = sections.find_map(|section| section.strip_prefix(code)?.strip_prefix('\n'));
    section.map(str::trim)
}

/// Which lints are told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LintOptions {
    /// Codes that are not told.
    pub allow: Vec<String>,
}

/// Warnings about `module`, in order; an empty list if nothing looks odd.
pub fn lint(module: &VerifiedModule) -> Vec<Diagnostic> {
    lint_with(module, &LintOptions::default())
}

/// As [`lint`], without the codes that `options` allow.
pub fn lint_with(module: &VerifiedModule, options: &LintOptions) -> Vec<Diagnostic> {
    run(Lints::new(module, options, None))
}

/// As [`lint_with`]; `source` is the text that the module was read from, whose numbers are compared with
/// what became of them.
pub fn lint_text(
    module: &VerifiedModule,
    source: &Source,
    options: &LintOptions,
) -> Vec<Diagnostic> {
    run(Lints::new(module, options, Some(source)))
}

fn run(mut lints: Lints<'_>) -> Vec<Diagnostic> {
    unused::computations(&mut lints);
    unused::parameters(&mut lints);
    for id in lints.module.computations.ids() {
        outer_product::check(&mut lints, id);
        reductions::check(&mut lints, id);
        constants::check(&mut lints, id);
        indices::check(&mut lints, id);
    }
    lints.finish()
}
