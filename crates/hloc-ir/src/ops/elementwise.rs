//! Element-wise ops: `add`, `select`, `compare` and the like.

use super::check::{array, arrays, declared_array, require};
use super::plan::plan_broadcast;
use crate::{
    ArrayShape, BinaryOp, Broken, CompareType, ComparisonDirection, Domain, ElementClass,
    ElementType, Focus, Shape, ShapeContext, TernaryOp, UnaryOp,
};

/// The operand's type is one the op is defined for.
fn accepts(
    cx: &ShapeContext<'_>,
    index: usize,
    ty: ElementType,
    domain: Domain,
) -> Result<(), Broken> {
    require(domain.accepts(ty), || {
        Broken::new(
            "elementwise_c1",
            format!(
                "takes {} elements, but operand {index} has element type {ty}",
                domain.describe()
            ),
        )
        .at(Focus::Operand(index))
        .with_help(format!(
            "`{}` is not defined for {ty}; convert the operand first",
            cx.op.opcode()
        ))
    })
}

/// All operands from `first` on have one element type.
fn same_type(shapes: &[&ArrayShape], first: usize) -> Result<(), Broken> {
    let Some(reference) = shapes.get(first) else {
        return Ok(());
    };
    let differing = (first + 1..shapes.len())
        .find(|index| shapes[*index].element_type != reference.element_type);
    differing.map_or(Ok(()), |index| {
        Err(Broken::new(
            "elementwise_c2",
            format!(
                "takes operands of one element type, but operand {first} is {reference} and operand {index} is {}",
                shapes[index]
            ),
        )
        .at(Focus::Operand(index))
        .with_other(Focus::Operand(first), reference.to_string())
        .with_help(format!("convert one of them to {} first", reference.element_type)))
    })
}

fn planned(
    shapes: &[&ArrayShape],
    broadcast_dimensions: Option<&[i64]>,
    ty: ElementType,
) -> Result<Shape, Broken> {
    // Nearly always nothing grows, and instructions are many.
    let same = |shape: &&ArrayShape| {
        let first = shapes[0];
        (&shape.dims, shape.dynamic) == (&first.dims, first.dynamic)
    };
    let (dims, dynamic) = if shapes.iter().all(same) && broadcast_dimensions.is_none() {
        (shapes[0].dims.clone(), shapes[0].dynamic)
    } else {
        let plan = plan_broadcast(shapes, broadcast_dimensions)?;
        (plan.dims, plan.dynamic)
    };
    Ok(Shape::Array(ArrayShape {
        element_type: ty,
        dims,
        dynamic,
        layout: None,
    }))
}

/// One operand: its dimensions.
pub(super) fn unary(cx: &ShapeContext<'_>, op: UnaryOp) -> Result<Shape, Broken> {
    let shape = array(cx, 0)?;
    accepts(cx, 0, shape.element_type, op.domain())?;
    Ok(Shape::Array(
        shape.with_element_type(op.result_type(shape.element_type)),
    ))
}

/// Two operands of one type.
pub(super) fn binary(
    cx: &ShapeContext<'_>,
    op: BinaryOp,
    broadcast_dimensions: Option<&[i64]>,
) -> Result<Shape, Broken> {
    let shapes = arrays(cx, 0)?;
    let ty = shapes[0].element_type;
    accepts(cx, 0, ty, op.domain())?;
    accepts(cx, 1, shapes[1].element_type, op.domain())?;
    same_type(&shapes, 0)?;
    let result = op.result_type(ty).ok_or_else(|| {
        Broken::new(
            "elementwise_c3",
            format!("joins parts of type {ty}, but complex numbers have f32 or f64 parts"),
        )
        .at(Focus::Operand(0))
    })?;
    planned(&shapes, broadcast_dimensions, result)
}

