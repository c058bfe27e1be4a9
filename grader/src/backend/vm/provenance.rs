//! Who wrote an element, and what that thread read.

use super::findings::{ends_the_case, line};
use super::{Session, VmBackend};
use crate::backend::Provenance;
use crate::case::{Case, CaseLaunch, CaseTensor};
use crate::failure::Failure;
use crate::finding::{Place, ThreadId};
use crate::tensor::size_of;
use crate::verdict::ElementRead;
use ptxvm::{AccessKind, Traced};
use std::collections::BTreeMap;

impl VmBackend {
    /// Which thread wrote element `flat` of `case.tensors[tensor]`, and which elements it read on the way.
    /// Empty if no thread did.
    ///
    /// # Errors
    /// As [`Backend::run`].
    pub fn provenance(
        &self,
        case: &Case,
        tensor: usize,
        flat: usize,
    ) -> Result<Provenance, Failure> {
        self.provenance_of(&case.tensors, &case.launches, tensor, flat)
    }

    /// Traces the thread whose number in the launch is `flat`: the thread for that element in most kernels.
    pub(super) fn provenance_of(
        &self,
        tensors: &[CaseTensor],
        launches: &[CaseLaunch],
        tensor: usize,
        flat: usize,
    ) -> Result<Provenance, Failure> {
        let mut session = Session::new(self, tensors);
        let mut found = Provenance::default();
        for launch in launches {
            let Some(thread) = thread_number(launch, flat) else { continue };
            let outcome = session.launch(launch, Some(thread))?;
            let size = size_of(tensors[tensor].tensor.dtype) as i64;
            let element = flat as i64 * size..(flat as i64 + 1) * size;
            let hits = |t: &&Traced| {
                t.kind != AccessKind::Read
                    && t.buffer == Some(session.buffers[tensor])
                    && t.offset < element.end
                    && t.offset + i64::from(t.size) > element.start
            };
            if let Some(write) = outcome.trace.iter().rev().find(hits) {
                found.writer = Some((thread, write.loc.as_ref().map(line)));
                found.reads = session.reads(&outcome.trace);
            }
            if outcome
                .findings
                .iter()
                .any(|f| ends_the_case(&session.finding(&launch.kernel, f.clone()).kind))
            {
                break;
            }
        }
        Ok(found)
    }
}

impl Session<'_> {
    /// The elements that a trace reads, each once, in order of the first read.
    fn reads(&self, trace: &[Traced]) -> Vec<ElementRead> {
        let mut reads: Vec<ElementRead> = Vec::new();
        let mut known = BTreeMap::new();
        for access in trace.iter().filter(|t| t.kind != AccessKind::Write) {
            let Some(buffer) = access.buffer else { continue };
            let Some(Place { tensor, shape, flat }) = self.place(buffer, access.offset) else {
                continue;
            };
            let Some(Place { flat: last, .. }) =
                self.place(buffer, access.offset + i64::from(access.size) - 1)
            else {
                continue;
            };
            // A vector load reads several elements.
            for flat in flat..=last {
                let at = *known.entry((buffer, flat)).or_insert(reads.len());
                match reads.get_mut(at) {
                    Some(read) => read.count += 1,
                    None => reads.push(ElementRead {
                        tensor: tensor.clone(),
                        shape: shape.clone(),
                        flat,
                        count: 1,
                        line: access.loc.as_ref().map(line),
                    }),
                }
            }
        }
        reads
    }
}

/// The thread with this number, counted along x first, then y, then z.
fn thread_number(launch: &CaseLaunch, number: usize) -> Option<ThreadId> {
    let size = |axis: usize| launch.grid[axis] as usize * launch.block[axis] as usize;
    let at = [number % size(0), number / size(0) % size(1), number / size(0) / size(1)];
    let split = |axis: usize| {
        (at[axis] / launch.block[axis] as usize, at[axis] % launch.block[axis] as usize)
    };
    (at[2] < size(2)).then(|| ThreadId {
        block: [0, 1, 2].map(|axis| split(axis).0 as u32),
        thread: [0, 1, 2].map(|axis| split(axis).1 as u32),
    })
}
