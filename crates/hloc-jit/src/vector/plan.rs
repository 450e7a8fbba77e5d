//! Decides whether a loop becomes vector code, from the kernel alone: never from the processor, so that
//! the order of a reduction, and with it every bit of the result, is the same everywhere.

use std::collections::{BTreeMap, BTreeSet};

use hloc_ir::{BinaryOp, CompareType, Cost, ElementType, TernaryOp, UnaryOp};
use hloc_loops::index::{Index, VarExtents};
use hloc_loops::ir::{
    Access, Condition, Expr, For, Kernel, LoopKind, ParamId, Stmt, ValueId, VarId,
};

use super::{Lane, Width, complex};
use crate::math;

/// The most vectors of a loop that is emitted as one stretch.
const MAX_UNROLLED: i64 = 28;

/// How a loop becomes vector code.
pub(crate) struct Plan {
    /// The loop variable.
    pub(crate) var: VarId,
    /// Width of the lanes.
    pub(crate) width: Width,
    /// The values that differ between iterations.
    pub(crate) varying: BTreeSet<ValueId>,
    /// Vectors per iteration of the vector loop.
    pub(crate) copies: i64,
    /// How each carried value is combined; empty if the loop carries none.
    pub(crate) reductions: Vec<Reduction>,
    /// Whether the loop must be one stretch, as lanes are loaded from places that follow no stride.
    pub(crate) unrolled: bool,
    /// The loop around this one, if its iterations are what copies are.
    pub(crate) rows: Option<VarId>,
    /// Whether a load jumps over elements by a stride.
    pub(crate) is_strided: bool,
    /// Whether there are complex numbers: see [`super::complex`].
    pub(crate) has_complex: bool,
}

/// A carried value that is combined with one value per iteration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction {
    /// An associative and commutative op.
    pub(crate) op: BinaryOp,
    /// What is combined.
    pub(crate) element: ValueId,
    /// Bound by the statement that combines.
    pub(crate) next: ValueId,
}

/// The bits of the values of a kernel that statements bind to constants.
pub(crate) type Constants = BTreeMap<ValueId, u128>;

/// All constants of a kernel.
pub(crate) fn constants(kernel: &Kernel) -> Constants {
    let mut found = Constants::new();
    collect_constants(&kernel.body, &mut found);
    found
}

fn collect_constants(block: &[Stmt], found: &mut Constants) {
    for stmt in block {
        match stmt {
            Stmt::Let {
                value,
                expr: Expr::Constant(bits),
            } => {
                found.insert(*value, bits.0);
            }
            Stmt::Let { .. } | Stmt::Store { .. } => {}
            Stmt::For(inner) => collect_constants(&inner.body, found),
            Stmt::If(inner) => {
                collect_constants(&inner.then, found);
                collect_constants(&inner.otherwise, found);
            }
        }
    }
}

