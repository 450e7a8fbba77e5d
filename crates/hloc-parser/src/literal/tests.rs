//! What literals are read as, and what is said about wrong ones.

use hloc_diag::Diagnostic;
use hloc_ir::{Array, ArrayShape, ElementType, Literal, Shape};
use hloc_tensor::Complex;

use super::read_literal;

fn shape(element_type: &str, dims: &[i64]) -> Shape {
    let element_type = ElementType::from_name(element_type).expect("an element type");
    Shape::Array(ArrayShape::new(element_type, dims))
}

fn array(element_type: &str, dims: &[i64], text: &str) -> Array {
    match read_literal(text, 0, &shape(element_type, dims)) {
        Ok(Literal::Array(array)) => array,
        Ok(Literal::Tuple(_)) => panic!("`{text}` gave a tuple"),
        Err(error) => panic!("`{text}`: {}", error.message),
    }
}

/// Bits of a scalar, as many as it has.
fn bits(element_type: &str, text: &str) -> u64 {
    let array = array(element_type, &[], text);
    let mut bytes = [0; 8];
    bytes[..array.bytes().len()].copy_from_slice(array.bytes());
    u64::from_le_bytes(bytes)
}

fn error_of(shape: &Shape, text: &str) -> Diagnostic {
    match read_literal(text, 100, shape) {
        Ok(_) => panic!("`{text}` was accepted as {shape}"),
        Err(error) => error,
    }
}

/// Code, text at the span, message.
fn error(element_type: &str, dims: &[i64], text: &str) -> (String, String, String) {
    let error = error_of(&shape(element_type, dims), text);
    let range = error.primary.span.range();
    let guilty = text.get(range.start - 100..range.end - 100);
    (
        error.code.into_owned(),
        guilty.expect("a span in the text").to_owned(),
        error.message,
    )
}

#[test]
fn predicates_take_words_and_integers() {
    assert_eq!(
        array("pred", &[4], "{true, 0, false, 7}").bytes(),
        [1, 0, 0, 1]
    );
    assert_eq!(error("pred", &[], "1.0").0, "literal-kind");
    assert_eq!(error("pred", &[], "truest").0, "literal-syntax");
}

#[test]
fn integers_are_checked_against_their_width() {
    for (element_type, low, high) in [
        ("s1", "-1", "0"),
        ("s2", "-2", "1"),
        ("s4", "-8", "7"),
        ("s8", "-128", "127"),
        ("s16", "-32768", "32767"),
        ("s32", "-2147483648", "2147483647"),
        ("s64", "-9223372036854775808", "9223372036854775807"),
        ("u1", "0", "1"),
        ("u2", "0", "3"),
        ("u4", "0", "15"),
        ("u8", "0", "255"),
        ("u16", "0", "65535"),
        ("u32", "0", "4294967295"),
        ("u64", "0", "18446744073709551615"),
    ] {
        bits(element_type, low);
        bits(element_type, high);
        let below = format!("{}", low.parse::<i128>().expect("an integer") - 1);
        let above = format!("{}", high.parse::<i128>().expect("an integer") + 1);
        for beyond in [below, above] {
            let (code, guilty, message) = error(element_type, &[], &beyond);
            assert_eq!((code.as_str(), guilty), ("literal-range", beyond));
            assert!(message.contains(element_type), "{message}");
        }
    }
    assert_eq!(bits("s4", "-8"), 0xf8);
    assert_eq!(bits("s8", "-007"), 0xf9);
    assert_eq!(error("s32", &[], "1.5").0, "literal-kind");
    assert_eq!(error("s32", &[], "0x10").0, "literal-syntax");
    assert_eq!(
        error("s32", &[], "99999999999999999999999").0,
        "literal-range"
    );
    let help = error_of(&shape("u8", &[]), "-1").help;
    assert!(help[0].contains("255"), "{help:?}");
}

