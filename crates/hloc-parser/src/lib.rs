//! Reads HLO text into modules.

mod literal;
