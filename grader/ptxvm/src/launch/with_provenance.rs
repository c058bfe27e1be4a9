//! Runs a launch with its shadow, block after block.

use crate::error::LaunchError;
use crate::instruments::provenance::tracker::Shadow;
use crate::launch::grid::{
    Launch, Options, Start, block_coordinates, check_configuration, parameters,
};
use crate::machine::block::Turns;
use crate::machine::exec::state::{BlockState, Env};
use crate::machine::monitor::Monitor;
use crate::machine::simd::dispatch;
use crate::machine::warp::state::Warp;
use crate::memory::global::Memory;
use crate::program::module::{Kernel, Module};
use crate::program::variables::place_variables;

/// As [`launch()`](crate::launch()), with the shadow of each value, some hundred times slower and without findings.
///
/// Several launches may share a shadow, as they share the memory. Where a limit is reached, later blocks do not run.
///
/// # Errors
/// As [`launch()`](crate::launch()).
pub fn launch_shadowed(
    module: &Module,
    kernel: &Kernel,
    launch: &Launch,
    memory: &mut Memory,
    options: &Options,
    shadow: &mut Shadow,
) -> Result<(), LaunchError> {
    if options.cooperative {
        // Blocks that wait for each other cannot be followed one by one.
        shadow.lost = true;
        return Ok(());
    }
    let layout = check_configuration(kernel, launch)?;
    let params = parameters(kernel, launch)?;
    let first_variable = place_variables(module, memory);
    let constants = module.constants(first_variable);
    let env = Env {
        program: &kernel.program,
        memory,
        constants: &constants,
        params: &params,
        block_size: launch.block,
        budget: options.budget.min(shadow.max_steps),
        workspace: 0,
        simd: dispatch::best(),
    };
    let start = Start::new(&env, launch, &layout, first_variable);
    shadow.begin(env.program, start.warps);
    let mut state = BlockState::new(start.warps, shadow);
    let mut warps: Vec<Warp> = (0..start.warps).map(|_| Warp::new(env.program)).collect();
    let blocks = launch.grid.iter().map(|&count| u64::from(count)).product();
    for index in 0..blocks {
        if !state.monitor.is_complete() {
            break;
        }
        let coordinates = block_coordinates(index, launch.grid);
        if state.monitor.only.is_some_and(|only| only != coordinates) {
            continue;
        }
        state.begin(coordinates, &start.shared);
        state.monitor.block_start(start.shared_bytes, start.warps);
        for (warp, number) in warps.iter_mut().zip(0u32..) {
            let threads = (start.threads - number * 32).min(32);
            warp.restart(&start.registers, number, u32::MAX >> (32 - threads));
            start.vary(warp, env.block_size, state.coordinates);
        }
        Turns { env: &env, state: &mut state, warps: &mut warps }.run(|| false);
    }
    Ok(())
}
