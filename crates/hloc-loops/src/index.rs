//! Index expressions: sums of loop variables with integer factors, with division and remainder by
//! constants, in a normal form that makes equal expressions equal and bounds provable by intervals.

use std::cmp::Ordering;
use std::fmt;

use smallvec::SmallVec;

use crate::ir::{IndexRange, ValueId, VarId};

/// Inclusive bounds of an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Least value.
    pub low: i64,
    /// Greatest value.
    pub high: i64,
}

impl Interval {
    /// The interval that holds only `value`.
    pub fn point(value: i64) -> Interval {
        Interval {
            low: value,
            high: value,
        }
    }

    /// Whether every value lies in `low..high`.
    pub fn within(self, low: i64, high: i64) -> bool {
        low <= self.low && self.high < high
    }
}

/// What is known about the atoms of indices.
pub trait Bounds {
    /// Bounds of a loop variable.
    fn var(&self, var: VarId) -> Interval;
    /// Bounds of an index value.
    fn value(&self, value: ValueId) -> Interval;
    /// Ranges of indices known from surrounding conditions.
    fn conditions(&self) -> &[IndexRange] {
        &[]
    }
}

/// Bounds with only some of the conditions.
struct Narrower<'a> {
    bounds: &'a dyn Bounds,
    conditions: &'a [IndexRange],
}

impl Bounds for Narrower<'_> {
    fn var(&self, var: VarId) -> Interval {
        self.bounds.var(var)
    }
    fn value(&self, value: ValueId) -> Interval {
        self.bounds.value(value)
    }
    fn conditions(&self) -> &[IndexRange] {
        self.conditions
    }
}

/// The largest factor by which an index is multiplied to compare it with a range.
const MAX_SCALE: i64 = 64;

/// A part of an index that is not a sum.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Atom {
    /// A loop variable.
    Var(VarId),
    /// An index value computed at run time.
    Dynamic(ValueId),
    /// The index divided by a positive constant, rounded down.
    Div(Box<Index>, i64),
    /// What the division leaves, not negative.
    Mod(Box<Index>, i64),
}

/// `factor * atom`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Term {
    /// Not 0.
    pub factor: i64,
    /// What is multiplied.
    pub atom: Atom,
}

impl Term {
    /// Bounds of the atom where `factor * atom + rest` lies in the range: `2*x + 1` in `0..6` gives
    /// `0..=2`. Empty (`low > high`) if nothing fits; `None` on overflow.
    pub(crate) fn solved(&self, range: &IndexRange, rest: Interval) -> Option<Interval> {
        let low = range.low.checked_sub(rest.high)?;
        let last = range.high.checked_sub(1)?.checked_sub(rest.low)?;
        let (low, last, factor) = if self.factor > 0 {
            (low, last, self.factor)
        } else {
            let factor = self.factor.checked_neg()?;
            (last.checked_neg()?, low.checked_neg()?, factor)
        };
        Some(Interval {
            low: low.div_euclid(factor) + i64::from(low.rem_euclid(factor) != 0),
            high: last.div_euclid(factor),
        })
    }
}

/// The terms of two sums together, sorted by atom as each of them is.
fn merged(mut one: &[Term], mut two: &[Term]) -> SmallVec<[Term; 3]> {
    let mut terms = SmallVec::new();
    while let ([first, others @ ..], [second, more @ ..]) = (one, two) {
        match first.atom.cmp(&second.atom) {
            Ordering::Less => {
                terms.push(first.clone());
                one = others;
            }
            Ordering::Greater => {
                terms.push(second.clone());
                two = more;
            }
            Ordering::Equal => {
                let factor = first.factor.wrapping_add(second.factor);
                if factor != 0 {
                    let atom = first.atom.clone();
                    terms.push(Term { factor, atom });
                }
                (one, two) = (others, more);
            }
        }
    }
    terms.extend(one.iter().chain(two).cloned());
    terms
}

/// A sum of terms and a constant, in normal form: terms sorted by atom, no atom twice, no factor 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Index {
    terms: SmallVec<[Term; 3]>,
    constant: i64,
}

