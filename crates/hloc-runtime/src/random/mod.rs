//! Random bits from a state: ThreeFry-2x32 (20 rounds) and Philox-4x32 (10 rounds).
//!
//! Both encrypt a counter with a key. The state is a 64-bit key and a counter of 64 bits (ThreeFry) or
//! 128 bits (Philox); a Philox state of two words takes the key as the counter's high word.

mod philox;
#[cfg(test)]
mod tests;
mod three_fry;

use hloc_ir::words::RngAlgorithm;
use hloc_ir::{ArrayShape, ElementType};
use hloc_loops::routine::RoutineCall;

use crate::RunError;
use crate::pool::WorkerPool;
use crate::routine::{Routine, invalid, unsupported};

/// An `rng-bit-generator`.
#[derive(Debug)]
pub(crate) struct RngBits {
    generator: Generator,
    /// Element type and dimensions of the bits.
    bits: ArrayShape,
    /// Whether the new state is an output before the bits.
    gives_state: bool,
}

#[derive(Clone, Copy, Debug)]
enum Generator {
    ThreeFry,
    /// With a counter's high word in the state, or not.
    Philox {
        has_high_word: bool,
    },
}

impl RngBits {
    /// # Errors
    /// [`RunError::UnsupportedCall`] for bits that are no integers and for states of another length, [`RunError::InvalidProgram`] for a wrong number of arrays.
    pub(crate) fn new(call: &RoutineCall, algorithm: RngAlgorithm) -> Result<RngBits, RunError> {
        let ([state], [.., bits]) = (&call.inputs[..], &call.outputs[..]) else {
            return Err(invalid("random bits need a state and a result"));
        };
        let gives_state = call.outputs.len() == 2;
        if call.outputs.len() > 2 || (gives_state && call.outputs[0] != *state) {
            return Err(invalid("random bits come with one new state"));
        }
        let words = state.byte_size().map(|bytes| (bytes / 8, bytes % 8));
        let generator = match (algorithm, words) {
            (RngAlgorithm::ThreeFry, Some((2, 0))) => Generator::ThreeFry,
            (RngAlgorithm::Philox | RngAlgorithm::Default, Some((2, 0))) => Generator::Philox {
                has_high_word: false,
            },
            (RngAlgorithm::Philox | RngAlgorithm::Default, Some((3, 0))) => Generator::Philox {
                has_high_word: true,
            },
            (_, _) => return Err(unsupported(call)),
        };
        if !bits.element_type.is_integer() || state.element_type != ElementType::U64 {
            return Err(unsupported(call));
        }
        Ok(RngBits {
            generator,
            bits: bits.clone(),
            gives_state,
        })
    }
}

impl Routine for RngBits {
    fn run(&self, inputs: &[&[u8]], outputs: &mut [&mut [u8]], _: &WorkerPool) {
        let ([state], Some((bits, new_state))) = (inputs, outputs.split_last_mut()) else {
            return;
        };
        let (words, _) = state.as_chunks::<8>();
        let mut words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        match (self.generator, &mut words[..]) {
            (Generator::ThreeFry, [key, counter]) => {
                *counter = three_fry::fill(*key, *counter, &self.bits, bits);
            }
            (
                Generator::Philox {
                    has_high_word: false,
                },
                [key, low],
            ) => {
                let counter = u128::from(*key) << 64 | u128::from(*low);
                *low = philox::fill(*key, counter, self.bits.element_type.size(), bits) as u64;
            }
            (
                Generator::Philox {
                    has_high_word: true,
                },
                [key, low, high],
            ) => {
                let counter = u128::from(*high) << 64 | u128::from(*low);
                let counter = philox::fill(*key, counter, self.bits.element_type.size(), bits);
                (*low, *high) = (counter as u64, (counter >> 64) as u64);
            }
            // `RngBits::new` has checked the number of words.
            (Generator::ThreeFry | Generator::Philox { .. }, _) => {}
        }
        extend(self.bits.element_type, bits);
        if let (true, [new_state]) = (self.gives_state, new_state) {
            for (bytes, word) in new_state.chunks_exact_mut(8).zip(words) {
                bytes.copy_from_slice(&word.to_le_bytes());
            }
        }
    }
}

/// Makes bytes elements of a type narrower than a byte: the low bits, sign- or zero-extended.
fn extend(ty: ElementType, bytes: &mut [u8]) {
    let Some(unused) = 8u32.checked_sub(ty.bits()).filter(|unused| *unused > 0) else {
        return;
    };
    for byte in bytes {
        let shifted = *byte << unused;
        *byte = if ty.is_signed_integer() {
            (shifted.cast_signed() >> unused).cast_unsigned()
        } else {
            shifted >> unused
        };
    }
}

/// Low and high half.
fn halves(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}
