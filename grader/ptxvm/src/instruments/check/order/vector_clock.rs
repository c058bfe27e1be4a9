//! Vector clocks (Fidge 1988, Mattern 1989): for every warp of every block, up to which of its clocks it lies in the past.
//!
//! A clock is a tree over the blocks. Warps that know the same share its nodes, so that a counter which thousands of blocks
//! increment costs each of them a path and not a copy. A subtree for one block has no branches.
//!
//! All blocks that meet at a barrier make almost the same joins, of subtrees of which one knows all that the other does. Which one does
//! is remembered by the numbers of their nodes, so that a join looks only at what is new (in the spirit of tree clocks, Mathur
//! et al., ASPLOS 2022, for trees that are shared and not changed).

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

use crate::instruments::check::table::HEADER;

/// Branches of a node, as a power of two.
const BRANCH_BITS: u32 = 4;
const BRANCHES: usize = 1 << BRANCH_BITS;

/// What a vector clock says of one warp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WarpClock {
    /// The clock up to which all its lanes lie in the past.
    pub all: u32,
    /// Lanes that lie in the past up to a later clock, and that clock.
    pub lanes: u32,
    pub upto: u32,
}

impl WarpClock {
    /// Whether what a lane did at a clock lies in the past.
    pub fn covers(self, clock: u32, lane: u32) -> bool {
        clock <= self.all || clock <= self.upto && self.lanes >> (lane % 32) & 1 == 1
    }

    /// The join of both. If both know lanes with clocks of their own, the later clock counts for all of them: that may hide a
    /// race, but never reports a false one.
    fn join(self, other: Self) -> Self {
        let all = self.all.max(other.all);
        if self.lanes | other.lanes == 0 {
            return Self { all, lanes: 0, upto: 0 };
        }
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
    /// A node whose branches are the digits of block numbers at its level.
    Inner(NodeId, [Option<Rc<Node>>; BRANCHES]),
    /// A leaf: the clocks of one block's warps.
    Block(Block),
}

/// The level of a node, and its number, which no other node of this host thread ever had: 48 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NodeId {
    level: u8,
    high: u16,
    low: u32,
}

#[derive(Debug)]
struct Block {
    number: u32,
    /// Levels of the whole tree.
    levels: u32,
    warps: Box<[WarpClock]>,
}

/// A vector clock over the warps of all blocks; the default knows of none.
#[derive(Clone, Debug, Default)]
pub(crate) struct VectorClock(Option<Rc<Node>>);

/// The nodes whose memory has been counted already.
#[derive(Debug, Default)]
pub(crate) struct CountedNodes(HashSet<*const Node>);

/// Levels of inner nodes above so many blocks.
pub(crate) fn levels(blocks: u32) -> u32 {
    (u32::BITS - blocks.leading_zeros()).div_ceil(BRANCH_BITS)
}

fn branch(block: u32, level: u32) -> usize {
    (block >> (level * BRANCH_BITS)) as usize % BRANCHES
}

impl VectorClock {
    /// The clock that knows the warps of one block.
    pub fn of(number: u32, warps: Box<[WarpClock]>, levels: u32) -> Self {
        Self(Some(Rc::new(Node::Block(Block { number, levels, warps }))))
    }

    /// Whether nothing is known.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Bytes of the nodes that are not counted yet, with the overhead of the allocator.
    pub fn bytes(&self, counted: &mut CountedNodes) -> usize {
        self.0.as_ref().map_or(0, |node| bytes(node, counted))
    }

    /// What it says of a block's warps; empty if it knows nothing of them.
    pub fn block(&self, number: u32) -> &[WarpClock] {
        let mut node = self.0.as_deref();
        loop {
            match node {
                Some(Node::Inner(id, branches)) => {
                    node = branches[branch(number, id.level.into())].as_deref();
                }
                Some(Node::Block(block)) if block.number == number => return &block.warps,
                Some(Node::Block(_)) | None => return &[],
            }
        }
    }

    /// What it says of one warp.
    pub fn warp(&self, block: u32, warp: u8) -> WarpClock {
        self.block(block).get(usize::from(warp)).copied().unwrap_or_default()
    }

    /// Joins another clock into this one. True if that was news.
    pub fn join(&mut self, other: &Self) -> bool {
        let Some(theirs) = &other.0 else { return false };
        let Some(own) = &self.0 else {
            self.0 = Some(Rc::clone(theirs));
            return true;
        };
        let level = match &**own {
            Node::Inner(id, _) => id.level.into(),
            Node::Block(block) => block.levels - 1,
        };
        let (joined, known, _) = join(own, theirs, level);
        self.0 = Some(joined);
        !known
    }
}

/// The last join and its result, shared by those who make the same join one after another.
#[derive(Debug, Default)]
pub(crate) struct JoinCache {
    of: [VectorClock; 2],
    union: VectorClock,
}

