//! Which value of a run, if another stood in its place, would give another result? "Value replacement" locates faults so
//! (Jeffrey, Gupta and Gupta, ISSTA 2008).

use super::Provenance;
use super::arena::{LocationId, Node, NodeId};
use super::number::Number;
use crate::memory::buffer::BufferId;
use crate::source_loc::SourceLoc;
use std::collections::{BTreeMap, HashMap};

/// Values that an element is computed from, at most: each of them is replaced in turn.
const MAX_VALUES: usize = 6_000;
/// How far the expressions may be from what the kernel computed from them, relative to it, by its rounding.
const DOUBT: f64 = 1e-3;

/// Functions that round.
const ROUNDINGS: [&str; 9] =
    ["f16", "f16 bits", "bf16", "bf16 bits", "int", "trunc", "floor", "ceil", "round"];

/// A value that something else was put in the place of.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplacedValue {
    /// The value that was replaced.
    pub value: f64,
    /// The line that computed it; unknown of a sum.
    pub loc: Option<SourceLoc>,
}

/// A rounding on the way to an element.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundedOnTheWay {
    /// What the value became: a float of 16 bits (`f16`, `bf16`), else a whole number.
    pub to: &'static str,
    /// The value before and after it.
    pub values: (f64, f64),
    /// The line of the rounding.
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
    /// The first and all products.
    Dot(usize, Vec<(usize, usize)>),
    /// By a function of these that is not known; `None`: nor is what it is a function of.
    Unknown(Option<Vec<usize>>),
}

/// What stands in the place of a value: a number, or another value.
enum Instead {
    Value(f64),
    Of(usize),
}

/// What an element was computed from, each value behind its sources.
struct Slice {
    rules: Vec<Rule>,
    values: Vec<f64>,
    /// The nodes of the values.
    nodes: Vec<NodeId>,
}

/// Values by the rules of a slice, and whether each follows from one that another was put in the place of.
struct Followed {
    values: Vec<f64>,
    changed: Vec<bool>,
}

impl Provenance {
    /// For each number of `instead`: the values behind an element of a named tensor which, if they had been that, would have made it one
    /// for which `is_right` holds, in the order in which they were computed. `start` gives what the elements of tensors were before the
    /// first launch. Empty where the element was not followed or was computed from too much.
    pub fn replaceable(
        &self,
        buffer: BufferId,
        byte: u64,
        start: &dyn Fn(BufferId, i64) -> Option<f64>,
        got: f64,
        instead: &[f64],
        is_right: &dyn Fn(f64) -> bool,
    ) -> Vec<Vec<ReplacedValue>> {
        let Some(slice) = self.slice(buffer, byte, start, got) else {
            return vec![Vec::new(); instead.len()];
        };
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
        let candidates: Vec<(usize, LocationId)> = candidates.collect();
        let unchanged = slice.unchanged();
        let right = |at: usize, value: f64| {
            let own = |other| (other == at).then_some(Instead::Value(value));
            is_right(slice.with(&unchanged, at, own))
        };
        let fitting = |&instead: &f64| {
            // Where any value would do, this one says nothing.
            let another = if instead == 0.0 { 1.0 } else { 1.5 * instead };
            let fits =
                candidates.iter().filter(|(at, _)| right(*at, instead) && !right(*at, another));
            fits.map(|&(at, place)| ReplacedValue { value: slice.values[at], loc: self.loc(place) })
                .collect()
        };
        instead.iter().map(fitting).collect()
    }

