//! Packing input and kernel as matrices.

use hloc_linalg::Field;

use super::geometry::Geometry;

/// One matrix per group, row-major: window elements with input features, by output features.
pub(super) fn kernels<T: Field>(geometry: &Geometry, kernel: &[T]) -> Vec<T> {
    let (terms, features) = (geometry.terms(), geometry.group_features());
    let mut packed = Vec::with_capacity(geometry.groups() * terms * features);
    let offsets = geometry.window_offsets();
    for group in 0..geometry.groups() {
        let first = group * features * geometry.kernel_output_stride;
        for offset in &offsets {
            for input in 0..geometry.input_features {
                let begin = first + offset + input * geometry.kernel_input_stride;
                let row =
                    (0..features).map(|at| kernel[begin + at * geometry.kernel_output_stride]);
                packed.extend(row);
            }
        }
    }
    packed
}

/// Fills `packed` with `rows` rows of a group's matrix from row `begin` on; tells whether row by row,
/// else column by column.
pub(super) fn input<T: Field>(
    geometry: &Geometry,
    group: usize,
    begin: usize,
    rows: usize,
    input: &[T],
    packed: &mut [T],
) -> bool {
    let mut places = vec![0; geometry.spatial.len()];
    let by_rows = geometry.input_feature_stride == 1;
    if by_rows {
        for (row, target) in packed.chunks_exact_mut(geometry.terms()).enumerate() {
            let batch = geometry.split_row(begin + row, &mut places);
            let base = geometry.input_base(group, batch);
            fill_row(geometry, &places, 0, Some(base), input, target);
        }
        return true;
    }
    // The offsets of the window's elements, by element, then row.
    let window = geometry.terms() / geometry.input_features;
    let mut offsets = vec![None; window * rows];
    for row in 0..rows {
        let batch = geometry.split_row(begin + row, &mut places);
        let base = geometry.input_base(group, batch);
        let mut at = 0;
        each_offset(geometry, &places, 0, Some(base), &mut |offset| {
            offsets[at * rows + row] = offset;
            at += 1;
        });
    }
    let columns = packed.chunks_exact_mut(geometry.input_features * rows);
    for (columns, offsets) in columns.zip(offsets.chunks_exact(rows)) {
        for (feature, column) in columns.chunks_exact_mut(rows).enumerate() {
            let to = feature * geometry.input_feature_stride;
            for (value, offset) in column.iter_mut().zip(offsets) {
                *value = offset.map_or(T::zero(), |offset| input[offset + to]);
            }
        }
    }
    false
}

/// Fills one row whose features lie side by side.
fn fill_row<T: Field>(
    geometry: &Geometry,
    places: &[usize],
    dim: usize,
    base: Option<usize>,
    input: &[T],
    target: &mut [T],
) {
    let Some(base) = base else {
        target.fill(T::zero());
        return;
    };
    let Some(spatial) = geometry.spatial.get(dim) else {
        target.copy_from_slice(&input[base..base + target.len()]);
        return;
    };
    let parts = target.chunks_exact_mut(target.len() / spatial.window);
    for (target, offset) in parts.zip(spatial.offsets_at(places[dim])) {
        let base = offset.map(|offset| base + offset);
        fill_row(geometry, places, dim + 1, base, input, target);
    }
}

/// Calls `each` with the offset of every element of a row's window, in order.
fn each_offset(
    geometry: &Geometry,
    places: &[usize],
    dim: usize,
    base: Option<usize>,
    each: &mut dyn FnMut(Option<usize>),
) {
    let Some(spatial) = geometry.spatial.get(dim) else {
        each(base);
        return;
    };
    for offset in spatial.offsets_at(places[dim]) {
        let base = base.zip(*offset).map(|(base, offset)| base + offset);
        each_offset(geometry, places, dim + 1, base, each);
    }
}

/// Writes values `stride` apart.
pub(super) fn spread<T: Copy>(values: &[T], target: &mut [T], stride: usize) {
    if stride == 1 {
        target[..values.len()].copy_from_slice(values);
    } else {
        for (at, value) in values.iter().enumerate() {
            target[at * stride] = *value;
        }
    }
}
