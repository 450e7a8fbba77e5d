//! Arrays of sizes known at run time become arrays of their bounds, with the sizes beside them.
//!
//! before:  x = f32[<=4] parameter(0)    ROOT r = f32[] reduce(x, 0), dimensions={0}, to_apply=add
//! after:   x = f32[4] parameter(0)      size = s32[] parameter(1)
//!          ROOT r = f32[] reduce(select(iota < size, x, -0), 0), dimensions={0}, to_apply=add
//!
//! Every dynamic dimension has a scalar with its real size; what lies behind is padding of any value. An op
//! that combines elements along a dynamic dimension clears the padding first ([`masked`]); one that moves
//! elements takes care that the padding stays behind ([`movement`], [`indexed`]); sizes go into and out of loops and
//! branches with the arrays ([`control`]). The entry gets one more parameter for each dynamic dimension of
//! its parameters and one more result for each of its results; the module attribute [`ATTRIBUTE`] says
//! which. An op for which there is no rule is refused.

mod control;
mod convolution;
mod entry;
mod indexed;
mod masked;
mod movement;
mod rules;

use std::collections::BTreeMap;

use hloc_ir::{Arena, Computation, ComputationId, Id, InstrId, Instruction, Module, Op, Shape};
use hloc_verify::VerifiedModule;

use crate::make::{InPlace, Make};
use crate::module_rewriter::ComputationMap;
use crate::rewriter::Rewriter;
use crate::{Pass, PassError};

/// The module attribute that tells which parameters and results carry sizes: `in 0:1 2:0 out 0:0` are
/// dimensions of arrays, tuples flattened, in the order of the sizes.
pub const ATTRIBUTE: &str = "hloc.dynamic";

const NAME: &str = "legalize-dynamic";

/// The most instructions that are made: loops and branches are rebuilt for each pattern of sizes.
const MAX_MADE: usize = 1 << 20;

/// Legalization of dynamic dimensions.
#[derive(Clone, Copy, Debug)]
pub struct LegalizeDynamic;

impl Pass for LegalizeDynamic {
    fn name(&self) -> &'static str {
        NAME
    }

    fn summary(&self) -> &'static str {
        "gives arrays of dynamic sizes their bounds, with the sizes beside them"
    }

    fn run(&self, module: &VerifiedModule) -> Result<Option<Module>, PassError> {
        let computations = module.computations.values();
        let mut instructions = computations.flat_map(|c| c.instructions.values());
        if !instructions.any(is_dynamic) {
            return Ok(None);
        }
        let dynamic = Dynamic {
            module,
            computations: Arena::new(),
            map: ComputationMap::of(module),
            statics: BTreeMap::new(),
            number: 0,
            made: 0,
        };
        dynamic.entry().map(Some).map_err(Refused::into_error)
    }
}

/// Whether an instruction has to do with dynamic sizes.
fn is_dynamic(instruction: &Instruction) -> bool {
    let leaves = instruction.shape.leaves();
    let mut arrays = leaves.iter().filter_map(|leaf| leaf.as_array());
    matches!(
        instruction.op,
        Op::SetDimensionSize { .. } | Op::GetDimensionSize { .. } | Op::DynamicReshape {}
    ) || arrays.any(|array| array.dynamic != 0)
}

/// An op for which there is no rule.
pub(super) struct Refused {
    instruction: Box<Instruction>,
    reason: &'static str,
}

impl Refused {
    fn into_error(self) -> PassError {
        PassError::Unsupported {
            pass: NAME,
            opcode: self.instruction.op.opcode().name(),
            instruction: self.instruction.name.clone(),
            reason: self.reason,
            span: self.instruction.origin.span(),
        }
    }
}

type Done<T> = Result<T, Refused>;

/// Per dimension of an array its real size, where that is not the bound: an `s32` scalar.
type Sizes = Vec<Option<InstrId>>;
/// The sizes of each array of a value, tuples flattened.
type Leaves = Vec<Sizes>;
/// Per array of a value which dimensions are dynamic.
type Pattern = Vec<Vec<bool>>;

fn pattern(leaves: &Leaves) -> Pattern {
    let dims = |sizes: &Sizes| sizes.iter().map(Option::is_some).collect();
    leaves.iter().map(dims).collect()
}

/// The sizes of a value of this shape if none is dynamic.
fn no_sizes(shape: &Shape) -> Leaves {
    let dims = |leaf: &&Shape| leaf.as_array().map_or(0, |array| array.num_dims());
    shape
        .leaves()
        .iter()
        .map(|leaf| vec![None; dims(leaf)])
        .collect()
}

fn any(leaves: &Leaves) -> bool {
    leaves.iter().flatten().any(Option::is_some)
}

/// The shape with bounds for sizes.
fn bounded(shape: &Shape) -> Shape {
    match shape {
        Shape::Array(array) => {
            let mut array = array.clone();
            array.dynamic = 0;
            Shape::Array(array)
        }
        Shape::Tuple(elements) => Shape::Tuple(elements.iter().map(bounded).collect()),
        Shape::Token | Shape::Opaque | Shape::Buffer(_) => shape.clone(),
    }
}

