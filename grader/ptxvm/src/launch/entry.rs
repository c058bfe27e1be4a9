//! The ways to launch a kernel.

use super::Run;
use super::config::{ElementWork, Launch, Options};
use super::observers::{Observers, Records};
use super::outcome::Outcome;
use super::schedule::Schedule;
use super::setup::Setup;
use crate::error::LaunchError;
use crate::instruments::count::counts::Counters;
use crate::instruments::provenance::Provenance;
use crate::instruments::recording::{Recorder, Recording, RecordingRequest};
use crate::machine::block::{BlockStatus, InstructionQuota};
use crate::memory::Memory;
use crate::program::module::{Kernel, Module};

/// Runs one kernel to its end. Blocks run in parallel with the same result at every run.
///
/// After an [`EndlessLoop`](crate::finding::EndlessLoop) or a [`StackOverflow`](crate::finding::StackOverflow), blocks behind
/// the one that found it may not have run.
///
/// # Errors
/// The device could not start the kernel: it is refused, the configuration is out of the limits, or the parameters do not
/// match.
pub fn launch(
    module: &Module,
    kernel: &Kernel,
    launch: &Launch,
    memory: &mut Memory,
    options: &Options,
) -> Result<Outcome, LaunchError> {
    let setup = Setup::new(module, kernel, launch, memory, options)?;
    let env = setup.env();
    Ok(Run::new(&setup.grid(&env), options, true, false).all().0)
}

/// Like [`launch()`], with counters of the same run: findings and output are the same as without them.
///
/// # Errors
/// As [`launch()`].
pub fn launch_profiled(
    module: &Module,
    kernel: &Kernel,
    launch: &Launch,
    memory: &mut Memory,
    options: &Options,
) -> Result<(Outcome, Counters), LaunchError> {
    let setup = Setup::new(module, kernel, launch, memory, options)?;
    Ok(counted(&setup, options, true))
}

/// Like [`launch_profiled`] without the checks: the counters alone, which are the same.
///
/// # Errors
/// As [`launch()`].
pub fn launch_counted(
    module: &Module,
    kernel: &Kernel,
    launch: &Launch,
    memory: &mut Memory,
    options: &Options,
) -> Result<Counters, LaunchError> {
    let setup = Setup::new(module, kernel, launch, memory, options)?;
    Ok(counted(&setup, options, false).1)
}

fn counted(setup: &Setup, options: &Options, checked: bool) -> (Outcome, Counters) {
    let env = setup.env();
    let (outcome, counters, endless) = Run::new(&setup.grid(&env), options, checked, true).all();
    let counters = counters.map(|counter| counter.finish(setup.kernel));
    (outcome, Counters { endless, ..counters.unwrap_or_default() })
}

/// As [`launch()`], in another order of blocks and warps and without the checks; of `options`, the budget counts. True if every
/// block ran to its end without a mistake: one that waits for another block may not, so a cooperative launch, or one with
/// clusters, is not tried.
///
/// # Errors
/// As [`launch()`].
pub fn launch_reordered(
    module: &Module,
    kernel: &Kernel,
    launch: &Launch,
    memory: &mut Memory,
    options: &Options,
    schedule: Schedule,
) -> Result<bool, LaunchError> {
    let setup = Setup::new(module, kernel, launch, memory, options)?;
    let env = setup.env();
    let grid = setup.grid(&env);
    if options.cooperative || grid.has_clusters() {
        return Ok(false);
    }
    let observers = Observers { checks: None, records: None };
    let mut right = true;
    grid.run_sequentially(
        observers,
        schedule,
        |_| true,
        |state, ended| {
            right = ended != BlockStatus::Endless && state.log.raw.is_empty();
            right
        },
    );
    Ok(right)
}

/// As [`launch()`], with the provenance of each value, some hundred times slower and without findings.
///
/// Several launches may share a provenance, as they share the memory. Where a limit is reached, later blocks do not run.
///
/// # Errors
/// As [`launch()`].
pub fn launch_with_provenance(
    module: &Module,
    kernel: &Kernel,
    launch: &Launch,
    memory: &mut Memory,
    options: &Options,
    provenance: &mut Provenance,
) -> Result<(), LaunchError> {
    let options = Options {
        budget: options.budget.min(provenance.max_steps),
        element: ElementWork::default(),
        ..options.clone()
    };
    let setup = Setup::new(module, kernel, launch, memory, &options)?;
    let env = setup.env();
    let grid = setup.grid(&env);
    if options.cooperative || grid.has_clusters() {
        // Blocks that wait for each other cannot be followed one by one.
        provenance.lost = true;
        return Ok(());
    }
    provenance.begin(env.program, grid.start.warps);
    if !provenance.is_complete() {
        return Ok(());
    }
    let only = provenance.only;
    let records = Records { provenance: Some(provenance), ..Records::default() };
    let wanted = |block| only.is_none_or(|only| only == block);
    let observers = Observers { checks: None, records: Some(records) };
    grid.run_sequentially(observers, Schedule::Ascending, wanted, |state, _| {
        let records = state.monitor.records.as_ref();
        let provenance = records.and_then(|records| records.provenance.as_ref());
        provenance.is_some_and(|provenance| provenance.is_complete())
    });
    Ok(())
}

/// As [`launch()`], with a recording of one block and without the checks. Its warps take turns after a few instructions, so that
/// it shows them side by side.
///
/// # Errors
/// As [`launch()`].
pub fn launch_recorded(
    module: &Module,
    kernel: &Kernel,
    launch: &Launch,
    memory: &mut Memory,
    options: &Options,
    request: RecordingRequest,
) -> Result<Recording, LaunchError> {
    /// Instructions of a warp before the next one runs.
    const TURN: u64 = 8;
    let setup = Setup::new(module, kernel, launch, memory, options)?;
    let env = setup.env();
    let grid = setup.grid(&env);
    if grid.has_clusters() {
        return Err(LaunchError::Configuration(
            "a launch with clusters cannot be recorded, since its blocks run one after another then"
                .to_owned(),
        ));
    }
    let records = Records { recorder: Some(Recorder::new(request)), ..Records::default() };
    let mut block = grid.storage(Observers { checks: None, records: Some(records) });
    let quota = InstructionQuota { warp: TURN, ..InstructionQuota::UNLIMITED };
    for index in 0..grid.blocks() {
        let records = block.state.monitor.records.as_mut();
        if let Some(recorder) = records.and_then(|records| records.recorder.as_mut()) {
            recorder.begin(grid.coordinates(index), grid.start.warps as usize);
        }
        if grid.run_alone(&mut block, index, quota) == BlockStatus::Endless {
            break;
        }
    }
    let recorder = block.state.monitor.records.and_then(|records| records.recorder);
    Ok(recorder.map(Recorder::finish).unwrap_or_default())
}
