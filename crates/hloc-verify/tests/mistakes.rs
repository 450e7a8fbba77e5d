//! Every rule that a text can break, broken once: the code of the only diagnostic is the rule's label.

use std::collections::BTreeSet;

use hloc_diag::Source;
use hloc_verify::{CONSTRAINTS, explain, verify};

/// Computations that the cases call.
const CALLED: &str = "
add_f32 { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
add_bf16 { a = bf16[] parameter(0) b = bf16[] parameter(1) ROOT r = bf16[] add(a, b) }
gives_pred { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=GT }
mixed { a = f32[] parameter(0) b = bf16[] parameter(1) ROOT r = f32[] negate(a) }
negate { a = f32[] parameter(0) ROOT r = f32[] negate(a) }
pair { a = f32[] parameter(0) ROOT r = (f32[], f32[]) tuple(a, a) }
nothing { ROOT c = f32[] constant(1) }
positive { a = f32[] parameter(0) z = f32[] constant(0) ROOT r = pred[] compare(a, z), direction=GT }
vector { a = f32[4] parameter(0) ROOT r = f32[4] negate(a) }
root_used { a = f32[] parameter(0) ROOT r = f32[] negate(a) s = f32[] negate(r) }
unused { a = f32[] parameter(0) s = f32[] abs(a) ROOT r = f32[] negate(a) }
";

/// Cases whose instructions go between these parameters and the end of the entry.
const PARAMETERS: &str = "
  x = f32[2,3] parameter(0)
  v = f32[3] parameter(1)
  s = f32[] parameter(2)
  i = s32[] parameter(3)
  p = pred[] parameter(4)
  n = s32[4] parameter(5)
  h = bf16[2,3] parameter(6)
  z = c64[2,3] parameter(7)
  t = (f32[2,3], s32[]) parameter(8)
  tk = token[] parameter(9)
  n2 = s32[4,2] parameter(10)
  sq = f32[5,3,3] parameter(11)
  hs = bf16[] parameter(12)
  sq2 = f32[1,3,3] parameter(13)
";

/// Label and the instructions that break it.
const BROKEN: &[(&str, &str)] = &[
    ("operand_c1", "r = f32[2,3] negate(t)"),
    ("result_c1", "r = f32[3,2] negate(x)"),
    ("result_c3", "r = (f32[2,3]) convert(x)"),
    ("precision_c1", "r = f32[2,3] map(x, h), to_apply=mixed"),
    (
        "shape_c1",
        "r = f32[?] custom-call(), custom_call_target=\"f\"",
    ),
    (
        "shape_c2",
        "r = f32[9223372036854775807] broadcast(s), dimensions={}",
    ),
    ("layout_c2", "r = f32[2,3]{0,0} negate(x)"),
    (
        "aliasing_c1",
        "r = f32[2,3] custom-call(x), custom_call_target=\"f\", output_to_operand_aliasing={{}: (1, {})}",
    ),
    ("elementwise_c1", "r = pred[] subtract(p, p)"),
    ("elementwise_c1", "r = f32[2,3] not(x)"),
    ("elementwise_c2", "r = f32[2,3] add(x, h)"),
    ("elementwise_c3", "r = c64[2,3] complex(h, h)"),
    (
        "elementwise_c4",
        "y = f32[2,4] broadcast(s), dimensions={} r = f32[2,4] add(x, y)",
    ),
    ("elementwise_c5", "r = f32[2,3] add(x, v)"),
    (
        "elementwise_c6",
        "r = f32[2,3] add(x, v), broadcast_dimensions={0,1}",
    ),
    (
        "elementwise_c6",
        "r = f32[2,3] add(x, s), broadcast_dimensions={0}",
    ),
    (
        "elementwise_c7",
        "r = f32[2,3] add(x, v), broadcast_dimensions={2}",
    ),
    (
        "elementwise_c8",
        "y = f32[4,2,3] broadcast(s), dimensions={} r = f32[4,2,3] add(x, y), broadcast_dimensions={2,1}",
    ),
    (
        "elementwise_c9",
        "r = f32[2,3] add(x, v), broadcast_dimensions={0}",
    ),
    (
        "elementwise_c10",
        "r = f32[2,3] add(x, x), broadcast_dimensions={1,0}",
    ),
    (
        "compare_c1",
        "r = pred[2,3] compare(x, x), direction=LT, type=SIGNED",
    ),
    ("compare_c2", "r = pred[2,3] compare(z, z), direction=LT"),
    ("select_c1", "r = f32[2,3] select(x, x, x)"),
    ("convert_c1", "r = s32[3] convert(x)"),
    ("bitcast_convert_c1", "r = f32[2,3,2] bitcast-convert(z)"),
    ("bitcast_convert_c3", "r = f32[2] bitcast-convert(h)"),
    ("bitcast_convert_c4", "r = u8[2,3] bitcast-convert(x)"),
    (
        "reduce_precision_c1",
        "r = f32[2,3] reduce-precision(x), exponent_bits=0, mantissa_bits=4",
    ),
    (
        "reduce_precision_c2",
        "r = f32[2,3] reduce-precision(x), exponent_bits=2, mantissa_bits=-1",
    ),
    (
        "stochastic_convert_c1",
        "r = s8[2,3] stochastic-convert(x, x)",
    ),
    ("broadcast_c1", "r = s32[2,3] broadcast(v), dimensions={1}"),
    (
        "broadcast_c2",
        "r = f32[2,3] broadcast(v), dimensions={0,1}",
    ),
    ("broadcast_c2", "r = f32[2,3] broadcast(s), dimensions={0}"),
    ("broadcast_c3", "r = f32[2,3] broadcast(v), dimensions={2}"),
    ("broadcast_c4", "r = f32[2,4] broadcast(v), dimensions={1}"),
    (
        "broadcast_c4",
        "o = f32[1,3] reshape(v) r = f32[2,3] broadcast(o), dimensions={0,1}",
    ),
    (
        "broadcast_c5",
        "q = f32[3,3] broadcast(v), dimensions={0} r = f32[3,4] broadcast(q), dimensions={0,0}",
    ),
    (
        "broadcast_c6",
        "r = f32[3,2] broadcast(x), dimensions={1,0}",
    ),
    ("reshape_c1", "r = s32[6] reshape(x)"),
    ("reshape_c2", "r = f32[7] reshape(x)"),
    ("reshape_c3", "r = f32[6] reshape(x), inferred_dimension=1"),
    ("dynamic_reshape_c1", "r = f32[<=7] dynamic-reshape(x, i)"),
    (
        "dynamic_reshape_c2",
        "r = f32[<=6] dynamic-reshape(x, i, i)",
    ),
    ("dynamic_reshape_c3", "r = f32[<=6] dynamic-reshape(x, s)"),
    ("transpose_c1", "r = f32[3,2] transpose(x), dimensions={0}"),
    (
        "transpose_c2",
        "r = f32[3,2] transpose(x), dimensions={0,2}",
    ),
    (
        "transpose_c3",
        "r = f32[3,2] transpose(x), dimensions={0,0}",
    ),
    ("reverse_c1", "r = f32[2,3] reverse(x), dimensions={2}"),
    ("reverse_c2", "r = f32[2,3] reverse(x), dimensions={1,1}"),
    ("bitcast_c2", "r = f32[7] bitcast(x)"),
    ("slice_c1", "r = f32[1] slice(x), slice={[0:1]}"),
    ("slice_c2", "r = f32[3] slice(v), slice={[1:4]}"),
    ("slice_c3", "r = f32[3] slice(v), slice={[0:3:0]}"),
    (
        "dynamic_slice_c1",
        "r = f32[1,1] dynamic-slice(x, i), dynamic_slice_sizes={1,1}",
    ),
    (
        "dynamic_slice_c2",
        "r = f32[1] dynamic-slice(v, s), dynamic_slice_sizes={1}",
    ),
    (
        "dynamic_slice_c3",
        "r = f32[1] dynamic-slice(v, i), dynamic_slice_sizes={1,1}",
    ),
    (
        "dynamic_slice_c4",
        "r = f32[4] dynamic-slice(v, i), dynamic_slice_sizes={4}",
    ),
    (
        "dynamic_update_slice_c1",
        "r = f32[3] dynamic-update-slice(v, v)",
    ),
    (
        "dynamic_update_slice_c2",
        "r = f32[3] dynamic-update-slice(v, v, s)",
    ),
    (
        "dynamic_update_slice_c3",
        "w = s32[3] convert(v) r = f32[3] dynamic-update-slice(v, w, i)",
    ),
    (
        "dynamic_update_slice_c4",
        "w = f32[4] broadcast(s), dimensions={} r = f32[3] dynamic-update-slice(v, w, i)",
    ),
    ("pad_c1", "r = f32[4] pad(v, i), padding=0_1"),
    ("pad_c2", "r = f32[2,4] pad(x, s), padding=0_1"),
    ("pad_c4", "r = f32[0] pad(v, s), padding=-2_-2"),
    (
        "concatenate_c1",
        "r = f32[6] concatenate(v, v), dimensions={0,1}",
    ),
    (
        "concatenate_c2",
        "r = f32[6] concatenate(v, v), dimensions={1}",
    ),
    (
        "concatenate_c3",
        "w = s32[3] convert(v) r = f32[6] concatenate(v, w), dimensions={0}",
    ),
    (
        "concatenate_c4",
        "r = f32[6] concatenate(v, x), dimensions={0}",
    ),
    (
        "concatenate_c5",
        "w = f32[3,2] transpose(x), dimensions={1,0} r = f32[5,3] concatenate(x, w), dimensions={0}",
    ),
    ("iota_c1", "r = s32[] iota(), iota_dimension=0"),
    ("iota_c2", "r = s32[3] iota(), iota_dimension=1"),
    ("iota_c3", "r = pred[3] iota(), iota_dimension=0"),
    (
        "get_dimension_size_c1",
        "r = s32[] get-dimension-size(x), dimensions={2}",
    ),
    (
        "set_dimension_size_c1",
        "r = f32[2,<=3] set-dimension-size(x, i), dimensions={2}",
    ),
    (
        "set_dimension_size_c2",
        "r = f32[2,<=3] set-dimension-size(x, s), dimensions={1}",
    ),
    (
        "gather_c1",
        "r = f32[4,3] gather(x, v), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}",
    ),
    (
        "gather_c2",
        "r = f32[4,3] gather(x, n), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=2, slice_sizes={1,3}",
    ),
    (
        "gather_c3",
        "r = f32[4,3] gather(x, n), offset_dims={2}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}",
    ),
    (
        "gather_c4",
        "r = f32[4,3] gather(x, n), offset_dims={1,0}, collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}",
    ),
    (
        "gather_c5",
        "r = f32[4,3] gather(x, n), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,3}",
    ),
    (
        "gather_c6",
        "r = f32[4,3] gather(x, n), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={2}, index_vector_dim=1, slice_sizes={1,3}",
    ),
    (
        "gather_c7",
        "r = f32[4,3] gather(x, n2), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0,0}, index_vector_dim=1, slice_sizes={1,3}",
    ),
    (
        "gather_c8",
        "r = f32[4,3] gather(x, n), offset_dims={1}, collapsed_slice_dims={}, start_index_map={0}, operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=1, slice_sizes={1,3}",
    ),
    (
        "gather_c9",
        "r = f32[4,3] gather(x, n), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}",
    ),
    (
        "gather_c10",
        "r = f32[4,3] gather(x, n), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}",
    ),
    (
        "gather_c11",
        "r = f32[4,3] gather(x, n), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={2,3}",
    ),
    (
        "gather_c12",
        "r = f32[4,3] gather(x, n), offset_dims={1}, collapsed_slice_dims={}, start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={}, index_vector_dim=1, slice_sizes={1,3}",
    ),
    (
        "gather_c13",
        "r = f32[4,3] gather(x, n), offset_dims={1}, collapsed_slice_dims={}, start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={1}, index_vector_dim=1, slice_sizes={1,3}",
    ),
    (
        "gather_c14",
        "r = f32[4,3] gather(x, n), offset_dims={1}, collapsed_slice_dims={}, start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=1, slice_sizes={1,3}",
    ),
    (
        "gather_c15",
        "r = f32[4,3] gather(x, n), offset_dims={1}, collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}",
    ),
    (
        "scatter_c1",
        "r = f32[3] scatter(v, n, v, v), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_f32",
    ),
    (
        "scatter_c2",
        "r = (f32[3], f32[2,3]) scatter(v, x, n, v, v), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_f32",
    ),
    (
        "scatter_c3",
        "r = f32[3] scatter(v, v, v), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_f32",
    ),
    (
        "scatter_c4",
        "r = f32[3] scatter(v, n, v), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=2, to_apply=add_f32",
    ),
    (
        "scatter_c5",
        "r = f32[3] scatter(v, n, v), update_window_dims={}, inserted_window_dims={1}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_f32",
    ),
    (
        "scatter_c6",
        "r = f32[2,3] scatter(x, n2, v), update_window_dims={}, inserted_window_dims={1,0}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=add_f32",
    ),
    (
        "scatter_c7",
        "r = f32[2,3] scatter(x, n2, v), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=add_f32",
    ),
    (
        "scatter_c8",
        "r = f32[3] scatter(v, n, v), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0,0}, index_vector_dim=1, to_apply=add_f32",
    ),
    (
        "scatter_c9",
        "r = f32[3] scatter(v, n, v), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={1}, index_vector_dim=1, to_apply=add_f32",
    ),
    (
        "scatter_c10",
        "r = f32[2,3] scatter(x, n2, v), update_window_dims={}, inserted_window_dims={0,1}, scatter_dims_to_operand_dims={0,0}, index_vector_dim=1, to_apply=add_f32",
    ),
    (
        "scatter_c11",
        "r = f32[3] scatter(v, n, v), update_window_dims={}, inserted_window_dims={}, input_batching_dims={0}, scatter_indices_batching_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_f32",
    ),
    (
        "scatter_c15",
        "r = f32[3] scatter(v, n, x), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_f32",
    ),
    (
        "scatter_c16",
        "w = f32[4,4] broadcast(s), dimensions={} r = f32[3] scatter(v, n, w), update_window_dims={1}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_f32",
    ),
    (
        "scatter_c17",
        "r = f32[3] scatter(v, n, v), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_f32",
    ),
    (
        "reduce_c1",
        "r = f32[] reduce(v, s, s), dimensions={0}, to_apply=add_f32",
    ),
    (
        "reduce_c2",
        "r = (f32[], f32[]) reduce(v, x, s, s), dimensions={0}, to_apply=add_f32",
    ),
    (
        "reduce_c3",
        "r = f32[] reduce(v, v), dimensions={0}, to_apply=add_f32",
    ),
    (
        "reduce_c4",
        "r = f32[] reduce(v, s), dimensions={1}, to_apply=add_f32",
    ),
    (
        "reduce_c5",
        "r = f32[] reduce(v, s), dimensions={0,0}, to_apply=add_f32",
    ),
    (
        "reducer_c1",
        "r = f32[] reduce(v, s), dimensions={0}, to_apply=negate",
    ),
    (
        "reducer_c2",
        "r = f32[] reduce(v, s), dimensions={0}, to_apply=add_bf16",
    ),
    (
        "reducer_c3",
        "r = f32[] reduce(v, s), dimensions={0}, to_apply=gives_pred",
    ),
    ("map_c1", "r = f32[3] map(v, x), to_apply=add_f32"),
    (
        "map_c2",
        "r = f32[2,3] map(x), dimensions={1,0}, to_apply=negate",
    ),
    ("map_c3", "r = f32[3] map(v), to_apply=add_f32"),
    ("map_c4", "r = f32[2,3] map(z), to_apply=negate"),
    (
        "window_c1",
        "r = f32[2,3] reduce-window(x, s), window={size=1}, to_apply=add_f32",
    ),
    (
        "window_c2",
        "r = f32[3] reduce-window(v, s), window={size=0}, to_apply=add_f32",
    ),
    (
        "window_c3",
        "r = f32[3] reduce-window(v, s), window={size=1 stride=0}, to_apply=add_f32",
    ),
    (
        "window_c4",
        "r = f32[3] reduce-window(v, s), window={size=1 lhs_dilate=0}, to_apply=add_f32",
    ),
    (
        "window_c5",
        "r = f32[3] reduce-window(v, s), window={size=1 pad=-4_0}, to_apply=add_f32",
    ),
    (
        "select_and_scatter_c1",
        "r = f32[3] select-and-scatter(v, v, i), window={size=1}, select=gives_pred, scatter=add_f32",
    ),
    (
        "select_and_scatter_c2",
        "r = f32[3] select-and-scatter(v, v, s), window={size=2}, select=gives_pred, scatter=add_f32",
    ),
    (
        "select_and_scatter_c3",
        "r = f32[3] select-and-scatter(v, v, s), window={size=1}, select=positive, scatter=add_f32",
    ),
    (
        "select_and_scatter_c4",
        "r = f32[3] select-and-scatter(v, v, s), window={size=1}, select=add_f32, scatter=add_f32",
    ),
    (
        "convolution_c1",
        "k = bf16[3,3] broadcast(hs), dimensions={} r = f32[2,3] convolution(x, k), dim_labels=bf_io->bf",
    ),
    (
        "convolution_c3",
        "r = f32[2,3] convolution(x, sq), dim_labels=bf_io->bf",
    ),
    (
        "convolution_c4",
        "r = f32[2,3] convolution(x, x), dim_labels=bf_io->bf",
    ),
    (
        "convolution_c5",
        "k = f32[3,3] broadcast(s), dimensions={} r = f32[2,3] convolution(x, k), window={size=1}, dim_labels=bf_io->bf",
    ),
    (
        "convolution_c6",
        "r = f32[5,3,1] convolution(sq, sq2), window={size=2}, dim_labels=b0f_0io->b0f",
    ),
    (
        "sort_c1",
        "r = (f32[3], f32[2,3]) sort(v, x), dimensions={0}, to_apply=gives_pred",
    ),
    (
        "sort_c2",
        "r = f32[3] sort(v), dimensions={-1}, to_apply=gives_pred",
    ),
    (
        "sort_c3",
        "r = f32[3] sort(v), dimensions={0}, to_apply=positive",
    ),
    (
        "sort_c4",
        "r = f32[3] sort(v), dimensions={0}, to_apply=add_f32",
    ),
    ("topk_c1", "r = (f32[4], s32[4]) topk(v), k=4, largest=true"),
    (
        "dot_c1",
        "r = f32[] dot(v, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    ),
    (
        "dot_c2",
        "r = f32[2,2] dot(x, x), lhs_contracting_dims={1,1}, rhs_contracting_dims={1,0}",
    ),
    (
        "dot_c3",
        "r = f32[2,2] dot(x, x), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={0}, rhs_contracting_dims={1}",
    ),
    (
        "dot_c4",
        "r = f32[2] dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={}",
    ),
    (
        "dot_c5",
        "r = f32[3] dot(x, v), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
    ),
    (
        "dot_c6",
        "r = f32[2,2] dot(x, h), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
    ),
    (
        "dot_c7",
        "r = s32[2,2] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
    ),
    ("cholesky_c1", "r = f32[2,3] cholesky(x), lower=true"),
    (
        "triangular_solve_c1",
        "r = f32[2,3] triangular-solve(x, x), left_side=true, transpose_a=NO_TRANSPOSE",
    ),
    (
        "triangular_solve_c2",
        "r = f32[2,3] triangular-solve(sq, x), left_side=true, transpose_a=NO_TRANSPOSE",
    ),
    (
        "triangular_solve_c3",
        "b = f32[5,2,3] broadcast(s), dimensions={} r = f32[5,2,3] triangular-solve(sq, b), left_side=true, transpose_a=NO_TRANSPOSE",
    ),
    (
        "triangular_solve_c4",
        "r = f32[5,3,3] triangular-solve(sq, sq), left_side=true",
    ),
    ("fft_c1", "r = c64[2,3] fft(z), fft_type=FFT, fft_length={}"),
    (
        "fft_c2",
        "r = c64[2,3] fft(x), fft_type=FFT, fft_length={3}",
    ),
    (
        "fft_c3",
        "r = c64[2,3] fft(z), fft_type=FFT, fft_length={4}",
    ),
    (
        "batch_norm_c1",
        "r = f32[] batch-norm-inference(s, v, v, v, v), epsilon=0.1, feature_index=0",
    ),
    (
        "batch_norm_c2",
        "r = f32[2,3] batch-norm-inference(x, v, v, v, v), epsilon=0.1, feature_index=2",
    ),
    (
        "batch_norm_c3",
        "r = f32[2,3] batch-norm-inference(x, v, v, v, v), epsilon=0.1, feature_index=0",
    ),
    (
        "batch_norm_c4",
        "r = (f32[2,3], f32[3], f32[3]) batch-norm-grad(x, v, v, v, v), epsilon=0.1, feature_index=1",
    ),
    ("rng_c1", "r = s32[3] rng(i, i), distribution=rng_normal"),
    ("rng_c2", "r = f32[3] rng(s, i), distribution=rng_uniform"),
    (
        "rng_bit_generator_c1",
        "r = u32[3] rng-bit-generator(n), algorithm=rng_default",
    ),
    (
        "rng_bit_generator_c2",
        "st = u64[2] iota(), iota_dimension=0 r = (u64[2], f32[3]) rng-bit-generator(st), algorithm=rng_default",
    ),
    (
        "while_c1",
        "r = f32[] while(s), condition=add_f32, body=negate",
    ),
    (
        "while_c2",
        "r = s32[] while(i), condition=positive, body=negate",
    ),
    (
        "while_c3",
        "r = f32[] while(s), condition=negate, body=negate",
    ),
    (
        "while_c4",
        "r = f32[] while(s), condition=positive, body=positive",
    ),
    (
        "conditional_c3",
        "r = f32[] conditional(i, s), branch_computations={negate, negate}",
    ),
    (
        "conditional_c4",
        "r = f32[] conditional(p, s, s), true_computation=negate, false_computation=nothing",
    ),
    (
        "conditional_c5",
        "r = f32[] conditional(p, s, i), true_computation=negate, false_computation=negate",
    ),
    (
        "conditional_c6",
        "r = f32[] conditional(p, s, s), true_computation=negate, false_computation=positive",
    ),
    ("call_c1", "r = f32[] call(s), to_apply=add_f32"),
    ("call_c2", "r = f32[4] call(v), to_apply=vector"),
    (
        "call_c3",
        "r = f32[] call(s), to_apply=negate, is_composite=true",
    ),
    (
        "fusion_c1",
        "r = f32[] fusion(s), kind=kLoop, calls=add_f32",
    ),
    (
        "fusion_c2",
        "r = f32[4] fusion(v), kind=kLoop, calls=vector",
    ),
    (
        "fusion_c3",
        "r = f32[] fusion(s), kind=kLoop, calls=root_used",
    ),
    ("fusion_c4", "r = f32[] fusion(s), kind=kLoop, calls=unused"),
    (
        "get_tuple_element_c1",
        "r = f32[2,3] get-tuple-element(x), index=0",
    ),
    (
        "get_tuple_element_c2",
        "r = f32[2,3] get-tuple-element(t), index=2",
    ),
    ("after_all_c1", "r = token[] after-all(x)"),
    ("add_dependency_c1", "r = f32[2,3] add-dependency(x, x)"),
    (
        "custom_call_c2",
        "r = f32[] custom-call(s), custom_call_target=\"f\", operand_layout_constraints={}",
    ),
    (
        "custom_call_c3",
        "r = f32[] custom-call(s), custom_call_target=\"f\", operand_layout_constraints={f32[2]{0}}",
    ),
    (
        "collective_c1",
        "r = f32[3] all-reduce(v), replica_groups={{0,0}}, to_apply=add_f32",
    ),
    (
        "collective_c2",
        "r = f32[3] all-reduce(v), replica_groups={}, to_apply=negate",
    ),
    (
        "collective_c3",
        "r = f32[6] all-gather(v), replica_groups={{0,1}}, dimensions={1}",
    ),
    (
        "collective_permute_c1",
        "r = f32[3] collective-permute(v), source_target_pairs={{0,1},{0,2}}",
    ),
    (
        "send_c1",
        "r = (f32[3], u32[], token[]) send(v, v), channel_id=1",
    ),
    ("send_done_c1", "r = token[] send-done(v), channel_id=1"),
    (
        "recv_c1",
        "r = (f32[3], u32[], token[]) recv(v), channel_id=1",
    ),
    ("recv_c2", "r = f32[3] recv(tk), channel_id=1"),
    (
        "recv_done_c1",
        "r = (f32[3], token[]) recv-done(v), channel_id=1",
    ),
    ("infeed_c1", "r = (f32[3], token[]) infeed(v)"),
    ("infeed_c2", "r = f32[3] infeed(tk)"),
    ("outfeed_c1", "r = token[] outfeed(v, v)"),
    (
        "outfeed_c2",
        "r = token[] outfeed(v, tk), outfeed_shape=f32[4]{0}",
    ),
    (
        "bitcast_convert_c2",
        "w = f6e2m3fn[2,3] convert(x) r = f8e5m2[2,3] bitcast-convert(w)",
    ),
    (
        "stochastic_convert_c2",
        "w = u32[2,3] iota(), iota_dimension=0 r = s8[6] stochastic-convert(x, w)",
    ),
    ("bitcast_c1", "r = (f32[2,3]) bitcast(t)"),
    (
        "concatenate_c6",
        "m = pred[5000000000000000000] broadcast(p), dimensions={} r = pred[3] concatenate(m, m), dimensions={0}",
    ),
    (
        "scatter_c12",
        "r = f32[2,3] scatter(x, n, v), update_window_dims={}, inserted_window_dims={1}, input_batching_dims={0}, scatter_indices_batching_dims={}, scatter_dims_to_operand_dims={1}, index_vector_dim=1, to_apply=add_f32",
    ),
    (
        "scatter_c13",
        "r = f32[2,3] scatter(x, n, v), update_window_dims={}, inserted_window_dims={1}, input_batching_dims={0}, scatter_indices_batching_dims={1}, scatter_dims_to_operand_dims={1}, index_vector_dim=1, to_apply=add_f32",
    ),
    (
        "scatter_c14",
        "r = f32[2,3] scatter(x, n, v), update_window_dims={}, inserted_window_dims={1}, input_batching_dims={0}, scatter_indices_batching_dims={0}, scatter_dims_to_operand_dims={1}, index_vector_dim=1, to_apply=add_f32",
    ),
    ("map_c5", "r = f32[4] map(s), to_apply=pair"),
    (
        "convolution_c2",
        "r = f32[2,3] convolution(x, x), dim_labels=b?f_i?o->bf",
    ),
    (
        "ragged_dot_c1",
        "r = f32[2,3] ragged-dot(x, sq, s), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}",
    ),
    (
        "ragged_dot_c2",
        "r = f32[2,3] ragged-dot(x, sq, n), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={2}, rhs_group_dims={0}",
    ),
    (
        "ragged_dot_c3",
        "r = f32[2,3] ragged-dot(x, sq, n), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0,0}",
    ),
    (
        "scaled_dot_c1",
        "r = f32[2,2] scaled-dot(x, x, v, s), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
    ),
    (
        "conditional_c1",
        "r = f32[] conditional(s, s, s), branch_computations={negate, negate}",
    ),
    (
        "conditional_c2",
        "r = f32[] conditional(p, s, s), branch_computations={negate, negate}",
    ),
    (
        "scan_c1",
        "r = f32[3] scan(v), dimensions={0,1}, num_carries=0, to_apply=negate",
    ),
    (
        "scan_c2",
        "r = f32[3] scan(v), dimensions={0}, num_carries=2, to_apply=negate",
    ),
    (
        "scan_c3",
        "r = f32[3] scan(v), dimensions={0}, num_carries=0, to_apply=add_f32",
    ),
    (
        "scan_c4",
        "r = f32[3] scan(v), dimensions={1}, num_carries=0, to_apply=negate",
    ),
    (
        "scan_c5",
        "r = f32[3] scan(v, x), dimensions={0}, num_carries=0, to_apply=add_f32",
    ),
    (
        "scan_c6",
        "r = f32[2] scan(x), dimensions={0}, num_carries=0, to_apply=negate",
    ),
    (
        "custom_call_c1",
        "r = f32[] custom-call(s), custom_call_target=\"\"",
    ),
    (
        "collective_c4",
        "r = f32[3] all-to-all(v, v), replica_groups={{0}}, dimensions={0}",
    ),
    (
        "ragged_all_to_all_c1",
        "r = f32[3] ragged-all-to-all(v, v, n, n, v, n), replica_groups={{0}}",
    ),
    ("all_gather_done_c1", "r = f32[3] all-gather-done(v)"),
    (
        "collective_permute_done_c1",
        "r = f32[3] collective-permute-done(v)",
    ),
    ("copy_done_c1", "r = f32[3] copy-done(v)"),
    (
        "async_start_c1",
        "r = ((f32[]), f32[], u32[]) async-start(s), calls=add_f32",
    ),
    (
        "async_start_c2",
        "r = ((f32[3]), f32[4], u32[]) async-start(v), calls=vector",
    ),
    (
        "async_start_c3",
        "r = (f32[], f32[], u32[]) async-start(s), calls=negate",
    ),
    ("async_done_c1", "r = f32[3] async-done(v)"),
];

/// Whole modules that break rules of modules and computations.
const BROKEN_MODULES: &[(&str, &str)] = &[
    (
        "computation_c5",
        "HloModule m\nENTRY e (a: f32[3]) -> f32[2] { a = f32[2] parameter(0) }",
    ),
    (
        "computation_c6",
        "HloModule m\nENTRY e (a: f32[2]) -> f32[3] { a = f32[2] parameter(0) }",
    ),
    (
        "entry_layout_c1",
        "HloModule m, entry_computation_layout={()->f32[2]{0}}\nENTRY e { a = f32[2] parameter(0) }",
    ),
    (
        "entry_layout_c2",
        "HloModule m, entry_computation_layout={(f32[3]{0})->f32[2]{0}}\nENTRY e { a = f32[2] parameter(0) }",
    ),
    (
        "entry_layout_c3",
        "HloModule m, entry_computation_layout={(f32[2]{0})->f32[3]{0}}\nENTRY e { a = f32[2] parameter(0) }",
    ),
    (
        "alias_c1",
        "HloModule m, input_output_alias={ {}: (1, {}, may-alias) }\nENTRY e { a = f32[2] parameter(0) }",
    ),
    (
        "alias_c2",
        "HloModule m, input_output_alias={ {0}: (0, {}, may-alias), {1}: (0, {}, may-alias) }\nENTRY e { a = f32[2] parameter(0) ROOT t = (f32[2], f32[2]) tuple(a, a) }",
    ),
    (
        "alias_c3",
        "HloModule m, input_output_alias={ {}: (0, {}, may-alias) }\nENTRY e { a = f32[2] parameter(0) ROOT b = f32[4] concatenate(a, a), dimensions={0} }",
    ),
    (
        "donor_c1",
        "HloModule m, buffer_donor={ (1, {}) }\nENTRY e { a = f32[2] parameter(0) }",
    ),
    (
        "donor_c2",
        "HloModule m, buffer_donor={ (0, {}), (0, {}) }\nENTRY e { a = f32[2] parameter(0) }",
    ),
    (
        "module_c5",
        "HloModule m\nENTRY e { a = f32[] parameter(0) ROOT r = f32[] negate(a) }\ng { a = f32[] parameter(0) ROOT r = f32[] fusion(a), kind=kLoop, calls=e }",
    ),
    (
        "module_c4",
        "HloModule m, replica_count=0\nENTRY e { a = f32[2] parameter(0) }",
    ),
];

fn codes(text: &str) -> Vec<String> {
    let source = Source::new("case.hlo", text).expect("short");
    let module = match hloc_parser::parse(&source) {
        Ok(module) => module,
        Err(errors) => {
            let told = errors.iter();
            return told
                .map(|error| format!("does not parse: {}", error.message))
                .collect();
        }
    };
    match verify(module) {
        Ok(_) => Vec::new(),
        Err(rejected) => {
            for diagnostic in &rejected.diagnostics {
                assert!(explain(&diagnostic.code).is_some(), "{}", diagnostic.code);
            }
            let codes = rejected.diagnostics.iter();
            codes
                .map(|diagnostic| diagnostic.code.to_string())
                .collect()
        }
    }
}

fn entry(body: &str) -> String {
    format!("HloModule m\n{CALLED}\nENTRY e {{ {PARAMETERS}\n{body}\n}}\n")
}

#[test]
fn each_broken_rule_gives_its_label_once() {
    let mut wrong = Vec::new();
    for (label, body) in BROKEN {
        let found = codes(&entry(body));
        if found != [*label] {
            wrong.push(format!("{label}: {found:?} from {body}"));
        }
    }
    for (label, text) in BROKEN_MODULES {
        let found = codes(text);
        if found != [*label] {
            wrong.push(format!("{label}: {found:?} from {text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Rules that no text can break: the parser refuses such texts, or no text can say it. The tests of
/// built modules and of the shape rules break them.
const BUILT: &[&str] = &[
    "arity_c1",
    "called_c1",
    "computation_c1",
    "computation_c2",
    "computation_c3",
    "computation_c4",
    "computation_c7",
    "constant_c1",
    "layout_c1",
    "module_c1",
    "module_c2",
    "module_c3",
    "pad_c3",
    "parameter_c1",
    "result_c2",
    "shape_c3",
];

/// Rules of XLA's dialect, broken in the tests of broadcasting.
const DIALECT: &[&str] = &["dialect_c1", "dialect_c2"];

#[test]
fn each_rule_is_broken_once() {
    let texts = BROKEN.iter().chain(BROKEN_MODULES).map(|case| case.0);
    let broken: BTreeSet<&str> = texts
        .chain(BUILT.iter().copied())
        .chain(DIALECT.iter().copied())
        .collect();
    let rules: BTreeSet<&str> = CONSTRAINTS.iter().map(|rule| rule.label).collect();
    assert_eq!(broken, rules);
}
