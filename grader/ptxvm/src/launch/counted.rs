//! Runs a launch with counters, block after block.

use crate::instruments::count::counts::Counters;
use crate::instruments::count::monitor::Counter;
use std::collections::VecDeque;

use crate::error::LaunchError;
use crate::launch::cooperative;
use crate::launch::grid::{
    Launch, Options, Outcome, Start, check_configuration, launch_with, parameters,
};
use crate::launch::residents::{FIRST_TURN, Resident, TURN, take_turns};
use crate::machine::block::Ended;
use crate::machine::exec::state::Env;
use crate::machine::simd::dispatch;
use crate::memory::global::Memory;
use crate::program::module::{Kernel, Module};
use crate::program::variables::place_variables;

/// As [`launch()`](crate::launch()), with counters of the same run besides: what it finds and prints is what it would find and
/// print without them. The counters are those of [`launch_counted`], but where blocks wait for each other in loops: there
/// blocks take other turns, and so look more or less often.
///
/// # Errors
/// As [`launch()`](crate::launch()).
pub fn launch_profiled(
    module: &Module,
    kernel: &Kernel,
    launch: &Launch,
    memory: &mut Memory,
    options: &Options,
) -> Result<(Outcome, Counters), LaunchError> {
    let (outcome, counter, endless) =
        launch_with::<Counter>(module, kernel, launch, memory, options)?;
    Ok((outcome, Counters { endless, ..counter.finish(kernel) }))
}

/// As [`launch()`](crate::launch()), with counters instead of findings. Blocks run one after another, so that the numbers
/// do not depend on the host; of `options`, the budget counts.
///
/// # Errors
/// As [`launch()`](crate::launch()).
pub fn launch_counted(
    module: &Module,
    kernel: &Kernel,
    launch: &Launch,
    memory: &mut Memory,
    options: &Options,
) -> Result<Counters, LaunchError> {
    let layout = check_configuration(kernel, launch)?;
    let params = parameters(kernel, launch)?;
    let workspace = if options.cooperative {
        cooperative::workspace(memory, launch, layout.packed)?
    } else {
        0
    };
    let first_variable = place_variables(module, memory);
    let constants = module.constants(first_variable);
    let env = Env {
        program: &kernel.program,
        memory,
        constants: &constants,
        params: &params,
        block_size: launch.block,
        budget: options.budget,
        workspace,
        simd: dispatch::best(),
    };
    let start = Start::new(&env, launch, &layout, first_variable);
    let blocks: u64 = launch.grid.iter().map(|&count| u64::from(count)).product();
    let room = if options.cooperative || env.program.polls {
        cooperative::room(launch, layout.packed)
    } else {
        1
    };
    let storage = || Resident::new(env.program, start.warps, Counter::new(env.program));
    let mut counter = Counter::new(env.program);
    let (mut next, mut endless) = (0, false);
    let begin = |free: Option<Resident<Counter>>, _: &mut Counter| {
        let index = next;
        next += 1;
        (index < blocks).then(|| {
            let mut resident = free.unwrap_or_else(storage);
            // Nobody reads them, and they would pile up.
            resident.state.log.raw.clear();
            resident.state.printed.clear();
            start.begin(&env, launch.grid, &mut resident, index);
            resident
        })
    };
    let end = |_: &mut Resident<Counter>, ended: Ended| {
        endless = ended == Ended::Endless;
        !endless
    };
    let first = if options.cooperative { TURN } else { FIRST_TURN };
    take_turns(&env, &mut counter, &mut VecDeque::new(), room, first, begin, end);
    Ok(Counters { endless, ..counter.finish(kernel) })
}
