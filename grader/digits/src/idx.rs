//! MNIST's files, in the IDX format that <http://yann.lecun.com/exdb/mnist/> described. All header fields are 32-bit
//! big-endian integers.

use std::fmt;
use std::io::{self, Write};
use std::slice::ChunksExact;

use crate::image::{Digit, SIDE};

/// The first field of a file of images: unsigned bytes (0x08), three axes.
pub const IMAGES: u32 = 0x0803;
/// The first field of a file of labels: unsigned bytes (0x08), one axis.
pub const LABELS: u32 = 0x0801;

/// Writes a file of images: [`IMAGES`], the number of images, rows and columns, then the pixels.
///
/// # Errors
/// Those of `to`.
pub fn write_images(to: &mut impl Write, digits: &[Digit]) -> io::Result<()> {
    for field in [IMAGES, digits.len() as u32, SIDE as u32, SIDE as u32] {
        to.write_all(&field.to_be_bytes())?;
    }
    digits.iter().try_for_each(|digit| to.write_all(&digit.pixels))
}

/// Writes a file of labels: [`LABELS`], the number of labels, then a byte each.
///
/// # Errors
/// Those of `to`.
pub fn write_labels(to: &mut impl Write, digits: &[Digit]) -> io::Result<()> {
    for field in [LABELS, digits.len() as u32] {
        to.write_all(&field.to_be_bytes())?;
    }
    digits.iter().try_for_each(|digit| to.write_all(&[digit.label]))
}

/// The reason why two files do not hold digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdxError {
    /// The file is shorter than its header says, or than a header.
    Truncated {
        /// The number of bytes that the file should have, at least.
        expected: usize,
        /// The number of bytes that it has.
        found: usize,
    },
    /// The first field is not that of such a file.
    Magic {
        /// What the file should start with: [`IMAGES`] or [`LABELS`].
        expected: u32,
        /// What the file starts with.
        found: u32,
    },
    /// The images are not 28 x 28.
    Size {
        /// The rows of an image.
        rows: u32,
        /// The columns of an image.
        columns: u32,
    },
    /// The two files have different numbers of digits.
    Count {
        /// The number of images.
        images: usize,
        /// The number of labels.
        labels: usize,
    },
    /// A label is greater than 9.
    Label {
        /// The position of the label in the file.
        index: usize,
        /// The label that was found.
        label: u8,
    },
}

impl fmt::Display for IdxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { expected, found } => {
                write!(f, "the file should have {expected} bytes, it has {found}")
            }
            Self::Magic { expected, found } => {
                write!(
                    f,
                    "the file should start with {expected:#010x}, it starts with {found:#010x}"
                )
            }
            Self::Size { rows, columns } => {
                write!(f, "the images should be {SIDE} x {SIDE}, they are {rows} x {columns}")
            }
            Self::Count { images, labels } => {
                write!(f, "there are {images} images and {labels} labels")
            }
            Self::Label { index, label } => write!(f, "label {index} is {label}, not 0 to 9"),
        }
    }
}

impl std::error::Error for IdxError {}

/// Reads a file of images and one of their labels: what [`write_images`] and [`write_labels`] wrote, or MNIST's own, unpacked.
///
/// # Errors
/// A file that is invalid, or files that do not belong together. Bytes after the end are ignored.
pub fn read(images: &[u8], labels: &[u8]) -> Result<Vec<Digit>, IdxError> {
    let (images, labels) = (self::images(images)?, self::labels(labels)?);
    if images.len() != labels.len() {
        return Err(IdxError::Count { images: images.len(), labels: labels.len() });
    }
    let digit = |(pixels, &label): (&[u8], &u8)| Digit { label, pixels: pixels.to_vec() };
    Ok(images.zip(labels).map(digit).collect())
}

