//! The text of kernels and programs: what snapshots hold.
//!
//! ```text
//! kernel @add (in0: f32[4,3], in1: f32[3], out0: f32[4,3]) {
//!   for i0 in 0..4 parallel {
//!     for i1 in 0..3 vector {
//!       v0: f32 = load in0[3*i0 + i1]
//!       v1: f32 = load in1[i1]
//!       v2: f32 = add v0, v1
//!       store out0[3*i0 + i1], v2
//!     }
//!   }
//! }
//! ```

use std::fmt::{self, Write};

use hloc_ir::ElementType;
use hloc_tensor::{Array, Scalar};

use crate::index::Index;
use crate::ir::{
    Access, Block, Buffer, BufferId, BufferKind, Condition, ConstantBits, Expr, For, If, Kernel,
    LibraryCall, LibraryStep, LoopKind, Program, Step, Stmt, ValueId,
};

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel @{} (", self.name)?;
        for (at, param) in self.params.values().enumerate() {
            let access = match param.access {
                Access::Read | Access::Write => "",
                Access::ReadWrite => " updated",
            };
            let comma = if at == 0 { "" } else { ", " };
            write!(
                f,
                "{comma}{}: {}{}{access}",
                param.name,
                param.element_type,
                dims_text(&param.dims)
            )?;
        }
        f.write_str(") {\n")?;
        write_block(f, self, &self.body, 1)?;
        f.write_str("}\n")
    }
}

fn dims_text(dims: &[i64]) -> String {
    let sizes: Vec<String> = dims.iter().map(i64::to_string).collect();
    format!("[{}]", sizes.join(","))
}

fn write_block(
    f: &mut fmt::Formatter<'_>,
    kernel: &Kernel,
    block: &Block,
    depth: usize,
) -> fmt::Result {
    for stmt in block {
        match stmt {
            Stmt::Let { value, expr } => {
                indent(f, depth)?;
                write!(f, "{value}: {} = ", kernel.values[*value].element_type)?;
                write_expr(f, kernel, *value, expr)?;
                f.write_str("\n")?;
            }
            Stmt::Store {
                param,
                index,
                value,
            } => {
                indent(f, depth)?;
                writeln!(
                    f,
                    "store {}[{}], {value}",
                    kernel.params[*param].name,
                    index_text(kernel, index)
                )?;
            }
            Stmt::For(stmt) => write_for(f, kernel, stmt, depth)?,
            Stmt::If(stmt) => write_if(f, kernel, stmt, depth)?,
        }
    }
    Ok(())
}

fn indent(f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
    (0..depth).try_for_each(|_| f.write_str("  "))
}

fn index_text(kernel: &Kernel, index: &Index) -> String {
    let mut text = String::new();
    let name = |var| {
        kernel
            .vars
            .get(var)
            .map_or_else(|| format!("{var}"), |var: &crate::ir::Var| var.name.clone())
    };
    index
        .write(&mut text, &name)
        .expect("writing to a string does not fail");
    text
}

fn write_for(f: &mut fmt::Formatter<'_>, kernel: &Kernel, stmt: &For, depth: usize) -> fmt::Result {
    let var = &kernel.vars[stmt.var];
    let kind = match stmt.kind {
        LoopKind::Serial => "",
        LoopKind::Parallel => " parallel",
        LoopKind::Vector => " vector",
    };
    indent(f, depth)?;
    write_results(f, stmt.carried.iter().map(|carried| carried.result))?;
    write!(f, "for {} in 0..{}{kind}", var.name, var.extent)?;
    for (at, carried) in stmt.carried.iter().enumerate() {
        let word = if at == 0 { " carrying " } else { ", " };
        write!(f, "{word}{} = {}", carried.current, carried.init)?;
    }
    f.write_str(" {\n")?;
    write_block(f, kernel, &stmt.body, depth + 1)?;
    write_yield(
        f,
        depth + 1,
        "next",
        stmt.carried.iter().map(|carried| carried.next),
    )?;
    indent(f, depth)?;
    f.write_str("}\n")
}

fn write_results(
    f: &mut fmt::Formatter<'_>,
    results: impl ExactSizeIterator<Item = ValueId>,
) -> fmt::Result {
    if results.len() == 0 {
        return Ok(());
    }
    write_list(f, results)?;
    f.write_str(" = ")
}

