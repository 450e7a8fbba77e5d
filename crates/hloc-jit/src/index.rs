//! Emission of index expressions and addresses.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use hloc_loops::index::{Atom, Index, Term, VarExtents};
use hloc_loops::ir::{IndexRange, ParamId, VarId};

use crate::error::JitError;
use crate::kernel::Emitter;

/// Addresses and multiples that were computed where what is emitted now follows, so that each is computed once.
///
/// Cranelift would find them equal, too, but takes its time over every instruction.
#[derive(Default)]
pub(crate) struct Computed {
    /// Without the constant part of the index.
    addresses: Vec<(ParamId, Index, Value)>,
    multiples: Vec<(Value, i64, Value)>,
    /// How many of each there were before each surrounding loop or branch.
    outer: Vec<(usize, usize)>,
}

impl Computed {
    /// No more than so many are looked at: a long body computes few things again that are further back.
    const RECENT: usize = 32;

    /// Begins a loop's body or a branch.
    pub(crate) fn enter(&mut self) {
        let lengths = (self.addresses.len(), self.multiples.len());
        self.outer.push(lengths);
    }

    /// Forgets what was computed since [`Computed::enter`]: it does not hold behind.
    pub(crate) fn leave(&mut self) {
        let (addresses, multiples) = self.outer.pop().unwrap_or_default();
        self.addresses.truncate(addresses);
        self.multiples.truncate(multiples);
    }

    fn address(&self, param: ParamId, index: &Index) -> Option<Value> {
        let mut recent = self.addresses.iter().rev().take(Self::RECENT);
        let is_it = |(of, known, _): &&(ParamId, Index, Value)| {
            *of == param && known.terms() == index.terms()
        };
        recent.find(is_it).map(|(_, _, address)| *address)
    }

    fn note_address(&mut self, param: ParamId, index: &Index, address: Value) {
        self.addresses.push((param, index.clone(), address));
    }

    fn multiple(&self, value: Value, factor: i64) -> Option<Value> {
        let mut recent = self.multiples.iter().rev().take(Self::RECENT);
        let is_it = |(of, by, _): &&(Value, i64, Value)| (*of, *by) == (value, factor);
        recent.find(is_it).map(|(_, _, multiple)| *multiple)
    }

    fn note_multiple(&mut self, value: Value, factor: i64, multiple: Value) {
        self.multiples.push((value, factor, multiple));
    }
}

impl Emitter<'_, '_> {
    /// The value of an index as an `i64`.
    pub(crate) fn index(&mut self, index: &Index) -> Result<Value, JitError> {
        let sum = self.add_terms(None, index, 1)?;
        Ok(match (sum, index.offset()) {
            (Some(sum), 0) => sum,
            (Some(sum), offset) => self.b.ins().iadd_imm_s(sum, offset),
            (None, offset) => self.b.ins().iconst(types::I64, offset),
        })
    }

    /// An index in one iteration of the loop of `var`.
    pub(crate) fn at_iteration(&self, index: &Index, var: VarId, iteration: i64) -> Index {
        let fixed = |other| {
            if other == var {
                Index::constant(iteration)
            } else {
                Index::var(other)
            }
        };
        index.substitute(&fixed, &VarExtents(&self.kernel.vars))
    }

    /// The address of an element, with a displacement to add when it is accessed.
    pub(crate) fn address(
        &mut self,
        param: ParamId,
        index: &Index,
    ) -> Result<(Value, i32), JitError> {
        let (base, element_type) = self.param(param)?;
        let size = i64::try_from(element_type.size()).unwrap_or(1);
        let sum = match self.computed_addresses.address(param, index) {
            Some(known) => known,
            None => {
                let sum = self.add_terms(Some(base), index, size)?.unwrap_or(base);
                self.computed_addresses.note_address(param, index, sum);
                sum
            }
        };
        let offset = index.offset().wrapping_mul(size);
        match i32::try_from(offset) {
            // Room for the second part of a complex number and for unrolled accesses.
            Ok(offset) if offset < i32::MAX - 4096 => Ok((sum, offset)),
            Ok(_) | Err(_) => Ok((self.b.ins().iadd_imm_s(sum, offset), 0)),
        }
    }

