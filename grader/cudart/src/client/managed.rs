//! Pages that the program and its kernels both use: managed memory, `__managed__` variables, pinned host memory.
//!
//! What a program allocates lies at the same address on both sides. A `__managed__` variable does not: kernels know it by its
//! name, the program by a pointer of its own. The program's pages hold the truth while no kernel runs: they are sent to the
//! device before each launch and fetched after it.
#![allow(unsafe_code)]

use super::{Client, registry};
use crate::error::CudaError;
use crate::protocol::{Reply, Request};
use std::collections::BTreeMap;

/// By the address of the program's pages.
#[derive(Debug, Default)]
pub(crate) struct Managed(BTreeMap<u64, Pages>);

/// Whose they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Of `cudaMallocManaged`.
    Managed,
    /// Host memory: of `cudaMallocHost` and `cudaHostAlloc`.
    Pinned,
    /// Of a `__managed__` variable.
    Variable,
}

#[derive(Clone, Copy, Debug)]
struct Pages {
    kind: Kind,
    bytes: u64,
    /// Address on the device.
    device: u64,
}

impl Managed {
    /// Whose pages an address lies in.
    pub fn kind(&self, address: u64) -> Option<Kind> {
        let (&start, pages) = self.0.range(..=address).next_back()?;
        (address - start < pages.bytes.max(1)).then_some(pages.kind)
    }
}

impl Client {
    /// Pages of so many bytes at one address on both sides, all zero.
    pub fn alloc_managed(&mut self, bytes: u64, kind: Kind) -> Result<u64, CudaError> {
        let address = self.number(&Request::AllocShared { bytes }, &[])?;
        // Something of the program's may lie there already, or the address be beyond those of processes.
        if map(address, bytes) != Some(address) {
            self.tell(&Request::Free { address }, &[])?;
            return Err(CudaError::MEMORY_ALLOCATION);
        }
        self.managed.0.insert(address, Pages { kind, bytes, device: address });
        Ok(address)
    }

    /// Gives back pages of this kind.
    pub fn free_managed(&mut self, address: u64, kind: Kind) -> Result<(), CudaError> {
        match self.managed.0.get(&address) {
            Some(pages) if pages.kind == kind => self.unmap(address),
            _ => Err(CudaError::INVALID_VALUE),
        }
    }

    fn unmap(&mut self, address: u64) -> Result<(), CudaError> {
        let Some(Pages { kind, bytes, device }) = self.managed.0.remove(&address) else {
            return Ok(());
        };
        // SAFETY: the pages were mapped by `map` with this length, and nothing here refers to them any more.
        unsafe { libc::munmap(address as *mut libc::c_void, bytes.max(1) as usize) };
        // What a variable has on the device belongs to its module.
        match kind {
            Kind::Variable => Ok(()),
            Kind::Managed | Kind::Pinned => self.tell(&Request::Free { address: device }, &[]),
        }
    }

    /// Gives all of them back.
    pub fn unmap_all(&mut self) -> Result<(), CudaError> {
        let all: Vec<u64> = self.managed.0.keys().copied().collect();
        for address in all {
            self.unmap(address)?;
        }
        Ok(())
    }

    /// Sends all of them to the device.
    pub fn send_managed(&mut self) -> Result<(), CudaError> {
        let pages: Vec<(u64, Pages)> = self.managed.0.iter().map(|(&at, &of)| (at, of)).collect();
        let write = |&(address, Pages { bytes, device, .. }): &(u64, Pages)| {
            // SAFETY: the pages are mapped for reading, and stay so while the client is locked. Other threads of the program
            // may write to them meanwhile, which CUDA forbids them.
            let contents =
                unsafe { std::slice::from_raw_parts(address as *const u8, bytes as usize) };
            (Request::Write { address: device }, contents)
        };
        let asked: Vec<_> = pages.iter().map(write).collect();
        self.ask_each(&asked, |_, _| Ok(()))
    }

    /// Fetches all of them from the device.
    pub fn fetch_managed(&mut self) -> Result<(), CudaError> {
        let pages: Vec<(u64, Pages)> = self.managed.0.iter().map(|(&at, &of)| (at, of)).collect();
        let read = |&(_, Pages { bytes, device, .. }): &(u64, Pages)| {
            (Request::Read { address: device, bytes }, &[][..])
        };
        let asked: Vec<_> = pages.iter().map(read).collect();
        self.ask_each(&asked, |number, contents| {
            let (address, Pages { bytes, .. }) = pages[number];
            let contents = contents.get(..bytes as usize).ok_or(CudaError::UNKNOWN)?;
            // SAFETY: the pages are mapped for writing, of this length, and the source is elsewhere.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    contents.as_ptr(),
                    address as *mut u8,
                    contents.len(),
                );
            }
            Ok(())
        })
    }

    /// Gives each `__managed__` variable of a module its pages, and the program's pointer their address.
    pub fn place_managed_variables(&mut self, index: usize, module: u64) -> Result<(), CudaError> {
        let all: Vec<_> =
            registry().managed.iter().filter(|v| v.module == index).cloned().collect();
        for variable in all {
            let bytes = variable.size as u64;
            let (name, offset) = (variable.name, 0);
            let read = Request::ReadSymbol { module, name: name.clone(), offset, bytes };
            let (_, contents) = self.ask(&read, &[])?;
            let symbol = self.ask(&Request::Symbol { module, name }, &[])?;
            let Reply::Symbol { address: Some(device), .. } = symbol.0 else {
                return Err(CudaError::INVALID_SYMBOL);
            };
            let address = map(0, bytes).ok_or(CudaError::MEMORY_ALLOCATION)?;
            let length = contents.len().min(variable.size);
            // SAFETY: `map` has just mapped so many bytes there; the pointer is a variable of the program's, registered by
            // the code that nvcc made for it.
            unsafe {
                std::ptr::copy_nonoverlapping(contents.as_ptr(), address as *mut u8, length);
                *(variable.pointer as *mut u64) = address;
            }
            let pages = Pages { kind: Kind::Variable, bytes, device };
            self.managed.0.insert(address, pages);
        }
        Ok(())
    }
}

/// New pages, all zero: at this address or nowhere; at any for 0.
fn map(address: u64, bytes: u64) -> Option<u64> {
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