fn write_yield(
    f: &mut fmt::Formatter<'_>,
    depth: usize,
    word: &str,
    values: impl ExactSizeIterator<Item = ValueId>,
) -> fmt::Result {
    if values.len() == 0 {
        return Ok(());
    }
    indent(f, depth)?;
    write!(f, "{word} ")?;
    write_list(f, values)?;
    f.write_str("\n")
}

fn write_list(f: &mut fmt::Formatter<'_>, values: impl Iterator<Item = ValueId>) -> fmt::Result {
    for (at, value) in values.enumerate() {
        write!(f, "{}{value}", if at == 0 { "" } else { ", " })?;
    }
    Ok(())
}

fn write_if(f: &mut fmt::Formatter<'_>, kernel: &Kernel, stmt: &If, depth: usize) -> fmt::Result {
    indent(f, depth)?;
    write_results(f, stmt.merged.iter().map(|merged| merged.result))?;
    f.write_str("if ")?;
    match &stmt.condition {
        Condition::Value(value) => write!(f, "{value}")?,
        Condition::InRange(ranges) => {
            for (at, range) in ranges.iter().enumerate() {
                let word = if at == 0 { "" } else { " and " };
                write!(
                    f,
                    "{word}{} in {}..{}",
                    index_text(kernel, &range.index),
                    range.low,
                    range.high
                )?;
            }
        }
    }
    f.write_str(" {\n")?;
    write_block(f, kernel, &stmt.then, depth + 1)?;
    write_yield(
        f,
        depth + 1,
        "yield",
        stmt.merged.iter().map(|merged| merged.then),
    )?;
    if !stmt.otherwise.is_empty() || !stmt.merged.is_empty() {
        indent(f, depth)?;
        f.write_str("} else {\n")?;
        write_block(f, kernel, &stmt.otherwise, depth + 1)?;
        write_yield(
            f,
            depth + 1,
            "yield",
            stmt.merged.iter().map(|merged| merged.otherwise),
        )?;
    }
    indent(f, depth)?;
    f.write_str("}\n")
}

fn write_expr(
    f: &mut fmt::Formatter<'_>,
    kernel: &Kernel,
    value: ValueId,
    expr: &Expr,
) -> fmt::Result {
    match expr {
        Expr::Constant(bits) => write!(
            f,
            "constant {}",
            constant_text(kernel.values[value].element_type, *bits)
        ),
        Expr::Load { param, index } => {
            write!(
                f,
                "load {}[{}]",
                kernel.params[*param].name,
                index_text(kernel, index)
            )
        }
        Expr::Index(index) => write!(f, "index {}", index_text(kernel, index)),
        Expr::ClampIndex { value, low, high } => write!(f, "clamp-index {value}, {low}..={high}"),
        Expr::Unary(op, operand) => write!(f, "{op} {operand}"),
        Expr::Binary(op, lhs, rhs) => write!(f, "{op} {lhs}, {rhs}"),
        Expr::Ternary(op, [a, b, c]) => write!(f, "{op} {a}, {b}, {c}"),
        Expr::Compare {
            direction,
            order,
            lhs,
            rhs,
        } => write!(f, "compare {lhs} {direction} {rhs}, {order}"),
        Expr::Convert(operand) => write!(f, "convert {operand}"),
        Expr::BitcastConvert(operand) => write!(f, "bitcast-convert {operand}"),
        Expr::ReducePrecision {
            value,
            exponent_bits,
            mantissa_bits,
        } => {
            write!(
                f,
                "reduce-precision {value}, e{exponent_bits}m{mantissa_bits}"
            )
        }
    }
}

