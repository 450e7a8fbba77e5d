//! What each op is to a fusion, and how a user's index leads to its operand's.

use hloc_ir::{Computation, Cost, InstrId, Instruction, Opcode, Shape, StructuralOp};

/// What an op is to a fusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// A value per output index.
    Elemental(Work),
    /// May be the root only.
    Reduce,
    /// A constant of one element: copied into every fusion that uses it.
    ScalarConstant,
    /// Not part of fusions.
    Outside,
}

/// What one more evaluation of an elemental op costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Work {
    /// Next to nothing: only the index changes, or the value follows from it.
    Index,
    /// A few machine instructions.
    Cheap,
    /// More than loading a stored value.
    Costly,
}

/// How the index at which a user takes its operand relates to the user's own index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    /// The same index.
    Same,
    /// Another index, each about once.
    Moved,
    /// As `Moved`, but under a condition: evaluated also where it is not needed.
    Guarded,
    /// Another index, each several times.
    Repeated,
}

/// Operands beyond which no op joins a fusion; bounds the work of looking at an instruction.
pub(super) const MAX_OPERANDS: usize = 32;

/// What `instruction` is to a fusion.
pub(super) fn class(computation: &Computation, instruction: &Instruction) -> Class {
    if instruction.operands.len() > MAX_OPERANDS || !is_static(&instruction.shape) {
        return Class::Outside;
    }
    let operands = &instruction.operands;
    if !operands
        .iter()
        .all(|id| is_static(&computation.instructions[*id].shape))
    {
        return Class::Outside;
    }
    match instruction.op.opcode() {
        Opcode::Unary(op) => Class::Elemental(work_of(op.cost())),
        Opcode::Binary(op) => Class::Elemental(work_of(op.cost())),
        Opcode::Ternary(op) => Class::Elemental(work_of(op.cost())),
        Opcode::Structural(op) => structural_class(op, computation, instruction),
    }
}

/// Static arrays, or a tuple of them as a `reduce` gives.
fn is_static(shape: &Shape) -> bool {
    match shape {
        Shape::Array(array) => array.dynamic == 0,
        Shape::Tuple(elements) => elements.iter().all(is_static),
        Shape::Token | Shape::Opaque | Shape::Buffer(_) => false,
    }
}

fn work_of(cost: Cost) -> Work {
    match cost {
        Cost::Cheap => Work::Cheap,
        Cost::Costly => Work::Costly,
    }
}

/// How an op takes its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// At its own index.
    Element,
    /// At one other index.
    Move,
    /// `broadcast`: several results come from one element.
    Expand,
    /// One of several, depending on the index.
    Join,
    /// `pad`: the first at another index or the second.
    Pad,
    /// `dynamic-slice`: the first moved by the others.
    Block,
    /// `gather`: the first at indices that the second holds.
    Gather,
    /// `reduce`: all elements of the first half from the value of the second half.
    Reduce,
}

fn structural_class(
    op: StructuralOp,
    computation: &Computation,
    instruction: &Instruction,
) -> Class {
    if op == StructuralOp::Constant && elements(&instruction.shape) == 1 {
        return Class::ScalarConstant;
    }
    // Between element types of different widths elements are split or joined.
    if op == StructuralOp::BitcastConvert && !keeps_dims(computation, instruction) {
        return Class::Outside;
    }
    match structural_access(op) {
        None => Class::Outside,
        Some((Access::Reduce, _)) => Class::Reduce,
        Some((_, work)) => Class::Elemental(work),
    }
}

