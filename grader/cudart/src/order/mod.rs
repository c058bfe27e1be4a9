//! What happens before what: the order that streams, events and the host's waiting give to a program's work on the device
//! (Lamport, 1978), and races between operations that nothing orders.
//!
//! The order is that of the rules, not that in which the work is done here, so a missing event is found however the work
//! is done. All calls of the host count as one sequence, also those of several threads, whose own synchronisation is not seen.
//! The rules, with the sections of the CUDA Programming Guide and the Runtime API that state them:
//!
//! - The operations of a stream happen in the order of their calls ("Streams").
//! - An operation of the legacy default stream waits for all earlier ones of blocking streams, and they wait for it: not those
//!   of streams made with `cudaStreamNonBlocking` ("Stream synchronization behavior"). A per-thread default stream is a blocking one.
//! - What waits for an event happens after all that its last `cudaEventRecord` captured; for an event that was never recorded, nothing
//!   is awaited ("Event Management").
//! - What the host has waited for happens before all that it issues later.

mod clock;
mod history;
#[cfg(test)]
mod tests;

use crate::device::{Awaited, StreamKind};
use clock::Clock;
use history::{Conflict, History, Operation};
use ptxvm::{BufferId, Touch, TouchedBytes};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};
use std::ops::Range;

/// More races are not kept: a program that has so many repeats a mistake.
const MAX_RACES: usize = 64;
/// More numbers of all clocks, and more ranges of all histories, are not kept: each takes 8 bytes, or some 60.
const MAX_COUNTS: usize = 1 << 24;
const MAX_RANGES: usize = 1 << 22;
/// The legacy default stream, by its handle and its number.
const LEGACY: u64 = 0;

/// Whether a program that calls these functions may have more streams than the default one.
pub fn has_streams<'a>(functions: impl IntoIterator<Item = &'a String>) -> bool {
    let makes = |name: &String| name.starts_with("cudaStreamCreate") || name.ends_with("_ptsz");
    functions.into_iter().any(makes)
}

/// Two operations of one place in memory, at least one of which writes, that nothing orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamRace {
    /// The memory.
    pub buffer: BufferId,
    /// The first bytes that both access.
    pub bytes: Range<u64>,
    /// The operations, in the order of their calls.
    pub sides: [Side; 2],
    /// How many pairs of such operations there were.
    pub count: u64,
    /// How large the memory was then.
    pub size: usize,
}

/// One of two operations that race.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Side {
    /// What it is.
    pub call: Call,
    /// The stream that it is in; `None` for the host.
    pub stream: Option<StreamName>,
    /// Whether it writes the memory.
    pub writes: bool,
}

/// What accesses memory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    /// A kernel, by its name in the PTX.
    Kernel(String),
    /// A function of the CUDA runtime, by its name.
    Function(String),
    /// The host's own code.
    Host,
}

/// How a stream is called in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StreamName {
    /// The legacy default stream.
    Default,
    /// The default stream of a host thread.
    PerThread,
    /// A stream that the program created: the how-manieth, from 1.
    Created(usize),
    /// A branch of a graph that was launched: the how-manieth of all graphs, from 1.
    Branch(usize),
}

impl Display for StreamName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("the default stream"),
            Self::PerThread => f.write_str("the per-thread default stream"),
            Self::Created(number) => write!(f, "stream {number}"),
            Self::Branch(number) => write!(f, "branch {number} of a graph"),
        }
    }
}

/// A stream of the program.
#[derive(Debug)]
struct Stream {
    /// What has happened before its next operation, and all that it has issued itself.
    clock: Clock,
    name: StreamName,
    kind: StreamKind,
    /// The program has destroyed it: no more work comes.
    destroyed: bool,
}

/// The order of a program's work on a device.
#[derive(Debug)]
pub(crate) struct StreamOrder {
    streams: Vec<Stream>,
    /// How many streams the program has created, and how many branches its graphs have had.
    created: usize,
    branches: usize,
    numbers: BTreeMap<u64, usize>,
    events: BTreeMap<u64, Clock>,
    /// What the host knows to have happened.
    host: Clock,
    history: BTreeMap<BufferId, History>,
    /// The descriptions of operations, each once.
    calls: Vec<Call>,
    races: Vec<StreamRace>,
    /// The sides of the races, and their memory, to count repetitions.
    known: BTreeSet<(BufferId, [Side; 2])>,
    /// The program will have more than one stream.
    expected: bool,
    /// How many ranges the history has at most.
    ranges: usize,
    /// The program has so many streams, events or accesses that its order is not followed any more.
    gave_up: bool,
}

