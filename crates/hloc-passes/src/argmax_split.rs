//! Takes a search for the place of the greatest or least element apart, so that both halves run in vectors.
//!
//! before:  r = (f32[8], s32[8]) reduce(x, iota, -inf, 0), dimensions={1}, to_apply=greater_and_where
//!          ROOT i = s32[8] get-tuple-element(r), index=1
//! after:   m = f32[8] reduce(x, -inf), dimensions={1}, to_apply=maximum
//!          ROOT i = s32[8] reduce(iota where x is m or NaN, else the greatest s32), dimensions={1}, to_apply=minimum
//!
//! The reducer must be the one that front ends write for `argmax` and `argmin`: the first NaN wins, then the
//! first of the extreme elements. Only where the extreme element itself is not used: it may be a zero of
//! another sign.

use std::collections::BTreeMap;

use hloc_ir::{
    BinaryOp, CompareType, ComparisonDirection, Computation, ComputationId, ElementType, Id,
    InstrId, Instruction, Module, Op, Origin, Scalar, Shape, TernaryOp,
};
use hloc_verify::VerifiedModule;

use crate::make::{Body, InPlace, Make};
use crate::module_rewriter::{ModuleRewriter, fused_computations};
use crate::rewriter::Rewriter;
use crate::{Pass, PassError};

/// The taking apart of `argmax` and `argmin`.
#[derive(Clone, Copy, Debug)]
pub struct ArgmaxSplit;

impl Pass for ArgmaxSplit {
    fn name(&self) -> &'static str {
        "argmax-split"
    }

    fn summary(&self) -> &'static str {
        "takes searches for the place of an extreme element apart"
    }

    fn run(&self, module: &VerifiedModule) -> Result<Option<Module>, PassError> {
        let fused = fused_computations(module);
        let mut rewriter = ModuleRewriter::new(self.name(), module);
        for (id, computation) in module.computations.iter() {
            let searches = if fused[id.index()] {
                BTreeMap::new()
            } else {
                searches(module, computation)
            };
            if searches.is_empty() {
                rewriter.keep(id);
                continue;
            }
            let mut reducers = BTreeMap::new();
            for (reduce, search) in &searches {
                let origin = &computation.instructions[*reduce].origin;
                let mut reducer = |op, ty| {
                    let body = binary(op, ty, origin.in_pass(self.name()));
                    rewriter.add("extreme", body)
                };
                let pair = [
                    reducer(search.extreme, search.values),
                    reducer(BinaryOp::Minimum, search.places),
                ];
                reducers.insert(*reduce, pair);
            }
            let mut rebuilt = rewriter.rewriter(id);
            let mut found = BTreeMap::new();
            for (at, instruction) in computation.instructions.iter() {
                if let (Some(search), Some(pair)) = (searches.get(&at), reducers.get(&at)) {
                    found.insert(at, split(&mut rebuilt, at, search, *pair));
                    rebuilt.drop(at);
                } else if let Some(place) = instruction
                    .operands
                    .first()
                    .and_then(|operand| found.get(operand))
                {
                    rebuilt.replace(at, *place);
                } else {
                    rebuilt.copy(at);
                }
            }
            rewriter.place(id, rebuilt);
        }
        Ok(rewriter.finish())
    }
}

/// A reduction that looks for a place.
struct Search {
    /// `maximum` or `minimum`.
    extreme: BinaryOp,
    values: ElementType,
    places: ElementType,
    dimension: i64,
}

/// The searches of a computation whose only users take the place.
fn searches(module: &Module, computation: &Computation) -> BTreeMap<InstrId, Search> {
    let mut searches = BTreeMap::new();
    for (id, instruction) in computation.instructions.iter() {
        if let Some(search) = search(module, computation, instruction) {
            searches.insert(id, search);
        }
    }
    if searches.is_empty() {
        return searches;
    }
    searches.remove(&computation.root);
    for instruction in computation.instructions.values() {
        let takes_place = if let Op::GetTupleElement { index } = instruction.op {
            index == 1 && is_plain(instruction)
        } else {
            false
        };
        for operand in &instruction.operands {
            if !takes_place {
                searches.remove(operand);
            }
        }
        let attributes = instruction.attributes.as_ref();
        for before in attributes.iter().flat_map(|all| &all.control_predecessors) {
            searches.remove(before);
        }
    }
    searches
}

fn is_plain(instruction: &Instruction) -> bool {
    let attributes = instruction.attributes.as_ref();
    attributes.is_none_or(|all| all.control_predecessors.is_empty())
}

