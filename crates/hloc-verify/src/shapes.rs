//! What every shape must satisfy: sizes that can be counted, layouts that are permutations.

use hloc_ir::{ArrayShape, Shape};

/// A label and what is wrong, as a phrase about the shape.
pub(crate) type Flaw = (&'static str, String);

/// The first flaw of `shape`.
pub(crate) fn flaw(shape: &Shape) -> Option<Flaw> {
    let mut total = 0i64;
    flaw_within(shape, &mut total)
}

fn flaw_within(shape: &Shape, total: &mut i64) -> Option<Flaw> {
    match shape {
        Shape::Array(array) => array_flaw(array, total),
        Shape::Tuple(elements) => elements
            .iter()
            .find_map(|element| flaw_within(element, total)),
        Shape::Buffer(inner) => flaw_within(inner, total),
        Shape::Token | Shape::Opaque => None,
    }
}

fn array_flaw(array: &ArrayShape, total: &mut i64) -> Option<Flaw> {
    if array.num_dims() > ArrayShape::MAX_DIMS {
        let text = format!(
            "has {} dimensions, but at most {} are supported",
            array.num_dims(),
            ArrayShape::MAX_DIMS
        );
        return Some(("shape_c3", text));
    }
    if let Some(dim) = array.dims.iter().position(|size| *size < 0) {
        let text = if array.dims[dim] == ArrayShape::UNBOUNDED {
            format!(
                "holds {array}, whose dimension {dim} is unbounded: {} arrays of unknown size are not supported",
                array.element_type
            )
        } else {
            format!("holds {array}, whose dimension {dim} is negative")
        };
        return Some(("shape_c1", text));
    }
    match array.byte_size().and_then(|bytes| total.checked_add(bytes)) {
        Some(sum) => *total = sum,
        None => {
            let text = format!("holds {array}, whose size in bytes does not fit in 64 bits");
            return Some(("shape_c2", text));
        }
    }
    layout_flaw(array)
}

fn layout_flaw(array: &ArrayShape) -> Option<Flaw> {
    let layout = array.layout.as_ref()?;
    let order = &layout.minor_to_major;
    if order.len() != array.num_dims() {
        let text = format!(
            "holds {array} with layout {layout}, which names {} of {} dimensions",
            order.len(),
            array.num_dims()
        );
        return Some(("layout_c1", text));
    }
    // There are at most 64 dimensions.
    let mut seen = 0u64;
    for &dim in order {
        let bit = u32::try_from(dim)
            .ok()
            .filter(|dim| (*dim as usize) < order.len());
        let bit = bit.and_then(|dim| 1u64.checked_shl(dim));
        match bit.filter(|bit| seen & bit == 0) {
            Some(bit) => seen |= bit,
            None => {
                let text = format!(
                    "holds {array} with layout {layout}, which is no permutation of its dimensions"
                );
                return Some(("layout_c2", text));
            }
        }
    }
    None
}
