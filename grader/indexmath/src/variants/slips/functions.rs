//! Functions and branches: left out, or another one.

use super::{Edit, Place};
use crate::syntax::int_expr::{IntExpr, IntKind, IntOp};
use crate::syntax::operators::{Comparison, Condition, Function, Op};
use crate::variants::text::number;
use crate::variants::tree::Tree;

pub(super) fn edits(place: &Place) -> Vec<Edit> {
    match place.tree {
        Tree::Call(function, values) => match &values[..] {
            [a] => of_one(place, *function, a),
            [a, b] => of_two(place, *function, a, b),
            _ => Vec::new(),
        },
        Tree::Select(condition, yes, no) => branches(place, condition, yes, no),
        _ => Vec::new(),
    }
}

fn of_one(place: &Place, function: Function, a: &Tree) -> Vec<Edit> {
    let name = function.name();
    let text = place.model.text(a);
    let call = |f: Function| Tree::Call(f, vec![a.clone()]);
    let over = |tree: Tree| Tree::binary(Op::Div, Tree::Number(1.0), tree);
    let mut edits = vec![Edit::new(
        "no function",
        1,
        if function == Function::Rsqrt { over(a.clone()) } else { a.clone() },
        match function {
            Function::Rsqrt | Function::Sqrt => format!("the root of {text} is not taken"),
            Function::Cast(_) => format!("{text} is not rounded to {name}"),
            _ => format!("{name} is left out: {text} stands alone"),
        },
    )];
    edits.extend(inside_out(place, function, a));
    match function {
        Function::Exp => {
            let powers = Tree::Call(Function::Pow, vec![Tree::Number(2.0), a.clone()]);
            edits.push(Edit::new(
                "base 2",
                2,
                powers,
                format!("powers of 2 stand for those of e, with the exponent {text}"),
            ));
            let negative = Tree::Call(Function::Exp, vec![Tree::Neg(Box::new(a.clone()))]);
            edits.push(Edit::new(
                "sign",
                2,
                negative,
                format!("the exponent {text} has the other sign"),
            ));
        }
        Function::Log => {
            for (base, name) in [(2.0_f64, "to the base 2"), (10.0, "to the base 10")] {
                let tree = Tree::binary(Op::Div, call(Function::Log), Tree::Number(base.ln()));
                edits.push(Edit::new(
                    name,
                    2,
                    tree,
                    format!("the logarithm of {text} is that {name}, not the natural one"),
                ));
            }
        }
        Function::Rsqrt => {
            edits.push(Edit::new(
                "sqrt",
                1,
                call(Function::Sqrt),
                format!("it is multiplied by the root of {text}, not divided by it"),
            ));
            edits.push(Edit::new(
                "dropped",
                2,
                a.clone(),
                format!("neither the root nor the reciprocal of {text} is taken"),
            ));
        }
        Function::Sqrt => {
            edits.push(Edit::new(
                "rsqrt",
                2,
                call(Function::Rsqrt),
                format!("the reciprocal of the root of {text} is taken"),
            ));
        }
        _ => {}
    }
    if let (Function::Sqrt | Function::Rsqrt, Tree::Binary(Op::Add, under, term)) = (function, a) {
        let root = Tree::Call(Function::Sqrt, vec![(**under).clone()]);
        let sum = Tree::binary(Op::Add, root, (**term).clone());
        edits.push(Edit::new(
            "outside of the root",
            2,
            if function == Function::Rsqrt { over(sum) } else { sum },
            format!("{} is added to the root, not under it", place.model.text(term)),
        ));
    }
    edits
}

/// `f(max(a, b))` as `max(f(a), b)`: the limit is that of the result, in place of the argument.
fn inside_out(place: &Place, function: Function, argument: &Tree) -> Vec<Edit> {
    let Tree::Call(limit @ (Function::Max | Function::Min), values) = argument else {
        return Vec::new();
    };
    let of = |at: usize| {
        let mut outer = values.clone();
        outer[at] = Tree::Call(function, vec![values[at].clone()]);
        let (inner, other) = (place.model.text(&values[at]), place.model.text(&values[1 - at]));
        let says = format!(
            "the {} with {other} is taken of the {} of {inner}, not of {inner} itself",
            limit.name(),
            function.name()
        );
        Edit::new(format!("inside out {at}"), 2, Tree::Call(*limit, outer), says)
    };
    (0..values.len()).filter(|_| values.len() == 2).map(of).collect()
}

