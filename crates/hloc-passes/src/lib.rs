//! HLO to HLO passes and the pass pipeline.