fn search(module: &Module, computation: &Computation, reduce: &Instruction) -> Option<Search> {
    let Op::Reduce {
        dimensions,
        to_apply,
    } = &reduce.op
    else {
        return None;
    };
    let ([values, places, first_value, first_place], [dimension]) =
        (&reduce.operands[..], &dimensions[..])
    else {
        return None;
    };
    let at = |id: &InstrId| &computation.instructions[*id];
    let (value_shape, place_shape) = (at(values).shape.as_array()?, at(places).shape.as_array()?);
    let size = *value_shape.dims.get(usize::try_from(*dimension).ok()?)?;
    let (ty, place_ty) = (value_shape.element_type, place_shape.element_type);
    let most = greatest(place_ty)?;
    let is_number = ty.is_float() || ty.is_integer();
    let is_static = value_shape.dynamic == 0 && place_shape.dynamic == 0;
    let fits = is_number && is_static && is_plain(reduce) && size > 0 && size <= most;
    if !fits || !numbers_along(computation, *places, *dimension, size) {
        return None;
    }
    let extreme = comparator(&module.computations[*to_apply])?;
    let is_outermost = is_extreme(constant(at(first_value))?, ty, extreme == BinaryOp::Minimum);
    let is_zero = constant(at(first_place))? == Scalar::Int(0);
    (is_outermost && is_zero).then_some(Search {
        extreme,
        values: ty,
        places: place_ty,
        dimension: *dimension,
    })
}

/// The greatest place that a type has; `None` for types that no one uses for places.
fn greatest(ty: ElementType) -> Option<i64> {
    if ty == ElementType::S32 {
        Some(i64::from(i32::MAX))
    } else if ty == ElementType::S64 {
        Some(i64::MAX)
    } else {
        None
    }
}

fn constant(instruction: &Instruction) -> Option<Scalar> {
    let Op::Constant { literal } = &instruction.op else {
        return None;
    };
    let array = literal.as_array()?;
    (array.num_elements() == 1).then(|| array.get(0))
}

/// Whether no value of the type is greater (`greatest`), else less.
fn is_extreme(value: Scalar, ty: ElementType, greatest: bool) -> bool {
    let unused = 64_u32.saturating_sub(ty.bits());
    match (value, greatest) {
        (Scalar::Float(value), true) => value == f64::INFINITY,
        (Scalar::Float(value), false) => value == f64::NEG_INFINITY,
        (Scalar::Int(value), true) => value == i64::MAX >> unused,
        (Scalar::Int(value), false) => value == i64::MIN >> unused,
        (Scalar::Uint(value), true) => value == u64::MAX >> unused,
        (Scalar::Uint(value), false) => value == 0,
        (Scalar::Pred(_) | Scalar::Complex(..), _) => false,
    }
}

/// Whether every element of `id` is its own place, from 0, along `dimension` of this size.
fn numbers_along(computation: &Computation, id: InstrId, dimension: i64, size: i64) -> bool {
    let instruction = &computation.instructions[id];
    if let Op::Iota { iota_dimension } = instruction.op {
        return iota_dimension == dimension;
    }
    let Op::Broadcast { dimensions } = &instruction.op else {
        return false;
    };
    let Some(source) = instruction.operands.first() else {
        return false;
    };
    let source = &computation.instructions[*source];
    let Op::Iota { iota_dimension } = source.op else {
        return false;
    };
    let at = usize::try_from(iota_dimension).unwrap_or(usize::MAX);
    let along = source.shape.as_array().and_then(|shape| shape.dims.get(at));
    dimensions.get(at) == Some(&dimension) && along == Some(&size)
}

/// A reducer of pairs under scrutiny.
struct Reducer<'m>(&'m Computation);

