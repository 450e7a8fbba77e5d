//! How element types live in the lanes of a vector.

use cranelift_codegen::ir::{Type, types};
use hloc_ir::ElementType;

use crate::repr::{IntKind, Kind};

/// The width of all lanes of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    /// Four lanes of 32 bits.
    Single,
    /// Two lanes of 64 bits.
    Double,
}

/// What a lane holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// A `pred`: all bits set or none.
    Mask,
    /// An integer, sign- or zero-extended to the lane.
    Int(IntKind),
    /// A float as wide as the lane.
    Float,
    /// A narrower float as `f32`, already rounded.
    Narrow(ElementType),
}

impl Width {
    /// Number of lanes.
    pub(crate) fn lanes(self) -> i64 {
        match self {
            Width::Single => 4,
            Width::Double => 2,
        }
    }

    /// Type of one lane as an integer.
    pub(crate) fn int_lane(self) -> Type {
        match self {
            Width::Single => types::I32,
            Width::Double => types::I64,
        }
    }

    /// Type of one lane as a float.
    pub(crate) fn float_lane(self) -> Type {
        match self {
            Width::Single => types::F32,
            Width::Double => types::F64,
        }
    }

    /// Type of integer and mask vectors.
    pub(crate) fn ints(self) -> Type {
        match self {
            Width::Single => types::I32X4,
            Width::Double => types::I64X2,
        }
    }

    /// Type of float vectors.
    pub(crate) fn floats(self) -> Type {
        match self {
            Width::Single => types::F32X4,
            Width::Double => types::F64X2,
        }
    }

    /// How values of type `ty` live in lanes of this width, `None` if they do not.
    pub(crate) fn lane(self, ty: ElementType) -> Option<Lane> {
        match (Kind::of(ty), self) {
            (Kind::Pred, _) => Some(Lane::Mask),
            (Kind::Int(kind), Width::Single) if kind.bits <= 32 => Some(Lane::Int(kind)),
            (Kind::Int(kind), Width::Double) if kind.bits == 64 => Some(Lane::Int(kind)),
            (Kind::Float(float), width) if float == width.float_lane() => Some(Lane::Float),
            (Kind::Narrow(ty), Width::Single) => Some(Lane::Narrow(ty)),
            (Kind::Int(_) | Kind::Float(_) | Kind::Narrow(_) | Kind::Complex(_), _) => None,
        }
    }

    /// Whether `ty` is complex and each part lives in a lane of this width. Of 64 bits none is: see
    /// [`super::complex`].
    pub(crate) fn is_complex(self, ty: ElementType) -> bool {
        self == Width::Single && Kind::of(ty) == Kind::Complex(types::F32)
    }

    /// The width that all of `tys` fit in; `None` if there is none.
    pub(crate) fn common(tys: &[ElementType]) -> Option<Width> {
        let fits = |width: &Width| {
            let mut tys = tys.iter();
            tys.all(|ty| width.lane(*ty).is_some() || width.is_complex(*ty))
        };
        [Width::Single, Width::Double].into_iter().find(fits)
    }
}

impl Lane {
    /// The vector type of such lanes.
    pub(crate) fn vector(self, width: Width) -> Type {
        match self {
            Lane::Mask | Lane::Int(_) => width.ints(),
            Lane::Float | Lane::Narrow(_) => width.floats(),
        }
    }
}
