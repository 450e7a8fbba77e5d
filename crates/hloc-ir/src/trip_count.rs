//! How often a loop runs, where constants tell.

use crate::{
    BinaryOp, ComparisonDirection, Computation, ComputationId, InstrId, Instruction, Literal,
    Module, Op,
};
use hloc_tensor::Scalar;

/// How often the body of a `while` instruction of `computation` runs, `None` if that is not known.
///
/// It is known if one element of the state starts as an integer constant, gets a constant added in the
/// body, and is compared with a constant in the condition, and does not wrap before the loop ends: of
/// `i = 0; while (i < 10) i += 3` it is 4.
pub fn trip_count(
    module: &Module,
    computation: &Computation,
    instruction: &Instruction,
) -> Option<u64> {
    let Op::While { condition, body } = instruction.op else {
        return None;
    };
    let init = *instruction.operands.first()?;
    Counter::of(module, computation, init, condition, body)?.trips()
}

/// An integer that a loop counts with.
struct Counter {
    start: i128,
    step: i128,
    bound: i128,
    /// How the counter must compare to the bound for another iteration.
    direction: ComparisonDirection,
    /// Least and greatest value of the counter's element type.
    range: (i128, i128),
}

impl Counter {
    /// The counter of a loop whose state starts as `init`.
    fn of(
        module: &Module,
        computation: &Computation,
        init: InstrId,
        condition: ComputationId,
        body: ComputationId,
    ) -> Option<Counter> {
        let (condition, body) = (&module.computations[condition], &module.computations[body]);
        let root = &condition.instructions[condition.root];
        let Op::Compare { direction, .. } = root.op else {
            return None;
        };
        let [lhs, rhs] = root.operands[..] else {
            return None;
        };
        let (element, bound, direction) = match (element(condition, lhs), element(condition, rhs)) {
            (Some(element), None) => (element, rhs, direction),
            (None, Some(element)) => (element, lhs, direction.swapped()),
            (Some(_), Some(_)) | (None, None) => return None,
        };
        let start = &computation.instructions[init];
        let next = &body.instructions[body.root];
        let (Op::Tuple {}, Op::Tuple {}) = (&start.op, &next.op) else {
            return None;
        };
        let start = *start.operands.get(element)?;
        let next = *next.operands.get(element)?;
        Some(Counter {
            start: integer(computation, start)?,
            step: step(body, next, element)?,
            bound: integer(condition, bound)?,
            direction,
            range: integer_range(computation, start)?,
        })
    }

    /// The number of iterations, if there is an end before the counter wraps.
    fn trips(&self) -> Option<u64> {
        let trips = match self.direction {
            ComparisonDirection::Lt => self.until(self.bound),
            ComparisonDirection::Le => self.until(self.bound + 1),
            ComparisonDirection::Gt => self.mirrored().until(-self.bound),
            ComparisonDirection::Ge => self.mirrored().until(1 - self.bound),
            ComparisonDirection::Ne => self.onto_bound(),
            ComparisonDirection::Eq if self.start != self.bound => Some(0),
            ComparisonDirection::Eq => (self.step != 0).then_some(1),
        }?;
        let last = self.start + self.step * trips;
        let wraps = last < self.range.0 || last > self.range.1;
        if wraps {
            None
        } else {
            u64::try_from(trips).ok()
        }
    }

    /// The number of steps to reach `bound` or more.
    fn until(&self, bound: i128) -> Option<i128> {
        if self.start >= bound {
            return Some(0);
        }
        (self.step > 0).then(|| (bound - self.start + self.step - 1) / self.step)
    }

    /// The number of steps to the bound itself.
    fn onto_bound(&self) -> Option<i128> {
        let distance = self.bound - self.start;
        if distance == 0 {
            return Some(0);
        }
        let leads_there = self.step != 0 && distance % self.step == 0 && distance / self.step > 0;
        leads_there.then(|| distance / self.step)
    }

    fn mirrored(&self) -> Counter {
        Counter {
            start: -self.start,
            step: -self.step,
            ..*self
        }
    }
}

