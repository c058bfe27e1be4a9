//! Counts what a case costs.

use super::{Session, VmBackend};
use diagnostic::Failure;
use ptxvm::Counters;
use puzzle::case::Case;

impl VmBackend {
    /// Runs the case with counters: all launches together.
    ///
    /// # Errors
    /// As [`Backend::run`](crate::backend::Backend::run).
    pub fn count(&self, case: &Case) -> Result<Counters, Failure> {
        let mut session = Session::new(self, (&case.tensors, &case.launches))?;
        let mut all = Counters::default();
        for launch in &case.launches {
            let counters = session.launch(launch, ptxvm::launch_counted)?;
            all += &counters;
            if all.endless {
                break;
            }
        }
        Ok(all)
    }
}