impl Default for StreamOrder {
    fn default() -> Self {
        let legacy = Stream {
            clock: Clock::default(),
            name: StreamName::Default,
            kind: StreamKind::Blocking,
            destroyed: false,
        };
        Self {
            created: 0,
            branches: 0,
            streams: vec![legacy],
            numbers: BTreeMap::from([(LEGACY, 0)]),
            events: BTreeMap::new(),
            host: Clock::default(),
            history: BTreeMap::new(),
            calls: Vec::new(),
            races: Vec::new(),
            known: BTreeSet::new(),
            expected: false,
            ranges: 0,
            gave_up: false,
        }
    }
}

impl StreamOrder {
    /// Whether launches are to be followed: there is more than one stream, without which all work is in order, or there will be.
    pub fn matters(&self) -> bool {
        (self.expected || self.streams.len() > 1) && !self.gave_up
    }

    /// Follows launches before there is a second stream.
    pub fn expect_streams(&mut self) {
        self.expected = true;
    }

    /// The races so far, in the order of the second operations.
    pub fn races(&self) -> &[StreamRace] {
        &self.races
    }

    /// A stream begins to exist.
    pub fn create(&mut self, handle: u64, kind: StreamKind) {
        if self.gave_up {
            return;
        }
        let name = match kind {
            StreamKind::PerThread => StreamName::PerThread,
            StreamKind::Branch => {
                self.branches += 1;
                StreamName::Branch(self.branches)
            }
            StreamKind::Blocking | StreamKind::NonBlocking => {
                self.created += 1;
                StreamName::Created(self.created)
            }
        };
        let stream = Stream { clock: self.host.clone(), name, kind, destroyed: false };
        // A stream takes the number of one whose work the host has waited for, so that clocks stay short.
        let host = &self.host;
        let mut old = self.streams.iter().enumerate();
        let done = old.position(|(i, old)| old.destroyed && old.clock.of(i) <= host.of(i));
        if let Some(number) = done {
            self.numbers.retain(|_, old| *old != number);
            self.numbers.insert(handle, number);
            self.streams[number] = stream;
        } else {
            self.numbers.insert(handle, self.streams.len());
            self.streams.push(stream);
        }
        self.bound();
    }

    /// A stream gets no more work, or an event is not used any more.
    pub fn destroy(&mut self, handle: u64) {
        self.events.remove(&handle);
        if let Some(&number) = self.numbers.get(&handle).filter(|&&number| number > 0) {
            self.streams[number].destroyed = true;
        }
    }

    /// Follows the order no more if that takes too much memory, and so finds nothing more.
    fn bound(&mut self) {
        if self.ranges > MAX_RANGES {
            self.ranges = self.history.values().map(History::ranges).sum();
        }
        let clocks = (self.events.len() + self.streams.len()) * self.streams.len();
        if clocks > MAX_COUNTS || self.ranges > MAX_RANGES {
            let (races, known) = (std::mem::take(&mut self.races), std::mem::take(&mut self.known));
            *self = Self { races, known, gave_up: true, ..Self::default() };
        }
    }

    /// An event is recorded in a stream.
    pub fn record(&mut self, event: u64, stream: u64) {
        let stream = self.reach(stream);
        self.events.insert(event, self.streams[stream].clock.clone());
        self.bound();
    }

    /// A stream waits for an event.
    pub fn wait(&mut self, stream: u64, event: u64) {
        let stream = self.reach(stream);
        if let Some(clock) = self.events.get(&event) {
            self.streams[stream].clock.join(clock);
        }
    }

    /// The host waits.
    pub fn synchronise(&mut self, awaited: Awaited) {
        match awaited {
            Awaited::Device => {
                for stream in &self.streams {
                    self.host.join(&stream.clock);
                }
            }
            Awaited::Stream(LEGACY) => {
                self.reach(LEGACY);
                self.host.join(&self.streams[0].clock);
            }
            // Not for the work of the default stream that only its next operation waits for.
            Awaited::Stream(stream) => {
                let stream = self.numbers.get(&stream).copied().unwrap_or(0);
                self.host.join(&self.streams[stream].clock);
            }
            Awaited::Event(event) => {
                if let Some(clock) = self.events.get(&event) {
                    self.host.join(clock);
                }
            }
        }
        // What the host knows happens before all that is to come.
        let Self { streams, host, history, .. } = self;
        let is_open = |stream: usize| streams[stream].clock.of(stream) > host.of(stream);
        history.retain(|_, history| history.retain(is_open));
    }

