//! The program under construction: computations with their instructions, and the values to choose from.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use hloc_ir::{ElementType, Literal};

use super::knowledge::Knowledge;
use crate::random::Random;

/// Most elements of an array.
pub(super) const MAX_ELEMENTS: i64 = 400;

/// An array that an instruction gives.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) name: String,
    pub(super) ty: ElementType,
    pub(super) dims: Vec<i64>,
    pub(super) known: Knowledge,
}

impl Value {
    pub(super) fn num_elements(&self) -> i64 {
        self.dims.iter().product()
    }

    /// Element type, sizes and knowledge.
    pub(super) fn part(&self) -> Part {
        (self.ty, self.dims.clone(), self.known)
    }
}

/// Element type, sizes and knowledge of an element of a tuple or of a parameter.
pub(super) type Part = (ElementType, Vec<i64>, Knowledge);

/// What a computation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The entry: new values may be parameters.
    Entry,
    /// Called with arrays.
    Called,
    /// Called with scalars, and exact: a reducer, a comparator.
    Scalar,
}

#[derive(Debug)]
struct Line {
    name: String,
    text: String,
    operands: Vec<String>,
    is_parameter: bool,
}

#[derive(Debug)]
pub(super) struct Scope {
    pub(super) place: Place,
    lines: Vec<Line>,
    pub(super) values: Vec<Value>,
    num_parameters: usize,
}

/// Makes one program.
pub(super) struct Generator {
    pub(super) random: Random,
    scopes: Vec<Scope>,
    finished: String,
    pub(super) arguments: Vec<Literal>,
    pub(super) known: BTreeMap<String, Knowledge>,
    next: usize,
}

impl Generator {
    pub(super) fn new(seed: u64) -> Generator {
        Generator {
            random: Random::new(seed),
            scopes: Vec::new(),
            finished: String::new(),
            arguments: Vec::new(),
            known: BTreeMap::new(),
            next: 0,
        }
    }

    /// How many computations are open: 1 in the entry.
    pub(super) fn depth(&self) -> usize {
        self.scopes.len()
    }

    pub(super) fn scope(&self) -> &Scope {
        self.scopes.last().expect("a computation is open")
    }

    fn scope_mut(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("a computation is open")
    }

    /// A name that the module does not have yet.
    pub(super) fn name(&mut self, stem: &str) -> String {
        self.next += 1;
        format!("{stem}{}", self.next)
    }

    /// Begins a computation; instructions go there until it is closed.
    pub(super) fn open(&mut self, place: Place) {
        self.scopes.push(Scope {
            place,
            lines: Vec::new(),
            values: Vec::new(),
            num_parameters: 0,
        });
    }

    /// Ends the computation that `root` is the result of; gives its name. With `prune` it keeps only
    /// parameters and what the root needs.
    pub(super) fn close(&mut self, stem: &str, root: &str, prune: bool) -> String {
        let name = if self.depth() == 1 {
            stem.to_owned()
        } else {
            self.name(stem)
        };
        let scope = self.scopes.pop().expect("a computation is open");
        let live = live(&scope.lines, root);
        let entry = if self.scopes.is_empty() { "ENTRY " } else { "" };
        let mut text = format!("{entry}{name} {{\n");
        for line in &scope.lines {
            if prune && !line.is_parameter && !live.contains(line.name.as_str()) {
                continue;
            }
            let mark = if line.name == root { "ROOT " } else { "" };
            writeln!(text, "  {mark}{} = {}", line.name, line.text)
                .expect("writing to a string does not fail");
        }
        text.push_str("}\n\n");
        self.finished.push_str(&text);
        name
    }

    /// The computations closed so far.
    pub(super) fn finished(&self) -> &str {
        &self.finished
    }

    /// A computation with array parameters; `body` gives the root's name.
    pub(super) fn computation(
        &mut self,
        stem: &str,
        place: Place,
        parameters: &[Part],
        body: impl FnOnce(&mut Generator, &[Value]) -> String,
    ) -> String {
        self.open(place);
        let parameters: Vec<Value> = parameters
            .iter()
            .map(|part| self.parameter_of(part))
            .collect();
        let root = body(self, &parameters);
        self.close(stem, &root, place == Place::Scalar)
    }

    /// The next parameter of a called computation.
    pub(super) fn parameter_of(&mut self, (ty, dims, known): &Part) -> Value {
        let shape = self.shape(*ty, dims);
        let name = self.parameter_line(&shape);
        self.value(name, *ty, dims, *known)
    }

    /// A parameter of any shape; an array must be registered with [`Generator::value`].
    pub(super) fn parameter_line(&mut self, shape: &str) -> String {
        let number = self.scope().num_parameters;
        self.scope_mut().num_parameters += 1;
        let name = self.line(shape, &format!("parameter({number})"), &[]);
        let lines = &mut self.scope_mut().lines;
        lines.last_mut().expect("a line was added").is_parameter = true;
        name
    }

    /// Adds an instruction of any shape; gives its name.
    pub(super) fn line(&mut self, shape: &str, right: &str, operands: &[&str]) -> String {
        let name = self.name("v");
        self.scope_mut().lines.push(Line {
            name: name.clone(),
            text: format!("{shape} {right}"),
            operands: operands.iter().map(|name| (*name).to_owned()).collect(),
            is_parameter: false,
        });
        name
    }

    /// Makes an array known, so that it may be used.
    pub(super) fn value(
        &mut self,
        name: String,
        ty: ElementType,
        dims: &[i64],
        known: Knowledge,
    ) -> Value {
        self.known.insert(name.clone(), known);
        let value = Value {
            name,
            ty,
            dims: dims.to_vec(),
            known,
        };
        self.scope_mut().values.push(value.clone());
        value
    }

