//! Which value of a run, if another stood in its place, would give another result? "Value replacement" locates faults so
//! (Jeffrey, Gupta and Gupta, ISSTA 2008).

use super::Provenance;
use super::arena::{Node, NodeId};
use super::number::Number;
use crate::memory::buffer::BufferId;
use crate::source_loc::SourceLoc;
use std::collections::HashMap;

/// Values that an element is computed from, at most: each of them is replaced in turn.
const MAX_VALUES: usize = 6_000;
/// How far the expressions may be from what the kernel computed from them, relative to it, by its rounding.
const DOUBT: f64 = 1e-3;

/// A value that something else was put in the place of.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplacedValue {
    /// What it was.
    pub value: f64,
    /// The line that computed it; unknown of a sum.
    pub loc: Option<SourceLoc>,
}

/// How a value follows from others, which are named by their positions.
enum Rule {
    /// It does not: a constant or an element.
    Given,
    Add(usize, usize),
    Mul(usize, usize),
    Neg(usize),
    Function(&'static str, [usize; 2]),
    /// By a function of these that is not known; `None`: nor is what it is a function of.
    Unknown(Option<Vec<usize>>),
}

/// What an element was computed from, each value behind its sources.
struct Slice {
    rules: Vec<Rule>,
    values: Vec<f64>,
    /// The nodes of the values.
    nodes: Vec<NodeId>,
}

impl Provenance {
    /// The values behind an element of a named tensor which, if they had been `instead`, would have made it one for which
    /// `is_right` holds, in the order in which they were computed. `start` gives what the elements of tensors were before the first
    /// launch. Empty where the element was not followed or was computed from too much.
    pub fn replaceable(
        &self,
        buffer: BufferId,
        byte: u64,
        start: &dyn Fn(BufferId, i64) -> Option<f64>,
        got: f64,
        instead: f64,
        is_right: &dyn Fn(f64) -> bool,
    ) -> Vec<ReplacedValue> {
        let slice = self.tensors.get(&buffer).and_then(|number| {
            let cell = self.global.at(buffer.address() + byte, number.bytes())?;
            Slice::of(self, self.before_store(cell.node, *number), start)
        });
        let Some(slice) = slice else { return Vec::new() };
        let result = slice.values.last().copied().unwrap_or(f64::NAN);
        let agrees = (result - got).abs() <= DOUBT * got.abs().max(result.abs());
        if !agrees {
            return Vec::new();
        }
        let candidates = (0..slice.nodes.len().saturating_sub(1)).filter_map(|at| {
            let place = match self.arena.get(slice.nodes[at]) {
                // The last addition of a sum tells nothing of where the sum went wrong.
                Node::Add(..) => 0,
                Node::Mul(_, _, place) | Node::Function(_, _, place) | Node::Opaque(_, place) => {
                    place
                }
                _ => return None,
            };
            Some((at, place))
        });
        let fits = candidates.filter(|(at, _)| is_right(slice.with(*at, instead)));
        fits.map(|(at, place)| ReplacedValue { value: slice.values[at], loc: self.loc(place) })
            .collect()
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
            if nodes.len() > MAX_VALUES {
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
            Rule::Given | Rule::Unknown(_) => return None,
        })
    }

    /// The result with another value at a place.
    fn with(&self, at: usize, instead: f64) -> f64 {
        let mut values = self.values.clone();
        let mut changed = vec![false; values.len()];
        (values[at], changed[at]) = (instead, true);
        for (later, rule) in self.rules.iter().enumerate().skip(at + 1) {
            changed[later] = match rule {
                Rule::Given => false,
                Rule::Add(a, b) | Rule::Mul(a, b) | Rule::Function(_, [a, b]) => {
                    changed[*a] || changed[*b]
                }
                Rule::Neg(a) => changed[*a],
                Rule::Unknown(sources) => {
                    sources.as_ref().is_none_or(|all| all.iter().any(|&source| changed[source]))
                }
            };
            if changed[later] {
                values[later] = Self::evaluate(rule, &values).unwrap_or(f64::NAN);
            }
        }
        values.last().copied().unwrap_or(f64::NAN)
    }
}

fn sources(provenance: &Provenance, node: NodeId) -> Vec<NodeId> {
    match provenance.arena.get(node) {
        Node::Add(a, b, _) | Node::Mul(a, b, _) | Node::Pair(a, b) => vec![a, b],
        Node::Function(_, [a, b], _) => [a, b].into_iter().filter(|node| node.is_some()).collect(),
        Node::Neg(inner) => vec![inner],
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
