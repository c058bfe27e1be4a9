//! The products that the formula sums.

use indexmath::{ElementRef, Term};
use puzzle::case::Case;
use puzzle::tensor::Tensor;

/// An element with more terms than this is not listed: `LeNet`'s conv2 has 400, a weight gradient at batch 64 has 4,096.
const MAX_TERMS: usize = 5_000;

/// The products of an element of an output; `None` where the formula is not a sum of products, or sums too many.
pub fn formula_terms(case: &Case, tensor: &Tensor, flat: usize) -> Option<Vec<Term>> {
    let known = case.known_for(&tensor.name);
    let results = |name: &str| case.expected(name);
    // An element that the formula cannot list is no mistake of the student: the report goes without the list.
    case.formula.terms_with(&known, &results, &element(tensor, flat), MAX_TERMS).ok().flatten()
}

/// The products of the same element if the inputs of `case` were others, with which nothing was evaluated before.
pub(super) fn formula_terms_anew(case: &Case, tensor: &Tensor, flat: usize) -> Option<Vec<Term>> {
    let known = case.known_for(&tensor.name);
    case.formula.terms(&known, &element(tensor, flat), MAX_TERMS).ok().flatten()
}

fn element(tensor: &Tensor, flat: usize) -> ElementRef {
    let coords = tensor.coords(flat).into_iter().map(|c| c as i64).collect();
    ElementRef { tensor: tensor.name.clone(), coords }
}
