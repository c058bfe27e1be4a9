//! A part of a warp with a stack of its own.

use super::simt_stack::StackEntry;

/// Lanes with a stack of their own.
#[derive(Clone, Debug)]
pub(crate) struct Subwarp {
    pub current: StackEntry,
    pub stack: Vec<StackEntry>,
    pub state: SubwarpState,
}

/// Why a part does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubwarpState {
    /// It is another one's turn.
    Ready,
    /// At the start of a block where others will come as well.
    AtJoin,
    /// At a warp operation, for the other lanes of a member mask.
    AtMembers(u32),
    /// At an operation of the whole warp or block, for all lanes.
    AtBarrier,
}

impl SubwarpState {
    /// It need not wait for others.
    pub fn is_runnable(self) -> bool {
        matches!(self, Self::Ready | Self::AtJoin)
    }
}

impl Subwarp {
    /// All lanes that belong to it.
    pub fn lanes(&self) -> u32 {
        lanes_of(self.current, &self.stack)
    }
}

pub(super) fn lanes_of(current: StackEntry, stack: &[StackEntry]) -> u32 {
    stack.iter().fold(current.mask, |all, split| all | split.mask)
}

/// Lanes take in another part, which is at the same place with the same way before it.
pub(super) fn merge(current: &mut StackEntry, stack: &mut [StackEntry], other: &Subwarp) {
    current.mask |= other.current.mask;
    for (own, other) in stack.iter_mut().zip(&other.stack) {
        own.mask |= other.mask;
    }
}

/// Whether lanes at the same instruction can go on as one.
pub(super) fn same_position(current: StackEntry, stack: &[StackEntry], subwarp: &Subwarp) -> bool {
    (current.pc, current.join) == (subwarp.current.pc, subwarp.current.join)
        && same_stack(stack, &subwarp.stack)
}

pub(super) fn same_stack(a: &[StackEntry], b: &[StackEntry]) -> bool {
    let way = |split: &StackEntry| (split.pc, split.join);
    a.len() == b.len() && a.iter().map(way).eq(b.iter().map(way))
}

/// Whether a part comes to the place where another one is, because its lanes meet there.
pub(super) fn will_reach(subwarp: &Subwarp, there: StackEntry, way: &[StackEntry]) -> bool {
    subwarp.stack.get(way.len()).is_some_and(|split| {
        split.mask != 0
            && (split.pc, split.join) == (there.pc, there.join)
            && same_stack(&subwarp.stack[..way.len()], way)
    })
}
