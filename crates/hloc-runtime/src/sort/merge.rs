//! A stable merge sort that asks for each comparison.

/// Puts `places` in order: runs of 1, 2, 4, … are merged; of two runs the right one's element goes first
/// only if `before(right, left)`.
///
/// It keeps to its bounds whatever `before` answers, and asks the same questions for the same answers.
pub(super) fn merge_sort(places: &mut Vec<u32>, mut before: impl FnMut(u32, u32) -> bool) {
    let count = places.len();
    let mut merged: Vec<u32> = Vec::with_capacity(count);
    let mut width = 1;
    while width < count {
        merged.clear();
        for pair in places.chunks(2 * width) {
            let (mut left, mut right) = pair.split_at(width.min(pair.len()));
            while let ([first, left_rest @ ..], [second, right_rest @ ..]) = (left, right) {
                if before(*second, *first) {
                    merged.push(*second);
                    right = right_rest;
                } else {
                    merged.push(*first);
                    left = left_rest;
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        std::mem::swap(places, &mut merged);
        width *= 2;
    }
}
