//! The loop-nest representation: kernels of loops over scalar values, and programs of steps.
//!
//! A [`Kernel`] reads and writes flat buffers through [`Index`]es that are affine in loop variables
//! (see [`crate::index`]). Its scalar values are assigned once: [`Stmt::Let`] binds a [`ValueId`], a
//! loop carries values from one iteration to the next, a condition merges the values of its branches.
//! Scalar ops are those of the op tables of `hloc-ir`; there is no second list.
//!
//! A broadcast is an index that does not mention a loop variable: a stride of 0 along it.

use hloc_diag::Span;
use hloc_ir::{
    Arena, Array, ArrayShape, BinaryOp, CompareType, ComparisonDirection, ComputationId,
    ElementType, InstrId, Shape, TernaryOp, UnaryOp,
};

use crate::index::{Bounds, Index};
use crate::routine::RoutineCall;

hloc_ir::define_id! {
    /// Names a kernel of a program.
    pub struct KernelId = "k";
    /// Names a buffer of a program.
    pub struct BufferId = "b";
    /// Names a parameter of a kernel.
    pub struct ParamId = "p";
    /// Names a scalar value of a kernel.
    pub struct ValueId = "v";
    /// Names a loop variable of a kernel.
    pub struct VarId = "i";
}

/// A loop nest that one call of machine code runs.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Name for dumps and symbols, unique in its program.
    pub name: String,
    /// The buffers it reads and writes.
    pub params: Arena<ParamId, Param>,
    /// Its loop variables.
    pub vars: Arena<VarId, Var>,
    /// Its scalar values.
    pub values: Arena<ValueId, Value>,
    /// What it does.
    pub body: Block,
    /// The place in the user's text that it stems from.
    pub span: Span,
    /// The instructions whose elements it computes, each once, in order of their ids; not those of reducers.
    pub instructions: Vec<InstrRef>,
}

impl Kernel {
    /// Adds instructions to those that the kernel computes.
    pub(crate) fn add_instructions(&mut self, added: &[InstrRef]) {
        self.instructions.extend_from_slice(added);
        self.instructions.sort_unstable();
        self.instructions.dedup();
    }
}

/// An instruction of the module that a program was lowered from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstrRef {
    /// The computation that holds it.
    pub computation: ComputationId,
    /// Its id there.
    pub instr: InstrId,
}

/// How a kernel uses a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Access {
    /// Only loads.
    Read,
    /// Only stores; every element is stored.
    Write,
    /// Loads and stores.
    ReadWrite,
}

/// A buffer as a kernel sees it: a flat row of elements. No two parameters overlap unless both are read.
#[derive(Clone, Debug)]
pub struct Param {
    /// Name for dumps: `in0`, `out0`.
    pub name: String,
    /// Type of the elements.
    pub element_type: ElementType,
    /// Dimensions, for dumps; their product is the number of elements.
    pub dims: Vec<i64>,
    /// How it is used.
    pub access: Access,
}

impl Param {
    /// Number of elements: the bound of every index into it.
    pub fn num_elements(&self) -> i64 {
        self.dims.iter().product()
    }
}

/// A loop variable, running from 0 up to, not including, its extent.
#[derive(Clone, Debug)]
pub struct Var {
    /// Name for dumps.
    pub name: String,
    /// Number of iterations, at least 1.
    pub extent: i64,
}

/// A scalar value.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// Its element type.
    pub element_type: ElementType,
}

/// Statements in order.
pub type Block = Vec<Stmt>;

/// One statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// Binds a value.
    Let {
        /// The value bound; its element type is the type of the expression.
        value: ValueId,
        /// What it is.
        expr: Expr,
    },
    /// Writes one element.
    Store {
        /// The buffer written.
        param: ParamId,
        /// The element written, always in bounds.
        index: Index,
        /// The value written, of the parameter's element type.
        value: ValueId,
    },
    /// Repeats statements.
    For(For),
    /// Runs one of two blocks.
    If(If),
}