/// What is added to an element of the state in every iteration.
fn step(body: &Computation, next: InstrId, number: usize) -> Option<i128> {
    let next = &body.instructions[next];
    let Op::Binary { op, .. } = next.op else {
        return None;
    };
    let [lhs, rhs] = next.operands[..] else {
        return None;
    };
    let is_counter = |id| element(body, id) == Some(number);
    match op {
        BinaryOp::Add if is_counter(lhs) => integer(body, rhs),
        BinaryOp::Add if is_counter(rhs) => integer(body, lhs),
        BinaryOp::Subtract if is_counter(lhs) => integer(body, rhs).map(|step| -step),
        BinaryOp::Add
        | BinaryOp::And
        | BinaryOp::Atan2
        | BinaryOp::Complex
        | BinaryOp::Divide
        | BinaryOp::Maximum
        | BinaryOp::Minimum
        | BinaryOp::Mulhi
        | BinaryOp::Multiply
        | BinaryOp::Or
        | BinaryOp::Power
        | BinaryOp::Remainder
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRightArithmetic
        | BinaryOp::ShiftRightLogical
        | BinaryOp::Subtract
        | BinaryOp::Xor => None,
    }
}

/// Which element of the computation's only parameter an instruction is, if it is one.
fn element(computation: &Computation, id: InstrId) -> Option<usize> {
    let instruction = &computation.instructions[id];
    let Op::GetTupleElement { index } = instruction.op else {
        return None;
    };
    let Op::Parameter { .. } = computation.instructions[instruction.operands[0]].op else {
        return None;
    };
    usize::try_from(index).ok()
}

/// The value of an integer constant without dimensions.
fn integer(computation: &Computation, id: InstrId) -> Option<i128> {
    let Op::Constant { literal } = &computation.instructions[id].op else {
        return None;
    };
    let literal: &Literal = literal;
    let array = literal.as_array()?;
    if !array.dims().is_empty() {
        return None;
    }
    match array.get(0) {
        Scalar::Int(value) => Some(i128::from(value)),
        Scalar::Uint(value) => Some(i128::from(value)),
        Scalar::Pred(_) | Scalar::Float(_) | Scalar::Complex(..) => None,
    }
}

/// Least and greatest value of the element type of an integer array.
fn integer_range(computation: &Computation, id: InstrId) -> Option<(i128, i128)> {
    let element_type = computation.instructions[id].shape.as_array()?.element_type;
    let bits = element_type.bits();
    if element_type.is_signed_integer() {
        Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1))
    } else {
        element_type.is_integer().then(|| (0, (1 << bits) - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::Counter;
    use crate::ComparisonDirection as Is;

    fn trips(start: i128, step: i128, direction: Is, bound: i128) -> Option<u64> {
        let range = (-128, 127);
        Counter {
            start,
            step,
            bound,
            direction,
            range,
        }
        .trips()
    }

    #[test]
    fn loops_are_counted_without_running_them() {
        assert_eq!(trips(0, 1, Is::Lt, 100), Some(100));
        assert_eq!(trips(0, 3, Is::Lt, 10), Some(4));
        assert_eq!(trips(0, 3, Is::Le, 9), Some(4));
        assert_eq!(trips(5, -1, Is::Gt, 0), Some(5));
        assert_eq!(trips(5, -2, Is::Ge, 0), Some(3));
        assert_eq!(trips(7, -7, Is::Ne, 0), Some(1));
        assert_eq!(trips(3, 1, Is::Eq, 3), Some(1));
        assert_eq!(trips(9, 1, Is::Lt, 3), Some(0));
    }

    #[test]
    fn endless_and_wrapping_loops_have_no_count() {
        assert_eq!(trips(0, 0, Is::Lt, 1), None);
        assert_eq!(trips(0, -1, Is::Lt, 1), None);
        assert_eq!(trips(0, 2, Is::Ne, 5), None);
        assert_eq!(trips(0, 100, Is::Lt, 127), None);
        assert_eq!(trips(0, 1, Is::Le, 127), None);
    }
}
