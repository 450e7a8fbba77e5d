//! Lets one instruction stand for all that compute the same.
//!
//! before:  a = f32[2] add(x, y)   b = f32[2] add(y, x)   ROOT r = f32[2] multiply(a, b)
//! after:   a = f32[2] add(x, y)   ROOT r = f32[2] multiply(a, a)
//!
//! Instructions are the same if op, attributes, shapes and operands are; constants if their bits are.
//! Operands of ops that the op table calls commutative may be swapped. Called computations are the same
//! if they say the same under other names. Layouts do not matter. Left alone are instructions with
//! effects or control predecessors, random ones, parameters and `bitcast`. The later ones go; what only
//! they used stays for `dce`.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use hloc_ir::{
    BinaryOp, Computation, ComputationId, InstrId, Instruction, Module, Op, Operands, Shape,
    SideTable,
};
use hloc_verify::VerifiedModule;

use crate::effects::{Effect, Effects};
use crate::module_rewriter::ModuleRewriter;
use crate::rewriter::Rewriter;
use crate::structural_hash::{hash_op, hash_shape};
use crate::{Pass, PassError};

/// Common subexpression elimination.
#[derive(Clone, Copy, Debug)]
pub struct Cse;

impl Pass for Cse {
    fn name(&self) -> &'static str {
        "cse"
    }

    fn summary(&self) -> &'static str {
        "computes equal values once"
    }

    fn run(&self, module: &VerifiedModule) -> Result<Option<Module>, PassError> {
        let effects = Effects::of(module);
        let equal = equal_computations(module);
        let mut rewriter = ModuleRewriter::new(self.name(), module);
        for (id, _) in module.computations.iter() {
            let rebuilt = share(rewriter.rewriter(id), &effects, &equal);
            rewriter.place(id, rebuilt);
        }
        Ok(rewriter.finish())
    }
}

/// What makes two instructions the same: the first of equal computations stands for all.
#[derive(PartialEq)]
struct Key {
    op: Op,
    operands: Operands,
    shape: Shape,
}

impl Key {
    fn hash(&self) -> u64 {
        let mut state = DefaultHasher::new();
        hash_op(&self.op, &mut state);
        self.operands.hash(&mut state);
        hash_shape(&self.shape, &mut state);
        state.finish()
    }
}

fn share<'m>(
    mut rebuilt: Rewriter<'m>,
    effects: &Effects,
    equal: &SideTable<ComputationId, Option<ComputationId>>,
) -> Rewriter<'m> {
    let old = rebuilt.old();
    // The first instruction of each hash, then others with the same one.
    let mut seen: HashMap<u64, Vec<(Key, InstrId)>> = HashMap::new();
    for (id, instruction) in old.instructions.iter() {
        if !may_share(instruction, effects) {
            rebuilt.copy(id);
            continue;
        }
        let key = key(&rebuilt, id, equal);
        let same_hash = seen.entry(key.hash()).or_default();
        match same_hash.iter().find(|(other, _)| *other == key) {
            Some((_, first)) => rebuilt.replace(id, *first),
            None => {
                let copy = rebuilt.copy(id);
                same_hash.push((key, copy));
            }
        }
    }
    rebuilt
}

fn may_share(instruction: &Instruction, effects: &Effects) -> bool {
    let attributes = instruction.attributes.as_ref();
    let ordered = attributes.is_some_and(|a| !a.control_predecessors.is_empty());
    let of_its_own = matches!(instruction.op, Op::Parameter { .. } | Op::Bitcast {});
    !ordered && !of_its_own && effects.of_instruction(instruction) == Effect::None
}

fn key(
    rebuilt: &Rewriter<'_>,
    id: InstrId,
    equal: &SideTable<ComputationId, Option<ComputationId>>,
) -> Key {
    let instruction = &rebuilt.old().instructions[id];
    let mut op = instruction.op.clone();
    op.map_computations(|id| equal[id].unwrap_or(id));
    let mut operands = rebuilt.mapped_operands(id);
    if commutes(&op) {
        operands.sort_unstable();
    }
    Key {
        op,
        operands,
        shape: without_layout(&instruction.shape),
    }
}

