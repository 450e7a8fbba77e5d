//! Modules, computations, headers and shapes.

use super::Constraint;

pub(super) const MODULE: &[Constraint] = &[
    Constraint {
        label: "module_c1",
        summary: "A module has an entry computation.",
    },
    Constraint {
        label: "module_c2",
        summary: "The computations of a module have distinct names.",
    },
    Constraint {
        label: "module_c3",
        summary: "A called computation stands before its caller, so no computation can call itself, directly or through others.",
    },
    Constraint {
        label: "module_c4",
        summary: "`replica_count` and `num_partitions` are at least 1.",
    },
    Constraint {
        label: "module_c5",
        summary: "The entry computation is not fused into another.",
    },
    Constraint {
        label: "module_c6",
        summary: "The all-reduces of a module agree on `constrain_layout`.",
    },
    Constraint {
        label: "computation_c1",
        summary: "An operand stands before its user in the same computation.",
    },
    Constraint {
        label: "computation_c2",
        summary: "A computation has at least one instruction, and its root is one of them.",
    },
    Constraint {
        label: "computation_c3",
        summary: "Parameters are numbered from 0 without gaps, each number once.",
    },
    Constraint {
        label: "computation_c4",
        summary: "The instructions of a computation have distinct names.",
    },
    Constraint {
        label: "computation_c5",
        summary: "The parameters in a written signature have the number and shapes of the parameter instructions. XLA reads and ignores them.",
    },
    Constraint {
        label: "computation_c6",
        summary: "The result in a written signature has the shape of the root.",
    },
    Constraint {
        label: "computation_c7",
        summary: "A control predecessor stands before the instruction that names it.",
    },
    Constraint {
        label: "entry_layout_c1",
        summary: "`entry_computation_layout` has as many parameters as the entry.",
    },
    Constraint {
        label: "entry_layout_c2",
        summary: "Each parameter shape in `entry_computation_layout` has the element type and sizes of the entry's parameter.",
    },
    Constraint {
        label: "entry_layout_c3",
        summary: "The result shape in `entry_computation_layout` has the structure, element types and sizes of the entry's root.",
    },
    Constraint {
        label: "alias_c1",
        summary: "`input_output_alias` names a part of a parameter and a part of the result that exist.",
    },
    Constraint {
        label: "alias_c2",
        summary: "No part of a parameter and no part of the result is aliased twice.",
    },
    Constraint {
        label: "alias_c3",
        summary: "A must-alias joins parts of one shape, a may-alias parts of equal size in bytes.",
    },
    Constraint {
        label: "donor_c1",
        summary: "`buffer_donor` names a part of a parameter that exists.",
    },
    Constraint {
        label: "donor_c2",
        summary: "A donated buffer is not donated twice and not aliased.",
    },
    Constraint {
        label: "shape_c1",
        summary: "Sizes are not negative and no dimension is unbounded (`?`): arrays of unknown size are not supported. Bounded dynamic dimensions (`<=N`) are.",
    },
    Constraint {
        label: "shape_c2",
        summary: "The size in bytes of an array, and of all arrays of a tuple together, fits in 64 bits with sign.",
    },
    Constraint {
        label: "shape_c3",
        summary: "An array has at most 64 dimensions.",
    },
    Constraint {
        label: "layout_c1",
        summary: "A layout names as many dimensions as the array has.",
    },
    Constraint {
        label: "layout_c2",
        summary: "A layout is a permutation of the dimensions. XLA finds this out late.",
    },
    Constraint {
        label: "dialect_c1",
        summary: "XLA's HLO text has no `broadcast_dimensions` on element-wise ops; they are hloc's dialect. Checked with `--dialect=xla` only.",
    },
    Constraint {
        label: "dialect_c2",
        summary: "In XLA's HLO text all operands of an element-wise op have the result's sizes, but for a scalar first operand of `select` and scalar bounds of `clamp`. Checked with `--dialect=xla` only.",
    },
    Constraint {
        label: "dialect_c3",
        summary: "XLA's lexer takes type names and keywords for what they are, so a module cannot be named `f64` or `true`. Checked with `--dialect=xla` only.",
    },
    Constraint {
        label: "dialect_c4",
        summary: "Lines, columns and row numbers in stack tables and metadata fit in 32 bits with sign. Checked with `--dialect=xla` only.",
    },
    Constraint {
        label: "precision_c1",
        summary: "The float operands of one instruction have one element type, unless the op passes values on or its operands are unrelated (call, conditional, dot, fusion, sort, tuple, while ...).",
    },
    Constraint {
        label: "arity_c1",
        summary: "An op has as many operands as its row in the op table says.",
    },
    Constraint {
        label: "operand_c1",
        summary: "The operand is an array, not a tuple or a token.",
    },
    Constraint {
        label: "result_c1",
        summary: "The declared result shape is the one that the op's rule gives for the operands. Layouts and dynamic marks are not compared.",
    },
    Constraint {
        label: "result_c2",
        summary: "The op's result cannot be worked out from its operands, so its shape must be written.",
    },
    Constraint {
        label: "result_c3",
        summary: "The op gives an array, so the declared shape is an array.",
    },
    Constraint {
        label: "called_c1",
        summary: "A called computation is part of the module and has a root.",
    },
    Constraint {
        label: "aliasing_c1",
        summary: "`output_to_operand_aliasing` names an operand, a part of it and a part of the result, which have one shape.",
    },
    Constraint {
        label: "sharding_c1",
        summary: "A `while` with its body's root and the parameters of body and condition, and a `conditional` with the roots of its branches, have one sharding where they have one at all. hloc runs on one device and checks no other shardings.",
    },
    Constraint {
        label: "origin_c1",
        summary: "An `origin` has the tuple structure of the instruction's shape.",
    },
];
