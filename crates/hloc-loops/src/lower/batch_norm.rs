//! Batch normalization: kernels for the sums over each feature, then one for the elements.
//!
//! Sums and quotients are formed in `f32` or wider and rounded at the end.

use hloc_ir::{ArrayShape, BinaryOp, ElementType, InstrId, Instruction, Op, UnaryOp};

use super::builder::{ArgSource, Builder, Built, Node};
use super::is_empty;
use super::reduce::sum_block;
use super::region::{Leaves, Region};
use super::steps::Lowerer;
use super::sum::accumulator;
use crate::error::LowerError;
use crate::index::{Index, linear_index};
use crate::ir::{Access, BufferId, ConstantBits, Expr, Stmt, ValueId};

/// What all kernels of one instruction share.
struct Norm<'m> {
    instruction: &'m Instruction,
    id: InstrId,
    epsilon: f64,
    feature: usize,
    /// Sizes of the normalized array.
    dims: &'m [i64],
    /// The type in which values are computed.
    work: ElementType,
}

/// A list with one value per feature in the working type.
#[derive(Clone, Copy)]
enum PerFeature {
    /// An operand.
    Operand(usize),
    /// A temporary that an earlier kernel wrote.
    Made(BufferId),
}

type Values<'v> = &'v mut dyn FnMut(&mut Builder<'_>, &[Index]) -> Built<ValueId>;

impl<'m> Lowerer<'m> {
    /// One of the three ops.
    pub(super) fn batch_norm(&mut self, region: &Region<'m>, id: InstrId) -> Built<Leaves> {
        let instruction = &region.computation.instructions[id];
        let (Op::BatchNormInference {
            epsilon,
            feature_index,
        }
        | Op::BatchNormTraining {
            epsilon,
            feature_index,
        }
        | Op::BatchNormGrad {
            epsilon,
            feature_index,
        }) = &instruction.op
        else {
            return Err(LowerError::internal(instruction, "it normalizes nothing"));
        };
        let shape = instruction.operands.first();
        let shape = shape.and_then(|id| region.computation.instructions[*id].shape.as_array());
        let wrong = || LowerError::internal(instruction, "it has no such feature");
        let shape = shape.ok_or_else(wrong)?;
        let feature = usize::try_from(*feature_index).map_err(|_| wrong())?;
        if feature >= shape.dims.len() {
            return Err(wrong());
        }
        if shape.dynamic != 0 {
            let reason = "dynamic dimensions are not compiled";
            return Err(LowerError::unsupported(instruction, reason));
        }
        let norm = Norm {
            instruction,
            id,
            epsilon: *epsilon,
            feature,
            dims: &shape.dims,
            work: accumulator(shape.element_type),
        };
        let (mut leaves, mut outputs) = (Leaves::new(), Vec::new());
        for (leaf, shape) in instruction.shape.leaves().into_iter().enumerate() {
            let shape = shape.as_array().ok_or_else(wrong)?;
            let (buffer, place) = self.output(region, id, leaf, shape);
            leaves.push(place);
            outputs.push(buffer);
        }
        if let Op::BatchNormGrad { .. } = &instruction.op {
            self.norm_gradient(region, &norm, &outputs)?;
        } else {
            self.normalized(region, &norm, &outputs)?;
        }
        Ok(leaves)
    }

    /// Inference, and training with the statistics of the batch.
    fn normalized(
        &mut self,
        region: &Region<'m>,
        norm: &Norm<'m>,
        outputs: &[BufferId],
    ) -> Built<()> {
        let (mut mean, mut variance) = (PerFeature::Operand(3), PerFeature::Operand(4));
        if let [_, mean_output, variance_output] = outputs {
            let made = self.feature_sums(region, norm, true, &mut |builder, place| {
                builder.norm_operand(norm, 0, place)
            })?;
            mean = PerFeature::Made(made);
            let made = self.feature_sums(region, norm, true, &mut |builder, place| {
                let x = builder.norm_operand(norm, 0, place)?;
                let mean = builder.per_feature(norm, mean, &place[norm.feature])?;
                let distance = builder.float_op(norm, BinaryOp::Subtract, x, mean);
                Ok(builder.float_op(norm, BinaryOp::Multiply, distance, distance))
            })?;
            variance = PerFeature::Made(made);
            self.round_list(region, norm, mean, *mean_output)?;
            self.round_list(region, norm, variance, *variance_output)?;
        }
        let [output, ..] = outputs else {
            return Err(LowerError::internal(norm.instruction, "it gives nothing"));
        };
        self.norm_kernel(region, norm, norm.dims, *output, &mut |builder, place| {
            let whitened = builder.whitened(norm, [mean, variance], place)?;
            let at = &place[norm.feature];
            let scale = builder.per_feature(norm, PerFeature::Operand(1), at)?;
            let offset = builder.per_feature(norm, PerFeature::Operand(2), at)?;
            let scaled = builder.float_op(norm, BinaryOp::Multiply, whitened, scale);
            Ok(builder.float_op(norm, BinaryOp::Add, scaled, offset))
        })
    }

    fn norm_gradient(
        &mut self,
        region: &Region<'m>,
        norm: &Norm<'m>,
        outputs: &[BufferId],
    ) -> Built<()> {
        let [output, scale_output, offset_output] = outputs else {
            return Err(LowerError::internal(
                norm.instruction,
                "it gives no three arrays",
            ));
        };
        let statistics = [PerFeature::Operand(2), PerFeature::Operand(3)];
        let by_scale = self.feature_sums(region, norm, false, &mut |builder, place| {
            let upstream = builder.norm_operand(norm, 4, place)?;
            let whitened = builder.whitened(norm, statistics, place)?;
            Ok(builder.float_op(norm, BinaryOp::Multiply, upstream, whitened))
        })?;
        let by_offset = self.feature_sums(region, norm, false, &mut |builder, place| {
            builder.norm_operand(norm, 4, place)
        })?;
        let (by_scale, by_offset) = (PerFeature::Made(by_scale), PerFeature::Made(by_offset));
        self.round_list(region, norm, by_scale, *scale_output)?;
        self.round_list(region, norm, by_offset, *offset_output)?;
        self.norm_kernel(region, norm, norm.dims, *output, &mut |builder, place| {
            let at = &place[norm.feature];
            let count = builder.float_constant(norm, norm.count());
            let upstream = builder.norm_operand(norm, 4, place)?;
            let offset = builder.per_feature(norm, by_offset, at)?;
            let offset = builder.float_op(norm, BinaryOp::Divide, offset, count);
            let direct = builder.float_op(norm, BinaryOp::Subtract, upstream, offset);
            let whitened = builder.whitened(norm, statistics, place)?;
            let scale = builder.per_feature(norm, by_scale, at)?;
            let through = builder.float_op(norm, BinaryOp::Multiply, whitened, scale);
            let through = builder.float_op(norm, BinaryOp::Divide, through, count);
            let both = builder.float_op(norm, BinaryOp::Subtract, direct, through);
            let factor = builder.per_feature(norm, PerFeature::Operand(1), at)?;
            let deviation = builder.deviation(norm, statistics[1], at)?;
            let factor = builder.float_op(norm, BinaryOp::Divide, factor, deviation);
            Ok(builder.float_op(norm, BinaryOp::Multiply, factor, both))
        })
    }

    /// A new list of the sums of values over each feature, or their means.
    fn feature_sums(
        &mut self,
        region: &Region<'m>,
        norm: &Norm<'m>,
        mean: bool,
        values: Values<'_>,
    ) -> Built<BufferId> {
        let features = [norm.dims[norm.feature]];
        let list = self.temporary(&ArrayShape::new(norm.work, &features));
        self.norm_kernel(region, norm, &features, list, &mut |builder, place| {
            let mut extents = norm.dims.to_vec();
            extents.remove(norm.feature);
            let sum = if extents.contains(&0) {
                builder.zero(norm.work)
            } else {
                let reduced: Vec<i64> = (0..norm.dims.len() as i64)
                    .filter(|dim| *dim != norm.feature as i64)
                    .collect();
                let block = sum_block(norm.dims, &reduced);
                builder.sum(norm.work, &extents, block, None, &mut |builder, vars| {
                    let mut at = vars.to_vec();
                    at.insert(norm.feature, place[0].clone());
                    values(builder, &at)
                })?
            };
            if !mean {
                return Ok(sum);
            }
            let count = builder.float_constant(norm, norm.count());
            Ok(builder.float_op(norm, BinaryOp::Divide, sum, count))
        })?;
        Ok(list)
    }

    /// Stores a list of the working type as an array of the result's.
    fn round_list(
        &mut self,
        region: &Region<'m>,
        norm: &Norm<'m>,
        list: PerFeature,
        output: BufferId,
    ) -> Built<()> {
        let features = [norm.dims[norm.feature]];
        self.norm_kernel(region, norm, &features, output, &mut |builder, place| {
            builder.per_feature(norm, list, &place[0])
        })
    }

    /// A kernel that stores values in a buffer of sizes `dims`.
    fn norm_kernel(
        &mut self,
        region: &Region<'m>,
        norm: &Norm<'m>,
        dims: &[i64],
        buffer: BufferId,
        values: Values<'_>,
    ) -> Built<()> {
        let shape = self.buffers[buffer].shape.clone();
        if is_empty(&shape) {
            return Ok(());
        }
        let (mut builder, _) = self.builder(region, norm.id, None);
        let target = ArgSource::Buffer(buffer);
        let param = builder.param(target, shape.element_type, dims, Access::Write);
        builder.store_nest(dims, true, &mut |builder, place| {
            let value = values(builder, place)?;
            let value = builder.converted(value, shape.element_type);
            builder.push(Stmt::Store {
                param,
                index: linear_index(place, dims),
                value,
            });
            Ok(())
        })?;
        let kernel = builder.finish();
        self.run(norm.instruction, kernel)
    }
}

impl Norm<'_> {
    /// Elements of one feature.
    fn count(&self) -> f64 {
        let others = self.dims.iter().enumerate();
        let others = others.filter(|(at, _)| *at != self.feature);
        others.map(|(_, dim)| *dim as f64).product()
    }
}

