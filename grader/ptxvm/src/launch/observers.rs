//! All that may watch a launch, by name. What there is to check and to record is asked at run time, so that the machine is compiled
//! once.

use crate::instruments::check::block_conflicts::BlockConflicts;
use crate::instruments::check::races::Races;
use crate::instruments::count::monitor::Counter;
use crate::instruments::provenance::Provenance;
use crate::instruments::recording::Recorder;
use crate::instruments::touched::TouchMonitor;
use crate::instruments::trace::Tracer;
use crate::instruments::watchpoint::WatchpointMonitor;
use crate::machine::monitor::forward_to_fields;
use crate::program::code::Program;

/// All observers of a block.
pub(crate) struct Observers<'o> {
    pub checks: Option<Checks<'o>>,
    pub records: Option<Records<'o>>,
}

forward_to_fields!(['o] Observers<'o>: checks: Option<Checks<'o>>, records: Option<Records<'o>>);

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

impl Records<'_> {
    /// Counters alone, all zero.
    pub fn counters(program: &Program) -> Self {
        Self { counters: Some(Counter::new(program)), ..Self::default() }
    }
}

impl Observers<'_> {
    /// The counters, if the launch is counted.
    pub fn into_counters(self) -> Option<Counter> {
        self.records?.counters
    }

    /// Adds what other blocks of the launch have counted.
    pub fn add(&mut self, others: Option<&Counter>) {
        let counters = self.records.as_mut().and_then(|records| records.counters.as_mut());
        if let (Some(sum), Some(others)) = (counters, others) {
            sum.add(others);
        }
    }
}
