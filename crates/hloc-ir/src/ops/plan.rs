//! Implicit broadcasting of element-wise operands, as XLA's builder does it.
//!
//! First the operand with fewer dimensions is placed in the larger one by `broadcast_dimensions` (InDim),
//! then dimensions of size 1 grow to the size that another operand has there (degenerate).

use smallvec::SmallVec;

use super::check::{DimNumbers, count, list};
use crate::{ArrayShape, Broken, Dimensions, Focus};

/// How each operand of an element-wise op reaches the result dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BroadcastPlan {
    /// Sizes of the result.
    pub dims: Dimensions,
    /// Bit `i` is set if result dimension `i` is dynamic.
    pub dynamic: u64,
    /// One entry per operand.
    pub operands: SmallVec<[OperandPlan; 3]>,
}

impl BroadcastPlan {
    /// Whether operand `index` already has the result dimensions: true for both of `f32[2] + f32[2]`,
    /// false for the second of `f32[2] + f32[1]`.
    pub fn is_identity(&self, index: usize) -> bool {
        let operand = &self.operands[index];
        operand.degenerate.is_empty() && operand.dimensions.len() == self.dims.len()
    }
}

/// How one operand reaches the result dimensions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperandPlan {
    /// The result dimension at which each operand dimension lies, strictly increasing.
    pub dimensions: Dimensions,
    /// Operand dimensions of size 1 that grow: to be reshaped away, then broadcast.
    pub degenerate: Dimensions,
}

impl OperandPlan {
    /// Sizes after the degenerate dimensions are reshaped away, and the `dimensions` of the broadcast
    /// that follows: `f32[4,3,1]` growing to `f32[4,3,2]` gives `[4,3]` and `[0,1]`.
    pub fn reshaped(&self, operand: &ArrayShape) -> (Dimensions, Vec<i64>) {
        let kept = (0..operand.num_dims()).filter(|dim| !self.degenerate.contains(&(*dim as i64)));
        kept.map(|dim| (operand.dims[dim], self.dimensions[dim]))
            .unzip()
    }
}

/// Result dimensions of an element-wise op on `operands`, and how each operand reaches them.
///
/// `f32[4] + f32[1,2]` with `{0}` gives `[4,2]`: the first lies at dimension 0, dimension 0 of the second
/// grows. Element types are not looked at.
///
/// # Errors
/// [`Broken`] with `elementwise_c4` to `elementwise_c10`.
pub fn plan_broadcast(
    operands: &[&ArrayShape],
    broadcast_dimensions: Option<&[i64]>,
) -> Result<BroadcastPlan, Broken> {
    let largest = largest_operand(operands);
    let num_dims = operands.get(largest).map_or(0, |shape| shape.num_dims());
    let mapping = broadcast_dimensions.unwrap_or(&[]);
    check_unneeded_mapping(operands, num_dims, mapping)?;
    let mut dims = Dimensions::from_elem(1, num_dims);
    let mut dynamic = 0u64;
    // Which dimension of which operand gave a result dimension its size, for the message.
    let mut given_by: SmallVec<[(usize, usize); 6]> = SmallVec::from_elem((largest, 0), num_dims);
    let mut plans: SmallVec<[OperandPlan; 3]> = SmallVec::new();
    for (index, shape) in operands.iter().enumerate() {
        let dimensions = place(operands, index, largest, mapping)?;
        for (dim, &at) in dimensions.iter().enumerate() {
            let at = at as usize;
            let size = shape.dims[dim];
            let grows_here = dims[at] == 1 && !bit(dynamic, at);
            if grows_here {
                dims[at] = size;
                given_by[at] = (index, dim);
            } else if size != dims[at] && (size != 1 || shape.is_dynamic(dim)) {
                return Err(sizes_differ(operands, given_by[at], (index, dim), at));
            }
            if shape.is_dynamic(dim) {
                dynamic |= 1u64.checked_shl(at as u32).unwrap_or(0);
            }
        }
        plans.push(OperandPlan {
            dimensions,
            degenerate: Dimensions::new(),
        });
    }
    for (plan, shape) in plans.iter_mut().zip(operands) {
        let grows = |dim: &usize| shape.dims[*dim] != dims[plan.dimensions[*dim] as usize];
        plan.degenerate = (0..shape.num_dims())
            .filter(grows)
            .map(|dim| dim as i64)
            .collect();
    }
    Ok(BroadcastPlan {
        dims,
        dynamic,
        operands: plans,
    })
}

