//! The arrays of a run: read from a file, made up, printed, written.

use std::path::Path;

use anyhow::Context;
use clap::Args;
use hloc::{Array, Parameter};
use hloc_ir::{Literal, Shape};
use hloc_tensor::{ElementClass, ElementType, Scalar, npz};

use crate::failure::Usage;

/// Where the inputs come from.
#[derive(Debug, Args)]
pub(crate) struct InputArgs {
    /// Arrays in a file of `numpy.savez`: `in0`, `in1`, ... by position, or named by parameter.
    #[arg(long, value_name = "IN.npz", conflicts_with = "random")]
    inputs: Option<String>,
    /// Inputs made up from this seed: normal floats, integers from 0 to 9.
    #[arg(long, value_name = "SEED")]
    random: Option<u64>,
}

impl InputArgs {
    /// One array per parameter.
    pub(crate) fn arrays(&self, parameters: &[Parameter]) -> anyhow::Result<Vec<Array>> {
        if let Some(path) = &self.inputs {
            return read(path, parameters);
        }
        if let Some(seed) = self.random {
            return random(seed, parameters);
        }
        if parameters.is_empty() {
            return Ok(Vec::new());
        }
        let names: Vec<String> = parameters.iter().map(Parameter::to_string).collect();
        Err(Usage::error(format!(
            "the program takes {}: give `--inputs FILE.npz` or `--random SEED`",
            names.join(", ")
        )))
    }

    /// As [`InputArgs::arrays`], but made up where nothing is said.
    pub(crate) fn arrays_or_random(&self, parameters: &[Parameter]) -> anyhow::Result<Vec<Array>> {
        if self.inputs.is_none() && self.random.is_none() {
            return random(0, parameters);
        }
        self.arrays(parameters)
    }
}

/// Reads one array per parameter; members that belong to none are not read.
fn read(path: &str, parameters: &[Parameter]) -> anyhow::Result<Vec<Array>> {
    let mut seen = Vec::new();
    let members = npz::read_where(path, |member| {
        seen.push(member.to_owned());
        let number = member.strip_prefix("in").and_then(|at| at.parse().ok());
        number.is_some_and(|number: usize| number < parameters.len())
            || parameters.iter().any(|parameter| parameter.name == member)
    })
    .with_context(|| format!("cannot read inputs from `{path}`"))?;
    let take = |(number, parameter): (usize, &Parameter)| {
        let numbered = format!("in{number}");
        let by = |name: &str| members.iter().find(|(member, _)| member == name);
        let (name, array) = by(&numbered)
            .or_else(|| by(&parameter.name))
            .ok_or_else(|| {
                Usage::error(format!(
                    "`{path}` has neither `{numbered}` nor `{}` for the parameter {parameter}; it has {}",
                    parameter.name,
                    listed(&seen)
                ))
            })?;
        let shape = &parameter.shape;
        let array = array.clone().into_array_of(shape.element_type, &shape.dims);
        array.with_context(|| format!("`{name}` of `{path}` for the parameter {parameter}"))
    };
    parameters.iter().enumerate().map(take).collect()
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "no arrays".to_owned();
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// One array per parameter, the same for the same seed on every machine.
fn random(seed: u64, parameters: &[Parameter]) -> anyhow::Result<Vec<Array>> {
    let mut generator = SplitMix64(seed);
    parameters
        .iter()
        .map(|parameter| {
            let shape = &parameter.shape;
            let mut array = Array::zeros(shape.element_type, &shape.dims)
                .with_context(|| format!("cannot make an array for the parameter {parameter}"))?;
            fill(&mut array, &mut generator);
            Ok(array)
        })
        .collect()
}

fn fill(array: &mut Array, generator: &mut SplitMix64) {
    if let Some(elements) = array.as_mut_slice::<f32>() {
        elements
            .iter_mut()
            .for_each(|element| *element = generator.normal() as f32);
        return;
    }
    let element_type = array.element_type();
    for position in 0..array.num_elements() {
        array.set(position, generator.element(element_type));
    }
}

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// At least 0, below 1.
    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Mean 0, variance 1 (Box and Muller, 1958).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    fn element(&mut self, element_type: ElementType) -> Scalar {
        match element_type.class() {
            ElementClass::Predicate => Scalar::Pred(self.next() >> 63 == 1),
            ElementClass::Signed | ElementClass::Unsigned => {
                // Narrow types hold fewer numbers.
                let count = 10.min(1 << (element_type.bits() - 1));
                Scalar::Uint(self.next() % count)
            }
            ElementClass::Float => Scalar::Float(self.normal()),
            ElementClass::Complex => Scalar::Complex(self.normal(), self.normal()),
        }
    }
}

