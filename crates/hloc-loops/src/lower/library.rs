//! Calls of library routines other than `dot`.

use hloc_ir::{
    ArrayShape, Computation, ComputationId, CustomCalls, ElementType, InstrId, Instruction, Op,
};

use super::builder::{ArgSource, Bound, Builder, Built, Node};
use super::order::{Key, keys};
use super::region::{Leaves, Region};
use super::steps::Lowerer;
use super::{is_empty, lapack};
use crate::error::LowerError;
use crate::index::linear_index;
use crate::ir::{
    Access, BufferId, InstrRef, KernelId, LibraryCall, LibraryStep, Param, Step, Stmt,
};
use crate::routine::{
    Convolution, Registered, Routine, RoutineCall, SortKey, SortOrder, Triangular,
};

/// An array with its buffer.
struct Placed {
    buffer: BufferId,
    shape: ArrayShape,
}

impl<'m> Lowerer<'m> {
    /// An instruction as a call of a library routine; `None` if there is none for it.
    pub(super) fn library(
        &mut self,
        region: &mut Region<'m>,
        id: InstrId,
        instruction: &'m Instruction,
    ) -> Built<Option<Leaves>> {
        if let Op::Sort {
            dimensions,
            to_apply,
            ..
        } = &instruction.op
        {
            return self.sort(region, id, dimensions, *to_apply).map(Some);
        }
        if let Some(call) = convolution(region.computation, instruction) {
            let inputs = self.placed_operands(region, instruction)?;
            let routine = Routine::Convolution(Box::new(call));
            return self.call_routine(region, id, routine, &inputs).map(Some);
        }
        let routine = match registered(self.calls, instruction) {
            Some(routine) => Some(routine),
            None => routine(instruction)?,
        };
        let Some(routine) = routine else {
            return Ok(None);
        };
        let inputs = self.placed_operands(region, instruction)?;
        self.call_routine(region, id, routine, &inputs).map(Some)
    }

    /// The operands' arrays in buffers.
    fn placed_operands(
        &mut self,
        region: &mut Region<'m>,
        instruction: &Instruction,
    ) -> Built<Vec<Placed>> {
        let mut inputs = Vec::with_capacity(instruction.operands.len());
        for operand in &instruction.operands {
            let shape = &region.computation.instructions[*operand].shape;
            let Some(shape) = shape.as_array() else {
                let reason = "an operand is no array";
                return Err(LowerError::unsupported(instruction, reason));
            };
            inputs.push(Placed {
                buffer: self.materialize(region, *operand, 0)?,
                shape: ArrayShape::new(shape.element_type, &shape.dims),
            });
        }
        Ok(inputs)
    }

    /// The step that calls a routine; none if there is nothing to write.
    fn call_routine(
        &mut self,
        region: &Region<'m>,
        id: InstrId,
        routine: Routine,
        inputs: &[Placed],
    ) -> Built<Leaves> {
        let instruction = &region.computation.instructions[id];
        let (mut leaves, mut outputs, mut buffers) = (Leaves::new(), Vec::new(), Vec::new());
        for (leaf, shape) in instruction.shape.leaves().into_iter().enumerate() {
            let Some(shape) = shape.as_array().filter(|shape| shape.dynamic == 0) else {
                let reason = "it gives something that is no array of fixed size";
                return Err(LowerError::unsupported(instruction, reason));
            };
            let (buffer, place) = self.output(region, id, leaf, shape);
            leaves.push(place);
            buffers.push(buffer);
            outputs.push(ArrayShape::new(shape.element_type, &shape.dims));
        }
        let has_handler = matches!(routine, Routine::Registered(_));
        if outputs.iter().all(is_empty) && !has_handler {
            return Ok(leaves);
        }
        let call = RoutineCall {
            routine,
            inputs: inputs.iter().map(|input| input.shape.clone()).collect(),
            outputs,
        };
        self.push(
            instruction,
            Step::Library(LibraryStep {
                call: LibraryCall::Routine(Box::new(call)),
                inputs: inputs.iter().map(|input| input.buffer).collect(),
                outputs: buffers,
                span: instruction.origin.span(),
                instruction: Some(InstrRef {
                    computation: region.id,
                    instr: id,
                }),
            }),
        )?;
        Ok(leaves)
    }