impl Index {
    /// The index that is always `value`.
    pub fn constant(value: i64) -> Index {
        Index {
            terms: SmallVec::new(),
            constant: value,
        }
    }

    /// The index that is a loop variable.
    pub fn var(var: VarId) -> Index {
        Index::atom(Atom::Var(var))
    }

    /// The index that is a value computed at run time.
    pub fn dynamic(value: ValueId) -> Index {
        Index::atom(Atom::Dynamic(value))
    }

    /// The factor of the only term of `other` in this index, 0 if it is not in it.
    pub(crate) fn factor_of(&self, other: &Index) -> i64 {
        let [wanted] = other.terms.as_slice() else {
            return 0;
        };
        let found = self.terms.iter().find(|term| term.atom == wanted.atom);
        found.map_or(0, |term| term.factor)
    }

    /// `inner / divisor`, as it is.
    pub(crate) fn quotient(inner: &Index, divisor: i64) -> Index {
        Index::atom(Atom::Div(Box::new(inner.clone()), divisor))
    }

    /// `inner mod divisor`, as it is.
    pub(crate) fn remainder(inner: &Index, divisor: i64) -> Index {
        Index::atom(Atom::Mod(Box::new(inner.clone()), divisor))
    }

    fn atom(atom: Atom) -> Index {
        Index {
            terms: SmallVec::from_iter([Term { factor: 1, atom }]),
            constant: 0,
        }
    }

    /// The terms, sorted by atom.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// The constant summand.
    pub fn offset(&self) -> i64 {
        self.constant
    }

    /// The value if it is the same everywhere.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The sum of both. Sizes are bounded by arrays that fit in memory, so nothing overflows in valid
    /// programs; overflow wraps and the loop verifier refuses what comes of it.
    #[must_use]
    pub fn add(&self, other: &Index) -> Index {
        let sum = Index {
            terms: merged(&self.terms, &other.terms),
            constant: self.constant.wrapping_add(other.constant),
        };
        if self.terms.is_empty() || other.terms.is_empty() {
            return sum;
        }
        sum.recombined()
    }

    /// The sum with a constant.
    #[must_use]
    pub fn plus(&self, constant: i64) -> Index {
        Index {
            terms: self.terms.clone(),
            constant: self.constant.wrapping_add(constant),
        }
    }

    /// The product with a constant.
    #[must_use]
    pub fn times(&self, factor: i64) -> Index {
        if factor == 0 {
            return Index::constant(0);
        }
        let scale = |term: &Term| Term {
            factor: term.factor.wrapping_mul(factor),
            atom: term.atom.clone(),
        };
        Index {
            terms: self.terms.iter().map(scale).collect(),
            constant: self.constant.wrapping_mul(factor),
        }
    }

    /// The quotient by a positive constant, rounded down: `(3*i + j) / 3` with `j` below 3 gives `i`.
    #[must_use]
    pub fn div(&self, divisor: i64, bounds: &dyn Bounds) -> Index {
        if divisor == 1 {
            return self.clone();
        }
        let (multiple, rest) = self.split_multiples(divisor);
        match rest.interval(bounds) {
            Some(interval) if interval.within(0, divisor) => multiple,
            Some(interval)
                if interval.low.div_euclid(divisor) == interval.high.div_euclid(divisor) =>
            {
                multiple.plus(interval.low.div_euclid(divisor))
            }
            Some(_) | None => multiple.add(&rest.reduced_div(divisor)),
        }
    }

    /// The remainder of the division by a positive constant, in `0..divisor`.
    #[must_use]
    pub fn rem(&self, divisor: i64, bounds: &dyn Bounds) -> Index {
        if divisor == 1 {
            return Index::constant(0);
        }
        let (_, rest) = self.split_multiples(divisor);
        match rest.interval(bounds) {
            Some(interval) if interval.within(0, divisor) => rest,
            Some(interval)
                if interval.low.div_euclid(divisor) == interval.high.div_euclid(divisor) =>
            {
                rest.plus(-interval.low.div_euclid(divisor) * divisor)
            }
            Some(_) | None => rest.reduced_rem(divisor),
        }
    }

