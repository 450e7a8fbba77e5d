//! What the handles of one builder share: computations under construction, names, findings.

use crate::HashMap;
use std::panic::Location;
use std::sync::atomic::{AtomicU32, Ordering};

use hloc_diag::Diagnostic;

use super::Value;
use crate::{
    Arena, ArrayShape, Broken, CommonAttributes, Computation, ComputationId, ElementType, Focus,
    Id, InstrId, Instruction, Metadata, Module, ModuleAttributes, Op, Opcode, Shape, ShapeContext,
    StackTables, infer_shape,
};

/// The line of a call.
pub(super) type Place = &'static Location<'static>;

/// Tells builders apart, so that a value of one is not taken for one of another.
static BUILDERS: AtomicU32 = AtomicU32::new(0);

/// Everything about one module under construction.
#[derive(Debug)]
pub(super) struct Shared {
    id: u32,
    module_name: String,
    /// Computations that are complete, called ones before their callers.
    computations: Arena<ComputationId, Computation>,
    /// Computations in the order in which they were begun; 0 is the entry.
    pub(super) frames: Vec<Frame>,
    computation_names: Names,
    pub(super) errors: Vec<Diagnostic>,
    pub(super) warnings: Vec<Diagnostic>,
    pub(super) records_places: bool,
}

/// One computation under construction.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) computation: Computation,
    /// The line at which each instruction was made.
    pub(super) places: Vec<Place>,
    names: Names,
}

/// Names in use, each with the next number to try behind it.
#[derive(Debug, Default)]
struct Names(HashMap<String, usize>);

impl Names {
    /// `name`, or `name.1`, `name.2` ... if it is taken.
    fn unique(&mut self, name: &str) -> String {
        let mut unique = name.to_owned();
        while self.0.contains_key(&unique) {
            let next = self.0.entry(name.to_owned()).or_insert(1);
            unique = format!("{name}.{next}");
            *next += 1;
        }
        self.0.insert(unique.clone(), 1);
        unique
    }
}

/// Whether HLO text can hold `name`. Keywords are fine, they are printed with `%`; names of types are not.
fn is_printable(name: &str) -> bool {
    let mut bytes = name.bytes();
    let first = bytes.next();
    let is_type = ElementType::from_name(name).is_some() || matches!(name, "token" | "opaque");
    !is_type
        && first.is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
}

impl Frame {
    fn new(name: String) -> Frame {
        Frame {
            computation: Computation::new(name),
            places: Vec::new(),
            names: Names::default(),
        }
    }
}

impl Shared {
    pub(super) fn new(name: &str, at: Place) -> Shared {
        let mut shared = Shared {
            id: BUILDERS.fetch_add(1, Ordering::Relaxed),
            module_name: String::new(),
            computations: Arena::new(),
            frames: Vec::new(),
            computation_names: Names::default(),
            errors: Vec::new(),
            warnings: Vec::new(),
            records_places: true,
        };
        shared.module_name = shared.checked_name(name, "module", at);
        shared.begin("main", at);
        shared
    }

    pub(super) fn id(&self) -> u32 {
        self.id
    }

    pub(super) fn poison(&self) -> Value {
        Value {
            builder: self.id,
            frame: 0,
            index: Value::POISON,
        }
    }

    /// `name` if text can hold it; else a mistake, and `instead`.
    fn checked_name(&mut self, name: &str, instead: &str, at: Place) -> String {
        if is_printable(name) {
            return name.to_owned();
        }
        let help = Some(
            "use letters, digits, `_`, `.` and `-`, a letter or `_` first, and no type's name",
        );
        let message = format!("HLO text cannot hold the name {name:?}");
        self.mistake("builder-name", message, help, at);
        instead.to_owned()
    }

    /// Begins a computation and gives its frame.
    pub(super) fn begin(&mut self, name: &str, at: Place) -> u32 {
        let name = self.checked_name(name, "computation", at);
        let name = self.computation_names.unique(&name);
        self.frames.push(Frame::new(name));
        (self.frames.len() - 1) as u32
    }

    /// Ends the computation of `frame`; none if its root is poisoned or of another place.
    pub(super) fn finish(&mut self, frame: u32, root: Value, at: Place) -> Option<ComputationId> {
        let root = self.resolve(frame, root, &|| "the result".to_owned(), at)?;
        let done = &mut self.frames[frame as usize];
        done.computation.root = root;
        let name = done.computation.name.clone();
        let computation = std::mem::replace(&mut done.computation, Computation::new(name));
        Some(self.computations.push(computation))
    }

