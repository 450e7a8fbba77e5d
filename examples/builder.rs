//! Builds a program without text: a layer, its loss, and a loop; then shows what a mistake looks like.
//!
//! `cargo run --release --example builder`

#![expect(clippy::print_stdout, reason = "the example shows what it computes")]

use hloc::{Array, Builder, Color, Compiler, ElementType, Shape, Source, numpy};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let b = Builder::new("layer");
    let x = b.parameter(Shape::array(ElementType::F32, &[2, 3]), "x");
    let weights = b.parameter(Shape::array(ElementType::F32, &[3, 2]), "weights");
    let bias = b.parameter(Shape::array(ElementType::F32, &[2]), "bias");
    let sum = numpy::add(&b, b.dot(x, weights), bias);
    let positive = b.maximum(sum, b.scalar(0f32));
    let loss = b.reduce(positive, b.scalar(0f32), &[0, 1], |b, args| {
        b.add(args[0], args[1])
    });
    let module = b.build(b.tuple(&[positive, loss])).map_err(shown)?;
    println!("{module}");

    let executable = Compiler::new().compile_module(module)?;
    let results = executable.run(&[
        Array::from_slice(&[2, 3], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0])?,
        Array::from_slice(&[3, 2], &[1f32, 0.0, 0.0, 1.0, 1.0, -1.0])?,
        Array::from_slice(&[2], &[0.5f32, 0.25])?,
    ])?;
    println!("gives {} and {}", results[0], results[1]);
    assert_eq!(
        results[0].as_slice::<f32>(),
        Some(&[4.5, 0.0, 10.5, 0.0][..])
    );
    assert_eq!(results[1].as_slice::<f32>(), Some(&[15.0][..]));

    let wrong = Builder::new("wrong");
    let x = wrong.parameter(Shape::array(ElementType::F32, &[2, 3]), "x");
    let y = wrong.parameter(Shape::array(ElementType::F32, &[2]), "y");
    let sum = numpy::add(&wrong, x, y);
    match wrong.build(wrong.tanh(sum)) {
        Err(mistakes) => println!("\nA mistake:\n{}", shown(mistakes)),
        Ok(_) => println!("the shapes fit"),
    }
    Ok(())
}

/// The mistakes as text.
fn shown(mistakes: Vec<hloc::Diagnostic>) -> String {
    let Ok(nowhere) = Source::new("", "") else {
        return String::new();
    };
    let texts = mistakes
        .iter()
        .map(|mistake| hloc::render_text(mistake, &nowhere, Color::Never));
    texts.collect::<Vec<_>>().join("\n\n")
}
