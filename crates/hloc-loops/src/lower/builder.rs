//! Builds one kernel: blocks, loops, conditions, and the memory of values already computed.

use hloc_ir::{
    Arena, ArrayShape, ComputationId, ElementType, HashMap, Id, InstrId, Instruction, Module,
};
use smallvec::SmallVec;

use super::region::{Leaf, Region};
use crate::error::LowerError;
use crate::index::{Atom, Bounds, Index, Interval, linear_index};
use crate::ir::{
    Access, Block, BufferId, Carried, Condition, Expr, For, If, IndexRange, InstrRef, Kernel,
    LoopKind, Merged, Param, ParamId, Stmt, Value, ValueId, Var, VarId,
};

/// The most scalar values of one kernel; a larger fusion is lowered instruction by instruction.
pub(super) const MAX_VALUES: usize = 20_000;
/// How deep index functions may call each other, so that the machine stack suffices.
pub(super) const MAX_DEPTH: usize = 100;

pub(super) type Built<T> = Result<T, LowerError>;
pub(super) type Indices = SmallVec<[Index; 4]>;

/// The body of loops that carry values: from loop variables and current values to the next values.
type CarryingBody<'b, 'a> =
    dyn FnMut(&mut Builder<'a>, &[Index], &[ValueId]) -> Built<Vec<ValueId>> + 'b;

/// One array of an instruction's value, in one call of its computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node {
    pub(super) frame: usize,
    pub(super) instr: InstrId,
    /// Which array of the flattened value.
    pub(super) leaf: usize,
}

/// What a parameter of an inlined computation stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bound {
    /// A scalar value.
    Scalar(ValueId),
    /// An array of the calling computation.
    Node(Node),
}

/// Where a kernel parameter's buffer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ArgSource {
    Buffer(BufferId),
    Constant(ComputationId, InstrId),
}

/// One call of a computation inside the kernel.
struct Frame<'a> {
    computation: ComputationId,
    source: Source<'a>,
}

enum Source<'a> {
    /// The computation around the kernel: its values are buffers.
    Region(&'a Region<'a>),
    /// An inlined computation: what each array of each parameter stands for.
    Inlined(Vec<Vec<Bound>>),
}

/// The statements of an open block and the values that were computed in it.
#[derive(Default)]
struct Scope {
    block: Block,
    memo: HashMap<(Node, Indices), ValueId>,
}

/// A kernel under construction.
pub(super) struct Builder<'a> {
    pub(super) module: &'a Module,
    pub(super) kernel: Kernel,
    pub(super) args: Vec<ArgSource>,
    frames: Vec<Frame<'a>>,
    scopes: Vec<Scope>,
    pub(super) depth: usize,
    /// Bounds of each loop variable, narrowed by the open conditions.
    var_bounds: Vec<Interval>,
    clamps: HashMap<ValueId, Interval>,
    conditions: Vec<IndexRange>,
}

impl Bounds for Builder<'_> {
    fn var(&self, var: VarId) -> Interval {
        self.var_bounds[var.index()]
    }

    fn value(&self, value: ValueId) -> Interval {
        let everything = Interval {
            low: i64::MIN,
            high: i64::MAX,
        };
        self.clamps.get(&value).copied().unwrap_or(everything)
    }

    fn conditions(&self) -> &[IndexRange] {
        &self.conditions
    }
}