    /// `self = divisor * first + second`, with all terms that are multiples in the first.
    fn split_multiples(&self, divisor: i64) -> (Index, Index) {
        let (multiples, rest): (Vec<Term>, Vec<Term>) = self
            .terms
            .iter()
            .cloned()
            .partition(|term| term.factor % divisor == 0);
        let quotient = |term: Term| Term {
            factor: term.factor / divisor,
            atom: term.atom,
        };
        let first = Index {
            terms: multiples.into_iter().map(quotient).collect(),
            constant: self.constant.div_euclid(divisor),
        };
        (
            first,
            Index {
                terms: rest.into_iter().collect(),
                constant: self.constant.rem_euclid(divisor),
            },
        )
    }

    /// `self / divisor` as an atom; a factor common to all parts and the divisor is cancelled first.
    fn reduced_div(&self, divisor: i64) -> Index {
        let common = self.common_factor(divisor);
        let divisor = divisor / common;
        if divisor == 1 {
            self.shrunk(common)
        } else {
            Index::atom(Atom::Div(Box::new(self.shrunk(common)), divisor))
        }
    }

    fn reduced_rem(&self, divisor: i64) -> Index {
        let common = self.common_factor(divisor);
        let smaller = divisor / common;
        if smaller == 1 {
            return Index::constant(0);
        }
        Index::atom(Atom::Mod(Box::new(self.shrunk(common)), smaller)).times(common)
    }

    fn common_factor(&self, divisor: i64) -> i64 {
        let gcd = |a: i64, b: i64| {
            let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
            while b != 0 {
                (a, b) = (b, a % b);
            }
            i64::try_from(a).unwrap_or(1).max(1)
        };
        let parts = self
            .terms
            .iter()
            .map(|term| term.factor)
            .chain([self.constant]);
        parts.fold(divisor, gcd)
    }

    fn shrunk(&self, common: i64) -> Index {
        let shrink = |term: &Term| Term {
            factor: term.factor / common,
            atom: term.atom.clone(),
        };
        Index {
            terms: self.terms.iter().map(shrink).collect(),
            constant: self.constant / common,
        }
    }

    /// Rewrites `c*(x / c) + x mod c` to `x`, which composed reshapes produce.
    fn recombined(self) -> Index {
        for (at, term) in self.terms.iter().enumerate() {
            let Atom::Mod(inner, divisor) = &term.atom else {
                continue;
            };
            let wanted = Atom::Div(inner.clone(), *divisor);
            let partner = self.terms.iter().position(|other| {
                other.atom == wanted && other.factor == term.factor.wrapping_mul(*divisor)
            });
            if let Some(partner) = partner {
                let whole = inner.times(term.factor);
                let keep = |(index, term): (usize, &Term)| {
                    (index != at && index != partner).then(|| term.clone())
                };
                let rest = self.terms.iter().enumerate().filter_map(keep).collect();
                return Index {
                    terms: rest,
                    constant: self.constant,
                }
                .add(&whole);
            }
        }
        self
    }

    /// Bounds of the index, `None` on overflow.
    pub fn interval(&self, bounds: &dyn Bounds) -> Option<Interval> {
        let mut sum = Interval::point(self.constant);
        for term in &self.terms {
            let atom = term.atom.narrowed(bounds)?;
            let (a, b) = (
                atom.low.checked_mul(term.factor)?,
                atom.high.checked_mul(term.factor)?,
            );
            sum = Interval {
                low: sum.low.checked_add(a.min(b))?,
                high: sum.high.checked_add(a.max(b))?,
            };
        }
        let known = bounds
            .conditions()
            .iter()
            .filter_map(|range| self.interval_by(range, bounds));
        Some(known.fold(sum, |sum, known| Interval {
            low: sum.low.max(known.low),
            high: sum.high.min(known.high),
        }))
    }

