//! The stages of compiling that keep to HLO: parse, verify, optimize.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hloc_diag::{Diagnostic, Source};
use hloc_ir::{CustomCall, CustomCallHandler, CustomCalls, Literal, Module, Shape};
use hloc_passes::{PassError, Pipeline};
use hloc_runtime::RunError;
use hloc_tensor::Array;
use hloc_verify::{Rejected, VerifiedModule, verify_with};

use crate::options::{StageKind, StageTime};
use crate::{CompileOptions, CompileTimes, Dialect, Error, PassSelection};

/// The product of one stage, with the text it stems from and the time spent so far.
#[derive(Clone, Debug)]
pub struct Staged<T> {
    /// The product.
    pub value: T,
    /// The time that each stage up to this one took.
    pub times: CompileTimes,
    pub(crate) stages: Vec<StageTime>,
    pub(crate) source: Arc<Source>,
}

impl<T> Staged<T> {
    /// The text that the product stems from.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The same, to keep.
    pub fn shared_source(&self) -> Arc<Source> {
        Arc::clone(&self.source)
    }

    pub(crate) fn then<U>(
        self,
        name: &'static str,
        time: impl Fn(&mut CompileTimes) -> &mut Duration,
        stage: impl FnOnce(T, &Arc<Source>) -> Result<U, Error>,
    ) -> Result<Staged<U>, Error> {
        let begin = Instant::now();
        let (mut times, mut stages) = (self.times, self.stages);
        let value = stage(self.value, &self.source)?;
        let took = begin.elapsed();
        *time(&mut times) += took;
        stages.push(StageTime::new(name, StageKind::Stage, begin, took));
        Ok(Staged {
            value,
            times,
            stages,
            source: self.source,
        })
    }
}

/// Compiles HLO text, with options.
///
/// ```
/// let text = "ENTRY main { x = f32[2] parameter(0) ROOT y = f32[2] add(x, x) }";
/// let executable = hloc::Compiler::new().threads(1).compile(text)?;
/// let result = executable.run(&[hloc::Array::from_slice(&[2], &[1.0f32, 2.5])?])?;
/// assert_eq!(result[0].as_slice::<f32>(), Some(&[2.0, 5.0][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Compiler {
    options: CompileOptions,
    pub(crate) calls: CustomCalls,
}

impl Compiler {
    /// A compiler with the default options.
    pub fn new() -> Compiler {
        Compiler::default()
    }

    /// Replaces all options.
    #[must_use]
    pub fn options(mut self, options: CompileOptions) -> Compiler {
        self.options = options;
        self
    }

