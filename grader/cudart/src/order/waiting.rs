//! Operations that are issued and not done yet, and the order in which they are done in the end.

use super::Call;
use super::clock::Clock;
use ptxvm::{BufferId, Touch, TouchedBytes};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// An operation from its call on.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub stream: usize,
    /// What has happened before it, and itself.
    pub clock: Clock,
    /// How many operations all streams had issued with it.
    pub number: u64,
    pub call: Call,
    /// The memory that it is known to access.
    pub accessed: Vec<TouchedBytes>,
}

impl Waiting {
    /// Whether it happens before a moment.
    fn is_before(&self, clock: &Clock) -> bool {
        self.clock.of(self.stream) <= clock.of(self.stream)
    }

    /// Its accesses of a buffer.
    pub fn accesses(&self, buffer: BufferId) -> impl Iterator<Item = (Touch, Range<u64>)> {
        let of = self.accessed.iter().filter(move |access| access.buffer == buffer);
        of.flat_map(|access| access.ranges.iter().map(|range| (access.touch, range.clone())))
    }

    /// How it accesses which bytes that another access conflicts with.
    pub fn conflict(&self, other: &TouchedBytes) -> Option<(Touch, Range<u64>)> {
        let mut all =
            self.accesses(other.buffer).filter(|(touch, _)| touch.conflicts_with(other.touch));
        all.find_map(|(touch, own)| {
            let both =
                other.ranges.iter().map(|range| own.start.max(range.start)..own.end.min(range.end));
            both.into_iter().find(|both| !both.is_empty()).map(|both| (touch, both))
        })
    }
}

/// The operations that happen before a moment, or all, by their handles: each behind what happens before it, and otherwise the later
/// it was issued, the earlier.
pub(super) fn last_first(all: &BTreeMap<u64, Waiting>, until: Option<&Clock>) -> Vec<u64> {
    let mut streams: BTreeMap<usize, VecDeque<(u64, &Waiting)>> = BTreeMap::new();
    for (&handle, waiting) in all {
        if until.is_none_or(|until| waiting.is_before(until)) {
            streams.entry(waiting.stream).or_default().push_back((handle, waiting));
        }
    }
    let mut order = Vec::new();
    loop {
        // Of each stream only the first one can be next.
        let heads = || streams.values().filter_map(|queue| queue.front());
        let is_ready = |(handle, next): &&(u64, &Waiting)| {
            heads().all(|(other, before)| other == handle || !before.is_before(&next.clock))
        };
        let Some(&(handle, next)) = heads().filter(is_ready).max_by_key(|(_, next)| next.number)
        else {
            return order;
        };
        order.push(handle);
        streams.entry(next.stream).or_default().pop_front();
    }
}
