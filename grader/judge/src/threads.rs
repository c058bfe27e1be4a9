//! Are the wrong elements those that one thread, warp or lane stores, or all but those? A value that is known in one thread alone makes the
//! elements of all others wrong.

use crate::subject::Subject;
use crate::verdict::{TensorDiff, TestVerdict, ThreadGroup, WrongThreads};
use device::finding::ThreadId;
use device::provenance::Place;
use device::vm::expansion::Effort;
use puzzle::tensor::Tensor;
use std::collections::BTreeSet;

/// Elements whose threads are looked at.
const MOST: usize = 1 << 14;
/// Lanes of a warp.
const WARP: u32 = 32;
/// One element may be right by chance.
const LEAST: usize = 2;

/// Adds to a failing verdict which threads store the wrong elements, if that tells them from the correct ones and nothing else does.
pub(crate) fn explain(subject: &Subject<'_>, mut verdict: TestVerdict, at: usize) -> TestVerdict {
    let diff = &verdict.diffs[at];
    if !diff.is_explained() && diff.unwritten_count == 0 && diff.wrong.len() <= MOST {
        verdict.diffs[at].threads = wrong_threads(subject, diff);
    }
    verdict
}

fn wrong_threads(subject: &Subject<'_>, diff: &TensorDiff) -> Option<WrongThreads> {
    let case = subject.case;
    let tensor = case.output(&diff.tensor.name)?;
    let followed = subject.whole(Effort::QUICK)?;
    let writer = |flat| followed.writer(case, Place { tensor, flat });
    let writers: Vec<ThreadId> = (0..diff.wrong.len()).map(writer).collect::<Option<_>>()?;
    let [width, height, _] = case.launches.last()?.block;
    let linear = |id: &ThreadId| {
        let [x, y, z] = id.thread;
        x + width * (y + height * z)
    };
    let found = told_apart(&writers.iter().map(linear).collect::<Vec<_>>(), &diff.wrong)?;
    let is_one = |flat: usize| diff.wrong[flat] != found.correct;
    let of_one = (0..writers.len()).filter(|&flat| is_one(flat));
    let blocks: BTreeSet<[u32; 3]> = of_one.map(|flat| writers[flat].block).collect();
    let is_thread = blocks.len() > 1 || !is_part(&diff.tensor, &diff.wrong, found.correct);
    is_thread.then_some(found)
}

/// Whether the correct elements, or the wrong ones, are all those with some coordinate along some axis. Where a single block stores them,
/// it may be that row, and not the thread that computes it, which is different.
fn is_part(tensor: &Tensor, wrong: &[bool], correct: bool) -> bool {
    let those: Vec<Vec<usize>> = (0..wrong.len())
        .filter(|&flat| wrong[flat] != correct)
        .map(|flat| tensor.coords(flat))
        .collect();
    let all = wrong.len();
    tensor.shape.iter().enumerate().any(|(axis, size)| {
        let mut coords = those.iter().map(|coords| coords[axis]);
        let first = coords.next();
        those.len() * size == all && coords.all(|at| Some(at) == first)
    })
}

/// The group of threads that all correct elements are stored by and no wrong one is, or the other way round. Threads are given by their
/// number in the block.
fn told_apart(threads: &[u32], wrong: &[bool]) -> Option<WrongThreads> {
    let groups = [ThreadGroup::Thread, ThreadGroup::Warp, ThreadGroup::Lane];
    groups.into_iter().find_map(|group| {
        let number = |thread: u32| match group {
            ThreadGroup::Thread => thread,
            ThreadGroup::Warp => thread / WARP,
            ThreadGroup::Lane => thread % WARP,
        };
        let of = |is_wrong: bool| {
            let those = threads.iter().zip(wrong).filter(move |(_, wrong)| **wrong == is_wrong);
            those.map(move |(thread, _)| number(*thread))
        };
        let numbers = |is_wrong: bool| of(is_wrong).collect::<BTreeSet<u32>>();
        let (right, bad) = (numbers(false), numbers(true));
        let apart = right.is_disjoint(&bad);
        [(&right, &bad, true), (&bad, &right, false)].into_iter().find_map(
            |(one, rest, correct)| {
                let number = *one.first()?;
                let is_clear = one.len() == 1 && rest.len() > 1 && of(!correct).count() >= LEAST;
                (apart && is_clear).then_some(WrongThreads { group, number, correct })
            },
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use puzzle::tensor::DType;

    #[test]
    fn one_thread_warp_or_lane_is_told_from_the_others() {
        let of = |wrong: fn(u32) -> bool| {
            let threads: Vec<u32> = (0..2).flat_map(|_| 0..96).collect();
            told_apart(&threads, &threads.iter().map(|&t| wrong(t)).collect::<Vec<_>>())
        };
        let found = |group, number, correct| Some(WrongThreads { group, number, correct });
        assert_eq!(of(|t| t != 0), found(ThreadGroup::Thread, 0, true));
        assert_eq!(of(|t| t == 95), found(ThreadGroup::Thread, 95, false));
        assert_eq!(of(|t| t >= 32), found(ThreadGroup::Warp, 0, true));
        assert_eq!(of(|t| t % 32 == 31), found(ThreadGroup::Lane, 31, false));
        assert_eq!(of(|t| t % 3 == 0), None);
        assert_eq!(of(|_| true), None, "nothing is correct");
        assert_eq!(told_apart(&[0, 1, 2], &[false, true, true]), None, "one may be chance");
    }

    #[test]
    fn a_row_of_the_result_may_be_different_and_not_its_thread() {
        let tensor = Tensor { name: "y".into(), dtype: DType::F32, shape: vec![3, 4] };
        let wrong = |is: fn(usize, usize) -> bool| -> Vec<bool> {
            (0..12).map(|flat| is(flat / 4, flat % 4)).collect()
        };
        assert!(is_part(&tensor, &wrong(|row, _| row > 0), true));
        assert!(is_part(&tensor, &wrong(|_, column| column == 3), false));
        assert!(!is_part(&tensor, &wrong(|row, column| (row * 4 + column) % 8 != 0), true));
    }
}
