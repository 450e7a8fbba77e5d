//! Compilation of whole programs, and dumps of single kernels.

use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};
use std::time::{Duration, Instant};

use cranelift_codegen::Context;
use cranelift_codegen::ir::LibCall;
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, ModuleError, ModuleReloc, ModuleRelocTarget};
use cranelift_object::{ObjectBuilder, ObjectModule};
use hloc_ir::{ElementType, SideTable};
use hloc_loops::ir::{Access, Kernel, KernelId, Program};
use rayon::prelude::*;

use crate::error::JitError;
use crate::kernel::{CompiledKernel, Lanes, Target, compile_kernel, emit_kernel, streaming_mark};
use crate::memory::{CodeMemory, KernelFn};
use crate::retarget::{self, Wide, listing};
use crate::runtime::Helper;
use crate::support;

/// How kernels are compiled.
#[derive(Clone, Debug)]
pub struct JitOptions {
    /// Use only what every processor of the architecture has. For tests of that path.
    pub baseline_cpu: bool,
    /// Compile vector loops to vector code.
    pub vectorize: bool,
    /// How wide vectors may be.
    pub width: VectorWidth,
    /// Results of at least so many bytes are written past the caches, `None` for none: then they do not push
    /// out what is used again. Only wide vectors can.
    pub streaming_bytes: Option<u64>,
    /// Whether kernels take any range of their parallel loop. Otherwise only the chunks of
    /// [`hloc_loops::split::split`], which is what the runtime asks for, and then no code is emitted for what is
    /// left over of other ranges.
    pub any_range: bool,
    /// Threads that compile: 1 compiles in the calling thread, anything else uses the shared pool.
    pub threads: usize,
}

impl Default for JitOptions {
    /// The features of this processor, vector code, all threads.
    fn default() -> Self {
        JitOptions {
            baseline_cpu: false,
            vectorize: true,
            width: VectorWidth::Auto,
            // What is not larger stays for whoever reads it.
            streaming_bytes: Some(4 * cache_bytes() + 1),
            any_range: false,
            threads: 0,
        }
    }
}

/// Size of the cache that one processor has to itself, where the system tells.
fn cache_bytes() -> u64 {
    const USUAL: u64 = 1 << 21;
    static KNOWN: LazyLock<u64> = LazyLock::new(|| {
        let path = "/sys/devices/system/cpu/cpu0/cache/index2/size";
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let kibibytes = text.trim().strip_suffix('K').unwrap_or_default();
        kibibytes.parse::<u64>().map_or(USUAL, |count| count * 1024)
    });
    *KNOWN
}

/// How wide vectors may be. Results have the same bits for any width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum VectorWidth {
    /// As wide as this processor has them: 512 bits with AVX-512 F, VL, DQ and BW, else 256 with AVX2, else
    /// 128.
    #[default]
    Auto,
    /// 128 bits.
    Bits128,
    /// At most 256 bits.
    Bits256,
    /// At most 512 bits.
    Bits512,
}

/// How a kernel's vector loops were compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelWidth {
    /// Bits of its vectors, at least 128.
    pub bits: u32,
    /// Why wider code was refused, if it was tried.
    pub refusal: Option<String>,
    /// Whether results are written past the caches.
    pub is_streaming: bool,
}

/// When a kernel was compiled. Kernels that differ only in name are compiled once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emission {
    /// When it began.
    pub begin: Instant,
    /// How long it took.
    pub time: Duration,
    /// Number of the thread, 0 for the calling one.
    pub thread: usize,
}

/// The machine code of a program's kernels. Dropping it frees the code.
pub struct CompiledKernels {
    memory: CodeMemory,
    /// Position of each kernel's function.
    entries: SideTable<KernelId, Option<usize>>,
    /// By position.
    widths: Vec<KernelWidth>,
    /// By position.
    emissions: Vec<Emission>,
    code_bytes: usize,
}

impl std::fmt::Debug for CompiledKernels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompiledKernels")
            .field("code_bytes", &self.code_bytes)
            .finish_non_exhaustive()
    }
}

impl CompiledKernels {
    /// The function of a kernel.
    ///
    /// # Panics
    /// If `kernel` is not of the program that was compiled.
    pub fn entry(&self, kernel: KernelId) -> KernelFn {
        self.entries[kernel]
            .and_then(|at| self.memory.entry(at))
            .expect("every kernel of the program was compiled")
    }

