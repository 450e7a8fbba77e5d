//! The strict HLO verifier.
