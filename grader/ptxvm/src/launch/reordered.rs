//! Runs a launch again with its blocks, and the warps of each block, in another order: what no kernel may rely on.

use crate::error::LaunchError;
use crate::launch::grid::{
    Launch, Options, Start, block_coordinates, check_configuration, parameters,
};
use crate::machine::block::{Ended, Turns};
use crate::machine::exec::state::{BlockState, Env};
use crate::machine::monitor::Monitor;
use crate::machine::simd::dispatch;
use crate::machine::warp::state::Warp;
use crate::memory::global::Memory;
use crate::program::module::{Kernel, Module};
use crate::program::variables::place_variables;

/// An order of blocks in a grid, and of warps in a block. [`launch()`](crate::launch()) runs both by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The highest number first.
    Reversed,
    /// Each number once, far from its neighbours, as the seed says.
    Scattered(u64),
}

impl Order {
    /// The number whose turn is at `position`, of `count` in all: a permutation.
    pub fn at(self, position: u64, count: u64) -> u64 {
        match self {
            Self::Reversed => count - 1 - position,
            Self::Scattered(seed) => {
                let mixed = mix(seed);
                // A factor without a common divisor with the count makes a permutation. Near the golden section
                // of the count, neighbours end up far apart.
                let mut factor = (count as f64 * 0.618) as u64 + mixed % (count / 8 + 1);
                while gcd(factor, count) != 1 {
                    factor += 1;
                }
                let (position, count) = (u128::from(position), u128::from(count));
                let shifted = position * u128::from(factor) + u128::from(mix(mixed));
                (shifted % count) as u64
            }
        }
    }
}

/// A step of splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Nobody looks on.
struct Unwatched;

impl Monitor for Unwatched {}

/// As [`launch()`](crate::launch()), in another order and without its checks; of `options`, the budget counts. True if every
/// block ran to its end without a mistake: one that waits for another block may not, so a cooperative launch is not tried.
///
/// # Errors
/// As [`launch()`](crate::launch()).
pub fn launch_reordered(
    module: &Module,
    kernel: &Kernel,
    launch: &Launch,
    memory: &mut Memory,
    options: &Options,
    order: Order,
) -> Result<bool, LaunchError> {
    if let Some(error) = kernel.refusal() {
        return Err(LaunchError::Refused(error.clone()));
    }
    if options.cooperative {
        return Ok(false);
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
        workspace: 0,
        block_size: launch.block,
        budget: options.budget,
        simd: dispatch::best(),
    };
    let start = Start::new(&env, launch, &layout, first_variable);
    let mut state = BlockState::new(start.warps, Unwatched);
    let mut warps: Vec<Warp> = (0..start.warps).map(|_| Warp::new(env.program)).collect();
    let blocks = launch.grid.iter().map(|&count| u64::from(count)).product();
    for position in 0..blocks {
        let coordinates = block_coordinates(order.at(position, blocks), launch.grid);
        state.begin(coordinates, &start.shared);
        state.printed.clear();
        // A warp knows its number; its place in the list is its turn.
        for (warp, turn) in warps.iter_mut().zip(0u32..) {
            let number = order.at(turn.into(), start.warps.into()) as u32;
            let threads = (start.threads - number * 32).min(32);
            warp.restart(&start.registers, number, u32::MAX >> (32 - threads));
            start.vary(warp, env.block_size, state.coordinates);
        }
        let turns = Turns { env: &env, state: &mut state, warps: &mut warps };
        if turns.run(|| false) == Ended::Endless || !state.log.raw.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_is_a_permutation() {
        for count in (1..200).chain([1 << 16, 99_991]) {
            for order in [Order::Reversed, Order::Scattered(1), Order::Scattered(77)] {
                let mut seen = vec![false; count as usize];
                for position in 0..count {
                    seen[order.at(position, count) as usize] = true;
                }
                assert!(seen.iter().all(|&s| s), "{order:?} of {count}");
            }
        }
    }
}
