//! Tests of what is fused, what is not, and how a fusion looks.

use super::Fusion;
use super::plan::plan;
use crate::testing::{entry, module, plain_entry, rewritten, run_on};
use hloc_ir::Id;

/// The lines of the entry after fusion, without parameters and constants.
fn fused(body: &str) -> String {
    let module = run_on(&Fusion, &module(&entry(body)));
    let text = plain_entry(&module);
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.contains(" parameter(") && !line.contains(" constant("));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_chain_becomes_one_fusion() {
    let text = rewritten(
        &Fusion,
        &entry(
            "  x = f32[9] parameter(0)
  one = f32[] constant(1)
  ones = f32[9] broadcast(one), dimensions={}
  e = f32[9] exponential(x)
  ROOT r = f32[9] add(e, ones)",
        ),
    );
    assert_eq!(
        text,
        "fused_add {
  param_0 = f32[9] parameter(0)
  one = f32[] constant(1)
  ones = f32[9] broadcast(one), dimensions={}
  e = f32[9] exponential(param_0)
  ROOT r = f32[9] add(e, ones)
}
ENTRY main {
  x = f32[9] parameter(0)
  ROOT r = f32[9] fusion(x), kind=kLoop, calls=fused_add
}
"
    );
}

#[test]
fn one_op_stays_plain_with_its_constant() {
    let same = "x = s32[] parameter(0)
one = s32[] constant(1)
ROOT r = s32[] add(x, one)";
    assert_eq!(fused(same), "ROOT r = s32[] add(x, one)");
}

#[test]
fn a_reduction_takes_its_producers_and_ends_the_fusion() {
    let text = rewritten(
        &Fusion,
        "HloModule test

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY main {
  x = f32[8,4] parameter(0)
  zero = f32[] constant(0)
  e = f32[8,4] exponential(x)
  m = f32[8,4] multiply(e, x)
  r = f32[8] reduce(m, zero), dimensions={1}, to_apply=sum
  n = f32[8] negate(r)
  ROOT q = f32[8] sqrt(n)
}
",
    );
    assert!(text.contains("r = f32[8] fusion(x), kind=kInput, calls=fused_reduce"));
    assert!(text.contains("ROOT q = f32[8] fusion(r), kind=kLoop, calls=fused_sqrt"));
    assert!(text.contains("ROOT r = f32[8] reduce(m, zero), dimensions={1}, to_apply=sum"));
}

#[test]
fn costly_work_is_not_repeated_by_a_broadcast() {
    let text = fused(
        "x = f32[4] parameter(0)
         y = f32[8,4] parameter(1)
         e = f32[4] exponential(x)
         b = f32[8,4] broadcast(e), dimensions={1}
         ROOT s = f32[8,4] add(b, y)",
    );
    assert_eq!(
        text,
        "e = f32[4] exponential(x)
ROOT s = f32[8,4] fusion(e, y), kind=kLoop, calls=fused_add"
    );
}

#[test]
fn costly_work_with_two_consumers_is_stored() {
    let text = fused(
        "x = f32[8,4] parameter(0)
         y = f32[8,4] parameter(1)
         e = f32[8,4] exponential(x)
         n = f32[8,4] negate(e)
         a = f32[8,4] add(n, y)
         m = f32[8,4] multiply(e, y)
         l = f32[8,4] log(m)
         ROOT t = (f32[8,4], f32[8,4]) tuple(a, l)",
    );
    assert_eq!(
        text,
        "e = f32[8,4] exponential(x)
a = f32[8,4] fusion(e, y), kind=kLoop, calls=fused_add
l = f32[8,4] fusion(e, y), kind=kLoop, calls=fused_log
ROOT t = (f32[8,4], f32[8,4]) tuple(a, l)"
    );
}

#[test]
fn cheap_work_with_two_consumers_is_copied() {
    let text = fused(
        "x = f32[4] parameter(0)
         y = f32[4] parameter(1)
         s = f32[4] subtract(x, y)
         a = f32[4] exponential(s)
         m = f32[4] multiply(s, y)
         ROOT t = (f32[4], f32[4]) tuple(a, m)",
    );
    assert_eq!(
        text,
        "a = f32[4] fusion(x, y), kind=kLoop, calls=fused_exponential
m = f32[4] fusion(x, y), kind=kLoop, calls=fused_multiply
ROOT t = (f32[4], f32[4]) tuple(a, m)"
    );
}

