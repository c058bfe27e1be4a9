//! Which line is most likely wrong: the terms name one, the text of the kernel may know better.

use super::source::{Declared, Kernel, Loop, evaluate};
use super::terms::{Clue, ElementTerms, RowKind};
use cpptext::statements::last_word;
use cpptext::tokens::words;
use device::finding::SourceLoc;
use device::provenance::{Factor, KernelSum};
use indexmath::{Dims, Term};
use puzzle::case::{Case, CaseLaunch};
use puzzle::tensor::Tensor;

/// What is known of a wrong element besides its terms.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The file that was compiled.
    pub source: &'a str,
    /// The test that the kernel ran.
    pub case: &'a Case,
    /// The products that the kernel added.
    pub sum: &'a KernelSum,
    /// The tensor of the element.
    pub tensor: &'a Tensor,
    /// Coordinates of the element, and of another one whose formula the kernel's products are.
    pub coords: &'a [usize],
    /// The coordinates of that other element, if there is one.
    pub other: Option<&'a [usize]>,
    /// Values that each summation index of the formula takes, over all elements: first and last.
    pub indices: &'a [(String, (i64, i64))],
}

/// The line to look at, given the one that the terms point at.
pub fn locate(terms: &ElementTerms, evidence: &Evidence) -> Option<(SourceLoc, Clue)> {
    let named = terms.line.clone().or_else(|| evidence.sum.line.clone())?;
    let stored = evidence.sum.line.as_ref()?;
    if stored.file != named.file {
        return Some((named, terms.clue));
    }
    let writer = terms.writer;
    let launch = launch_of(evidence.case, evidence.source, stored.line)?;
    let dims = &evidence.case.dims;
    let kernel = Kernel::new(evidence.source, stored.line, dims, writer, launch.block, launch.grid);
    let known = |clue: Clue| move |line: u32| (line, clue);
    let line = own_element(&kernel, terms, evidence, stored.line)
        .map(known(Clue::OwnElement))
        .or_else(|| wrong_size(&kernel, dims).map(known(Clue::Size)))
        .or_else(|| first_value(&kernel, terms, evidence).map(known(Clue::FirstValue)))
        .or_else(|| wrong_loop(&kernel, evidence))
        .or_else(|| set_again(&kernel, terms, stored.line).map(known(Clue::SetAgain)))
        .or_else(|| wrong_coordinate(&kernel, evidence, stored.line).map(known(Clue::Coordinate)))
        .or_else(|| wrong_place(&kernel, evidence, stored.line).map(known(Clue::Place)))
        .or_else(|| wrong_inner(&kernel, terms, evidence).map(known(Clue::Inner)))
        .or_else(|| surplus_thread(&kernel, evidence, stored.line).map(known(Clue::Surplus)))
        .or_else(|| left_out(&kernel, terms, evidence).map(known(Clue::Condition)));
    match line {
        Some((line, clue)) => Some((SourceLoc { file: named.file, line, column: 0 }, clue)),
        // A load that the compiler moved has the line of what it was moved to.
        None if !is_scaled(terms) && !kernel.statement(named.line).contains('[') => {
            let mut adds = evidence.sum.terms.iter().rev().filter_map(|term| term.line.clone());
            let line = adds.next().filter(|line| kernel.line(line.line).contains('['));
            Some(line.map_or((named, terms.clue), |line| (line, Clue::Added)))
        }
        None if terms.clue == Clue::Scaled => Some(scaled_at(&kernel, terms, named)),
        None => Some((named, terms.clue)),
    }
}

/// The line of a wrong factor, if the products are computed from what it sets: the compiler computes what two lines have in common
/// once, at the first of them.
fn scaled_at(kernel: &Kernel, terms: &ElementTerms, factor: SourceLoc) -> (SourceLoc, Clue) {
    let Some(added) = terms.added_line() else { return (factor, Clue::OneOfSeveral) };
    // What stands behind the sum multiplies all of it.
    if factor.line >= added.line {
        return (factor, Clue::Scaled);
    }
    let set = kernel.statement(factor.line);
    let target = set.split(['=', ';']).next().unwrap_or_default();
    let name = last_word(target.trim_end_matches(['+', '-', '*', '/', ' ']));
    let text = kernel.statement(added.line);
    let is_used = name.is_some_and(|name| words(&text).any(|word| word == name));
    if is_used { (factor, Clue::Scaled) } else { (added.clone(), Clue::OneOfSeveral) }
}

/// Every product that is wrong has another constant factor: the line that multiplies by it is no load.
fn is_scaled(terms: &ElementTerms) -> bool {
    let mut wrong = terms.rows.iter().filter(|row| row.kind != RowKind::Correct);
    wrong.all(|row| row.kind == RowKind::Coefficient)
}

