//! Attribute types: what an attribute may hold, and how the op table reads and writes it.
//!
//! The parser turns text into an [`AttrValue`] according to the [`AttrKind`] that the table names;
//! [`Attr::from_value`] gives it its type. The printer goes the other way.

use std::fmt;

use crate::words::{
    CompareType, ComparisonDirection, CustomCallApiVersion, CustomCallSchedule, Distribution,
    DotAlgorithm, FftType, FusionKind, PaddingType, Precision, RngAlgorithm, Transpose,
};
use crate::{ComputationId, Shape, SharedLiteral};

/// One dimension of a `slice` attribute: `[start:limit:stride]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SliceDim {
    /// First index taken.
    pub start: i64,
    /// Index behind the last one.
    pub limit: i64,
    /// Distance between taken indices; 1 if not written.
    pub stride: i64,
}

/// One dimension of a `padding` attribute: `low_high_interior`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PaddingDim {
    /// Elements put in front; negative takes away.
    pub low: i64,
    /// Elements put behind; negative takes away.
    pub high: i64,
    /// Elements put between neighbours; 0 if not written.
    pub interior: i64,
}

/// One dimension of a `window` attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WindowDim {
    /// Number of window elements.
    pub size: i64,
    /// Distance between neighbouring windows.
    pub stride: i64,
    /// Padding in front of the base; negative takes away.
    pub pad_low: i64,
    /// Padding behind the base; negative takes away.
    pub pad_high: i64,
    /// Distance of base elements (`lhs_dilate`); 1 is none.
    pub base_dilation: i64,
    /// Distance of window elements (`rhs_dilate`); 1 is none.
    pub window_dilation: i64,
    /// Whether the window runs backwards (`rhs_reversal`).
    pub reversal: bool,
}

impl WindowDim {
    /// A window of `size` with stride 1 and nothing else.
    pub fn of_size(size: i64) -> WindowDim {
        WindowDim {
            size,
            stride: 1,
            pad_low: 0,
            pad_high: 0,
            base_dilation: 1,
            window_dilation: 1,
            reversal: false,
        }
    }
}

/// A `window` attribute, one entry per dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Window(pub Vec<WindowDim>);

/// Dimension numbers of a convolution: `b01f_01io->b01f`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DimLabels {
    /// Batch dimension of the input.
    pub input_batch: i64,
    /// Feature dimension of the input.
    pub input_feature: i64,
    /// Spatial dimensions of the input, by spatial number.
    pub input_spatial: Vec<i64>,
    /// Input feature dimension of the kernel.
    pub kernel_input_feature: i64,
    /// Output feature dimension of the kernel.
    pub kernel_output_feature: i64,
    /// Spatial dimensions of the kernel.
    pub kernel_spatial: Vec<i64>,
    /// Batch dimension of the output.
    pub output_batch: i64,
    /// Feature dimension of the output.
    pub output_feature: i64,
    /// Spatial dimensions of the output.
    pub output_spatial: Vec<i64>,
    /// Dimensions marked `?` (unused): input, kernel, output.
    pub unused: [Vec<i64>; 3],
}

/// Dimension numbers that are not printed when empty (`lhs_batch_dims`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ElidedDims(pub Vec<i64>);

impl std::ops::Deref for ElidedDims {
    type Target = [i64];
    fn deref(&self) -> &[i64] {
        &self.0
    }
}

/// One pair of `output_to_operand_aliasing`: `{out}: (operand, {idx})`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OutputAlias {
    /// Index into the result tuple.
    pub output: Vec<i64>,
    /// Operand number.
    pub operand: i64,
    /// Index into the operand's tuple.
    pub operand_index: Vec<i64>,
}

/// The devices that take part in a collective together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ReplicaGroups {
    /// `{{0,1},{2,3}}`.
    List(Vec<Vec<i64>>),
    /// `[2,2]<=[4]T(1,0)`: tile dimensions, reshape dimensions, permutation (empty: identity).
    Iota {
        /// Dimensions of the tile assignment.
        dims: Vec<i64>,
        /// Dimensions the device numbers are reshaped to first.
        reshape: Vec<i64>,
        /// Permutation after the reshape; empty for none.
        transpose: Vec<i64>,
    },
    /// `mesh["a"=2]{"a"}`: kept as canonical text.
    Mesh(Box<str>),
}

/// A `domain` attribute: `{kind="sharding", entry={…}, exit={…}}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DomainAttr {
    /// Kind of the domain.
    pub kind: Box<str>,
    /// Text of the entry sharding.
    pub entry: Box<str>,
    /// Text of the exit sharding.
    pub exit: Box<str>,
}

