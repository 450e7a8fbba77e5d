//! The pest grammar and what its rules are called in messages.

use std::sync::{Mutex, PoisonError};

use hloc_diag::{Diagnostic, Span};
use pest::Parser as _;
use pest::error::{Error, InputLocation};
use pest::iterators::Pair;

use crate::Parsed;
use crate::limits::MAX_QUOTED;

mod generated {
    /// The parser that pest makes of `grammar/hlo.pest`.
    #[derive(pest_derive::Parser)]
    #[grammar = "../../../grammar/hlo.pest"]
    pub(crate) struct HloGrammar;
}

pub(crate) use generated::{HloGrammar, Rule};

/// A piece of text that a rule matched, with the pieces inside.
pub(crate) type Node<'t> = Pair<'t, Rule>;

/// Matches `rule` at byte `at` of `text`.
///
/// # Errors
/// `syntax-error` or `unexpected-end` at the furthest place that the rule reached.
pub(crate) fn match_at(rule: Rule, text: &str, at: usize) -> Parsed<Node<'_>> {
    let matched = HloGrammar::parse(rule, &text[at..]);
    match matched.map(|mut pairs| pairs.next()) {
        Ok(Some(node)) => Ok(node),
        Ok(None) => Err(expected(describe(rule), text, at)),
        Err(error) => {
            let furthest = furthest(rule, &text[at..], &error);
            Err(expected(describe(rule), text, at + furthest))
        }
    }
}

/// How far `rule` reached in `text`.
///
/// pest itself records only where rules failed, not where punctuation is missing. Asked for detail it
/// records that too, but slowly, so the text is matched once more with detail. The switch is
/// process-wide: the lock makes messages the same however many threads parse.
fn furthest(rule: Rule, text: &str, error: &Error<Rule>) -> usize {
    static DETAIL: Mutex<()> = Mutex::new(());
    let coarse = match error.location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
    };
    let _guard = DETAIL.lock().unwrap_or_else(PoisonError::into_inner);
    pest::set_error_detail(true);
    let again = HloGrammar::parse(rule, text);
    pest::set_error_detail(false);
    let attempts = again.err().and_then(|error| error.parse_attempts());
    let fine = attempts.map_or(0, |attempts| attempts.max_position);
    let furthest = coarse.max(fine).min(text.len());
    (0..=furthest)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

/// An error that says what should stand at `at`, and what stands there.
pub(crate) fn expected(what: &str, text: &str, at: usize) -> Box<Diagnostic> {
    let at = at + skipped_blank(&text[at..]);
    let found = token_at(text, at);
    if found.is_empty() {
        let message = format!("expected {what}, found the end of the text");
        return Box::new(Diagnostic::error(
            "unexpected-end",
            message,
            Span::from_range(at..at),
        ));
    }
    let message = format!("expected {what}, found `{}`", found.escape_debug());
    Box::new(Diagnostic::error(
        "syntax-error",
        message,
        Span::from_range(at..at + found.len()),
    ))
}

fn skipped_blank(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t', '\r', '\n']).len()
}

/// The word or the single character at `at`, shortened for messages.
fn token_at(text: &str, at: usize) -> &str {
    let rest = &text[at..];
    let is_word =
        |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | '-' | '%');
    let word = rest
        .char_indices()
        .take(MAX_QUOTED)
        .take_while(|(_, char)| is_word(*char))
        .last();
    let end = match (word, rest.chars().next()) {
        (Some((start, char)), _) => start + char.len_utf8(),
        (None, Some(first)) => first.len_utf8(),
        (None, None) => 0,
    };
    &rest[..end]
}

/// What a rule is called in messages; rules that are never called by themselves have a general name.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "most rules are only parts of others"
)]
fn describe(rule: Rule) -> &'static str {
    match rule {
        Rule::name => "a name",
        Rule::ident => "a word",
        Rule::integer | Rule::integer_value => "an integer",
        Rule::number | Rule::number_value => "a number",
        Rule::boolean => "`true` or `false`",
        Rule::string => "a quoted string",
        Rule::shape | Rule::array_shape => "a shape such as `f32[2,3]`",
        Rule::layout => "a layout such as `{1,0}`",
        Rule::literal_shape => "a shape and a value such as `s32[2]{0} {1,2}`",
        Rule::program_shape => "shapes such as `{(f32[2])->f32[2]}`",
        Rule::module_head => "`HloModule` and a name",
        Rule::alias_list => "aliases such as `{ {0}: (1, {}) }`",
        Rule::donor_list => "buffer donors such as `{ (0, {}) }`",
        Rule::boolean_or_list => "`true`, `false` or a list of them in braces",
        Rule::name_row => "a row such as `1 \"text\"`",
        Rule::number_row => "a row such as `1 {name=2}`",
        Rule::computation_head => {
            "a computation such as `name {` or `name (x: f32[2]) -> f32[2] {`"
        }
        Rule::instruction_head => "an instruction such as `name = f32[2] opcode(`",
        Rule::nameless_head => "an instruction such as `f32[2] opcode(`",
        Rule::parameter_number => "a parameter number and `)`",
        Rule::operand_list | Rule::operand | Rule::operand_start => "an operand",
        Rule::attribute_name => "an attribute such as `name=`",
        Rule::integer_list => "integers such as `{0,1}`",
        Rule::integer_lists => "lists of integers such as `{{0,1},{2,3}}`",
        Rule::boolean_list => "a list such as `{true,false}`",
        Rule::word_list => "a list of words such as `{default,high}`",
        Rule::name_list => "names such as `{a, b}`",
        Rule::shape_list => "shapes such as `{f32[2]{0}, s32[]}`",
        Rule::slice_list => "slices such as `{[0:2], [0:6:2]}`",
        Rule::padding => "padding such as `0_1x0_1`",
        Rule::window => "a window such as `{size=3x3 stride=2x2}`",
        Rule::dim_labels => "dimension labels such as `b01f_01io->b01f`",
        Rule::replica_groups => {
            "replica groups such as `{{0,1}}`, `[2,2]<=[4]` or `mesh[\"a\"=2]{\"a\"}`"
        }
        Rule::pair_list => "pairs such as `{{0,1},{1,0}}`",
        Rule::domain => "a domain such as `{kind=\"sharding\", entry={manual}, exit={manual}}`",
        Rule::result_accuracy => {
            "an accuracy such as `{mode=highest}` or `{tolerance={atol=1,rtol=0.1,ulps=2}}`"
        }
        Rule::sharding => "a sharding such as `{replicated}`",
        Rule::origin => "an origin such as `{{\"name\"}}`",
        Rule::metadata => "metadata such as `{op_name=\"a\" source_line=1}`",
        Rule::frontend_key => "an attribute such as `key=`",
        Rule::statistics => "statistics such as `{visualizing_index=0,name=1.5}`",
        _ => "other text",
    }
}

#[cfg(test)]
mod tests {
    use super::{Rule, match_at};

    #[test]
    fn messages_stay_fast_in_long_text() {
        let start = std::time::Instant::now();
        let long = format!("{{{}x}}", "0, ".repeat(100_000));
        let error = match_at(Rule::integer_list, &long, 0).expect_err("no integer");
        assert_eq!(error.primary.span.start, 300_001);
        assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    }

    #[test]
    fn says_what_was_expected_and_found() {
        let error = match_at(Rule::integer_list, "{0,x}", 0).expect_err("no integer");
        assert_eq!(
            error.message,
            "expected integers such as `{0,1}`, found `x`"
        );
        let error = match_at(Rule::integer_list, "{0", 0).expect_err("unclosed");
        assert_eq!(error.code, "unexpected-end");
    }
}
