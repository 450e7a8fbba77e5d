//! Broadcasts, reshapes, slices and other data movement.

use super::Constraint;

pub(super) const MOVEMENT: &[Constraint] = &[
    Constraint {
        label: "broadcast_c1",
        summary: "`broadcast` keeps the element type.",
    },
    Constraint {
        label: "broadcast_c2",
        summary: "`dimensions` has one number for each dimension of the operand; none for a scalar.",
    },
    Constraint {
        label: "broadcast_c3",
        summary: "Each number of `dimensions` is a dimension of the result.",
    },
    Constraint {
        label: "broadcast_c4",
        summary: "An operand dimension has exactly the size of the result dimension it is placed at. A size of 1 does not grow: that is a reshape and a broadcast.",
    },
    Constraint {
        label: "broadcast_c5",
        summary: "No result dimension is named twice. XLA accepts it.",
    },
    Constraint {
        label: "broadcast_c6",
        summary: "`dimensions` increases strictly. XLA accepts any order; the message shows the transpose and broadcast that say the same. `--permit-unsorted-broadcast` lifts this rule.",
    },
    Constraint {
        label: "reshape_c1",
        summary: "`reshape` keeps the element type.",
    },
    Constraint {
        label: "reshape_c2",
        summary: "`reshape` keeps the number of elements.",
    },
    Constraint {
        label: "reshape_c3",
        summary: "`inferred_dimension` is a dimension of the result, or -1.",
    },
    Constraint {
        label: "dynamic_reshape_c1",
        summary: "`dynamic-reshape` keeps the element type and, at the bounds, the number of elements.",
    },
    Constraint {
        label: "dynamic_reshape_c2",
        summary: "There is one size for each dimension of the result.",
    },
    Constraint {
        label: "dynamic_reshape_c3",
        summary: "The sizes are s32 scalars.",
    },
    Constraint {
        label: "transpose_c1",
        summary: "`dimensions` has one number for each dimension of the operand.",
    },
    Constraint {
        label: "transpose_c2",
        summary: "Each number of `dimensions` is a dimension of the operand.",
    },
    Constraint {
        label: "transpose_c3",
        summary: "No dimension is named twice.",
    },
    Constraint {
        label: "reverse_c1",
        summary: "Each number of `dimensions` is a dimension of the operand.",
    },
    Constraint {
        label: "reverse_c2",
        summary: "No dimension is reversed twice.",
    },
    Constraint {
        label: "bitcast_c1",
        summary: "A bitcast of what is no array keeps the shape.",
    },
    Constraint {
        label: "bitcast_c2",
        summary: "A bitcast keeps the number of bits.",
    },
    Constraint {
        label: "slice_c1",
        summary: "`slice` has one range for each dimension of the operand.",
    },
    Constraint {
        label: "slice_c2",
        summary: "0 <= start <= limit <= size in every dimension.",
    },
    Constraint {
        label: "slice_c3",
        summary: "Strides are positive.",
    },
    Constraint {
        label: "dynamic_slice_c1",
        summary: "There is one start for each dimension of the operand. The old form with one vector of starts is not taken.",
    },
    Constraint {
        label: "dynamic_slice_c2",
        summary: "Starts are integer scalars of one type.",
    },
    Constraint {
        label: "dynamic_slice_c3",
        summary: "`dynamic_slice_sizes` has one size for each dimension of the operand.",
    },
    Constraint {
        label: "dynamic_slice_c4",
        summary: "A slice is not negative and not larger than the dimension.",
    },
    Constraint {
        label: "dynamic_update_slice_c1",
        summary: "There is one start for each dimension of the operand. The old form with one vector of starts is not taken.",
    },
    Constraint {
        label: "dynamic_update_slice_c2",
        summary: "Starts are integer scalars of one type.",
    },
    Constraint {
        label: "dynamic_update_slice_c3",
        summary: "The update has the operand's element type.",
    },
    Constraint {
        label: "dynamic_update_slice_c4",
        summary: "The update has as many dimensions as the operand and is nowhere larger.",
    },
    Constraint {
        label: "pad_c1",
        summary: "The padding value is a scalar of the operand's element type.",
    },
    Constraint {
        label: "pad_c2",
        summary: "`padding` has one entry for each dimension of the operand.",
    },
    Constraint {
        label: "pad_c3",
        summary: "Interior padding is not negative.",
    },
    Constraint {
        label: "pad_c4",
        summary: "The padded size, `low + n + max(n - 1, 0) * interior + high`, is not negative and fits in 64 bits.",
    },
    Constraint {
        label: "concatenate_c1",
        summary: "`dimensions` holds one number.",
    },
    Constraint {
        label: "concatenate_c2",
        summary: "The number is a dimension of the operands.",
    },
    Constraint {
        label: "concatenate_c3",
        summary: "The operands have one element type.",
    },
    Constraint {
        label: "concatenate_c4",
        summary: "The operands have as many dimensions.",
    },
    Constraint {
        label: "concatenate_c5",
        summary: "The operands have equal sizes but along the joined dimension.",
    },
    Constraint {
        label: "concatenate_c6",
        summary: "The joined size fits in 64 bits.",
    },
    Constraint {
        label: "parameter_c1",
        summary: "Parameter numbers are not negative.",
    },
    Constraint {
        label: "constant_c1",
        summary: "The value of a constant has the declared shape.",
    },
    Constraint {
        label: "iota_c1",
        summary: "`iota` has at least one dimension.",
    },
    Constraint {
        label: "iota_c2",
        summary: "`iota_dimension` is a dimension of the result.",
    },
    Constraint {
        label: "iota_c3",
        summary: "`iota` counts in integers, floats or complex numbers, not in pred.",
    },
    Constraint {
        label: "get_dimension_size_c1",
        summary: "`dimensions` holds one dimension of the operand, whose size fits in s32.",
    },
    Constraint {
        label: "set_dimension_size_c1",
        summary: "`dimensions` holds one dimension of the operand, whose size fits in s32.",
    },
    Constraint {
        label: "set_dimension_size_c2",
        summary: "The size is an s32 scalar.",
    },
];
