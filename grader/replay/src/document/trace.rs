//! What a figure of the book shows of a recorded block: lines, lanes, and the elements that they access.

use super::memory::{Layout, Memory};
use super::steps::{self, Accesses, Instruction};
use crate::debug_info;
use device::vm::VmBackend;
use diagnostic::{Failure, FailureKind};
use judge::grade::Program;
use ptxvm::Recording;
use puzzle::case::Case;
use serde::Serialize;
use std::collections::HashMap;
use std::hash::Hash;

/// Instructions of warps that a block may execute for it.
const MOST_STEPS: usize = 120_000;

/// A recorded block of a test's last launch, as data that is small enough for a page of the book.
#[derive(Debug, Serialize)]
pub struct Trace {
    kernel: String,
    grid: [u32; 3],
    block_size: [u32; 3],
    block: [u32; 3],
    source: Vec<String>,
    memories: Vec<Memory>,
    /// Sets of lanes, one bit for each.
    masks: Vec<u32>,
    /// The shapes of accesses: for each lane its number, and how far its element lies from the first lane's.
    patterns: Vec<Vec<i64>>,
    /// Each time that a warp executes a line which touches memory or is a barrier, in the order in which they ended: warp, line,
    /// index of its lanes, whether it is a barrier, and for each access its kind, its memory, the first lane's element, and its
    /// pattern. Rows that differ from each other by the same are one: their count, the first of them, and the difference.
    runs: Vec<Vec<i64>>,
}

/// Things with a number for each.
#[derive(Debug)]
struct Numbered<T>(HashMap<T, usize>, Vec<T>);

impl<T: Clone + Eq + Hash> Numbered<T> {
    fn number(&mut self, thing: T) -> i64 {
        let next = self.1.len();
        let number = *self.0.entry(thing.clone()).or_insert(next);
        if number == next {
            self.1.push(thing);
        }
        number as i64
    }
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self(HashMap::new(), Vec::new())
    }
}

impl Trace {
    /// Records a block of `program`, which was compiled for a debugger and is on `vm`.
    ///
    /// # Errors
    /// The test has nothing to record, the block is not there or does too much, or the virtual machine cannot run it.
    pub fn new(
        program: &Program,
        vm: &VmBackend,
        case: &Case,
        block: [u32; 3],
    ) -> Result<Self, Failure> {
        let refused = |title: &str| Failure::new(FailureKind::Usage, title, "choose another test");
        let launch = case.launches.len() - 1;
        let of = &case.launches[launch];
        if (0..3).any(|axis| block[axis] >= of.grid[axis]) {
            return Err(refused("there is no such block"));
        }
        let ptx = &program.compiled.ptx;
        let known = debug_info::variables(ptx);
        let file = program.compiled.source.path.display().to_string();
        let (mut code, mut layout) = (Vec::new(), Layout::default());
        let recorded = vm.record(case, launch, block, MOST_STEPS, |kernel| {
            code = steps::code(kernel, ptx, &file);
            layout = Layout::of(kernel.symbols(), &known, case, of.shared);
            Vec::new()
        })?;
        if recorded.recording.cut {
            return Err(refused("the block does more than a trace has room for"));
        }
        let layout = layout.with_buffers(&recorded.buffers);
        let accesses = Accesses::of(&recorded.recording, &layout);
        let (mut masks, mut patterns) = (Numbered::default(), Numbered::default());
        let rows = runs(&recorded.recording, &code).into_iter().filter_map(|run| {
            let mask = masks.number(run.lanes);
            let mut row = vec![run.warp.into(), run.line.into(), mask, run.barrier.into()];
            for access in run.steps.iter().flat_map(|&step| accesses.of_step(step)) {
                let (kind, memory, first, pattern) = access;
                row.extend([kind, memory, first, patterns.number(pattern)]);
            }
            (run.barrier || row.len() > 4).then_some(row)
        });
        let runs = progressions(rows);
        Ok(Self {
            kernel: of.kernel.clone(),
            grid: of.grid,
            block_size: of.block,
            block,
            source: program.compiled.source.text.lines().map(str::to_owned).collect(),
            memories: layout.memories(case, &recorded).into_iter().map(Memory::small).collect(),
            masks: masks.1,
            patterns: patterns.1,
            runs,
        })
    }

    /// A script that leaves the trace where the figures of the book look for it, under a name.
    pub fn script(&self, name: &str) -> String {
        let json = serde_json::to_string(self).unwrap_or_default();
        format!("(window.PlayTraces ??= {{}})[\"{name}\"] =\n{json};\n")
    }
}

/// Rows that differ from each other by the same as one row: their count, the first of them, and the difference where there is one.
fn progressions(rows: impl Iterator<Item = Vec<i64>>) -> Vec<Vec<i64>> {
    let mut found: Vec<Progression> = Vec::new();
    for row in rows {
        if !found.last_mut().is_some_and(|last| last.take(&row)) {
            found.push(Progression { count: 1, first: row, difference: Vec::new() });
        }
    }
    found.into_iter().map(|it| [vec![it.count], it.first, it.difference].concat()).collect()
}

/// Rows of numbers, each of which differs from the one before it by the same.
#[derive(Debug)]
struct Progression {
    count: i64,
    first: Vec<i64>,
    /// Empty while there is only one row.
    difference: Vec<i64>,
}

impl Progression {
    /// Takes the next row, if it continues the others.
    fn take(&mut self, row: &[i64]) -> bool {
        let from_first: Vec<i64> =
            row.iter().zip(&self.first).map(|(now, first)| now - first).collect();
        let continues = row.len() == self.first.len()
            && (self.count == 1
                || from_first
                    .iter()
                    .zip(&self.difference)
                    .all(|(now, one)| *now == one * self.count));
        if continues && self.count == 1 {
            self.difference = from_first;
        }
        self.count += i64::from(continues);
        continues
    }
}

/// A line that some lanes of a warp execute without pause.
#[derive(Debug)]
struct Run {
    warp: u32,
    line: u32,
    lanes: u32,
    barrier: bool,
    steps: Vec<u32>,
}

/// The runs of all warps, in the order of their last steps.
fn runs(recording: &Recording, code: &[Instruction]) -> Vec<Run> {
    let mut done = Vec::new();
    let mut open: HashMap<u32, Run> = HashMap::new();
    for (index, step) in recording.steps.iter().enumerate() {
        let at = &code[step.pc as usize];
        let Some(line) = at.line() else { continue };
        let same = |run: &Run| run.line == line && run.lanes == step.lanes && !run.barrier;
        if !open.get(&step.warp).is_some_and(same) {
            let steps = Vec::new();
            let (warp, lanes, barrier) = (step.warp, step.lanes, false);
            done.extend(open.insert(warp, Run { warp, line, lanes, barrier, steps }));
        }
        if let Some(run) = open.get_mut(&step.warp) {
            run.barrier |= at.is_barrier();
            run.steps.push(index as u32);
        }
    }
    done.extend(open.into_values());
    done.sort_by_key(|run| run.steps.last().copied());
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_in_equal_steps_are_one_with_their_count() {
        let rows = [vec![0, 27, 5], vec![1, 27, 9], vec![2, 27, 13], vec![2, 27, 14], vec![7]];
        let expected = [vec![3, 0, 27, 5, 1, 0, 4], vec![1, 2, 27, 14], vec![1, 7]];
        assert_eq!(progressions(rows.into_iter()), expected);
        let all_different = [vec![0, 1], vec![1, 3], vec![2, 6]];
        assert_eq!(progressions(all_different.into_iter()), [vec![2, 0, 1, 1, 2], vec![1, 2, 6]]);
    }
}
