//! Runs one loop nest: chooses the order of its loops, and the fast or the general path.

use crate::error::Result;
use crate::evaluate::address::Address;
use crate::evaluate::analysis::{add_profile, body_profile};
use crate::evaluate::data::Accumulators;
use crate::evaluate::interpreter::interpret;
use crate::evaluate::iteration_space::{IterationSpace, Loop};
use crate::evaluate::nest_run::{NestRun, Wanted};
use crate::evaluate::products::{add_products, constant_factor};
use crate::integer::affine::Affine;
use crate::lower::nest::{Array, Subscript};

/// More than any guard's two sides are apart.
const MAX_SLACK: i64 = 1 << 50;

/// The cost of starting a row, in iterations.
const ROW_COST: f64 = 30.0;

/// Runs a nest, and adds its values to `target`.
///
/// # Errors
/// Elements of integer tensors that lead a subscript outside, or that are not exact integers.
pub(crate) fn run_nest(run: &NestRun<'_>, target: &mut Accumulators) -> Result<()> {
    let (profile, error_models) = body_profile(run, target.compute_type);
    add_profile(run, target, profile);
    let mut space = iteration_space(run);
    for guard in &run.nest.guards {
        if let Subscript::Affine(slack) = &guard.slack {
            space.constrain(slack, 0, MAX_SLACK);
        }
    }
    let to = target_address(run, &mut space, target);
    match (&to, run.nest.target.array, constant_factor(run)) {
        (Address::Flat(to), Array::Tensor(_), Some(factor)) => {
            add_products(run, &mut space, factor, *to, target);
            Ok(())
        }
        _ => interpret(run, &mut space, &to, target, &error_models),
    }
}

/// The loops of a nest, the best one for rows last.
fn iteration_space(run: &NestRun<'_>) -> IterationSpace {
    let loops = run.nest.loops.iter();
    let mut loops: Vec<Loop> = loops
        .map(|&index| Loop { index, low: run.ranges[index].start, high: run.ranges[index].end })
        .collect();
    let costs: Vec<f64> = loops.iter().map(|l| row_cost(run, l)).collect();
    let cheapest = (0..loops.len()).min_by(|&a, &b| costs[a].total_cmp(&costs[b]));
    if let Some(position) = cheapest {
        let inner = loops.remove(position);
        loops.push(inner);
    }
    IterationSpace::new(loops)
}

/// About what an iteration costs where rows run along `l`: a share of starting the row, and for each
/// array how far apart its elements are.
fn row_cost(run: &NestRun<'_>, l: &Loop) -> f64 {
    let accesses = run.nest.reads.iter().chain([&run.nest.target]);
    let strides = accesses.filter_map(|access| {
        let affine = access.affine_subscripts()?;
        Some(Affine::flat_address(&affine, run.strides(access)).coefficient(l.index))
    });
    let distance: f64 = strides.map(|stride| stride.unsigned_abs().min(64) as f64).sum();
    ROW_COST / (l.high - l.low).max(1) as f64 + distance / 16.0
}

/// How the element of the target is found. The space is constrained so that it lies inside, and is the element that is wanted.
fn target_address(run: &NestRun<'_>, space: &mut IterationSpace, target: &Accumulators) -> Address {
    let access = &run.nest.target;
    let Some(layout) = run.layout(access) else {
        return Address::Flat(space.track(&target.address()));
    };
    for (axis, subscript) in access.subscripts.iter().enumerate() {
        if let Subscript::Affine(affine) = subscript {
            match run.wanted.coordinates(axis) {
                Some(some) => space.constrain(affine, some.start, some.end - 1),
                None if access.padded => space.constrain(affine, 0, layout.shape[axis] as i64 - 1),
                None => {}
            }
        }
    }
    match (access.affine_subscripts(), run.wanted) {
        (Some(_), Wanted::Element(_)) => Address::Flat(space.track(&Affine::default())),
        (Some(affine), Wanted::Slice(slice)) => {
            let mut flat = Affine::flat_address(&affine, slice.strides);
            flat.constant -= slice.first();
            Address::Flat(space.track(&flat))
        }
        (Some(affine), Wanted::All) => {
            Address::Flat(space.track(&Affine::flat_address(&affine, &layout.strides)))
        }
        (None, _) => Address::by_axes(space, access, &run.lowered.tensors),
    }
}