impl Reducer<'_> {
    fn is_parameter(&self, id: InstrId, number: usize) -> bool {
        self.0.parameters.get(number) == Some(&id)
    }

    /// The direction of a comparison in the order of numbers.
    fn compared(&self, id: InstrId, lhs: usize, rhs: usize) -> Option<ComparisonDirection> {
        let instruction = &self.0.instructions[id];
        let Op::Compare {
            direction,
            compare_type,
            broadcast_dimensions: None,
        } = &instruction.op
        else {
            return None;
        };
        let [x, y] = instruction.operands[..] else {
            return None;
        };
        let fits = *compare_type != Some(CompareType::TotalOrder)
            && self.is_parameter(x, lhs)
            && self.is_parameter(y, rhs);
        fits.then_some(*direction)
    }

    /// Both operands of a binary op.
    fn sides(&self, id: InstrId, wanted: BinaryOp) -> Option<[InstrId; 2]> {
        let instruction = &self.0.instructions[id];
        match (&instruction.op, &instruction.operands[..]) {
            (Op::Binary { op, .. }, [x, y]) if *op == wanted => Some([*x, *y]),
            (_, _) => None,
        }
    }

    /// The condition of a choice between two parameters.
    fn chosen(&self, id: InstrId, yes: usize, no: usize) -> Option<InstrId> {
        let instruction = &self.0.instructions[id];
        match (&instruction.op, &instruction.operands[..]) {
            (Op::Ternary { op, .. }, [condition, x, y])
                if *op == TernaryOp::Select
                    && self.is_parameter(*x, yes)
                    && self.is_parameter(*y, no) =>
            {
                Some(*condition)
            }
            (_, _) => None,
        }
    }

    /// `maximum` for `a > b or a is NaN`, `minimum` for `a < b or a is NaN`. Integers need not be asked whether they
    /// are NaN.
    fn keeps(&self, id: InstrId) -> Option<BinaryOp> {
        let first = self.0.instructions[*self.0.parameters.first()?]
            .shape
            .as_array()?;
        if let Some(sides) = self.sides(id, BinaryOp::Or) {
            let is_nan = |id| self.compared(id, 0, 0) == Some(ComparisonDirection::Ne);
            return match sides {
                [x, y] if is_nan(y) => self.further(x),
                [x, y] if is_nan(x) => self.further(y),
                [_, _] => None,
            };
        }
        first.element_type.is_integer().then(|| self.further(id))?
    }

    fn further(&self, id: InstrId) -> Option<BinaryOp> {
        let direction = self
            .compared(id, 0, 2)
            .or_else(|| self.compared(id, 2, 0).and_then(swapped))?;
        match direction {
            ComparisonDirection::Gt => Some(BinaryOp::Maximum),
            ComparisonDirection::Lt => Some(BinaryOp::Minimum),
            ComparisonDirection::Eq
            | ComparisonDirection::Ne
            | ComparisonDirection::Ge
            | ComparisonDirection::Le => None,
        }
    }

    /// Whether this is `a == b and place of a < place of b`.
    fn is_earlier(&self, id: InstrId) -> bool {
        let equal = |id| {
            let direction = self.compared(id, 0, 2).or_else(|| self.compared(id, 2, 0));
            direction == Some(ComparisonDirection::Eq)
        };
        let before = |id| {
            let swapped = || self.compared(id, 3, 1).and_then(swapped);
            let direction = self.compared(id, 1, 3).or_else(swapped);
            direction == Some(ComparisonDirection::Lt)
        };
        let sides = self.sides(id, BinaryOp::And);
        sides.is_some_and(|[x, y]| equal(x) && before(y) || equal(y) && before(x))
    }
}

/// The direction with both sides exchanged, of `<` and `>`.
fn swapped(direction: ComparisonDirection) -> Option<ComparisonDirection> {
    match direction {
        ComparisonDirection::Gt => Some(ComparisonDirection::Lt),
        ComparisonDirection::Lt => Some(ComparisonDirection::Gt),
        ComparisonDirection::Eq
        | ComparisonDirection::Ne
        | ComparisonDirection::Ge
        | ComparisonDirection::Le => None,
    }
}

/// What a reducer of values and places keeps, if it is one of `argmax` or `argmin`.
fn comparator(computation: &Computation) -> Option<BinaryOp> {
    let reducer = Reducer(computation);
    let root = &computation.instructions[computation.root];
    let (Op::Tuple {}, [value, place]) = (&root.op, &root.operands[..]) else {
        return None;
    };
    let keeps = reducer.chosen(*value, 0, 2)?;
    let extreme = reducer.keeps(keeps)?;
    let [x, y] = reducer.sides(reducer.chosen(*place, 1, 3)?, BinaryOp::Or)?;
    // The same instruction, or one that says the same.
    let is_same = |id| id == keeps || reducer.keeps(id) == Some(extreme);
    let fits = is_same(x) && reducer.is_earlier(y) || is_same(y) && reducer.is_earlier(x);
    fits.then_some(extreme)
}

/// A reducer that is one op.
fn binary(op: BinaryOp, ty: ElementType, origin: Origin) -> Computation {
    let mut body = Body::new(origin);
    let x = body.parameter(Shape::scalar(ty));
    let y = body.parameter(Shape::scalar(ty));
    let root = body.binary(op, x, y);
    body.finish(root)
}

