//! Instructions as machine code.

use std::collections::BTreeMap;

use iced_x86::{Decoder, DecoderOptions, Encoder, Formatter, GasFormatter, Instruction};

use super::decode::Field;
use super::{Refusal, Widened};

/// What of a line is known only when everything is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fix {
    /// Nothing.
    None,
    /// The target of a branch, as offset in the old code.
    Branch(u64),
    /// The address of a constant, as offset in the pool.
    Constant(u64),
    /// What relocation number so-and-so fills in.
    Relocation(usize, Field),
}

/// An instruction of the new function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// The instruction.
    pub(super) instruction: Instruction,
    /// What is filled in later.
    pub(super) fix: Fix,
}

/// The new function.
#[derive(Default)]
pub(super) struct Lines {
    /// Its instructions.
    pub(super) lines: Vec<Line>,
    /// Number of the first line for each branch target, as offset in the old code.
    pub(super) labels: BTreeMap<u64, usize>,
    /// Its constants.
    pub(super) pool: Vec<u8>,
}

/// The constants begin at a multiple of this.
const POOL_ALIGNMENT: usize = 64;

/// Encodes the lines, with the pool behind them.
///
/// # Errors
/// Instructions that have no encoding.
pub(super) fn encode(lines: &Lines, relocations: usize) -> Result<Widened, Refusal> {
    let refused = |error: iced_x86::IcedError| Refusal::Encode(error.to_string());
    let mut encoder = Encoder::try_with_capacity(64, lines.lines.len() * 8).map_err(refused)?;
    let (mut starts, mut fields) = (Vec::new(), Vec::new());
    let mut at = 0u64;
    for line in &lines.lines {
        starts.push(at);
        let mut instruction = line.instruction;
        match line.fix {
            Fix::None | Fix::Relocation(_, Field::Immediate) => {}
            Fix::Branch(_) => {
                instruction.as_near_branch();
                instruction.set_near_branch64(at);
            }
            Fix::Constant(_) | Fix::Relocation(_, Field::Displacement) => {
                instruction.set_memory_displacement64(at);
            }
        }
        let length = encoder.encode(&instruction, at).map_err(refused)?;
        let offsets = encoder.get_constant_offsets();
        let field = match line.fix {
            Fix::None => 0,
            // The displacement of a near branch comes last.
            Fix::Branch(_) => length - 4,
            Fix::Relocation(_, Field::Immediate) => offsets.immediate_offset(),
            Fix::Constant(_) | Fix::Relocation(_, Field::Displacement) => {
                offsets.displacement_offset()
            }
        };
        at += length as u64;
        fields.push((field as u64 + starts[starts.len() - 1], at));
    }
    let mut code = encoder.take_buffer();
    let pool = code.len().next_multiple_of(POOL_ALIGNMENT);
    let mut new_relocations = vec![0; relocations];
    for (line, (field, end)) in lines.lines.iter().zip(&fields) {
        let target = match line.fix {
            Fix::None => continue,
            Fix::Branch(old) => {
                let known = lines.labels.get(&old).and_then(|line| starts.get(*line));
                *known.ok_or(Refusal::Decode(old))?
            }
            Fix::Constant(offset) => pool as u64 + offset,
            Fix::Relocation(number, _) => {
                new_relocations[number] = u32::try_from(*field).map_err(too_large)?;
                continue;
            }
        };
        let distance = target.cast_signed() - end.cast_signed();
        let distance = i32::try_from(distance).map_err(too_large)?;
        let at = *field as usize;
        code[at..at + 4].copy_from_slice(&distance.to_le_bytes());
    }
    if !lines.pool.is_empty() {
        code.resize(pool, 0xcc);
        code.extend_from_slice(&lines.pool);
    }
    Ok(Widened {
        code,
        relocations: new_relocations,
    })
}

fn too_large(_: std::num::TryFromIntError) -> Refusal {
    Refusal::Encode("more than 2 GiB of code".to_owned())
}

/// The instructions of a function as text, one per line.
pub(crate) fn listing(code: &[u8]) -> String {
    let mut text = String::new();
    let Ok(listing) = super::decode::decode(code, &[]) else {
        return text;
    };
    let end = usize::try_from(listing.end).unwrap_or(code.len());
    let mut formatter = GasFormatter::new();
    for instruction in &mut Decoder::with_ip(64, &code[..end], 0, DecoderOptions::NONE) {
        let mut line = String::new();
        formatter.format(&instruction, &mut line);
        text.push_str(&format!("{:6x}  {line}\n", instruction.ip()));
    }
    text
}
