//! Handwriting-like digits, drawn from a seed: training data for machines without MNIST.
//!
//! A digit starts as the strokes of one of its allographs, is bent, slanted and rotated, and is drawn by a pen of
//! varying width. As in MNIST (`LeCun` et al., "Gradient-based learning applied to document recognition", 1998), an image has
//! 28 x 28 pixels, bright ink on black, and the ink's centre of mass lies near the middle.
//!
//! The same seed gives the same bytes on every machine: the drawing uses only operations that IEEE 754 rounds in one way.
//!
//! ```
//! let ten: Vec<digits::Digit> = digits::Writer::new(7).take(10).collect();
//! assert_eq!(ten, digits::Writer::new(7).take(10).collect::<Vec<_>>());
//! assert_eq!(ten[0].pixels.len(), digits::SIDE * digits::SIDE);
//! ```
//!
//! # Map
//!
//! ```text
//! random, allographs, image ──► pen ──► writer
//!                     image ──► idx
//! ```
//!
//! - `random`: the stream of random numbers;
//! - `allographs`: the strokes of the ways to write each digit, in the unit square;
//! - `image`: an image of a digit;
//! - `pen`: from strokes to pixels;
//! - `writer`: digit after digit;
//! - [`idx`]: MNIST's files.

mod allographs;
pub mod idx;
mod image;
mod pen;
mod random;
mod writer;

pub use image::{Digit, SIDE};
pub use writer::Writer;
