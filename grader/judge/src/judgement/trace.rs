//! Compares what a thread read with the elements of the formula.

use crate::verdict::ThreadReads;
use device::provenance::{ElementRead, Provenance};
use indexmath::{ElementRef, Term};
use std::collections::BTreeSet;

/// `None` if no thread wrote the element. Without a formula nothing is extra or missing.
pub(super) fn compare(
    formula: Option<&[Term]>,
    provenance: &Provenance,
    comparable: impl Fn(&str) -> bool,
) -> Option<ThreadReads> {
    let (id, line) = provenance.writer.clone()?;
    let mut extra = Vec::new();
    let mut outside = Vec::new();
    let mut seen = BTreeSet::new();
    let factors = || formula.into_iter().flatten().flat_map(|term| &term.factors);
    let wanted: BTreeSet<&ElementRef> = factors().collect();
    for read in &provenance.reads {
        let Some(element) = element(read) else {
            outside.push(read.clone());
            continue;
        };
        if formula.is_some() && comparable(&read.tensor) && !wanted.contains(&element) {
            extra.push(read.clone());
        }
        seen.insert(element);
    }
    let mut missing: Vec<ElementRef> = Vec::new();
    for factor in factors() {
        if seen.insert(factor.clone()) {
            missing.push(factor.clone());
        }
    }
    Some(ThreadReads { id, line, extra, missing, outside, total: provenance.reads.len() })
}

/// The element that was read; `None` if it lies outside its tensor.
fn element(read: &ElementRead) -> Option<ElementRef> {
    let mut rest = usize::try_from(read.flat).ok()?;
    let mut coords = vec![0; read.shape.len()];
    for (coord, &size) in coords.iter_mut().zip(&read.shape).rev() {
        *coord = i64::try_from(rest.checked_rem(size)?).ok()?;
        rest /= size;
    }
    (rest == 0).then(|| ElementRef { tensor: read.tensor.clone(), coords })
}

#[cfg(test)]
mod tests {
    use super::*;
    use device::finding::ThreadId;

    fn at(tensor: &str, coords: &[i64]) -> ElementRef {
        ElementRef { tensor: tensor.into(), coords: coords.into() }
    }

    fn read(tensor: &str, flat: i64) -> ElementRead {
        ElementRead { tensor: tensor.into(), shape: vec![2, 3], flat, count: 1, line: None }
    }

    fn term(factors: Vec<ElementRef>) -> Term {
        Term { coefficient: 1.0, factors, value: 1.0, indices: Vec::new() }
    }

    fn by_thread_0(reads: Vec<ElementRead>) -> Provenance {
        let id = ThreadId { block: [0; 3], thread: [0; 3] };
        Provenance { writer: Some((id, None)), reads }
    }

    #[test]
    fn reads_fall_into_used_extra_missing_and_outside() {
        let formula = [
            term(vec![at("a", &[0, 1]), at("b", &[1, 0])]),
            term(vec![at("a", &[0, 2]), at("b", &[1, 0])]),
            term(vec![at("a", &[1, 2]), at("b", &[1, 2])]),
        ];
        let reads = [("a", 1), ("a", 4), ("b", 3), ("a", 6), ("b", -1), ("y", 0)];
        let provenance = by_thread_0(reads.map(|(t, f)| read(t, f)).to_vec());
        let t = compare(Some(&formula), &provenance, |name| name != "y").unwrap();
        assert_eq!(t.extra, [read("a", 4)]);
        assert_eq!(t.missing, [at("a", &[0, 2]), at("a", &[1, 2]), at("b", &[1, 2])]);
        assert_eq!(t.outside, [read("a", 6), read("b", -1)]);
        assert_eq!(t.total, 6);
    }

    #[test]
    fn without_a_formula_only_the_reads_outside_count() {
        let provenance = by_thread_0(vec![read("a", 1), read("a", 9)]);
        let t = compare(None, &provenance, |_| true).unwrap();
        assert_eq!((t.extra.len(), t.missing.len(), t.outside.len()), (0, 0, 1));
    }

    #[test]
    fn without_a_writer_there_is_no_thread() {
        assert_eq!(compare(None, &Provenance::default(), |_| true), None);
    }

    #[test]
    fn a_scalar_has_one_element_and_an_empty_tensor_none() {
        let scalar = |flat| ElementRead { shape: Vec::new(), ..read("s", flat) };
        assert_eq!(element(&scalar(0)), Some(at("s", &[])));
        assert_eq!(element(&scalar(1)), None);
        assert_eq!(element(&ElementRead { shape: vec![2, 0], ..read("e", 0) }), None);
    }
}
