//! Ops that run computations once or often: `while`, `conditional`, `call`, `fusion`, `scan`.

use super::check::{Called, DimNumbers, array, count, list, operand, require};
use super::reshape::without;
use crate::{Broken, ComputationId, ElementType, Focus, Shape, ShapeContext};

/// The shape of the carried value.
pub(super) fn while_loop(
    cx: &ShapeContext<'_>,
    condition: ComputationId,
    body: ComputationId,
) -> Result<Shape, Broken> {
    let carried = operand(cx, 0)?;
    let condition = Called::of(cx, condition, "condition")?;
    let body = Called::of(cx, body, "body")?;
    for called in [condition, body] {
        called.takes(1, "while_c1")?;
        called.parameter_is(0, carried, "while_c2")?;
    }
    let wanted = Shape::scalar(ElementType::Pred);
    require(condition.result.compatible(&wanted), || {
        condition.broken(
            "while_c3",
            format!(
                "needs a condition that gives {wanted}, but `{}` gives {}",
                condition.name(),
                condition.result
            ),
        )
    })?;
    require(body.result.compatible(carried), || {
        body.broken(
            "while_c4",
            format!(
                "carries {carried}, but its body `{}` gives {}",
                body.name(),
                body.result
            ),
        )
    })?;
    Ok(carried.clone())
}