/// A `result_accuracy` attribute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ResultAccuracy {
    /// `{mode=highest}`.
    Highest,
    /// `{mode=default}`.
    Default,
    /// `{tolerance={atol=,rtol=,ulps=}}`.
    Tolerance {
        /// Absolute tolerance.
        atol: f64,
        /// Relative tolerance.
        rtol: f64,
        /// Tolerance in units in the last place.
        ulps: i64,
    },
}

/// The form of an attribute's value; the parser has one grammar rule for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    missing_docs,
    reason = "each kind is the AttrValue variant of the same name"
)]
pub enum AttrKind {
    Integer,
    Float,
    Bool,
    Integers,
    Bools,
    Slice,
    Padding,
    Window,
    DimLabels,
    Word(&'static [&'static str]),
    Words(&'static [&'static str]),
    String,
    Computation,
    Computations,
    Shape,
    Shapes,
    OutputAliases,
    ReplicaGroups,
    Pairs,
    Domain,
    ResultAccuracy,
    Literal,
    Text,
}

/// The value of one attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum AttrValue {
    /// `index=3`.
    Integer(i64),
    /// `epsilon=0.001`.
    Float(f64),
    /// `is_stable=true`.
    Bool(bool),
    /// `dimensions={0,1}`.
    Integers(Vec<i64>),
    /// `{true,false}`.
    Bools(Vec<bool>),
    /// `slice={[0:2], [0:6:2]}`.
    Slice(Vec<SliceDim>),
    /// `padding=0_1x0_1`.
    Padding(Vec<PaddingDim>),
    /// `window={size=3x3}`.
    Window(Window),
    /// `dim_labels=b01f_01io->b01f`.
    DimLabels(DimLabels),
    /// One word of a closed set: `direction=GT`.
    Word(&'static str),
    /// Several words of a closed set: `operand_precision={default,high}`.
    Words(Vec<&'static str>),
    /// `custom_call_target="Sharding"`, without quotes and escapes.
    String(Box<str>),
    /// `to_apply=add`.
    Computation(ComputationId),
    /// `branch_computations={a, b}`.
    Computations(Vec<ComputationId>),
    /// `outfeed_shape=f32[3]`.
    Shape(Shape),
    /// `operand_layout_constraints={f32[2]{0}}`.
    Shapes(Vec<Shape>),
    /// `output_to_operand_aliasing={{0}: (1, {})}`.
    OutputAliases(Vec<OutputAlias>),
    /// `replica_groups={{0,1}}`.
    ReplicaGroups(ReplicaGroups),
    /// `source_target_pairs={{0,1},{1,0}}`.
    Pairs(Vec<(i64, i64)>),
    /// `domain={kind="sharding", …}`.
    Domain(DomainAttr),
    /// `result_accuracy={mode=highest}`.
    ResultAccuracy(ResultAccuracy),
    /// `literal=s32[2]{0} {1,2}` of a custom call.
    Literal(SharedLiteral),
    /// Canonical text that no stage looks into (`infeed_config`).
    Text(Box<str>),
}

/// Why an attribute could not be given its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttrError {
    /// The opcode needs the attribute.
    Missing,
    /// The value has another form than the table says; the parser never makes such a value.
    WrongKind,
    /// The value has the right form but no meaning; says why.
    Invalid(String),
}

/// A type that an attribute field of an [`crate::Op`] may have.
pub trait Attr: Sized {
    /// The form the parser reads.
    const KIND: AttrKind;
    /// Whether leaving the attribute out is an error.
    const REQUIRED: bool;

    /// The field's value; `None` stands for an attribute that was not written.
    ///
    /// # Errors
    /// [`AttrError`] if the attribute is required and missing or cannot be given its type.
    fn from_value(value: Option<AttrValue>) -> Result<Self, AttrError>;

    /// The value to print, `None` if nothing is to be printed.
    fn to_value(&self) -> Option<AttrValue>;

    /// The called computations that the value holds; most hold none.
    fn computations(&self) -> &[ComputationId] {
        &[]
    }

    /// The called computations that the value holds, for change.
    fn computations_mut(&mut self) -> &mut [ComputationId] {
        &mut []
    }
}