impl<'a> Builder<'a> {
    /// A kernel for `instruction` of `region`, whose computation becomes frame 0.
    pub(super) fn new(
        module: &'a Module,
        region: &'a Region<'a>,
        instruction: &Instruction,
    ) -> Builder<'a> {
        let kernel = Kernel {
            name: instruction.name.to_string(),
            params: Arena::new(),
            vars: Arena::new(),
            values: Arena::new(),
            body: Vec::new(),
            span: instruction.origin.span(),
            instructions: Vec::new(),
        };
        Builder {
            module,
            kernel,
            args: Vec::new(),
            frames: vec![Frame {
                computation: region.id,
                source: Source::Region(region),
            }],
            scopes: vec![Scope::default()],
            depth: 0,
            var_bounds: Vec::new(),
            clamps: HashMap::default(),
            conditions: Vec::new(),
        }
    }

    /// The kernel with the buffers of its parameters.
    pub(super) fn finish(mut self) -> (Kernel, Vec<ArgSource>) {
        self.kernel.body = self
            .scopes
            .pop()
            .map(|scope| scope.block)
            .unwrap_or_default();
        self.kernel.instructions.sort_unstable();
        self.kernel.instructions.dedup();
        (self.kernel, self.args)
    }

    // Nodes.

    pub(super) fn computation_of(&self, node: Node) -> ComputationId {
        self.frames[node.frame].computation
    }

    pub(super) fn instruction(&self, node: Node) -> &'a Instruction {
        &self.module.computations[self.computation_of(node)].instructions[node.instr]
    }

    /// The array shape of a node.
    pub(super) fn shape(&self, node: Node) -> Built<&'a ArrayShape> {
        let instruction = self.instruction(node);
        super::leaf_shape(&instruction.shape, node.leaf)
            .and_then(hloc_ir::Shape::as_array)
            .ok_or_else(|| LowerError::unsupported(instruction, "it is no array"))
    }

    /// Operand `at` of a node's instruction, its only array.
    pub(super) fn operand(&self, node: Node, at: usize) -> Built<Node> {
        self.operand_leaf(node, at, 0)
    }

    pub(super) fn operand_leaf(&self, node: Node, at: usize, leaf: usize) -> Built<Node> {
        let instruction = self.instruction(node);
        let operand = instruction.operands.get(at).copied();
        let instr = operand
            .ok_or_else(|| LowerError::internal(instruction, format!("it has no operand {at}")))?;
        Ok(Node {
            frame: node.frame,
            instr,
            leaf,
        })
    }

    /// The buffer that holds a node, if one does.
    pub(super) fn buffer_of(&self, node: Node) -> Option<BufferId> {
        match &self.frames[node.frame].source {
            Source::Region(region) => match region.values[node.instr.index()].get(node.leaf) {
                Some(Leaf::Buffer { id, .. }) => Some(*id),
                Some(Leaf::Virtual(_) | Leaf::Token) | None => None,
            },
            Source::Inlined(_) => None,
        }
    }

    /// What parameter `number` of an inlined computation stands for; `None` in the outermost frame.
    pub(super) fn bound(&self, node: Node, number: i64) -> Option<Bound> {
        match &self.frames[node.frame].source {
            Source::Region(_) => None,
            Source::Inlined(args) => args
                .get(usize::try_from(number).ok()?)?
                .get(node.leaf)
                .copied(),
        }
    }

    /// A new call of `computation`.
    pub(super) fn call(&mut self, computation: ComputationId, args: Vec<Vec<Bound>>) -> usize {
        self.frames.push(Frame {
            computation,
            source: Source::Inlined(args),
        });
        self.frames.len() - 1
    }

    /// A call of `computation` whose parameters are the operands of `node`'s instruction.
    pub(super) fn call_with_operands(&mut self, node: Node, computation: ComputationId) -> usize {
        let caller = &self.module.computations[self.computation_of(node)];
        let bind = |operand: &InstrId| {
            let leaves = caller.instructions[*operand].shape.leaves().len();
            let bound = |leaf| {
                Bound::Node(Node {
                    frame: node.frame,
                    instr: *operand,
                    leaf,
                })
            };
            (0..leaves).map(bound).collect()
        };
        let args = self.instruction(node).operands.iter().map(bind).collect();
        self.call(computation, args)
    }

    /// The values of `computation`'s result arrays, applied to scalars.
    pub(super) fn apply(
        &mut self,
        computation: ComputationId,
        args: &[ValueId],
    ) -> Built<Vec<ValueId>> {
        let bound = args
            .iter()
            .map(|value| vec![Bound::Scalar(*value)])
            .collect();
        let frame = self.call(computation, bound);
        let callee = &self.module.computations[computation];
        let leaves = callee.root().shape.leaves().len();
        let result = |leaf| Node {
            frame,
            instr: callee.root,
            leaf,
        };
        (0..leaves)
            .map(|leaf| self.value_at(result(leaf), &[]))
            .collect()
    }

    // Statements.

    pub(super) fn new_value(&mut self, element_type: ElementType) -> ValueId {
        self.kernel.values.push(Value { element_type })
    }

    pub(super) fn type_of(&self, value: ValueId) -> ElementType {
        self.kernel.values[value].element_type
    }

    /// Binds an expression in the open block.
    pub(super) fn emit(&mut self, element_type: ElementType, expr: Expr) -> ValueId {
        let value = self.new_value(element_type);
        self.push(Stmt::Let { value, expr });
        value
    }

    pub(super) fn push(&mut self, stmt: Stmt) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.block.push(stmt);
        }
    }

    /// The value converted to `element_type`, itself if it has that type.
    pub(super) fn converted(&mut self, value: ValueId, element_type: ElementType) -> ValueId {
        if self.type_of(value) == element_type {
            value
        } else {
            self.emit(element_type, Expr::Convert(value))
        }
    }

    /// An index that an integer value gives, moved into `low..=high`.
    pub(super) fn clamped_index(&mut self, value: ValueId, low: i64, high: i64) -> Index {
        if low == high {
            return Index::constant(low);
        }
        let index = self.emit(ElementType::S64, Expr::ClampIndex { value, low, high });
        self.clamps.insert(index, Interval { low, high });
        Index::dynamic(index)
    }

    /// Notes that the kernel computes a node's instruction, unless it is one of a computation applied to
    /// scalars.
    pub(super) fn note(&mut self, node: Node) {
        let frame = &self.frames[node.frame];
        let is_applied = match &frame.source {
            Source::Region(_) => false,
            Source::Inlined(args) => args
                .iter()
                .flatten()
                .any(|bound| matches!(bound, Bound::Scalar(_))),
        };
        if !is_applied {
            let instruction = InstrRef {
                computation: frame.computation,
                instr: node.instr,
            };
            self.kernel.instructions.push(instruction);
        }
    }

    /// The parameter for a buffer, made on first use.
    pub(super) fn param(
        &mut self,
        source: ArgSource,
        element_type: ElementType,
        dims: &[i64],
        access: Access,
    ) -> ParamId {
        if access == Access::Read
            && let Some(at) = self.args.iter().position(|arg| *arg == source)
            && self.kernel.params[ParamId::from_index(at)].access == Access::Read
        {
            return ParamId::from_index(at);
        }
        let kind = if access == Access::Read { "in" } else { "out" };
        let params = self.kernel.params.values();
        let same_kind =
            params.filter(|param| (param.access == Access::Read) == (access == Access::Read));
        let name = format!("{kind}{}", same_kind.count());
        self.args.push(source);
        self.kernel.params.push(Param {
            name,
            element_type,
            dims: dims.to_vec(),
            access,
        })
    }

    /// One element of a buffer of sizes `dims`.
    pub(super) fn load(&mut self, param: ParamId, indices: &[Index], dims: &[i64]) -> ValueId {
        let index = linear_index(indices, dims);
        let element_type = self.kernel.params[param].element_type;
        self.emit(element_type, Expr::Load { param, index })
    }

    // Memory of values.

    pub(super) fn recall(&self, node: Node, indices: &Indices) -> Option<ValueId> {
        let key = (node, indices.clone());
        self.scopes
            .iter()
            .rev()
            .find_map(|scope| scope.memo.get(&key).copied())
    }

    pub(super) fn remember(&mut self, node: Node, indices: &Indices, value: ValueId) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.memo.insert((node, indices.clone()), value);
        }
    }

    // Loops.

    /// A loop variable and the block of its loop.
    pub(super) fn open_loop(&mut self, extent: i64) -> VarId {
        let name = var_name(self.kernel.vars.len());
        let var = self.kernel.vars.push(Var { name, extent });
        self.var_bounds.push(Interval {
            low: 0,
            high: extent - 1,
        });
        self.scopes.push(Scope::default());
        var
    }

    /// Ends the innermost open loop.
    pub(super) fn close_loop(&mut self, var: VarId, kind: LoopKind, carried: Vec<Carried>) {
        let body = self
            .scopes
            .pop()
            .map(|scope| scope.block)
            .unwrap_or_default();
        // Around inner loops a vector pays where its lanes load next to each other: a sum of columns.
        let is_vector = !contains_loop(&body) || loads_side_by_side(&body, var);
        let kind = if kind == LoopKind::Vector && !is_vector {
            LoopKind::Serial
        } else {
            kind
        };
        self.push(Stmt::For(For {
            var,
            kind,
            carried,
            body,
        }));
    }

    /// Nested loops over the dimensions that have more than one element, for a body that only stores.
    ///
    /// The outermost runs in parallel if `parallel`, the innermost as a vector where nothing hinders.
    pub(super) fn store_nest(
        &mut self,
        dims: &[i64],
        parallel: bool,
        body: &mut dyn FnMut(&mut Self, &[Index]) -> Built<()>,
    ) -> Built<()> {
        let num_loops = dims.iter().filter(|dim| **dim != 1).count();
        let mut vars = Vec::new();
        let mut open = Vec::new();
        for dim in dims {
            if *dim == 1 {
                vars.push(Index::constant(0));
            } else {
                let var = self.open_loop(*dim);
                vars.push(Index::var(var));
                open.push(var);
            }
        }
        body(self, &vars)?;
        for (at, var) in open.into_iter().enumerate().rev() {
            // A single loop with conditions on its variable is left to be cut where they change.
            let is_cut = num_loops == 1 && self.asks_ranges();
            let kind = if at == 0 && parallel && !is_cut {
                LoopKind::Parallel
            } else if at + 1 == num_loops {
                LoopKind::Vector
            } else {
                LoopKind::Serial
            };
            self.close_loop(var, kind, Vec::new());
        }
        Ok(())
    }

    /// Whether the open block asks about index ranges and holds no loop.
    fn asks_ranges(&self) -> bool {
        self.scopes
            .last()
            .is_some_and(|scope| contains_range(&scope.block) && !contains_loop(&scope.block))
    }

    /// Nested loops of these extents that carry values; gives the values after the last iteration.
    ///
    /// `body` gets the loop variables and the current values and gives the next ones.
    pub(super) fn nest(
        &mut self,
        loops: &[(i64, LoopKind)],
        init: Vec<ValueId>,
        body: &mut CarryingBody<'_, 'a>,
    ) -> Built<Vec<ValueId>> {
        self.nest_from(loops, &mut Vec::new(), init, body)
    }

    fn nest_from(
        &mut self,
        loops: &[(i64, LoopKind)],
        vars: &mut Vec<Index>,
        init: Vec<ValueId>,
        body: &mut CarryingBody<'_, 'a>,
    ) -> Built<Vec<ValueId>> {
        let Some(((extent, kind), inner)) = loops.split_first() else {
            return body(self, vars, &init);
        };
        if *extent == 1 {
            vars.push(Index::constant(0));
            let result = self.nest_from(inner, vars, init, body)?;
            vars.pop();
            return Ok(result);
        }
        let var = self.open_loop(*extent);
        vars.push(Index::var(var));
        let types: Vec<_> = init.iter().map(|value| self.type_of(*value)).collect();
        let current: Vec<_> = types.iter().map(|ty| self.new_value(*ty)).collect();
        let next = self.nest_from(inner, vars, current.clone(), body)?;
        vars.pop();
        let result: Vec<_> = types.iter().map(|ty| self.new_value(*ty)).collect();
        let carried = (0..init.len())
            .map(|at| Carried {
                init: init[at],
                current: current[at],
                next: next[at],
                result: result[at],
            })
            .collect();
        self.close_loop(var, *kind, carried);
        Ok(result)
    }

    // Conditions.

    /// Whether an index is known to lie in `low..high` (`Some(true)`) or outside (`Some(false)`).
    fn decided(&self, range: &IndexRange) -> Option<bool> {
        if range.low >= range.high {
            return Some(false);
        }
        let interval = range.index.interval(self)?;
        if interval.within(range.low, range.high) {
            Some(true)
        } else if interval.high < range.low || range.high <= interval.low {
            Some(false)
        } else {
            None
        }
    }

    /// A value that depends on whether all indices are in range; `then` may rely on that.
    pub(super) fn if_in_range(
        &mut self,
        ranges: Vec<IndexRange>,
        then: &mut dyn FnMut(&mut Self) -> Built<Vec<ValueId>>,
        otherwise: &mut dyn FnMut(&mut Self) -> Built<Vec<ValueId>>,
    ) -> Built<Vec<ValueId>> {
        if ranges
            .iter()
            .any(|range| self.decided(range) == Some(false))
        {
            return otherwise(self);
        }
        let open: Vec<_> = ranges
            .into_iter()
            .filter(|range| self.decided(range).is_none())
            .collect();
        if open.is_empty() {
            return then(self);
        }
        let complement = match open.as_slice() {
            [range] => range.complement(self),
            _ => None,
        };
        let narrowed = self.enter(&open);
        self.scopes.push(Scope::default());
        let then_values = then(self)?;
        let then_block = self
            .scopes
            .pop()
            .map(|scope| scope.block)
            .unwrap_or_default();
        self.leave(narrowed);
        let narrowed = self.enter(complement.as_slice());
        self.scopes.push(Scope::default());
        let otherwise_values = otherwise(self)?;
        self.leave(narrowed);
        let otherwise_block = self
            .scopes
            .pop()
            .map(|scope| scope.block)
            .unwrap_or_default();
        let pairs = then_values.iter().zip(&otherwise_values);
        let merged: Vec<_> = pairs
            .map(|(then, otherwise)| Merged {
                result: self.new_value(self.type_of(*then)),
                then: *then,
                otherwise: *otherwise,
            })
            .collect();
        let results = merged.iter().map(|merged| merged.result).collect();
        self.push(Stmt::If(If {
            condition: Condition::InRange(open),
            then: then_block,
            otherwise: otherwise_block,
            merged,
        }));
        Ok(results)
    }

    /// Makes ranges known; gives what [`Builder::leave`] needs.
    fn enter(&mut self, ranges: &[IndexRange]) -> (usize, Vec<(VarId, Interval)>) {
        let mark = self.conditions.len();
        let mut before = Vec::new();
        for range in ranges {
            self.conditions.push(range.clone());
            before.extend(self.narrow_var(range));
        }
        (mark, before)
    }

    fn leave(&mut self, (mark, before): (usize, Vec<(VarId, Interval)>)) {
        self.conditions.truncate(mark);
        for (var, interval) in before.into_iter().rev() {
            self.var_bounds[var.index()] = interval;
        }
    }

    /// A range of `var + c` narrows the bounds of `var`; gives the bounds before.
    fn narrow_var(&mut self, range: &IndexRange) -> Option<(VarId, Interval)> {
        let [term] = range.index.terms() else {
            return None;
        };
        let Atom::Var(var) = term.atom else {
            return None;
        };
        if term.factor != 1 {
            return None;
        }
        let before = self.var_bounds[var.index()];
        let low = range.low.checked_sub(range.index.offset())?;
        let high = range
            .high
            .checked_sub(1)?
            .checked_sub(range.index.offset())?;
        self.var_bounds[var.index()] = Interval {
            low: before.low.max(low),
            high: before.high.min(high),
        };
        Some((var, before))
    }
}