/// How iterations of a loop may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoopKind {
    /// In order.
    Serial,
    /// In any order, also at once on several threads; only the outermost loop of a kernel, which carries
    /// no values.
    Parallel,
    /// In any order, several at once in a vector. If it carries values, their order of combination is
    /// free but fixed: see `docs/numerics.md`.
    Vector,
}

/// A loop.
#[derive(Clone, Debug, PartialEq)]
pub struct For {
    /// The variable; its extent says how often the body runs.
    pub var: VarId,
    /// How iterations may run.
    pub kind: LoopKind,
    /// Values carried from one iteration to the next.
    pub carried: Vec<Carried>,
    /// The repeated statements.
    pub body: Block,
}

/// A value that a loop carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carried {
    /// Value before the first iteration, bound before the loop.
    pub init: ValueId,
    /// Value at the start of an iteration, bound by the loop for its body.
    pub current: ValueId,
    /// Value for the next iteration, bound in the body (or `current` itself).
    pub next: ValueId,
    /// Value after the last iteration, bound by the loop for what follows it.
    pub result: ValueId,
}

/// A condition with two blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct If {
    /// What decides.
    pub condition: Condition,
    /// Runs if the condition holds.
    pub then: Block,
    /// Runs if it does not.
    pub otherwise: Block,
    /// Values that both blocks give.
    pub merged: Vec<Merged>,
}

/// A value given by either block of an [`If`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Merged {
    /// Bound for what follows.
    pub result: ValueId,
    /// Its value if the condition holds: bound in or before the first block.
    pub then: ValueId,
    /// Its value if not: bound in or before the second block.
    pub otherwise: ValueId,
}

/// What an [`If`] asks.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// Every index lies in its range.
    InRange(Vec<IndexRange>),
    /// A `pred` value is true.
    Value(ValueId),
}

/// `low <= index < high`.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexRange {
    /// The index asked about.
    pub index: Index,
    /// Least index in range.
    pub low: i64,
    /// First index behind the range.
    pub high: i64,
}

impl IndexRange {
    /// What is known where the range does not hold, if it cuts off one end of the index's interval:
    /// of `j in 0..3` with `j` in `0..=9` the range `j in 3..10`.
    pub fn complement(&self, bounds: &dyn Bounds) -> Option<IndexRange> {
        let interval = self.index.interval(bounds)?;
        let (low, high) = if self.low <= interval.low {
            (self.high.max(interval.low), interval.high.checked_add(1)?)
        } else if interval.high < self.high {
            (interval.low, self.low)
        } else {
            return None;
        };
        Some(IndexRange {
            index: self.index.clone(),
            low,
            high,
        })
    }
}

/// The right side of a [`Stmt::Let`].
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// The element in `Constant`'s bytes, in the encoding of the value's element type.
    Constant(ConstantBits),
    /// One element of a buffer, always in bounds.
    Load {
        /// The buffer read.
        param: ParamId,
        /// The element read.
        index: Index,
    },
    /// The number that an index is, converted to the value's element type as `iota` does (wraps).
    Index(Index),
    /// An integer value as an index value of type `s64`, moved into `low..=high`.
    ///
    /// The operand counts with its own signedness: `u64` values beyond `i64` become `high`.
    ClampIndex {
        /// The integer.
        value: ValueId,
        /// Least result.
        low: i64,
        /// Greatest result.
        high: i64,
    },
    /// An element-wise op with one operand.
    Unary(UnaryOp, ValueId),
    /// An element-wise op with two operands of one element type.
    Binary(BinaryOp, ValueId, ValueId),
    /// An element-wise op with three operands.
    Ternary(TernaryOp, [ValueId; 3]),
    /// A comparison; gives `pred`.
    Compare {
        /// What is asked.
        direction: ComparisonDirection,
        /// By which order.
        order: CompareType,
        /// Left operand.
        lhs: ValueId,
        /// Right operand.
        rhs: ValueId,
    },
    /// Conversion to the value's element type, by HLO's rules.
    Convert(ValueId),
    /// The operand's bits as the value's element type, of the same width.
    BitcastConvert(ValueId),
    /// Rounding to a narrower float format, kept in the operand's element type.
    ReducePrecision {
        /// The value rounded.
        value: ValueId,
        /// Exponent bits of the format.
        exponent_bits: u32,
        /// Mantissa bits of the format.
        mantissa_bits: u32,
    },
}

