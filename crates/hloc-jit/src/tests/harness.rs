//! Builds small kernels and runs them on arrays.
#![expect(unsafe_code, reason = "calling compiled code is what is tested")]

use hloc_diag::Span;
use hloc_ir::{Arena, Array, ElementType, Id, Shape};
use hloc_loops::index::Index;
use hloc_loops::ir::{
    Access, Block, Carried, ConstantBits, Expr, For, Kernel, KernelId, LoopKind, Param, ParamId,
    Program, Stmt, Value, ValueId, Var, VarId,
};

use hloc_loops::split::{parallel_extent, split};

use super::ops::assert_same;
use crate::{JitError, JitOptions, compile_kernels};

/// A kernel under construction.
pub(super) struct Build {
    pub(super) kernel: Kernel,
}

impl Build {
    pub(super) fn new() -> Build {
        Build {
            kernel: Kernel {
                name: "test".to_owned(),
                params: Arena::new(),
                vars: Arena::new(),
                values: Arena::new(),
                body: Block::new(),
                span: Span::NONE,
                instructions: Vec::new(),
            },
        }
    }

    pub(super) fn param(
        &mut self,
        element_type: ElementType,
        length: i64,
        access: Access,
    ) -> ParamId {
        self.kernel.params.push(Param {
            name: format!("b{}", self.kernel.params.len()),
            element_type,
            dims: vec![length],
            access,
        })
    }

    pub(super) fn var(&mut self, extent: i64) -> VarId {
        self.kernel.vars.push(Var {
            name: format!("i{}", self.kernel.vars.len()),
            extent,
        })
    }

    pub(super) fn value(&mut self, element_type: ElementType) -> ValueId {
        self.kernel.values.push(Value { element_type })
    }

    pub(super) fn bind(&mut self, block: &mut Block, ty: ElementType, expr: Expr) -> ValueId {
        let value = self.value(ty);
        block.push(Stmt::Let { value, expr });
        value
    }
}

/// A kernel that applies `make` to one element of each input at a time.
pub(super) fn elementwise(
    inputs: &[ElementType],
    output: ElementType,
    length: i64,
    kind: LoopKind,
    make: impl Fn(&[ValueId]) -> Expr,
) -> Kernel {
    let mut build = Build::new();
    let params: Vec<ParamId> = inputs
        .iter()
        .map(|ty| build.param(*ty, length, Access::Read))
        .collect();
    let out = build.param(output, length, Access::Write);
    let var = build.var(length);
    let mut body = Block::new();
    let mut operands = Vec::new();
    for (param, ty) in params.iter().zip(inputs) {
        let load = Expr::Load {
            param: *param,
            index: Index::var(var),
        };
        operands.push(build.bind(&mut body, *ty, load));
    }
    let value = build.bind(&mut body, output, make(&operands));
    body.push(Stmt::Store {
        param: out,
        index: Index::var(var),
        value,
    });
    build.kernel.body.push(Stmt::For(For {
        var,
        kind,
        carried: Vec::new(),
        body,
    }));
    build.kernel
}

/// A kernel that folds the rows of a `rows` by `columns` array, beginning with the second input.
pub(super) fn row_reduction(
    ty: ElementType,
    rows: i64,
    columns: i64,
    kind: LoopKind,
    combine: impl Fn(ValueId, ValueId) -> Expr,
) -> Kernel {
    reduction(ty, (rows, columns), (columns, 1), kind, combine)
}

/// A kernel whose result number `i` folds the elements `i * row_stride + j * column_stride`.
pub(super) fn reduction(
    ty: ElementType,
    (rows, columns): (i64, i64),
    (row_stride, column_stride): (i64, i64),
    kind: LoopKind,
    combine: impl Fn(ValueId, ValueId) -> Expr,
) -> Kernel {
    let mut build = Build::new();
    let length = (rows - 1) * row_stride + (columns - 1) * column_stride + 1;
    let input = build.param(ty, length, Access::Read);
    let start = build.param(ty, 1, Access::Read);
    let out = build.param(ty, rows, Access::Write);
    let (row, column) = (build.var(rows), build.var(columns));
    let mut outer = Block::new();
    let load = Expr::Load {
        param: start,
        index: Index::constant(0),
    };
    let init = build.bind(&mut outer, ty, load);
    let (current, result) = (build.value(ty), build.value(ty));
    let mut inner = Block::new();
    let load = Expr::Load {
        param: input,
        index: Index::var(row)
            .times(row_stride)
            .add(&Index::var(column).times(column_stride)),
    };
    let element = build.bind(&mut inner, ty, load);
    let next = build.bind(&mut inner, ty, combine(current, element));
    outer.push(Stmt::For(For {
        var: column,
        kind,
        carried: vec![Carried {
            init,
            current,
            next,
            result,
        }],
        body: inner,
    }));
    outer.push(Stmt::Store {
        param: out,
        index: Index::var(row),
        value: result,
    });
    build.kernel.body.push(Stmt::For(For {
        var: row,
        kind: LoopKind::Parallel,
        carried: Vec::new(),
        body: outer,
    }));
    build.kernel
}

