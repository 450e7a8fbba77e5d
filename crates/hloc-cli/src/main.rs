//! The command line of hloc.
fn main() {}
