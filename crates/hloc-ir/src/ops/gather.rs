//! `gather`: slices of an array at places that an index array lists.

use super::check::{DimNumbers, array, count, list, require};
use crate::{ArrayShape, Broken, Dimensions, Focus, Shape, ShapeContext};

/// The dimension numbers of a gather.
#[derive(Clone, Copy, Debug)]
pub(super) struct GatherNumbers<'a> {
    /// Result dimensions that hold the slices.
    pub(super) offset_dims: &'a [i64],
    /// Operand dimensions left out of the result.
    pub(super) collapsed: &'a [i64],
    /// The operand dimension of each part of an index vector.
    pub(super) start_index_map: &'a [i64],
    /// Operand dimensions that run along with index dimensions.
    pub(super) operand_batching: &'a [i64],
    /// The index dimensions that these run along with.
    pub(super) indices_batching: &'a [i64],
    /// The index dimension that holds the vectors.
    pub(super) index_vector_dim: i64,
    /// Size of each slice.
    pub(super) slice_sizes: &'a [i64],
}

/// The index dimensions in order, with the sizes of the slices at `offset_dims`.
pub(super) fn gather(cx: &ShapeContext<'_>, numbers: GatherNumbers<'_>) -> Result<Shape, Broken> {
    let (operand, indices) = (array(cx, 0)?, array(cx, 1)?);
    integer_indices(indices, 1, "gather_c1")?;
    let batch = index_batch(indices, numbers.index_vector_dim, "gather_c2")?;
    check_offsets(operand, &batch, numbers)?;
    let map = IndexMap {
        attribute: "start_index_map",
        numbers: numbers.start_index_map,
        batching: ("operand_batching_dims", numbers.operand_batching),
        labels: ["gather_c5", "gather_c6", "gather_c7", "gather_c8"],
    };
    map.check(operand, &batch)?;
    check_slices(operand, numbers)?;
    Batching {
        operand,
        indices,
        operand_dims: ("operand_batching_dims", numbers.operand_batching),
        indices_dims: ("start_indices_batching_dims", numbers.indices_batching),
        index_vector_dim: numbers.index_vector_dim,
        labels: ["gather_c12", "gather_c13", "gather_c14"],
    }
    .check()?;
    Ok(Shape::array(
        operand.element_type,
        &result_dims(&batch, numbers),
    ))
}

/// Index arrays hold integers.
pub(super) fn integer_indices(
    indices: &ArrayShape,
    index: usize,
    label: &'static str,
) -> Result<(), Broken> {
    require(indices.element_type.is_integer(), || {
        Broken::new(
            label,
            format!("takes integer indices, but operand {index} is {indices}"),
        )
        .at(Focus::Operand(index))
    })
}

/// The dimensions of an index array that remain when the vectors are taken out, and their length.
pub(super) struct IndexBatch {
    /// Sizes of the remaining dimensions.
    pub(super) dims: Dimensions,
    /// Length of each index vector: 1 if `index_vector_dim` lies behind the last dimension.
    pub(super) vector_size: i64,
}

/// Splits the index array's dimensions.
pub(super) fn index_batch(
    indices: &ArrayShape,
    index_vector_dim: i64,
    label: &'static str,
) -> Result<IndexBatch, Broken> {
    let at = usize::try_from(index_vector_dim)
        .ok()
        .filter(|at| *at <= indices.num_dims());
    let at = at.ok_or_else(|| {
        Broken::new(
            label,
            format!(
                "declares index_vector_dim={index_vector_dim}, but its indices {indices} have {}",
                count(indices.num_dims(), "dimension")
            ),
        )
        .at(Focus::Attribute("index_vector_dim"))
        .with_other(Focus::Operand(1), indices.to_string())
    })?;
    let mut dims = indices.dims.clone();
    let vector_size = if at < dims.len() { dims.remove(at) } else { 1 };
    Ok(IndexBatch { dims, vector_size })
}

