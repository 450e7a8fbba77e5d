//! Modules, computations and instructions.

use std::sync::Arc;

use hloc_diag::Span;
use indexmap::IndexMap;
use smallvec::SmallVec;

use crate::{Arena, Op, Shape};

crate::define_id! {
    /// Names a computation of a module. A computation's id is larger than those of the computations it calls.
    pub struct ComputationId = "c";
    /// Names an instruction of one computation. An instruction's id is larger than those of its operands.
    pub struct InstrId = "i";
}

/// A name in the program, shared between copies.
pub type Name = Arc<str>;

/// Operands of an instruction.
pub type Operands = SmallVec<[InstrId; 2]>;

/// A whole program.
///
/// Equality compares what the program says, not where it stood in a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// Name after `HloModule`.
    pub name: Name,
    /// What the header says.
    pub attributes: ModuleAttributes,
    /// File names, functions and stack frames that metadata points to.
    pub stack: StackTables,
    /// All computations, called ones before their callers.
    pub computations: Arena<ComputationId, Computation>,
    /// The computation that runs.
    pub entry: ComputationId,
}

impl Module {
    /// The computation that runs.
    pub fn entry(&self) -> &Computation {
        &self.computations[self.entry]
    }
}

/// Parameter shapes and result shape of a computation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProgramShape {
    /// Shapes of the parameters by number.
    pub parameters: Vec<Shape>,
    /// Shape of the root.
    pub result: Shape,
}

/// Whether two aliased buffers must be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AliasKind {
    /// The runtime may choose.
    May,
    /// They are one.
    Must,
}

/// One entry of `input_output_alias`: `{out}: (param, {idx}, may-alias)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InputOutputAlias {
    /// Index into the result tuple.
    pub output: Vec<i64>,
    /// Parameter number.
    pub parameter: i64,
    /// Index into the parameter's tuple.
    pub parameter_index: Vec<i64>,
    /// May or must.
    pub kind: AliasKind,
}

/// One entry of `buffer_donor`: `(param, {idx})`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BufferDonor {
    /// Parameter number.
    pub parameter: i64,
    /// Index into the parameter's tuple.
    pub parameter_index: Vec<i64>,
}

/// A boolean for all or one for each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum BoolOrList {
    /// `true`.
    All(bool),
    /// `{true,false}`.
    Each(Vec<bool>),
}

/// The value of a frontend attribute.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FrontendValue {
    /// A quoted string, stored without quotes and escapes.
    String(Box<str>),
    /// Text in braces, stored with them.
    Braces(Box<str>),
}

/// `frontend_attributes` in the order written.
pub type FrontendAttributes = IndexMap<Box<str>, FrontendValue>;

/// What the module header says, in the order in which it is printed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModuleAttributes {
    /// Whether instructions stand in execution order.
    pub is_scheduled: bool,
    /// Results that share memory with parameters.
    pub input_output_alias: Vec<InputOutputAlias>,
    /// Parameters given away without a result to share with.
    pub buffer_donor: Vec<BufferDonor>,
    /// Whether parameters that pass through are aliased.
    pub alias_passthrough_params: bool,
    /// Shapes and layouts of the entry.
    pub entry_computation_layout: Option<ProgramShape>,
    /// Whether sharding may propagate to parameters.
    pub allow_spmd_sharding_propagation_to_parameters: Option<BoolOrList>,
    /// Whether sharding may propagate to the result.
    pub allow_spmd_sharding_propagation_to_output: Option<BoolOrList>,
    /// Number of replicas, 1 if not written.
    pub replica_count: Option<i64>,
    /// Number of partitions, 1 if not written.
    pub num_partitions: Option<i64>,
    /// Notes of the front end.
    pub frontend_attributes: FrontendAttributes,
    /// Canonical text of the provenance table.
    pub origin_recovery_table: Option<Box<str>>,
    /// Canonical text of debug attributes.
    pub debug_attributes: Option<Box<str>>,
    /// Where `entry_computation_layout` stands.
    pub entry_computation_layout_span: SourceSpan,
}

