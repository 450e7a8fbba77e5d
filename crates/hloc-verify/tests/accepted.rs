//! Programs at the edge of the rules that are valid: XLA's verifier accepts them too.

use hloc_diag::Source;
use hloc_verify::{Dialect, Options, verify_with};

/// Computations that the cases call.
const CALLED: &str = "
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
greater { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=GT }
pairs { a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2) j = s32[] parameter(3) g = pred[] compare(a, b), direction=GT m = f32[] select(g, a, b) k = s32[] select(g, i, j) ROOT r = (f32[], s32[]) tuple(m, k) }
less2 { a = f32[] parameter(0) b = f32[] parameter(1) i = s32[] parameter(2) j = s32[] parameter(3) ROOT r = pred[] compare(a, b), direction=LT }
negate { a = f32[] parameter(0) ROOT r = f32[] negate(a) }
again { t = (s32[], f32[3]) parameter(0) i = s32[] get-tuple-element(t), index=0 n = s32[] constant(3) ROOT r = pred[] compare(i, n), direction=LT }
step { t = (s32[], f32[3]) parameter(0) i = s32[] get-tuple-element(t), index=0 v = f32[3] get-tuple-element(t), index=1 one = s32[] constant(1) j = s32[] add(i, one) w = f32[3] add(v, v) ROOT r = (s32[], f32[3]) tuple(j, w) }
fused { a = f32[3] parameter(0) b = f32[3] parameter(1) ROOT r = f32[3] multiply(a, b) }
";

const PARAMETERS: &str = "
  x = f32[2,3] parameter(0)
  v = f32[3] parameter(1)
  s = f32[] parameter(2)
  i = s32[] parameter(3)
  p = pred[] parameter(4)
  n = s32[4] parameter(5)
  h = bf16[2,3] parameter(6)
  z = c64[2,3] parameter(7)
  u = u64[2] parameter(8)
  n2 = s32[4,2] parameter(9)
  sq = f32[5,3,3] parameter(10)
  e = f32[0,3] parameter(11)
  b8 = u8[2,4] parameter(12)
";

