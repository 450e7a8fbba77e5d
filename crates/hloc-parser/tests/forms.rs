//! Every form of module, computation, instruction and attribute that HLO text has.

use hloc_diag::{Color, Source, render_text};
use hloc_ir::{
    AliasKind, AttrValue, BackendConfig, BoolOrList, FrontendValue, Instruction, Module, Op,
};

fn parse(text: &str) -> Module {
    let source = Source::new("t.hlo", text).expect("short");
    hloc_parser::parse(&source).unwrap_or_else(|errors| {
        panic!("{}", render_text(&errors[0], &source, Color::Never));
    })
}

/// The root of an entry that takes `x` of `f32[4]` and holds `body`.
fn root(body: &str) -> Instruction {
    module_of(body).entry().root().clone()
}

fn module_of(body: &str) -> Module {
    parse(&format!(
        "HloModule m\n\
         sum {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }}\n\
         ENTRY e {{ x = f32[4] parameter(0) s = f32[] constant(0) {body} }}"
    ))
}

fn attribute(body: &str, name: &str) -> AttrValue {
    let values = root(body).op.attribute_values();
    let value = values.into_iter().find(|(other, _)| *other == name);
    value.expect("the attribute is written").1
}

fn names(module: &Module) -> Vec<String> {
    let computations = module.computations.values();
    computations
        .map(|computation| computation.name.to_string())
        .collect()
}

#[test]
fn headers_hold_all_attributes() {
    let module = parse(
        "HloModule %m.1-x, is_scheduled=true, input_output_alias={ {0}: (1, {}, must-alias), {1}: (0, {2}) },\
         buffer_donor={ (0, {}), (1, {0}) }, alias_passthrough_params=true,\
         entry_computation_layout={(f32[2]{0}, (s32[], pred[1]))->(f32[2]{0:S(5)})},\
         allow_spmd_sharding_propagation_to_parameters={true,false},\
         allow_spmd_sharding_propagation_to_output=true, replica_count=2, num_partitions=4,\
         frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<[\"x\"=2]>},b=\"q\\\"\"},\
         origin_recovery_table={ {\"a\"} : {\"b\"} }, debug_attributes={}\n\
         FileNames 1 \"a.py\"\n2 \"b\\n\"\nFunctionNames\n1 'f'\n\
         FileLocations\n1 {file_name_id=1 function_name_id=1 line=2 end_line=3 column=4 end_column=5}\n\
         StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n\
         e { p = f32[] parameter(0) }, execution_thread=\"host\"",
    );
    let attributes = &module.attributes;
    assert_eq!(&*module.name, "m.1-x");
    assert!(attributes.is_scheduled && attributes.alias_passthrough_params);
    assert_eq!(attributes.input_output_alias[0].kind, AliasKind::Must);
    assert_eq!(attributes.input_output_alias[1].parameter_index, [2]);
    assert_eq!(attributes.buffer_donor[1].parameter_index, [0]);
    let layout = attributes
        .entry_computation_layout
        .as_ref()
        .expect("written");
    assert_eq!(layout.result.with_layout().to_string(), "(f32[2]{0:S(5)})");
    assert_eq!(
        attributes.allow_spmd_sharding_propagation_to_parameters,
        Some(BoolOrList::Each(vec![true, false]))
    );
    assert_eq!(
        (attributes.replica_count, attributes.num_partitions),
        (Some(2), Some(4))
    );
    assert_eq!(
        attributes.frontend_attributes["b"],
        FrontendValue::String("q\"".into())
    );
    assert_eq!(
        attributes.origin_recovery_table.as_deref(),
        Some("{{\"a\"} : {\"b\"}}")
    );
    assert_eq!(&*module.stack.file_names[1], "b\n");
    assert_eq!(module.stack.file_locations[0].end_column, 5);
    assert_eq!(module.entry().execution_thread.as_deref(), Some("host"));
}

#[test]
fn text_may_lack_the_header() {
    let module =
        parse("a { x = f32[] parameter(0) }\nb (y: f32[]) -> f32[] { y = f32[] parameter(0) }");
    assert_eq!((&*module.name, &*module.entry().name), ("module_b", "b"));
    assert!(module.entry().signature.is_some());
    let module = parse("ENTRY a { x = f32[] parameter(0) } b { x = f32[] parameter(0) }");
    assert_eq!(&*module.name, "module_a");
}

#[test]
fn a_single_instruction_makes_its_parameters() {
    for text in [
        "f32[3] add(f32[3] a, f32[3] b)",
        "ROOT sum = f32[3] add(f32[3] %a, f32[3] %b)",
        "%sum=add(f32[3]{0} a, f32[3] b)",
        "add(f32[3] a, f32[3] b)",
    ] {
        let module = parse(text);
        let entry = module.entry();
        assert_eq!(entry.parameters.len(), 2, "{text}");
        assert_eq!(entry.root().shape.to_string(), "f32[3]", "{text}");
        assert_eq!(entry.root().operands[..], entry.parameters[..], "{text}");
    }
    assert_eq!(parse("f32[3] add(f32[3] a, a)").entry().parameters.len(), 1);
}

