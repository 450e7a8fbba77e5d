//! Turns `bitcast` into `transpose`, `reshape` and `bitcast-convert` instructions.
//!
//! before:  x = f32[2,3]{0,1} parameter(0)
//!          ROOT b = f32[6]{0} bitcast(x)
//! after:   transpose = f32[3,2]{1,0} transpose(x), dimensions={1,0}
//!          ROOT b = f32[6]{0} reshape(transpose)
//!
//! A `bitcast` is the one op whose value depends on layouts: those of its operand and of its result, as
//! the computation that holds it declares them (`bitcast` has the rule). One that moves nothing vanishes.
//! Afterward layouts have no meaning for values; passes may drop, change and mix them.
//!
//! What other ops cannot say stays a `bitcast`, and lowering refuses it: tiled and padded arrays, dynamic
//! dimensions, tuples whose elements change their layouts, complex numbers from real ones.

use hloc_ir::{Instruction, Module, Op};
use hloc_verify::VerifiedModule;

use crate::bitcast::spell_out;
use crate::module_rewriter::ModuleRewriter;
use crate::{Pass, PassError};

/// Legalization of `bitcast`.
#[derive(Clone, Copy, Debug)]
pub struct LegalizeBitcast;

impl Pass for LegalizeBitcast {
    fn name(&self) -> &'static str {
        "legalize-bitcast"
    }

    fn summary(&self) -> &'static str {
        "spells bitcasts out, so that layouts have no meaning"
    }

    fn run(&self, module: &VerifiedModule) -> Result<Option<Module>, PassError> {
        let mut computations = module.computations.values();
        if !computations.any(|c| c.instructions.values().any(is_bitcast)) {
            return Ok(None);
        }
        let mut rewriter = ModuleRewriter::new(self.name(), module);
        for (id, computation) in module.computations.iter() {
            let mut rebuilt = rewriter.rewriter(id);
            for (id, instruction) in computation.instructions.iter() {
                if !is_bitcast(instruction) || spell_out(&mut rebuilt, id).is_none() {
                    rebuilt.copy(id);
                }
            }
            rewriter.place(id, rebuilt);
        }
        Ok(rewriter.finish())
    }
}

fn is_bitcast(instruction: &Instruction) -> bool {
    matches!(instruction.op, Op::Bitcast {})
}

#[cfg(test)]
mod tests {
    use hloc_eval::evaluate;
    use hloc_ir::{Array, ElementType, Literal};

    use super::LegalizeBitcast;
    use crate::testing::{check, entry, module, plain_entry, run_on};
    use crate::{Pipeline, Simplify};

    /// What the entry of these lines gives for 0, 1, 2, … before and after `pipeline`.
    fn check_values(body: &str, dims: &[i64], pipeline: &Pipeline) {
        let before = module(&entry(body));
        let after = pipeline
            .run(before.clone(), &mut |_, _| {})
            .expect("no pass breaks a rule");
        let count = dims.iter().product::<i64>() as u8;
        let argument = Array::new(ElementType::U8, dims, (0..count).collect());
        let argument = [Literal::Array(argument.expect("the sizes fit"))];
        let want = evaluate(&before, &argument).expect("the evaluator knows bitcasts");
        let got = evaluate(&after, &argument).expect("the evaluator knows what the passes make");
        assert!(got.same_bits(&want), "{body}\n{}", plain_entry(&after));
    }

    /// All orders of `count` dimensions.
    fn orders(count: usize) -> Vec<Vec<usize>> {
        let mut orders = vec![Vec::new()];
        for dim in 0..count {
            let longer = orders.iter().flat_map(|order: &Vec<usize>| {
                (0..=order.len()).map(|at| {
                    let mut order = order.clone();
                    order.insert(at, dim);
                    order
                })
            });
            orders = longer.collect();
        }
        orders
    }

    fn list<T: ToString>(numbers: &[T]) -> String {
        let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        texts.join(",")
    }

