//! Loads through the cache of memory that nobody writes (`ld.global.nc`: `__ldg`, or `const __restrict__`), of words that the
//! kernel does write, at whatever time; and reads by textures and surfaces of words that it has written before.

use crate::finding::AccessKind;
use crate::instruments::check::epochs::{AccessId, EpochTable};
use crate::instruments::check::global::pages::Page;
use crate::isa::names::Pc;
use crate::machine::monitor::Event;

/// Whether there were such loads of buffers that the launch may write.
#[derive(Debug, Default)]
pub(crate) struct ReadOnlyLoads {
    seen: bool,
}

impl ReadOnlyLoads {
    /// Notes an access of a buffer that the launch may write.
    #[inline(always)]
    pub fn note(&mut self, event: &Event) {
        self.seen |= event.kind == AccessKind::Read && event.program.loads_incoherently(event.pc);
    }

    /// Whether there was one: then each access must be looked at by itself.
    pub fn is_seen(&self) -> bool {
        self.seen
    }

    /// The instruction that contradicts an access of a unit: the write of what is loaded so, or such a load of what is written.
    pub fn conflict(
        &self,
        event: &Event,
        page: &Page,
        at: usize,
        epochs: &EpochTable,
    ) -> Option<Pc> {
        if !self.seen {
            return None;
        }
        let instruction = |access_id: AccessId| Some(epochs.access(access_id)?.epoch.pc);
        if event.kind != AccessKind::Read {
            let mut readers = page.readers.iter().filter_map(|ids| instruction(ids.get(at)));
            return readers.find(|&pc| event.program.loads_read_only(pc));
        }
        if !event.program.loads_incoherently(event.pc) {
            return None;
        }
        instruction(page.writers.get(at)).or_else(|| instruction(page.strong_writer(at)))
    }
}
