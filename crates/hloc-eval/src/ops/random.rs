//! `rng-bit-generator`: ThreeFry-2x32 and Philox-4x32, bit for bit; `rng` with Philox under the counter
//! that runs through the program.

use hloc_ir::words::{Distribution, RngAlgorithm};
use hloc_ir::{ArrayShape, Literal, Op, Shape};
use hloc_tensor::{Array, ElementType};

use super::{Operands, count, zeros};
use crate::EvalError;
use crate::evaluator::Evaluator;
use crate::scalar::{Lane, Value};

/// The counter before it moves on, low word first.
pub(super) fn next_state(evaluator: Evaluator<'_>, delta: i64) -> Result<Array, EvalError> {
    // As wide as the counter, a negative number moves it back.
    let state = evaluator.next_random(i128::from(delta).cast_unsigned());
    Ok(Array::from_slice(
        &[2],
        &[state as u64, (state >> 64) as u64],
    )?)
}

/// Random numbers between or around two numbers; `docs/numerics.md` has the rule.
pub(super) fn rng(
    evaluator: Evaluator<'_>,
    op: &Op,
    operands: &Operands,
    shape: &ArrayShape,
) -> Result<Array, EvalError> {
    let Op::Rng { distribution } = op else {
        return Err(EvalError::unsupported(op, None));
    };
    let ty = shape.element_type;
    let parts = match distribution {
        Distribution::Uniform => 1,
        Distribution::Normal => 2,
    };
    if ty.is_complex() || (parts == 2 && !ty.is_float()) {
        return Err(EvalError::unsupported(op, Some(ty)));
    }
    let (a, b) = (operands.array(0)?, operands.array(1)?);
    let (a, b) = (Value::at(a, 0), Value::at(b, 0));
    let mut result = zeros(ty, &shape.dims)?;
    let elements = if shape.dims.contains(&0) {
        0
    } else {
        count(&shape.dims)
    };
    let blocks = (elements * parts).div_ceil(2);
    let state = evaluator.next_random(blocks as u128);
    let mut words = (0..blocks).flat_map(|block| {
        let [a, b, c, d] = philox_block(0, state.wrapping_add(block as u128));
        [
            u64::from(b) << 32 | u64::from(a),
            u64::from(d) << 32 | u64::from(c),
        ]
    });
    for bytes in result.bytes_mut().chunks_exact_mut(ty.size()) {
        let mut word = || words.next().unwrap_or(0);
        let value = match (distribution, a, b) {
            (Distribution::Uniform, Value::Int(low), Value::Int(high)) => {
                Value::Int(integer_between(low, high, word()))
            }
            (Distribution::Uniform, Value::Float(low), Value::Float(high)) => {
                Value::Float(float_between(ty, low, high, word()))
            }
            (Distribution::Normal, Value::Float(mean), Value::Float(deviation)) => {
                let standard = normal(ty, word(), word());
                let wide = computed(ty);
                let part = (standard * deviation).rounded(wide);
                Value::Float((mean + part).rounded(wide))
            }
            _ => Value::Pred(word() >> 63 == 1),
        };
        value.write(ty, bytes);
    }
    Ok(result)
}

fn integer_between(low: i128, high: i128, word: u64) -> i128 {
    match (high as u64).wrapping_sub(low as u64) {
        0 => low,
        count => (low as u64).wrapping_add(word % count).into(),
    }
}

fn computed(ty: ElementType) -> ElementType {
    if ty == ElementType::F64 {
        ElementType::F64
    } else {
        ElementType::F32
    }
}

/// The upper bits of a word as a number in 0..1.
fn fraction(ty: ElementType, word: u64) -> f64 {
    let digits = if ty == ElementType::F64 { 53 } else { 24 };
    (word >> (64 - digits)) as f64 / (1u64 << digits) as f64
}