    /// Adds an instruction that gives an array; `attributes` begins with a comma unless it is empty.
    pub(super) fn add(
        &mut self,
        (ty, dims, known): Part,
        opcode: &str,
        operands: &[&Value],
        attributes: &str,
    ) -> Value {
        let shape = self.shape(ty, &dims);
        let names: Vec<&str> = operands.iter().map(|value| value.name.as_str()).collect();
        let right = format!("{opcode}({}){attributes}", names.join(", "));
        let name = self.line(&shape, &right, &names);
        self.value(name, ty, &dims, known)
    }

    /// Adds an instruction that gives a tuple of arrays, and takes it apart.
    pub(super) fn add_tuple(
        &mut self,
        parts: &[Part],
        opcode: &str,
        operands: &[&Value],
        attributes: &str,
    ) -> Vec<Value> {
        let names: Vec<&str> = operands.iter().map(|value| value.name.as_str()).collect();
        let right = format!("{opcode}({}){attributes}", names.join(", "));
        let shape = self.tuple_shape(parts);
        let name = self.line(&shape, &right, &names);
        self.elements(&name, parts)
    }

    /// A `tuple` of these values; gives its name.
    pub(super) fn tuple(&mut self, values: &[Value]) -> String {
        let parts: Vec<Part> = values.iter().map(Value::part).collect();
        let shape = self.tuple_shape(&parts);
        let names: Vec<&str> = values.iter().map(|value| value.name.as_str()).collect();
        self.line(&shape, &format!("tuple({})", names.join(", ")), &names)
    }

    /// The elements of the tuple called `name`.
    pub(super) fn elements(&mut self, name: &str, parts: &[Part]) -> Vec<Value> {
        let element = |(index, (ty, dims, known)): (usize, &Part)| {
            let shape = self.shape(*ty, dims);
            let right = format!("get-tuple-element({name}), index={index}");
            let element = self.line(&shape, &right, &[name]);
            self.value(element, *ty, dims, *known)
        };
        parts.iter().enumerate().map(element).collect()
    }

    /// `f32[2,3]`, at times with a layout.
    pub(super) fn shape(&mut self, ty: ElementType, dims: &[i64]) -> String {
        let text = format!("{ty}[{}]", list(dims.iter().copied()));
        if dims.len() < 2 || !self.random.one_in(10) {
            return text;
        }
        let order = self.permutation(dims.len());
        format!("{text}{{{}}}", list(order.iter().map(|dim| *dim as i64)))
    }

    /// `(f32[2], s32[])`.
    pub(super) fn tuple_shape(&mut self, parts: &[Part]) -> String {
        let shapes: Vec<String> = parts
            .iter()
            .map(|(ty, dims, _)| self.shape(*ty, dims))
            .collect();
        format!("({})", shapes.join(", "))
    }

    /// The numbers below `count` in a random order.
    pub(super) fn permutation(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for at in (1..count).rev() {
            let other = self.random.below(at + 1);
            order.swap(at, other);
        }
        order
    }

    /// Some of the numbers below `count`, increasing.
    pub(super) fn subset(&mut self, count: usize) -> Vec<usize> {
        (0..count).filter(|_| self.random.one_in(2)).collect()
    }

    /// `chosen` of the numbers below `count`, increasing.
    pub(super) fn places(&mut self, chosen: usize, count: usize) -> Vec<usize> {
        let mut places = self.permutation(count);
        places.truncate(chosen);
        places.sort_unstable();
        places
    }

    /// Random sizes: of scalars in a scalar computation, else at most four, rarely with a zero.
    pub(super) fn sizes(&mut self) -> Vec<i64> {
        if self.scope().place == Place::Scalar {
            return Vec::new();
        }
        if self.random.one_in(12) {
            return vec![*self.random.pick(&[64, 130, 257, 400])];
        }
        let mut dims: Vec<i64> = Vec::new();
        for _ in 0..self.random.below(5) {
            let size = if self.random.one_in(60) {
                0
            } else {
                *self.random.pick(&[1, 2, 3, 4, 5, 7, 17])
            };
            if dims.iter().product::<i64>() * size <= MAX_ELEMENTS {
                dims.push(size);
            }
        }
        dims
    }

    /// Values of the open computation that nothing uses.
    pub(super) fn unused(&self) -> Vec<Value> {
        let scope = self.scope();
        let used: BTreeSet<&str> = scope
            .lines
            .iter()
            .flat_map(|line| line.operands.iter().map(String::as_str))
            .collect();
        let fresh = |value: &&Value| !used.contains(value.name.as_str());
        scope.values.iter().filter(fresh).cloned().collect()
    }
}

/// The names of instructions that `root` depends on.
fn live<'a>(lines: &'a [Line], root: &'a str) -> BTreeSet<&'a str> {
    let mut live = BTreeSet::from([root]);
    for line in lines.iter().rev() {
        if live.contains(line.name.as_str()) {
            live.extend(line.operands.iter().map(String::as_str));
        }
    }
    live
}

/// `1,2,3`.
pub(super) fn list(numbers: impl IntoIterator<Item = i64>) -> String {
    let numbers: Vec<String> = numbers
        .into_iter()
        .map(|number| number.to_string())
        .collect();
    numbers.join(",")
}

/// `{1,2,3}` of dimension numbers.
pub(super) fn braces(numbers: &[usize]) -> String {
    format!("{{{}}}", list(numbers.iter().map(|number| *number as i64)))
}
