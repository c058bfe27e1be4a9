//! Extracts the PTX from a fat binary.
//!
//! For each file, nvcc embeds a container: a header of 16 bytes (magic, version, size of the header, size of the rest),
//! then entries, each with a header and a payload. The layout is not documented; these fields come from the output of
//! nvcc 13.0 with every `--compress-mode`, and the tests check them against it.

#[cfg(test)]
pub(crate) mod tests;

use std::io::Read;

/// The first four bytes of the container.
pub(crate) const MAGIC: u32 = 0xBA55_ED50;
/// The kind of an entry that holds PTX.
const PTX: u16 = 1;
/// A flag of an entry whose payload is compressed.
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
/// The largest number of bytes that one byte of LZ4 can decompress to.
const MAX_LZ4_RATIO: usize = 255;
/// The largest PTX in bytes.
const MAX_PTX: u64 = 256 << 20;

/// Why no PTX can be extracted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FatbinError {
    /// The data are not a fat binary, or are truncated.
    #[error("the embedded device code is not a fat binary")]
    Malformed,
    /// Only machine code inside.
    #[error(
        "the embedded device code has no PTX: compile with -gencode arch=compute_75,code=compute_75"
    )]
    NoPtx,
    /// The payload cannot be decompressed.
    #[error("the embedded PTX cannot be unpacked: {0}")]
    Packed(String),
}

/// The length in bytes of the container that starts here, according to its header. `None` if the start is not a header.
pub fn length(start: &[u8; 16]) -> Option<usize> {
    (u32_at(start, 0)? == MAGIC).then_some(())?;
    let (header, rest) = (u16_at(start, 6)?, u64_at(start, 8)?);
    usize::try_from(rest).ok()?.checked_add(header.into())
}

/// The PTX of the newest architecture up to `newest` (90 for `compute_90`), or else of the oldest one.
///
/// # Errors
/// The container has no PTX, or is invalid.
pub fn ptx(container: &[u8], newest: u32) -> Result<String, FatbinError> {
    let malformed = || FatbinError::Malformed;
    let header: &[u8; 16] = container.first_chunk().ok_or_else(malformed)?;
    let end = length(header).filter(|&end| end <= container.len()).ok_or_else(malformed)?;
    let mut place = usize::from(u16_at(header, 6).ok_or_else(malformed)?);
    let mut best: Option<Entry> = None;
    while place < end {
        let entry = Entry::read(&container[place..end]).ok_or_else(malformed)?;
        place += entry.whole;
        let better =
            best.as_ref().is_none_or(|best| match (best.arch <= newest, entry.arch <= newest) {
                (true, fits) => fits && entry.arch > best.arch,
                (false, fits) => fits || entry.arch < best.arch,
            });
        if entry.kind == PTX && better {
            best = Some(entry);
        }
    }
    best.ok_or(FatbinError::NoPtx)?.text()
}

/// The architecture of a PTX text: 75 for `.target sm_75`, 90 for `sm_90a` (PTX ISA 11.1.2).
pub fn target(ptx: &str) -> Option<u32> {
    let (_, rest) = ptx.split_once(".target")?;
    let digits = rest.trim_start().strip_prefix("sm_")?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

/// An entry of the container.
struct Entry<'a> {
    kind: u16,
    /// The architecture: 75 for `compute_75`.
    arch: u32,
    flags: u64,
    /// The decompressed size in bytes; 0 if it is not compressed.
    unpacked: u64,
    payload: &'a [u8],
    /// The length of header and payload in bytes.
    whole: usize,
}

impl<'a> Entry<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let header = usize::try_from(u32_at(bytes, 4)?).ok()?;
        let padded = usize::try_from(u64_at(bytes, 8)?).ok()?;
        let whole = header.checked_add(padded).filter(|&whole| whole > 0)?;
        let mut payload = bytes.get(header..whole)?;
        let packed = usize::try_from(u32_at(bytes, 16)?).ok()?;
        if packed != 0 {
            payload = payload.get(..packed)?;
        }
        Some(Self {
            kind: u16_at(bytes, 0)?,
            arch: u32_at(bytes, 28)?,
            flags: u64_at(bytes, 40)?,
            unpacked: u64_at(bytes, 56)?,
            payload,
            whole,
        })
    }

    fn text(&self) -> Result<String, FatbinError> {
        let packed = |what: &dyn std::fmt::Display| FatbinError::Packed(what.to_string());
        if self.unpacked > MAX_PTX {
            return Err(packed(&"its header declares more than 256 MiB"));
        }
        let size = self.unpacked as usize;
        let bytes = if self.flags & ZSTD != 0 {
            let stream =
                ruzstd::decoding::StreamingDecoder::new(self.payload).map_err(|e| packed(&e))?;
            let mut bytes = Vec::new();
            // One byte more than expected, to detect a longer one.
            stream.take(self.unpacked + 1).read_to_end(&mut bytes).map_err(|e| packed(&e))?;
            bytes
        } else if self.flags & LZ4 != 0 {
            if size / MAX_LZ4_RATIO > self.payload.len() {
                return Err(packed(&"its header declares more data than it contains"));
            }
            lz4_flex::block::decompress(self.payload, size).map_err(|e| packed(&e))?
        } else {
            self.payload.to_vec()
        };
        if self.flags & (ZSTD | LZ4) != 0 && bytes.len() != size {
            return Err(packed(&"its length differs from the one in its header"));
        }
        let text = String::from_utf8(bytes).map_err(|e| packed(&e))?;
        // nvcc pads the payload with zeros.
        Ok(text.trim_end_matches('\0').to_owned())
    }
}

fn u16_at(bytes: &[u8], place: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(place..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], place: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(place..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], place: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(place..)?.first_chunk()?))
}
