//! Compares the errors of functions of floats with the bounds in the table of ops, at points spread over all of
//! `f32`. `measure-accuracy` does so at every point, and writes the table of the documentation.

use hloc_tests::{repository, ulps};

/// Every so many bit patterns: some 150,000 of each function.
const STEP: usize = 28_657;

#[test]
fn errors_are_within_the_bounds_of_the_op_table() {
    let mut beyond = Vec::new();
    for function in ulps::FUNCTIONS {
        let worst = ulps::measure(function, STEP).unwrap_or_else(|error| panic!("{error}"));
        for (worst, ty) in worst.into_iter().zip(["f32", "f64"]) {
            if ulps::is_beyond(function, worst) {
                let (name, at) = (function.name, worst.at);
                let (error, bound) = (worst.error, function.bound);
                beyond.push(format!("{name} of {ty} {at:?}: {error}, bound {bound}"));
            }
        }
    }
    assert!(beyond.is_empty(), "{}", beyond.join("\n"));
}

#[test]
fn the_table_of_the_documentation_has_every_function_with_its_bound() {
    let path = repository().join("docs/numerics.md");
    let text = std::fs::read_to_string(path).expect("the document is there");
    for function in ulps::FUNCTIONS {
        let start = format!("| `{}` | {} |", function.name, function.bound);
        assert!(text.contains(&start), "no row that starts with {start}");
    }
}
