//! Work of streams that is done later than it is issued.
//!
//! A GPU may do it at any time between the call that issues it and the one that waits for it. A program that forgets to wait, or to
//! order two streams, often gets the right result on a GPU all the same, and always where work is done at once. So work of a program
//! with streams is done as late as possible, if the device asks for it: when the program waits, or does something that cannot be
//! done later. The device, which follows the program's order, says what is due then, and in which order.
//!
//! A program that waits where it must cannot tell. What it could tell is done at once, behind what comes before it in its stream:
//! copies of memory that the program may use meanwhile, functions of the host, graphs, and kernels that the host might watch through
//! memory which both have.

use super::{Client, Handle, Work};
use crate::client::PagesKind;
use crate::device::{AccessedRange, Answer, Due, Launch, OrderStep};
use std::collections::BTreeMap;

/// More work is not kept: then all of it is done.
const MAX_DEFERRED: usize = 1024;

/// Work that is done later.
enum Later {
    Work(Work),
    /// The time of an event is taken.
    Time(u64),
}

/// What is to be done later, by the numbers that the device knows it by.
#[derive(Default)]
pub(super) struct Deferred {
    /// Each with its stream.
    queue: BTreeMap<u64, (u64, Later)>,
    /// Work runs whose past is done.
    in_order: bool,
}

impl Client {
    /// Does the work of a stream, or adds it to the graph that the stream captures.
    ///
    /// # Errors
    /// The work's own.
    pub fn issue(&mut self, stream: u64, work: Work) -> Answer<()> {
        if self.graphs.is_capturing(stream) {
            return self.capture(stream, work).map(|_| ());
        }
        self.in_stream(stream, |client| client.run(&work, stream))
    }

    /// As [`Self::issue`] of a launch, a copy or a fill that may be done later. `call` issues it, and it accesses this memory beside
    /// that which a kernel may access.
    ///
    /// # Errors
    /// The work's own.
    pub fn issue_later(
        &mut self,
        stream: u64,
        call: &str,
        accesses: Vec<AccessedRange>,
        work: Work,
    ) -> Answer<()> {
        let waits = match &work {
            Work::Kernel { launch, .. } => self.is_unwatched(launch),
            _ => accesses.iter().all(|range| self.waits_for_device(*range)),
        };
        if waits && self.is_late()? && !self.graphs.is_capturing(stream) {
            self.defer(stream, call, accesses, Later::Work(work))
        } else {
            self.issue(stream, work)
        }
    }

    /// Takes the time of an event when what comes before it in a stream is done.
    ///
    /// # Errors
    /// The device's own.
    pub fn take_time(&mut self, event: u64, stream: u64) -> Answer<()> {
        if self.is_late()? && !self.graphs.is_capturing(stream) {
            return self.defer(stream, "cudaEventRecord", Vec::new(), Later::Time(event));
        }
        self.set_time(event);
        Ok(())
    }

    /// The present time becomes that of an event.
    pub fn set_time(&mut self, event: u64) {
        let now = self.now();
        if let Some(Handle::Event { recorded, .. }) = self.handles.get_mut(&event) {
            *recorded = Some(now);
        }
    }

    /// Does something whose place is in a stream, behind what comes before it.
    ///
    /// # Errors
    /// Its own, and those of what comes before it.
    pub fn in_stream<T>(
        &mut self,
        stream: u64,
        work: impl FnOnce(&mut Self) -> Answer<T>,
    ) -> Answer<T> {
        self.catch_up(Due::Stream(stream))?;
        self.in_order(work)
    }

    /// Does what is due.
    ///
    /// # Errors
    /// The first one of the work.
    pub fn catch_up(&mut self, due: Due) -> Answer<()> {
        if self.deferred.in_order || self.deferred.queue.is_empty() {
            return Ok(());
        }
        let due = crate::device::Device::due(self, due)?;
        self.in_order(|client| {
            let mut first = Ok(());
            for operation in due {
                let Some((stream, later)) = client.deferred.queue.remove(&operation) else {
                    continue;
                };
                client.note(OrderStep::Resume(Some(operation)));
                first = first.and(match later {
                    Later::Work(work) => client.run(&work, stream),
                    Later::Time(event) => {
                        client.set_time(event);
                        Ok(())
                    }
                });
            }
            client.note(OrderStep::Resume(None));
            first
        })
    }

    fn in_order<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.deferred.in_order, true);
        let done = work(self);
        self.deferred.in_order = before;
        done
    }

    fn defer(
        &mut self,
        stream: u64,
        call: &str,
        accesses: Vec<AccessedRange>,
        later: Later,
    ) -> Answer<()> {
        if self.deferred.queue.len() >= MAX_DEFERRED {
            self.catch_up(Due::All)?;
        }
        let operation = self.fresh_number();
        let accesses = self.of_device(accesses);
        self.note(OrderStep::Begin { operation, stream, call: call.to_owned(), accesses });
        self.deferred.queue.insert(operation, (stream, later));
        Ok(())
    }

    /// Whether work may wait: the device asks for it, and the program has streams, without which all work is in order.
    fn is_late(&mut self) -> Answer<bool> {
        let has_streams = !self.of_threads.is_empty()
            || self.handles.values().any(|handle| matches!(handle, Handle::Stream { .. }));
        Ok(has_streams && !self.deferred.in_order && self.known_properties()?.late)
    }

    /// Whether a program may use a range only once it has waited for the device.
    fn waits_for_device(&self, range: AccessedRange) -> bool {
        let end = range.address.checked_add(range.bytes);
        let holds = |(start, bytes): (u64, u64)| end.is_some_and(|end| end <= start + bytes);
        match self.managed.holding(range.address) {
            Some((start, pages)) => pages.kind == PagesKind::Pinned && holds((start, pages.bytes)),
            None => self.allocation(range.address).is_some_and(holds),
        }
    }

    /// Whether the host cannot see what a kernel does while it runs, as far as its arguments say, and no other kernel need run with
    /// it: a launch whose blocks wait for each other may be refused at its call.
    fn is_unwatched(&self, launch: &Launch) -> bool {
        let is_pinned = |kind| kind == PagesKind::Pinned;
        let words = launch.params.iter().flat_map(|bytes| bytes.chunks_exact(8));
        let mut addresses = words.filter_map(|word| word.try_into().ok()).map(u64::from_le_bytes);
        !launch.cooperative
            && launch.cluster.is_none()
            && self.managed.0.values().all(|pages| is_pinned(pages.kind))
            && addresses.all(|address| self.managed.holding(address).is_none())
    }
}
