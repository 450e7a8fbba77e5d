//! `scan` as a `while` over the steps.
//!
//! The state is the number of steps done, the inputs, the carried values and the stacked outputs. A step
//! slices the inputs, calls the computation, and writes what it puts out into the outputs.

use hloc_ir::{BinaryOp, ComparisonDirection, ComputationId, ElementType, InstrId, Op, Shape};

use super::in_place;
use crate::make::{Body, Make};
use crate::module_rewriter::ModuleRewriter;
use crate::rewriter::Rewriter;

/// What a scan does.
struct Scan {
    dimension: usize,
    steps: i64,
    is_reverse: bool,
    to_apply: ComputationId,
    /// Type of the number of steps done.
    counter: ElementType,
    /// How many inputs, carried values and outputs there are.
    counts: [usize; 3],
}

/// The value of a scan, spelled out.
pub(super) fn spell_out(
    module: &mut ModuleRewriter<'_>,
    rebuilt: &mut Rewriter<'_>,
    id: InstrId,
) -> Option<InstrId> {
    let instruction = &rebuilt.old().instructions[id];
    let results = parts(&instruction.shape).to_vec();
    let single = instruction.shape.as_tuple().is_none();
    let origin = instruction.origin.in_pass("legalize-ops");
    let operands = rebuilt.mapped_operands(id);
    let scan = Scan::of(rebuilt, id, &results)?;
    let [inputs, carries, outputs] = scan.counts;
    let mut make = in_place(rebuilt, id);
    let zero = make.number(scan.counter, 0.0);
    let mut state = vec![zero];
    state.extend_from_slice(&operands);
    for output in &results[..outputs] {
        let output = output.as_array()?;
        state.push(make.zeros(output.element_type, &output.dims));
    }
    if scan.steps == 0 {
        // Nothing runs; slices of size 1 would not fit.
        let given = state[1 + inputs..].to_vec();
        let (carried, stacked) = given.split_at(carries);
        let values = [stacked, carried].concat();
        return if single {
            values.first().copied()
        } else {
            Some(make.tuple(&values))
        };
    }
    let init = make.tuple(&state);
    let shape = make.shape(init).clone();
    let mut condition = Body::new(origin.clone());
    let parameter = condition.parameter(shape.clone());
    let done = condition.element(parameter, 0);
    let steps = condition.number(scan.counter, scan.steps as f64);
    let root = condition.compare(ComparisonDirection::Lt, done, steps);
    let condition = module.add("scan_condition", condition.finish(root));
    let mut body = Body::new(origin);
    let parameter = body.parameter(shape.clone());
    let callee_root = module.at(scan.to_apply).root().shape.clone();
    let root = scan.step(&mut body, parameter, callee_root);
    let body = module.add("scan_body", body.finish(root));
    let mut make = in_place(rebuilt, id);
    let end = make.make(Op::While { condition, body }, &[init], shape);
    let first = 1 + inputs;
    let carried = first..first + carries;
    let stacked = first + carries..first + carries + outputs;
    let values: Vec<InstrId> = stacked
        .chain(carried)
        .map(|at| make.element(end, at))
        .collect();
    if single {
        values.first().copied()
    } else {
        Some(make.tuple(&values))
    }
}

/// The elements of a tuple shape, or the one shape.
fn parts(shape: &Shape) -> &[Shape] {
    shape.as_tuple().unwrap_or(std::slice::from_ref(shape))
}

impl Scan {
    fn of(rebuilt: &Rewriter<'_>, id: InstrId, results: &[Shape]) -> Option<Scan> {
        let Op::Scan {
            dimensions,
            num_carries,
            is_reverse,
            to_apply,
            ..
        } = rebuilt.mapped_op(id)
        else {
            return None;
        };
        let instruction = &rebuilt.old().instructions[id];
        let carries = usize::try_from(num_carries?).ok()?;
        let inputs = instruction.operands.len().checked_sub(carries)?;
        let outputs = results.len().checked_sub(carries)?;
        let dimension = usize::try_from(*dimensions.first()?).ok()?;
        let operands = rebuilt.old().operand_shapes(instruction);
        let sized = if inputs > 0 {
            operands.first().copied()
        } else {
            results[..outputs].first()
        };
        let steps = *sized?.as_array()?.dims.get(dimension)?;
        let counter = if i32::try_from(steps).is_ok() {
            ElementType::S32
        } else {
            ElementType::S64
        };
        Some(Scan {
            dimension,
            steps,
            is_reverse,
            to_apply,
            counter,
            counts: [inputs, carries, outputs],
        })
    }

    /// The state after one more step.
    fn step(&self, body: &mut Body, state: InstrId, callee_root: Shape) -> InstrId {
        let [inputs, carries, outputs] = self.counts;
        let done = body.element(state, 0);
        let zero = body.number(self.counter, 0.0);
        let one = body.number(self.counter, 1.0);
        let at = if self.is_reverse {
            let last = body.number(self.counter, self.steps as f64 - 1.0);
            body.binary(BinaryOp::Subtract, last, done)
        } else {
            done
        };
        let mut next = vec![body.binary(BinaryOp::Add, done, one)];
        let mut arguments = Vec::new();
        for input in 1..=inputs {
            let input = body.element(state, input);
            next.push(input);
            arguments.push(self.slice(body, input, at, zero));
        }
        for carry in 1 + inputs..1 + inputs + carries {
            arguments.push(body.element(state, carry));
        }
        let is_tuple = callee_root.as_tuple().is_some();
        let call = Op::Call {
            to_apply: self.to_apply,
            is_composite: false,
        };
        let given = body.make(call, &arguments, callee_root);
        let given: Vec<InstrId> = if is_tuple {
            (0..outputs + carries)
                .map(|at| body.element(given, at))
                .collect()
        } else {
            vec![given]
        };
        let (put_out, carried) = given.split_at(outputs.min(given.len()));
        next.extend_from_slice(carried);
        for (output, value) in put_out.iter().enumerate() {
            let stacked = body.element(state, 1 + inputs + carries + output);
            next.push(self.write(body, (stacked, *value), at, zero));
        }
        body.tuple(&next)
    }

    /// The slice of an input at one step, without the dimension.
    fn slice(&self, body: &mut Body, input: InstrId, at: InstrId, zero: InstrId) -> InstrId {
        let shape = body.array(input);
        let mut sizes = shape.dims.to_vec();
        sizes[self.dimension] = 1;
        let mut operands = vec![input];
        operands.extend(self.starts(sizes.len(), at, zero));
        let op = Op::DynamicSlice {
            dynamic_slice_sizes: sizes.clone(),
        };
        let slice = body.make(op, &operands, Shape::array(shape.element_type, &sizes));
        sizes.remove(self.dimension);
        body.reshape(slice, &sizes)
    }

    /// The outputs with one more written.
    fn write(
        &self,
        body: &mut Body,
        (stacked, value): (InstrId, InstrId),
        at: InstrId,
        zero: InstrId,
    ) -> InstrId {
        let shape = body.array(stacked);
        let mut sizes = shape.dims.to_vec();
        sizes[self.dimension] = 1;
        let update = body.reshape(value, &sizes);
        let mut operands = vec![stacked, update];
        operands.extend(self.starts(sizes.len(), at, zero));
        body.make(Op::DynamicUpdateSlice {}, &operands, Shape::Array(shape))
    }

    fn starts(&self, count: usize, at: InstrId, zero: InstrId) -> impl Iterator<Item = InstrId> {
        let dimension = self.dimension;
        (0..count).map(move |dim| if dim == dimension { at } else { zero })
    }
}
