//! Arrays of sizes known at run time, and arrays that are never made.

use hloc::{Array, Compiler, Error, Executable};

const GROWS: &str = "HloModule grows
ENTRY e {
  x = f32[<=4] parameter(0)
  y = f32[2] parameter(1)
  ROOT r = f32[<=6] concatenate(x, y), dimensions={0}
}
";

fn floats(values: &[f32]) -> Array {
    Array::from_slice(&[values.len() as i64], values).expect("the count fits")
}

#[test]
fn arguments_and_results_have_real_sizes() -> Result<(), Error> {
    let executable = hloc::compile(GROWS)?;
    let shapes: Vec<String> = executable
        .parameters()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(shapes, ["x: f32[<=4]", "y: f32[2]"]);
    assert_eq!(executable.results()[0].to_string(), "f32[<=6]");
    for count in 0..=4 {
        let x: Vec<f32> = (0..count).map(|at| at as f32).collect();
        let results = executable.run(&[floats(&x), floats(&[8.0, 9.0])])?;
        let want = [&x[..], &[8.0, 9.0]].concat();
        assert_eq!(results.len(), 1);
        assert_eq!(results[0].as_slice::<f32>(), Some(&want[..]));
    }
    Ok(())
}

#[test]
fn a_saved_program_keeps_its_sizes() -> Result<(), Error> {
    let mut file = Vec::new();
    hloc::compile(GROWS)?.save(&mut file)?;
    let executable = Executable::load(&file[..])?;
    let results = executable.run(&[floats(&[1.0]), floats(&[2.0, 3.0])])?;
    assert_eq!(results[0].as_slice::<f32>(), Some(&[1.0, 2.0, 3.0][..]));
    Ok(())
}

#[test]
fn sizes_beyond_the_bound_are_refused() -> Result<(), Error> {
    let executable = hloc::compile(GROWS)?;
    let y = floats(&[0.0; 2]);
    for inputs in [
        vec![floats(&[0.0; 5]), y.clone()],
        vec![y.clone()],
        vec![y.clone(), floats(&[0.0])],
    ] {
        let error = executable.run(&inputs).expect_err("they do not fit");
        assert!(error.is_argument_mismatch(), "{error}");
    }
    Ok(())
}

/// The most bytes that a run of `text` allocates.
fn peak(text: &str) -> Result<u64, Error> {
    Ok(Compiler::new()
        .threads(1)
        .compile(text)?
        .peak_buffer_bytes())
}

#[test]
fn nothing_is_made_that_one_element_is_taken_of() -> Result<(), Error> {
    let text = "HloModule m
ENTRY e {
  x = f32[30000] parameter(0)
  rows = f32[30000,30000] broadcast(x), dimensions={0}
  columns = f32[30000,30000] broadcast(x), dimensions={1}
  sum = f32[30000,30000] add(rows, columns)
  ROOT r = f32[1,1] slice(sum), slice={[29999:30000], [5:6]}
}
";
    assert_eq!(peak(text)?, 4);
    let x: Vec<f32> = (0..30000).map(|at| at as f32).collect();
    let result = hloc::compile(text)?.run(&[floats(&x)])?;
    assert_eq!(result[0].as_slice::<f32>(), Some(&[30004.0][..]));
    Ok(())
}

#[test]
fn arithmetic_of_large_iotas_is_not_folded_into_arrays() -> Result<(), Error> {
    let text = "HloModule m
ENTRY e {
  i = s32[10000,10000] iota(), iota_dimension=0
  j = s32[10000,10000] iota(), iota_dimension=1
  k = s32[] constant(10000)
  ten_thousand = s32[10000,10000] broadcast(k), dimensions={}
  row = s32[10000,10000] multiply(i, ten_thousand)
  place = s32[10000,10000] add(row, j)
  ROOT r = s32[1,2] slice(place), slice={[9999:10000], [0:2]}
}
";
    assert_eq!(peak(text)?, 8);
    let executable = hloc::compile(text)?;
    assert_eq!(executable.stats().constant_bytes, 0);
    let result = executable.run(&[])?;
    assert_eq!(
        result[0].as_slice::<i32>(),
        Some(&[99_990_000, 99_990_001][..])
    );
    Ok(())
}

#[test]
fn a_sum_over_all_pairs_needs_no_memory() -> Result<(), Error> {
    let text = "HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[20000] parameter(0)
  y = f32[20000] parameter(1)
  rows = f32[20000,20000] broadcast(x), dimensions={0}
  columns = f32[20000,20000] broadcast(y), dimensions={1}
  greater = pred[20000,20000] compare(rows, columns), direction=GT
  product = f32[20000,20000] multiply(rows, columns)
  zero = f32[] constant(0)
  zeros = f32[20000,20000] broadcast(zero), dimensions={}
  chosen = f32[20000,20000] select(greater, product, zeros)
  ROOT r = f32[] reduce(chosen, zero), dimensions={0,1}, to_apply=add
}
";
    let bytes = peak(text)?;
    assert!(bytes <= 20_000 * 8, "{bytes} bytes");
    Ok(())
}
