//! Where the value of an element comes from: the products that a kernel added up, the thread that wrote it, and what that
//! thread read on the way.

use crate::finding::{SourceLoc, ThreadId};
use indexmath::ElementRef;
use puzzle::tensor::Tensor;

/// An element of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index of the tensor in `case.tensors`.
    pub tensor: usize,
    /// Position in row-major order.
    pub flat: usize,
}

/// An element as a kernel made it.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelSum {
    /// The thread that wrote it last.
    pub writer: ThreadId,
    /// The source line of that write.
    pub line: Option<SourceLoc>,
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
    /// The constant factor of the product.
    pub coefficient: f64,
    /// The other factors of the product.
    pub factors: Vec<KernelFactor>,
    /// Line that added it.
    pub line: Option<SourceLoc>,
    /// Last line that multiplied it by a constant.
    pub scaled: Option<SourceLoc>,
}

/// A factor and where it was loaded or computed.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelFactor {
    /// What was loaded or computed.
    pub factor: Factor,
    /// The source line that did.
    pub line: Option<SourceLoc>,
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
    /// Name of the tensor.
    pub tensor: String,
    /// Position counted from its start.
    pub flat: i64,
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

/// Which thread wrote an element, and what it read on the way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Provenance {
    /// The last writer and the line of the write; `None` if no thread wrote it.
    pub writer: Option<(ThreadId, Option<SourceLoc>)>,
    /// Its reads of tensors.
    pub reads: Vec<ElementRead>,
}

/// An input element that a thread read.
#[derive(Clone, Debug, PartialEq)]
pub struct ElementRead {
    /// Name of the tensor.
    pub tensor: String,
    /// Shape of the tensor.
    pub shape: Vec<usize>,
    /// Position in row-major order; may lie outside.
    pub flat: i64,
    /// How many times it was read.
    pub count: u32,
    /// First line that read it.
    pub line: Option<SourceLoc>,
}
