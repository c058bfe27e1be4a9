//! What is added up over a launch while its checks run.

use crate::instruments::count::monitor::Counter;
use crate::machine::monitor::Monitor;
use crate::program::code::Program;

/// A monitor of a launch, not of its blocks: host threads have one each, and add them up in the end.
pub(crate) trait Tally: Monitor + Send {
    /// One that has seen nothing.
    fn new(program: &Program) -> Self;
    /// Adds what another one has seen.
    fn add(&mut self, other: Self);
}

/// Nothing.
impl Tally for () {
    fn new(_program: &Program) -> Self {}
    fn add(&mut self, (): Self) {}
}

impl Tally for Counter {
    fn new(program: &Program) -> Self {
        Self::new(program)
    }

    fn add(&mut self, other: Self) {
        self.add(&other);
    }
}
