//! Mistakes of reductions, algebra, control and devices, and the rest.

/// Label and the instructions that break it.
pub(crate) const BROKEN: &[(&str, &str)] = &[
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
pub(crate) const BROKEN_MODULES: &[(&str, &str)] = &[
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
