//! What the blocks of a launch leave becomes one report.

use std::sync::atomic::Ordering::Relaxed;

use super::Run;
use super::footprint::Footprint;
use super::run::BlockResult;
use crate::finding::{Finding, FindingKind, Raw, Space, ThreadId, merge};
use crate::instruments::touched::{TouchMonitor, TouchedBytes};
use crate::instruments::trace::TracedAccess;
use crate::instruments::watchpoint::LastWriter;
use crate::lanes::coordinates;
use crate::machine::child_launch::ChildLaunch;
use crate::source_loc::SourceLoc;

/// Bytes that a launch may print; the rest is dropped. The hardware's buffer holds as much.
const MAX_PRINTED: usize = 1 << 20;

/// What a launch did.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Sorted by block, then thread of the first occurrence; the same at every run.
    pub findings: Vec<Finding>,
    /// The accesses of the traced thread, in program order.
    pub trace: Vec<TracedAccess>,
    /// Who wrote the watched place last: of several blocks, the one with the highest index.
    pub writer: Option<LastWriter>,
    /// Instructions executed, counted once for each active lane.
    pub lane_instructions: u64,
    /// What the kernel printed, block after block.
    pub printed: String,
    /// The bytes of global memory that it touched, if that was asked for.
    pub touched: Vec<TouchedBytes>,
    /// What the kernel launched, block after block: to be run now, before anything that waits for the kernel. Those that wait for the
    /// others come last.
    pub children: Vec<ChildLaunch>,
    /// The memory that the checks needed.
    pub footprint: Footprint,
}

impl Run<'_, '_> {
    /// Drops findings that only follow from a race: that one of the threads read too early says nothing new.
    fn drop_consequences(&self, raw: &mut Vec<Raw>) {
        let place = |raw: &Raw| self.grid.env.program.source_location(raw.pc);
        let racing: Vec<(Space, Option<SourceLoc>)> = raw
            .iter()
            .filter_map(|finding| {
                let (space, other) = match &finding.kind {
                    FindingKind::SharedRace(race) => (Space::Shared, &race.other),
                    FindingKind::GlobalRace(race) => (Space::Global, &race.other),
                    _ => return None,
                };
                Some([(space, place(finding).cloned()), (space, other.clone())])
            })
            .flatten()
            .collect();
        raw.retain(|finding| match &finding.kind {
            FindingKind::Uninitialised(read) => {
                let space = match read.space {
                    Space::Heap => Space::Global,
                    space => space,
                };
                !racing.iter().any(|(of, line)| *of == space && line.as_ref() == place(finding))
            }
            _ => true,
        });
    }

    /// Findings in the order of blocks, equal ones counted together.
    pub(super) fn merged(&self, results: Vec<BlockResult>, lane_instructions: u64) -> Outcome {
        let Footprint { global, shared } = self.peak.get();
        let flags = self.grid.env.memory.flag_bytes();
        let footprint = Footprint { global: flags + global, shared };
        let touched = self.touched.as_ref().map_or_else(Vec::new, TouchMonitor::touched);
        let mut outcome = Outcome { lane_instructions, touched, footprint, ..Outcome::default() };
        let last = self.stop.load(Relaxed);
        for mut result in results {
            if result.index > last {
                break;
            }
            self.drop_consequences(&mut result.raw);
            result.raw.sort_by_key(|raw| raw.thread);
            for raw in result.raw {
                let mut kind = raw.kind;
                kind.name_shared(&self.grid.shared_arrays);
                let finding = Finding {
                    kind,
                    loc: self.grid.env.program.source_location(raw.pc).cloned(),
                    thread: ThreadId {
                        block: self.grid.coordinates(result.index),
                        thread: coordinates(raw.thread, self.grid.env.block_size),
                    },
                    count: raw.count,
                };
                merge(&mut outcome.findings, finding, self.options.max_findings);
            }
            if outcome.printed.len() < MAX_PRINTED {
                outcome.printed.push_str(&result.printed);
            }
            outcome.children.extend(result.children);
            outcome.trace.extend(result.trace);
            if let Some((pc, thread)) = result.written {
                outcome.writer = Some(LastWriter {
                    block: self.grid.coordinates(result.index),
                    thread: coordinates(thread, self.grid.env.block_size),
                    loc: self.grid.env.program.source_location(pc).cloned(),
                });
            }
        }
        // Stable: others keep their order.
        outcome.children.sort_by_key(|child| child.last);
        outcome
    }
}
