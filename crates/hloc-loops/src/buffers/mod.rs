//! The buffer plan: where in the arena each temporary lies, so that arrays that are never needed at the
//! same time share memory.
//!
//! Steps are numbered in program order, those inside loops and branches included. A temporary lives
//! from the first to the last step that mentions it. Around a loop this is widened to the whole loop
//! for what is also mentioned outside of it, is read before it is written inside, or is exchanged.

use std::collections::{BTreeMap, BTreeSet};

use hloc_ir::SideTable;

use crate::ir::{Access, BufferId, BufferKind, Program, Step};

/// Start of every buffer is a multiple of this.
pub const ALIGNMENT: u64 = 64;

/// The steps, first and last, between which a buffer holds something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Life {
    first: usize,
    last: usize,
}

/// Gives every temporary of a program its offset and the program its arena size.
pub fn plan(program: &mut Program) {
    let lives = Lives::of(program);
    let mut order: Vec<(BufferId, Life)> = program
        .buffers
        .ids()
        .filter(|id| program.buffers[*id].is_temporary())
        .filter_map(|id| lives[id].map(|life| (id, life)))
        .collect();
    order.sort_by_key(|(id, life)| (life.first, *id));
    let mut arena = FreeList::default();
    let mut in_use: BTreeSet<(usize, BufferId)> = BTreeSet::new();
    let mut offsets: BTreeMap<BufferId, (u64, u64)> = BTreeMap::new();
    for (id, life) in order {
        while let Some(&(last, done)) = in_use.first().filter(|(last, _)| *last < life.first) {
            in_use.remove(&(last, done));
            if let Some((offset, size)) = offsets.get(&done) {
                arena.give_back(*offset, *size);
            }
        }
        let size = program.buffers[id].byte_size().next_multiple_of(ALIGNMENT);
        let offset = if size == 0 { 0 } else { arena.take(size) };
        offsets.insert(id, (offset, size));
        if size > 0 {
            in_use.insert((life.last, id));
        }
    }
    for (id, (offset, _)) in offsets {
        program.buffers[id].kind = BufferKind::Temporary { offset };
    }
    program.arena_bytes = arena.end;
}

/// Free pieces of the arena, which grows at its end.
#[derive(Debug, Default)]
struct FreeList {
    /// Size by offset; no two pieces touch.
    by_offset: BTreeMap<u64, u64>,
    by_size: BTreeSet<(u64, u64)>,
    end: u64,
}

impl FreeList {
    /// The offset of a piece of this size: the smallest free one that suffices, or the end.
    fn take(&mut self, size: u64) -> u64 {
        if let Some(&(found, offset)) = self.by_size.range((size, 0)..).next() {
            self.remove(offset, found);
            if found > size {
                self.insert(offset + size, found - size);
            }
            return offset;
        }
        // A free piece at the end grows.
        let last = self
            .by_offset
            .last_key_value()
            .map(|(offset, size)| (*offset, *size));
        let offset = match last {
            Some((offset, free)) if offset + free == self.end => {
                self.remove(offset, free);
                offset
            }
            Some(_) | None => self.end,
        };
        self.end = offset + size;
        offset
    }

    fn give_back(&mut self, offset: u64, size: u64) {
        let (mut offset, mut size) = (offset, size);
        if let Some((&before, &free)) = self.by_offset.range(..offset).next_back()
            && before + free == offset
        {
            self.remove(before, free);
            offset = before;
            size += free;
        }
        if let Some(&free) = self.by_offset.get(&(offset + size)) {
            self.remove(offset + size, free);
            size += free;
        }
        self.insert(offset, size);
    }

    fn insert(&mut self, offset: u64, size: u64) {
        self.by_offset.insert(offset, size);
        self.by_size.insert((size, offset));
    }

    fn remove(&mut self, offset: u64, size: u64) {
        self.by_offset.remove(&offset);
        self.by_size.remove(&(size, offset));
    }
}

/// A loop as a range of step numbers.
#[derive(Clone, Copy)]
struct Loop {
    first: usize,
    last: usize,
}

/// One mention of a buffer.
#[derive(Clone, Copy)]
struct Mention {
    at: usize,
    reads: bool,
}

struct Lives<'p> {
    program: &'p Program,
    mentions: SideTable<BufferId, Vec<Mention>>,
    /// Every loop, inner ones before the loops around them.
    loops: Vec<Loop>,
    swaps: Vec<(BufferId, BufferId)>,
    /// The number of the next step.
    next: usize,
}

