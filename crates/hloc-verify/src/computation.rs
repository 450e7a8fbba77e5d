//! Rules of a computation: order, parameters, root, names, signature.

use hloc_ir::{
    Broken, Computation, ComputationId, Focus, HashSet, Id, InstrId, Instruction, Op, ProgramShape,
    Shape,
};

use crate::Options;
use crate::instruction::{Checker, Verdict};
use crate::report::Report;

/// What is known of a computation once it is checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ComputationVerdict {
    /// Whether the root's shape is as its rule gives it.
    pub(crate) root_is_sound: bool,
    /// Whether an instruction uses the root.
    pub(crate) root_is_used: bool,
    /// The first instruction that could be left out.
    pub(crate) unused: Option<InstrId>,
}

/// Computations have distinct names.
pub(crate) fn check_names(report: &mut Report<'_>) {
    let mut names = HashSet::default();
    let module = report.module;
    for computation in module.computations.values() {
        if !names.insert(&*computation.name) {
            report.at(
                "module_c2",
                format!("there are two computations named `{}`", computation.name),
                computation.span.0,
            );
        }
    }
}

/// All rules of one computation; `earlier` are the verdicts on those before it.
pub(crate) fn check(
    report: &mut Report<'_>,
    id: ComputationId,
    options: &Options,
    earlier: &[ComputationVerdict],
) -> ComputationVerdict {
    let module = report.module;
    let computation = &module.computations[id];
    let root_exists = check_structure(report, computation);
    let mut checker = Checker::new(module, id, options, earlier);
    for (at, instruction) in computation.instructions.iter() {
        if report.is_full() {
            break;
        }
        checker.check(report, at, instruction);
    }
    crate::pairs::check_users(report, computation, &checker);
    check_signature(report, computation);
    let (root_is_used, unused) = uses(computation);
    ComputationVerdict {
        root_is_sound: root_exists && checker.verdict(computation.root) == Verdict::Sound,
        root_is_used,
        unused,
    }
}

/// Whether the root is used, and the first instruction that nothing uses and that does nothing besides
/// giving a value.
fn uses(computation: &Computation) -> (bool, Option<InstrId>) {
    let mut used = vec![false; computation.instructions.len()];
    for instruction in computation.instructions.values() {
        for operand in &instruction.operands {
            if let Some(used) = used.get_mut(operand.index()) {
                *used = true;
            }
        }
    }
    let root_is_used = used.get(computation.root.index()).copied();
    let idle = |id: &InstrId| {
        *id != computation.root
            && !used[id.index()]
            && !may_be_unused(&computation.instructions[*id])
    };
    let unused = computation.instructions.ids().find(idle);
    (root_is_used.unwrap_or(false), unused)
}

/// Parameters, and instructions that do something besides giving a value.
fn may_be_unused(instruction: &Instruction) -> bool {
    if let Op::Parameter { .. } = instruction.op {
        return true;
    }
    if let Op::CustomCall {
        custom_call_has_side_effect: true,
        ..
    } = instruction.op
    {
        return true;
    }
    instruction.shape.leaves().contains(&&Shape::Token)
}

/// Names, parameters, root; gives whether the root exists.
fn check_structure(report: &mut Report<'_>, computation: &Computation) -> bool {
    let mut names =
        HashSet::with_capacity_and_hasher(computation.instructions.len(), Default::default());
    let mut parameters = 0;
    for (id, instruction) in computation.instructions.iter() {
        if !names.insert(&*instruction.name) {
            let broken = Broken::new("computation_c4", "has the name of an earlier instruction")
                .with_help("names are unique in a computation");
            report.instruction(computation, instruction, broken);
        }
        if let Op::Parameter { number } = instruction.op {
            parameters += 1;
            check_parameter(report, computation, id, instruction, number);
        }
    }
    if parameters != computation.parameters.len() {
        report.at(
            "computation_c3",
            format!(
                "`{}` lists {} parameters but holds {parameters} parameter instructions",
                computation.name,
                computation.parameters.len()
            ),
            computation.span.0,
        );
    }
    let root_exists = computation.root.index() < computation.instructions.len();
    if !root_exists {
        report.at(
            "computation_c2",
            format!("`{}` has no root instruction", computation.name),
            computation.span.0,
        );
    }
    root_exists
}

fn check_parameter(
    report: &mut Report<'_>,
    computation: &Computation,
    id: InstrId,
    instruction: &Instruction,
    number: i64,
) {
    let listed = usize::try_from(number)
        .ok()
        .and_then(|number| computation.parameters.get(number));
    if listed != Some(&id) {
        let broken = Broken::new(
            "computation_c3",
            format!(
                "is parameter {number}, but the {} parameters of `{}` are numbered from 0 without gaps, once each",
                computation.parameters.len(),
                computation.name
            ),
        );
        report.instruction(computation, instruction, broken);
    }
}

/// A written signature says what the parameters and the root say.
fn check_signature(report: &mut Report<'_>, computation: &Computation) {
    let Some(signature) = &computation.signature else {
        return;
    };
    let differs =
        |written: &Shape, real: Option<&Shape>| real.is_none_or(|real| !written.compatible(real));
    let ProgramShape { parameters, result } = signature;
    if parameters.len() != computation.parameters.len() {
        report.at(
            "computation_c5",
            format!(
                "the signature of `{}` has {} parameters, the computation has {}",
                computation.name,
                parameters.len(),
                computation.parameters.len()
            ),
            computation.span.0,
        );
        return;
    }
    for (number, (written, id)) in parameters.iter().zip(&computation.parameters).enumerate() {
        let Some(parameter) = computation.instructions.get(*id) else {
            continue;
        };
        if differs(written, Some(&parameter.shape)) {
            let broken = Broken::new(
                "computation_c5",
                format!(
                    "declares {}, but the signature of `{}` has {written} as parameter {number}",
                    parameter.shape, computation.name
                ),
            );
            report.instruction(computation, parameter, broken.at(Focus::Result));
        }
    }
    if let Some(root) = computation.instructions.get(computation.root)
        && differs(result, Some(&root.shape))
    {
        let broken = Broken::new(
            "computation_c6",
            format!(
                "is the root and declares {}, but the signature of `{}` gives {result}",
                root.shape, computation.name
            ),
        );
        report.instruction(computation, root, broken.at(Focus::Result));
    }
}
