//! Products of a sparse matrix A (`mma.sp`, PTX ISA 9.7.14.6), half of whose elements are zero, so that only the others have registers.
//!
//! The metadata say for each element of A which one of its group of columns it is. A product takes the elements of B in the rows of these
//! columns and no others, so what is infinite elsewhere in B does not count.

use super::fused_sum::BitMatrix;
use super::product::{self, AddProducts};
use crate::isa::matrix::{Product, Scalar, Shape, Sparsity};

/// Lanes of each four that hold the metadata of all four, for a product of this shape with k in words.
pub fn lanes_with_metadata(shape: Shape, scalar: Scalar) -> usize {
    let groups = shape.k / rows_of_group(scalar);
    // The registers of the lanes have 8 groups each, and there are two rows.
    (2 * groups / 8).max(1)
}

/// Rows of B that belong to a group of columns of A. Two of four elements are there, one of two of `tf32`, and two of the four bytes of a
/// word of smaller elements.
fn rows_of_group(scalar: Scalar) -> usize {
    match scalar {
        Scalar::S4 | Scalar::U4 => 1,
        Scalar::Tf32 => 2,
        _ => 4,
    }
}

/// The two places, from 0 to 3, of what is there of a group.
fn places(
    op: &Product,
    sparsity: Sparsity,
    metadata: &[u32; 32],
    row: usize,
    group: usize,
) -> [u32; 2] {
    let (four, lower) = (row % 8, row / 8);
    let lanes = lanes_with_metadata(op.shape, op.a.scalar);
    let short = matches!(op.a.scalar, Scalar::F16 | Scalar::Bf16 | Scalar::Tf32);
    // A register has four groups of either row, or eight of one of them.
    let (lane, at) =
        if short { (group / 4, 4 * lower + group % 4) } else { (group / 8 * 2 + lower, group % 8) };
    let word = metadata[4 * four + sparsity.selector * lanes + lane] >> (4 * at);
    [word & 3, word >> 2 & 3]
}

/// What of B meets the elements of a row of A, in their order.
fn rows_for(op: &Product, b: &BitMatrix, places: impl Fn(usize) -> [u32; 2]) -> BitMatrix {
    let n = op.shape.n;
    let groups = op.shape.k / rows_of_group(op.a.scalar);
    let line = |row: usize| b[row * n..][..n].iter().copied();
    match op.a.scalar {
        Scalar::S4 | Scalar::U4 => (0..groups / 2)
            .flat_map(|word| {
                let [low, high] = [2 * word, 2 * word + 1].map(|group| {
                    let [first, second] = places(group);
                    line(group).map(move |word| {
                        word >> (8 * first) & 0xFF | (word >> (8 * second) & 0xFF) << 8
                    })
                });
                low.zip(high).map(|(low, high)| low | high << 16)
            })
            .collect(),
        // The places are those of halves of an element.
        Scalar::Tf32 => {
            (0..groups).flat_map(|group| line(2 * group + places(group)[0] as usize / 2)).collect()
        }
        _ => (0..groups)
            .flat_map(|group| places(group).map(|place| line(4 * group + place as usize)))
            .flatten()
            .collect(),
    }
}

/// The product of whole matrices, of which A holds only what is there.
pub fn product(
    op: &Product,
    [a, b, c]: [&BitMatrix; 3],
    sparsity: Sparsity,
    metadata: &[u32; 32],
    add_products: AddProducts,
) -> BitMatrix {
    let (n, kept) = (op.shape.n, op.a.cols);
    let of_row = Product { shape: Shape { m: 1, n, k: kept }, sparsity: None, ..op.clone() };
    let row = |row: usize| {
        let b = rows_for(op, b, |group| places(op, sparsity, metadata, row, group));
        let (a, c) = (a[row * kept..][..kept].to_vec(), c[row * n..][..n].to_vec());
        product::product(&of_row, &a, &b, &c, add_products)
    };
    (0..op.shape.m).flat_map(row).collect()
}