#[test]
fn negative_zero_and_small_numbers_keep_their_bits() {
    assert_eq!(bits("f32", "-0"), 0x8000_0000);
    assert_eq!(bits("f32", "-0.0"), 0x8000_0000);
    assert_eq!(bits("f64", "-0"), 1 << 63);
    assert_eq!(bits("f16", "-0"), 0x8000);
    assert_eq!(bits("f8e4m3fnuz", "-0"), 0);
    assert_eq!(bits("f32", "1e-45"), 1);
    assert_eq!(bits("f32", "-.5"), 0xbf00_0000);
    assert_eq!(bits("f32", "1."), 0x3f80_0000);
    assert_eq!(error("f32", &[], ".5").0, "literal-syntax");
    assert_eq!(error("f32", &[], "+1").0, "literal-syntax");
}

#[test]
fn infinities_and_nans() {
    assert_eq!(bits("f32", "inf"), 0x7f80_0000);
    assert_eq!(bits("f32", "-inf"), 0xff80_0000);
    assert_eq!(bits("f32", "nan"), 0x7fc0_0000);
    assert_eq!(bits("f32", "-nan"), 0xffc0_0000);
    assert_eq!(bits("f32", "nan(0x1)"), 0x7f80_0001);
    assert_eq!(bits("f64", "-nan(0x8000000000001)"), 0xfff8_0000_0000_0001);
    assert_eq!(bits("bf16", "nan"), 0x7fc0);
    assert_eq!(bits("f8e5m2", "nan(0x3)"), 0x7f);
    assert_eq!(bits("f8e4m3fn", "nan"), 0x7f);
    assert_eq!(bits("f8e4m3fn", "-nan"), 0xff);
    assert_eq!(bits("f8e4m3b11fnuz", "nan"), 0x80);
    assert_eq!(bits("f8e4m3b11fnuz", "-nan"), 0x80);
    assert_eq!(bits("f8e8m0fnu", "nan"), 0xff);
    for (element_type, text) in [
        ("f32", "nan(0x0)"),
        ("f32", "nan(0x800000)"),
        ("f8e4m3fn", "inf"),
        ("f8e4m3fnuz", "-inf"),
        ("f4e2m1fn", "nan"),
        ("f4e2m1fn", "inf"),
    ] {
        assert_eq!(error(element_type, &[], text).0, "literal-range", "{text}");
    }
    assert_eq!(error("f8e4m3fn", &[], "nan(0x1)").0, "literal-kind");
    assert_eq!(error("f32", &[], "nan(0xg)").0, "literal-syntax");
    assert_eq!(error("f32", &[], "nanny").0, "literal-syntax");
    assert_eq!(error("f32", &[], "NaN").0, "literal-syntax");
}

#[test]
fn values_that_round_beyond_the_largest_are_refused() {
    for (element_type, good, bad) in [
        ("f32", "3.4028235e38", "3.4028236e38"),
        ("f64", "1.7976931348623157e308", "1e400"),
        ("f16", "65519.99", "65520"),
        ("bf16", "3.39e38", "3.4e38"),
        ("f8e4m3fn", "464", "480"),
        ("f8e5m2", "61439", "61440"),
        ("f8e4m3fnuz", "240", "300"),
        ("f4e2m1fn", "6.9", "7"),
        ("f6e2m3fn", "7.7", "7.75"),
        ("f8e8m0fnu", "1.7e38", "0"),
        ("f8e8m0fnu", "0.75", "-1"),
    ] {
        bits(element_type, good);
        let (code, guilty, message) = error(element_type, &[], bad);
        assert_eq!((code.as_str(), guilty.as_str()), ("literal-range", bad));
        assert!(message.contains(bad) && message.contains(element_type));
    }
    assert_eq!(bits("f8e4m3fn", "464"), 0x7e);
}

