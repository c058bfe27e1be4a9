//! From shared nodes to lists of products.

use super::expansion::{Expansion, Factor, Product};
use crate::instruments::provenance::Provenance;
use crate::instruments::provenance::arena::raw;
use crate::instruments::provenance::arena::{LocationId, Node, NodeId};
use crate::instruments::provenance::number::Number;
use crate::memory::buffer::BufferId;

/// Products and functions inside each other at most.
const MAX_DEPTH: usize = 64;
/// Products that an argument of a function is expanded to at most. Functions can stand in every product and inside each
/// other, and nobody reads a long argument.
const MAX_ARGUMENT: usize = 32;

struct TooLarge;

/// A product before its lines are looked up.
#[derive(Clone)]
struct UnresolvedProduct {
    coefficient: f64,
    /// The factors that are not constants: elements and functions.
    factors: Vec<NodeId>,
    place: LocationId,
    scaled: LocationId,
}

impl Provenance {
    /// The value of a node that was stored as this type.
    pub(super) fn expansion(&self, node: NodeId, number: Number, limit: usize) -> Expansion {
        let mut node = node;
        // The last rounding is the tensor's own.
        if let Node::Function(name, [inner, _], _) = self.arena.get(node)
            && (name == number.name() || name == raw(number.name()))
        {
            node = inner;
        }
        self.expand(node, limit, MAX_DEPTH)
    }

    fn expand(&self, node: NodeId, limit: usize, depth: usize) -> Expansion {
        let mut left = limit;
        match self.products(node, &mut left, depth) {
            Ok(raw) => Expansion::Products(
                raw.iter().map(|product| self.product(product, limit, depth)).collect(),
            ),
            Err(TooLarge) => Expansion::TooLarge,
        }
    }

    fn product(&self, raw: &UnresolvedProduct, limit: usize, depth: usize) -> Product {
        let factors = raw.factors.iter().map(|&node| self.factor(node, limit, depth)).collect();
        Product {
            coefficient: raw.coefficient,
            factors,
            loc: self.loc(raw.place),
            scaled: self.loc(raw.scaled),
        }
    }

    fn factor(&self, node: NodeId, limit: usize, depth: usize) -> Factor {
        let function = |name, arguments: &[NodeId], place| Factor::Function {
            name,
            arguments: arguments
                .iter()
                .filter(|argument| argument.is_some())
                .map(|&argument| match depth {
                    0 => Expansion::TooLarge,
                    _ => self.expand(argument, limit.min(MAX_ARGUMENT), depth - 1),
                })
                .collect(),
            loc: self.loc(place),
        };
        match self.arena.get(node) {
            Node::Element(buffer, byte, place) => {
                Factor::Element { buffer: BufferId(buffer), byte, loc: self.loc(place) }
            }
            Node::Function(name, arguments, place) => function(name, &arguments, place),
            Node::Opaque(_, place) => function("?", &[], place),
            _ => function("?", &[], 0),
        }
    }

    /// `left` counts down the products that may still be made.
    fn products(
        &self,
        node: NodeId,
        left: &mut usize,
        depth: usize,
    ) -> Result<Vec<UnresolvedProduct>, TooLarge> {
        let mut found = Vec::new();
        // The innermost sum is the one that added a product. What a sum starts with has the line that made it.
        let mut stack = vec![(node, 1.0, 0)];
        while let Some((node, coefficient, added)) = stack.pop() {
            if node.is_too_large() {
                return Err(TooLarge);
            }
            match self.arena.get(node) {
                Node::Add(a, b, place) => {
                    // A chain of sums grows by one entry at each link, so it is as long as its products.
                    stack.push((b, coefficient, place));
                    stack.push((a, coefficient, added));
                    if stack.len() > *left + 1 {
                        return Err(TooLarge);
                    }
                }
                Node::Neg(inner) => stack.push((inner, -coefficient, added)),
                Node::Rounded(_, inner, _) => stack.push((inner, coefficient, added)),
                Node::Constant(bits) => {
                    let coefficient = coefficient * f64::from_bits(bits);
                    if coefficient != 0.0 {
                        found.push(UnresolvedProduct {
                            coefficient,
                            factors: Vec::new(),
                            place: added,
                            scaled: 0,
                        });
                    }
                }
                Node::Mul(a, b, place) => {
                    found.extend(self.multiplied(
                        (a, b, place),
                        coefficient,
                        added,
                        left,
                        depth,
                    )?);
                }
                Node::Dot(number, row, column) => {
                    let (sum, pairs, place) = self.arena.dot(number, row, column);
                    stack.push((sum, coefficient, place));
                    for (a, b) in pairs {
                        let more =
                            self.multiplied((a, b, place), coefficient, place, left, depth)?;
                        found.extend(more);
                        if found.len() > *left {
                            return Err(TooLarge);
                        }
                    }
                }
                Node::Element(.., place) | Node::Function(_, _, place) | Node::Opaque(_, place) => {
                    let place = if added == 0 { place } else { added };
                    found.push(UnresolvedProduct {
                        coefficient,
                        factors: vec![node],
                        place,
                        scaled: 0,
                    });
                }
                Node::Pair(..) | Node::TooLarge => {
                    found.push(UnresolvedProduct {
                        coefficient,
                        factors: vec![node],
                        place: added,
                        scaled: 0,
                    });
                }
            }
            if found.len() > *left {
                return Err(TooLarge);
            }
        }
        *left -= found.len();
        Ok(found)
    }

    /// The products of two factors, multiplied at `place`.
    fn multiplied(
        &self,
        (a, b, place): (NodeId, NodeId, LocationId),
        coefficient: f64,
        added: LocationId,
        left: &mut usize,
        depth: usize,
    ) -> Result<Vec<UnresolvedProduct>, TooLarge> {
        if depth == 0 {
            return Err(TooLarge);
        }
        let (first, second) =
            (self.products(a, left, depth - 1)?, self.products(b, left, depth - 1)?);
        if first.len().saturating_mul(second.len()) > *left {
            return Err(TooLarge);
        }
        let mut found = Vec::new();
        for x in &first {
            for y in &second {
                let coefficient = coefficient * x.coefficient * y.coefficient;
                if coefficient == 0.0 {
                    continue;
                }
                let constant = x.factors.is_empty() || y.factors.is_empty();
                let scaled = if constant { place } else { x.scaled.max(y.scaled) };
                // A factor that is a sum says more closely where its products come from.
                let place = match (first.len(), second.len()) {
                    (1, 1) if added != 0 => added,
                    (1, 1) => place,
                    (_, 1) => x.place,
                    _ => y.place,
                };
                let factors = [x.factors.as_slice(), &y.factors].concat();
                found.push(UnresolvedProduct { coefficient, factors, place, scaled });
            }
        }
        Ok(found)
    }
}