/// A small number that is added in the place of a floor.
fn small_addends(place: &Place, a: &Tree, b: &Tree) -> Vec<Edit> {
    /// The smallest power of ten that is tried.
    const SMALLEST_POWER: i32 = 12;
    if !matches!(b, Tree::Number(_)) {
        return Vec::new();
    }
    let (l, r) = (place.model.text(a), place.model.text(b));
    let of = |power: i32| {
        let value = 10_f64.powi(-power);
        let says = format!("{} is added to {l}, where its max with {r} is meant", number(value));
        Edit::new(
            format!("add {value}"),
            3,
            Tree::binary(Op::Add, a.clone(), Tree::Number(value)),
            says,
        )
    };
    (1..=SMALLEST_POWER).map(of).collect()
}

fn of_two(place: &Place, function: Function, a: &Tree, b: &Tree) -> Vec<Edit> {
    let (l, r) = (place.model.text(a), place.model.text(b));
    let call = |f: Function| Tree::Call(f, vec![a.clone(), b.clone()]);
    let (name, other) = match function {
        Function::Max => ("max", Function::Min),
        Function::Min => ("min", Function::Max),
        _ => {
            let swapped = Tree::Call(function, vec![b.clone(), a.clone()]);
            return vec![
                Edit::new("left", 1, a.clone(), format!("the power of {l} is not taken")),
                Edit::new(
                    "swap",
                    2,
                    swapped,
                    format!("base and exponent of {} are swapped", place.model.text(place.tree)),
                ),
            ];
        }
    };
    let mut edits = vec![
        Edit::new(
            "left",
            1,
            a.clone(),
            format!("the {name} with {r} is left out: {l} stands alone"),
        ),
        Edit::new(
            "right",
            2,
            b.clone(),
            format!("{r} is taken in every case, not the {name} of {l} and it"),
        ),
        Edit::new(
            "other",
            1,
            call(other),
            format!("{} stands for {name} in {}", other.name(), place.model.text(place.tree)),
        ),
        Edit::new(
            "add",
            3,
            Tree::binary(Op::Add, a.clone(), b.clone()),
            format!("{r} is added to {l}, where their {name} is meant"),
        ),
    ];
    if function == Function::Max {
        edits.extend(small_addends(place, a, b));
    }
    edits
}

fn branches(place: &Place, condition: &Condition<Tree>, yes: &Tree, no: &Tree) -> Vec<Edit> {
    let (y, n) = (place.model.text(yes), place.model.text(no));
    let select = |condition: Condition<Tree>, yes: &Tree, no: &Tree| {
        Tree::Select(Box::new(condition), Box::new(yes.clone()), Box::new(no.clone()))
    };
    let mut edits = vec![
        Edit::new(
            "swap",
            1,
            select(condition.clone(), no, yes),
            format!("the two cases {y} and {n} are swapped"),
        ),
        Edit::new("yes", 1, yes.clone(), format!("{y} is taken in every case")),
        Edit::new("no", 1, no.clone(), format!("{n} is taken in every case")),
    ];
    let zero = Tree::Number(0.0);
    for (key, case, tree, text) in [
        ("yes 0", yes, select(condition.clone(), &zero, no), &y),
        ("no 0", no, select(condition.clone(), yes, &zero), &n),
    ] {
        // A number has slips of its own.
        if !matches!(case, Tree::Number(_)) {
            edits.push(Edit::new(key, 2, tree, format!("0 stands in the place of {text}")));
        }
    }
    for slip in conditions(place, condition) {
        edits.push(Edit::new(slip.key, slip.rank, select(slip.condition, yes, no), slip.says));
    }
    if let Condition::Compare(comparison, a, b) = condition {
        // With the cases exchanged the same for all numbers: NaN alone satisfies neither.
        let negated =
            Condition::compare(strictness(turned(*comparison)), (**a).clone(), (**b).clone());
        let (l, r) = (place.model.text(a), place.model.text(b));
        let says = format!("a NaN in the comparison of {l} with {r} takes the other case");
        if !matches!(comparison, Comparison::Equal | Comparison::NotEqual) {
            edits.push(Edit::new("nan", 1, select(negated, no, yes), says));
        }
    }
    edits
}

/// A condition with a slip.
struct ConditionSlip {
    key: String,
    rank: u8,
    condition: Condition<Tree>,
    says: String,
}