#[test]
fn decimals_round_once() {
    // 1 + 2⁻¹¹ lies halfway between two f16; the digits behind decide, though f64 does not see them.
    assert_eq!(bits("f16", "1.00048828125"), 0x3c00);
    assert_eq!(bits("f16", "1.000488281250000000000001"), 0x3c01);
    assert_eq!(bits("f16", "1.001464843749999999999999"), 0x3c01);
    assert_eq!(bits("f16", "-1.000488281250000000000001"), 0xbc01);
    assert_eq!(bits("f16", "65519.999999999999999999999"), 0x7bff);
    assert_eq!(bits("f16", "6.5519999999999999999999999e4"), 0x7bff);
    assert_eq!(bits("f4e2m1fn", "6.9999999999999999999999"), 7);
    // Through f64 this would become 1 + 2⁻²⁴, halfway, and then 1.
    assert_eq!(
        bits("f32", "1.00000005960464477539062500000001"),
        0x3f80_0001
    );
}

#[test]
fn complex_numbers_keep_both_parts() {
    let array = array("c64", &[2], "{(1, -2.5), (nan, inf)}");
    let elements = array.as_slice::<Complex<f32>>().expect("c64");
    assert_eq!((elements[0].re, elements[0].im), (1.0, -2.5));
    assert!(elements[1].re.is_nan());
    assert_eq!(elements[1].im, f32::INFINITY);
    assert_eq!(error("c64", &[], "1").0, "literal-kind");
    assert_eq!(error("c64", &[], "(1)").0, "literal-syntax");
    assert_eq!(error("c64", &[], "(1, 2, 3)").1, "3");
}

#[test]
fn braces_commas_and_comments() {
    let expected = [1, 2, 3, 4, 5, 6];
    for text in [
        "{ { 1, 2, 3 }, { 4, 5, 6 } }",
        "{{1 2 3}{4,,5,6}}",
        "{ /*i0=0*/ {1,2,3}, // the rest\n {4,5,6}}",
    ] {
        assert_eq!(
            array("s32", &[2, 3], text).as_slice::<i32>(),
            Some(&expected[..])
        );
    }
    assert_eq!(array("f32", &[0], "{}").num_elements(), 0);
    assert_eq!(array("f32", &[2, 0], "{ {}, {} }").dims(), [2, 0]);
    assert_eq!(array("f32", &[0, 1 << 40], "{  }").dims(), [0, 1 << 40]);
    assert_eq!(array("f32", &[1 << 40, 0], "{}").dims(), [1 << 40, 0]);
    assert_eq!(error("f32", &[2, 0], "{ {} }").0, "literal-count");
    assert_eq!(error("s32", &[1], "{1 /* }").0, "literal-syntax");
    assert_eq!(error("s32", &[2], "{1 / 2}").1, "/");
}

#[test]
fn wrong_counts_say_both_numbers_and_the_place() {
    let (code, guilty, message) = error("f32", &[2, 3], "{ {1, 2, 3}, {4, 5} }");
    assert_eq!((code.as_str(), guilty.as_str()), ("literal-count", "}"));
    assert_eq!(
        message,
        "dimension 1 of f32[2,3] has size 3, but the literal gives 2"
    );
    let (code, guilty, message) = error("f32", &[2], "{1, 2, 30, 4, 5}");
    assert_eq!((code.as_str(), guilty.as_str()), ("literal-count", "30"));
    assert!(message.ends_with("size 2, but the literal gives 5"));
    let (_, guilty, message) = error("f32", &[1, 1], "{ {1}, {(2), {3}} {4} }");
    assert_eq!(guilty, "{");
    assert!(
        message.ends_with("size 1, but the literal gives 3"),
        "{message}"
    );
    let (_, _, message) = error("f32", &[3, 1], "{ {1}, {2} }");
    assert!(message.ends_with("size 3, but the literal gives 2"));
    assert_eq!(error("f32", &[2], "{ {1}, {2} }").0, "literal-count");
    assert_eq!(error("f32", &[2, 2], "{1, 2, 3, 4}").0, "literal-syntax");
    assert_eq!(error("f32", &[2], "1").0, "literal-syntax");
    assert_eq!(error("f32", &[], "{1}").0, "literal-syntax");
    assert_eq!(error("f32", &[], "1 2").1, "2");
    assert_eq!(error("f32", &[1], "{1}}").1, "}");
    assert_eq!(error("f32", &[2], "{1, 2").1, "");
    assert_eq!(error("f32", &[2], "").1, "");
}

