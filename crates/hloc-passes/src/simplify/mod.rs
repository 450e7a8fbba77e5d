//! Rewrites instructions into simpler ones that give the same bits.
//!
//! before:  r = f32[4,1] reshape(x)   b = f32[4] reshape(r)   n = f32[4] negate(b)   ROOT m = f32[4] negate(n)
//! after:   …                                                 n = f32[4] negate(x)   ROOT m is x
//!
//! The rules, by file:
//! - `shapes`: views of views, views that change nothing, `broadcast`s of views and of broadcasts.
//!   Afterward no `broadcast` has an operand that is a `broadcast` or has dimensions of size 1.
//! - `algebra`: neutral elements, inverses of inverses, constant predicates.
//! - `hoist`: an element-wise op on broadcasts becomes a broadcast of the op on what was broadcast;
//!   on reshapes that add dimensions of size 1 it becomes a reshape.
//! - `integers`: integers computed in more bits than are kept, shifts that leave nothing.
//! - `quotients`: divisions by constants that products give to the bit.
//! - `structure`: tuples and their elements, conditionals with constant predicates (they become calls),
//!   reductions over dimensions of size 1.
//! - `products`: transposed products of matrices.
//! - `updates`: scatters of one window at a known place, updates of most of an array by what lies beside.
//!
//! Each rule says what it keeps. Every bit stays, −0 and the payloads of NaN included, with one
//! exception: where an arithmetic op or a conversion that does nothing is removed, a signaling NaN is
//! not quieted. Instructions with control predecessors or dynamic dimensions are left alone. What is no
//! longer used stays for `dce`. The insides of fusions are left alone.

mod algebra;
mod hoist;
mod integers;
mod products;
mod quotients;
mod shapes;
mod splat;
mod structure;
#[cfg(test)]
mod tests;
mod updates;

use hloc_ir::{ArrayShape, Computation, Id, InstrId, Module, Op, Operands, Shape};
use hloc_verify::VerifiedModule;

use crate::module_rewriter::{ModuleRewriter, fused_computations};
use crate::rewriter::Rewriter;
use crate::{Pass, PassError};

/// Algebraic and structural simplification.
#[derive(Clone, Copy, Debug)]
pub struct Simplify;

impl Pass for Simplify {
    fn name(&self) -> &'static str {
        "simplify"
    }

    fn summary(&self) -> &'static str {
        "replaces instructions by simpler ones that give the same bits"
    }

    fn run(&self, module: &VerifiedModule) -> Result<Option<Module>, PassError> {
        let mut rewriter = ModuleRewriter::new(self.name(), module);
        let fused = fused_computations(module);
        for (id, computation) in module.computations.iter() {
            if fused[id.index()] {
                rewriter.keep(id);
                continue;
            }
            let mut simplifier = Simplifier {
                module,
                rebuilt: rewriter.rewriter(id),
                current: computation.root,
                uses: uses(computation),
            };
            for id in computation.instructions.ids() {
                simplifier.visit(id);
            }
            rewriter.place(id, simplifier.rebuilt);
        }
        Ok(rewriter.finish())
    }
}

/// An instruction that may still change.
#[derive(Clone)]
struct Draft {
    op: Op,
    operands: Operands,
    shape: Shape,
}

impl Draft {
    fn new(op: Op, operands: &[InstrId], shape: Shape) -> Draft {
        Draft {
            op,
            operands: Operands::from_slice(operands),
            shape,
        }
    }
}

/// What a rule makes of a draft.
#[expect(
    clippy::large_enum_variant,
    reason = "a step lives only until the next rule looks at it"
)]
enum Step {
    /// A value that exists.
    Value(InstrId),
    /// Another draft.
    Become(Draft),
}

/// A rule: `None` if it does not apply. Operands of the draft are already simple.
type Rule = fn(&mut Simplifier<'_>, &Draft) -> Option<Step>;

const RULES: &[Rule] = &[
    shapes::simplify,
    algebra::simplify,
    integers::simplify,
    quotients::simplify,
    hoist::simplify,
    structure::simplify,
    products::simplify,
    updates::simplify,
];

struct Simplifier<'m> {
    /// The old module. Each computation is rebuilt in its place, so ids of computations stay.
    module: &'m Module,
    rebuilt: Rewriter<'m>,
    /// The old instruction being replaced; new ones take its place and metadata.
    current: InstrId,
    /// How many operands each old instruction is.
    uses: Vec<u32>,
}

fn uses(computation: &Computation) -> Vec<u32> {
    let mut uses = vec![0; computation.instructions.len()];
    for instruction in computation.instructions.values() {
        for operand in &instruction.operands {
            uses[operand.index()] += 1;
        }
    }
    uses
}

impl Simplifier<'_> {
    fn visit(&mut self, id: InstrId) {
        self.current = id;
        let instruction = &self.rebuilt.old().instructions[id];
        let attributes = instruction.attributes.as_ref();
        if attributes.is_some_and(|a| !a.control_predecessors.is_empty()) {
            self.rebuilt.copy(id);
            return;
        }
        let draft = Draft {
            op: self.rebuilt.mapped_op(id),
            operands: self.rebuilt.mapped_operands(id),
            shape: instruction.shape.clone(),
        };
        match self.step(&draft) {
            None => {
                self.rebuilt.copy(id);
            }
            Some(step) => match self.settle(step) {
                Step::Value(value) => self.rebuilt.replace(id, value),
                Step::Become(draft) => {
                    self.rebuilt.put(id, draft.op, &draft.operands, draft.shape);
                }
            },
        }
    }

    /// Applies rules until none applies.
    fn settle(&mut self, mut step: Step) -> Step {
        while let Step::Become(draft) = &step {
            match self.step(draft) {
                Some(next) => step = next,
                None => break,
            }
        }
        step
    }

    fn step(&mut self, draft: &Draft) -> Option<Step> {
        RULES.iter().find_map(|rule| rule(self, draft))
    }

    /// Makes an instruction on the way, itself simplified.
    fn build(&mut self, op: Op, operands: &[InstrId], shape: Shape) -> InstrId {
        match self.settle(Step::Become(Draft::new(op, operands, shape))) {
            Step::Value(value) => value,
            Step::Become(draft) => {
                self.rebuilt
                    .emit(self.current, draft.op, &draft.operands, draft.shape)
            }
        }
    }

    /// The op of a new instruction.
    fn op(&self, id: InstrId) -> &Op {
        &self.rebuilt.made(id).op
    }

    /// Operand `index` of a new instruction.
    fn operand(&self, id: InstrId, index: usize) -> InstrId {
        self.rebuilt.made(id).operands[index]
    }

    /// The shape of a new instruction, if it is a static array.
    fn array(&self, id: InstrId) -> Option<&ArrayShape> {
        static_array(&self.rebuilt.made(id).shape)
    }
}

/// The shape, if it is a static array.
fn static_array(shape: &Shape) -> Option<&ArrayShape> {
    shape.as_array().filter(|array| array.dynamic == 0)
}

/// A `reshape` without the attribute that only dynamic dimensions need.
fn reshape_op() -> Op {
    Op::Reshape {
        inferred_dimension: None,
    }
}

/// An array shape with these sizes.
fn sized(element: &ArrayShape, dims: &[i64]) -> Shape {
    Shape::array(element.element_type, dims)
}