fn bit(bits: u64, at: usize) -> bool {
    at < 64 && bits >> at & 1 == 1
}

/// The first operand with the most dimensions.
fn largest_operand(operands: &[&ArrayShape]) -> usize {
    let mut largest = 0;
    for (index, shape) in operands.iter().enumerate() {
        if shape.num_dims() > operands[largest].num_dims() {
            largest = index;
        }
    }
    largest
}

/// Where no operand needs the mapping it may only be the identity, and not even that beside a scalar.
fn check_unneeded_mapping(
    operands: &[&ArrayShape],
    num_dims: usize,
    mapping: &[i64],
) -> Result<(), Broken> {
    let needed = operands
        .iter()
        .any(|shape| !shape.is_scalar() && shape.num_dims() < num_dims);
    if needed || mapping.is_empty() {
        return Ok(());
    }
    let scalar = operands.iter().position(|shape| shape.is_scalar());
    if let Some(index) = scalar.filter(|_| num_dims > 0) {
        return Err(wrong_count(operands, index, mapping));
    }
    if mapping.iter().copied().eq(0..num_dims as i64) {
        return Ok(());
    }
    Err(Broken::new(
        "elementwise_c10",
        format!(
            "declares broadcast_dimensions={}, but its operands all have {}",
            list(mapping),
            count(num_dims, "dimension"),
        ),
    )
    .at(Focus::Attribute("broadcast_dimensions"))
    .with_help("leave broadcast_dimensions out, or transpose an operand"))
}

fn wrong_count(operands: &[&ArrayShape], index: usize, mapping: &[i64]) -> Broken {
    let shape = operands[index];
    Broken::new(
        "elementwise_c6",
        format!(
            "declares broadcast_dimensions={}, but operand {index} has shape {shape}: one number is needed for each of its {}",
            list(mapping),
            count(shape.num_dims(), "dimension"),
        ),
    )
    .at(Focus::Attribute("broadcast_dimensions"))
    .with_other(Focus::Operand(index), shape.to_string())
}

/// The result dimension of each dimension of operand `index`.
fn place(
    operands: &[&ArrayShape],
    index: usize,
    largest: usize,
    mapping: &[i64],
) -> Result<Dimensions, Broken> {
    let shape = operands[index];
    let num_dims = operands[largest].num_dims();
    if shape.num_dims() == num_dims {
        return Ok((0..num_dims as i64).collect());
    }
    if shape.is_scalar() {
        return Ok(Dimensions::new());
    }
    if mapping.is_empty() {
        return Err(no_mapping(operands, index, largest));
    }
    if mapping.len() != shape.num_dims() {
        return Err(wrong_count(operands, index, mapping));
    }
    let numbers = DimNumbers {
        attribute: "broadcast_dimensions",
        numbers: mapping,
        limit: num_dims,
        of: "the larger operand",
    };
    numbers.in_range("elementwise_c7")?;
    numbers.increasing("elementwise_c8")?;
    Ok(Dimensions::from_slice(mapping))
}

fn no_mapping(operands: &[&ArrayShape], index: usize, largest: usize) -> Broken {
    let (small, large) = (operands[index], operands[largest]);
    let mappings = legal_mappings(small, large);
    let help = if mappings.is_empty() {
        format!("no broadcast_dimensions places {small} in {large}")
    } else {
        let shown: Vec<_> = mappings.iter().map(|mapping| list(mapping)).collect();
        format!("write broadcast_dimensions={}", shown.join(" or "))
    };
    Broken::new(
        "elementwise_c5",
        format!(
            "takes {large} and {small}, which have {} and {}, without broadcast_dimensions",
            count(large.num_dims(), "dimension"),
            count(small.num_dims(), "dimension"),
        ),
    )
    .at(Focus::Operand(index))
    .with_other(Focus::Operand(largest), large.to_string())
    .with_help(help)
}

