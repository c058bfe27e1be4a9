//! What the blocks of a launch leave becomes one report.

use std::sync::atomic::Ordering::Relaxed;

use super::{BlockResult, MAX_PRINTED, Outcome, Run, block_coordinates};
use crate::finding::{Finding, FindingKind, Raw, Space, merge};
use crate::instruments::watch::Writer;
use crate::lanes::coordinates;
use crate::source_loc::SourceLoc;

impl Run<'_, '_> {
    /// Where threads race, that one of them read too early says nothing new.
    fn drop_consequences(&self, raw: &mut Vec<Raw>) {
        let place = |raw: &Raw| self.env.program.place(raw.pc);
        let racing: Vec<(Space, Option<SourceLoc>)> = raw
            .iter()
            .filter_map(|finding| {
                let (space, other) = match &finding.kind {
                    FindingKind::SharedRace { other, .. } => (Space::Shared, other),
                    FindingKind::GlobalRace { other, .. } => (Space::Global, other),
                    _ => return None,
                };
                Some([(space, place(finding).cloned()), (space, other.clone())])
            })
            .flatten()
            .collect();
        raw.retain(|finding| match finding.kind {
            FindingKind::Uninitialised { space, .. } => {
                !racing.iter().any(|(of, line)| *of == space && line.as_ref() == place(finding))
            }
            _ => true,
        });
    }

    /// Findings in the order of blocks, equal ones counted together.
    pub(super) fn merged(
        &self,
        results: Vec<BlockResult>,
        lane_instructions: u64,
        max_findings: usize,
    ) -> Outcome {
        let footprint = self.footprint();
        let mut outcome = Outcome { lane_instructions, footprint, ..Outcome::default() };
        let last = self.stop.load(Relaxed);
        for mut result in results {
            if result.index > last {
                break;
            }
            self.drop_consequences(&mut result.raw);
            result.raw.sort_by_key(|raw| raw.thread);
            for raw in result.raw {
                let finding = Finding {
                    kind: raw.kind,
                    loc: self.env.program.place(raw.pc).cloned(),
                    block: block_coordinates(result.index, self.grid),
                    thread: coordinates(raw.thread, self.env.block_size),
                    count: raw.count,
                };
                merge(&mut outcome.findings, finding, max_findings);
            }
            if outcome.printed.len() < MAX_PRINTED {
                outcome.printed.push_str(&result.printed);
            }
            outcome.trace.extend(result.trace);
            if let Some((pc, thread)) = result.written {
                outcome.writer = Some(Writer {
                    block: block_coordinates(result.index, self.grid),
                    thread: coordinates(thread, self.env.block_size),
                    loc: self.env.program.place(pc).cloned(),
                });
            }
        }
        outcome
    }
}