/// A span that equality ignores.
#[derive(Clone, Copy, Debug, Default)]
pub struct SourceSpan(pub Span);

impl PartialEq for SourceSpan {
    fn eq(&self, _: &SourceSpan) -> bool {
        true
    }
}

/// One row of `FileLocations`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileLocation {
    /// Row of `FileNames`, from 1.
    pub file_name_id: i64,
    /// Row of `FunctionNames`, from 1.
    pub function_name_id: i64,
    /// First line.
    pub line: i64,
    /// Last line.
    pub end_line: i64,
    /// First column.
    pub column: i64,
    /// Last column.
    pub end_column: i64,
}

/// One row of `StackFrames`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StackFrame {
    /// Row of `FileLocations`, from 1.
    pub file_location_id: i64,
    /// Parent as printed: a root shows itself or 1.
    pub parent_frame_id: i64,
}

/// The tables behind `stack_frame_id`; row `n` of the text is item `n - 1`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackTables {
    /// `FileNames`.
    pub file_names: Vec<Box<str>>,
    /// `FunctionNames`.
    pub function_names: Vec<Box<str>>,
    /// `FileLocations`.
    pub file_locations: Vec<FileLocation>,
    /// `StackFrames`.
    pub stack_frames: Vec<StackFrame>,
}

/// A list of instructions with parameters and a root.
#[derive(Clone, Debug, PartialEq)]
pub struct Computation {
    /// Name, without `%`.
    pub name: Name,
    /// Instructions, operands before their users.
    pub instructions: Arena<InstrId, Instruction>,
    /// The parameter instructions by number.
    pub parameters: Vec<InstrId>,
    /// The instruction whose value is the result.
    pub root: InstrId,
    /// `execution_thread`, if one is named.
    pub execution_thread: Option<Box<str>>,
    /// The signature as written; the verifier compares it with the parameters and the root.
    pub signature: Option<ProgramShape>,
    /// Where the name stands.
    pub span: SourceSpan,
}

impl Computation {
    /// A computation without instructions; push instructions, then set `root`.
    pub fn new(name: impl Into<Name>) -> Computation {
        Computation {
            name: name.into(),
            instructions: Arena::new(),
            parameters: Vec::new(),
            root: crate::Id::from_index(0),
            execution_thread: None,
            signature: None,
            span: SourceSpan::default(),
        }
    }

    /// Appends an instruction. A parameter takes its place in `parameters`: push them in number order.
    pub fn push(&mut self, instruction: Instruction) -> InstrId {
        let is_parameter = matches!(instruction.op, Op::Parameter { .. });
        let id = self.instructions.push(instruction);
        if is_parameter {
            self.parameters.push(id);
        }
        id
    }

    /// The root instruction.
    pub fn root(&self) -> &Instruction {
        &self.instructions[self.root]
    }

    /// Shapes of the parameters and the root.
    pub fn program_shape(&self) -> ProgramShape {
        ProgramShape {
            parameters: self
                .parameters
                .iter()
                .map(|id| self.instructions[*id].shape.clone())
                .collect(),
            result: self.root().shape.clone(),
        }
    }

    /// The shapes of an instruction's operands in order.
    pub fn operand_shapes(&self, instruction: &Instruction) -> Vec<&Shape> {
        instruction
            .operands
            .iter()
            .map(|id| &self.instructions[*id].shape)
            .collect()
    }
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// Name, without `%`; unique in its computation.
    pub name: Name,
    /// What it does.
    pub op: Op,
    /// The instructions whose values it takes.
    pub operands: Operands,
    /// What it produces.
    pub shape: Shape,
    /// The attributes any instruction may carry, if it carries one.
    pub attributes: Option<Box<CommonAttributes>>,
    /// Where it comes from.
    pub origin: Origin,
}

impl Instruction {
    /// An instruction without common attributes and without a place.
    pub fn new(name: impl Into<Name>, op: Op, operands: &[InstrId], shape: Shape) -> Instruction {
        Instruction {
            name: name.into(),
            op,
            operands: Operands::from_slice(operands),
            shape,
            attributes: None,
            origin: Origin::default(),
        }
    }

