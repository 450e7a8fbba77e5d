//! Each kind of attribute value in the form the reference gives.

use super::write_value;
use crate::attr::{
    AttrValue, DimLabels, DomainAttr, OutputAlias, PaddingDim, ReplicaGroups, ResultAccuracy,
    SliceDim, Window, WindowDim,
};
use crate::{
    Arena, Array, Computation, ElementType, Id, Module, ModuleAttributes, Shape, StackTables,
};

fn text(value: AttrValue) -> String {
    let module = Module {
        name: "m".into(),
        attributes: ModuleAttributes::default(),
        stack: StackTables::default(),
        computations: Arena::from_iter([Computation::new("add"), Computation::new("inf")]),
        entry: Id::from_index(0),
    };
    let mut out = String::new();
    write_value(&mut out, &module, &value);
    out
}

#[test]
fn numbers_and_words() {
    for (value, expected) in [
        (AttrValue::Integer(-3), "-3"),
        (AttrValue::Float(0.001), "0.001"),
        (AttrValue::Float(1e-5), "1e-5"),
        (AttrValue::Bool(true), "true"),
        (AttrValue::Integers(vec![0, 1]), "{0,1}"),
        (AttrValue::Integers(vec![]), "{}"),
        (AttrValue::Bools(vec![true, false]), "{true,false}"),
        (AttrValue::Word("GT"), "GT"),
        (AttrValue::Words(vec!["default", "high"]), "{default,high}"),
        (AttrValue::String("a\"b".into()), "\"a\\\"b\""),
        (AttrValue::Text("{{1,2}}".into()), "{{1,2}}"),
        (AttrValue::Pairs(vec![(0, 1), (1, 0)]), "{{0,1},{1,0}}"),
        (AttrValue::Computation(Id::from_index(1)), "%inf"),
        (
            AttrValue::Computations(vec![Id::from_index(0), Id::from_index(1)]),
            "{add, %inf}",
        ),
    ] {
        assert_eq!(text(value), expected);
    }
}

#[test]
fn slices_show_strides_for_all_or_none() {
    let dim = |limit, stride| SliceDim {
        start: 0,
        limit,
        stride,
    };
    assert_eq!(
        text(AttrValue::Slice(vec![dim(2, 1), dim(6, 1)])),
        "{[0:2], [0:6]}"
    );
    assert_eq!(
        text(AttrValue::Slice(vec![dim(2, 1), dim(6, 2)])),
        "{[0:2:1], [0:6:2]}"
    );
    assert_eq!(text(AttrValue::Slice(vec![])), "{}");
}

#[test]
fn padding_shows_the_interior_for_all_or_none() {
    let dim = |high, interior| PaddingDim {
        low: -1,
        high,
        interior,
    };
    assert_eq!(
        text(AttrValue::Padding(vec![dim(0, 0), dim(2, 0)])),
        "-1_0x-1_2"
    );
    assert_eq!(
        text(AttrValue::Padding(vec![dim(0, 0), dim(2, 1)])),
        "-1_0_0x-1_2_1"
    );
    assert_eq!(text(AttrValue::Padding(vec![])), "{}");
}

#[test]
fn windows_leave_out_defaults() {
    let mut dims = vec![WindowDim::of_size(3), WindowDim::of_size(2)];
    let window = |dims: &[WindowDim]| text(AttrValue::Window(Window(dims.to_vec())));
    assert_eq!(window(&[]), "{}");
    assert_eq!(window(&dims), "{size=3x2}");
    dims[1] = WindowDim {
        size: 2,
        stride: 2,
        pad_low: 0,
        pad_high: -1,
        base_dilation: 3,
        window_dilation: 4,
        reversal: true,
    };
    assert_eq!(
        window(&dims),
        "{size=3x2 stride=1x2 pad=0_0x0_-1 lhs_dilate=1x3 rhs_dilate=1x4 rhs_reversal=0x1}"
    );
}

#[test]
fn dim_labels_stand_at_their_dimension() {
    let labels = DimLabels {
        input_batch: 0,
        input_feature: 3,
        input_spatial: vec![2, 1],
        kernel_input_feature: 2,
        kernel_output_feature: 3,
        kernel_spatial: vec![0, 1],
        output_batch: 3,
        output_feature: 0,
        output_spatial: vec![1, 2],
        unused: [vec![4], vec![], vec![]],
    };
    assert_eq!(text(AttrValue::DimLabels(labels)), "b10f?_01io->f01b");
}

#[test]
fn collectives() {
    let list = ReplicaGroups::List(vec![vec![0, 1], vec![2, 3]]);
    assert_eq!(text(AttrValue::ReplicaGroups(list)), "{{0,1},{2,3}}");
    let iota = |transpose| ReplicaGroups::Iota {
        dims: vec![2, 2],
        reshape: vec![4],
        transpose,
    };
    assert_eq!(text(AttrValue::ReplicaGroups(iota(vec![]))), "[2,2]<=[4]");
    assert_eq!(
        text(AttrValue::ReplicaGroups(iota(vec![1, 0]))),
        "[2,2]<=[4]T(1,0)"
    );
}

#[test]
fn shapes_literals_and_the_rest() {
    let shape = Shape::array(ElementType::F32, &[2, 3]);
    assert_eq!(text(AttrValue::Shape(shape.clone())), "f32[2,3]{1,0}");
    assert_eq!(
        text(AttrValue::Shapes(vec![shape, Shape::Token])),
        "{f32[2,3]{1,0}, token[]}"
    );
    let literal = Array::from_slice(&[2], &[1i32, 2]).expect("two elements");
    assert_eq!(text(AttrValue::Literal(literal.into())), "s32[2]{0} {1, 2}");
    let alias = OutputAlias {
        output: vec![0],
        operand: 1,
        operand_index: vec![],
    };
    assert_eq!(
        text(AttrValue::OutputAliases(vec![alias])),
        "{{0}: (1, {})}"
    );
    let domain = DomainAttr {
        kind: "sharding".into(),
        entry: "{replicated}".into(),
        exit: "{manual}".into(),
    };
    assert_eq!(
        text(AttrValue::Domain(domain)),
        "{kind=\"sharding\", entry={replicated}, exit={manual}}"
    );
    let tolerance = ResultAccuracy::Tolerance {
        atol: 0.0,
        rtol: 0.5,
        ulps: 2,
    };
    assert_eq!(
        text(AttrValue::ResultAccuracy(tolerance)),
        "{tolerance={atol=0,rtol=0.5,ulps=2}}"
    );
}
