//! The monitor that counts while warps run.

use crate::finding::{AccessKind, Log};
use crate::instruments::count::counts::{Counters, Counts, InstructionSite, Traffic};
use crate::instruments::count::patterns;
use crate::isa::ir::Op;
use crate::isa::matrix::Shape;
use crate::isa::matrix_op::Matrix;
use crate::isa::mbarrier;
use crate::isa::warpgroup::GroupProduct;
use crate::isa::window::Window;
use crate::lanes::lanes;
use crate::machine::monitor::{Event, Monitor, Step};
use crate::memory::buffer::BufferId;
use crate::program::code::Program;
use crate::program::module::Kernel;
use crate::source_loc::SourceLoc;
use std::sync::Arc;

/// Counts of each instruction of a program.
#[derive(Debug)]
pub(crate) struct Counter {
    counts: Vec<Counts>,
}

impl Counter {
    pub fn new(program: &Program) -> Self {
        Self { counts: vec![Counts::default(); program.code.len()] }
    }

    pub fn add(&mut self, other: &Self) {
        for (sum, counts) in self.counts.iter_mut().zip(&other.counts) {
            if *counts != Counts::default() {
                *sum += counts;
            }
        }
    }

    pub fn finish(self, kernel: &Kernel) -> Counters {
        let program = &kernel.program;
        let name: Arc<str> = kernel.name().into();
        let mut counters = Counters::default();
        for (counts, pc) in self.counts.iter().zip(0..) {
            if *counts == Counts::default() {
                continue;
            }
            counters.total += counts;
            if let Some(place) = program.source_location(pc) {
                let line = SourceLoc { column: 0, ..place.clone() };
                let accesses =
                    counts.load_requests + counts.store_requests + counts.shared_requests;
                if accesses + counts.branches > 0 {
                    let site = InstructionSite { kernel: Arc::clone(&name), instruction: pc };
                    counters.sites.insert(site, (line.clone(), counts.clone()));
                }
                *counters.lines.entry(line).or_default() += counts;
            }
        }
        counters
    }
}

impl Monitor for Counter {
    const STEPS: bool = true;

    fn before(&mut self, step: &Step) {
        let Some(class) = step.instr.class else { return };
        let pc = step.pc as usize;
        let counts = &mut self.counts[pc];
        counts.classes[class as usize] += 1;
        let branch = matches!(step.instr.op, Op::Branch { .. });
        let lanes = if branch { step.split } else { step.mask };
        counts.lane_instructions += u64::from(lanes.count_ones());
        if branch {
            counts.branches += 1;
            if step.mask != 0 && step.mask != step.split {
                let (taken, all) = (step.mask.count_ones(), step.split.count_ones());
                counts.divergent_branches += 1;
                counts.divergent_lanes += u64::from(all);
                counts.divergent_minority += u64::from(taken.min(all - taken));
            }
        }
        match &step.instr.op {
            Op::Bar(_) => counts.barriers += 1,
            Op::Matrix(matrix) => {
                if let Matrix::Product(product) | Matrix::OfGroup(GroupProduct { product, .. }) =
                    &**matrix
                {
                    let Shape { m, n, k } = product.shape;
                    counts.matrix_multiplications += (m * n * k) as u64;
                } else if let Matrix::QuadPairs(_) = &**matrix {
                    counts.matrix_multiplications += 4 * 8 * 8 * 4;
                }
            }
            _ => {}
        }
    }

    fn exchange(&mut self, common: &mut Self) {
        std::mem::swap(&mut self.counts, &mut common.counts);
    }

    fn access(&mut self, event: &Event, _log: &mut Log) {
        let mask = event.done;
        // Barrier objects are not in the way of what threads load and store.
        if mask == 0 || event.ends_copy || event.operation == mbarrier::OPERATION {
            return;
        }
        let counts = &mut self.counts[event.pc as usize];
        if event.window == Window::Global {
            note_traffic(counts, event);
        }
        let lanes = u64::from(mask.count_ones());
        let bytes = lanes * u64::from(event.size);
        match (event.kind, event.window) {
            (AccessKind::Atomic, window) => {
                if window == Window::Global {
                    counts.atomic_bytes += bytes;
                }
                counts.atomic_requests += 1;
                counts.atomic_lanes += lanes;
            }
            (kind, Window::Global) => {
                let (sectors, packed) = patterns::sectors(event.addresses, mask, event.size);
                if kind == AccessKind::Read {
                    counts.load_requests += 1;
                    counts.load_sectors += sectors;
                    counts.load_sectors_packed += packed;
                    counts.load_bytes += bytes;
                } else {
                    counts.store_requests += 1;
                    counts.store_sectors += sectors;
                    counts.store_sectors_packed += packed;
                    counts.store_bytes += bytes;
                }
                if let Some(stride) = patterns::stride(event.addresses, mask) {
                    counts.global_strides.note(stride);
                }
            }
            (_, Window::Shared) => {
                let (passes, conflicts) = patterns::wavefronts(event.addresses, mask, event.size);
                counts.shared_requests += 1;
                counts.shared_wavefronts += passes;
                counts.bank_conflicts += conflicts;
                if let Some(stride) = patterns::stride(event.addresses, mask) {
                    counts.shared_strides.note(stride);
                }
            }
            (_, Window::Local) => {
                counts.local_requests += 1;
                counts.local_bytes += bytes;
            }
            (_, Window::Const | Window::Param | Window::Cluster) => {}
        }
    }
}

/// Adds the bytes of an access to those of the buffers that its lanes hit.
fn note_traffic(counts: &mut Counts, event: &Event) {
    let bytes = u64::from(event.size);
    let (read, written) = match event.kind {
        AccessKind::Read => (bytes, 0),
        AccessKind::Write => (0, bytes),
        AccessKind::Atomic => (bytes, bytes),
    };
    let mut lanes =
        lanes(event.done).filter_map(|lane| BufferId::of(event.addresses[lane])).peekable();
    // Neighbours mostly are in one buffer.
    while let Some(buffer) = lanes.next() {
        let mut count = 1;
        while lanes.next_if_eq(&buffer).is_some() {
            count += 1;
        }
        *counts.buffers.entry(buffer).or_default() +=
            Traffic { read: count * read, written: count * written };
    }
}