    /// The metadata, if it carries some.
    pub fn metadata(&self) -> Option<&Metadata> {
        self.attributes.as_ref()?.metadata.as_ref()
    }
}

/// The text of `backend_config`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum BackendConfig {
    /// A quoted string, stored without quotes and escapes.
    String(Box<str>),
    /// Text in braces, stored with them.
    Braces(Box<str>),
}

/// Attributes that every instruction may carry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommonAttributes {
    /// Canonical text of `sharding`, with braces.
    pub sharding: Option<Box<str>>,
    /// Notes of the front end.
    pub frontend_attributes: FrontendAttributes,
    /// Canonical text of `statistics`, with braces.
    pub statistics: Option<Box<str>>,
    /// Which leaves of a parameter are equal on all replicas.
    pub parameter_replication: Option<Vec<bool>>,
    /// Instructions that must run first.
    pub control_predecessors: Vec<InstrId>,
    /// Canonical text of `origin`, with braces.
    pub origin: Option<Box<str>>,
    /// Where the instruction comes from in the user's program.
    pub metadata: Option<Metadata>,
    /// Notes of the back end.
    pub backend_config: Option<BackendConfig>,
}

/// Where an instruction comes from in the user's program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// The front end's op.
    pub op_type: Box<str>,
    /// The front end's path to the op.
    pub op_name: Box<str>,
    /// Source file.
    pub source_file: Box<str>,
    /// First line, 0 for none.
    pub source_line: i64,
    /// Last line, 0 for none.
    pub source_end_line: i64,
    /// First column, 0 for none.
    pub source_column: i64,
    /// Last column, 0 for none.
    pub source_end_column: i64,
    /// Row of `StackFrames` from 1, 0 for none.
    pub stack_frame_id: i64,
    /// Other fields in the order written: name and canonical text of the value.
    pub other: Vec<(Box<str>, Box<str>)>,
}

/// Where an instruction comes from: a place in a text, or a pass that made it from one there.
///
/// All origins are equal, so that equality of modules is about what they say.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// Places in the source text; none for instructions that a program built.
    pub spans: Option<Arc<InstructionSpans>>,
    /// The pass that made the instruction, if one did.
    pub pass: Option<&'static str>,
}

impl PartialEq for Origin {
    fn eq(&self, _: &Origin) -> bool {
        true
    }
}

impl Origin {
    /// The origin of an instruction that `pass` makes in place of one of this origin.
    #[must_use]
    pub fn in_pass(&self, pass: &'static str) -> Origin {
        Origin {
            spans: self.spans.clone(),
            pass: Some(pass),
        }
    }

    /// The place of the whole instruction.
    pub fn span(&self) -> Span {
        self.spans.as_ref().map_or(Span::NONE, |spans| spans.whole)
    }
}

/// Places of the parts of an instruction.
#[derive(Clone, Debug, Default)]
pub struct InstructionSpans {
    /// From the name to the last attribute.
    pub whole: Span,
    /// The name.
    pub name: Span,
    /// The result shape; `Span::NONE` if it was left out.
    pub shape: Span,
    /// The opcode.
    pub opcode: Span,
    /// Each operand.
    pub operands: Box<[Span]>,
    /// Each attribute with its value, by name.
    pub attributes: Box<[(Box<str>, Span)]>,
}

/// The users of each instruction of a computation.
#[derive(Clone, Debug)]
pub struct Users {
    users: Vec<Vec<InstrId>>,
}

impl Users {
    /// Collects the users of every instruction; an instruction that uses another twice is listed once.
    pub fn of(computation: &Computation) -> Users {
        let mut users = vec![Vec::new(); computation.instructions.len()];
        for (id, instruction) in computation.instructions.iter() {
            for operand in &instruction.operands {
                let list: &mut Vec<InstrId> = &mut users[crate::Id::index(*operand)];
                if list.last() != Some(&id) {
                    list.push(id);
                }
            }
        }
        Users { users }
    }

    /// The users of `id` in order.
    pub fn get(&self, id: InstrId) -> &[InstrId] {
        &self.users[crate::Id::index(id)]
    }
}