impl Builder<'_> {
    /// An element of an operand in the working type.
    fn norm_operand(&mut self, norm: &Norm<'_>, at: usize, place: &[Index]) -> Built<ValueId> {
        let node = Node {
            frame: 0,
            instr: norm.id,
            leaf: 0,
        };
        let operand = self.operand(node, at)?;
        let value = self.value_at(operand, place)?;
        Ok(self.converted(value, norm.work))
    }

    fn per_feature(&mut self, norm: &Norm<'_>, list: PerFeature, at: &Index) -> Built<ValueId> {
        let place = std::slice::from_ref(at);
        match list {
            PerFeature::Operand(number) => self.norm_operand(norm, number, place),
            PerFeature::Made(buffer) => {
                let dims = [norm.dims[norm.feature]];
                let source = ArgSource::Buffer(buffer);
                let param = self.param(source, norm.work, &dims, Access::Read);
                Ok(self.load(param, place, &dims))
            }
        }
    }

    /// (x − mean) / √(variance + ε).
    fn whitened(
        &mut self,
        norm: &Norm<'_>,
        [mean, variance]: [PerFeature; 2],
        place: &[Index],
    ) -> Built<ValueId> {
        let at = &place[norm.feature];
        let x = self.norm_operand(norm, 0, place)?;
        let mean = self.per_feature(norm, mean, at)?;
        let distance = self.float_op(norm, BinaryOp::Subtract, x, mean);
        let deviation = self.deviation(norm, variance, at)?;
        Ok(self.float_op(norm, BinaryOp::Divide, distance, deviation))
    }

    /// √(variance + ε).
    fn deviation(&mut self, norm: &Norm<'_>, variance: PerFeature, at: &Index) -> Built<ValueId> {
        let variance = self.per_feature(norm, variance, at)?;
        let epsilon = self.float_constant(norm, norm.epsilon);
        let sum = self.float_op(norm, BinaryOp::Add, variance, epsilon);
        Ok(self.emit(norm.work, Expr::Unary(UnaryOp::Sqrt, sum)))
    }

    fn float_op(&mut self, norm: &Norm<'_>, op: BinaryOp, x: ValueId, y: ValueId) -> ValueId {
        self.emit(norm.work, Expr::Binary(op, x, y))
    }

    fn float_constant(&mut self, norm: &Norm<'_>, value: f64) -> ValueId {
        let bits = if norm.work == ElementType::F64 {
            u128::from(value.to_bits())
        } else {
            u128::from((value as f32).to_bits())
        };
        self.emit(norm.work, Expr::Constant(ConstantBits(bits)))
    }
}