    /// How many threads one run may use; 0 counts as 1.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Compiler {
        self.options.threads = threads.max(1);
        self
    }

    /// Which passes run.
    #[must_use]
    pub fn passes(mut self, passes: PassSelection) -> Compiler {
        self.options.passes = passes;
        self
    }

    /// The language that the text is held to.
    #[must_use]
    pub fn dialect(mut self, dialect: Dialect) -> Compiler {
        self.options.dialect = dialect;
        self
    }

    /// Lets `handler` answer custom calls of `target`, in compiled programs and in [`Compiler::evaluate`].
    ///
    /// The handler gets the operands and gives one array for each result, tuples flattened. Its error, a
    /// panic in it, and arrays of other shapes than declared end the run with
    /// [`Error::is_custom_call_failure`]. It may be called by several threads at once. A call without
    /// `custom_call_has_side_effect=true` may be left out if nothing uses its results, and made once for
    /// equal operands. A program that calls a target that neither hloc nor a handler knows is not compiled.
    ///
    /// ```
    /// use hloc::{Array, Compiler};
    ///
    /// let compiler = Compiler::new().custom_call("reverse", |call| {
    ///     let mut elements = call.operands[0].to_vec::<f32>().ok_or("f32 expected")?;
    ///     elements.reverse();
    ///     let array = Array::from_slice(call.operands[0].dims(), &elements);
    ///     Ok(vec![array.map_err(|error| error.to_string())?])
    /// });
    /// let executable = compiler.compile(
    ///     r#"ENTRY e { x = f32[3] parameter(0) ROOT y = f32[3] custom-call(x), custom_call_target="reverse" }"#,
    /// )?;
    /// let y = executable.run(&[Array::from_slice(&[3], &[1.0f32, 2.0, 3.0])?])?;
    /// assert_eq!(y[0].as_slice::<f32>(), Some(&[3.0, 2.0, 1.0][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn custom_call(
        mut self,
        target: &str,
        handler: impl Fn(&CustomCall<'_>) -> Result<Vec<Array>, String> + Send + Sync + 'static,
    ) -> Compiler {
        self.calls.register(target, CustomCallHandler::new(handler));
        self
    }

    /// The options in force.
    pub fn current_options(&self) -> &CompileOptions {
        &self.options
    }

    /// Reads HLO text; messages call it `name`.
    ///
    /// # Errors
    /// [`Error::is_invalid_hlo`] with the first mistake in the text, [`Error::is_invalid_option`] for a
    /// text beyond [`Source::MAX_LEN`].
    pub fn parse(&self, name: &str, text: impl Into<String>) -> Result<Staged<Module>, Error> {
        let start = Instant::now();
        let source =
            Source::new(name, text).map_err(|too_large| Error::option(too_large.to_string()))?;
        let source = Arc::new(source);
        let module = hloc_parser::parse(&source)
            .map_err(|diagnostics| Error::invalid(&source, diagnostics))?;
        let took = start.elapsed();
        let times = CompileTimes {
            parse: took,
            ..CompileTimes::default()
        };
        Ok(Staged {
            value: module,
            times,
            stages: vec![StageTime::new("parse", StageKind::Stage, start, took)],
            source,
        })
    }

    /// Takes a module that a [`Builder`](crate::Builder) or another program made, in place of parsed text.
    ///
    /// Findings about it have no place in a text; they name the line at which the builder was called.
    #[must_use]
    pub fn take(&self, module: Module) -> Staged<Module> {
        let source = Source::new("<module>", "").expect("an empty text is not too large");
        Staged {
            value: module,
            times: CompileTimes::default(),
            stages: Vec::new(),
            source: Arc::new(source),
        }
    }

    /// Checks every rule of HLO.
    ///
    /// # Errors
    /// [`Error::is_invalid_hlo`] with every mistake in the module.
    pub fn verify(&self, parsed: Staged<Module>) -> Result<Staged<VerifiedModule>, Error> {
        let options = self.verify_options();
        parsed.then(
            "verify",
            |times| &mut times.verify,
            |module, source| {
                verify_with(module, &options)
                    .map_err(|Rejected { diagnostics, .. }| Error::invalid(source, diagnostics))
            },
        )
    }

    /// Runs the selected passes, verifying after each.
    ///
    /// # Errors
    /// [`Error::is_invalid_option`] for an unknown pass, [`Error::is_internal`] if a pass breaks the module.
    pub fn optimize(
        &self,
        verified: Staged<VerifiedModule>,
    ) -> Result<Staged<VerifiedModule>, Error> {
        self.optimize_observed(verified, &mut |_, _| {})
    }

    /// The same; `observer` sees the name of each pass and the module after it.
    ///
    /// # Errors
    /// As [`Compiler::optimize`].
    pub fn optimize_observed(
        &self,
        verified: Staged<VerifiedModule>,
        observer: &mut dyn FnMut(&str, &VerifiedModule),
    ) -> Result<Staged<VerifiedModule>, Error> {
        let pipeline = self.pipeline()?;
        let mut begin = Instant::now();
        let mut passes = Vec::new();
        let mut optimized = verified.then(
            "passes",
            |times| &mut times.passes,
            |module, source| {
                begin = Instant::now();
                let optimized = pipeline.run_timed(module, observer);
                let (module, times) = optimized.map_err(|error| pass_error(error, Some(source)))?;
                passes = times;
                Ok(module)
            },
        )?;
        for pass in passes {
            let took = pass.run + pass.verify;
            let stage = StageTime::new(pass.pass, StageKind::Pass, begin, took);
            optimized.stages.push(stage);
            begin += took;
        }
        Ok(optimized)
    }

    /// The results of a program on the reference evaluator, which is slow and shares no code with compiled
    /// programs: one array per parameter, tuples flattened; the results flattened too.
    ///
    /// # Errors
    /// [`Error::is_unsupported`] for what the evaluator does not know, [`Error::is_argument_mismatch`],
    /// [`Error::is_custom_call_failure`].
    pub fn evaluate(
        &self,
        verified: &Staged<VerifiedModule>,
        inputs: &[Array],
    ) -> Result<Vec<Array>, Error> {
        let module = &verified.value;
        let entry = module.entry();
        let mut leaves = inputs.iter().cloned();
        let shapes = entry.parameters.iter();
        let arguments = shapes.map(|id| grouped(&entry.instructions[*id].shape, &mut leaves));
        let arguments: Option<Vec<Literal>> = arguments.collect();
        let arguments = arguments.filter(|_| leaves.next().is_none());
        let Some(arguments) = arguments else {
            let shape = |id| entry.instructions[id].shape.leaves().len();
            let expected = entry.parameters.iter().map(|id| shape(*id)).sum();
            let given = inputs.len();
            return Err(RunError::WrongCount { expected, given }.into());
        };
        hloc_eval::evaluate_with(module, &arguments, &self.calls)
            .map(Literal::into_leaves)
            .map_err(Error::evaluation)
    }

    fn pipeline(&self) -> Result<Pipeline, Error> {
        match &self.options.passes {
            PassSelection::All => Ok(Pipeline::default_pipeline()),
            PassSelection::None => Ok(Pipeline::minimal()),
            PassSelection::Named(names) => {
                Pipeline::from_names(names).map_err(|error| pass_error(error, None))
            }
        }
    }

    fn verify_options(&self) -> hloc_verify::Options {
        hloc_verify::Options {
            dialect: self.options.dialect,
            permit_unsorted_broadcast: self.options.permit_unsorted_broadcast,
        }
    }
}

