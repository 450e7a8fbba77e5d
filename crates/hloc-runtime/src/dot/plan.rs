//! What is decided about a `dot` before it runs.

use hloc_ir::{ArrayShape, ElementClass, ElementType};
use hloc_loops::ir::DotCall;
use hloc_tensor::row_major_strides;

use super::multiply::Partition;
use crate::RunError;

/// The type in which products are formed and summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    F32,
    F64,
    C64,
    C128,
    /// Wrapping `i64`, of which narrower integers are the low bits.
    Integer,
}

impl Work {
    /// The element type of the same representation.
    pub(super) fn element_type(self) -> ElementType {
        match self {
            Work::F32 => ElementType::F32,
            Work::F64 => ElementType::F64,
            Work::C64 => ElementType::C64,
            Work::C128 => ElementType::C128,
            Work::Integer => ElementType::S64,
        }
    }

    /// The working type for these operand and result types, or the type that does not fit in.
    fn choose(
        lhs: ElementType,
        rhs: ElementType,
        result: ElementType,
    ) -> Result<Work, ElementType> {
        let all = [lhs, rhs, result];
        let any = |accept: fn(ElementType) -> bool| all.iter().any(|ty| accept(*ty));
        let wide = any(|ty| matches!(ty, ElementType::F64 | ElementType::C128));
        let work = match (any(ElementType::is_complex), any(ElementType::is_float)) {
            (true, _) if wide => Work::C128,
            (true, _) => Work::C64,
            (false, true) if wide => Work::F64,
            (false, true) => Work::F32,
            (false, false) => Work::Integer,
        };
        let result_fits = match result.class() {
            ElementClass::Complex => true,
            ElementClass::Float => !matches!(work, Work::C64 | Work::C128),
            ElementClass::Signed | ElementClass::Unsigned | ElementClass::Predicate => {
                work == Work::Integer
            }
        };
        if result_fits { Ok(work) } else { Err(result) }
    }
}

/// A dimension to walk: size and stride in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Walk {
    pub(super) size: usize,
    pub(super) stride: usize,
}

/// A matrix per batch element: rows are free, columns are contracting.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub(super) element_type: ElementType,
    /// Read where it lies if `None`; else the walk that copies it.
    pub(super) packing: Option<Vec<Walk>>,
    /// Batch dimensions of the matrices as they are read, the first varying slowest.
    pub(super) batch: Vec<Walk>,
    pub(super) row_stride: usize,
    pub(super) column_stride: usize,
    /// Elements in scratch memory; 0 if read where it lies.
    pub(super) scratch_elements: usize,
}

impl Operand {
    /// Offset of the matrix of batch element `index`, in elements.
    pub(super) fn batch_offset(&self, mut index: usize) -> usize {
        let mut offset = 0;
        for walk in self.batch.iter().rev() {
            offset += index % walk.size * walk.stride;
            index /= walk.size;
        }
        offset
    }
}

/// A `dot` ready to run.
#[derive(Clone, Debug)]
pub(crate) struct DotPlan {
    pub(super) work: Work,
    pub(super) batch: usize,
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) lhs: Operand,
    pub(super) rhs: Operand,
    pub(super) result_type: ElementType,
    pub(super) partition: Partition,
}

/// The dimensions of one operand by role.
struct Roles {
    batch: Vec<Walk>,
    free: Vec<Walk>,
    contracting: Vec<Walk>,
}

impl DotPlan {
    /// Decides how `call` runs.
    ///
    /// # Errors
    /// [`RunError::UnsupportedCall`] for a result type that the operand types do not lead to (floats to
    /// integers), [`RunError::InvalidProgram`] for dimension numbers that do not fit the shapes.
    pub(crate) fn new(call: &DotCall) -> Result<DotPlan, RunError> {
        check(call)?;
        let types = [&call.lhs, &call.rhs, &call.result].map(|shape| shape.element_type);
        let work = Work::choose(types[0], types[1], types[2]).map_err(|element_type| {
            RunError::UnsupportedCall {
                routine: "dot",
                element_type,
            }
        })?;
        let mut lhs = roles(&call.lhs, &call.lhs_batch, &call.lhs_contracting);
        let mut rhs = roles(&call.rhs, &call.rhs_batch, &call.rhs_contracting);
        order_contracting(&mut lhs.contracting, &mut rhs.contracting);
        let (batch, m, n) = (product(&lhs.batch), product(&lhs.free), product(&rhs.free));
        let k = product(&lhs.contracting);
        Ok(DotPlan {
            work,
            batch,
            m,
            n,
            k,
            lhs: operand(types[0], work, lhs),
            rhs: operand(types[1], work, rhs),
            result_type: types[2],
            partition: Partition::new(work, batch, [m, n, k]),
        })
    }

    /// Whether sums are formed in scratch memory and then converted.
    pub(super) fn converts_result(&self) -> bool {
        self.result_type != self.work.element_type()
    }

    /// Elements of scratch memory for lhs, rhs and result.
    pub(super) fn scratch_elements(&self) -> [usize; 3] {
        let result = if self.converts_result() {
            self.batch * self.m * self.n
        } else {
            0
        };
        [self.lhs.scratch_elements, self.rhs.scratch_elements, result]
    }

    /// Bytes of scratch memory that a run needs.
    pub(crate) fn scratch_bytes(&self) -> usize {
        let size = self.work.element_type().size();
        let parts = self
            .scratch_elements()
            .map(|count| scratch_part(count, size));
        parts.iter().sum()
    }
}

