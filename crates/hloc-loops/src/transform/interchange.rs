//! Counted loops of element-wise steps move into a loop over the elements.
//!
//! ```text
//! while (50 times)                                     kernel @while(z: f32[8], c: f32[8]) {
//!   kernel @step: for i in 0..8 parallel {      →        for i in 0..8 parallel {
//!     store y[i], z[i] * z[i] + c[i]                        for t in 0..50 serial carries z[i] {
//!   }                                                         … z * z + c[i]
//!   swap z, y                                               }
//!                                                           store z[i], …
//!                                                         }
//!                                                       }
//! ```
//!
//! What the loop changes then stays in registers from the first iteration to the last, where it went through
//! memory once per iteration. The loops may be exchanged if no iteration touches an element that another element's
//! iterations write: if everything that the loop changes is an array with the extents of the parallel loops, read
//! and written only at the element that these loops are at, or has one element that does not depend on them.

use std::collections::{BTreeMap, BTreeSet};

use super::copy::Copier;
use super::count_statements;
use super::merge::loops;
use super::whole_loop::{Merger, Swaps, swapped};
use crate::index::{Index, linear_index};
use crate::ir::{
    Access, Block, BufferId, Carried, ConstantBits, Expr, For, Kernel, KernelId, LoopKind, ParamId,
    Program, Step, Stmt, Value, ValueId, VarId,
};

/// The most statements in the loop: more do not fit in registers.
const MAX_STATEMENTS: usize = 200;
/// The most values that the loop may carry.
const MAX_CARRIED: usize = 12;

/// A counted loop as it was.
pub(super) struct Counted<'p> {
    pub(super) program: &'p Program,
    /// What runs in an iteration, but for the exchanges.
    pub(super) iteration: &'p [Step],
    /// What is exchanged after each iteration.
    pub(super) swaps: &'p Swaps,
    /// How often it runs, at least once.
    pub(super) trips: i64,
}

/// What a loop becomes.
pub(super) struct Interchanged {
    /// What happens to arrays.
    pub(super) kernel: Kernel,
    /// Its buffers.
    pub(super) args: Vec<BufferId>,
    /// The steps of the loop, by position, that leave scalars which are read after it.
    pub(super) scalars: Vec<usize>,
}

/// The loop as a kernel, and what else must still be repeated. `is_read` says of which buffers something outside of
/// the loop reads what the loop leaves in them.
pub(super) fn interchanged(
    counted: &Counted<'_>,
    is_read: &dyn Fn(BufferId) -> bool,
) -> Option<Interchanged> {
    let nest = Nest::of(counted, is_read)?;
    let mut exchange = Exchange::new(counted, &nest);
    let body = exchange.build()?;
    let steps = &counted.iteration[*nest.steps.first()?..];
    let (kernel, args) = exchange.merger.finish(body, steps)?;
    Some(Interchanged {
        kernel,
        args,
        scalars: nest.scalars,
    })
}

/// What is known of a loop whose steps run over the same elements.
struct Nest {
    /// Extents of the parallel loops, outermost first.
    extents: Vec<i64>,
    /// The steps that are needed, in order.
    steps: Vec<usize>,
    /// What the loop changes, all of it read or written element by element.
    changed: BTreeSet<BufferId>,
    /// Of that, what goes from one iteration to the next or out of the loop.
    carried: Vec<BufferId>,
    /// The arrays that are read after the loop.
    results: Vec<BufferId>,
    /// The steps that make the scalars which are read after it.
    scalars: Vec<usize>,
}

impl Nest {
    fn of(counted: &Counted<'_>, is_read: &dyn Fn(BufferId) -> bool) -> Option<Nest> {
        let extents = common_extents(counted)?;
        let mut changed = BTreeSet::new();
        counted.iteration.iter().for_each(|step| {
            changed.extend(written(counted.program, step));
        });
        changed.extend(counted.swaps.iter().flat_map(|(a, b)| [*a, *b]));
        let results = changed.iter().copied().filter(|id| is_read(*id));
        let (scalars, results): (Vec<_>, Vec<_>) =
            results.partition(|id| is_scalar(counted.program, *id));
        let (carried, steps) = needed(counted, &results);
        let (inner, scalars) = needed(counted, &scalars);
        let nest = Nest {
            extents,
            steps,
            changed,
            carried,
            results,
            scalars,
        };
        let are_apart = inner.iter().all(|id| is_scalar(counted.program, *id));
        (are_apart && nest.fits(counted)).then_some(nest)
    }