    /// How wide a kernel's vectors are: 512 bits where the processor has them and the kernel has loops that
    /// long.
    ///
    /// # Panics
    /// If `kernel` is not of the program that was compiled.
    pub fn width(&self, kernel: KernelId) -> &KernelWidth {
        self.entries[kernel]
            .and_then(|at| self.widths.get(at))
            .expect("every kernel of the program was compiled")
    }

    /// When a kernel was compiled.
    ///
    /// # Panics
    /// If `kernel` is not of the program that was compiled.
    pub fn emission(&self, kernel: KernelId) -> Emission {
        self.entries[kernel]
            .and_then(|at| self.emissions.get(at).copied())
            .expect("every kernel of the program was compiled")
    }

    /// Size of all code in bytes. Kernels that differ only in name share their code.
    pub fn code_bytes(&self) -> usize {
        self.code_bytes
    }
}

/// Compiles every kernel of `program` for this machine.
///
/// # Errors
/// [`JitError::Unsupported`] for an op that is not emitted for its element type, found before anything
/// is compiled; the others if the kernels or the machine are not what they should be.
pub fn compile_kernels(
    program: &Program,
    options: &JitOptions,
) -> Result<CompiledKernels, JitError> {
    let is_parallel = options.threads != 1 && !program.kernels.is_empty();
    if is_parallel && options.width != VectorWidth::Bits128 && widest().is_some() {
        retarget::prepare();
    }
    program.kernels.values().try_for_each(support::check)?;
    let isa = host_isa(options.baseline_cpu, false, Level::Rules)?;
    let mut builder = JITBuilder::with_isa(isa.clone(), Box::new(libcall_symbol));
    builder.symbol_lookup_fn(Box::new(helper_address));
    let mut module = JITModule::new(builder);
    let target = target(isa, options)?;
    let (distinct, entries) = distinct_kernels(program);
    let compiled = compile_all(&distinct, &target, options)?;
    let (mut functions, mut widths, mut emissions) = (Vec::new(), Vec::new(), Vec::new());
    let (mut code_bytes, mut helpers) = (0, BTreeMap::new());
    for (at, (kernel, (code, emission))) in distinct.iter().zip(&compiled).enumerate() {
        let name = format!("kernel_{at}");
        let (id, size) = define(&mut module, (&name, kernel), code, &target, &mut helpers)?;
        functions.push(id);
        widths.push(width(code, &target));
        emissions.push(*emission);
        code_bytes += size;
    }
    module.finalize_definitions().map_err(host_error)?;
    Ok(CompiledKernels {
        memory: CodeMemory::new(module, &functions),
        entries,
        widths,
        emissions,
        code_bytes,
    })
}

fn width(code: &CompiledKernel, target: &Target) -> KernelWidth {
    let factor = match (&code.widened, target.wide) {
        (Some(_), Some(wide)) => wide.factor(),
        (Some(_) | None, _) => 1,
    };
    let marks = code.context.compiled_code().into_iter();
    let mut marks = marks.flat_map(|code| code.buffer.get_srclocs_sorted());
    KernelWidth {
        bits: 128 * factor,
        refusal: code.refusal.as_ref().map(ToString::to_string),
        is_streaming: factor > 1 && marks.any(|range| range.loc == streaming_mark()),
    }
}

/// The kernels without those that equal an earlier one but for names, and the position of each.
fn distinct_kernels(program: &Program) -> (Vec<&Kernel>, SideTable<KernelId, Option<usize>>) {
    let mut alike: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    let mut distinct: Vec<&Kernel> = Vec::new();
    let mut entries = SideTable::new(None);
    for (id, kernel) in program.kernels.iter() {
        let known = alike.entry(declarations(kernel)).or_default();
        let equal = |at: &usize| distinct.get(*at).is_some_and(|it| it.body == kernel.body);
        let at = match known.iter().copied().find(equal) {
            Some(at) => at,
            None => {
                distinct.push(kernel);
                known.push(distinct.len() - 1);
                distinct.len() - 1
            }
        };
        entries.set(id, Some(at));
    }
    (distinct, entries)
}

/// Parameters, extents of variables, element types of values.
type Declarations = (Vec<(ElementType, i64, Access)>, Vec<i64>, Vec<ElementType>);

