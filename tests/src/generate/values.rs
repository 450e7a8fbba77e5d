//! Random elements of every type.

use hloc_ir::{Array, ElementType};
use hloc_tensor::Scalar;

use super::knowledge::Knowledge;
use crate::random::Random;

/// What elements a new array gets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Flavor {
    /// Anything: infinities, NaN, subnormals, the least and greatest integers.
    Wild,
    /// Whole numbers of at most this magnitude.
    Whole(f64),
    /// Numbers of at most this magnitude.
    Bounded(f64),
}

impl Flavor {
    /// What is known of such elements.
    pub(super) fn knowledge(self) -> Knowledge {
        match self {
            Flavor::Wild => Knowledge::WILD,
            Flavor::Whole(bound) => Knowledge::whole(bound),
            Flavor::Bounded(bound) => Knowledge::bounded(bound),
        }
    }
}

/// An element type: one of those that programs use most, or any.
pub(super) fn element_type(random: &mut Random) -> ElementType {
    let usual = [
        ElementType::F32,
        ElementType::F32,
        ElementType::S32,
        ElementType::Pred,
        ElementType::F64,
        ElementType::BF16,
        ElementType::U32,
        ElementType::C64,
    ];
    if random.one_in(3) {
        *random.pick(&usual)
    } else {
        *random.pick(ElementType::ALL)
    }
}

/// An array of random elements.
pub(super) fn array(random: &mut Random, ty: ElementType, dims: &[i64], flavor: Flavor) -> Array {
    let mut array = Array::zeros(ty, dims).expect("small arrays fit");
    for at in 0..array.num_elements() {
        array.set(at, scalar(random, ty, flavor));
    }
    array
}

/// A random element.
pub(super) fn scalar(random: &mut Random, ty: ElementType, flavor: Flavor) -> Scalar {
    if ty.is_predicate() {
        return Scalar::Pred(random.one_in(2));
    }
    if ty.is_complex() {
        let part = ty.component();
        let mut next = || float(random, part, flavor);
        let real = next();
        return Scalar::Complex(real, next());
    }
    if ty.is_float() {
        return Scalar::Float(float(random, ty, flavor));
    }
    integer(random, ty, flavor)
}

fn integer(random: &mut Random, ty: ElementType, flavor: Flavor) -> Scalar {
    let value = match flavor {
        Flavor::Wild if random.one_in(3) => random.bits() as i64,
        Flavor::Wild if random.one_in(8) => {
            let ones = if ty.is_signed_integer() {
                ty.bits() - 1
            } else {
                ty.bits()
            };
            // The greatest element; its complement is the least.
            let greatest = (u128::MAX >> (128 - ones)) as i64;
            if random.one_in(2) {
                greatest
            } else {
                !greatest
            }
        }
        Flavor::Wild => between(random, -20, 20),
        Flavor::Whole(bound) | Flavor::Bounded(bound) => {
            let limit = bound.min(super::knowledge::largest_whole(ty)) as i64;
            let least = if ty.is_signed_integer() { -limit } else { 0 };
            between(random, least, limit)
        }
    };
    if ty.is_signed_integer() {
        Scalar::Int(value)
    } else {
        Scalar::Uint(value as u64)
    }
}

/// A number from `least` to `greatest`, both included.
pub(super) fn between(random: &mut Random, least: i64, greatest: i64) -> i64 {
    least + random.below((greatest - least + 1) as usize) as i64
}

fn float(random: &mut Random, ty: ElementType, flavor: Flavor) -> f64 {
    for _ in 0..8 {
        let (value, bound) = match flavor {
            Flavor::Wild => return wild(random, ty),
            Flavor::Whole(bound) => {
                let limit = bound as i64;
                (between(random, -limit, limit) as f64, bound)
            }
            Flavor::Bounded(bound) => {
                let thousandths = between(random, -1000, 1000) as f64;
                (thousandths / 1000.0 * bound, bound)
            }
        };
        // Some types have no zero, no sign or few digits.
        if let Scalar::Float(kept) = Scalar::Float(value).converted(ty) {
            let whole = matches!(flavor, Flavor::Bounded(_)) || kept.fract() == 0.0;
            if kept.abs() <= bound && whole {
                return kept;
            }
        }
    }
    1.0
}

fn wild(random: &mut Random, ty: ElementType) -> f64 {
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        2.5,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        1e-40,
        3e4,
    ];
    match random.below(8) {
        0 | 1 => *random.pick(&special),
        2 => bits(random, ty),
        _ => between(random, -1000, 1000) as f64 / 100.0,
    }
}

/// Any bit pattern of the type, but for NaN, which is the usual one.
fn bits(random: &mut Random, ty: ElementType) -> f64 {
    let bytes = random.bits().to_le_bytes()[..ty.size()].to_vec();
    let value = Array::new(ty, &[], bytes).map(|array| array.get(0));
    if let Ok(Scalar::Float(value)) = value {
        if value.is_nan() { f64::NAN } else { value }
    } else {
        1.0
    }
}
