//! Compares the products of a formula with those of a kernel, as multisets.

use super::terms::{Clue, ElementTerms, Row, RowKind};
use device::finding::SourceLoc;
use device::provenance::{Factor, KernelFactor, KernelSum, KernelTerm};
use indexmath::Term;
use std::collections::BTreeMap;

/// Constants that a kernel computes in `f32` differ from the formula's by so much.
const TOLERANCE: f64 = 1e-5;

/// One product on both sides.
#[derive(Default)]
struct Sides<'a> {
    formula: Vec<&'a Term>,
    kernel: Vec<&'a KernelTerm>,
}

/// The products side by side. `value` gives the value of an element, if it is known.
pub fn compare(
    formula: &[Term],
    kernel: &KernelSum,
    value: impl Fn(&Factor) -> Option<f64>,
) -> ElementTerms {
    let mut products: BTreeMap<Vec<Factor>, Sides> = BTreeMap::new();
    for term in formula {
        let mut factors: Vec<Factor> = term.factors.iter().cloned().map(Factor::Element).collect();
        factors.sort();
        products.entry(factors).or_default().formula.push(term);
    }
    for term in &kernel.terms {
        let mut factors: Vec<Factor> = term.factors.iter().map(|f| f.factor.clone()).collect();
        factors.sort();
        products.entry(factors).or_default().kernel.push(term);
    }
    let mut rows: Vec<Row> = Vec::new();
    let mut suspects = Vec::new();
    for (factors, sides) in &products {
        let wanted: f64 = sides.formula.iter().map(|term| term.coefficient).sum();
        let got: f64 = sides.kernel.iter().map(|term| term.coefficient).sum();
        let kind = kind(wanted, got);
        // Added and taken away again, and never wanted: nothing to tell.
        if kind == RowKind::Correct && wanted == 0.0 {
            continue;
        }
        if kind != RowKind::Correct {
            suspects.push((factors, sides, kind));
        }
        rows.push(Row {
            kind,
            formula: wanted,
            kernel: got,
            value: factors.iter().map(&value).try_fold(1.0, |all, value| Some(all * value?)),
            indices: sides.formula.first().map(|term| term.indices.clone()).unwrap_or_default(),
            line: sides.kernel.last().and_then(|term| term.line.clone()),
            factors: factors.clone(),
        });
    }
    rows.sort_by_key(|row| row.kind);
    let (line, clue) = suspect(&suspects, kernel).unzip();
    let clue = clue.unwrap_or(Clue::Added);
    for row in rows.iter_mut().filter(|row| row.kind == RowKind::Missing) {
        row.line.clone_from(&alike(&row.factors, kernel));
    }
    ElementTerms {
        rows,
        line,
        clue,
        between_threads: false,
        writer: kernel.writer,
        general: kernel.general,
        belongs_to: None,
    }
}

fn kind(wanted: f64, got: f64) -> RowKind {
    let same = |a: f64, b: f64| (a - b).abs() <= TOLERANCE * a.abs().max(b.abs());
    let times = got / wanted;
    if same(wanted, got) {
        RowKind::Correct
    } else if got == 0.0 {
        RowKind::Missing
    } else if wanted == 0.0 {
        RowKind::Extra
    } else if times > 1.5 && same(times, times.round()) {
        RowKind::Repeated
    } else {
        RowKind::Coefficient
    }
}

/// The line that most of the mistakes point at; of several, the first.
fn suspect(
    wrong: &[(&Vec<Factor>, &Sides, RowKind)],
    kernel: &KernelSum,
) -> Option<(SourceLoc, Clue)> {
    let mut votes: BTreeMap<SourceLoc, (usize, Clue)> = BTreeMap::new();
    let mut vote = |(line, clue): (Option<SourceLoc>, Clue)| {
        if let Some(line) = line {
            votes.entry(line).or_insert((0, clue)).0 += 1;
        }
    };
    let missing =
        MissingProducts::new(wrong.iter().filter(|w| w.2 == RowKind::Missing).map(|w| &w.0[..]));
    for &(factors, sides, kind) in wrong {
        match kind {
            RowKind::Extra => {
                for term in &sides.kernel {
                    wrong_factors(term, factors, &missing).into_iter().for_each(&mut vote);
                }
            }
            RowKind::Repeated | RowKind::Coefficient => vote(wrong_coefficient(&sides.kernel)),
            RowKind::Missing | RowKind::Correct => {}
        }
    }
    let from_others = |kind: RowKind| !matches!(kind, RowKind::Missing | RowKind::Correct);
    if !wrong.iter().any(|w| from_others(w.2)) {
        for factors in &missing.products {
            vote((alike(factors, kernel), Clue::Added));
        }
    }
    let most = votes.values().map(|(count, _)| *count).max()?;
    let first = votes.into_iter().find(|(_, (count, _))| *count == most);
    first.map(|(line, (_, clue))| (line, clue))
}

