//! `reduce-window` whose windows hold all elements so far: one pass with a carried value instead of a
//! window at each place.

use hloc_ir::attr::Window;
use hloc_ir::{BinaryOp, ComputationId, InstrId};

use super::builder::{ArgSource, Built, Indices, Node};
use super::is_empty;
use super::region::{Leaves, Region};
use super::steps::Lowerer;
use super::sum::{accumulator, wider};
use crate::index::{Index, linear_index};
use crate::ir::{Access, Expr, LoopKind, Stmt};

/// A dimension along which elements accumulate.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Direction {
    dim: usize,
    /// From the last element to the first.
    backward: bool,
}

impl<'m> Lowerer<'m> {
    /// The kernel of a cumulative `reduce-window`; `None` if it is another one.
    ///
    /// Sums and products are carried in a wider type, so that the error of a long row stays small.
    pub(super) fn cumulative(
        &mut self,
        region: &Region<'m>,
        id: InstrId,
        window: &Window,
        to_apply: ComputationId,
    ) -> Built<Option<Leaves>> {
        let instruction = &region.computation.instructions[id];
        let Some(shape) = instruction
            .shape
            .as_array()
            .filter(|shape| !is_empty(shape))
        else {
            return Ok(None);
        };
        let (mut builder, frame) = self.builder(region, id, None);
        let (Some(direction), Some(op)) =
            (direction(window, &shape.dims), builder.single_op(to_apply))
        else {
            return Ok(None);
        };
        let node = Node {
            frame,
            instr: id,
            leaf: 0,
        };
        let (input, init) = (builder.operand(node, 0)?, builder.operand(node, 1)?);
        if !builder.shape(input)?.same_dims(shape) || instruction.operands.len() != 2 {
            return Ok(None);
        }
        let carried = match op {
            BinaryOp::Add | BinaryOp::Multiply => wider(accumulator(shape.element_type)),
            BinaryOp::Maximum
            | BinaryOp::Minimum
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Xor => shape.element_type,
            BinaryOp::Atan2
            | BinaryOp::Complex
            | BinaryOp::Divide
            | BinaryOp::Mulhi
            | BinaryOp::Power
            | BinaryOp::Remainder
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRightArithmetic
            | BinaryOp::ShiftRightLogical
            | BinaryOp::Subtract => return Ok(None),
        };
        let (buffer, leaf) = self.output(region, id, 0, shape);
        let target = ArgSource::Buffer(buffer);
        let param = builder.param(target, shape.element_type, &shape.dims, Access::Write);
        let mut outer = shape.dims.to_vec();
        let extent = outer.remove(direction.dim);
        builder.store_nest(&outer, true, &mut |builder, outer| {
            let init = builder.value_at(init, &[])?;
            let init = builder.converted(init, carried);
            let row = [(extent, LoopKind::Serial)];
            builder.nest(&row, vec![init], &mut |builder, at, current| {
                let at = if direction.backward {
                    at[0].times(-1).plus(extent - 1)
                } else {
                    at[0].clone()
                };
                let mut place = Indices::from(outer);
                place.insert(direction.dim, at);
                let element = builder.value_at(input, &place)?;
                let element = builder.converted(element, carried);
                let next = builder.emit(carried, Expr::Binary(op, current[0], element));
                builder.push_stored(param, &place, &shape.dims, next);
                Ok(vec![next])
            })?;
            Ok(())
        })?;
        let kernel = builder.finish();
        self.run(instruction, kernel)?;
        Ok(Some(Leaves::from_iter([leaf])))
    }
}

impl super::builder::Builder<'_> {
    /// Stores a value, converted to the parameter's element type.
    fn push_stored(
        &mut self,
        param: crate::ir::ParamId,
        place: &[Index],
        dims: &[i64],
        value: crate::ir::ValueId,
    ) {
        let value = self.converted(value, self.kernel.params[param].element_type);
        self.push(Stmt::Store {
            param,
            index: linear_index(place, dims),
            value,
        });
    }
}

/// The one dimension with a window, if that holds all elements up to its place, or from it on.
fn direction(window: &Window, dims: &[i64]) -> Option<Direction> {
    let mut found = None;
    for (dim, (window, size)) in window.0.iter().zip(dims).enumerate() {
        if window.stride != 1 || window.window_dilation != 1 || window.base_dilation != 1 {
            return None;
        }
        let padding = (window.pad_low, window.pad_high);
        if window.size == 1 && padding == (0, 0) {
            continue;
        }
        let backward = padding == (0, size - 1);
        let is_cumulative = window.size == *size && (backward || padding == (size - 1, 0));
        if !is_cumulative || found.is_some() {
            return None;
        }
        found = Some(Direction { dim, backward });
    }
    found
}

#[cfg(test)]
mod tests {
    use hloc_ir::attr::{Window, WindowDim};

    use super::{Direction, direction};

    fn dim(size: i64, pad_low: i64, pad_high: i64) -> WindowDim {
        WindowDim {
            pad_low,
            pad_high,
            ..WindowDim::of_size(size)
        }
    }

    #[test]
    fn windows_of_all_elements_so_far() {
        let found = |window: Vec<WindowDim>, dims: &[i64]| direction(&Window(window), dims);
        let forward = Direction {
            dim: 1,
            backward: false,
        };
        assert_eq!(
            found(vec![dim(1, 0, 0), dim(4, 3, 0)], &[2, 4]),
            Some(forward)
        );
        assert!(found(vec![dim(4, 0, 3)], &[4]).is_some_and(|found| found.backward));
        assert_eq!(found(vec![dim(3, 2, 0)], &[4]), None);
        assert_eq!(found(vec![dim(4, 3, 3)], &[4]), None);
        assert_eq!(found(vec![dim(2, 1, 0), dim(2, 1, 0)], &[2, 2]), None);
    }
}
