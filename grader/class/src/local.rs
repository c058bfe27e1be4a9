//! Grades tasks on this machine, several at a time.

use crate::plan::Plan;
use crate::store::Store;
use crate::task::{Ending, Task};
use crate::worker;
use diagnostic::{Failure, FailureKind};
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use toolchain::spinner::Progress;

/// After so many tasks in a row that the machine could not grade, it makes no sense to go on.
const HOPELESS: usize = 5;

/// Time between two looks at tasks that another grader has.
const PATIENCE: Duration = Duration::from_millis(500);

/// How many tasks run at the same time.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// The tasks without a result. Those whose worker broke down, or took too long, count as without if they are to be graded again.
///
/// # Errors
/// A result that is damaged, or is to be replaced, cannot be removed.
pub fn pending<'a>(plan: &'a Plan, store: &Store, again: bool) -> Result<Vec<&'a Task>, Failure> {
    let mut pending = Vec::new();
    for task in &plan.tasks {
        let ending = store.get(&task.key).map(|graded| graded.ending);
        let left = match ending {
            None => true,
            Some(Ending::Crashed | Ending::TimeLimit) => again,
            Some(_) => false,
        };
        if left && store.has(&task.key) {
            store.forget(&task.key).map_err(|e| {
                let title = format!("cannot remove the result {}: {e}", task.key);
                let help =
                    "it is damaged, or to be graded again: make its folder and itself writable";
                Failure::new(FailureKind::Environment, title, help)
            })?;
        }
        if left {
            pending.push(task);
        }
    }
    Ok(pending)
}

/// Grades the tasks, `jobs` at a time, and keeps each result when it is there. Waits for those that other graders have.
///
/// # Errors
/// The machine could not grade some of the tasks: the first reason, and how many there are.
pub fn run(
    plan: &Plan,
    tasks: &[&Task],
    store: &Store,
    jobs: usize,
    progress: &Progress,
) -> Result<(), Failure> {
    let jobs = jobs.clamp(1, tasks.len().max(1));
    let work = Work {
        plan,
        store,
        progress,
        threads: (cores() / jobs).max(1),
        next: AtomicUsize::new(0),
        in_a_row: AtomicUsize::new(0),
        stopped: AtomicBool::new(false),
        failures: Mutex::new(BTreeMap::new()),
    };
    let mut left: Vec<&Task> = tasks.to_vec();
    while !left.is_empty() {
        work.next.store(0, Ordering::Relaxed);
        thread::scope(|scope| {
            for _ in 0..jobs {
                scope.spawn(|| work.through(&left));
            }
        });
        if work.stopped.load(Ordering::Relaxed) {
            break;
        }
        let failures = work.failures.lock().unwrap_or_else(PoisonError::into_inner);
        left.retain(|task| !store.has(&task.key) && !failures.contains_key(&task.key));
        if !left.is_empty() {
            thread::sleep(PATIENCE);
        }
    }
    let failures = work.failures.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Those that nobody has tried too, if it made no sense to go on.
    let count = tasks.iter().filter(|task| !store.has(&task.key)).count();
    match failures.into_values().next() {
        None => Ok(()),
        Some(mut first) => {
            let left = match count {
                0 => None,
                1 => Some("1 task has no result yet".to_owned()),
                _ => Some(format!("{count} tasks have no result yet")),
            };
            let help = left.map(|left| left + "; the same command goes on");
            if let Some(diagnostic) = first.diagnostics.first_mut() {
                diagnostic.help.extend(help);
            }
            Err(first)
        }
    }
}

struct Work<'a> {
    plan: &'a Plan,
    store: &'a Store,
    progress: &'a Progress,
    /// Threads of each worker.
    threads: usize,
    /// The task that is taken next.
    next: AtomicUsize,
    /// Failures of the machine without a result between them.
    in_a_row: AtomicUsize,
    stopped: AtomicBool,
    /// By the key of the task.
    failures: Mutex<BTreeMap<String, Failure>>,
}

impl Work<'_> {
    /// Grades tasks until none is left.
    fn through(&self, tasks: &[&Task]) {
        while let Some(task) = tasks.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            if self.stopped.load(Ordering::Relaxed) {
                return;
            }
            match self.one(task) {
                Ok(true) => {
                    self.in_a_row.store(0, Ordering::Relaxed);
                    self.progress.advance(1);
                }
                Ok(false) => {}
                Err(failure) => {
                    let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
                    failures.insert(task.key.clone(), failure);
                    if self.in_a_row.fetch_add(1, Ordering::Relaxed) + 1 >= HOPELESS {
                        self.stopped.store(true, Ordering::Relaxed);
                    }
                }
            }
        }
    }

    /// Grades a task; false if another grader has it.
    fn one(&self, task: &Task) -> Result<bool, Failure> {
        let unwritable = |e: io::Error| {
            let title = format!("cannot write the results: {e}");
            Failure::new(FailureKind::Environment, title, "free some space, and try again")
        };
        let Some(_claim) = self.store.claim(&task.key).map_err(unwritable)? else {
            return Ok(self.store.has(&task.key));
        };
        let outcome = worker::grade(self.plan, task, self.threads)?;
        self.store.put(&outcome).map_err(unwritable)?;
        Ok(true)
    }
}
