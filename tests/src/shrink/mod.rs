//! Makes a failing program small: a few instructions that fail in the same way.
//!
//! Results are cut down to one value, called computations become the entry, instructions become parameters
//! that hold their values, sizes and elements become small. What is known of a value is kept true, so that
//! engines must still agree about each candidate as exactly as they must about the program.

mod edit;

use std::collections::BTreeMap;

use hloc_diag::Source;
use hloc_ir::{
    Array, BinaryOp, ComputationId, Id, InstrId, Instruction, Literal, Module, Op, Shape,
};
use hloc_tensor::Scalar;

use crate::generate::{Knowledge, Program, Slack};
use crate::{literals, stages};

/// How many candidates are tried at most.
const MAX_CANDIDATES: usize = 3000;

/// Arrays of more elements are only made zero as a whole.
const MAX_ELEMENTS: usize = 40;

/// The smallest program found for which `fails` holds, which it does for `program`.
pub fn shrink(program: &Program, fails: &mut dyn FnMut(&Program) -> bool) -> Program {
    let Ok(module) = parsed(&program.text) else {
        return program.clone();
    };
    let mut shrinker = Shrinker {
        module,
        arguments: program.arguments.clone(),
        slack: program.slack.clone(),
        known: &program.known,
        fails,
        left: MAX_CANDIDATES,
    };
    while shrinker.round() {}
    shrinker.program(&shrinker.module, &shrinker.arguments, &shrinker.slack)
}

/// The program as a filetest: what the evaluator gives is what is expected.
///
/// # Errors
/// The evaluator's message.
pub fn filetest(program: &Program, note: &str) -> Result<String, String> {
    let source = Source::new("random", program.text.as_str()).map_err(|error| error.to_string())?;
    let module = stages::verified(&source)?;
    let expected = stages::evaluate(&module, &program.arguments)?;
    let exact = program.slack.iter().all(|slack| *slack == Slack::Exact);
    let sign = if exact { "==" } else { "~=" };
    let arguments: Vec<String> = program.arguments.iter().map(literals::text).collect();
    Ok(format!(
        "// test run\n// {note}\n// run: main({}) {sign} {}\n{}",
        arguments.join(", "),
        literals::text(&expected),
        program.text
    ))
}

fn parsed(text: &str) -> Result<Module, String> {
    let source = Source::new("random", text).map_err(|error| error.to_string())?;
    stages::parse(&source)
}

struct Shrinker<'a> {
    module: Module,
    arguments: Vec<Literal>,
    slack: Vec<Slack>,
    known: &'a BTreeMap<String, Knowledge>,
    fails: &'a mut dyn FnMut(&Program) -> bool,
    left: usize,
}