    /// `start` plus the terms of `index` times `scale`, outer loops first: what an inner loop does not
    /// change stays together and is hoisted out of it.
    fn add_terms(
        &mut self,
        start: Option<Value>,
        index: &Index,
        scale: i64,
    ) -> Result<Option<Value>, JitError> {
        let mut terms: Vec<&Term> = index.terms().iter().collect();
        terms.sort_by_key(|term| self.atom_depth(&term.atom));
        let mut sum = start;
        for term in terms {
            let atom = self.atom(&term.atom)?;
            let scaled = self.scaled(atom, term.factor.wrapping_mul(scale));
            sum = Some(match sum {
                Some(sum) => self.b.ins().iadd(sum, scaled),
                None => scaled,
            });
        }
        Ok(sum)
    }

    fn scaled(&mut self, value: Value, factor: i64) -> Value {
        if factor == 1 {
            return value;
        }
        if let Some(known) = self.computed_addresses.multiple(value, factor) {
            return known;
        }
        let multiple = if factor > 0 && factor.count_ones() == 1 {
            self.b
                .ins()
                .ishl_imm_u(value, i64::from(factor.trailing_zeros()))
        } else {
            self.b.ins().imul_imm_s(value, factor)
        };
        self.computed_addresses
            .note_multiple(value, factor, multiple);
        multiple
    }

    fn atom_depth(&self, atom: &Atom) -> u32 {
        match atom {
            Atom::Var(var) => self.depth_of(*var),
            Atom::Dynamic(_) => u32::MAX,
            Atom::Div(inner, _) | Atom::Mod(inner, _) => {
                let depths = inner.terms().iter().map(|term| self.atom_depth(&term.atom));
                depths.max().unwrap_or(0)
            }
        }
    }

    fn atom(&mut self, atom: &Atom) -> Result<Value, JitError> {
        match atom {
            Atom::Var(var) => self.var(*var),
            Atom::Dynamic(value) => Ok(self.reg(*value)?.one()),
            Atom::Div(inner, divisor) => {
                let value = self.index(inner)?;
                Ok(if self.is_non_negative(inner) {
                    self.unsigned_quotient(value, *divisor)
                } else {
                    self.floor_quotient(value, *divisor)
                })
            }
            Atom::Mod(inner, divisor) => {
                let value = self.index(inner)?;
                let quotient = if self.is_non_negative(inner) {
                    if divisor.count_ones() == 1 {
                        return Ok(self.b.ins().band_imm_s(value, divisor - 1));
                    }
                    self.unsigned_quotient(value, *divisor)
                } else {
                    self.floor_quotient(value, *divisor)
                };
                let multiple = self.scaled(quotient, *divisor);
                Ok(self.b.ins().isub(value, multiple))
            }
        }
    }

    fn is_non_negative(&self, index: &Index) -> bool {
        let interval = index.interval(&VarExtents(&self.kernel.vars));
        interval.is_some_and(|interval| interval.low >= 0)
    }

    /// Cranelift turns the division by a constant into a multiplication.
    fn unsigned_quotient(&mut self, value: Value, divisor: i64) -> Value {
        self.b.ins().udiv_imm_u(value, divisor)
    }

    /// The quotient rounded down: for a negative value, `!(!value / divisor)`.
    fn floor_quotient(&mut self, value: Value, divisor: i64) -> Value {
        let sign = self.b.ins().sshr_imm_u(value, 63);
        let flipped = self.b.ins().bxor(value, sign);
        let quotient = self.unsigned_quotient(flipped, divisor);
        self.b.ins().bxor(quotient, sign)
    }

    /// Whether every index lies in its range, as an `i8`.
    pub(crate) fn in_range(&mut self, ranges: &[IndexRange]) -> Result<Value, JitError> {
        let mut all = None;
        for range in ranges {
            let index = self.index(&range.index.plus(range.low.wrapping_neg()))?;
            let length = range.high.saturating_sub(range.low).max(0);
            let length = self.b.ins().iconst(types::I64, length);
            let inside = self.b.ins().icmp(IntCC::UnsignedLessThan, index, length);
            all = Some(match all {
                Some(all) => self.b.ins().band(all, inside),
                None => inside,
            });
        }
        Ok(match all {
            Some(all) => all,
            None => self.b.ins().iconst(types::I8, 1),
        })
    }
}
