//! Differences of all pairs: `(n,1)` against `(n)`, which is `(n,n)`.
//!
//! The builder and the lint of the verifier both ask here.

use crate::ops::plan_broadcast;
use crate::{ArrayShape, BinaryOp, Computation, InstrId, Op};

/// The code of the warning.
pub const CODE: &str = "accidental-outer-product";

/// The way out.
pub const HELP: &str = "if element i belongs to element i, bring both to one shape first (a reshape of (n,1) to (n)); if all pairs are meant, allow `accidental-outer-product`";

/// How far values are followed to where they come from.
const STEPS: usize = 8;

/// Two vectors of one length that an instruction takes along different dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OuterProduct {
    /// Their length.
    pub length: i64,
    /// The result dimension along which each lies.
    pub dimensions: [i64; 2],
}

impl OuterProduct {
    /// A predicate: `takes every element of one vector of length 4 with every element of another ...`.
    pub fn describe(&self) -> String {
        let [one, two] = self.dimensions;
        format!(
            "takes every element of one vector of length {} with every element of another: they lie along dimensions {one} and {two} of the result",
            self.length
        )
    }
}

/// The outer product that a `subtract` or `compare` makes of two different vectors of one length.
///
/// Vectors that count (`iota`), that are constants, or that are one and the same array make tables of
/// pairs on purpose (masks, one-hot rows, distances) and are not found.
pub fn find(computation: &Computation, id: InstrId) -> Option<OuterProduct> {
    let instruction = computation.instructions.get(id)?;
    let (Op::Binary {
        op: BinaryOp::Subtract,
        broadcast_dimensions,
    }
    | Op::Compare {
        broadcast_dimensions,
        ..
    }) = &instruction.op
    else {
        return None;
    };
    let [lhs, rhs] = instruction.operands[..] else {
        return None;
    };
    let shapes = [array(computation, lhs)?, array(computation, rhs)?];
    let plan = plan_broadcast(&shapes, broadcast_dimensions.as_deref()).ok()?;
    let vector = |index: usize, operand| {
        let dimensions = &plan.operands[index].dimensions;
        if plan.is_identity(index) {
            written_broadcast(computation, operand)
        } else {
            only_long(shapes[index], dimensions).map(|(length, dimension)| Vector {
                length,
                dimension,
                source: operand,
            })
        }
    };
    let (one, two) = (vector(0, lhs)?, vector(1, rhs)?);
    if one.length != two.length || one.dimension == two.dimension || one.length < 2 {
        return None;
    }
    let found = OuterProduct {
        length: one.length,
        dimensions: [one.dimension, two.dimension],
    };
    (!is_deliberate(computation, one.source, two.source)).then_some(found)
}

/// Whether all pairs of two vectors are meant: one counts or is constant, or both are the same array.
pub(crate) fn is_deliberate(computation: &Computation, one: InstrId, two: InstrId) -> bool {
    let sources = [one, two].map(|source| origin(computation, source));
    sources[0] == sources[1] || sources.iter().any(|id| is_table(computation, *id))
}

struct Vector {
    length: i64,
    dimension: i64,
    source: InstrId,
}

fn array(computation: &Computation, id: InstrId) -> Option<&ArrayShape> {
    computation.instructions.get(id)?.shape.as_array()
}

/// The only size that is not 1, and the dimension it goes to.
fn only_long(shape: &ArrayShape, dimensions: &[i64]) -> Option<(i64, i64)> {
    let mut long = shape
        .dims
        .iter()
        .zip(dimensions)
        .filter(|(size, _)| **size != 1);
    let (length, dimension) = long.next()?;
    long.next().is_none().then_some((*length, *dimension))
}

/// A vector that a `broadcast` instruction repeats along other dimensions.
fn written_broadcast(computation: &Computation, id: InstrId) -> Option<Vector> {
    let instruction = computation.instructions.get(id)?;
    let Op::Broadcast { dimensions } = &instruction.op else {
        return None;
    };
    let source = *instruction.operands.first()?;
    let (length, dimension) = only_long(array(computation, source)?, dimensions)?;
    Some(Vector {
        length,
        dimension,
        source,
    })
}

/// Where the elements come from, through instructions that keep every element and their order in a
/// vector.
fn origin(computation: &Computation, id: InstrId) -> InstrId {
    let mut current = id;
    for _ in 0..STEPS {
        let Some(instruction) = computation.instructions.get(current) else {
            return current;
        };
        match (&instruction.op, &instruction.operands[..]) {
            (
                Op::Reshape { .. }
                | Op::Transpose { .. }
                | Op::Convert {}
                | Op::Copy {}
                | Op::Bitcast {}
                | Op::Broadcast { .. },
                [operand],
            ) if same_count(computation, current, *operand) => current = *operand,
            (_, _) => return current,
        }
    }
    current
}

fn same_count(computation: &Computation, one: InstrId, two: InstrId) -> bool {
    let count = |id| array(computation, id).and_then(ArrayShape::num_elements);
    count(one) == count(two)
}

/// Whether a value is a constant or made of an `iota`, a few steps away.
fn is_table(computation: &Computation, id: InstrId) -> bool {
    let mut current = id;
    for _ in 0..STEPS {
        let Some(instruction) = computation.instructions.get(current) else {
            return false;
        };
        if let Op::Iota { .. } | Op::Constant { .. } = instruction.op {
            return true;
        }
        let Some(first) = instruction.operands.first() else {
            return false;
        };
        current = *first;
    }
    false
}
