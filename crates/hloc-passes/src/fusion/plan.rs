//! Decides which instructions join which fusion, in time linear in the copies it makes.
//!
//! That no fusion depends on itself follows from how instructions join; `kernel_order` checks it on the
//! graph of what is left to run, so that a mistake in the rules above is found before it becomes a cycle.

use hloc_ir::{Computation, Id, InstrId, Op, Users};
use petgraph::algo::toposort;
use petgraph::graph::{DiGraph, NodeIndex};
use smallvec::SmallVec;

use super::class::{Class, Edge, MAX_OPERANDS, Work, class, edge};

/// The most work of a fusion: what its kernel takes to compile and its registers hold. At this many ops, going
/// to memory in between costs a few per cent of what they compute.
const MAX_WORK: usize = 1024;
/// The most fusions that an instruction is copied into, `broadcast`, `iota` and the like excepted.
const MAX_COPIES: usize = 4;
/// The longest chain of instructions that is copied for the sake of its end.
const MAX_COPIED_CHAIN: u32 = 12;
/// The longest chain of cheap ops that is computed again for each element of a broadcast.
const MAX_REPEATED_CHAIN: u8 = 8;

/// Which of several fusions.
pub(super) type GroupId = usize;

/// The instructions of one fusion.
#[derive(Debug)]
pub(super) struct Group {
    /// The instruction whose value is the result.
    pub(super) root: InstrId,
    /// All instructions, users before operands.
    pub(super) members: Vec<InstrId>,
    /// How many of them are no constants.
    pub(super) size: usize,
    /// How much they compute, at most [`MAX_WORK`] and what follows from the index.
    work: usize,
    /// What comes from outside so far; more than [`MAX_OPERANDS`] never.
    operands: Vec<InstrId>,
    next_context: u32,
}

impl Group {
    /// Whether this is worth a fusion.
    pub(super) fn is_formed(&self) -> bool {
        self.size > 1
    }
}

/// An instruction's part in a group.
#[derive(Clone, Debug)]
struct Membership {
    group: GroupId,
    /// The places at which it is evaluated for one output element: users at the same index share one.
    contexts: SmallVec<[u32; 4]>,
    /// Length of the chain of cheap ops from here to an op that repeats them, if there is one.
    repeated: Option<u8>,
    /// Whether there is a condition between here and the root.
    guarded: bool,
}

/// What happens to each instruction of a computation.
#[derive(Debug)]
pub(super) struct Plan {
    /// The groups, those with later roots first.
    pub(super) groups: Vec<Group>,
    /// The group of which an instruction is the root, if that group is formed.
    pub(super) group_of_root: Vec<Option<GroupId>>,
    /// Whether an instruction's value is needed outside of the fusions it is in.
    pub(super) stored: Vec<bool>,
    /// Instructions that users in fusions load instead of computing them, and why.
    pub(super) refusals: Vec<(InstrId, Refusal)>,
}

/// Why an instruction does not join a fusion that uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The fusion has as much work as it may.
    Work,
    /// The fusion has as many operands as it may.
    Operands,
    /// It would be evaluated at so many places of one kernel.
    Places(usize),
    /// It is costly and would be evaluated for each element of a broadcast of it.
    RepeatsCost,
    /// The chain of which it is part would be evaluated for each element of a broadcast of it.
    RepeatsChain,
    /// It is costly and would be evaluated where it is not needed.
    Guarded,
    /// It would be copied into so many fusions.
    Copies(usize),
    /// Something that is in no fusion needs its value.
    Needed,
}

impl Plan {
    /// The plan that changes nothing.
    pub(super) fn nothing(computation: &Computation) -> Plan {
        Plan {
            groups: Vec::new(),
            group_of_root: vec![None; computation.instructions.len()],
            stored: vec![true; computation.instructions.len()],
            refusals: Vec::new(),
        }
    }
}