fn commutes(op: &Op) -> bool {
    if let Op::Binary {
        op,
        broadcast_dimensions: None,
    } = op
    {
        BinaryOp::commutes(*op)
    } else {
        false
    }
}

fn without_layout(shape: &Shape) -> Shape {
    match shape {
        Shape::Array(array) => {
            let mut array = array.clone();
            array.layout = None;
            Shape::Array(array)
        }
        Shape::Tuple(elements) => Shape::Tuple(elements.iter().map(without_layout).collect()),
        Shape::Token => Shape::Token,
        Shape::Opaque => Shape::Opaque,
        Shape::Buffer(inner) => Shape::Buffer(Box::new(without_layout(inner))),
    }
}

/// For each computation that says the same as an earlier one, the first such.
fn equal_computations(module: &Module) -> SideTable<ComputationId, Option<ComputationId>> {
    let mut equal = SideTable::new(None);
    let mut seen: HashMap<u64, Vec<ComputationId>> = HashMap::new();
    for (id, computation) in module.computations.iter() {
        let mut state = DefaultHasher::new();
        for instruction in computation.instructions.values() {
            let mut op = instruction.op.clone();
            op.map_computations(|id| equal[id].unwrap_or(id));
            hash_op(&op, &mut state);
            instruction.operands.hash(&mut state);
            hash_shape(&instruction.shape, &mut state);
        }
        let same_hash = seen.entry(state.finish()).or_default();
        let first = same_hash
            .iter()
            .find(|other| same_instructions(&module.computations[**other], computation, &equal));
        match first {
            Some(first) => equal.set(id, Some(*first)),
            None => same_hash.push(id),
        }
    }
    equal
}

fn same_instructions(
    a: &Computation,
    b: &Computation,
    equal: &SideTable<ComputationId, Option<ComputationId>>,
) -> bool {
    let same = |(a, b): (&Instruction, &Instruction)| {
        let ops = [a, b].map(|instruction| {
            let mut op = instruction.op.clone();
            op.map_computations(|id| equal[id].unwrap_or(id));
            op
        });
        let shapes = [a, b].map(|instruction| without_layout(&instruction.shape));
        ops[0] == ops[1] && a.operands == b.operands && shapes[0] == shapes[1]
    };
    a.root == b.root
        && a.parameters == b.parameters
        && a.instructions.len() == b.instructions.len()
        && a.instructions
            .values()
            .zip(b.instructions.values())
            .all(same)
}

#[cfg(test)]
mod tests {
    use super::Cse;
    use crate::testing::{check, rewritten};

    #[test]
    fn swapped_operands_and_equal_constants() {
        check(
            &Cse,
            "x = f32[] parameter(0)
             one = f32[] constant(1)
             uno = f32[] constant(1)
             a = f32[] add(x, one)
             b = f32[] add(uno, x)
             c = f32[] subtract(a, x)
             d = f32[] subtract(x, b)
             ROOT t = (f32[], f32[], f32[]) tuple(b, c, d)",
            "x = f32[] parameter(0)
             one = f32[] constant(1)
             a = f32[] add(x, one)
             c = f32[] subtract(a, x)
             d = f32[] subtract(x, a)
             ROOT t = (f32[], f32[], f32[]) tuple(a, c, d)",
        );
    }

    #[test]
    fn zeros_of_both_signs_differ() {
        let same = "x = f32[] constant(0)
             y = f32[] constant(-0.0)
             ROOT t = (f32[], f32[]) tuple(x, y)";
        check(&Cse, same, same);
    }

    #[test]
    fn reductions_by_equal_computations() {
        let text = "HloModule test

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

total {
  c = f32[] parameter(0)
  d = f32[] parameter(1)
  ROOT t = f32[] add(c, d)
}

ENTRY main {
  x = f32[9] parameter(0)
  zero = f32[] constant(0)
  r = f32[] reduce(x, zero), dimensions={0}, to_apply=sum
  q = f32[] reduce(x, zero), dimensions={0}, to_apply=total
  ROOT t = (f32[], f32[]) tuple(r, q)
}
";
        let after = rewritten(&Cse, text);
        assert!(after.contains("tuple(r, r)"), "{after}");
    }
}
