//! Records what one block does, instruction by instruction, so that it can be watched forwards and backwards.

use crate::finding::{AccessKind, Log};
use crate::isa::window::Window;
use crate::lanes::lanes;
use crate::machine::monitor::{Event, Monitor, Step, WordReads};
use crate::memory::Memory;
use crate::memory::buffer::BufferId;
use crate::memory::flat::Flat;
use crate::memory::lane_memory::LaneMemory;
use crate::program::symbols::Register;

/// The block and the registers that a launch records.
#[derive(Clone, Debug)]
pub struct RecordingRequest {
    /// Coordinates of the block.
    pub block: [u32; 3],
    /// The registers whose values are recorded.
    pub registers: Vec<Register>,
    /// Instructions of warps after which the recording ends; the launch goes on.
    pub steps: usize,
}

/// What a block did.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Instructions of warps, in the order in which they ran.
    pub steps: Vec<RecordedStep>,
    /// Accesses of memory, in the same order.
    pub accesses: Vec<RecordedAccess>,
    /// Changes of the registers of the request, in the same order.
    pub writes: Vec<RegisterWrite>,
    /// Whether the block did more than was recorded.
    pub cut: bool,
}

/// An instruction of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedStep {
    /// Its place in the program.
    pub pc: u32,
    /// Index of the warp in the block.
    pub warp: u32,
    /// The lanes that have reached it together.
    pub lanes: u32,
}

/// What the lanes of a warp did to memory in a step.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedAccess {
    /// Index of the step.
    pub step: u32,
    /// Read, write or atomic.
    pub kind: AccessKind,
    /// Bytes that each lane accessed.
    pub size: u32,
    /// One for each lane.
    pub lanes: Vec<LaneAccess>,
}

/// What one lane did to memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaneAccess {
    /// The lane in its warp.
    pub lane: u8,
    /// The place that it accessed.
    pub place: Place,
    /// What lies there afterwards, little-endian; of a place that does not exist, zeros.
    pub bytes: [u8; 16],
}

/// A place in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A buffer of global memory, and the bytes from its start.
    Global(BufferId, i64),
    /// Global memory near no buffer.
    Nowhere(u64),
    /// An address in the shared memory of the block.
    Shared(u64),
    /// An address in the local memory of the thread.
    Local(u64),
}

/// A step changed a register in some lanes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterWrite {
    /// Index of the step.
    pub step: u32,
    /// Index in the request.
    pub register: u32,
    /// The lane in its warp, and its new value.
    pub values: Vec<(u8, u64)>,
}

/// Records one block of a launch.
#[derive(Debug)]
pub(crate) struct Recorder {
    request: RecordingRequest,
    /// Whether the block of the request runs.
    on: bool,
    recording: Recording,
    /// For each warp its last step, and the values of the registers then, register by register.
    warps: Vec<Option<(u32, Vec<[u64; 32]>)>>,
    /// The first access whose values are not known yet.
    pending: usize,
}

impl Recorder {
    pub fn new(request: RecordingRequest) -> Self {
        Self { request, on: false, recording: Recording::default(), warps: Vec::new(), pending: 0 }
    }

    /// Switches it on for the block that is about to begin, if that is the one.
    pub fn begin(&mut self, block: [u32; 3], warps: usize) {
        self.on = block == self.request.block;
        if self.on {
            self.warps = vec![None; warps];
        }
    }

    pub fn finish(self) -> Recording {
        self.recording
    }

    /// Reads what lies now where the last step accessed memory.
    fn complete(&mut self, memory: &Memory, shared: &Flat) {
        for access in &mut self.recording.accesses[self.pending..] {
            for lane in &mut access.lanes {
                for (word, four) in
                    (0..).zip(lane.bytes.chunks_mut(4)).take(access.size.div_ceil(4) as usize)
                {
                    let (ahead, size) = (4 * word, access.size.min(4));
                    let value = match lane.place {
                        Place::Global(buffer, offset) => u64::try_from(offset)
                            .ok()
                            .and_then(|offset| memory.value(buffer, offset + ahead, size)),
                        Place::Shared(address) => shared
                            .check(0, address + ahead, size, false)
                            .ok()
                            .map(|place| shared.get(0, place, size).0),
                        Place::Nowhere(_) | Place::Local(_) => None,
                    };
                    if let Some(value) = value {
                        four.copy_from_slice(&(value as u32).to_le_bytes());
                    }
                }
            }
        }
        self.pending = self.recording.accesses.len();
    }

    /// Notes which registers a warp has changed since its last step.
    fn compare(&mut self, step: &Step) {
        let now =
            |register: &Register| std::array::from_fn(|lane| step.registers.lane(register.0, lane));
        let registers: Vec<[u64; 32]> = self.request.registers.iter().map(now).collect();
        if let Some((last, before)) = &self.warps[step.warp as usize] {
            for (index, (new, old)) in (0..).zip(registers.iter().zip(before)) {
                if new != old {
                    let changed = (0..32).filter(|&lane| new[lane] != old[lane]);
                    let values = changed.map(|lane| (lane as u8, new[lane])).collect();
                    self.recording.writes.push(RegisterWrite {
                        step: *last,
                        register: index,
                        values,
                    });
                }
            }
        }
        self.warps[step.warp as usize] = Some((self.recording.steps.len() as u32, registers));
    }
}

impl Monitor for Recorder {
    const STEPS: bool = true;

    fn steps(&self) -> bool {
        self.on
    }

    fn before(&mut self, step: &Step) {
        if !self.on {
            return;
        }
        self.complete(step.memory, step.shared);
        self.compare(step);
        if self.recording.steps.len() >= self.request.steps {
            self.recording.cut = true;
            self.on = false;
            return;
        }
        self.recording.steps.push(RecordedStep { pc: step.pc, warp: step.warp, lanes: step.split });
    }

    fn access(&mut self, event: &Event, _log: &mut Log) {
        let Some(step) = self.recording.steps.len().checked_sub(1).filter(|_| self.on) else {
            return;
        };
        let place = |lane: usize| {
            let address = event.addresses[lane];
            match event.window {
                Window::Global => Some(match event.memory.locate(address) {
                    Some((buffer, offset)) => Place::Global(buffer, offset),
                    None => Place::Nowhere(address),
                }),
                Window::Shared => Some(Place::Shared(address)),
                // What is read there was written there: the writes are enough.
                Window::Local if event.kind == AccessKind::Write => Some(Place::Local(address)),
                Window::Local | Window::Const | Window::Param | Window::Cluster => None,
            }
        };
        let of_lane = |lane: usize| {
            let mut bytes = [0; 16];
            if event.window == Window::Local {
                for (index, four) in (0..event.size.div_ceil(4)).zip(bytes.chunks_mut(4)) {
                    let value = event.stored_unit(lane, index, event.size.min(4)).unwrap_or(0);
                    four.copy_from_slice(&value.to_le_bytes());
                }
            }
            Some(LaneAccess { lane: lane as u8, place: place(lane)?, bytes })
        };
        let lanes: Vec<LaneAccess> = lanes(event.mask).filter_map(of_lane).collect();
        if !lanes.is_empty() {
            let (kind, size) = (event.kind, event.size.min(16));
            self.recording.accesses.push(RecordedAccess { step: step as u32, kind, size, lanes });
        }
    }

    fn can_skip(&self, _reads: &WordReads) -> bool {
        !self.on
    }
}