    /// The module as it is now, with `root` as its result.
    pub(super) fn module(&mut self, root: Value, at: Place) -> Result<Module, Vec<Diagnostic>> {
        let root = self.resolve(0, root, &|| "the result".to_owned(), at);
        let Some(root) = root.filter(|_| self.errors.is_empty()) else {
            return Err(self.errors.clone());
        };
        let mut computations = self.computations.clone();
        let mut entry = self.frames[0].computation.clone();
        entry.root = root;
        let entry = computations.push(entry);
        Ok(Module {
            name: self.module_name.as_str().into(),
            attributes: ModuleAttributes::default(),
            stack: StackTables::default(),
            computations,
            entry,
        })
    }

    /// The instruction behind `value`, which `who` names in a message; none if it is poisoned, or after
    /// a mistake has been told.
    fn resolve(
        &mut self,
        frame: u32,
        value: Value,
        who: &dyn Fn() -> String,
        at: Place,
    ) -> Option<InstrId> {
        if value.builder != self.id {
            let message = format!("{} belongs to another builder", who());
            let help = "build each module with the values of its own builder";
            self.mistake("builder-foreign-value", message, Some(help), at);
            return None;
        }
        if value.is_poisoned() {
            return None;
        }
        if value.frame != frame {
            let name = |frame: u32| self.frames[frame as usize].computation.name.clone();
            let message = format!(
                "{} belongs to the computation `{}`, not to `{}`",
                who(),
                name(value.frame),
                name(frame)
            );
            let help = "pass it as an operand, or carry it in the tuple of a loop or branch";
            self.mistake("builder-outer-value", message, Some(help), at);
            return None;
        }
        Some(InstrId::from_index(value.index as usize))
    }

    pub(super) fn shape(&self, value: Value) -> Option<&Shape> {
        if value.builder != self.id || value.is_poisoned() {
            return None;
        }
        let frame = self.frames.get(value.frame as usize)?;
        let id = InstrId::from_index(value.index as usize);
        Some(&frame.computation.instructions.get(id)?.shape)
    }

    pub(super) fn parameter(&mut self, frame: u32, shape: Shape, name: &str, at: Place) -> Value {
        let number = self.frames[frame as usize].computation.parameters.len() as i64;
        let name = self.checked_name(name, "parameter", at);
        let op = Op::Parameter { number };
        match self.inferred(frame, &op, &[], Some(&shape)) {
            Ok(shape) => self.push(frame, &name, op, &[], shape, at),
            Err(broken) => {
                self.broken(frame, op.opcode(), &[], broken, at);
                self.poison()
            }
        }
    }

    /// Adds an instruction, or tells what is wrong with it.
    pub(super) fn emit(
        &mut self,
        frame: u32,
        op: Op,
        operands: &[Value],
        declared: Option<Shape>,
        at: Place,
    ) -> Value {
        let opcode = op.opcode();
        let mut ids = Vec::with_capacity(operands.len());
        for (index, operand) in operands.iter().enumerate() {
            let who = || format!("operand {index} of `{opcode}`");
            ids.extend(self.resolve(frame, *operand, &who, at));
        }
        let poisoned = op
            .called_computations()
            .contains(&super::calls::poisoned_computation());
        if ids.len() != operands.len() || poisoned {
            return self.poison();
        }
        match self.inferred(frame, &op, &ids, declared.as_ref()) {
            Ok(shape) => {
                let value = self.push(frame, opcode.name(), op, &ids, shape, at);
                self.look_for_outer_product(value, at);
                value
            }
            Err(broken) => {
                self.broken(frame, opcode, &ids, broken, at);
                self.poison()
            }
        }
    }

    fn inferred(
        &self,
        frame: u32,
        op: &Op,
        operands: &[InstrId],
        declared: Option<&Shape>,
    ) -> Result<Shape, Broken> {
        declared.map_or(Ok(()), |shape| sound(shape, Focus::Result))?;
        let instructions = &self.frames[frame as usize].computation.instructions;
        let shapes: Vec<&Shape> = operands.iter().map(|id| &instructions[*id].shape).collect();
        let context = ShapeContext {
            op,
            operands: &shapes,
            computations: &self.computations,
            declared,
        };
        let shape = infer_shape(&context)?;
        sound(&shape, Focus::Instruction)?;
        agree(op.opcode(), &shape, declared)?;
        // A layout that the caller wrote stays.
        Ok(declared.cloned().unwrap_or(shape))
    }

