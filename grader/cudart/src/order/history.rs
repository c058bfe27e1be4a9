//! The last accesses of the bytes of a buffer by each stream.
//!
//! Of a byte that a stream touches twice in one way the last access suffices: what is not ordered after the first is not ordered
//! after the last either, since a stream's work is done in order.

use ptxvm::Touch;
use std::collections::BTreeMap;
use std::ops::Range;

/// An operation: how many its stream had issued with it, how many all streams had, and the number of its description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    pub count: u64,
    pub number: u64,
    pub described: usize,
}

/// The last operation that touched each byte, by disjoint ranges: their ends and operations by their starts.
#[derive(Clone, Debug, Default)]
struct LastOperations(BTreeMap<u64, (u64, Operation)>);

impl LastOperations {
    /// The ranges that overlap a range, cut to it.
    fn overlapping(&self, range: Range<u64>) -> impl Iterator<Item = (Range<u64>, Operation)> {
        let before = self.0.range(..=range.start).next_back().map_or(range.start, |(&at, _)| at);
        self.0.range(before..range.end).filter_map(move |(&start, &(end, operation))| {
            let both = start.max(range.start)..end.min(range.end);
            (!both.is_empty()).then_some((both, operation))
        })
    }

    fn set(&mut self, range: Range<u64>, operation: Operation) {
        if let Some((&start, &(end, old))) = self.0.range(..range.start).next_back()
            && end > range.start
        {
            self.0.insert(start, (range.start, old));
            if end > range.end {
                self.0.insert(range.end, (end, old));
            }
        }
        while let Some((&start, &(end, old))) = self.0.range(range.clone()).next() {
            self.0.remove(&start);
            if end > range.end {
                self.0.insert(range.end, (end, old));
            }
        }
        self.0.insert(range.start, (range.end, operation));
    }
}

/// The last accesses of a buffer, by stream and kind.
#[derive(Clone, Debug, Default)]
pub(super) struct History(BTreeMap<(usize, Touch), LastOperations>);

/// An earlier access that conflicts with a new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conflict {
    pub stream: usize,
    pub touch: Touch,
    pub operation: Operation,
    /// The bytes that both touch.
    pub bytes: Range<u64>,
}

impl History {
    /// Earlier accesses by other streams that conflict with this one. `stream`: who makes it; `None` is the host.
    pub fn conflicts(
        &self,
        stream: Option<usize>,
        touch: Touch,
        range: &Range<u64>,
    ) -> impl Iterator<Item = Conflict> {
        let others = self
            .0
            .iter()
            .filter(move |((of, old), _)| Some(*of) != stream && touch.conflicts_with(*old));
        others.flat_map(move |(&(stream, touch), last)| {
            last.overlapping(range.clone()).map(move |(bytes, operation)| Conflict {
                stream,
                touch,
                operation,
                bytes,
            })
        })
    }

    /// A stream touches a range.
    pub fn add(&mut self, stream: usize, touch: Touch, range: Range<u64>, operation: Operation) {
        if !range.is_empty() {
            self.0.entry((stream, touch)).or_default().set(range, operation);
        }
    }

    /// Keeps the accesses of these streams alone; false if there are none.
    pub fn retain(&mut self, keeps: impl Fn(usize) -> bool) -> bool {
        self.0.retain(|&(stream, _), _| keeps(stream));
        !self.0.is_empty()
    }

    /// How many ranges there are.
    pub fn ranges(&self) -> usize {
        self.0.values().map(|last| last.0.len()).sum()
    }

    /// All accesses for which a condition on the stream and the number of the operation holds.
    pub fn accesses(
        &self,
        holds: impl Fn(usize, Operation) -> bool,
    ) -> impl Iterator<Item = (Touch, Range<u64>)> {
        self.0.iter().flat_map(move |(&(stream, touch), last)| {
            let mine = last.0.iter().filter(|(_, (_, operation))| holds(stream, *operation));
            let mine: Vec<_> = mine.map(|(&start, &(end, _))| (touch, start..end)).collect();
            mine
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(count: u64) -> Operation {
        Operation { count, number: count, described: 0 }
    }

    /// Against a list of single bytes.
    #[test]
    fn each_byte_keeps_its_last_operation() {
        let mut last = LastOperations::default();
        let mut bytes = [0; 40];
        let mut state = 7u64;
        for count in 1..2000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let start = state >> 33 & 31;
            let end = start + 1 + (state >> 45 & 7);
            last.set(start..end, operation(count));
            bytes[start as usize..end as usize].fill(count);
            let mut seen = [0; 40];
            for (range, operation) in last.overlapping(0..40) {
                for byte in range {
                    assert_eq!(std::mem::replace(&mut seen[byte as usize], operation.count), 0);
                }
            }
            assert_eq!(seen, bytes);
            let part = last.overlapping(start + 1..end + 1);
            let part: u64 = part.map(|(range, _)| range.end - range.start).sum();
            let written = bytes[start as usize + 1..=end as usize].iter().filter(|&&n| n > 0);
            assert_eq!(part, written.count() as u64);
        }
    }
}