/// Where a product came to its coefficient: if the kernel adds it at several lines, none of them is known to be the wrong one.
fn wrong_coefficient(terms: &[&KernelTerm]) -> (Option<SourceLoc>, Clue) {
    let Some(last) = terms.last() else { return (None, Clue::Added) };
    let place = |term: &KernelTerm| term.scaled.clone().or_else(|| term.line.clone());
    let line = place(last);
    let clue = if terms.iter().any(|term| place(term) != line) {
        Clue::OneOfSeveral
    } else if line == last.line {
        Clue::Added
    } else {
        Clue::Scaled
    };
    (line, clue)
}

/// The products that are missing, and in which of them each factor stands.
#[derive(Default)]
struct MissingProducts<'a> {
    products: Vec<&'a [Factor]>,
    with: BTreeMap<&'a Factor, Vec<usize>>,
}

impl<'a> MissingProducts<'a> {
    fn new(products: impl Iterator<Item = &'a [Factor]>) -> Self {
        let mut all = Self::default();
        for (at, factors) in products.enumerate() {
            // Equal factors stand side by side.
            for same in factors.chunk_by(|a, b| a == b) {
                all.with.entry(&same[0]).or_default().push(at);
            }
            all.products.push(factors);
        }
        all
    }

    /// The product with most of these factors, of several the last; `None` if all have none.
    fn nearest(&self, factors: &[Factor]) -> Option<&'a [Factor]> {
        let mut common: BTreeMap<usize, usize> = BTreeMap::new();
        for &at in factors.iter().filter_map(|factor| self.with.get(factor)).flatten() {
            *common.entry(at).or_default() += 1;
        }
        common.into_iter().max_by_key(|&(_, count)| count).map(|(at, _)| self.products[at])
    }
}

/// Where a product that should not be there took the factors that make it differ from one that is missing; where none
/// is missing, the line that added it.
fn wrong_factors(
    term: &KernelTerm,
    factors: &[Factor],
    missing: &MissingProducts,
) -> Vec<(Option<SourceLoc>, Clue)> {
    let added = || vec![(term.line.clone(), Clue::Added)];
    let Some(nearest) = missing.nearest(factors) else { return added() };
    let wrong = term.factors.iter().filter(|f| !nearest.contains(&f.factor));
    let of = |f: &KernelFactor| match &f.line {
        line @ Some(_) if *line != term.line => (line.clone(), Clue::Factor),
        _ => (term.line.clone(), Clue::Added),
    };
    let lines: Vec<_> = wrong.map(of).collect();
    if lines.is_empty() { added() } else { lines }
}

/// Where the kernel added products of the same tensors; else where it stored the element.
fn alike(factors: &[Factor], kernel: &KernelSum) -> Option<SourceLoc> {
    let tensors = |factors: &mut dyn Iterator<Item = &Factor>| {
        let mut names: Vec<String> = factors.filter_map(tensor).collect();
        names.sort();
        names
    };
    let wanted = tensors(&mut factors.iter());
    let same = |term: &&KernelTerm| tensors(&mut term.factors.iter().map(|f| &f.factor)) == wanted;
    let like = kernel.terms.iter().rev().find(same).or(kernel.terms.last());
    like.and_then(|term| term.line.clone()).or_else(|| kernel.line.clone())
}

