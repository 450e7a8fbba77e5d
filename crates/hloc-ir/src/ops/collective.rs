//! Communication between devices: what can be said of shapes without knowing the devices.

use super::check::{
    Called, DimNumbers, array, arrays, count, declared, list, one_or_tuple, operand, require,
};
use crate::attr::ReplicaGroups;
use crate::{ArrayShape, Broken, ComputationId, Focus, Shape, ShapeContext};

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
    // `{}` stands for all devices in one group.
    if groups.is_empty() {
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

/// Which way a collective changes the size along its dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Along {
    /// Every device gets the parts of all: the size is multiplied.
    Gather,
    /// The same, of which `all-gather-start` gives operands and results.
    GatherStart,
    /// Every device gets its part of the sum: the size is divided.
    Scatter,
}

/// The declared shape, which has the operands' sizes but along one dimension, where they are multiplied
/// or divided by the size of a group.
pub(super) fn along_dimension(
    cx: &ShapeContext<'_>,
    dimensions: &[i64],
    groups: Option<&ReplicaGroups>,
    (along, to_apply): (Along, Option<ComputationId>),
) -> Result<Shape, Broken> {
    one_dimension_of_each(cx, dimensions, groups)?;
    if let Some(to_apply) = to_apply {
        combines(cx, to_apply)?;
    }
    let shape = declared(cx)?;
    let results = match along {
        Along::Gather | Along::Scatter => Some(shape),
        Along::GatherStart => shape.as_tuple().and_then(|parts| parts.get(1)),
    };
    let results: &[Shape] = match results {
        Some(Shape::Tuple(parts)) => parts,
        Some(single) => std::slice::from_ref(single),
        None => &[],
    };
    require(results.len() == cx.operands.len(), || {
        Broken::new(
            "collective_c5",
            format!(
                "declares {shape}, but gives one array for each of {}",
                count(cx.operands.len(), "operand")
            ),
        )
        .at(Focus::Result)
    })?;
    for (index, result) in results.iter().enumerate() {
        let sizes = Exchange {
            dimension: dimensions[0] as usize,
            group: group_size(groups),
            along,
        };
        exchanged(array(cx, index)?, result, sizes).map_err(|text| {
            Broken::new("collective_c5", text)
                .at(Focus::Result)
                .with_other(Focus::Operand(index), cx.operands[index].to_string())
        })?;
    }
    Ok(shape.clone())
}

/// `dimensions` holds one dimension of every operand.
fn one_dimension_of_each(
    cx: &ShapeContext<'_>,
    dimensions: &[i64],
    groups: Option<&ReplicaGroups>,
) -> Result<(), Broken> {
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
    Ok(())
}

/// How many devices each group has, where that is written.
fn group_size(groups: Option<&ReplicaGroups>) -> Option<i64> {
    match groups? {
        ReplicaGroups::List(groups) => {
            let size = groups.first()?.len();
            (size > 0).then_some(size as i64)
        }
        ReplicaGroups::Iota { dims, .. } => dims.last().copied(),
        ReplicaGroups::Mesh(_) => None,
    }
}

/// What happens along the dimension.
struct Exchange {
    dimension: usize,
    group: Option<i64>,
    along: Along,
}

/// `Err` with a sentence about the instruction if the operand does not become the result.
fn exchanged(operand: &ArrayShape, result: &Shape, exchange: Exchange) -> Result<(), String> {
    let verb = match exchange.along {
        Along::Gather | Along::GatherStart => "gathers",
        Along::Scatter => "scatters",
    };
    let differs = || {
        format!(
            "declares {result}, but {verb} {operand} along dimension {}",
            exchange.dimension
        )
    };
    let array = result.as_array().ok_or_else(differs)?;
    let others_agree = array.num_dims() == operand.num_dims()
        && (0..array.num_dims())
            .filter(|dim| *dim != exchange.dimension)
            .all(|dim| array.dims[dim] == operand.dims[dim]);
    if array.element_type != operand.element_type || !others_agree {
        return Err(differs());
    }
    let (one, other) = (
        operand.dims[exchange.dimension],
        array.dims[exchange.dimension],
    );
    let (small, large) = match exchange.along {
        Along::Gather | Along::GatherStart => (one, other),
        Along::Scatter => (other, one),
    };
    let fits = match exchange.group {
        Some(group) => small.checked_mul(group) == Some(large),
        None => (small == 0 && large == 0) || (small > 0 && large % small == 0),
    };
    if fits {
        return Ok(());
    }
    let devices = exchange.group.map_or_else(
        || "a whole number of devices".to_owned(),
        |group| count(usize::try_from(group).unwrap_or(0), "device"),
    );
    Err(format!("{} among {devices}", differs()))
}

/// With a dimension: the operand's shape. Without: one operand per device of a group.
pub(super) fn all_to_all(
    cx: &ShapeContext<'_>,
    dimensions: Option<&[i64]>,
    groups: Option<&ReplicaGroups>,
) -> Result<Shape, Broken> {
    let group = group_size(groups);
    let Some(dimensions) = dimensions else {
        check_groups(groups, true)?;
        arrays(cx, 0)?;
        let given = cx.operands.len();
        require(group.unwrap_or(1) == given as i64, || {
            Broken::new(
                "collective_c6",
                format!(
                    "has {} for groups of {}",
                    count(given, "operand"),
                    count(usize::try_from(group.unwrap_or(1)).unwrap_or(0), "device")
                ),
            )
            .at(Focus::Attribute("replica_groups"))
        })?;
        return Ok(super::control::tuple(cx));
    };
    one_dimension_of_each(cx, dimensions, groups)?;
    require(cx.operands.len() == 1, || {
        Broken::new(
            "collective_c4",
            format!(
                "splits along a dimension, but has {}",
                count(cx.operands.len(), "operand")
            ),
        )
    })?;
    let shape = array(cx, 0)?;
    let size = shape.dims[dimensions[0] as usize];
    require(
        group.is_none_or(|group| group > 0 && size % group == 0),
        || {
            Broken::new(
            "collective_c6",
            format!(
                "splits {shape} along dimension {} among groups of {} devices, which do not divide {size}",
                dimensions[0],
                group.unwrap_or(1)
            ),
        )
        .at(Focus::Attribute("replica_groups"))
        },
    )?;
    operand(cx, 0).cloned()
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
    if let Some((source, target)) = pairs.iter().find(|pair| pair.0 < 0 || pair.1 < 0) {
        return Err(Broken::new(
            "collective_permute_c1",
            format!(
                "sends from device {source} to device {target}, but devices are numbered from 0"
            ),
        )
        .at(Focus::Attribute("source_target_pairs")));
    }
    if let Some(device) = sources.or(targets) {
        return Err(Broken::new(
            "collective_permute_c1",
            format!("names device {device} twice as source or as target"),
        )
        .at(Focus::Attribute("source_target_pairs")));
    }
    // Four operands are two buffers and their offsets, of which the program says what becomes.
    if cx.operands.len() == 4 {
        return declared(cx).cloned();
    }
    if !starts {
        return Ok(operands(cx));
    }
    let (shape, value) = (declared(cx)?, operands(cx));
    let parts = shape.as_tuple().unwrap_or_default();
    let agree = parts.len() >= 2 && parts[..2].iter().all(|part| part.compatible(&value));
    require(agree, || {
        Broken::new(
            "collective_permute_c2",
            format!("declares {shape}, but gives its operand {value} twice, sent and received, then contexts"),
        )
        .at(Focus::Result)
    })?;
    Ok(shape.clone())
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
