//! Compiles a program inside a Rust program, runs it, and shows what a mistake looks like.
//!
//! `cargo run --release --example embed`

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use hloc::Array;

const PROGRAM: &str = "
HloModule axpy

ENTRY main {
  a = f32[] parameter(0)
  x = f32[4] parameter(1)
  y = f32[4] parameter(2)
  a_everywhere = f32[4] broadcast(a), dimensions={}
  scaled = f32[4] multiply(a_everywhere, x)
  ROOT sum = f32[4] add(scaled, y)
}
";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let executable = hloc::compile(PROGRAM)?;
    for parameter in executable.parameters() {
        println!("takes {parameter}");
    }

    let a = Array::scalar(10.0f32);
    let x = Array::from_slice(&[4], &[1.0f32, 2.0, 3.0, 4.0])?;
    let y = Array::from_slice(&[4], &[0.5f32, 0.5, 0.5, 0.5])?;
    let results = executable.run(&[a, x, y])?;
    println!("gives {}", results[0]);
    let numbers: Option<&[f32]> = results[0].as_slice();
    assert_eq!(numbers, Some(&[10.5, 20.5, 30.5, 40.5][..]));

    // Errors are typed, and show the place.
    let wrong = PROGRAM.replace("f32[4] add", "f32[5] add");
    match hloc::compile(&wrong) {
        Err(error) if error.is_invalid_hlo() => println!("\nA wrong program:\n{error}"),
        Err(error) => return Err(error.into()),
        Ok(_) => println!("the wrong program compiled"),
    }
    Ok(())
}
