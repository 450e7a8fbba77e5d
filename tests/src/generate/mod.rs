//! Random valid programs of all ops that run, on all element types.
//!
//! A table says for each opcode how often it is tried and what makes an instruction of it; there is one file
//! for each family of ops. What is known of each value (`knowledge`) decides how exactly engines must agree:
//! to the bit, unless an op is documented to be inexact.

mod bits;
mod blocks;
mod builder;
mod control;
mod element_wise;
mod indexing;
mod knowledge;
mod linear;
mod loops;
mod movement;
mod operands;
mod products;
mod reducers;
mod reductions;
mod values;
mod windows;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use hloc_ir::{Literal, Opcode};

use self::builder::{Generator, Place, Value};
pub use self::knowledge::{Knowledge, Slack};

/// A program with arguments for its parameters.
#[derive(Clone, Debug)]
pub struct Program {
    /// HLO text.
    pub text: String,
    /// One value per parameter.
    pub arguments: Vec<Literal>,
    /// How far engines may be apart in each array of the result.
    pub slack: Vec<Slack>,
    /// What is known of the arrays that instructions give, by name.
    pub known: BTreeMap<String, Knowledge>,
}

/// One opcode in the table.
#[derive(Clone, Copy)]
pub struct Row {
    /// The opcode that `make` adds, among others that it may need.
    pub opcode: Opcode,
    /// How often it is tried, relative to the others.
    weight: usize,
    /// Whether it is also generated in computations of scalars.
    scalar: bool,
    /// Adds an instruction; `None` if the values at hand do not allow one.
    make: fn(&mut Generator, Opcode) -> Option<()>,
}

impl Row {
    fn new(opcode: Opcode, weight: usize, make: fn(&mut Generator, Opcode) -> Option<()>) -> Row {
        Row {
            opcode,
            weight,
            scalar: false,
            make,
        }
    }

    fn scalar(
        opcode: Opcode,
        weight: usize,
        make: fn(&mut Generator, Opcode) -> Option<()>,
    ) -> Row {
        Row {
            scalar: true,
            ..Row::new(opcode, weight, make)
        }
    }
}

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    [
        element_wise::rows(),
        movement::rows(),
        indexing::rows(),
        reductions::rows(),
        windows::rows(),
        products::rows(),
        linear::rows(),
        bits::rows(),
        control::rows(),
    ]
    .concat()
});

/// The table of all opcodes that are generated.
pub fn rows() -> &'static [Row] {
    &ROWS
}

impl Generator {
    /// Adds an instruction that fits the open computation, if the first choices allow one.
    fn instruction(&mut self) {
        let scalar = self.scope().place == Place::Scalar;
        let fits = |row: &&Row| row.scalar || !scalar;
        let total: usize = ROWS.iter().filter(fits).map(|row| row.weight).sum();
        for _ in 0..4 {
            let mut at = self.random.below(total);
            let row = ROWS.iter().filter(fits).find(|row| {
                let found = at < row.weight;
                at = at.saturating_sub(row.weight);
                found
            });
            if row.is_some_and(|row| (row.make)(self, row.opcode).is_some()) {
                return;
            }
        }
    }

    /// What the entry gives: some of the values that nothing uses, the last among them.
    fn results(&mut self) -> Vec<Value> {
        let mut results = self.unused();
        results.reverse();
        if results.is_empty() {
            results.push(self.exact(|_| true));
        }
        let most = 1 + self.random.below(5);
        while results.len() > most {
            let at = 1 + self.random.below(results.len() - 1);
            results.remove(at);
        }
        results
    }
}

/// The program of this seed.
pub fn program(seed: u64) -> Program {
    let mut generator = Generator::new(seed);
    generator.open(Place::Entry);
    for _ in 0..=generator.random.below(14) {
        generator.instruction();
    }
    let results = generator.results();
    let slack = results.iter().map(|value| value.known.slack).collect();
    let root = if let [result] = &results[..] {
        result.name.clone()
    } else {
        generator.tuple(&results)
    };
    generator.close("main", &root, false);
    Program {
        text: format!("HloModule random_{seed}\n\n{}", generator.finished()),
        arguments: generator.arguments,
        slack,
        known: generator.known,
    }
}
