//! Mistakes, names, closures: what a builder says and gives back.

use hloc_diag::Diagnostic;
use hloc_tensor::{Array, ElementType};

use super::numpy::{self, broadcast_shapes};
use super::{Builder, Value};
use crate::{BinaryOp, ComparisonDirection, Shape, UnaryOp, print_module};

fn f32s(dims: &[i64]) -> Shape {
    Shape::array(ElementType::F32, dims)
}

fn only(errors: Vec<Diagnostic>) -> Diagnostic {
    assert_eq!(errors.len(), 1, "{errors:#?}");
    errors.into_iter().next().expect("there is one")
}

fn codes(errors: &[Diagnostic]) -> Vec<&str> {
    errors.iter().map(|error| &*error.code).collect()
}

#[test]
fn a_mistake_names_the_callers_line_and_poisons_what_follows() {
    let b = Builder::new("m");
    let x = b.parameter(f32s(&[2, 3]), "x");
    let y = b.parameter(f32s(&[4]), "y");
    let line = line!() + 1;
    let bad = b.add(x, y);
    assert!(bad.is_poisoned());
    let after = b.tanh(b.multiply(bad, x));
    let sum = b.reduce(after, b.scalar(0f32), &[0, 7], |_, _| panic!("never asked"));
    let error = only(b.build(sum).expect_err("it is wrong"));
    assert_eq!(error.code, "elementwise_c5");
    assert!(
        error.message.starts_with("`add` takes f32[2,3] and f32[4]"),
        "{}",
        error.message
    );
    let file = file!();
    let called = |note: &String| note.starts_with(&format!("called at {file}:{line}:"));
    assert!(error.notes.iter().any(called), "{:?}", error.notes);
    let made = format!("operand 1 is `y`, f32[4], made at {file}:{}:", line - 2);
    assert!(
        error.notes.iter().any(|note| note.starts_with(&made)),
        "{:?}",
        error.notes
    );
    assert_eq!(
        error.help,
        ["no broadcast_dimensions places f32[4] in f32[2,3]"]
    );
}

#[test]
fn each_mistake_is_told_once_in_order() {
    let b = Builder::new("not a name");
    let x = b.parameter(f32s(&[2]), "x");
    b.name(x, "f32");
    b.convert(b.tuple(&[x]), ElementType::S8);
    b.reshape(x, &[3]);
    b.not(x);
    b.parameter(f32s(&[-4]), "negative");
    b.parameter(f32s(&[i64::MAX, 2]), "huge");
    b.get_tuple_element(x, 0);
    b.broadcast_in_dim(x, &[3, 2], &[0]);
    b.slice(x, &[0], &[1, 2], &[1]);
    let errors = b.build(x).expect_err("it is wrong");
    let wanted = [
        "builder-name",
        "builder-name",
        "operand_c1",
        "reshape_c2",
        "elementwise_c1",
        "shape_c1",
        "shape_c2",
        "get_tuple_element_c1",
        "builder-broadcast-in-dim",
        "builder-lengths",
    ];
    assert_eq!(codes(&errors), wanted, "{errors:#?}");
}

#[test]
fn values_of_other_builders_and_outer_computations_are_refused() {
    let (one, two) = (Builder::new("one"), Builder::new("two"));
    let theirs = one.parameter(f32s(&[2]), "x");
    two.add(theirs, theirs);
    let callee = one.computation("f", &[f32s(&[2])], |b, args| b.negate(args[0]));
    let x = two.parameter(f32s(&[2]), "x");
    two.call(callee, &[x]);
    assert_eq!(codes(&two.errors()), ["builder-foreign-value"; 3]);
    assert_eq!(two.shape(theirs), None);

    let b = Builder::new("outer");
    let limit = b.parameter(Shape::scalar(ElementType::S32), "limit");
    let zero = b.scalar(0i32);
    let condition =
        |b: &Builder, args: &[Value]| b.compare(args[0], limit, ComparisonDirection::Lt);
    let counted = b.while_loop(zero, condition, |b, args| b.add(args[0], b.scalar(1i32)));
    let error = only(b.build(counted).expect_err("it captures"));
    assert_eq!(error.code, "builder-outer-value");
    let wanted = "operand 1 of `compare` belongs to the computation `main`, not to `condition`";
    assert_eq!(error.message, wanted);
}

