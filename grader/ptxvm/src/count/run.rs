//! Runs a launch with counters, block after block.

use super::Counters;
use super::monitor::Counter;
use crate::block::{Ended, Turns};
use crate::error::LaunchError;
use crate::exec::{BlockState, Env};
use crate::finding::Log;
use crate::grid::{
    Launch, Options, Start, block_coordinates, check_configuration, parameters, place_variables,
};
use crate::hooks::Monitor;
use crate::memory::flat::Flat;
use crate::memory::global::Memory;
use crate::program::{Kernel, Module};
use crate::simd;
use crate::warp::Warp;

/// As [`launch`](crate::launch), with counters instead of findings. Blocks run one after another, so that the numbers
/// do not depend on the host; of `options`, the budget counts.
///
/// # Errors
/// As [`launch`](crate::launch).
pub fn launch_counted(
    module: &Module,
    kernel: &Kernel,
    launch: &Launch,
    memory: &mut Memory,
    options: &Options,
) -> Result<Counters, LaunchError> {
    let layout = check_configuration(kernel, launch)?;
    let params = parameters(kernel, launch)?;
    let first_variable = place_variables(module, memory);
    let env = Env {
        program: &kernel.program,
        memory,
        constants: &module.constants,
        params: &params,
        block_size: launch.block,
        budget: options.budget,
        simd: simd::best(),
    };
    let start = Start::new(&env, launch, &layout, first_variable);
    let mut state = BlockState {
        shared: Flat::default(),
        log: Log::default(),
        printed: String::new(),
        monitor: Counter::new(env.program),
        coordinates: [0; 3],
        lane_instructions: 0,
    };
    let mut warps: Vec<Warp> = (0..start.warps).map(|_| Warp::new(env.program)).collect();
    let blocks = launch.grid.iter().map(|&count| u64::from(count)).product();
    let mut endless = false;
    for index in 0..blocks {
        state.coordinates = block_coordinates(index, launch.grid);
        state.shared.reset_from(&start.shared);
        state.monitor.block_start(start.shared_bytes, start.warps);
        // Nobody reads them, and they would pile up.
        state.log.raw.clear();
        state.printed.clear();
        for (warp, number) in warps.iter_mut().zip(0u32..) {
            let threads = (start.threads - number * 32).min(32);
            warp.restart(&start.registers, number, u32::MAX >> (32 - threads));
            start.vary(warp, env.block_size, state.coordinates);
        }
        let turns = Turns { env: &env, state: &mut state, warps: &mut warps };
        if turns.run(|| false) == Ended::Endless {
            endless = true;
            break;
        }
    }
    Ok(Counters { endless, ..state.monitor.finish(env.program) })
}
