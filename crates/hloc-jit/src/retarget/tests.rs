//! Every row of the table: the wide form does to each part of its operands what the narrow form does to it.

use iced_x86::{Code, Encoder, Instruction, OpKind, Register};

use super::across::{EVEN, ODD};
use super::table::{Form, form, rows};
use super::{Narrow, Refusal, Wide, widen};
use crate::compile::widest;
use crate::tests::harness::run_code;

/// Operands, the result first, each this far from the one before.
const DISTANCE: usize = 64;

/// What lies in an operand's place.
type Area = [u8; DISTANCE * 5];

/// The operands of an instruction, from its name: `VEX_Vaddps_xmm_xmm_xmmm128` has three vectors.
fn operands(code: Code) -> Vec<String> {
    let name = format!("{code:?}");
    let words = name.split('_').map(str::to_owned);
    let skipped = if name.contains("VEX") { 2 } else { 1 };
    let operands = words.skip(skipped).filter(|word| word != "k1z");
    operands.collect()
}

fn general(number: usize, is_wide: bool) -> Register {
    if is_wide {
        [Register::RAX, Register::RCX, Register::RDX][number]
    } else {
        [Register::EAX, Register::ECX, Register::EDX][number]
    }
}

/// The instruction on registers 0, 1, 2.. or memory, with this immediate.
fn instruction(code: Code, immediate: u8) -> Instruction {
    let mut made = Instruction::default();
    made.set_code(code);
    for (at, operand) in operands(code).iter().enumerate() {
        let position = at as u32;
        match operand.as_str() {
            "imm8" => {
                made.set_op_kind(position, OpKind::Immediate8);
                made.set_immediate8(immediate);
            }
            "m32" | "m64" => {
                made.set_op_kind(position, OpKind::Memory);
                made.set_memory_base(Register::RDI);
                made.set_memory_displacement64((at * DISTANCE) as u64);
                made.set_memory_displ_size(1);
            }
            "r32" | "rm32" | "r64" | "rm64" => {
                made.set_op_kind(position, OpKind::Register);
                made.set_op_register(position, general(at, operand.ends_with("64")));
            }
            _ => {
                made.set_op_kind(position, OpKind::Register);
                // Packing has a wide form for an operand with itself.
                let is_packing = matches!(form(code), Some(Form::Pack { .. }));
                let number = if is_packing {
                    position.min(1)
                } else {
                    position
                };
                made.set_op_register(position, Register::XMM0 + number);
            }
        }
    }
    made
}

/// A function that loads registers 0 to 3 from memory, runs the instruction, and stores register 0.
fn function(code: Code, immediate: u8) -> Vec<u8> {
    use iced_x86::MemoryOperand;
    let at =
        |number: usize| MemoryOperand::with_base_displ(Register::RDI, (number * DISTANCE) as i64);
    let mut instructions = Vec::new();
    for number in 0..4usize {
        let register = Register::XMM0 + number as u32;
        let load = Code::VEX_Vmovups_xmm_xmmm128;
        instructions.push(Instruction::with2(load, register, at(number)).expect("a load"));
        if number < 3 {
            let load = Code::Mov_r64_rm64;
            let register = general(number, true);
            instructions.push(Instruction::with2(load, register, at(number)).expect("a load"));
        }
    }
    instructions.push(instruction(code, immediate));
    let store = Code::VEX_Vmovups_xmmm128_xmm;
    instructions.push(Instruction::with2(store, at(0), Register::XMM0).expect("a store"));
    let store = Code::Mov_rm64_r64;
    instructions.push(Instruction::with2(store, at(4), Register::RAX).expect("a store"));
    instructions.push(Instruction::with(Code::Retnq));
    let mut encoder = Encoder::new(64);
    for instruction in &instructions {
        let ip = encoder.take_buffer();
        let start = ip.len() as u64;
        encoder.set_buffer(ip);
        encoder.encode(instruction, start).expect("an encoding");
    }
    encoder.take_buffer()
}