impl Attr for ComputationId {
    const KIND: AttrKind = AttrKind::Computation;
    const REQUIRED: bool = true;
    fn from_value(value: Option<AttrValue>) -> Result<Self, AttrError> {
        match value {
            Some(AttrValue::Computation(id)) => Ok(id),
            Some(_) => Err(AttrError::WrongKind),
            None => Err(AttrError::Missing),
        }
    }
    fn to_value(&self) -> Option<AttrValue> {
        Some(AttrValue::Computation(*self))
    }
    fn computations(&self) -> &[ComputationId] {
        std::slice::from_ref(self)
    }
    fn computations_mut(&mut self) -> &mut [ComputationId] {
        std::slice::from_mut(self)
    }
}

impl Attr for Vec<ComputationId> {
    const KIND: AttrKind = AttrKind::Computations;
    const REQUIRED: bool = true;
    fn from_value(value: Option<AttrValue>) -> Result<Self, AttrError> {
        match value {
            Some(AttrValue::Computations(ids)) => Ok(ids),
            Some(_) => Err(AttrError::WrongKind),
            None => Err(AttrError::Missing),
        }
    }
    fn to_value(&self) -> Option<AttrValue> {
        Some(AttrValue::Computations(self.clone()))
    }
    fn computations(&self) -> &[ComputationId] {
        self
    }
    fn computations_mut(&mut self) -> &mut [ComputationId] {
        self
    }
}

/// Declares attribute types that are stored as they are: required, and optional as `Option`.
macro_rules! plain_attrs {
    ($( $ty:ty = $kind:ident; )*) => { $(
        impl Attr for $ty {
            const KIND: AttrKind = AttrKind::$kind;
            const REQUIRED: bool = true;
            fn from_value(value: Option<AttrValue>) -> Result<Self, AttrError> {
                match value {
                    Some(AttrValue::$kind(value)) => Ok(value),
                    Some(_) => Err(AttrError::WrongKind),
                    None => Err(AttrError::Missing),
                }
            }
            fn to_value(&self) -> Option<AttrValue> {
                Some(AttrValue::$kind(self.clone()))
            }
        }
    )* };
}

plain_attrs! {
    i64 = Integer;
    f64 = Float;
    Vec<i64> = Integers;
    Vec<SliceDim> = Slice;
    Vec<PaddingDim> = Padding;
    Window = Window;
    DimLabels = DimLabels;
    Box<str> = String;
    Shape = Shape;
    Vec<Shape> = Shapes;
    ReplicaGroups = ReplicaGroups;
    Vec<(i64, i64)> = Pairs;
    DomainAttr = Domain;
    ResultAccuracy = ResultAccuracy;
    SharedLiteral = Literal;
}

impl<T: Attr> Attr for Option<T> {
    const KIND: AttrKind = T::KIND;
    const REQUIRED: bool = false;
    fn from_value(value: Option<AttrValue>) -> Result<Self, AttrError> {
        value.map(|value| T::from_value(Some(value))).transpose()
    }
    fn to_value(&self) -> Option<AttrValue> {
        self.as_ref().and_then(T::to_value)
    }
    fn computations(&self) -> &[ComputationId] {
        self.as_ref().map_or(&[], T::computations)
    }
    fn computations_mut(&mut self) -> &mut [ComputationId] {
        self.as_mut().map_or(&mut [], T::computations_mut)
    }
}

/// A switch: left out means false, and false is not printed.
impl Attr for bool {
    const KIND: AttrKind = AttrKind::Bool;
    const REQUIRED: bool = false;
    fn from_value(value: Option<AttrValue>) -> Result<Self, AttrError> {
        match value {
            Some(AttrValue::Bool(value)) => Ok(value),
            Some(_) => Err(AttrError::WrongKind),
            None => Ok(false),
        }
    }
    fn to_value(&self) -> Option<AttrValue> {
        self.then_some(AttrValue::Bool(true))
    }
}

/// A switch whose absence differs from false.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flag(pub bool);

impl Attr for Flag {
    const KIND: AttrKind = AttrKind::Bool;
    const REQUIRED: bool = true;
    fn from_value(value: Option<AttrValue>) -> Result<Self, AttrError> {
        match value {
            Some(AttrValue::Bool(value)) => Ok(Flag(value)),
            Some(_) => Err(AttrError::WrongKind),
            None => Err(AttrError::Missing),
        }
    }
    fn to_value(&self) -> Option<AttrValue> {
        Some(AttrValue::Bool(self.0))
    }
}

/// A count that is 1 if not written, and not printed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GroupCount(pub i64);