    /// An operation is issued that accesses memory. `size_of`: how large buffers are.
    pub fn issue(
        &mut self,
        stream: u64,
        call: Call,
        accessed: &[TouchedBytes],
        size_of: impl Fn(BufferId) -> usize,
    ) {
        let stream = self.reach(stream);
        self.streams[stream].clock.tick(stream);
        if accessed.is_empty() || self.gave_up {
            return;
        }
        let known = self.calls.iter().position(|known| *known == call);
        let described = known.unwrap_or_else(|| {
            self.calls.push(call);
            self.calls.len() - 1
        });
        let clock = &self.streams[stream].clock;
        let operation = Operation { count: clock.of(stream), described };
        for access in accessed {
            let side = Side {
                call: self.calls[described].clone(),
                stream: Some(self.streams[stream].name),
                writes: access.touch.writes(),
            };
            let clock = &self.streams[stream].clock;
            if let Some(found) = self.conflict(access, Some(stream), clock) {
                self.found(access.buffer, &found, side, size_of(access.buffer));
            }
        }
        for TouchedBytes { buffer, touch, ranges } in accessed {
            let history = self.history.entry(*buffer).or_default();
            for range in ranges {
                history.add(stream, *touch, range.clone(), operation);
            }
            self.ranges += ranges.len();
        }
        self.bound();
    }

    /// The host accesses memory of this size itself.
    pub fn host_access(&mut self, access: &TouchedBytes, size: usize) {
        if let Some(found) = self.conflict(access, None, &self.host) {
            let host = Side { call: Call::Host, stream: None, writes: access.touch.writes() };
            self.found(access.buffer, &found, host, size);
        }
    }

    /// The places where operations that the host has not waited for access a buffer with plain loads and stores.
    pub fn pending(&self, buffer: BufferId) -> impl Iterator<Item = (Touch, Range<u64>)> {
        let all = self.history.get(&buffer).into_iter();
        let all =
            all.flat_map(|history| history.accesses(|stream, op| op.count > self.host.of(stream)));
        all.filter(|(touch, _)| matches!(touch, Touch::Read | Touch::Write))
    }

    /// The first earlier access that races with one at a moment.
    fn conflict(
        &self,
        access: &TouchedBytes,
        stream: Option<usize>,
        clock: &Clock,
    ) -> Option<Conflict> {
        let history = self.history.get(&access.buffer)?;
        let mut ranges = access.ranges.iter();
        ranges.find_map(|range| {
            let mut all = history.conflicts(stream, access.touch, range);
            all.find(|old| old.operation.count > clock.of(old.stream))
        })
    }

    fn found(&mut self, buffer: BufferId, old: &Conflict, second: Side, size: usize) {
        let first = Side {
            call: self.calls[old.operation.described].clone(),
            stream: Some(self.streams[old.stream].name),
            writes: old.touch.writes(),
        };
        let sides = [first, second];
        if !self.known.insert((buffer, sides.clone())) {
            let same = |race: &&mut StreamRace| race.buffer == buffer && race.sides == sides;
            if let Some(race) = self.races.iter_mut().find(same) {
                race.count += 1;
            }
        } else if self.races.len() < MAX_RACES {
            self.races.push(StreamRace { buffer, bytes: old.bytes.clone(), sides, count: 1, size });
        }
    }

    /// The number of a stream, whose clock now has all that its next operation waits for.
    fn reach(&mut self, stream: u64) -> usize {
        // A stream that is not known is none of the program's: it waits for all others as the default stream does.
        let number = self.numbers.get(&stream).copied().unwrap_or(0);
        let mut clock = self.streams[number].clock.clone();
        clock.join(&self.host);
        let blocking =
            |stream: &&Stream| matches!(stream.kind, StreamKind::Blocking | StreamKind::PerThread);
        if number == 0 {
            self.streams.iter().filter(blocking).for_each(|stream| clock.join(&stream.clock));
        } else if blocking(&&self.streams[number]) {
            clock.join(&self.streams[0].clock);
        }
        self.streams[number].clock = clock;
        number
    }
}
