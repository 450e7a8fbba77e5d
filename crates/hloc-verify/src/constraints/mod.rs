//! What every rule says, by label: the text of `hloc explain LABEL`.

mod algebra;
mod control;
mod elementwise;
mod indexing;
mod module;
mod movement;
mod reduction;

/// One rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constraint {
    /// The label, which is the code of the diagnostic: `broadcast_c4`.
    pub label: &'static str,
    /// What must hold, in whole sentences.
    pub summary: &'static str,
}

const AREAS: &[&[Constraint]] = &[
    module::MODULE,
    elementwise::ELEMENTWISE,
    movement::MOVEMENT,
    indexing::INDEXING,
    reduction::REDUCTION,
    algebra::ALGEBRA,
    control::CONTROL,
];

/// Every rule, by area.
pub const CONSTRAINTS: &[Constraint] = &joined::<{ total() }>();

/// The rule with this label, or `None`: `broadcast_c4` says that sizes must be equal.
pub fn explain(label: &str) -> Option<&'static Constraint> {
    CONSTRAINTS
        .iter()
        .find(|constraint| constraint.label == label)
}

const fn total() -> usize {
    let mut total = 0;
    let mut area = 0;
    while area < AREAS.len() {
        total += AREAS[area].len();
        area += 1;
    }
    total
}

const fn joined<const N: usize>() -> [Constraint; N] {
    let mut all = [Constraint {
        label: "",
        summary: "",
    }; N];
    let mut at = 0;
    let mut area = 0;
    while area < AREAS.len() {
        let mut index = 0;
        while index < AREAS[area].len() {
            all[at] = AREAS[area][index];
            at += 1;
            index += 1;
        }
        area += 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::{CONSTRAINTS, explain};

    /// The quoted labels in the sources of a directory, this one's tables excepted.
    fn labels(directory: &Path) -> BTreeSet<String> {
        let entries = std::fs::read_dir(directory).expect("the sources are there");
        let files: Vec<PathBuf> = entries
            .map(|entry| entry.expect("readable").path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
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
