//! One kernel as a function: signature, state of the emission, the statements' frame.

use std::collections::BTreeMap;

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{
    AbiParam, ExtFuncData, ExternalName, FuncRef, Function, InstBuilder, MemFlagsData, Signature,
    SourceLoc, StackSlot, StackSlotData, StackSlotKind, Type, UserExternalName, UserFuncName,
    Value, types,
};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use hloc_ir::{ElementType, Id, SideTable};
use hloc_loops::ir::{Access, Kernel, ParamId, ValueId, VarId};
use hloc_loops::split::{Split, split};

use crate::error::JitError;
use crate::hoist;
use crate::index::Computed;
use crate::repr::Reg;
use crate::retarget::{self, Narrow, Refusal, Wide, Widened};
use crate::runtime::Helper;
use crate::vector::Table;
use crate::vector::plan::{self, Constants};

/// What every kernel of a program is compiled for.
pub(crate) struct Target {
    /// The machine.
    pub(crate) isa: OwnedTargetIsa,
    /// The same, without Cranelift's optimizer.
    pub(crate) plain_isa: OwnedTargetIsa,
    /// Whether vector loops become vector code.
    pub(crate) vectorize: bool,
    /// What vector code is retargeted to.
    pub(crate) wide: Option<Wide>,
    /// Results of at least so many bytes are written past the caches.
    pub(crate) streaming_bytes: Option<u64>,
    /// Whether kernels take any range of their parallel loop, not only chunks of its split.
    pub(crate) any_range: bool,
}

impl Target {
    /// The signature of every kernel: pointer to buffer pointers, first and last-plus-one iteration.
    pub(crate) fn signature(&self) -> Signature {
        let pointer = self.isa.pointer_type();
        let mut signature = Signature::new(self.isa.default_call_conv());
        for ty in [pointer, types::I64, types::I64] {
            signature.params.push(AbiParam::new(ty));
        }
        signature
    }
}

/// Marks stores that are to pass the caches, for the retargeter.
pub(crate) fn streaming_mark() -> SourceLoc {
    SourceLoc::new(1)
}

/// Lines of memory that marked loads ask for ahead, of arrays that are read from end to end.
const AHEAD_LINES: i64 = 64;

/// Marks loads for the retargeter to ask for memory ahead, 64 lines of memory further on: what the processor fetches
/// by itself leaves a part of one thread's bandwidth unused.
pub(crate) fn ahead_mark() -> SourceLoc {
    ahead_by(AHEAD_LINES)
}

/// Marks loads for the retargeter to ask for memory that lies so many lines of memory of 64 bytes ahead.
pub(crate) fn ahead_by(lines: i64) -> SourceLoc {
    SourceLoc::new(u32::try_from(lines).map_or(0, |lines| AHEAD | lines & !AHEAD))
}

/// How many bytes ahead a mark asks, `None` if it is another mark.
fn ahead_bytes(mark: SourceLoc) -> Option<i64> {
    let lines = (!mark.is_default() && mark.bits() & AHEAD != 0).then_some(mark.bits() & !AHEAD)?;
    Some(i64::from(lines) * 64)
}

/// What tells marks of memory ahead from others.
const AHEAD: u32 = 1 << 30;

/// Machine code of one kernel, not yet placed in memory.
pub(crate) struct CompiledKernel {
    /// The function before compilation, to resolve its relocations.
    pub(crate) context: Context,
    /// Its wide code.
    pub(crate) widened: Option<Widened>,
    /// Why it has no wide code although it has loops that could be wide.
    pub(crate) refusal: Option<Refusal>,
}