fn pass_error(error: PassError, source: Option<&Arc<Source>>) -> Error {
    let message = error.to_string();
    match error {
        PassError::Unknown { .. } => Error::option(message),
        PassError::Unsupported { span, .. } => match source {
            Some(source) => {
                Error::unsupported(source, Diagnostic::error("unsupported", message, span))
            }
            None => Error::option(message),
        },
        PassError::Broke {
            pass,
            diagnostics,
            module_text_before,
        } => {
            let findings: Vec<String> = diagnostics
                .iter()
                .map(|found| format!("[{}] {}", found.code, found.message))
                .collect();
            let message = format!("the pass broke the module: {}", findings.join("; "));
            Error::internal(pass, message, Some(module_text_before))
        }
        PassError::Internal {
            pass,
            message,
            module_text_before,
        } => Error::internal(pass, message, Some(module_text_before)),
    }
}

/// Flattened arrays as a value of a parameter's shape.
fn grouped(shape: &Shape, leaves: &mut dyn Iterator<Item = Array>) -> Option<Literal> {
    match shape {
        Shape::Array(_) => leaves.next().map(Literal::Array),
        Shape::Tuple(elements) => {
            let parts = elements.iter().map(|element| grouped(element, leaves));
            Some(Literal::Tuple(parts.collect::<Option<_>>()?))
        }
        Shape::Buffer(inner) => grouped(inner, leaves),
        Shape::Token | Shape::Opaque => Some(Literal::Tuple(Vec::new())),
    }
}
