//! Lowering of modules built in the test, run by the interpreter.
