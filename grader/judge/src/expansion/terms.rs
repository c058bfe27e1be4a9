//! The products of an element, those of the formula beside those of the kernel.

use device::finding::{SourceLoc, ThreadId};
use device::provenance::Factor;
use std::collections::BTreeSet;

/// An element's products, formula and kernel side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct ElementTerms {
    /// The rows of the comparison, wrong ones first.
    pub rows: Vec<Row>,
    /// The line where the mistake most likely is, if anything is wrong.
    pub line: Option<SourceLoc>,
    /// Why it is that line.
    pub clue: Clue,
    /// Threads of the kernel pass values to each other: through shared memory, from lane to lane, or by atomic additions.
    pub between_threads: bool,
    /// The thread that wrote the element.
    pub writer: ThreadId,
    /// The kernel adds the same products whatever the inputs hold.
    pub general: bool,
    /// The coordinates of another element of the tensor whose products these are, all of them.
    pub belongs_to: Option<Vec<usize>>,
}

impl ElementTerms {
    /// Formula and kernel add the same products.
    pub fn equal(&self) -> bool {
        self.rows.iter().all(|row| row.kind == RowKind::Correct)
    }

    /// Threads do not only pass on to each other wrongly what they have loaded: what is lost by the way is not there while something else is
    /// there several times.
    pub fn is_loaded_wrongly(&self) -> bool {
        let has = |kind: RowKind| self.rows.iter().any(|row| row.kind == kind);
        !(has(RowKind::Missing) && has(RowKind::Repeated))
    }

    /// The line to look at, where it follows from what is known: of wrong kernels of all puzzles, nearly every line that is named
    /// so differs from the solution's. Where elements pass through other threads, or values decide what is added, the text around
    /// a sum tells little of them. A line that adds products chooses them wrongly only where it adds some correct ones, and others
    /// in the place of what is missing.
    pub fn certain_line(&self) -> Option<&SourceLoc> {
        let has = |kind: RowKind| self.rows.iter().any(|row| row.kind == kind);
        let scaled = has(RowKind::Coefficient);
        let (lacks, has_extra) = (has(RowKind::Missing), has(RowKind::Extra));
        let (correct, repeated) = (has(RowKind::Correct), has(RowKind::Repeated));
        let is_certain = match self.clue {
            Clue::OwnElement | Clue::Size | Clue::SetAgain => true,
            Clue::Added | Clue::Scaled if scaled => {
                !(lacks || has_extra || correct && self.between_threads)
            }
            _ if self.between_threads => false,
            Clue::Added if lacks || has_extra => lacks && has_extra && correct,
            Clue::Added => correct && repeated,
            Clue::Factor => true,
            Clue::Coordinate | Clue::FirstValue | Clue::Inner | Clue::Loop | Clue::Place => {
                self.general
            }
            Clue::OneOfSeveral
            | Clue::Scaled
            | Clue::OtherLoop
            | Clue::Surplus
            | Clue::Condition => false,
        };
        self.line.as_ref().filter(|_| is_certain)
    }

    /// The line that adds the products, if it is one: those that are wrong, or if nothing but products are missing, those of the
    /// same tensors.
    pub fn added_line(&self) -> Option<&SourceLoc> {
        match self.added_lines()[..] {
            [line] => Some(line),
            _ => None,
        }
    }

    fn added_lines(&self) -> Vec<&SourceLoc> {
        let is_wrong = |row: &&Row| !matches!(row.kind, RowKind::Missing | RowKind::Correct);
        let some_are_wrong = self.rows.iter().any(|row| is_wrong(&row));
        let missing = || self.rows.iter().filter(|row| row.kind == RowKind::Missing);
        let is_like_missing = |row: &&Row| missing().any(|other| other.tensors() == row.tensors());
        let rows = self.rows.iter().filter(|row| row.kind != RowKind::Missing);
        let rows =
            rows.filter(|row| if some_are_wrong { is_wrong(row) } else { is_like_missing(row) });
        let mut lines: Vec<&SourceLoc> = rows.filter_map(|row| row.line.as_ref()).collect();
        lines.sort_by_key(|line| (&line.file, line.line));
        lines.dedup_by_key(|line| (&line.file, line.line));
        lines
    }

