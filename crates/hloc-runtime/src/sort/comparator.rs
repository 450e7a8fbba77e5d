//! Sorting by a kernel that says which of two elements comes first.

#![expect(
    unsafe_code,
    reason = "the comparator is machine code that reads elements through pointers"
)]

use hloc_ir::{ArrayShape, ElementType};
use hloc_jit::{CompiledKernels, KernelFn};
use hloc_loops::ir::{Access, KernelId, Param, Program};

use super::merge::merge_sort;
use super::rows::Rows;
use crate::RunError;
use crate::pool::WorkerPool;
use crate::routine::{Routine, invalid};

/// A sort by a comparator.
#[derive(Debug)]
pub(super) struct ComparedSort {
    rows: Rows,
    /// Size of an element of each array.
    sizes: Box<[usize]>,
    /// Reads one element of each array twice over and writes a `pred`: see [`ComparedSort::new`].
    before: KernelFn,
}

impl ComparedSort {
    /// # Errors
    /// [`RunError::InvalidProgram`] if the kernel is no comparator of elements of these arrays.
    pub(super) fn new(
        rows: Rows,
        sizes: Box<[usize]>,
        arrays: &[ArrayShape],
        kernel: KernelId,
        program: &Program,
        kernels: &CompiledKernels,
    ) -> Result<ComparedSort, RunError> {
        let code = program.kernels.get(kernel);
        let code = code.ok_or_else(|| invalid("a sort's comparator is missing"))?;
        let params: Vec<&Param> = code.params.values().collect();
        let is_one = |param: &Param, element_type: ElementType, access: Access| {
            param.element_type == element_type
                && param.access == access
                && param.num_elements() == 1
        };
        let fits = params.split_last().is_some_and(|(answer, asked)| {
            is_one(answer, ElementType::Pred, Access::Write)
                && asked.len() == 2 * arrays.len()
                && asked
                    .iter()
                    .enumerate()
                    .all(|(at, param)| is_one(param, arrays[at / 2].element_type, Access::Read))
        });
        if !fits || u32::try_from(rows.extent).is_err() {
            return Err(invalid("a sort's comparator does not fit its arrays"));
        }
        Ok(ComparedSort {
            rows,
            sizes,
            before: kernels.entry(kernel),
        })
    }

    /// The order of the row at `base`, in `places`.
    fn order(&self, base: usize, arrays: &[&[u8]], places: &mut Vec<u32>) {
        places.clear();
        // `ComparedSort::new` has checked that the extent fits.
        places.extend(0..self.rows.extent as u32);
        let mut answer = 0u8;
        let mut table: Vec<*mut u8> = vec![std::ptr::null_mut(); 2 * arrays.len() + 1];
        table[2 * arrays.len()] = &raw mut answer;
        merge_sort(places, |x, y| {
            for (at, (array, size)) in arrays.iter().zip(&self.sizes).enumerate() {
                for (side, place) in [x, y].into_iter().enumerate() {
                    let begin = self.rows.place(base, place as usize) * size;
                    // Never written: `ComparedSort::new` has checked that the parameter is only read.
                    table[2 * at + side] = array[begin..begin + size].as_ptr().cast_mut();
                }
            }
            // SAFETY: `new` has checked that the kernel reads one element through each pointer but the
            // last, through which it writes one byte, `answer`. Elements lie at multiples of their size
            // in buffers that are aligned for them. The machine code is the executable's, which runs.
            unsafe {
                (self.before)(table.as_ptr(), 0, 1);
                table[2 * arrays.len()].read() != 0
            }
        });
    }
}

impl Routine for ComparedSort {
    fn run(&self, inputs: &[&[u8]], outputs: &mut [&mut [u8]], _: &WorkerPool) {
        let mut places = Vec::new();
        for row in 0..self.rows.count {
            let base = self.rows.base(row);
            self.order(base, inputs, &mut places);
            for ((size, source), target) in self.sizes.iter().zip(inputs).zip(outputs.iter_mut()) {
                self.rows.permute(base, &places, *size, source, target);
            }
        }
    }
}