/// A module under legalization.
struct Dynamic<'m> {
    module: &'m Module,
    computations: Arena<ComputationId, Computation>,
    /// Computations without dynamic sizes, for ops that are copied.
    map: ComputationMap,
    statics: BTreeMap<ComputationId, ComputationId>,
    /// For names of new computations.
    number: usize,
    /// How many instructions were looked at, again for each pattern of sizes.
    made: usize,
}

/// A computation under legalization.
struct Region<'m> {
    rebuilt: Rewriter<'m>,
    /// By old instruction.
    sizes: Vec<Leaves>,
}

impl<'m> Region<'m> {
    fn make(&mut self, like: InstrId) -> InPlace<'_, 'm> {
        InPlace {
            rebuilt: &mut self.rebuilt,
            like,
        }
    }

    /// The sizes of an operand that is an array.
    fn sizes_of(&self, id: InstrId) -> Sizes {
        self.sizes[id.index()].first().cloned().unwrap_or_default()
    }

    fn refused<T>(&self, id: InstrId, reason: &'static str) -> Done<T> {
        Err(Refused {
            instruction: Box::new(self.rebuilt.old().instructions[id].clone()),
            reason,
        })
    }

    /// Makes the instruction as it is, with bounds for sizes.
    fn copy(&mut self, id: InstrId) {
        let shape = &self.rebuilt.old().instructions[id].shape;
        let bounds = bounded(shape);
        if bounds == *shape {
            self.rebuilt.copy(id);
        } else {
            let (op, operands) = (self.rebuilt.mapped_op(id), self.rebuilt.mapped_operands(id));
            self.rebuilt.put(id, op, &operands, bounds);
        }
    }
}

impl<'m> Dynamic<'m> {
    fn region(&self, id: ComputationId) -> Region<'m> {
        let computation = &self.module.computations[id];
        Region {
            rebuilt: Rewriter::new(NAME, computation, self.map.clone()),
            sizes: vec![Leaves::new(); computation.instructions.len()],
        }
    }

    /// A computation that no dynamic size enters or leaves, such as a reducer.
    fn plain(&mut self, id: ComputationId) -> Done<ComputationId> {
        if let Some(done) = self.statics.get(&id) {
            return Ok(*done);
        }
        let mut region = self.region(id);
        let computation = region.rebuilt.old();
        for (id, instruction) in computation.instructions.iter() {
            if let Op::Parameter { .. } = instruction.op {
                region.copy(id);
                region.sizes[id.index()] = no_sizes(&instruction.shape);
            } else {
                self.instruction(&mut region, id)?;
            }
        }
        if any(&region.sizes[computation.root.index()]) {
            return region.refused(
                computation.root,
                "a called computation gives a dynamic size",
            );
        }
        let (computation, _) = region.rebuilt.finish();
        let new = self.computations.push(computation);
        self.statics.insert(id, new);
        self.map.set(id, new);
        Ok(new)
    }

    /// Adds a computation of its own under a fresh name.
    fn add(&mut self, mut computation: Computation) -> ComputationId {
        let taken = |name: &str| self.module.computations.values().any(|c| &*c.name == name);
        let name = loop {
            let name = format!("{}.sized.{}", computation.name, self.number);
            self.number += 1;
            if !taken(&name) {
                break name;
            }
        };
        computation.name = name.into();
        computation.signature = None;
        self.computations.push(computation)
    }

    /// One instruction that is no parameter.
    fn instruction(&mut self, region: &mut Region<'m>, id: InstrId) -> Done<()> {
        self.made += 1;
        if self.made > MAX_MADE {
            return region.refused(id, "too many loops and branches carry dynamic sizes");
        }
        let instruction = &region.rebuilt.old().instructions[id];
        if let Op::While { .. } | Op::Conditional { .. } = instruction.op {
            return self.control(region, id);
        }
        for callee in instruction.op.called_computations() {
            self.plain(callee)?;
        }
        let sized = instruction
            .operands
            .iter()
            .any(|operand| any(&region.sizes[operand.index()]));
        let acts = matches!(
            instruction.op,
            Op::SetDimensionSize { .. } | Op::GetDimensionSize { .. } | Op::DynamicReshape {}
        );
        if !sized && !acts {
            region.copy(id);
            region.sizes[id.index()] = no_sizes(&instruction.shape);
            return Ok(());
        }
        let sizes = self.rule(region, id)?;
        region.sizes[id.index()] = sizes;
        Ok(())
    }
}

/// The real size of dimension `at`, or its bound.
fn size_at(make: &mut impl Make, x: InstrId, sizes: &Sizes, at: usize) -> InstrId {
    match sizes.get(at).copied().flatten() {
        Some(size) => size,
        None => {
            let bound = make.array(x).dims[at];
            make.scalar(i32::try_from(bound).unwrap_or(i32::MAX))
        }
    }
}
