//! What every rule says, by label: read from the pages in `docs/ops`, which are the text of
//! `hloc explain LABEL`.

use std::sync::LazyLock;

/// One rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constraint {
    /// The label, which is the code of the diagnostic: `broadcast_c4`.
    pub label: &'static str,
    /// What must hold, in whole sentences.
    pub summary: &'static str,
    /// What the op computes, which the rules are about.
    pub section: &'static str,
}

/// The pages, in the order in which [`CONSTRAINTS`] lists their rules.
const PAGES: &[&str] = &[
    include_str!("../../../docs/ops/module.md"),
    include_str!("../../../docs/ops/elementwise.md"),
    include_str!("../../../docs/ops/movement.md"),
    include_str!("../../../docs/ops/indexing.md"),
    include_str!("../../../docs/ops/reduction.md"),
    include_str!("../../../docs/ops/algebra.md"),
    include_str!("../../../docs/ops/control.md"),
    include_str!("../../../docs/ops/devices.md"),
];

/// Every rule, by area.
pub static CONSTRAINTS: LazyLock<Vec<Constraint>> =
    LazyLock::new(|| PAGES.iter().flat_map(|page| rules(page)).collect());

/// The rule with this label, or `None`: `broadcast_c4` says that sizes must be equal.
pub fn explain(label: &str) -> Option<&'static Constraint> {
    CONSTRAINTS
        .iter()
        .find(|constraint| constraint.label == label)
}

/// The rules of a page: `### label` and the line below; the line below `## ` is about all that follow.
fn rules(page: &'static str) -> Vec<Constraint> {
    let mut found = Vec::new();
    let mut section = "";
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("## ") {
            section = below(&mut lines);
        } else if let Some(label) = line.strip_prefix("### ") {
            found.push(Constraint {
                label,
                summary: below(&mut lines),
                section,
            });
        }
    }
    found
}

/// The first line with text.
fn below(lines: &mut std::str::Lines<'static>) -> &'static str {
    lines.find(|line| !line.is_empty()).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::{CONSTRAINTS, explain};

    /// The quoted labels in the sources of a directory, this file excepted.
    fn labels(directory: &Path) -> BTreeSet<String> {
        let entries = std::fs::read_dir(directory).expect("the sources are there");
        let files: Vec<PathBuf> = entries
            .map(|entry| entry.expect("readable").path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
            .filter(|path| !path.ends_with("constraints.rs"))
            .collect();
        let texts = files
            .iter()
            .map(|path| std::fs::read_to_string(path).expect("readable"));
        let quoted: Vec<String> = texts
            .flat_map(|text| text.split('"').map(str::to_owned).collect::<Vec<_>>())
            .collect();
        quoted.into_iter().filter(|text| is_label(text)).collect()
    }

    fn is_label(text: &str) -> bool {
        let Some((name, number)) = text.rsplit_once("_c") else {
            return false;
        };
        let lower = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
        !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && name.bytes().all(lower)
    }

    #[test]
    fn labels_and_rules_agree() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut used = labels(&root.join("src"));
        used.extend(labels(&root.join("../hloc-ir/src/ops")));
        let documented: BTreeSet<String> = CONSTRAINTS
            .iter()
            .map(|constraint| constraint.label.to_owned())
            .collect();
        assert_eq!(used, documented);
        assert_eq!(documented.len(), CONSTRAINTS.len(), "a label occurs twice");
    }

    #[test]
    fn rules_are_found_by_label() {
        let rule = explain("broadcast_c4").expect("it exists");
        assert!(rule.summary.contains("exactly the size"));
        assert!(explain("broadcast_c99").is_none());
    }
}
