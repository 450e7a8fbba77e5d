//! What a step reads, writes and computes, for reports on where run time goes.
//!
//! Bytes are those of different elements: an element that a kernel loads again and again counts once, as if
//! it stayed in the cache. So a broadcast operand counts with its own size, not with the result's.

use std::collections::BTreeMap;

use hloc_ir::{ArrayShape, BinaryOp, ElementClass, ElementType};

use crate::index::Index;
use crate::ir::{
    Block, DotCall, Expr, Kernel, LibraryCall, LibraryStep, ParamId, Program, Step, Stmt, VarId,
};
use crate::routine::{Routine, RoutineCall};

/// What one run of a step reads, writes and computes.
///
/// `f32[8,4] add(x, broadcast(y))` with `y: f32[4]` reads 128 + 16 bytes, writes 128 and does 32 operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Bytes of the elements that it loads.
    pub bytes_read: u64,
    /// Bytes of the elements that it stores.
    pub bytes_written: u64,
    /// Operations on floats, `None` where they are not known: routines other than products and convolutions.
    ///
    /// An element-wise op is one operation, transcendental functions too; of complex numbers a product is 6,
    /// others are 2. A product of sums has a multiplication and an addition for each term.
    pub operations: Option<u64>,
    /// Whether operations are on 64-bit floats, of which a vector holds half as many as of 32 bits.
    pub is_double: bool,
}

impl Work {
    /// Bytes read and written.
    pub fn bytes(&self) -> u64 {
        self.bytes_read.saturating_add(self.bytes_written)
    }

    /// The work of a kernel, of a library call or of a copy; nothing for steps that only run others.
    pub fn of_step(program: &Program, step: &Step) -> Work {
        match step {
            Step::Kernel { kernel, .. } => Work::of_kernel(&program.kernels[*kernel]),
            Step::Library(call) => Work::of_call(program, call),
            Step::Copy { from, to } => Work {
                bytes_read: program.buffers[*from].byte_size(),
                bytes_written: program.buffers[*to].byte_size(),
                operations: Some(0),
                is_double: false,
            },
            Step::Swap(..) | Step::While { .. } | Step::Conditional { .. } => Work::default(),
        }
    }

    /// The work of one run of a kernel.
    pub fn of_kernel(kernel: &Kernel) -> Work {
        let mut tally = Tally::new(kernel);
        tally.block(&kernel.body, 1);
        let types = kernel.values.values();
        let mut types = types.map(|value| value.element_type);
        Work {
            bytes_read: tally.bytes(false),
            bytes_written: tally.bytes(true),
            operations: Some(tally.operations),
            is_double: types.any(is_double),
        }
    }

    fn of_call(program: &Program, step: &LibraryStep) -> Work {
        let bytes = |ids: &[crate::ir::BufferId]| {
            let sizes = ids.iter().map(|id| program.buffers[*id].byte_size());
            sizes.fold(0, u64::saturating_add)
        };
        let (operations, element_type) = match &step.call {
            LibraryCall::Dot(call) => (products(call), Some(call.lhs.element_type)),
            LibraryCall::Routine(call) => (
                convolved(call),
                call.inputs.first().map(|shape| shape.element_type),
            ),
        };
        Work {
            bytes_read: bytes(&step.inputs),
            bytes_written: bytes(&step.outputs),
            operations,
            is_double: element_type.is_some_and(is_double),
        }
    }
}

fn is_double(element_type: ElementType) -> bool {
    [ElementType::F64, ElementType::C128].contains(&element_type)
}

/// Operations of a multiplication and an addition.
fn per_term(element_type: ElementType) -> u64 {
    match element_type.class() {
        ElementClass::Float => 2,
        ElementClass::Complex => 8,
        ElementClass::Predicate | ElementClass::Signed | ElementClass::Unsigned => 0,
    }
}

fn elements(shape: &ArrayShape) -> Option<u64> {
    u64::try_from(shape.num_elements()?).ok()
}

fn size(shape: &ArrayShape, dim: i64) -> Option<u64> {
    let size = shape.dims.get(usize::try_from(dim).ok()?)?;
    u64::try_from(*size).ok()
}

fn products(call: &DotCall) -> Option<u64> {
    let mut terms = elements(&call.result)?;
    for dim in &call.lhs_contracting {
        terms = terms.checked_mul(size(&call.lhs, *dim)?)?;
    }
    terms.checked_mul(per_term(call.lhs.element_type))
}

