//! Spelling suggestions.

use crate::limits::{MAX_SUGGESTION_CANDIDATES, MAX_SUGGESTION_LEN};

/// The candidate nearest to `name`, if one is near enough to be a likely slip: `ad` gives `add`.
///
/// Near is at most one edit for each three characters. Of equally near candidates the first counts.
pub(crate) fn closest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    if name.len() > MAX_SUGGESTION_LEN {
        return None;
    }
    let mut limit = (name.len() / 3).max(1);
    let mut best = None;
    for candidate in candidates.into_iter().take(MAX_SUGGESTION_CANDIDATES) {
        if candidate.len().abs_diff(name.len()) > limit {
            continue;
        }
        let distance = edit_distance(name.as_bytes(), candidate.as_bytes());
        if distance < limit || (distance == limit && best.is_none()) {
            limit = distance;
            best = Some(candidate);
        }
    }
    best
}

/// The fewest single-byte insertions, deletions, changes and swaps of neighbors from `a` to `b`.
fn edit_distance(a: &[u8], b: &[u8]) -> usize {
    let mut before = vec![0; b.len() + 1];
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    let mut current = vec![0; b.len() + 1];
    for i in 1..=a.len() {
        current[0] = i;
        for j in 1..=b.len() {
            let change = previous[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = change.min(previous[j] + 1).min(current[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            current[j] = least;
        }
        std::mem::swap(&mut before, &mut previous);
        std::mem::swap(&mut previous, &mut current);
    }
    previous[b.len()]
}

/// A help line for `closest`: ``did you mean `add`?``.
pub(crate) fn did_you_mean(suggestion: &str) -> String {
    format!("did you mean `{suggestion}`?")
}

#[cfg(test)]
mod tests {
    use super::{closest, edit_distance};

    #[test]
    fn counts_edits() {
        assert_eq!(edit_distance(b"broadcast", b"broadcats"), 1);
        assert_eq!(edit_distance(b"ad", b"add"), 1);
        assert_eq!(edit_distance(b"", b"abc"), 3);
    }

    #[test]
    fn suggests_only_near_names() {
        let names = ["add", "multiply", "subtract"];
        assert_eq!(closest("mutliply", names), Some("multiply"));
        assert_eq!(closest("convolution", names), None);
    }
}