/// The slips in a condition: another comparison, another connective, and a part that is not asked for.
fn conditions(place: &Place, condition: &Condition<Tree>) -> Vec<ConditionSlip> {
    let text = |condition: &Condition<Tree>| place.model.condition_text(condition);
    match condition {
        Condition::Compare(comparison, a, b) => {
            let mut others = vec![(strictness(*comparison), 1), (turned(*comparison), 2)];
            others.dedup_by_key(|(other, _)| *other);
            if *comparison == Comparison::Equal {
                others.extend([(Comparison::LessEqual, 2), (Comparison::GreaterEqual, 2)]);
            }
            let (l, r) = (place.model.text(a), place.model.text(b));
            let of = |(other, rank): (Comparison, u8)| ConditionSlip {
                key: other.symbol().to_owned(),
                rank,
                condition: Condition::compare(other, (**a).clone(), (**b).clone()),
                says: format!(
                    "{l} and {r} are compared with {}, not with {}",
                    other.symbol(),
                    comparison.symbol()
                ),
            };
            let mut slips: Vec<ConditionSlip> = others.into_iter().map(of).collect();
            slips.extend(remainder(place, *comparison, a, b));
            slips
        }
        Condition::Join(connective, left, right) => {
            let other = connective.other();
            let (this, that) = (connective.name(), other.name());
            let mut slips = vec![ConditionSlip {
                key: that.to_owned(),
                rank: 1,
                condition: Condition::join(other, (**left).clone(), (**right).clone()),
                says: format!("`{that}` stands in the place of `{this}` in {}", text(condition)),
            }];
            for (key, kept, dropped) in [("l", left, right), ("r", right, left)] {
                slips.push(ConditionSlip {
                    key: format!("{key} alone"),
                    rank: 1,
                    condition: (**kept).clone(),
                    says: format!("the condition {} is not asked for", text(dropped)),
                });
            }
            let join = |a, b| Condition::join(*connective, a, b);
            slips.extend(conditions(place, left).into_iter().map(|slip| ConditionSlip {
                key: format!("l{}", slip.key),
                condition: join(slip.condition, (**right).clone()),
                ..slip
            }));
            slips.extend(conditions(place, right).into_iter().map(|slip| ConditionSlip {
                key: format!("r{}", slip.key),
                condition: join((**left).clone(), slip.condition),
                ..slip
            }));
            slips
        }
    }
}

/// `a == S * i + b` as `(a - b) / S == i`, of which the remainder is not asked for: a step between the windows of a stride.
fn remainder(place: &Place, comparison: Comparison, a: &Tree, b: &Tree) -> Option<ConditionSlip> {
    let (Comparison::Equal, Tree::Int(left), Tree::Int(right)) = (comparison, a, b) else {
        return None;
    };
    let (whole, product) = match (product(left), product(right)) {
        (None, Some(product)) => (left, product),
        (Some(product), None) => (right, product),
        _ => return None,
    };
    let rest = IntExpr::binary(IntOp::Sub, whole.clone(), product.rest);
    let quotient = IntExpr::binary(IntOp::Div, rest, product.factor.clone());
    let says = format!(
        "the remainder of the division by {} is not asked for in {}",
        place.size_text(&product.factor),
        place.model.comparison_text(comparison, a, b)
    );
    Some(ConditionSlip {
        key: "remainder".to_owned(),
        rank: 1,
        condition: Condition::compare(comparison, Tree::Int(quotient), Tree::Int(product.index)),
        says,
    })
}

/// `factor * index + rest`.
struct Product {
    factor: IntExpr,
    index: IntExpr,
    rest: IntExpr,
}

/// An integer expression as a multiple of an index and a rest, if it is the sum of such.
fn product(int: &IntExpr) -> Option<Product> {
    let IntKind::Binary(op, left, right) = &int.kind else { return None };
    let with = |product: Product, rest: &IntExpr, op: IntOp| Product {
        rest: IntExpr::binary(op, product.rest, rest.clone()),
        ..product
    };
    match op {
        IntOp::Mul => {
            let (factor, index) =
                if right.as_index().is_some() { (left, right) } else { (right, left) };
            let is_one = index.as_index().is_some() && factor.uses_only(&[]);
            let (factor, index, rest) =
                ((**factor).clone(), (**index).clone(), IntExpr::constant(0));
            is_one.then_some(Product { factor, index, rest })
        }
        IntOp::Add => match product(left) {
            Some(found) => Some(with(found, right, IntOp::Add)),
            None => Some(with(product(right)?, left, IntOp::Add)),
        },
        IntOp::Sub => Some(with(product(left)?, right, IntOp::Sub)),
        _ => None,
    }
}

/// The comparison that differs where both sides are equal.
fn strictness(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::LessEqual,
        Comparison::LessEqual => Comparison::Less,
        Comparison::Greater => Comparison::GreaterEqual,
        Comparison::GreaterEqual => Comparison::Greater,
        Comparison::Equal => Comparison::NotEqual,
        Comparison::NotEqual => Comparison::Equal,
    }
}

/// The comparison with its sides exchanged.
fn turned(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::Greater,
        Comparison::LessEqual => Comparison::GreaterEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterEqual => Comparison::LessEqual,
        same => strictness(same),
    }
}
