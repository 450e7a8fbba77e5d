//! Printing a parsed module gives a text that reads as an equal module and prints the same again.

use hloc_diag::Source;
use hloc_ir::Module;

fn parse(text: &str) -> Module {
    let source = Source::new("round trip", text).expect("a short text");
    hloc_parser::parse(&source).unwrap_or_else(|errors| panic!("{}\n{text}", errors[0].message))
}

/// Prints `text` parsed, and checks that the print is a fixed point.
fn print(text: &str) -> String {
    let module = parse(text);
    let printed = module.to_string();
    let again = parse(&printed);
    assert!(again == module, "reads as another module:\n{printed}");
    assert_eq!(again.to_string(), printed);
    printed
}

/// The print of an entry that holds these lines.
fn print_entry(lines: &str) -> String {
    print(&format!("HloModule m\n\nENTRY e {{\n{lines}\n}}\n"))
}

#[test]
fn constants_keep_every_bit() {
    let printed = print_entry("ROOT c = f32[4] constant({nan(0x1), -nan, -0, 1e-45})");
    assert!(printed.contains("constant({nan(0x1), -nan, -0.0, 1e-45})"));
    let printed =
        print_entry("ROOT c = (s32[2], (pred[], c64[1])) constant(({1,2},(1,{(1,-nan)})))");
    assert!(printed.contains("constant(( {1, 2}, ( true, {(1, -nan)} ) ))"));
    print_entry("ROOT c = f8e8m0fnu[2] constant({1,nan})");
    print_entry("ROOT c = f32[2,0] constant({})");
}

#[test]
fn reserved_names_keep_their_percent_sign() {
    let printed = print_entry("%true = f32[] parameter(0) ROOT %nan = f32[] negate(%true)");
    assert!(printed.contains("ROOT %nan = f32[] negate(%true)"));
}

#[test]
fn attributes_without_dimensions() {
    print_entry("a = f32[] parameter(0) ROOT r = f32[] pad(a, a), padding={}");
    print_entry(
        "a = f32[] parameter(0) ROOT r = f32[] reduce-window(a, a), window={}, to_apply={
          x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }",
    );
    print_entry("a = f32[] parameter(0) ROOT r = f32[] slice(a), slice={}");
}

#[test]
fn attributes_of_every_form() {
    for lines in [
        r#"ROOT c = s32[2] custom-call(), custom_call_target="x\"y", literal=s32[2]{0} {1,2},
            window={size=1x2 pad=0_1x2_3}, dim_labels=b0?f_0i?o->bf0, api_version=API_VERSION_TYPED_FFI,
            custom_call_has_side_effect=true, backend_config={a = 1 : i32}"#,
        "a = f32[4] parameter(0) s = f32[2] slice(a), slice={[0:4:2]} ROOT r = f32[8] all-gather(a),
            dimensions={0}, replica_groups=[1,2]<=[2]T(0), channel_id=1, use_global_device_ids=true",
        "a = f32[4] parameter(0) ROOT e = f32[4] exponential(a), result_accuracy={tolerance={atol=1e-5,rtol=0.5,ulps=2}}",
        "a = f32[4] parameter(0) ROOT s = ((f32[4]), f32[4], s32[]) negate-start(a)",
        r#"a = pred[] parameter(0) ROOT d = pred[] domain(a),
            domain={kind="sharding", entry={maximal device=0}, exit={replicated}}"#,
        "a = f32[4] parameter(0) ROOT d = f32[4] collective-permute(a), channel_id=1, source_target_pairs={{0,1},{1,0}}",
        r#"a = f32[4] parameter(0) ROOT d = f32[4] all-reduce(a), replica_groups=mesh["a"=2,"b"=2]{"a"},
            to_apply={ x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }"#,
        "ROOT a = f32[<=4,?] parameter(0)",
    ] {
        print_entry(lines);
    }
}

#[test]
fn headers_and_common_attributes() {
    let printed = print(
        r#"HloModule m, input_output_alias={ {}: (0, {}, must-alias) }, buffer_donor={ (1, {}) },
            entry_computation_layout={(f32[2,2]{0,1:T(8,128)S(5)}, f32[])->f32[2,2]{0,1}}, replica_count=2,
            num_partitions=1, frontend_attributes={a.b="q",c={x {y}}}

        ENTRY e (p: f32[2,2], q: f32[]) -> f32[2,2] {
          p = f32[2,2]{0,1:T(8,128)S(5)} parameter(0), sharding={devices=[2,1]0,1 last_tile_dim_replicate},
            parameter_replication={true}
          q = f32[] parameter(1), statistics={visualizing_index=0,name=1.5}, origin={{"p"}}
          ROOT r = f32[2,2]{0,1} copy(p), control-predecessors={%q}, backend_config="a\"b\n",
            metadata={op_name="a\"b\n\001\x41 \\" source_line=3, deduplicated_name="x y"}
        }, execution_thread="h\"ost""#,
    );
    assert!(printed.contains(r#"metadata={op_name="a\"b\n\001A \\" source_line=3"#));
    assert!(printed.ends_with("}, execution_thread=\"h\\\"ost\"\n"));
}