    /// Whether the first iteration reads a carried element, or an iteration hands it on as it came.
    fn is_read_first(&self, counted: &Counted<'_>, buffer: BufferId) -> bool {
        for at in &self.steps {
            let step = &counted.iteration[*at];
            if read(counted.program, step).contains(&buffer) {
                return true;
            }
            if written(counted.program, step).contains(&buffer) {
                return false;
            }
        }
        true
    }

    /// Whether the shapes of what changes are those of the loops, and few values go around.
    fn fits(&self, counted: &Counted<'_>) -> bool {
        let program = counted.program;
        let elements: i64 = self.extents.iter().product();
        let is_array = |id: &BufferId| program.buffers[*id].shape.num_elements() == Some(elements);
        let count = |step: &usize| match &counted.iteration[*step] {
            Step::Kernel { kernel, .. } => count_statements(&program.kernels[*kernel].body),
            Step::Copy { .. }
            | Step::Library(_)
            | Step::Swap(..)
            | Step::While { .. }
            | Step::Conditional { .. } => 1,
        };
        let statements: usize = self.steps.iter().map(count).sum();
        let mut changed = self.changed.iter();
        elements > 1
            && !self.results.is_empty()
            && changed.all(|id| is_array(id) || is_scalar(program, *id))
            && self.carried.len() <= MAX_CARRIED
            && statements <= MAX_STATEMENTS
    }
}

/// Whether a buffer has one element.
pub(super) fn is_scalar(program: &Program, buffer: BufferId) -> bool {
    program.buffers[buffer].shape.num_elements() == Some(1)
}

/// The extents of the loops around every step's statements, of those that have any; `None` if a step is something
/// else than loops around plain statements, or a copy.
fn common_extents(counted: &Counted<'_>) -> Option<Vec<i64>> {
    let mut common: Option<Vec<i64>> = None;
    for step in counted.iteration {
        let kernel = match step {
            Step::Kernel { kernel, .. } => &counted.program.kernels[*kernel],
            Step::Copy { .. } => continue,
            Step::Library(_) | Step::Swap(..) | Step::While { .. } | Step::Conditional { .. } => {
                return None;
            }
        };
        let (chain, body) = nest_of(kernel);
        let is_plain = body.iter().all(|stmt| match stmt {
            Stmt::Let { .. } | Stmt::Store { .. } => true,
            Stmt::For(_) | Stmt::If(_) => false,
        });
        let extents: Vec<i64> = chain
            .iter()
            .map(|each| kernel.vars[each.var].extent)
            .collect();
        let agrees = extents.is_empty() || common.as_ref().is_none_or(|known| *known == extents);
        if !is_plain || !agrees {
            return None;
        }
        if !extents.is_empty() {
            common = Some(extents);
        }
    }
    common
}

/// The loops of a kernel around its innermost block, and that block.
fn nest_of(kernel: &Kernel) -> (Vec<&For>, &Block) {
    let chain = loops(&kernel.body);
    let body = chain.last().map_or(&kernel.body, |inner| &inner.body);
    (chain, body)
}

/// The buffers that a kernel or a copy writes.
fn written(program: &Program, step: &Step) -> Vec<BufferId> {
    accessed(program, step, |access| access != Access::Read)
}

/// The buffers that a kernel or a copy reads.
fn read(program: &Program, step: &Step) -> Vec<BufferId> {
    accessed(program, step, |access| access != Access::Write)
}

fn accessed(program: &Program, step: &Step, which: impl Fn(Access) -> bool) -> Vec<BufferId> {
    match step {
        Step::Kernel { kernel, args } => {
            let params = program.kernels[*kernel].params.values().zip(args);
            let params = params.filter(|(param, _)| which(param.access));
            params.map(|(_, buffer)| *buffer).collect()
        }
        Step::Copy { from, to } => {
            let sides = [(*from, Access::Read), (*to, Access::Write)];
            let sides = sides.into_iter().filter(|(_, access)| which(*access));
            sides.map(|(buffer, _)| buffer).collect()
        }
        Step::Library(_) | Step::Swap(..) | Step::While { .. } | Step::Conditional { .. } => {
            Vec::new()
        }
    }
}

/// What must go around for `results` to be known after the last iteration, and the steps that make it.
fn needed(counted: &Counted<'_>, results: &[BufferId]) -> (Vec<BufferId>, Vec<usize>) {
    let mut carried: BTreeSet<BufferId> = results.iter().copied().collect();
    loop {
        let before = carried.len();
        let mut live: BTreeSet<BufferId> = carried
            .iter()
            .map(|id| swapped(counted.swaps, *id))
            .collect();
        let mut steps = Vec::new();
        for (at, step) in counted.iteration.iter().enumerate().rev() {
            let makes = written(counted.program, step);
            if !makes.iter().any(|id| live.contains(id)) {
                continue;
            }
            makes.iter().for_each(|id| {
                live.remove(id);
            });
            live.extend(read(counted.program, step));
            steps.push(at);
        }
        let changes = |id: &BufferId| {
            counted.swaps.iter().any(|(a, b)| a == id || b == id)
                || counted
                    .iteration
                    .iter()
                    .any(|step| written(counted.program, step).contains(id))
        };
        carried.extend(live.into_iter().filter(changes));
        if carried.len() == before {
            steps.reverse();
            return (carried.into_iter().collect(), steps);
        }
    }
}

