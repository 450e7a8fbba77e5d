//! Reads HLO text into modules.
