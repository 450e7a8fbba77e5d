//! Mistakes of element-wise ops, data movement and indexing.

/// Label and the instructions that break it.
pub(crate) const BROKEN: &[(&str, &str)] = &[
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
];
