//! What does the first wrong element follow from? A flag, a count or a number that is chosen has no terms to list; the values that the
//! formula makes it of tell which of several cases fails.

use crate::verdict::{Origin, TestVerdict};
use indexmath::{InputElement, inputs, parts};
use puzzle::case::Case;
use puzzle::tensor::element_name;

/// Values of one tensor that are kept.
const MOST_OF_ONE: usize = 2;

/// Adds to a failing verdict what the first wrong element of an output of whole numbers is computed from, if nothing else is known of it.
pub(crate) fn explain(case: &Case, mut verdict: TestVerdict, at: usize) -> TestVerdict {
    let diff = &verdict.diffs[at];
    let is_explained = diff.is_explained() || diff.cause.is_some();
    if is_explained || diff.tensor.dtype.is_float() || diff.tensor.len() < 2 {
        return verdict;
    }
    let (name, flat) = (&diff.tensor.name, diff.terms.mismatch.flat);
    let known = case.known_for(name);
    let parts = parts(&case.formula, &known, name, flat).into_iter();
    let parts =
        parts.map(|part| Origin { text: part.text.trim_matches('`').into(), value: part.value });
    let inputs = inputs(&case.formula, &known, name, flat).unwrap_or_default().into_iter();
    let inputs = inputs.filter_map(|InputElement { tensor, flat, .. }| {
        let text = element_name(&tensor, case.formula.shape(&tensor)?, flat);
        Some(Origin { text, value: *known.get(&tensor)?.get(flat)? })
    });
    verdict.diffs[at].origins = some_of_each(parts.chain(inputs));
    verdict
}

/// The first values of each tensor: many bytes of one tell no more than a few.
fn some_of_each(all: impl Iterator<Item = Origin>) -> Vec<Origin> {
    fn tensor(origin: &Origin) -> Option<&str> {
        origin.text.split('[').next()
    }
    let mut kept: Vec<Origin> = Vec::new();
    for origin in all {
        if kept.iter().filter(|other| tensor(other) == tensor(&origin)).count() < MOST_OF_ONE {
            kept.push(origin);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_values_of_a_tensor_two_are_kept() {
        let origin = |text: &str| Origin { text: text.into(), value: 1.0 };
        let all = ["head[0, 0]", "head[0, 1]", "head[0, 2]", "size[k]"].map(origin);
        let kept = some_of_each(all.into_iter());
        let texts: Vec<&str> = kept.iter().map(|origin| origin.text.as_str()).collect();
        assert_eq!(texts, ["head[0, 0]", "head[0, 1]", "size[k]"]);
    }
}
