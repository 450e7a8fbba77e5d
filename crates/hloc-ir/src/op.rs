//! The opcodes of HLO with their attributes, declared once.
//!
//! Element-wise ops are rows of the tables in [`crate::scalar_op`]; everything else is a row of
//! `structural_ops!` below. A row says: what the op does, its spelling, how many operands it takes,
//! how far hloc supports it, and its attributes with their types. The tables generate the enums, the
//! spelling both ways, operand counts, attribute reading and printing, and the opcode page of the docs.

use crate::attr::{
    Attr, AttrError, AttrKind, AttrValue, DimLabels, DomainAttr, ElidedDims, Flag, GroupCount,
    OperandPrecision, OutputAliases, PaddingDim, RawText, ReplicaGroups, ResultAccuracy, SliceDim,
    Window,
};
use crate::scalar_op::{BinaryOp, TernaryOp, UnaryOp};
use crate::words::{
    CompareType, ComparisonDirection, CustomCallApiVersion, CustomCallSchedule, Distribution,
    DotAlgorithm, FftType, FusionKind, PaddingType, RngAlgorithm, Transpose,
};
use crate::{ComputationId, Shape, SharedLiteral};

/// How far hloc takes an opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Support {
    /// Read, printed and checked; compiling it is refused.
    Checked,
    /// Also evaluated and compiled, some forms excepted (the docs say which).
    Partial,
    /// Also evaluated and compiled in all forms.
    Full,
}

impl Support {
    /// The word in tables.
    pub fn name(self) -> &'static str {
        match self {
            Support::Checked => "checked",
            Support::Partial => "partial",
            Support::Full => "full",
        }
    }
}

/// One attribute of an opcode, as the table declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttrSpec {
    /// Name in text.
    pub name: &'static str,
    /// Form of the value.
    pub kind: AttrKind,
    /// Whether the opcode needs it.
    pub required: bool,
}

impl AttrSpec {
    const fn of<T: Attr>(name: &'static str) -> AttrSpec {
        AttrSpec {
            name,
            kind: T::KIND,
            required: T::REQUIRED,
        }
    }
}

/// Fewest and most operands; `usize::MAX` stands for no upper bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arity {
    /// Fewest operands.
    pub min: usize,
    /// Most operands.
    pub max: usize,
}

impl Arity {
    /// Whether `count` operands are right: `add` accepts 2 only.
    pub fn accepts(self, count: usize) -> bool {
        (self.min..=self.max).contains(&count)
    }
}

const MANY: usize = usize::MAX;

macro_rules! attr_name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $name:literal) => {
        $name
    };
}

