//! Values that go to or come from somewhere else, asynchronous steps, and calls outside of HLO.

use super::check::{Called, count, declared, operand, require};
use super::control::token;
use crate::attr::OutputAlias;
use crate::{Broken, ComputationId, ElementType, Focus, Shape, ShapeContext};

/// The value, a context, and a token.
pub(super) fn send(cx: &ShapeContext<'_>) -> Result<Shape, Broken> {
    token(cx, 1, "send_c1")?;
    Ok(Shape::Tuple(vec![
        operand(cx, 0)?.clone(),
        Shape::scalar(ElementType::U32),
        Shape::Token,
    ]))
}

/// A token, of the tuple that a send gave.
pub(super) fn send_done(cx: &ShapeContext<'_>) -> Result<Shape, Broken> {
    three_parts(cx, "send_done_c1")?;
    Ok(Shape::Token)
}

fn three_parts<'a>(cx: &ShapeContext<'a>, label: &'static str) -> Result<&'a [Shape], Broken> {
    let shape = operand(cx, 0)?;
    let parts = shape.as_tuple().filter(|parts| {
        parts.len() == 3
            && parts[1].compatible(&Shape::scalar(ElementType::U32))
            && parts[2] == Shape::Token
    });
    parts.ok_or_else(|| {
        Broken::new(
            label,
            format!("takes (value, u32[], token[]), but its operand has shape {shape}"),
        )
        .at(Focus::Operand(0))
    })
}

/// The declared value, a context, and a token.
pub(super) fn recv(cx: &ShapeContext<'_>) -> Result<Shape, Broken> {
    token(cx, 0, "recv_c1")?;
    let shape = declared(cx)?;
    let fits = shape.as_tuple().is_some_and(|parts| {
        parts.len() == 3
            && parts[1].compatible(&Shape::scalar(ElementType::U32))
            && parts[2] == Shape::Token
    });
    require(fits, || {
        Broken::new(
            "recv_c2",
            format!("declares {shape}, but gives (value, u32[], token[])"),
        )
        .at(Focus::Result)
    })?;
    Ok(shape.clone())
}

/// The received value and a token.
pub(super) fn recv_done(cx: &ShapeContext<'_>) -> Result<Shape, Broken> {
    let parts = three_parts(cx, "recv_done_c1")?;
    Ok(Shape::Tuple(vec![parts[0].clone(), Shape::Token]))
}

/// The declared value and a token.
pub(super) fn infeed(cx: &ShapeContext<'_>) -> Result<Shape, Broken> {
    token(cx, 0, "infeed_c1")?;
    let shape = declared(cx)?;
    let fits = shape
        .as_tuple()
        .is_some_and(|parts| parts.len() == 2 && parts[1] == Shape::Token);
    require(fits, || {
        Broken::new(
            "infeed_c2",
            format!("declares {shape}, but gives (value, token[])"),
        )
        .at(Focus::Result)
    })?;
    Ok(shape.clone())
}

/// A token.
pub(super) fn outfeed(
    cx: &ShapeContext<'_>,
    outfeed_shape: Option<&Shape>,
) -> Result<Shape, Broken> {
    token(cx, 1, "outfeed_c1")?;
    let value = operand(cx, 0)?;
    if let Some(shape) = outfeed_shape {
        require(shape.compatible(value), || {
            Broken::new(
                "outfeed_c2",
                format!("declares outfeed_shape={shape}, but sends {value}"),
            )
            .at(Focus::Attribute("outfeed_shape"))
            .with_other(Focus::Operand(0), value.to_string())
        })?;
    }
    Ok(Shape::Token)
}

/// Two copies and a context.
pub(super) fn copy_start(cx: &ShapeContext<'_>) -> Result<Shape, Broken> {
    let shape = operand(cx, 0)?;
    Ok(Shape::Tuple(vec![
        shape.clone(),
        shape.clone(),
        Shape::scalar(ElementType::U32),
    ]))
}

/// The first part of what `copy-start` gave.
pub(super) fn copy_done(cx: &ShapeContext<'_>) -> Result<Shape, Broken> {
    part(cx, 0, "copy_done_c1")
}

/// Part `index` of the tuple operand.
pub(super) fn part(
    cx: &ShapeContext<'_>,
    index: usize,
    label: &'static str,
) -> Result<Shape, Broken> {
    let shape = operand(cx, 0)?;
    let part = shape.as_tuple().and_then(|parts| parts.get(index));
    part.cloned().ok_or_else(|| {
        Broken::new(
            label,
            format!("takes what its start gives, a tuple, but its operand has shape {shape}"),
        )
        .at(Focus::Operand(0))
    })
}