/// `clamp` and `select`.
pub(super) fn ternary(
    cx: &ShapeContext<'_>,
    op: TernaryOp,
    broadcast_dimensions: Option<&[i64]>,
) -> Result<Shape, Broken> {
    let shapes = arrays(cx, 0)?;
    match op {
        TernaryOp::Clamp => {
            for (index, shape) in shapes.iter().enumerate() {
                accepts(cx, index, shape.element_type, op.domain())?;
            }
            same_type(&shapes, 0)?;
        }
        TernaryOp::Select => {
            require(shapes[0].element_type == ElementType::Pred, || {
                Broken::new(
                    "select_c1",
                    format!(
                        "chooses by operand 0, which is {} instead of pred",
                        shapes[0]
                    ),
                )
                .at(Focus::Operand(0))
                .with_help("compare it with zero (direction=NE) first")
            })?;
            same_type(&shapes, 1)?;
        }
    }
    planned(&shapes, broadcast_dimensions, shapes[1].element_type)
}

/// Two operands of one type; the result is `pred`.
pub(super) fn compare(
    cx: &ShapeContext<'_>,
    direction: ComparisonDirection,
    compare_type: Option<CompareType>,
    broadcast_dimensions: Option<&[i64]>,
) -> Result<Shape, Broken> {
    let shapes = arrays(cx, 0)?;
    same_type(&shapes, 0)?;
    let ty = shapes[0].element_type;
    if let Some(compare_type) = compare_type {
        require(order_fits(compare_type, ty.class()), || {
            Broken::new(
                "compare_c1",
                format!("compares {ty} elements with type={compare_type}"),
            )
            .at(Focus::Attribute("type"))
            .with_other(Focus::Operand(0), shapes[0].to_string())
            .with_help(format!(
                "leave type out, or write type={}",
                CompareType::default_for(ty)
            ))
        })?;
    }
    let ordered = match direction {
        ComparisonDirection::Eq | ComparisonDirection::Ne => false,
        ComparisonDirection::Ge
        | ComparisonDirection::Gt
        | ComparisonDirection::Le
        | ComparisonDirection::Lt => true,
    };
    require(!(ordered && ty.is_complex()), || {
        Broken::new(
            "compare_c2",
            format!("compares {ty} elements with direction={direction}, but complex numbers have no order"),
        )
        .at(Focus::Attribute("direction"))
        .with_help("compare `real` and `imag` of the operands")
    })?;
    planned(&shapes, broadcast_dimensions, ElementType::Pred)
}

fn order_fits(compare_type: CompareType, class: ElementClass) -> bool {
    match compare_type {
        CompareType::Float => matches!(class, ElementClass::Float | ElementClass::Complex),
        CompareType::TotalOrder => class == ElementClass::Float,
        CompareType::Signed => class == ElementClass::Signed,
        CompareType::Unsigned => {
            matches!(class, ElementClass::Unsigned | ElementClass::Predicate)
        }
    }
}

/// `convert`: any element type to any other, the dimensions kept.
pub(super) fn convert(cx: &ShapeContext<'_>) -> Result<Shape, Broken> {
    let from = array(cx, 0)?;
    let to = declared_array(cx)?;
    require(from.same_dims(to), || {
        Broken::new(
            "convert_c1",
            format!("declares {to}, but its operand is {from}: `convert` keeps the dimensions"),
        )
        .at(Focus::Result)
        .with_other(Focus::Operand(0), from.to_string())
    })?;
    Ok(Shape::Array(to.clone()))
}

