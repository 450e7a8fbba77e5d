//! Closed sets of words that attributes take.

macro_rules! words {
    ($( $(#[$doc:meta])* $name:ident { $( $(#[$row_doc:meta])* $variant:ident = $spelling:literal, )* } )*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $( $(#[$row_doc])* $variant, )* }

        impl $name {
            /// The words in declaration order.
            pub const NAMES: &'static [&'static str] = &[$( $spelling, )*];

            /// The word as HLO spells it.
            pub const fn name(self) -> &'static str {
                match self { $( $name::$variant => $spelling, )* }
            }

            /// The value spelled `name`, or `None`.
            pub fn from_name(name: &str) -> Option<$name> {
                match name { $( $spelling => Some($name::$variant), )* _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    )* };
}

words! {
    /// What `compare` asks of its operands.
    ComparisonDirection {
        /// Equal.
        Eq = "EQ",
        /// Not equal.
        Ne = "NE",
        /// Greater or equal.
        Ge = "GE",
        /// Greater.
        Gt = "GT",
        /// Less or equal.
        Le = "LE",
        /// Less.
        Lt = "LT",
    }

    /// The order by which `compare` compares.
    CompareType {
        /// IEEE 754 comparison; NaN is unordered.
        Float = "FLOAT",
        /// IEEE 754 total order: −NaN < −inf < … < −0 < +0 < … < inf < NaN.
        TotalOrder = "TOTALORDER",
        /// Signed integers.
        Signed = "SIGNED",
        /// Unsigned integers and `pred`.
        Unsigned = "UNSIGNED",
    }

    /// The kind of a Fourier transform.
    FftType {
        /// Complex, forward.
        Fft = "FFT",
        /// Complex, inverse, scaled by 1/n.
        Ifft = "IFFT",
        /// Real to half spectrum.
        Rfft = "RFFT",
        /// Half spectrum to real.
        Irfft = "IRFFT",
    }

    /// Why instructions were fused.
    FusionKind {
        /// Element-wise loop.
        Loop = "kLoop",
        /// The root is a reduction or the like.
        Input = "kInput",
        /// Fused into a producer's output.
        Output = "kOutput",
        /// Handled by a library.
        Custom = "kCustom",
    }

    /// How `triangular-solve` reads its matrix.
    Transpose {
        /// As it is.
        NoTranspose = "NO_TRANSPOSE",
        /// Transposed.
        Transpose = "TRANSPOSE",
        /// Transposed and conjugated.
        Adjoint = "ADJOINT",
    }

    /// Bit generator of `rng-bit-generator`.
    RngAlgorithm {
        /// The target's choice: Philox.
        Default = "rng_default",
        /// ThreeFry-2x32, 20 rounds.
        ThreeFry = "rng_three_fry",
        /// Philox-4x32, 10 rounds.
        Philox = "rng_philox",
    }

    /// Distribution of `rng`.
    Distribution {
        /// Uniform in [a, b).
        Uniform = "rng_uniform",
        /// Normal with mean a and standard deviation b.
        Normal = "rng_normal",
    }

    /// Precision asked of one operand of a product.
    Precision {
        /// As fast as the target can.
        Default = "default",
        /// In between.
        High = "high",
        /// As exact as the element type allows.
        Highest = "highest",
    }

    /// Arithmetic asked of `dot`.
    DotAlgorithm {
        /// Any f8 operands, f32 accumulation.
        AnyF8AnyF8F32 = "dot_any_f8_any_f8_f32",
        /// The same, accumulating fast.
        AnyF8AnyF8F32FastAccum = "dot_any_f8_any_f8_f32_fast_accum",
        /// f16 operands and accumulation.
        F16F16F16 = "dot_f16_f16_f16",
        /// f16 operands, f32 accumulation.
        F16F16F32 = "dot_f16_f16_f32",
        /// bf16 operands and accumulation.
        Bf16Bf16Bf16 = "dot_bf16_bf16_bf16",
        /// bf16 operands, f32 accumulation.
        Bf16Bf16F32 = "dot_bf16_bf16_f32",
        /// f32 split into two bf16, three products.
        Bf16Bf16F32X3 = "dot_bf16_bf16_f32_x3",
        /// f32 split into three bf16, six products.
        Bf16Bf16F32X6 = "dot_bf16_bf16_f32_x6",
        /// f32 split into three bf16, nine products.
        Bf16Bf16F32X9 = "dot_bf16_bf16_f32_x9",
        /// tf32 operands, f32 accumulation.
        Tf32Tf32F32 = "dot_tf32_tf32_f32",
        /// f32 split into two tf32, three products.
        Tf32Tf32F32X3 = "dot_tf32_tf32_f32_x3",
        /// f32 throughout.
        F32F32F32 = "dot_f32_f32_f32",
        /// f64 throughout.
        F64F64F64 = "dot_f64_f64_f64",
    }

    /// Calling convention of a custom call.
    CustomCallApiVersion {
        /// Untyped pointers.
        Original = "API_VERSION_ORIGINAL",
        /// With a status.
        StatusReturning = "API_VERSION_STATUS_RETURNING",
        /// With a status, the same on all platforms.
        StatusReturningUnified = "API_VERSION_STATUS_RETURNING_UNIFIED",
        /// Typed foreign function interface.
        TypedFfi = "API_VERSION_TYPED_FFI",
    }

    /// When a custom call wants to run.
    CustomCallSchedule {
        /// No wish.
        None = "SCHEDULE_NONE",
        /// As late as possible.
        Latest = "SCHEDULE_LATEST",
        /// As early as possible.
        Earliest = "SCHEDULE_EARLIEST",
    }

    /// Padding rule named on a custom call.
    PaddingType {
        /// None named.
        Invalid = "PADDING_INVALID",
        /// Only whole windows.
        Valid = "PADDING_VALID",
        /// As many windows as input elements.
        Same = "PADDING_SAME",
    }
}

impl ComparisonDirection {
    /// The direction that holds for swapped operands: `LT` gives `GT`.
    #[must_use]
    pub fn swapped(self) -> ComparisonDirection {
        match self {
            ComparisonDirection::Eq => ComparisonDirection::Eq,
            ComparisonDirection::Ne => ComparisonDirection::Ne,
            ComparisonDirection::Ge => ComparisonDirection::Le,
            ComparisonDirection::Gt => ComparisonDirection::Lt,
            ComparisonDirection::Le => ComparisonDirection::Ge,
            ComparisonDirection::Lt => ComparisonDirection::Gt,
        }
    }
}

impl CompareType {
    /// The order that `compare` takes for operands of type `ty` when none is written.
    pub fn default_for(ty: hloc_tensor::ElementType) -> CompareType {
        match ty.class() {
            hloc_tensor::ElementClass::Float | hloc_tensor::ElementClass::Complex => {
                CompareType::Float
            }
            hloc_tensor::ElementClass::Signed => CompareType::Signed,
            hloc_tensor::ElementClass::Unsigned | hloc_tensor::ElementClass::Predicate => {
                CompareType::Unsigned
            }
        }
    }
}
