//! Small tables on the stack, for wide vectors whose lanes come from places that follow no stride.
//!
//! `c[l mod 3]` in a loop over 48 values of `l` is the same in every round of the loops around it. Wide code moves
//! nothing between lanes, so what the 48 iterations load is written to the stack one by one where the kernel
//! begins, and loaded from there in vectors.

use cranelift_codegen::ir::{InstBuilder, StackSlot, StackSlotData, StackSlotKind, Value};
use hloc_loops::index::Index;
use hloc_loops::ir::{Access, Expr, For, LoopKind, ParamId, Stmt, VarId};

use super::memory::FLAGS;
use super::{Lane, Plan, Vectors, plan};
use crate::error::JitError;
use crate::kernel::Emitter;

/// Bytes of all tables of a kernel; a loop that would need more stays narrow.
const MAX_BYTES: u32 = 4096;

/// What the iterations of a loop load.
pub(crate) struct Table {
    param: ParamId,
    index: Index,
    slot: StackSlot,
}

impl Emitter<'_, '_> {
    /// Writes the tables of all loops that are one stretch of wide vectors.
    pub(crate) fn write_tables(&mut self) -> Result<(), JitError> {
        if self.factor == 1 || !self.vectorize {
            return Ok(());
        }
        let mut loops = Vec::new();
        uneven_loops(&self.kernel.body, &mut loops);
        let mut left = MAX_BYTES;
        for inner in loops {
            let Some(plan) = plan::plan(self.kernel, &self.constants, inner) else {
                continue;
            };
            if plan.unrolled && !plan.is_strided {
                self.write_tables_of(inner, &plan, &mut left)?;
            }
        }
        Ok(())
    }

    fn write_tables_of(
        &mut self,
        inner: &For,
        plan: &Plan,
        left: &mut u32,
    ) -> Result<(), JitError> {
        for (param, index) in uneven_loads(inner) {
            let access = self.kernel.params.get(param).map(|param| param.access);
            let is_alone = access == Some(Access::Read)
                && index.vars().iter().all(|var| *var == inner.var)
                && index.dynamic_values().is_empty();
            let extent = u32::try_from(self.extent(inner)?).unwrap_or(u32::MAX);
            let bytes = extent.saturating_mul(plan.width.int_lane().bytes());
            let is_known = self.table(param, index).is_some();
            if is_known || !is_alone || bytes > *left {
                continue;
            }
            *left -= bytes;
            let data = StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 4);
            let slot = self.b.create_sized_stack_slot(data);
            self.write_table((param, index), plan, inner.var, slot)?;
            self.tables.push(Table {
                param,
                index: index.clone(),
                slot,
            });
        }
        Ok(())
    }

    /// Writes what each iteration loads, as it is in its lane.
    fn write_table(
        &mut self,
        (param, index): (ParamId, &Index),
        plan: &Plan,
        var: VarId,
        slot: StackSlot,
    ) -> Result<(), JitError> {
        let (_, ty) = self.param(param)?;
        let Some(lane) = plan.width.lane(ty) else {
            return Err(self.malformed(format!("{param} has no lanes")));
        };
        let extent = self.kernel.vars.get(var).map_or(0, |var| var.extent);
        let step = plan.width.int_lane().bytes().cast_signed();
        let pointer = self.target.isa.pointer_type();
        let table = self.b.ins().stack_addr(pointer, slot, 0);
        let mut known = Vec::new();
        for (iteration, offset) in (0..extent).zip((0i32..).map(|at| at * step)) {
            let place = self.at_iteration(index, var, iteration);
            let value = match known.iter().find(|(other, _)| *other == place) {
                Some((_, value)) => *value,
                None => {
                    let (address, offset) = self.address(param, &place)?;
                    let flags = self.load_flags(param);
                    let value = self.load(ty, flags, address, offset).one();
                    let value = if lane == Lane::Float {
                        value
                    } else {
                        Vectors::new(self, plan, 1).lane_bits(lane, value)
                    };
                    known.push((place, value));
                    value
                }
            };
            self.b.ins().store(FLAGS, value, table, offset);
        }
        Ok(())
    }

    /// The table of a load, if it has one.
    pub(crate) fn table(&self, param: ParamId, index: &Index) -> Option<StackSlot> {
        let mut tables = self.tables.iter();
        let table = tables.find(|table| table.param == param && table.index == *index);
        table.map(|table| table.slot)
    }

    /// Whether a loop that is one stretch can be that of wide vectors.
    pub(super) fn has_tables(&self, inner: &For) -> bool {
        let mut loads = uneven_loads(inner);
        loads.all(|(param, index)| self.table(param, index).is_some())
    }
}

impl Vectors<'_, '_, '_> {
    /// The address of the first lane of a copy in a table.
    pub(super) fn table_address(&mut self, slot: StackSlot, copy: i64) -> (Value, i32) {
        let pointer = self.e.target.isa.pointer_type();
        let address = self.e.b.ins().stack_addr(pointer, slot, 0);
        let distance = copy.wrapping_mul(i64::from(self.vector_bytes()));
        self.displaced(address, 0, distance)
    }
}

/// Vector loops that load from places that follow no stride.
fn uneven_loops<'k>(block: &'k [Stmt], found: &mut Vec<&'k For>) {
    for stmt in block {
        match stmt {
            Stmt::Let { .. } | Stmt::Store { .. } => {}
            Stmt::For(inner) => {
                if inner.kind == LoopKind::Vector && uneven_loads(inner).next().is_some() {
                    found.push(inner);
                }
                uneven_loops(&inner.body, found);
            }
            Stmt::If(inner) => {
                uneven_loops(&inner.then, found);
                uneven_loops(&inner.otherwise, found);
            }
        }
    }
}

/// The loads of a loop, those of inner blocks left out, that follow no stride.
fn uneven_loads(inner: &For) -> impl Iterator<Item = (ParamId, &Index)> {
    inner.body.iter().filter_map(|stmt| match stmt {
        Stmt::Let {
            expr: Expr::Load { param, index },
            ..
        } => index.stride(inner.var).is_none().then_some((*param, index)),
        Stmt::Let { .. } | Stmt::Store { .. } | Stmt::For(_) | Stmt::If(_) => None,
    })
}