#[test]
fn a_broadcast_is_stored_for_others_only() {
    let text = fused(
        "x = f32[4] parameter(0)
         y = f32[8,4] parameter(1)
         b = f32[8,4] broadcast(x), dimensions={1}
         a = f32[8,4] add(b, y)
         ROOT t = (f32[8,4], f32[8,4]) tuple(a, b)",
    );
    assert_eq!(
        text,
        "b = f32[8,4] broadcast(x), dimensions={1}
a = f32[8,4] fusion(x, y), kind=kLoop, calls=fused_add
ROOT t = (f32[8,4], f32[8,4]) tuple(a, b)"
    );
}

#[test]
fn neighbors_do_not_multiply_work() {
    // Each step takes its operand at two places: after three steps a fourth would make 16.
    let mut body = "x0 = f32[99] parameter(0)\n".to_owned();
    for step in 1..=8 {
        let (size, before) = (99 - step, 99 - step + 1);
        let last = step - 1;
        body += &format!(
            "a{step} = f32[{size}] slice(x{last}), slice={{[0:{size}]}}
             b{step} = f32[{size}] slice(x{last}), slice={{[1:{before}]}}
             x{step} = f32[{size}] add(a{step}, b{step})\n"
        );
    }
    body = body.replace("x8 =", "ROOT x8 =");
    let text = fused(&body);
    assert_eq!(text.lines().count(), 3, "{text}");
}

#[test]
fn a_while_body_is_fused() {
    let text = rewritten(
        &Fusion,
        "HloModule test

body {
  p = (f32[9]) parameter(0)
  x = f32[9] get-tuple-element(p), index=0
  a = f32[9] add(x, x)
  b = f32[9] multiply(a, x)
  ROOT t = (f32[9]) tuple(b)
}

condition {
  p = (f32[9]) parameter(0)
  ROOT c = pred[] constant(false)
}

ENTRY main {
  x = (f32[9]) parameter(0)
  ROOT w = (f32[9]) while(x), condition=condition, body=body
}
",
    );
    assert!(
        text.contains("b = f32[9] fusion(x), kind=kLoop, calls=fused_multiply"),
        "{text}"
    );
}

#[test]
fn fusions_do_not_depend_on_themselves() {
    let body = "x = f32[4] parameter(0)
         y = f32[4] parameter(1)
         s = f32[4] exponential(x)
         d = f32[4,4] dot(s, y), lhs_contracting_dims={}, rhs_contracting_dims={}
         z = f32[] constant(0)
         r = f32[4] slice(s), slice={[0:4]}
         b = f32[4,4] broadcast(r), dimensions={0}
         m = f32[4,4] multiply(b, d)
         n = f32[4,4] add(m, b)
         ROOT t = (f32[4,4], f32[4]) tuple(n, s)";
    let module = module(&entry(body));
    let mut plan = plan(module.entry());
    let order = plan.kernel_order(module.entry()).expect("no cycle");
    let stays = plan.stored.iter().filter(|stored| **stored).count();
    assert_eq!(order.len(), stays);
    let names: Vec<_> = order
        .iter()
        .map(|id| &*module.entry().instructions[*id].name)
        .collect();
    let place = |name: &str| names.iter().position(|known| *known == name);
    assert!(
        place("s") < place("d") && place("d") < place("n"),
        "{names:?}"
    );

    // Had `s` joined the fusion of `n` although `d` needs it, that fusion would depend on itself.
    let id = |name: &str| {
        let mut all = module.entry().instructions.iter();
        let found = all.find(|(_, instruction)| &*instruction.name == name);
        found.expect("the name exists").0
    };
    let (early, late) = (id("s"), id("n"));
    let group = plan.group_of_root[late.index()].take().expect("a fusion");
    plan.groups[group].members.push(early);
    plan.group_of_root[early.index()] = Some(group);
    plan.stored[late.index()] = false;
    assert!(plan.kernel_order(module.entry()).is_err());
}

/// A conversion of a stored value was copied by a second run only, once its operand was a fusion.
#[test]
fn a_second_run_finds_nothing() {
    fused(
        "x = f16[9] parameter(0)
         y = f16[9] parameter(1)
         e = f16[9] exponential(x)
         m = f16[9] multiply(e, y)
         c = f32[9] convert(m)
         l = f32[9] log(c)
         n = f32[9] negate(c)
         a = f32[9] add(n, l)
         b = f32[3] slice(c), slice={[0:3]}
         ROOT t = (f32[9], f32[9], f32[3]) tuple(a, c, b)",
    );
}
