//! The element-wise scalar ops, declared once.
//!
//! HLO instructions, loop expressions, the evaluator and the emitter all share these enums. A row
//! says: variant, spelling, accepted element types, worst error in units in the last place for f32
//! and f64 results, whether operands commute, and whether a second evaluation is cheaper than memory.

use hloc_tensor::{ElementClass, ElementType};

/// Which element types an op accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Every element type.
    Any,
    /// All but `pred`.
    Number,
    /// Integers and floats, no `pred`, no complex.
    Real,
    /// Integers.
    Integer,
    /// `pred` and integers.
    Bits,
    /// Floats.
    Float,
    /// Floats and complex.
    FloatOrComplex,
    /// Signed integers, floats, complex.
    SignedOrFloat,
}

impl Domain {
    /// Whether `ty` is accepted.
    pub fn accepts(self, ty: ElementType) -> bool {
        use ElementClass::{Complex, Float, Predicate, Signed, Unsigned};
        let class = ty.class();
        match self {
            Domain::Any => true,
            Domain::Number => class != Predicate,
            Domain::Real => matches!(class, Signed | Unsigned | Float),
            Domain::Integer => matches!(class, Signed | Unsigned),
            Domain::Bits => matches!(class, Predicate | Signed | Unsigned),
            Domain::Float => class == Float,
            Domain::FloatOrComplex => matches!(class, Float | Complex),
            Domain::SignedOrFloat => matches!(class, Signed | Float | Complex),
        }
    }

    /// The accepted types in words, for messages and tables.
    pub fn describe(self) -> &'static str {
        match self {
            Domain::Any => "any element type",
            Domain::Number => "integer, float or complex",
            Domain::Real => "integer or float",
            Domain::Integer => "integer",
            Domain::Bits => "pred or integer",
            Domain::Float => "float",
            Domain::FloatOrComplex => "float or complex",
            Domain::SignedOrFloat => "signed integer, float or complex",
        }
    }
}

/// Whether computing a value a second time costs less than storing and loading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// A few machine instructions.
    Cheap,
    /// A division, a square root, a transcendental function.
    Costly,
}

