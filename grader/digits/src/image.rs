//! An image of a digit.

/// The number of pixels of a side of an image.
pub const SIDE: usize = 28;

/// An image of a written digit, and which digit it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digit {
    /// The class: 0 to 9.
    pub label: u8,
    /// The pixels, [`SIDE`] rows of [`SIDE`] from the top left; 0 is paper, 255 full ink.
    pub pixels: Vec<u8>,
}