    /// Bounds that a known range gives: if `c * self = m * range.index + rest`, then `c * self` lies within `m`
    /// times the range plus the bounds of the rest, which the later ranges may narrow further.
    ///
    /// `c` and `m` make one factor of `self` equal to one of the range: of 6 and 2 they are 1 and 3, of 2 and 3
    /// they are 3 and 2. `2*x + y` in `0..6` says that `x <= 2`.
    fn interval_by(&self, range: &IndexRange, bounds: &dyn Bounds) -> Option<Interval> {
        let first = range.index.terms.first()?;
        let shared = self.terms.iter().find(|term| term.atom == first.atom)?;
        if range.low >= range.high {
            return None;
        }
        let divisor = greatest_common_divisor(first.factor, shared.factor)?;
        // Both signs go to `multiple`: a positive `scale` keeps the order of bounds.
        let scale = first.factor.checked_abs()? / divisor;
        let multiple = shared.factor / divisor * first.factor.signum();
        let is_scaled = scale > 1;
        if is_scaled && scale.max(multiple.checked_abs()?) > MAX_SCALE {
            return None;
        }
        let rest = self
            .times(scale)
            .add(&range.index.times(multiple.checked_neg()?));
        // A term must go; of a scaled index, none may be added.
        if rest.terms.len() >= self.terms.len() + usize::from(is_scaled) {
            return None;
        }
        let conditions = bounds.conditions();
        let at = conditions
            .iter()
            .position(|other| std::ptr::eq(other, range))?;
        let later = Narrower {
            bounds,
            conditions: &conditions[at + 1..],
        };
        let rest = rest.interval(&later)?;
        let (a, b) = (
            range.low.checked_mul(multiple)?,
            (range.high - 1).checked_mul(multiple)?,
        );
        let low = rest.low.checked_add(a.min(b))?;
        let high = rest.high.checked_add(a.max(b))?;
        Some(Interval {
            low: low.div_euclid(scale) + i64::from(low.rem_euclid(scale) != 0),
            high: high.div_euclid(scale),
        })
    }

    /// The index with every loop variable replaced by `map` of it.
    #[must_use]
    pub fn substitute(&self, map: &dyn Fn(VarId) -> Index, bounds: &dyn Bounds) -> Index {
        let mut sum = Index::constant(self.constant);
        for term in &self.terms {
            let atom = match &term.atom {
                Atom::Var(var) => map(*var),
                Atom::Dynamic(value) => Index::dynamic(*value),
                Atom::Div(inner, divisor) => inner.substitute(map, bounds).div(*divisor, bounds),
                Atom::Mod(inner, divisor) => inner.substitute(map, bounds).rem(*divisor, bounds),
            };
            sum = sum.add(&atom.times(term.factor));
        }
        sum
    }

    /// The index with every run-time value replaced by `map` of it.
    #[must_use]
    pub fn map_values(&self, map: &dyn Fn(ValueId) -> ValueId) -> Index {
        if self
            .terms
            .iter()
            .all(|term| matches!(term.atom, Atom::Var(_)))
        {
            return self.clone();
        }
        let mut sum = Index::constant(self.constant);
        for term in &self.terms {
            let atom = match &term.atom {
                Atom::Var(var) => Atom::Var(*var),
                Atom::Dynamic(value) => Atom::Dynamic(map(*value)),
                Atom::Div(inner, divisor) => Atom::Div(Box::new(inner.map_values(map)), *divisor),
                Atom::Mod(inner, divisor) => Atom::Mod(Box::new(inner.map_values(map)), *divisor),
            };
            sum = sum.add(&Index::atom(atom).times(term.factor));
        }
        sum
    }

    /// The factor of `var` if the index is affine in it, `None` if it stands inside a division.
    pub fn stride(&self, var: VarId) -> Option<i64> {
        let mut stride = 0;
        for term in &self.terms {
            match &term.atom {
                Atom::Var(other) if *other == var => stride = term.factor,
                Atom::Var(_) | Atom::Dynamic(_) => {}
                Atom::Div(inner, _) | Atom::Mod(inner, _) if inner.mentions(var) => return None,
                Atom::Div(..) | Atom::Mod(..) => {}
            }
        }
        Some(stride)
    }

    /// Whether `var` stands anywhere in the index.
    pub fn mentions(&self, var: VarId) -> bool {
        self.terms.iter().any(|term| match &term.atom {
            Atom::Var(other) => *other == var,
            Atom::Dynamic(_) => false,
            Atom::Div(inner, _) | Atom::Mod(inner, _) => inner.mentions(var),
        })
    }

