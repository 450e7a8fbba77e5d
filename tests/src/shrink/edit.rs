//! Changes of a module that keep it well formed.

use std::collections::BTreeMap;

use hloc_ir::{
    ArrayShape, Computation, ComputationId, Id, InstrId, Instruction, Literal, Module, Op, Shape,
};

/// The module with only what the entry's root needs, and the arguments of the parameters left.
///
/// Parameters of the entry are numbered in the order in which they stand.
pub(super) fn prune(module: &Module, arguments: &[Literal]) -> (Module, Vec<Literal>) {
    let live = live(module);
    let mut kept = Vec::new();
    let mut computations = hloc_ir::Arena::new();
    let mut ids: BTreeMap<ComputationId, ComputationId> = BTreeMap::new();
    for (id, computation) in module.computations.iter() {
        let Some(live) = live.get(&id) else { continue };
        let is_entry = id == module.entry;
        let copy = rebuilt(computation, live, &ids, is_entry, arguments, &mut kept);
        ids.insert(id, computations.push(copy));
    }
    let entry = ids[&module.entry];
    let pruned = Module {
        name: module.name.clone(),
        attributes: hloc_ir::ModuleAttributes::default(),
        stack: hloc_ir::StackTables::default(),
        computations,
        entry,
    };
    (pruned, kept)
}

/// For each computation that the entry reaches, which instructions its root needs.
fn live(module: &Module) -> BTreeMap<ComputationId, Vec<bool>> {
    let mut reached: BTreeMap<ComputationId, Vec<bool>> = BTreeMap::new();
    let mut open = vec![module.entry];
    while let Some(id) = open.pop() {
        if reached.contains_key(&id) {
            continue;
        }
        let computation = &module.computations[id];
        let mut live = vec![false; computation.instructions.len()];
        live[computation.root.index()] = true;
        for (id, instruction) in computation.instructions.iter().rev() {
            if live[id.index()] {
                for operand in &instruction.operands {
                    live[operand.index()] = true;
                }
                open.extend(instruction.op.called_computations());
            }
        }
        reached.insert(id, live);
    }
    reached
}

fn rebuilt(
    computation: &Computation,
    live: &[bool],
    ids: &BTreeMap<ComputationId, ComputationId>,
    is_entry: bool,
    arguments: &[Literal],
    kept: &mut Vec<Literal>,
) -> Computation {
    let mut copy = Computation::new(computation.name.clone());
    copy.execution_thread
        .clone_from(&computation.execution_thread);
    let mut instrs: Vec<InstrId> = Vec::new();
    for (id, instruction) in computation.instructions.iter() {
        let is_parameter = matches!(instruction.op, Op::Parameter { .. });
        if !live[id.index()] && (is_entry || !is_parameter) {
            instrs.push(InstrId::from_index(0));
            continue;
        }
        let mut op = instruction.op.clone();
        op.map_computations(|called| ids[&called]);
        if let (Op::Parameter { number }, true) = (&mut op, is_entry) {
            let argument = usize::try_from(*number)
                .ok()
                .and_then(|at| arguments.get(at));
            *number = kept.len() as i64;
            kept.extend(argument.cloned());
        }
        let operands: Vec<InstrId> = instruction
            .operands
            .iter()
            .map(|operand| instrs[operand.index()])
            .collect();
        let shape = instruction.shape.clone();
        let copied = Instruction::new(instruction.name.clone(), op, &operands, shape);
        instrs.push(copy.push(copied));
    }
    copy.root = instrs[computation.root.index()];
    copy
}

/// The module with another root of its entry.
pub(super) fn with_root(module: &Module, root: InstrId) -> Module {
    let mut module = module.clone();
    entry_mut(&mut module).root = root;
    module
}

/// The module that runs another of its computations.
pub(super) fn with_entry(module: &Module, entry: ComputationId) -> Module {
    let mut module = module.clone();
    module.entry = entry;
    module
}

/// The module with an instruction replaced by one without operands.
pub(super) fn with_leaf(module: &Module, at: (ComputationId, InstrId), op: Op) -> Module {
    let mut module = module.clone();
    let instruction = instruction_mut(&mut module, at);
    let shape = instruction.shape.clone();
    *instruction = Instruction::new(instruction.name.clone(), op, &[], shape);
    module
}

/// The module in which users of `from` use `to`, which stands before it.
pub(super) fn redirected(
    module: &Module,
    (id, from): (ComputationId, InstrId),
    to: InstrId,
) -> Module {
    let mut module = module.clone();
    let computation = computation_mut(&mut module, id);
    for instruction in computation.instructions.values_mut() {
        for operand in &mut instruction.operands {
            if *operand == from {
                *operand = to;
            }
        }
    }
    if computation.root == from {
        computation.root = to;
    }
    module
}

/// The module and arguments with every dimension of size `from` made `to`: arguments and constants lose
/// what lies behind it. The attributes stay, so it may not be valid.
pub(super) fn resized(
    module: &Module,
    arguments: &[Literal],
    (from, to): (i64, i64),
) -> (Module, Vec<Literal>) {
    let mut module = module.clone();
    for computation in module.computations.values_mut() {
        for instruction in computation.instructions.values_mut() {
            resize_shape(&mut instruction.shape, from, to);
            if let Op::Constant { literal } = &mut instruction.op {
                *literal = cut(literal, from, to).into();
            }
        }
    }
    let arguments = arguments.iter().map(|argument| cut(argument, from, to));
    (module, arguments.collect())
}

fn resize_shape(shape: &mut Shape, from: i64, to: i64) {
    match shape {
        Shape::Array(ArrayShape { dims, .. }) => {
            for dim in dims.iter_mut().filter(|dim| **dim == from) {
                *dim = to;
            }
        }
        Shape::Tuple(elements) => {
            for element in elements {
                resize_shape(element, from, to);
            }
        }
        Shape::Token | Shape::Opaque | Shape::Buffer(_) => {}
    }
}

fn cut(literal: &Literal, from: i64, to: i64) -> Literal {
    match literal {
        Literal::Array(array) => Literal::Array(cut_array(array, from, to)),
        Literal::Tuple(elements) => {
            let elements = elements.iter().map(|element| cut(element, from, to));
            Literal::Tuple(elements.collect())
        }
    }
}

fn cut_array(array: &hloc_ir::Array, from: i64, to: i64) -> hloc_ir::Array {
    let dims: Vec<i64> = array
        .dims()
        .iter()
        .map(|dim| if *dim == from { to } else { *dim })
        .collect();
    let Ok(mut result) = hloc_ir::Array::zeros(array.element_type(), &dims) else {
        return array.clone();
    };
    let mut indices = hloc_tensor::IndexIter::new(&dims);
    let mut position = 0;
    while let Some(index) = indices.next_index() {
        let pairs = index.iter().zip(array.dims());
        let source = pairs.fold(0, |source, (index, size)| source * size + index);
        result.set(position, array.get(source as usize));
        position += 1;
    }
    result
}

fn computation_mut(module: &mut Module, id: ComputationId) -> &mut Computation {
    module
        .computations
        .values_mut()
        .nth(id.index())
        .expect("the id is of this module")
}

fn entry_mut(module: &mut Module) -> &mut Computation {
    computation_mut(module, module.entry)
}

fn instruction_mut(module: &mut Module, (id, at): (ComputationId, InstrId)) -> &mut Instruction {
    computation_mut(module, id)
        .instructions
        .values_mut()
        .nth(at.index())
        .expect("the id is of this computation")
}