#[test]
fn hostile_shapes_take_no_memory() {
    let (code, _, message) = error("f64", &[1 << 40, 1 << 20], "{ {1, 2} }");
    assert_eq!(code, "literal-count");
    assert!(message.ends_with("gives 2"), "{message}");
    assert_eq!(
        error("f64", &[i64::MAX, i64::MAX, 4], "{ {{}} }").0,
        "literal-count"
    );
    assert_eq!(error("f64", &[-1], "{1}").0, "literal-kind");
}

#[test]
fn elided_elements_are_refused_with_the_way_out() {
    for (dims, text) in [
        (&[100][..], "{...}"),
        (&[], "{ ... }"),
        (&[2, 2], "{...}"),
        (&[2], "{1, ...}"),
    ] {
        let error = error_of(&shape("f32", dims), text);
        assert_eq!(error.code, "literal-elided", "{text}");
        assert_eq!(error.help.len(), 3);
    }
    let tuple = Shape::Tuple(vec![shape("f32", &[])]);
    assert_eq!(error_of(&tuple, "{...}").code, "literal-elided");
    assert_eq!(error_of(&tuple, "( {...} )").code, "literal-elided");
}

#[test]
fn tuples_nest() {
    let inner = Shape::Tuple(vec![]);
    let tuple = Shape::Tuple(vec![shape("s32", &[2]), shape("pred", &[]), inner]);
    let literal = read_literal("( {1, 2}, true, () )", 0, &tuple).expect("a tuple");
    assert_eq!(literal.shape(), tuple);
    let short = error_of(&tuple, "( {1, 2} )");
    assert_eq!(short.code, "literal-count");
    assert!(
        short
            .message
            .ends_with("has 3 elements, but the literal gives 1")
    );
    assert_eq!(
        error_of(&tuple, "( {1,2}, 1, (), 4 )").code,
        "literal-count"
    );
    assert_eq!(error_of(&Shape::Token, "1").code, "literal-kind");
    assert_eq!(error_of(&Shape::Opaque, "1").code, "literal-kind");
}

#[test]
fn values_of_another_kind_are_named() {
    let (code, _, message) = error("f32", &[], "true");
    assert_eq!(code, "literal-kind");
    assert_eq!(
        message,
        "`true` is a value of pred, but the elements are f32"
    );
    let (_, guilty, message) = error("f32", &[1], "{é}");
    assert_eq!(guilty, "é");
    assert_eq!(message, "expected a value of f32, found `é`");
}

/// The next of a sequence of pseudo-random bytes (xorshift), the same in every run.
fn random_byte(state: &mut u64) -> u8 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 24) as u8
}

#[test]
fn printed_literals_read_back_bit_for_bit() {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    for &element_type in ElementType::ALL {
        for dims in [&[][..], &[300], &[2, 3], &[2, 1, 2, 3], &[3, 0], &[0, 2]] {
            let count = dims.iter().product::<i64>() as usize * element_type.size();
            let bytes = (0..count).map(|_| random_byte(&mut state)).collect();
            let written = Array::new(element_type, dims, bytes).expect("bytes of the right number");
            let text = hloc_ir::print_literal(&Literal::Array(written.clone()));
            let read = array(element_type.name(), dims, &text);
            assert_eq!(read.bytes(), written.bytes(), "{element_type} {text}");
        }
    }
}