impl Attr for GroupCount {
    const KIND: AttrKind = AttrKind::Integer;
    const REQUIRED: bool = false;
    fn from_value(value: Option<AttrValue>) -> Result<Self, AttrError> {
        match value {
            Some(AttrValue::Integer(value)) => Ok(GroupCount(value)),
            Some(_) => Err(AttrError::WrongKind),
            None => Ok(GroupCount(1)),
        }
    }
    fn to_value(&self) -> Option<AttrValue> {
        (self.0 != 1).then_some(AttrValue::Integer(self.0))
    }
}

impl Attr for ElidedDims {
    const KIND: AttrKind = AttrKind::Integers;
    const REQUIRED: bool = false;
    fn from_value(value: Option<AttrValue>) -> Result<Self, AttrError> {
        match value {
            Some(AttrValue::Integers(value)) => Ok(ElidedDims(value)),
            Some(_) => Err(AttrError::WrongKind),
            None => Ok(ElidedDims(Vec::new())),
        }
    }
    fn to_value(&self) -> Option<AttrValue> {
        (!self.0.is_empty()).then(|| AttrValue::Integers(self.0.clone()))
    }
}

/// `output_to_operand_aliasing`, empty and not printed if not written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OutputAliases(pub Vec<OutputAlias>);

impl Attr for OutputAliases {
    const KIND: AttrKind = AttrKind::OutputAliases;
    const REQUIRED: bool = false;
    fn from_value(value: Option<AttrValue>) -> Result<Self, AttrError> {
        match value {
            Some(AttrValue::OutputAliases(value)) => Ok(OutputAliases(value)),
            Some(_) => Err(AttrError::WrongKind),
            None => Ok(OutputAliases(Vec::new())),
        }
    }
    fn to_value(&self) -> Option<AttrValue> {
        (!self.0.is_empty()).then(|| AttrValue::OutputAliases(self.0.clone()))
    }
}

/// Text kept as written, such as `infeed_config`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RawText(pub Box<str>);

impl Attr for RawText {
    const KIND: AttrKind = AttrKind::Text;
    const REQUIRED: bool = true;
    fn from_value(value: Option<AttrValue>) -> Result<Self, AttrError> {
        match value {
            Some(AttrValue::Text(value)) => Ok(RawText(value)),
            Some(_) => Err(AttrError::WrongKind),
            None => Err(AttrError::Missing),
        }
    }
    fn to_value(&self) -> Option<AttrValue> {
        Some(AttrValue::Text(self.0.clone()))
    }
}

macro_rules! word_attrs {
    ($( $ty:ty; )*) => { $(
        impl Attr for $ty {
            const KIND: AttrKind = AttrKind::Word(<$ty>::NAMES);
            const REQUIRED: bool = true;
            fn from_value(value: Option<AttrValue>) -> Result<Self, AttrError> {
                match value {
                    Some(AttrValue::Word(word)) => {
                        Self::from_name(word).ok_or_else(|| AttrError::Invalid(format!("unknown word `{word}`")))
                    }
                    Some(_) => Err(AttrError::WrongKind),
                    None => Err(AttrError::Missing),
                }
            }
            fn to_value(&self) -> Option<AttrValue> {
                Some(AttrValue::Word(self.name()))
            }
        }
    )* };
}

word_attrs! {
    ComparisonDirection; CompareType; FftType; FusionKind; Transpose; RngAlgorithm; Distribution; DotAlgorithm;
    CustomCallApiVersion; CustomCallSchedule; PaddingType;
}

/// `operand_precision`, one entry per operand; empty and not printed if all are default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OperandPrecision(pub Vec<Precision>);

impl Attr for OperandPrecision {
    const KIND: AttrKind = AttrKind::Words(Precision::NAMES);
    const REQUIRED: bool = false;
    fn from_value(value: Option<AttrValue>) -> Result<Self, AttrError> {
        let words = match value {
            Some(AttrValue::Words(words)) => words,
            Some(_) => return Err(AttrError::WrongKind),
            None => Vec::new(),
        };
        let precision = |word: &&'static str| {
            Precision::from_name(word)
                .ok_or_else(|| AttrError::Invalid(format!("unknown precision `{word}`")))
        };
        Ok(OperandPrecision(
            words.iter().map(precision).collect::<Result<_, _>>()?,
        ))
    }
    fn to_value(&self) -> Option<AttrValue> {
        (!self.0.is_empty())
            .then(|| AttrValue::Words(self.0.iter().map(|precision| precision.name()).collect()))
    }
}

impl fmt::Display for SliceDim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}:{}:{}]", self.start, self.limit, self.stride)
    }
}