fn float_between(ty: ElementType, low: f64, high: f64, word: u64) -> f64 {
    let wide = computed(ty);
    let width = (high - low).rounded(wide);
    let part = (fraction(ty, word) * width).rounded(wide);
    let sum = (low + part).rounded(wide).rounded(ty);
    if sum >= high { low } else { sum }
}

/// Box and Muller's transform of two words.
fn normal(ty: ElementType, first: u64, second: u64) -> f64 {
    let wide = computed(ty);
    let u = 1.0 - fraction(ty, first);
    let square = (libm::log(u).rounded(wide) * -2.0).rounded(wide);
    let radius = libm::sqrt(square).rounded(wide);
    let turn = std::f64::consts::TAU.rounded(wide);
    let angle = (fraction(ty, second) * turn).rounded(wide);
    (radius * libm::cos(angle).rounded(wide)).rounded(wide)
}

/// The new state and random bits.
pub(super) fn bits(op: &Op, operands: &Operands, shape: &Shape) -> Result<Literal, EvalError> {
    let Op::RngBitGenerator { algorithm } = op else {
        return Err(EvalError::unsupported(op, None));
    };
    let state_array = operands.array(0)?;
    let leaves = shape.leaves();
    let Some(bits) = leaves.last().and_then(|leaf| leaf.as_array()) else {
        return Err(EvalError::argument(
            "the declared result has no array of bits",
        ));
    };
    if !bits.element_type.is_integer() {
        return Err(EvalError::unsupported(op, Some(bits.element_type)));
    }
    let state = words(state_array)?;
    let (new_state, result) = match (algorithm, &state[..]) {
        (RngAlgorithm::ThreeFry, [key, counter]) => three_fry(*key, *counter, bits)?,
        (RngAlgorithm::Philox | RngAlgorithm::Default, [key, low]) => {
            let (counter, result) = philox(*key, join(*low, *key), bits)?;
            // A state of two words has no third for the upper half of the counter.
            (vec![*key, counter as u64], result)
        }
        (RngAlgorithm::Philox | RngAlgorithm::Default, [key, low, high]) => {
            let (counter, result) = philox(*key, join(*low, *high), bits)?;
            (vec![*key, counter as u64, (counter >> 64) as u64], result)
        }
        _ => return Err(EvalError::unsupported(op, Some(state_array.element_type()))),
    };
    // Narrow integers are the low bits of words, sign- or zero-extended as all arrays hold them.
    let result = Array::new(
        result.element_type(),
        result.dims(),
        result.bytes().to_vec(),
    )?;
    let new_state = new_state
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    let new_state = Array::new(state_array.element_type(), state_array.dims(), new_state)?;
    Ok(match shape {
        Shape::Tuple(_) => Literal::Tuple(vec![Literal::Array(new_state), Literal::Array(result)]),
        Shape::Array(_) | Shape::Token | Shape::Opaque | Shape::Buffer(_) => Literal::Array(result),
    })
}

/// The state as 64-bit words, the low half of each first if it is one of 32-bit words.
fn words(state: &Array) -> Result<Vec<u64>, EvalError> {
    let chunks = state.bytes().chunks_exact(8);
    if !state.element_type().is_integer() || !chunks.remainder().is_empty() {
        return Err(EvalError::argument("the state is no list of 64-bit words"));
    }
    Ok(chunks
        .map(|bytes| {
            bytes
                .iter()
                .rev()
                .fold(0, |word, byte| word << 8 | u64::from(*byte))
        })
        .collect())
}

fn join(low: u64, high: u64) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

fn split(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

/// 20 rounds on a block of two words.
fn three_fry_block(key: u64, counter: u64) -> [u32; 2] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    let [k0, k1] = split(key);
    let keys = [k0, k1, k0 ^ k1 ^ 0x1BD1_1BDA];
    let [mut x0, mut x1] = split(counter);
    x0 = x0.wrapping_add(k0);
    x1 = x1.wrapping_add(k1);
    for group in 0..5usize {
        for rotation in ROTATIONS[group % 2] {
            x0 = x0.wrapping_add(x1);
            x1 = x1.rotate_left(rotation) ^ x0;
        }
        x0 = x0.wrapping_add(keys[(group + 1) % 3]);
        x1 = x1
            .wrapping_add(keys[(group + 2) % 3])
            .wrapping_add(group as u32 + 1);
    }
    [x0, x1]
}

