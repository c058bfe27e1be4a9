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
