//! Reductions that are not sums, under construction.

use crate::evaluate::data::Accumulators;
use crate::evaluate::extremum::Extrema;
use crate::rounding::enclosure::Enclosure;
use crate::rounding::format::Format;
use crate::rounding::product::RunningProduct;
use crate::syntax::operators::Reduction;

/// The reduction of each element so far.
#[derive(Debug)]
pub(crate) enum Folds {
    Extrema(Extrema),
    Products(Products),
}

impl Folds {
    /// No values yet, for `len` elements.
    pub(crate) fn new(reduction: Reduction, len: usize) -> Self {
        if reduction == Reduction::Prod {
            Self::Products(Products { all: vec![RunningProduct::ONE; len] })
        } else {
            Self::Extrema(Extrema::new(reduction, len))
        }
    }

    /// Stores the results as the values of a temporary, in a kernel that computes in `format`.
    pub(crate) fn finish(self, into: &mut Accumulators, format: &Format) {
        match self {
            Self::Extrema(extrema) => extrema.finish(into),
            Self::Products(products) => products.finish(into, format),
        }
    }
}

/// The product of each element so far.
#[derive(Debug)]
pub(crate) struct Products {
    all: Vec<RunningProduct>,
}

impl Products {
    /// Multiplies the element `at` by a factor.
    pub(crate) fn enter(&mut self, at: usize, factor: Enclosure) {
        self.all[at].multiply(factor);
    }

    fn finish(self, into: &mut Accumulators, format: &Format) {
        for (at, product) in self.all.iter().enumerate() {
            let Enclosure { value, error } = product.enclosure(format);
            into.value[at] = value;
            into.magnitude[at] = value.abs();
            into.terms[at] = 1.0;
            into.propagated[at] = error;
        }
        into.most_terms = 1.0;
    }
}
