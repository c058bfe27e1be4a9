//! The PTX in a fat binary.
//!
//! nvcc embeds, for each file, a container: a header of 16 bytes (magic, version, size of the header, size of what follows),
//! then entries of a header and a payload each. The layout is not documented; these fields were read off the output of nvcc
//! 13.0 with every `--compress-mode`, and are checked against it in the tests.

#[cfg(test)]
pub(crate) mod tests;

use std::io::Read;

/// First four bytes of the container.
const MAGIC: u32 = 0xBA55_ED50;
/// Kind of an entry that holds PTX.
const PTX: u16 = 1;
/// Flags of an entry.
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
/// Bytes that a byte of LZ4 stands for at most.
const MAX_LZ4_RATIO: usize = 255;
/// Longest PTX, in bytes.
const MAX_PTX: u64 = 256 << 20;

/// Why there is no PTX.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FatbinError {
    /// Not a fat binary, or cut off.
    #[error("the embedded device code is not a fat binary")]
    Malformed,
    /// Only machine code inside.
    #[error(
        "the embedded device code has no PTX: compile with -gencode arch=compute_75,code=compute_75"
    )]
    NoPtx,
    /// The payload cannot be unpacked.
    #[error("the embedded PTX cannot be unpacked: {0}")]
    Packed(String),
}

/// Bytes of the container that starts here: its header says how many. `None` if the start is no header.
pub fn length(start: &[u8; 16]) -> Option<usize> {
    (u32_at(start, 0)? == MAGIC).then_some(())?;
    let (header, rest) = (u16_at(start, 6)?, u64_at(start, 8)?);
    usize::try_from(rest).ok()?.checked_add(header.into())
}

/// The PTX of the newest architecture that is at most `newest` (90 for `compute_90`), or of the oldest one.
///
/// # Errors
/// There is none, or the container is broken.
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

/// The architecture that a PTX text is for: 75 for `.target sm_75`, 90 for `sm_90a` (PTX ISA 11.1.2).
pub fn target(ptx: &str) -> Option<u32> {
    let (_, rest) = ptx.split_once(".target")?;
    let digits = rest.trim_start().strip_prefix("sm_")?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

/// One entry.
struct Entry<'a> {
    kind: u16,
    /// 75 for `compute_75`.
    arch: u32,
    flags: u64,
    /// Unpacked size in bytes; 0 where not packed.
    unpacked: u64,
    payload: &'a [u8],
    /// Bytes of header and payload.
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
            return Err(packed(&"it claims to be larger than 256 MiB"));
        }
        let size = self.unpacked as usize;
        let bytes = if self.flags & ZSTD != 0 {
            let stream =
                ruzstd::decoding::StreamingDecoder::new(self.payload).map_err(|e| packed(&e))?;
            let mut bytes = Vec::new();
            // One more than it shall be, to notice it.
            stream.take(self.unpacked + 1).read_to_end(&mut bytes).map_err(|e| packed(&e))?;
            bytes
        } else if self.flags & LZ4 != 0 {
            if size / MAX_LZ4_RATIO > self.payload.len() {
                return Err(packed(&"it claims to hold more than it can"));
            }
            lz4_flex::block::decompress(self.payload, size).map_err(|e| packed(&e))?
        } else {
            self.payload.to_vec()
        };
        if self.flags & (ZSTD | LZ4) != 0 && bytes.len() != size {
            return Err(packed(&"it is not as long as it claims to be"));
        }
        let text = String::from_utf8(bytes).map_err(|e| packed(&e))?;
        // nvcc fills the payload up with zeros.
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
