//! Rebuilds a module computation by computation, called ones before their callers.

use std::cell::Cell;
use std::rc::Rc;

use hloc_ir::{Arena, Computation, ComputationId, Id, Module, Name, Op};

use crate::names::Names;
use crate::rewriter::Rewriter;

/// Which computations are the insides of fusions.
///
/// Passes that may leave unused instructions keep away from them: a fusion has none (`fusion_c4`).
pub(crate) fn fused_computations(module: &Module) -> Vec<bool> {
    let mut fused = vec![false; module.computations.len()];
    for computation in module.computations.values() {
        for instruction in computation.instructions.values() {
            if let Op::Fusion { calls, .. } = instruction.op {
                fused[calls.index()] = true;
            }
        }
    }
    fused
}

/// Where each old computation now is.
#[derive(Clone)]
pub(crate) struct ComputationMap(Rc<[Cell<Option<ComputationId>>]>);

impl ComputationMap {
    /// A map for a module of which nothing is rebuilt yet.
    pub(crate) fn of(module: &Module) -> ComputationMap {
        ComputationMap(module.computations.ids().map(|_| Cell::new(None)).collect())
    }

    /// Tells where the old computation `id` now is.
    pub(crate) fn set(&self, id: ComputationId, new: ComputationId) {
        self.0[id.index()].set(Some(new));
    }

    /// The rebuilt version of the old computation `id`.
    pub(crate) fn get(&self, id: ComputationId) -> ComputationId {
        self.0[id.index()]
            .get()
            .expect("called computations are rebuilt before their callers")
    }
}

/// A module under reconstruction.
pub(crate) struct ModuleRewriter<'m> {
    pass: &'static str,
    old: &'m Module,
    computations: Arena<ComputationId, Computation>,
    map: ComputationMap,
    /// Collected when the first fresh name is needed.
    names: Option<Names>,
    changed: bool,
}

impl<'m> ModuleRewriter<'m> {
    /// Starts to rebuild `old` for `pass`.
    pub(crate) fn new(pass: &'static str, old: &'m Module) -> ModuleRewriter<'m> {
        ModuleRewriter {
            pass,
            old,
            computations: Arena::new(),
            map: ComputationMap::of(old),
            names: None,
            changed: false,
        }
    }

    /// Starts to rebuild the old computation `id`, whose callees are placed.
    pub(crate) fn rewriter(&self, id: ComputationId) -> Rewriter<'m> {
        Rewriter::new(self.pass, &self.old.computations[id], self.map.clone())
    }

    /// Ends the rebuilding of the old computation `id`.
    pub(crate) fn place(&mut self, id: ComputationId, rewriter: Rewriter<'m>) {
        let (computation, changed) = rewriter.finish();
        self.changed |= changed;
        let new = self.computations.push(computation);
        self.map.set(id, new);
    }

    /// Copies the old computation `id` as it is.
    pub(crate) fn keep(&mut self, id: ComputationId) {
        let mut rebuilt = self.rewriter(id);
        for instruction in self.old.computations[id].instructions.ids() {
            rebuilt.copy(instruction);
        }
        self.place(id, rebuilt);
    }

    /// Leaves out an old computation, which nothing calls any more.
    pub(crate) fn leave_out(&mut self) {
        self.changed = true;
    }

    /// Adds a computation under a name made from `wanted`.
    pub(crate) fn add(&mut self, wanted: &str, mut computation: Computation) -> ComputationId {
        computation.name = self.fresh_name(wanted);
        self.changed = true;
        self.computations.push(computation)
    }

    /// A computation already placed or added, by its new id.
    pub(crate) fn at(&self, id: ComputationId) -> &Computation {
        &self.computations[id]
    }

    /// A computation already rebuilt, by its old id.
    pub(crate) fn rebuilt(&self, id: ComputationId) -> &Computation {
        &self.computations[self.map.get(id)]
    }

    /// The rebuilt module, or `None` if nothing changed.
    pub(crate) fn finish(self) -> Option<Module> {
        self.changed.then(|| Module {
            name: self.old.name.clone(),
            attributes: self.old.attributes.clone(),
            stack: self.old.stack.clone(),
            entry: self.map.get(self.old.entry),
            computations: self.computations,
        })
    }

    fn fresh_name(&mut self, wanted: &str) -> Name {
        let old = self.old;
        let names = self
            .names
            .get_or_insert_with(|| Names::of(old.computations.values().map(|c| &c.name)));
        names.fresh(wanted)
    }
}
