//! The fast path for a loop nest: sums of products of exact data.

use std::ops::ControlFlow;

use crate::evaluate::data::{Accumulators, TensorData};
use crate::evaluate::iteration_space::{IterationSpace, Row};
use crate::evaluate::nest_run::NestRun;
use crate::integer::affine::Affine;
use crate::lower::nest::{Array, LoopNest, Subscript};

/// The factor, if the nest's body is a number times a product of exact data, read at affine subscripts.
pub(crate) fn constant_factor(run: &NestRun<'_>) -> Option<f64> {
    let LoopNest { reads, product, guards, .. } = run.nest;
    let exact = reads.iter().all(|read| match read.array {
        Array::Tensor(id) => run.tensors[id].as_ref().is_some_and(TensorData::is_exact),
        Array::Temporary(_) => false,
    });
    let affine = reads.iter().all(|read| read.affine_subscripts().is_some());
    let plain = guards.iter().all(|guard| matches!(guard.slack, Subscript::Affine(_)));
    product.filter(|_| exact && affine && plain)
}

/// Adds `factor` times the product of all reads to the target, whose flat address is the tracked form `to`.
pub(crate) fn add_products(
    run: &NestRun<'_>,
    space: &mut IterationSpace,
    factor: f64,
    to: usize,
    target: &mut Accumulators,
) {
    let mut factors: Vec<(usize, &[f64])> = Vec::new();
    for read in &run.nest.reads {
        let (Some(layout), Some(affine)) = (run.layout(read), read.affine_subscripts()) else {
            return;
        };
        let Array::Tensor(id) = read.array else { return };
        let Some(data) = &run.tensors[id] else { return };
        if read.padded {
            for (affine, &size) in affine.iter().zip(&layout.shape) {
                space.constrain(affine, 0, size as i64 - 1);
            }
        }
        let address = Affine::flat_address(&affine, &layout.strides);
        factors.push((space.track(&address), &data.values));
    }
    let _ = space.rows(&mut |row| {
        let at = |form: usize, lane: usize| row.value(form, lane) as usize;
        match factors.as_slice() {
            [(f, a)] => accumulate(target, row, to, |l| factor * a[at(*f, l)]),
            [(f, a), (g, b)] => {
                accumulate(target, row, to, |l| factor * a[at(*f, l)] * b[at(*g, l)]);
            }
            all => accumulate(target, row, to, |l| {
                all.iter().fold(factor, |product, (f, a)| product * a[at(*f, l)])
            }),
        }
        ControlFlow::Continue(())
    });
}

/// Adds `term(iteration)` for a whole row.
#[inline]
fn accumulate(target: &mut Accumulators, row: &Row<'_>, to: usize, term: impl Fn(usize) -> f64) {
    if row.step(to) == 0 {
        let first = row.value(to, 0) as usize;
        let (mut value, mut magnitude) = (0.0, 0.0);
        for lane in 0..row.count {
            let term = term(lane);
            value += term;
            magnitude += term.abs();
        }
        target.value[first] += value;
        target.magnitude[first] += magnitude;
        target.terms[first] += row.count as f64;
    } else {
        for lane in 0..row.count {
            let at = row.value(to, lane) as usize;
            let term = term(lane);
            target.value[at] += term;
            target.magnitude[at] += term.abs();
            target.terms[at] += 1.0;
        }
    }
}