    /// The loop variables in the index, in order, each once.
    pub fn vars(&self) -> Vec<VarId> {
        let mut vars = Vec::new();
        self.visit(&mut |atom| {
            if let Atom::Var(var) = atom {
                vars.push(*var);
            }
        });
        vars.sort_unstable();
        vars.dedup();
        vars
    }

    /// The values computed at run time in the index, in order, each once.
    pub fn dynamic_values(&self) -> Vec<ValueId> {
        let mut values = Vec::new();
        self.visit(&mut |atom| {
            if let Atom::Dynamic(value) = atom {
                values.push(*value);
            }
        });
        values.sort_unstable();
        values.dedup();
        values
    }

    fn visit(&self, see: &mut dyn FnMut(&Atom)) {
        for term in &self.terms {
            see(&term.atom);
            match &term.atom {
                Atom::Div(inner, _) | Atom::Mod(inner, _) => inner.visit(see),
                Atom::Var(_) | Atom::Dynamic(_) => {}
            }
        }
    }

    /// The value for given loop variables and index values.
    pub fn evaluate(&self, var: &dyn Fn(VarId) -> i64, value: &dyn Fn(ValueId) -> i64) -> i64 {
        self.terms.iter().fold(self.constant, |sum, term| {
            let atom = match &term.atom {
                Atom::Var(id) => var(*id),
                Atom::Dynamic(id) => value(*id),
                Atom::Div(inner, divisor) => inner.evaluate(var, value).div_euclid(*divisor),
                Atom::Mod(inner, divisor) => inner.evaluate(var, value).rem_euclid(*divisor),
            };
            sum.wrapping_add(term.factor.wrapping_mul(atom))
        })
    }

    /// Writes the index with the names that `name` gives to variables: `3*i + j + 1`.
    ///
    /// # Errors
    /// Those of the formatter.
    pub fn write(&self, f: &mut dyn fmt::Write, name: &dyn Fn(VarId) -> String) -> fmt::Result {
        for (at, term) in self.terms.iter().enumerate() {
            f.write_str(match (at, term.factor < 0) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            })?;
            if term.factor.unsigned_abs() != 1 {
                write!(f, "{}*", term.factor.unsigned_abs())?;
            }
            term.atom.write(f, name)?;
        }
        match (self.terms.is_empty(), self.constant) {
            (true, constant) => write!(f, "{constant}"),
            (false, 0) => Ok(()),
            (false, constant) if constant < 0 => write!(f, " - {}", constant.unsigned_abs()),
            (false, constant) => write!(f, " + {constant}"),
        }
    }
}

impl Atom {
    /// Bounds of the atom, narrowed by the conditions that ask about nothing else.
    fn narrowed(&self, bounds: &dyn Bounds) -> Option<Interval> {
        let plain = self.interval(bounds)?;
        let known = bounds
            .conditions()
            .iter()
            .filter_map(|range| self.interval_by(range));
        Some(known.fold(plain, |sum, known| {
            let (low, high) = (sum.low.max(known.low), sum.high.min(known.high));
            // Conditions that exclude each other say nothing: what they guard never runs.
            if low <= high {
                Interval { low, high }
            } else {
                sum
            }
        }))
    }

    /// Bounds that `factor * self + offset` in a range gives.
    fn interval_by(&self, range: &IndexRange) -> Option<Interval> {
        let [term] = range.index.terms.as_slice() else {
            return None;
        };
        if term.atom != *self {
            return None;
        }
        term.solved(range, Interval::point(range.index.constant))
    }

    fn interval(&self, bounds: &dyn Bounds) -> Option<Interval> {
        match self {
            Atom::Var(var) => Some(bounds.var(*var)),
            Atom::Dynamic(value) => Some(bounds.value(*value)),
            Atom::Div(inner, divisor) => {
                let inner = inner.interval(bounds)?;
                Some(Interval {
                    low: inner.low.div_euclid(*divisor),
                    high: inner.high.div_euclid(*divisor),
                })
            }
            Atom::Mod(inner, divisor) => {
                let inner = inner.interval(bounds)?;
                let all = Interval {
                    low: 0,
                    high: divisor - 1,
                };
                Some(if inner.within(0, *divisor) {
                    inner
                } else {
                    all
                })
            }
        }
    }

