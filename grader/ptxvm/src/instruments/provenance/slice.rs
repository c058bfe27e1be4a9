//! What an element was computed from, as values that follow from each other: it can be computed again with other values in their place.

use super::Provenance;
use super::arena::{Node, NodeId};
use super::number::Number;
use crate::memory::buffer::BufferId;
use std::collections::HashMap;

/// How far the expressions may be from what the kernel computed from them, relative to it, by its rounding.
const DOUBT: f64 = 1e-3;

/// How a value follows from others, which are named by their positions.
pub(super) enum Rule {
    /// It does not: a constant or an element.
    Given,
    Add(usize, usize),
    Mul(usize, usize),
    Neg(usize),
    Function(&'static str, [usize; 2]),
    /// The first and all products.
    Dot(usize, Vec<(usize, usize)>),
    /// By a function of these that is not known; `None`: nor is what it is a function of.
    Unknown(Option<Vec<usize>>),
}

/// What stands in the place of a value: a number, or another value.
pub(super) enum Instead {
    Value(f64),
    Of(usize),
}

/// An element of a named tensor, as the kernels left it.
#[derive(Clone, Copy)]
pub struct StoredElement<'a> {
    /// The buffer of its tensor.
    pub buffer: BufferId,
    /// Where it lies there, in bytes.
    pub byte: u64,
    /// What it is.
    pub value: f64,
    /// What the elements of tensors were before the first launch, by buffer and byte.
    pub start: &'a dyn Fn(BufferId, i64) -> Option<f64>,
}

/// What an element was computed from, each value behind its sources.
pub(super) struct Slice {
    pub rules: Vec<Rule>,
    pub values: Vec<f64>,
    /// The nodes of the values.
    pub nodes: Vec<NodeId>,
}

/// Values by the rules of a slice, and whether each follows from one that another was put in the place of.
pub(super) struct Followed {
    values: Vec<f64>,
    changed: Vec<bool>,
}

impl Provenance {
    /// What an element was computed from, if that gives what it is and if it is no more than `most` values.
    pub(super) fn slice(&self, element: StoredElement<'_>, most: usize) -> Option<Slice> {
        let got = element.value;
        let (node, number) = self.node_of(element)?;
        let mut slice = Slice::of(self, self.before_store(node, number), element.start, most)?;
        let result = slice.values.last_mut()?;
        // Nobody has read it, and it is too large for what it was stored as.
        if number == Number::F32 && got.is_infinite() && f64::from(*result as f32) == got {
            *result = got;
        }
        let result = *result;
        // An infinity is near to nothing but itself, and NaN not even to that.
        let is_near = || (result - got).abs() <= DOUBT * got.abs().max(result.abs());
        let is_same = result == got || result.is_nan() && got.is_nan();
        (is_same || got.is_finite() && result.is_finite() && is_near()).then_some(slice)
    }

    /// The node of an element, and how its tensor stores it; `None` where that is not known.
    pub(super) fn node_of(&self, element: StoredElement<'_>) -> Option<(NodeId, Number)> {
        let number = *self.tensors.get(&element.buffer)?;
        let address = element.buffer.address() + element.byte;
        Some((self.global.at(address, number.bytes())?.node, number))
    }

    /// The node of a value before its last rounding, which is the tensor's own.
    fn before_store(&self, node: NodeId, number: Number) -> NodeId {
        match self.arena.get(node) {
            Node::Function(name, [inner, _], _) if name.starts_with(number.name()) => inner,
            _ => node,
        }
    }
}

impl Slice {
    fn of(
        provenance: &Provenance,
        root: NodeId,
        start: &dyn Fn(BufferId, i64) -> Option<f64>,
        most: usize,
    ) -> Option<Self> {
        let mut nodes = vec![root];
        let mut position = HashMap::from([(root, 0)]);
        let mut next = 0;
        while let Some(&node) = nodes.get(next) {
            next += 1;
            for source in sources(provenance, node) {
                if position.insert(source, 0).is_none() {
                    nodes.push(source);
                }
            }
            if nodes.len() > most {
                return None;
            }
        }
        // A node is made after its sources.
        nodes.sort_unstable();
        position.extend(nodes.iter().enumerate().map(|(at, &node)| (node, at)));
        let mut slice = Self { rules: Vec::new(), values: Vec::new(), nodes: Vec::new() };
        for &node in &nodes {
            let at = |id: NodeId| position.get(&id).copied().unwrap_or(0);
            let (rule, value) = match provenance.arena.get(node) {
                Node::Constant(bits) => (Rule::Given, f64::from_bits(bits)),
                Node::Element(buffer, byte, _) => {
                    (Rule::Given, start(BufferId(buffer), byte).unwrap_or(f64::NAN))
                }
                Node::Add(a, b, _) => (Rule::Add(at(a), at(b)), f64::NAN),
                Node::Mul(a, b, _) => (Rule::Mul(at(a), at(b)), f64::NAN),
                Node::Neg(a) => (Rule::Neg(at(a)), f64::NAN),
                Node::Rounded(name, a, _) => (Rule::Function(name, [at(a); 2]), f64::NAN),
                Node::Dot(number, row, column) => {
                    let (sum, pairs, _) = provenance.arena.dot(number, row, column);
                    let pairs = pairs.into_iter().map(|(a, b)| (at(a), at(b))).collect();
                    (Rule::Dot(at(sum), pairs), f64::NAN)
                }
                Node::Function(name, [a, b], _) => (
                    Rule::Function(name, [at(a), if b.is_some() { at(b) } else { at(a) }]),
                    f64::NAN,
                ),
                Node::Opaque(..) => {
                    let sources = provenance.arena.sources(node);
                    let sources = sources.map(|all| all.iter().copied().map(at).collect());
                    (Rule::Unknown(sources), f64::NAN)
                }
                Node::Pair(..) | Node::TooLarge => (Rule::Unknown(None), f64::NAN),
            };
            // What was there is known better than what follows without its roundings.
            let value = provenance
                .arena
                .seen(node)
                .or_else(|| Self::evaluate(&rule, &slice.values))
                .unwrap_or(value);
            slice.values.push(value);
            slice.rules.push(rule);
        }
        slice.nodes = nodes;
        Some(slice)
    }

