//! Shapes of instructions: arrays with layouts, tuples, tokens.

use std::fmt;

use hloc_tensor::ElementType;
use smallvec::SmallVec;

/// Dimension sizes of an array.
pub type Dimensions = SmallVec<[i64; 6]>;

/// The order in which the dimensions of an array lie in memory, and what else a layout may say.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Dimension numbers, the fastest varying first.
    pub minor_to_major: SmallVec<[i64; 6]>,
    /// Canonical text of the parts behind the colon (`T(8,128)S(5)`), empty where there are none.
    pub suffixes: Box<str>,
}

impl Layout {
    /// Whether this is row-major, the last dimension the fastest, without further parts.
    pub fn is_default(&self) -> bool {
        self.suffixes.is_empty()
            && self
                .minor_to_major
                .iter()
                .rev()
                .copied()
                .eq(0..self.minor_to_major.len() as i64)
    }
}

impl Layout {
    /// Whether `minor_to_major` alone says where the elements lie: of the further parts only memory
    /// spaces and element sizes, `S(5)` and `E(4)`, no tiles and no padding.
    pub fn is_dense(&self) -> bool {
        let harmless = |c: char| "SE()".contains(c) || c.is_ascii_digit();
        self.suffixes.chars().all(harmless)
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (at, dim) in self.minor_to_major.iter().enumerate() {
            write!(f, "{}{dim}", if at == 0 { "" } else { "," })?;
        }
        if !self.suffixes.is_empty() {
            write!(f, ":{}", self.suffixes)?;
        }
        f.write_str("}")
    }
}

/// Element type and dimensions of an array, with an optional layout.
///
/// Equality is of all parts; see [`ArrayShape::same_dims`] and [`Shape::compatible`] for the
/// comparisons that the rules of HLO use.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArrayShape {
    /// Type of the elements.
    pub element_type: ElementType,
    /// Sizes; of a bounded dynamic dimension its bound, of an unbounded one [`ArrayShape::UNBOUNDED`].
    pub dims: Dimensions,
    /// Bit `i` is set if dimension `i` is dynamic (`<=N` or `?`).
    pub dynamic: u64,
    /// The layout as written; `None` stands for row-major.
    pub layout: Option<Box<Layout>>,
}

impl ArrayShape {
    /// Size of an unbounded dynamic dimension (`?`).
    pub const UNBOUNDED: i64 = -1;
    /// The most dimensions an array may have.
    pub const MAX_DIMS: usize = 64;

    /// A static row-major shape.
    pub fn new(element_type: ElementType, dims: &[i64]) -> ArrayShape {
        ArrayShape {
            element_type,
            dims: Dimensions::from_slice(dims),
            dynamic: 0,
            layout: None,
        }
    }

    /// Number of dimensions: 0 for a scalar.
    pub fn num_dims(&self) -> usize {
        self.dims.len()
    }

    /// Whether the array has no dimensions.
    pub fn is_scalar(&self) -> bool {
        self.dims.is_empty()
    }

    /// Number of elements, at the bounds of dynamic dimensions: `f32[2,3]` gives 6.
    ///
    /// `None` if a dimension is unbounded or the product does not fit in an `i64`.
    pub fn num_elements(&self) -> Option<i64> {
        let mut product = 1i64;
        let mut overflow = false;
        for &dim in &self.dims {
            if dim < 0 {
                return None;
            }
            if dim == 0 {
                return Some(0);
            }
            match product.checked_mul(dim) {
                Some(next) => product = next,
                None => overflow = true,
            }
        }
        if overflow && self.dims.contains(&0) {
            return Some(0);
        }
        (!overflow).then_some(product)
    }

    /// Bytes of all elements, `None` where [`ArrayShape::num_elements`] has none or on overflow.
    pub fn byte_size(&self) -> Option<i64> {
        self.num_elements()?
            .checked_mul(self.element_type.size() as i64)
    }

    /// Whether dimension `dim` is dynamic.
    pub fn is_dynamic(&self, dim: usize) -> bool {
        dim < Self::MAX_DIMS && self.dynamic >> dim & 1 == 1
    }

    /// Whether both have the same dimension sizes; element type, layout and dynamic marks are ignored.
    pub fn same_dims(&self, other: &ArrayShape) -> bool {
        self.dims == other.dims
    }

    /// Whether element type and dimension sizes agree; layout and dynamic marks are ignored.
    pub fn compatible(&self, other: &ArrayShape) -> bool {
        self.element_type == other.element_type && self.same_dims(other)
    }

    /// The same dimensions with another element type, without a layout.
    pub fn with_element_type(&self, element_type: ElementType) -> ArrayShape {
        ArrayShape {
            element_type,
            dims: self.dims.clone(),
            dynamic: self.dynamic,
            layout: None,
        }
    }
}

