//! Built modules through the whole pipeline, with values.

use hloc::builder::{BatchNorm, DotNumbers, GatherNumbers, ScatterNumbers};
use hloc::{
    Array, Builder, ComparisonDirection, Compiler, ElementType, PassSelection, Shape, Value, numpy,
};

fn f32s(dims: &[i64]) -> Shape {
    Shape::array(ElementType::F32, dims)
}

/// 0, 1, 2 ... in an array of these dimensions.
fn counting(dims: &[i64]) -> Array {
    let count = dims.iter().product::<i64>();
    let numbers: Vec<f32> = (0..count).map(|number| number as f32).collect();
    Array::from_slice(dims, &numbers).expect("as many as asked for")
}

/// Compiles without and with passes and runs; both give the same.
fn run(b: &Builder, root: Value, inputs: &[Array]) -> Vec<Array> {
    let module = b.build(root).unwrap_or_else(|errors| panic!("{errors:#?}"));
    let results = [PassSelection::None, PassSelection::All].map(|passes| {
        let compiler = Compiler::new().passes(passes).threads(1);
        let executable = compiler.compile_module(module.clone());
        let result = executable.and_then(|executable| executable.run(inputs));
        result.unwrap_or_else(|error| panic!("{error}"))
    });
    assert_eq!(results[0], results[1]);
    let [first, _] = results;
    first
}

fn numbers(result: &[Array]) -> Vec<f32> {
    result[0].to_vec::<f32>().expect("f32 was computed")
}

/// Element by element from the indices, apart from the code under test.
fn summed(x: &Array, y: &Array, dims: &[i64]) -> Vec<f32> {
    let element = |array: &Array, index: &[i64]| {
        let own = array.dims();
        let index = &index[index.len() - own.len()..];
        let at = own.iter().zip(index).fold(0, |at, (size, index)| {
            at * size + if *size == 1 { 0 } else { *index }
        });
        array.as_slice::<f32>().expect("f32 was made")[at as usize]
    };
    let count = dims.iter().product::<i64>();
    let index_of = |position: i64| {
        let mut rest = position;
        let mut index: Vec<i64> = dims
            .iter()
            .rev()
            .map(|size| {
                let digit = rest % size;
                rest /= size;
                digit
            })
            .collect();
        index.reverse();
        index
    };
    (0..count)
        .map(|position| {
            let index = index_of(position);
            element(x, &index) + 100.0 * element(y, &index)
        })
        .collect()
}

#[test]
fn numpy_tables_with_values() {
    let table: [(&[i64], &[i64], &[i64]); 11] = [
        (&[3, 4], &[4], &[3, 4]),
        (&[3, 4], &[3, 1], &[3, 4]),
        (&[2, 3, 4], &[3, 4], &[2, 3, 4]),
        (&[5, 1, 4], &[1, 3, 1], &[5, 3, 4]),
        (&[4, 1], &[1, 5], &[4, 5]),
        (&[2, 4, 1], &[1, 5], &[2, 4, 5]),
        (&[5, 1], &[3], &[5, 3]),
        (&[3], &[5, 1], &[5, 3]),
        (&[], &[2, 2], &[2, 2]),
        (&[1, 1, 1], &[2], &[1, 1, 2]),
        (&[2, 3], &[2, 3], &[2, 3]),
    ];
    for (one, two, want) in table {
        let b = Builder::new("sum");
        let x = b.parameter(f32s(one), "x");
        let y = b.parameter(f32s(two), "y");
        let scaled = numpy::mul(&b, y, b.scalar(100f32));
        let sum = numpy::add(&b, x, scaled);
        let (x, y) = (counting(one), counting(two));
        let result = run(&b, sum, &[x.clone(), y.clone()]);
        assert_eq!(result[0].dims(), want, "{one:?} + {two:?}");
        assert_eq!(numbers(&result), summed(&x, &y, want), "{one:?} + {two:?}");
    }
}

#[test]
fn rows_and_vectors() {
    let b = Builder::new("rows");
    let x = b.parameter(f32s(&[2, 3]), "x");
    let row = b.parameter(f32s(&[3]), "row");
    let sum = numpy::add(&b, x, row);
    let x = Array::from_slice(&[2, 3], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0]).expect("six");
    let row = Array::from_slice(&[3], &[10f32, 20.0, 30.0]).expect("three");
    let want = [11.0, 22.0, 33.0, 14.0, 25.0, 36.0];
    assert_eq!(numbers(&run(&b, sum, &[x, row])), want);
}