/// The making of the kernel.
struct Exchange<'p> {
    counted: &'p Counted<'p>,
    nest: &'p Nest,
    merger: Merger<'p>,
    place: Place<'p>,
    elements: Elements,
}

/// Where the parallel loops are.
struct Place<'p> {
    program: &'p Program,
    vars: Vec<VarId>,
    extents: &'p [i64],
}

impl Place<'_> {
    /// The element of a buffer that the loop changes.
    fn element(&self, buffer: BufferId) -> Index {
        if is_scalar(self.program, buffer) {
            return Index::constant(0);
        }
        let indices: Vec<Index> = self.vars.iter().map(|var| Index::var(*var)).collect();
        linear_index(&indices, self.extents)
    }
}

/// What elements are called.
#[derive(Default)]
struct Elements {
    /// Of the buffers that the loop changes, now.
    values: BTreeMap<BufferId, ValueId>,
    /// What stands before the loop: the first values, and what it reads but does not change.
    before: Block,
    /// Elements read before the loop.
    loaded: Vec<(ParamId, Index, ValueId)>,
}

impl Elements {
    /// The value of an element that the loop does not change; `name` makes one for the first use.
    fn load(&mut self, param: ParamId, index: Index, name: impl FnOnce() -> ValueId) -> ValueId {
        let mut loaded = self.loaded.iter();
        let known = loaded.find(|(from, at, _)| *from == param && *at == index);
        if let Some((_, _, value)) = known {
            return *value;
        }
        let value = name();
        self.loaded.push((param, index.clone(), value));
        let expr = Expr::Load { param, index };
        self.before.push(Stmt::Let { value, expr });
        value
    }
}