    /// The tensors of products of which the kernel adds none, though all else is correct, and how many products there are.
    pub fn absent(&self) -> Option<(Vec<String>, usize)> {
        let mut missing = self.rows.iter().filter(|row| row.kind == RowKind::Missing);
        let tensors = missing.next()?.tensors();
        let count = 1 + missing.filter(|row| row.tensors() == tensors).count();
        let is_absent = |row: &Row| match row.kind {
            RowKind::Missing => row.tensors() == tensors,
            RowKind::Correct => row.tensors() != tensors,
            RowKind::Extra | RowKind::Repeated | RowKind::Coefficient => false,
        };
        (count > 1 && self.rows.iter().all(is_absent)).then_some((tensors, count))
    }
}

impl ElementTerms {
    /// The values of an index of the formula whose products alone are missing, or alone are added, where nothing else is wrong; or how
    /// many are added before all others are missing, in the order of all indices.
    pub fn missing_range(&self) -> Option<MissingRange> {
        let is_plain = |row: &Row| matches!(row.kind, RowKind::Missing | RowKind::Correct);
        if !self.rows.iter().all(is_plain) {
            return None;
        }
        // Terms without indices, a bias for example, tell nothing of a loop.
        let looped = || self.rows.iter().filter(|row| !row.indices.is_empty());
        let names = &looped().next()?.indices;
        if looped().any(|row| row.indices.len() != names.len()) {
            return None;
        }
        let values = |at: usize, kind: RowKind| -> BTreeSet<i64> {
            looped().filter(|row| row.kind == kind).map(|row| row.indices[at].1).collect()
        };
        let missing_rows = looped().filter(|row| row.kind == RowKind::Missing).count();
        let find = |at: usize| {
            let (missing, there) = (values(at, RowKind::Missing), values(at, RowKind::Correct));
            if missing_rows < 2 || there.is_empty() || !missing.is_disjoint(&there) {
                return None;
            }
            let of = |set: &BTreeSet<i64>, added| {
                let (first, last) = (*set.first()?, *set.last()?);
                let is_whole = last - first + 1 == set.len() as i64;
                let name = &names[at].0;
                is_whole.then(|| MissingRange::Values { index: name.clone(), first, last, added })
            };
            of(&missing, false).or_else(|| of(&there, true))
        };
        let in_order = || {
            let mut rows: Vec<(Vec<i64>, bool)> = looped()
                .map(|row| {
                    let place = row.indices.iter().map(|(_, value)| *value).collect();
                    (place, row.kind == RowKind::Missing)
                })
                .collect();
            rows.sort();
            let added = rows.iter().take_while(|row| !row.1).count();
            let is_clear = added.min(rows.len() - added) >= MANY && names.len() > 1;
            (is_clear && rows[added..].iter().all(|row| row.1)).then(|| MissingRange::After {
                indices: names.iter().map(|(name, _)| name.clone()).collect(),
                added,
                all: rows.len(),
            })
        };
        (0..names.len()).find_map(find).or_else(in_order)
    }
}

/// So many products on each side show that a sum ends too early.
const MANY: usize = 4;

/// Which products of a sum are missing, where they lie together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MissingRange {
    /// Those with certain values of an index, or all but those.
    Values {
        /// The index of the formula.
        index: String,
        /// The least value.
        first: i64,
        /// The largest value.
        last: i64,
        /// These are added, and all others are missing.
        added: bool,
    },
    /// All after the first few, in the order of several indices.
    After {
        /// The indices, the one that changes fastest last.
        indices: Vec<String>,
        /// How many are added.
        added: usize,
        /// How many there are.
        all: usize,
    },
}