const VALID: &[&str] = &[
    "ROOT r = f32[2,3] select(p, x, x)",
    "ROOT r = f32[2,3] clamp(s, x, s)",
    "ROOT r = f32[2,3] clamp(s, x, x)",
    "ROOT r = f32[2,3] broadcast(s), dimensions={}",
    "ROOT r = f32[0,2,3] broadcast(x), dimensions={1,2}",
    "ROOT r = f32[7,2,9,3] broadcast(x), dimensions={1,3}",
    "ROOT r = f32[3,0] reshape(e)",
    "ROOT r = f32[1,6,1] reshape(x)",
    "ROOT r = f32[] transpose(s), dimensions={}",
    "ROOT r = f32[2,3] reverse(x), dimensions={}",
    "ROOT r = f32[1,0] slice(x), slice={[0:2:5], [3:3]}",
    "ROOT r = f32[1,2] slice(x), slice={[1:2], [0:3:2]}",
    "ROOT r = f32[0,2] dynamic-slice(x, i, i), dynamic_slice_sizes={0,2}",
    "w = u8[] constant(1) ROOT r = f32[1,2] dynamic-slice(x, w, w), dynamic_slice_sizes={1,2}",
    "ROOT r = f32[0,3] dynamic-update-slice(e, e, i, i)",
    "ROOT r = f32[4] pad(v, s), padding=-1_0_1",
    "ROOT r = f32[0] pad(v, s), padding=-3_0",
    "ROOT r = f32[2,3] concatenate(e, x), dimensions={0}",
    "ROOT r = f32[2,3] concatenate(x), dimensions={1}",
    "ROOT r = c64[3] iota(), iota_dimension=0",
    "ROOT r = u8[300] iota(), iota_dimension=0",
    "ROOT r = u8[2,3,4] bitcast-convert(x)",
    "ROOT r = f32[2] bitcast-convert(b8)",
    "ROOT r = s16[2,3] bitcast-convert(h)",
    "ROOT r = pred[2,3] convert(z)",
    "ROOT r = pred[2,3] compare(x, x), direction=LT, type=TOTALORDER",
    "ROOT r = pred[2,3] compare(z, z), direction=NE",
    "ROOT r = f32[2,3] abs(z)",
    "ROOT r = f32[2,3] reduce(x, s), dimensions={}, to_apply=add",
    "ROOT r = f32[] reduce(x, s), dimensions={1,0}, to_apply=add",
    "ROOT r = f32[3] reduce(e, s), dimensions={0}, to_apply=add",
    "c = s32[2,3] iota(), iota_dimension=1 ROOT r = (f32[2], s32[2]) reduce(x, c, s, i), dimensions={1}, to_apply=pairs",
    "ROOT r = f32[3] reduce-window(v, s), window={size=2 pad=1_0}, to_apply=add",
    "ROOT r = f32[0] reduce-window(v, s), window={size=5}, to_apply=add",
    "ROOT r = f32[3] select-and-scatter(v, v, s), window={size=1}, select=greater, scatter=add",
    "c = s32[2,3] iota(), iota_dimension=1 ROOT r = (f32[2,3], s32[2,3]) sort(x, c), dimensions={1}, to_apply=less2",
    "ROOT r = (f32[2,1], s32[2,1]) topk(x), k=1, largest=true",
    "ROOT r = f32[2,2] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
    "ROOT r = f32[2,3,3] dot(x, x), lhs_batch_dims={0}, rhs_batch_dims={0}",
    "ROOT r = f32[2,3,2,3] dot(x, x)",
    "ROOT r = f32[5,3,3] dot(sq, sq), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}",
    "ROOT r = f32[2,2] dot(h, h), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
    "ROOT r = f32[4,3] gather(x, n), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}",
    "ROOT r = f32[4,1,2] gather(x, n2), offset_dims={1,2}, collapsed_slice_dims={}, start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,2}",
    "ROOT r = f32[4] gather(x, n2), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={1,0}, index_vector_dim=1, slice_sizes={1,1}",
    "m = s32[2] slice(n), slice={[0:2]} ROOT r = f32[2] gather(x, m), offset_dims={}, collapsed_slice_dims={1}, start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=1, slice_sizes={1,1}",
    "w = f32[4] broadcast(s), dimensions={} ROOT r = f32[3] scatter(v, n, w), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
    "w = f32[4,1,2] broadcast(s), dimensions={} ROOT r = f32[2,3] scatter(x, n2, w), update_window_dims={1,2}, inserted_window_dims={}, scatter_dims_to_operand_dims={1,0}, index_vector_dim=1, to_apply=add",
    "ROOT r = f32[2,5] convolution(x, k), dim_labels=bf_io->bf",
    "ROOT r = c64[2,3] fft(z), fft_type=FFT, fft_length={3}",
    "ROOT r = c64[2,2] fft(x), fft_type=RFFT, fft_length={3}",
    "ROOT r = f32[2,4] fft(z), fft_type=IRFFT, fft_length={4}",
    "ROOT r = f32[5,3,3] cholesky(sq), lower=true",
    "ROOT r = f32[5,3,3] triangular-solve(sq, sq), left_side=true, transpose_a=TRANSPOSE",
    "ROOT r = (u64[2], u32[3]) rng-bit-generator(u), algorithm=rng_three_fry",
    "ROOT r = f32[4] rng(s, s), distribution=rng_uniform",
    "t = (s32[], f32[3]) tuple(i, v) ROOT r = (s32[], f32[3]) while(t), condition=again, body=step",
    "ROOT r = f32[] conditional(p, s, s), true_computation=negate, false_computation=negate",
    "ROOT r = f32[] conditional(i, s), branch_computations={negate}",
    "ROOT r = f32[3] fusion(v, v), kind=kLoop, calls=fused",
    "ROOT r = f32[3] call(v, v), to_apply=fused",
    "t = (f32[2,3], ()) tuple(x, q) ROOT r = () get-tuple-element(t), index=1",
    "t = (f32[2,3], s32[]) tuple(x, i) o = (f32[2,3], s32[]) opt-barrier(t) ROOT r = s32[] get-tuple-element(o), index=1",
    "a = token[] after-all() ROOT r = f32[3] add-dependency(v, a)",
    "ROOT r = s32[] get-dimension-size(x), dimensions={1}",
    "ROOT r = f32[3] all-reduce(v), replica_groups={}, to_apply=add",
    "ROOT r = u32[] partition-id()",
    "ROOT r = f32[2,3] copy(x), control-predecessors={v}",
    "ROOT r = f32[3] custom-call(v), custom_call_target=\"f\", custom_call_has_side_effect=true",
];

#[test]
fn edge_cases_are_accepted_in_both_dialects() {
    let mut wrong = Vec::new();
    for body in VALID {
        let text = format!(
            "HloModule m\n{CALLED}\nENTRY main {{ {PARAMETERS} k = f32[3,5] broadcast(s), dimensions={{}} q = () tuple()\n{body}\n}}\n"
        );
        let source = Source::new("case.hlo", text).expect("short");
        for dialect in [Dialect::Hloc, Dialect::Xla] {
            let module = match hloc_parser::parse(&source) {
                Ok(module) => module,
                Err(errors) => {
                    wrong.push(format!("{body}: {}", errors[0].message));
                    break;
                }
            };
            let options = Options {
                dialect,
                ..Options::default()
            };
            if let Err(rejected) = verify_with(module, &options) {
                wrong.push(format!("{body}: {rejected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