    /// The roundings behind an element without which it would have been one for which `is_right` holds: those of one line, or else all.
    /// Empty if there are none. The arguments are those of [`Self::replaceable`].
    pub fn roundings(
        &self,
        buffer: BufferId,
        byte: u64,
        start: &dyn Fn(BufferId, i64) -> Option<f64>,
        got: f64,
        is_right: &dyn Fn(f64) -> bool,
    ) -> Vec<RoundedOnTheWay> {
        let Some(slice) = self.slice(buffer, byte, start, got) else { return Vec::new() };
        let rounding = |at: usize| match (&slice.rules[at], self.arena.get(slice.nodes[at])) {
            (
                Rule::Function(to, [from, _]),
                Node::Function(.., place) | Node::Rounded(.., place),
            ) if ROUNDINGS.contains(to) => Some((at, (*from, *to, place))),
            _ => None,
        };
        // What one has rounded may come to the next as it is, which without the first would round it.
        let all: BTreeMap<usize, _> = (0..slice.rules.len()).filter_map(rounding).collect();
        let unchanged = slice.unchanged();
        let without = |some: &dyn Fn(LocationId) -> bool| {
            is_right(slice.with(&unchanged, 0, |at| {
                let (from, ..) = all.get(&at).filter(|(.., place)| some(*place))?;
                Some(Instead::Of(*from))
            }))
        };
        let changes = |(at, (from, ..)): &(&usize, &(usize, &str, LocationId))| {
            slice.values[**at] != slice.values[*from]
        };
        let mut places: Vec<LocationId> = Vec::new();
        for (_, (.., place)) in all.iter().filter(changes) {
            if !places.contains(place) {
                places.push(*place);
            }
        }
        let blamed: Vec<LocationId> =
            match places.iter().find(|&&place| without(&|other| other == place)) {
                Some(&one) => vec![one],
                // A value that overflows at one of them stays so at the next, which would round it, too.
                None if without(&|_| true) => places,
                None => Vec::new(),
            };
        let first = |place: LocationId| {
            let (at, (from, to, _)) =
                all.iter().filter(changes).find(|(_, (.., other))| *other == place)?;
            let values = (slice.values[*from], slice.values[*at]);
            Some(RoundedOnTheWay { to, values, loc: self.loc(place) })
        };
        blamed.into_iter().filter_map(first).collect()
    }

    /// The elements of tensors behind an element that are NaN or infinite, and each of which makes it wrong: with 0 in the place of all of
    /// them it would have been one for which `is_right` holds, and without one of them it is not. The arguments are those of
    /// [`Self::replaceable`]; an element is named by its buffer and byte.
    pub fn not_finite(
        &self,
        buffer: BufferId,
        byte: u64,
        start: &dyn Fn(BufferId, i64) -> Option<f64>,
        got: f64,
        is_right: &dyn Fn(f64) -> bool,
    ) -> Vec<(BufferId, i64)> {
        let Some(slice) = self.slice(buffer, byte, start, got) else { return Vec::new() };
        let all: Vec<(usize, (BufferId, i64))> = (0..slice.nodes.len())
            .filter(|&at| !slice.values[at].is_finite())
            .filter_map(|at| match self.arena.get(slice.nodes[at]) {
                Node::Element(buffer, byte, _) => Some((at, (BufferId(buffer), byte))),
                _ => None,
            })
            .collect();
        let unchanged = slice.unchanged();
        let right_with_all_but = |one: Option<usize>| {
            let zero = |at: usize| all.iter().any(|(other, _)| *other == at) && one != Some(at);
            is_right(slice.with(&unchanged, 0, |at| zero(at).then_some(Instead::Value(0.0))))
        };
        if all.is_empty() || !right_with_all_but(None) {
            return Vec::new();
        }
        let to_blame = all.iter().filter(|(at, _)| !right_with_all_but(Some(*at)));
        to_blame.map(|(_, element)| *element).collect()
    }

    /// What an element was computed from, if that gives what it is.
    fn slice(
        &self,
        buffer: BufferId,
        byte: u64,
        start: &dyn Fn(BufferId, i64) -> Option<f64>,
        got: f64,
    ) -> Option<Slice> {
        let number = self.tensors.get(&buffer)?;
        let cell = self.global.at(buffer.address() + byte, number.bytes())?;
        let slice = Slice::of(self, self.before_store(cell.node, *number), start)?;
        let result = slice.values.last().copied().unwrap_or(f64::NAN);
        // An infinity is near to nothing but itself, and NaN not even to that.
        let is_near = || (result - got).abs() <= DOUBT * got.abs().max(result.abs());
        let is_same = result == got || result.is_nan() && got.is_nan();
        (is_same || got.is_finite() && result.is_finite() && is_near()).then_some(slice)
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

    /// What follows without other values.
    fn unchanged(&self) -> Followed {
        let mut followed =
            Followed { values: self.values.clone(), changed: vec![false; self.values.len()] };
        self.follow(&mut followed, 0, |_| None);
        followed
    }

    /// The result with other values at some places from `first` on.
    fn with(
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
