//! Cotangents through functions and through reductions in which one iteration wins.
//!
//! Where a function has a kink, one of its one-sided derivatives is taken, as the frameworks do: `abs` gives 0
//! at 0; of equal arguments of `max` and `min` the first gets all, and so does the first of equal
//! candidates of a reduction. Casts pass their cotangent on; their steps have no derivative of use.

use std::collections::BTreeMap;

use crate::ast::{Int, IntOp};
use crate::derive::Pass;
use crate::ir::{IndexId, Node};
use crate::ops::{Cmp, Cond, Func, Junction, Op, Reduction};

impl Pass<'_> {
    /// The cotangent of a maximum goes to the iteration that won it.
    pub(crate) fn winner(
        &mut self,
        reduction: Reduction,
        bound: &[IndexId],
        body: &Node,
        seed: Node,
        loops: &[IndexId],
    ) {
        if reduction.is_place() {
            return;
        }
        let mut renamed = BTreeMap::new();
        let own = self.renew(bound, &mut renamed);
        let copy = self.copy(body, &mut renamed);
        let winner = Node::Reduce(reduction.place(), own, Box::new(copy));
        let here = Cond::compare(Cmp::Equal, winner, Node::Index(self.place(bound)));
        let routed = Node::select(here, seed, Node::Number(0.0));
        let loops = [loops, bound].concat();
        self.walk(body, routed, &loops);
    }

    /// The row-major place of an iteration over `bound`.
    fn place(&self, bound: &[IndexId]) -> Int {
        let mut place: Option<Int> = None;
        for &id in bound {
            let index = Int::index(id);
            place = Some(match place {
                None => index,
                Some(outer) => {
                    let range = self.indices[id].range.clone();
                    Int::binary(IntOp::Add, Int::binary(IntOp::Mul, outer, range), index)
                }
            });
        }
        place.unwrap_or_else(|| Int::constant(0))
    }

    /// `node` is `func` of `values`. Copies of an argument end up inside the loops of its own reductions,
    /// so they get indices of their own.
    pub(crate) fn call(
        &mut self,
        func: Func,
        node: &Node,
        values: &[Node],
        seed: Node,
        loops: &[IndexId],
    ) {
        match values {
            [x] => {
                let seed = self.unary(func, node, x, seed);
                self.walk(x, seed, loops);
            }
            [a, b] if func == Func::Pow => self.power(a, b, &seed, loops),
            [a, b] => {
                let worse = if func == Func::Max { Cmp::Less } else { Cmp::Greater };
                let mut second = || {
                    // The second one if it is better, or if the first one is NaN.
                    let better = Cond::compare(worse, self.fresh(a), self.fresh(b));
                    let missing = Cond::compare(Cmp::NotEqual, self.fresh(a), self.fresh(a));
                    Cond::join(Junction::Or, better, missing)
                };
                let (one, other) = (second(), second());
                self.walk(a, Node::select(one, Node::Number(0.0), seed.clone()), loops);
                self.walk(b, Node::select(other, seed, Node::Number(0.0)), loops);
            }
            _ => {}
        }
    }

    fn unary(&mut self, func: Func, node: &Node, x: &Node, seed: Node) -> Node {
        let number = Node::Number;
        let times = |a, b| Node::binary(Op::Mul, a, b);
        match func {
            Func::Exp => times(seed, self.fresh(node)),
            Func::Log => Node::binary(Op::Div, seed, self.fresh(x)),
            Func::Sqrt => Node::binary(Op::Div, seed, times(number(2.0), self.fresh(node))),
            Func::Rsqrt => {
                let slope =
                    Node::binary(Op::Div, self.fresh(node), times(number(2.0), self.fresh(x)));
                Node::negate(times(seed, slope))
            }
            Func::Tanh => {
                let square = times(self.fresh(node), self.fresh(node));
                times(seed, Node::binary(Op::Sub, number(1.0), square))
            }
            Func::Abs => {
                let positive = Cond::compare(Cmp::Greater, self.fresh(x), number(0.0));
                let negative = Cond::compare(Cmp::Less, self.fresh(x), number(0.0));
                let minus = Node::negate(number(1.0));
                let below = Node::select(negative, minus, number(0.0));
                times(seed, Node::select(positive, number(1.0), below))
            }
            Func::Cast(_) | Func::Max | Func::Min | Func::Pow => seed,
        }
    }

    /// d(a^b) = b · a^(b-1) da + a^b · log a db; the first is 0 for b = 0, the second for a = 0 and b > 0.
    fn power(&mut self, a: &Node, b: &Node, seed: &Node, loops: &[IndexId]) {
        let zero = || Node::Number(0.0);
        let times = |a, b| Node::binary(Op::Mul, a, b);
        let power = |a, b| Node::Call(Func::Pow, vec![a, b]);
        let slope = if let Some(exponent) = constant(b) {
            times(b.clone(), power(self.fresh(a), Node::Number(exponent - 1.0)))
        } else {
            let less = Node::binary(Op::Sub, self.fresh(b), Node::Number(1.0));
            let slope = times(self.fresh(b), power(self.fresh(a), less));
            Node::select(Cond::compare(Cmp::Equal, self.fresh(b), zero()), zero(), slope)
        };
        if constant(b) != Some(0.0) {
            self.walk(a, times(seed.clone(), slope), loops);
        }
        let growth =
            times(power(self.fresh(a), self.fresh(b)), Node::Call(Func::Log, vec![self.fresh(a)]));
        let at_zero = Cond::join(
            Junction::And,
            Cond::compare(Cmp::Equal, self.fresh(a), zero()),
            Cond::compare(Cmp::Greater, self.fresh(b), zero()),
        );
        let growth = Node::select(at_zero, zero(), growth);
        self.walk(b, times(seed.clone(), growth), loops);
    }
}

fn constant(node: &Node) -> Option<f64> {
    match node {
        Node::Number(value) => Some(*value),
        Node::Neg(inner) => constant(inner).map(|value| -value),
        _ => None,
    }
}
