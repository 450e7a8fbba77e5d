//! Communication between devices: what can be said of shapes without knowing the devices.

use super::check::{
    Called, DimNumbers, array, arrays, count, declared, list, one_or_tuple, operand, require,
};
use crate::attr::ReplicaGroups;
use crate::{Broken, ComputationId, Focus, Shape, ShapeContext};

fn broken_groups(message: String) -> Broken {
    Broken::new("collective_c1", message).at(Focus::Attribute("replica_groups"))
}

/// Devices `0..n` each occur once; no group is empty; equal sizes where the op needs them.
pub(super) fn check_groups(
    groups: Option<&ReplicaGroups>,
    equal_sizes: bool,
) -> Result<(), Broken> {
    match groups {
        None | Some(ReplicaGroups::Mesh(_)) => Ok(()),
        Some(ReplicaGroups::Iota {
            dims,
            reshape,
            transpose,
        }) => iota_groups(dims, reshape, transpose),
        Some(ReplicaGroups::List(groups)) => listed_groups(groups, equal_sizes),
    }
}

fn iota_groups(dims: &[i64], reshape: &[i64], transpose: &[i64]) -> Result<(), Broken> {
    let product = |sizes: &[i64]| {
        sizes
            .iter()
            .try_fold(1i64, |product, size| product.checked_mul(*size))
            .filter(|_| sizes.iter().all(|size| *size > 0))
    };
    let (tiles, devices) = (product(dims), product(reshape));
    require(tiles.is_some() && tiles == devices, || {
        broken_groups(format!(
            "has replica groups of dimensions {} over devices {}, whose counts differ",
            list(dims),
            list(reshape)
        ))
    })?;
    let mut sorted = transpose.to_vec();
    sorted.sort_unstable();
    let permutes = transpose.is_empty() || sorted.iter().copied().eq(0..reshape.len() as i64);
    require(permutes, || {
        broken_groups(format!(
            "transposes {} of devices by {}, which is no permutation",
            count(reshape.len(), "dimension"),
            list(transpose)
        ))
    })
}

fn listed_groups(groups: &[Vec<i64>], equal_sizes: bool) -> Result<(), Broken> {
    // `{{}}` and `{}` stand for all devices in one group.
    if groups.iter().all(Vec::is_empty) && groups.len() <= 1 {
        return Ok(());
    }
    require(groups.iter().all(|group| !group.is_empty()), || {
        broken_groups("has an empty replica group".to_owned())
    })?;
    let total = groups.iter().map(Vec::len).sum();
    let mut seen = vec![false; total];
    for &device in groups.iter().flatten() {
        let fresh = usize::try_from(device).ok().and_then(|at| seen.get_mut(at));
        let fresh = fresh.is_some_and(|seen| !std::mem::replace(seen, true));
        require(fresh, || {
            broken_groups(format!(
                "names device {device} in replica_groups, which must hold 0 to {} once each",
                total - 1
            ))
        })?;
    }
    let sizes_agree = groups.iter().all(|group| group.len() == groups[0].len());
    require(sizes_agree || !equal_sizes, || {
        broken_groups("has replica groups of different sizes".to_owned())
    })
}

/// The operands' shapes; the computation combines two scalars.
pub(super) fn all_reduce(
    cx: &ShapeContext<'_>,
    groups: Option<&ReplicaGroups>,
    to_apply: ComputationId,
) -> Result<Shape, Broken> {
    check_groups(groups, false)?;
    arrays(cx, 0)?;
    combines(cx, to_apply)?;
    Ok(operands(cx))
}

/// The operands as they are, as a tuple if there are several.
fn operands(cx: &ShapeContext<'_>) -> Shape {
    one_or_tuple(cx.operands.iter().map(|shape| (*shape).clone()).collect())
}

