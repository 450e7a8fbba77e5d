//! What most shape rules ask: operands that are arrays, lists of dimension numbers, called computations.

use std::fmt::Write as _;

use hloc_tensor::ElementType;

use crate::{ArrayShape, Broken, Computation, ComputationId, Focus, Shape, ShapeContext};

/// `Ok` if `holds`, else what `broken` makes.
pub(super) fn require(holds: bool, broken: impl FnOnce() -> Broken) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(broken()) }
}

/// The list as attributes show it: `{0,1}`.
pub(super) fn list(items: &[i64]) -> String {
    let mut text = String::from("{");
    for (at, item) in items.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma}{item}");
    }
    text.push('}');
    text
}

/// `1 operand`, `2 operands`.
pub(super) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Operand `index`, which the op's operand count or the caller promises.
pub(super) fn operand<'a>(cx: &ShapeContext<'a>, index: usize) -> Result<&'a Shape, Broken> {
    cx.operands.get(index).copied().ok_or_else(|| {
        Broken::new(
            "arity_c1",
            format!(
                "has {}, but its rule needs operand {index}",
                count(cx.operands.len(), "operand")
            ),
        )
    })
}

/// Operand `index` as an array.
pub(super) fn array<'a>(cx: &ShapeContext<'a>, index: usize) -> Result<&'a ArrayShape, Broken> {
    let shape = operand(cx, index)?;
    shape.as_array().ok_or_else(|| {
        Broken::new(
            "operand_c1",
            format!("takes an array as operand {index}, which has shape {shape}"),
        )
        .at(Focus::Operand(index))
    })
}

/// All operands from `first` on as arrays.
pub(super) fn arrays<'a>(
    cx: &ShapeContext<'a>,
    first: usize,
) -> Result<Vec<&'a ArrayShape>, Broken> {
    (first..cx.operands.len())
        .map(|index| array(cx, index))
        .collect()
}

/// The declared result shape.
pub(super) fn declared<'a>(cx: &ShapeContext<'a>) -> Result<&'a Shape, Broken> {
    cx.declared.ok_or_else(|| {
        Broken::new(
            "result_c2",
            format!(
                "leaves out its result shape, which `{}` needs",
                cx.op.opcode()
            ),
        )
        .at(Focus::Result)
        .with_help("write the shape in front of the opcode")
    })
}

/// The declared result shape as an array.
pub(super) fn declared_array<'a>(cx: &ShapeContext<'a>) -> Result<&'a ArrayShape, Broken> {
    let shape = declared(cx)?;
    shape.as_array().ok_or_else(|| {
        Broken::new(
            "result_c3",
            format!("declares {shape}, but `{}` gives an array", cx.op.opcode()),
        )
        .at(Focus::Result)
    })
}

/// Operand `index` as a scalar of type `ty`.
pub(super) fn scalar_of(
    cx: &ShapeContext<'_>,
    index: usize,
    ty: ElementType,
    label: &'static str,
) -> Result<(), Broken> {
    let shape = operand(cx, index)?;
    require(shape.compatible(&Shape::scalar(ty)), || {
        Broken::new(
            label,
            format!("takes {ty}[] as operand {index}, which has shape {shape}"),
        )
        .at(Focus::Operand(index))
    })
}

/// Arrays with one shape, or a tuple of them if there are several.
pub(super) fn one_or_tuple(mut shapes: Vec<Shape>) -> Shape {
    match shapes.pop() {
        Some(only) if shapes.is_empty() => only,
        Some(last) => {
            shapes.push(last);
            Shape::Tuple(shapes)
        }
        None => Shape::Tuple(shapes),
    }
}

/// An attribute that is one dimension number of an array.
pub(super) fn one_dimension(
    attribute: &'static str,
    number: i64,
    (limit, of): (usize, &str),
    label: &'static str,
) -> Result<(), Broken> {
    require((0..limit as i64).contains(&number), || {
        Broken::new(
            label,
            format!(
                "declares {attribute}={number}, but {of} has {}, numbered from 0",
                count(limit, "dimension")
            ),
        )
        .at(Focus::Attribute(attribute))
    })
}

/// An attribute that lists dimension numbers of an array.
#[derive(Clone, Copy)]
pub(super) struct DimNumbers<'a> {
    /// Name of the attribute.
    pub(super) attribute: &'static str,
    /// The numbers.
    pub(super) numbers: &'a [i64],
    /// How many dimensions there are.
    pub(super) limit: usize,
    /// What has these dimensions, in words.
    pub(super) of: &'static str,
}

