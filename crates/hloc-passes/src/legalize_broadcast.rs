//! Turns implicit broadcasting into `broadcast` and `reshape` instructions, as XLA's builder does.
//!
//! before:  ROOT s = f32[4,3] add(x, y), broadcast_dimensions={0}         // f32[4,3] and f32[4]
//! after:   broadcast = f32[4,3] broadcast(y), dimensions={0}
//!          ROOT s = f32[4,3] add(x, broadcast)
//!
//! An operand with fewer dimensions is first broadcast to those of the largest, keeping its own sizes;
//! then a `reshape` drops its dimensions of size 1 that must grow, and a second `broadcast` brings them
//! back with the full size. The scalar predicate of `select` and scalar bounds of `clamp` become
//! broadcasts too, and a `broadcast` with unsorted `dimensions` (an option permits it) becomes a
//! `transpose` and a sorted one. Nothing after this pass knows implicit broadcasting.
//!
//! Which operand goes where is `hloc_ir::ops::plan_broadcast`, the rule that the verifier checks.

use hloc_ir::ops::{BroadcastPlan, OperandPlan, plan_broadcast};
use hloc_ir::{ArrayShape, Computation, Dimensions, InstrId, Instruction, Module, Op, Shape};
use hloc_verify::VerifiedModule;

use crate::module_rewriter::ModuleRewriter;
use crate::rewriter::Rewriter;
use crate::{Pass, PassError};

/// Legalization of implicit broadcasting.
#[derive(Clone, Copy, Debug)]
pub struct LegalizeBroadcast;

impl Pass for LegalizeBroadcast {
    fn name(&self) -> &'static str {
        "legalize-broadcast"
    }

    fn summary(&self) -> &'static str {
        "makes implicit broadcasting explicit"
    }

    fn run(&self, module: &VerifiedModule) -> Result<Option<Module>, PassError> {
        let mut computations = module.computations.values();
        if !computations.any(|c| c.instructions.values().any(|i| is_implicit(c, i))) {
            return Ok(None);
        }
        let mut rewriter = ModuleRewriter::new(self.name(), module);
        for (id, computation) in module.computations.iter() {
            let mut rebuilt = rewriter.rewriter(id);
            for (id, instruction) in computation.instructions.iter() {
                if is_implicit(computation, instruction) {
                    legalize(&mut rebuilt, id);
                } else {
                    rebuilt.copy(id);
                }
            }
            rewriter.place(id, rebuilt);
        }
        Ok(rewriter.finish())
    }
}

/// The `broadcast_dimensions` of an op that broadcasts implicitly, `None` for all other ops.
fn mapping(op: &Op) -> Option<Option<&[i64]>> {
    if let Op::Binary {
        broadcast_dimensions,
        ..
    }
    | Op::Ternary {
        broadcast_dimensions,
        ..
    }
    | Op::Compare {
        broadcast_dimensions,
        ..
    } = op
    {
        Some(broadcast_dimensions.as_deref())
    } else {
        None
    }
}

fn is_implicit(computation: &Computation, instruction: &Instruction) -> bool {
    if let Op::Broadcast { dimensions } = &instruction.op {
        return !dimensions.is_sorted();
    }
    let Some(mapping) = mapping(&instruction.op) else {
        return false;
    };
    let sizes_differ = |operand: &InstrId| {
        let operand = computation.instructions[*operand].shape.as_array();
        operand.map(|shape| &shape.dims) != instruction.shape.as_array().map(|shape| &shape.dims)
    };
    mapping.is_some() || instruction.operands.iter().any(sizes_differ)
}

fn legalize(rebuilt: &mut Rewriter<'_>, id: InstrId) {
    let instruction = &rebuilt.old().instructions[id];
    if let Op::Broadcast { dimensions } = &instruction.op {
        sort_dimensions(rebuilt, id, dimensions);
        return;
    }
    let shapes: Vec<&ArrayShape> = rebuilt
        .old()
        .operand_shapes(instruction)
        .into_iter()
        .filter_map(Shape::as_array)
        .collect();
    let plan = plan_broadcast(&shapes, mapping(&instruction.op).flatten())
        .expect("the module is verified, by the same rule");
    let mut operands = rebuilt.mapped_operands(id);
    for (index, shape) in shapes.iter().enumerate() {
        if !plan.is_identity(index) {
            operands[index] = expand(rebuilt, id, operands[index], shape, &plan, index);
        }
    }
    let op = without_mapping(instruction.op.clone());
    rebuilt.put(id, op, &operands, instruction.shape.clone());
}

fn without_mapping(mut op: Op) -> Op {
    if let Op::Binary {
        broadcast_dimensions,
        ..
    }
    | Op::Ternary {
        broadcast_dimensions,
        ..
    }
    | Op::Compare {
        broadcast_dimensions,
        ..
    } = &mut op
    {
        *broadcast_dimensions = None;
    }
    op
}