/// Shown without layout: `f32[2,<=3]`.
impl fmt::Display for ArrayShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[", self.element_type)?;
        for (at, dim) in self.dims.iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            if *dim == Self::UNBOUNDED {
                f.write_str("?")?;
            } else if self.is_dynamic(at) {
                write!(f, "<={dim}")?;
            } else {
                write!(f, "{dim}")?;
            }
        }
        f.write_str("]")
    }
}

/// What an instruction produces.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// A dense array.
    Array(ArrayShape),
    /// A tuple, possibly empty or nested.
    Tuple(Vec<Shape>),
    /// An ordering token, `token[]`.
    Token,
    /// A value that HLO does not look into, `opaque[]`.
    Opaque,
    /// A buffer holding an array, `b(f32[3])`.
    Buffer(Box<Shape>),
}

impl Shape {
    /// A static row-major array shape.
    pub fn array(element_type: ElementType, dims: &[i64]) -> Shape {
        Shape::Array(ArrayShape::new(element_type, dims))
    }

    /// A scalar shape: `f32[]`.
    pub fn scalar(element_type: ElementType) -> Shape {
        Shape::array(element_type, &[])
    }

    /// The array shape, or `None` if this is no array.
    pub fn as_array(&self) -> Option<&ArrayShape> {
        match self {
            Shape::Array(array) => Some(array),
            Shape::Tuple(_) | Shape::Token | Shape::Opaque | Shape::Buffer(_) => None,
        }
    }

    /// The element shapes, or `None` if this is no tuple.
    pub fn as_tuple(&self) -> Option<&[Shape]> {
        match self {
            Shape::Tuple(elements) => Some(elements),
            Shape::Array(_) | Shape::Token | Shape::Opaque | Shape::Buffer(_) => None,
        }
    }

    /// Whether both have the same structure, element types and sizes; layouts and dynamic marks are
    /// ignored.
    pub fn compatible(&self, other: &Shape) -> bool {
        match (self, other) {
            (Shape::Array(a), Shape::Array(b)) => a.compatible(b),
            (Shape::Tuple(a), Shape::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.compatible(b))
            }
            (Shape::Token, Shape::Token) | (Shape::Opaque, Shape::Opaque) => true,
            (Shape::Buffer(a), Shape::Buffer(b)) => a.compatible(b),
            (
                Shape::Array(_) | Shape::Tuple(_) | Shape::Token | Shape::Opaque | Shape::Buffer(_),
                _,
            ) => false,
        }
    }

    /// The arrays and other leaves in order, tuples flattened.
    pub fn leaves(&self) -> Vec<&Shape> {
        let mut leaves = Vec::new();
        self.collect_leaves(&mut leaves);
        leaves
    }

    fn collect_leaves<'a>(&'a self, leaves: &mut Vec<&'a Shape>) {
        match self {
            Shape::Tuple(elements) => elements
                .iter()
                .for_each(|element| element.collect_leaves(leaves)),
            Shape::Array(_) | Shape::Token | Shape::Opaque | Shape::Buffer(_) => leaves.push(self),
        }
    }

    /// The text with layouts, as HLO prints results: `f32[2,3]{1,0}`.
    pub fn with_layout(&self) -> WithLayout<'_> {
        WithLayout(self)
    }
}

/// Shown without layouts: `(f32[2], s32[])`.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_shape(f, self, false)
    }
}

/// Displays a shape with layouts; made by [`Shape::with_layout`].
#[derive(Clone, Copy, Debug)]
pub struct WithLayout<'a>(&'a Shape);

impl fmt::Display for WithLayout<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_shape(f, self.0, true)
    }
}

fn write_shape(f: &mut fmt::Formatter<'_>, shape: &Shape, layouts: bool) -> fmt::Result {
    match shape {
        Shape::Array(array) => {
            write!(f, "{array}")?;
            if layouts {
                write_layout(f, array)
            } else {
                Ok(())
            }
        }
        Shape::Tuple(elements) => {
            f.write_str("(")?;
            for (at, element) in elements.iter().enumerate() {
                f.write_str(if at == 0 { "" } else { ", " })?;
                if layouts && at > 0 && at % 5 == 0 {
                    write!(f, "/*index={at}*/")?;
                }
                write_shape(f, element, layouts)?;
            }
            f.write_str(")")
        }
        Shape::Token => f.write_str("token[]"),
        Shape::Opaque => f.write_str("opaque[]"),
        Shape::Buffer(inner) => {
            f.write_str("b(")?;
            write_shape(f, inner, layouts)?;
            f.write_str(")")
        }
    }
}

/// Arrays print their layout from one dimension up; scalars only one that carries something.
fn write_layout(f: &mut fmt::Formatter<'_>, array: &ArrayShape) -> fmt::Result {
    match &array.layout {
        Some(layout) if !array.is_scalar() || !layout.suffixes.is_empty() => write!(f, "{layout}"),
        Some(_) => Ok(()),
        None if array.is_scalar() => Ok(()),
        None => {
            let minor_to_major = (0..array.num_dims() as i64).rev().collect();
            write!(
                f,
                "{}",
                Layout {
                    minor_to_major,
                    suffixes: "".into()
                }
            )
        }
    }
}
