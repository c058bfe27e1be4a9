//! Large statements on all cores: which parts they have, and who computes them. What a statement gives depends on the parts, in the
//! order of its sums, and so these follow from its sizes alone, not from the machine.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};

use crate::evaluate::cost::iterations;
use crate::lower::nest::{
    Array, LoopNest, LoweredContribution, LoweredProgram, LoweredStatement, Subscript,
};
use crate::program::node::IndexId;

/// A part has at least so many iterations, some ten milliseconds.
const LEAST: u64 = 1 << 18;

/// A statement has so many parts at most.
const MOST: u64 = 64;

/// The parts of a statement's target: places on an axis.
pub(crate) struct Parts {
    pub axis: usize,
    pub places: Vec<Range<usize>>,
}

/// The parts that can be computed apart from each other without more work in all; `None` where that is not possible, or not
/// worth it.
pub(crate) fn parts(lowered: &LoweredProgram, statement: &LoweredStatement) -> Option<Parts> {
    let nests = || statement.contributions.iter().flat_map(|contribution| &contribution.nests);
    let work = nests().map(|nest| iterations(lowered, &nest.loops));
    let most = (work.fold(0, u64::saturating_add) / LEAST).min(MOST) as usize;
    let shape = &lowered.tensors[statement.target].shape;
    let divides = |axis: &usize| statement.contributions.iter().all(|it| divides(it, *axis));
    let axis = (0..shape.len()).filter(divides).max_by_key(|axis| shape[*axis])?;
    let (size, count) = (shape[axis], most.min(shape[axis]));
    let part = |i: usize| i * size / count..(i + 1) * size / count;
    (count >= 2).then(|| Parts { axis, places: (0..count).map(part).collect() })
}

/// Whether every iteration of a contribution belongs to one place of an axis, by the value of an index.
fn divides(contribution: &LoweredContribution, axis: usize) -> bool {
    let to_tensor = |nest: &&LoopNest| matches!(nest.target.array, Array::Tensor(_));
    let index = |nest: &LoopNest| -> Option<IndexId> {
        match &nest.target.subscripts[axis] {
            Subscript::Affine(affine) => match affine.terms.as_slice() {
                [(id, 1)] => Some(*id),
                _ => None,
            },
            Subscript::NonAffine(_) | Subscript::Indirect(_) => None,
        }
    };
    let mut indices = contribution.nests.iter().filter(to_tensor).map(index);
    let Some(Some(id)) = indices.next() else { return false };
    indices.all(|other| other == Some(id))
        && contribution.nests.iter().all(|nest| nest.loops.contains(&id))
}

/// The values of `work(0)`, `work(1)` and so on, computed by as many threads as there are cores.
///
/// Their own threads, and not those of a pool: a caller may evaluate what a lock makes only once, and while it waited for its parts, a
/// pool would let its thread begin another task, which may wait for the same lock.
pub(crate) fn in_parallel<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(count);
    if threads <= 1 {
        return (0..count).map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let position = next.fetch_add(1, Ordering::Relaxed);
            if position >= count {
                return done;
            }
            done.push((position, work(position)));
        }
    };
    let mut done: Vec<(usize, T)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        let join =
            |thread: ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|e| resume_unwind(e));
        threads.into_iter().flat_map(join).collect()
    });
    done.sort_by_key(|(position, _)| *position);
    done.into_iter().map(|(_, value)| value).collect()
}