/// Up to 16 bytes of one element, little-endian, zero-padded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConstantBits(pub u128);

impl Expr {
    /// The values that the expression takes, in order; dynamic parts of its indices included.
    pub fn operands(&self) -> Vec<ValueId> {
        match self {
            Expr::Constant(_) => Vec::new(),
            Expr::Load { index, .. } | Expr::Index(index) => index.dynamic_values(),
            Expr::ClampIndex { value, .. }
            | Expr::Unary(_, value)
            | Expr::Convert(value)
            | Expr::BitcastConvert(value)
            | Expr::ReducePrecision { value, .. } => vec![*value],
            Expr::Binary(_, lhs, rhs) | Expr::Compare { lhs, rhs, .. } => vec![*lhs, *rhs],
            Expr::Ternary(_, operands) => operands.to_vec(),
        }
    }
}

/// Everything a module does, as steps over buffers.
#[derive(Clone, Debug)]
pub struct Program {
    /// The loop nests.
    pub kernels: Arena<KernelId, Kernel>,
    /// The buffers.
    pub buffers: Arena<BufferId, Buffer>,
    /// The steps in order.
    pub steps: Vec<Step>,
    /// The buffer of each array of the parameters, tuples flattened.
    pub parameters: Vec<BufferId>,
    /// The buffer of each array of the result, tuples flattened. No two are the same and none is a
    /// parameter or a constant: the runtime hands them to the caller.
    pub results: Vec<BufferId>,
    /// Shapes of the parameters as the module declares them.
    pub parameter_shapes: Vec<Shape>,
    /// Names of the parameters.
    pub parameter_names: Vec<String>,
    /// Shape of the result as the module declares it.
    pub result_shape: Shape,
    /// Size of the arena that holds the temporaries.
    pub arena_bytes: u64,
    /// Number of HLO instructions that the program stands for, for statistics.
    pub num_instructions: usize,
    /// Fusions that became several steps, with the reason, for statistics.
    pub split_fusions: Vec<(InstrRef, String)>,
}

impl Program {
    /// All steps, those of loops and branches too: a step stands before those inside it, a condition before
    /// the body. The position of a step in this list is its number.
    pub fn numbered_steps(&self) -> Vec<&Step> {
        let mut all = Vec::new();
        number_steps(&self.steps, &mut all);
        all
    }
}

fn number_steps<'s>(steps: &'s [Step], all: &mut Vec<&'s Step>) {
    for step in steps {
        all.push(step);
        match step {
            Step::Kernel { .. } | Step::Library(_) | Step::Copy { .. } | Step::Swap(..) => {}
            Step::While {
                condition, body, ..
            } => {
                number_steps(condition, all);
                number_steps(body, all);
            }
            Step::Conditional { branches, .. } => {
                branches.iter().for_each(|steps| number_steps(steps, all));
            }
        }
    }
}

/// Where a buffer's memory comes from.
#[derive(Clone, Debug)]
pub enum BufferKind {
    /// The caller's array for this flattened parameter; only read.
    Parameter(usize),
    /// Given to the caller as this flattened result.
    Result(usize),
    /// A value written in the program; only read.
    Constant(Array),
    /// Part of the arena, from this byte on, 64-byte aligned.
    Temporary {
        /// Offset in the arena.
        offset: u64,
    },
}

