//! Names: what may be one, and names made for what the text leaves nameless.

use hloc_diag::{Diagnostic, Span};
use hloc_ir::{ElementType, HashMap, HashSet, Name};

use crate::Parsed;

/// Whether `word` is a type name, which cannot name anything in either spelling.
pub(crate) fn is_type_name(word: &str) -> bool {
    word == "token" || word == "opaque" || ElementType::from_name(word).is_some()
}

/// Whether `word` is a keyword, which can name something only with `%`.
pub(crate) fn is_keyword(word: &str) -> bool {
    const KEYWORDS: [&str; 18] = [
        "true",
        "false",
        "inf",
        "nan",
        "HloModule",
        "ENTRY",
        "ROOT",
        "FileNames",
        "FunctionNames",
        "FileLocations",
        "StackFrames",
        "maximal",
        "replicated",
        "manual",
        "last_tile_dim_replicate",
        "shard_as",
        "shard_like",
        "unknown",
    ];
    KEYWORDS.contains(&word) || word == "unreduced"
}

/// The name without `%`.
///
/// # Errors
/// `reserved-name` for type names, and for keywords without `%`.
pub(crate) fn plain_name(written: &str, span: Span) -> Parsed<&str> {
    let name = written.strip_prefix('%').unwrap_or(written);
    if is_type_name(name) {
        let message = format!("`{name}` is an element type and cannot be a name");
        let help = format!("call it `{name}_`");
        return Err(Box::new(
            Diagnostic::error("reserved-name", message, span).with_help(help),
        ));
    }
    if name.len() == written.len() && is_keyword(name) {
        let message = format!("`{name}` is a keyword and cannot be a name");
        let help = format!("write `%{name}`, or call it `{name}_`");
        return Err(Box::new(
            Diagnostic::error("reserved-name", message, span).with_help(help),
        ));
    }
    Ok(name)
}

/// Makes names that no other thing of the same scope has.
#[derive(Default)]
pub(crate) struct FreshNames {
    taken: HashSet<Name>,
    next: HashMap<String, u64>,
}

impl FreshNames {
    /// A maker that avoids `taken`.
    pub(crate) fn avoiding(taken: impl IntoIterator<Item = Name>) -> FreshNames {
        FreshNames {
            taken: taken.into_iter().collect(),
            next: HashMap::default(),
        }
    }

    /// `base`, or `base.1`, `base.2`, … if that is taken.
    pub(crate) fn fresh(&mut self, base: &str) -> Name {
        let next = self.next.entry(base.to_owned()).or_insert(0);
        loop {
            let candidate: Name = match *next {
                0 => base.into(),
                number => format!("{base}.{number}").into(),
            };
            *next += 1;
            if self.taken.insert(candidate.clone()) {
                return candidate;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hloc_diag::Span;

    use super::{FreshNames, plain_name};

    #[test]
    fn refuses_reserved_words() {
        assert_eq!(plain_name("%true", Span::NONE).expect("allowed"), "true");
        assert_eq!(plain_name("s2_", Span::NONE).expect("allowed"), "s2_");
        for refused in ["true", "s2", "%s2", "maximal", "token"] {
            assert_eq!(
                plain_name(refused, Span::NONE).expect_err(refused).code,
                "reserved-name"
            );
        }
    }

    #[test]
    fn makes_fresh_names() {
        let mut names = FreshNames::avoiding(["a".into(), "a.1".into()]);
        assert_eq!((&*names.fresh("a"), &*names.fresh("a")), ("a.2", "a.3"));
    }
}