    /// A `sort`: by keys where the comparator compares keys, else by a kernel that the library asks.
    fn sort(
        &mut self,
        region: &mut Region<'m>,
        id: InstrId,
        dimensions: &[i64],
        comparator: ComputationId,
    ) -> Built<Leaves> {
        let instruction = &region.computation.instructions[id];
        let dimension = dimensions
            .first()
            .and_then(|dim| usize::try_from(*dim).ok());
        let dimension = dimension
            .ok_or_else(|| LowerError::internal(instruction, "it sorts along no dimension"))?;
        let arrays = self.placed_operands(region, instruction)?;
        let order = match keys(&self.module.computations[comparator]) {
            Some(keys) => {
                let mut inputs = Vec::new();
                let mut order = Vec::new();
                for key in keys {
                    inputs.push(self.sort_key(region, id, comparator, key, &arrays)?);
                    order.push(SortKey {
                        order: key.order,
                        descending: key.descending,
                    });
                }
                inputs.extend(arrays);
                let order = SortOrder::Keys(order);
                return self.call_routine(region, id, Routine::Sort { dimension, order }, &inputs);
            }
            None => SortOrder::Comparator(self.comparator_kernel(region, id, comparator, &arrays)?),
        };
        self.call_routine(region, id, Routine::Sort { dimension, order }, &arrays)
    }

    /// The array of a key: a sorted array itself, or a function of it computed by a kernel.
    fn sort_key(
        &mut self,
        region: &Region<'m>,
        id: InstrId,
        comparator: ComputationId,
        key: Key,
        arrays: &[Placed],
    ) -> Built<Placed> {
        let instruction = &region.computation.instructions[id];
        let wrong = || LowerError::internal(instruction, "a key is no function of an element");
        let array = arrays.get(key.operand).ok_or_else(wrong)?;
        let callee = &self.module.computations[comparator];
        let root = &callee.instructions[key.root];
        if let Op::Parameter { .. } = &root.op {
            return Ok(Placed {
                buffer: array.buffer,
                shape: array.shape.clone(),
            });
        }
        let element_type = root.shape.as_array().ok_or_else(wrong)?.element_type;
        let shape = ArrayShape::new(element_type, &array.shape.dims);
        let buffer = self.temporary(&shape);
        if is_empty(&shape) {
            return Ok(Placed { buffer, shape });
        }
        let mut builder = Builder::new(self.module, region, instruction);
        let source = ArgSource::Buffer(array.buffer);
        let from = builder.param(source, array.shape.element_type, &shape.dims, Access::Read);
        let target = ArgSource::Buffer(buffer);
        let to = builder.param(target, element_type, &shape.dims, Access::Write);
        builder.store_nest(&shape.dims, true, &mut |builder, indices| {
            let element = builder.load(from, indices, &shape.dims);
            // The key asks for one parameter only: the others may stand for anything.
            let args = vec![vec![Bound::Scalar(element)]; callee.parameters.len()];
            let frame = builder.call(comparator, args);
            let node = Node {
                frame,
                instr: key.root,
                leaf: 0,
            };
            let value = builder.value_at(node, &[])?;
            builder.push(Stmt::Store {
                param: to,
                index: linear_index(indices, &shape.dims),
                value,
            });
            Ok(())
        })?;
        let kernel = builder.finish();
        self.run(instruction, kernel)?;
        Ok(Placed { buffer, shape })
    }

    /// A kernel that reads one element of each array twice over and writes whether the first set comes
    /// before the second.
    fn comparator_kernel(
        &mut self,
        region: &Region<'m>,
        id: InstrId,
        comparator: ComputationId,
        arrays: &[Placed],
    ) -> Built<KernelId> {
        let instruction = &region.computation.instructions[id];
        let mut builder = Builder::new(self.module, region, instruction);
        let mut param =
            |name: String, source: BufferId, element_type: ElementType, access: Access| {
                // The routine chooses the elements: no buffer is bound to the parameter.
                builder.args.push(ArgSource::Buffer(source));
                builder.kernel.params.push(Param {
                    name,
                    element_type,
                    dims: Vec::new(),
                    access,
                })
            };
        let mut asked = Vec::new();
        for (at, array) in arrays.iter().enumerate() {
            for side in ["a", "b"] {
                let name = format!("{side}{at}");
                asked.push(param(
                    name,
                    array.buffer,
                    array.shape.element_type,
                    Access::Read,
                ));
            }
        }
        let no_buffer = arrays.first().map(|array| array.buffer);
        let no_buffer =
            no_buffer.ok_or_else(|| LowerError::internal(instruction, "it sorts no arrays"))?;
        let answer = param(
            "before".to_owned(),
            no_buffer,
            ElementType::Pred,
            Access::Write,
        );
        let elements: Vec<_> = asked
            .iter()
            .map(|param| builder.load(*param, &[], &[]))
            .collect();
        let values = builder.apply(comparator, &elements)?;
        let value = values.first().copied();
        let value = value
            .ok_or_else(|| LowerError::internal(instruction, "the comparator gives nothing"))?;
        builder.push(Stmt::Store {
            param: answer,
            index: linear_index(&[], &[]),
            value,
        });
        let (mut kernel, args) = builder.finish();
        if args.len() != 2 * arrays.len() + 1 {
            let reason = "a comparator that reads arrays";
            return Err(LowerError::unsupported(instruction, reason));
        }
        kernel.name.push_str(".before");
        Ok(self.callback(kernel))
    }
}