/// The plan for `inner`, or `None` if it must run one iteration at a time. `constants` are those of the kernel.
pub(crate) fn plan(kernel: &Kernel, constants: &Constants, inner: &For) -> Option<Plan> {
    let reductions = reductions(kernel, inner)?;
    let mut analysis = Analysis {
        kernel,
        var: inner.var,
        varying: BTreeSet::new(),
        types: Vec::new(),
        exprs: Vec::new(),
        skipped: reductions.iter().map(|reduction| reduction.next).collect(),
        has_inner_blocks: false,
        is_strided: false,
        is_uneven: false,
        stores: 0,
    };
    // Around inner loops, lanes that do not load next to each other cost more than they save.
    if !analysis.block(&inner.body) {
        return None;
    }
    if (analysis.is_strided || analysis.is_uneven) && analysis.has_inner_blocks {
        return None;
    }
    let sums = reductions
        .iter()
        .map(|reduction| analysis.type_of(reduction.element));
    let sums = sums.collect::<Option<Vec<_>>>()?;
    let all_vary = |reduction: &Reduction| analysis.varying.contains(&reduction.element);
    let straight = !analysis.has_inner_blocks && analysis.stores == 0;
    let is_fold = straight && reductions.iter().all(all_vary);
    if !reductions.is_empty() && !is_fold {
        return None;
    }
    analysis.types.extend(sums.iter().copied());
    let width = Width::common(&analysis.types)?;
    let combine = |(reduction, ty): (&Reduction, &ElementType)| {
        width
            .lane(*ty)
            .is_some_and(|lane| binary(reduction.op, width, lane))
    };
    if !reductions.iter().zip(&sums).all(combine) {
        return None;
    }
    let emitted =
        |(value, expr): &(ValueId, &Expr)| expression(kernel, constants, width, *value, expr);
    if !analysis.exprs.iter().all(emitted) {
        return None;
    }
    let copies = if analysis.is_uneven {
        let vectors = kernel.vars.get(inner.var)?.extent / width.lanes();
        let is_whole = kernel.vars.get(inner.var)?.extent % width.lanes() == 0;
        (reductions.is_empty() && is_whole && vectors <= MAX_UNROLLED).then_some(vectors)?
    } else {
        analysis.copies()
    };
    let mut types = analysis.types.iter();
    Some(Plan {
        var: inner.var,
        width,
        copies,
        has_complex: types.any(|ty| width.is_complex(*ty)),
        unrolled: analysis.is_uneven,
        varying: analysis.varying,
        reductions,
        rows: None,
        is_strided: analysis.is_strided,
    })
}

/// Whether iterations may run again when they have run: nothing that the loop writes is read in it.
pub(crate) fn may_repeat(inner: &For) -> bool {
    let (mut read, mut written) = (BTreeSet::new(), BTreeSet::new());
    accesses(&inner.body, &mut read, &mut written);
    read.is_disjoint(&written)
}

/// The stores of a loop that may pass the caches: one to each of these buffers, of at least `bytes` bytes, in
/// whole vectors. What the kernel reads again stays in the cache.
pub(crate) fn streamed<'l>(
    kernel: &Kernel,
    plan: &Plan,
    inner: &'l For,
    bytes: u64,
) -> Vec<(ParamId, &'l Index)> {
    let mut all = Vec::new();
    stores(&inner.body, &mut all);
    let own = inner.body.iter().filter_map(|stmt| match stmt {
        Stmt::Store { param, index, .. } => Some((*param, index)),
        Stmt::Let { .. } | Stmt::For(_) | Stmt::If(_) => None,
    });
    let is_streamed = |(id, index): &(ParamId, &Index)| {
        let Some(param) = kernel.params.get(*id) else {
            return false;
        };
        let size = param.element_type.size() as u64;
        let length = u64::try_from(param.num_elements()).unwrap_or(0);
        let lane = plan.width.lane(param.element_type);
        let is_only = all.iter().filter(|stored| *stored == id).count() == 1;
        lane.is_some_and(|lane| is_full(plan.width, lane))
            && length.saturating_mul(size) >= bytes
            && index.stride(plan.var) == Some(1)
            && is_only
            && param.access == Access::Write
    };
    own.filter(is_streamed).collect()
}

/// The arrays of at least `bytes` bytes that are read, by no block of statements more than once: what one
/// load has asked for, another one would ask for again.
pub(crate) fn read_ahead(kernel: &Kernel, bytes: Option<u64>) -> Vec<ParamId> {
    let Some(bytes) = bytes else {
        return Vec::new();
    };
    let params = kernel.params.iter().filter(|(id, param)| {
        let size = param.element_type.size() as u64;
        let length = u64::try_from(param.num_elements()).unwrap_or(0);
        length.saturating_mul(size) >= bytes && most_loads(&kernel.body, *id) == 1
    });
    params.map(|(id, _)| id).collect()
}

/// The most loads of `param` in one block of statements, those in inner blocks not counted.
fn most_loads(block: &[Stmt], param: ParamId) -> usize {
    let is_load = |stmt: &&Stmt| matches!(stmt, Stmt::Let { expr: Expr::Load { param: loaded, .. }, .. } if *loaded == param);
    let here = block.iter().filter(is_load).count();
    let within = block.iter().map(|stmt| match stmt {
        Stmt::Let { .. } | Stmt::Store { .. } => 0,
        Stmt::For(inner) => most_loads(&inner.body, param),
        Stmt::If(inner) => most_loads(&inner.then, param).max(most_loads(&inner.otherwise, param)),
    });
    within.fold(here, usize::max)
}

