//! The reference evaluator: simple, slow, obviously right.
