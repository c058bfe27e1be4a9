//! The instructions of the kernel, and what the recorded block did, step by step.

use super::memory::Layout;
use crate::values::integer;
use ptxvm::{AccessKind, Kernel, Recording};
use serde::Serialize;
use serde_json::Value;

/// An instruction of the kernel or of a function that it calls.
#[derive(Debug, Serialize)]
pub struct Instruction {
    /// Its line in the source file; none if it comes from another file.
    line: Option<u32>,
    /// Its text in the PTX.
    text: String,
    /// Whether the threads of the block wait for each other here.
    barrier: bool,
}

impl Instruction {
    /// Its line in the source file; none if it comes from another file.
    pub fn line(&self) -> Option<u32> {
        self.line
    }

    /// Whether the threads of the block wait for each other here.
    pub fn is_barrier(&self) -> bool {
        self.barrier
    }
}

/// The instructions of a kernel, in the order of the program.
pub fn code(kernel: &Kernel, ptx: &str, file: &str) -> Vec<Instruction> {
    let Some(symbols) = kernel.symbols() else { return Vec::new() };
    let lines: Vec<&str> = ptx.lines().collect();
    let mut code = Vec::new();
    for pc in 0.. {
        let Some(line) = symbols.line(pc) else { return code };
        let text = lines.get((line as usize).saturating_sub(1)).map_or("", |line| line.trim());
        let at = kernel.source_line(pc).filter(|at| *at.file == *file && at.line > 0);
        code.push(Instruction {
            line: at.map(|at| at.line),
            text: text.split_whitespace().collect::<Vec<_>>().join(" "),
            barrier: kernel.is_barrier(pc),
        });
    }
    code
}

/// The accesses of memory, in columns: first those of whole warps, then those of single lanes.
#[derive(Debug, Default, Serialize)]
pub struct Accesses {
    step: Vec<u32>,
    /// 0: read, 1: write, 2: atomic.
    kind: Vec<u8>,
    /// Where the lanes of each access begin in the columns below.
    first: Vec<u32>,
    lane: Vec<u8>,
    /// The memory, -1 for that of the thread itself, -2 for none.
    memory: Vec<i32>,
    /// The element; of local memory the address in bytes.
    element: Vec<i64>,
    value: Vec<Value>,
}

impl Accesses {
    /// The accesses of a recording.
    pub fn of(recording: &Recording, layout: &Layout) -> Self {
        let mut all = Self::default();
        for access in &recording.accesses {
            all.step.push(access.step);
            all.kind.push(match access.kind {
                AccessKind::Read => 0,
                AccessKind::Write => 1,
                AccessKind::Atomic => 2,
            });
            all.first.push(all.lane.len() as u32);
            for lane in &access.lanes {
                for (memory, element, value) in layout.elements(lane, access.size) {
                    all.lane.push(lane.lane);
                    all.memory.push(memory);
                    all.element.push(element);
                    all.value.push(value);
                }
            }
        }
        all
    }

    /// The accesses of a step to tensors and shared arrays: kind, memory, the first lane's element, and for each lane its
    /// number and how far its element lies from the first one's.
    pub fn of_step(&self, step: u32) -> impl Iterator<Item = (i64, i64, i64, Vec<i64>)> {
        let of = self.step.partition_point(|&other| other < step)
            ..self.step.partition_point(|&other| other <= step);
        of.filter_map(|access| {
            let first = self.first[access] as usize;
            let end = self.first.get(access + 1).map_or(self.lane.len(), |&end| end as usize);
            let memory = self.memory[first];
            let base = self.element[first];
            let lanes = (first..end).flat_map(|i| [self.lane[i].into(), self.element[i] - base]);
            (memory >= 0).then(|| (self.kind[access].into(), memory.into(), base, lanes.collect()))
        })
    }
}

/// The changes of registers, in columns.
#[derive(Debug, Default, Serialize)]
pub struct Writes {
    step: Vec<u32>,
    register: Vec<u32>,
    /// The lanes, one bit for each.
    lanes: Vec<u32>,
    /// One value for all lanes, or one for each.
    values: Vec<Vec<Value>>,
}

impl Writes {
    /// The changes in a recording.
    pub fn of(recording: &Recording) -> Self {
        let mut all = Self::default();
        for write in &recording.writes {
            all.step.push(write.step);
            all.register.push(write.register);
            all.lanes.push(write.values.iter().fold(0, |lanes, &(lane, _)| lanes | 1 << lane));
            let first = write.values.first().map_or(0, |&(_, value)| value);
            let same = write.values.iter().all(|&(_, value)| value == first);
            all.values.push(if same {
                vec![integer(first)]
            } else {
                write.values.iter().map(|&(_, value)| integer(value)).collect()
            });
        }
        all
    }
}