/// Bytes that look like small integers, ordinary floats and anything.
fn area(seed: u64) -> Area {
    let mut state = seed;
    let mut area = [0; DISTANCE * 5];
    for chunk in area.chunks_exact_mut(4) {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let bits = (state >> 32) as u32;
        let word = match bits % 5 {
            0 => (bits >> 24).wrapping_sub(128),
            1 => ((bits >> 16) as f32 / 256.0 - 100.0).to_bits(),
            2 => u32::MAX,
            3 => 0,
            _ => bits,
        };
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    area
}

/// How an operand is cut in parts: bytes per part, or the same for all.
fn part_size(form: Form, is_last: bool) -> usize {
    match form {
        Form::Counted(_) | Form::Spread(_) if is_last => 0,
        Form::Shuffle | Form::Duplicate if is_last => 0,
        Form::FromHalf(_) if is_last => 8,
        Form::FromQuarter(_) if is_last => 4,
        Form::Pack { bytes: true } if is_last => 8,
        Form::Lanes(_)
        | Form::Counted(_)
        | Form::Spread(_)
        | Form::FromHalf(_)
        | Form::FromQuarter(_)
        | Form::Compare { .. }
        | Form::Blend { .. }
        | Form::Load(_)
        | Form::Store(_)
        | Form::Shuffle
        | Form::Duplicate
        | Form::Pack { .. }
        | Form::Across(_)
        | Form::Signs { .. }
        | Form::Scalar
        | Form::Old(_) => 16,
    }
}

/// What number `part` of the narrow operations sees of the operands of the wide one.
fn part_of(all: &Area, form: Form, vectors: usize, part: usize) -> Area {
    let mut own = [0; DISTANCE * 5];
    for operand in 0..4 {
        let size = part_size(form, operand + 1 == vectors);
        let from = operand * DISTANCE + part * size;
        let to = operand * DISTANCE;
        let count = 16.min(DISTANCE * 5 - from);
        own[to..to + count].copy_from_slice(&all[from..from + count]);
    }
    own
}

/// How many bytes of the result a narrow operation makes, and how many general registers show.
fn result_size(form: Form) -> usize {
    match form {
        Form::Pack { bytes: false } => 8,
        Form::Pack { bytes: true } => 4,
        Form::Scalar => 4,
        Form::Lanes(_)
        | Form::Counted(_)
        | Form::Spread(_)
        | Form::FromHalf(_)
        | Form::FromQuarter(_)
        | Form::Compare { .. }
        | Form::Blend { .. }
        | Form::Load(_)
        | Form::Store(_)
        | Form::Shuffle
        | Form::Duplicate
        | Form::Across(_)
        | Form::Signs { .. }
        | Form::Old(_) => 16,
    }
}

fn immediates(code: Code, form: Form) -> Vec<u8> {
    let has_immediate = operands(code).iter().any(|operand| operand == "imm8");
    match form {
        _ if !has_immediate => vec![0],
        Form::Shuffle => vec![0x00, 0x44],
        Form::Compare { .. } => vec![0, 1, 2, 3, 4, 5, 6, 7],
        Form::Lanes(_)
        | Form::Counted(_)
        | Form::Spread(_)
        | Form::FromHalf(_)
        | Form::FromQuarter(_)
        | Form::Blend { .. }
        | Form::Load(_)
        | Form::Store(_)
        | Form::Duplicate
        | Form::Pack { .. }
        | Form::Across(_)
        | Form::Signs { .. }
        | Form::Scalar
        | Form::Old(_) => vec![0, 1, 3],
    }
}

fn check(code: Code, form: Form, immediate: u8, wide: Wide, seed: u64) {
    let narrow = function(code, immediate);
    let request = Narrow::of(&narrow);
    let widened = widen(&request, wide).unwrap_or_else(|error| panic!("{code:?}: {error}"));
    let start = area(seed);
    let mut found = start;
    run_code(&widened.code, &mut found);
    let parts = if form == Form::Scalar {
        1
    } else {
        wide.factor() as usize
    };
    let vectors = if matches!(form, Form::Pack { .. }) {
        2
    } else {
        let words = operands(code);
        words.iter().filter(|word| *word != "imm8").count()
    };
    let (size, mut signs) = (result_size(form), 0u64);
    for part in 0..parts {
        let mut own = part_of(&start, form, vectors, part);
        run_code(&narrow, &mut own);
        let found = &found[part * size..(part + 1) * size];
        assert_eq!(
            found,
            &own[..size],
            "{code:?} {immediate} {wide:?} part {part}"
        );
        let register = u64::from_le_bytes(own[4 * DISTANCE..][..8].try_into().expect("8 bytes"));
        let count = if format!("{code:?}").contains("pd") {
            2
        } else {
            4
        };
        signs |= register << (part * count);
    }
    if let Form::Signs { .. } = form {
        let register = u64::from_le_bytes(found[4 * DISTANCE..][..8].try_into().expect("8 bytes"));
        assert_eq!(register, signs, "{code:?} {wide:?}");
    }
}

#[test]
fn each_row_does_the_same_in_every_lane() {
    let Some(widest) = widest() else {
        return;
    };
    let mut checked = 0;
    for (code, form) in rows() {
        // Without AVX-512 its narrow forms do not exist either.
        if widest == Wide::Bits256 && format!("{code:?}").starts_with("EVEX") {
            continue;
        }
        // Old encodings become those that have rows themselves. Shuffles of two vectors have a test of their own.
        if matches!(form, Form::Store(_) | Form::Old(_) | Form::Across(_)) {
            continue;
        }
        for wide in [Wide::Bits256, Wide::Bits512] {
            if wide == Wide::Bits512 && widest == Wide::Bits256 {
                continue;
            }
            for immediate in immediates(code, form) {
                for seed in 0..3 {
                    check(code, form, immediate, wide, seed);
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 200, "{checked} forms");
}

#[test]
fn what_moves_between_lanes_is_refused() {
    for code in [
        Code::VEX_Vpunpcklqdq_xmm_xmm_xmmm128,
        Code::VEX_Vpermilps_xmm_xmm_xmmm128,
        Code::VEX_Vhaddps_xmm_xmm_xmmm128,
        Code::VEX_Vmovhlps_xmm_xmm_xmm,
    ] {
        assert_eq!(form(code), None);
        let narrow = function(code, 1);
        let request = Narrow::of(&narrow);
        let refusal = Refusal::Instruction(format!("{code:?}"));
        assert_eq!(widen(&request, Wide::Bits512).err(), Some(refusal));
    }
    for (code, immediate) in [
        (Code::VEX_Vpshufd_xmm_xmmm128_imm8, 0x1b),
        (Code::VEX_Vshufps_xmm_xmm_xmmm128_imm8, 0x89),
    ] {
        let shuffled = function(code, immediate);
        let request = Narrow::of(&shuffled);
        assert!(widen(&request, Wide::Bits256).is_err());
    }
}

#[test]
fn shuffles_take_elements_of_two_vectors_in_order() {
    let Some(widest) = widest() else {
        return;
    };
    let shuffle = Code::VEX_Vshufps_xmm_xmm_xmmm128_imm8;
    type Place = fn(usize, usize) -> usize;
    let cases: [(Code, u8, Place); 4] = [
        (shuffle, EVEN, |at, _| 2 * at),
        (shuffle, ODD, |at, _| 2 * at + 1),
        (Code::VEX_Vpunpckldq_xmm_xmm_xmmm128, 0, |at, count| {
            at / 2 + at % 2 * count
        }),
        (Code::VEX_Vpunpckhdq_xmm_xmm_xmmm128, 0, |at, count| {
            count / 2 + at / 2 + at % 2 * count
        }),
    ];
    for wide in [Wide::Bits256, Wide::Bits512] {
        if wide == Wide::Bits512 && widest == Wide::Bits256 {
            continue;
        }
        let count = 4 * wide.factor() as usize;
        for (code, immediate, place) in cases {
            let narrow = function(code, immediate);
            let widened = widen(&Narrow::of(&narrow), wide).expect("a wide form");
            let start = area(3);
            let mut found = start;
            run_code(&widened.code, &mut found);
            for at in 0..count {
                let place = place(at, count);
                let from = (1 + place / count) * DISTANCE + place % count * 4;
                let expected = &start[from..from + 4];
                assert_eq!(&found[4 * at..][..4], expected, "{code:?} {wide:?} {at}");
            }
        }
    }
}

/// A function that loads register 1, shifts it both ways and joins, changes the result, and stores registers 0
/// and `kept`.
fn rotating(amounts: (u32, u32), quads: bool, kept: Register) -> Vec<u8> {
    use iced_x86::MemoryOperand;
    let at =
        |number: usize| MemoryOperand::with_base_displ(Register::RDI, (number * DISTANCE) as i64);
    let (left, right) = if quads {
        (Code::VEX_Vpsllq_xmm_xmm_imm8, Code::VEX_Vpsrlq_xmm_xmm_imm8)
    } else {
        (Code::VEX_Vpslld_xmm_xmm_imm8, Code::VEX_Vpsrld_xmm_xmm_imm8)
    };
    let (load, store) = (Code::VEX_Vmovups_xmm_xmmm128, Code::VEX_Vmovups_xmmm128_xmm);
    let (x, y) = (Register::XMM1, Register::XMM2);
    let instructions = [
        Instruction::with2(load, x, at(1)),
        Instruction::with3(left, y, x, amounts.0),
        Instruction::with3(right, x, x, amounts.1),
        Instruction::with3(Code::VEX_Vpor_xmm_xmm_xmmm128, x, y, x),
        Instruction::with2(store, at(0), x),
        Instruction::with2(store, at(2), kept),
        Instruction::with2(load, y, at(1)),
        Ok(Instruction::with(Code::Retnq)),
    ];
    let mut encoder = Encoder::new(64);
    for instruction in instructions {
        let code = encoder.take_buffer();
        let start = code.len() as u64;
        encoder.set_buffer(code);
        let instruction = instruction.expect("an instruction");
        encoder.encode(&instruction, start).expect("an encoding");
    }
    encoder.take_buffer()
}

#[test]
fn shifts_that_make_a_rotation_become_one() {
    if widest() != Some(Wide::Bits512) {
        return;
    }
    let cases = [
        ((13, 19), false, Register::XMM1, true),
        ((1, 63), true, Register::XMM1, true),
        ((31, 1), false, Register::XMM1, true),
        // Bits are lost or meet; a shifted value is used again.
        ((13, 18), false, Register::XMM1, false),
        ((32, 0), false, Register::XMM1, false),
        ((13, 19), true, Register::XMM1, false),
        ((13, 19), false, Register::XMM2, false),
    ];
    for (amounts, quads, kept, becomes_one) in cases {
        let narrow = rotating(amounts, quads, kept);
        let request = Narrow::of(&narrow);
        let widened = widen(&request, Wide::Bits512).expect("a wide form");
        let text = super::listing(&widened.code);
        assert_eq!(text.contains("vprol"), becomes_one, "{text}");
        let start = area(amounts.0.into());
        let mut found = start;
        run_code(&widened.code, &mut found);
        for part in 0..4 {
            let mut own = part_of(&start, Form::Store(super::table::Access::Whole), 2, part);
            run_code(&narrow, &mut own);
            for place in [0, 2 * DISTANCE] {
                let found = &found[place + 16 * part..][..16];
                assert_eq!(found, &own[place..place + 16], "{amounts:?} part {part}");
            }
        }
    }
}
