//! Runs a case again in another order of blocks and warps.

use super::{RunTensor, Session, VmBackend, budget, cannot_launch};
use diagnostic::Failure;
use ptxvm::{Options, Schedule};
use puzzle::case::Case;

/// In reverse, then scattered twice: the sum of a few floats may be the same in one other order.
const SCHEDULES: [Schedule; 3] =
    [Schedule::Reversed, Schedule::Scattered(1), Schedule::Scattered(2)];

impl VmBackend {
    /// What the tensors hold after a run in the `nth` order; `None` after the last one, or where a kernel that waits for
    /// other blocks cannot run so.
    pub(super) fn reordered(
        &self,
        case: &Case,
        nth: usize,
    ) -> Result<Option<Vec<RunTensor>>, Failure> {
        let Some(&schedule) = SCHEDULES.get(nth) else { return Ok(None) };
        let mut session = Session::new(self, &case.tensors);
        let options = Options {
            budget: self.budget.unwrap_or_else(|| budget(&case.tensors)),
            ..Options::default()
        };
        for launch in &case.launches {
            let kernel = session.kernel(launch)?;
            let start = session.start(kernel, launch);
            let options = Options { cooperative: launch.cooperative, ..options.clone() };
            let memory = &mut session.memory;
            let ended =
                ptxvm::launch_reordered(&self.module, kernel, &start, memory, &options, schedule)
                    .map_err(|e| cannot_launch(launch, &e))?;
            if !ended {
                return Ok(None);
            }
        }
        Ok(Some((0..case.tensors.len()).map(|i| session.contents(i)).collect()))
    }
}
