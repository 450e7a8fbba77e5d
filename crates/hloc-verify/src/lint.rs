//! Lints: valid programs that probably do not mean what they say.

use hloc_diag::{Diagnostic, Span};
use hloc_ir::{BinaryOp, Computation, InstrId, Instruction, Op, Opcode, StructuralOp};

use crate::VerifiedModule;

/// Code of the lint for differences of all pairs.
const ALL_PAIRS: &str = "all-pairs-difference";

/// Warnings about `module`, in order; an empty list if nothing looks odd.
///
/// `all-pairs-difference`: a `subtract` or `compare` of two vectors of equal length that are broadcast
/// along different dimensions. It takes every element with every other one; in a loss that stems from
/// `(n,1)` against `(n)` it is nearly always a mistake.
pub fn lint(module: &VerifiedModule) -> Vec<Diagnostic> {
    let computations = module.computations.values();
    computations
        .flat_map(|computation| {
            let instructions = computation.instructions.values();
            instructions.filter_map(|instruction| all_pairs(computation, instruction))
        })
        .collect()
}

fn all_pairs(computation: &Computation, instruction: &Instruction) -> Option<Diagnostic> {
    let is_comparison = instruction.op.opcode() == Opcode::Structural(StructuralOp::Compare);
    let is_difference = is_comparison || instruction.op == Op::binary(BinaryOp::Subtract);
    let [lhs, rhs] = instruction.operands[..] else {
        return None;
    };
    if !is_difference {
        return None;
    }
    let (one, two) = (vector(computation, lhs)?, vector(computation, rhs)?);
    if one.length != two.length || one.dimension == two.dimension || one.length < 2 {
        return None;
    }
    // Counting against counting is how triangles and one-hot rows are made.
    if one.counts || two.counts {
        return None;
    }
    let spans = instruction.origin.spans.as_ref();
    let place = spans.map_or(Span::NONE, |spans| spans.opcode);
    Some(
        Diagnostic::warning(
            ALL_PAIRS,
            format!(
                "`{}` takes every element of one vector of length {} with every one of another, along dimensions {} and {}",
                instruction.name, one.length, one.dimension, two.dimension
            ),
            place,
        )
        .with_help("if element i belongs to element i, broadcast both along the same dimension or not at all"),
    )
}

/// A vector seen through reshapes that add or drop dimensions of size 1, and one broadcast.
struct Vector {
    length: i64,
    dimension: i64,
    counts: bool,
}

fn vector(computation: &Computation, id: InstrId) -> Option<Vector> {
    let instruction = &computation.instructions[id];
    let Op::Broadcast { dimensions } = &instruction.op else {
        return None;
    };
    let source = &computation.instructions[*instruction.operands.first()?];
    let shape = source.shape.as_array()?;
    let mut long = shape
        .dims
        .iter()
        .zip(dimensions)
        .filter(|(size, _)| **size != 1);
    let (length, dimension) = long.next()?;
    if long.next().is_some() {
        return None;
    }
    Some(Vector {
        length: *length,
        dimension: *dimension,
        counts: counts(computation, source),
    })
}

/// Whether a value is made of an `iota`, at most a few steps away.
fn counts(computation: &Computation, instruction: &Instruction) -> bool {
    let mut current = instruction;
    for _ in 0..4 {
        if let Op::Iota { .. } = current.op {
            return true;
        }
        let Some(first) = current.operands.first() else {
            return false;
        };
        current = &computation.instructions[*first];
    }
    false
}

#[cfg(test)]
mod tests {
    use hloc_ir::{
        BinaryOp, Computation, ComputationId, ElementType, Id, Instruction, Module,
        ModuleAttributes, Op, Shape, StackTables,
    };

    use super::{ALL_PAIRS, lint};
    use crate::verify;

    fn difference(second: i64) -> Module {
        let shape = |dims: &[i64]| Shape::array(ElementType::F32, dims);
        let mut e = Computation::new("e");
        let a = e.push(Instruction::new(
            "a",
            Op::Parameter { number: 0 },
            &[],
            shape(&[4]),
        ));
        let along = |dimension| Op::Broadcast {
            dimensions: vec![dimension],
        };
        let x = e.push(Instruction::new("x", along(0), &[a], shape(&[4, 4])));
        let y = e.push(Instruction::new("y", along(second), &[a], shape(&[4, 4])));
        let op = Op::binary(BinaryOp::Subtract);
        e.root = e.push(Instruction::new("d", op, &[x, y], shape(&[4, 4])));
        Module {
            name: "m".into(),
            attributes: ModuleAttributes::default(),
            stack: StackTables::default(),
            computations: [e].into_iter().collect(),
            entry: ComputationId::from_index(0),
        }
    }

    #[test]
    fn differences_of_all_pairs_are_told() {
        let codes = |module| {
            let verified = verify(module).expect("it is valid");
            let found = lint(&verified);
            found
                .into_iter()
                .map(|warning| warning.code)
                .collect::<Vec<_>>()
        };
        assert_eq!(codes(difference(1)), [ALL_PAIRS]);
        assert!(codes(difference(0)).is_empty());
    }
}