/// The first few strictly increasing mappings whose sizes fit.
fn legal_mappings(small: &ArrayShape, large: &ArrayShape) -> Vec<Vec<i64>> {
    const SHOWN: usize = 4;
    // Bounds the search in arrays with many equal sizes.
    const STEPS: usize = 500;
    let fits = |dim: usize, at: usize| {
        small.dims[dim] == large.dims[at] || small.dims[dim] == 1 || large.dims[at] == 1
    };
    let mut found = Vec::new();
    let mut partial: Vec<i64> = Vec::new();
    let mut next = 0;
    for _ in 0..STEPS {
        let dim = partial.len();
        if dim == small.num_dims() {
            found.push(partial.clone());
        } else if let Some(at) = (next..large.num_dims()).find(|at| fits(dim, *at)) {
            partial.push(at as i64);
            next = at + 1;
            continue;
        }
        match partial.pop() {
            Some(last) if found.len() < SHOWN => next = last as usize + 1,
            Some(_) | None => break,
        }
    }
    found
}

fn sizes_differ(
    operands: &[&ArrayShape],
    (one, one_dim): (usize, usize),
    (two, two_dim): (usize, usize),
    at: usize,
) -> Broken {
    let (first, second) = (operands[one], operands[two]);
    let same_count = first.num_dims() == second.num_dims();
    let place = if same_count {
        format!("whose sizes differ in dimension {at}")
    } else {
        format!("which meet at result dimension {at} with different sizes")
    };
    let sizes = format!("{} and {}", first.dims[one_dim], second.dims[two_dim]);
    let label = if same_count {
        "elementwise_c4"
    } else {
        "elementwise_c9"
    };
    Broken::new(
        label,
        format!("takes {first} and {second}, {place} ({sizes})"),
    )
    .at(Focus::Operand(two))
    .with_other(Focus::Operand(one), first.to_string())
    .with_help("sizes must be equal; only a size of 1 broadcasts")
}

#[cfg(test)]
mod tests {
    use hloc_tensor::ElementType;

    use super::plan_broadcast;
    use crate::{ArrayShape, Dimensions};

    fn f32s(dims: &[i64]) -> ArrayShape {
        ArrayShape::new(ElementType::F32, dims)
    }

    #[test]
    fn the_smaller_operand_is_placed_first_then_sizes_of_one_grow() {
        let (lhs, rhs) = (f32s(&[4, 3, 1]), f32s(&[1, 2]));
        let plan = plan_broadcast(&[&lhs, &rhs], Some(&[1, 2])).expect("they fit");
        assert_eq!(&plan.dims[..], [4, 3, 2]);
        let kept = |index: usize, shape| plan.operands[index].reshaped(shape);
        let sizes = |dims: &[i64]| Dimensions::from_slice(dims);
        assert_eq!(kept(0, &lhs), (sizes(&[4, 3]), vec![0, 1]));
        assert_eq!(kept(1, &rhs), (sizes(&[2]), vec![2]));
        assert!(!plan.is_identity(0) && !plan.is_identity(1));
    }

    #[test]
    fn scalars_go_everywhere_and_equal_shapes_stay() {
        let (scalar, matrix) = (f32s(&[]), f32s(&[2, 3]));
        let plan = plan_broadcast(&[&scalar, &matrix, &matrix], None).expect("they fit");
        assert_eq!(&plan.dims[..], [2, 3]);
        assert!(!plan.is_identity(0) && plan.is_identity(1) && plan.is_identity(2));
        let none = plan_broadcast(&[&scalar, &scalar], Some(&[])).expect("they fit");
        assert!(none.dims.is_empty() && none.is_identity(0));
    }

    #[test]
    fn a_dynamic_size_of_one_does_not_grow() {
        let mut bounded = f32s(&[1]);
        bounded.dynamic = 1;
        let wide = f32s(&[3]);
        assert!(plan_broadcast(&[&bounded, &wide], None).is_err());
        assert!(plan_broadcast(&[&wide, &bounded], None).is_err());
        let one = f32s(&[1]);
        let plan = plan_broadcast(&[&one, &bounded], None).expect("they fit");
        assert_eq!(plan.dynamic, 1);
    }

    #[test]
    fn the_search_for_mappings_ends() {
        let (small, large) = (f32s(&[2; 30]), f32s(&[2; 60]));
        let broken = plan_broadcast(&[&small, &large], None).expect_err("no mapping is given");
        assert_eq!(broken.constraint, "elementwise_c5");
    }
}
