//! HLO to HLO passes and the pass pipeline.
//!
//! A [`Pass`] reads a verified module and gives a new one, or says that there was nothing to do. A
//! [`Pipeline`] runs passes in order and verifies after each: a pass that breaks a rule is a mistake in
//! hloc and is reported with the module it was given. [`PASSES`] lists every pass by name.

mod argmax_split;
mod bitcast;
mod call_inline;
mod constant_fold;
mod cse;
mod dce;
mod effects;
mod fusion;
mod legalize_bitcast;
mod legalize_broadcast;
mod legalize_dynamic;
mod legalize_ops;
mod make;
mod module_rewriter;
mod names;
mod pass;
mod pipeline;
mod rewriter;
mod simplify;
mod structural_hash;
#[cfg(test)]
mod testing;
mod while_unroll;

pub use argmax_split::ArgmaxSplit;
pub use call_inline::CallInline;
pub use constant_fold::ConstantFold;
pub use cse::Cse;
pub use dce::Dce;
pub use fusion::{Fusion, FusionRefusal, fusion_refusals};
pub use legalize_bitcast::LegalizeBitcast;
pub use legalize_broadcast::LegalizeBroadcast;
pub use legalize_dynamic::{ATTRIBUTE as DYNAMIC_ATTRIBUTE, LegalizeDynamic};
pub use legalize_ops::LegalizeOps;
pub use pass::{PASSES, Pass, PassError, pass_named};
pub use pipeline::{PassTime, Pipeline};
pub use simplify::Simplify;
pub use while_unroll::WhileUnroll;
