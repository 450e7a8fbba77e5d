//! Runs passes in order, verifying after each.

use std::time::{Duration, Instant};

use hloc_ir::{Module, Op};
use hloc_verify::{Options, VerifiedModule, verify_with};

use crate::{
    ArgmaxSplit, CallInline, ConstantFold, Cse, Dce, Fusion, LegalizeBitcast, LegalizeBroadcast,
    LegalizeDynamic, LegalizeOps, PASSES, Pass, PassError, Simplify, WhileUnroll, pass_named,
};

/// How long one pass took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassTime {
    /// Name of the pass.
    pub pass: &'static str,
    /// Time in the pass itself.
    pub run: Duration,
    /// Time to verify what it made; zero if nothing changed.
    pub verify: Duration,
    /// Whether anything changed.
    pub changed: bool,
}

/// Passes to run one after the other.
#[derive(Clone)]
pub struct Pipeline {
    passes: Vec<&'static dyn Pass>,
}

impl Pipeline {
    /// What `compile` runs: everything that makes the program smaller or faster.
    pub fn default_pipeline() -> Pipeline {
        Pipeline {
            passes: vec![
                // First, for no pass after it keeps layouts.
                &LegalizeBitcast,
                &CallInline,
                &LegalizeOps,
                &LegalizeBroadcast,
                &LegalizeDynamic,
                &Simplify,
                &Cse,
                &WhileUnroll,
                &ConstantFold,
                &Simplify,
                // `simplify` turns a conditional with a constant index into a call.
                &CallInline,
                &Dce,
                // Sees that nothing uses the extreme elements.
                &ArgmaxSplit,
                &Cse,
                &Fusion,
                &Dce,
            ],
        }
    }

    /// Only what lowering needs: no bitcasts, no calls, no implicit broadcasting, and none of the ops that
    /// others can say. Each instruction is a kernel.
    pub fn minimal() -> Pipeline {
        Pipeline {
            passes: vec![
                &LegalizeBitcast,
                &CallInline,
                &LegalizeOps,
                &LegalizeBroadcast,
                &LegalizeDynamic,
            ],
        }
    }

    /// The passes of these names in this order.
    ///
    /// # Errors
    /// [`PassError::Unknown`] with the names that exist.
    pub fn from_names<S: AsRef<str>>(names: &[S]) -> Result<Pipeline, PassError> {
        let named = |name: &S| {
            pass_named(name.as_ref()).ok_or_else(|| PassError::Unknown {
                name: name.as_ref().to_owned(),
                known: PASSES.iter().map(|pass| pass.name()).collect(),
            })
        };
        Ok(Pipeline {
            passes: names.iter().map(named).collect::<Result<_, _>>()?,
        })
    }

    /// The passes in order.
    pub fn passes(&self) -> &[&'static dyn Pass] {
        &self.passes
    }

    /// Runs the passes. `observer` sees the module after each pass, also after one that changed
    /// nothing.
    ///
    /// # Errors
    /// [`PassError::Broke`] if a pass makes a module that the verifier rejects.
    pub fn run(
        &self,
        module: VerifiedModule,
        observer: &mut dyn FnMut(&str, &VerifiedModule),
    ) -> Result<VerifiedModule, PassError> {
        Ok(self.run_timed(module, observer)?.0)
    }

    /// Like [`Pipeline::run`], and tells how long each pass took.
    ///
    /// # Errors
    /// As [`Pipeline::run`].
    pub fn run_timed(
        &self,
        mut module: VerifiedModule,
        observer: &mut dyn FnMut(&str, &VerifiedModule),
    ) -> Result<(VerifiedModule, Vec<PassTime>), PassError> {
        let options = options_of(&module);
        let mut times = Vec::with_capacity(self.passes.len());
        for pass in &self.passes {
            let begin = Instant::now();
            let rewritten = pass.run(&module)?;
            let run = begin.elapsed();
            let changed = rewritten.is_some();
            let begin = Instant::now();
            if let Some(rewritten) = rewritten {
                module = verified(*pass, rewritten, &module, &options)?;
            }
            times.push(PassTime {
                pass: pass.name(),
                run,
                verify: begin.elapsed(),
                changed,
            });
            observer(pass.name(), &module);
        }
        Ok((module, times))
    }
}

impl std::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.passes.iter().map(|pass| pass.name()))
            .finish()
    }
}

fn verified(
    pass: &dyn Pass,
    rewritten: Module,
    before: &VerifiedModule,
    options: &Options,
) -> Result<VerifiedModule, PassError> {
    verify_with(rewritten, options).map_err(|rejected| PassError::Broke {
        pass: pass.name(),
        diagnostics: rejected.diagnostics,
        module_text_before: hloc_ir::print_module(before),
    })
}

/// A module that holds an unsorted broadcast was verified with permission for it; no pass makes one.
fn options_of(module: &Module) -> Options {
    let unsorted = |op: &Op| {
        if let Op::Broadcast { dimensions } = op {
            !dimensions.is_sorted()
        } else {
            false
        }
    };
    let mut instructions = module
        .computations
        .values()
        .flat_map(|computation| computation.instructions.values());
    Options {
        permit_unsorted_broadcast: instructions.any(|instruction| unsorted(&instruction.op)),
        ..Options::default()
    }
}

#[cfg(test)]
mod tests {
    use hloc_ir::{ElementType, Module, Shape};
    use hloc_verify::VerifiedModule;

    use super::Pipeline;
    use crate::testing::{entry, module};
    use crate::{Dce, Pass, PassError};

    /// Declares a wrong result shape.
    struct Breaks;

    impl Pass for Breaks {
        fn name(&self) -> &'static str {
            "breaks"
        }

        fn summary(&self) -> &'static str {
            "makes a module that breaks a rule"
        }

        fn run(&self, module: &VerifiedModule) -> Result<Option<Module>, PassError> {
            let mut module = module.clone().into_module();
            let entry = &mut module.computations[module.entry];
            entry.instructions[entry.root].shape = Shape::array(ElementType::F32, &[3]);
            Ok(Some(module))
        }
    }

    const TEXT: &str =
        "  x = f32[2] parameter(0)\n  u = f32[2] negate(x)\n  ROOT r = f32[2] add(x, x)";

    #[test]
    fn a_pass_that_breaks_rules_is_named() {
        let pipeline = Pipeline {
            passes: vec![&Dce, &Breaks, &Dce],
        };
        let mut seen = Vec::new();
        let result = pipeline.run(module(&entry(TEXT)), &mut |pass, _| {
            seen.push(pass.to_owned());
        });
        let Err(PassError::Broke {
            pass,
            diagnostics,
            module_text_before,
        }) = result
        else {
            panic!("the module breaks a rule");
        };
        assert_eq!((pass, seen), ("breaks", vec!["dce".to_owned()]));
        assert!(!diagnostics.is_empty());
        assert!(module_text_before.contains("add(x, x)") && !module_text_before.contains("negate"));
    }

    #[test]
    fn times_say_what_changed() {
        let pipeline = Pipeline::from_names(&["dce", "dce"]).expect("dce exists");
        let (_, times) = pipeline
            .run_timed(module(&entry(TEXT)), &mut |_, _| {})
            .expect("dce breaks nothing");
        let changed: Vec<_> = times.iter().map(|time| (time.pass, time.changed)).collect();
        assert_eq!(changed, [("dce", true), ("dce", false)]);
    }
}
