//! What client and server say to each other: frames of a header (postcard) and raw bytes, both ways over one stream.
//!
//! A frame: length of the header (u32), length of the body (u64), header, body; integers little-endian.

use crate::error::CudaError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{Error, ErrorKind, Read, Result, Write};

/// What the client asks for. The server answers each with one [`Reply`] or a [`CudaError`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// Which device is it?
    Properties,
    /// Load a fat binary (the body): [`Reply::Number`], the module's.
    Load,
    /// Memory: [`Reply::Number`], its address.
    Alloc {
        /// Bytes.
        bytes: u64,
    },
    /// Memory at an address that a process can have for its own pages: [`Reply::Number`], its address.
    AllocShared {
        /// Bytes.
        bytes: u64,
    },
    /// Give memory back.
    Free {
        /// As [`Request::Alloc`] gave it.
        address: u64,
    },
    /// Write the body to an address.
    Write {
        /// Of the first byte.
        address: u64,
    },
    /// Bytes at an address: the reply's body.
    Read {
        /// Of the first byte.
        address: u64,
        /// How many.
        bytes: u64,
    },
    /// Fill memory with a byte.
    Fill {
        /// Of the first byte.
        address: u64,
        /// How many.
        bytes: u64,
        /// With what.
        value: u8,
    },
    /// Copy within the device.
    Copy {
        /// Address of the first byte.
        to: u64,
        /// Address of the first byte.
        from: u64,
        /// How many.
        bytes: u64,
    },
    /// Where is a variable? [`Reply::Symbol`].
    Symbol {
        /// Of [`Request::Load`].
        module: u64,
        /// In the PTX.
        name: String,
    },
    /// Write the body into a variable, `__constant__` or `__device__`.
    WriteSymbol {
        /// Of [`Request::Load`].
        module: u64,
        /// In the PTX.
        name: String,
        /// Bytes from its start.
        offset: u64,
    },
    /// Bytes of a variable: the reply's body.
    ReadSymbol {
        /// Of [`Request::Load`].
        module: u64,
        /// In the PTX.
        name: String,
        /// Bytes from its start.
        offset: u64,
        /// How many.
        bytes: u64,
    },
    /// What is known about a kernel? [`Reply::Kernel`].
    Kernel {
        /// Of [`Request::Load`].
        module: u64,
        /// In the PTX.
        name: String,
    },
    /// Run a kernel to its end; the body is its parameters, one after another. [`Reply::Launched`].
    Launch(Launch),
    /// Free and used memory: [`Reply::Memory`].
    Memory,
    /// Another size of the heap of kernels' `malloc`.
    HeapSize {
        /// Bytes.
        bytes: u64,
    },
    /// The program has come to its end by itself. Nothing follows.
    Finished {
        /// What `main` returned, if it was a program.
        status: i32,
    },
}

/// A kernel launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// Of [`Request::Load`].
    pub module: u64,
    /// In the PTX.
    pub kernel: String,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub shared: u32,
    /// All blocks may wait for each other.
    pub cooperative: bool,
}

/// The server's answer, where all went well.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// Nothing to say; or the body says it.
    Done,
    /// An address or a module's number.
    Number(u64),
    /// A variable.
    Symbol {
        /// In global memory; None for a constant, which has no address that the host could use.
        address: Option<u64>,
        /// Bytes.
        bytes: u64,
    },
    /// A kernel.
    Kernel(KernelInfo),
    /// A launch has ended. The body is what it printed.
    Launched(Launched),
    /// The device's memory.
    Memory {
        /// Bytes.
        free: u64,
        /// Bytes.
        total: u64,
    },
    /// The device.
    Properties(Properties),
}

/// How a launch ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launched {
    /// The device's clock afterwards, in nanoseconds.
    pub clock: u64,
    /// What the kernel did wrong, in the eyes of a GPU: from now on every call fails with it.
    pub fault: Option<CudaError>,
}

