//! Gather and scatter.

use super::Constraint;

pub(super) const INDEXING: &[Constraint] = &[
    Constraint {
        label: "gather_c1",
        summary: "The indices are integers.",
    },
    Constraint {
        label: "gather_c2",
        summary: "`index_vector_dim` is a dimension of the indices, or the one behind the last, which stands for vectors of length 1.",
    },
    Constraint {
        label: "gather_c3",
        summary: "`offset_dims` are dimensions of the result; `collapsed_slice_dims` and `operand_batching_dims` are dimensions of the operand.",
    },
    Constraint {
        label: "gather_c4",
        summary: "`offset_dims`, `collapsed_slice_dims` and `operand_batching_dims` increase strictly.",
    },
    Constraint {
        label: "gather_c5",
        summary: "`start_index_map` has one number for each part of an index vector.",
    },
    Constraint {
        label: "gather_c6",
        summary: "The numbers of `start_index_map` are dimensions of the operand.",
    },
    Constraint {
        label: "gather_c7",
        summary: "No number of `start_index_map` occurs twice.",
    },
    Constraint {
        label: "gather_c8",
        summary: "`operand_batching_dims` shares no dimension with `start_index_map` or `collapsed_slice_dims`.",
    },
    Constraint {
        label: "gather_c9",
        summary: "`slice_sizes` has one size for each dimension of the operand.",
    },
    Constraint {
        label: "gather_c10",
        summary: "A slice is not negative and not larger than the dimension.",
    },
    Constraint {
        label: "gather_c11",
        summary: "Slices have size 0 or 1 in collapsed and batching dimensions.",
    },
    Constraint {
        label: "gather_c12",
        summary: "`operand_batching_dims` and `start_indices_batching_dims` pair up.",
    },
    Constraint {
        label: "gather_c13",
        summary: "`start_indices_batching_dims` are distinct dimensions of the indices, not that of the vectors.",
    },
    Constraint {
        label: "gather_c14",
        summary: "Paired batching dimensions have equal sizes.",
    },
    Constraint {
        label: "gather_c15",
        summary: "`offset_dims` has one number for each operand dimension that is neither collapsed nor batching.",
    },
    Constraint {
        label: "scatter_c1",
        summary: "The operands are N arrays, one index array and N updates.",
    },
    Constraint {
        label: "scatter_c2",
        summary: "All arrays have equal sizes, and all updates have.",
    },
    Constraint {
        label: "scatter_c3",
        summary: "The indices are integers.",
    },
    Constraint {
        label: "scatter_c4",
        summary: "`index_vector_dim` is a dimension of the indices, or the one behind the last, which stands for vectors of length 1.",
    },
    Constraint {
        label: "scatter_c5",
        summary: "`update_window_dims` are dimensions of the updates; `inserted_window_dims` and `input_batching_dims` are dimensions of the operand.",
    },
    Constraint {
        label: "scatter_c6",
        summary: "`update_window_dims`, `inserted_window_dims` and `input_batching_dims` increase strictly.",
    },
    Constraint {
        label: "scatter_c7",
        summary: "Window, inserted and batching dimensions together are as many as the operand's dimensions.",
    },
    Constraint {
        label: "scatter_c8",
        summary: "`scatter_dims_to_operand_dims` has one number for each part of an index vector.",
    },
    Constraint {
        label: "scatter_c9",
        summary: "The numbers of `scatter_dims_to_operand_dims` are dimensions of the operand.",
    },
    Constraint {
        label: "scatter_c10",
        summary: "No number of `scatter_dims_to_operand_dims` occurs twice.",
    },
    Constraint {
        label: "scatter_c11",
        summary: "`input_batching_dims` shares no dimension with `scatter_dims_to_operand_dims` or `inserted_window_dims`.",
    },
    Constraint {
        label: "scatter_c12",
        summary: "`input_batching_dims` and `scatter_indices_batching_dims` pair up.",
    },
    Constraint {
        label: "scatter_c13",
        summary: "`scatter_indices_batching_dims` are distinct dimensions of the indices, not that of the vectors.",
    },
    Constraint {
        label: "scatter_c14",
        summary: "Paired batching dimensions have equal sizes.",
    },
    Constraint {
        label: "scatter_c15",
        summary: "The updates have one dimension for each window dimension and each index dimension but that of the vectors.",
    },
    Constraint {
        label: "scatter_c16",
        summary: "A window of the updates fits in the operand.",
    },
    Constraint {
        label: "scatter_c17",
        summary: "The other dimensions of the updates have the sizes of the indices.",
    },
];
