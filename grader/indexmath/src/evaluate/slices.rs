//! A tensor that is computed slice by slice along an axis, each from those before it.

use std::borrow::Cow;

use crate::evaluate::data::{Accumulators, TensorData};
use crate::lower::nest::{Layout, LoweredRecurrence, Running, TensorId};
use crate::rounding::bound::{Approx, RunningSum, store};
use crate::rounding::profile::RoundingProfile;

/// The slices so far.
pub(crate) struct Slices {
    pub elements: Vec<Approx>,
    /// The number of elements in a slice.
    pub len: usize,
    /// For each axis of the tensor: how many elements apart neighbours are in a slice; 0 for the axis of the slices.
    pub strides: Vec<i64>,
    /// The positions in the tensor of a slice's elements, for the slice at 0.
    places: Vec<usize>,
    stride: usize,
    values: Vec<f64>,
    /// The error bounds of the values.
    errors: Vec<f64>,
    profile: RoundingProfile,
    /// Whether errors are propagated by contributions of their own, which read them as a tensor.
    apart: bool,
    /// The sums of the slice before, where they run on from slice to slice.
    sums: Vec<RunningSum>,
}

impl Slices {
    pub(crate) fn new(layout: &Layout, recurrence: &LoweredRecurrence, apart: bool) -> Self {
        let axis = recurrence.axis;
        let mut strides = vec![0; layout.shape.len()];
        let mut len = 1;
        for other in (0..layout.shape.len()).rev().filter(|other| *other != axis) {
            strides[other] = len as i64;
            len *= layout.shape[other];
        }
        let first = |flat: &usize| layout.coords(*flat)[axis] == 0;
        let nothing = Approx { value: 0.0, bound: 0.0, magnitude: 0.0, terms: 0 };
        Self {
            elements: vec![nothing; layout.len],
            len,
            strides,
            places: (0..layout.len).filter(first).collect(),
            stride: layout.strides[axis] as usize,
            values: vec![0.0; layout.len],
            errors: vec![0.0; layout.len],
            profile: RoundingProfile::EXACT,
            apart,
            sums: Vec::new(),
        }
    }

    /// Lets statements read what there is so far.
    pub(crate) fn lend(
        &mut self,
        tensors: &mut [Option<TensorData<'_>>],
        target: TensorId,
        error: TensorId,
    ) {
        let values = Cow::Owned(std::mem::take(&mut self.values));
        let errors = std::mem::take(&mut self.errors);
        let (own, apart) = if self.apart { (Vec::new(), errors) } else { (errors, Vec::new()) };
        tensors[target] = Some(TensorData::new(values, own, self.profile));
        let profile = RoundingProfile::EXACT;
        tensors[error] = Some(TensorData::new(Cow::Owned(apart), Vec::new(), profile));
    }

    /// Takes back what was lent.
    pub(crate) fn take_back(
        &mut self,
        tensors: &mut [Option<TensorData<'_>>],
        target: TensorId,
        error: TensorId,
    ) {
        if let (Some(own), Some(apart)) = (tensors[target].take(), tensors[error].take()) {
            self.values = own.values.into_owned();
            self.errors = if self.apart { apart.values.into_owned() } else { own.errors };
        }
    }

    /// Where a slice is a multiple of the one before plus further terms, a kernel may multiply and add all terms of all slices
    /// in any order: a parallel scan (Blelloch, "Prefix Sums and Their Applications", 1990). Widens the bounds to those of
    /// such sums: a term passes a product and a sum for each slice, in any order. `factors` are the sizes of the multiples,
    /// if they are not 1.
    pub(crate) fn allow_any_order(
        &mut self,
        recurrence: &LoweredRecurrence,
        at: i64,
        (target, factors): (&Accumulators, Option<&[f64]>),
        elements: &mut [Approx],
        layout: &Layout,
    ) {
        let Some(Running { first, last, .. }) = recurrence.running else { return };
        let runs_on = (first..=last).contains(&at) && !self.sums.is_empty();
        let products = if factors.is_some() { target.profile.roundings.max(1.0) } else { 0.0 };
        let before = if recurrence.backwards { at + 1 } else { at - 1 };
        let mut sums: Vec<RunningSum> = (0..self.len).map(|i| target.sum(i)).collect();
        if runs_on {
            for (i, sum) in sums.iter_mut().enumerate() {
                let flat = self.places[i] + before as usize * self.stride;
                let earlier = self.sums[i];
                let factor = factors.map_or(1.0, |factors| factors[i].abs());
                sum.magnitude += factor * (earlier.magnitude - self.values[flat].abs());
                sum.terms += earlier.terms - 1.0 + products;
                let own = (sum.propagated - factor * self.errors[flat]).max(0.0);
                sum.propagated = factor * earlier.propagated + own;
                let correlated = target.correlated || target.profile.may_correlate(sum.terms);
                let any = store(*sum, &target.profile, (correlated, true), layout.dtype);
                let bound = elements[i].bound.max(any.bound);
                elements[i] = Approx { bound, ..any };
            }
        }
        self.sums = sums;
    }

    /// Puts a slice in its place.
    pub(crate) fn put(&mut self, at: i64, elements: &[Approx], layout: &Layout, axis: usize) {
        let base = at as usize * layout.strides[axis] as usize;
        for (place, element) in self.places.iter().zip(elements) {
            let flat = place + base;
            self.values[flat] = element.value;
            self.errors[flat] = element.bound;
            self.elements[flat] = *element;
        }
        let values: Vec<f64> = elements.iter().map(|element| element.value).collect();
        self.profile = RoundingProfile::either(self.profile, RoundingProfile::of_data(&values));
    }
}