/// The declared `((operands), result, context...)` of an asynchronous call.
pub(super) fn async_start(
    cx: &ShapeContext<'_>,
    calls: ComputationId,
    aliases: &[OutputAlias],
) -> Result<Shape, Broken> {
    let result = super::control::call(cx, calls, "calls", ["async_start_c1", "async_start_c2"])?;
    let shape = declared(cx)?;
    let fits = shape.as_tuple().is_some_and(|parts| {
        parts.len() >= 2
            && parts[0].compatible(&super::control::tuple(cx))
            && parts[1].compatible(&result)
    });
    require(fits, || {
        Broken::new(
            "async_start_c3",
            format!("declares {shape}, but gives its operands as a tuple, then {result}"),
        )
        .at(Focus::Result)
    })?;
    output_aliases(cx, &result, aliases)?;
    Ok(shape.clone())
}

/// The operand's shape.
pub(super) fn async_update(
    cx: &ShapeContext<'_>,
    calls: Option<ComputationId>,
) -> Result<Shape, Broken> {
    async_called(cx, calls)?;
    operand(cx, 0).cloned()
}

/// The result part of the operand.
pub(super) fn async_done(
    cx: &ShapeContext<'_>,
    calls: Option<ComputationId>,
) -> Result<Shape, Broken> {
    async_called(cx, calls)?;
    part(cx, 1, "async_done_c1")
}

fn async_called(cx: &ShapeContext<'_>, calls: Option<ComputationId>) -> Result<(), Broken> {
    calls.map_or(Ok(()), |calls| Called::of(cx, calls, "calls").map(|_| ()))
}

/// The declared shape of a call outside of HLO.
pub(super) fn custom_call(
    cx: &ShapeContext<'_>,
    target: &str,
    layouts: Option<&[Shape]>,
    aliases: &[OutputAlias],
    called: &[ComputationId],
) -> Result<Shape, Broken> {
    require(!target.is_empty(), || {
        Broken::new("custom_call_c1", "names no custom_call_target")
    })?;
    if let Some(layouts) = layouts {
        require(layouts.len() == cx.operands.len(), || {
            Broken::new(
                "custom_call_c2",
                format!(
                    "declares {} in operand_layout_constraints for {}",
                    count(layouts.len(), "layout"),
                    count(cx.operands.len(), "operand")
                ),
            )
            .at(Focus::Attribute("operand_layout_constraints"))
        })?;
        for (index, (constraint, shape)) in layouts.iter().zip(cx.operands).enumerate() {
            require(constraint.compatible(shape), || {
                Broken::new(
                    "custom_call_c3",
                    format!("constrains the layout of {constraint}, but operand {index} has shape {shape}"),
                )
                .at(Focus::Attribute("operand_layout_constraints"))
                .with_other(Focus::Operand(index), shape.to_string())
            })?;
        }
    }
    for id in called {
        Called::of(cx, *id, "called_computations")?;
    }
    let shape = declared(cx)?;
    output_aliases(cx, shape, aliases)?;
    Ok(shape.clone())
}

/// The part of `shape` at a path of tuple indices.
pub fn shape_at<'a>(shape: &'a Shape, path: &[i64]) -> Option<&'a Shape> {
    path.iter().try_fold(shape, |shape, index| {
        shape.as_tuple()?.get(usize::try_from(*index).ok()?)
    })
}

/// Each aliased part exists on both sides and has one shape.
pub(super) fn output_aliases(
    cx: &ShapeContext<'_>,
    result: &Shape,
    aliases: &[OutputAlias],
) -> Result<(), Broken> {
    for alias in aliases {
        let operand = usize::try_from(alias.operand).ok();
        let operand = operand.and_then(|index| cx.operands.get(index).copied());
        let from = operand.and_then(|shape| shape_at(shape, &alias.operand_index));
        let to = shape_at(result, &alias.output);
        let agrees = matches!((from, to), (Some(from), Some(to)) if from.compatible(to));
        require(agrees, || {
            let show = |shape: Option<&Shape>| {
                shape.map_or_else(|| "nothing".to_owned(), Shape::to_string)
            };
            Broken::new(
                "aliasing_c1",
                format!(
                    "shares memory of operand {}, where {} lies, with a part of the result, where {} lies",
                    alias.operand,
                    show(from),
                    show(to)
                ),
            )
            .at(Focus::Attribute("output_to_operand_aliasing"))
        })?;
    }
    Ok(())
}
