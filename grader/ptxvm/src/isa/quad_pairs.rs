//! `mma.m8n8k4` of `f16` (PTX ISA 9.7.14.5.1): a warp computes four products, each by a quad pair, which is four lanes and the four that
//! are 16 behind them. The tensor cores of `sm_70` work so; the machine code for later ones multiplies and adds in `f32`.

use crate::isa::names::Slot;

/// Four products of 8 x 8 with a depth of 4.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a modifier of the instruction")]
pub struct QuadPairs {
    pub a: Vec<Slot>,
    pub b: Vec<Slot>,
    pub c: Vec<Slot>,
    pub d: Vec<Slot>,
    /// Whether a lane has a row of A, or of B, and not a column.
    pub rows_of_a: bool,
    pub rows_of_b: bool,
    /// Whether the elements of C, or of D, are halves, of which a lane has a row, and not `f32`.
    pub halves_of_c: bool,
    pub halves_of_d: bool,
}

/// Which of the four products a lane works at.
pub fn pair(lane: usize) -> usize {
    lane % 16 / 4
}

/// A lane's place in its pair: whether it is one of the upper four, as the first of their rows, and which of four.
fn in_pair(lane: usize) -> (usize, usize) {
    (lane / 16 * 4, lane % 4)
}

/// Row and column of an element of A.
pub fn place_of_a(lane: usize, element: usize, by_rows: bool) -> (usize, usize) {
    let (first, own) = in_pair(lane);
    if by_rows { (first + own, element) } else { (first + element, own) }
}

/// Row and column of an element of B.
pub fn place_of_b(lane: usize, element: usize, by_rows: bool) -> (usize, usize) {
    let (column, row) = place_of_a(lane, element, !by_rows);
    (row, column)
}

/// Row and column of an element of C or D.
pub fn place_of_sum(lane: usize, element: usize, halves: bool) -> (usize, usize) {
    let (first, own) = in_pair(lane);
    if halves {
        (first + own, element)
    } else {
        (first + (lane & 1) + (element & 2), (element & 4) + (lane & 2) + (element & 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_hold_what_the_isa_says() {
        // Lane 22 is the third of the upper four of the second pair.
        assert_eq!(pair(22), 1);
        assert_eq!(place_of_a(22, 3, true), (6, 3));
        assert_eq!(place_of_a(22, 3, false), (7, 2));
        assert_eq!(place_of_b(22, 3, true), (2, 7));
        assert_eq!(place_of_b(22, 3, false), (3, 6));
        assert_eq!(place_of_sum(22, 5, true), (6, 5));
        assert_eq!(place_of_sum(22, 5, false), (4, 7));
    }
}