/// The launch whose kernel stands around a line.
pub(super) fn launch_of<'c>(case: &'c Case, source: &str, line: u32) -> Option<&'c CaseLaunch> {
    let above: Vec<&str> = source.lines().take(line as usize).collect();
    let head = above.iter().rposition(|text| text.contains("__global__"))?;
    let head = above[head..].iter().take(3).copied().collect::<Vec<_>>().join(" ");
    let is = |launch: &&CaseLaunch| head.contains(&format!("{}(", launch.kernel));
    case.launches.iter().find(is).or(case.launches.last())
}

/// The store adds to what the output held before. Where it is meant to add, by an atomic addition, somebody should have set that to 0.
/// What an earlier launch computed is another output: the formula may use it.
fn own_element(
    kernel: &Kernel,
    terms: &ElementTerms,
    evidence: &Evidence,
    stored: u32,
) -> Option<u32> {
    let extra = terms.rows.iter().filter(|row| row.kind == RowKind::Extra);
    let mut factors = extra.flat_map(|row| &row.factors);
    let own = factors.any(|f| matches!(f, Factor::Element(e) if e.tensor == evidence.tensor.name));
    (own && !kernel.statement(stored).contains("atomic")).then_some(stored)
}

/// A size of the spec that the kernel computes to something else.
fn wrong_size(kernel: &Kernel, dims: &Dims) -> Option<u32> {
    let wrong = |name: &str, value: Option<i64>| {
        dims.get(name).is_some_and(|expected| value.is_some_and(|value| value != *expected))
    };
    kernel.declared.iter().find(|d| wrong(&d.name, d.value)).map(|d| d.line)
}

/// A sum that starts with what it should not, or without what it should; and one that is no float.
fn first_value(kernel: &Kernel, terms: &ElementTerms, evidence: &Evidence) -> Option<u32> {
    let wrong = || terms.rows.iter().filter(|row| row.kind != RowKind::Correct);
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

/// A loop over an index of the formula with other bounds than that has. Where the names are not the same, the loops may stand
/// in the order of the indices.
fn wrong_loop(kernel: &Kernel, evidence: &Evidence) -> Option<(u32, Clue)> {
    let indices = evidence.indices;
    let in_order = kernel.loops.len() == indices.len()
        && !kernel.loops.iter().any(|l| indices.iter().any(|(name, _)| *name == l.name));
    let clue = |l: &Loop, place: usize| {
        let same = indices.iter().find(|(name, _)| *name == l.name);
        let &(_, (first, last)) = same.or_else(|| indices.get(place).filter(|_| in_order))?;
        let (from, to) = l.range?;
        // A loop may go over values for which all products are 0.
        let leaves_out = first < from || last >= to;
        let clue = if same.is_some() && leaves_out { Clue::Loop } else { Clue::OtherLoop };
        ((from, to) != (first, last + 1)).then_some((l.line, clue))
    };
    kernel.loops.iter().zip(0..).find_map(|(l, place)| clue(l, place))
}

/// Products are missing because the sum starts again.
fn set_again(kernel: &Kernel, terms: &ElementTerms, stored: u32) -> Option<u32> {
    let wrong = || terms.rows.iter().filter(|row| row.kind != RowKind::Correct);
    wrong().all(|row| row.kind == RowKind::Missing).then(|| kernel.set_again(stored))?
}

/// Coordinates of the thread: taken from one number by division, else from the numbers of block and thread.
fn coordinates<'k>(kernel: &'k Kernel) -> Vec<&'k Declared> {
    let outside = || kernel.declared.iter().filter(|d| !d.inner && d.value.is_some());
    let divided: Vec<&Declared> = outside().filter(|d| d.text.contains(['/', '%'])).collect();
    if divided.is_empty() {
        outside().filter(|d| d.text.contains("threadIdx")).collect()
    } else {
        divided
    }
}

/// Outermost first, or innermost first.
fn are(declared: &[&Declared], coords: &[usize]) -> bool {
    let values = || declared.iter().filter_map(|d| usize::try_from(d.value?).ok());
    values().eq(coords.iter().copied()) || values().eq(coords.iter().rev().copied())
}

fn are_in_some_order(declared: &[&Declared], coords: &[usize]) -> bool {
    let values = declared.iter().filter_map(|d| usize::try_from(d.value?).ok());
    let (mut values, mut coords): (Vec<usize>, Vec<usize>) = (values.collect(), coords.to_vec());
    values.sort_unstable();
    coords.sort_unstable();
    values == coords
}