macro_rules! structural_ops {
    ($( $(#[doc = $doc:literal])* $variant:ident = $spelling:literal, $min:literal..=$max:tt, $support:ident
        { $( $field:ident $(as $attr:literal)? : $ty:ty ),* $(,)? } )*) => {
        /// The opcodes that are not element-wise scalar ops.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum StructuralOp {
            /// The numbered argument of a computation.
            Parameter,
            /// A value written in the program.
            Constant,
            $( $(#[doc = $doc])* $variant, )*
        }

        /// What an instruction does: its opcode with the attributes of that opcode.
        ///
        /// Operands are not part of it; they lie uniformly on the instruction.
        #[derive(Clone, Debug, PartialEq)]
        #[expect(missing_docs, reason = "fields are the HLO attributes of the same name")]
        pub enum Op {
            /// The argument `number` of its computation.
            Parameter { number: i64 },
            /// A value written in the program.
            Constant { literal: SharedLiteral },
            /// An element-wise op with one operand.
            Unary { op: UnaryOp, result_accuracy: Option<ResultAccuracy> },
            /// An element-wise op with two operands; `broadcast_dimensions` is hloc's dialect.
            Binary { op: BinaryOp, broadcast_dimensions: Option<Vec<i64>> },
            /// An element-wise op with three operands; `broadcast_dimensions` is hloc's dialect.
            Ternary { op: TernaryOp, broadcast_dimensions: Option<Vec<i64>> },
            $( $(#[doc = $doc])* $variant { $( $field: $ty ),* }, )*
        }

        impl StructuralOp {
            /// Every opcode of this kind, in declaration order.
            pub const ALL: &'static [StructuralOp] =
                &[StructuralOp::Parameter, StructuralOp::Constant, $( StructuralOp::$variant, )*];

            /// The opcode as HLO spells it.
            pub const fn name(self) -> &'static str {
                match self {
                    StructuralOp::Parameter => "parameter",
                    StructuralOp::Constant => "constant",
                    $( StructuralOp::$variant => $spelling, )*
                }
            }

            /// The opcode spelled `name`, or `None`.
            pub fn from_name(name: &str) -> Option<StructuralOp> {
                match name {
                    "parameter" => Some(StructuralOp::Parameter),
                    "constant" => Some(StructuralOp::Constant),
                    $( $spelling => Some(StructuralOp::$variant), )*
                    _ => None,
                }
            }

            /// How many operands it takes.
            pub const fn arity(self) -> Arity {
                match self {
                    StructuralOp::Parameter | StructuralOp::Constant => Arity { min: 0, max: 0 },
                    $( StructuralOp::$variant => Arity { min: $min, max: $max }, )*
                }
            }

            /// How far hloc supports it.
            pub const fn support(self) -> Support {
                match self {
                    StructuralOp::Parameter | StructuralOp::Constant => Support::Full,
                    $( StructuralOp::$variant => Support::$support, )*
                }
            }

            /// Its attributes in the order in which they are printed.
            pub fn attributes(self) -> &'static [AttrSpec] {
                match self {
                    StructuralOp::Parameter | StructuralOp::Constant => &[],
                    $( StructuralOp::$variant => const { &[ $( AttrSpec::of::<$ty>(attr_name!($field $($attr)?)) ),* ] }, )*
                }
            }

            /// What it does, from its row in the table.
            pub fn doc(self) -> &'static str {
                match self {
                    StructuralOp::Parameter => "The numbered argument of a computation.",
                    StructuralOp::Constant => "A value written in the program.",
                    $( StructuralOp::$variant => concat!($( $doc, "\n", )*).trim(), )*
                }
            }
        }

        impl Op {
            /// Builds an op from attribute values; `take` gives each attribute at most once.
            ///
            /// `parameter` and `constant` have a payload instead of attributes and are built directly.
            ///
            /// # Errors
            /// The attribute's name and [`AttrError`] if one is required and missing, or senseless.
            pub fn from_attributes(
                opcode: Opcode,
                take: &mut dyn FnMut(&str) -> Option<AttrValue>,
            ) -> Result<Op, (&'static str, AttrError)> {
                let mut optional = |name: &'static str| take(name);
                match opcode {
                    Opcode::Unary(op) => Ok(Op::Unary {
                        op,
                        result_accuracy: read_attr("result_accuracy", &mut optional)?,
                    }),
                    Opcode::Binary(op) => Ok(Op::Binary {
                        op,
                        broadcast_dimensions: read_attr("broadcast_dimensions", &mut optional)?,
                    }),
                    Opcode::Ternary(op) => Ok(Op::Ternary {
                        op,
                        broadcast_dimensions: read_attr("broadcast_dimensions", &mut optional)?,
                    }),
                    Opcode::Structural(StructuralOp::Parameter | StructuralOp::Constant) => {
                        Err(("payload", AttrError::Missing))
                    }
                    $( Opcode::Structural(StructuralOp::$variant) => Ok(Op::$variant {
                        $( $field: read_attr(attr_name!($field $($attr)?), &mut optional)?, )*
                    }), )*
                }
            }

            /// The attributes to print, in the table's order.
            pub fn attribute_values(&self) -> Vec<(&'static str, AttrValue)> {
                let mut values = Vec::new();
                match self {
                    Op::Parameter { .. } | Op::Constant { .. } => {}
                    Op::Unary { result_accuracy, .. } => {
                        write_attr("result_accuracy", result_accuracy, &mut values);
                    }
                    Op::Binary { broadcast_dimensions, .. } | Op::Ternary { broadcast_dimensions, .. } => {
                        write_attr("broadcast_dimensions", broadcast_dimensions, &mut values);
                    }
                    $( Op::$variant { $( $field ),* } => {
                        $( write_attr(attr_name!($field $($attr)?), $field, &mut values); )*
                    } )*
                }
                values
            }

            /// The opcode without attributes.
            pub fn opcode(&self) -> Opcode {
                match self {
                    Op::Parameter { .. } => Opcode::Structural(StructuralOp::Parameter),
                    Op::Constant { .. } => Opcode::Structural(StructuralOp::Constant),
                    Op::Unary { op, .. } => Opcode::Unary(*op),
                    Op::Binary { op, .. } => Opcode::Binary(*op),
                    Op::Ternary { op, .. } => Opcode::Ternary(*op),
                    $( Op::$variant { .. } => Opcode::Structural(StructuralOp::$variant), )*
                }
            }

            /// The computations this op calls, in attribute order.
            pub fn called_computations(&self) -> Vec<ComputationId> {
                #[allow(unused_mut, reason = "ops without attributes push nothing")]
                let mut called = Vec::new();
                match self {
                    Op::Parameter { .. } | Op::Constant { .. } | Op::Unary { .. } | Op::Binary { .. }
                    | Op::Ternary { .. } => {}
                    $( Op::$variant { $( $field ),* } => { $( called.extend_from_slice($field.computations()); )* } )*
                }
                called
            }

            /// Replaces every called computation by `map` of it.
            pub fn map_computations(&mut self, mut map: impl FnMut(ComputationId) -> ComputationId) {
                match self {
                    Op::Parameter { .. } | Op::Constant { .. } | Op::Unary { .. } | Op::Binary { .. }
                    | Op::Ternary { .. } => {}
                    $( Op::$variant { $( $field ),* } => {
                        $( $field.computations_mut().iter_mut().for_each(|id| *id = map(*id)); )*
                    } )*
                }
            }
        }
    };
}

fn read_attr<T: Attr>(
    name: &'static str,
    take: &mut dyn FnMut(&'static str) -> Option<AttrValue>,
) -> Result<T, (&'static str, AttrError)> {
    T::from_value(take(name)).map_err(|error| (name, error))
}

fn write_attr(name: &'static str, value: &impl Attr, values: &mut Vec<(&'static str, AttrValue)>) {
    values.extend(value.to_value().map(|value| (name, value)));
}

structural_ops! {
    /// Adds a token's ordering to a value.
    AddDependency = "add-dependency", 2..=2, Full {}
    /// Joins tokens.
    AfterAll = "after-all", 0..=MANY, Full {}
    /// Joins each device's operand along one dimension.
    AllGather = "all-gather", 1..=MANY, Partial {
        dimensions: Vec<i64>, replica_groups: Option<ReplicaGroups>, channel_id: Option<i64>,
        use_global_device_ids: bool, constrain_layout: bool }
    /// The result of an asynchronous all-gather.
    AllGatherDone = "all-gather-done", 1..=1, Partial {}
    /// Begins an asynchronous all-gather.
    AllGatherStart = "all-gather-start", 1..=MANY, Partial {
        dimensions: Vec<i64>, replica_groups: Option<ReplicaGroups>, channel_id: Option<i64>,
        use_global_device_ids: bool, constrain_layout: bool }
    /// Reduces over devices.
    AllReduce = "all-reduce", 1..=MANY, Partial {
        replica_groups: Option<ReplicaGroups>, channel_id: Option<i64>, use_global_device_ids: bool,
        constrain_layout: bool, to_apply: ComputationId }
    /// The result of an asynchronous all-reduce.
    AllReduceDone = "all-reduce-done", 1..=1, Partial {}
    /// Begins an asynchronous all-reduce.
    AllReduceStart = "all-reduce-start", 1..=MANY, Partial {
        replica_groups: Option<ReplicaGroups>, channel_id: Option<i64>, use_global_device_ids: bool,
        constrain_layout: bool, to_apply: ComputationId }
    /// Sends pieces to each device of a group and joins what arrives.
    AllToAll = "all-to-all", 1..=MANY, Partial {
        dimensions: Option<Vec<i64>>, replica_groups: Option<ReplicaGroups>, channel_id: Option<i64>,
        constrain_layout: bool }
    /// The result of an asynchronous computation.
    AsyncDone = "async-done", 1..=1, Full {
        calls: Option<ComputationId>, async_execution_thread: Option<Box<str>> }
    /// Begins an asynchronous computation.
    AsyncStart = "async-start", 0..=MANY, Full {
        output_to_operand_aliasing: OutputAliases, async_execution_thread: Option<Box<str>>, calls: ComputationId }
    /// A step of an asynchronous computation.
    AsyncUpdate = "async-update", 1..=MANY, Full {
        calls: Option<ComputationId>, async_execution_thread: Option<Box<str>> }
    /// Gradient of batch normalization.
    BatchNormGrad = "batch-norm-grad", 5..=5, Full { epsilon: f64, feature_index: i64 }
    /// Batch normalization with given statistics.
    BatchNormInference = "batch-norm-inference", 5..=5, Full { epsilon: f64, feature_index: i64 }
    /// Batch normalization with the statistics of the batch.
    BatchNormTraining = "batch-norm-training", 3..=3, Full { epsilon: f64, feature_index: i64 }
    /// The same bytes under another shape.
    Bitcast = "bitcast", 1..=1, Checked {}
    /// The same bits as another element type.
    BitcastConvert = "bitcast-convert", 1..=1, Full {}
    /// Places operand dimension `i` at result dimension `dimensions[i]` and repeats along the rest.
    Broadcast = "broadcast", 1..=1, Full { dimensions: Vec<i64> }
    /// Runs a computation.
    Call = "call", 0..=MANY, Full { to_apply: ComputationId, is_composite: bool }
    /// The Cholesky factor of each matrix.
    Cholesky = "cholesky", 1..=1, Full { lower: bool }
    /// One device's value for all.
    CollectiveBroadcast = "collective-broadcast", 1..=MANY, Partial {
        replica_groups: Option<ReplicaGroups>, channel_id: Option<i64>, has_dynamic_root: bool }
    /// Sends values between pairs of devices.
    CollectivePermute = "collective-permute", 1..=MANY, Partial {
        channel_id: Option<i64>, source_target_pairs: Vec<(i64, i64)>, slice_sizes: Option<RawText> }
    /// The result of an asynchronous collective-permute.
    CollectivePermuteDone = "collective-permute-done", 1..=1, Partial {}
    /// Begins an asynchronous collective-permute.
    CollectivePermuteStart = "collective-permute-start", 1..=MANY, Partial {
        channel_id: Option<i64>, source_target_pairs: Vec<(i64, i64)>, slice_sizes: Option<RawText> }
    /// Compares element by element; the result is `pred`.
    Compare = "compare", 2..=2, Full {
        direction: ComparisonDirection, compare_type as "type": Option<CompareType>,
        broadcast_dimensions: Option<Vec<i64>> }
    /// Joins arrays along one dimension.
    Concatenate = "concatenate", 1..=MANY, Full { dimensions: Vec<i64> }
    /// Runs one of several computations.
    Conditional = "conditional", 2..=MANY, Full {
        branch_computations: Option<Vec<ComputationId>>, true_computation: Option<ComputationId>,
        false_computation: Option<ComputationId> }
    /// Convert each element to another type.
    Convert = "convert", 1..=1, Full {}
    /// Slides a kernel over an input.
    Convolution = "convolution", 2..=2, Full {
        window: Option<Window>, dim_labels: DimLabels, feature_group_count: GroupCount,
        batch_group_count: GroupCount, operand_precision: OperandPrecision, algorithm: Option<DotAlgorithm>,
        convolution_kind: Option<RawText> }
    /// A copy, possibly with another layout.
    Copy = "copy", 1..=1, Full {}
    /// The result of an asynchronous copy.
    CopyDone = "copy-done", 1..=1, Full {}
    /// Begins an asynchronous copy.
    CopyStart = "copy-start", 1..=1, Full { cross_program_prefetch_index: Option<i64> }
    /// Calls code outside of HLO by name.
    CustomCall = "custom-call", 0..=MANY, Partial {
        custom_call_target: Box<str>, window: Option<Window>, dim_labels: Option<DimLabels>,
        feature_group_count: GroupCount, batch_group_count: GroupCount, operand_precision: OperandPrecision,
        to_apply: Option<ComputationId>, called_computations: Option<Vec<ComputationId>>,
        operand_layout_constraints: Option<Vec<Shape>>, custom_call_has_side_effect: bool,
        output_to_operand_aliasing: OutputAliases, literal: Option<SharedLiteral>,
        padding_type: Option<PaddingType>, schedule: Option<CustomCallSchedule>,
        api_version: Option<CustomCallApiVersion> }
    /// Marks a border between shardings; the identity.
    Domain = "domain", 1..=1, Full { domain: DomainAttr }
    /// Sums products over the contracting dimensions.
    Dot = "dot", 2..=2, Full {
        lhs_batch_dims: ElidedDims, lhs_contracting_dims: ElidedDims, rhs_batch_dims: ElidedDims,
        rhs_contracting_dims: ElidedDims, operand_precision: OperandPrecision, algorithm: Option<DotAlgorithm> }
    /// Reshapes to sizes given at run time.
    DynamicReshape = "dynamic-reshape", 1..=MANY, Full {}
    /// A block that begins where scalar operands say, moved into range.
    DynamicSlice = "dynamic-slice", 1..=MANY, Full { dynamic_slice_sizes: Vec<i64> }
    /// The first operand with a block replaced by the second, where scalar operands say.
    DynamicUpdateSlice = "dynamic-update-slice", 2..=MANY, Full {}
    /// Fourier transform over the last dimensions.
    Fft = "fft", 1..=1, Full { fft_type: FftType, fft_length: Vec<i64> }
    /// A computation to run as one kernel.
    Fusion = "fusion", 0..=MANY, Full {
        kind: FusionKind, output_to_operand_aliasing: OutputAliases, calls: ComputationId }
    /// Slices of the first operand at places that the second lists.
    Gather = "gather", 2..=2, Full {
        offset_dims: Vec<i64>, collapsed_slice_dims: Vec<i64>, start_index_map: Vec<i64>,
        operand_batching_dims: ElidedDims, start_indices_batching_dims: ElidedDims, index_vector_dim: i64,
        slice_sizes: Vec<i64>, indices_are_sorted: bool }
    /// The size of one dimension, as s32.
    GetDimensionSize = "get-dimension-size", 1..=1, Full { dimensions: Vec<i64> }
    /// One element of a tuple.
    GetTupleElement = "get-tuple-element", 1..=1, Full { index: i64 }
    /// Receives a value from the host.
    Infeed = "infeed", 1..=1, Checked { infeed_config: Option<Box<str>> }
    /// Counts up along one dimension.
    Iota = "iota", 0..=0, Full { iota_dimension: i64 }
    /// Applies a computation of scalars to each element.
    Map = "map", 1..=MANY, Full { dimensions: ElidedDims, to_apply: ComputationId }
    /// The identity that nothing is moved across.
    OptBarrier = "opt-barrier", 1..=1, Full {}
    /// Sends a value to the host.
    Outfeed = "outfeed", 2..=2, Checked { outfeed_shape: Option<Shape>, outfeed_config: Option<Box<str>> }
    /// Puts a scalar around and between the elements.
    Pad = "pad", 2..=2, Full { padding: Vec<PaddingDim> }
    /// The number of this partition: 0 on one device.
    PartitionId = "partition-id", 0..=0, Full { channel_id: Option<i64> }
    /// Matrix product of ragged groups.
    RaggedDot = "ragged-dot", 3..=3, Full {
        lhs_batch_dims: ElidedDims, lhs_contracting_dims: ElidedDims, rhs_batch_dims: ElidedDims,
        rhs_contracting_dims: ElidedDims, operand_precision: OperandPrecision, lhs_ragged_dims: ElidedDims,
        rhs_group_dims: ElidedDims }
    /// All-to-all with pieces of different sizes.
    RaggedAllToAll = "ragged-all-to-all", 6..=6, Checked {
        replica_groups: Option<ReplicaGroups>, channel_id: Option<i64> }
    /// Begins to receive a value.
    Recv = "recv", 1..=1, Checked { channel_id: Option<i64>, is_host_transfer: bool }
    /// The received value.
    RecvDone = "recv-done", 1..=1, Checked { channel_id: Option<i64>, is_host_transfer: bool }
    /// Combines all elements along dimensions with a computation.
    Reduce = "reduce", 2..=MANY, Full { dimensions: Vec<i64>, to_apply: ComputationId }
    /// Rounds to a float format with fewer bits.
    ReducePrecision = "reduce-precision", 1..=1, Full { exponent_bits: i64, mantissa_bits: i64 }
    /// Reduces over devices and gives each its part.
    ReduceScatter = "reduce-scatter", 1..=MANY, Partial {
        replica_groups: Option<ReplicaGroups>, channel_id: Option<i64>, use_global_device_ids: bool,
        constrain_layout: bool, dimensions: Vec<i64>, to_apply: ComputationId }
    /// Combines the elements of each window with a computation.
    ReduceWindow = "reduce-window", 2..=MANY, Full { window: Option<Window>, to_apply: ComputationId }
    /// The number of this replica: 0 on one device.
    ReplicaId = "replica-id", 0..=0, Full {}
    /// The same elements in order under other dimensions.
    Reshape = "reshape", 1..=1, Full { inferred_dimension: Option<i64> }
    /// Turns the order along dimensions around.
    Reverse = "reverse", 1..=1, Full { dimensions: Vec<i64> }
    /// Random numbers without a state.
    Rng = "rng", 2..=MANY, Full { distribution: Distribution }
    /// Random bits from a state.
    RngBitGenerator = "rng-bit-generator", 1..=1, Full { algorithm: RngAlgorithm }
    /// The state of the generator behind `rng`.
    RngGetAndUpdateState = "rng-get-and-update-state", 0..=0, Full { delta: i64 }
    /// Product of matrices with scales.
    ScaledDot = "scaled-dot", 4..=4, Full {
        lhs_batch_dims: ElidedDims, lhs_contracting_dims: ElidedDims, rhs_batch_dims: ElidedDims,
        rhs_contracting_dims: ElidedDims, operand_precision: OperandPrecision }
    /// A loop along one dimension with carried values.
    Scan = "scan", 0..=MANY, Full {
        dimensions: Vec<i64>, num_carries: Option<i64>, is_reverse: bool, is_associative: Option<Flag>,
        to_apply: ComputationId }
    /// Combines updates into the operand at places that the indices list.
    Scatter = "scatter", 3..=MANY, Full {
        update_window_dims: Vec<i64>, inserted_window_dims: Vec<i64>, scatter_dims_to_operand_dims: Vec<i64>,
        input_batching_dims: ElidedDims, scatter_indices_batching_dims: ElidedDims, index_vector_dim: i64,
        indices_are_sorted: bool, unique_indices: bool, to_apply: ComputationId }
    /// Adds each source value to the element its window selects.
    SelectAndScatter = "select-and-scatter", 3..=3, Full {
        window: Option<Window>, select: ComputationId, scatter: ComputationId }
    /// Begins to send a value.
    Send = "send", 2..=2, Checked { channel_id: Option<i64>, is_host_transfer: bool }
    /// The end of a send.
    SendDone = "send-done", 1..=1, Checked { channel_id: Option<i64>, is_host_transfer: bool }
    /// Makes a dimension dynamic, with a size given at run time.
    SetDimensionSize = "set-dimension-size", 2..=2, Full { dimensions: Vec<i64> }
    /// A block with strides.
    Slice = "slice", 1..=1, Full { slice: Vec<SliceDim> }
    /// Sorts along one dimension by a comparator.
    Sort = "sort", 1..=MANY, Full { dimensions: Vec<i64>, is_stable: bool, to_apply: ComputationId }
    /// Rounds up or down at random.
    StochasticConvert = "stochastic-convert", 2..=2, Full {}
    /// The greatest or least elements of the last dimension.
    TopK = "topk", 1..=1, Full { k: i64, largest: Option<Flag>, is_stable: Option<Flag> }
    /// Permutes dimensions: result dimension `i` is operand dimension `dimensions[i]`.
    Transpose = "transpose", 1..=1, Full { dimensions: Vec<i64> }
    /// Solves equations with a triangular matrix.
    TriangularSolve = "triangular-solve", 2..=2, Full {
        left_side: bool, lower: bool, unit_diagonal: bool, transpose_a: Option<Transpose> }
    /// Gathers values in a tuple.
    Tuple = "tuple", 0..=MANY, Full {}
    /// Runs a body as long as a condition holds.
    While = "while", 1..=1, Full { condition: ComputationId, body: ComputationId }
}

/// An opcode without attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Opcode {
    /// Element-wise, one operand.
    Unary(UnaryOp),
    /// Element-wise, two operands.
    Binary(BinaryOp),
    /// Element-wise, three operands.
    Ternary(TernaryOp),
    /// Everything else.
    Structural(StructuralOp),
}

