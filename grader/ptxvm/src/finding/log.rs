//! Findings, and how they are gathered: equal ones at one line are one finding with a count.

use super::check::{Check, ThreadId};
use super::kind::FindingKind;
use crate::isa::names::Pc;
use crate::source_loc::SourceLoc;

/// Something wrong that a thread did.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The mistake, with its data.
    pub kind: FindingKind,
    /// The source line that did it.
    pub loc: Option<SourceLoc>,
    /// The first thread of the first block that did it.
    pub thread: ThreadId,
    /// How many lanes did the same at this line.
    pub count: u64,
}

/// A finding inside a block, before it has its source line.
#[derive(Clone, Debug)]
pub(crate) struct Raw {
    pub kind: FindingKind,
    pub pc: Pc,
    /// Index of the thread in its block.
    pub thread: u32,
    pub count: u64,
}

/// The findings of one block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    pub raw: Vec<Raw>,
}

/// Kinds that one block may find before it stops telling new ones apart.
const MAX_PER_BLOCK: usize = 256;

impl Log {
    /// Notes what `count` lanes did, `thread` the first of them.
    pub fn record(&mut self, kind: impl Into<FindingKind>, pc: Pc, thread: u32, count: u32) {
        let (kind, count) = (kind.into(), u64::from(count));
        if let Some(raw) = self.raw.iter_mut().find(|raw| raw.pc == pc && raw.kind.same(&kind)) {
            raw.count += count;
        } else if self.raw.len() < MAX_PER_BLOCK {
            self.raw.push(Raw { kind, pc, thread, count });
        }
    }

    /// Whether something of a kind was found.
    pub fn has(&self, of_kind: impl Fn(&FindingKind) -> bool) -> bool {
        self.raw.iter().any(|raw| of_kind(&raw.kind))
    }
}

/// Adds a finding to those of earlier blocks, or counts it with one of them.
pub(crate) fn merge(all: &mut Vec<Finding>, new: Finding, limit: usize) {
    if let Some(old) = all.iter_mut().find(|old| old.loc == new.loc && old.kind.same(&new.kind)) {
        old.count += new.count;
    } else if all.len() < limit {
        all.push(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{AccessKind, OutOfBounds, Space};
    use crate::memory::buffer::BufferId;

    fn out_of_bounds(size: u32, offset: i64) -> FindingKind {
        let (space, access) = (Space::Global, AccessKind::Read);
        OutOfBounds {
            space,
            access,
            size,
            place: Some((BufferId(0), offset)),
            array: None,
            address: 7,
        }
        .into()
    }

    #[test]
    fn repetitions_are_counted() {
        let mut log = Log::default();
        log.record(out_of_bounds(4, 8), 3, 1, 2);
        log.record(out_of_bounds(4, 12), 3, 0, 5);
        log.record(out_of_bounds(8, 8), 3, 0, 1);
        log.record(out_of_bounds(4, 8), 4, 0, 1);
        let counts: Vec<u64> = log.raw.iter().map(|raw| raw.count).collect();
        assert_eq!(counts, [7, 1, 1]);
        assert_eq!(log.raw[0].thread, 1);
    }
}
