//! `rng`: bits of Philox under the running state of the program, and arithmetic with them.
//!
//! `docs/numerics.md` states the rule: which bits an instruction takes and what it makes of them.

use hloc_ir::words::{Distribution, RngAlgorithm};
use hloc_ir::{Array, BinaryOp, ComparisonDirection, ElementType, InstrId, Op, Shape, UnaryOp};

use super::in_place;
use crate::make::Make;
use crate::rewriter::Rewriter;

/// The value of an `rng`, spelled out; `None` where the distribution is not defined.
pub(super) fn spell_out(
    rebuilt: &mut Rewriter<'_>,
    id: InstrId,
    distribution: Distribution,
) -> Option<InstrId> {
    let shape = rebuilt.old().instructions[id].shape.as_array()?.clone();
    let operands = rebuilt.mapped_operands(id);
    let mut make = in_place(rebuilt, id);
    let (a, b) = (operands[0], operands[1]);
    match distribution {
        Distribution::Normal => normal(&mut make, (a, b), shape.element_type, &shape.dims),
        Distribution::Uniform => uniform(&mut make, (a, b), shape.element_type, &shape.dims),
    }
}

/// Random words of 64 bits, `parts` for each element, along a first dimension.
fn words(make: &mut impl Make, parts: i64, dims: &[i64]) -> Option<Vec<InstrId>> {
    let ty = ElementType::U64;
    let all = [dims, &[parts]].concat();
    let count = hloc_ir::ArrayShape::new(ty, &all).num_elements()?;
    // Four words of 32 bits are a block.
    let delta = count.checked_add(1)? / 2;
    let state = Shape::array(ty, &[2]);
    let counter = make.make(Op::RngGetAndUpdateState { delta }, &[], state);
    let key = Op::Constant {
        literal: Array::zeros(ty, &[1]).ok()?.into(),
    };
    let key = make.make(key, &[], Shape::array(ty, &[1]));
    let join = Op::Concatenate {
        dimensions: vec![0],
    };
    let state = make.make(join, &[key, counter], Shape::array(ty, &[3]));
    let generator = Op::RngBitGenerator {
        algorithm: RngAlgorithm::Philox,
    };
    let bits = make.make(generator, &[state], Shape::array(ty, &all));
    let take = |part: i64| hloc_ir::attr::SliceDim {
        start: part,
        limit: part + 1,
        stride: 1,
    };
    let whole = |size: &i64| hloc_ir::attr::SliceDim {
        start: 0,
        limit: *size,
        stride: 1,
    };
    let mut words = Vec::new();
    for part in 0..parts {
        let slice = dims.iter().map(whole).chain([take(part)]).collect();
        let one = [dims, &[1]].concat();
        let word = if parts == 1 {
            bits
        } else {
            make.make(Op::Slice { slice }, &[bits], Shape::array(ty, &one))
        };
        words.push(make.reshape(word, dims));
    }
    Some(words)
}

/// The upper 53 or 24 bits of a word as a fraction in 0..1 of `f64` or `f32`.
fn fraction(make: &mut impl Make, word: InstrId, ty: ElementType) -> InstrId {
    let digits = if ty == ElementType::F64 { 53 } else { 24 };
    let shift = make.number_like(word, f64::from(64 - digits));
    let kept = make.binary(BinaryOp::ShiftRightLogical, word, shift);
    let number = make.convert(kept, ty);
    let unit = make.number_like(number, 2.0f64.powi(-digits));
    make.binary(BinaryOp::Multiply, number, unit)
}

/// The type in which floats of a type are computed.
fn computed(ty: ElementType) -> ElementType {
    if ty == ElementType::F64 {
        ElementType::F64
    } else {
        ElementType::F32
    }
}

fn uniform(
    make: &mut impl Make,
    (low, high): (InstrId, InstrId),
    ty: ElementType,
    dims: &[i64],
) -> Option<InstrId> {
    let word = *words(make, 1, dims)?.first()?;
    if ty.is_predicate() {
        let half = make.number_like(word, 2.0f64.powi(63));
        return Some(make.compare(ComparisonDirection::Ge, word, half));
    }
    if ty.is_integer() {
        let wide = ElementType::U64;
        let (low, high) = (make.convert(low, wide), make.convert(high, wide));
        let count = make.binary(BinaryOp::Subtract, high, low);
        let (low, count) = (make.spread(low, dims), make.spread(count, dims));
        let zero = make.number_like(word, 0.0);
        let none = make.compare(ComparisonDirection::Eq, count, zero);
        let step = make.binary(BinaryOp::Remainder, word, count);
        let step = make.select(none, zero, step);
        let sum = make.binary(BinaryOp::Add, low, step);
        return Some(make.convert(sum, ty));
    }
    let wide = computed(ty);
    let fraction = fraction(make, word, wide);
    let (low, high) = (make.convert(low, wide), make.convert(high, wide));
    let width = make.binary(BinaryOp::Subtract, high, low);
    let bounds = [low, high, width].map(|bound| make.spread(bound, dims));
    let [low, high, width] = bounds;
    let part = make.binary(BinaryOp::Multiply, fraction, width);
    let sum = make.binary(BinaryOp::Add, low, part);
    let sum = make.convert(sum, ty);
    let (low, high) = (make.convert(low, ty), make.convert(high, ty));
    // Rounding may reach the upper bound, which is not drawn.
    let reached = make.compare(ComparisonDirection::Ge, sum, high);
    Some(make.select(reached, low, sum))
}

/// Box and Muller's transform.
fn normal(
    make: &mut impl Make,
    (mean, deviation): (InstrId, InstrId),
    ty: ElementType,
    dims: &[i64],
) -> Option<InstrId> {
    let words = words(make, 2, dims)?;
    let [first, second] = words[..] else {
        return None;
    };
    let wide = computed(ty);
    let u = fraction(make, first, wide);
    let angle = fraction(make, second, wide);
    // 1 − u is not 0.
    let one = make.number_like(u, 1.0);
    let u = make.binary(BinaryOp::Subtract, one, u);
    let log = make.unary(UnaryOp::Log, u);
    let factor = make.number_like(log, -2.0);
    let square = make.binary(BinaryOp::Multiply, log, factor);
    let radius = make.unary(UnaryOp::Sqrt, square);
    let turn = make.number_like(angle, std::f64::consts::TAU);
    let angle = make.binary(BinaryOp::Multiply, angle, turn);
    let cosine = make.unary(UnaryOp::Cosine, angle);
    let standard = make.binary(BinaryOp::Multiply, radius, cosine);
    let (mean, deviation) = (make.convert(mean, wide), make.convert(deviation, wide));
    let (mean, deviation) = (make.spread(mean, dims), make.spread(deviation, dims));
    let part = make.binary(BinaryOp::Multiply, standard, deviation);
    let sum = make.binary(BinaryOp::Add, mean, part);
    Some(make.convert(sum, ty))
}
