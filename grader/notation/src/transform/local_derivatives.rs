//! Local derivatives: from the cotangent of an operation's result to those of its operands (its vector-Jacobian product).
//!
//! Where a function has a kink, one of its one-sided derivatives is taken, as the deep-learning frameworks do: `abs` gives 0
//! at 0; of equal arguments of `max` and `min` the first gets all, and so does the first of equal
//! candidates of a reduction. `floor` gives 0. Casts pass their cotangent on: their steps have no useful derivative.

use crate::program::node::{Guard, IndexId, Node};
use crate::syntax::int_expr::{IntExpr, IntOp};
use crate::syntax::operators::{Comparison, Condition, Connective, Function, Op, Reduction};
use crate::transform::fresh_indices::FreshIndices;

/// What an operation passes on to one of its operands.
pub struct OperandCotangent<'n> {
    pub operand: &'n Node,
    pub cotangent: Node,
    /// The indices that the operation binds around the operand: there is a contribution for each of their values.
    pub bound: &'n [IndexId],
    /// The conditions under which an iteration contributes.
    pub guards: &'n [Guard],
}

/// The rules for all operations.
pub struct LocalDerivatives<'a, A> {
    /// Copies of operands end up inside the loops of the operands' own reductions, so they get indices of their own.
    pub fresh: FreshIndices<'a>,
    /// Whether a node depends on a tensor that has a gradient; what flows to others is not derived.
    pub is_active: A,
}