/// Counts products with padding too.
fn convolved(call: &RoutineCall) -> Option<u64> {
    let Routine::Convolution(convolution) = &call.routine else {
        return None;
    };
    let (kernel, result) = (call.inputs.get(1)?, call.outputs.first()?);
    let features = size(kernel, convolution.labels.kernel_output_feature)?;
    let terms = elements(kernel)?.checked_div(features)?;
    let terms = terms.checked_mul(elements(result)?)?;
    terms.checked_mul(per_term(result.element_type))
}

/// Counts what a kernel does.
struct Tally<'k> {
    kernel: &'k Kernel,
    /// The loops around the statement that is looked at.
    open: Vec<VarId>,
    /// Different places of each parameter, loaded or stored.
    places: BTreeMap<(ParamId, bool), Vec<&'k Index>>,
    /// Elements of each parameter, loaded or stored.
    touched: BTreeMap<(ParamId, bool), u64>,
    operations: u64,
}

impl<'k> Tally<'k> {
    fn new(kernel: &'k Kernel) -> Tally<'k> {
        Tally {
            kernel,
            open: Vec::new(),
            places: BTreeMap::new(),
            touched: BTreeMap::new(),
            operations: 0,
        }
    }

    /// `times` is how often the block runs.
    fn block(&mut self, block: &'k Block, times: u64) {
        for stmt in block {
            match stmt {
                Stmt::Let { value, expr } => {
                    if let Expr::Load { param, index } = expr {
                        self.access(*param, index, false);
                    }
                    let element_type = self.kernel.values[*value].element_type;
                    let operations = operations(expr, element_type).saturating_mul(times);
                    self.operations = self.operations.saturating_add(operations);
                }
                Stmt::Store { param, index, .. } => self.access(*param, index, true),
                Stmt::For(each) => {
                    self.open.push(each.var);
                    let times = times.saturating_mul(self.extent(each.var));
                    self.block(&each.body, times);
                    self.open.pop();
                }
                Stmt::If(each) => {
                    self.block(&each.then, times);
                    self.block(&each.otherwise, times);
                }
            }
        }
    }

    fn extent(&self, var: VarId) -> u64 {
        self.kernel.vars[var].extent.unsigned_abs()
    }

    /// As many elements as the loops whose variables the index mentions have iterations; of an index that is
    /// computed, all loops around it.
    fn access(&mut self, param: ParamId, index: &'k Index, is_store: bool) {
        let known = self.places.entry((param, is_store)).or_default();
        if known.contains(&index) {
            return;
        }
        known.push(index);
        let is_dynamic = !index.dynamic_values().is_empty();
        let vars = self.open.iter();
        let vars = vars.filter(|var| is_dynamic || index.mentions(**var));
        let count = vars.fold(1u64, |count, var| count.saturating_mul(self.extent(*var)));
        let touched = self.touched.entry((param, is_store)).or_insert(0);
        *touched = touched.saturating_add(count);
    }

    fn bytes(&self, stored: bool) -> u64 {
        let params = self.kernel.params.iter();
        let bytes = params.map(|(id, param)| {
            let touched = self.touched.get(&(id, stored)).copied().unwrap_or(0);
            let touched = touched.min(param.num_elements().unsigned_abs());
            touched.saturating_mul(param.element_type.size() as u64)
        });
        bytes.fold(0, u64::saturating_add)
    }
}

fn operations(expr: &Expr, element_type: ElementType) -> u64 {
    let is_complex = match element_type.class() {
        ElementClass::Float => false,
        ElementClass::Complex => true,
        ElementClass::Predicate | ElementClass::Signed | ElementClass::Unsigned => return 0,
    };
    match expr {
        Expr::Unary(..) | Expr::Ternary(..) => 1 + u64::from(is_complex),
        Expr::Binary(BinaryOp::Multiply, ..) if is_complex => 6,
        Expr::Binary(..) => 1 + u64::from(is_complex),
        Expr::Constant(_)
        | Expr::Load { .. }
        | Expr::Index(_)
        | Expr::ClampIndex { .. }
        | Expr::Compare { .. }
        | Expr::Convert(_)
        | Expr::BitcastConvert(_)
        | Expr::ReducePrecision { .. } => 0,
    }
}