macro_rules! scalar_ops {
    ($(#[$doc:meta])* $name:ident {
        $( $(#[doc = $row_doc:literal])* $variant:ident = $spelling:literal, $domain:ident, ulp $ulp:literal, commutes $commutes:literal, $cost:ident; )*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $( $(#[doc = $row_doc])* $variant, )* }

        impl $name {
            /// Every op of this kind in declaration order.
            pub const ALL: &'static [$name] = &[$( $name::$variant, )*];

            /// The opcode as HLO spells it.
            pub const fn name(self) -> &'static str {
                match self { $( $name::$variant => $spelling, )* }
            }

            /// The op spelled `name`, or `None`.
            pub fn from_name(name: &str) -> Option<$name> {
                match name { $( $spelling => Some($name::$variant), )* _ => None }
            }

            /// The accepted element types of the operands.
            pub const fn domain(self) -> Domain {
                match self { $( $name::$variant => Domain::$domain, )* }
            }

            /// Largest error of a compiled float result in units in the last place.
            pub const fn ulp(self) -> u32 {
                match self { $( $name::$variant => $ulp, )* }
            }

            /// Whether swapping the first two operands keeps every bit.
            pub const fn commutes(self) -> bool {
                match self { $( $name::$variant => $commutes, )* }
            }

            /// How expensive one evaluation is.
            pub const fn cost(self) -> Cost {
                match self { $( $name::$variant => Cost::$cost, )* }
            }

            /// What the op computes, from its row in the table.
            pub fn doc(self) -> &'static str {
                match self { $( $name::$variant => concat!($( $row_doc, "\n", )*).trim(), )* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

scalar_ops! {
    /// Element-wise ops with one operand.
    UnaryOp {
        /// Absolute value; of a complex number its modulus. The least signed integer stays itself.
        Abs = "abs", SignedOrFloat, ulp 1, commutes false, Cheap;
        /// Inverse cosine.
        Acos = "acos", FloatOrComplex, ulp 4, commutes false, Costly;
        /// Inverse hyperbolic cosine.
        Acosh = "acosh", FloatOrComplex, ulp 4, commutes false, Costly;
        /// Inverse sine.
        Asin = "asin", FloatOrComplex, ulp 4, commutes false, Costly;
        /// Inverse hyperbolic sine.
        Asinh = "asinh", FloatOrComplex, ulp 4, commutes false, Costly;
        /// Inverse hyperbolic tangent.
        Atanh = "atanh", FloatOrComplex, ulp 4, commutes false, Costly;
        /// Cube root.
        Cbrt = "cbrt", Float, ulp 1, commutes false, Costly;
        /// Least integer not below the operand; keeps −0.
        Ceil = "ceil", Float, ulp 0, commutes false, Cheap;
        /// Cosine of an angle in radians.
        Cosine = "cosine", FloatOrComplex, ulp 1, commutes false, Costly;
        /// Hyperbolic cosine.
        Cosh = "cosh", FloatOrComplex, ulp 4, commutes false, Costly;
        /// Number of leading zero bits; of 0 the width.
        CountLeadingZeros = "count-leading-zeros", Integer, ulp 0, commutes false, Cheap;
        /// Error function.
        Erf = "erf", Float, ulp 2, commutes false, Costly;
        /// `e^x`.
        Exponential = "exponential", FloatOrComplex, ulp 1, commutes false, Costly;
        /// `e^x − 1`, accurate near 0.
        ExponentialMinusOne = "exponential-minus-one", FloatOrComplex, ulp 2, commutes false, Costly;
        /// Greatest integer not above the operand; keeps −0.
        Floor = "floor", Float, ulp 0, commutes false, Cheap;
        /// Imaginary part; of a float 0.
        Imag = "imag", FloatOrComplex, ulp 0, commutes false, Cheap;
        /// Whether the operand is neither infinite nor NaN.
        IsFinite = "is-finite", Float, ulp 0, commutes false, Cheap;
        /// Natural logarithm.
        Log = "log", FloatOrComplex, ulp 1, commutes false, Costly;
        /// `ln(1 + x)`, accurate near 0.
        LogPlusOne = "log-plus-one", FloatOrComplex, ulp 2, commutes false, Costly;
        /// `1 / (1 + e^−x)`.
        Logistic = "logistic", FloatOrComplex, ulp 2, commutes false, Costly;
        /// Negation; wraps for integers.
        Negate = "negate", Number, ulp 0, commutes false, Cheap;
        /// Logical not of `pred`, all bits flipped of an integer.
        Not = "not", Bits, ulp 0, commutes false, Cheap;
        /// Number of one bits.
        Popcnt = "popcnt", Integer, ulp 0, commutes false, Cheap;
        /// Real part; of a float itself.
        Real = "real", FloatOrComplex, ulp 0, commutes false, Cheap;
        /// Nearest integer, ties away from zero; keeps −0.
        RoundNearestAfz = "round-nearest-afz", Float, ulp 0, commutes false, Cheap;
        /// Nearest integer, ties to even; keeps −0.
        RoundNearestEven = "round-nearest-even", Float, ulp 0, commutes false, Cheap;
        /// `1 / sqrt(x)`; of ±0 infinity with that sign.
        Rsqrt = "rsqrt", FloatOrComplex, ulp 2, commutes false, Costly;
        /// −1, 0 or 1; keeps ±0 and NaN; of a complex number `x / abs(x)`.
        Sign = "sign", SignedOrFloat, ulp 0, commutes false, Cheap;
        /// Sine of an angle in radians.
        Sine = "sine", FloatOrComplex, ulp 1, commutes false, Costly;
        /// Hyperbolic sine.
        Sinh = "sinh", FloatOrComplex, ulp 4, commutes false, Costly;
        /// Square root; of −0 −0.
        Sqrt = "sqrt", FloatOrComplex, ulp 0, commutes false, Costly;
        /// Tangent of an angle in radians.
        Tan = "tan", FloatOrComplex, ulp 2, commutes false, Costly;
        /// Hyperbolic tangent.
        Tanh = "tanh", FloatOrComplex, ulp 2, commutes false, Costly;
    }
}

scalar_ops! {
    /// Element-wise ops with two operands of the same type.
    BinaryOp {
        /// Sum; wraps for integers; logical or of `pred`.
        Add = "add", Any, ulp 0, commutes true, Cheap;
        /// Bitwise and; logical and of `pred`.
        And = "and", Bits, ulp 0, commutes true, Cheap;
        /// Angle of the point (second, first) in −π to π.
        Atan2 = "atan2", Float, ulp 2, commutes false, Costly;
        /// The complex number with these real and imaginary parts: f32 gives c64, f64 gives c128.
        Complex = "complex", Float, ulp 0, commutes false, Cheap;
        /// Quotient. Integers truncate; x/0 has all bits set; the least signed integer by −1 stays itself.
        Divide = "divide", Number, ulp 0, commutes false, Costly;
        /// The greater operand; NaN if either is; +0 over −0. Complex numbers compare by real part.
        Maximum = "maximum", Any, ulp 0, commutes true, Cheap;
        /// The lesser operand; NaN if either is; −0 over +0. Complex numbers compare by real part.
        Minimum = "minimum", Any, ulp 0, commutes true, Cheap;
        /// Upper half of the product at double width.
        Mulhi = "mulhi", Integer, ulp 0, commutes true, Cheap;
        /// Product; wraps for integers; logical and of `pred`.
        Multiply = "multiply", Any, ulp 0, commutes true, Cheap;
        /// Bitwise or; logical or of `pred`.
        Or = "or", Bits, ulp 0, commutes true, Cheap;
        /// First to the power of the second. Integers wrap; a negative exponent gives 0 but for ±1.
        Power = "power", Number, ulp 2, commutes false, Costly;
        /// Remainder with the sign of the dividend; x%0 is x for integers and NaN for floats.
        Remainder = "remainder", Real, ulp 0, commutes false, Costly;
        /// Bits moved up; 0 if the amount is not below the width.
        ShiftLeft = "shift-left", Integer, ulp 0, commutes false, Cheap;
        /// Bits moved down, the uppermost copied in, also for unsigned types.
        ShiftRightArithmetic = "shift-right-arithmetic", Integer, ulp 0, commutes false, Cheap;
        /// Bits moved down, zeros moved in; 0 if the amount is not below the width.
        ShiftRightLogical = "shift-right-logical", Integer, ulp 0, commutes false, Cheap;
        /// Difference; wraps for integers.
        Subtract = "subtract", Number, ulp 0, commutes false, Cheap;
        /// Bitwise exclusive or; logical of `pred`.
        Xor = "xor", Bits, ulp 0, commutes true, Cheap;
    }
}

scalar_ops! {
    /// Element-wise ops with three operands.
    TernaryOp {
        /// `min(max(x, low), high)` of (low, x, high); NaN if any is. Bounds may be scalars.
        Clamp = "clamp", Number, ulp 0, commutes false, Cheap;
        /// The second where the first (`pred`) is true, else the third. The first may be a scalar.
        Select = "select", Any, ulp 0, commutes false, Cheap;
    }
}

impl UnaryOp {
    /// Element type of the result for an operand of type `ty`: `is-finite` gives `pred`,
    /// `real`, `imag` and `abs` of `c64` give `f32`, all else `ty`.
    pub fn result_type(self, ty: ElementType) -> ElementType {
        if self == UnaryOp::IsFinite {
            ElementType::Pred
        } else if matches!(self, UnaryOp::Abs | UnaryOp::Real | UnaryOp::Imag) {
            ty.component()
        } else {
            ty
        }
    }
}

impl BinaryOp {
    /// Element type of the result for operands of type `ty`, `None` if there is none:
    /// `complex` of `f32` gives `c64`, of `f16` nothing; all else gives `ty`.
    pub fn result_type(self, ty: ElementType) -> Option<ElementType> {
        if self != BinaryOp::Complex {
            Some(ty)
        } else if ty == ElementType::F32 {
            Some(ElementType::C64)
        } else if ty == ElementType::F64 {
            Some(ElementType::C128)
        } else {
            None
        }
    }
}