/// Which operand dimension each part of an index vector addresses.
pub(super) struct IndexMap<'a> {
    /// Name of the attribute.
    pub(super) attribute: &'static str,
    /// The operand dimensions.
    pub(super) numbers: &'a [i64],
    /// The batching dimensions, which it must not address.
    pub(super) batching: (&'static str, &'a [i64]),
    /// Labels for: wrong number, out of range, twice, batching.
    pub(super) labels: [&'static str; 4],
}

impl IndexMap<'_> {
    /// One distinct operand dimension, not a batching one, for each part.
    pub(super) fn check(&self, operand: &ArrayShape, batch: &IndexBatch) -> Result<(), Broken> {
        require(self.numbers.len() as i64 == batch.vector_size, || {
            Broken::new(
                self.labels[0],
                format!(
                    "declares {}={} for index vectors of length {}",
                    self.attribute,
                    list(self.numbers),
                    batch.vector_size
                ),
            )
            .at(Focus::Attribute(self.attribute))
        })?;
        let numbers = DimNumbers {
            attribute: self.attribute,
            numbers: self.numbers,
            limit: operand.num_dims(),
            of: "operand 0",
        };
        numbers.in_range(self.labels[1])?;
        numbers.unique(self.labels[2])?;
        disjoint(
            (self.attribute, self.numbers),
            self.batching,
            self.labels[3],
        )
    }
}

