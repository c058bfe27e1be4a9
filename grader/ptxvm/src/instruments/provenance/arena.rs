//! Expressions as shared nodes: equal ones are stored once.

use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;

/// A node; 0 stands for "no expression: the bits say it all".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u32);

impl NodeId {
    /// No expression: the value depends on no tensor element.
    pub const NONE: Self = Self(0);
    /// Of a value that was made after the limit was reached.
    pub const TOO_LARGE: Self = Self(1);

    pub fn is_some(self) -> bool {
        self != Self::NONE
    }
}

/// A source line: 1 + the index in the table of places, or 0.
pub type LocationId = u32;

/// What made a value, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    TooLarge,
    /// Bits of an `f64`.
    Constant(u64),
    /// An element of a tensor, as it was before any kernel wrote it: buffer and byte.
    Element(usize, i64, LocationId),
    Add(NodeId, NodeId, LocationId),
    Mul(NodeId, NodeId, LocationId),
    Neg(NodeId),
    /// A function of one or two values.
    Function(&'static str, [NodeId; 2], LocationId),
    /// A value that is not followed any further; the number tells such values apart.
    Opaque(u32, LocationId),
    /// Two values in the halves of one register, the low one first.
    Pair(NodeId, NodeId),
    /// A value that became a float of 16 bits with this name on the way. In sums of products that changes nothing.
    Rounded(&'static str, NodeId, LocationId),
    /// An element of a matrix product: the number of the product, row and column.
    Dot(u32, u16, u16),
}

/// A matrix product, D = A B + C, whose matrices lie row by row.
#[derive(Debug)]
pub struct MatrixProduct {
    pub a: Vec<NodeId>,
    pub b: Vec<NodeId>,
    pub c: Vec<NodeId>,
    /// Columns of B, and of C.
    pub columns: usize,
    pub place: LocationId,
}

/// All nodes that the values of a run are made of.
#[derive(Debug)]
pub struct Arena {
    nodes: Vec<Node>,
    /// The nodes by their hash. A run makes millions, and what each costs is the memory that it touches: the table has their numbers
    /// alone, and grows without a look at them.
    known: HashTable<(u64, NodeId)>,
    limit: usize,
    opaque: u32,
    /// What opaque values were made of, where that is known.
    sources: FxHashMap<NodeId, Vec<NodeId>>,
    /// The products that elements are named by.
    matrices: Vec<MatrixProduct>,
    /// The float that each node was when an instruction read it last; NaN where none did.
    seen: Vec<f64>,
}

impl Arena {
    /// `limit` is how many nodes there may be.
    pub fn new(limit: usize) -> Self {
        let nodes = vec![Node::TooLarge; 2];
        Self {
            nodes,
            known: HashTable::new(),
            limit,
            opaque: 0,
            sources: FxHashMap::default(),
            matrices: Vec::new(),
            seen: Vec::new(),
        }
    }

    pub fn get(&self, id: NodeId) -> Node {
        self.nodes[id.0 as usize]
    }

    /// Whether no more nodes are made.
    pub fn is_full(&self) -> bool {
        self.nodes.len() >= self.limit
    }

    fn node(&mut self, node: Node) -> NodeId {
        let hash = FxBuildHasher.hash_one(node);
        let is_it = |&(other, id): &(u64, NodeId)| other == hash && self.get(id) == node;
        if let Some(&(_, id)) = self.known.find(hash, is_it) {
            return id;
        }
        let id = self.new_node(node);
        if !id.is_too_large() {
            self.known.insert_unique(hash, (hash, id), |&(hash, _)| hash);
        }
        id
    }

    /// A node that differs from all others.
    fn new_node(&mut self, node: Node) -> NodeId {
        if self.is_full() {
            return NodeId::TOO_LARGE;
        }
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(node);
        id
    }

    pub fn constant(&mut self, value: f64) -> NodeId {
        self.node(Node::Constant(value.to_bits()))
    }

    fn value(&self, id: NodeId) -> Option<f64> {
        match self.get(id) {
            Node::Constant(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    pub fn element(&mut self, buffer: usize, byte: i64, place: LocationId) -> NodeId {
        self.node(Node::Element(buffer, byte, place))
    }

    pub fn opaque(&mut self, place: LocationId) -> NodeId {
        self.opaque += 1;
        self.new_node(Node::Opaque(self.opaque, place))
    }

    /// An opaque value that was made of these.
    pub fn opaque_of(&mut self, sources: Vec<NodeId>, place: LocationId) -> NodeId {
        let id = self.opaque(place);
        self.sources.insert(id, sources);
        id
    }

    /// What an opaque value was made of, if that is known.
    pub fn sources(&self, id: NodeId) -> Option<&[NodeId]> {
        self.sources.get(&id).map(Vec::as_slice)
    }

    /// Notes the float that a node was; of nodes that stand for other bits nothing is noted.
    pub fn observe(&mut self, id: NodeId, value: f64) {
        use Node::{Add, Dot, Function, Mul, Opaque, Rounded};
        let is_float = match self.get(id) {
            Add(..) | Mul(..) | Opaque(..) | Rounded(..) | Dot(..) => true,
            Function(name, ..) => is_float_function(name),
            _ => false,
        };
        if is_float {
            let at = id.0 as usize;
            if self.seen.len() <= at {
                self.seen.resize(self.nodes.len(), f64::NAN);
            }
            self.seen[at] = value;
        }
    }

    /// The float that a node was, if an instruction read it.
    pub fn seen(&self, id: NodeId) -> Option<f64> {
        self.seen.get(id.0 as usize).copied().filter(|value| !value.is_nan())
    }

    pub fn add(&mut self, a: NodeId, b: NodeId, place: LocationId) -> NodeId {
        match (self.value(a), self.value(b)) {
            (Some(a), Some(b)) => self.constant(a + b),
            (Some(0.0), None) => b,
            (None, Some(0.0)) => a,
            _ => self.node(Node::Add(a, b, place)),
        }
    }

    pub fn mul(&mut self, a: NodeId, b: NodeId, place: LocationId) -> NodeId {
        match (self.value(a), self.value(b)) {
            (Some(a), Some(b)) => self.constant(a * b),
            (Some(1.0), None) => b,
            (None, Some(1.0)) => a,
            _ => self.node(Node::Mul(a, b, place)),
        }
    }

    pub fn neg(&mut self, a: NodeId) -> NodeId {
        match self.get(a) {
            Node::Constant(bits) => self.constant(-f64::from_bits(bits)),
            Node::Neg(inner) => inner,
            _ => self.node(Node::Neg(a)),
        }
    }

    /// Division by a constant is a product.
    pub fn div(&mut self, a: NodeId, b: NodeId, place: LocationId) -> NodeId {
        match self.value(b) {
            Some(divisor) => {
                let factor = self.constant(1.0 / divisor);
                self.mul(a, factor, place)
            }
            None => self.function("div", [a, b], place),
        }
    }

    pub fn function(&mut self, name: &'static str, args: [NodeId; 2], place: LocationId) -> NodeId {
        self.node(Node::Function(name, args, place))
    }

    /// What widening the float of 16 bits `of` gives, which is called `name` and made of `inner`.
    pub fn widened(
        &mut self,
        name: &'static str,
        (of, inner, place): (&str, NodeId, LocationId),
    ) -> NodeId {
        match self.get(inner) {
            // Bits that were loaded.
            Node::Element(..) | Node::Opaque(..) | Node::Constant(_) if of != name => inner,
            _ => self.node(Node::Rounded(name, inner, place)),
        }
    }

    /// The elements of a matrix product.
    pub fn product(&mut self, product: MatrixProduct) -> Vec<NodeId> {
        let (number, columns) = (self.matrices.len() as u32, product.columns);
        let elements = product.c.len();
        self.matrices.push(product);
        let element =
            |at| self.new_node(Node::Dot(number, (at / columns) as u16, (at % columns) as u16));
        (0..elements).map(element).collect()
    }

    /// What an element of a product is the sum of: an element of C, and pairs of elements of A and B.
    pub fn dot(
        &self,
        number: u32,
        row: u16,
        column: u16,
    ) -> (NodeId, Vec<(NodeId, NodeId)>, LocationId) {
        let MatrixProduct { a, b, c, columns, place } = &self.matrices[number as usize];
        let (row, column, depth) = (row as usize, column as usize, b.len() / columns);
        let pair = |k: usize| (a[row * depth + k], b[k * columns + column]);
        (c[row * columns + column], (0..depth).map(pair).collect(), *place)
    }

    pub fn pair(&mut self, low: NodeId, high: NodeId) -> NodeId {
        self.node(Node::Pair(low, high))
    }
}
impl NodeId {
    pub(super) fn is_too_large(self) -> bool {
        self == Self::TOO_LARGE
    }
}

/// Name of a node for the bits of a 16-bit float that was not widened yet.
pub(super) fn raw(name: &str) -> &'static str {
    if name == "f16" { "f16 bits" } else { "bf16 bits" }
}

/// Whether the values of a function are floats in a register of their own: neither the bits of a shorter float nor an integer.
pub(super) fn is_float_function(name: &str) -> bool {
    matches!(name, "exp2" | "log2" | "sqrt" | "rsqrt" | "sin" | "cos" | "tanh" | "div")
}