/// The state of one function's emission.
pub(crate) struct Emitter<'a, 'f> {
    /// What is emitted.
    pub(crate) kernel: &'a Kernel,
    /// For what.
    pub(crate) target: &'a Target,
    /// Where to.
    pub(crate) b: FunctionBuilder<'f>,
    /// The ranges that the kernel is called with; `None` for any.
    pub(crate) split: Option<Split>,
    values: SideTable<ValueId, Option<Reg>>,
    vars: SideTable<VarId, Option<Value>>,
    /// How deep the loop of a variable is nested.
    depths: SideTable<VarId, u32>,
    depth: u32,
    bases: Vec<Value>,
    /// What was computed of addresses and still holds, the newest last.
    pub(crate) computed_addresses: Computed,
    /// First and last-plus-one iteration of the parallel loop.
    pub(crate) range: (Value, Value),
    helper_refs: BTreeMap<usize, FuncRef>,
    complex_slot: Option<StackSlot>,
    lanes_slot: Option<StackSlot>,
    /// Whether vector loops become vector code here. Not in what is left over of a loop in lanes, so that
    /// loops inside it take the same order there.
    pub(crate) vectorize: bool,
    /// How many conditions surround what is emitted.
    pub(crate) conditions: u32,
    /// How many 128-bit vectors one vector of a wide loop holds; 1 in a kernel that is not retargeted.
    pub(crate) factor: u32,
    /// Whether a loop was emitted in vectors of any width.
    pub(crate) has_vectors: bool,
    /// Whether a wide loop was emitted.
    pub(crate) has_wide: bool,
    /// Whether something was emitted that moves elements between lanes.
    pub(crate) crosses_lanes: bool,
    /// What is written past the caches in the loop that is emitted.
    pub(crate) streamed: Vec<ParamId>,
    /// Large arrays that are read from end to end.
    pub(crate) read_ahead: Vec<ParamId>,
    /// The bits of values that are constants.
    pub(crate) constants: Constants,
    /// What wide loops load that follows no stride.
    pub(crate) tables: Vec<Table>,
}

/// What the vectors of an emitted kernel allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lanes {
    /// There are none: the code is the same for any width.
    Scalar,
    /// No loop fills wide vectors.
    Narrow,
    /// Some loops fill wide vectors, but others move elements between lanes.
    Crossing,
    /// The code can be retargeted.
    Wide,
}

/// Emits `kernel` into `context`, for vectors of `factor` times 128 bits; gives what it made of that.
///
/// # Errors
/// Unsupported ops and malformed kernels.
pub(crate) fn emit_kernel(
    kernel: &Kernel,
    target: &Target,
    factor: u32,
    context: &mut Context,
    builder_context: &mut FunctionBuilderContext,
) -> Result<Lanes, JitError> {
    context.clear();
    context.func = Function::with_name_signature(UserFuncName::user(0, 0), target.signature());
    let mut b = FunctionBuilder::new(&mut context.func, builder_context);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    b.seal_block(entry);
    let (table, begin, end) = match *b.block_params(entry) {
        [table, begin, end] => (table, begin, end),
        _ => return Err(JitError::Host("kernels have three parameters".to_owned())),
    };
    let bases = load_bases(&mut b, kernel, table, target.isa.pointer_type());
    let mut emitter = Emitter {
        kernel,
        target,
        b,
        split: if target.any_range {
            None
        } else {
            split(kernel)
        },
        values: SideTable::new(None),
        vars: SideTable::new(None),
        depths: SideTable::new(0),
        depth: 0,
        bases,
        computed_addresses: Computed::default(),
        range: (begin, end),
        helper_refs: BTreeMap::new(),
        complex_slot: None,
        lanes_slot: None,
        vectorize: target.vectorize,
        conditions: 0,
        factor,
        has_vectors: false,
        has_wide: false,
        crosses_lanes: false,
        streamed: Vec::new(),
        read_ahead: plan::read_ahead(kernel, target.streaming_bytes),
        constants: plan::constants(kernel),
        tables: Vec::new(),
    };
    emitter.write_tables()?;
    emitter.block(&kernel.body)?;
    emitter.b.ins().return_(&[]);
    let lanes = match (emitter.has_wide, emitter.crosses_lanes) {
        (false, _) if !emitter.has_vectors => Lanes::Scalar,
        (false, _) => Lanes::Narrow,
        (true, true) => Lanes::Crossing,
        (true, false) => Lanes::Wide,
    };
    emitter.b.finalize(target.isa.frontend_config());
    Ok(lanes)
}

/// The pointers of the buffers. They do not change while the kernel runs.
fn load_bases(
    b: &mut FunctionBuilder<'_>,
    kernel: &Kernel,
    table: Value,
    pointer: Type,
) -> Vec<Value> {
    let flags = MemFlagsData::trusted().with_readonly().with_can_move();
    let size = pointer.bytes().cast_signed();
    let offsets = (0i32..).map(|at| at * size);
    let ids = kernel.params.ids();
    ids.zip(offsets)
        .map(|(_, offset)| b.ins().load(pointer, flags, table, offset))
        .collect()
}