impl Shrinker<'_> {
    fn program(&self, module: &Module, arguments: &[Literal], slack: &[Slack]) -> Program {
        Program {
            text: hloc_ir::print_module(module),
            arguments: arguments.to_vec(),
            slack: slack.to_vec(),
            known: self.known.clone(),
        }
    }

    /// Tries every change once; whether one was kept.
    fn round(&mut self) -> bool {
        let mut changed = self.cut_root();
        changed |= self.enter_calls();
        changed |= self.cut_operands();
        changed |= self.skip_instructions();
        changed |= self.shrink_sizes();
        changed | self.simplify_arguments()
    }

    /// Keeps a changed program if it still fails.
    fn keep(&mut self, module: &Module, arguments: &[Literal], slack: &[Slack]) -> bool {
        // A plain sum may be taken in any order; what became one only now may not be compared exactly.
        if self.left == 0 || plain_sums(module) > plain_sums(&self.module) {
            return false;
        }
        self.left -= 1;
        let (module, arguments) = edit::prune(module, arguments);
        let candidate = self.program(&module, &arguments, slack);
        if !(self.fails)(&candidate) {
            return false;
        }
        (self.module, self.arguments, self.slack) = (module, arguments, slack.to_vec());
        true
    }

    /// How far engines may be apart in each array that an instruction of `computation` gives.
    fn slack_of(&self, computation: ComputationId, id: InstrId) -> Option<Vec<Slack>> {
        let computation = &self.module.computations[computation];
        let instruction = &computation.instructions[id];
        let of = |name: &str| self.known.get(name).map(|known| known.slack);
        match (&instruction.shape, &instruction.op) {
            (Shape::Array(_), _) => of(&instruction.name).map(|slack| vec![slack]),
            (Shape::Tuple(_), Op::Tuple {}) => {
                let operands = instruction.operands.iter();
                operands
                    .map(|operand| of(&computation.instructions[*operand].name))
                    .collect()
            }
            (Shape::Tuple(_) | Shape::Token | Shape::Opaque | Shape::Buffer(_), _) => None,
        }
    }

    /// Makes the earliest array that fails the result.
    fn cut_root(&mut self) -> bool {
        let entry = self.module.entry().clone();
        for id in entry.instructions.ids() {
            let is_root = id == entry.root;
            let is_array = entry.instructions[id].shape.as_array().is_some();
            if is_root || !is_array {
                continue;
            }
            let Some(slack) = self.slack_of(self.module.entry, id) else {
                continue;
            };
            let module = edit::with_root(&self.module, id);
            if self.keep(&module, &self.arguments.clone(), &slack) {
                return true;
            }
        }
        false
    }

    /// Makes a called computation the entry, with what it is called with as arguments.
    fn enter_calls(&mut self) -> bool {
        let entry = self.module.entry().clone();
        for (_, instruction) in entry.instructions.iter() {
            let calls = calls(instruction);
            for (called, operands) in calls {
                let root = self.module.computations[called].root;
                let Some(slack) = self.slack_of(called, root) else {
                    continue;
                };
                let values: Option<Vec<Literal>> = if operands.is_empty() {
                    self.ones(called)
                } else {
                    operands
                        .iter()
                        .map(|operand| self.value(*operand))
                        .collect()
                };
                let Some(values) = values else { continue };
                let module = edit::with_entry(&self.module, called);
                if self.keep(&module, &values, &slack) {
                    return true;
                }
            }
        }
        false
    }

    /// Arguments for a computation that is called with scalars.
    fn ones(&self, called: ComputationId) -> Option<Vec<Literal>> {
        let computation = &self.module.computations[called];
        let one = |id: &InstrId| {
            let shape = computation.instructions[*id].shape.as_array()?;
            let one = Scalar::Float(1.0).converted(shape.element_type);
            Some(Literal::Array(filled(shape.element_type, &shape.dims, one)))
        };
        computation.parameters.iter().map(one).collect()
    }

    /// What the evaluator gives for an instruction of the entry.
    fn value(&self, id: InstrId) -> Option<Literal> {
        let module = edit::with_root(&self.module, id);
        let module = hloc_verify::verify(module).ok()?;
        stages::evaluate(&module, &self.arguments).ok()
    }

    /// Makes instructions of the entry parameters that hold their values, the last ones first.
    fn cut_operands(&mut self) -> bool {
        let mut changed = false;
        let mut at = self.module.entry().instructions.len();
        while at > 0 {
            at -= 1;
            let entry = self.module.entry();
            if at >= entry.instructions.len() {
                continue;
            }
            let id = InstrId::from_index(at);
            let instruction = &entry.instructions[id];
            let is_leaf = matches!(instruction.op, Op::Parameter { .. } | Op::Constant { .. });
            if is_leaf || id == entry.root || instruction.shape.as_array().is_none() {
                continue;
            }
            let Some(value) = self.value(id) else {
                continue;
            };
            let mut arguments = self.arguments.clone();
            let number = arguments.len() as i64;
            arguments.push(value);
            let place = (self.module.entry, id);
            let module = edit::with_leaf(&self.module, place, Op::Parameter { number });
            changed |= self.keep(&module, &arguments, &self.slack.clone());
        }
        changed
    }

    /// Puts an operand, zeros or ones in the place of an instruction, in all computations.
    fn skip_instructions(&mut self) -> bool {
        let mut changed = false;
        let computations: Vec<ComputationId> = self.module.computations.ids().collect();
        for computation in computations.into_iter().rev() {
            let mut at = usize::MAX;
            while at > 0 {
                let Some(found) = self.module.computations.get(computation) else {
                    break;
                };
                at = at.min(found.instructions.len()) - 1;
                let place = (computation, InstrId::from_index(at));
                changed |= self.skip(place);
            }
        }
        changed
    }

    fn skip(&mut self, (computation, id): (ComputationId, InstrId)) -> bool {
        let body = &self.module.computations[computation];
        let instruction = &body.instructions[id];
        let known = |id: InstrId| self.known.get(&*body.instructions[id].name).copied();
        let before = id.index();
        let stands_for = |other: &InstrId| {
            let other_instruction = &body.instructions[*other];
            let implied = match (known(*other), known(id)) {
                (Some(own), Some(wanted)) => own.implies(&wanted),
                (None, None) => true,
                _ => false,
            };
            implied && other_instruction.shape.compatible(&instruction.shape)
        };
        let others = instruction.operands.iter().copied();
        let parameters = body.parameters.iter().copied();
        let mut others: Vec<InstrId> = others
            .chain(parameters)
            .filter(|other| other.index() < before)
            .filter(stands_for)
            .collect();
        others.dedup();
        let is_leaf = matches!(instruction.op, Op::Parameter { .. } | Op::Constant { .. });
        let mut candidates: Vec<Module> = others
            .iter()
            .map(|other| edit::redirected(&self.module, (computation, id), *other))
            .collect();
        let special = known(id).is_some_and(|known| known.special);
        let array = instruction
            .shape
            .as_array()
            .filter(|_| !is_leaf && !special);
        if let Some(shape) = array.filter(|_| computation != self.module.entry) {
            for value in [0.0, 1.0] {
                let value = Scalar::Float(value).converted(shape.element_type);
                let constant = filled(shape.element_type, &shape.dims, value);
                let literal = constant.into();
                let op = Op::Constant { literal };
                candidates.push(edit::with_leaf(&self.module, (computation, id), op));
            }
        }
        let (arguments, slack) = (self.arguments.clone(), self.slack.clone());
        candidates
            .iter()
            .any(|module| self.keep(module, &arguments, &slack))
    }

    /// Makes all dimensions of one size smaller.
    fn shrink_sizes(&mut self) -> bool {
        let mut sizes: Vec<i64> = Vec::new();
        for computation in self.module.computations.values() {
            for instruction in computation.instructions.values() {
                for leaf in instruction.shape.leaves() {
                    sizes.extend(leaf.as_array().iter().flat_map(|shape| shape.dims.iter()));
                }
            }
        }
        sizes.sort_unstable();
        sizes.dedup();
        let special = |name: &str| self.known.get(name).is_some_and(|known| known.special);
        let entry = self.module.entry();
        if entry
            .instructions
            .values()
            .any(|instruction| special(&instruction.name))
        {
            return false;
        }
        let mut changed = false;
        for from in sizes.into_iter().rev() {
            for to in [1, 2, 3, from / 2, from - 1] {
                if to >= 1 && to < from {
                    let pair = (from, to);
                    let (module, arguments) = edit::resized(&self.module, &self.arguments, pair);
                    let slack = self.slack.clone();
                    if self.keep(&module, &arguments, &slack) {
                        changed = true;
                        break;
                    }
                }
            }
        }
        changed
    }

    /// Makes arguments zero, one, or whole numbers.
    fn simplify_arguments(&mut self) -> bool {
        let mut changed = false;
        for at in 0..self.arguments.len() {
            let Literal::Array(array) = &self.arguments[at] else {
                continue;
            };
            let entry = self.module.entry();
            let Some(known) = entry
                .parameters
                .get(at)
                .and_then(|id| self.known.get(&*entry.instructions[*id].name))
            else {
                continue;
            };
            if known.special {
                continue;
            }
            let (ty, dims) = (array.element_type(), array.dims().to_vec());
            let mut simple = false;
            for value in [0.0, 1.0].map(|value| Scalar::Float(value).converted(ty)) {
                simple = simple || self.holds_only(at, value);
                let candidate = filled(ty, &dims, value);
                if !simple && self.keep_argument(at, candidate) {
                    (changed, simple) = (true, true);
                }
            }
            simple = simple || self.repeat_element(at, &mut changed);
            if !simple {
                changed |= self.simplify_elements(at);
            }
        }
        changed
    }

    fn holds_only(&self, at: usize, value: Scalar) -> bool {
        let Literal::Array(array) = &self.arguments[at] else {
            return false;
        };
        let filled = filled(array.element_type(), array.dims(), value);
        filled.bytes() == array.bytes()
    }

    /// Fills an argument with one of its elements, so that sizes may shrink afterwards.
    fn repeat_element(&mut self, at: usize, changed: &mut bool) -> bool {
        let Literal::Array(array) = self.arguments[at].clone() else {
            return false;
        };
        let mut tried: Vec<Scalar> = Vec::new();
        for position in 0..array.num_elements() {
            let value = array.get(position);
            if tried.contains(&value) || tried.len() > MAX_ELEMENTS {
                continue;
            }
            tried.push(value);
            if self.holds_only(at, value) {
                return false;
            }
            let candidate = filled(array.element_type(), array.dims(), value);
            if self.keep_argument(at, candidate) {
                *changed = true;
                return true;
            }
        }
        false
    }

    fn keep_argument(&mut self, at: usize, array: Array) -> bool {
        let mut arguments = self.arguments.clone();
        arguments[at] = Literal::Array(array);
        let (module, slack) = (self.module.clone(), self.slack.clone());
        self.keep(&module, &arguments, &slack)
    }

    fn simplify_elements(&mut self, at: usize) -> bool {
        let mut changed = false;
        let Literal::Array(array) = self.arguments[at].clone() else {
            return false;
        };
        if array.num_elements() > MAX_ELEMENTS {
            return false;
        }
        for position in 0..array.num_elements() {
            for value in [0.0, 1.0] {
                let Literal::Array(current) = &self.arguments[at] else {
                    break;
                };
                let mut candidate = current.clone();
                let simple = Scalar::Float(value).converted(array.element_type());
                if candidate.get(position) == simple {
                    break;
                }
                candidate.set(position, simple);
                if self.keep_argument(at, candidate) {
                    changed = true;
                    break;
                }
            }
        }
        changed
    }
}