    /// The value that follows by a rule; `None` where none follows.
    fn evaluate(rule: &Rule, values: &[f64]) -> Option<f64> {
        Some(match rule {
            Rule::Add(a, b) => values[*a] + values[*b],
            Rule::Mul(a, b) => values[*a] * values[*b],
            Rule::Neg(a) => -values[*a],
            Rule::Function(name, [a, b]) => function(name, values[*a], values[*b]),
            Rule::Dot(sum, pairs) => {
                pairs.iter().fold(values[*sum], |sum, (a, b)| sum + values[*a] * values[*b])
            }
            Rule::Given | Rule::Unknown(_) => return None,
        })
    }

    /// All values as they would be if no float but the given ones were rounded.
    pub fn exact(&self) -> Vec<f64> {
        let mut exact = Vec::with_capacity(self.values.len());
        for (rule, &value) in self.rules.iter().zip(&self.values) {
            exact.push(Self::evaluate(rule, &exact).unwrap_or(value));
        }
        exact
    }

    /// What follows without other values.
    pub fn unchanged(&self) -> Followed {
        let mut followed =
            Followed { values: self.values.clone(), changed: vec![false; self.values.len()] };
        self.follow(&mut followed, 0, |_| None);
        followed
    }

    /// The result with other values at some places from `first` on.
    pub fn with(
        &self,
        unchanged: &Followed,
        first: usize,
        instead: impl Fn(usize) -> Option<Instead>,
    ) -> f64 {
        let mut values = self.values.clone();
        values[..first].copy_from_slice(&unchanged.values[..first]);
        let mut followed = Followed { values, changed: unchanged.changed.clone() };
        self.follow(&mut followed, first, instead);
        followed.values.last().copied().unwrap_or(f64::NAN)
    }

    fn follow(
        &self,
        followed: &mut Followed,
        first: usize,
        instead: impl Fn(usize) -> Option<Instead>,
    ) {
        let Followed { values, changed } = followed;
        for (later, rule) in self.rules.iter().enumerate().skip(first) {
            if let Some(instead) = instead(later) {
                changed[later] = true;
                values[later] = match instead {
                    Instead::Value(value) => value,
                    Instead::Of(other) => values[other],
                };
                continue;
            }
            changed[later] = match rule {
                Rule::Given => false,
                Rule::Add(a, b) | Rule::Mul(a, b) | Rule::Function(_, [a, b]) => {
                    changed[*a] || changed[*b]
                }
                Rule::Neg(a) => changed[*a],
                Rule::Dot(sum, pairs) => {
                    changed[*sum] || pairs.iter().any(|(a, b)| changed[*a] || changed[*b])
                }
                Rule::Unknown(sources) => {
                    sources.as_ref().is_none_or(|all| all.iter().any(|&source| changed[source]))
                }
            };
            if changed[later] {
                values[later] = Self::evaluate(rule, values).unwrap_or(f64::NAN);
            }
        }
    }
}

fn sources(provenance: &Provenance, node: NodeId) -> Vec<NodeId> {
    match provenance.arena.get(node) {
        Node::Add(a, b, _) | Node::Mul(a, b, _) | Node::Pair(a, b) => vec![a, b],
        Node::Function(_, [a, b], _) => [a, b].into_iter().filter(|node| node.is_some()).collect(),
        Node::Neg(inner) | Node::Rounded(_, inner, _) => vec![inner],
        Node::Dot(number, row, column) => {
            let (sum, pairs, _) = provenance.arena.dot(number, row, column);
            pairs.into_iter().flat_map(|(a, b)| [a, b]).chain([sum]).collect()
        }
        Node::Opaque(..) => provenance.arena.sources(node).unwrap_or_default().to_vec(),
        Node::Constant(_) | Node::Element(..) | Node::TooLarge => Vec::new(),
    }
}

fn function(name: &str, a: f64, b: f64) -> f64 {
    match name {
        "exp2" => a.exp2(),
        "log2" => a.log2(),
        "sqrt" => a.sqrt(),
        "rsqrt" => a.sqrt().recip(),
        "sin" => a.sin(),
        "cos" => a.cos(),
        "tanh" => a.tanh(),
        "div" => a / b,
        "int" | "trunc" => a.trunc(),
        "floor" => a.floor(),
        "ceil" => a.ceil(),
        "round" => a.round_ties_even(),
        "integer" => a,
        "f16" | "f16 bits" => half::f16::from_f64(a).to_f64(),
        "bf16" | "bf16 bits" => half::bf16::from_f64(a).to_f64(),
        _ => f64::NAN,
    }
}
