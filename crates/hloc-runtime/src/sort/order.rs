//! Sorting by keys.

use hloc_loops::routine::{RoutineCall, SortKey};

use super::keys::{KeyReader, UNORDERED};
use super::merge::merge_sort;
use super::rows::Rows;
use crate::pool::WorkerPool;
use crate::routine::Routine;

/// A sort by one or more keys.
#[derive(Debug)]
pub(super) struct KeyedSort {
    rows: Rows,
    keys: Box<[KeyReader]>,
    /// Size of an element of each array that is permuted.
    sizes: Box<[usize]>,
}

/// Memory that the rows of one sort use one after the other.
#[derive(Default)]
struct Scratch {
    /// The numbers of the first key of all elements, then of the second, ….
    numbers: Vec<u64>,
    narrow: Vec<u64>,
    wide: Vec<u128>,
    places: Vec<u32>,
}

impl KeyedSort {
    /// `None` for keys without an order and for rows too long for 32-bit places.
    pub(super) fn new(
        rows: Rows,
        keys: &[SortKey],
        call: &RoutineCall,
        sizes: Box<[usize]>,
    ) -> Option<KeyedSort> {
        u32::try_from(rows.extent).ok()?;
        let reader = |(key, shape): (&SortKey, &hloc_ir::ArrayShape)| {
            KeyReader::new(shape.element_type, key.order, key.descending)
        };
        let keys = keys.iter().zip(&call.inputs).map(reader);
        Some(KeyedSort {
            rows,
            keys: keys.collect::<Option<_>>()?,
            sizes,
        })
    }

    /// Fills `scratch.places` with the order of the row at `base`.
    fn order(&self, base: usize, keys: &[&[u8]], scratch: &mut Scratch) {
        let extent = self.rows.extent;
        scratch.numbers.clear();
        let mut comparable = true;
        for (reader, bytes) in self.keys.iter().zip(keys) {
            let places = (0..extent).map(|at| self.rows.place(base, at));
            comparable &= reader.read(bytes, places, &mut scratch.numbers);
        }
        let bits: u32 = self.keys.iter().map(|key| key.bits()).sum();
        if !comparable {
            self.merged(scratch);
        } else if bits <= 32 {
            self.sorted_narrow(scratch);
        } else if bits <= 96 {
            self.sorted_wide(scratch);
        } else {
            self.merged(scratch);
        }
    }

    fn sorted_narrow(&self, scratch: &mut Scratch) {
        let extent = self.rows.extent;
        let Scratch {
            numbers,
            narrow,
            places,
            ..
        } = scratch;
        narrow.clear();
        narrow.resize(extent, 0);
        for (reader, numbers) in self.keys.iter().zip(numbers.chunks_exact(extent)) {
            for (packed, number) in narrow.iter_mut().zip(numbers) {
                *packed = *packed << reader.bits() | number;
            }
        }
        for (packed, place) in narrow.iter_mut().zip(0u64..) {
            *packed = *packed << 32 | place;
        }
        narrow.sort_unstable();
        places.clear();
        places.extend(narrow.iter().map(|packed| *packed as u32));
    }

    fn sorted_wide(&self, scratch: &mut Scratch) {
        let extent = self.rows.extent;
        let Scratch {
            numbers,
            wide,
            places,
            ..
        } = scratch;
        wide.clear();
        wide.resize(extent, 0);
        for (reader, numbers) in self.keys.iter().zip(numbers.chunks_exact(extent)) {
            for (packed, number) in wide.iter_mut().zip(numbers) {
                *packed = *packed << reader.bits() | u128::from(*number);
            }
        }
        for (packed, place) in wide.iter_mut().zip(0u128..) {
            *packed = *packed << 32 | place;
        }
        wide.sort_unstable();
        places.clear();
        places.extend(wide.iter().map(|packed| *packed as u32));
    }

    fn merged(&self, scratch: &mut Scratch) {
        let Scratch {
            numbers, places, ..
        } = scratch;
        let extent = self.rows.extent;
        places.clear();
        // `KeyedSort::new` has checked that the extent fits.
        places.extend(0..extent as u32);
        merge_sort(places, |x, y| {
            for (reader, numbers) in self.keys.iter().zip(numbers.chunks_exact(extent)) {
                let (x, y) = (numbers[x as usize], numbers[y as usize]);
                if reader.may_be_unordered() && (x == UNORDERED || y == UNORDERED) {
                    return false;
                }
                if x != y {
                    return x < y;
                }
            }
            false
        });
    }
}

impl Routine for KeyedSort {
    fn run(&self, inputs: &[&[u8]], outputs: &mut [&mut [u8]], _: &WorkerPool) {
        let (keys, arrays) = inputs.split_at(self.keys.len());
        let mut scratch = Scratch::default();
        for row in 0..self.rows.count {
            let base = self.rows.base(row);
            self.order(base, keys, &mut scratch);
            for ((size, source), target) in self.sizes.iter().zip(arrays).zip(outputs.iter_mut()) {
                self.rows
                    .permute(base, &scratch.places, *size, source, target);
            }
        }
    }
}