impl Opcode {
    /// Every opcode: 133 as of mid 2026.
    pub fn all() -> impl Iterator<Item = Opcode> {
        let unary = UnaryOp::ALL.iter().map(|op| Opcode::Unary(*op));
        let binary = BinaryOp::ALL.iter().map(|op| Opcode::Binary(*op));
        let ternary = TernaryOp::ALL.iter().map(|op| Opcode::Ternary(*op));
        let structural = StructuralOp::ALL.iter().map(|op| Opcode::Structural(*op));
        unary.chain(binary).chain(ternary).chain(structural)
    }

    /// The spelling in HLO text.
    pub fn name(self) -> &'static str {
        match self {
            Opcode::Unary(op) => op.name(),
            Opcode::Binary(op) => op.name(),
            Opcode::Ternary(op) => op.name(),
            Opcode::Structural(op) => op.name(),
        }
    }

    /// The opcode spelled `name`, or `None`.
    pub fn from_name(name: &str) -> Option<Opcode> {
        let unary = UnaryOp::from_name(name).map(Opcode::Unary);
        unary
            .or_else(|| BinaryOp::from_name(name).map(Opcode::Binary))
            .or_else(|| TernaryOp::from_name(name).map(Opcode::Ternary))
            .or_else(|| StructuralOp::from_name(name).map(Opcode::Structural))
    }

    /// How many operands it takes.
    pub fn arity(self) -> Arity {
        match self {
            Opcode::Unary(_) => Arity { min: 1, max: 1 },
            Opcode::Binary(_) => Arity { min: 2, max: 2 },
            Opcode::Ternary(_) => Arity { min: 3, max: 3 },
            Opcode::Structural(op) => op.arity(),
        }
    }

    /// How far hloc supports it.
    pub fn support(self) -> Support {
        match self {
            Opcode::Unary(_) | Opcode::Binary(_) | Opcode::Ternary(_) => Support::Full,
            Opcode::Structural(op) => op.support(),
        }
    }

    /// Its own attributes in the order in which they are printed.
    pub fn attributes(self) -> &'static [AttrSpec] {
        match self {
            Opcode::Unary(op) if takes_result_accuracy(op) => {
                const { &[AttrSpec::of::<Option<ResultAccuracy>>("result_accuracy")] }
            }
            Opcode::Unary(_) => &[],
            Opcode::Binary(_) | Opcode::Ternary(_) => {
                const { &[AttrSpec::of::<Option<Vec<i64>>>("broadcast_dimensions")] }
            }
            Opcode::Structural(op) => op.attributes(),
        }
    }

    /// What it does, from its row in the table.
    pub fn doc(self) -> &'static str {
        match self {
            Opcode::Unary(op) => op.doc(),
            Opcode::Binary(op) => op.doc(),
            Opcode::Ternary(op) => op.doc(),
            Opcode::Structural(op) => op.doc(),
        }
    }
}

