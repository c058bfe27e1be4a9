//! Runs a case again in another order of blocks and warps.

use super::{RunTensor, Session, VmBackend};
use diagnostic::Failure;
use ptxvm::Schedule;
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
        let mut session = Session::new(self, (&case.tensors, &case.launches))?;
        for launch in &case.launches {
            let ended = session.launch(launch, |module, kernel, start, memory, options| {
                ptxvm::launch_reordered(module, kernel, start, memory, options, schedule)
            })?;
            if !ended {
                return Ok(None);
            }
        }
        session.contents().map(Some)
    }
}
