//! Which line is most likely wrong: the terms name one, the text of the kernel may know better.

use super::source::Kernel;
use super::{ElementTerms, Factor, KernelSum, RowKind};
use crate::case::{Case, CaseLaunch};
use crate::finding::SourceLine;
use indexmath::{Dims, Term};
use std::collections::BTreeMap;

/// What is known of a wrong element besides its terms.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The file that was compiled.
    pub source: &'a str,
    /// The test.
    pub case: &'a Case,
    /// The kernel's products.
    pub sum: &'a KernelSum,
    /// Coordinates of the element, and of another one whose formula the kernel's products are.
    pub coords: &'a [usize],
    /// See there.
    pub other: Option<&'a [usize]>,
    /// Values that each summation index of the formula takes, over all elements: first and last.
    pub indices: &'a BTreeMap<String, (i64, i64)>,
}

/// The line to look at, given the one that the terms point at.
pub fn locate(terms: &ElementTerms, evidence: &Evidence) -> Option<SourceLine> {
    let named = terms.line.clone().or_else(|| evidence.sum.line.clone())?;
    let stored = evidence.sum.line.as_ref()?;
    if stored.file != named.file {
        return Some(named);
    }
    let writer = terms.writer;
    let launch = launch_of(evidence.case, evidence.source, stored.line)?;
    let dims = &evidence.case.dims;
    let kernel = Kernel::new(evidence.source, stored.line, dims, writer, launch.block, launch.grid);
    let at = |line: u32| Some(SourceLine { file: named.file.clone(), line, column: 0 });
    let line = wrong_size(&kernel, dims)
        .or_else(|| first_value(&kernel, terms, evidence))
        .or_else(|| wrong_loop(&kernel, evidence))
        .or_else(|| wrong_place(&kernel, evidence, stored.line))
        .or_else(|| surplus_thread(&kernel, evidence, stored.line))
        .or_else(|| left_out(&kernel, terms, evidence));
    match line {
        Some(line) => at(line),
        // A load that the compiler moved has the line of what it was moved to.
        None if !kernel.statement(named.line).contains('[') => {
            let adds = evidence.sum.terms.iter().filter_map(|term| term.line.clone());
            adds.last().filter(|line| kernel.line(line.line).contains('[')).or(Some(named))
        }
        None => Some(named),
    }
}

/// The launch whose kernel stands around a line.
fn launch_of<'c>(case: &'c Case, source: &str, line: u32) -> Option<&'c CaseLaunch> {
    let above: Vec<&str> = source.lines().take(line as usize).collect();
    let head = above.iter().rposition(|text| text.contains("__global__"))?;
    let head = above[head..].iter().take(3).copied().collect::<Vec<_>>().join(" ");
    let is = |launch: &&CaseLaunch| head.contains(&format!("{}(", launch.kernel));
    case.launches.iter().find(is).or(case.launches.last())
}

/// A size of the spec that the kernel computes to something else.
fn wrong_size(kernel: &Kernel, dims: &Dims) -> Option<u32> {
    let wrong = |name: &str, value: Option<i64>| {
        dims.get(name).is_some_and(|right| value.is_some_and(|value| value != *right))
    };
    kernel.declared.iter().find(|d| wrong(&d.name, d.value)).map(|d| d.line)
}

/// A sum that starts with what it should not, or without what it should; and one that is no float.
fn first_value(kernel: &Kernel, terms: &ElementTerms, evidence: &Evidence) -> Option<u32> {
    let wrong = || terms.rows.iter().filter(|row| row.kind != RowKind::Right);
    let constant = wrong().any(|row| row.kind == RowKind::Extra && row.factors.is_empty());
    let integer = |f: &Factor| matches!(f, Factor::Function(text) if text.starts_with("int("));
    let extra = || wrong().filter(|row| row.kind == RowKind::Extra);
    let cut = extra().count() > 0 && extra().all(|row| row.factors.iter().any(integer));
    let tensors = |factors: &[Factor]| -> Vec<String> {
        factors.iter().filter_map(super::compare::tensor).collect()
    };
    let added: Vec<Vec<String>> = evidence
        .sum
        .terms
        .iter()
        .map(|term| {
            let mut names: Vec<String> =
                term.factors.iter().filter_map(|f| super::compare::tensor(&f.factor)).collect();
            names.sort();
            names
        })
        .collect();
    let only_missing = wrong().all(|row| row.kind == RowKind::Missing);
    let lacks = only_missing
        && wrong().count() == 1
        && !added.is_empty()
        && wrong().all(|row| !added.contains(&tensors(&row.factors)));
    if !constant && !cut && !lacks {
        return None;
    }
    let stored = evidence.sum.line.as_ref()?.line;
    kernel.first_value(stored)
}

/// A loop over an index of the formula with other bounds than that has.
fn wrong_loop(kernel: &Kernel, evidence: &Evidence) -> Option<u32> {
    let wrong = kernel.loops.iter().find(|l| {
        let Some(&(first, last)) = evidence.indices.get(&l.name) else { return false };
        l.range.is_some_and(|range| range != (first, last + 1))
    });
    wrong.map(|l| l.line)
}

/// The right sum, for another element: it is stored in the wrong place, or its coordinates were computed wrongly.
fn wrong_place(kernel: &Kernel, evidence: &Evidence, stored: u32) -> Option<u32> {
    let other = evidence.other?;
    let text = kernel.statement(stored);
    let target = text.split_once('=').map_or(text.as_str(), |(left, _)| left);
    let words: Vec<&str> = target.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    for (here, there) in evidence.coords.iter().zip(other) {
        if here == there {
            continue;
        }
        let gives = |value: Option<i64>| value == i64::try_from(*there).ok();
        let coordinate = kernel.declared.iter().find(|d| {
            gives(d.value) && d.text.contains(['/', '%']) && !words.contains(&d.name.as_str())
        });
        if let Some(declared) = coordinate {
            return Some(declared.line);
        }
    }
    Some(stored)
}

/// A thread that should have left: it wrote over what another one had made.
fn surplus_thread(kernel: &Kernel, evidence: &Evidence, stored: u32) -> Option<u32> {
    evidence.sum.overwrote.then(|| kernel.condition(stored, |text| text.contains("return")))?
}

/// Products are missing, or too many, though the loops are right: a condition inside them.
fn left_out(kernel: &Kernel, terms: &ElementTerms, evidence: &Evidence) -> Option<u32> {
    let kinds = |kind: RowKind| terms.rows.iter().any(|row| row.kind == kind);
    if kinds(RowKind::Extra) == kinds(RowKind::Missing) || kinds(RowKind::Repeated) {
        return None;
    }
    let added = evidence.sum.terms.iter().rev().find_map(|term| term.line.as_ref());
    let line = added.or(evidence.sum.line.as_ref())?.line;
    let inner = kernel.loops.iter().filter(|l| l.line < line).map(|l| l.line).min()?;
    kernel.condition(line, |_| true).filter(|&condition| condition > inner)
}

/// First and last value of each summation index.
pub fn index_ranges<'t>(terms: impl Iterator<Item = &'t Term>) -> BTreeMap<String, (i64, i64)> {
    let mut ranges: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for (name, value) in terms.flat_map(|term| &term.indices) {
        let range = ranges.entry(name.clone()).or_insert((*value, *value));
        *range = (range.0.min(*value), range.1.max(*value));
    }
    ranges
}