    /// The shape of a product whose element type is that of `wanted`; none if the rule refuses, which
    /// emitting without a shape then tells.
    pub(super) fn product_shape(
        &self,
        frame: u32,
        op: &Op,
        operands: &[Value],
        wanted: &Shape,
    ) -> Option<Shape> {
        let here = |value: &&Value| value.builder == self.id && value.frame == frame;
        let shapes: Vec<&Shape> = operands
            .iter()
            .filter(here)
            .map(|value| self.shape(*value))
            .collect::<Option<_>>()?;
        let context = ShapeContext {
            op,
            operands: &shapes,
            computations: &self.computations,
            declared: Some(wanted),
        };
        match infer_shape(&context) {
            Ok(shape) => Some(shape),
            // A type that does not fit must be told as such.
            Err(_) => Some(wanted.clone()),
        }
    }

    fn push(
        &mut self,
        frame: u32,
        name: &str,
        op: Op,
        operands: &[InstrId],
        shape: Shape,
        at: Place,
    ) -> Value {
        let records_places = self.records_places;
        let into = &mut self.frames[frame as usize];
        let name = into.names.unique(name);
        let mut instruction = Instruction::new(name, op, operands, shape);
        if records_places {
            let metadata = Metadata {
                source_file: at.file().into(),
                source_line: at.line().into(),
                ..Metadata::default()
            };
            instruction.attributes = Some(Box::new(CommonAttributes {
                metadata: Some(metadata),
                ..CommonAttributes::default()
            }));
        }
        let id = into.computation.push(instruction);
        into.places.push(at);
        Value {
            builder: self.id,
            frame,
            index: id.index() as u32,
        }
    }

    pub(super) fn instruction_mut(
        &mut self,
        frame: u32,
        value: Value,
        at: Place,
    ) -> Option<&mut Instruction> {
        let id = self.resolve(frame, value, &|| "the value".to_owned(), at)?;
        let into = &mut self.frames[frame as usize];
        Some(&mut into.computation.instructions[id])
    }

    pub(super) fn rename(&mut self, frame: u32, value: Value, name: &str, at: Place) {
        let name = self.checked_name(name, "value", at);
        let Some(id) = self.resolve(frame, value, &|| "the value".to_owned(), at) else {
            return;
        };
        let into = &mut self.frames[frame as usize];
        let name = into.names.unique(&name);
        into.computation.instructions[id].name = name.into();
    }

    /// Whether pairs of these vectors are a table made on purpose.
    pub(super) fn is_deliberate_table(&self, x: Value, y: Value) -> bool {
        let Some(frame) = self.frames.get(x.frame as usize) else {
            return false;
        };
        let id = |value: Value| InstrId::from_index(value.index as usize);
        crate::outer_product::is_deliberate(&frame.computation, id(x), id(y))
    }

    fn look_for_outer_product(&mut self, value: Value, at: Place) {
        let computation = &self.frames[value.frame as usize].computation;
        let id = InstrId::from_index(value.index as usize);
        let Some(found) = crate::outer_product::find(computation, id) else {
            return;
        };
        let message = format!(
            "{} {}",
            computation.instructions[id].op.opcode(),
            found.describe()
        );
        let help = [crate::outer_product::HELP];
        self.warn(crate::outer_product::CODE, message, &help, at);
    }
}

/// The sizes can be counted; the rules of ops rely on it.
fn sound(shape: &Shape, focus: Focus) -> Result<(), Broken> {
    for leaf in shape.leaves() {
        let Shape::Array(array) = leaf else { continue };
        let broken = |label, text: String| Err(Broken::new(label, text).at(focus));
        if array.num_dims() > ArrayShape::MAX_DIMS {
            return broken(
                "shape_c3",
                format!(
                    "has {} dimensions, but at most {} are supported",
                    array.num_dims(),
                    ArrayShape::MAX_DIMS
                ),
            );
        }
        if let Some(dim) = array.dims.iter().position(|size| *size < 0) {
            return broken(
                "shape_c1",
                format!("has shape {array}, whose dimension {dim} is negative"),
            );
        }
        if array.byte_size().is_none() {
            return broken(
                "shape_c2",
                format!("has shape {array}, whose size in bytes does not fit in 64 bits"),
            );
        }
    }
    Ok(())
}

/// A declared shape is the one that the rule gives.
fn agree(opcode: Opcode, shape: &Shape, declared: Option<&Shape>) -> Result<(), Broken> {
    match declared {
        Some(declared) if !declared.compatible(shape) => Err(Broken::new(
            "result_c1",
            format!("is declared as {declared}, but `{opcode}` of these operands gives {shape}"),
        )
        .at(Focus::Result)),
        Some(_) | None => Ok(()),
    }
}