/// Emits and compiles `kernel`: to wide code if it has loops for it and the retargeter knows all of its
/// instructions.
///
/// # Errors
/// As [`emit_kernel`], and what Cranelift refuses.
pub(crate) fn compile_kernel(
    kernel: &Kernel,
    target: &Target,
    builder_context: &mut FunctionBuilderContext,
    disassemble: bool,
) -> Result<CompiledKernel, JitError> {
    let mut context = Context::new();
    let factor = target.wide.map_or(1, Wide::factor);
    let lanes = emit_kernel(kernel, target, factor, &mut context, builder_context)?;
    let refusal = match (target.wide, lanes) {
        (Some(wide), Lanes::Wide) => {
            let isa = if hoist::needs_rules(&context.func) {
                &target.isa
            } else {
                hoist::hoist(&mut context.func);
                &target.plain_isa
            };
            compile(kernel, isa, &mut context)?;
            match widened(&context, wide) {
                Ok(code) => {
                    return Ok(CompiledKernel {
                        context,
                        widened: Some(code),
                        refusal: None,
                    });
                }
                Err(reason) => Some(reason),
            }
        }
        (Some(_), Lanes::Crossing) => Some(Refusal::Crossing),
        (Some(_), Lanes::Narrow | Lanes::Scalar) | (None, _) => None,
    };
    if factor > 1 && lanes != Lanes::Scalar {
        emit_kernel(kernel, target, 1, &mut context, builder_context)?;
    }
    context.set_disasm(disassemble);
    compile(kernel, &target.isa, &mut context)?;
    Ok(CompiledKernel {
        context,
        widened: None,
        refusal,
    })
}

fn compile(kernel: &Kernel, isa: &OwnedTargetIsa, context: &mut Context) -> Result<(), JitError> {
    let result = context.compile(&**isa, &mut ControlPlane::default());
    let result = result
        .map(|_| ())
        .map_err(|error| format!("{:?}", error.inner));
    result.map_err(|message| JitError::Codegen {
        kernel: kernel.name.clone(),
        message,
        span: kernel.span,
    })
}

/// The wide code of a compiled function.
fn widened(context: &Context, wide: Wide) -> Result<Widened, Refusal> {
    let Some(code) = context.compiled_code() else {
        return Err(Refusal::Decode(0));
    };
    let relocations: Vec<u32> = code
        .buffer
        .relocs()
        .iter()
        .map(|each| each.offset)
        .collect();
    let mut slots = 0;
    if let Some(layout) = code.buffer.frame_layout() {
        for (slot, data) in context.func.sized_stack_slots.iter() {
            slots = slots.max(layout.stackslots[slot].offset + data.size);
        }
    } else if !context.func.sized_stack_slots.is_empty() {
        return Err(Refusal::Frame(0));
    }
    let marked = |mark: SourceLoc| -> Vec<(u32, u32)> {
        let ranges = code.buffer.get_srclocs_sorted().iter();
        ranges
            .filter(|range| range.loc == mark)
            .map(|range| (range.start, range.end))
            .collect()
    };
    let ranges = code.buffer.get_srclocs_sorted().iter();
    let ahead = ranges.filter_map(|range| Some((range.start, range.end, ahead_bytes(range.loc)?)));
    let narrow = Narrow {
        streaming: &marked(streaming_mark()),
        ahead: &ahead.collect::<Vec<_>>(),
        code: code.code_buffer(),
        relocations: &relocations,
        slots,
    };
    retarget::widen(&narrow, wide)
}

impl Emitter<'_, '_> {
    /// The error for an op that is not emitted for `element_type`.
    pub(crate) fn unsupported(&self, op: &str, element_type: ElementType) -> JitError {
        JitError::Unsupported {
            op: op.to_owned(),
            element_type,
            kernel: self.kernel.name.clone(),
            span: self.kernel.span,
        }
    }

    /// The error for a broken rule of the representation.
    pub(crate) fn malformed(&self, message: impl Into<String>) -> JitError {
        JitError::Malformed {
            kernel: self.kernel.name.clone(),
            message: message.into(),
            span: self.kernel.span,
        }
    }

    /// The bits of a value that is a constant.
    pub(crate) fn known_bits(&self, value: ValueId) -> Option<u128> {
        self.constants.get(&value).copied()
    }

    /// Binds a value.
    pub(crate) fn bind(&mut self, value: ValueId, reg: Reg) {
        self.values.set(value, Some(reg));
    }

    /// The register of a value.
    ///
    /// # Errors
    /// The value is not bound.
    pub(crate) fn reg(&self, value: ValueId) -> Result<Reg, JitError> {
        self.values[value]
            .ok_or_else(|| self.malformed(format!("{value} is used before it is bound")))
    }

    /// The element type of a value.
    ///
    /// # Errors
    /// The kernel has no such value.
    pub(crate) fn type_of(&self, value: ValueId) -> Result<ElementType, JitError> {
        match self.kernel.values.get(value) {
            Some(value) => Ok(value.element_type),
            None => Err(self.malformed(format!("{value} is not declared"))),
        }
    }

