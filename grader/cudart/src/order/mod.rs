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
mod waiting;

use crate::device::{Awaited, Due, StreamKind};
use clock::Clock;
use history::{Conflict, History, Operation};
use ptxvm::{BufferId, Touch, TouchedBytes};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};
use std::ops::Range;
use waiting::Waiting;

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

/// Whether a program that calls these functions may have memory that it shares with its kernels, for which it has to wait.
pub fn shares_memory<'a>(functions: impl IntoIterator<Item = &'a String>) -> bool {
    functions.into_iter().any(|name| name == "cudaMallocManaged")
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
    /// How many operations there were.
    issued: u64,
    /// The operations that are not done yet, by their handles.
    waiting: BTreeMap<u64, Waiting>,
    /// The one of them that is done next.
    resumed: Option<Waiting>,
    /// The one that was done last.
    last: Option<Waiting>,
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
            issued: 0,
            waiting: BTreeMap::new(),
            resumed: None,
            last: None,
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
            let waiting = std::mem::take(&mut self.waiting);
            *self = Self { races, known, waiting, gave_up: true, ..Self::default() };
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
        // What the host knows happens before all that is to come, but not before all that still waits.
        let Self { streams, host, history, waiting, .. } = self;
        let is_open = |stream: usize| {
            let known = waiting.values().map(|waiting| waiting.clock.of(stream));
            streams[stream].clock.of(stream) > known.fold(host.of(stream), u64::min)
        };
        history.retain(|_, history| history.retain(is_open));
    }

    /// An operation is issued that accesses memory, and done; or the one that was resumed is done. `size_of`: how large buffers are.
    pub fn issue(
        &mut self,
        stream: u64,
        call: Call,
        accessed: &[TouchedBytes],
        size_of: impl Fn(BufferId) -> usize,
    ) {
        let done = match self.resumed.take() {
            Some(waiting) => waiting,
            None => self.next_of(stream, call.clone(), Vec::new()),
        };
        self.access(&done, call, accessed, size_of);
        self.last = Some(done);
    }

    /// What the operation that was done last has launched accesses memory: it is a part of that operation, and as done when the program waits
    /// for it.
    pub fn issue_below(
        &mut self,
        call: Call,
        accessed: &[TouchedBytes],
        size_of: impl Fn(BufferId) -> usize,
    ) {
        if let Some(done) = self.last.take() {
            self.access(&done, call, accessed, size_of);
            self.last = Some(done);
        }
    }

    /// An operation that is done accesses memory.
    fn access(
        &mut self,
        done: &Waiting,
        call: Call,
        accessed: &[TouchedBytes],
        size_of: impl Fn(BufferId) -> usize,
    ) {
        if accessed.is_empty() || self.gave_up {
            return;
        }
        let &Waiting { stream, ref clock, number, .. } = done;
        let described = self.describe(call);
        let operation = Operation { count: clock.of(stream), number, described };
        for access in accessed {
            let side = self.side(stream, described, access.touch.writes());
            for found in self.conflicts(access, Some(stream), clock) {
                self.found(access.buffer, &found, (number, side.clone()), size_of(access.buffer));
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

    /// An operation of a stream from its call on, with the memory that it is known to access.
    fn next_of(&mut self, stream: u64, call: Call, accessed: Vec<TouchedBytes>) -> Waiting {
        let stream = self.reach(stream);
        self.streams[stream].clock.tick(stream);
        self.issued += 1;
        let clock = self.streams[stream].clock.clone();
        Waiting { stream, clock, number: self.issued, call, accessed }
    }

    /// The number of a description.
    fn describe(&mut self, call: Call) -> usize {
        let known = self.calls.iter().position(|known| *known == call);
        known.unwrap_or_else(|| {
            self.calls.push(call);
            self.calls.len() - 1
        })
    }

    fn side(&self, stream: usize, described: usize, writes: bool) -> Side {
        let (call, stream) = (self.calls[described].clone(), Some(self.streams[stream].name));
        Side { call, stream, writes }
    }

    /// An operation is issued that is done later. What a kernel accesses is known only then.
    pub fn begin(&mut self, operation: u64, stream: u64, call: Call, accessed: Vec<TouchedBytes>) {
        let next = self.next_of(stream, call, accessed);
        self.waiting.insert(operation, next);
    }

    /// The next operation that is done is this one; for `None` it is a new one again.
    pub fn resume(&mut self, operation: Option<u64>) {
        self.resumed = operation.and_then(|operation| self.waiting.remove(&operation));
    }

    /// The operations that must be done now, in an order that the rules allow and the program expects least: whenever there is
    /// a choice, the last one that was issued comes first.
    pub fn due(&mut self, due: Due) -> Vec<u64> {
        let until = match due {
            _ if self.gave_up => return self.waiting.keys().copied().collect(),
            Due::All => None,
            Due::Host => Some(self.host.clone()),
            Due::Stream(stream) => {
                let stream = self.reach(stream);
                Some(self.streams[stream].clock.clone())
            }
        };
        waiting::last_first(&self.waiting, until.as_ref())
    }

    /// The host accesses memory of this size itself.
    pub fn host_access(&mut self, access: &TouchedBytes, size: usize) {
        let host = Side { call: Call::Host, stream: None, writes: access.touch.writes() };
        let done = self.conflicts(access, None, &self.host).into_iter().next();
        if let Some(found) = done.or_else(|| self.waiting_conflict(access)) {
            self.found(access.buffer, &found, (u64::MAX, host), size);
        }
    }

    /// The first operation that is still to be done and races with an access of the host.
    fn waiting_conflict(&mut self, access: &TouchedBytes) -> Option<Conflict> {
        let mut waiting = self.waiting.values();
        let (found, touch, bytes) = waiting.find_map(|waiting| {
            let (touch, bytes) = waiting.conflict(access)?;
            Some((waiting.clone(), touch, bytes))
        })?;
        let Waiting { stream, clock, number, call, .. } = found;
        let operation =
            Operation { count: clock.of(stream), number, described: self.describe(call) };
        Some(Conflict { stream, touch, operation, bytes })
    }

    /// The places where operations that the host has not waited for access a buffer with plain loads and stores.
    pub fn pending(&self, buffer: BufferId) -> impl Iterator<Item = (Touch, Range<u64>)> {
        let all = self.history.get(&buffer).into_iter();
        let all =
            all.flat_map(|history| history.accesses(|stream, op| op.count > self.host.of(stream)));
        let waiting = self.waiting.values().flat_map(move |waiting| waiting.accesses(buffer));
        all.chain(waiting).filter(|(touch, _)| matches!(touch, Touch::Read | Touch::Write))
    }

    /// The accesses so far that race with one at a moment: of each stream and function the first.
    fn conflicts(
        &self,
        access: &TouchedBytes,
        stream: Option<usize>,
        clock: &Clock,
    ) -> Vec<Conflict> {
        let mut found: Vec<Conflict> = Vec::new();
        let Some(history) = self.history.get(&access.buffer) else { return found };
        for range in &access.ranges {
            for old in history.conflicts(stream, access.touch, range) {
                let key = |conflict: &Conflict| {
                    (conflict.stream, conflict.operation.described, conflict.touch.writes())
                };
                let is_known = found.iter().any(|other| key(other) == key(&old));
                if !is_known && old.operation.count > clock.of(old.stream) {
                    found.push(old);
                }
            }
        }
        found
    }

    /// Keeps a race with an earlier operation. The second one: its number among all, and what it is.
    fn found(
        &mut self,
        buffer: BufferId,
        old: &Conflict,
        (number, second): (u64, Side),
        size: usize,
    ) {
        let Operation { number: first_number, described, .. } = old.operation;
        let first = self.side(old.stream, described, old.touch.writes());
        let sides = if first_number < number { [first, second] } else { [second, first] };
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
