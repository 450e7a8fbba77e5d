//! What modules are lowered to: kernels, steps, buffers.

use std::fmt::Write;

use hloc_diag::Source;
use hloc_ir::Id;

use crate::ir::{Block, BufferKind, Expr, LoopKind, Program, Step, Stmt};
use crate::{LowerError, lower, verify_kernel};

fn try_lower(text: &str) -> Result<Program, LowerError> {
    let source = Source::new("test", text).expect("small");
    let module = hloc_parser::parse(&source).expect("well formed");
    lower(&hloc_verify::verify(module).expect("no mistakes"))
}

/// The program of a text, with every kernel proved sound and no result shared.
fn lowered(text: &str) -> Program {
    let program = try_lower(text).expect("supported");
    for kernel in program.kernels.values() {
        verify_kernel(kernel).expect("sound");
    }
    for (at, id) in program.results.iter().enumerate() {
        assert!(!program.results[..at].contains(id));
        match program.buffers[*id].kind {
            BufferKind::Result(number) => assert_eq!(number, at),
            BufferKind::Parameter(_) | BufferKind::Constant(_) | BufferKind::Temporary { .. } => {
                panic!("a result is no result buffer")
            }
        }
    }
    program
}

/// One letter per step: kernel, library, copy, swap; loops and branches in brackets.
fn outline(steps: &[Step]) -> String {
    let mut text = String::new();
    for step in steps {
        match step {
            Step::Kernel { .. } => text.push('k'),
            Step::Library(_) => text.push('l'),
            Step::Copy { .. } => text.push('c'),
            Step::Swap(..) => text.push('s'),
            Step::While {
                condition, body, ..
            } => {
                let _ = write!(text, "[{}|{}]", outline(condition), outline(body));
            }
            Step::Conditional { branches, .. } => {
                let branches: Vec<_> = branches.iter().map(|steps| outline(steps)).collect();
                let _ = write!(text, "({})", branches.join("|"));
            }
        }
    }
    text
}

/// The kinds and extents of all loops in order.
fn loops(program: &Program) -> Vec<(LoopKind, i64)> {
    fn collect(program: &Program, kernel: usize, block: &Block, found: &mut Vec<(LoopKind, i64)>) {
        let vars = &program.kernels[Id::from_index(kernel)].vars;
        for stmt in block {
            match stmt {
                Stmt::For(stmt) => {
                    found.push((stmt.kind, vars[stmt.var].extent));
                    collect(program, kernel, &stmt.body, found);
                }
                Stmt::If(stmt) => {
                    collect(program, kernel, &stmt.then, found);
                    collect(program, kernel, &stmt.otherwise, found);
                }
                Stmt::Let { .. } | Stmt::Store { .. } => {}
            }
        }
    }
    let mut found = Vec::new();
    for (id, kernel) in program.kernels.iter() {
        collect(program, id.index(), &kernel.body, &mut found);
    }
    found
}

#[test]
fn broadcasts_and_constants_take_no_memory() {
    let program = lowered(
        "HloModule m
        ENTRY e { x = f32[8,4] parameter(0)  b = f32[4] parameter(1)  one = f32[] constant(1)
          ones = f32[8,4] broadcast(one), dimensions={}  bb = f32[8,4] broadcast(b), dimensions={1}
          s = f32[8,4] add(x, bb)  ROOT r = f32[8,4] multiply(s, ones) }",
    );
    assert_eq!(outline(&program.steps), "kk");
    assert_eq!(program.peak_buffer_bytes(), 2 * 8 * 4 * 4);
    let loop_pair = [(LoopKind::Parallel, 8), (LoopKind::Vector, 4)];
    assert_eq!(loops(&program), [loop_pair, loop_pair].concat());
}

#[test]
fn a_fusion_is_one_kernel_that_computes_each_value_once() {
    let program = lowered(
        "HloModule m
        f { p = f32[6] parameter(0)  e = f32[6] exponential(p)  s = f32[6] add(e, e)
          ROOT r = f32[6] multiply(s, e) }
        ENTRY m { x = f32[2,3] parameter(0)  y = f32[6] reshape(x)
          ROOT q = f32[6] fusion(y), kind=kLoop, calls=f }",
    );
    assert_eq!(outline(&program.steps), "k");
    let kernel = program.kernels.values().next().expect("one kernel");
    let Some(Stmt::For(outer)) = kernel.body.first() else {
        panic!("no loop");
    };
    assert_eq!(
        outer.body.len(),
        5,
        "load, exponential, add, multiply, store"
    );
}