fn combines(cx: &ShapeContext<'_>, to_apply: ComputationId) -> Result<(), Broken> {
    let called = Called::of(cx, to_apply, "to_apply")?;
    called.takes(2, "collective_c2")?;
    let scalars = [called.parameter(0), called.parameter(1), called.result];
    let all = scalars
        .iter()
        .all(|shape| shape.as_array().is_some_and(crate::ArrayShape::is_scalar));
    require(all, || {
        called.broken(
            "collective_c2",
            format!(
                "needs a computation that combines two scalars, but `{}` takes {} and {} and gives {}",
                called.name(),
                scalars[0],
                scalars[1],
                scalars[2]
            ),
        )
    })
}

/// The declared shape; the one dimension is in range of every operand.
pub(super) fn along_dimension(
    cx: &ShapeContext<'_>,
    dimensions: &[i64],
    groups: Option<&ReplicaGroups>,
    to_apply: Option<ComputationId>,
) -> Result<Shape, Broken> {
    check_groups(groups, true)?;
    require(dimensions.len() == 1, || {
        Broken::new(
            "collective_c3",
            format!(
                "declares dimensions={}, but works along one dimension",
                list(dimensions)
            ),
        )
        .at(Focus::Attribute("dimensions"))
    })?;
    for shape in arrays(cx, 0)? {
        DimNumbers {
            attribute: "dimensions",
            numbers: dimensions,
            limit: shape.num_dims(),
            of: "an operand",
        }
        .in_range("collective_c3")?;
    }
    if let Some(to_apply) = to_apply {
        combines(cx, to_apply)?;
    }
    declared(cx).cloned()
}

/// With a dimension: the operand's shape. Without: one operand per device of a group.
pub(super) fn all_to_all(
    cx: &ShapeContext<'_>,
    dimensions: Option<&[i64]>,
    groups: Option<&ReplicaGroups>,
) -> Result<Shape, Broken> {
    match dimensions {
        Some(dimensions) => {
            along_dimension(cx, dimensions, groups, None)?;
            require(cx.operands.len() == 1, || {
                Broken::new(
                    "collective_c4",
                    format!(
                        "splits along a dimension, but has {}",
                        count(cx.operands.len(), "operand")
                    ),
                )
            })?;
            operand(cx, 0).cloned()
        }
        None => {
            check_groups(groups, true)?;
            arrays(cx, 0)?;
            Ok(super::control::tuple(cx))
        }
    }
}

/// The operands' shapes.
pub(super) fn collective_broadcast(
    cx: &ShapeContext<'_>,
    groups: Option<&ReplicaGroups>,
) -> Result<Shape, Broken> {
    check_groups(groups, false)?;
    Ok(operands(cx))
}

/// No device sends or receives twice; the declared shape, or that of a single operand.
pub(super) fn collective_permute(
    cx: &ShapeContext<'_>,
    pairs: &[(i64, i64)],
    starts: bool,
) -> Result<Shape, Broken> {
    let repeated = |mut devices: Vec<i64>| {
        devices.sort_unstable();
        devices
            .windows(2)
            .find(|two| two[0] == two[1])
            .map(|two| two[0])
    };
    let sources = repeated(pairs.iter().map(|pair| pair.0).collect());
    let targets = repeated(pairs.iter().map(|pair| pair.1).collect());
    if let Some(device) = sources.or(targets) {
        return Err(Broken::new(
            "collective_permute_c1",
            format!("names device {device} twice as source or as target"),
        )
        .at(Focus::Attribute("source_target_pairs")));
    }
    if starts || cx.operands.len() > 1 {
        return declared(cx).cloned();
    }
    operand(cx, 0).cloned()
}

/// The shape of the output operand.
pub(super) fn ragged_all_to_all(
    cx: &ShapeContext<'_>,
    groups: Option<&ReplicaGroups>,
) -> Result<Shape, Broken> {
    check_groups(groups, true)?;
    let sizes = array(cx, 2)?;
    for index in 2..6 {
        let shape = array(cx, index)?;
        require(
            shape.compatible(sizes) && shape.element_type.is_integer(),
            || {
                Broken::new(
                    "ragged_all_to_all_c1",
                    format!("takes four equal integer arrays as operands 2 to 5, but operand {index} is {shape}"),
                )
                .at(Focus::Operand(index))
                .with_other(Focus::Operand(2), sizes.to_string())
            },
        )?;
    }
    operand(cx, 1).cloned()
}