impl<'p> Exchange<'p> {
    fn new(counted: &'p Counted<'p>, nest: &'p Nest) -> Exchange<'p> {
        let mut merger = Merger::new(counted.program);
        let extents = nest.extents.iter();
        let vars = extents.map(|extent| merger.var("i", *extent)).collect();
        Exchange {
            counted,
            nest,
            merger,
            place: Place {
                program: counted.program,
                vars,
                extents: &nest.extents,
            },
            elements: Elements::default(),
        }
    }

    /// The loops with everything inside; `None` if a step touches another element than the loops are at.
    fn build(&mut self) -> Option<Block> {
        let mut carried = Vec::new();
        for id in &self.nest.carried {
            let init = self.initial(*id);
            let current = self.value(*id);
            carried.push((*id, init, current));
        }
        for (id, _, current) in &carried {
            self.elements.values.insert(*id, *current);
        }
        let mut body = Block::new();
        for at in &self.nest.steps {
            match &self.counted.iteration[*at] {
                Step::Kernel { kernel, args } => self.kernel(*kernel, args, &mut body)?,
                Step::Copy { from, to } => self.copy(*from, *to)?,
                Step::Library(_)
                | Step::Swap(..)
                | Step::While { .. }
                | Step::Conditional { .. } => return None,
            }
        }
        let (carried, mut after) = self.ends(&carried)?;
        let mut block = std::mem::take(&mut self.elements.before);
        block.push(Stmt::For(For {
            var: self.merger.var("t", self.counted.trips),
            kind: LoopKind::Serial,
            carried,
            body,
        }));
        block.append(&mut after);
        Some(self.around(block))
    }

    /// What an element is before the loop.
    fn initial(&mut self, buffer: BufferId) -> ValueId {
        let value = self.value(buffer);
        let is_read = self.nest.is_read_first(self.counted, buffer);
        let expr = if is_read {
            Expr::Load {
                param: self.merger.param(buffer, Access::Read),
                index: self.place.element(buffer),
            }
        } else {
            Expr::Constant(ConstantBits(0))
        };
        self.elements.before.push(Stmt::Let { value, expr });
        value
    }

    /// The carried values, and the stores of those that are read after the loop.
    fn ends(&mut self, carried: &[(BufferId, ValueId, ValueId)]) -> Option<(Vec<Carried>, Block)> {
        let (mut all, mut after) = (Vec::new(), Block::new());
        for (id, init, current) in carried {
            let source = swapped(self.counted.swaps, *id);
            let carried = Carried {
                init: *init,
                current: *current,
                next: *self.elements.values.get(&source)?,
                result: self.value(*id),
            };
            if self.nest.results.contains(id) {
                after.push(Stmt::Store {
                    param: self.merger.param(*id, Access::Write),
                    index: self.place.element(*id),
                    value: carried.result,
                });
            }
            all.push(carried);
        }
        Some((all, after))
    }

    /// The parallel loops around a block.
    fn around(&self, mut block: Block) -> Block {
        for (at, var) in self.place.vars.iter().enumerate().rev() {
            let kind = match at {
                0 => LoopKind::Parallel,
                at if at + 1 == self.place.vars.len() => LoopKind::Vector,
                _ => LoopKind::Serial,
            };
            block = vec![Stmt::For(For {
                var: *var,
                kind,
                carried: Vec::new(),
                body: block,
            })];
        }
        block
    }

    fn value(&mut self, buffer: BufferId) -> ValueId {
        let element_type = self.counted.program.buffers[buffer].shape.element_type;
        self.merger.names.values.push(Value { element_type })
    }

    fn copy(&mut self, from: BufferId, to: BufferId) -> Option<()> {
        let value = if self.nest.changed.contains(&from) {
            *self.elements.values.get(&from)?
        } else {
            let value = self.value(from);
            let param = self.merger.param(from, Access::Read);
            let index = self.place.element(from);
            self.elements.load(param, index, || value)
        };
        self.elements.values.insert(to, value);
        Some(())
    }

    /// Adds what a kernel does with one element.
    fn kernel(&mut self, id: KernelId, args: &[BufferId], body: &mut Block) -> Option<()> {
        let kernel = &self.counted.program.kernels[id];
        let (chain, block) = nest_of(kernel);
        let (mut changed, mut params) = (BTreeMap::new(), BTreeMap::new());
        for (param, buffer) in kernel.params.ids().zip(args) {
            if self.nest.changed.contains(buffer) {
                changed.insert(param, *buffer);
            } else {
                params.insert(param, self.merger.param(*buffer, Access::Read));
            }
        }
        self.merger
            .instructions
            .extend_from_slice(&kernel.instructions);
        let mut copier = Copier::between(&mut self.merger.names, kernel, params.clone());
        for (own, var) in chain.iter().zip(&self.place.vars) {
            copier.replace(own.var, Index::var(*var));
        }
        let mut inlined = Inlined {
            copier,
            place: &self.place,
            elements: &mut self.elements,
            changed,
            params,
        };
        block
            .iter()
            .try_for_each(|stmt| inlined.statement(stmt, body))
    }
}

/// The statements of a kernel as part of an iteration.
struct Inlined<'a, 'n> {
    copier: Copier<'n>,
    place: &'a Place<'a>,
    elements: &'a mut Elements,
    /// Its parameters that are buffers which the loop changes.
    changed: BTreeMap<ParamId, BufferId>,
    /// The others, by those of the new kernel.
    params: BTreeMap<ParamId, ParamId>,
}

impl Inlined<'_, '_> {
    /// Adds a statement, unless it moves a value; `None` if it touches another element than the loops are at.
    fn statement(&mut self, stmt: &Stmt, body: &mut Block) -> Option<()> {
        match stmt {
            Stmt::Let {
                value,
                expr: Expr::Load { param, index },
            } => self.load(*value, *param, index, body),
            Stmt::Let { .. } => {
                body.push(self.copier.stmt(stmt));
                Some(())
            }
            Stmt::Store {
                param,
                index,
                value,
            } => {
                let buffer = *self.changed.get(param)?;
                let value = self.copier.value(*value);
                self.elements.values.insert(buffer, value);
                (self.copier.index(index) == self.place.element(buffer)).then_some(())
            }
            Stmt::For(_) | Stmt::If(_) => None,
        }
    }

    fn load(
        &mut self,
        value: ValueId,
        param: ParamId,
        index: &Index,
        body: &mut Block,
    ) -> Option<()> {
        let index = self.copier.index(index);
        if let Some(buffer) = self.changed.get(&param) {
            let current = *self.elements.values.get(buffer)?;
            self.copier.take(value, current);
            return (index == self.place.element(*buffer)).then_some(());
        }
        let param = *self.params.get(&param)?;
        if index.dynamic_values().is_empty() {
            let copier = &mut self.copier;
            let known = self.elements.load(param, index, || copier.bind(value));
            self.copier.take(value, known);
        } else {
            let value = self.copier.bind(value);
            let expr = Expr::Load { param, index };
            body.push(Stmt::Let { value, expr });
        }
        Some(())
    }
}