/// The results as text: `out0 = f32[2] [1., 2.]`.
pub(crate) fn shown(results: &[Array]) -> String {
    let mut text = String::new();
    for (number, array) in results.iter().enumerate() {
        let name = format!("out{number} = ");
        let indented = format!("\n{}", " ".repeat(name.len()));
        let array = array.to_string().replace('\n', &indented);
        text.push_str(&format!("{name}{array}\n"));
    }
    text
}

/// Writes the results as `out0`, `out1`, ... to a file that `numpy.load` reads.
pub(crate) fn write(path: &str, results: &[Array]) -> anyhow::Result<()> {
    let named: Vec<(String, Array)> = results
        .iter()
        .enumerate()
        .map(|(number, array)| (format!("out{number}"), array.clone()))
        .collect();
    npz::write(Path::new(path), &named).with_context(|| format!("cannot write `{path}`"))
}

/// Flattened arrays as the literals of a program's parameters; `None` if there are too few.
pub(crate) fn grouped<'a>(
    shapes: impl Iterator<Item = &'a Shape>,
    arrays: &[Array],
) -> Option<Vec<Literal>> {
    let mut leaves = arrays.iter();
    shapes.map(|shape| group(shape, &mut leaves)).collect()
}

fn group(shape: &Shape, leaves: &mut std::slice::Iter<'_, Array>) -> Option<Literal> {
    match shape {
        Shape::Array(_) => leaves.next().cloned().map(Literal::Array),
        Shape::Buffer(inner) => group(inner, leaves),
        Shape::Tuple(elements) => {
            let elements = elements.iter().map(|element| group(element, leaves));
            Some(Literal::Tuple(elements.collect::<Option<_>>()?))
        }
        Shape::Token | Shape::Opaque => Some(Literal::Tuple(Vec::new())),
    }
}

#[cfg(test)]
mod tests {
    use hloc::{Array, ArrayShape, ElementType, Parameter, Shape};

    use super::{SplitMix64, grouped, random, shown};

    #[test]
    fn the_generator_is_the_published_one() {
        let mut generator = SplitMix64(1_234_567);
        assert_eq!(generator.next(), 6_457_827_717_110_365_317);
        assert_eq!(generator.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn every_element_type_can_be_made_up() {
        let parameters: Vec<Parameter> = ElementType::ALL
            .iter()
            .map(|ty| Parameter {
                name: ty.name().to_owned(),
                shape: ArrayShape::new(*ty, &[100]),
            })
            .collect();
        let arrays = random(1, &parameters).expect("small");
        assert_eq!(arrays, random(1, &parameters).expect("small"));
        for (array, parameter) in arrays.iter().zip(&parameters) {
            assert_eq!(array.element_type(), parameter.shape.element_type);
        }
        let floats = random(3, &parameters[..]).expect("small");
        assert_ne!(arrays, floats);
    }

    #[test]
    fn results_line_up() {
        let array = Array::from_slice(&[2, 2], &[1i32, 2, 3, 4]).expect("four");
        assert_eq!(
            shown(&[array]),
            "out0 = s32[2,2] [[1, 2],\n                 [3, 4]]\n"
        );
    }

    #[test]
    fn leaves_are_grouped_by_shape() {
        let scalar = Shape::scalar(ElementType::S32);
        let shapes = [
            Shape::Tuple(vec![scalar.clone(), scalar.clone()]),
            scalar.clone(),
        ];
        let arrays = [1i32, 2, 3].map(Array::scalar);
        let literals = grouped(shapes.iter(), &arrays).expect("three leaves");
        assert_eq!(literals[0].shape(), shapes[0]);
        assert_eq!(literals[1].as_array(), Some(&arrays[2]));
        assert!(grouped(shapes.iter(), &arrays[..2]).is_none());
    }
}