#[test]
fn roots_and_parameters_may_stand_anywhere() {
    let module = parse(
        "ENTRY e { b = f32[2] parameter(1) ROOT r = f32[2] negate(b) a = f32[3] parameter(0) }",
    );
    let entry = module.entry();
    assert_eq!(&*entry.root().name, "r");
    let shapes: Vec<_> = entry
        .program_shape()
        .parameters
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(shapes, ["f32[3]", "f32[2]"]);
}

#[test]
fn comments_and_white_space_stand_between_any_tokens() {
    let module = parse(
        "/**/HloModule/* a */m // b\n,\r\n is_scheduled /**/ = /**/ false\tENTRY//\n e/**/{/**/ROOT/**/ \
         %true/**/= ( f32 [ 2 , 3 ] { 1 , 0 } , /*index=1*/ s32 [ ] ) parameter ( /**/ 0 ) // end\n}",
    );
    assert_eq!(module.entry().root().shape.to_string(), "(f32[2,3], s32[])");
}

#[test]
fn operands_may_show_shapes_nest_and_index_tuples() {
    let module = module_of(
        "t = (f32[4], (f32[4], s32[])) tuple(x, (f32[4], s32[]) tuple(x, s32[] constant(3))) \
         ROOT r = f32[4] add(f32[4]{0} x, f32[4] t#1#0)",
    );
    let names: Vec<_> = module
        .entry()
        .instructions
        .values()
        .map(|instruction| instruction.name.to_string())
        .collect();
    let expected = [
        "x",
        "s",
        "constant",
        "tuple",
        "t",
        "get-tuple-element",
        "get-tuple-element.1",
        "r",
    ];
    assert_eq!(names, expected);
}

#[test]
fn names_are_unique_per_computation_and_computations_may_stand_inline() {
    let module = module_of(
        "ROOT r = f32[] reduce(x, s), dimensions={0}, \
         to_apply={ a = f32[] parameter(0) b = f32[] parameter(1) c = f32[] maximum(a, b) }",
    );
    assert_eq!(names(&module), ["sum", "_", "e"]);
    let call = module.entry().root().op.called_computations()[0];
    assert_eq!(&*module.computations[call].root().name, "c");
}

#[test]
fn shapes_may_be_left_out() {
    let module = module_of("ROOT r = add(x, negate(x))");
    assert_eq!(module.entry().root().shape.to_string(), "f32[4]");
}

#[test]
fn asynchronous_sugar_wraps_a_computation() {
    let module = module_of(
        "start = ((f32[4]), f32[4], s32[]) negate-start(x), async_execution_thread=\"t\" \
         update = ((f32[4]), f32[4], s32[]) negate-update(start) ROOT done = f32[4] negate-done(update)",
    );
    assert_eq!(names(&module), ["sum", "async_computation", "e"]);
    let wrapped = module.computations.values().nth(1).expect("wrapped");
    assert_eq!(wrapped.root().op.opcode().name(), "negate");
    assert_eq!(wrapped.root().shape.to_string(), "f32[4]");
}

#[test]
fn values_of_every_kind_are_read() {
    use AttrValue::{
        Bool, Float, Integer, Integers, Padding, Pairs, ResultAccuracy, Slice, Word, Words,
    };
    assert!(
        matches!(attribute("r = f32[2] slice(x), slice={[0:4:2]}", "slice"), Slice(dims) if dims[0].stride == 2)
    );
    assert!(
        matches!(attribute("r = f32[9] pad(x, s), padding=-1_2_1", "padding"), Padding(dims) if dims[0].low == -1 && dims[0].interior == 1)
    );
    assert_eq!(
        attribute("r = f32[2,4] broadcast(x), dimensions={1}", "dimensions"),
        Integers(vec![1])
    );
    assert_eq!(
        attribute("r = pred[4] compare(x, x), direction=GT", "direction"),
        Word("GT")
    );
    assert_eq!(
        attribute(
            "r = f32[] dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}, operand_precision={high,highest}",
            "operand_precision"
        ),
        Words(vec!["high", "highest"])
    );
    assert_eq!(
        attribute(
            "r = f32[4] sort(x), dimensions={0}, is_stable=true, to_apply=sum",
            "is_stable"
        ),
        Bool(true)
    );
    assert_eq!(
        attribute(
            "r = f32[4] batch-norm-inference(x, x, x, x, x), epsilon=1e-3, feature_index=0",
            "epsilon"
        ),
        Float(0.001)
    );
    assert_eq!(
        attribute("r = f32[4] iota(), iota_dimension=0", "iota_dimension"),
        Integer(0)
    );
    assert_eq!(
        attribute(
            "r = f32[4] collective-permute(x), source_target_pairs={{0,1},{1,0}}",
            "source_target_pairs"
        ),
        Pairs(vec![(0, 1), (1, 0)])
    );
    assert_eq!(
        attribute(
            "r = f32[4] tanh(x), result_accuracy={tolerance={atol=1,rtol=0.5,ulps=2}}",
            "result_accuracy"
        ),
        ResultAccuracy(hloc_ir::attr::ResultAccuracy::Tolerance {
            atol: 1.0,
            rtol: 0.5,
            ulps: 2
        })
    );
    assert_eq!(
        attribute(
            "r = f32[4] add(x, s), broadcast_dimensions={}",
            "broadcast_dimensions"
        ),
        Integers(vec![])
    );
}