/// A fusion that would depend on itself: a mistake in this file.
#[derive(Clone, Copy, Debug)]
pub(super) struct DependsOnItself {
    /// Where its value is made.
    pub(super) root: InstrId,
}

impl Plan {
    /// An order in which what stays can run, operands first: fusions by their roots, and the
    /// instructions that stay as they are.
    ///
    /// # Errors
    /// A fusion on a cycle of the graph of values that are handed on.
    pub(super) fn kernel_order(
        &self,
        computation: &Computation,
    ) -> Result<Vec<InstrId>, DependsOnItself> {
        let graph = self.graph(computation);
        let order = toposort(&graph, None);
        let order = order.map_err(|cycle| DependsOnItself {
            root: graph[cycle.node_id()],
        })?;
        Ok(order.into_iter().map(|node| graph[node]).collect())
    }

    /// A node for what runs, an edge for each value handed on.
    fn graph(&self, computation: &Computation) -> DiGraph<InstrId, ()> {
        let count = computation.instructions.len();
        let mut graph = DiGraph::with_capacity(count, count);
        let mut nodes: Vec<Option<NodeIndex>> = vec![None; count];
        for id in computation.instructions.ids() {
            if self.stored[id.index()] {
                nodes[id.index()] = Some(graph.add_node(id));
            }
        }
        // The last fusion in which each instruction was met.
        let mut inside = vec![None; count];
        for (id, node) in computation.instructions.ids().zip(&nodes) {
            let Some(node) = *node else { continue };
            let alone = [id];
            let group = self.group_of_root[id.index()];
            let members = group.map_or(&alone[..], |group| &self.groups[group].members);
            for member in members {
                inside[member.index()] = Some(id);
            }
            for member in members {
                for operand in &computation.instructions[*member].operands {
                    let from = nodes[operand.index()];
                    if let (Some(from), true) = (from, inside[operand.index()] != Some(id)) {
                        graph.add_edge(from, node, ());
                    }
                }
            }
        }
        graph
    }
}

/// Decides for every instruction of `computation`.
pub(super) fn plan(computation: &Computation) -> Plan {
    let classes = classes(computation);
    if !classes.iter().any(|class| may_be_root(*class)) {
        return Plan::nothing(computation);
    }
    let count = computation.instructions.len();
    let mut planner = Planner {
        computation,
        users: Users::of(computation),
        classes,
        groups: Vec::new(),
        memberships: vec![Vec::new(); count],
        stored: vec![false; count],
        refusals: Vec::new(),
        copied_chain: vec![0; count],
    };
    for id in computation.instructions.ids().rev() {
        planner.visit(id);
    }
    planner.finish()
}

fn may_be_root(class: Class) -> bool {
    match class {
        Class::Elemental(_) | Class::Reduce => true,
        Class::ScalarConstant | Class::Outside => false,
    }
}

/// The class of each instruction; those with control dependencies are left outside.
fn classes(computation: &Computation) -> Vec<Class> {
    let instructions = computation.instructions.values();
    let mut classes: Vec<_> = instructions.map(|i| class(computation, i)).collect();
    for (id, instruction) in computation.instructions.iter() {
        let attributes = instruction.attributes.as_ref();
        for predecessor in attributes.map_or(&[][..], |a| &a.control_predecessors) {
            classes[id.index()] = Class::Outside;
            classes[predecessor.index()] = Class::Outside;
        }
    }
    classes
}

struct Planner<'a> {
    computation: &'a Computation,
    users: Users,
    classes: Vec<Class>,
    groups: Vec<Group>,
    /// The groups that hold each instruction, sorted.
    memberships: Vec<Vec<Membership>>,
    stored: Vec<bool>,
    refusals: Vec<(InstrId, Refusal)>,
    /// Length of the copied chain that begins at each instruction, 0 if it is not copied.
    copied_chain: Vec<u32>,
}

/// A user in a group: the group, the user, and which of the user's memberships it is.
type Use = (GroupId, InstrId, usize);