/// The computations that an instruction calls, each with the operands that it is called with as a whole;
/// none for one that is called with elements.
fn calls(instruction: &Instruction) -> Vec<(ComputationId, Vec<InstrId>)> {
    let operands = &instruction.operands;
    if let Op::Call {
        to_apply: called, ..
    }
    | Op::Fusion { calls: called, .. } = &instruction.op
    {
        return vec![(*called, operands.to_vec())];
    }
    let called = instruction.op.called_computations().into_iter();
    if let Op::While { .. } = &instruction.op {
        return called.map(|called| (called, operands.to_vec())).collect();
    }
    if let Op::Conditional { .. } = &instruction.op {
        let passed = operands[1..].iter().map(|operand| vec![*operand]);
        return called.zip(passed).collect();
    }
    called.map(|called| (called, Vec::new())).collect()
}

/// How many called computations are a sum or product of two parameters.
fn plain_sums(module: &Module) -> usize {
    let is_plain = |computation: &&hloc_ir::Computation| {
        let root = computation.root();
        let is_parameter =
            |id: &InstrId| matches!(computation.instructions[*id].op, Op::Parameter { .. });
        matches!(
            root.op,
            Op::Binary {
                op: BinaryOp::Add | BinaryOp::Multiply,
                ..
            }
        ) && root.operands.iter().all(is_parameter)
    };
    let called = module.computations.iter();
    let called = called.filter(|(id, _)| *id != module.entry);
    called
        .map(|(_, computation)| computation)
        .filter(is_plain)
        .count()
}

