//! The HLO intermediate representation: modules, op tables, shape rules, literals, printer.
//!
//! A [`Module`] is a list of [`Computation`]s, each a list of [`Instruction`]s in which operands stand
//! before their users. What an instruction does is its [`Op`]: the opcode with its attributes, declared
//! once in a table ([`scalar_op`] and [`op`]). Instructions that a pass makes keep the place of the
//! text they stem from.

mod arena;
pub mod attr;
pub mod builder;
mod custom_call;
mod infer;
mod literal;
mod maps;
mod module;
pub mod op;
pub mod ops;
pub mod outer_product;
mod print;
pub mod scalar_op;
mod shape;
mod trip_count;
pub mod words;

pub use arena::{Arena, Id, SideTable};
pub use attr::{Attr, AttrError, AttrKind, AttrValue};
pub use builder::{Builder, Callee, Value};
pub use custom_call::{CustomCall, CustomCallHandler, CustomCalls};
pub use hloc_tensor::{
    Array, Element, ElementClass, ElementType, Scalar, float_format, format_scalar,
};
pub use infer::{Broken, Focus, ShapeContext};
pub use literal::{Literal, SharedLiteral};
pub use maps::{HashMap, HashSet};
pub use module::{
    AliasKind, BackendConfig, BoolOrList, BufferDonor, CommonAttributes, Computation,
    ComputationId, FileLocation, FrontendAttributes, FrontendValue, InputOutputAlias, InstrId,
    Instruction, InstructionSpans, Metadata, Module, ModuleAttributes, Name, Operands, Origin,
    ProgramShape, SourceSpan, StackFrame, StackTables, Users,
};
pub use op::{Arity, AttrSpec, Op, Opcode, StructuralOp, Support};
pub use ops::infer_shape;
pub use print::{print_computation, print_instruction, print_literal, print_module};
pub use scalar_op::{BinaryOp, Cost, Domain, TernaryOp, UnaryOp};
pub use shape::{ArrayShape, Dimensions, Layout, Shape, WithLayout};
pub use trip_count::trip_count;
pub use words::{CompareType, ComparisonDirection};
