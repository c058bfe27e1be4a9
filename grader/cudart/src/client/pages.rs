//! Pages that host and device share: managed memory, `__managed__` variables, pinned host memory.
//!
//! Memory that a program allocates is at the same address on both sides. A `__managed__` variable is not: kernels refer
//! to it by name, the program through a pointer of its own. Nor is memory of the program that it registers. While no kernel runs, the program's pages are the valid
//! ones: they are sent to the device before each launch and fetched after it.
#![allow(unsafe_code)]

use std::collections::BTreeMap;

/// The largest number of bytes that are sent at once; more are sent in pieces.
pub const MAX_PIECE: u64 = if cfg!(test) { 1 << 10 } else { 64 << 20 };

/// The shared pages by their address in the program.
#[derive(Debug, Default)]
pub struct Managed(pub BTreeMap<u64, Pages>);

/// The kind of allocation that pages belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Memory that `cudaMallocManaged` gave.
    Managed,
    /// Host memory from `cudaMallocHost` and `cudaHostAlloc`.
    Pinned,
    /// The memory of a `__managed__` variable.
    Variable,
    /// Memory of the program that is registered and mapped.
    Registered,
}

/// Consecutive pages that belong to one allocation or variable.
#[derive(Clone, Copy, Debug)]
pub struct Pages {
    pub kind: Kind,
    pub bytes: u64,
    /// Their address on the device.
    pub device: u64,
    /// The flags with which the program allocated or registered them.
    pub flags: u32,
}

/// Pages that are sent at once.
pub struct Piece {
    /// Their address in the program.
    pub host: u64,
    /// Their address on the device.
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

    /// The kind of the pages that contain an address.
    pub fn kind(&self, address: u64) -> Option<Kind> {
        self.holding(address).map(|(_, pages)| pages.kind)
    }

    /// The pages that contain an address, and where they start in the program.
    pub fn holding(&self, address: u64) -> Option<(u64, Pages)> {
        let (&start, &pages) = self.0.range(..=address).next_back()?;
        (address - start < pages.bytes.max(1)).then_some((start, pages))
    }
}

/// Maps new zeroed pages: at this address or not at all; for 0, at any address.
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