#[test]
fn columns_of_a_matrix() {
    // x[:, 0:1] + 2 * x[:, 1:2] + 3
    let b = Builder::new("columns");
    let x = b.parameter(f32s(&[10, 2]), "x");
    let first = b.slice_in_dim(x, 0, 1, 1, 1);
    let second = b.slice_in_dim(x, 1, 2, 1, 1);
    let twice = numpy::mul(&b, b.scalar(2f32), second);
    let sum = numpy::add(&b, numpy::add(&b, first, twice), b.scalar(3f32));
    assert!(b.warnings().is_empty());
    let result = run(&b, sum, &[counting(&[10, 2])]);
    assert_eq!(result[0].dims(), [10, 1]);
    let want: Vec<f32> = (0..10).map(|row| (5 + 6 * row) as f32).collect();
    assert_eq!(numbers(&result), want);
}

#[test]
fn batch_normalization_of_features() {
    let b = Builder::new("norm");
    let x = b.parameter(f32s(&[4, 3]), "x");
    let [mean, variance, scale, offset] =
        ["mean", "variance", "scale", "offset"].map(|name| b.parameter(f32s(&[3]), name));
    let centered = numpy::sub(&b, x, mean);
    let normalized = numpy::div(&b, centered, b.sqrt(variance));
    let result = numpy::add(&b, numpy::mul(&b, normalized, scale), offset);
    let vector = |elements: [f32; 3]| Array::from_slice(&[3], &elements).expect("three");
    let inputs = [
        counting(&[4, 3]),
        vector([4.0, 5.0, 6.0]),
        vector([1.0, 4.0, 16.0]),
        vector([1.0, 2.0, 4.0]),
        vector([0.0, 1.0, -1.0]),
    ];
    let want = [
        -4.0, -3.0, -5.0, -1.0, 0.0, -2.0, 2.0, 3.0, 1.0, 5.0, 6.0, 4.0,
    ];
    assert_eq!(numbers(&run(&b, result, &inputs)), want);
}

#[test]
fn numpy_choices() {
    let b = Builder::new("choice");
    let x = b.parameter(f32s(&[2, 1]), "x");
    let y = b.parameter(f32s(&[3]), "y");
    let less = numpy::compare(&b, x, y, ComparisonDirection::Lt);
    let lesser = numpy::where_(&b, less, x, y);
    let difference = numpy::sub(&b, lesser, numpy::minimum(&b, x, y));
    let both = b.tuple(&[lesser, difference, numpy::broadcast_to(&b, y, &[2, 3])]);
    let x = Array::from_slice(&[2, 1], &[1f32, 5.0]).expect("two");
    let y = Array::from_slice(&[3], &[0f32, 3.0, 9.0]).expect("three");
    let result = run(&b, both, &[x, y]);
    assert_eq!(numbers(&result), [0.0, 1.0, 1.0, 0.0, 3.0, 5.0]);
    assert_eq!(numbers(&result[1..]), [0.0; 6]);
    assert_eq!(numbers(&result[2..]), [0.0, 3.0, 9.0, 0.0, 3.0, 9.0]);
}

#[test]
fn broadcast_dimensions_as_the_builder_of_xla_takes_them() {
    type Row<'a> = (&'a [i64], &'a [i64], &'a [i64], &'a [i64]);
    let table: [Row<'_>; 6] = [
        (&[2, 3], &[3], &[1], &[2, 3]),
        (&[3, 3], &[3], &[0], &[3, 3]),
        (&[2, 3, 4], &[3, 4], &[1, 2], &[2, 3, 4]),
        (&[4], &[1, 2], &[0], &[4, 2]),
        (&[4, 3, 1], &[1, 2], &[1, 2], &[4, 3, 2]),
        (&[], &[2, 2], &[], &[2, 2]),
    ];
    for (one, two, mapping, want) in table {
        let b = Builder::new("sum");
        let x = b.parameter(f32s(one), "x");
        let y = b.parameter(f32s(two), "y");
        let sum = b.add_in_dim(x, y, mapping);
        // The same, said by `broadcast_in_dim`.
        let all: Vec<i64> = (0..want.len() as i64).collect();
        let place = |x: Value, dims: &[i64]| {
            let places = if dims.len() == want.len() {
                &all
            } else {
                mapping
            };
            b.broadcast_in_dim(x, want, places)
        };
        let explicit = b.add(place(x, one), place(y, two));
        let result = run(
            &b,
            b.tuple(&[sum, explicit]),
            &[counting(one), counting(two)],
        );
        assert_eq!(result[0].dims(), want);
        assert_eq!(result[0], result[1], "{one:?} + {two:?} by {mapping:?}");
    }
}