#[test]
fn results_that_are_parameters_or_twice_the_same_are_copied() {
    let program = lowered(
        "HloModule m
        ENTRY e { x = f32[3] parameter(0)  n = f32[3] negate(x)
          ROOT t = (f32[3], f32[3], f32[3]) tuple(n, x, n) }",
    );
    assert_eq!(outline(&program.steps), "kcc");
    assert_eq!(program.arena_bytes, 0);
}

const LOOP: &str = "HloModule m
    cond { p = (s32[], f32[100,4]) parameter(0)  i = s32[] get-tuple-element(p), index=0
      n = s32[] constant(100)  ROOT c = pred[] compare(i, n), direction=LT }
    body { p = (s32[], f32[100,4]) parameter(0)  i = s32[] get-tuple-element(p), index=0
      a = f32[100,4] get-tuple-element(p), index=1  one = s32[] constant(1)
      z = s32[] constant(0)  i1 = s32[] add(i, one)
      r = f32[1,4] dynamic-slice(a, z, z), dynamic_slice_sizes={1,4}  d = f32[1,4] add(r, r)
      a1 = f32[100,4] dynamic-update-slice(a, d, i, z)
      ROOT t = (s32[], f32[100,4]) tuple(i1, a1) }
    ENTRY e { a = f32[100,4] parameter(0)  z = s32[] constant(0)
      t = (s32[], f32[100,4]) tuple(z, a)
      ROOT w = (s32[], f32[100,4]) while(t), condition=cond, body=body }";

#[test]
fn a_loop_updates_its_array_in_place() {
    let program = lowered(LOOP);
    // The array is copied into the loop's state and out of it, never inside.
    assert_eq!(outline(&program.steps), "kc[k|kkkks]cc");
    assert!(!loops(&program).contains(&(LoopKind::Parallel, 100)));
}

#[test]
fn an_update_of_an_array_that_is_needed_later_copies_it() {
    let text = |result: &str| {
        format!(
            "HloModule m
            ENTRY e {{ x = f32[9] parameter(0)  u = f32[2] parameter(1)  i = s32[] parameter(2)
              s = f32[9] sine(x)  d = f32[9] dynamic-update-slice(s, u, i)
              ROOT r = f32[9] add(d, {result}) }}"
        )
    };
    assert_eq!(outline(&lowered(&text("d")).steps), "kkk");
    assert_eq!(outline(&lowered(&text("s")).steps), "kckk");
}

#[test]
fn exchanged_loop_states_keep_their_old_values() {
    let program = lowered(
        "HloModule m
        cond { p = (f32[3], f32[3], pred[]) parameter(0)
          ROOT c = pred[] get-tuple-element(p), index=2 }
        body { p = (f32[3], f32[3], pred[]) parameter(0)  a = f32[3] get-tuple-element(p), index=0
          b = f32[3] get-tuple-element(p), index=1  f = pred[] constant(false)
          ROOT t = (f32[3], f32[3], pred[]) tuple(b, a, f) }
        ENTRY e { t = (f32[3], f32[3], pred[]) parameter(0)
          ROOT w = (f32[3], f32[3], pred[]) while(t), condition=cond, body=body }",
    );
    assert_eq!(outline(&program.steps), "ccc[|cccss]ccc");
}

#[test]
fn branches_write_to_the_results() {
    let program = lowered(
        "HloModule m
        f { p = f32[3] parameter(0)  ROOT n = f32[3] negate(p) }
        g { p = f32[3] parameter(0)  ROOT c = f32[3] copy(p) }
        ENTRY e { i = pred[] parameter(0)  x = f32[3] parameter(1)
          ROOT c = f32[3] conditional(i, x, x), true_computation=f, false_computation=g }",
    );
    assert_eq!(outline(&program.steps), "(k|c)");
}

#[test]
fn long_float_sums_are_blocked() {
    let program = lowered(
        "HloModule m
        add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
        ENTRY e { x = f32[1000] parameter(0)  z = f32[] constant(0)
          ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=add }",
    );
    let wanted = [
        (LoopKind::Serial, 3),
        (LoopKind::Vector, 256),
        (LoopKind::Vector, 232),
    ];
    assert_eq!(loops(&program), wanted);
}

