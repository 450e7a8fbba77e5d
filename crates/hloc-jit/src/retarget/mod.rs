//! Lane retargeting: makes 256- or 512-bit code of Cranelift's 128-bit vector code.
//!
//! Cranelift has no vectors wider than 128 bits. A kernel that is to become wide is emitted with strides
//! laid out for the wider vectors, compiled, and decoded; instructions that do the same in every lane are
//! replaced by their wide forms, and everything is encoded again. Since each lane sees the same operations
//! in the same order, the results have the same bits.
//!
//! What may be replaced by what is a table ([`table`]). Whatever is not in it is refused, and then the
//! 128-bit code serves. Scalar code in the same function stays as it is: its packed instructions, where it
//! has any, become wide, too, which does not change their lowest lane.
//!
//! How much of memory an instruction accesses must be told apart from what it computes with. Cranelift's
//! choice of move does that; the emitter picks the type of each access accordingly:
//!
//! | type of the access | instruction | accesses |
//! |---|---|---|
//! | `f32x4` | `movups`, or an operand in memory | a wide vector |
//! | `f64x2` | `movupd` | half of one |
//! | `i8x16` | `movdqu` | 16 bytes |

mod across;
mod decode;
mod encode;
mod forms;
mod frame;
mod masks;
mod promote;
mod rewrite;
mod rotate;
mod table;
#[cfg(test)]
mod tests;

use std::sync::Once;

use iced_x86::Instruction;
use thiserror::Error;

pub(crate) use encode::listing;

/// A width to retarget to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wide {
    /// 256 bits, AVX2.
    Bits256,
    /// 512 bits, AVX-512 F, VL, DQ and BW.
    Bits512,
}

impl Wide {
    /// How many 128-bit vectors one holds.
    pub(crate) fn factor(self) -> u32 {
        match self {
            Wide::Bits256 => 2,
            Wide::Bits512 => 4,
        }
    }
}

/// Why a kernel stays narrow.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum Refusal {
    /// Elements move between lanes, as the emitter knows.
    #[error("elements move between lanes")]
    Crossing,
    /// An instruction that is not in the table.
    #[error("no wide form of `{0}`")]
    Instruction(String),
    /// Bytes that are no instruction, or control flow that is not understood.
    #[error("unknown code at {0:#x}")]
    Decode(u64),
    /// The wide stack frame would be too large.
    #[error("the stack frame would have {0} bytes")]
    Frame(u64),
    /// An address that is not understood.
    #[error("unknown use of memory in `{0}`")]
    Memory(String),
    /// The encoder refuses.
    #[error("no encoding: {0}")]
    Encode(String),
}

impl Refusal {
    fn instruction(instruction: &Instruction) -> Refusal {
        let mnemonic = format!("{:?}", instruction.code());
        Refusal::Instruction(mnemonic)
    }

    fn memory(instruction: &Instruction) -> Refusal {
        Refusal::Memory(format!("{:?}", instruction.code()))
    }
}

/// A compiled function.
pub(crate) struct Narrow<'c> {
    /// Its bytes: instructions, then constants.
    pub(crate) code: &'c [u8],
    /// Offsets of the fields that relocations fill in, ascending.
    pub(crate) relocations: &'c [u32],
    /// Where stores are that pass the caches, ascending; the emitter sees to it that they are aligned.
    pub(crate) streaming: &'c [(u32, u32)],
    /// Where loads are before which memory is asked for, ascending, and how many bytes ahead.
    pub(crate) ahead: &'c [(u32, u32, i64)],
    /// Bytes at the bottom of the frame that are stack slots, of the size that wide code needs.
    pub(crate) slots: u32,
}

impl<'c> Narrow<'c> {
    /// A function that calls nothing, has no stack slots and no marks.
    fn of(code: &'c [u8]) -> Narrow<'c> {
        Narrow {
            code,
            relocations: &[],
            streaming: &[],
            ahead: &[],
            slots: 0,
        }
    }
}

/// The wide function.
pub(crate) struct Widened {
    /// Its bytes: instructions, then constants.
    pub(crate) code: Vec<u8>,
    /// Offsets of the fields that relocations fill in, in the order of [`Narrow::relocations`].
    pub(crate) relocations: Vec<u32>,
}

/// Builds the tables that decoding and encoding need, which takes half a millisecond the first time. In a thread
/// of its own that goes on while kernels are compiled.
pub(crate) fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let build = || {
            let narrow = Narrow::of(&[0xc3]);
            // A return instruction is understood; and if not, the first kernel is told.
            drop(widen(&narrow, Wide::Bits256));
        };
        // Without a thread the first kernel builds them.
        drop(std::thread::Builder::new().spawn(build));
    });
}

/// The wide form of a function.
///
/// # Errors
/// What is not understood: the narrow function must serve.
pub(crate) fn widen(narrow: &Narrow<'_>, wide: Wide) -> Result<Widened, Refusal> {
    let listing = decode::decode(narrow.code, narrow.relocations)?;
    let lines = rewrite::rewrite(&listing, narrow, wide)?;
    encode::encode(&lines, narrow.relocations.len())
}
