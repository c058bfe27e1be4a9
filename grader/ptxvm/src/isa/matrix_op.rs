//! The operations of matrices.

use crate::isa::matrix::{Matrices, Product, Tile};
use crate::isa::names::Reg32;
use crate::isa::quad_pairs::QuadPairs;
use crate::isa::warpgroup::GroupProduct;

/// What tensor cores do.
#[derive(Clone, Debug)]
pub enum Matrix {
    Product(Product),
    OfGroup(GroupProduct),
    QuadPairs(QuadPairs),
    Load(Tile),
    Store(Tile),
    Rows(Matrices),
    /// `movmatrix.trans`: destination and source.
    Transpose(Reg32, Reg32),
}
