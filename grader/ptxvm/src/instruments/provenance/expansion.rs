//! A value written out as a sum of products.

use crate::memory::buffer::BufferId;
use crate::source_loc::SourceLoc;

/// A value as a sum of products.
#[derive(Clone, Debug, PartialEq)]
pub enum Expansion {
    /// In the order in which they were added; equal ones stand as often as they were added. A constant is a product
    /// without factors, and nothing is left of a zero.
    Products(Vec<Product>),
    /// More products than allowed, or made after the provenance had reached its limit.
    TooLarge,
}

impl Expansion {
    pub(super) fn constant(value: f64) -> Self {
        let product = Product { coefficient: value, factors: Vec::new(), loc: None, scaled: None };
        Self::Products(if value == 0.0 { Vec::new() } else { vec![product] })
    }
}

/// One product of a sum.
#[derive(Clone, Debug, PartialEq)]
pub struct Product {
    /// The product of all constant factors, signs included.
    pub coefficient: f64,
    /// In the order in which they were multiplied.
    pub factors: Vec<Factor>,
    /// The line that added it to the sum; of a single product, the line that multiplied or loaded it.
    pub loc: Option<SourceLoc>,
    /// The last line that multiplied it, or the sum it stands in, by a constant.
    pub scaled: Option<SourceLoc>,
}

/// A factor of a product.
#[derive(Clone, Debug, PartialEq)]
pub enum Factor {
    /// An element of a tensor as it was before any kernel wrote it.
    Element {
        /// The buffer that holds the tensor.
        buffer: BufferId,
        /// Offset in it, in bytes; outside where the read missed the buffer.
        byte: i64,
        /// The line that loaded it.
        loc: Option<SourceLoc>,
    },
    /// A function: `exp2`, `log2`, `sqrt`, `rsqrt`, `sin`, `cos`, `tanh`, `div` (of two), `int` and `round`, `trunc`,
    /// `floor`, `ceil`, or `?` for what was not followed.
    Function {
        /// The name of the function: `exp2`, for example.
        name: &'static str,
        /// What it was applied to.
        arguments: Vec<Expansion>,
        /// The line that applied it.
        loc: Option<SourceLoc>,
    },
}