/// A kernel, as far as the host asks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelInfo {
    /// Bytes of each parameter.
    pub params: Vec<u32>,
    /// Bytes of static shared memory.
    pub shared: u32,
    /// Registers of a thread, where known.
    pub registers: u32,
    /// The architecture that its PTX is for: 75 for `.target sm_75`.
    pub ptx_version: u32,
    /// Why the device cannot run it.
    pub refusal: Option<String>,
}

/// The device, as far as the host asks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Properties {
    /// For instance `NVIDIA H200`.
    pub name: String,
    /// Compute capability.
    pub capability: (u32, u32),
    /// Bytes of global memory.
    pub memory: u64,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Event times are measured; else they are simulated.
    pub real_time: bool,
}

/// Longest header in bytes; a real one is far shorter.
const MAX_HEADER: u32 = 1 << 20;

/// Longest body in bytes: what one call can copy. A program that claims more may not fill the server's memory.
const MAX_BODY: u64 = 1 << 30;

/// Writes a frame.
///
/// # Errors
/// The other side is gone.
pub fn write_frame(to: &mut impl Write, header: &impl Serialize, body: &[&[u8]]) -> Result<()> {
    let header = postcard::to_stdvec(header).map_err(|e| rubbish(&e))?;
    let length: usize = body.iter().map(|part| part.len()).sum();
    let mut start = Vec::with_capacity(12 + header.len());
    start.extend((header.len() as u32).to_le_bytes());
    start.extend((length as u64).to_le_bytes());
    start.extend(header);
    if length <= SMALL {
        for part in body {
            start.extend_from_slice(part);
        }
        return to.write_all(&start);
    }
    to.write_all(&start)?;
    body.iter().try_for_each(|part| to.write_all(part))
}

/// Bodies up to this many bytes go out together with their header.
const SMALL: usize = 4096;

/// Reads a frame.
///
/// # Errors
/// [`ErrorKind::UnexpectedEof`] where the other side ended, [`ErrorKind::InvalidData`] where it wrote something else.
pub fn read_frame<H: DeserializeOwned>(from: &mut impl Read) -> Result<(H, Vec<u8>)> {
    let mut start = [0; 12];
    from.read_exact(&mut start)?;
    let header = u32::from_le_bytes([start[0], start[1], start[2], start[3]]);
    let mut length = [0; 8];
    length.copy_from_slice(&start[4..]);
    if header > MAX_HEADER {
        return Err(rubbish(&"a header that long"));
    }
    let header = read_bytes(from, header.into())?;
    let length = u64::from_le_bytes(length);
    if length > MAX_BODY {
        return Err(rubbish(&"a body that long"));
    }
    let body = read_bytes(from, length)?;
    Ok((postcard::from_bytes(&header).map_err(|e| rubbish(&e))?, body))
}

/// Grows with what comes, so that a wrong length costs no memory.
fn read_bytes(from: &mut impl Read, length: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(length).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < length { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(bytes) }
}

fn rubbish(what: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidData, format!("not a frame: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_survives_the_way_and_no_part_of_it_does() {
        let request = Request::WriteSymbol { module: 2, name: "c".into(), offset: 4 };
        let mut bytes = Vec::new();
        write_frame(&mut bytes, &request, &[&[1, 2], &[], &[3; 5000]]).unwrap();
        let (back, body): (Request, _) = read_frame(&mut bytes.as_slice()).unwrap();
        assert_eq!((back, body.len()), (request, 5002));
        for end in (0..40).chain([bytes.len() - 1]) {
            let error = read_frame::<Request>(&mut &bytes[..end]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{end} bytes");
        }
        let mut long = bytes.clone();
        long[11] = 1;
        let error = read_frame::<Request>(&mut long.as_slice()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        bytes[3] = 0xFF;
        let error = read_frame::<Request>(&mut bytes.as_slice()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
    }
}
