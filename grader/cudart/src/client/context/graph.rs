//! A CUDA graph: pieces of work, and which of them must be done before which.

use super::Client;
use crate::device::{Answer, Launch};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_void;
use std::sync::Arc;

/// The C type `cudaHostFn_t`.
pub(crate) type HostFunction = extern "C" fn(data: *mut c_void);

/// What a launch of a graph has the device do, in the stream with this handle.
pub(crate) type DeviceWork = Arc<dyn Fn(&mut Client, u64) -> Answer<()> + Send + Sync>;

/// One piece of the work of a graph.
#[derive(Clone)]
pub(crate) enum Work {
    /// A launch, and the address of the kernel's host side.
    Kernel {
        host: usize,
        launch: Launch,
    },
    Copy(DeviceWork),
    Fill(DeviceWork),
    /// A function of the program, and the address that it is given.
    Host(HostFunction, usize),
    Empty,
    /// Another graph.
    Child(Graph),
    Conditional(Conditional),
    /// Memory of the graph, at this address, begins to be there.
    Allocate(u64),
    /// Memory of a graph is no longer there.
    Free(u64),
    /// An event is recorded.
    Record(u64),
    /// An event is awaited.
    Wait(u64),
}

impl Work {
    /// The value of `cudaGraphNodeType`.
    pub fn node_type(&self) -> u32 {
        match self {
            Self::Kernel { .. } => 0,
            Self::Copy(_) => 1,
            Self::Fill(_) => 2,
            Self::Host(..) => 3,
            Self::Child(_) => 4,
            Self::Empty => 5,
            Self::Wait(_) => 6,
            Self::Record(_) => 7,
            Self::Allocate(_) => 10,
            Self::Free(_) => 11,
            Self::Conditional(_) => 13,
        }
    }
}

/// Graphs of which a condition chooses.
#[derive(Clone)]
pub(crate) struct Conditional {
    /// The condition's handle: the address of its value on the device.
    pub condition: u64,
    pub kind: Choice,
    /// The graphs; in a graph that can be launched, such ones too.
    pub bodies: Vec<u64>,
}

/// How the value of a condition chooses (`cudaGraphConditionalNodeType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The first graph unless it is 0, else the second one, if there is one.
    If,
    /// The first graph, again and again until it is 0.
    While,
    /// The graph of this number.
    Switch,
}

impl Choice {
    /// By the code of CUDA; `None` if there is no such kind, or it cannot have so many graphs.
    pub fn of(code: u32, graphs: u32) -> Option<Self> {
        match (code, graphs) {
            (0, 1 | 2) => Some(Self::If),
            (1, 1) => Some(Self::While),
            (2, 1..) => Some(Self::Switch),
            _ => None,
        }
    }

    /// The number of the graph that a value chooses. There may be none of this number.
    pub fn body(self, value: u32) -> usize {
        match self {
            Self::If => usize::from(value == 0),
            Self::While if value == 0 => usize::MAX,
            Self::While => 0,
            Self::Switch => value as usize,
        }
    }
}

/// A piece of work, and the nodes that must be done before it.
#[derive(Clone)]
pub(crate) struct Node {
    pub work: Work,
    pub after: BTreeSet<u64>,
}

/// The nodes of a graph by their handles, which ascend in the order of their creation.
#[derive(Clone, Default)]
pub(crate) struct Graph(pub BTreeMap<u64, Node>);

impl Graph {
    /// The nodes in an order that their dependences allow, in that of their creation as far as possible. Nodes with circular
    /// dependences are left out.
    pub fn in_order(&self) -> Vec<u64> {
        let mut order = Vec::new();
        let mut done = BTreeSet::new();
        loop {
            let before = order.len();
            for (&handle, node) in &self.0 {
                if !done.contains(&handle) && node.after.is_subset(&done) {
                    order.push(handle);
                    done.insert(handle);
                }
            }
            if order.len() == before {
                return order;
            }
        }
    }

    /// The edges: pairs of a node and one that must be done after it.
    pub fn edges(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().flat_map(|(&to, node)| node.after.iter().map(move |&from| (from, to)))
    }

    /// The nodes after which nothing comes.
    pub fn leaves(&self) -> BTreeSet<u64> {
        let before: BTreeSet<u64> = self.edges().map(|(from, _)| from).collect();
        self.0.keys().copied().filter(|node| !before.contains(node)).collect()
    }

    /// Whether no dependences are circular.
    pub fn is_acyclic(&self) -> bool {
        self.in_order().len() == self.0.len()
    }

    /// Whether there can be only one of it, because a condition chooses parts of it, or it has memory of its own.
    pub fn is_unique(&self) -> bool {
        let is_unique =
            |work: &Work| matches!(work, Work::Conditional(_) | Work::Allocate(_) | Work::Free(_));
        self.0.values().any(|node| is_unique(&node.work))
    }

    /// The same graph without child graphs, whose nodes take their place.
    pub fn flattened(&self) -> Self {
        let mut flat = Self::default();
        for (&handle, Node { work, after }) in &self.0 {
            let mut node = Node { work: work.clone(), after: after.clone() };
            if let Work::Child(child) = work {
                let child = child.flattened();
                node.work = Work::Empty;
                node.after.extend(child.leaves());
                for (inner, mut part) in child.0 {
                    part.after.extend(after);
                    flat.0.insert(inner, part);
                }
            }
            flat.0.insert(handle, node);
        }
        flat
    }

    /// The kinds of the nodes and the edges, by their numbers in the order of creation.
    pub fn shape(&self) -> (Vec<u32>, BTreeSet<(usize, usize)>) {
        let numbers: BTreeMap<u64, usize> = self.0.keys().copied().zip(0..).collect();
        let kinds = self.0.values().map(|node| node.work.node_type()).collect();
        (kinds, self.edges().map(|(from, to)| (numbers[&from], numbers[&to])).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_choose_as_cuda_says() {
        let chosen = |code, graphs, value| Choice::of(code, graphs).map(|kind| kind.body(value));
        assert_eq!([0, 1, 5].map(|value| chosen(0, 2, value)), [Some(1), Some(0), Some(0)]);
        assert_eq!([0, 1, 5].map(|value| chosen(1, 1, value)), [usize::MAX, 0, 0].map(Some));
        assert_eq!([0, 1, 5].map(|value| chosen(2, 2, value)), [Some(0), Some(1), Some(5)]);
        for (code, graphs) in [(0, 0), (0, 3), (1, 2), (2, 0), (3, 1)] {
            assert_eq!(Choice::of(code, graphs), None, "{code} {graphs}");
        }
    }
}