impl Planner<'_> {
    /// Places one instruction; all its users are placed.
    fn visit(&mut self, id: InstrId) {
        let (uses, escapes) = self.uses(id);
        match self.classes[id.index()] {
            Class::Outside => self.stored[id.index()] = true,
            Class::ScalarConstant => self.place_constant(id, &uses, escapes),
            Class::Reduce => self.begin_group(id),
            Class::Elemental(work) => self.place(id, work, &uses, escapes),
        }
        self.memberships[id.index()].sort_by_key(|membership| membership.group);
    }

    /// The uses of `id` in groups, sorted by group, and whether it is also needed outside of groups.
    fn uses(&self, id: InstrId) -> (Vec<Use>, bool) {
        let mut uses = Vec::new();
        let mut escapes = id == self.computation.root;
        for user in self.users.get(id) {
            let memberships = &self.memberships[user.index()];
            escapes |= memberships.is_empty();
            let groups = memberships.iter().enumerate();
            uses.extend(groups.map(|(at, membership)| (membership.group, *user, at)));
        }
        uses.sort_unstable();
        (uses, escapes)
    }

    fn place_constant(&mut self, id: InstrId, uses: &[Use], escapes: bool) {
        self.stored[id.index()] = escapes || uses.is_empty();
        for uses in uses.chunk_by(|a, b| a.0 == b.0) {
            let group = uses[0].0;
            self.groups[group].members.push(id);
            self.memberships[id.index()].push(Membership {
                group,
                contexts: SmallVec::new(),
                repeated: None,
                guarded: false,
            });
        }
    }

    fn place(&mut self, id: InstrId, work: Work, uses: &[Use], escapes: bool) {
        let mut fitting = Vec::new();
        let mut group_count = 0;
        let mut refusal = None;
        for uses in uses.chunk_by(|a, b| a.0 == b.0) {
            group_count += 1;
            match self.fit(id, work, uses) {
                Ok(membership) => fitting.push(membership),
                Err(reason) => refusal = Some(reason),
            }
        }
        let all_fit = group_count > 0 && fitting.len() == group_count;
        if all_fit && !escapes && (group_count == 1 || self.may_copy(id, work, group_count)) {
            if group_count > 1 {
                self.copied_chain[id.index()] = self.chain(id);
            }
            self.join(id, fitting);
            return;
        }
        if self.copies_although_stored(id, work) && !fitting.is_empty() {
            self.copied_chain[id.index()] = self.chain(id);
            self.join(id, fitting);
        } else if group_count > 0 {
            let other = if escapes {
                Refusal::Needed
            } else {
                Refusal::Copies(group_count)
            };
            self.refusals.push((id, refusal.unwrap_or(other)));
        }
        self.begin_group(id);
    }

    /// What `id` would be in the group of `uses`, or why it does not fit.
    fn fit(&mut self, id: InstrId, work: Work, uses: &[Use]) -> Result<Membership, Refusal> {
        let group = uses[0].0;
        // What follows from the index alone is better computed anywhere than loaded.
        let is_full = self.groups[group].work + weight(work) > MAX_WORK;
        if is_full && !self.follows_from_index(id) {
            return Err(Refusal::Work);
        }
        if !self.operands_fit(id, group) {
            return Err(Refusal::Operands);
        }
        let mut joined = Membership {
            group,
            contexts: SmallVec::new(),
            repeated: None,
            guarded: false,
        };
        for (_, user, at) in uses {
            let operands = &self.computation.instructions[*user].operands;
            for position in 0..operands.len() {
                if operands[position] == id {
                    let through = &self.memberships[user.index()][*at];
                    let edge = edge(self.computation, *user, position);
                    let next_context = &mut self.groups[group].next_context;
                    add_use(&mut joined, through, edge, next_context);
                }
            }
        }
        match objection(&mut joined, work) {
            Some(refusal) => Err(refusal),
            None => Ok(joined),
        }
    }

    /// Whether the group keeps few enough operands when `id` joins.
    fn operands_fit(&self, id: InstrId, group: GroupId) -> bool {
        let present = &self.groups[group].operands;
        let added = self.outside_operands(id);
        let new = added.iter().filter(|operand| !present.contains(operand));
        present.len() + new.count() <= MAX_OPERANDS + usize::from(present.contains(&id))
    }

    /// The operands of `id` that a group would take from outside, each once.
    fn outside_operands(&self, id: InstrId) -> SmallVec<[InstrId; 4]> {
        let mut outside = SmallVec::new();
        for operand in &self.computation.instructions[id].operands {
            let constant = self.classes[operand.index()] == Class::ScalarConstant;
            if !constant && !outside.contains(operand) {
                outside.push(*operand);
            }
        }
        outside
    }

    fn join(&mut self, id: InstrId, memberships: Vec<Membership>) {
        let (added, weight) = (self.outside_operands(id), self.weight(id));
        for membership in &memberships {
            let group = &mut self.groups[membership.group];
            group.members.push(id);
            group.size += 1;
            group.work += weight;
            group.operands.retain(|operand| *operand != id);
            for operand in &added {
                if !group.operands.contains(operand) {
                    group.operands.push(*operand);
                }
            }
        }
        self.memberships[id.index()].extend(memberships);
    }

    /// What `id` adds to the work of a group.
    fn weight(&self, id: InstrId) -> usize {
        match self.classes[id.index()] {
            Class::Elemental(work) => weight(work),
            Class::Reduce => weight(Work::Costly),
            Class::ScalarConstant | Class::Outside => 0,
        }
    }

    /// Makes `id` the root of a group of its own.
    fn begin_group(&mut self, id: InstrId) {
        self.stored[id.index()] = true;
        let group = self.groups.len();
        self.groups.push(Group {
            root: id,
            members: vec![id],
            size: 1,
            work: self.weight(id),
            operands: self.outside_operands(id).to_vec(),
            next_context: 1,
        });
        self.memberships[id.index()].push(Membership {
            group,
            contexts: SmallVec::from_slice(&[0]),
            repeated: None,
            guarded: false,
        });
    }

    /// Whether `id` may be copied into several groups.
    fn may_copy(&self, id: InstrId, work: Work, groups: usize) -> bool {
        if self.follows_from_index(id) {
            return true;
        }
        let light = match work {
            Work::Index => !self.has_costly_operand(id),
            Work::Cheap => groups <= MAX_COPIES && !self.is_concatenate(id),
            Work::Costly => false,
        };
        light && self.chain(id) <= MAX_COPIED_CHAIN
    }

    /// Whether copying `id` beats loading its stored value: it is free, or a view of a stored value.
    ///
    /// What a view of a value outside of fusions reads is copied no further, so its chain does not matter.
    fn copies_although_stored(&self, id: InstrId, work: Work) -> bool {
        let instruction = &self.computation.instructions[id];
        let mut operands = instruction.operands.iter();
        let view = work == Work::Index && operands.all(|operand| self.is_never_fused(*operand));
        let reshape = matches!(instruction.op, Op::Reshape { .. });
        self.follows_from_index(id) || view || reshape && self.chain(id) <= MAX_COPIED_CHAIN
    }

    /// Whether `id` is outside of fusions in every run; what a fusion holds was not, before it was formed.
    fn is_never_fused(&self, id: InstrId) -> bool {
        let op = &self.computation.instructions[id].op;
        self.classes[id.index()] == Class::Outside && !matches!(op, Op::Fusion { .. })
    }

    /// A broadcast is never stored for the sake of a fusion, and an `iota` never read.
    fn follows_from_index(&self, id: InstrId) -> bool {
        let op = &self.computation.instructions[id].op;
        matches!(op, Op::Broadcast { .. } | Op::Iota { .. })
    }

    fn is_concatenate(&self, id: InstrId) -> bool {
        matches!(self.computation.instructions[id].op, Op::Concatenate { .. })
    }

    fn has_costly_operand(&self, id: InstrId) -> bool {
        let mut operands = self.computation.instructions[id].operands.iter();
        operands.any(|id| self.classes[id.index()] == Class::Elemental(Work::Costly))
    }

    /// Length of the copied chain if `id` is copied too.
    fn chain(&self, id: InstrId) -> u32 {
        let users = self.users.get(id).iter();
        let copied = users.map(|user| self.copied_chain[user.index()]);
        copied.fold(1, u32::saturating_add)
    }

    fn finish(mut self) -> Plan {
        let mut group_of_root = vec![None; self.stored.len()];
        for (at, group) in self.groups.iter().enumerate() {
            if group.is_formed() {
                group_of_root[group.root.index()] = Some(at);
            } else {
                // Its constants stay outside with it.
                for member in &group.members {
                    self.stored[member.index()] = true;
                }
            }
        }
        Plan {
            groups: self.groups,
            group_of_root,
            stored: self.stored,
            refusals: self.refusals,
        }
    }
}

