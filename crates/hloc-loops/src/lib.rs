//! The loop-nest representation, lowering from HLO, and the buffer plan.
