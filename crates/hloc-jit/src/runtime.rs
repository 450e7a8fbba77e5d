//! The functions that compiled code calls, in one table.
//!
//! They take and give floats and integers in registers (complex results through a pointer), follow the
//! C calling convention, and never unwind: a panic in an `extern "C"` function aborts.

use std::mem::MaybeUninit;

use cranelift_codegen::ir::{AbiParam, Signature, Type, types};
use cranelift_codegen::isa::CallConv;

use crate::math::{complex, integer, real};

/// Parameters and result of a [`Helper`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HelperShape {
    /// `f64 -> f64`
    Real,
    /// `f64, f64 -> f64`
    RealPair,
    /// `f32 -> f32`
    Single,
    /// `f32, f32, f32 -> f32`
    SingleTriple,
    /// `f64, f64, f64 -> f64`
    RealTriple,
    /// `i64, i64 -> i64`
    Integer,
    /// Real and imaginary part and a pointer to the result's.
    Complex,
    /// Twice real and imaginary part and a pointer to the result's.
    ComplexPair,
}

impl HelperShape {
    /// The signature for calls from compiled code.
    pub(crate) fn signature(self, call_conv: CallConv, pointer: Type) -> Signature {
        let (params, result): (&[Type], Option<Type>) = match self {
            HelperShape::Real => (&[types::F64], Some(types::F64)),
            HelperShape::RealPair => (&[types::F64; 2], Some(types::F64)),
            HelperShape::RealTriple => (&[types::F64; 3], Some(types::F64)),
            HelperShape::Single => (&[types::F32], Some(types::F32)),
            HelperShape::SingleTriple => (&[types::F32; 3], Some(types::F32)),
            HelperShape::Integer => (&[types::I64; 2], Some(types::I64)),
            HelperShape::Complex => (&[types::F64; 2], None),
            HelperShape::ComplexPair => (&[types::F64; 4], None),
        };
        let mut signature = Signature::new(call_conv);
        signature.params = params.iter().copied().map(AbiParam::new).collect();
        match result {
            Some(ty) => signature.returns.push(AbiParam::new(ty)),
            None => signature.params.push(AbiParam::new(pointer)),
        }
        signature
    }
}

/// Where a complex helper leaves its result: real part, imaginary part.
pub(crate) type ComplexOut<'a> = &'a mut MaybeUninit<[f64; 2]>;

macro_rules! helpers {
    ($( $variant:ident $name:literal $shape:ident $params:tt $call:expr; )*) => {
        /// A function that compiled code calls.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Helper { $( $variant, )* }

        impl Helper {
            /// Every helper, in declaration order.
            pub(crate) const ALL: &'static [Helper] = &[$( Helper::$variant, )*];

            /// By this namespace Cranelift's code names helpers, each with its position in [`Helper::ALL`].
            pub(crate) const NAMESPACE: u32 = 2;

            /// The symbol.
            pub(crate) const fn name(self) -> &'static str {
                match self { $( Helper::$variant => $name, )* }
            }

            /// Parameters and result.
            pub(crate) const fn shape(self) -> HelperShape {
                match self { $( Helper::$variant => HelperShape::$shape, )* }
            }

            /// Where the function is in this process.
            pub(crate) fn address(self) -> *const u8 {
                match self { $( Helper::$variant => helpers!(@$shape $params $call), )* }
            }
        }
    };
    (@Real ($x:ident) $call:expr) => {{ extern "C" fn helper($x: f64) -> f64 { $call } helper as *const u8 }};
    (@RealPair ($x:ident, $y:ident) $call:expr) => {{ extern "C" fn helper($x: f64, $y: f64) -> f64 { $call } helper as *const u8 }};
    (@RealTriple ($x:ident, $y:ident, $z:ident) $call:expr) => {{ extern "C" fn helper($x: f64, $y: f64, $z: f64) -> f64 { $call } helper as *const u8 }};
    (@Single ($x:ident) $call:expr) => {{ extern "C" fn helper($x: f32) -> f32 { $call } helper as *const u8 }};
    (@SingleTriple ($x:ident, $y:ident, $z:ident) $call:expr) => {{ extern "C" fn helper($x: f32, $y: f32, $z: f32) -> f32 { $call } helper as *const u8 }};
    (@Integer ($x:ident, $y:ident) $call:expr) => {{ extern "C" fn helper($x: i64, $y: i64) -> i64 { $call } helper as *const u8 }};
    (@Complex ($z:ident) $call:expr) => {{
        extern "C" fn helper(re: f64, im: f64, out: ComplexOut<'_>) {
            let $z = complex::new(re, im);
            let result = $call;
            out.write([result.re, result.im]);
        }
        helper as *const u8
    }};
    (@ComplexPair ($a:ident, $b:ident) $call:expr) => {{
        extern "C" fn helper(a_re: f64, a_im: f64, b_re: f64, b_im: f64, out: ComplexOut<'_>) {
            let ($a, $b) = (complex::new(a_re, a_im), complex::new(b_re, b_im));
            let result = $call;
            out.write([result.re, result.im]);
        }
        helper as *const u8
    }};
}

