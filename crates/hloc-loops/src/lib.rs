//! The loop-nest representation, lowering from HLO, and the buffer plan.

pub mod index;
pub mod ir;
