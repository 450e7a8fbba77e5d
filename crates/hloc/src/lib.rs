//! An embeddable HLO compiler for the host CPU.
