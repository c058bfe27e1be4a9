//! Which stream a call means, and what the device is told of the order of the program's work.

use super::context::{Client, Handle};
use super::guard;
use super::pages::Kind;
use crate::device::{AccessedRange, Answer, Awaited, Device, Due, OrderStep, StreamKind};

/// The handle of the default stream, and CUDA's own ones for its two kinds: `cudaStreamLegacy` and `cudaStreamPerThread`.
const DEFAULT: u64 = 0;
const LEGACY: u64 = 1;
pub(crate) const PER_THREAD: u64 = 2;

impl Client {
    /// The stream that a handle means: CUDA's own handles mean the default stream, and that of this host thread.
    pub fn stream(&mut self, handle: u64) -> u64 {
        match handle {
            DEFAULT | LEGACY => DEFAULT,
            PER_THREAD => {
                let thread = std::thread::current().id();
                if let Some(&stream) = self.of_threads.get(&thread) {
                    return stream;
                }
                let stream = self.new_handle(Handle::Stream { flags: 0, priority: 0 });
                self.note(OrderStep::Create { stream, kind: StreamKind::PerThread });
                self.of_threads.insert(thread, stream);
                stream
            }
            _ => handle,
        }
    }

    /// Tells the device, with the next request, how the program orders its work.
    pub fn note(&mut self, step: OrderStep) {
        self.steps.push(step);
    }

    /// Tells that a copy or a fill is issued. Of what it accesses, only the memory that the device knows matters.
    pub fn note_work(
        &mut self,
        stream: u64,
        call: &str,
        accesses: impl IntoIterator<Item = AccessedRange>,
    ) {
        let accesses = self.of_device(accesses);
        self.note(OrderStep::Work { stream, call: call.to_owned(), accesses });
    }

    /// Tells that all memory that was given to the program is read in the default stream.
    ///
    /// # Errors
    /// Those of the work before it.
    pub fn read_given(&mut self, operation: &str) -> Answer<()> {
        let read = |(&address, &bytes)| AccessedRange { address, bytes, writes: false };
        let accesses: Vec<AccessedRange> = self.given.iter().map(read).collect();
        self.in_stream(DEFAULT, |client| {
            client.note_work(DEFAULT, operation, accesses);
            Ok(())
        })
    }

    /// What of some ranges is in memory that the device knows, by its addresses. Of pinned memory it is noted that it is in use.
    pub fn of_device(
        &mut self,
        accesses: impl IntoIterator<Item = AccessedRange>,
    ) -> Vec<AccessedRange> {
        let accesses: Vec<AccessedRange> =
            accesses.into_iter().filter_map(|range| self.on_device(range)).collect();
        for range in &accesses {
            let pages = self.managed.holding(range.address);
            if let Some((start, _)) = pages.filter(|(_, pages)| pages.kind == Kind::Pinned) {
                self.in_use.insert(start);
            }
        }
        accesses
    }

    /// A range of the program's addresses by the device's; `None` for memory that only the program has.
    fn on_device(&self, range: AccessedRange) -> Option<AccessedRange> {
        if let Some((start, pages)) = self.managed.holding(range.address) {
            let address = pages.device + (range.address - start);
            return Some(AccessedRange { address, ..range });
        }
        self.is_on_device(range.address).then_some(range)
    }

    /// Waits for work of the device as far as a call does: prints the output of its kernels, and returns their error.
    pub fn synchronise(&mut self, awaited: Awaited) -> Answer<()> {
        self.note(OrderStep::Synchronise(awaited));
        self.catch_up(Due::Host)?;
        self.wait()
    }

    /// Opens the pages that are protected, and tells the device where the program has touched them meanwhile.
    pub fn open_pages(&mut self) {
        for (address, writes) in guard::open() {
            self.note(OrderStep::Host(AccessedRange { address, bytes: 1, writes }));
        }
    }

    /// Notes that a kernel, which may access any memory, has those pages in use that are at the same address on both sides.
    pub fn use_shared_pages(&mut self) {
        let is_shared = |kind| matches!(kind, Kind::Managed | Kind::Pinned);
        let pages = self.managed.0.iter().filter(|(_, pages)| is_shared(pages.kind));
        self.in_use.extend(pages.map(|(&start, _)| start));
    }

    /// Protects the managed and pinned pages that work of the device may still access.
    pub fn protect_pages(&mut self) {
        if self.in_use.is_empty() || self.sticky.is_some() {
            return;
        }
        let starts = self.in_use.iter().copied().collect();
        let pending = self.pending(starts).unwrap_or_default();
        self.in_use.clear();
        for AccessedRange { address, bytes, writes } in pending {
            let Some((start, pages)) = self.managed.holding(address) else { continue };
            self.in_use.insert(start);
            let end = address + bytes;
            // Behind an allocation nothing else is in its last page.
            let is_last = end == start + pages.bytes;
            let end = if is_last { end.next_multiple_of(guard::page()) } else { end };
            guard::protect(address, end, writes);
        }
    }
}
