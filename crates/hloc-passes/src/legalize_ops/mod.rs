//! Spells ops that lowering does not know out in ops that it knows.
//!
//! before:  ROOT r = f32[4] all-reduce(x), to_apply=add
//! after:   the users of `r` use `x`
//!
//! Communication gives one device alone its own operands back, and asynchronous pairs are run in place
//! ([`collective`], [`asynchronous`]); `scan` becomes a `while` ([`scan`]); `rng` draws bits and computes
//! with them ([`random`]); `stochastic-convert` compares what it cuts off with the random bits
//! ([`stochastic`]); `ragged-dot` and `scaled-dot` become masked and scaled `dot`s ([`products`]).
//! What has no meaning on one device stays, and lowering refuses it.

mod asynchronous;
mod collective;
mod products;
mod random;
mod scan;
mod stochastic;

use hloc_ir::{BinaryOp, Computation, ElementType, InstrId, Module, Op, Origin, Shape};
use hloc_verify::VerifiedModule;

use crate::make::{Body, InPlace, Make};
use crate::module_rewriter::ModuleRewriter;
use crate::rewriter::Rewriter;
use crate::{Pass, PassError};

/// Legalization of collectives, asynchronous pairs, `scan`, `rng`, `stochastic-convert`, `ragged-dot` and
/// `scaled-dot`.
#[derive(Clone, Copy, Debug)]
pub struct LegalizeOps;

impl Pass for LegalizeOps {
    fn name(&self) -> &'static str {
        "legalize-ops"
    }

    fn summary(&self) -> &'static str {
        "spells out scans, random numbers, collectives of one device and other ops that lowering does not know"
    }

    fn run(&self, module: &VerifiedModule) -> Result<Option<Module>, PassError> {
        let mut computations = module.computations.values();
        if !computations.any(|c| c.instructions.values().any(|i| is_candidate(&i.op))) {
            return Ok(None);
        }
        let mut rewriter = ModuleRewriter::new(self.name(), module);
        for (id, computation) in module.computations.iter() {
            let mut rebuilt = rewriter.rewriter(id);
            for id in computation.instructions.ids() {
                if !spell_out(&mut rewriter, &mut rebuilt, id) {
                    rebuilt.copy(id);
                }
            }
            rewriter.place(id, rebuilt);
        }
        Ok(rewriter.finish())
    }
}

/// Whether an op is of those that this pass looks at.
fn is_candidate(op: &Op) -> bool {
    collective::is_collective(op)
        || asynchronous::is_asynchronous(op)
        || matches!(
            op,
            Op::Scan { .. }
                | Op::Rng { .. }
                | Op::StochasticConvert {}
                | Op::RaggedDot { .. }
                | Op::ScaledDot { .. }
        )
}

/// Puts something else in place of the old instruction `id`; false if it has to stay.
fn spell_out(module: &mut ModuleRewriter<'_>, rebuilt: &mut Rewriter<'_>, id: InstrId) -> bool {
    let op = &rebuilt.old().instructions[id].op;
    if !is_candidate(op) || has_dynamic(rebuilt.old(), id) {
        return false;
    }
    if collective::is_collective(op) {
        return collective::spell_out(rebuilt, id);
    }
    if asynchronous::is_asynchronous(op) {
        return asynchronous::spell_out(rebuilt, id);
    }
    let value = if let Op::Scan { .. } = op {
        scan::spell_out(module, rebuilt, id)
    } else if let Op::RaggedDot { .. } = op {
        products::ragged(module, rebuilt, id)
    } else if let Op::ScaledDot { .. } = op {
        products::scaled(rebuilt, id)
    } else if let Op::Rng { distribution } = op {
        random::spell_out(rebuilt, id, *distribution)
    } else {
        stochastic::spell_out(rebuilt, id)
    };
    if let Some(value) = value {
        rebuilt.replace(id, value);
    }
    value.is_some()
}

/// Whether an instruction gives or takes an array of unknown sizes, where sizes of shapes say too little.
///
/// What passes its operands on may have any.
fn has_dynamic(computation: &Computation, id: InstrId) -> bool {
    let instruction = &computation.instructions[id];
    if collective::is_collective(&instruction.op)
        || asynchronous::is_asynchronous(&instruction.op)
        || matches!(instruction.op, Op::StochasticConvert {})
    {
        return false;
    }
    let shapes = instruction.operands.iter();
    let mut shapes = shapes
        .map(|operand| &computation.instructions[*operand].shape)
        .chain([&instruction.shape]);
    shapes.any(is_dynamic)
}

fn is_dynamic(shape: &Shape) -> bool {
    let leaves = shape.leaves();
    let mut arrays = leaves.iter().filter_map(|leaf| leaf.as_array());
    arrays.any(|array| array.dynamic != 0)
}

/// A computation that adds two scalars.
fn addition(
    module: &mut ModuleRewriter<'_>,
    ty: ElementType,
    origin: Origin,
) -> hloc_ir::ComputationId {
    let mut body = Body::new(origin);
    let x = body.parameter(Shape::scalar(ty));
    let y = body.parameter(Shape::scalar(ty));
    let sum = body.binary(BinaryOp::Add, x, y);
    module.add("add", body.finish(sum))
}

/// The values of one instruction's operands and a place to make new ones.
fn in_place<'a, 'm>(rebuilt: &'a mut Rewriter<'m>, id: InstrId) -> InPlace<'a, 'm> {
    InPlace { rebuilt, like: id }
}

/// The zero of every array of a shape; tokens join nothing. `None` for what has no values.
fn zeros_of(make: &mut impl Make, shape: &Shape) -> Option<InstrId> {
    match shape {
        Shape::Array(array) => Some(make.zeros(array.element_type, &array.dims)),
        Shape::Tuple(elements) => {
            let elements: Option<Vec<InstrId>> = elements
                .iter()
                .map(|element| zeros_of(make, element))
                .collect();
            Some(make.tuple(&elements?))
        }
        Shape::Token => Some(make.make(Op::AfterAll {}, &[], Shape::Token)),
        Shape::Opaque | Shape::Buffer(_) => None,
    }
}
