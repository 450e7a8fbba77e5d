//! Fresh names.

use hloc_ir::{HashMap, HashSet, Name};

/// Names in use, and the next number to try for each stem.
#[derive(Debug, Default)]
pub(crate) struct Names {
    taken: HashSet<Name>,
    next: HashMap<Box<str>, u32>,
}

impl Names {
    /// Starts with these names in use.
    pub(crate) fn of<'a>(taken: impl Iterator<Item = &'a Name>) -> Names {
        Names {
            taken: taken.cloned().collect(),
            next: HashMap::default(),
        }
    }

    /// A name not in use, made from `wanted` without its number: `add.3` gives `add`, then `add.1`.
    pub(crate) fn fresh(&mut self, wanted: &str) -> Name {
        let stem = stem(wanted);
        let mut number = self.next.get(stem).copied().unwrap_or(0);
        loop {
            let name: Name = if number == 0 {
                stem.into()
            } else {
                format!("{stem}.{number}").into()
            };
            number += 1;
            if self.taken.insert(name.clone()) {
                match self.next.get_mut(stem) {
                    Some(next) => *next = number,
                    None => {
                        self.next.insert(stem.into(), number);
                    }
                }
                return name;
            }
        }
    }
}

/// The name without a trailing `.` and number.
fn stem(name: &str) -> &str {
    let trimmed = name.trim_end_matches(|c: char| c.is_ascii_digit());
    match trimmed.strip_suffix('.') {
        Some(stem) if !stem.is_empty() && trimmed.len() < name.len() => stem,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn numbers_follow_the_stem() {
        let taken = ["add".into(), "add.2".into()];
        let mut names = Names::of(taken.iter());
        let fresh = ["add.7", "add", "x.y", ".5"].map(|wanted| names.fresh(wanted).to_string());
        assert_eq!(fresh, ["add.1", "add.3", "x.y", ".5"]);
    }
}
