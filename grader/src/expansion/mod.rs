//! An element as a sum of products: what the formula adds beside what the kernel added.

mod compare;
mod locate;
mod source;
mod statement;

use crate::finding::{SourceLine, ThreadId};
use crate::tensor::Tensor;
pub use compare::compare;
use indexmath::ElementRef;
pub use locate::{Evidence, index_ranges, locate};
pub use statement::statement;

/// An element of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index in `case.tensors`.
    pub tensor: usize,
    /// Position in row-major order.
    pub flat: usize,
}

/// An element as a kernel made it.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelSum {
    /// The thread that wrote it last.
    pub writer: ThreadId,
    /// Where.
    pub line: Option<SourceLine>,
    /// In the order in which they were added.
    pub terms: Vec<KernelTerm>,
    /// No branch, no choice and no address depended on the values of the inputs: every input gives these terms.
    pub general: bool,
    /// Another thread had written the element before.
    pub overwrote: bool,
    /// Only the block that wrote the element was followed: others may have added to it.
    pub one_block: bool,
}

/// A product that a kernel added.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelTerm {
    /// Constant factor.
    pub coefficient: f64,
    /// What was multiplied.
    pub factors: Vec<KernelFactor>,
    /// Line that added it.
    pub line: Option<SourceLine>,
    /// Last line that multiplied it by a constant.
    pub scaled: Option<SourceLine>,
}

/// A factor and where it was loaded or computed.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelFactor {
    /// Which.
    pub factor: Factor,
    /// Where.
    pub line: Option<SourceLine>,
}

/// What products are made of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Factor {
    /// An element of an input, or of an output that was read before it was written.
    Element(ElementRef),
    /// A read outside its tensor.
    Outside(Outside),
    /// A function of other elements, written out; a formula's sum of products has none.
    Function(String),
}

/// A position outside a tensor.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outside {
    /// Tensor name.
    pub tensor: String,
    /// Position counted from its start.
    pub flat: i64,
}

/// An element's products, formula and kernel side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct ElementTerms {
    /// Wrong ones first.
    pub rows: Vec<Row>,
    /// The line where the mistake most likely is, if anything is wrong.
    pub line: Option<SourceLine>,
    /// The thread that wrote the element.
    pub writer: ThreadId,
    /// The kernel adds the same products whatever the inputs hold.
    pub general: bool,
}

impl ElementTerms {
    /// Formula and kernel add the same products.
    pub fn equal(&self) -> bool {
        self.rows.iter().all(|row| row.kind == RowKind::Right)
    }
}

/// One product of elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Sorted; none: a constant.
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
    pub line: Option<SourceLine>,
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
    /// Another coefficient.
    Coefficient,
    /// Nothing.
    Right,
}

impl Factor {
    /// The element of a tensor at a position that may lie outside.
    pub fn of(tensor: &Tensor, flat: i64) -> Self {
        match usize::try_from(flat).ok().filter(|&flat| flat < tensor.len()) {
            Some(flat) => Self::Element(ElementRef {
                tensor: tensor.name.clone(),
                coords: tensor.coords(flat).into_iter().map(|c| c as i64).collect(),
            }),
            None => Self::Outside(Outside { tensor: tensor.name.clone(), flat }),
        }
    }
}
