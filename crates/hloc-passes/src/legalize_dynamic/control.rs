//! Loops and branches: sizes go in and out beside the value, as `(value, size, size…)`.

use hloc_ir::{ComputationId, Id, InstrId, Op, Shape};

use super::entry::with_sizes;
use super::{Done, Dynamic, Leaves, Pattern, Region, any, no_sizes, pattern};
use crate::make::Make;

/// The value with its sizes behind it; the bound where a dimension of the pattern has no size.
fn packed(
    region: &mut Region<'_>,
    like: InstrId,
    value: InstrId,
    (leaves, wanted): (&Leaves, &Pattern),
) -> InstrId {
    if !wanted.iter().flatten().any(|dynamic| *dynamic) {
        return value;
    }
    let shape = region.rebuilt.made(value).shape.clone();
    let mut parts = vec![value];
    for ((sizes, wanted), leaf) in leaves.iter().zip(wanted).zip(shape.leaves()) {
        for (dim, _) in wanted.iter().enumerate().filter(|(_, wanted)| **wanted) {
            let size = sizes.get(dim).copied().flatten();
            let bound = leaf.as_array().map_or(0, |array| array.dims[dim]);
            let bound = i32::try_from(bound).unwrap_or(i32::MAX);
            let size = match size {
                Some(size) => size,
                None => region.make(like).scalar(bound),
            };
            parts.push(size);
        }
    }
    region.make(like).tuple(&parts)
}

/// The value and the sizes of what was packed.
fn unpacked(make: &mut impl Make, packed: InstrId, wanted: &Pattern) -> (InstrId, Leaves) {
    if !wanted.iter().flatten().any(|dynamic| *dynamic) {
        let none = wanted.iter().map(|dims| vec![None; dims.len()]).collect();
        return (packed, none);
    }
    let value = make.element(packed, 0);
    let mut next = 1;
    let mut leaves = Leaves::new();
    for dims in wanted {
        let mut sizes = Vec::new();
        for dynamic in dims {
            sizes.push(dynamic.then(|| {
                next += 1;
                make.element(packed, next - 1)
            }));
        }
        leaves.push(sizes);
    }
    (value, leaves)
}

fn joined(a: &Pattern, b: &Pattern) -> Pattern {
    let dims = |(a, b): (&Vec<bool>, &Vec<bool>)| a.iter().zip(b).map(|(a, b)| *a || *b).collect();
    a.iter().zip(b).map(dims).collect()
}

/// A computation whose parameter has sizes, before it is known which sizes it has to give.
struct Open<'m> {
    region: Region<'m>,
    parameter: Option<InstrId>,
    root: InstrId,
}

impl<'m> Dynamic<'m> {
    /// A `while` or a `conditional`.
    pub(super) fn control(&mut self, region: &mut Region<'m>, id: InstrId) -> Done<()> {
        let instruction = &region.rebuilt.old().instructions[id];
        if let Op::While { condition, body } = instruction.op {
            return self.while_loop(region, id, condition, body);
        }
        let branches = instruction.op.branches();
        let mut open = Vec::new();
        let mut wanted = pattern(&no_sizes(&instruction.shape));
        let mut operands = vec![region.rebuilt.mapped(instruction.operands[0])];
        for (branch, operand) in branches.iter().zip(&instruction.operands[1..]) {
            let leaves = region.sizes[operand.index()].clone();
            let given = pattern(&leaves);
            let value = region.rebuilt.mapped(*operand);
            operands.push(packed(region, id, value, (&leaves, &given)));
            let branch = self.open(*branch, &given)?;
            wanted = joined(&wanted, &pattern(&branch.region.sizes[branch.root.index()]));
            open.push(branch);
        }
        let mut closed = Vec::new();
        for branch in open {
            closed.push(self.close(branch, Some(&wanted)));
        }
        let mut closed = closed.into_iter();
        let mut op = instruction.op.clone();
        op.map_computations(|id| closed.next().unwrap_or(id));
        self.put(region, id, (op, operands), &wanted);
        Ok(())
    }

    fn while_loop(
        &mut self,
        region: &mut Region<'m>,
        id: InstrId,
        condition: ComputationId,
        body: ComputationId,
    ) -> Done<()> {
        let init = region.rebuilt.old().instructions[id].operands[0];
        let leaves = region.sizes[init.index()].clone();
        let mut wanted = pattern(&leaves);
        // Every round makes more dimensions dynamic, or is the last.
        let body = loop {
            let open = self.open(body, &wanted)?;
            let given = pattern(&open.region.sizes[open.root.index()]);
            let all = joined(&wanted, &given);
            if all == wanted {
                break self.close(open, Some(&wanted));
            }
            wanted = all;
        };
        let condition = self.open(condition, &wanted)?;
        let condition = self.close(condition, None);
        let value = region.rebuilt.mapped(init);
        let state = packed(region, id, value, (&leaves, &wanted));
        self.put(
            region,
            id,
            (Op::While { condition, body }, vec![state]),
            &wanted,
        );
        Ok(())
    }

    /// The instruction itself, with what it gives taken apart.
    fn put(
        &mut self,
        region: &mut Region<'m>,
        id: InstrId,
        (op, operands): (Op, Vec<InstrId>),
        wanted: &Pattern,
    ) {
        let shape = with_sizes(&region.rebuilt.old().instructions[id].shape, wanted);
        let whole = region.rebuilt.put(id, op, &operands, shape);
        let (value, leaves) = unpacked(&mut region.make(id), whole, wanted);
        region.rebuilt.replace(id, value);
        region.sizes[id.index()] = leaves;
    }

    /// Legalizes a computation of one parameter with these dynamic dimensions.
    fn open(&mut self, id: ComputationId, given: &Pattern) -> Done<Open<'m>> {
        let mut region = self.region(id);
        let computation = region.rebuilt.old();
        let mut parameter = None;
        for (id, instruction) in computation.instructions.iter() {
            let Op::Parameter { .. } = &instruction.op else {
                self.instruction(&mut region, id)?;
                continue;
            };
            if !given.iter().flatten().any(|dynamic| *dynamic) {
                region.copy(id);
                region.sizes[id.index()] = no_sizes(&instruction.shape);
                continue;
            }
            let shape: Shape = with_sizes(&instruction.shape, given);
            let op = instruction.op.clone();
            let whole = region.rebuilt.put(id, op, &[], shape);
            parameter = Some(whole);
            let (value, leaves) = unpacked(&mut region.make(id), whole, given);
            region.rebuilt.replace(id, value);
            region.sizes[id.index()] = leaves;
        }
        Ok(Open {
            root: computation.root,
            region,
            parameter,
        })
    }

    /// Ends a computation; it gives these sizes with its value, none if it is a condition.
    fn close(&mut self, open: Open<'m>, wanted: Option<&Pattern>) -> ComputationId {
        let Open {
            mut region,
            parameter,
            root,
        } = open;
        let leaves = region.sizes[root.index()].clone();
        let value = region.rebuilt.mapped(root);
        let new_root = match wanted {
            Some(wanted) => packed(&mut region, root, value, (&leaves, wanted)),
            None => value,
        };
        debug_assert!(wanted.is_some() || !any(&leaves), "a condition is a scalar");
        let (mut computation, _) = region.rebuilt.finish();
        if let Some(parameter) = parameter {
            computation.parameters = vec![parameter];
        }
        computation.root = new_root;
        self.add(computation)
    }
}