#[test]
fn closures_become_computations_before_their_callers() {
    let b = Builder::new("m");
    b.record_places(false);
    let x = b.parameter(f32s(&[2, 3]), "x");
    let sum = b.reduce(x, b.scalar(0f32), &[1], |b, args| b.add(args[0], args[1]));
    let sorted = b.sort(&[sum], 0, true, |b, args| {
        b.compare(args[0], args[1], ComparisonDirection::Lt)
    });
    let module = b.build(b.name(sorted, "sorted")).expect("it is right");
    let text = "\
HloModule m

reducer {
  arg0 = f32[] parameter(0)
  arg1 = f32[] parameter(1)
  ROOT add = f32[] add(arg0, arg1)
}

comparator {
  arg0 = f32[] parameter(0)
  arg1 = f32[] parameter(1)
  ROOT compare = pred[] compare(arg0, arg1), direction=LT
}

ENTRY main {
  x = f32[2,3]{1,0} parameter(0)
  constant = f32[] constant(0)
  reduce = f32[2]{0} reduce(x, constant), dimensions={1}, to_apply=reducer
  ROOT sorted = f32[2]{0} sort(reduce), dimensions={0}, is_stable=true, to_apply=comparator
}
";
    assert_eq!(print_module(&module), text);
}

#[test]
fn names_are_made_unique_and_instructions_know_their_line() {
    let b = Builder::new("m");
    let x = b.parameter(f32s(&[]), "add");
    let y = b.name(b.add(x, x), "add.1");
    let line = line!() + 1;
    let z = b.add(y, x);
    let module = b.build(z).expect("it is right");
    let entry = module.entry();
    let names: Vec<&str> = entry
        .instructions
        .values()
        .map(|each| &*each.name)
        .collect();
    assert_eq!(names, ["add", "add.1.1", "add.2"]);
    let metadata = entry.root().metadata().expect("it has some");
    assert_eq!(
        (&*metadata.source_file, metadata.source_line),
        (file!(), i64::from(line))
    );
}

#[test]
fn implicit_and_in_dim_broadcasts() {
    let b = Builder::new("m");
    let x = b.parameter(f32s(&[4]), "x");
    let y = b.parameter(f32s(&[1, 2]), "y");
    assert_eq!(b.dims(b.add_in_dim(x, y, &[0])), Some(vec![4, 2]));
    assert_eq!(b.dims(b.broadcast(x, &[2, 3])), Some(vec![2, 3, 4]));
    assert_eq!(
        b.dims(b.broadcast_in_dim(y, &[5, 7, 2], &[1, 2])),
        Some(vec![5, 7, 2])
    );
    assert_eq!(b.broadcast_in_dim(y, &[1, 2], &[0, 1]), y);
    assert!(b.broadcast_in_dim(y, &[2, 1], &[1, 0]).is_poisoned());
    assert_eq!(codes(&b.errors()), ["builder-broadcast-in-dim"]);
}

#[test]
fn every_element_wise_op_has_a_method() {
    for op in UnaryOp::ALL {
        assert_eq!(
            super::elementwise::unary_method(*op).replace('_', "-"),
            op.name()
        );
    }
    for op in BinaryOp::ALL {
        assert_eq!(
            super::elementwise::binary_method(*op).replace('_', "-"),
            op.name()
        );
    }
}

#[test]
fn numpy_shapes() {
    let table: [(&[&[i64]], &[i64]); 12] = [
        (&[&[3, 4], &[4]], &[3, 4]),
        (&[&[3, 4], &[3, 1]], &[3, 4]),
        (&[&[2, 3, 4], &[3, 4]], &[2, 3, 4]),
        (&[&[5, 1, 4], &[1, 3, 1]], &[5, 3, 4]),
        (&[&[4, 1], &[1, 5]], &[4, 5]),
        (&[&[2, 4, 1], &[1, 5]], &[2, 4, 5]),
        (&[&[5, 1], &[3]], &[5, 3]),
        (&[&[6, 7], &[5, 6, 1], &[7], &[5, 1, 7]], &[5, 6, 7]),
        (&[&[0], &[1]], &[0]),
        (&[&[2, 0], &[]], &[2, 0]),
        (&[&[2, 3]], &[2, 3]),
        (&[], &[]),
    ];
    for (shapes, want) in table {
        assert_eq!(broadcast_shapes(shapes), Ok(want.to_vec()), "{shapes:?}");
    }
}