fn filled(ty: hloc_ir::ElementType, dims: &[i64], value: Scalar) -> Array {
    let mut array = Array::zeros(ty, dims).expect("the shape was there before");
    for at in 0..array.num_elements() {
        array.set(at, value);
    }
    array
}

#[cfg(test)]
mod tests {
    use hloc_diag::Source;

    use super::{filetest, shrink};
    use crate::directives;
    use crate::generate::{Program, program};
    use crate::stages;

    /// A made-up mistake: every valid program that needs a product fails.
    fn fails(program: &Program) -> bool {
        let source = Source::new("random", program.text.as_str()).expect("a short text");
        stages::verified(&source).is_ok_and(|module| {
            let (needed, _) = super::edit::prune(&module, &program.arguments);
            hloc_ir::print_module(&needed).contains(" multiply(")
        })
    }

    fn instructions(program: &Program) -> usize {
        program.text.matches(" = ").count()
    }

    #[test]
    fn programs_shrink_to_the_instruction_that_fails() {
        let mut shrunk = 0;
        for seed in 0..200 {
            let program = program(seed);
            if !fails(&program) {
                continue;
            }
            let small = shrink(&program, &mut fails);
            assert!(fails(&small), "seed {seed}:\n{}", small.text);
            let count = instructions(&small);
            assert!(count <= 3, "seed {seed}: {count}\n{}", small.text);
            let test = filetest(&small, "A made-up mistake.").expect("it is valid");
            assert!(directives::read(&test).is_ok(), "{test}");
            shrunk += 1;
        }
        assert!(shrunk >= 10, "only {shrunk} programs have a product");
    }
}