/// Whether the place of a store is given by these variables.
fn stores_at(kernel: &Kernel, stored: u32, declared: &[&Declared]) -> bool {
    let text = kernel.statement(stored);
    let target = text.split_once('=').map_or(text.as_str(), |(left, _)| left);
    words(target).any(|word| declared.iter().any(|d| d.name == word))
}

/// Whether a store goes as far for each of its coordinates as the tensor's axes do, also at sizes that are all different. `shape` gives the
/// tensor's at any sizes.
fn stores_row_by_row(
    kernel: &Kernel,
    stored: u32,
    declared: &[&Declared],
    dims: &Dims,
    shape: impl Fn(&Dims) -> Option<Vec<i64>>,
) -> bool {
    let text = kernel.statement(stored);
    let target = text.split_once('=').map_or(text.as_str(), |(left, _)| left);
    let steps_are_strides = || {
        let subscript = target.split_once('[')?.1.rsplit_once(']')?.0;
        let mut known = kernel.known.clone();
        for (name, apart) in dims.keys().zip(1..) {
            *known.get_mut(name)? += SIZES_APART * apart;
        }
        let step = |declared: &&Declared| {
            let mut next = known.clone();
            *next.get_mut(&declared.name)? += 1;
            Some(evaluate(subscript, &next)? - evaluate(subscript, &known)?)
        };
        let mut steps = declared.iter().map(step).collect::<Option<Vec<i64>>>()?;
        steps.sort_unstable();
        let mut stride = 1;
        let strides = shape(&known)?.into_iter().rev().map(|size| {
            let own = stride;
            stride *= size;
            own
        });
        Some(strides.eq(steps))
    };
    steps_are_strides().unwrap_or(false)
}

/// Sizes that are equal by chance come to differ by this.
const SIZES_APART: i64 = 7;

/// One of them is not that of the element, though the store goes there by the number that they come from.
fn wrong_coordinate(kernel: &Kernel, evidence: &Evidence, stored: u32) -> Option<u32> {
    let declared = coordinates(kernel);
    let many = declared.len() == evidence.coords.len() && declared.len() > 1;
    if !many || stores_at(kernel, stored, &declared) {
        return None;
    }
    let wrong = |coords: Vec<usize>| -> Vec<u32> {
        let pairs = declared.iter().zip(coords);
        let off = pairs.filter(|(d, at)| d.value != i64::try_from(*at).ok());
        off.map(|(d, _)| d.line).collect()
    };
    let straight = wrong(evidence.coords.to_vec());
    let reversed = wrong(evidence.coords.iter().rev().copied().collect());
    let best = if straight.len() < reversed.len() { straight } else { reversed };
    best.first().copied().filter(|_| best.len() * 2 <= declared.len())
}

/// A coordinate that is computed inside the loops, and is none of the missing product's where it should be added.
/// Where the sum is that of another element, whose coordinates the thread may have, it follows from those, and they are wrong.
fn wrong_inner(kernel: &Kernel, terms: &ElementTerms, evidence: &Evidence) -> Option<u32> {
    let declared = coordinates(kernel);
    if evidence.other.is_some_and(|other| are_in_some_order(&declared, other)) {
        return None;
    }
    let missing = || terms.rows.iter().filter(|row| row.kind == RowKind::Missing);
    let added = terms.rows.iter().filter_map(|row| row.line.as_ref()).map(|line| line.line).max();
    let before = |d: &Declared| added.is_none_or(|added| d.line <= added);
    let simple = |d: &&Declared| d.inner && before(d) && !d.text.contains(['(', '?']);
    let wrong = kernel.declared.iter().filter(simple).find(|d| {
        missing().any(|row| {
            let mut known = kernel.known.clone();
            known.extend(row.indices.iter().cloned());
            let Some(value) = evaluate(&d.text, &known) else { return false };
            let has = |f: &Factor| matches!(f, Factor::Element(e) if e.coords.contains(&value));
            !row.factors.iter().any(has)
        })
    });
    wrong.map(|d| d.line)
}

