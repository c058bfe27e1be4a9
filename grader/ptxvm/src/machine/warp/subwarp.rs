//! One subwarp: lanes of a warp with a SIMT stack of their own.

use super::simt_stack::StackEntry;

/// Lanes of a warp with a SIMT stack of their own.
#[derive(Clone, Debug)]
pub(crate) struct Subwarp {
    pub current: StackEntry,
    pub stack: Vec<StackEntry>,
    pub state: SubwarpState,
}

/// Why a subwarp does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubwarpState {
    /// It could run; another subwarp does.
    Ready,
    /// It waits at a reconvergence point that other lanes will reach.
    AtJoin,
    /// It waits at a warp operation for the other lanes of this member mask.
    AtMembers(u32),
    /// It waits for all lanes at an operation of the whole warp or block.
    AtBarrier,
}

impl SubwarpState {
    /// Whether it can run without further lanes.
    pub fn is_runnable(self) -> bool {
        matches!(self, Self::Ready | Self::AtJoin)
    }
}

impl Subwarp {
    /// All lanes of the subwarp, on every level of its stack.
    pub fn lanes(&self) -> u32 {
        lanes_of(self.current, &self.stack)
    }
}

pub(super) fn lanes_of(current: StackEntry, stack: &[StackEntry]) -> u32 {
    stack.iter().fold(current.mask, |all, split| all | split.mask)
}

/// Merges another subwarp, which is at the same position with the same stack.
pub(super) fn merge(current: &mut StackEntry, stack: &mut [StackEntry], other: &Subwarp) {
    current.mask |= other.current.mask;
    for (own, other) in stack.iter_mut().zip(&other.stack) {
        own.mask |= other.mask;
    }
}

/// Whether lanes and a subwarp can go on as one: they are at the same instruction with the same stack.
pub(super) fn same_position(current: StackEntry, stack: &[StackEntry], subwarp: &Subwarp) -> bool {
    (current.pc, current.join) == (subwarp.current.pc, subwarp.current.join)
        && same_stack(stack, &subwarp.stack)
}

pub(super) fn same_stack(a: &[StackEntry], b: &[StackEntry]) -> bool {
    let way = |split: &StackEntry| (split.pc, split.join);
    a.len() == b.len() && a.iter().map(way).eq(b.iter().map(way))
}

/// Whether a subwarp will reach the place where another one waits, because it is on the subwarp's stack.
pub(super) fn will_reach(subwarp: &Subwarp, there: StackEntry, way: &[StackEntry]) -> bool {
    subwarp.stack.get(way.len()).is_some_and(|split| {
        split.mask != 0
            && (split.pc, split.join) == (there.pc, there.join)
            && same_stack(&subwarp.stack[..way.len()], way)
    })
}
