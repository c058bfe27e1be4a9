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
    /// The thread that wrote the element.
    pub writer: ThreadId,
    /// The kernel adds the same products whatever the inputs hold.
    pub general: bool,
}

impl ElementTerms {
    /// Formula and kernel add the same products.
    pub fn equal(&self) -> bool {
        self.rows.iter().all(|row| row.kind == RowKind::Correct)
    }

    /// The line to look at, unless it is one of several in which products were added, as where threads add up the sums of others, and
    /// the products lack something: which of these lines lost it is not known then.
    pub fn certain_line(&self) -> Option<&SourceLoc> {
        let lacks = |row: &Row| matches!(row.kind, RowKind::Missing | RowKind::Coefficient);
        let added = self.rows.iter().filter(|row| row.kind != RowKind::Missing);
        let lines: BTreeSet<&SourceLoc> = added.filter_map(|row| row.line.as_ref()).collect();
        let wrong = self.rows.iter().filter(|row| row.kind != RowKind::Correct);
        let line = self.line.as_ref()?;
        let is_added =
            lines.iter().any(|other| (&other.file, other.line) == (&line.file, line.line));
        let unknown = lines.len() > 1 && is_added && wrong.into_iter().all(lacks);
        (!unknown).then_some(line)
    }
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
