//! A part of a warp with a stack of its own.

use super::split::Split;

/// Lanes with a stack of their own.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub now: Split,
    pub stack: Vec<Split>,
    pub state: State,
}

/// Why a part does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It is another one's turn.
    Ready,
    /// At the start of a block where others will come as well.
    AtJoin,
    /// At a warp operation, for the other lanes of a member mask.
    AtMembers(u32),
    /// At an operation of the whole warp or block, for all lanes.
    AtBarrier,
}

impl State {
    /// It need not wait for others.
    pub fn moves(self) -> bool {
        matches!(self, Self::Ready | Self::AtJoin)
    }
}

impl Part {
    /// All lanes that belong to it.
    pub fn lanes(&self) -> u32 {
        lanes_of(self.now, &self.stack)
    }
}

pub(super) fn lanes_of(now: Split, stack: &[Split]) -> u32 {
    stack.iter().fold(now.mask, |all, split| all | split.mask)
}

/// Lanes take in another part, which is at the same place with the same way before it.
pub(super) fn absorb(now: &mut Split, stack: &mut [Split], other: &Part) {
    now.mask |= other.now.mask;
    for (own, other) in stack.iter_mut().zip(&other.stack) {
        own.mask |= other.mask;
    }
}

/// Whether lanes at the same instruction can go on as one.
pub(super) fn same_place(now: Split, stack: &[Split], part: &Part) -> bool {
    (now.pc, now.join) == (part.now.pc, part.now.join) && same_way(stack, &part.stack)
}

pub(super) fn same_way(a: &[Split], b: &[Split]) -> bool {
    let way = |split: &Split| (split.pc, split.join);
    a.len() == b.len() && a.iter().map(way).eq(b.iter().map(way))
}

/// Whether a part comes to the place where another one is, because its lanes meet there.
pub(super) fn will_come(part: &Part, there: Split, way: &[Split]) -> bool {
    part.stack.get(way.len()).is_some_and(|split| {
        split.mask != 0
            && (split.pc, split.join) == (there.pc, there.join)
            && same_way(&part.stack[..way.len()], way)
    })
}