impl Row {
    /// The tensors whose elements are multiplied.
    fn tensors(&self) -> Vec<String> {
        self.factors.iter().filter_map(super::compare::tensor).collect()
    }
}

/// What makes a line the one where the mistake most likely is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clue {
    /// The products were added there.
    Added,
    /// A factor of them was computed there.
    Scaled,
    /// The same product was added there and elsewhere.
    OneOfSeveral,
    /// A factor that makes a product another one was loaded there, and the product was added elsewhere.
    Factor,
    /// It adds to what an output held before.
    OwnElement,
    /// It computes a size of the spec to something else.
    Size,
    /// It sets the first value of the sum.
    FirstValue,
    /// It is the head of a loop over an index of the formula, and leaves out values that the index takes.
    Loop,
    /// It is the head of a loop that may be over an index of the formula, and has other bounds.
    OtherLoop,
    /// It sets the sum anew.
    SetAgain,
    /// It computes a coordinate that is not that of the element.
    Coordinate,
    /// It stores the products of another element, or computes where.
    Place,
    /// It computes a coordinate inside the loops that no missing product has.
    Inner,
    /// It lets a thread go on that should have left.
    Surplus,
    /// It is a condition inside the loops.
    Condition,
}

/// One product of elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The elements, sorted; empty for a constant.
    pub factors: Vec<Factor>,
    /// What is wrong with it.
    pub kind: RowKind,
    /// Its coefficient in the formula, 0 if it has none.
    pub formula: f64,
    /// Its coefficient in the kernel, 0 if it has none.
    pub kernel: f64,
    /// Value of the product without the coefficient, where all its elements are known.
    pub value: Option<f64>,
    /// The formula's summation indices that give it.
    pub indices: Vec<(String, i64)>,
    /// Where the kernel added it; of a missing one, where it added its like.
    pub line: Option<SourceLoc>,
}

/// How a product differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowKind {
    /// The formula does not have it.
    Extra,
    /// The kernel does not have it.
    Missing,
    /// The kernel added it several times.
    Repeated,
    /// The coefficient is another one.
    Coefficient,
    /// Nothing is wrong with it.
    Correct,
}

#[cfg(test)]
mod tests {
    use super::*;
    use indexmath::ElementRef;

    fn terms(clue: Clue, kinds: &[RowKind]) -> ElementTerms {
        let line = |line| Some(SourceLoc { file: "k.cu".into(), line, column: 1 });
        let row = |&kind: &RowKind| Row {
            factors: Vec::new(),
            kind,
            formula: 1.0,
            kernel: 1.0,
            value: None,
            indices: Vec::new(),
            line: line(7),
        };
        ElementTerms {
            rows: kinds.iter().map(row).collect(),
            line: line(7),
            clue,
            between_threads: false,
            writer: ThreadId { block: [0; 3], thread: [0; 3] },
            general: true,
            belongs_to: None,
        }
    }

    #[test]
    fn a_shuffle_may_lose_some_lanes_and_repeat_others() {
        use RowKind::{Correct, Extra, Missing, Repeated};
        let loaded = |kinds: &[RowKind]| terms(Clue::Added, kinds).is_loaded_wrongly();
        assert!(!loaded(&[Missing, Repeated, Correct]));
        assert!(loaded(&[Missing, Correct]) && loaded(&[Repeated]) && loaded(&[Extra, Missing]));
    }

