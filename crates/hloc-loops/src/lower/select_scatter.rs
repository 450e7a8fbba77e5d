//! `select-and-scatter`: a kernel that writes the initial value everywhere and then, for each source
//! element in order, looks for the operand element that its window selects and combines it in there.

use hloc_ir::attr::Window;
use hloc_ir::{
    BinaryOp, CompareType, ComparisonDirection, ComputationId, ElementType, InstrId, Op, TernaryOp,
    UnaryOp,
};

use super::builder::{ArgSource, Builder, Built, Node};
use super::is_empty;
use super::reduce::window_place;
use super::region::{Leaves, Region};
use super::steps::Lowerer;
use crate::error::LowerError;
use crate::index::{Index, linear_index};
use crate::ir::{Access, Expr, IndexRange, LoopKind, ParamId, Stmt, ValueId};

/// What is selected and combined.
struct Plan<'m> {
    window: Window,
    select: ComputationId,
    scatter: ComputationId,
    operand: Node,
    source: Node,
    /// Sizes of the operand and the result.
    dims: &'m [i64],
    result: ParamId,
}

impl<'m> Lowerer<'m> {
    pub(super) fn select_and_scatter(&mut self, region: &Region<'m>, id: InstrId) -> Built<Leaves> {
        let instruction = &region.computation.instructions[id];
        let Op::SelectAndScatter {
            window,
            select,
            scatter,
        } = &instruction.op
        else {
            return Err(LowerError::internal(instruction, "it selects nothing"));
        };
        let Some(shape) = instruction.shape.as_array() else {
            return Err(LowerError::internal(instruction, "it gives no array"));
        };
        let (buffer, leaf) = self.output(region, id, 0, shape);
        if is_empty(shape) {
            return Ok(Leaves::from_iter([leaf]));
        }
        let (mut builder, frame) = self.builder(region, id, None);
        let node = Node {
            frame,
            instr: id,
            leaf: 0,
        };
        let target = ArgSource::Buffer(buffer);
        let access = Access::ReadWrite;
        let plan = Plan {
            window: window.clone().unwrap_or_default(),
            select: *select,
            scatter: *scatter,
            operand: builder.operand(node, 0)?,
            source: builder.operand(node, 1)?,
            dims: &shape.dims,
            result: builder.param(target, shape.element_type, &shape.dims, access),
        };
        let init = builder.operand(node, 2)?;
        let init = builder.value_at(init, &[])?;
        builder.store_nest(plan.dims, false, &mut |builder, indices| {
            builder.push(Stmt::Store {
                param: plan.result,
                index: linear_index(indices, plan.dims),
                value: init,
            });
            Ok(())
        })?;
        let sources = builder.shape(plan.source)?;
        if !is_empty(sources) {
            let loops = serial(&sources.dims);
            builder.nest(&loops, Vec::new(), &mut |builder, place, _| {
                builder.scatter_selected(&plan, place)
            })?;
        }
        let kernel = builder.finish();
        self.run(instruction, kernel)?;
        Ok(Leaves::from_iter([leaf]))
    }
}

fn serial(extents: &[i64]) -> Vec<(i64, LoopKind)> {
    let serial = |extent: &i64| (*extent, LoopKind::Serial);
    extents.iter().map(serial).collect()
}

impl<'a> Builder<'a> {
    /// Combines one source element into the result.
    fn scatter_selected(&mut self, plan: &Plan<'_>, place: &[Index]) -> Built<Vec<ValueId>> {
        let selected = self.selected(plan, place)?;
        let count: i64 = plan.dims.iter().product();
        // −1 stands for a window without an element.
        let index = self.clamped_index(selected, -1, count - 1);
        let found = IndexRange {
            index: index.clone(),
            low: 0,
            high: count,
        };
        self.if_in_range(
            vec![found],
            &mut |builder| {
                let load = Expr::Load {
                    param: plan.result,
                    index: index.clone(),
                };
                let element_type = builder.kernel.params[plan.result].element_type;
                let old = builder.emit(element_type, load);
                let source = builder.value_at(plan.source, place)?;
                let combined = builder.apply(plan.scatter, &[old, source])?;
                if let Some(value) = combined.first() {
                    builder.push(Stmt::Store {
                        param: plan.result,
                        index: index.clone(),
                        value: *value,
                    });
                }
                Ok(Vec::new())
            },
            &mut |_| Ok(Vec::new()),
        )
    }

    /// Where in the operand the element lies that a window selects, row-major; −1 for none.
    fn selected(&mut self, plan: &Plan<'_>, place: &[Index]) -> Built<ValueId> {
        let element_type = self.shape(plan.operand)?.element_type;
        let none = self.emit(ElementType::S64, Expr::Index(Index::constant(-1)));
        let init = vec![self.zero(element_type), none];
        let sizes: Vec<i64> = plan.window.0.iter().map(|dim| dim.size).collect();
        if sizes.contains(&0) {
            return Ok(none);
        }
        let best = self.nest(&serial(&sizes), init, &mut |builder, vars, best| {
            let (places, ranges) = window_place(&plan.window, plan.dims, place, vars, builder);
            builder.if_in_range(
                ranges,
                &mut |builder| {
                    let dilations = plan.window.0.iter().map(|dim| dim.base_dilation);
                    let at: Vec<Index> = places
                        .iter()
                        .zip(dilations)
                        .map(|(place, dilation)| place.div(dilation, builder))
                        .collect();
                    builder.better(plan, &at, best)
                },
                &mut |_| Ok(best.to_vec()),
            )
        })?;
        Ok(best[1])
    }

    /// The selected element and its place, of the best so far and the one at `at`.
    fn better(&mut self, plan: &Plan<'_>, at: &[Index], best: &[ValueId]) -> Built<Vec<ValueId>> {
        let candidate = self.value_at(plan.operand, at)?;
        let linear = linear_index(at, plan.dims);
        let place = self.emit(ElementType::S64, Expr::Index(linear));
        let stays = self.apply(plan.select, &[best[0], candidate])?;
        let zero = self.zero(ElementType::S64);
        let is_none = Expr::Compare {
            direction: ComparisonDirection::Lt,
            order: CompareType::Signed,
            lhs: best[1],
            rhs: zero,
        };
        let is_none = self.emit(ElementType::Pred, is_none);
        let is_some = self.emit(ElementType::Pred, Expr::Unary(UnaryOp::Not, is_none));
        let Some(stays) = stays.first() else {
            return Ok(best.to_vec());
        };
        let stays = Expr::Binary(BinaryOp::And, is_some, *stays);
        let stays = self.emit(ElementType::Pred, stays);
        let mut chosen = Vec::new();
        for (old, new) in best.iter().zip([candidate, place]) {
            let select = Expr::Ternary(TernaryOp::Select, [stays, *old, new]);
            chosen.push(self.emit(self.type_of(new), select));
        }
        Ok(chosen)
    }
}
