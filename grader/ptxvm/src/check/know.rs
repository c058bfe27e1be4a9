//! What a warp knows of other blocks: up to which of its clocks each of their warps lies in the past.
//!
//! A tree over the blocks whose parts are shared by all who know the same, so that a counter which thousands of blocks
//! add to costs each of them a path, not a copy.

use std::collections::HashSet;
use std::rc::Rc;

use super::pages::HEADER;

/// Branches of a node, as a power of two.
const BRANCH_BITS: u32 = 4;
const BRANCHES: usize = 1 << BRANCH_BITS;

/// What is known of a warp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Clock up to which all of its lanes lie in the past.
    pub all: u32,
    /// Lanes of which more is known, and up to which clock.
    pub lanes: u32,
    pub upto: u32,
}

impl Seen {
    /// Whether what a lane did at a clock lies in the past.
    pub fn covers(self, clock: u32, lane: u32) -> bool {
        clock <= self.all || clock <= self.upto && self.lanes >> (lane % 32) & 1 == 1
    }

    /// What both know. Of lanes with clocks of their own the later one counts for all: that may hide a race, but finds none.
    fn join(self, other: Self) -> Self {
        let all = self.all.max(other.all);
        let more = [self, other].into_iter().filter(|seen| seen.upto > all && seen.lanes != 0);
        more.fold(Self { all, lanes: 0, upto: 0 }, |joined, seen| Self {
            all,
            lanes: joined.lanes | seen.lanes,
            upto: joined.upto.max(seen.upto),
        })
    }
}

#[derive(Debug)]
enum Node {
    Inner([Option<Rc<Node>>; BRANCHES]),
    /// The warps of one block.
    Block(Box<[Seen]>),
}

/// Knowledge of other blocks; the default is none.
#[derive(Clone, Debug, Default)]
pub(super) struct Know(Option<Rc<Node>>);

/// Parts of trees that were counted already.
#[derive(Debug, Default)]
pub(super) struct Counted(HashSet<*const Node>);

/// Levels of inner nodes above so many blocks.
pub(super) fn levels(blocks: u32) -> u32 {
    (u32::BITS - blocks.leading_zeros()).div_ceil(BRANCH_BITS)
}

fn branch(block: u32, level: u32) -> usize {
    (block >> (level * BRANCH_BITS)) as usize % BRANCHES
}

impl Know {
    /// Knowledge of one block's warps.
    pub fn of(block: u32, warps: Box<[Seen]>, levels: u32) -> Self {
        let mut node = Rc::new(Node::Block(warps));
        for level in 0..levels {
            let mut branches = [const { None }; BRANCHES];
            branches[branch(block, level)] = Some(node);
            node = Rc::new(Node::Inner(branches));
        }
        Self(Some(node))
    }

    /// Whether nothing is known.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Bytes of the parts that are not counted yet, with what the allocator adds.
    pub fn bytes(&self, counted: &mut Counted) -> usize {
        self.0.as_ref().map_or(0, |node| bytes(node, counted))
    }

    /// What is known of a block's warps.
    pub fn block(&self, block: u32, levels: u32) -> &[Seen] {
        let mut node = self.0.as_deref();
        for level in (0..levels).rev() {
            let Some(Node::Inner(branches)) = node else { return &[] };
            node = branches[branch(block, level)].as_deref();
        }
        match node {
            Some(Node::Block(warps)) => warps,
            _ => &[],
        }
    }

    /// Learns what another knows. True if that was news.
    pub fn join(&mut self, other: &Self) -> bool {
        let Some(theirs) = &other.0 else { return false };
        let Some(own) = &self.0 else {
            self.0 = Some(Rc::clone(theirs));
            return true;
        };
        let (joined, known, _) = join(own, theirs);
        self.0 = Some(joined);
        !known
    }
}