/// The two reductions in place of a search; gives the place.
fn split(
    rebuilt: &mut Rewriter<'_>,
    like: InstrId,
    search: &Search,
    [extreme, least]: [ComputationId; 2],
) -> InstrId {
    let operands = rebuilt.mapped_operands(like);
    let (values, places, first) = (operands[0], operands[1], operands[2]);
    let mut make = InPlace { rebuilt, like };
    let dims = make.array(values).dims;
    let kept: Vec<i64> = (0..dims.len() as i64)
        .filter(|dim| *dim != search.dimension)
        .collect();
    let kept_dims: Vec<i64> = kept.iter().map(|dim| dims[*dim as usize]).collect();
    let reduced = |ty, to_apply, make: &mut InPlace<'_, '_>, operands: [InstrId; 2]| {
        let op = Op::Reduce {
            dimensions: vec![search.dimension],
            to_apply,
        };
        make.make(op, &operands, Shape::array(ty, &kept_dims))
    };
    let found = reduced(search.values, extreme, &mut make, [values, first]);
    let found = make.broadcast(found, &dims, &kept);
    let mut is_found = make.compare(ComparisonDirection::Eq, values, found);
    if search.values.is_float() {
        // If there is a NaN, it is what was found, and equals nothing.
        let is_nan = make.compare(ComparisonDirection::Ne, values, values);
        is_found = make.binary(BinaryOp::Or, is_found, is_nan);
    }
    let most = greatest(search.places).unwrap_or(i64::MAX);
    let most = make.constant(search.places, Scalar::Int(most));
    let nowhere = make.spread(most, &dims);
    let places = make.select(is_found, places, nowhere);
    reduced(search.places, least, &mut make, [places, most])
}

#[cfg(test)]
mod tests {
    use super::ArgmaxSplit;
    use crate::testing::{module, rewritten, run_on};
    use hloc_ir::print_module;

    /// An `argmax` of `f32[2,3]` in which pieces of the text can be replaced.
    fn search(changes: &[(&str, &str)]) -> String {
        let mut text = String::from(
            "HloModule test
which {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  further = pred[] compare(a, b), direction=GT
  is_nan = pred[] compare(a, a), direction=NE
  keep = pred[] or(further, is_nan)
  value = f32[] select(keep, a, b)
  same = pred[] compare(a, b), direction=EQ
  before = pred[] compare(i, j), direction=LT
  first = pred[] and(same, before)
  stay = pred[] or(keep, first)
  place = s32[] select(stay, i, j)
  ROOT both = (f32[], s32[]) tuple(value, place)
}
ENTRY main {
  x = f32[2,3] parameter(0)
  n = s32[2,3] iota(), iota_dimension=1
  low = f32[] constant(-inf)
  zero = s32[] constant(0)
  r = (f32[2], s32[2]) reduce(x, n, low, zero), dimensions={1}, to_apply=which
  ROOT where = s32[2] get-tuple-element(r), index=1
}
",
        );
        for (from, to) in changes {
            assert!(text.contains(from), "{from}");
            text = text.replace(from, to);
        }
        text
    }

    #[test]
    fn a_search_becomes_two_reductions() {
        let text = rewritten(&ArgmaxSplit, &search(&[]));
        assert!(text.contains("maximum"), "{text}");
        assert!(text.contains("minimum"), "{text}");
        assert!(!text.contains("get-tuple-element"), "{text}");
    }

    #[test]
    fn least_elements_are_searched_too() {
        let changes = [
            ("(a, b), direction=GT", "(b, a), direction=GT"),
            ("-inf", "inf"),
        ];
        let text = rewritten(&ArgmaxSplit, &search(&changes));
        assert!(!text.contains("maximum"), "{text}");
    }

    #[test]
    fn other_searches_stay() {
        let cases: &[&[(&str, &str)]] = &[
            &[("direction=GT", "direction=GE")],
            &[("direction=LT", "direction=GT")],
            &[("constant(-inf)", "constant(0)")],
            &[("constant(0)", "constant(1)")],
            &[("iota_dimension=1", "iota_dimension=0")],
            &[("select(keep, a, b)", "select(further, a, b)")],
            &[("or(further, is_nan)", "or(further, further)")],
            &[("direction=EQ", "direction=EQ, type=TOTALORDER")],
            &[("index=1", "index=0"), ("where = s32", "where = f32")],
        ];
        for changes in cases {
            let before = module(&search(changes));
            let after = run_on(&ArgmaxSplit, &before);
            assert_eq!(print_module(&before), print_module(&after), "{changes:?}");
        }
    }
}
