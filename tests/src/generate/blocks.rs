//! Products of groups of rows and of scaled blocks: `ragged-dot` and `scaled-dot`.

use hloc_ir::{Array, ElementType, Opcode};
use hloc_tensor::Scalar;

use super::builder::{Generator, Value, braces};
use super::knowledge::Knowledge;
use super::products::{factors, product};
use super::reductions::flavored;
use super::values::{Flavor, between};

/// Sizes of groups that take at most `rows` rows together.
fn group_sizes(g: &mut Generator, groups: i64, rows: i64) -> Value {
    let mut array = Array::zeros(ElementType::S32, &[groups]).expect("small arrays fit");
    let mut left = rows;
    for at in 0..array.num_elements() {
        let size = between(&mut g.random, 0, left);
        array.set(at, Scalar::Int(size));
        left -= size;
    }
    let known = Knowledge {
        special: true,
        ..Knowledge::WILD
    };
    if g.depth() == 1 {
        g.argument(array, known)
    } else {
        g.constant(&array, known)
    }
}

/// Ragged rows, or a ragged contracting dimension.
pub(super) fn ragged_dot(g: &mut Generator, _: Opcode) -> Option<()> {
    let ty = g.type_where(|ty| ty.is_float() && ty.bits() >= 16);
    let mut one_of = |most: i64| between(&mut g.random, 1, most);
    let (rows, terms, columns, groups) = (one_of(7), one_of(7), one_of(7), one_of(4));
    let contracts = g.random.one_in(2);
    let (flavor, known) = factors(g, ty, ty, terms);
    let part = |dims: Vec<i64>| (ty, dims, Knowledge::WILD);
    let lhs = flavored(g, &part(vec![rows, terms]), flavor);
    let (rhs_dims, ragged, dims, attributes) = if contracts {
        let attributes =
            ", lhs_contracting_dims={1}, rhs_contracting_dims={0}, lhs_ragged_dims={1}";
        (
            vec![terms, columns],
            terms,
            vec![groups, rows, columns],
            attributes,
        )
    } else {
        let attributes = ", lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}";
        (
            vec![groups, terms, columns],
            rows,
            vec![rows, columns],
            attributes,
        )
    };
    let rhs = flavored(g, &part(rhs_dims), flavor);
    let sizes = group_sizes(g, groups, ragged);
    product(
        g,
        (ty, dims, known),
        "ragged-dot",
        &[&lhs, &rhs, &sizes],
        attributes,
    );
    Some(())
}

/// Blocks along the contracting dimension have scales that are powers of two.
pub(super) fn scaled_dot(g: &mut Generator, _: Opcode) -> Option<()> {
    let small = |ty: ElementType| ty.is_float() && ty.bits() <= 8 && ty != ElementType::F8E8M0Fnu;
    let (lhs_type, rhs_type) = (g.type_where(small), g.type_where(small));
    let mut one_of = |most: i64| between(&mut g.random, 1, most);
    let (rows, columns, blocks, size) = (one_of(5), one_of(5), one_of(3), one_of(4));
    let terms = blocks * size;
    let operand = |g: &mut Generator, ty, dims: [i64; 2]| g.tame(ty, &dims, 2.0);
    let lhs = operand(g, lhs_type, [rows, terms]);
    let rhs = operand(g, rhs_type, [terms, columns]);
    let scale = |g: &mut Generator, dims: [i64; 2]| {
        g.fresh(ElementType::F8E8M0Fnu, &dims, Flavor::Whole(2.0))
    };
    let (lhs_scale, rhs_scale) = (scale(g, [rows, blocks]), scale(g, [blocks, columns]));
    let to = *g.random.pick(&[ElementType::F32, ElementType::BF16]);
    let known = Knowledge::whole_of(to, 16.0 * terms as f64);
    let attributes = format!(
        ", lhs_contracting_dims={}, rhs_contracting_dims={}",
        braces(&[1]),
        braces(&[0])
    );
    let operands = [&lhs, &rhs, &lhs_scale, &rhs_scale];
    product(
        g,
        (to, vec![rows, columns], known),
        "scaled-dot",
        &operands,
        &attributes,
    );
    Some(())
}