impl JoinCache {
    /// Joins `other` into `own`, as [`VectorClock::join`] does; a repeated union is shared.
    pub fn join(&mut self, own: &mut VectorClock, other: &VectorClock) {
        let [first, second] = &self.of;
        if !(first.is_same(own) && second.is_same(other)) {
            let of = [own.clone(), other.clone()];
            own.join(other);
            *self = Self { of, union: own.clone() };
        } else if !own.is_same(&self.union) {
            own.clone_from(&self.union);
        }
    }
}

impl VectorClock {
    fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(own), Some(theirs)) => Rc::ptr_eq(own, theirs),
            (own, theirs) => own.is_none() && theirs.is_none(),
        }
    }
}

fn bytes(node: &Rc<Node>, counted: &mut CountedNodes) -> usize {
    if !counted.0.insert(Rc::as_ptr(node)) {
        return 0;
    }
    // Two counts of references stand before each part.
    let own = size_of::<Node>() + 2 * size_of::<usize>() + HEADER;
    own + match &**node {
        Node::Inner(_, branches) => {
            branches.iter().flatten().map(|part| bytes(part, counted)).sum()
        }
        Node::Block(block) => size_of_val(&*block.warps) + HEADER,
    }
}

/// The branches of a node; a leaf counts as a node with one branch at `level`.
fn branches(node: &Rc<Node>, level: u32) -> [Option<&Rc<Node>>; BRANCHES] {
    match &**node {
        Node::Inner(_, branches) => branches.each_ref().map(Option::as_ref),
        Node::Block(block) => {
            let mut branches = [None; BRANCHES];
            branches[branch(block.number, level)] = Some(node);
            branches
        }
    }
}

/// The join of two nodes, and whether each of them equals it: then it is that node itself. `level`: where their blocks may
/// differ.
fn join(a: &Rc<Node>, b: &Rc<Node>, level: u32) -> (Rc<Node>, bool, bool) {
    if Rc::ptr_eq(a, b) {
        return (Rc::clone(a), true, true);
    }
    let ids = match (&**a, &**b) {
        (Node::Inner(of_a, _), Node::Inner(of_b, _)) => Some((*of_a, *of_b)),
        _ => None,
    };
    if let Some((is_a, is_b)) = ids.and_then(|ids| COMPARED.with_borrow(|all| all.recall(ids))) {
        return (Rc::clone(if is_b { b } else { a }), is_a, is_b);
    }
    let (mut is_a, mut is_b) = (true, true);
    let joined = match (&**a, &**b) {
        (Node::Block(of_a), Node::Block(of_b)) if of_a.number == of_b.number => {
            #[cfg(test)]
            tests::LEAVES.set(tests::LEAVES.get() + 1);
            let seen = || of_a.warps.iter().zip(&of_b.warps).map(|(x, y)| x.join(*y));
            (is_a, is_b) =
                (seen().eq(of_a.warps.iter().copied()), seen().eq(of_b.warps.iter().copied()));
            if is_a || is_b {
                return (Rc::clone(if is_b { b } else { a }), is_a, is_b);
            }
            Node::Block(Block { number: of_a.number, levels: of_a.levels, warps: seen().collect() })
        }
        _ => {
            let (of_a, of_b) = (branches(a, level), branches(b, level));
            let both = std::array::from_fn(|at| match (of_a[at], of_b[at]) {
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
                    let (joined, is_x, is_y) = join(x, y, level.saturating_sub(1));
                    is_a &= is_x;
                    is_b &= is_y;
                    Some(joined)
                }
            });
            Node::Inner(COMPARED.with_borrow_mut(|all| all.next_id(level)), both)
        }
    };
    if let Some(ids) = ids.filter(|_| is_a || is_b) {
        COMPARED.with_borrow_mut(|all| all.remember(ids, (is_a, is_b)));
    }
    let node = match (is_a, is_b) {
        // The one that others share, more likely.
        (_, true) => Rc::clone(b),
        (true, false) => Rc::clone(a),
        (false, false) => Rc::new(joined),
    };
    (node, is_a, is_b)
}

/// Pairs of nodes that are remembered, as a power of two.
const REMEMBERED_BITS: u32 = 11;

/// Pairs of nodes, and whether each of the two equals their join.
type Compared = ((NodeId, NodeId), (bool, bool));

/// The last comparisons of nodes in this host thread, by a hash of their numbers, and how many nodes there were.
struct Comparisons {
    nodes: u64,
    last: Vec<Option<Compared>>,
}

thread_local! {
    static COMPARED: RefCell<Comparisons> =
        const { RefCell::new(Comparisons { nodes: 0, last: Vec::new() }) };
}

impl Comparisons {
    fn next_id(&mut self, level: u32) -> NodeId {
        self.nodes += 1;
        NodeId { level: level as u8, high: (self.nodes >> 32) as u16, low: self.nodes as u32 }
    }