/// What the code of a kernel depends on besides its statements: its parameters, the extents of its variables,
/// the element types of its values.
fn declarations(kernel: &Kernel) -> Declarations {
    let params = kernel.params.values();
    let params = params.map(|param| (param.element_type, param.num_elements(), param.access));
    let vars = kernel.vars.values().map(|var| var.extent);
    let values = kernel.values.values().map(|value| value.element_type);
    (params.collect(), vars.collect(), values.collect())
}

fn compile_all(
    kernels: &[&Kernel],
    target: &Target,
    options: &JitOptions,
) -> Result<Vec<(CompiledKernel, Emission)>, JitError> {
    if options.threads == 1 || kernels.len() < 2 {
        let mut context = FunctionBuilderContext::new();
        let compile = |kernel: &&Kernel| timed(kernel, target, &mut context);
        return kernels.iter().map(compile).collect();
    }
    kernels
        .par_iter()
        .map_init(FunctionBuilderContext::new, |context, kernel| {
            timed(kernel, target, context)
        })
        .collect()
}

fn timed(
    kernel: &Kernel,
    target: &Target,
    context: &mut FunctionBuilderContext,
) -> Result<(CompiledKernel, Emission), JitError> {
    let begin = Instant::now();
    let code = compile_kernel(kernel, target, context, false)?;
    let emission = Emission {
        begin,
        time: begin.elapsed(),
        thread: rayon::current_thread_index().map_or(0, |index| index + 1),
    };
    Ok((code, emission))
}

/// Places compiled code in a module; gives its id and size. `helpers` are those that the module knows.
fn define(
    module: &mut dyn Module,
    (name, kernel): (&str, &Kernel),
    compiled: &CompiledKernel,
    target: &Target,
    helpers: &mut BTreeMap<u32, FuncId>,
) -> Result<(FuncId, usize), JitError> {
    let codegen = |error: ModuleError| JitError::Codegen {
        kernel: kernel.name.clone(),
        message: error.to_string(),
        span: kernel.span,
    };
    let id = module
        .declare_function(name, Linkage::Export, &target.signature())
        .map_err(codegen)?;
    let Some(code) = compiled.context.compiled_code() else {
        return Err(JitError::Codegen {
            kernel: kernel.name.clone(),
            message: "no code was generated".to_owned(),
            span: kernel.span,
        });
    };
    let relocs = code.buffer.relocs().iter();
    let mut relocs: Vec<ModuleReloc> = relocs
        .map(|reloc| ModuleReloc::from_mach_reloc(reloc, &compiled.context.func, id))
        .collect();
    for reloc in &mut relocs {
        if let ModuleRelocTarget::User {
            namespace: Helper::NAMESPACE,
            index,
        } = reloc.name
        {
            reloc.name = declared(module, index, target, helpers)?.into();
        }
    }
    let bytes = match &compiled.widened {
        Some(widened) => {
            for (reloc, offset) in relocs.iter_mut().zip(&widened.relocations) {
                reloc.offset = *offset;
            }
            &widened.code[..]
        }
        None => code.code_buffer(),
    };
    let alignment = u64::from(code.buffer.alignment)
        .max(u64::from(target.isa.function_alignment().minimum))
        .max(64);
    module
        .define_function_bytes(id, alignment, bytes, &relocs)
        .map_err(codegen)?;
    Ok((id, bytes.len()))
}

/// The function that helper number `index` is in a module, declared the first time.
fn declared(
    module: &mut dyn Module,
    index: u32,
    target: &Target,
    helpers: &mut BTreeMap<u32, FuncId>,
) -> Result<FuncId, JitError> {
    if let Some(known) = helpers.get(&index) {
        return Ok(*known);
    }
    let Some(helper) = Helper::ALL.get(index as usize) else {
        return Err(JitError::Host(format!("there is no helper {index}")));
    };
    let isa = &target.isa;
    let signature = helper
        .shape()
        .signature(isa.default_call_conv(), isa.pointer_type());
    let id = module
        .declare_function(helper.name(), Linkage::Import, &signature)
        .map_err(host_error)?;
    helpers.insert(index, id);
    Ok(id)
}

/// Where a helper is in this process, by its symbol.
fn helper_address(symbol: &str) -> Option<*const u8> {
    let helper = Helper::ALL.iter().find(|helper| helper.name() == symbol)?;
    Some(helper.address())
}