    /// Binds a loop variable for the body of its loop and notes how deep it is.
    pub(crate) fn enter_loop(&mut self, var: VarId, counter: Value) {
        self.computed_addresses.enter();
        self.depth += 1;
        self.depths.set(var, self.depth);
        self.vars.set(var, Some(counter));
    }

    /// Ends what [`Emitter::enter_loop`] began.
    pub(crate) fn leave_loop(&mut self) {
        self.computed_addresses.leave();
        self.depth -= 1;
    }

    /// The counter of a loop variable.
    ///
    /// # Errors
    /// The variable is used outside its loop.
    pub(crate) fn var(&self, var: VarId) -> Result<Value, JitError> {
        self.vars[var].ok_or_else(|| self.malformed(format!("{var} is used outside its loop")))
    }

    /// How deep the loop of `var` is nested.
    pub(crate) fn depth_of(&self, var: VarId) -> u32 {
        self.depths[var]
    }

    /// The pointer to a buffer and the type of its elements.
    ///
    /// # Errors
    /// The kernel has no such parameter.
    pub(crate) fn param(&self, param: ParamId) -> Result<(Value, ElementType), JitError> {
        match (self.bases.get(param.index()), self.kernel.params.get(param)) {
            (Some(base), Some(declared)) => Ok((*base, declared.element_type)),
            _ => Err(self.malformed(format!("{param} is not declared"))),
        }
    }

    /// How elements of a buffer are read. Loads of what nothing writes are hoisted out of loops, but not
    /// past a condition that keeps them in bounds.
    pub(crate) fn load_flags(&self, param: ParamId) -> MemFlagsData {
        let flags = MemFlagsData::trusted();
        let access = self.kernel.params.get(param).map(|param| param.access);
        match access {
            Some(Access::Read) if self.conditions == 0 => flags.with_readonly().with_can_move(),
            Some(Access::Read | Access::Write | Access::ReadWrite) | None => flags,
        }
    }

    /// Calls a helper.
    pub(crate) fn call(&mut self, helper: Helper, args: &[Value]) -> Option<Value> {
        let function = self.helper_ref(helper);
        let call = self.b.ins().call(function, args);
        self.b.inst_results(call).first().copied()
    }

    /// Calls a helper that gives a complex number; `args` are without the pointer to the result.
    pub(crate) fn call_complex(&mut self, helper: Helper, args: &[Value]) -> Reg {
        let pointer = self.target.isa.pointer_type();
        let slot = match self.complex_slot {
            Some(slot) => slot,
            None => {
                let data = StackSlotData::new(StackSlotKind::ExplicitSlot, 16, 3);
                *self
                    .complex_slot
                    .insert(self.b.create_sized_stack_slot(data))
            }
        };
        let address = self.b.ins().stack_addr(pointer, slot, 0);
        let mut all = args.to_vec();
        all.push(address);
        self.call(helper, &all);
        let flags = MemFlagsData::trusted();
        let re = self.b.ins().load(types::F64, flags, address, 0);
        let im = self.b.ins().load(types::F64, flags, address, 8);
        Reg::Pair(re, im)
    }

    /// The address of a place on the stack for one vector.
    pub(crate) fn lanes_address(&mut self) -> Value {
        let slot = match self.lanes_slot {
            Some(slot) => slot,
            None => {
                let size = 16 * self.factor;
                let data = StackSlotData::new(StackSlotKind::ExplicitSlot, size, 4);
                *self.lanes_slot.insert(self.b.create_sized_stack_slot(data))
            }
        };
        let pointer = self.target.isa.pointer_type();
        self.b.ins().stack_addr(pointer, slot, 0)
    }

    fn helper_ref(&mut self, helper: Helper) -> FuncRef {
        let at = helper as usize;
        if let Some(known) = self.helper_refs.get(&at) {
            return *known;
        }
        let isa = &self.target.isa;
        let signature = helper
            .shape()
            .signature(isa.default_call_conv(), isa.pointer_type());
        let signature = self.b.import_signature(signature);
        let index = u32::try_from(at).unwrap_or(u32::MAX);
        let name = UserExternalName::new(Helper::NAMESPACE, index);
        let name = self.b.func.declare_imported_user_function(name);
        let function = self.b.import_function(ExtFuncData {
            name: ExternalName::user(name),
            signature,
            colocated: false,
            patchable: false,
        });
        self.helper_refs.insert(at, function);
        function
    }
}