impl<'p> Lives<'p> {
    /// The life of every buffer that a step mentions.
    fn of(program: &'p Program) -> SideTable<BufferId, Option<Life>> {
        let mut lives = Lives {
            program,
            mentions: SideTable::new(Vec::new()),
            loops: Vec::new(),
            swaps: Vec::new(),
            next: 0,
        };
        lives.steps(&program.steps);
        let mut found = SideTable::new(None);
        for id in program.buffers.ids() {
            found.set(id, lives.life(id));
        }
        lives.join_swapped(&mut found);
        found
    }

    /// The life of a buffer without regard to exchanges.
    fn life(&self, id: BufferId) -> Option<Life> {
        let mentions = &self.mentions[id];
        let (first, last) = (mentions.first()?, mentions.last()?);
        let mut life = Life {
            first: first.at,
            last: last.at,
        };
        for around in self.loops_around(mentions) {
            let is_outside = life.first < around.first || around.last < life.last;
            let inside = mentions.iter().find(|mention| around.first <= mention.at);
            let is_carried = inside.is_some_and(|mention| mention.reads);
            if is_outside || is_carried {
                life.first = life.first.min(around.first);
                life.last = life.last.max(around.last);
            }
        }
        Some(life)
    }

    /// The loops with a mention inside, inner ones first.
    fn loops_around(&self, mentions: &[Mention]) -> Vec<Loop> {
        let is_inside = |around: &&Loop| {
            let at = mentions.partition_point(|mention| mention.at < around.first);
            mentions
                .get(at)
                .is_some_and(|mention| mention.at <= around.last)
        };
        if self.loops.is_empty() {
            return Vec::new();
        }
        self.loops.iter().filter(is_inside).copied().collect()
    }

    /// Exchanged buffers keep both pieces of memory for as long as either lives, and for the whole loop.
    fn join_swapped(&self, lives: &mut SideTable<BufferId, Option<Life>>) {
        // Exchanges may chain; each round joins at least one more pair, and chains are short.
        let mut changed = true;
        while changed {
            changed = false;
            for (a, b) in &self.swaps {
                let (Some(first), Some(second)) = (lives[*a], lives[*b]) else {
                    continue;
                };
                let mut joined = Life {
                    first: first.first.min(second.first),
                    last: first.last.max(second.last),
                };
                for around in &self.loops {
                    if joined.first <= around.last && around.first <= joined.last {
                        joined.first = joined.first.min(around.first);
                        joined.last = joined.last.max(around.last);
                    }
                }
                if lives[*a] != Some(joined) || lives[*b] != Some(joined) {
                    lives.set(*a, Some(joined));
                    lives.set(*b, Some(joined));
                    changed = true;
                }
            }
        }
    }

    fn mention(&mut self, id: BufferId, reads: bool) {
        let at = self.next;
        self.mentions.entry(id).push(Mention { at, reads });
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            self.step(step);
            self.next += 1;
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Kernel { kernel, args } => {
                let params = self.program.kernels[*kernel].params.values();
                for (param, id) in params.zip(args) {
                    self.mention(*id, param.access != Access::Write);
                }
            }
            Step::Library(call) => {
                call.inputs.iter().for_each(|id| self.mention(*id, true));
                call.outputs.iter().for_each(|id| self.mention(*id, false));
            }
            Step::Copy { from, to } => {
                self.mention(*from, true);
                self.mention(*to, false);
            }
            Step::Swap(a, b) => {
                self.mention(*a, true);
                self.mention(*b, true);
                self.swaps.push((*a, *b));
            }
            Step::While {
                condition,
                predicate,
                body,
                ..
            } => {
                let first = self.next;
                self.steps(condition);
                self.mention(*predicate, true);
                self.next += 1;
                self.steps(body);
                self.loops.push(Loop {
                    first,
                    last: self.next,
                });
            }
            Step::Conditional { index, branches } => {
                self.mention(*index, true);
                self.next += 1;
                for branch in branches {
                    self.steps(branch);
                }
            }
        }
    }
}

impl Program {
    /// Most bytes in use at once besides parameters and constants: the arena and all results.
    pub fn peak_buffer_bytes(&self) -> u64 {
        let results = self.results.iter().map(|id| self.buffers[*id].byte_size());
        results.fold(self.arena_bytes, u64::saturating_add)
    }

    /// Number of kernels.
    pub fn num_kernels(&self) -> usize {
        self.kernels.len()
    }