    #[test]
    fn every_order_of_dimensions_keeps_its_values() {
        let pipeline = Pipeline::from_names(&["legalize-bitcast"]).expect("the pass exists");
        let shapes: [&[i64]; 6] = [&[24], &[4, 6], &[6, 4], &[2, 3, 4], &[4, 1, 6], &[1, 24, 1]];
        for (from, to) in shapes.iter().flat_map(|from| shapes.map(|to| (*from, to))) {
            for from_order in orders(from.len()) {
                for to_order in orders(to.len()) {
                    let layouts = (list(&from_order), list(&to_order));
                    let body = format!(
                        "  p = u8[{}] parameter(0)\n  x = u8[{0}]{{{}}} copy(p)\n  b = u8[{}]{{{}}} bitcast(x)\n  ROOT r = u8[{2}] copy(b)",
                        list(from),
                        layouts.0,
                        list(to),
                        layouts.1,
                    );
                    check_values(&body, from, &pipeline);
                }
            }
        }
    }

    #[test]
    fn what_moves_nothing_vanishes() {
        check(
            &LegalizeBitcast,
            "  x = f32[2,1,3]{2,0,1} parameter(0)
  b = f32[2,1,3]{2,1,0} bitcast(x)
  ROOT n = f32[2,1,3]{2,1,0} negate(b)",
            "x = f32[2,1,3] parameter(0)
ROOT n = f32[2,1,3] negate(x)",
        );
    }

    #[test]
    fn layouts_become_transposes() {
        check(
            &LegalizeBitcast,
            "  x = f32[2,3]{0,1} parameter(0)
  t = f32[3,2]{1,0} bitcast(x)
  ROOT b = f32[2,3]{1,0} bitcast(t)",
            "x = f32[2,3] parameter(0)
t = f32[3,2] transpose(x), dimensions={1,0}
ROOT b = f32[2,3] reshape(t)",
        );
    }

    #[test]
    fn other_element_types_are_converted() {
        check(
            &LegalizeBitcast,
            "  x = f32[2,3] parameter(0)
  b = u32[6] bitcast(x)
  w = u16[3,4] bitcast(b)
  ROOT r = u64[3] bitcast(w)",
            "x = f32[2,3] parameter(0)
bitcast-convert = u32[2,3] bitcast-convert(x)
b = u32[6] reshape(bitcast-convert)
bitcast-convert.1 = u16[6,2] bitcast-convert(b)
w = u16[3,4] reshape(bitcast-convert.1)
ROOT r = u64[3] bitcast-convert(w)",
        );
    }

    #[test]
    fn tiled_arrays_stay() {
        check(
            &LegalizeBitcast,
            "  x = f32[2,3]{1,0:T(8,128)} parameter(0)
  ROOT b = f32[6] bitcast(x)",
            "x = f32[2,3] parameter(0)
ROOT b = f32[6] bitcast(x)",
        );
    }

    /// Also where a pass that loses layouts runs without this one before it.
    #[test]
    fn a_pass_that_loses_a_layout_spells_the_bitcast_out() {
        let body = "  p = u8[2,3] parameter(0)
  x = u8[2,3]{0,1} copy(p)
  ROOT b = u8[6] bitcast(x)";
        for pass in ["simplify", "legalize-bitcast"] {
            let pipeline = Pipeline::from_names(&[pass]).expect("the pass exists");
            check_values(body, &[2, 3], &pipeline);
        }
        let text = plain_entry(&run_on(&Simplify, &module(&entry(body))));
        assert!(text.contains("transpose(p)"), "{text}");
    }

    #[test]
    fn a_call_with_other_layouts_keeps_its_bitcasts() {
        let text = "HloModule test

flat {
  p = u8[2,3]{0,1} parameter(0)
  ROOT b = u8[6] bitcast(p)
}

ENTRY main {
  x = u8[2,3]{1,0} parameter(0)
  ROOT r = u8[6] call(x), to_apply=flat
}
";
        for names in [&["call-inline"][..], &["call-inline", "simplify"]] {
            let before = module(text);
            let pipeline = Pipeline::from_names(names).expect("the passes exist");
            let after = pipeline.run(before.clone(), &mut |_, _| {});
            let after = after.expect("no pass breaks a rule");
            let argument = Array::new(ElementType::U8, &[2, 3], (0..6).collect());
            let argument = [Literal::Array(argument.expect("the sizes fit"))];
            let want = evaluate(&before, &argument).expect("calls and bitcasts");
            let got = evaluate(&after, &argument).expect("calls and bitcasts");
            assert!(got.same_bits(&want), "{}", plain_entry(&after));
        }
    }
}