helpers! {
    Acos "hloc_acos" Real (x) libm::acos(x);
    Acosh "hloc_acosh" Real (x) real::acosh(x);
    Asin "hloc_asin" Real (x) libm::asin(x);
    Asinh "hloc_asinh" Real (x) real::asinh(x);
    Atanh "hloc_atanh" Real (x) libm::atanh(x);
    Cbrt "hloc_cbrt" Real (x) libm::cbrt(x);
    Cos "hloc_cos" Real (x) libm::cos(x);
    Cosh "hloc_cosh" Real (x) libm::cosh(x);
    Erf "hloc_erf" Real (x) libm::erf(x);
    Exp "hloc_exp" Real (x) libm::exp(x);
    Expm1 "hloc_expm1" Real (x) libm::expm1(x);
    Log "hloc_log" Real (x) libm::log(x);
    Log1p "hloc_log1p" Real (x) libm::log1p(x);
    Logistic "hloc_logistic" Real (x) real::logistic(x);
    Sin "hloc_sin" Real (x) libm::sin(x);
    Sinh "hloc_sinh" Real (x) libm::sinh(x);
    Tan "hloc_tan" Real (x) libm::tan(x);
    Tanh "hloc_tanh" Real (x) libm::tanh(x);
    Atan2 "hloc_atan2" RealPair (y, x) libm::atan2(y, x);
    Fmod "hloc_fmod" RealPair (x, y) libm::fmod(x, y);
    Hypot "hloc_hypot" RealPair (x, y) libm::hypot(x, y);
    Pow "hloc_pow" RealPair (x, y) real::pow(x, y);
    CeilF32 "hloc_ceil_f32" Single (x) x.ceil();
    CeilF64 "hloc_ceil_f64" Real (x) x.ceil();
    FloorF32 "hloc_floor_f32" Single (x) x.floor();
    FloorF64 "hloc_floor_f64" Real (x) x.floor();
    TruncF32 "hloc_trunc_f32" Single (x) x.trunc();
    TruncF64 "hloc_trunc_f64" Real (x) x.trunc();
    NearestF32 "hloc_nearest_f32" Single (x) x.round_ties_even();
    NearestF64 "hloc_nearest_f64" Real (x) x.round_ties_even();
    FmaF32 "hloc_fma_f32" SingleTriple (x, y, z) x.mul_add(y, z);
    FmaF64 "hloc_fma_f64" RealTriple (x, y, z) x.mul_add(y, z);
    PowSigned "hloc_pow_signed" Integer (x, y) integer::pow_signed(x, y);
    PowUnsigned "hloc_pow_unsigned" Integer (x, y) integer::pow_unsigned(x, y);
    ComplexAcos "hloc_complex_acos" Complex (z) complex::acos(z);
    ComplexAcosh "hloc_complex_acosh" Complex (z) complex::acosh(z);
    ComplexAsin "hloc_complex_asin" Complex (z) complex::asin(z);
    ComplexAsinh "hloc_complex_asinh" Complex (z) complex::asinh(z);
    ComplexAtanh "hloc_complex_atanh" Complex (z) complex::atanh(z);
    ComplexCos "hloc_complex_cos" Complex (z) complex::cos(z);
    ComplexCosh "hloc_complex_cosh" Complex (z) complex::cosh(z);
    ComplexExp "hloc_complex_exp" Complex (z) complex::exp(z);
    ComplexExpm1 "hloc_complex_expm1" Complex (z) complex::expm1(z);
    ComplexLog "hloc_complex_log" Complex (z) complex::log(z);
    ComplexLog1p "hloc_complex_log1p" Complex (z) complex::log1p(z);
    ComplexLogistic "hloc_complex_logistic" Complex (z) complex::logistic(z);
    ComplexRsqrt "hloc_complex_rsqrt" Complex (z) complex::rsqrt(z);
    ComplexSign "hloc_complex_sign" Complex (z) complex::sign(z);
    ComplexSin "hloc_complex_sin" Complex (z) complex::sin(z);
    ComplexSinh "hloc_complex_sinh" Complex (z) complex::sinh(z);
    ComplexSqrt "hloc_complex_sqrt" Complex (z) complex::sqrt(z);
    ComplexTan "hloc_complex_tan" Complex (z) complex::tan(z);
    ComplexTanh "hloc_complex_tanh" Complex (z) complex::tanh(z);
    ComplexDiv "hloc_complex_div" ComplexPair (a, b) complex::div(a, b);
    ComplexPow "hloc_complex_pow" ComplexPair (a, b) complex::pow(a, b);
}