fn stores(block: &[Stmt], found: &mut Vec<ParamId>) {
    for stmt in block {
        match stmt {
            Stmt::Let { .. } => {}
            Stmt::Store { param, .. } => found.push(*param),
            Stmt::For(inner) => stores(&inner.body, found),
            Stmt::If(inner) => {
                stores(&inner.then, found);
                stores(&inner.otherwise, found);
            }
        }
    }
}

/// The buffers that statements read and write.
fn accesses(block: &[Stmt], read: &mut BTreeSet<ParamId>, written: &mut BTreeSet<ParamId>) {
    for stmt in block {
        match stmt {
            Stmt::Let {
                expr: Expr::Load { param, .. },
                ..
            } => {
                read.insert(*param);
            }
            Stmt::Let { .. } => {}
            Stmt::Store { param, .. } => {
                written.insert(*param);
            }
            Stmt::For(inner) => accesses(&inner.body, read, written),
            Stmt::If(inner) => {
                accesses(&inner.then, read, written);
                accesses(&inner.otherwise, read, written);
            }
        }
    }
}

/// The reductions that the carried values are, `None` if one of them is something else.
fn reductions(kernel: &Kernel, inner: &For) -> Option<Vec<Reduction>> {
    let mut uses: BTreeMap<ValueId, usize> = BTreeMap::new();
    for stmt in &inner.body {
        match stmt {
            Stmt::Let { expr, .. } => {
                for operand in expr.operands() {
                    *uses.entry(operand).or_default() += 1;
                }
            }
            Stmt::Store { .. } | Stmt::For(_) | Stmt::If(_) if !inner.carried.is_empty() => {
                return None;
            }
            Stmt::Store { .. } | Stmt::For(_) | Stmt::If(_) => {}
        }
    }
    let reduction = |carried: &hloc_loops::ir::Carried| {
        let expr = inner.body.iter().find_map(|stmt| match stmt {
            Stmt::Let { value, expr } if *value == carried.next => Some(expr),
            Stmt::Let { .. } | Stmt::Store { .. } | Stmt::For(_) | Stmt::If(_) => None,
        })?;
        let Expr::Binary(op, lhs, rhs) = expr else {
            return None;
        };
        let element = match (*lhs == carried.current, *rhs == carried.current) {
            (true, false) => *rhs,
            (false, true) => *lhs,
            (true, true) | (false, false) => return None,
        };
        let used = |value| uses.get(&value).copied().unwrap_or(0);
        let is_free = used(carried.current) == 1 && used(carried.next) == 0;
        let ty = kernel.values.get(carried.next)?.element_type;
        (is_free && is_associative(*op, ty)).then_some(Reduction {
            op: *op,
            element,
            next: carried.next,
        })
    };
    inner.carried.iter().map(reduction).collect()
}

/// Whether the order of combination does not matter (but for rounding).
fn is_associative(op: BinaryOp, ty: ElementType) -> bool {
    match op {
        BinaryOp::Add
        | BinaryOp::Multiply
        | BinaryOp::Maximum
        | BinaryOp::Minimum
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Xor => !ty.is_complex(),
        BinaryOp::Atan2
        | BinaryOp::Complex
        | BinaryOp::Divide
        | BinaryOp::Mulhi
        | BinaryOp::Power
        | BinaryOp::Remainder
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRightArithmetic
        | BinaryOp::ShiftRightLogical
        | BinaryOp::Subtract => false,
    }
}

/// What a forward walk over the body finds.
struct Analysis<'a> {
    kernel: &'a Kernel,
    var: VarId,
    varying: BTreeSet<ValueId>,
    /// Types of all values that come in lanes.
    types: Vec<ElementType>,
    /// Everything computed in lanes.
    exprs: Vec<(ValueId, &'a Expr)>,
    /// Bound by statements that are emitted specially.
    skipped: BTreeSet<ValueId>,
    has_inner_blocks: bool,
    /// Whether lanes are loaded one by one.
    is_strided: bool,
    /// Whether some follow no stride: `i mod 3`.
    is_uneven: bool,
    stores: usize,
}