fn three_fry(key: u64, counter: u64, shape: &ArrayShape) -> Result<(Vec<u64>, Array), EvalError> {
    let mut result = zeros(shape.element_type, &shape.dims)?;
    let size = shape.element_type.size();
    let block = |index: usize| three_fry_block(key, counter.wrapping_add(index as u64));
    let count = result.num_elements();
    let target = result.bytes_mut();
    let mut put = |position: usize, word: u64| {
        target[position * size..][..size].copy_from_slice(&word.to_le_bytes()[..size]);
    };
    let blocks = if size == 8 {
        for position in 0..count {
            let [low, high] = block(position);
            put(position, u64::from(high) << 32 | u64::from(low));
        }
        count
    } else if shape.dims.is_empty() {
        put(0, block(0)[0].into());
        1
    } else {
        // Both words of a block are neighbors along one dimension: the first of even size, else the
        // largest.
        let largest = shape.dims.iter().copied().max().unwrap_or(0);
        let even = shape.dims.iter().position(|dim| dim % 2 == 0);
        let at = even
            .or_else(|| shape.dims.iter().position(|dim| *dim == largest))
            .unwrap_or(0);
        let (extent, half) = (
            shape.dims[at] as usize,
            (shape.dims[at] as usize).div_ceil(2),
        );
        let (outer, inner) = if count == 0 {
            (0, 0)
        } else {
            (
                super::count(&shape.dims[..at]),
                super::count(&shape.dims[at + 1..]),
            )
        };
        for index in 0..outer * half * inner {
            let (row, rest) = (index / (half * inner), index % (half * inner));
            let (pair, column) = (rest / inner, rest % inner);
            for (word, place) in block(index).into_iter().zip(2 * pair..extent) {
                put((row * extent + place) * inner + column, word.into());
            }
        }
        outer * half * inner
    };
    Ok((vec![key, counter.wrapping_add(blocks as u64)], result))
}

/// 10 rounds on a block of four words.
fn philox_block(key: u64, counter: u128) -> [u32; 4] {
    let [mut k0, mut k1] = split(key);
    let mut x = [0, 32, 64, 96].map(|shift| (counter >> shift) as u32);
    for _ in 0..10 {
        let [low0, high0] = split(u64::from(x[0]) * 0xD251_1F53);
        let [low1, high1] = split(u64::from(x[2]) * 0xCD9E_8D57);
        x = [high1 ^ x[1] ^ k0, low1, high0 ^ x[3] ^ k1, low0];
        k0 = k0.wrapping_add(0x9E37_79B9);
        k1 = k1.wrapping_add(0xBB67_AE85);
    }
    x
}

fn philox(key: u64, counter: u128, shape: &ArrayShape) -> Result<(u128, Array), EvalError> {
    let mut result = zeros(shape.element_type, &shape.dims)?;
    let size = shape.element_type.size();
    let words_each = if size == 8 { 2 } else { 1 };
    let blocks = (result.num_elements() * words_each).div_ceil(4);
    let mut words =
        (0..blocks).flat_map(|index| philox_block(key, counter.wrapping_add(index as u128)));
    for bytes in result.bytes_mut().chunks_exact_mut(size) {
        let low = u64::from(words.next().unwrap_or(0));
        let high = if size == 8 {
            u64::from(words.next().unwrap_or(0))
        } else {
            0
        };
        bytes.copy_from_slice(&(high << 32 | low).to_le_bytes()[..size]);
    }
    Ok((counter.wrapping_add(blocks as u128), result))
}