#[test]
fn windows_and_labels_are_read() {
    let AttrValue::Window(window) = attribute(
        "r = f32[1] reduce-window(x, s), to_apply=sum, window={size=3x4 pad=0_1x-1_2 stride=1x2 lhs_dilate=1x1 \
         rhs_dilate=2x1 rhs_reversal=0x1}",
        "window",
    ) else {
        panic!("a window");
    };
    let dim = window.0[1];
    assert_eq!(
        (
            dim.size,
            dim.stride,
            dim.pad_low,
            dim.pad_high,
            dim.reversal
        ),
        (4, 2, -1, 2, true)
    );
    let AttrValue::DimLabels(labels) = attribute(
        "r = f32[4] convolution(x, x), window={size=3x3}, dim_labels=b01f_01io->?bf01",
        "dim_labels",
    ) else {
        panic!("labels");
    };
    assert_eq!(
        (labels.kernel_output_feature, labels.output_feature),
        (3, 2)
    );
    assert_eq!(
        (labels.output_spatial, labels.unused),
        (vec![3, 4], [vec![], vec![], vec![0]])
    );
}

#[test]
fn replica_groups_have_three_forms() {
    use hloc_ir::attr::ReplicaGroups::{Iota, List, Mesh};
    let groups = |text: &str| {
        let body = format!("r = f32[4] all-reduce(x), replica_groups={text}, to_apply=sum");
        let AttrValue::ReplicaGroups(groups) = attribute(&body, "replica_groups") else {
            panic!("groups");
        };
        groups
    };
    assert_eq!(groups("{}"), List(vec![]));
    assert_eq!(groups("{{0,1},{2}}"), List(vec![vec![0, 1], vec![2]]));
    let iota = Iota {
        dims: vec![2, 2],
        reshape: vec![4],
        transpose: vec![],
    };
    assert_eq!(groups("[2,2]<=[4]"), iota);
    let iota = Iota {
        dims: vec![2, 2],
        reshape: vec![2, 2],
        transpose: vec![1, 0],
    };
    assert_eq!(groups("[2,2]<=[2,2]T(1,0)"), iota);
    assert_eq!(
        groups("mesh[\"a\"=2, \"b\"=2] {\"a\"}"),
        Mesh("mesh[\"a\"=2, \"b\"=2] {\"a\"}".into())
    );
}

#[test]
fn custom_calls_take_all_their_attributes() {
    let root = root(
        "r = (f32[4]{0}) custom-call(x), custom_call_target=\"a\\x41\", api_version=API_VERSION_TYPED_FFI, \
         schedule=SCHEDULE_LATEST, custom_call_has_side_effect=true, operand_layout_constraints={f32[4]{0}}, \
         output_to_operand_aliasing={ {0}: (0, {}) }, literal=s32[2] {1,2}, called_computations={sum, %sum}, \
         padding_type=PADDING_SAME, backend_config={uplo = 76 : ui8, s = \"}\"}",
    );
    let Op::CustomCall {
        custom_call_target,
        literal,
        called_computations,
        ..
    } = &root.op
    else {
        panic!("a custom call");
    };
    assert_eq!(&**custom_call_target, "aA");
    assert_eq!(
        literal.as_ref().expect("written").shape().to_string(),
        "s32[2]"
    );
    assert_eq!(called_computations.as_ref().map(Vec::len), Some(2));
    let config = root.attributes.expect("written").backend_config;
    assert_eq!(
        config,
        Some(BackendConfig::Braces("{uplo = 76 : ui8, s = \"}\"}".into()))
    );
}

