//! Products, linear algebra, transforms, normalization, random numbers.

use super::Constraint;

pub(super) const ALGEBRA: &[Constraint] = &[
    Constraint {
        label: "dot_c1",
        summary: "Batch and contracting numbers are dimensions of their operand.",
    },
    Constraint {
        label: "dot_c2",
        summary: "No dimension occurs twice in one list.",
    },
    Constraint {
        label: "dot_c3",
        summary: "No dimension is both batch and contracting.",
    },
    Constraint {
        label: "dot_c4",
        summary: "Left and right lists pair up.",
    },
    Constraint {
        label: "dot_c5",
        summary: "Paired dimensions have equal sizes.",
    },
    Constraint {
        label: "dot_c6",
        summary: "Operands have one element type, or both are floats of at most 8 bits. XLA relates them not at all.",
    },
    Constraint {
        label: "dot_c7",
        summary: "The declared result has the operands' element type or a wider one of its kind; a float may also sum products of integers.",
    },
    Constraint {
        label: "ragged_dot_c1",
        summary: "Group sizes are integers.",
    },
    Constraint {
        label: "ragged_dot_c2",
        summary: "`lhs_ragged_dims` and `rhs_group_dims` are dimensions of their operand.",
    },
    Constraint {
        label: "ragged_dot_c3",
        summary: "No dimension occurs twice in one list.",
    },
    Constraint {
        label: "scaled_dot_c1",
        summary: "Each scale has as many dimensions as its operand, and sizes that divide the operand's.",
    },
    Constraint {
        label: "cholesky_c1",
        summary: "The operand is a stack of square matrices of floats or complex numbers.",
    },
    Constraint {
        label: "triangular_solve_c1",
        summary: "The first operand is a stack of square matrices of floats or complex numbers.",
    },
    Constraint {
        label: "triangular_solve_c2",
        summary: "Both operands have one element type, as many dimensions and equal batch sizes.",
    },
    Constraint {
        label: "triangular_solve_c3",
        summary: "The right-hand sides have the size of the matrix in the row dimension (`left_side=true`) or the last.",
    },
    Constraint {
        label: "triangular_solve_c4",
        summary: "`transpose_a` is written.",
    },
    Constraint {
        label: "fft_c1",
        summary: "`fft_length` has 1 to 3 lengths, no more than the operand has dimensions.",
    },
    Constraint {
        label: "fft_c2",
        summary: "FFT, IFFT and IRFFT take complex numbers, RFFT takes f32 or f64.",
    },
    Constraint {
        label: "fft_c3",
        summary: "The last dimensions of the operand have the sizes in `fft_length`; of IRFFT the very last n/2+1. XLA does not check FFT and IFFT.",
    },
    Constraint {
        label: "batch_norm_c1",
        summary: "The operand is a float array with at least one dimension.",
    },
    Constraint {
        label: "batch_norm_c2",
        summary: "`feature_index` is a dimension of the operand.",
    },
    Constraint {
        label: "batch_norm_c3",
        summary: "Scale, offset, mean and variance have one value for each feature, of the operand's element type.",
    },
    Constraint {
        label: "batch_norm_c4",
        summary: "The output's gradient has the operand's shape.",
    },
    Constraint {
        label: "rng_c1",
        summary: "Uniform numbers are real, integer or pred; normal ones are floats.",
    },
    Constraint {
        label: "rng_c2",
        summary: "There are two scalars of the result's element type.",
    },
    Constraint {
        label: "rng_bit_generator_c1",
        summary: "The state is u64[2]; Philox also takes u64[3].",
    },
    Constraint {
        label: "rng_bit_generator_c2",
        summary: "The result is the state's shape and an integer array, or the integer array alone.",
    },
];