/// The correct sum, for another element: it is stored in the wrong place, or its coordinates were computed wrongly.
fn wrong_place(kernel: &Kernel, evidence: &Evidence, stored: u32) -> Option<u32> {
    let other = evidence.other?;
    let declared = coordinates(kernel);
    if stores_at(kernel, stored, &declared) {
        // Does the thread compute what it should, or does it store it where it should? By its coordinates both may be so, in one order of
        // them and in the other.
        let (computes, keeps) = (are(&declared, other), are(&declared, evidence.coords));
        let stray = if computes && keeps {
            let case = evidence.case;
            let shape = |dims: &Dims| case.formula.shape_at(&evidence.tensor.name, dims);
            !stores_row_by_row(kernel, stored, &declared, &case.dims, shape)
        } else {
            computes || !keeps
        };
        return stray.then_some(stored);
    }
    // Where several axes share a number, what the thread computes cannot be told from them.
    if are(&declared, evidence.coords) || (declared.len() > 1 && declared.len() != other.len()) {
        return None;
    }
    let moved = evidence.coords.iter().zip(other).filter(|(here, there)| here != there);
    let gives = |d: &&&Declared, at: usize| d.value == i64::try_from(at).ok();
    let coordinate = moved.filter_map(|(_, &there)| declared.iter().find(|d| gives(d, there)));
    Some(coordinate.map(|d| d.line).next().unwrap_or(stored))
}

/// A thread that should have left: it wrote over what another one had made.
fn surplus_thread(kernel: &Kernel, evidence: &Evidence, stored: u32) -> Option<u32> {
    evidence.sum.overwrote.then(|| kernel.condition(stored, |text| text.contains("return")))?
}

/// Products are missing, or too many, though the loops are correct: a condition inside them.
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

/// First and last value of each summation index, in the order of the formula.
pub fn index_ranges<'t>(terms: impl Iterator<Item = &'t Term>) -> Vec<(String, (i64, i64))> {
    let mut ranges: Vec<(String, (i64, i64))> = Vec::new();
    for (name, value) in terms.flat_map(|term| &term.indices) {
        match ranges.iter_mut().find(|(known, _)| known == name) {
            Some((_, range)) => *range = (range.0.min(*value), range.1.max(*value)),
            None => ranges.push((name.clone(), (*value, *value))),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expansion::terms::Row;
    use device::finding::ThreadId;

    fn line(line: u32) -> SourceLoc {
        SourceLoc { file: "k.cu".into(), line, column: 1 }
    }

    /// Whether the line of a factor of 2 is known to be wrong, if the product is added at another one.
    fn is_known(source: &str, (factor, added): (u32, u32)) -> bool {
        let thread = ThreadId { block: [0; 3], thread: [0; 3] };
        let kernel = Kernel::new(source, added, &Dims::new(), thread, [1; 3], [1; 3]);
        let row = Row {
            factors: Vec::new(),
            kind: RowKind::Coefficient,
            formula: 1.0,
            kernel: 2.0,
            value: None,
            indices: Vec::new(),
            line: Some(line(added)),
        };
        let terms = ElementTerms {
            rows: vec![row],
            line: Some(line(factor)),
            clue: Clue::Scaled,
            between_threads: false,
            writer: thread,
            general: true,
            belongs_to: None,
        };
        let (found, clue) = scaled_at(&kernel, &terms, line(factor));
        assert_eq!(found, line(if clue == Clue::Scaled { factor } else { added }));
        clue == Clue::Scaled
    }

    #[test]
    fn a_store_is_told_from_a_sum_by_how_far_it_goes_for_each_coordinate() {
        let is_plain = |store: &str, shape: [&'static str; 2]| {
            let source = format!(
                "__global__ void k(float* y, int M, int N) {{
    int row = threadIdx.y;
    int col = threadIdx.x;
    {store} = sum;
}}"
            );
            // Sizes that are equal here.
            let dims = Dims::from([("M".to_owned(), 3), ("N".to_owned(), 3)]);
            let thread = ThreadId { block: [0; 3], thread: [1, 2, 0] };
            let kernel = Kernel::new(&source, 4, &dims, thread, [8, 8, 1], [1; 3]);
            let shape = |dims: &Dims| Some(shape.map(|name| dims[name]).to_vec());
            stores_row_by_row(&kernel, 4, &coordinates(&kernel), &dims, shape)
        };
        assert!(is_plain("y[row * N + col]", ["M", "N"]));
        assert!(is_plain("y[col * M + row]", ["N", "M"]), "each has an axis of its own");
        assert!(!is_plain("y[col * M + row]", ["M", "N"]) && !is_plain("y[row * N]", ["M", "N"]));
    }

    #[test]
    fn a_factor_that_the_compiler_takes_from_another_line_is_not_known_to_be_wrong() {
        let source = "__global__ void k(float* m, float* v, float a, float g) {
    float first = a * m[0] + (1 - a) * g;
    float second = a * v[0] + (1 - a) * g * g;
    float scale = 1 - a;
    scale *= 2;
    m[0] = scale * g;
    v[0] = second / 2;
}";
        assert!(!is_known(source, (2, 3)), "`first` does not occur in line 3");
        assert!(is_known(source, (4, 6)) && is_known(source, (5, 6)));
        assert!(is_known(source, (7, 3)), "all of the sum is divided after it");
    }
}
