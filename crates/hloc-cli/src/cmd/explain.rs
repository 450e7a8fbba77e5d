//! `hloc explain`: what a diagnostic's code stands for.

use clap::Args;

use crate::failure::{Status, Usage};
use crate::options::EXIT_STATUSES;
use crate::output::print;

const HELP: &str = "Examples:
  hloc explain broadcast_c4
  hloc explain unknown-opcode
  hloc explain accidental-outer-product

";

/// Arguments of `hloc explain`.
#[derive(Debug, Args)]
#[command(after_help = format!("{HELP}{EXIT_STATUSES}"))]
pub(crate) struct ExplainArgs {
    /// The code in brackets of a diagnostic: `error[broadcast_c4]`.
    code: String,
}

/// What lowering and emission report.
const LIMITS: &[(&str, &str)] = &[
    (
        "limit",
        "The program is valid, but larger than a limit of hloc, which the message states.",
    ),
    (
        "unsupported",
        "The program is valid, but uses an op, an element type or a form of an op that hloc does not \
         compile yet. `hloc ops` lists what it supports.",
    ),
];

/// Codes with their paragraphs.
fn documented() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rules = hloc_verify::CONSTRAINTS.iter();
    let codes = hloc_parser::CODES.iter();
    let lints = hloc_verify::LINTS.iter();
    let lints = lints.filter_map(|code| Some((*code, hloc_verify::explain_lint(code)?)));
    rules
        .map(|rule| (rule.label, rule.summary))
        .chain(codes.map(|code| (code.code, code.summary)))
        .chain(lints)
        .chain(hloc::builder::CODES.iter().copied())
        .chain(LIMITS.iter().copied())
}

pub(crate) fn run(args: &ExplainArgs) -> anyhow::Result<Status> {
    let code = args.code.trim();
    if let Some((code, text)) = documented().find(|(known, _)| *known == code) {
        print(&format!("{code}\n\n{text}"))?;
        return Ok(Status::Fine);
    }
    let mut message = format!("no diagnostic has the code `{code}`");
    if let Some(nearest) = nearest(code) {
        message.push_str(&format!("; did you mean `{nearest}`?"));
    }
    Err(Usage::error(message))
}

/// The code that is fewest edits away, if few enough to be a slip.
fn nearest(code: &str) -> Option<&'static str> {
    let scored = documented().map(|(known, _)| (distance(code, known), known));
    let (edits, known) = scored.min()?;
    (edits <= 2.max(code.len() / 4)).then_some(known)
}

/// How many characters must be inserted, removed or replaced to get from one text to the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, from) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, to) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn distances_count_edits() {
        assert_eq!(distance("broadcast_c4", "broadcast_c4"), 0);
        assert_eq!(distance("brodcast_c4", "broadcast_c4"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