/// A piece of memory with the type of its elements.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Element type and dimensions, row-major.
    pub shape: ArrayShape,
    /// Where the memory comes from.
    pub kind: BufferKind,
}

impl Buffer {
    /// Size in bytes. The verifier has proved that it fits.
    pub fn byte_size(&self) -> u64 {
        self.shape
            .byte_size()
            .and_then(|bytes| u64::try_from(bytes).ok())
            .unwrap_or(0)
    }

    /// Whether the program itself makes it and nobody outside sees it.
    pub(crate) fn is_temporary(&self) -> bool {
        match self.kind {
            BufferKind::Temporary { .. } => true,
            BufferKind::Parameter(_) | BufferKind::Result(_) | BufferKind::Constant(_) => false,
        }
    }
}

/// One thing the runtime does.
#[derive(Clone, Debug)]
pub enum Step {
    /// Runs a kernel; one buffer per parameter.
    Kernel {
        /// The kernel.
        kernel: KernelId,
        /// Its buffers.
        args: Vec<BufferId>,
    },
    /// Calls a library routine.
    Library(LibraryStep),
    /// Copies all bytes of one buffer to another of the same size.
    Copy {
        /// Read.
        from: BufferId,
        /// Written.
        to: BufferId,
    },
    /// Exchanges the memory of two temporaries of the same size, without copying.
    Swap(BufferId, BufferId),
    /// Repeats `body` as long as `condition` leaves true in `predicate`.
    While {
        /// Computes the predicate.
        condition: Vec<Step>,
        /// A `pred` scalar.
        predicate: BufferId,
        /// The repeated steps.
        body: Vec<Step>,
        /// How often `body` runs, if that is known.
        trips: Option<u64>,
        /// The instruction that it is, `None` in programs that were not lowered from a module.
        instruction: Option<InstrRef>,
    },
    /// Runs one branch.
    Conditional {
        /// A `pred` scalar (true runs branch 0) or an `s32` scalar (out of range runs the last branch).
        index: BufferId,
        /// The steps of each branch.
        branches: Vec<Vec<Step>>,
    },
}

/// A call of a library routine.
#[derive(Clone, Debug)]
pub struct LibraryStep {
    /// The routine with its sizes.
    pub call: LibraryCall,
    /// Buffers read.
    pub inputs: Vec<BufferId>,
    /// Buffers written.
    pub outputs: Vec<BufferId>,
    /// The place in the user's text.
    pub span: Span,
    /// The instruction that it computes, `None` in programs that were not lowered from a module.
    pub instruction: Option<InstrRef>,
}

/// The library routines.
#[derive(Clone, Debug)]
pub enum LibraryCall {
    /// A sum of products over contracting dimensions; floats and complex.
    Dot(Box<DotCall>),
    /// Everything that is no product.
    Routine(Box<RoutineCall>),
}

impl LibraryCall {
    /// Name for statistics.
    pub fn name(&self) -> &'static str {
        match self {
            LibraryCall::Dot(_) => "dot",
            LibraryCall::Routine(call) => call.routine.name(),
        }
    }
}

/// Dimension numbers of a `dot` over row-major operands.
///
/// The result is row-major with dimensions: batch (in listed order), free of lhs, free of rhs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DotCall {
    /// Element type and dimensions of the left operand.
    pub lhs: ArrayShape,
    /// Element type and dimensions of the right operand.
    pub rhs: ArrayShape,
    /// Element type and dimensions of the result.
    pub result: ArrayShape,
    /// Batch dimensions of the left operand.
    pub lhs_batch: Vec<i64>,
    /// Batch dimensions of the right operand.
    pub rhs_batch: Vec<i64>,
    /// Contracting dimensions of the left operand.
    pub lhs_contracting: Vec<i64>,
    /// Contracting dimensions of the right operand.
    pub rhs_contracting: Vec<i64>,
}