/// The number that the bits stand for; NaN with its bits.
fn constant_text(element_type: ElementType, bits: ConstantBits) -> String {
    let bytes = bits.0.to_le_bytes()[..element_type.size()].to_vec();
    let Ok(array) = Array::new(element_type, &[], bytes) else {
        return format!("{:#x}", bits.0);
    };
    match array.get(0) {
        Scalar::Pred(value) => value.to_string(),
        Scalar::Int(value) => value.to_string(),
        Scalar::Uint(value) => value.to_string(),
        Scalar::Float(value) if value.is_nan() => format!("nan({:#x})", bits.0),
        Scalar::Float(value) => format!("{value:?}"),
        Scalar::Complex(re, im) => format!("({re:?}, {im:?})"),
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for kernel in self.kernels.values() {
            writeln!(f, "{kernel}")?;
        }
        writeln!(f, "program (arena {} bytes) {{", self.arena_bytes)?;
        for (id, buffer) in self.buffers.iter() {
            writeln!(f, "  {id}: {}", buffer_text(buffer))?;
        }
        write_steps(f, self, &self.steps, 1)?;
        f.write_str("}\n")
    }
}

fn buffer_text(buffer: &Buffer) -> String {
    let shape = &buffer.shape;
    match &buffer.kind {
        BufferKind::Parameter(number) => format!("{shape} parameter {number}"),
        BufferKind::Result(number) => format!("{shape} result {number}"),
        BufferKind::Constant(array) if array.num_elements() <= 8 => {
            format!("{shape} constant {}", elements(array))
        }
        BufferKind::Constant(_) => format!("{shape} constant"),
        BufferKind::Temporary { offset } => format!("{shape} at {offset}"),
    }
}

fn elements(array: &Array) -> String {
    let mut text = String::from("{");
    let size = array.element_type().size();
    for (at, bytes) in array.bytes().chunks_exact(size).enumerate() {
        let mut padded = [0; 16];
        padded[..size].copy_from_slice(bytes);
        let constant = constant_text(
            array.element_type(),
            ConstantBits(u128::from_le_bytes(padded)),
        );
        text.push_str(if at == 0 { "" } else { ", " });
        text.push_str(&constant);
    }
    text + "}"
}

fn write_steps(
    f: &mut fmt::Formatter<'_>,
    program: &Program,
    steps: &[Step],
    depth: usize,
) -> fmt::Result {
    for step in steps {
        indent(f, depth)?;
        match step {
            Step::Kernel { kernel, args } => {
                writeln!(
                    f,
                    "run @{}({})",
                    program.kernels[*kernel].name,
                    buffers_text(args)
                )?;
            }
            Step::Library(step) => writeln!(f, "{}", library_text(step))?,
            Step::Copy { from, to } => writeln!(f, "copy {from} to {to}")?,
            Step::Swap(a, b) => writeln!(f, "swap {a}, {b}")?,
            Step::While {
                condition,
                predicate,
                body,
                trips,
                ..
            } => {
                f.write_str("while {\n")?;
                write_steps(f, program, condition, depth + 1)?;
                indent(f, depth)?;
                write!(f, "}} {predicate} do {{")?;
                match trips {
                    Some(trips) => writeln!(f, " // {trips} times")?,
                    None => writeln!(f)?,
                }
                write_steps(f, program, body, depth + 1)?;
                indent(f, depth)?;
                f.write_str("}\n")?;
            }
            Step::Conditional { index, branches } => {
                writeln!(f, "branch on {index} {{")?;
                for (number, branch) in branches.iter().enumerate() {
                    indent(f, depth)?;
                    writeln!(f, "case {number}:")?;
                    write_steps(f, program, branch, depth + 1)?;
                }
                indent(f, depth)?;
                f.write_str("}\n")?;
            }
        }
    }
    Ok(())
}

fn library_text(step: &LibraryStep) -> String {
    match &step.call {
        LibraryCall::Dot(dot) => format!(
            "dot({}) -> {}, batch {:?} {:?}, contracting {:?} {:?}",
            buffers_text(&step.inputs),
            buffers_text(&step.outputs),
            dot.lhs_batch,
            dot.rhs_batch,
            dot.lhs_contracting,
            dot.rhs_contracting,
        ),
        LibraryCall::Routine(call) => format!(
            "{}({}) -> {}, {:?}",
            call.routine.name(),
            buffers_text(&step.inputs),
            buffers_text(&step.outputs),
            call.routine,
        ),
    }
}

fn buffers_text(buffers: &[BufferId]) -> String {
    let mut text = String::new();
    for (at, buffer) in buffers.iter().enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        write!(text, "{comma}{buffer}").expect("writing to a string does not fail");
    }
    text
}
