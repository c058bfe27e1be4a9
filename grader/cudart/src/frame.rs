//! Sends values over a stream in frames: a length (u64, little-endian) and a value in postcard's format.

use serde::de::{DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt::{self, Display, Formatter};
use std::io::{Error, ErrorKind, Read, Result, Write};

/// The largest value in bytes. A program that sends a larger length must not fill the reader's memory.
const MAX_LENGTH: u64 = 1 << 30;

/// The size in bytes of the length at the start of a frame.
const START: usize = size_of::<u64>();

/// Writes a value.
///
/// # Errors
/// The other side has ended, or does not read in time.
pub fn write(to: &mut impl Write, value: &impl Serialize) -> Result<()> {
    let mut frame = postcard::to_extend(value, vec![0; START]).map_err(|e| invalid_data(&e))?;
    let length = (frame.len() - START) as u64;
    frame[..START].copy_from_slice(&length.to_le_bytes());
    to.write_all(&frame)
}

/// Reads a value that does not borrow from the frame.
///
/// # Errors
/// As [`Frame::read`] and [`Frame::value`].
pub fn read<T: DeserializeOwned>(from: &mut impl Read) -> Result<T> {
    Frame::read(from)?.value()
}

/// The payload of a frame.
#[derive(Debug)]
pub struct Frame(Vec<u8>);

impl Frame {
    /// Reads a frame.
    ///
    /// # Errors
    /// [`ErrorKind::UnexpectedEof`] if the other side ended, [`ErrorKind::InvalidData`] if it did not write a frame.
    pub fn read(from: &mut impl Read) -> Result<Self> {
        let mut length = [0; START];
        from.read_exact(&mut length)?;
        let length = u64::from_le_bytes(length);
        if length > MAX_LENGTH {
            return Err(invalid_data(&format_args!("its length field says {length} bytes")));
        }
        // Grows with the data, so that a wrong length costs no memory.
        let mut bytes = Vec::new();
        from.take(length).read_to_end(&mut bytes)?;
        if (bytes.len() as u64) < length {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(Self(bytes))
    }

    /// Decodes the value, which may borrow from the frame.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidData`] if the payload is not such a value.
    pub fn value<'a, T: Deserialize<'a>>(&'a self) -> Result<T> {
        match postcard::take_from_bytes(&self.0) {
            Ok((value, [])) => Ok(value),
            Ok(_) => Err(invalid_data(&"extra bytes follow the value")),
            Err(e) => Err(invalid_data(&e)),
        }
    }
}

fn invalid_data(what: &dyn Display) -> Error {
    Error::new(ErrorKind::InvalidData, format!("malformed frame: {what}"))
}

/// Bytes that are sent as one block; serde would serialise a slice or vector element by element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes<T>(pub T);

impl<T: AsRef<[u8]>> Serialize for Bytes<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0.as_ref())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Bytes<&'a [u8]> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        from.deserialize_bytes(BytesVisitor).map(Self)
    }
}

impl<'de> Deserialize<'de> for Bytes<Vec<u8>> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        from.deserialize_bytes(BytesVisitor).map(|bytes| Self(bytes.to_vec()))
    }
}

/// Deserialises bytes without copying them.
struct BytesVisitor;

impl<'de> Visitor<'de> for BytesVisitor {
    type Value = &'de [u8];

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("bytes")
    }

    fn visit_borrowed_bytes<E: serde::de::Error>(
        self,
        bytes: &'de [u8],
    ) -> std::result::Result<Self::Value, E> {
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_survives_the_way_and_no_part_of_it_does() {
        let value = (7u32, "seven", Bytes([3; 5000]));
        let mut bytes = Vec::new();
        write(&mut bytes, &value).unwrap();
        let frame = Frame::read(&mut bytes.as_slice()).unwrap();
        let back: (u32, &str, Bytes<&[u8]>) = frame.value().unwrap();
        assert_eq!(back, (7, "seven", Bytes(&[3; 5000][..])));
        let owned: (u32, String, Bytes<Vec<u8>>) = read(&mut bytes.as_slice()).unwrap();
        assert_eq!(owned, (7, "seven".to_owned(), Bytes(vec![3; 5000])));
        for end in (0..40).chain([bytes.len() - 1]) {
            let error = Frame::read(&mut &bytes[..end]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{end} bytes");
        }
    }

    #[test]
    fn what_is_no_frame_is_told_apart() {
        let kind = |bytes: &[u8]| read::<(u32, String)>(&mut &*bytes).unwrap_err().kind();
        let mut good = Vec::new();
        write(&mut good, &(7u32, "seven")).unwrap();
        assert_eq!(kind(b"<html>a kernel wrote this</html>"), ErrorKind::InvalidData);
        let with = |at: usize, byte| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            bytes
        };
        assert_eq!(kind(&with(START - 1, 1)), ErrorKind::InvalidData, "a long length");
        assert_eq!(kind(&with(START + 1, 200)), ErrorKind::InvalidData, "a long text");
        assert_eq!(kind(&with(START + 3, 0xFF)), ErrorKind::InvalidData, "no text");
        let mut longer = with(0, good[0] + 1);
        longer.push(0);
        assert_eq!(kind(&longer), ErrorKind::InvalidData, "something behind it");
    }
}