/// Brings one operand to the sizes of the result.
fn expand(
    rebuilt: &mut Rewriter<'_>,
    like: InstrId,
    operand: InstrId,
    shape: &ArrayShape,
    plan: &BroadcastPlan,
    index: usize,
) -> InstrId {
    let OperandPlan {
        dimensions,
        degenerate,
    } = &plan.operands[index];
    let result = ArrayShape {
        dynamic: plan.dynamic,
        ..with_dims(shape, &plan.dims)
    };
    let fewer = dimensions.len() < plan.dims.len();
    let placed = if fewer {
        let mut placed = result.clone();
        for dim in degenerate {
            placed.dims[dimensions[*dim as usize] as usize] = 1;
        }
        placed
    } else {
        shape.clone()
    };
    let operand = if fewer {
        broadcast(rebuilt, like, operand, placed.clone(), dimensions.to_vec())
    } else {
        operand
    };
    if degenerate.is_empty() {
        return operand;
    }
    let kept = |dim: &usize| placed.dims[*dim] == result.dims[*dim];
    let kept: Vec<usize> = (0..result.num_dims()).filter(kept).collect();
    let sizes: Dimensions = kept.iter().map(|dim| result.dims[*dim]).collect();
    let dropped = with_dims(shape, &sizes);
    let reshape = Op::Reshape {
        inferred_dimension: None,
    };
    let dropped = rebuilt.emit(like, reshape, &[operand], Shape::Array(dropped));
    let dimensions = kept.iter().map(|dim| *dim as i64).collect();
    broadcast(rebuilt, like, dropped, result, dimensions)
}

fn with_dims(shape: &ArrayShape, dims: &[i64]) -> ArrayShape {
    ArrayShape::new(shape.element_type, dims)
}

fn broadcast(
    rebuilt: &mut Rewriter<'_>,
    like: InstrId,
    operand: InstrId,
    shape: ArrayShape,
    dimensions: Vec<i64>,
) -> InstrId {
    let op = Op::Broadcast { dimensions };
    rebuilt.emit(like, op, &[operand], Shape::Array(shape))
}

/// `broadcast(x), dimensions={1,0}` becomes `broadcast(transpose(x)), dimensions={0,1}`.
fn sort_dimensions(rebuilt: &mut Rewriter<'_>, id: InstrId, dimensions: &[i64]) {
    let instruction = &rebuilt.old().instructions[id];
    let mut order: Vec<usize> = (0..dimensions.len()).collect();
    order.sort_by_key(|at| dimensions[*at]);
    let operand = rebuilt.mapped(instruction.operands[0]);
    let Some(shape) = rebuilt.made(operand).shape.as_array() else {
        rebuilt.copy(id);
        return;
    };
    let sizes: Vec<i64> = order.iter().map(|at| shape.dims[*at]).collect();
    let transposed = Shape::Array(with_dims(shape, &sizes));
    let transpose = Op::Transpose {
        dimensions: order.iter().map(|at| *at as i64).collect(),
    };
    let operand = rebuilt.emit(id, transpose, &[operand], transposed);
    let op = Op::Broadcast {
        dimensions: order.iter().map(|at| dimensions[*at]).collect(),
    };
    rebuilt.put(id, op, &[operand], instruction.shape.clone());
}

#[cfg(test)]
mod tests {
    use super::LegalizeBroadcast;
    use crate::testing::check;

    #[test]
    fn in_dim_then_degenerate() {
        check(
            &LegalizeBroadcast,
            "x = f32[4] parameter(0)
             y = f32[1,2] parameter(1)
             ROOT s = f32[4,2] add(x, y), broadcast_dimensions={0}",
            "x = f32[4] parameter(0)
             y = f32[1,2] parameter(1)
             broadcast = f32[4,2] broadcast(x), dimensions={0}
             reshape = f32[2] reshape(y)
             broadcast.1 = f32[4,2] broadcast(reshape), dimensions={1}
             ROOT s = f32[4,2] add(broadcast, broadcast.1)",
        );
    }

    #[test]
    fn both_sides_grow() {
        check(
            &LegalizeBroadcast,
            "x = f32[4,3,1] parameter(0)
             y = f32[1,2] parameter(1)
             ROOT s = f32[4,3,2] add(x, y), broadcast_dimensions={1,2}",
            "x = f32[4,3,1] parameter(0)
             y = f32[1,2] parameter(1)
             reshape = f32[4,3] reshape(x)
             broadcast = f32[4,3,2] broadcast(reshape), dimensions={0,1}
             broadcast.1 = f32[4,1,2] broadcast(y), dimensions={1,2}
             reshape.1 = f32[4,2] reshape(broadcast.1)
             broadcast.2 = f32[4,3,2] broadcast(reshape.1), dimensions={0,2}
             ROOT s = f32[4,3,2] add(broadcast, broadcast.2)",
        );
    }

    #[test]
    fn scalars_of_clamp_and_select() {
        check(
            &LegalizeBroadcast,
            "low = f32[] parameter(0)
             x = f32[2] parameter(1)
             p = pred[] parameter(2)
             c = f32[2] clamp(low, x, x)
             ROOT s = f32[2] select(p, c, x)",
            "low = f32[] parameter(0)
             x = f32[2] parameter(1)
             p = pred[] parameter(2)
             broadcast = f32[2] broadcast(low), dimensions={}
             c = f32[2] clamp(broadcast, x, x)
             broadcast.1 = pred[2] broadcast(p), dimensions={}
             ROOT s = f32[2] select(broadcast.1, c, x)",
        );
    }

    #[test]
    fn unsorted_dimensions() {
        check(
            &LegalizeBroadcast,
            "x = f32[3,2] parameter(0)
             ROOT b = f32[2,4,3] broadcast(x), dimensions={2,0}",
            "x = f32[3,2] parameter(0)
             transpose = f32[2,3] transpose(x), dimensions={1,0}
             ROOT b = f32[2,4,3] broadcast(transpose), dimensions={0,2}",
        );
    }

    #[test]
    fn explicit_programs_stay() {
        check(
            &LegalizeBroadcast,
            "x = f32[3] parameter(0)
             ROOT b = f32[3] add(x, x)",
            "x = f32[3] parameter(0)
             ROOT b = f32[3] add(x, x)",
        );
    }
}