impl DimNumbers<'_> {
    /// Every number is in `0..limit`.
    pub(super) fn in_range(self, label: &'static str) -> Result<(), Broken> {
        let limit = self.limit as i64;
        let outside = self
            .numbers
            .iter()
            .find(|number| !(0..limit).contains(*number));
        outside.map_or(Ok(()), |number| {
            Err(Broken::new(
                label,
                format!(
                    "declares {}={}, but {} has {}, so there is no dimension {number}",
                    self.attribute,
                    list(self.numbers),
                    self.of,
                    count(self.limit, "dimension"),
                ),
            )
            .at(Focus::Attribute(self.attribute)))
        })
    }

    /// No number occurs twice; numbers out of range are passed over.
    pub(super) fn unique(self, label: &'static str) -> Result<(), Broken> {
        let mut seen = vec![false; self.limit];
        for &number in self.numbers {
            let Some(seen) = usize::try_from(number).ok().and_then(|at| seen.get_mut(at)) else {
                continue;
            };
            if std::mem::replace(seen, true) {
                return Err(Broken::new(
                    label,
                    format!(
                        "declares {}={}, which names dimension {number} twice",
                        self.attribute,
                        list(self.numbers)
                    ),
                )
                .at(Focus::Attribute(self.attribute)));
            }
        }
        Ok(())
    }

    /// Each number is larger than the one before.
    pub(super) fn increasing(self, label: &'static str) -> Result<(), Broken> {
        let falls = self.numbers.windows(2).find(|pair| pair[0] >= pair[1]);
        falls.map_or(Ok(()), |pair| {
            Err(Broken::new(
                label,
                format!(
                    "declares {}={}, where {} is followed by {}, but the numbers must increase",
                    self.attribute,
                    list(self.numbers),
                    pair[0],
                    pair[1],
                ),
            )
            .at(Focus::Attribute(self.attribute)))
        })
    }
}

/// A called computation, seen from outside.
#[derive(Clone, Copy)]
pub(super) struct Called<'a> {
    computation: &'a Computation,
    /// The attribute that names it.
    pub(super) attribute: &'static str,
    /// Shape of its root.
    pub(super) result: &'a Shape,
}

impl<'a> Called<'a> {
    /// Computation `id`, named by `attribute`.
    pub(super) fn of(
        cx: &ShapeContext<'a>,
        id: ComputationId,
        attribute: &'static str,
    ) -> Result<Called<'a>, Broken> {
        let missing = || {
            Broken::new(
                "called_c1",
                format!("names a computation in {attribute} that the module does not hold"),
            )
            .at(Focus::Attribute(attribute))
        };
        let computation = cx.computations.get(id).ok_or_else(missing)?;
        let root = computation.instructions.get(computation.root);
        Ok(Called {
            computation,
            attribute,
            result: &root.ok_or_else(missing)?.shape,
        })
    }

    /// Its name.
    pub(super) fn name(&self) -> &'a str {
        &self.computation.name
    }

    /// How many parameters it has.
    pub(super) fn num_parameters(&self) -> usize {
        self.computation.parameters.len()
    }

    /// Shape of parameter `number`; the empty tuple if the module is malformed, which is reported
    /// elsewhere.
    pub(super) fn parameter(&self, number: usize) -> &'a Shape {
        const MALFORMED: &Shape = &Shape::Tuple(Vec::new());
        let id = self.computation.parameters.get(number);
        id.and_then(|id| self.computation.instructions.get(*id))
            .map_or(MALFORMED, |instruction| &instruction.shape)
    }

    /// A broken rule about this computation.
    pub(super) fn broken(&self, label: &'static str, message: String) -> Broken {
        Broken::new(label, message).at(Focus::Attribute(self.attribute))
    }

    /// It has `expected` parameters.
    pub(super) fn takes(&self, expected: usize, label: &'static str) -> Result<(), Broken> {
        require(self.num_parameters() == expected, || {
            self.broken(
                label,
                format!(
                    "passes {} to `{}`, which has {}",
                    count(expected, "value"),
                    self.name(),
                    count(self.num_parameters(), "parameter"),
                ),
            )
        })
    }

    /// Parameter `number` has the shape of the value passed.
    pub(super) fn parameter_is(
        &self,
        number: usize,
        passed: &Shape,
        label: &'static str,
    ) -> Result<(), Broken> {
        let parameter = self.parameter(number);
        require(parameter.compatible(passed), || {
            self.broken(
                label,
                format!(
                    "passes {passed} as parameter {number} of `{}`, which declares {parameter}",
                    self.name()
                ),
            )
        })
    }
}

/// A reducer: two accumulator-and-input scalars for each of the reduced arrays.
///
/// Gives the accumulator types. `inits` are the element types of the initial values (or of the operand
/// that accumulates), `inputs` those of the arrays that are combined in.
pub(super) fn reducer(
    called: &Called<'_>,
    inits: &[ElementType],
    inputs: &[ElementType],
) -> Result<(), Broken> {
    let arrays = inputs.len();
    called.takes(2 * arrays, "reducer_c1")?;
    for number in 0..2 * arrays {
        let parameter = called.parameter(number);
        let expected = if number < arrays {
            inits[number]
        } else {
            inputs[number - arrays]
        };
        require(parameter.compatible(&Shape::scalar(expected)), || {
            called.broken(
                "reducer_c2",
                format!(
                    "passes {expected}[] as parameter {number} of the reducer `{}`, which declares {parameter}",
                    called.name()
                ),
            )
        })?;
    }
    let expected = one_or_tuple(inits.iter().map(|ty| Shape::scalar(*ty)).collect());
    require(called.result.compatible(&expected), || {
        called.broken(
            "reducer_c3",
            format!(
                "needs a reducer that gives {expected}, its accumulators, but `{}` gives {}",
                called.name(),
                called.result
            ),
        )
    })
}