#[test]
fn numpy_clashes_are_drawn() {
    let table: [(&[i64], &[i64], &str, &str); 6] = [
        (
            &[3, 4],
            &[4, 3],
            "  (3, 4)\n  (4, 3)\n   ^  ^",
            "transpose (4,3) first",
        ),
        (
            &[2, 3],
            &[2, 4],
            "  (2, 3)\n  (2, 4)\n      ^",
            "sizes that meet are equal, or one of them is 1",
        ),
        (
            &[2, 3],
            &[2],
            "  (2, 3)\n     (2)\n      ^",
            "if that is meant, reshape (2) to (2,1)",
        ),
        (
            &[4, 3],
            &[4],
            "  (4, 3)\n     (4)\n      ^",
            "if that is meant, reshape (4) to (4,1)",
        ),
        (
            &[12],
            &[7, 3, 5],
            "        (12)\n  (7, 3,  5)\n          ^",
            "sizes that meet are equal, or one of them is 1",
        ),
        (
            &[2, 3],
            &[2, 3, 100],
            "     (2,   3)\n  (2, 3, 100)\n      ^    ^",
            "if that is meant, reshape (2,3) to (2,3,1)",
        ),
    ];
    for (one, two, drawn, help) in table {
        let clash = broadcast_shapes(&[one, two]).expect_err("they clash");
        assert_eq!(clash.code, "numpy-broadcast");
        assert_eq!(clash.notes, [format!("aligned on the right:\n{drawn}")]);
        assert_eq!(clash.help, [help]);
    }
}

#[test]
fn long_shapes_of_equal_sizes_do_not_hang_the_search() {
    let small = [[2i64; 30].as_slice(), &[5]].concat();
    let large = [2i64; 60];
    assert!(broadcast_shapes(&[&small, &large]).is_err());
}

#[test]
fn numpy_helpers_write_explicit_instructions() {
    let b = Builder::new("m");
    b.record_places(false);
    let x = b.parameter(f32s(&[5, 1, 4]), "x");
    let y = b.parameter(f32s(&[3, 1]), "y");
    let sum = numpy::add(&b, x, y);
    let text = print_module(&b.build(sum).expect("they fit"));
    let body = "
  x = f32[5,1,4]{2,1,0} parameter(0)
  y = f32[3,1]{1,0} parameter(1)
  reshape = f32[5,4]{1,0} reshape(x)
  broadcast = f32[5,3,4]{2,1,0} broadcast(reshape), dimensions={0,2}
  reshape.1 = f32[3]{0} reshape(y)
  broadcast.1 = f32[5,3,4]{2,1,0} broadcast(reshape.1), dimensions={1}
  ROOT add = f32[5,3,4]{2,1,0} add(broadcast, broadcast.1)
";
    assert!(text.contains(body), "{text}");
}

#[test]
fn numpy_mistakes_poison() {
    let b = Builder::new("m");
    let x = b.parameter(f32s(&[4, 3]), "x");
    let y = b.parameter(f32s(&[4]), "y");
    let line = line!() + 1;
    let bad = numpy::sub(&b, x, y);
    let error = only(b.build(numpy::mul(&b, bad, x)).expect_err("they clash"));
    assert_eq!(
        error.message,
        "shapes (4,3) and (4) do not broadcast: aligned on the right, 3 and 4 meet"
    );
    assert!(error.notes[1].starts_with(&format!("called at {}:{line}:", file!())));
}

#[test]
fn accidental_outer_products_are_told() {
    let b = Builder::new("loss");
    let prediction = b.parameter(f32s(&[8, 1]), "prediction");
    let label = b.parameter(f32s(&[8]), "label");
    numpy::sub(&b, prediction, label);
    numpy::add(&b, prediction, label);
    b.subtract_in_dim(prediction, label, &[1]);
    let warnings = b.warnings();
    assert_eq!(codes(&warnings), ["accidental-outer-product"; 3]);
    assert!(
        warnings[0]
            .message
            .starts_with("(8,1) against (8) gives (8,8)"),
        "{}",
        warnings[0].message
    );

    let b = Builder::new("fine");
    let x = b.parameter(f32s(&[8, 1]), "x");
    let row = b.reshape(x, &[8]);
    numpy::sub(&b, x, row);
    let y = b.parameter(f32s(&[1, 8]), "y");
    numpy::add(&b, x, y);
    let nine = b.parameter(f32s(&[9]), "nine");
    numpy::sub(&b, x, nine);
    assert!(b.warnings().is_empty(), "{:?}", b.warnings());
}

#[test]
fn constants_that_a_type_cannot_hold_are_told() {
    let b = Builder::new("m");
    for (ty, value) in [
        (ElementType::S8, 300.0),
        (ElementType::U8, -1.0),
        (ElementType::F16, 1e6),
        (ElementType::F8E4M3Fn, 1e6),
    ] {
        b.scalar_of(ty, value);
    }
    assert_eq!(
        codes(&b.warnings()),
        ["constant-overflow"; 1],
        "one call, one warning"
    );
    let fine = Builder::new("m");
    fine.scalar_of(ElementType::BF16, 1e30);
    fine.scalar_of(ElementType::S64, 1e18);
    fine.scalar_of(ElementType::F8E5M2, 3.3);
    fine.scalar_of(ElementType::F32, 1e-50);
    fine.constant(Array::scalar(1u8));
    assert!(fine.warnings().is_empty(), "{:?}", fine.warnings());
}
