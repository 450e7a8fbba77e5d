//! The entry computation: sizes as further parameters and results.

use std::fmt::Write;

use hloc_ir::{ElementType, FrontendValue, Id, InstrId, Module, Op, Shape};

use super::{ATTRIBUTE, Done, Dynamic, Leaves, Pattern, Region, bounded, no_sizes, pattern};
use crate::make::Make;

impl Dynamic<'_> {
    /// The legalized module.
    pub(super) fn entry(mut self) -> Done<Module> {
        let mut region = self.region(self.module.entry);
        let computation = region.rebuilt.old();
        let mut parameters = Vec::new();
        let mut given = Pattern::new();
        for id in &computation.parameters {
            let shape = &computation.instructions[*id].shape;
            let leaves = shape.leaves();
            given.extend(leaves.iter().map(|leaf| {
                match leaf {
                    Shape::Array(array) => (0..array.num_dims())
                        .map(|dim| array.is_dynamic(dim))
                        .collect(),
                    Shape::Tuple(_) | Shape::Token | Shape::Opaque | Shape::Buffer(_) => Vec::new(),
                }
            }));
        }
        // Sizes come first in the computation, and behind all others by number.
        let first = computation.parameters.len();
        let like = computation.parameters.first().copied();
        let mut sizes = Vec::new();
        for (at, _) in given
            .iter()
            .flatten()
            .filter(|dynamic| **dynamic)
            .enumerate()
        {
            let number = (first + at) as i64;
            let like = like.expect("a dynamic dimension is one of a parameter");
            let size = region.rebuilt.emit_named(
                "size",
                like,
                Op::Parameter { number },
                &[],
                Shape::scalar(ElementType::S32),
            );
            parameters.push(size);
            sizes.push(size);
        }
        let mut next = sizes.into_iter();
        let mut leaves = given.iter();
        for id in &computation.parameters {
            let instruction = &computation.instructions[*id];
            region.copy(*id);
            let own: Leaves = no_sizes(&instruction.shape)
                .iter()
                .zip(&mut leaves)
                .map(|(_, dims)| {
                    dims.iter()
                        .map(|dynamic| dynamic.then(|| next.next()).flatten())
                        .collect()
                })
                .collect();
            region.sizes[id.index()] = own;
        }
        for (id, instruction) in computation.instructions.iter() {
            if !matches!(instruction.op, Op::Parameter { .. }) {
                self.instruction(&mut region, id)?;
            }
        }
        let root = computation.root;
        let results = region.sizes[root.index()].clone();
        let mut new_root = region.rebuilt.mapped(root);
        if super::any(&results) {
            let mut parts = vec![new_root];
            parts.extend(results.iter().flatten().flatten());
            new_root = region.make(root).tuple(&parts);
        }
        let results = pattern(&results);
        let sized = given
            .iter()
            .chain(&results)
            .flatten()
            .any(|dynamic| *dynamic);
        let all = computation.parameters.iter().chain([&root]);
        let is_array = |leaf: &&Shape| leaf.as_array().is_some();
        for id in all.filter(|_| sized) {
            if !computation.instructions[*id]
                .shape
                .leaves()
                .iter()
                .all(is_array)
            {
                return region.refused(*id, "sizes cannot be counted beside what is no array");
            }
        }
        let text = sized.then(|| attribute(&given, &results));
        Ok(self.finish(region, parameters, new_root, text.as_deref()))
    }

    fn finish(
        mut self,
        region: Region<'_>,
        sizes: Vec<InstrId>,
        root: InstrId,
        text: Option<&str>,
    ) -> Module {
        let (mut computation, _) = region.rebuilt.finish();
        computation.parameters.extend(sizes);
        computation.root = root;
        computation.signature = None;
        let entry = self.computations.push(computation);
        let mut attributes = self.module.attributes.clone();
        if let Some(text) = text {
            // These speak of the parameters and results as they were.
            attributes.entry_computation_layout = None;
            attributes.input_output_alias = Vec::new();
            attributes.buffer_donor = Vec::new();
            attributes.allow_spmd_sharding_propagation_to_parameters = None;
            attributes.allow_spmd_sharding_propagation_to_output = None;
            let value = FrontendValue::String(text.into());
            let notes = &mut attributes.frontend_attributes;
            notes.insert(ATTRIBUTE.into(), value);
        }
        Module {
            name: self.module.name.clone(),
            attributes,
            stack: self.module.stack.clone(),
            computations: self.computations,
            entry,
        }
    }
}

/// The text that says which dimensions have sizes.
fn attribute(given: &Pattern, results: &Pattern) -> String {
    let mut text = String::new();
    for (word, pattern) in [("in", given), ("out", results)] {
        let space = if text.is_empty() { "" } else { " " };
        write!(text, "{space}{word}").expect("writing to a string does not fail");
        // Tokens have no arrays and are not counted.
        let arrays = pattern.iter();
        for (leaf, dims) in arrays.enumerate() {
            for (dim, _) in dims.iter().enumerate().filter(|(_, dynamic)| **dynamic) {
                write!(text, " {leaf}:{dim}").expect("writing to a string does not fail");
            }
        }
    }
    text
}

/// The shape of a value with the sizes behind it.
pub(super) fn with_sizes(shape: &Shape, pattern: &Pattern) -> Shape {
    let count = pattern.iter().flatten().filter(|dynamic| **dynamic).count();
    if count == 0 {
        return bounded(shape);
    }
    let sizes = std::iter::repeat_n(Shape::scalar(ElementType::S32), count);
    Shape::Tuple([bounded(shape)].into_iter().chain(sizes).collect())
}