impl std::fmt::Display for Opcode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The ops whose result may carry an asked-for accuracy.
fn takes_result_accuracy(op: UnaryOp) -> bool {
    match op {
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
        | UnaryOp::Rsqrt
        | UnaryOp::Sine
        | UnaryOp::Sinh
        | UnaryOp::Sqrt
        | UnaryOp::Tan
        | UnaryOp::Tanh => true,
        UnaryOp::Abs
        | UnaryOp::Ceil
        | UnaryOp::CountLeadingZeros
        | UnaryOp::Floor
        | UnaryOp::Imag
        | UnaryOp::IsFinite
        | UnaryOp::Negate
        | UnaryOp::Not
        | UnaryOp::Popcnt
        | UnaryOp::Real
        | UnaryOp::RoundNearestAfz
        | UnaryOp::RoundNearestEven
        | UnaryOp::Sign => false,
    }
}

impl Op {
    /// An element-wise op with one operand and no asked-for accuracy.
    pub fn unary(op: UnaryOp) -> Op {
        Op::Unary {
            op,
            result_accuracy: None,
        }
    }

    /// An element-wise op with two operands of equal shape.
    pub fn binary(op: BinaryOp) -> Op {
        Op::Binary {
            op,
            broadcast_dimensions: None,
        }
    }

    /// An element-wise op with three operands of equal shape.
    pub fn ternary(op: TernaryOp) -> Op {
        Op::Ternary {
            op,
            broadcast_dimensions: None,
        }
    }

    /// The branches of a conditional, the true branch first for a `pred` index; empty for other ops.
    pub fn branches(&self) -> Vec<ComputationId> {
        if let Op::Conditional { .. } = self {
            let mut branches = Vec::new();
            if let Op::Conditional {
                branch_computations,
                true_computation,
                false_computation,
            } = self
            {
                branches.extend(branch_computations.iter().flatten());
                branches.extend(true_computation);
                branches.extend(false_computation);
            }
            branches
        } else {
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Opcode;

    #[test]
    fn there_are_133_opcodes_with_distinct_names() {
        let mut names: Vec<_> = Opcode::all().map(Opcode::name).collect();
        assert!(
            names
                .iter()
                .all(|name| Opcode::from_name(name).map(Opcode::name) == Some(name))
        );
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 133);
    }
}