    #[test]
    fn a_line_is_named_where_it_follows_from_the_products() {
        use RowKind::{Coefficient, Correct, Extra, Missing, Repeated};
        let certain = |clue, kinds: &[RowKind]| terms(clue, kinds).certain_line().is_some();
        assert!(certain(Clue::Added, &[Extra, Missing, Correct]));
        assert!(!certain(Clue::Added, &[Extra, Missing]), "the index may come from elsewhere");
        assert!(!certain(Clue::Added, &[Missing, Correct]), "any line around may leave it out");
        assert!(certain(Clue::Added, &[Repeated, Correct]));
        assert!(certain(Clue::Added, &[Coefficient]) && certain(Clue::Scaled, &[Coefficient]));
        assert!(!certain(Clue::OneOfSeveral, &[Coefficient]), "the other one may be wrong");
        assert!(certain(Clue::Loop, &[Missing, Correct]));
        assert!(!certain(Clue::Condition, &[Missing, Correct]));
        let between =
            ElementTerms { between_threads: true, ..terms(Clue::Factor, &[Extra, Missing]) };
        assert_eq!(between.certain_line(), None, "loaded by another thread, and used elsewhere");
        let by_value = ElementTerms { general: false, ..terms(Clue::Loop, &[Missing]) };
        assert_eq!(by_value.certain_line(), None, "values decide what is added");
    }

    #[test]
    fn the_values_of_an_index_that_are_missing_are_named() {
        use RowKind::{Correct, Extra, Missing};
        let with = |kinds: &[RowKind]| {
            let mut terms = terms(Clue::Added, kinds);
            for (at, row) in terms.rows.iter_mut().enumerate() {
                row.indices = vec![("n".into(), 0), ("k".into(), at as i64)];
            }
            terms.missing_range()
        };
        let range = |first, last, added| {
            Some(MissingRange::Values { index: "k".into(), first, last, added })
        };
        assert_eq!(with(&[Correct, Correct, Missing, Missing]), range(2, 3, false));
        assert_eq!(with(&[Missing, Correct, Correct, Missing]), range(1, 2, true));
        assert_eq!(with(&[Missing, Correct, Missing, Correct]), None);
        assert_eq!(with(&[Correct, Extra, Missing, Missing]), None, "not the only mistake");
        assert_eq!(with(&[Correct, Correct, Missing]), None, "a single one is listed");
    }

    #[test]
    fn where_a_sum_over_two_indices_ends_is_named() {
        use RowKind::{Correct, Missing};
        let with = |missing: fn(usize) -> bool| {
            let kinds: Vec<RowKind> =
                (0..12).map(|at| if missing(at) { Missing } else { Correct }).collect();
            let mut terms = terms(Clue::Added, &kinds);
            for (at, row) in terms.rows.iter_mut().enumerate() {
                row.indices = vec![("h".into(), at as i64 / 4), ("w".into(), at as i64 % 4)];
            }
            terms.rows.reverse();
            terms.missing_range()
        };
        let indices = || vec!["h".into(), "w".into()];
        let after = |added| Some(MissingRange::After { indices: indices(), added, all: 12 });
        assert_eq!(with(|at| at >= 6), after(6));
        assert_eq!(with(|at| at >= 6 && at != 8), None);
        assert_eq!(with(|at| at >= 10), None, "too few");
    }

    #[test]
    fn products_are_added_at_the_line_of_those_that_are_wrong() {
        use RowKind::{Correct, Extra, Missing};
        let element = |tensor: &str| ElementRef { tensor: tensor.into(), coords: vec![0] };
        let line = |terms: &ElementTerms| terms.added_line().map(|line| line.line);
        assert_eq!(line(&terms(Clue::Added, &[Extra, Missing])), Some(7));
        assert_eq!(line(&terms(Clue::Added, &[Missing])), None);
        assert_eq!(line(&terms(Clue::Added, &[Missing, Correct])), Some(7));
        let mut bias = terms(Clue::Added, &[Missing, Missing, Correct]);
        bias.rows[2].factors = vec![Factor::Element(element("b"))];
        assert_eq!(line(&bias), None, "the line of the bias adds no products of other tensors");
        assert_eq!(bias.absent(), Some((Vec::new(), 2)));
        bias.rows[2].kind = Extra;
        assert_eq!(bias.absent(), None, "what is missing may have become it");
    }
}