/// `i`, `j`, `k`, `l`, `m`, `n`, then `i6`, `i7`, ….
fn var_name(number: usize) -> String {
    match ["i", "j", "k", "l", "m", "n"].get(number) {
        Some(name) => (*name).to_owned(),
        None => format!("i{number}"),
    }
}

/// Whether a block holds a loop, at any depth of conditions.
fn contains_loop(block: &Block) -> bool {
    block.iter().any(|stmt| match stmt {
        Stmt::For(_) => true,
        Stmt::If(stmt) => contains_loop(&stmt.then) || contains_loop(&stmt.otherwise),
        Stmt::Let { .. } | Stmt::Store { .. } => false,
    })
}

/// Whether all loads of a block that depend on `var` are of neighbors, and there is one.
fn loads_side_by_side(block: &Block, var: VarId) -> bool {
    let mut strides = Vec::new();
    collect_strides(block, var, &mut strides);
    let is_fine = |stride: &Option<i64>| *stride == Some(0) || *stride == Some(1);
    strides.iter().all(is_fine) && strides.contains(&Some(1))
}

fn collect_strides(block: &Block, var: VarId, strides: &mut Vec<Option<i64>>) {
    for stmt in block {
        match stmt {
            Stmt::Let {
                expr: Expr::Load { index, .. },
                ..
            } => strides.push(index.stride(var)),
            Stmt::Let { .. } | Stmt::Store { .. } => {}
            Stmt::For(stmt) => collect_strides(&stmt.body, var, strides),
            Stmt::If(stmt) => {
                collect_strides(&stmt.then, var, strides);
                collect_strides(&stmt.otherwise, var, strides);
            }
        }
    }
}

/// Whether a block asks about index ranges, outside of inner loops.
fn contains_range(block: &Block) -> bool {
    block.iter().any(|stmt| match stmt {
        Stmt::If(stmt) => matches!(stmt.condition, Condition::InRange(_)),
        Stmt::For(_) | Stmt::Let { .. } | Stmt::Store { .. } => false,
    })
}
