//! What the context does with pages that host and device share.
#![allow(unsafe_code)]

use super::context::Client;
use super::pages::{Kind, Pages, Piece, map};
use super::registry::registry;
use crate::device::{Answer, Device, Request};
use crate::error::CudaError;
use crate::frame::Bytes;

impl Client {
    /// Allocates zeroed pages of this size at the same address on both sides.
    pub fn alloc_managed(&mut self, bytes: u64, kind: Kind) -> Answer<u64> {
        let address = Device::alloc_managed(self, bytes)?;
        // The program may already use this address, or it may be outside the range of processes.
        if map(address, bytes) != Some(address) {
            self.free(address)?;
            return Err(CudaError::MEMORY_ALLOCATION);
        }
        self.managed.0.insert(address, Pages { kind, bytes, device: address, flags: 0 });
        Ok(address)
    }

    /// Registers memory of the program.
    ///
    /// # Errors
    /// It is none, or a part of it is registered already.
    pub fn register(&mut self, address: u64, bytes: u64) -> Answer<()> {
        let end = address.checked_add(bytes).filter(|&end| address > 0 && end > address);
        let end = end.ok_or(CudaError::INVALID_VALUE)?;
        let before = self.registered.range(..end).next_back();
        let overlaps = before.is_some_and(|(start, bytes)| start + bytes > address);
        if overlaps || [address, end - 1].iter().any(|&at| self.managed.holding(at).is_some()) {
            return Err(CudaError::HOST_MEMORY_ALREADY_REGISTERED);
        }
        self.registered.insert(address, bytes);
        Ok(())
    }

    /// Gives the device memory of its own for registered memory that holds an address, so that kernels can use it. Nothing happens to
    /// other memory.
    ///
    /// # Errors
    /// The device has no room.
    pub fn map_registered(&mut self, address: u64) -> Answer<()> {
        let Some((&start, &bytes)) = self.registered.range(..=address).next_back() else {
            return Ok(());
        };
        if address - start < bytes && self.managed.holding(address).is_none() {
            let device = Device::alloc(self, bytes)?;
            let pages = Pages { kind: Kind::Registered, bytes, device, flags: 0 };
            self.managed.0.insert(start, pages);
        }
        Ok(())
    }

    /// Ends the registration of memory that begins here.
    ///
    /// # Errors
    /// There is none.
    pub fn unregister(&mut self, address: u64) -> Answer<()> {
        self.registered.remove(&address).ok_or(CudaError::HOST_MEMORY_NOT_REGISTERED)?;
        self.unmap(address)
    }

    /// Notes with which flags the program made pages that begin here.
    pub fn note_flags(&mut self, address: u64, flags: u32) {
        if let Some(pages) = self.managed.0.get_mut(&address) {
            pages.flags = flags;
        }
    }

    /// Frees pages of this kind.
    pub fn free_managed(&mut self, address: u64, kind: Kind) -> Answer<()> {
        match self.managed.0.get(&address) {
            Some(pages) if pages.kind == kind => self.unmap(address),
            _ => Err(CudaError::INVALID_VALUE),
        }
    }

    fn unmap(&mut self, address: u64) -> Answer<()> {
        let Some(Pages { kind, bytes, device, .. }) = self.managed.0.remove(&address) else {
            return Ok(());
        };
        self.in_use.remove(&address);
        // Registered memory is the program's own.
        if kind != Kind::Registered {
            // SAFETY: the pages were mapped by `map` with this length, and nothing here refers to them any more.
            unsafe { libc::munmap(address as *mut libc::c_void, bytes.max(1) as usize) };
        }
        // A variable's memory on the device belongs to its module.
        match kind {
            Kind::Variable => Ok(()),
            Kind::Managed | Kind::Pinned | Kind::Registered => self.free(device),
        }
    }

    /// Frees the pages of all managed memory.
    pub fn unmap_all(&mut self) -> Answer<()> {
        let all: Vec<u64> = self.managed.0.keys().copied().collect();
        for address in all {
            self.unmap(address)?;
        }
        self.registered.clear();
        Ok(())
    }

    /// Sends all pages to the device.
    pub fn send_managed(&mut self) -> Answer<()> {
        let pieces: Vec<Piece> = self.managed.pieces().collect();
        let write = |piece: &Piece| {
            // SAFETY: the pages are mapped for reading, and stay so while the client is locked. Other threads of the program
            // may write to them meanwhile, which CUDA forbids them.
            let contents =
                unsafe { std::slice::from_raw_parts(piece.host as *const u8, piece.bytes) };
            Request::Write { address: piece.device, bytes: Bytes(contents) }
        };
        let asked: Vec<Request> = pieces.iter().map(write).collect();
        self.ask_each(&asked, |_, answer| answer.value().unwrap_or(Err(CudaError::UNKNOWN)))
    }

    /// Fetches all pages from the device.
    pub fn fetch_managed(&mut self) -> Answer<()> {
        let pieces: Vec<Piece> = self.managed.pieces().collect();
        let read =
            |piece: &Piece| Request::Read { address: piece.device, bytes: piece.bytes as u64 };
        let asked: Vec<Request> = pieces.iter().map(read).collect();
        self.ask_each(&asked, |number, answer| {
            let piece = &pieces[number];
            let contents: Answer<Bytes<&[u8]>> = answer.value().unwrap_or(Err(CudaError::UNKNOWN));
            let contents = contents?.0.get(..piece.bytes).ok_or(CudaError::UNKNOWN)?;
            // SAFETY: the pages are mapped for writing, of this length, and the source is elsewhere.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    contents.as_ptr(),
                    piece.host as *mut u8,
                    contents.len(),
                );
            }
            Ok(())
        })
    }

    /// Allocates pages for each `__managed__` variable of a module, and stores their address in the program's pointer.
    pub fn place_managed_variables(&mut self, index: usize, module: u64) -> Answer<()> {
        let all: Vec<_> =
            registry().managed.iter().filter(|v| v.module == index).cloned().collect();
        for variable in all {
            let bytes = variable.size as u64;
            let contents = self.read_symbol(module, &variable.name, 0, bytes)?.0;
            let symbol = self.symbol(module, &variable.name)?;
            let device = symbol.address.ok_or(CudaError::INVALID_SYMBOL)?;
            let address = map(0, bytes).ok_or(CudaError::MEMORY_ALLOCATION)?;
            let length = contents.len().min(variable.size);
            // SAFETY: `map` has just mapped so many bytes there; the pointer is a variable of the program's, registered by
            // the code that nvcc made for it.
            unsafe {
                std::ptr::copy_nonoverlapping(contents.as_ptr(), address as *mut u8, length);
                *(variable.pointer as *mut u64) = address;
            }
            let pages = Pages { kind: Kind::Variable, bytes, device, flags: 0 };
            self.managed.0.insert(address, pages);
        }
        Ok(())
    }
}