/// What kernels are compiled for.
fn target(isa: OwnedTargetIsa, options: &JitOptions) -> Result<Target, JitError> {
    Ok(Target {
        wide: wide(options, &isa),
        plain_isa: host_isa(options.baseline_cpu, isa.flags().is_pic(), Level::Plain)?,
        isa,
        vectorize: options.vectorize,
        streaming_bytes: options.streaming_bytes,
        any_range: options.any_range,
    })
}

/// What vector code is retargeted to: what the options allow and the processor has.
fn wide(options: &JitOptions, isa: &OwnedTargetIsa) -> Option<Wide> {
    // Elsewhere the registers that calls leave alone would be wider than Cranelift knows.
    let is_known = isa.default_call_conv() == CallConv::SystemV;
    if options.baseline_cpu || !options.vectorize || !is_known {
        return None;
    }
    let widest = widest();
    match options.width {
        VectorWidth::Auto | VectorWidth::Bits512 => widest,
        VectorWidth::Bits256 => widest.map(|_| Wide::Bits256),
        VectorWidth::Bits128 => None,
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) fn widest() -> Option<Wide> {
    let has_avx2 = std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma");
    let has_avx512 = std::is_x86_feature_detected!("avx512f")
        && std::is_x86_feature_detected!("avx512vl")
        && std::is_x86_feature_detected!("avx512dq")
        && std::is_x86_feature_detected!("avx512bw");
    match (has_avx2, has_avx512) {
        (true, true) => Some(Wide::Bits512),
        (true, false) => Some(Wide::Bits256),
        (false, _) => None,
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn widest() -> Option<Wide> {
    None
}

fn host_error(error: ModuleError) -> JitError {
    JitError::Host(error.to_string())
}

/// What Cranelift does to a function before it allocates registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// All of its optimizer.
    Rules,
    /// Nothing.
    Plain,
}

/// This machine as Cranelift knows it, made once of each kind.
fn host_isa(baseline_cpu: bool, is_pic: bool, level: Level) -> Result<OwnedTargetIsa, JitError> {
    static KNOWN: [OnceLock<OwnedTargetIsa>; 8] = [const { OnceLock::new() }; 8];
    let at = [baseline_cpu, is_pic, level == Level::Plain];
    let at = at
        .iter()
        .fold(0, |at, is_set| 2 * at + usize::from(*is_set));
    let known = &KNOWN[at];
    if let Some(isa) = known.get() {
        return Ok(isa.clone());
    }
    let isa = build_isa(baseline_cpu, is_pic, level)?;
    Ok(known.get_or_init(|| isa).clone())
}

fn build_isa(baseline_cpu: bool, is_pic: bool, level: Level) -> Result<OwnedTargetIsa, JitError> {
    let mut flags = settings::builder();
    let mut set = |name: &str, value: &str| {
        flags
            .set(name, value)
            .map_err(|error| JitError::Host(error.to_string()))
    };
    let opt_level = match level {
        Level::Rules => "speed",
        Level::Plain => "none",
    };
    set("opt_level", opt_level)?;
    set("regalloc_algorithm", "backtracking")?;
    set(
        "enable_verifier",
        if cfg!(debug_assertions) {
            "true"
        } else {
            "false"
        },
    )?;
    set("unwind_info", "false")?;
    set("enable_probestack", "true")?;
    set("probestack_strategy", "inline")?;
    set("is_pic", if is_pic { "true" } else { "false" })?;
    let builder = cranelift_native::builder_with_options(!baseline_cpu)
        .map_err(|message| JitError::Host(message.to_owned()))?;
    builder
        .finish(settings::Flags::new(flags))
        .map_err(|error| JitError::Host(error.to_string()))
}

/// The symbol of a routine that Cranelift calls where the processor has no instruction.
fn libcall_symbol(call: LibCall) -> String {
    let helper = match call {
        LibCall::CeilF32 => Helper::CeilF32,
        LibCall::CeilF64 => Helper::CeilF64,
        LibCall::FloorF32 => Helper::FloorF32,
        LibCall::FloorF64 => Helper::FloorF64,
        LibCall::TruncF32 => Helper::TruncF32,
        LibCall::TruncF64 => Helper::TruncF64,
        LibCall::NearestF32 => Helper::NearestF32,
        LibCall::NearestF64 => Helper::NearestF64,
        LibCall::FmaF32 => Helper::FmaF32,
        LibCall::FmaF64 => Helper::FmaF64,
        LibCall::Probestack
        | LibCall::Memcpy
        | LibCall::Memset
        | LibCall::Memmove
        | LibCall::Memcmp
        | LibCall::ElfTlsGetAddr
        | LibCall::ElfTlsGetOffset
        | LibCall::X86Pshufb => return cranelift_module::default_libcall_names()(call),
    };
    helper.name().to_owned()
}

/// A target for dumps of single kernels.
fn dump_target(options: &JitOptions) -> Result<Target, JitError> {
    target(
        host_isa(options.baseline_cpu, false, Level::Rules)?,
        options,
    )
}

/// Cranelift's representation of a kernel before optimization, headed by its name and buffers.
///
/// Called functions appear by number; the heading names them.
///
/// # Errors
/// As [`compile_kernels`].
pub fn clif_text(kernel: &Kernel, options: &JitOptions) -> Result<String, JitError> {
    support::check(kernel)?;
    let target = dump_target(options)?;
    let mut context = Context::new();
    let mut builder = FunctionBuilderContext::new();
    let factor = target.wide.map_or(1, Wide::factor);
    let lanes = emit_kernel(kernel, &target, factor, &mut context, &mut builder)?;
    if factor > 1 && lanes != Lanes::Wide {
        emit_kernel(kernel, &target, 1, &mut context, &mut builder)?;
    }
    let mut text = heading(kernel, &context);
    text.push_str(&context.func.display().to_string());
    Ok(text)
}

/// The machine instructions of a kernel, headed by its name and buffers.
///
/// # Errors
/// As [`compile_kernels`].
pub fn asm_text(kernel: &Kernel, options: &JitOptions) -> Result<String, JitError> {
    support::check(kernel)?;
    let target = dump_target(options)?;
    let compiled = compile_kernel(kernel, &target, &mut FunctionBuilderContext::new(), true)?;
    let mut text = heading(kernel, &compiled.context);
    if let Some(widened) = &compiled.widened {
        text.push_str(&listing(&widened.code));
        return Ok(text);
    }
    let code = compiled.context.compiled_code();
    if let Some(listing) = code.and_then(|code| code.vcode.as_deref()) {
        text.push_str(listing);
    }
    Ok(text)
}

fn heading(kernel: &Kernel, context: &Context) -> String {
    let mut text = format!("; kernel {}\n", kernel.name);
    for (id, param) in kernel.params.iter() {
        let (name, element_type) = (&param.name, param.element_type);
        text.push_str(&format!(
            "; {id} = {name}: {element_type}{:?}\n",
            param.dims
        ));
    }
    for (_, name) in context.func.params.user_named_funcs() {
        if let Some(helper) = Helper::ALL.get(name.index as usize) {
            text.push_str(&format!("; u0:{} = {}\n", name.index, helper.name()));
        }
    }
    text
}

/// An object file with one function per kernel, named as the kernel.
///
/// The helpers that kernels call (`hloc_exp` and the like) are undefined symbols.
///
/// # Errors
/// As [`compile_kernels`]; [`JitError::Host`] if the file cannot be written.
pub fn object_bytes(program: &Program, options: &JitOptions) -> Result<Vec<u8>, JitError> {
    program.kernels.values().try_for_each(support::check)?;
    let isa = host_isa(options.baseline_cpu, true, Level::Rules)?;
    let builder = ObjectBuilder::new(isa.clone(), "hloc", Box::new(libcall_symbol));
    let mut module = ObjectModule::new(builder.map_err(host_error)?);
    // Whoever links the object may split loops as they like.
    let target = Target {
        any_range: true,
        ..target(isa, options)?
    };
    let kernels: Vec<&Kernel> = program.kernels.values().collect();
    let compiled = compile_all(&kernels, &target, options)?;
    let mut helpers = BTreeMap::new();
    for (kernel, (code, _)) in kernels.iter().zip(&compiled) {
        let named = (&kernel.name[..], *kernel);
        define(&mut module, named, code, &target, &mut helpers)?;
    }
    let object = module.finish();
    object
        .emit()
        .map_err(|error| JitError::Host(error.to_string()))
}