impl<A: Fn(&Node) -> bool> LocalDerivatives<'_, A> {
    /// The cotangents of the operands of `node`, where `cotangent` is the node's own.
    pub fn of<'n>(&mut self, node: &'n Node, cotangent: Node) -> Vec<OperandCotangent<'n>> {
        match node {
            Node::Number(_) | Node::Size(..) | Node::Index(_) | Node::Read(_) => Vec::new(),
            Node::Neg(inner) => vec![to(inner, Node::negate(cotangent))],
            Node::Binary(op, left, right) => self.binary(*op, left, right, cotangent),
            Node::Reduce(Reduction::Sum, bound, body) => {
                vec![OperandCotangent { operand: body, cotangent, bound, guards: &[] }]
            }
            Node::Reduce(Reduction::Prod, bound, body) => self.product(bound, body, cotangent),
            Node::Where(guards, body) => {
                vec![OperandCotangent { operand: body, cotangent, bound: &[], guards }]
            }
            Node::Reduce(reduction, bound, body) => {
                self.extremum(*reduction, bound, body, cotangent)
            }
            Node::Call(function, values) => match values.as_slice() {
                [x] => vec![to(x, self.unary(*function, node, x, cotangent))],
                [a, b] if *function == Function::Pow => self.power(a, b, &cotangent),
                [a, b] => self.greater_or_lesser(*function, a, b, cotangent),
                _ => Vec::new(),
            },
            Node::Select(condition, yes, no) => {
                let zero = || Node::Number(0.0);
                let (one, other) = (condition.as_ref().clone(), condition.as_ref().clone());
                vec![
                    to(yes, Node::select(one, cotangent.clone(), zero())),
                    to(no, Node::select(other, zero(), cotangent)),
                ]
            }
        }
    }

    fn binary<'n>(
        &mut self,
        op: Op,
        left: &'n Node,
        right: &'n Node,
        cotangent: Node,
    ) -> Vec<OperandCotangent<'n>> {
        match op {
            Op::Add => vec![to(left, cotangent.clone()), to(right, cotangent)],
            Op::Sub => vec![to(left, cotangent.clone()), to(right, Node::negate(cotangent))],
            Op::Mul => vec![
                to(left, times(cotangent.clone(), right.clone())),
                to(right, times(cotangent, left.clone())),
            ],
            Op::Div => {
                let quotient = Node::binary(Op::Div, cotangent.clone(), right.clone());
                let mut all = vec![to(left, quotient)];
                if (self.is_active)(right) {
                    // d(a/b) = -(a / (b·b)) db
                    let square = times(self.fresh.copy(right), self.fresh.copy(right));
                    let product = times(cotangent, left.clone());
                    let slope = Node::binary(Op::Div, product, square);
                    all.push(to(right, Node::negate(slope)));
                }
                all
            }
        }
    }

    /// The cotangent of an extremum goes to the iteration that attains it; a position has no derivative.
    fn extremum<'n>(
        &mut self,
        reduction: Reduction,
        bound: &'n [IndexId],
        body: &'n Node,
        cotangent: Node,
    ) -> Vec<OperandCotangent<'n>> {
        if reduction.gives_position() {
            return Vec::new();
        }
        let (own, copy) = self.fresh.copy_reduction(bound, body);
        let winner = Node::Reduce(reduction.of_position(), own, Box::new(copy));
        let here = Node::Index(self.position(bound));
        let wins = Condition::compare(Comparison::Equal, winner, here);
        let cotangent = Node::select(wins, cotangent, Node::Number(0.0));
        vec![OperandCotangent { operand: body, cotangent, bound, guards: &[] }]
    }

    /// The cotangent of a factor is multiplied by the product of all others. No division: a factor may be 0.
    fn product<'n>(
        &mut self,
        bound: &'n [IndexId],
        body: &'n Node,
        cotangent: Node,
    ) -> Vec<OperandCotangent<'n>> {
        let (own, copy) = self.fresh.copy_reduction(bound, body);
        let differs = own.iter().zip(bound).map(|(&a, &b)| {
            let index = |id| Node::Index(IntExpr::index(id));
            Condition::compare(Comparison::NotEqual, index(a), index(b))
        });
        let Some(other) = differs.reduce(|a, b| Condition::join(Connective::Or, a, b)) else {
            return Vec::new();
        };
        let (guards, factor) = copy.without_guards();
        let factor = Node::select(other, factor.clone(), Node::Number(1.0));
        let factor = Node::guarded(guards.to_vec(), factor);
        let rest = Node::Reduce(Reduction::Prod, own, Box::new(factor));
        let cotangent = times(cotangent, rest);
        vec![OperandCotangent { operand: body, cotangent, bound, guards: &[] }]
    }

    /// The row-major position of an iteration over `bound`.
    fn position(&self, bound: &[IndexId]) -> IntExpr {
        let mut position: Option<IntExpr> = None;
        for &id in bound {
            let index = IntExpr::index(id);
            position = Some(match position {
                None => index,
                Some(outer) => {
                    let range = self.fresh.table[id].range.clone();
                    let rows = IntExpr::binary(IntOp::Mul, outer, range);
                    IntExpr::binary(IntOp::Add, rows, index)
                }
            });
        }
        position.unwrap_or_else(|| IntExpr::constant(0))
    }

    /// The cotangents of the arguments of `max(a, b)` and `min(a, b)`.
    fn greater_or_lesser<'n>(
        &mut self,
        function: Function,
        a: &'n Node,
        b: &'n Node,
        cotangent: Node,
    ) -> Vec<OperandCotangent<'n>> {
        let worse = if function == Function::Max { Comparison::Less } else { Comparison::Greater };
        let mut second_wins = || {
            // The second one wins if it is better, or if the first one is NaN.
            let better = Condition::compare(worse, self.fresh.copy(a), self.fresh.copy(b));
            let (x, y) = (self.fresh.copy(a), self.fresh.copy(a));
            let missing = Condition::compare(Comparison::NotEqual, x, y);
            Condition::join(Connective::Or, better, missing)
        };
        let (one, other) = (second_wins(), second_wins());
        vec![
            to(a, Node::select(one, Node::Number(0.0), cotangent.clone())),
            to(b, Node::select(other, cotangent, Node::Number(0.0))),
        ]
    }

    /// The cotangent of `x`, where `node` is `function(x)`.
    fn unary(&mut self, function: Function, node: &Node, x: &Node, cotangent: Node) -> Node {
        let number = Node::Number;
        match function {
            Function::Exp => times(cotangent, self.fresh.copy(node)),
            Function::Log => Node::binary(Op::Div, cotangent, self.fresh.copy(x)),
            Function::Sqrt => {
                Node::binary(Op::Div, cotangent, times(number(2.0), self.fresh.copy(node)))
            }
            Function::Rsqrt => {
                let (root, twice) = (self.fresh.copy(node), times(number(2.0), self.fresh.copy(x)));
                Node::negate(times(cotangent, Node::binary(Op::Div, root, twice)))
            }
            Function::Tanh => {
                let square = times(self.fresh.copy(node), self.fresh.copy(node));
                times(cotangent, Node::binary(Op::Sub, number(1.0), square))
            }
            Function::Sin => times(cotangent, Node::Call(Function::Cos, vec![self.fresh.copy(x)])),
            Function::Cos => {
                let sine = Node::Call(Function::Sin, vec![self.fresh.copy(x)]);
                Node::negate(times(cotangent, sine))
            }
            Function::Erf => {
                let square = times(self.fresh.copy(x), self.fresh.copy(x));
                let bell = Node::Call(Function::Exp, vec![Node::negate(square)]);
                times(cotangent, times(number(std::f64::consts::FRAC_2_SQRT_PI), bell))
            }
            Function::Sigmoid => {
                let rest = Node::binary(Op::Sub, number(1.0), self.fresh.copy(node));
                times(cotangent, times(self.fresh.copy(node), rest))
            }
            // Flat between its steps.
            Function::Floor => number(0.0),
            Function::Abs => {
                let zero = || number(0.0);
                let positive = Condition::compare(Comparison::Greater, self.fresh.copy(x), zero());
                let negative = Condition::compare(Comparison::Less, self.fresh.copy(x), zero());
                let minus = Node::negate(number(1.0));
                let below = Node::select(negative, minus, zero());
                times(cotangent, Node::select(positive, number(1.0), below))
            }
            Function::Cast(_) | Function::Max | Function::Min | Function::Pow => cotangent,
        }
    }

    /// d(a^b) = b · a^(b-1) da + a^b · log a db; the first is 0 for b = 0, the second for a = 0 and b > 0.
    fn power<'n>(
        &mut self,
        a: &'n Node,
        b: &'n Node,
        cotangent: &Node,
    ) -> Vec<OperandCotangent<'n>> {
        let zero = || Node::Number(0.0);
        let power = |a, b| Node::Call(Function::Pow, vec![a, b]);
        let slope = if let Some(exponent) = constant(b) {
            times(b.clone(), power(self.fresh.copy(a), Node::Number(exponent - 1.0)))
        } else {
            let less = Node::binary(Op::Sub, self.fresh.copy(b), Node::Number(1.0));
            let slope = times(self.fresh.copy(b), power(self.fresh.copy(a), less));
            let no_power = Condition::compare(Comparison::Equal, self.fresh.copy(b), zero());
            Node::select(no_power, zero(), slope)
        };
        let mut all = Vec::new();
        if constant(b) != Some(0.0) {
            all.push(to(a, times(cotangent.clone(), slope)));
        }
        let growth = times(
            power(self.fresh.copy(a), self.fresh.copy(b)),
            Node::Call(Function::Log, vec![self.fresh.copy(a)]),
        );
        let at_zero = Condition::join(
            Connective::And,
            Condition::compare(Comparison::Equal, self.fresh.copy(a), zero()),
            Condition::compare(Comparison::Greater, self.fresh.copy(b), zero()),
        );
        let growth = Node::select(at_zero, zero(), growth);
        all.push(to(b, times(cotangent.clone(), growth)));
        all
    }
}

/// A cotangent for an operand that no index is bound around.
fn to(operand: &Node, cotangent: Node) -> OperandCotangent<'_> {
    OperandCotangent { operand, cotangent, bound: &[], guards: &[] }
}

fn times(a: Node, b: Node) -> Node {
    Node::binary(Op::Mul, a, b)
}

/// The value of a number, with its sign.
fn constant(node: &Node) -> Option<f64> {
    match node {
        Node::Number(value) => Some(*value),
        Node::Neg(inner) => constant(inner).map(|value| -value),
        _ => None,
    }
}