    fn write(&self, f: &mut dyn fmt::Write, name: &dyn Fn(VarId) -> String) -> fmt::Result {
        match self {
            Atom::Var(var) => f.write_str(&name(*var)),
            Atom::Dynamic(value) => write!(f, "{value}"),
            Atom::Div(inner, divisor) => {
                f.write_str("(")?;
                inner.write(f, name)?;
                write!(f, " / {divisor})")
            }
            Atom::Mod(inner, divisor) => {
                f.write_str("(")?;
                inner.write(f, name)?;
                write!(f, " mod {divisor})")
            }
        }
    }
}

/// Row-major strides of `dims` in elements: `[2, 3, 4]` gives `[12, 4, 1]`.
pub fn row_major_strides(dims: &[i64]) -> Vec<i64> {
    let mut strides = vec![1i64; dims.len()];
    for dim in (1..dims.len()).rev() {
        strides[dim - 1] = strides[dim].wrapping_mul(dims[dim]);
    }
    strides
}

/// The position in a row-major array of sizes `dims` of the element at `indices`.
pub fn linear_index(indices: &[Index], dims: &[i64]) -> Index {
    let strides = row_major_strides(dims);
    let terms = indices
        .iter()
        .zip(&strides)
        .map(|(index, stride)| index.times(*stride));
    terms.fold(Index::constant(0), |sum, term| sum.add(&term))
}

/// The indices of the element at position `linear` of a row-major array of sizes `dims`.
pub fn delinearized(linear: &Index, dims: &[i64], bounds: &dyn Bounds) -> Vec<Index> {
    let strides = row_major_strides(dims);
    let split = |(at, stride): (usize, &i64)| {
        let quotient = linear.div((*stride).max(1), bounds);
        // The first index needs no remainder: the position is below the number of elements.
        if at == 0 {
            quotient
        } else {
            quotient.rem(dims[at].max(1), bounds)
        }
    };
    strides.iter().enumerate().map(split).collect()
}

/// Bounds from the extents of loop variables; index values are unbounded.
#[derive(Clone, Copy, Debug)]
pub struct VarExtents<'a>(pub &'a hloc_ir::Arena<VarId, crate::ir::Var>);

impl Bounds for VarExtents<'_> {
    fn var(&self, var: VarId) -> Interval {
        match self.0.get(var) {
            Some(var) => Interval {
                low: 0,
                high: var.extent - 1,
            },
            None => Interval {
                low: i64::MIN,
                high: i64::MAX,
            },
        }
    }

    fn value(&self, _: ValueId) -> Interval {
        Interval {
            low: i64::MIN,
            high: i64::MAX,
        }
    }
}

/// The greatest number that divides both, `None` if one is 0 or it is no `i64`.
fn greatest_common_divisor(a: i64, b: i64) -> Option<i64> {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    if a == 0 || b == 0 {
        return None;
    }
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).ok()
}

#[cfg(test)]
mod tests {
    use hloc_ir::{Arena, Id};

    use super::{Index, VarExtents, delinearized, linear_index};
    use crate::ir::{Var, VarId};

    fn vars(extents: &[i64]) -> Arena<VarId, Var> {
        extents
            .iter()
            .map(|extent| Var {
                name: String::new(),
                extent: *extent,
            })
            .collect()
    }

    #[test]
    fn composed_reshapes_cancel() {
        let vars = vars(&[6]);
        let bounds = VarExtents(&vars);
        let position = Index::var(VarId::from_index(0));
        let indices = delinearized(&position, &[2, 3], &bounds);
        assert_eq!(linear_index(&indices, &[2, 3]), position);
    }

    #[test]
    fn division_drops_terms_below_the_divisor() {
        let vars = vars(&[4, 3]);
        let bounds = VarExtents(&vars);
        let (i, j) = (
            Index::var(VarId::from_index(0)),
            Index::var(VarId::from_index(1)),
        );
        let position = i.times(3).add(&j);
        assert_eq!(position.div(3, &bounds), i);
        assert_eq!(position.rem(3, &bounds), j);
    }
}