/// No number is in both lists.
pub(super) fn disjoint(
    (one_name, one): (&'static str, &[i64]),
    (two_name, two): (&'static str, &[i64]),
    label: &'static str,
) -> Result<(), Broken> {
    let shared = one.iter().find(|dim| two.contains(dim));
    shared.map_or(Ok(()), |dim| {
        Err(Broken::new(
            label,
            format!("names dimension {dim} both in {one_name} and in {two_name}"),
        )
        .at(Focus::Attribute(one_name))
        .with_other(Focus::Attribute(two_name), format!("also names {dim}")))
    })
}

fn check_offsets(
    operand: &ArrayShape,
    batch: &IndexBatch,
    numbers: GatherNumbers<'_>,
) -> Result<(), Broken> {
    let offsets = DimNumbers {
        attribute: "offset_dims",
        numbers: numbers.offset_dims,
        limit: numbers.offset_dims.len() + batch.dims.len(),
        of: "the result",
    };
    offsets.in_range("gather_c3")?;
    offsets.increasing("gather_c4")?;
    for (attribute, dims) in [
        ("collapsed_slice_dims", numbers.collapsed),
        ("operand_batching_dims", numbers.operand_batching),
    ] {
        let dims = DimNumbers {
            attribute,
            numbers: dims,
            limit: operand.num_dims(),
            of: "operand 0",
        };
        dims.in_range("gather_c3")?;
        dims.increasing("gather_c4")?;
    }
    disjoint(
        ("collapsed_slice_dims", numbers.collapsed),
        ("operand_batching_dims", numbers.operand_batching),
        "gather_c8",
    )
}

fn check_slices(operand: &ArrayShape, numbers: GatherNumbers<'_>) -> Result<(), Broken> {
    let sizes = numbers.slice_sizes;
    let broken = |label, message| {
        Broken::new(label, message)
            .at(Focus::Attribute("slice_sizes"))
            .with_other(Focus::Operand(0), operand.to_string())
    };
    require(sizes.len() == operand.num_dims(), || {
        broken(
            "gather_c9",
            format!(
                "declares slice_sizes={}, but its operand {operand} has {}",
                list(sizes),
                count(operand.num_dims(), "dimension")
            ),
        )
    })?;
    for (dim, (&size, &limit)) in sizes.iter().zip(&operand.dims).enumerate() {
        require((0..=limit).contains(&size), || {
            broken(
                "gather_c10",
                format!("takes {size} elements of dimension {dim}, which has size {limit}"),
            )
        })?;
    }
    for &dim in numbers.collapsed.iter().chain(numbers.operand_batching) {
        let size = sizes[dim as usize];
        require(size <= 1, || {
            broken(
                "gather_c11",
                format!(
                    "leaves dimension {dim} out of the result, but takes {size} elements of it"
                ),
            )
        })?;
    }
    let left_out = numbers.collapsed.len() + numbers.operand_batching.len();
    require(
        numbers.offset_dims.len() + left_out == operand.num_dims(),
        || {
            Broken::new(
                "gather_c15",
                format!(
                    "declares offset_dims={} for the {} of its operand {operand} that are not left out",
                    list(numbers.offset_dims),
                    count(operand.num_dims().saturating_sub(left_out), "dimension"),
                ),
            )
            .at(Focus::Attribute("offset_dims"))
        },
    )
}

/// Operand dimensions that run along with index dimensions.
pub(super) struct Batching<'a> {
    /// The array that is read or written.
    pub(super) operand: &'a ArrayShape,
    /// The index array.
    pub(super) indices: &'a ArrayShape,
    /// Attribute and numbers on the operand's side, in range.
    pub(super) operand_dims: (&'static str, &'a [i64]),
    /// Attribute and numbers on the indices' side.
    pub(super) indices_dims: (&'static str, &'a [i64]),
    /// The index dimension that holds the vectors.
    pub(super) index_vector_dim: i64,
    /// Labels for: wrong number, bad index dimension, sizes differ.
    pub(super) labels: [&'static str; 3],
}

impl Batching<'_> {
    /// Pairs of dimensions of equal size.
    pub(super) fn check(&self) -> Result<(), Broken> {
        let (operand_name, operand_dims) = self.operand_dims;
        let (indices_name, indices_dims) = self.indices_dims;
        require(operand_dims.len() == indices_dims.len(), || {
            Broken::new(
                self.labels[0],
                format!(
                    "declares {operand_name}={} and {indices_name}={}, which do not pair up",
                    list(operand_dims),
                    list(indices_dims)
                ),
            )
            .at(Focus::Attribute(indices_name))
        })?;
        let numbers = DimNumbers {
            attribute: indices_name,
            numbers: indices_dims,
            limit: self.indices.num_dims(),
            of: "the index array",
        };
        numbers.in_range(self.labels[1])?;
        numbers.unique(self.labels[1])?;
        require(!indices_dims.contains(&self.index_vector_dim), || {
            Broken::new(
                self.labels[1],
                format!(
                    "declares {indices_name}={}, which names the dimension of the index vectors, {}",
                    list(indices_dims),
                    self.index_vector_dim
                ),
            )
            .at(Focus::Attribute(indices_name))
        })?;
        for (&one, &two) in operand_dims.iter().zip(indices_dims) {
            let sizes = (
                self.operand.dims[one as usize],
                self.indices.dims[two as usize],
            );
            require(sizes.0 == sizes.1, || {
                Broken::new(
                    self.labels[2],
                    format!(
                        "runs dimension {one} of {} along dimension {two} of {}, whose sizes are {} and {}",
                        self.operand, self.indices, sizes.0, sizes.1
                    ),
                )
                .at(Focus::Attribute(indices_name))
                .with_other(Focus::Operand(0), self.operand.to_string())
            })?;
        }
        Ok(())
    }
}

fn result_dims(batch: &IndexBatch, numbers: GatherNumbers<'_>) -> Dimensions {
    let left_out =
        |dim: &i64| numbers.collapsed.contains(dim) || numbers.operand_batching.contains(dim);
    let mut slices = (0..numbers.slice_sizes.len() as i64)
        .filter(|dim| !left_out(dim))
        .map(|dim| numbers.slice_sizes[dim as usize]);
    let mut batches = batch.dims.iter().copied();
    let mut offsets = numbers.offset_dims.iter().copied().peekable();
    let total = (numbers.offset_dims.len() + batch.dims.len()) as i64;
    (0..total)
        .filter_map(|at| {
            if offsets.next_if_eq(&at).is_some() {
                slices.next()
            } else {
                batches.next()
            }
        })
        .collect()
}