#[test]
fn large_products_are_library_calls_also_inside_fusions() {
    let program = lowered(
        "HloModule m
        f { a = f32[9,9] parameter(0)  b = f32[9,9] parameter(1)
          d = f32[9,9] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
          ROOT n = f32[9,9] negate(d) }
        ENTRY e { a = f32[9,9] parameter(0)  i = s32[9,9] parameter(1)
          p = f32[9,9] fusion(a, a), kind=kLoop, calls=f
          q = s32[9,9] dot(i, i), lhs_contracting_dims={1}, rhs_contracting_dims={0}
          ROOT t = (f32[9,9], s32[9,9]) tuple(p, q) }",
    );
    assert_eq!(outline(&program.steps), "lkk");
    assert_eq!((program.num_library_calls(), program.num_kernels()), (1, 2));
}

#[test]
fn deep_chains_are_lowered_without_deep_recursion() {
    let chain = |length: usize, op: &str| {
        let mut text = "p = f32[4,4] parameter(0)  x0 = f32[4,4] negate(p)".to_owned();
        for at in 0..length {
            let next = at + 1;
            let _ = write!(text, "\n x{next} = f32[4,4] ");
            let _ = match op {
                "sine" => write!(text, "sine(x{at})"),
                _ => write!(text, "transpose(x{at}), dimensions={{1,0}}"),
            };
        }
        let _ = write!(text, "\n ROOT r = f32[4,4] negate(x{length})");
        text
    };
    let fused = |length, op| {
        format!(
            "HloModule m\n f {{ {} }}\n ENTRY e {{ a = f32[4,4] parameter(0)
            ROOT q = f32[4,4] fusion(a), kind=kLoop, calls=f }}",
            chain(length, op)
        )
    };
    let bare = format!("HloModule m\n ENTRY e {{ {} }}", chain(3000, "sine"));
    assert_eq!(lowered(&bare).num_kernels(), 3002);
    assert_eq!(lowered(&fused(3000, "sine")).num_kernels(), 1);
    // Index functions nested too deep: the fusion's instructions become kernels of their own.
    assert_eq!(lowered(&fused(300, "transpose")).num_kernels(), 302);
}

#[test]
fn joined_arrays_are_stored_piece_by_piece() {
    let program = lowered(
        "HloModule m
        ENTRY e { a = f32[100,50] parameter(0)  b = f32[1,50] parameter(1)
          ROOT c = f32[102,50] concatenate(b, a, b), dimensions={0} }",
    );
    assert_eq!(outline(&program.steps), "kkk");
}

#[test]
fn what_is_not_compiled_is_named() {
    let error = try_lower(
        "HloModule m
        ENTRY e { x = s8[4] parameter(0)
          ROOT r = s8[4] custom-call(x), custom_call_target=\"elsewhere\" }",
    );
    let error = error.expect_err("there is no such target");
    let text = "`r`: custom-call of s8 is not supported: the target `elsewhere` is unknown";
    assert_eq!(error.to_string(), text);
    assert_ne!(error.span(), hloc_diag::Span::NONE);
}

#[test]
fn gathered_rows_are_loaded_where_a_clamped_index_says() {
    let program = lowered(
        "HloModule m
        ENTRY e { x = f32[10,4] parameter(0)  i = s32[3,1] parameter(1)
          ROOT g = f32[3,4] gather(x, i), offset_dims={1}, collapsed_slice_dims={0},
            start_index_map={0}, index_vector_dim=1, slice_sizes={1,4} }",
    );
    fn clamps(block: &Block) -> Vec<(i64, i64)> {
        let clamps = |stmt: &Stmt| match stmt {
            Stmt::Let {
                expr: Expr::ClampIndex { low, high, .. },
                ..
            } => vec![(*low, *high)],
            Stmt::Let { .. } | Stmt::Store { .. } | Stmt::If(_) => Vec::new(),
            Stmt::For(stmt) => clamps(&stmt.body),
        };
        block.iter().flat_map(clamps).collect()
    }
    let kernel = program.kernels.values().next().expect("one kernel");
    assert_eq!(clamps(&kernel.body), [(0, 9)]);
}
