//! Sets the products of a kernel beside those of the formula.

use super::formula_terms;
use crate::case::Case;
use crate::expansion::{self, ElementTerms, Factor, KernelSum};
use crate::tensor::Tensor;

/// How far the value of the kernel's products may be from what it computed, of the sum of their absolute values:
/// roundings are no reason to doubt that they are its own.
const DOUBT: f64 = 1e-2;

/// The products of an element, formula and kernel side by side. None where the formula is no sum of products, or where
/// the kernel's do not add up to what it computed (`got`): then something was not followed.
pub fn element_terms(
    case: &Case,
    tensor: &Tensor,
    flat: usize,
    sum: &KernelSum,
    got: f64,
) -> Option<ElementTerms> {
    let formula = formula_terms(case, tensor, flat)?;
    adds_up(case, sum, got).then(|| expansion::compare(&formula, sum, |f| value(case, f)))
}

/// Terms of other elements that are looked at to name a line.
const MAX_WORK: usize = 20_000;

/// Names the line to look at with the help of the kernel's text.
pub fn name_line(
    terms: &mut ElementTerms,
    case: &Case,
    tensor: &Tensor,
    flat: usize,
    sum: &KernelSum,
    source: &str,
) {
    if terms.equal() {
        return;
    }
    let mut work = 0;
    let mut other = None;
    let mut all = Vec::new();
    for element in 0..tensor.len() {
        let Some(formula) = formula_terms(case, tensor, element) else { break };
        work += formula.len() + 1;
        if work > MAX_WORK {
            break;
        }
        if other.is_none()
            && element != flat
            && !formula.is_empty()
            && formula.len() == sum.terms.len()
            && expansion::compare(&formula, sum, |_| None).equal()
        {
            other = Some(tensor.coords(element));
        }
        all.push(formula);
    }
    // What was not seen whole has no ranges.
    let indices = if all.len() == tensor.len() {
        expansion::index_ranges(all.iter().flatten())
    } else {
        Vec::new()
    };
    let evidence = expansion::Evidence {
        source,
        case,
        sum,
        coords: &tensor.coords(flat),
        other: other.as_deref(),
        indices: &indices,
    };
    terms.line = expansion::locate(terms, &evidence);
}

/// The formula gives the same products of an element for other inputs: it makes no choice by their values.
pub fn formula_is_general(case: &Case, tensor: &Tensor, flat: usize) -> bool {
    let mut others = case.known.clone();
    for (place, value) in others.values_mut().flatten().enumerate() {
        *value = -*value - 1.0 - place as f64 / 7.0;
    }
    let products = |case: &Case| {
        let terms = formula_terms(case, tensor, flat)?;
        Some(terms.into_iter().map(|t| (t.coefficient, t.factors)).collect::<Vec<_>>())
    };
    let here = products(case);
    here.is_some() && here == products(&Case { known: others, ..case.clone() })
}

fn adds_up(case: &Case, sum: &KernelSum, got: f64) -> bool {
    let mut total = 0.0;
    let mut size = 0.0;
    for term in &sum.terms {
        let mut factors = term.factors.iter().map(|f| value(case, &f.factor));
        let Some(product) = factors.try_fold(term.coefficient, |all, f| Some(all * f?)) else {
            // Some value is not known: nothing to hold against it.
            return true;
        };
        total += product;
        size += product.abs();
    }
    got.is_nan() || (total - got).abs() <= DOUBT * size
}

fn value(case: &Case, factor: &Factor) -> Option<f64> {
    let Factor::Element(element) = factor else { return None };
    let values = case.known.get(&element.tensor)?;
    let shape = case.formula.shape(&element.tensor)?;
    let mut flat = 0;
    for (&at, &size) in element.coords.iter().zip(shape) {
        flat = flat * size + usize::try_from(at).ok()?;
    }
    values.get(flat).copied()
}
