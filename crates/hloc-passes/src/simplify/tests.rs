//! Tests of the rules, each from text to text; what is left over for `dce` is removed first.

use super::Simplify;
use crate::testing::{entry, module, plain_entry, run_on};
use crate::{Dce, Pass};

#[track_caller]
fn simplified(before: &str, after: &str) {
    let text = entry(before);
    let simple = run_on(&Simplify, &module(&text));
    let simple = match Dce.run(&simple).expect("dce does not fail") {
        Some(simple) => simple,
        None => simple.into_module(),
    };
    let trimmed = |text: &str| {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(trimmed(&plain_entry(&simple)), trimmed(after));
}

#[test]
fn chains_of_jax_become_one_broadcast() {
    simplified(
        "x = f32[30] parameter(0)
         a = f32[30,1] reshape(x)
         b = f32[30,1] broadcast(a), dimensions={0,1}
         c = f32[30] reshape(b)
         ROOT d = f32[30,20] broadcast(c), dimensions={0}",
        "x = f32[30] parameter(0)
         ROOT d = f32[30,20] broadcast(x), dimensions={0}",
    );
}

#[test]
fn broadcasts_merge() {
    simplified(
        "x = f32[3] parameter(0)
         a = f32[2,3] broadcast(x), dimensions={1}
         ROOT b = f32[2,4,3] broadcast(a), dimensions={0,2}",
        "x = f32[3] parameter(0)
         ROOT b = f32[2,4,3] broadcast(x), dimensions={2}",
    );
}

#[test]
fn transposes_compose() {
    simplified(
        "x = f32[2,3,4] parameter(0)
         a = f32[3,4,2] transpose(x), dimensions={1,2,0}
         ROOT b = f32[4,3,2] transpose(a), dimensions={1,0,2}",
        "x = f32[2,3,4] parameter(0)
         ROOT b = f32[4,3,2] transpose(x), dimensions={2,1,0}",
    );
}

#[test]
fn a_transpose_of_a_broadcast_moves_dimensions() {
    simplified(
        "x = f32[3] parameter(0)
         a = f32[2,3] broadcast(x), dimensions={1}
         ROOT b = f32[3,2] transpose(a), dimensions={1,0}",
        "x = f32[3] parameter(0)
         ROOT b = f32[3,2] broadcast(x), dimensions={0}",
    );
}

#[test]
fn neutral_elements_of_floats_keep_signs_of_zero() {
    simplified(
        "x = f32[2] parameter(0)
         one = f32[] constant(1)
         zero = f32[] constant(0)
         ones = f32[2] broadcast(one), dimensions={}
         zeros = f32[2] broadcast(zero), dimensions={}
         a = f32[2] multiply(ones, x)
         b = f32[2] subtract(a, zeros)
         ROOT c = f32[2] add(b, zeros)",
        "x = f32[2] parameter(0)
         zero = f32[] constant(0)
         zeros = f32[2] broadcast(zero), dimensions={}
         ROOT c = f32[2] add(x, zeros)",
    );
}

#[test]
fn inverses_of_inverses() {
    simplified(
        "x = pred[2] parameter(0)
         y = f32[2] parameter(1)
         a = pred[2] not(x)
         b = f32[2] negate(y)
         c = f32[2] negate(b)
         ROOT d = f32[2] select(a, c, b)",
        "x = pred[2] parameter(0)
         y = f32[2] parameter(1)
         b = f32[2] negate(y)
         ROOT d = f32[2] select(x, b, y)",
    );
}

#[test]
fn element_wise_ops_go_below_broadcasts() {
    simplified(
        "x = f32[4] parameter(0)
         c = f32[] constant(0.5)
         a = f32[8,4] broadcast(x), dimensions={1}
         b = f32[8,4] broadcast(c), dimensions={}
         s = f32[8,4] add(a, b)
         ROOT r = f32[8,4] sqrt(s)",
        "x = f32[4] parameter(0)
         c = f32[] constant(0.5)
         broadcast = f32[4] broadcast(c), dimensions={}
         add = f32[4] add(x, broadcast)
         sqrt = f32[4] sqrt(add)
         ROOT r = f32[8,4] broadcast(sqrt), dimensions={1}",
    );
}

#[test]
fn conversions_join_only_if_exact() {
    simplified(
        "x = s8[2] parameter(0)
         a = s32[2] convert(x)
         b = s16[2] convert(a)
         f = f32[2] convert(x)
         g = u8[2] convert(f)
         h = s8[2] convert(f)
         ROOT t = (s16[2], u8[2], s8[2]) tuple(b, g, h)",
        "x = s8[2] parameter(0)
         b = s16[2] convert(x)
         f = f32[2] convert(x)
         g = u8[2] convert(f)
         ROOT t = (s16[2], u8[2], s8[2]) tuple(b, g, x)",
    );
}

#[test]
fn tuples_and_their_elements() {
    simplified(
        "x = (f32[2], s32[]) parameter(0)
         a = f32[2] get-tuple-element(x), index=0
         b = s32[] get-tuple-element(x), index=1
         t = (f32[2], s32[]) tuple(a, b)
         c = f32[2] get-tuple-element(t), index=0
         ROOT r = (f32[2], (f32[2], s32[])) tuple(c, t)",
        "x = (f32[2], s32[]) parameter(0)
         c = f32[2] get-tuple-element(x), index=0
         ROOT r = (f32[2], (f32[2], s32[])) tuple(c, x)",
    );
}

#[test]
fn constant_places_make_slices() {
    simplified(
        "x = f32[9] parameter(0)
         i = s32[] constant(7)
         ROOT d = f32[4] dynamic-slice(x, i), dynamic_slice_sizes={4}",
        "x = f32[9] parameter(0)
         ROOT d = f32[4] slice(x), slice={[5:9]}",
    );
}

#[test]
fn kept_dimensions_go_to_the_end() {
    simplified(
        "x = f32[4] parameter(0)
         n = f32[] constant(60)
         a = f32[4,1] reshape(x)
         b = f32[4,1] broadcast(n), dimensions={}
         m = f32[4,1] divide(a, b)
         c = f32[4] reshape(m)
         ROOT r = f32[4,8] broadcast(c), dimensions={0}",
        "x = f32[4] parameter(0)
         n = f32[] constant(60)
         broadcast = f32[4] broadcast(n), dimensions={}
         divide = f32[4] divide(x, broadcast)
         ROOT r = f32[4,8] broadcast(divide), dimensions={0}",
    );
}

#[test]
fn a_predicate_spelled_out_is_itself() {
    simplified(
        "p = pred[2] parameter(0)
         x = f32[2] parameter(1)
         t = pred[] constant(true)
         f = pred[] constant(false)
         ts = pred[2] broadcast(t), dimensions={}
         fs = pred[2] broadcast(f), dimensions={}
         q = pred[2] select(p, ts, fs)
         ninf = f32[] constant(-inf)
         low = f32[2] broadcast(ninf), dimensions={}
         m = f32[2] maximum(low, x)
         ROOT r = (pred[2], f32[2]) tuple(q, m)",
        "p = pred[2] parameter(0)
         x = f32[2] parameter(1)
         ROOT r = (pred[2], f32[2]) tuple(p, x)",
    );
}

#[test]
fn counters_are_computed_in_the_bits_that_are_kept() {
    simplified(
        "n = u64[] constant(7)
         ns = u64[9,7] broadcast(n), dimensions={}
         rows = u64[9,7] iota(), iota_dimension=0
         columns = u64[9,7] iota(), iota_dimension=1
         a = u64[9,7] multiply(rows, ns)
         i = u64[9,7] add(a, columns)
         half = u64[] constant(32)
         halves = u64[9,7] broadcast(half), dimensions={}
         s = u64[9,7] shift-right-logical(i, halves)
         low = u32[9,7] convert(i)
         ROOT t = (u32[9,7], u64[9,7]) tuple(low, s)",
        "n = u64[] constant(7)
         constant = u64[] constant(0)
         s = u64[9,7] broadcast(constant), dimensions={}
         iota = u32[9,7] iota(), iota_dimension=0
         convert = u32[] convert(n)
         broadcast = u32[9,7] broadcast(convert), dimensions={}
         multiply = u32[9,7] multiply(iota, broadcast)
         iota.1 = u32[9,7] iota(), iota_dimension=1
         low = u32[9,7] add(multiply, iota.1)
         ROOT t = (u32[9,7], u64[9,7]) tuple(low, s)",
    );
}

#[test]
fn numbers_that_may_be_large_stay() {
    let text = "i = u64[300] iota(), iota_dimension=0
         x = u64[300] parameter(0)
         s = u64[] constant(8)
         ss = u64[300] broadcast(s), dimensions={}
         a = u64[300] shift-right-logical(i, ss)
         b = u64[300] shift-right-logical(x, ss)
         n = u8[300] convert(i)
         m = u32[300] convert(b)
         ROOT t = (u64[300], u8[300], u32[300]) tuple(a, n, m)";
    simplified(text, text);
}

#[test]
fn bytes_are_divided_by_products() {
    simplified(
        "x = u8[4] parameter(0)
         n = f32[] constant(255)
         ns = f32[4] broadcast(n), dimensions={}
         f = f32[4] convert(x)
         ROOT q = f32[4] divide(f, ns)",
        "x = u8[4] parameter(0)
         f = f32[4] convert(x)
         constant = f32[] constant(0.003921509)
         broadcast = f32[4] broadcast(constant), dimensions={}
         constant.1 = f32[] constant(5.983839e-8)
         broadcast.1 = f32[4] broadcast(constant.1), dimensions={}
         multiply = f32[4] multiply(f, broadcast)
         multiply.1 = f32[4] multiply(f, broadcast.1)
         ROOT q = f32[4] add(multiply, multiply.1)",
    );
}

#[test]
fn powers_of_two_divide_by_a_product() {
    simplified(
        "x = f32[4] parameter(0)
         y = u16[4] parameter(1)
         n = f32[] constant(-8)
         ns = f32[4] broadcast(n), dimensions={}
         q = f32[4] divide(x, ns)
         f = f32[4] convert(y)
         k = f32[] constant(255)
         ks = f32[4] broadcast(k), dimensions={}
         r = f32[4] divide(f, ks)
         ROOT t = (f32[4], f32[4]) tuple(q, r)",
        "x = f32[4] parameter(0)
         y = u16[4] parameter(1)
         constant = f32[] constant(-0.125)
         broadcast = f32[4] broadcast(constant), dimensions={}
         q = f32[4] multiply(x, broadcast)
         f = f32[4] convert(y)
         k = f32[] constant(255)
         ks = f32[4] broadcast(k), dimensions={}
         r = f32[4] divide(f, ks)
         ROOT t = (f32[4], f32[4]) tuple(q, r)",
    );
}