    fn place((a, b): (NodeId, NodeId)) -> usize {
        let mixed = a.low.wrapping_mul(0x9E37_79B1) ^ b.low.wrapping_mul(0x85EB_CA6B);
        (mixed >> (u32::BITS - REMEMBERED_BITS)) as usize
    }

    fn recall(&self, ids: (NodeId, NodeId)) -> Option<(bool, bool)> {
        let (of, known) = self.last.get(Self::place(ids)).copied().flatten()?;
        (of == ids).then_some(known)
    }

    fn remember(&mut self, ids: (NodeId, NodeId), known: (bool, bool)) {
        if self.last.is_empty() {
            self.last = vec![None; 1 << REMEMBERED_BITS];
        }
        self.last[Self::place(ids)] = Some((ids, known));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeMap;

    use crate::instruments::check::order::vector_clock::*;

    const LEVELS: u32 = 3;

    thread_local! {
        /// How many leaves were compared.
        pub(super) static LEAVES: Cell<usize> = const { Cell::new(0) };
    }

    fn of(block: u32, all: u32) -> VectorClock {
        VectorClock::of(block, Box::new([WarpClock { all, ..WarpClock::default() }]), LEVELS)
    }

    #[test]
    fn a_union_knows_what_both_do() {
        assert_eq!((levels(1), levels(15), levels(16), levels(4000)), (1, 1, 2, 3));
        let mut all = VectorClock::default();
        for block in 1..1000 {
            assert!(all.join(&of(block, block)));
        }
        assert!(!all.join(&of(17, 16)) && all.join(&of(17, 18)));
        for block in 1..1000 {
            let wanted = if block == 17 { 18 } else { block };
            assert_eq!(all.block(block)[0].all, wanted, "block {block}");
        }
        assert_eq!(all.block(1000), []);
    }

    #[test]
    fn who_learns_all_that_another_knows_shares_it() {
        let (mut counter, mut late) = (VectorClock::default(), of(3, 5));
        counter.join(&of(3, 5));
        counter.join(&of(200, 1));
        late.join(&counter);
        assert!(Rc::ptr_eq(late.0.as_ref().unwrap(), counter.0.as_ref().unwrap()));
    }

    /// Clocks of some blocks that join each other again and again, against maps.
    #[test]
    fn joins_that_are_remembered_are_right() {
        const BLOCKS: u32 = 300;
        let mut state = 1u32;
        let mut random = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        let mut all: Vec<(VectorClock, BTreeMap<u32, u32>)> = vec![<_>::default(); 8];
        for step in 1..4000 {
            let (one, other) = (random(8) as usize, random(8) as usize);
            let (mut clock, mut map) = all[one].clone();
            let mut wanted = false;
            let mut learn = |block: u32, seen: u32| {
                let known = map.entry(block).or_default();
                wanted |= *known < seen;
                *known = seen.max(*known);
            };
            let news = if random(3) == 0 {
                let block = random(BLOCKS);
                learn(block, step);
                clock.join(&of(block, step))
            } else {
                all[other].1.iter().for_each(|(&block, &seen)| learn(block, seen));
                clock.join(&all[other].0)
            };
            assert_eq!(news, wanted, "step {step}");
            let seen = |block| clock.block(block).first().map(|seen| seen.all);
            assert!((0..BLOCKS).all(|block| seen(block) == map.get(&block).copied()), "{step}");
            all[one] = (clock, map);
        }
    }

    /// A barrier of all blocks: each joins what it knows from the last one, and its own step, into the counter.
    #[test]
    fn what_two_subtrees_know_is_compared_once() {
        const BLOCKS: u32 = 4000;
        let mut counter = VectorClock::default();
        let mut leaves = 0;
        for phase in 1..4 {
            let before = counter.clone();
            for block in 0..BLOCKS {
                let mut own = of(block, phase);
                own.join(&before);
                counter.join(&own);
            }
            leaves = LEAVES.replace(0);
        }
        assert!(leaves < BLOCKS as usize * 2 * BRANCHES, "{leaves} leaves were compared");
    }

    #[test]
    fn lanes_may_be_known_further_than_their_warp() {
        let fence = WarpClock { all: 4, lanes: 0b101, upto: 6 };
        assert!(fence.covers(4, 1) && fence.covers(6, 2));
        assert!(!fence.covers(5, 1) && !fence.covers(7, 2));
        assert_eq!(
            fence.join(WarpClock { all: 6, lanes: 2, upto: 9 }),
            WarpClock { all: 6, lanes: 2, upto: 9 }
        );
        assert_eq!(
            fence.join(WarpClock { all: 7, ..WarpClock::default() }),
            WarpClock { all: 7, lanes: 0, upto: 0 }
        );
    }
}
