//! The products of an element, those of the formula beside those of the kernel.

use device::finding::{SourceLoc, ThreadId};
use device::provenance::Factor;

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