/// How a structural op takes its operands and what it costs, `None` if it is not part of fusions.
fn structural_access(op: StructuralOp) -> Option<(Access, Work)> {
    use StructuralOp as S;
    match op {
        S::Convert | S::Copy | S::Iota => Some((Access::Element, Work::Index)),
        S::BitcastConvert | S::Compare | S::ReducePrecision => Some((Access::Element, Work::Cheap)),
        S::Reshape | S::Slice => Some((Access::Move, Work::Index)),
        S::Reverse | S::Transpose => Some((Access::Move, Work::Cheap)),
        S::Broadcast => Some((Access::Expand, Work::Index)),
        S::Concatenate => Some((Access::Join, Work::Cheap)),
        S::Pad => Some((Access::Pad, Work::Cheap)),
        S::DynamicSlice => Some((Access::Block, Work::Cheap)),
        S::Gather => Some((Access::Gather, Work::Cheap)),
        S::Reduce => Some((Access::Reduce, Work::Costly)),
        S::AddDependency
        | S::AfterAll
        | S::AllGather
        | S::AllGatherDone
        | S::AllGatherStart
        | S::AllReduce
        | S::AllReduceDone
        | S::AllReduceStart
        | S::AllToAll
        | S::AsyncDone
        | S::AsyncStart
        | S::AsyncUpdate
        | S::BatchNormGrad
        | S::BatchNormInference
        | S::BatchNormTraining
        | S::Bitcast
        | S::Call
        | S::Cholesky
        | S::CollectiveBroadcast
        | S::CollectivePermute
        | S::CollectivePermuteDone
        | S::CollectivePermuteStart
        | S::Conditional
        | S::Constant
        | S::Convolution
        | S::CopyDone
        | S::CopyStart
        | S::CustomCall
        | S::Domain
        | S::Dot
        | S::DynamicReshape
        | S::DynamicUpdateSlice
        | S::Fft
        | S::Fusion
        | S::GetDimensionSize
        | S::GetTupleElement
        | S::Infeed
        | S::Map
        | S::OptBarrier
        | S::Outfeed
        | S::Parameter
        | S::PartitionId
        | S::RaggedAllToAll
        | S::RaggedDot
        | S::Recv
        | S::RecvDone
        | S::ReduceScatter
        | S::ReduceWindow
        | S::ReplicaId
        | S::Rng
        | S::RngBitGenerator
        | S::RngGetAndUpdateState
        | S::ScaledDot
        | S::Scan
        | S::Scatter
        | S::SelectAndScatter
        | S::Send
        | S::SendDone
        | S::SetDimensionSize
        | S::Sort
        | S::StochasticConvert
        | S::TopK
        | S::TriangularSolve
        | S::Tuple
        | S::While => None,
    }
}

fn keeps_dims(computation: &Computation, instruction: &Instruction) -> bool {
    let operand = instruction.operands.first();
    let operand = operand.and_then(|id| computation.instructions[*id].shape.as_array());
    match (operand, instruction.shape.as_array()) {
        (Some(operand), Some(result)) => operand.same_dims(result),
        (None, _) | (_, None) => false,
    }
}

/// Number of elements of an array, or of the first array of a tuple.
pub(super) fn elements(shape: &Shape) -> i64 {
    match shape {
        Shape::Array(array) => array.num_elements().unwrap_or(i64::MAX),
        Shape::Tuple(parts) => parts.first().map_or(0, elements),
        Shape::Token | Shape::Opaque | Shape::Buffer(_) => 0,
    }
}

/// How the index of `user`, an elemental op or a `reduce`, leads to that of its operand number
/// `position`.
pub(super) fn edge(computation: &Computation, user: InstrId, position: usize) -> Edge {
    let user = &computation.instructions[user];
    let operand = &computation.instructions[user.operands[position]];
    let expands = elements(&user.shape) > elements(&operand.shape);
    let moved = if expands { Edge::Repeated } else { Edge::Moved };
    let access = match user.op.opcode() {
        Opcode::Unary(_) | Opcode::Binary(_) | Opcode::Ternary(_) => Access::Element,
        Opcode::Structural(op) => {
            structural_access(op).map_or(Access::Element, |(access, _)| access)
        }
    };
    match access {
        // A scalar predicate of `select`, a scalar bound of `clamp`.
        Access::Element if expands => Edge::Repeated,
        Access::Element => Edge::Same,
        Access::Move => Edge::Moved,
        Access::Join => Edge::Guarded,
        Access::Pad if position == 0 => Edge::Guarded,
        Access::Block if position == 0 => Edge::Moved,
        Access::Expand | Access::Pad | Access::Block | Access::Gather => moved,
        Access::Reduce if position < user.operands.len() / 2 => Edge::Same,
        Access::Reduce => moved,
    }
}