impl<'a> Analysis<'a> {
    fn type_of(&self, value: ValueId) -> Option<ElementType> {
        self.kernel
            .values
            .get(value)
            .map(|value| value.element_type)
    }

    fn block(&mut self, block: &'a [Stmt]) -> bool {
        block.iter().all(|stmt| self.statement(stmt))
    }

    fn statement(&mut self, stmt: &'a Stmt) -> bool {
        match stmt {
            Stmt::Let { value, .. } if self.skipped.contains(value) => true,
            Stmt::Let { value, expr } => {
                if self.varies(expr) {
                    self.varying.insert(*value);
                    self.exprs.push((*value, expr));
                    self.is_accessible(expr)
                        && self.add_type(*value)
                        && lane_operands(expr).iter().all(|v| self.add_type(*v))
                } else {
                    true
                }
            }
            Stmt::Store {
                param,
                index,
                value,
            } => {
                self.stores += 1;
                let param = self.kernel.params.get(*param);
                self.types.extend(param.map(|param| param.element_type));
                self.is_consecutive(index, 1) && self.add_type(*value)
            }
            Stmt::For(inner) => self.inner_loop(inner),
            Stmt::If(inner) => {
                self.has_inner_blocks = true;
                let uniform = match &inner.condition {
                    Condition::InRange(ranges) => ranges
                        .iter()
                        .all(|range| self.is_consecutive(&range.index, 0)),
                    Condition::Value(value) => !self.varying.contains(value),
                };
                let emitted = uniform && self.block(&inner.then) && self.block(&inner.otherwise);
                emitted
                    && inner.merged.iter().all(|merged| {
                        self.varying.insert(merged.result);
                        self.add_type(merged.result)
                    })
            }
        }
    }

    /// Whether the lanes of a load or an index are evenly spaced.
    fn is_accessible(&mut self, expr: &Expr) -> bool {
        match expr {
            Expr::Load { param, index } => {
                let stride = index.stride(self.var);
                let param = self.kernel.params.get(*param);
                if param.is_none_or(|param| param.element_type.is_complex()) && stride != Some(1) {
                    return false;
                }
                self.is_strided |= stride.is_some_and(|stride| stride != 1);
                self.is_uneven |= stride.is_none();
                let dynamic = index.dynamic_values();
                !dynamic.iter().any(|value| self.varying.contains(value))
            }
            Expr::Index(index) => self.is_evenly_spaced(index),
            Expr::Constant(_)
            | Expr::ClampIndex { .. }
            | Expr::Unary(..)
            | Expr::Binary(..)
            | Expr::Ternary(..)
            | Expr::Compare { .. }
            | Expr::Convert(_)
            | Expr::BitcastConvert(_)
            | Expr::ReducePrecision { .. } => true,
        }
    }

    fn is_evenly_spaced(&self, index: &Index) -> bool {
        let stride = index.stride(self.var);
        stride.is_some_and(|stride| self.is_consecutive(index, stride))
    }

    /// A loop inside runs in order, all lanes together; what it carries varies.
    fn inner_loop(&mut self, inner: &'a For) -> bool {
        self.has_inner_blocks = true;
        if inner.kind == LoopKind::Parallel {
            return false;
        }
        for carried in &inner.carried {
            self.varying.extend([carried.current, carried.result]);
            if !self.add_type(carried.current) {
                return false;
            }
        }
        self.block(&inner.body)
    }

    fn add_type(&mut self, value: ValueId) -> bool {
        let ty = self.type_of(value);
        self.types.extend(ty);
        ty.is_some()
    }

    fn varies(&self, expr: &Expr) -> bool {
        let index = match expr {
            Expr::Load { index, .. } | Expr::Index(index) => index.mentions(self.var),
            Expr::Constant(_)
            | Expr::ClampIndex { .. }
            | Expr::Unary(..)
            | Expr::Binary(..)
            | Expr::Ternary(..)
            | Expr::Compare { .. }
            | Expr::Convert(_)
            | Expr::BitcastConvert(_)
            | Expr::ReducePrecision { .. } => false,
        };
        let operands = expr.operands();
        index || operands.iter().any(|value| self.varying.contains(value))
    }