/// The pixels of each image of a file.
///
/// # Errors
/// An invalid file. Bytes after the end are ignored.
pub fn images(file: &[u8]) -> Result<ChunksExact<'_, u8>, IdxError> {
    let ([count, rows, columns], pixels) = header::<3>(file, IMAGES)?;
    if (rows as usize, columns as usize) != (SIDE, SIDE) {
        return Err(IdxError::Size { rows, columns });
    }
    let pixels = body(pixels, 16, (count as usize).saturating_mul(SIDE * SIDE))?;
    Ok(pixels.chunks_exact(SIDE * SIDE))
}

/// The labels of a file.
///
/// # Errors
/// An invalid file. Bytes after the end are ignored.
pub fn labels(file: &[u8]) -> Result<&[u8], IdxError> {
    let ([count], labels) = header::<1>(file, LABELS)?;
    let labels = body(labels, 8, count as usize)?;
    match labels.iter().position(|&label| label > 9) {
        Some(index) => Err(IdxError::Label { index, label: labels[index] }),
        None => Ok(labels),
    }
}

/// Checks that a file starts with `magic`. Gives the fields of the header after that, and the bytes after the header.
fn header<const N: usize>(file: &[u8], magic: u32) -> Result<([u32; N], &[u8]), IdxError> {
    let truncated = IdxError::Truncated { expected: 4 * (N + 1), found: file.len() };
    let mut rest = file;
    let mut field = || {
        let (bytes, after) = rest.split_first_chunk::<4>()?;
        rest = after;
        Some(u32::from_be_bytes(*bytes))
    };
    let found = field().ok_or_else(|| truncated.clone())?;
    if found != magic {
        return Err(IdxError::Magic { expected: magic, found });
    }
    let mut fields = [0; N];
    for each in &mut fields {
        *each = field().ok_or_else(|| truncated.clone())?;
    }
    Ok((fields, rest))
}

/// The `length` bytes that follow a header of `header` bytes.
fn body(bytes: &[u8], header: usize, length: usize) -> Result<&[u8], IdxError> {
    bytes.get(..length).ok_or(IdxError::Truncated {
        expected: length.saturating_add(header),
        found: header + bytes.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writer::Writer;

    fn files(digits: &[Digit]) -> (Vec<u8>, Vec<u8>) {
        let (mut images, mut labels) = (Vec::new(), Vec::new());
        write_images(&mut images, digits).unwrap();
        write_labels(&mut labels, digits).unwrap();
        (images, labels)
    }

    #[test]
    fn what_is_written_is_read() {
        let digits: Vec<Digit> = Writer::new(5).take(3).collect();
        let (images, labels) = files(&digits);
        // The bytes of the description.
        assert_eq!(images[..16], [0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 28, 0, 0, 0, 28]);
        assert_eq!(labels[..8], [0, 0, 8, 1, 0, 0, 0, 3]);
        assert_eq!((images.len(), labels.len()), (16 + 3 * 784, 8 + 3));
        assert_eq!(read(&images, &labels), Ok(digits));
    }

    #[test]
    fn broken_files_are_told_apart() {
        let digits: Vec<Digit> = Writer::new(5).take(2).collect();
        let (images, labels) = files(&digits);
        for end in 0..images.len() {
            let error = read(&images[..end], &labels).unwrap_err();
            assert!(matches!(error, IdxError::Truncated { .. }), "{end}: {error}");
        }
        let magic = IdxError::Magic { expected: IMAGES, found: LABELS };
        assert_eq!(read(&labels, &labels), Err(magic));
        let (_, three) = files(&Writer::new(5).take(3).collect::<Vec<_>>());
        assert_eq!(read(&images, &three), Err(IdxError::Count { images: 2, labels: 3 }));
        let mut wrong = labels.clone();
        wrong[9] = 10;
        assert_eq!(read(&images, &wrong), Err(IdxError::Label { index: 1, label: 10 }));
        let mut wrong = images.clone();
        wrong[11] = 27;
        assert_eq!(read(&wrong, &labels), Err(IdxError::Size { rows: 27, columns: 28 }));
        // A header that declares more than memory can hold.
        let mut wrong = images;
        wrong[4..8].fill(255);
        let mut many = labels;
        many[4..8].fill(255);
        assert!(matches!(read(&wrong, &many), Err(IdxError::Truncated { .. })));
    }
}
