//! What a comparator orders by, where that can be said by keys.

use hloc_ir::{BinaryOp, CompareType, ComparisonDirection, Computation, InstrId, Op, TernaryOp};

/// The most pairs of instructions looked at, so that time stays in bounds.
const MAX_PAIRS: usize = 1000;

/// One key: a function of the elements of one sorted array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Key {
    /// Which array.
    pub(super) operand: usize,
    /// The instruction of the comparator that computes the key from parameter `2 * operand`.
    pub(super) root: InstrId,
    /// By which order keys are compared.
    pub(super) order: CompareType,
    /// Whether greater keys come first.
    pub(super) descending: bool,
}

/// A comparison of one function of both elements.
struct Compared {
    key: Key,
    direction: ComparisonDirection,
}

/// The keys by which a comparator orders, the most significant first; `None` if it does something else.
///
/// Recognized are `f(a) < f(b)` and `f(a) > f(b)`, and such a comparison followed by another one for
/// pairs that are equal under it, as an `or` of an `and` or as a `select`.
pub(super) fn keys(comparator: &Computation) -> Option<Vec<Key>> {
    let reader = Reader { comparator };
    let mut keys = Vec::new();
    let mut at = comparator.root;
    loop {
        if let Some(compared) = reader.strict(at) {
            keys.push(compared.key);
            return Some(keys);
        }
        let (key, rest) = reader.link(at)?;
        keys.push(key);
        at = rest;
    }
}

struct Reader<'a> {
    comparator: &'a Computation,
}

impl Reader<'_> {
    fn op(&self, at: InstrId) -> &Op {
        &self.comparator.instructions[at].op
    }

    fn operands<const N: usize>(&self, at: InstrId) -> Option<[InstrId; N]> {
        self.comparator.instructions[at].operands[..]
            .try_into()
            .ok()
    }

    /// A comparison that says which of the two comes first.
    fn strict(&self, at: InstrId) -> Option<Compared> {
        let compared = self.comparison(at)?;
        [ComparisonDirection::Lt, ComparisonDirection::Gt]
            .contains(&compared.direction)
            .then_some(compared)
    }

    /// A comparison of one function of the elements of one array.
    fn comparison(&self, at: InstrId) -> Option<Compared> {
        let Op::Compare {
            direction,
            compare_type,
            ..
        } = self.op(at)
        else {
            return None;
        };
        let [left, right] = self.operands(at)?;
        let shape = self.comparator.instructions[left].shape.as_array()?;
        let order = compare_type.unwrap_or(CompareType::default_for(shape.element_type));
        let mut pairs = Pairs {
            reader: self,
            numbers: None,
            left: MAX_PAIRS,
        };
        pairs.same_function(left, right).then_some(())?;
        let (first, second) = pairs.numbers?;
        let (operand, swapped) = (first.min(second) / 2, first > second);
        let root = if swapped { right } else { left };
        let descending = (*direction == ComparisonDirection::Gt) != swapped;
        let key = Key {
            operand: usize::try_from(operand).ok()?,
            root,
            order,
            descending,
        };
        Some(Compared {
            key,
            direction: *direction,
        })
    }

    /// A comparison that decides unless both keys are equal, and what decides then.
    fn link(&self, at: InstrId) -> Option<(Key, InstrId)> {
        if let Op::Binary {
            op: BinaryOp::Or, ..
        } = self.op(at)
        {
            let [x, y] = self.operands(at)?;
            return self.or_and(x, y).or_else(|| self.or_and(y, x));
        }
        let Op::Ternary {
            op: TernaryOp::Select,
            ..
        } = self.op(at)
        else {
            return None;
        };
        let [asked, yes, no] = self.operands(at)?;
        let asked = self.comparison(asked)?;
        let (equal, unequal) = match asked.direction {
            ComparisonDirection::Eq => (yes, no),
            ComparisonDirection::Ne => (no, yes),
            ComparisonDirection::Ge
            | ComparisonDirection::Gt
            | ComparisonDirection::Le
            | ComparisonDirection::Lt => return None,
        };
        let key = self.strict(unequal)?.key;
        self.same_key(&key, &asked.key).then_some((key, equal))
    }

    /// `first` or (equal and `rest`).
    fn or_and(&self, first: InstrId, and: InstrId) -> Option<(Key, InstrId)> {
        let Op::Binary {
            op: BinaryOp::And, ..
        } = self.op(and)
        else {
            return None;
        };
        let key = self.strict(first)?.key;
        let [x, y] = self.operands(and)?;
        let is_equal = |at: InstrId| {
            self.comparison(at).is_some_and(|compared| {
                compared.direction == ComparisonDirection::Eq && self.same_key(&key, &compared.key)
            })
        };
        if is_equal(x) {
            Some((key, y))
        } else if is_equal(y) {
            Some((key, x))
        } else {
            None
        }
    }

    fn same_key(&self, x: &Key, y: &Key) -> bool {
        x.operand == y.operand && x.root == y.root && x.order == y.order
    }
}

