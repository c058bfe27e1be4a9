//! Watchpoints: which thread wrote a place in global memory last.

use crate::finding::{AccessKind, Log};
use crate::isa::names::Pc;
use crate::isa::window::Window;
use crate::lanes::lanes;
use crate::machine::monitor::{Event, Monitor, WordReads};
use crate::memory::buffer::BufferId;
use crate::source_loc::SourceLoc;

/// A place in global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watchpoint {
    /// The buffer that is watched.
    pub buffer: BufferId,
    /// Bytes from its start.
    pub offset: u64,
    /// Bytes that are watched.
    pub size: u32,
}

/// The last write or atomic to a watched place.
#[derive(Clone, Debug, PartialEq)]
pub struct LastWriter {
    /// Coordinates of the block of the thread that wrote.
    pub block: [u32; 3],
    /// Its thread in the block.
    pub thread: [u32; 3],
    /// The source line of the write, if the PTX has line information.
    pub loc: Option<SourceLoc>,
}

/// Watches a place while a block runs.
#[derive(Debug)]
pub(crate) struct WatchpointMonitor {
    /// Address of the first byte, and of the first one behind.
    start: u64,
    end: u64,
    /// Instruction and index of the thread in the block.
    last: Option<(Pc, u32)>,
}

impl WatchpointMonitor {
    pub fn new(watch: Watchpoint) -> Self {
        let start = watch.buffer.address().wrapping_add(watch.offset);
        Self { start, end: start.wrapping_add(watch.size.into()), last: None }
    }

    /// The last write since the last call.
    pub fn take(&mut self) -> Option<(Pc, u32)> {
        self.last.take()
    }
}

impl Monitor for WatchpointMonitor {
    #[inline(always)]
    fn access(&mut self, event: &Event, _log: &mut Log) {
        if event.kind == AccessKind::Read || event.window != Window::Global {
            return;
        }
        for lane in lanes(event.done) {
            let at = event.addresses[lane];
            if at < self.end && at.wrapping_add(event.size.into()) > self.start {
                self.last = Some((event.pc, event.warp * 32 + lane as u32));
            }
        }
    }

    #[inline(always)]
    fn can_skip(&self, _reads: &WordReads) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::instruments::watchpoint::*;
    use crate::{Access, Init, Launch, Memory, Module, Options, launch};

    /// Block b writes the 8 bytes from 8 b on.
    const WIDE_WRITES: &str = "
.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %ctaid.x;
    mul.wide.s32 %rd2, %r1, 8;
    add.s64 %rd3, %rd1, %rd2;
    st.global.v2.u32 [%rd3], {%r1, %r1};
    ret;
}";

    fn writer(offset: u64, size: u32) -> Option<([u32; 3], [u32; 3])> {
        let module = Module::load(WIDE_WRITES).unwrap();
        let mut memory = Memory::default();
        let buffer = memory.alloc(Init::Undefined { len: 64 }, Access::ReadWrite);
        let start = Launch {
            grid: [4, 1, 1],
            block: [1, 1, 1],
            dynamic_shared: 0,
            params: vec![memory.address(buffer).to_le_bytes().to_vec()],
        };
        let options =
            Options { watch: Some(Watchpoint { buffer, offset, size }), ..Options::default() };
        let outcome =
            launch(&module, module.kernels().next().unwrap(), &start, &mut memory, &options);
        outcome.unwrap().writer.map(|w| (w.block, w.thread))
    }

    #[test]
    fn a_part_of_a_wide_write_counts() {
        for offset in [8, 11, 12, 15] {
            assert_eq!(writer(offset, 1), Some(([1, 0, 0], [0, 0, 0])), "byte {offset}");
        }
        assert_eq!(writer(32, 4), None, "nobody writes behind the last block");
        assert_eq!(writer(0, 64).map(|w| w.0), Some([3, 0, 0]), "the last of several");
    }
}
