//! Reductions, windows, convolutions, sorting.

use super::Constraint;

pub(super) const REDUCTION: &[Constraint] = &[
    Constraint {
        label: "reduce_c1",
        summary: "There are as many initial values as arrays.",
    },
    Constraint {
        label: "reduce_c2",
        summary: "The reduced arrays have equal sizes.",
    },
    Constraint {
        label: "reduce_c3",
        summary: "Initial values are scalars.",
    },
    Constraint {
        label: "reduce_c4",
        summary: "Each number of `dimensions` is a dimension of the arrays.",
    },
    Constraint {
        label: "reduce_c5",
        summary: "No dimension is reduced twice.",
    },
    Constraint {
        label: "reducer_c1",
        summary: "A reducer of N arrays has 2N parameters: N accumulators, then N elements.",
    },
    Constraint {
        label: "reducer_c2",
        summary: "The parameters of a reducer are scalars: the first N of the types of the initial values (of the arrays written to, in a scatter), the others of the types of the elements.",
    },
    Constraint {
        label: "reducer_c3",
        summary: "A reducer gives a scalar of its accumulator's type, or a tuple of N of them.",
    },
    Constraint {
        label: "map_c1",
        summary: "The mapped arrays have equal sizes.",
    },
    Constraint {
        label: "map_c2",
        summary: "`dimensions` names all dimensions in order, or is left out.",
    },
    Constraint {
        label: "map_c3",
        summary: "The computation has one parameter for each operand.",
    },
    Constraint {
        label: "map_c4",
        summary: "The parameters are scalars of the operands' types.",
    },
    Constraint {
        label: "map_c5",
        summary: "The computation gives a scalar.",
    },
    Constraint {
        label: "window_c1",
        summary: "A window has one entry for each dimension of the array.",
    },
    Constraint {
        label: "window_c2",
        summary: "Window sizes are positive.",
    },
    Constraint {
        label: "window_c3",
        summary: "Window strides are positive.",
    },
    Constraint {
        label: "window_c4",
        summary: "Dilations are at least 1.",
    },
    Constraint {
        label: "window_c5",
        summary: "The padded size is not negative, and sizes fit in 64 bits. XLA aborts on it.",
    },
    Constraint {
        label: "select_and_scatter_c1",
        summary: "The initial value is a scalar of the operand's element type.",
    },
    Constraint {
        label: "select_and_scatter_c2",
        summary: "The source has one element for each window.",
    },
    Constraint {
        label: "select_and_scatter_c3",
        summary: "The selection takes two scalars of the operand's type.",
    },
    Constraint {
        label: "select_and_scatter_c4",
        summary: "The selection gives pred.",
    },
    Constraint {
        label: "convolution_c1",
        summary: "Input and kernel have one element type.",
    },
    Constraint {
        label: "convolution_c2",
        summary: "`dim_labels` names every dimension of input, kernel and output once, with as many spatial ones in each; unused dimensions (`?`) are not taken.",
    },
    Constraint {
        label: "convolution_c3",
        summary: "Input and kernel have as many dimensions as `dim_labels` says.",
    },
    Constraint {
        label: "convolution_c4",
        summary: "Group counts are at least 1, one of the two is 1, and they divide features and batch: input features = kernel input features x `feature_group_count`.",
    },
    Constraint {
        label: "convolution_c5",
        summary: "The window has one entry for each spatial dimension.",
    },
    Constraint {
        label: "convolution_c6",
        summary: "The window has the sizes of the kernel.",
    },
    Constraint {
        label: "sort_c1",
        summary: "Arrays sorted together have equal sizes.",
    },
    Constraint {
        label: "sort_c2",
        summary: "`dimensions` holds one dimension of the operands.",
    },
    Constraint {
        label: "sort_c3",
        summary: "The comparator has two scalar parameters of each operand's type: a0, b0, a1, b1 and so on.",
    },
    Constraint {
        label: "sort_c4",
        summary: "The comparator gives pred.",
    },
    Constraint {
        label: "topk_c1",
        summary: "The operand has a last dimension with at least `k` elements.",
    },
];