#[test]
fn literals_of_custom_calls_have_every_form() {
    for text in [
        "s32[]{:S(5)} 3",
        "pred[] true",
        "f32[] -inf",
        "f32[] nan",
        "f32[2]{0} {1, 2}",
        "(s32[], f32[1]{0}) (1, {2})",
    ] {
        let body = format!(
            "r = f32[4] custom-call(x), custom_call_target=\"a\", literal={text}, is_it_read={{}}"
        );
        let source = format!("e {{ x = f32[4] parameter(0) {body} }}");
        let source = Source::new("t.hlo", source).expect("short");
        let errors = hloc_parser::parse(&source).expect_err("the last attribute is unknown");
        assert_eq!(source.slice(errors[0].primary.span), "is_it_read", "{text}");
    }
}

#[test]
fn common_attributes_stand_on_any_instruction() {
    let root = root(
        "r = f32[4] negate(x), sharding={devices=[2,1]0,1  last_tile_dim_replicate /*c*/}, \
         frontend_attributes={}, statistics={visualizing_index=0,name=1.5}, parameter_replication={true,false}, \
         control-predecessors={x, %s}, origin={({\"x\" {0}}, {\"y\"})}, \
         metadata={op_type=\"t\" op_name=\"a/b\", source_line=3 profile_type={1 2} deduplicated_name=\"d\"}, \
         backend_config=\"{}\"",
    );
    let common = root.attributes.expect("written");
    assert_eq!(
        common.sharding.as_deref(),
        Some("{devices=[2,1]0,1 last_tile_dim_replicate}")
    );
    assert_eq!(
        common.statistics.as_deref(),
        Some("{visualizing_index=0,name=1.5}")
    );
    assert_eq!(common.parameter_replication, Some(vec![true, false]));
    assert_eq!(common.control_predecessors.len(), 2);
    assert_eq!(common.origin.as_deref(), Some("{({\"x\" {0}}, {\"y\"})}"));
    let metadata = common.metadata.expect("written");
    assert_eq!(
        (
            &*metadata.op_name,
            metadata.source_line,
            metadata.other.len()
        ),
        ("a/b", 3, 2)
    );
    assert_eq!(
        common.backend_config,
        Some(BackendConfig::String("{}".into()))
    );
}

#[test]
fn shardings_of_every_form_are_read() {
    for text in [
        "{replicated}",
        "{manual}",
        "{unknown}",
        "{unreduced}",
        "{maximal device=0}",
        "{devices=[2,2]<=[4]}",
        "{devices=[2,2]<=[2,2]T(1,0)}",
        "{devices=[1,2]0,1 last_tile_dims={manual, replicated}}",
        "{replicated shard_as 3}",
        "{manual shard_like 1 metadata={op_name=\"a\"}}",
        "{{replicated}, {maximal device=1}}",
        "{mesh[\"x\"=2], [{\"x\"},{?}], replicated={\"x\"}, unreduced={}, manual={}}",
        "{mesh[\"x\"=2,\"y\"=2], device_ids=(3,2,1,0), [{\"x\",?}]}",
        "{maximal_mesh[device_id=0]}",
        "{}",
    ] {
        let root = root(&format!("r = f32[4] negate(x), sharding={text}"));
        let common = root.attributes.expect("written");
        assert_eq!(common.sharding.as_deref(), Some(text));
    }
}

#[test]
fn origins_of_every_form_are_read() {
    for text in [
        "{}",
        "{{}}",
        "{{\"p\" {0,1}}}",
        "{({\"x\" {0}}, ({\"y\"}, {}))}",
        "{[synthetic_call]}",
    ] {
        let root = root(&format!("r = f32[4] negate(x), origin={text}"));
        let common = root.attributes.expect("written");
        assert_eq!(common.origin.as_deref(), Some(text));
    }
}

#[test]
fn empty_attributes_say_nothing() {
    let root = root("r = f32[4] negate(x), frontend_attributes={}, control-predecessors={}");
    assert_eq!(root.attributes, None);
}

#[test]
fn spans_point_at_the_parts() {
    let text =
        "ENTRY e { %a = f32[2] parameter(0)\n ROOT b = f32[2]{0} add(%a, f32[2] a), metadata={} }";
    let module = parse(text);
    let spans = module
        .entry()
        .root()
        .origin
        .spans
        .clone()
        .expect("from text");
    let of = |span: hloc_diag::Span| &text[span.range()];
    assert_eq!(
        of(spans.whole),
        "ROOT b = f32[2]{0} add(%a, f32[2] a), metadata={}"
    );
    assert_eq!(
        (of(spans.name), of(spans.shape), of(spans.opcode)),
        ("b", "f32[2]{0}", "add")
    );
    assert_eq!(
        (of(spans.operands[0]), of(spans.operands[1])),
        ("%a", "f32[2] a")
    );
    assert_eq!(of(spans.attributes[0].1), "metadata={}");
    assert_eq!(of(module.entry().span.0), "e");
}
