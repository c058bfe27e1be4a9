//! Who wrote an element, and what that thread read.

use super::{Session, VmBackend};
use crate::finding::{Check, Element, ThreadId};
use crate::provenance::ElementRead;
use crate::provenance::Provenance;
use diagnostic::Failure;
use ptxvm::{AccessKind, LastWriter, Options, Outcome, TracedAccess, Watchpoint};
use puzzle::case::{Case, CaseLaunch, CaseTensor};
use puzzle::tensor::size_of;
use std::collections::BTreeMap;

/// What to look at while a kernel runs, besides its mistakes.
#[derive(Clone, Copy, Debug)]
enum Follow {
    Nothing,
    /// All accesses of this thread.
    Thread(ThreadId),
    /// The thread that wrote this place last.
    Place(Watchpoint),
}

impl VmBackend {
    /// Which thread wrote element `flat` of `case.tensors[tensor]`, and which elements it read on the way.
    /// Empty if no thread did.
    ///
    /// # Errors
    /// As `Backend::run`.
    pub fn provenance(
        &self,
        case: &Case,
        tensor: usize,
        flat: usize,
    ) -> Result<Provenance, Failure> {
        self.provenance_of(&case.tensors, &case.launches, tensor, flat)
    }

    /// Which thread wrote element `flat` of `case.tensors[tensor]` last, and in which launch; `None` if no thread did.
    ///
    /// # Errors
    /// As `Backend::run`.
    pub fn last_writer(
        &self,
        case: &Case,
        tensor: usize,
        flat: usize,
    ) -> Result<Option<(usize, ThreadId)>, Failure> {
        let found = self.writer(&case.tensors, &case.launches, tensor, flat)?;
        let thread = |writer: LastWriter| ThreadId { block: writer.block, thread: writer.thread };
        Ok(found.map(|(launch, writer)| (launch, thread(writer))))
    }

    /// Runs the case twice: first to find the writer, then to follow it.
    pub(super) fn provenance_of(
        &self,
        tensors: &[CaseTensor],
        launches: &[CaseLaunch],
        tensor: usize,
        flat: usize,
    ) -> Result<Provenance, Failure> {
        let Some((last, writer)) = self.writer(tensors, launches, tensor, flat)? else {
            return Ok(Provenance::default());
        };
        let thread = ThreadId { block: writer.block, thread: writer.thread };
        let mut session = Session::new(self, (tensors, launches))?;
        for launch in &launches[..last] {
            session.follow(launch, Follow::Nothing)?;
        }
        let trace = session.follow(&launches[last], Follow::Thread(thread))?.trace;
        Ok(Provenance { writer: Some((thread, writer.loc)), reads: session.reads(&trace) })
    }

    /// The last writer of an element, and in which launch it wrote.
    fn writer(
        &self,
        tensors: &[CaseTensor],
        launches: &[CaseLaunch],
        tensor: usize,
        flat: usize,
    ) -> Result<Option<(usize, LastWriter)>, Failure> {
        let mut session = Session::new(self, (tensors, launches))?;
        let size = size_of(tensors[tensor].tensor.dtype);
        let Some(buffer) = session.buffer(tensor) else { return Ok(None) };
        let watch = Watchpoint { buffer, offset: (flat * size) as u64, size: size as u32 };
        let mut found = None;
        for (n, launch) in launches.iter().enumerate() {
            let outcome = session.follow(launch, Follow::Place(watch))?;
            found = outcome.writer.map(|writer| (n, writer)).or(found);
            if outcome.findings.iter().any(|f| f.kind.ends_launch()) {
                break;
            }
        }
        Ok(found)
    }
}

impl Session<'_> {
    fn follow(&mut self, launch: &CaseLaunch, follow: Follow) -> Result<Outcome, Failure> {
        self.launch(launch, |module, kernel, start, memory, options| {
            let (trace, watch) = match follow {
                Follow::Nothing => (None, None),
                Follow::Thread(id) => (Some((id.block, id.thread)), None),
                Follow::Place(place) => (None, Some(place)),
            };
            let options = Options { trace, watch, ..options.clone() };
            ptxvm::launch(module, kernel, start, memory, &options)
        })
    }

    /// The elements that a trace reads, each once, in order of the first read.
    fn reads(&self, trace: &[TracedAccess]) -> Vec<ElementRead> {
        let mut reads: Vec<ElementRead> = Vec::new();
        let mut known = BTreeMap::new();
        for access in trace.iter().filter(|t| t.kind != AccessKind::Write) {
            let Some(buffer) = access.buffer else { continue };
            let start = self.device.memory().address(buffer);
            let last = access.offset + i64::from(access.size) - 1;
            let (Some(Element { tensor, shape, flat }), Some(Element { flat: last, .. })) =
                (self.placed.element(start, access.offset), self.placed.element(start, last))
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
                        line: access.loc.clone(),
                    }),
                }
            }
        }
        reads
    }
}
