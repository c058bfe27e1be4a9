//! Adds to a verdict what was followed of its first wrong element.

use super::trace;
use crate::expansion::{element_terms, formula_terms, name_line, with_own_lines};
use crate::verdict::TestVerdict;
use device::provenance::{KernelSum, Provenance};
use indexmath::ElementRef;
use puzzle::case::Case;

/// Index in `case.tensors` and position of the element whose [`Provenance`] the report can use.
pub fn element_to_trace(case: &Case, verdict: &TestVerdict) -> Option<(usize, usize)> {
    let diff = verdict.diffs.first()?;
    Some((case.output(&diff.tensor.name)?, diff.terms.mismatch.flat))
}

/// Adds the products of the formula to each output that is wrong.
pub fn with_formula(mut verdict: TestVerdict, case: &Case) -> TestVerdict {
    for diff in &mut verdict.diffs {
        diff.terms.formula = formula_terms(case, &diff.tensor, diff.terms.mismatch.flat);
    }
    verdict
}

/// Adds what the thread that wrote the element of [`element_to_trace`] read, compared with the formula.
pub fn with_provenance(
    mut verdict: TestVerdict,
    case: &Case,
    provenance: &Provenance,
) -> TestVerdict {
    if let Some(diff) = verdict.diffs.first_mut() {
        // A read of a tensor whose values the formula does not start from (an intermediate result, the output itself)
        // cannot be compared with terms made of such tensors.
        let known = case.known_for(&diff.tensor.name);
        // Nor does a tensor belong to the terms by which the formula chooses, and has no read of a number by value.
        let terms = diff.terms.formula.as_deref();
        let sources = case.formula.sources(&diff.tensor.name);
        let is_term = |tensor: &str| {
            let mut factors = terms.into_iter().flatten().flat_map(|term| &term.factors);
            factors.any(|element| element.tensor == tensor)
        };
        let comparable = |tensor: &str| {
            known.contains_key(tensor) && (is_term(tensor) || !sources.contains(tensor))
        };
        let mut thread = trace::compare(terms, provenance, comparable);
        if let Some(thread) = &mut thread {
            let in_memory =
                |element: &ElementRef| case.tensors.iter().any(|t| t.tensor.name == element.tensor);
            thread.missing.retain(in_memory);
        }
        diff.terms.thread = thread;
    }
    verdict
}

/// Sets what the kernel added to make the element of [`element_to_trace`] beside the formula.
pub fn with_expansion(
    mut verdict: TestVerdict,
    case: &Case,
    sum: &KernelSum,
    source: &str,
) -> TestVerdict {
    if let Some(diff) = verdict.diffs.first_mut()
        && let Some(got) = diff.terms.mismatch.got
    {
        let flat = diff.terms.mismatch.flat;
        let mut terms = element_terms(case, &diff.tensor, flat, sum, got);
        // The shuffles only pass on what should not have been loaded.
        let loaded = terms.as_ref().filter(|terms| terms.is_loaded_wrongly());
        let sum = &match loaded {
            Some(_) => with_own_lines(sum.clone(), source),
            None => sum.clone(),
        };
        if loaded.is_some() {
            terms = element_terms(case, &diff.tensor, flat, sum, got);
        }
        if let Some(terms) = &mut terms {
            name_line(terms, case, &diff.tensor, flat, sum, source);
        }
        // Where the products are the expected ones, rounding or a race is to blame, and they tell nothing.
        diff.terms.compared = terms.filter(|terms| !terms.equal());
    }
    verdict
}
