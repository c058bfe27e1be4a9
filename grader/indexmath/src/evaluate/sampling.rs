//! Stochastic arithmetic: evaluates a formula again and again, with the elements of intermediate tensors moved by as much as
//! rounding may move them, and sees how far the results go (Parker, "Monte Carlo Arithmetic", UCLA CSD-970002, 1997; Vignes,
//! "A stochastic arithmetic for reliable scientific computation", 1993).
//!
//! A bound that is propagated statement by statement takes every error at its worst, and each path of an error for itself. In a
//! variance an error of the mean has no effect, since the differences from it add up to 0; through the layers of a
//! network errors of thousands of neurons meet and cancel. Here an error moves one value, which is read everywhere.
//!
//! The move of an element is the bound of its own roundings, several times what they are in a correct kernel. Signs are
//! drawn for each element, whose results are compared in the mean square; in two further runs all go the same way, upwards and
//! away from zero, as the errors of a function or of truncation may.

use crate::error::Result;
use crate::evaluate::data::{TensorData, Values};
use crate::evaluate::program::{Needed, given, needed};
use crate::evaluate::statement::run_statement;
use crate::lower::nest::{LoweredProgram, TensorId};
use crate::rounding::bound::Approx;
use crate::rounding::format::Format;

/// Runs with random signs.
const RANDOM: u64 = 8;

/// The factor of the root of the mean square over [`RANDOM`] runs. By chance it is a fifth of the true one at 3 elements of
/// 100,000, and then 8 times it is still what the moves of single roundings give at once.
const FACTOR: f64 = 8.0;

/// Bounds are narrow if they are less than this part of the values of their tensor, beside the rounding of the store.
const NARROW: f64 = 1.0 / (1 << 16) as f64;

/// Which way elements are moved.
#[derive(Clone, Copy)]
enum Direction {
    Random(u64),
    Up,
    Outwards,
}

impl Direction {
    fn sign(self, tensor: TensorId, at: usize, value: f64) -> f64 {
        match self {
            Self::Up => 1.0,
            Self::Outwards => 1.0_f64.copysign(value),
            Self::Random(run) => {
                let place = (tensor as u64) << 40 ^ (at as u64) << 8 ^ run;
                if mixed(place) >> 63 == 0 { 1.0 } else { -1.0 }
            }
        }
    }
}

/// The finaliser of `SplitMix64` (Steele, Lea and Flood, OOPSLA 2014).
fn mixed(place: u64) -> u64 {
    let x = place.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// What the runs show of an element.
#[derive(Clone, Copy, Default)]
struct Spread {
    /// The sum of the squares of its distances in random runs, and of its distances in the others.
    squares: f64,
    together: f64,
    /// The greatest bound of its own roundings.
    own: f64,
}

/// Narrows the bounds in `results`, which hold all tensors that were computed for those in `wanted`.
pub(crate) fn sharpen(
    lowered: &LoweredProgram,
    known: &Values,
    wanted: &[TensorId],
    results: &mut [Option<Vec<Approx>>],
) {
    let needed = needed(lowered, known, wanted, &[]);
    if !is_worth_it(lowered, &needed, wanted, results) {
        return;
    }
    let mut spreads: Vec<Vec<Spread>> = results.iter().map(|_| Vec::new()).collect();
    for &id in wanted {
        spreads[id] = vec![Spread::default(); results[id].as_ref().map_or(0, Vec::len)];
    }
    let directions = [Direction::Up, Direction::Outwards].into_iter();
    for direction in directions.chain((0..RANDOM).map(Direction::Random)) {
        // Data for which rounding decides a result, or which are not finite once they are moved.
        if run(lowered, known, &needed, (results, direction), &mut spreads).is_err() {
            return;
        }
    }
    for (elements, spreads) in results.iter_mut().zip(spreads) {
        for (element, Spread { squares, together, own }) in
            elements.iter_mut().flatten().zip(spreads)
        {
            let random = FACTOR * (squares / RANDOM as f64).sqrt();
            let bound = own + together + random;
            // Where nothing is known of an error, samples do not show the worst; and a run may give NaN.
            if bound < element.bound && element.bound.is_finite() {
                element.bound = bound;
            }
        }
    }
}

/// Whether bounds are wide, because of errors in intermediate tensors that are irregular: those of regular data may all be the
/// same, which random signs do not show.
fn is_worth_it(
    lowered: &LoweredProgram,
    needed: &Needed,
    wanted: &[TensorId],
    results: &[Option<Vec<Approx>>],
) -> bool {
    let wide = |id: &&TensorId| {
        let Some(elements) = &results[**id] else { return false };
        let finite = elements.iter().filter(|element| element.value.is_finite());
        let squares: f64 = finite.clone().map(|element| element.value * element.value).sum();
        let typical = (squares / elements.len().max(1) as f64).sqrt();
        let store = Format::of(lowered.tensors[**id].dtype).store_roundoff;
        finite.clone().any(|e| e.bound - store * e.value.abs() > NARROW * typical)
    };
    let mut inexact = false;
    for id in (0..results.len()).filter(|&id| needed.runs[id] && needed.read[id]) {
        let Some(elements) = &results[id] else { continue };
        if elements.iter().all(|element| element.bound == 0.0) {
            continue;
        }
        inexact = true;
        let profile = TensorData::computed(elements).profile;
        if profile.may_correlate(elements.len() as f64) && elements.len() > FEW {
            return false;
        }
    }
    inexact && wanted.iter().any(|id| wide(&id))
}

/// Tensors of so few elements may be regular: the factor covers errors that are all the same.
const FEW: usize = 64;

/// Evaluates once, and enters what comes out into `spreads`.
///
/// # Errors
/// Those of a statement.
fn run(
    lowered: &LoweredProgram,
    known: &Values,
    needed: &Needed,
    (results, direction): (&[Option<Vec<Approx>>], Direction),
    spreads: &mut [Vec<Spread>],
) -> Result<()> {
    let mut data = given(lowered, known, &needed.read)?;
    for statement in lowered.statements.iter().filter(|statement| needed.runs[statement.target]) {
        let id = statement.target;
        let Some(expected) = &results[id] else { continue };
        let elements = run_statement(lowered, statement, &data, None)?;
        for ((spread, moved), element) in spreads[id].iter_mut().zip(&elements).zip(expected) {
            let distance = (moved.value - element.value).abs();
            match direction {
                Direction::Random(_) => spread.squares += distance * distance,
                Direction::Up | Direction::Outwards => spread.together += distance,
            }
            spread.own = spread.own.max(moved.bound);
        }
        if data[id].is_none() && needed.read[id] {
            let moved = elements.iter().zip(expected).enumerate().map(|(at, (moved, element))| {
                // What is exact in every kernel stays where it is.
                let reach = moved.bound.min(element.bound);
                moved.value + direction.sign(id, at, moved.value) * reach
            });
            data[id] = Some(TensorData::moved(moved.collect()));
        }
    }
    Ok(())
}
