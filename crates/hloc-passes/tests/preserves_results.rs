//! Every pass and every pipeline keeps the results of programs, bit for bit, on the evaluator.

use hloc_diag::Source;
use hloc_eval::evaluate;
use hloc_ir::{Array, ArrayShape, Literal};
use hloc_passes::{PASSES, PassError, Pipeline};
use hloc_tensor::Scalar;
use hloc_verify::{VerifiedModule, verify};

const PROGRAMS: &[(&str, &str)] = &[
    ("softmax", include_str!("programs/softmax.hlo")),
    ("broadcasting", include_str!("programs/broadcasting.hlo")),
    ("views", include_str!("programs/views.hlo")),
    ("control", include_str!("programs/control.hlo")),
    ("integers", include_str!("programs/integers.hlo")),
];

fn parsed(name: &str, text: &str) -> VerifiedModule {
    let source = Source::new(name, text).expect("programs are small");
    let module = hloc_parser::parse(&source)
        .unwrap_or_else(|diagnostics| panic!("{name} does not parse: {diagnostics:#?}"));
    verify(module).unwrap_or_else(|rejected| panic!("{name}: {rejected}"))
}

/// Values of both signs with zeros, infinities and NaN among them, the same in every run.
fn argument(shape: &ArrayShape, seed: &mut u64) -> Literal {
    let mut array = Array::zeros(shape.element_type, &shape.dims).expect("arguments are small");
    for position in 0..array.num_elements() {
        *seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let value = match (*seed >> 33) % 23 {
            0 => -0.0,
            1 => 0.0,
            2 => f64::INFINITY,
            3 => f64::NEG_INFINITY,
            4 => f64::NAN,
            other => (other as f64 - 13.0) / 4.0,
        };
        array.set(position, Scalar::Float(value).converted(shape.element_type));
    }
    Literal::Array(array)
}

fn arguments(module: &VerifiedModule) -> Vec<Literal> {
    let mut seed = 7;
    let entry = module.entry();
    let shapes = entry
        .parameters
        .iter()
        .map(|id| entry.instructions[*id].shape.as_array());
    shapes
        .map(|shape| argument(shape.expect("parameters are arrays"), &mut seed))
        .collect()
}

#[test]
fn results_stay() {
    let mut pipelines: Vec<Pipeline> = PASSES
        .iter()
        .map(|pass| Pipeline::from_names(&[pass.name()]).expect("the pass is listed"))
        .collect();
    let late = [
        "fusion",
        "simplify",
        "constant-fold",
        "cse",
        "dce",
        "call-inline",
        "fusion",
    ];
    pipelines.push(Pipeline::from_names(&late).expect("the passes are listed"));
    pipelines.extend([Pipeline::default_pipeline(), Pipeline::minimal()]);
    for (name, text) in PROGRAMS {
        let module = parsed(name, text);
        let arguments = arguments(&module);
        let want = evaluate(&module, &arguments).unwrap_or_else(|error| panic!("{name}: {error}"));
        for pipeline in &pipelines {
            let mut seen = Vec::new();
            let rewritten = pipeline
                .run(module.clone(), &mut |pass, _| seen.push(pass.to_owned()))
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(seen.len(), pipeline.passes().len());
            let got = evaluate(&rewritten, &arguments)
                .unwrap_or_else(|error| panic!("{name} after {pipeline:?}: {error}"));
            assert!(
                got.same_bits(&want),
                "{name} differs after {pipeline:?}:\n{}",
                hloc_ir::print_module(&rewritten)
            );
        }
    }
}

#[test]
fn unknown_passes_are_named_with_the_known_ones() {
    let error = Pipeline::from_names(&["dce", "inline"]).expect_err("there is no such pass");
    assert!(
        matches!(&error, PassError::Unknown { name, known } if name == "inline" && known.contains(&"dce"))
    );
    assert!(
        error
            .to_string()
            .starts_with("no pass is named `inline`; there are legalize-bitcast, ")
    );
}