/// `bitcast-convert`: the same bits; a last dimension appears or goes when the width changes.
pub(super) fn bitcast_convert(cx: &ShapeContext<'_>) -> Result<Shape, Broken> {
    let from = array(cx, 0)?;
    let to = declared_array(cx)?;
    let (from_ty, to_ty) = (from.element_type, to.element_type);
    require(from_ty.is_complex() == to_ty.is_complex(), || {
        Broken::new(
            "bitcast_convert_c1",
            format!("reads {from_ty} bits as {to_ty}, but complex numbers only turn into complex numbers"),
        )
        .at(Focus::Result)
        .with_other(Focus::Operand(0), from.to_string())
    })?;
    let (from_bits, to_bits) = (from_ty.bits(), to_ty.bits());
    let expected = if from_bits >= to_bits {
        widths_divide(from_ty, to_ty, from_bits, to_bits)?;
        let mut dims = from.dims.clone();
        if from_bits > to_bits {
            dims.push(i64::from(from_bits / to_bits));
        }
        dims
    } else {
        widths_divide(from_ty, to_ty, to_bits, from_bits)?;
        let ratio = i64::from(to_bits / from_bits);
        let mut dims = from.dims.clone();
        let last = dims.pop();
        require(last == Some(ratio), || {
            Broken::new(
                "bitcast_convert_c3",
                format!(
                    "joins {ratio} {from_ty} elements to each {to_ty}, but its operand is {from}"
                ),
            )
            .at(Focus::Operand(0))
            .with_help(format!(
                "the last dimension of the operand must have size {ratio}"
            ))
        })?;
        dims
    };
    require(to.dims == expected, || {
        let fits = ArrayShape::new(to_ty, &expected);
        Broken::new(
            "bitcast_convert_c4",
            format!("declares {to}, but the bits of {from} make {fits}"),
        )
        .at(Focus::Result)
        .with_other(Focus::Operand(0), from.to_string())
    })?;
    Ok(Shape::Array(to.clone()))
}

fn widths_divide(
    from: ElementType,
    to: ElementType,
    larger: u32,
    smaller: u32,
) -> Result<(), Broken> {
    require(smaller != 0 && larger.is_multiple_of(smaller), || {
        Broken::new(
            "bitcast_convert_c2",
            format!(
                "reads {from} bits as {to}, but a width of {larger} bits is no multiple of {smaller}"
            ),
        )
        .at(Focus::Result)
    })
}

/// `reduce-precision`: a float format with at least one exponent bit.
pub(super) fn reduce_precision(
    cx: &ShapeContext<'_>,
    exponent_bits: i64,
    mantissa_bits: i64,
) -> Result<Shape, Broken> {
    let shape = array(cx, 0)?;
    accepts(cx, 0, shape.element_type, Domain::Float)?;
    require(exponent_bits >= 1, || {
        Broken::new(
            "reduce_precision_c1",
            format!("declares exponent_bits={exponent_bits}, but a float has at least 1"),
        )
        .at(Focus::Attribute("exponent_bits"))
    })?;
    require(mantissa_bits >= 0, || {
        Broken::new(
            "reduce_precision_c2",
            format!("declares mantissa_bits={mantissa_bits}, but a float has at least 0"),
        )
        .at(Focus::Attribute("mantissa_bits"))
    })?;
    Ok(Shape::Array(shape.with_element_type(shape.element_type)))
}

/// `stochastic-convert`: random bits as wide as the operand's elements.
pub(super) fn stochastic_convert(cx: &ShapeContext<'_>) -> Result<Shape, Broken> {
    let shapes = arrays(cx, 0)?;
    let to = declared_array(cx)?;
    accepts(cx, 0, shapes[0].element_type, Domain::Float)?;
    let (from, random) = (shapes[0], shapes[1]);
    let random_fits = random.element_type.is_unsigned_integer()
        && random.element_type.bits() == from.element_type.bits()
        && random.same_dims(from);
    require(random_fits, || {
        Broken::new(
            "stochastic_convert_c1",
            format!(
                "rounds {from} by {random}, but needs u{} of the same dimensions",
                from.element_type.bits()
            ),
        )
        .at(Focus::Operand(1))
        .with_other(Focus::Operand(0), from.to_string())
    })?;
    require(to.same_dims(from), || {
        Broken::new(
            "stochastic_convert_c2",
            format!("declares {to}, but its operand is {from}: the dimensions are kept"),
        )
        .at(Focus::Result)
    })?;
    Ok(Shape::Array(to.clone()))
}
