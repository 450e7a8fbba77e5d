//! Lets one instruction stand for all that compute the same.
//!
//! before:  a = f32[2] add(x, y)   b = f32[2] add(y, x)   ROOT r = f32[2] multiply(a, b)
//! after:   a = f32[2] add(x, y)   ROOT r = f32[2] multiply(a, a)
//!
//! Instructions are the same if op, attributes, shapes and operands are; constants if their bits are.
//! Operands of ops that the op table calls commutative may be swapped. Called computations are the same
//! if they say the same under other names. Layouts do not matter. Left alone are instructions with
//! effects or control predecessors, parameters and `bitcast`. The later ones go; what only they used stays
//! for `dce`. The insides of fusions are left alone.

use std::borrow::Cow;
use std::hash::{BuildHasher, Hash, Hasher};

use hloc_ir::{
    BackendConfig, BinaryOp, Computation, ComputationId, HashMap, Id, InstrId, Instruction, Module,
    Op, Operands, Shape, SideTable,
};
use hloc_verify::VerifiedModule;

use crate::effects::{Effect, Effects};
use crate::module_rewriter::{ModuleRewriter, fused_computations};
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
        let fused = fused_computations(module);
        for id in module.computations.ids() {
            if fused[id.index()] {
                rewriter.keep(id);
                continue;
            }
            let rebuilt = share(rewriter.rewriter(id), &effects, &equal);
            rewriter.place(id, rebuilt);
        }
        Ok(rewriter.finish())
    }
}

fn hasher() -> impl Hasher {
    foldhash::fast::FixedState::default().build_hasher()
}

/// For each computation that says the same as an earlier one, the first such.
type EqualComputations = SideTable<ComputationId, Option<ComputationId>>;

/// What two instructions must have in common to be the same.
struct Key<'a> {
    /// The op; called computations are the first of equal ones.
    op: Cow<'a, Op>,
    /// New ids, sorted if the op commutes.
    operands: Operands,
    shape: &'a Shape,
    /// What a custom call is told besides its operands.
    config: Option<&'a BackendConfig>,
}

impl<'a> Key<'a> {
    fn new(instruction: &'a Instruction, operands: Operands, equal: &EqualComputations) -> Key<'a> {
        let mut key = Key {
            op: canonical_op(&instruction.op, equal),
            operands,
            shape: &instruction.shape,
            config: config(instruction),
        };
        if commutes(&key.op) {
            key.operands.sort_unstable();
        }
        key
    }

    fn hash(&self, state: &mut impl Hasher) {
        hash_op(&self.op, state);
        self.operands.hash(state);
        hash_shape(self.shape, state);
    }

    fn is_same(&self, other: &Key<'_>) -> bool {
        self.operands == other.operands
            && self.op == other.op
            && self.config == other.config
            && self.shape.compatible(other.shape)
            && same_dynamic(self.shape, other.shape)
    }
}

fn canonical_op<'a>(op: &'a Op, equal: &EqualComputations) -> Cow<'a, Op> {
    let renamed = |id: &ComputationId| equal[*id].is_some();
    if !op.called_computations().iter().any(renamed) {
        return Cow::Borrowed(op);
    }
    let mut op = op.clone();
    op.map_computations(|id| equal[id].unwrap_or(id));
    Cow::Owned(op)
}

/// The options of a custom call; of other ops, notes of a back end do not change what they compute.
fn config(instruction: &Instruction) -> Option<&BackendConfig> {
    let Op::CustomCall { .. } = &instruction.op else {
        return None;
    };
    instruction.attributes.as_ref()?.backend_config.as_ref()
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

/// Whether the same dimensions are dynamic in both, which are compatible.
fn same_dynamic(a: &Shape, b: &Shape) -> bool {
    let marks = |shape: &Shape| shape.as_array().map_or(0, |array| array.dynamic);
    match (a.as_tuple(), b.as_tuple()) {
        (Some(a), Some(b)) => a.iter().zip(b).all(|(a, b)| same_dynamic(a, b)),
        (None, _) | (_, None) => marks(a) == marks(b),
    }
}

/// Instructions by hash, in lists of those with equal ones.
struct Seen {
    last: HashMap<u64, InstrId>,
    /// The instruction before each in its list.
    before: SideTable<InstrId, Option<InstrId>>,
}

fn share<'m>(
    mut rebuilt: Rewriter<'m>,
    effects: &Effects,
    equal: &EqualComputations,
) -> Rewriter<'m> {
    let old = rebuilt.old();
    let mut seen = Seen {
        last: HashMap::default(),
        before: SideTable::new(None),
    };
    for (id, instruction) in old.instructions.iter() {
        if !may_share(instruction, effects) {
            rebuilt.copy(id);
            continue;
        }
        let key = Key::new(instruction, rebuilt.mapped_operands(id), equal);
        let mut state = hasher();
        key.hash(&mut state);
        let hash = state.finish();
        let mut candidate = seen.last.get(&hash).copied();
        while let Some(other) = candidate {
            let operands = rebuilt.mapped_operands(other);
            if key.is_same(&Key::new(&old.instructions[other], operands, equal)) {
                break;
            }
            candidate = seen.before[other];
        }
        match candidate {
            Some(first) => rebuilt.replace(id, rebuilt.mapped(first)),
            None => {
                rebuilt.copy(id);
                let before = seen.last.insert(hash, id);
                seen.before.set(id, before);
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

/// Compares all computations but the entry, which nothing calls, and those whose values layouts change.
fn equal_computations(module: &Module) -> EqualComputations {
    let mut equal = SideTable::new(None);
    let mut seen: HashMap<u64, Vec<ComputationId>> = HashMap::default();
    for (id, computation) in module.computations.iter() {
        let mut instructions = computation.instructions.values();
        let layouts_matter = instructions.any(|i| matches!(i.op, Op::Bitcast {}));
        if id == module.entry || layouts_matter {
            continue;
        }
        let mut state = hasher();
        for instruction in computation.instructions.values() {
            Key::new(instruction, instruction.operands.clone(), &equal).hash(&mut state);
        }
        let same_hash = seen.entry(state.finish()).or_default();
        let says_the_same = |other: &&ComputationId| {
            same_instructions(&module.computations[**other], computation, &equal)
        };
        match same_hash.iter().find(says_the_same) {
            Some(first) => equal.set(id, Some(*first)),
            None => same_hash.push(id),
        }
    }
    equal
}

fn same_instructions(a: &Computation, b: &Computation, equal: &EqualComputations) -> bool {
    let same = |(a, b): (&Instruction, &Instruction)| {
        let [a, b] = [a, b].map(|i| Key::new(i, i.operands.clone(), equal));
        a.is_same(&b)
    };
    let mut pairs = a.instructions.values().zip(b.instructions.values());
    a.root == b.root
        && a.parameters == b.parameters
        && a.instructions.len() == b.instructions.len()
        && pairs.all(same)
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
    fn custom_calls_with_other_options() {
        let same = "x = f32[2,2] parameter(0)
             a = (f32[2,2], s32[]) custom-call(x), custom_call_target=\"lapack_spotrf_ffi\", backend_config={uplo = 76 : ui8}
             b = (f32[2,2], s32[]) custom-call(x), custom_call_target=\"lapack_spotrf_ffi\", backend_config={uplo = 85 : ui8}
             ROOT t = ((f32[2,2], s32[]), (f32[2,2], s32[])) tuple(a, b)";
        check(&Cse, same, same);
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