    /// Number of library calls in the steps, each counted once however often a loop runs it.
    pub fn num_library_calls(&self) -> usize {
        fn count(steps: &[Step]) -> usize {
            let calls = |step: &Step| match step {
                Step::Library(_) => 1,
                Step::While {
                    condition, body, ..
                } => count(condition) + count(body),
                Step::Conditional { branches, .. } => {
                    branches.iter().map(|branch| count(branch)).sum()
                }
                Step::Kernel { .. } | Step::Copy { .. } | Step::Swap(..) => 0,
            };
            steps.iter().map(calls).sum()
        }
        count(&self.steps)
    }
}

#[cfg(test)]
mod tests {
    use hloc_ir::{Arena, ArrayShape, ElementType, Id, Shape};

    use super::{FreeList, plan};
    use crate::ir::{Buffer, BufferId, BufferKind, Program, Step};

    #[test]
    fn freed_pieces_join_and_are_used_again() {
        let mut list = FreeList::default();
        let (a, b, c) = (list.take(64), list.take(128), list.take(64));
        assert_eq!((a, b, c, list.end), (0, 64, 192, 256));
        list.give_back(a, 64);
        list.give_back(b, 128);
        assert_eq!(list.take(192), 0);
        list.give_back(c, 64);
        assert_eq!((list.take(128), list.end), (192, 320));
    }

    /// A program of temporaries of these sizes in bytes and of these steps.
    fn program(sizes: &[i64], steps: Vec<Step>) -> Program {
        let buffer = |size: &i64| Buffer {
            shape: ArrayShape::new(ElementType::U8, &[*size]),
            kind: BufferKind::Temporary { offset: 0 },
        };
        let mut program = Program {
            kernels: Arena::new(),
            buffers: sizes.iter().map(buffer).collect(),
            steps,
            parameters: Vec::new(),
            results: Vec::new(),
            parameter_shapes: Vec::new(),
            parameter_names: Vec::new(),
            result_shape: Shape::Tuple(Vec::new()),
            arena_bytes: 0,
            num_instructions: 0,
            split_fusions: Vec::new(),
        };
        plan(&mut program);
        program
    }

    fn buffer(number: usize) -> BufferId {
        BufferId::from_index(number)
    }

    fn copy(from: usize, to: usize) -> Step {
        Step::Copy {
            from: buffer(from),
            to: buffer(to),
        }
    }

    fn offset(program: &Program, number: usize) -> u64 {
        match program.buffers[buffer(number)].kind {
            BufferKind::Temporary { offset } => offset,
            BufferKind::Parameter(_) | BufferKind::Result(_) | BufferKind::Constant(_) => u64::MAX,
        }
    }

    #[test]
    fn a_chain_needs_two_buffers_however_long_it_is() {
        let chain = (0..100_000).map(|at| copy(at, at + 1)).collect();
        let program = program(&vec![100; 100_001], chain);
        assert_eq!(program.arena_bytes, 256);
    }

    #[test]
    fn what_a_loop_reads_from_outside_keeps_its_place_throughout() {
        // 0 is read in the loop, 1 is computed from it, 2 only lives in the loop's second half.
        let steps = vec![
            copy(3, 0),
            Step::While {
                condition: vec![copy(3, 4)],
                predicate: buffer(4),
                body: vec![copy(0, 1), copy(1, 2), copy(2, 2)],
                trips: None,
                instruction: None,
            },
        ];
        let program = program(&[64; 5], steps);
        let fixed = [offset(&program, 0), offset(&program, 3)];
        for inner in [1, 2, 4] {
            assert!(!fixed.contains(&offset(&program, inner)));
        }
        assert_eq!(offset(&program, 4), offset(&program, 1));
    }

    #[test]
    fn exchanged_buffers_share_with_nothing_in_the_loop() {
        let steps = vec![
            copy(4, 0),
            Step::While {
                condition: vec![copy(0, 2)],
                predicate: buffer(2),
                body: vec![copy(0, 3), copy(3, 1), Step::Swap(buffer(0), buffer(1))],
                trips: None,
                instruction: None,
            },
            copy(0, 5),
        ];
        let program = program(&[64; 6], steps);
        let exchanged = [offset(&program, 0), offset(&program, 1)];
        assert_ne!(exchanged[0], exchanged[1]);
        for other in [2, 3, 5] {
            assert!(!exchanged.contains(&offset(&program, other)), "{other}");
        }
    }
}