pub(super) fn constant(bits: u128) -> Expr {
    Expr::Constant(ConstantBits(bits))
}

/// A program of these kernels and nothing else.
pub(super) fn program(kernels: impl IntoIterator<Item = Kernel>) -> Program {
    Program {
        kernels: kernels.into_iter().collect(),
        buffers: Arena::new(),
        steps: Vec::new(),
        parameters: Vec::new(),
        results: Vec::new(),
        parameter_shapes: Vec::new(),
        parameter_names: Vec::new(),
        result_shape: Shape::Tuple(Vec::new()),
        arena_bytes: 0,
        num_instructions: 0,
        split_fusions: Vec::new(),
    }
}

/// Compiles `kernel` and runs it on `inputs`, its parallel loop in two parts and again by its split, which
/// makes no difference; gives the array written last.
pub(super) fn run(
    kernel: Kernel,
    options: &JitOptions,
    inputs: &[Array],
) -> Result<Array, JitError> {
    let extent = parallel_extent(&kernel);
    let middle = extent.unwrap_or(0) / 2;
    let in_parts = run_parts(kernel.clone(), options, inputs, middle)?;
    if let (Some(_), Some(split)) = (extent, split(&kernel)) {
        let chunks: Vec<_> = (0..split.chunks())
            .map(|chunk| split.range(chunk))
            .collect();
        let by_split = run_ranges(&kernel, options, inputs, &chunks)?;
        assert_same(&by_split, &in_parts, &format!("by its split, {options:?}"));
    }
    Ok(in_parts)
}

/// As [`run`], the parallel loop being cut at `middle`.
pub(super) fn run_parts(
    kernel: Kernel,
    options: &JitOptions,
    inputs: &[Array],
    middle: i64,
) -> Result<Array, JitError> {
    let extent = parallel_extent(&kernel).unwrap_or(0);
    let options = JitOptions {
        any_range: true,
        ..options.clone()
    };
    run_ranges(&kernel, &options, inputs, &[(0, middle), (middle, extent)])
}

fn run_ranges(
    kernel: &Kernel,
    options: &JitOptions,
    inputs: &[Array],
    ranges: &[(i64, i64)],
) -> Result<Array, JitError> {
    let compiled = compile_kernels(&program([kernel.clone()]), options)?;
    let out = kernel
        .params
        .values()
        .last()
        .expect("a kernel has an output");
    let mut buffers: Vec<Vec<Line>> = Vec::new();
    for input in inputs {
        let mut buffer = vec![Line::default(); input.bytes().len() / 64 + 2];
        copy(&mut buffer, input.bytes());
        buffers.push(buffer);
    }
    let count = usize::try_from(out.num_elements()).expect("a positive length");
    let lines = count * out.element_type.size() / 64 + 2;
    buffers.push(vec![Line::default(); lines]);
    let pointers: Vec<*mut u8> = buffers
        .iter_mut()
        .map(|buffer| buffer.as_mut_ptr().cast())
        .collect();
    let entry = compiled.entry(KernelId::from_index(0));
    for (begin, end) in ranges {
        // SAFETY: one buffer per parameter, each as long as the parameter says and aligned to 64 bytes.
        unsafe { entry(pointers.as_ptr(), *begin, *end) };
    }
    let bytes: Vec<u8> = buffers
        .last()
        .into_iter()
        .flatten()
        .flat_map(|line| line.0)
        .take(count * out.element_type.size())
        .collect();
    let mut array = Array::zeros(out.element_type, &out.dims).expect("the array is small");
    array.bytes_mut().copy_from_slice(&bytes);
    Ok(array)
}

/// Memory as aligned as buffers are.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

impl Default for Line {
    fn default() -> Line {
        Line([0; 64])
    }
}

fn copy(buffer: &mut [Line], bytes: &[u8]) {
    for (line, chunk) in buffer.iter_mut().zip(bytes.chunks(64)) {
        line.0[..chunk.len()].copy_from_slice(chunk);
    }
}

/// Runs a function of machine code that takes a pointer to `area`.
///
/// The code must be right: it is called.
pub(crate) fn run_code(code: &[u8], area: &mut [u8]) {
    use cranelift_codegen::ir::{AbiParam, types};
    use cranelift_jit::{JITBuilder, JITModule};
    use cranelift_module::{Linkage, Module};
    let names = cranelift_module::default_libcall_names();
    let builder = JITBuilder::new(names).expect("this machine is known");
    let mut module = JITModule::new(builder);
    let mut signature = module.make_signature();
    signature.params.push(AbiParam::new(types::I64));
    let id = module
        .declare_function("code", Linkage::Export, &signature)
        .expect("the name is new");
    module
        .define_function_bytes(id, 64, code, &[])
        .expect("there is nothing to resolve");
    module
        .finalize_definitions()
        .expect("the memory can be protected");
    let address = module.get_finalized_function(id);
    // SAFETY: the address is that of a function with this signature, which lives as long as the module.
    let function: extern "C" fn(*mut u8) = unsafe { std::mem::transmute(address) };
    function(area.as_mut_ptr());
    // SAFETY: the function is not called again.
    unsafe { module.free_memory() };
}
