//! Counts what a case costs.

use super::{Session, VmBackend, budget, cannot_launch};
use diagnostic::Failure;
use ptxvm::{Counters, Options};
use puzzle::case::Case;

impl VmBackend {
    /// Runs the case with counters: all launches together.
    ///
    /// # Errors
    /// As [`Backend::run`](crate::backend::Backend::run).
    pub fn count(&self, case: &Case) -> Result<Counters, Failure> {
        let mut session = Session::new(self, &case.tensors);
        let mut all = Counters::default();
        let options = Options {
            budget: self.budget.unwrap_or_else(|| budget(&case.tensors)),
            ..Options::default()
        };
        for launch in &case.launches {
            let kernel = session.kernel(launch)?;
            let start = session.start(kernel, launch);
            let options = Options { cooperative: launch.cooperative, ..options.clone() };
            let counters =
                ptxvm::launch_counted(&self.module, kernel, &start, &mut session.memory, &options)
                    .map_err(|e| cannot_launch(launch, &e))?;
            all += &counters;
            if all.endless {
                break;
            }
        }
        Ok(all)
    }
}