#[test]
fn loops_branches_and_calls() {
    let b = Builder::new("power");
    let x = b.parameter(f32s(&[2]), "x");
    let start = b.tuple(&[b.scalar(0i32), x]);
    let looped = b.while_loop(
        start,
        |b, args| {
            let count = b.get_tuple_element(args[0], 0);
            b.compare(count, b.scalar(3i32), ComparisonDirection::Lt)
        },
        |b, args| {
            let carried = b.unpack(args[0]);
            let next = b.add(carried[0], b.scalar(1i32));
            b.tuple(&[next, b.add(carried[1], carried[1])])
        },
    );
    let eightfold = b.get_tuple_element(looped, 1);
    let total = b.reduce_add(eightfold, &[0]);
    let large = b.compare(total, b.scalar(20f32), ComparisonDirection::Gt);
    let chosen = b.conditional(
        large,
        eightfold,
        |b, args| b.negate(args[0]),
        x,
        |_, args| args[0],
    );
    let square = b.computation("square", &[f32s(&[2])], |b, args| {
        b.multiply(args[0], args[0])
    });
    let double = b.computation("double", &[f32s(&[2])], |b, args| b.add(args[0], args[0]));
    let switched = b.switch(b.scalar(1i32), &[(square, x), (double, x)]);
    let result = b.tuple(&[chosen, b.call(square, &[x]), switched]);
    let x = Array::from_slice(&[2], &[1f32, 2.0]).expect("two");
    let result = run(&b, result, &[x]);
    assert_eq!(numbers(&result), [-8.0, -16.0]);
    assert_eq!(numbers(&result[1..]), [1.0, 4.0]);
    assert_eq!(numbers(&result[2..]), [2.0, 4.0]);
}

#[test]
fn products_gathers_and_scatters() {
    let b = Builder::new("numbers");
    let x = b.parameter(f32s(&[2, 3]), "x");
    let numbers_of_outer = DotNumbers {
        lhs_contracting: vec![1],
        rhs_contracting: vec![1],
        ..DotNumbers::default()
    };
    let gram = b.dot_general(x, x, &numbers_of_outer);
    let rows = b.constant(Array::from_slice(&[2], &[1i32, 0]).expect("two"));
    let taken = b.gather(
        x,
        rows,
        &GatherNumbers {
            offset_dims: vec![1],
            collapsed_slice_dims: vec![0],
            start_index_map: vec![0],
            index_vector_dim: 1,
            slice_sizes: vec![1, 3],
            ..GatherNumbers::default()
        },
    );
    let scattered = b.scatter(
        x,
        rows,
        x,
        &ScatterNumbers {
            update_window_dims: vec![1],
            inserted_window_dims: vec![0],
            scatter_dims_to_operand_dims: vec![0],
            index_vector_dim: 1,
            ..ScatterNumbers::default()
        },
        |b, args| b.add(args[0], args[1]),
    );
    let result = run(&b, b.tuple(&[gram, taken, scattered]), &[counting(&[2, 3])]);
    assert_eq!(numbers(&result), [5.0, 14.0, 14.0, 50.0]);
    assert_eq!(numbers(&result[1..]), [3.0, 4.0, 5.0, 0.0, 1.0, 2.0]);
    assert_eq!(numbers(&result[2..]), [3.0, 5.0, 7.0, 3.0, 5.0, 7.0]);
}

#[test]
fn what_later_stages_refuse_names_the_line_of_the_call() {
    let b = Builder::new("norm");
    let x = b.parameter(f32s(&[2, 3]), "x");
    let scale = b.parameter(f32s(&[3]), "scale");
    let line = line!() + 1;
    let norm = b.batch_norm_training(
        x,
        scale,
        scale,
        BatchNorm {
            epsilon: 0.0,
            feature_index: 1,
        },
    );
    let module = b.build(norm).expect("it is valid");
    // Once batch normalization compiles, there is nothing to refuse.
    if let Err(error) = Compiler::new().compile_module(module) {
        let text = error.to_string();
        assert!(error.is_unsupported(), "{text}");
        assert!(text.contains(&format!("{}:{line}", file!())), "{text}");
    }
}

#[test]
fn printed_modules_read_back() {
    let b = Builder::new("round");
    let reserved = ["true", "nan", "ENTRY", "ROOT", "F32", "add", "x-1.2"];
    let parameters = reserved.map(|name| b.parameter(f32s(&[2]), name));
    let y = b.frontend_attribute(b.sine(parameters[0]), "hloc.allow", "unused-parameter");
    let all: Vec<Value> = parameters.into_iter().chain([y]).collect();
    let module = b.build(b.tuple(&all)).expect("it is valid");
    let again = Compiler::new()
        .parse("printed", module.to_string())
        .expect("it reads");
    assert_eq!(again.value, module);
}
