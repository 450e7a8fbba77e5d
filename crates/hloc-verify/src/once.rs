//! What may be said only once in a module, or must be said in one way.

use std::collections::BTreeMap;

use hloc_ir::{Broken, ComputationId, Focus, Name, Op};

use crate::report::Report;

/// Computations that belong to one caller, and all-reduces that agree.
pub(crate) fn check(report: &mut Report<'_>) {
    let module = report.module;
    let mut callers: BTreeMap<ComputationId, Name> = BTreeMap::new();
    let mut constrained: Option<(bool, Name)> = None;
    for computation in module.computations.values() {
        for instruction in computation.instructions.values() {
            let mut broken = None;
            if let Some((calls, label, verb)) = only_call(&instruction.op) {
                if let Some(first) = callers.get(&calls) {
                    let called = module.computations.get(calls);
                    let name = called.map_or("", |called| &*called.name);
                    let text = format!("{verb} `{name}`, which belongs to `{first}`");
                    broken = Some(
                        Broken::new(label, text)
                            .at(Focus::Attribute("calls"))
                            .with_help("write a copy of the computation under another name"),
                    );
                } else {
                    callers.insert(calls, instruction.name.clone());
                }
            }
            if let Some(own) = constrains_layout(&instruction.op) {
                let (known, first) =
                    constrained.get_or_insert_with(|| (own, instruction.name.clone()));
                if *known != own {
                    let text = format!(
                        "has constrain_layout={own}, but `{first}` has constrain_layout={known}"
                    );
                    broken = Some(
                        Broken::new("module_c6", text).at(Focus::Attribute("constrain_layout")),
                    );
                }
            }
            if let Some(broken) = broken {
                report.instruction(computation, instruction, broken);
            }
        }
    }
}

/// The computation that nothing else may fuse or run asynchronously.
fn only_call(op: &Op) -> Option<(ComputationId, &'static str, &'static str)> {
    if let Op::Fusion { calls, .. } = op {
        return Some((*calls, "fusion_c5", "fuses"));
    }
    if let Op::AsyncStart { calls, .. } = op {
        return Some((*calls, "async_start_c6", "begins"));
    }
    None
}

fn constrains_layout(op: &Op) -> Option<bool> {
    let (Op::AllReduce {
        constrain_layout, ..
    }
    | Op::AllReduceStart {
        constrain_layout, ..
    }) = op
    else {
        return None;
    };
    Some(*constrain_layout)
}