/// Compares two expressions that may differ in their parameter only.
struct Pairs<'a> {
    reader: &'a Reader<'a>,
    /// The parameters that stand in the same place.
    numbers: Option<(i64, i64)>,
    left: usize,
}

impl Pairs<'_> {
    /// Whether both compute the same function, the left one of one element and the right one of the
    /// other element of the same array.
    fn same_function(&mut self, x: InstrId, y: InstrId) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        let instructions = &self.reader.comparator.instructions;
        let (first, second) = (&instructions[x], &instructions[y]);
        if let (Op::Parameter { number: x }, Op::Parameter { number: y }) = (&first.op, &second.op)
        {
            let pair = (*x, *y);
            let is_pair = x / 2 == y / 2 && x != y;
            return is_pair && *self.numbers.get_or_insert(pair) == pair;
        }
        let is_scalar = first
            .shape
            .as_array()
            .is_some_and(|shape| shape.dims.is_empty());
        let same = is_scalar
            && first.op == second.op
            && first.shape.compatible(&second.shape)
            && first.operands.len() == second.operands.len()
            && is_function(&first.op);
        let mut operands = first.operands.iter().zip(&second.operands);
        same && operands.all(|(x, y)| self.same_function(*x, *y))
    }
}

/// Whether an op's result depends on its operands' elements alone.
fn is_function(op: &Op) -> bool {
    if let Op::Constant { .. }
    | Op::Unary { .. }
    | Op::Binary { .. }
    | Op::Ternary { .. }
    | Op::Compare { .. }
    | Op::Convert {}
    | Op::BitcastConvert {}
    | Op::ReducePrecision { .. }
    | Op::Copy {} = op
    {
        return true;
    }
    false
}

#[cfg(test)]
mod tests {
    use hloc_diag::Source;
    use hloc_ir::{CompareType, Id};

    use super::keys;

    /// For each recognized key: array, number of the instruction, order, whether descending.
    fn recognized(comparator: &str) -> Option<Vec<(usize, usize, CompareType, bool)>> {
        let text = format!(
            "HloModule m\nbefore {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  c = s32[] parameter(2)\n  d = s32[] parameter(3)\n{comparator}\n}}\nENTRY main {{\n  x = f32[4] parameter(0)\n  y = s32[4] parameter(1)\n  ROOT r = (f32[4], s32[4]) sort(x, y), dimensions={{0}}, to_apply=before\n}}\n"
        );
        let source = Source::new("test", text).expect("small");
        let module = hloc_parser::parse(&source).expect("well formed");
        let before = module.computations.values().next().expect("the comparator");
        let keys = keys(before)?;
        let row = |key: &super::Key| (key.operand, key.root.index(), key.order, key.descending);
        Some(keys.iter().map(row).collect())
    }

    #[test]
    fn plain_orders() {
        let less = "  ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER";
        assert_eq!(
            recognized(less),
            Some(vec![(0, 0, CompareType::TotalOrder, false)])
        );
        let swapped = "  ROOT r = pred[] compare(d, c), direction=LT";
        assert_eq!(
            recognized(swapped),
            Some(vec![(1, 2, CompareType::Signed, true)])
        );
        let greater = "  ROOT r = pred[] compare(c, d), direction=GT";
        assert_eq!(
            recognized(greater),
            Some(vec![(1, 2, CompareType::Signed, true)])
        );
    }

    #[test]
    fn functions_of_both_elements_alike() {
        let both =
            "  e = f32[] abs(a)\n  f = f32[] abs(b)\n  ROOT r = pred[] compare(e, f), direction=LT";
        assert_eq!(
            recognized(both),
            Some(vec![(0, 4, CompareType::Float, false)])
        );
        let other = "  e = f32[] abs(a)\n  f = f32[] negate(b)\n  ROOT r = pred[] compare(e, f), direction=LT";
        assert_eq!(recognized(other), None);
    }

    #[test]
    fn further_keys_for_ties() {
        let ties = "  l = pred[] compare(a, b), direction=GT\n  e = pred[] compare(a, b), direction=EQ\n  m = pred[] compare(c, d), direction=LT\n  n = pred[] and(e, m)\n  ROOT r = pred[] or(n, l)";
        let want = vec![
            (0, 0, CompareType::Float, true),
            (1, 2, CompareType::Signed, false),
        ];
        assert_eq!(recognized(ties), Some(want.clone()));
        let chosen = "  l = pred[] compare(a, b), direction=GT\n  e = pred[] compare(a, b), direction=NE\n  m = pred[] compare(c, d), direction=LT\n  ROOT r = pred[] select(e, l, m)";
        assert_eq!(recognized(chosen), Some(want));
    }

    #[test]
    fn what_is_no_strict_order_is_left_alone() {
        for text in [
            "  ROOT r = pred[] compare(a, b), direction=LE",
            "  ROOT r = pred[] compare(a, a), direction=LT",
            "  e = f32[] convert(c)\n  ROOT r = pred[] compare(a, e), direction=LT",
            "  ROOT r = pred[] constant(true)",
        ] {
            assert_eq!(recognized(text), None, "{text}");
        }
    }
}