    /// Whether the index moves by `stride` from one iteration to the next.
    fn is_consecutive(&self, index: &Index, stride: i64) -> bool {
        let dynamic = index.dynamic_values();
        index.stride(self.var) == Some(stride)
            && !dynamic.iter().any(|value| self.varying.contains(value))
    }

    /// Few ops leave the processor waiting, many ops fill the registers.
    fn copies(&self) -> i64 {
        let cost = |(_, expr): &(ValueId, &Expr)| match expr {
            Expr::Constant(_) | Expr::Load { .. } => 0,
            Expr::Unary(op, _) => costly(op.cost()),
            Expr::Binary(BinaryOp::Divide, ..) => 10,
            Expr::Binary(op, ..) => costly(op.cost()),
            Expr::Index(_)
            | Expr::ClampIndex { .. }
            | Expr::Ternary(..)
            | Expr::Compare { .. }
            | Expr::Convert(_)
            | Expr::BitcastConvert(_)
            | Expr::ReducePrecision { .. } => 1,
        };
        match self.exprs.iter().map(cost).sum::<i64>() {
            ..8 => 4,
            8..20 => 2,
            20.. => 1,
        }
    }
}

/// The operands that come in lanes; dynamic parts of indices stay scalar.
fn lane_operands(expr: &Expr) -> Vec<ValueId> {
    match expr {
        Expr::Load { .. } | Expr::Index(_) => Vec::new(),
        Expr::Constant(_)
        | Expr::ClampIndex { .. }
        | Expr::Unary(..)
        | Expr::Binary(..)
        | Expr::Ternary(..)
        | Expr::Compare { .. }
        | Expr::Convert(_)
        | Expr::BitcastConvert(_)
        | Expr::ReducePrecision { .. } => expr.operands(),
    }
}

fn costly(cost: Cost) -> i64 {
    match cost {
        Cost::Cheap => 1,
        Cost::Costly => 20,
    }
}

/// Whether a varying value is emitted in lanes.
fn expression(
    kernel: &Kernel,
    constants: &Constants,
    width: Width,
    value: ValueId,
    expr: &Expr,
) -> bool {
    let lane = |value: ValueId| {
        let value = kernel.values.get(value)?;
        width.lane(value.element_type)
    };
    if std::iter::once(value)
        .chain(lane_operands(expr))
        .any(|value| lane(value).is_none())
    {
        return complex::is_emitted(kernel, width, value, expr);
    }
    let Some(result) = lane(value) else {
        return false;
    };
    match expr {
        Expr::Load { .. } => true,
        Expr::Index(index) => match result {
            Lane::Int(_) => true,
            Lane::Float => width == Width::Single && fits_lane(kernel, index),
            Lane::Mask | Lane::Narrow(_) => false,
        },
        Expr::Unary(op, operand) => lane(*operand).is_some_and(|lane| unary(*op, width, lane)),
        Expr::Binary(op, operand, rhs) => lane(*operand).is_some_and(|lane| match shift(*op) {
            true => is_below(constants.get(rhs), lane),
            false => binary(*op, width, lane),
        }),
        Expr::Ternary(TernaryOp::Select, _) => true,
        Expr::Ternary(TernaryOp::Clamp, _) => result != Lane::Mask,
        Expr::Compare { order, lhs, .. } => match lane(*lhs) {
            Some(Lane::Narrow(_)) => *order != CompareType::TotalOrder,
            Some(Lane::Mask | Lane::Int(_) | Lane::Float) => true,
            None => false,
        },
        Expr::Convert(operand) => lane(*operand).is_some_and(|from| convert(width, from, result)),
        Expr::BitcastConvert(operand) => {
            lane(*operand).is_some_and(|from| is_full(width, from) && is_full(width, result))
        }
        Expr::Constant(_) | Expr::ClampIndex { .. } | Expr::ReducePrecision { .. } => false,
    }
}