/// The shape that all branches give.
pub(super) fn conditional(
    cx: &ShapeContext<'_>,
    branch_computations: Option<&[ComputationId]>,
    true_computation: Option<ComputationId>,
    false_computation: Option<ComputationId>,
) -> Result<Shape, Broken> {
    let index = operand(cx, 0)?;
    let by_pred = index.compatible(&Shape::scalar(ElementType::Pred));
    let by_number = index.compatible(&Shape::scalar(ElementType::S32));
    require(by_pred || by_number, || {
        Broken::new(
            "conditional_c1",
            format!("chooses by pred[] or s32[], but operand 0 has shape {index}"),
        )
        .at(Focus::Operand(0))
    })?;
    let branches: Vec<(ComputationId, &'static str)> =
        match (branch_computations, true_computation, false_computation) {
            (Some(branches), None, None) if by_number && !branches.is_empty() => branches
                .iter()
                .map(|branch| (*branch, "branch_computations"))
                .collect(),
            (None, Some(on_true), Some(on_false)) if by_pred => vec![
                (on_true, "true_computation"),
                (on_false, "false_computation"),
            ],
            (Some(_) | None, Some(_) | None, Some(_) | None) => {
                return Err(Broken::new(
                    "conditional_c2",
                    format!("chooses by {index}, but does not name the branches for it"),
                )
                .at(Focus::Operand(0))
                .with_help(if by_pred {
                    "a pred takes true_computation and false_computation"
                } else {
                    "an s32 takes branch_computations with at least one branch"
                }));
            }
        };
    require(cx.operands.len() == branches.len() + 1, || {
        Broken::new(
            "conditional_c3",
            format!(
                "names {} but has {}: each branch takes one operand after the index",
                count(branches.len(), "computation"),
                count(cx.operands.len(), "operand")
            ),
        )
    })?;
    branch_result(cx, &branches)
}

fn branch_result(
    cx: &ShapeContext<'_>,
    branches: &[(ComputationId, &'static str)],
) -> Result<Shape, Broken> {
    let mut result: Option<Called<'_>> = None;
    for (number, (branch, attribute)) in branches.iter().enumerate() {
        let called = Called::of(cx, *branch, attribute)?;
        called.takes(1, "conditional_c4")?;
        called.parameter_is(0, operand(cx, number + 1)?, "conditional_c5")?;
        let first = *result.get_or_insert(called);
        require(called.result.compatible(first.result), || {
            called.broken(
                "conditional_c6",
                format!(
                    "has branches that give different shapes: `{}` gives {} and `{}` gives {}",
                    first.name(),
                    first.result,
                    called.name(),
                    called.result
                ),
            )
        })?;
    }
    // The caller refuses a conditional without branches.
    Ok(result.map_or(Shape::Tuple(Vec::new()), |called| called.result.clone()))
}

/// The root's shape of the one computation that takes all operands.
pub(super) fn call(
    cx: &ShapeContext<'_>,
    id: ComputationId,
    attribute: &'static str,
    labels: [&'static str; 2],
) -> Result<Shape, Broken> {
    let called = Called::of(cx, id, attribute)?;
    called.takes(cx.operands.len(), labels[0])?;
    for (number, passed) in cx.operands.iter().enumerate() {
        called
            .parameter_is(number, passed, labels[1])
            .map_err(|broken| broken.with_other(Focus::Operand(number), passed.to_string()))?;
    }
    Ok(called.result.clone())
}

/// The stacked outputs, then the carried values; the declared shape must list them.
pub(super) fn scan(
    cx: &ShapeContext<'_>,
    dimensions: &[i64],
    num_carries: Option<i64>,
    to_apply: ComputationId,
) -> Result<Shape, Broken> {
    require(dimensions.len() == 1, || {
        Broken::new(
            "scan_c1",
            format!(
                "declares dimensions={}, but runs along one dimension",
                list(dimensions)
            ),
        )
        .at(Focus::Attribute("dimensions"))
    })?;
    let total = cx.operands.len();
    let carries = num_carries.and_then(|carries| usize::try_from(carries).ok());
    let carries = carries.filter(|carries| *carries <= total).ok_or_else(|| {
        let written = num_carries.map_or_else(
            || "no num_carries".to_owned(),
            |carries| format!("num_carries={carries}"),
        );
        Broken::new(
            "scan_c2",
            format!("declares {written}, but has {}", count(total, "operand")),
        )
        .at(Focus::Attribute("num_carries"))
    })?;
    let inputs = total - carries;
    let called = Called::of(cx, to_apply, "to_apply")?;
    called.takes(total, "scan_c3")?;
    let mut length = None;
    for index in 0..inputs {
        let shape = array(cx, index)?;
        DimNumbers {
            attribute: "dimensions",
            numbers: dimensions,
            limit: shape.num_dims(),
            of: "an input",
        }
        .in_range("scan_c4")?;
        let size = shape.dims[dimensions[0] as usize];
        require(*length.get_or_insert(size) == size, || {
            Broken::new(
                "scan_c5",
                format!("runs along inputs of different sizes: operand {index} is {shape}"),
            )
            .at(Focus::Operand(index))
        })?;
        let step = Shape::array(shape.element_type, &without(shape, dimensions));
        called.parameter_is(index, &step, "scan_c6")?;
    }
    for index in inputs..total {
        called.parameter_is(index, operand(cx, index)?, "scan_c6")?;
    }
    let shape = super::check::declared(cx)?;
    let length = ScanLength {
        dimension: dimensions[0],
        size: length,
    };
    scan_result(cx, &called, (inputs, length), shape)?;
    Ok(shape.clone())
}

/// Where stacked outputs have the number of steps, and how many there are; inputs tell it, if there are
/// any.
#[derive(Clone, Copy)]
struct ScanLength {
    dimension: i64,
    size: Option<i64>,
}

/// The parts of a tuple, or the one value.
fn parts(shape: &Shape) -> &[Shape] {
    shape.as_tuple().unwrap_or(std::slice::from_ref(shape))
}

/// The declared shape lists what each step gives, stacked, then the carried values as they are.
fn scan_result(
    cx: &ShapeContext<'_>,
    called: &Called<'_>,
    (inputs, length): (usize, ScanLength),
    shape: &Shape,
) -> Result<(), Broken> {
    let carries = cx.operands.len() - inputs;
    let (steps, results) = (parts(called.result), parts(shape));
    require(
        steps.len() == results.len() && steps.len() >= carries,
        || {
            let gives = count(steps.len(), "value");
            Broken::new(
                "scan_c7",
                format!(
                    "declares {}, but a step gives {gives}, of which {carries} carried",
                    count(results.len(), "result")
                ),
            )
            .at(Focus::Result)
        },
    )?;
    let outputs = steps.len() - carries;
    for (index, (step, result)) in steps.iter().zip(results).enumerate() {
        let expected = if index < outputs {
            stacked(step, result, length)
        } else {
            let carried = operand(cx, inputs + index - outputs)?;
            step.compatible(carried).then(|| step.clone())
        };
        let Some(expected) = expected else {
            return Err(called.broken(
                "scan_c7",
                format!(
                    "runs steps of `{}` that give {step} as value {index}, which cannot be stacked or carried on",
                    called.name()
                ),
            ));
        };
        require(expected.compatible(result), || {
            Broken::new(
                "scan_c7",
                format!("declares {result} as result {index}, but its steps give {expected}"),
            )
            .at(Focus::Result)
        })?;
    }
    Ok(())
}

/// What a step gives with the scanned dimension put in; `None` if it has no place there.
fn stacked(step: &Shape, result: &Shape, length: ScanLength) -> Option<Shape> {
    let step = step.as_array()?;
    let at = usize::try_from(length.dimension).ok()?;
    let declared = || Some(*result.as_array()?.dims.get(at)?);
    let size = length.size.or_else(declared)?;
    let mut dims = step.dims.to_vec();
    if at > dims.len() {
        return None;
    }
    dims.insert(at, size);
    Some(Shape::array(step.element_type, &dims))
}

/// The operands as a tuple.
pub(super) fn tuple(cx: &ShapeContext<'_>) -> Shape {
    Shape::Tuple(cx.operands.iter().map(|shape| (*shape).clone()).collect())
}

/// The element with number `index`.
pub(super) fn get_tuple_element(cx: &ShapeContext<'_>, index: i64) -> Result<Shape, Broken> {
    let shape = operand(cx, 0)?;
    let elements = shape.as_tuple().ok_or_else(|| {
        Broken::new(
            "get_tuple_element_c1",
            format!("takes a tuple, but its operand has shape {shape}"),
        )
        .at(Focus::Operand(0))
    })?;
    let element = usize::try_from(index).ok().and_then(|at| elements.get(at));
    element.cloned().ok_or_else(|| {
        Broken::new(
            "get_tuple_element_c2",
            format!(
                "takes element {index}, but its operand has {}",
                count(elements.len(), "element")
            ),
        )
        .at(Focus::Attribute("index"))
        .with_other(Focus::Operand(0), shape.to_string())
    })
}

/// Tokens joined to one.
pub(super) fn after_all(cx: &ShapeContext<'_>) -> Result<Shape, Broken> {
    for index in 0..cx.operands.len() {
        token(cx, index, "after_all_c1")?;
    }
    Ok(Shape::Token)
}

/// Operand `index` is a token.
pub(super) fn token(
    cx: &ShapeContext<'_>,
    index: usize,
    label: &'static str,
) -> Result<(), Broken> {
    let shape = operand(cx, index)?;
    require(shape.compatible(&Shape::Token), || {
        Broken::new(
            label,
            format!("takes a token as operand {index}, which has shape {shape}"),
        )
        .at(Focus::Operand(index))
    })
}

/// The value that waits for the token.
pub(super) fn add_dependency(cx: &ShapeContext<'_>) -> Result<Shape, Broken> {
    token(cx, 1, "add_dependency_c1")?;
    operand(cx, 0).cloned()
}
