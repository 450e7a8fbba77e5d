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
