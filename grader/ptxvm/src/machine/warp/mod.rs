//! A warp: its lanes, their divergence and reconvergence, their calls, and how they wait for each other.

pub(crate) mod call_stack;
pub(crate) mod poison;
pub(crate) mod simt_stack;
pub(crate) mod spin_detector;
mod spin_probe;
pub(crate) mod state;
pub(crate) mod subwarp;
mod subwarps;

use self::call_stack::CallStack;
use self::poison::PoisonedRegister;
use self::simt_stack::{StackEntry, WarpStatus};
use self::spin_detector::SpinDetector;
use self::subwarp::Subwarp;
use crate::machine::registers::Registers;
use crate::machine::simd::arith::SpreadMask;
use crate::memory::local::Local;

/// A warp: 32 threads in lockstep.
#[derive(Clone, Debug)]
pub(crate) struct Warp {
    pub registers: Registers,
    pub local: Local,
    pub calls: CallStack,
    /// The stack entry that runs.
    pub current: StackEntry,
    /// The entries that wait, the next to run last.
    pub stack: Vec<StackEntry>,
    /// The lanes of the instruction that was executed last: most often those of the next one, too.
    pub active: SpreadMask,
    /// The subwarps that do not run; `current` and `stack` belong to the running one.
    pub others: Vec<Subwarp>,
    /// The running subwarp has waited in vain at the next instruction, and executes it without the missing lanes.
    pub alone: bool,
    /// Lanes of other subwarps that take part in the next instruction.
    pub guests: u32,
    /// Detects lanes that wait for others in a loop.
    pub spin: SpinDetector,
    /// Lanes that have not exited.
    pub live: u32,
    pub status: WarpStatus,
    /// For each lane the lanes that its next warp operation joins: its member mask, restricted to lanes that are active and name
    /// the same mask.
    pub members: [u32; 32],
    /// Registers that hold uninitialised values on their way to another place.
    pub poisoned: Vec<PoisonedRegister>,
    /// Instructions that the warp has executed in this block.
    pub executed: u64,
    /// Index of the warp in its block.
    pub index: u32,
}
