//! What the grader and its GPU child say to each other: frames of a JSON header and raw bytes.
//!
//! Both directions use one socket, the child's standard input. Its standard output belongs to the driver, which prints
//! there what kernels `printf`.
//!
//! A frame: [`MAGIC`], length of the header (u32), length of the body (u64), header, body; integers little-endian.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{Error, ErrorKind, Read, Result, Write};

/// First bytes of a frame. The digit is the version.
const MAGIC: [u8; 4] = *b"GPU1";

/// Longest header in bytes; a real one is far shorter.
const MAX_HEADER: u32 = 16 << 20;

/// What the child is asked for. The body is empty for a probe; else it is the module's image followed by the buffers'
/// first contents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// Which GPU is it?
    Probe,
    /// Run these launches on fresh memory.
    Run(Program),
}

/// Launches, and the sizes of what they need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Bytes of the module's image (cubin or PTX text) at the start of the body.
    pub image: usize,
    /// Bytes of each buffer, guard zones included; their contents follow in the body.
    pub buffers: Vec<usize>,
    /// In order; each is waited for before the next.
    pub launches: Vec<Launch>,
}

/// A kernel launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// Name in the module (mangled).
    pub kernel: String,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub shared: u32,
    /// All blocks at once, so that they may wait for each other.
    pub cooperative: bool,
    /// In the order of the signature.
    pub args: Vec<Arg>,
}

/// An argument of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Arg {
    /// Address of a byte of a buffer.
    Address {
        /// Index in [`Program::buffers`].
        buffer: usize,
        /// Bytes from its start.
        offset: usize,
    },
    /// An `int`.
    Int(i32),
    /// Any other number, in its own format; its lowest bytes count. As bits, for JSON has no NaN.
    Bits(u64),
}

/// What the child answers. The body is empty, except for [`Answer::Done`]: there it is the buffers' last contents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// To a probe.
    Device(GpuInfo),
    /// Launch number so-and-so starts now. More answers follow.
    Launching(usize),
    /// All launches have ended well.
    Done {
        /// Nanoseconds from the start of the first launch to the end of the last copy.
        nanoseconds: u64,
    },
    /// The driver refused something. The child ends after it, since the context may be spoilt.
    Failed(DriverFailure),
}

/// A GPU and its driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuInfo {
    /// For instance `NVIDIA H200`.
    pub name: String,
    /// Major and minor.
    pub compute_capability: (u32, u32),
    /// Newest CUDA version that the driver knows, as the driver tells it: 13000 is 13.0.
    pub driver_version: u32,
}

/// An error of the driver and when it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverFailure {
    /// What was tried.
    pub stage: Stage,
    /// For instance `CUDA_ERROR_ILLEGAL_ADDRESS`.
    pub code: String,
    /// The driver's own words.
    pub text: String,
}

/// Steps of the child's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// Loading the driver, finding the device, making a context.
    Open,
    /// Loading the module and finding its kernels.
    Load,
    /// Taking memory and filling it.
    Allocate,
    /// Starting a launch, by number.
    Launch(usize),
    /// Waiting for its end.
    Wait(usize),
    /// Reading the results.
    Read,
}

/// Writes a frame.
///
/// # Errors
/// The other side is gone or does not read in time.
pub fn write_frame(to: &mut impl Write, header: &impl Serialize, body: &[&[u8]]) -> Result<()> {
    let header = serde_json::to_vec(header)?;
    let length: usize = body.iter().map(|part| part.len()).sum();
    let mut start = Vec::with_capacity(16 + header.len());
    start.extend(MAGIC);
    start.extend((header.len() as u32).to_le_bytes());
    start.extend((length as u64).to_le_bytes());
    start.extend(header);
    to.write_all(&start)?;
    for part in body {
        to.write_all(part)?;
    }
    to.flush()
}

/// Reads a frame whose body has at most `max_body` bytes.
///
/// # Errors
/// [`ErrorKind::UnexpectedEof`] where the other side ended, [`ErrorKind::InvalidData`] where it wrote something else.
pub fn read_frame<H: DeserializeOwned>(
    from: &mut impl Read,
    max_body: u64,
) -> Result<(H, Vec<u8>)> {
    let mut magic = [0; 4];
    from.read_exact(&mut magic)?;
    if magic != MAGIC {
        return Err(invalid_data(format!("a frame starts with {magic:?}")));
    }
    let mut header = [0; 4];
    from.read_exact(&mut header)?;
    let header = u32::from_le_bytes(header);
    let mut body = [0; 8];
    from.read_exact(&mut body)?;
    let body = u64::from_le_bytes(body);
    if header > MAX_HEADER || body > max_body {
        return Err(invalid_data(format!("a frame claims {header} and {body} bytes")));
    }
    let header = read_bytes(from, u64::from(header))?;
    let body = read_bytes(from, body)?;
    let header = serde_json::from_slice(&header)
        .map_err(|e| invalid_data(format!("a header is not understood: {e}")))?;
    Ok((header, body))
}

/// Grows with what comes, so that a wrong length costs no memory.
fn read_bytes(from: &mut impl Read, length: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(length).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < length { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(bytes) }
}

fn invalid_data(message: String) -> Error {
    Error::new(ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> Vec<u8> {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, &Answer::Done { nanoseconds: 7 }, &[&[1, 2], &[], &[3]]).unwrap();
        bytes
    }

    #[test]
    fn a_frame_survives_the_way() {
        let launch = Launch {
            kernel: "_Z1kPf".into(),
            grid: [1, 2, 3],
            block: [4, 5, 6],
            shared: 7,
            cooperative: true,
            args: vec![
                Arg::Address { buffer: 1, offset: 4096 },
                Arg::Int(-1),
                Arg::Bits(f64::NAN.to_bits()),
            ],
        };
        let request = Request::Run(Program { image: 2, buffers: vec![1], launches: vec![launch] });
        let mut bytes = Vec::new();
        write_frame(&mut bytes, &request, &[&[9, 9], &[8]]).unwrap();
        let (back, body): (Request, _) = read_frame(&mut bytes.as_slice(), 3).unwrap();
        assert_eq!((back, body), (request, vec![9, 9, 8]));
    }

    #[test]
    fn every_truncation_is_an_end_and_never_an_answer() {
        let bytes = frame();
        for end in 0..bytes.len() {
            let error = read_frame::<Answer>(&mut &bytes[..end], 3).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{end} bytes");
        }
        assert!(read_frame::<Answer>(&mut bytes.as_slice(), 3).is_ok());
    }

    #[test]
    fn invalid_data_is_told_apart() {
        let invalid = |bytes: &[u8]| read_frame::<Answer>(&mut &*bytes, 3).unwrap_err().kind();
        assert_eq!(invalid(b"hello, world"), ErrorKind::InvalidData);
        let mut other_header = frame();
        other_header[16] = b'[';
        assert_eq!(invalid(&other_header), ErrorKind::InvalidData);
        let mut long_body = frame();
        long_body[8] = 4;
        assert_eq!(invalid(&long_body), ErrorKind::InvalidData);
        let mut long_header = frame();
        long_header[7] = 0xff;
        assert_eq!(invalid(&long_header), ErrorKind::InvalidData);
    }
}