/// Bytes of one part of the scratch memory, a multiple of a cache line.
pub(super) fn scratch_part(elements: usize, size: usize) -> usize {
    (elements * size).next_multiple_of(64)
}

/// Refuses dimension numbers out of range and sizes that differ between the sides.
fn check(call: &DotCall) -> Result<(), RunError> {
    let wrong =
        || RunError::InvalidProgram(format!("the dimensions of a dot do not fit: {call:?}"));
    let sizes = |shape: &ArrayShape, dims: &[i64]| -> Option<Vec<i64>> {
        dims.iter()
            .map(|dim| shape.dims.get(usize::try_from(*dim).ok()?).copied())
            .collect()
    };
    let lhs_batch = sizes(&call.lhs, &call.lhs_batch).ok_or_else(wrong)?;
    let rhs_batch = sizes(&call.rhs, &call.rhs_batch).ok_or_else(wrong)?;
    let lhs_contracting = sizes(&call.lhs, &call.lhs_contracting).ok_or_else(wrong)?;
    let rhs_contracting = sizes(&call.rhs, &call.rhs_contracting).ok_or_else(wrong)?;
    let free = |shape: &ArrayShape, taken: [&[i64]; 2]| -> Vec<i64> {
        let dims = shape.dims.iter().enumerate();
        dims.filter(|(dim, _)| taken.iter().all(|list| !list.contains(&(*dim as i64))))
            .map(|(_, size)| *size)
            .collect()
    };
    let mut result = lhs_batch.clone();
    result.extend(free(&call.lhs, [&call.lhs_batch, &call.lhs_contracting]));
    result.extend(free(&call.rhs, [&call.rhs_batch, &call.rhs_contracting]));
    let fits = lhs_batch == rhs_batch
        && lhs_contracting == rhs_contracting
        && result[..] == call.result.dims[..]
        && [&call.lhs, &call.rhs, &call.result]
            .iter()
            .all(|shape| shape.byte_size().is_some());
    if fits { Ok(()) } else { Err(wrong()) }
}

fn product(walks: &[Walk]) -> usize {
    walks.iter().map(|walk| walk.size).product()
}

fn roles(shape: &ArrayShape, batch: &[i64], contracting: &[i64]) -> Roles {
    let strides = row_major_strides(&shape.dims);
    // `check` has seen that all numbers are in range and sizes are not negative.
    let walk = |dim: i64| Walk {
        size: shape.dims[dim as usize] as usize,
        stride: strides[dim as usize] as usize,
    };
    let free = (0..shape.dims.len() as i64)
        .filter(|dim| !batch.contains(dim) && !contracting.contains(dim));
    Roles {
        batch: batch.iter().copied().map(walk).collect(),
        free: free.map(walk).collect(),
        contracting: contracting.iter().copied().map(walk).collect(),
    }
}

/// Brings the pairs of contracting dimensions into the order in which most sides collapse.
///
/// Any order gives the same sum but for rounding, and the choice depends on the shapes alone.
fn order_contracting(lhs: &mut Vec<Walk>, rhs: &mut Vec<Walk>) {
    let listed: Vec<(Walk, Walk)> = lhs.iter().copied().zip(rhs.iter().copied()).collect();
    let mut by_lhs = listed.clone();
    by_lhs.sort_by_key(|(lhs, _)| std::cmp::Reverse(lhs.stride));
    let mut by_rhs = listed.clone();
    by_rhs.sort_by_key(|(_, rhs)| std::cmp::Reverse(rhs.stride));
    let collapsing = |pairs: &Vec<(Walk, Walk)>| {
        let (lhs, rhs): (Vec<Walk>, Vec<Walk>) = pairs.iter().copied().unzip();
        usize::from(collapse(&lhs).len() <= 1) + usize::from(collapse(&rhs).len() <= 1)
    };
    let mut best = by_lhs;
    for pairs in [by_rhs, listed] {
        if collapsing(&pairs) > collapsing(&best) {
            best = pairs;
        }
    }
    (*lhs, *rhs) = best.into_iter().unzip();
}

/// The same walk in as few dimensions as possible; none for one element.
fn collapse(walks: &[Walk]) -> Vec<Walk> {
    let mut collapsed: Vec<Walk> = Vec::new();
    for walk in walks.iter().filter(|walk| walk.size != 1) {
        match collapsed.last_mut() {
            Some(last) if last.stride == walk.stride * walk.size => {
                last.size *= walk.size;
                last.stride = walk.stride;
            }
            Some(_) | None => collapsed.push(*walk),
        }
    }
    collapsed
}

fn operand(element_type: ElementType, work: Work, roles: Roles) -> Operand {
    let rows = collapse(&roles.free);
    let columns = collapse(&roles.contracting);
    let stride = |walks: &[Walk]| walks.first().map_or(1, |walk| walk.stride);
    if element_type == work.element_type() && rows.len() <= 1 && columns.len() <= 1 {
        return Operand {
            element_type,
            packing: None,
            batch: collapse(&roles.batch),
            row_stride: stride(&rows),
            column_stride: stride(&columns),
            scratch_elements: 0,
        };
    }
    let (num_batches, num_rows, num_columns) = (
        product(&roles.batch),
        product(&roles.free),
        product(&roles.contracting),
    );
    let mut all = roles.batch;
    all.extend(roles.free);
    all.extend(roles.contracting);
    Operand {
        element_type,
        packing: Some(collapse(&all)),
        batch: vec![Walk {
            size: num_batches.max(1),
            stride: num_rows * num_columns,
        }],
        row_stride: num_columns,
        column_stride: 1,
        scratch_elements: num_batches * num_rows * num_columns,
    }
}