pub(super) fn tensor(factor: &Factor) -> Option<String> {
    match factor {
        Factor::Element(element) => Some(element.tensor.clone()),
        Factor::Outside(outside) => Some(outside.tensor.clone()),
        Factor::Function(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use device::finding::ThreadId;
    use indexmath::ElementRef;

    fn element(tensor: &str, at: i64) -> ElementRef {
        ElementRef { tensor: tensor.into(), coords: vec![at] }
    }

    fn line(line: u32) -> SourceLoc {
        SourceLoc { file: "k.cu".into(), line, column: 1 }
    }

    fn term(coefficient: f64, factors: &[(&str, i64)]) -> Term {
        let factors = factors.iter().map(|&(t, at)| element(t, at)).collect();
        Term { coefficient, factors, value: 1.0, indices: vec![("k".into(), 1)] }
    }

    /// Factors are tensor, position, line.
    fn product(coefficient: f64, factors: &[(&str, i64, u32)], at: u32) -> KernelTerm {
        let factor = |&(t, i, l): &(&str, i64, u32)| KernelFactor {
            factor: Factor::Element(element(t, i)),
            line: Some(line(l)),
        };
        KernelTerm {
            coefficient,
            factors: factors.iter().map(factor).collect(),
            line: Some(line(at)),
            scaled: None,
        }
    }

    fn sum(terms: Vec<KernelTerm>) -> KernelSum {
        let writer = ThreadId { block: [0; 3], thread: [0; 3] };
        KernelSum {
            writer,
            line: Some(line(30)),
            terms,
            general: true,
            overwrote: false,
            one_block: false,
        }
    }

    fn kinds(formula: &[Term], terms: Vec<KernelTerm>) -> (Vec<RowKind>, Option<u32>) {
        let compared = compare(formula, &sum(terms), |_| Some(2.0));
        let kinds = compared.rows.iter().map(|row| row.kind).collect();
        (kinds, compared.line.map(|line| line.line))
    }

    #[test]
    fn of_several_lines_that_add_a_product_none_is_known_to_be_wrong() {
        let term = |at, scaled: Option<u32>| KernelTerm {
            coefficient: 1.0,
            factors: Vec::new(),
            line: Some(line(at)),
            scaled: scaled.map(line),
        };
        let of = |terms: &[KernelTerm]| wrong_coefficient(&terms.iter().collect::<Vec<_>>());
        assert_eq!(of(&[term(4, None), term(4, None)]), (Some(line(4)), Clue::Added));
        assert_eq!(of(&[term(4, Some(9))]), (Some(line(9)), Clue::Scaled));
        assert_eq!(of(&[term(2, None), term(4, None)]), (Some(line(4)), Clue::OneOfSeveral));
    }

    #[test]
    fn the_order_of_factors_and_terms_does_not_matter() {
        let formula = [term(1.0, &[("a", 0), ("b", 1)]), term(0.1, &[("a", 2)])];
        let terms = vec![
            product(f64::from(0.1f32), &[("a", 2, 5)], 6),
            product(1.0, &[("b", 1, 5), ("a", 0, 5)], 6),
        ];
        assert_eq!(kinds(&formula, terms), (vec![RowKind::Correct, RowKind::Correct], None));
    }

    #[test]
    fn every_kind_of_difference_is_told() {
        use RowKind::{Coefficient, Extra, Missing, Repeated};
        let formula = [term(1.0, &[("a", 0)]), term(1.0, &[("a", 1)]), term(1.0, &[("a", 2)])];
        let twice = vec![
            product(1.0, &[("a", 0, 5)], 6),
            product(1.0, &[("a", 0, 5)], 7),
            product(-1.0, &[("a", 1, 5)], 8),
            product(1.0, &[("a", 3, 5)], 9),
        ];
        let (kinds, _) = kinds(&formula, twice);
        assert_eq!(kinds, [Extra, Missing, Repeated, Coefficient]);
    }

    #[test]
    fn the_line_is_that_of_the_wrong_factor() {
        let formula = [term(1.0, &[("a", 0), ("b", 1)])];
        let terms = vec![product(1.0, &[("a", 0, 10), ("b", 2, 11)], 13)];
        assert_eq!(kinds(&formula, terms).1, Some(11));
        let terms = vec![product(1.0, &[("a", 7, 10), ("b", 7, 11)], 13)];
        assert_eq!(kinds(&formula, terms).1, Some(13), "nothing in common");
    }

    #[test]
    fn what_is_missing_belongs_where_its_like_was_added() {
        let formula = [term(1.0, &[("a", 0)]), term(1.0, &[("a", 1)]), term(1.0, &[("c", 0)])];
        let terms = vec![product(1.0, &[("c", 0, 4)], 4), product(1.0, &[("a", 0, 6)], 6)];
        assert_eq!(kinds(&formula, terms).1, Some(6));
        assert_eq!(kinds(&formula, Vec::new()).1, Some(30), "the store");
    }

    #[test]
    fn what_cancels_out_is_no_row() {
        let terms = vec![product(1.0, &[("a", 0, 5)], 6), product(-1.0, &[("a", 0, 5)], 7)];
        assert_eq!(kinds(&[], terms), (Vec::new(), None));
    }
}
