//! Damaged programs are refused or compiled in time, never with a panic.

use hloc_tests::mutate::{mutated, survives};
use hloc_tests::random::Random;
use hloc_tests::{files_below, repository};

#[test]
fn damaged_programs_do_no_harm() {
    let files = files_below(&repository().join("tests"), ".hlo").expect("tests can be read");
    let mut random = Random::new(7);
    for number in 0..300 {
        let text = std::fs::read_to_string(random.pick(&files)).expect("programs are UTF-8 text");
        let damaged = mutated(&text, &mut random);
        if let Err(error) = survives(&damaged) {
            panic!("mutation {number} {error}:\n{damaged}");
        }
    }
}
