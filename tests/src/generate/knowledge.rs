//! What the generator knows about a value: how far engines may be apart, and how large it can be.
//!
//! Engines must agree to the bit wherever ops are exact. An inexact value may be moved about, but no op
//! sees its bits; a sum is exact where its terms are whole numbers so small that no partial sum rounds.

use hloc_ir::ElementType;
use hloc_tensor::{Tolerance, float_format};

/// How far engines may be apart in a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Slack {
    /// The same bits, any NaN for a NaN.
    Exact,
    /// Within so many units in the last place.
    Ulps(u64),
    /// `|got − want| ≤ atol + rtol · |want|`.
    Close {
        /// Relative part.
        rtol: f64,
        /// Absolute part.
        atol: f64,
    },
}

impl Slack {
    /// The tolerance for comparing arrays.
    pub fn tolerance(self) -> Tolerance {
        match self {
            Slack::Exact => Tolerance::Value,
            Slack::Ulps(ulps) => Tolerance::Ulps(ulps),
            Slack::Close { rtol, atol } => Tolerance::Close { rtol, atol },
        }
    }

    /// What holds for elements of which some have this slack and some that; `None` if nothing says both.
    pub fn join(self, other: Slack) -> Option<Slack> {
        match (self, other) {
            (Slack::Exact, slack) | (slack, Slack::Exact) => Some(slack),
            (Slack::Ulps(a), Slack::Ulps(b)) => Some(Slack::Ulps(a.max(b))),
            (Slack::Close { rtol, atol }, Slack::Close { rtol: r, atol: a }) => {
                Some(Slack::Close {
                    rtol: rtol.max(r),
                    atol: atol.max(a),
                })
            }
            (Slack::Ulps(_), Slack::Close { .. }) | (Slack::Close { .. }, Slack::Ulps(_)) => None,
        }
    }
}

/// What is known about every element of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knowledge {
    /// How far engines may be apart.
    pub slack: Slack,
    /// Elements are finite, and no part is larger in magnitude.
    pub bound: Option<f64>,
    /// Parts are whole numbers.
    pub whole: bool,
    /// An op depends on more than the bound, so that a shrinker must keep the elements.
    pub special: bool,
}

impl Knowledge {
    /// Exact, of any size.
    pub const WILD: Knowledge = Knowledge {
        slack: Slack::Exact,
        bound: None,
        whole: false,
        special: false,
    };

    /// Exact whole numbers of at most this magnitude.
    pub fn whole(bound: f64) -> Knowledge {
        Knowledge {
            bound: Some(bound),
            whole: true,
            ..Knowledge::WILD
        }
    }

    /// Exact finite numbers of at most this magnitude.
    pub fn bounded(bound: f64) -> Knowledge {
        Knowledge {
            bound: Some(bound),
            ..Knowledge::WILD
        }
    }

    /// Unbounded, this far apart.
    pub fn inexact(slack: Slack) -> Knowledge {
        Knowledge {
            slack,
            ..Knowledge::WILD
        }
    }

    /// A whole number as an element of `ty`: of unknown size where it may be rounded.
    pub fn whole_of(ty: ElementType, bound: f64) -> Knowledge {
        if bound <= largest_whole(ty) && largest_whole(ty) >= 1.0 {
            Knowledge::whole(bound)
        } else {
            Knowledge::WILD
        }
    }

    /// Whether all engines give the same bits.
    pub fn is_exact(&self) -> bool {
        self.slack == Slack::Exact
    }

    /// Whether elements are whole and at most `bound` in magnitude.
    pub fn is_whole_within(&self, bound: f64) -> bool {
        self.is_exact() && self.whole && self.bound.is_some_and(|own| own <= bound)
    }

    /// Of elements of which some are known as `self`, others as `other`.
    pub fn join(self, other: Knowledge) -> Option<Knowledge> {
        let bound = self.bound.zip(other.bound).map(|(a, b)| a.max(b));
        Some(Knowledge {
            slack: self.slack.join(other.slack)?,
            bound,
            whole: self.whole && other.whole,
            special: self.special || other.special,
        })
    }

    /// Whether a value known as `self` may stand for one known as `other`.
    pub fn implies(&self, other: &Knowledge) -> bool {
        let bounded = match (self.bound, other.bound) {
            (_, None) => true,
            (Some(own), Some(bound)) => own <= bound,
            (None, Some(_)) => false,
        };
        let slack = self.is_exact() || self.slack == other.slack;
        slack && bounded && (self.whole || !other.whole) && !other.special
    }
}

/// The largest `n` such that all whole numbers up to `n` are elements of `ty` (a power of two for floats).
///
/// `f32` gives 2²⁴, `s8` 127, `f8e5m2` 8; `f8e8m0fnu`, which lacks 0 and 3, gives 0.
pub(super) fn largest_whole(ty: ElementType) -> f64 {
    if ty.is_predicate() {
        return 1.0;
    }
    if ty.is_integer() {
        let bits = ty.bits() as i32 - i32::from(ty.is_signed_integer());
        return 2f64.powi(bits) - 1.0;
    }
    float_format(ty.component()).map_or(0.0, |format| {
        if format.has_zero() {
            2f64.powi(format.mantissa_bits as i32 + 1)
                .min(format.max_finite.floor())
        } else {
            0.0
        }
    })
}

/// The distance of 1 to the next element of `ty`: 2⁻²³ for `f32`.
pub(super) fn epsilon(ty: ElementType) -> f64 {
    float_format(ty.component()).map_or(0.0, |format| 2f64.powi(-(format.mantissa_bits as i32)))
}

#[cfg(test)]
mod tests {
    use hloc_ir::ElementType;

    use super::{Knowledge, largest_whole};

    #[test]
    fn whole_numbers_of_each_type() {
        let largest = [
            (ElementType::F32, 16_777_216.0),
            (ElementType::S8, 127.0),
            (ElementType::U1, 1.0),
            (ElementType::S1, 0.0),
            (ElementType::F8E5M2, 8.0),
            (ElementType::F4E2M1Fn, 4.0),
            (ElementType::F8E8M0Fnu, 0.0),
            (ElementType::C64, 16_777_216.0),
        ];
        for (ty, want) in largest {
            assert_eq!(largest_whole(ty), want, "{ty}");
        }
        assert!(Knowledge::whole(3.0).implies(&Knowledge::bounded(4.0)));
        assert!(!Knowledge::bounded(3.0).implies(&Knowledge::whole(4.0)));
    }
}
