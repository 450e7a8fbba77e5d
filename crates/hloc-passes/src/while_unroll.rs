//! Puts the iterations of a short counted loop one after the other, so that they fuse.
//!
//! before:  init = (s32[], f32[4]) tuple(zero, x)
//!          ROOT w = (s32[], f32[4]) while(init), condition=less_than_two, body=step
//! after:   init = (s32[], f32[4]) tuple(zero, x)
//!          ... step of init ...
//!          ROOT t.1 = (s32[], f32[4]) tuple(...)   step of that
//!
//! A loop is counted if [`trip_count`] knows how often it runs. It is unrolled if that is at most [`MAX_TRIPS`]
//! times, the copies have at most [`MAX_COPIED`] instructions together, and the body is made of ops that fusions
//! take in: the rounds of a counter-based generator become one kernel, which keeps the state in registers.
//! Loops around products, sorts or other loops stay as they are.

use hloc_ir::{Computation, ComputationId, Instruction, Module, Op, trip_count};
use hloc_verify::VerifiedModule;

use crate::call_inline::splice;
use crate::effects::{Effect, Effects};
use crate::fusion::is_elemental;
use crate::module_rewriter::ModuleRewriter;
use crate::{Pass, PassError};

/// The most iterations of a loop that is unrolled.
const MAX_TRIPS: usize = 8;

/// The most instructions that the copies of one loop's body have.
const MAX_COPIED: usize = 512;

/// Unrolling of short counted loops.
#[derive(Clone, Copy, Debug)]
pub struct WhileUnroll;

impl Pass for WhileUnroll {
    fn name(&self) -> &'static str {
        "while-unroll"
    }

    fn summary(&self) -> &'static str {
        "unrolls short counted loops of element-wise bodies"
    }

    fn run(&self, module: &VerifiedModule) -> Result<Option<Module>, PassError> {
        let effects = Effects::of(module);
        let mut rewriter = ModuleRewriter::new(self.name(), module);
        for (id, computation) in module.computations.iter() {
            let mut rebuilt = rewriter.rewriter(id);
            for (id, instruction) in computation.instructions.iter() {
                let Some((body, trips)) = unrolled(module, &effects, computation, instruction)
                else {
                    rebuilt.copy(id);
                    continue;
                };
                let mut state = rebuilt.mapped(instruction.operands[0]);
                for _ in 0..trips {
                    state = splice(&mut rebuilt, rewriter.rebuilt(body), &[state]);
                }
                rebuilt.replace(id, state);
            }
            rewriter.place(id, rebuilt);
        }
        Ok(rewriter.finish())
    }
}

/// The body and the number of iterations of a loop that is unrolled, `None` for everything else.
fn unrolled(
    module: &Module,
    effects: &Effects,
    computation: &Computation,
    instruction: &Instruction,
) -> Option<(ComputationId, usize)> {
    let Op::While { body, .. } = instruction.op else {
        return None;
    };
    let attributes = instruction.attributes.as_ref();
    let is_ordered = attributes.is_some_and(|a| !a.control_predecessors.is_empty());
    if is_ordered || effects.of_instruction(instruction) != Effect::None {
        return None;
    }
    let trips = usize::try_from(trip_count(module, computation, instruction)?).ok()?;
    let copied = module.computations[body]
        .instructions
        .len()
        .checked_mul(trips)?;
    let fits = trips <= MAX_TRIPS && copied <= MAX_COPIED && is_fusible(&module.computations[body]);
    fits.then_some((body, trips))
}

/// Whether a body consists of what fusions take in and of what takes tuples apart and makes them.
fn is_fusible(body: &Computation) -> bool {
    body.instructions.values().all(|instruction| {
        let is_plumbing = matches!(
            instruction.op,
            Op::Parameter { .. } | Op::GetTupleElement { .. } | Op::Tuple {} | Op::Constant { .. }
        );
        is_plumbing || is_elemental(body, instruction)
    })
}

#[cfg(test)]
mod tests {
    use super::WhileUnroll;
    use crate::testing::{module, run_on};

    fn counted(bound: i64, direction: &str, body: &str) -> String {
        format!(
            "HloModule test

condition {{
  p = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  bound = s32[] constant({bound})
  ROOT more = pred[] compare(i, bound), direction={direction}
}}

body {{
  p = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[4] get-tuple-element(p), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  y = f32[4] {body}
  ROOT t = (s32[], f32[4]) tuple(next, y)
}}

ENTRY main {{
  x = f32[4] parameter(0)
  zero = s32[] constant(0)
  init = (s32[], f32[4]) tuple(zero, x)
  ROOT w = (s32[], f32[4]) while(init), condition=condition, body=body
}}
"
        )
    }

    /// How many copies of the body the entry computation holds; `None` if the loop is still there.
    fn copies(text: &str) -> Option<usize> {
        let after = run_on(&WhileUnroll, &module(text));
        let text = hloc_ir::print_module(&after);
        let entry = text.split("ENTRY").nth(1).expect("there is an entry");
        (!entry.contains("while(")).then(|| entry.matches(" negate(").count())
    }

    #[test]
    fn counted_loops_are_unrolled() {
        assert_eq!(copies(&counted(3, "LT", "negate(x)")), Some(3));
        assert_eq!(copies(&counted(3, "LE", "negate(x)")), Some(4));
        assert_eq!(copies(&counted(5, "NE", "negate(x)")), Some(5));
        assert_eq!(copies(&counted(0, "GT", "negate(x)")), Some(0));
    }

    #[test]
    fn long_and_endless_loops_stay() {
        assert_eq!(copies(&counted(9, "LT", "negate(x)")), None);
        assert_eq!(copies(&counted(-1, "NE", "negate(x)")), None);
        assert_eq!(copies(&counted(0, "GE", "negate(x)")), None);
    }

    #[test]
    fn loops_around_library_routines_stay() {
        let sorting = counted(3, "LT", "sort(x), dimensions={0}, to_apply=less").replacen(
            "condition {",
            "less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT
}

condition {",
            1,
        );
        assert_eq!(copies(&sorting), None);
    }
}
