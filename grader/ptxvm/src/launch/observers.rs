//! All that may watch a launch, by name.
//!
//! [`launch()`](crate::launch()) needs the checks alone, so its code is compiled without records: `Observers<()>`. All other
//! launches share one copy of the machine, `Observers<Records>`, which asks at run time what there is to record.

use crate::instruments::check::block_conflicts::BlockConflicts;
use crate::instruments::check::races::Races;
use crate::instruments::count::monitor::Counter;
use crate::instruments::provenance::Provenance;
use crate::instruments::recording::Recorder;
use crate::instruments::touched::TouchMonitor;
use crate::instruments::trace::Tracer;
use crate::instruments::watchpoint::WatchpointMonitor;
use crate::machine::monitor::{Monitor, forward_to_fields};
use crate::program::code::Program;

/// All observers of a block.
pub(crate) struct Observers<'o, R> {
    pub checks: Option<Checks<'o>>,
    pub records: R,
}

forward_to_fields!(['o, R: Monitor] Observers<'o, R>: checks: Option<Checks<'o>>, records: R);

/// The checks of a launch, and what may be asked for beside them.
pub(crate) struct Checks<'o> {
    pub races: Races,
    /// The accesses of one thread.
    pub trace: Option<Tracer>,
    /// The last write to one place.
    pub watch: Option<WatchpointMonitor>,
    /// The bytes that all blocks touch.
    pub touched: Option<TouchMonitor>,
    /// Where host threads share the blocks: whether the order of these may matter.
    pub conflicts: Option<BlockConflicts<'o>>,
}

forward_to_fields!(
    ['o] Checks<'o>: races: Races, trace: Option<Tracer>, watch: Option<WatchpointMonitor>,
    touched: Option<TouchMonitor>, conflicts: Option<BlockConflicts<'o>>
);

/// What is recorded of each instruction.
#[derive(Default)]
pub(crate) struct Records<'o> {
    pub counters: Option<Counter>,
    pub provenance: Option<&'o mut Provenance>,
    pub recorder: Option<Recorder>,
}

forward_to_fields!(
    ['o] Records<'o>: counters: Option<Counter>, provenance: Option<&'o mut Provenance>,
    recorder: Option<Recorder>
);

/// Records of a whole launch. Host threads that share its blocks have one each, which are added up in the end.
pub(crate) trait Record: Monitor + Send {
    /// The empty record of a program.
    fn new(program: &Program) -> Self;
    /// Adds what another one has recorded.
    fn add(&mut self, other: Self);
}

/// The record of a launch that records nothing.
impl Record for () {
    fn new(_program: &Program) -> Self {}
    fn add(&mut self, (): Self) {}
}

/// Only counters can be added up; provenance and recordings follow one host thread.
impl Record for Records<'_> {
    fn new(program: &Program) -> Self {
        Self { counters: Some(Counter::new(program)), ..Self::default() }
    }

    fn add(&mut self, other: Self) {
        if let (Some(sum), Some(counters)) = (&mut self.counters, &other.counters) {
            sum.add(counters);
        }
    }
}
