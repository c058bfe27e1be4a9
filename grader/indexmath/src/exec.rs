//! Runs statements: value, magnitude, number of terms and inherited error of every element at once.

use std::borrow::Cow;

use crate::affine::{Affine, Sub};
use crate::bound::{Approx, Facts, Sum, store};
use crate::ir::IndexId;
use crate::lower::{Array, Lowered, Nests, PartNests, strides};
use crate::runner::Runner;
use crate::shape::DType;

/// A tensor's values, and what they may be off.
#[derive(Clone, Debug)]
pub(crate) struct Data<'a> {
    pub values: Cow<'a, [f64]>,
    /// Empty: exact.
    pub errors: Vec<f64>,
    pub facts: Facts,
}

impl<'a> Data<'a> {
    pub(crate) fn exact(values: &'a [f64]) -> Self {
        Self { values: Cow::Borrowed(values), errors: Vec::new(), facts: Facts::data(values) }
    }

    pub(crate) fn computed(elements: &[Approx]) -> Self {
        let values: Vec<f64> = elements.iter().map(|element| element.value).collect();
        let exact = elements.iter().all(|element| element.bound == 0.0);
        let errors = elements.iter().map(|element| element.bound);
        let errors = if exact { Vec::new() } else { errors.collect() };
        let facts = Facts::data(&values);
        Self { values: Cow::Owned(values), errors, facts }
    }
}

/// Sums under construction: the target, or a temporary.
#[derive(Debug)]
pub(crate) struct Sums {
    pub value: Vec<f64>,
    pub magnitude: Vec<f64>,
    pub terms: Vec<f64>,
    pub inherited: Vec<f64>,
    pub facts: Facts,
    /// Roundings may conspire.
    pub regular: bool,
    /// Terms of one element, at most, and additions on the way to it.
    pub most_terms: f64,
    /// For a temporary: its axes, the first value of each, and the strides.
    pub axes: Vec<(IndexId, i64, i64)>,
    /// Of the statement's target.
    pub dtype: DType,
}

impl Sums {
    fn new(len: usize, axes: Vec<(IndexId, i64, i64)>, dtype: DType) -> Self {
        let zero = vec![0.0; len];
        Self {
            value: zero.clone(),
            magnitude: zero.clone(),
            terms: zero.clone(),
            inherited: zero,
            facts: Facts::NOTHING,
            regular: false,
            most_terms: 0.0,
            axes,
            dtype,
        }
    }

    pub(crate) fn address(&self) -> Affine {
        Affine {
            constant: -self.axes.iter().map(|(_, low, stride)| low * stride).sum::<i64>(),
            terms: self.axes.iter().map(|(id, _, stride)| (*id, *stride)).collect(),
        }
    }
}

/// Runs a statement: all elements of its target, or only the one at `element`.
pub(crate) fn run(
    lowered: &Lowered,
    nests: &Nests,
    tensors: &[Option<Data<'_>>],
    element: Option<&[i64]>,
) -> Vec<Approx> {
    let layout = &lowered.tensors[nests.target];
    let len = if element.is_some() { 1 } else { layout.len };
    let mut target = Sums::new(len, Vec::new(), layout.dtype);
    for part in &nests.parts {
        run_part(lowered, part, tensors, element, &mut target);
    }
    let facts = &target.facts;
    (0..len)
        .map(|place| {
            let sum = Sum {
                value: target.value[place],
                magnitude: target.magnitude[place],
                terms: target.terms[place],
                inherited: target.inherited[place],
            };
            store(sum, facts, target.regular, layout.dtype)
        })
        .collect()
}

fn run_part(
    lowered: &Lowered,
    part: &PartNests,
    tensors: &[Option<Data<'_>>],
    element: Option<&[i64]>,
    target: &mut Sums,
) {
    let mut temporaries: Vec<Sums> = Vec::new();
    let ranges = ranges(lowered, part, element);
    for axes in &part.temporaries {
        let shape: Vec<usize> =
            axes.iter().map(|&id| (ranges[id].1 - ranges[id].0) as usize).collect();
        let axes = axes.iter().zip(strides(&shape)).map(|(&id, stride)| (id, ranges[id].0, stride));
        temporaries.push(Sums::new(shape.iter().product(), axes.collect(), target.dtype));
    }
    for nest in &part.nests {
        let runner = Runner { lowered, nest, tensors, ranges: &ranges };
        match nest.target.array {
            Array::Tensor(_) => runner.run(target, &temporaries, element),
            Array::Temporary(place) => {
                // A temporary reads only those that were complete before it: the later ones.
                let mut own = std::mem::replace(
                    &mut temporaries[place],
                    Sums::new(0, Vec::new(), target.dtype),
                );
                runner.run(&mut own, &temporaries, None);
                temporaries[place] = own;
            }
        }
    }
}

/// The values of each index that matter for `element`: one, where it is a subscript of the target.
fn ranges(lowered: &Lowered, part: &PartNests, element: Option<&[i64]>) -> Vec<(i64, i64)> {
    let mut ranges: Vec<(i64, i64)> = lowered.ranges.iter().map(|&range| (0, range)).collect();
    let Some(element) = element else { return ranges };
    let targets = part.nests.iter().filter(|nest| matches!(nest.target.array, Array::Tensor(_)));
    for nest in targets {
        for (sub, &coordinate) in nest.target.subs.iter().zip(element) {
            if let Sub::Affine(affine) = sub
                && let [(id, 1)] = affine.terms.as_slice()
            {
                let at = coordinate - affine.constant;
                let (low, high) = ranges[*id];
                ranges[*id] = (at.max(low), (at + 1).min(high).max(at.max(low)));
            }
        }
    }
    ranges
}
