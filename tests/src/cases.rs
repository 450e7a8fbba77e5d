//! Corpus cases: an HLO program, inputs, and results that another compiler computed.
//!
//! A folder holds `manifest.json` and, per case, `NAME.hlo` and `NAME.npz` (`in0..`, `out0..`).

use std::path::{Path, PathBuf};

use hloc::PassSelection;
use hloc_diag::Source;
use hloc_ir::{Array, ElementType, Literal, Shape};
use hloc_tensor::npz;
use serde_json::Value;

use crate::stages;

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Name in the manifest, with the group's folder.
    pub name: String,
    /// The group, or the name where there is none.
    pub group: String,
    folder: PathBuf,
    outputs: usize,
    rtol: f64,
    atol: f64,
    shapes_only: bool,
    optimized: bool,
}

/// What runs a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The reference evaluator.
    Evaluator,
    /// Compiled with only the passes that lowering needs.
    JitWithoutPasses,
    /// Compiled with all passes.
    Jit,
    /// Compiled with all passes for every width of vectors and one thread or two: the same bits.
    SameBits,
    /// Compiled with all passes and compared with the evaluator, whatever the case expects.
    Compare,
}

/// The cases of a folder in the manifest's order.
///
/// # Errors
/// A manifest that cannot be read.
pub fn read_folder(folder: &Path) -> Result<Vec<Case>, String> {
    let path = folder.join("manifest.json");
    let text =
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let manifest: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let rows = manifest["cases"]
        .as_array()
        .ok_or("the manifest has no `cases`")?;
    rows.iter().map(|row| read_row(folder, row)).collect()
}

fn read_row(folder: &Path, row: &Value) -> Result<Case, String> {
    let name = row["name"]
        .as_str()
        .ok_or("a case without a name")?
        .to_owned();
    let rtol = row["rtol"].as_f64().ok_or("a case without rtol")?;
    Ok(Case {
        group: row["group"].as_str().unwrap_or(&name).to_owned(),
        name,
        folder: folder.to_owned(),
        outputs: row["outputs"]
            .as_u64()
            .and_then(|count| usize::try_from(count).ok())
            .unwrap_or(1),
        rtol,
        atol: row["atol"].as_f64().unwrap_or(rtol),
        shapes_only: row["check"].as_str() == Some("shape"),
        optimized: false,
    })
}

impl Case {
    /// The program's path.
    pub fn program(&self) -> PathBuf {
        let ending = if self.optimized { "opt.hlo" } else { "hlo" };
        self.folder.join(format!("{}.{ending}", self.name))
    }

    /// The case with the program that another compiler made of its program, `NAME.opt.hlo`; `None` where
    /// there is none, or one whose constants were left out.
    pub fn optimized(mut self) -> Option<Case> {
        self.optimized = true;
        let text = std::fs::read_to_string(self.program()).ok()?;
        (!text.contains("{...}")).then_some(self)
    }

    /// Runs the case and compares its results.
    ///
    /// # Errors
    /// What went wrong: a diagnostic, or the first difference.
    pub fn run(&self, engine: Engine) -> Result<(), String> {
        let text = std::fs::read_to_string(self.program()).map_err(|error| error.to_string())?;
        let source = Source::new(&*self.name, text).map_err(|error| error.to_string())?;
        let module = stages::verified(&source)?;
        let shapes = module.entry().program_shape();
        let members = npz::read(self.folder.join(format!("{}.npz", self.name)))
            .map_err(|error| error.to_string())?;
        let member = |name: String, ty: ElementType| {
            let found = members.iter().find(|(member, _)| *member == name);
            let array = found
                .ok_or_else(|| format!("the case has no `{name}`"))?
                .1
                .clone();
            array
                .into_array(ty)
                .map_err(|error| format!("{name}: {error}"))
        };
        let types = |shape: &Shape| -> Vec<ElementType> {
            shape
                .leaves()
                .iter()
                .filter_map(|leaf| leaf.as_array().map(|array| array.element_type))
                .collect()
        };
        let inputs = shapes.parameters.iter().flat_map(types).enumerate();
        let inputs: Vec<Array> = inputs
            .map(|(at, ty)| member(format!("in{at}"), ty))
            .collect::<Result<_, _>>()?;
        let outputs = match engine {
            Engine::SameBits => return stages::same_bits(source.text(), &inputs),
            Engine::Compare => {
                let got = stages::compile_and_run(source.text(), PassSelection::All, &inputs)?;
                let wanted = evaluate(&module, &shapes.parameters, inputs)?;
                return agree(&module, &got, &wanted);
            }
            Engine::Evaluator => evaluate(&module, &shapes.parameters, inputs)?,
            Engine::JitWithoutPasses => {
                stages::compile_and_run(source.text(), PassSelection::None, &inputs)?
            }
            Engine::Jit => stages::compile_and_run(source.text(), PassSelection::All, &inputs)?,
        };
        if outputs.len() != self.outputs {
            return Err(format!(
                "{} results, expected {}",
                outputs.len(),
                self.outputs
            ));
        }
        for (at, (output, ty)) in outputs.iter().zip(types(&shapes.result)).enumerate() {
            let want = member(format!("out{at}"), ty)?;
            self.compare(output, &want)
                .map_err(|error| format!("out{at}: {error}"))?;
        }
        Ok(())
    }

    fn compare(&self, got: &Array, want: &Array) -> Result<(), String> {
        if self.shapes_only {
            let same = got.dims() == want.dims();
            return if same {
                Ok(())
            } else {
                Err(format!("{:?}, expected {:?}", got.dims(), want.dims()))
            };
        }
        let tolerance = hloc_tensor::Tolerance::Close {
            rtol: self.rtol,
            atol: self.atol,
        };
        hloc_tensor::compare(got, want, tolerance).map_err(|mismatch| mismatch.to_string())
    }
}

/// Compares compiled results with the evaluator's.
fn agree(
    module: &hloc_verify::VerifiedModule,
    got: &[Array],
    wanted: &[Array],
) -> Result<(), String> {
    if got.len() != wanted.len() {
        return Err(format!(
            "{} results, the evaluator gives {}",
            got.len(),
            wanted.len()
        ));
    }
    for (at, (got, want)) in got.iter().zip(wanted).enumerate() {
        let tolerance = hloc_eval::tolerance(module, want);
        hloc_tensor::compare(got, want, tolerance)
            .map_err(|mismatch| format!("out{at}: {mismatch}"))?;
    }
    Ok(())
}

fn evaluate(
    module: &hloc_verify::VerifiedModule,
    parameters: &[Shape],
    inputs: Vec<Array>,
) -> Result<Vec<Array>, String> {
    let mut leaves = inputs.into_iter();
    let arguments = parameters
        .iter()
        .map(|shape| stages::grouped(shape, &mut leaves));
    let arguments: Vec<Literal> = arguments.collect::<Result<_, _>>()?;
    Ok(stages::evaluate(module, &arguments)?.into_leaves())
}