/// What an op adds to the work of a group: about the machine instructions that it becomes.
fn weight(work: Work) -> usize {
    match work {
        Work::Index => 1,
        Work::Cheap => 2,
        Work::Costly => 32,
    }
}

/// Adds to `joined` that a user with membership `through` takes it along `edge`.
fn add_use(joined: &mut Membership, through: &Membership, edge: Edge, next_context: &mut u32) {
    joined.guarded |= through.guarded || edge == Edge::Guarded;
    joined.repeated = joined.repeated.max(through.repeated);
    match edge {
        Edge::Same => {
            for context in &through.contexts {
                if !joined.contexts.contains(context) {
                    joined.contexts.push(*context);
                }
            }
        }
        Edge::Moved | Edge::Guarded | Edge::Repeated => {
            for _ in &through.contexts {
                joined.contexts.push(*next_context);
                *next_context += 1;
            }
        }
    }
    if edge == Edge::Repeated {
        joined.repeated = joined.repeated.max(Some(0));
    }
}

/// Why storing the value of an op is better than evaluating it where `joined` says, if it is.
fn objection(joined: &mut Membership, work: Work) -> Option<Refusal> {
    let evaluations = joined.contexts.len();
    let most = match work {
        Work::Index => 8,
        Work::Cheap => {
            joined.repeated = joined.repeated.map(|chain| chain + 1);
            4
        }
        Work::Costly => 1,
    };
    if evaluations > most {
        return Some(Refusal::Places(evaluations));
    }
    match work {
        Work::Index => None,
        Work::Cheap => {
            (joined.repeated > Some(MAX_REPEATED_CHAIN)).then_some(Refusal::RepeatsChain)
        }
        Work::Costly if joined.repeated.is_some() => Some(Refusal::RepeatsCost),
        Work::Costly => joined.guarded.then_some(Refusal::Guarded),
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::Work => {
                write!(f, "the fusion that uses it has work of {MAX_WORK}")
            }
            Refusal::Operands => write!(f, "the fusion that uses it has {MAX_OPERANDS} operands"),
            Refusal::Places(count) => {
                write!(f, "it would be computed at {count} places of one kernel")
            }
            Refusal::RepeatsCost => {
                f.write_str("it is costly, and a broadcast would repeat it for each element")
            }
            Refusal::RepeatsChain => write!(
                f,
                "a broadcast would repeat a chain of more than {MAX_REPEATED_CHAIN} instructions"
            ),
            Refusal::Guarded => {
                f.write_str("it is costly, and would be computed where it is not needed")
            }
            Refusal::Copies(count) => write!(f, "{count} kernels would each compute it again"),
            Refusal::Needed => f.write_str("something else needs its value too"),
        }
    }
}