fn bytes(node: &Rc<Node>, counted: &mut Counted) -> usize {
    if !counted.0.insert(Rc::as_ptr(node)) {
        return 0;
    }
    // Two counts of references stand before each part.
    let own = size_of::<Node>() + 2 * size_of::<usize>() + HEADER;
    own + match &**node {
        Node::Inner(branches) => branches.iter().flatten().map(|part| bytes(part, counted)).sum(),
        Node::Block(warps) => size_of_val(&**warps) + HEADER,
    }
}

/// What both know, and whether each of them alone knows as much: then it is that one itself.
fn join(a: &Rc<Node>, b: &Rc<Node>) -> (Rc<Node>, bool, bool) {
    if Rc::ptr_eq(a, b) {
        return (Rc::clone(a), true, true);
    }
    let (mut is_a, mut is_b) = (true, true);
    let joined = match (&**a, &**b) {
        (Node::Inner(of_a), Node::Inner(of_b)) => {
            let both = std::array::from_fn(|at| match (&of_a[at], &of_b[at]) {
                (None, None) => None,
                (Some(only), None) => {
                    is_b = false;
                    Some(Rc::clone(only))
                }
                (None, Some(only)) => {
                    is_a = false;
                    Some(Rc::clone(only))
                }
                (Some(x), Some(y)) => {
                    let (joined, is_x, is_y) = join(x, y);
                    is_a &= is_x;
                    is_b &= is_y;
                    Some(joined)
                }
            });
            Node::Inner(both)
        }
        (Node::Block(of_a), Node::Block(of_b)) => {
            let both: Box<[Seen]> = of_a.iter().zip(of_b).map(|(x, y)| x.join(*y)).collect();
            (is_a, is_b) = (both == *of_a, both == *of_b);
            Node::Block(both)
        }
        // All trees of a launch have the same levels.
        _ => return (Rc::clone(a), true, true),
    };
    let node = match (is_a, is_b) {
        // The one that others share, more likely.
        (_, true) => Rc::clone(b),
        (true, false) => Rc::clone(a),
        (false, false) => Rc::new(joined),
    };
    (node, is_a, is_b)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVELS: u32 = 3;

    fn of(block: u32, all: u32) -> Know {
        Know::of(block, Box::new([Seen { all, ..Seen::default() }]), LEVELS)
    }

    #[test]
    fn a_union_knows_what_both_do() {
        assert_eq!((levels(1), levels(15), levels(16), levels(4000)), (1, 1, 2, 3));
        let mut all = Know::default();
        for block in 1..1000 {
            assert!(all.join(&of(block, block)));
        }
        assert!(!all.join(&of(17, 16)) && all.join(&of(17, 18)));
        for block in 1..1000 {
            let wanted = if block == 17 { 18 } else { block };
            assert_eq!(all.block(block, LEVELS)[0].all, wanted, "block {block}");
        }
        assert_eq!(all.block(1000, LEVELS), []);
    }

    #[test]
    fn who_learns_all_that_another_knows_shares_it() {
        let (mut counter, mut late) = (Know::default(), of(3, 5));
        counter.join(&of(3, 5));
        counter.join(&of(200, 1));
        late.join(&counter);
        assert!(Rc::ptr_eq(late.0.as_ref().unwrap(), counter.0.as_ref().unwrap()));
    }

    #[test]
    fn lanes_may_be_known_further_than_their_warp() {
        let fence = Seen { all: 4, lanes: 0b101, upto: 6 };
        assert!(fence.covers(4, 1) && fence.covers(6, 2));
        assert!(!fence.covers(5, 1) && !fence.covers(7, 2));
        assert_eq!(
            fence.join(Seen { all: 6, lanes: 2, upto: 9 }),
            Seen { all: 6, lanes: 2, upto: 9 }
        );
        assert_eq!(
            fence.join(Seen { all: 7, ..Seen::default() }),
            Seen { all: 7, lanes: 0, upto: 0 }
        );
    }
}