/// Whether the index is exact in a 32-bit lane.
fn fits_lane(kernel: &Kernel, index: &Index) -> bool {
    let interval = index.interval(&VarExtents(&kernel.vars));
    interval.is_some_and(|interval| interval.within(i64::from(i32::MIN), i64::from(i32::MAX)))
}

/// Whether the lane is as wide as the element, so that its bits are the element's.
fn is_full(width: Width, lane: Lane) -> bool {
    match lane {
        Lane::Float => true,
        Lane::Int(kind) => kind.ty == width.int_lane(),
        Lane::Mask | Lane::Narrow(_) => false,
    }
}

fn shift(op: BinaryOp) -> bool {
    op == BinaryOp::ShiftLeft
        || op == BinaryOp::ShiftRightArithmetic
        || op == BinaryOp::ShiftRightLogical
}

/// Whether a shift amount is a constant below the width: vectors shift all lanes alike.
fn is_below(amount: Option<&u128>, lane: Lane) -> bool {
    let Lane::Int(kind) = lane else {
        return false;
    };
    amount.is_some_and(|bits| *bits < u128::from(kind.bits))
}

fn unary(op: UnaryOp, width: Width, lane: Lane) -> bool {
    match op {
        UnaryOp::Not => match lane {
            Lane::Mask | Lane::Int(_) => true,
            Lane::Float | Lane::Narrow(_) => false,
        },
        UnaryOp::Abs | UnaryOp::Negate | UnaryOp::Sign => lane != Lane::Mask,
        UnaryOp::Ceil
        | UnaryOp::Floor
        | UnaryOp::Imag
        | UnaryOp::IsFinite
        | UnaryOp::Real
        | UnaryOp::RoundNearestAfz
        | UnaryOp::RoundNearestEven
        | UnaryOp::Rsqrt
        | UnaryOp::Sqrt => is_float(lane),
        UnaryOp::Acos
        | UnaryOp::Acosh
        | UnaryOp::Asin
        | UnaryOp::Asinh
        | UnaryOp::Atanh
        | UnaryOp::Cbrt
        | UnaryOp::Cosine
        | UnaryOp::Cosh
        | UnaryOp::Erf
        | UnaryOp::Exponential
        | UnaryOp::ExponentialMinusOne
        | UnaryOp::Log
        | UnaryOp::LogPlusOne
        | UnaryOp::Logistic
        | UnaryOp::Sine
        | UnaryOp::Sinh
        | UnaryOp::Tan
        | UnaryOp::Tanh => {
            is_float(lane) && width == Width::Single && math::Inline::of(op).is_some()
        }
        UnaryOp::CountLeadingZeros | UnaryOp::Popcnt => false,
    }
}

fn is_float(lane: Lane) -> bool {
    match lane {
        Lane::Float | Lane::Narrow(_) => true,
        Lane::Mask | Lane::Int(_) => false,
    }
}

fn binary(op: BinaryOp, width: Width, lane: Lane) -> bool {
    match op {
        BinaryOp::Add | BinaryOp::Maximum | BinaryOp::Minimum | BinaryOp::Multiply => true,
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => !is_float(lane),
        BinaryOp::Subtract => lane != Lane::Mask,
        BinaryOp::Divide => is_float(lane),
        BinaryOp::Power => width == Width::Single && is_float(lane),
        BinaryOp::Atan2
        | BinaryOp::Complex
        | BinaryOp::Mulhi
        | BinaryOp::Remainder
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRightArithmetic
        | BinaryOp::ShiftRightLogical => false,
    }
}

fn convert(width: Width, from: Lane, to: Lane) -> bool {
    match (from, to) {
        (Lane::Mask, _) | (_, Lane::Mask) => true,
        (Lane::Int(_), Lane::Int(_)) => true,
        (Lane::Float | Lane::Narrow(_), Lane::Float | Lane::Narrow(_)) => true,
        // By way of `f32`, wider integers would be rounded twice.
        (Lane::Int(kind), Lane::Narrow(_)) => kind.bits <= 16,
        (Lane::Int(_), Lane::Float) | (Lane::Float | Lane::Narrow(_), Lane::Int(_)) => {
            width == Width::Single
        }
    }
}
