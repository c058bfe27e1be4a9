//! Pages that the program and its kernels both use: managed memory, `__managed__` variables, pinned host memory.
//!
//! What a program allocates lies at the same address on both sides. A `__managed__` variable does not: kernels know it by its
//! name, the program by a pointer of its own. The program's pages hold the truth while no kernel runs: they are sent to the
//! device before each launch and fetched after it.
#![allow(unsafe_code)]

use std::collections::BTreeMap;

/// Bytes that go over the socket at once; more go in pieces.
pub const MAX_PIECE: u64 = if cfg!(test) { 1 << 10 } else { 64 << 20 };

/// By the address of the program's pages.
#[derive(Debug, Default)]
pub struct Managed(pub BTreeMap<u64, Pages>);

/// Whose they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Of `cudaMallocManaged`.
    Managed,
    /// Host memory: of `cudaMallocHost` and `cudaHostAlloc`.
    Pinned,
    /// Of a `__managed__` variable.
    Variable,
}

/// Pages in one run.
#[derive(Clone, Copy, Debug)]
pub struct Pages {
    pub kind: Kind,
    pub bytes: u64,
    /// Address on the device.
    pub device: u64,
}

/// Pages that go over the socket at once.
pub struct Piece {
    /// Address in the program.
    pub host: u64,
    /// Address on the device.
    pub device: u64,
    pub bytes: usize,
}

impl Managed {
    /// All pages, in pieces.
    pub fn pieces(&self) -> impl Iterator<Item = Piece> {
        self.0.iter().flat_map(|(&host, &Pages { bytes, device, .. })| {
            (0..bytes).step_by(MAX_PIECE as usize).map(move |done| {
                let bytes = MAX_PIECE.min(bytes - done) as usize;
                Piece { host: host + done, device: device + done, bytes }
            })
        })
    }

    /// Whose pages an address lies in.
    pub fn kind(&self, address: u64) -> Option<Kind> {
        let (&start, pages) = self.0.range(..=address).next_back()?;
        (address - start < pages.bytes.max(1)).then_some(pages.kind)
    }
}

/// New pages, all zero: at this address or nowhere; at any for 0.
pub fn map(address: u64, bytes: u64) -> Option<u64> {
    let fixed = if address == 0 { 0 } else { libc::MAP_FIXED_NOREPLACE };
    // SAFETY: new pages at an address where nothing is mapped: FIXED_NOREPLACE fails rather than replace anything.
    let mapped = unsafe {
        libc::mmap(
            address as *mut libc::c_void,
            bytes.max(1) as usize,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | fixed,
            -1,
            0,
        )
    };
    (mapped != libc::MAP_FAILED).then_some(mapped as u64)
}
