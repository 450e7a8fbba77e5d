//! Random bits, and ops that say where the program runs.

use hloc_ir::{ElementType, Opcode, StructuralOp};

use super::Row;
use super::builder::Generator;
use super::knowledge::{Knowledge, Slack, epsilon};
use super::values::Flavor;

pub(super) fn rows() -> Vec<Row> {
    let row = |op, weight, make| Row::new(Opcode::Structural(op), weight, make);
    vec![
        row(StructuralOp::RngBitGenerator, 4, rng_bit_generator),
        row(StructuralOp::Rng, 3, rng),
        row(StructuralOp::RngGetAndUpdateState, 1, state),
        row(StructuralOp::PartitionId, 1, number_of_device),
        row(StructuralOp::ReplicaId, 1, number_of_device),
    ]
}

fn rng_bit_generator(g: &mut Generator, _: Opcode) -> Option<()> {
    let algorithm = *g
        .random
        .pick(&["rng_default", "rng_three_fry", "rng_philox"]);
    let words = if algorithm != "rng_three_fry" && g.random.one_in(2) {
        3
    } else {
        2
    };
    let state = g.fresh(ElementType::U64, &[words], Flavor::Wild);
    let ty = g.type_where(ElementType::is_integer);
    let bits = (ty, g.sizes(), Knowledge::WILD);
    let attributes = format!(", algorithm={algorithm}");
    if g.random.one_in(4) {
        g.add(bits, "rng-bit-generator", &[&state], &attributes);
    } else {
        let parts = [state.part(), bits];
        g.add_tuple(&parts, "rng-bit-generator", &[&state], &attributes);
    }
    Some(())
}

fn number_of_device(g: &mut Generator, opcode: Opcode) -> Option<()> {
    let part = (ElementType::U32, Vec::new(), Knowledge::WILD);
    g.add(part, opcode.name(), &[], "");
    Some(())
}

fn rng(g: &mut Generator, _: Opcode) -> Option<()> {
    let normal = g.random.one_in(3);
    let ty = g.type_where(|ty| {
        let wide = ty.is_float() && ty.bits() >= 16;
        wide || (!normal && !ty.is_complex() && !ty.is_float())
    });
    let low = g.fresh(ty, &[], Flavor::Bounded(4.0));
    let high = g.fresh(ty, &[], Flavor::Bounded(4.0));
    let known = if normal {
        // 4 + 4 * 8.6, where sqrt, ln and cos round.
        let atol = 4.0 * 9.0 * 16.0 * epsilon(ty);
        Knowledge::inexact(Slack::Close { rtol: 0.0, atol })
    } else {
        Knowledge::WILD
    };
    let name = if normal { "rng_normal" } else { "rng_uniform" };
    let part = (ty, g.sizes(), known);
    let attributes = format!(", distribution={name}");
    g.add(part, "rng", &[&low, &high], &attributes);
    Some(())
}

fn state(g: &mut Generator, _: Opcode) -> Option<()> {
    let part = (ElementType::U64, vec![2], Knowledge::WILD);
    let delta = g.random.below(9);
    let attributes = format!(", delta={delta}");
    g.add(part, "rng-get-and-update-state", &[], &attributes);
    Some(())
}