/// Products below which a loop nest is as fast as a convolution by matrices.
const SMALL_CONVOLUTION: i64 = 20_000;

/// A convolution that is faster as products of matrices; `None` for anything else.
pub(super) fn convolution(
    computation: &Computation,
    instruction: &Instruction,
) -> Option<Convolution> {
    let Op::Convolution {
        window,
        dim_labels,
        feature_group_count,
        batch_group_count,
        ..
    } = &instruction.op
    else {
        return None;
    };
    let kernel = computation.instructions[*instruction.operands.get(1)?]
        .shape
        .as_array()?;
    let input = computation.instructions[*instruction.operands.first()?]
        .shape
        .as_array()?;
    let result = instruction.shape.as_array()?;
    let (ty, groups) = (
        result.element_type,
        feature_group_count.0 * batch_group_count.0,
    );
    let has_routine =
        (ty.is_float() || ty.is_complex()) && input.element_type == ty && kernel.element_type == ty;
    let size = |shape: &ArrayShape, dim: i64| shape.dims.get(usize::try_from(dim).ok()?).copied();
    let features = size(result, dim_labels.output_feature)?;
    let terms = kernel.num_elements()?.checked_div(features)?;
    let products = result.num_elements()?.saturating_mul(terms);
    let is_last = |dims: &[i64]| {
        dims.last()
            .is_some_and(|dim| *dim + 1 == result.dims.len() as i64)
    };
    // Planes, of which each gives the features of a group: lines of places are summed up in vectors.
    let is_depthwise = batch_group_count.0 == 1
        && size(kernel, dim_labels.kernel_input_feature) == Some(1)
        && is_last(&dim_labels.input_spatial)
        && is_last(&dim_labels.output_spatial);
    let is_product = features / groups.max(1) >= 4 && terms >= 8;
    let pays = products >= SMALL_CONVOLUTION && (is_product || is_depthwise && terms >= 4);
    (has_routine && pays).then(|| Convolution {
        window: window.clone().unwrap_or_default(),
        labels: dim_labels.clone(),
        feature_groups: feature_group_count.0,
        batch_groups: batch_group_count.0,
    })
}

/// The routine for an instruction that needs nothing but buffers.
fn routine(instruction: &Instruction) -> Built<Option<Routine>> {
    if let Op::TopK { largest, .. } = &instruction.op {
        let largest = largest.is_none_or(|largest| largest.0);
        return Ok(Some(Routine::TopK { largest }));
    }
    if let Op::Fft {
        fft_type,
        fft_length,
    } = &instruction.op
    {
        return Ok(Some(Routine::Fft {
            fft_type: *fft_type,
            dimensions: fft_length.len(),
        }));
    }
    if let Op::RngBitGenerator { algorithm } = &instruction.op {
        let algorithm = *algorithm;
        return Ok(Some(Routine::RngBits { algorithm }));
    }
    if let Op::RngGetAndUpdateState { delta } = &instruction.op {
        return Ok(Some(Routine::RngState { delta: *delta }));
    }
    if let Op::Cholesky { lower } = &instruction.op {
        return Ok(Some(Routine::Cholesky { lower: *lower }));
    }
    if let Op::TriangularSolve {
        left_side,
        lower,
        unit_diagonal,
        transpose_a,
    } = &instruction.op
    {
        return Ok(Some(Routine::TriangularSolve(Triangular {
            left_side: *left_side,
            lower: *lower,
            unit_diagonal: *unit_diagonal,
            transpose: transpose_a.unwrap_or(hloc_ir::words::Transpose::NoTranspose),
        })));
    }
    let Op::CustomCall {
        custom_call_target, ..
    } = &instruction.op
    else {
        return Ok(None);
    };
    if &**custom_call_target == "TopK" {
        return Ok(Some(Routine::TopK { largest: true }));
    }
    Ok(lapack::routine(instruction, custom_call_target)?.map(Routine::Lapack))
}

/// A custom call that the program around hloc answers.
fn registered(calls: &CustomCalls, instruction: &Instruction) -> Option<Routine> {
    let Op::CustomCall {
        custom_call_target, ..
    } = &instruction.op
    else {
        return None;
    };
    Some(Routine::Registered(Registered {
        target: custom_call_target.clone(),
        backend_config: instruction.backend_config().into(),
        handler: calls.get(custom_call_target)?.clone(),
    }))
}
