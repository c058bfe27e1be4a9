//! Slips of a whole part: its sign, a factor too many, a derivative that stops there, one index in all of its reads, another part
//! in its place.

use super::{Edit, Place, reads, split, swapped};
use crate::program::node::IndexId;
use crate::syntax::int_expr::{IntExpr, IntKind};
use crate::syntax::operators::{Condition, Connective, Function, Op};
use crate::variants::tree::{Access, Tree};
use std::collections::BTreeSet;

/// The slips of the part `target`, whose body is the place's tree; `last` says that it is the result.
pub(crate) fn edits(place: &Place, target: &str, last: bool) -> Vec<Edit> {
    let body = place.tree;
    let mut edits = Vec::new();
    if let (false, Some(of)) =
        (last, target.strip_prefix("grad(").and_then(|rest| rest.strip_suffix(')')))
    {
        let says = format!(
            "`{of}` is taken as a constant: nothing of the derivative flows back through it"
        );
        edits.push(Edit::new("stopped", 1, Tree::Number(0.0), says));
    }
    let negative = Tree::Neg(Box::new(body.clone()));
    edits.push(Edit::new("sign", 1, negative, format!("`{target}` has the other sign")));
    let half = Tree::binary(Op::Div, body.clone(), Tree::Number(2.0));
    edits.push(Edit::new("half", 2, half, format!("`{target}` is divided by 2")));
    let double = Tree::binary(Op::Mul, body.clone(), Tree::Number(2.0));
    edits.push(Edit::new("double", 2, double, format!("`{target}` is multiplied by 2")));
    for name in place.sizes.iter().chain(place.products) {
        let size = IntExpr::new(IntKind::Name(name.clone()), crate::Span::default());
        let text = place.size_text(&size);
        for (op, how) in [(Op::Div, "divided"), (Op::Mul, "multiplied")] {
            let tree = Tree::binary(op, body.clone(), Tree::Int(size.clone()));
            edits.push(Edit::new(
                format!("{how} {name}"),
                2,
                tree,
                format!("`{target}` is {how} by {text}"),
            ));
        }
    }
    edits.extend(indices(place));
    edits.extend(swapped::edits(place));
    if last {
        edits.extend(split::edits(place, target));
        edits.extend(other_parts(place, target));
        edits.extend(factors(place, target));
        edits.extend(functions(place, target));
    }
    edits.extend(strides(place));
    edits.extend(only_term(place));
    edits.extend(connectives(place));
    edits
}

/// One connective in the place of another in all conditions, of which there are several.
fn connectives(place: &Place) -> Vec<Edit> {
    let of = |from: Connective| {
        let mut count = 0;
        let tree = without_connective(place.tree, from, &mut count);
        let (this, that) = (from.name(), from.other().name());
        let says = format!("`{that}` stands in the place of `{this}` in all conditions");
        (count > 1).then(|| Edit::new(format!("all {that}"), 1, tree, says))
    };
    [Connective::And, Connective::Or].into_iter().filter_map(of).collect()
}

/// The tree with the other connective in the place of `from`, and how often it stood there.
fn without_connective(tree: &Tree, from: Connective, count: &mut usize) -> Tree {
    fn changed(of: &Condition<Tree>, from: Connective, count: &mut usize) -> Condition<Tree> {
        match of {
            Condition::Compare(..) => of.clone(),
            Condition::Join(connective, left, right) => {
                let is_it = *connective == from;
                *count += usize::from(is_it);
                let connective = if is_it { from.other() } else { *connective };
                let left = changed(left, from, count);
                Condition::join(connective, left, changed(right, from, count))
            }
        }
    }
    match tree.map_children(&mut |child| without_connective(child, from, count)) {
        Tree::Select(condition, yes, no) => {
            Tree::Select(Box::new(changed(&condition, from, count)), yes, no)
        }
        other => other,
    }
}

/// One index that is 0, or another one, in all reads.
fn indices(place: &Place) -> Vec<Edit> {
    let mut edits = Vec::new();
    for &index in place.scope {
        let name = place.model.name(index);
        let mut add = |key: String, to: IntExpr, says: String| {
            let change = |access: &Access| Access {
                subscripts: access.subscripts.iter().map(|int| replaced(int, index, &to)).collect(),
                ..access.clone()
            };
            let tree = map_accesses(place.tree, &change);
            let says = match &changed(place.tree, &change)[..] {
                [one] => reads::replaced(place, one, &change(one)),
                _ => says,
            };
            edits.push(Edit::new(key, 2, tree, says));
        };
        add(
            format!("{index} 0"),
            IntExpr::constant(0),
            format!("every read has 0 in the place of `{name}`"),
        );
        for &other in place.scope.iter().filter(|&&other| other != index) {
            let says =
                format!("every read has `{}` in the place of `{name}`", place.model.name(other));
            add(format!("{index} {other}"), IntExpr::index(other), says);
        }
    }
    edits
}

/// The reads of other tensors of the result's shape, at its own place.
fn of_its_shape(place: &Place, target: &str) -> impl Iterator<Item = Access> {
    let text = |id: usize| {
        let shape = place.model.tensors[id].shape.iter();
        shape.map(|size| place.model.int_text(size)).collect::<Vec<_>>()
    };
    let own = place.model.tensor(target);
    let is_alike = |id: usize| own.is_some_and(|own| id != own && text(id) == text(own));
    let others: Vec<usize> = place.readable.iter().copied().filter(|&id| is_alike(id)).collect();
    others.into_iter().map(|tensor| Access {
        tensor,
        subscripts: place.scope.iter().map(|&index| IntExpr::index(index)).collect(),
        shape: place.model.tensors[tensor].shape.clone(),
        checks: Vec::new(),
    })
}

/// The result holds what belongs to another tensor of its shape, one that it is computed from, or that is added to it.
fn other_parts(place: &Place, target: &str) -> Vec<Edit> {
    let of = |access: Access| {
        let name = &place.model.tensors[access.tensor].name;
        let read = Tree::Read(access.clone());
        let sum = Tree::binary(Op::Add, place.tree.clone(), read.clone());
        [
            Edit::new(format!("holds {name}"), 1, read, format!("`{target}` holds `{name}`")),
            Edit::new(format!("adds {name}"), 3, sum, format!("`{name}` is added to `{target}`")),
        ]
    };
    of_its_shape(place, target).flat_map(of).collect()
}

/// The result is multiplied by something that it reads at its own place, or by what is given for each of its elements.
fn factors(place: &Place, target: &str) -> Vec<Edit> {
    let mut reads: Vec<Access> = of_its_shape(place, target)
        .filter(|access| place.model.tensors[access.tensor].given)
        .collect();
    place.tree.visit(&mut Vec::new(), &mut |_, tree| {
        if let Tree::Read(access) = tree
            && access.subscripts.iter().all(|int| int.uses_only(place.scope))
            && !reads.contains(access)
        {
            reads.push(access.clone());
        }
    });
    // Of a product it is a factor that is there twice.
    let is_factor = |access: &Access| matches!(place.tree, Tree::Binary(Op::Mul, a, b) if [a, b].iter().any(|side| ***side == Tree::Read(access.clone())));
    reads.retain(|access| !is_factor(access));
    let of = |access: Access| {
        let text = place.model.access_text(&access);
        let tree = Tree::binary(Op::Mul, place.tree.clone(), Tree::Read(access));
        Edit::new("factor", 3, tree, format!("`{target}` is multiplied by {text}"))
    };
    reads.into_iter().map(of).collect()
}

/// A function of the result in its place: its logarithm, or the result with 0 for what is negative.
fn functions(place: &Place, target: &str) -> Vec<Edit> {
    let own = place.model.tensor(target).map(|id| &place.model.tensors[id]);
    // Of a constant every function is another constant.
    let mut reads = false;
    place.tree.visit(&mut Vec::new(), &mut |_, tree| reads |= matches!(tree, Tree::Read(_)));
    if !reads || !own.is_some_and(|own| own.dtype.is_float()) {
        return Vec::new();
    }
    let body = || place.tree.clone();
    let call = |f: Function| Tree::Call(f, vec![body()]);
    let square = Tree::binary(Op::Mul, body(), body());
    let reciprocal = Tree::binary(Op::Div, Tree::Number(1.0), body());
    let relu = Tree::Call(Function::Max, vec![body(), Tree::Number(0.0)]);
    let named = |key: &str, tree: Tree, of: &str| {
        Edit::new(key, 3, tree, format!("the {of} of `{target}` stands in its place"))
    };
    vec![
        named("log", logarithm(place.tree), "logarithm"),
        named("exp", call(Function::Exp), "exponential"),
        named("root", call(Function::Sqrt), "root"),
        named("square", square, "square"),
        named("reciprocal", reciprocal, "reciprocal"),
        named("absolute", call(Function::Abs), "absolute value"),
        Edit::new("relu", 3, relu, format!("negative values of `{target}` become 0")),
    ]
}

/// The logarithm of a tree as a person computes it: without the exponentials in it, which may overflow.
fn logarithm(tree: &Tree) -> Tree {
    match tree {
        Tree::Call(Function::Exp, values) if values.len() == 1 => values[0].clone(),
        Tree::Binary(Op::Mul, a, b) => Tree::binary(Op::Add, logarithm(a), logarithm(b)),
        Tree::Binary(Op::Div, a, b) => Tree::binary(Op::Sub, logarithm(a), logarithm(b)),
        other => Tree::Call(Function::Log, vec![other.clone()]),
    }
}

fn replaced(int: &IntExpr, index: IndexId, to: &IntExpr) -> IntExpr {
    int.map(&mut |leaf| if leaf.as_index() == Some(index) { to.clone() } else { leaf.clone() })
}

/// A size that is another in all addresses.
fn strides(place: &Place) -> Vec<Edit> {
    let mut edits = Vec::new();
    for from in &place.model.sizes {
        for to in place.sizes.iter().filter(|to| *to != from) {
            let size =
                |name: &String| IntExpr::new(IntKind::Name(name.clone()), crate::Span::default());
            let is_it = |int: &IntExpr| matches!(&int.kind, IntKind::Name(name) if name == from);
            // No address depends on the size of the first axis.
            let other = |(axis, int): (usize, &IntExpr)| {
                if axis > 0 && is_it(int) { size(to) } else { int.clone() }
            };
            let change = |access: &Access| Access {
                shape: access.shape.iter().enumerate().map(other).collect(),
                ..access.clone()
            };
            let tree = map_accesses(place.tree, &change);
            let (now, correct) = (place.size_text(&size(to)), place.size_text(&size(from)));
            let which = match &changed(place.tree, &change)[..] {
                [one] => format!("the address of {} is", place.model.access_text(one)),
                all => {
                    let names: BTreeSet<&str> =
                        all.iter().map(|a| &*place.model.tensors[a.tensor].name).collect();
                    let names: Vec<&str> = names.into_iter().collect();
                    format!("the addresses of `{}` are", names.join("` and `"))
                }
            };
            let says = format!("{which} computed with {now} in the place of the size {correct}");
            edits.push(Edit::new(format!("strides {from} {to}"), 2, tree, says));
        }
    }
    edits.retain(|edit| edit.tree != *place.tree);
    edits
}

/// The reads that `f` makes others of.
fn changed(tree: &Tree, f: &dyn Fn(&Access) -> Access) -> Vec<Access> {
    let mut all = Vec::new();
    tree.visit(&mut Vec::new(), &mut |_, tree| {
        if let Tree::Read(access) = tree
            && f(access) != *access
            && !all.contains(access)
        {
            all.push(access.clone());
        }
    });
    all
}

fn map_accesses(tree: &Tree, f: &dyn Fn(&Access) -> Access) -> Tree {
    match tree {
        Tree::Read(access) => Tree::Read(f(access)),
        other => other.map_children(&mut |child| map_accesses(child, f)),
    }
}

/// Of three terms or more, one that is there alone.
fn only_term(place: &Place) -> Vec<Edit> {
    fn terms(tree: &Tree, path: &mut Vec<usize>, all: &mut Vec<Vec<usize>>) {
        match tree {
            Tree::Binary(Op::Add | Op::Sub, left, right) => {
                for (at, child) in [left, right].into_iter().enumerate() {
                    path.push(at);
                    terms(child, path, all);
                    path.pop();
                }
            }
            _ => all.push(path.clone()),
        }
    }
    let mut all = Vec::new();
    terms(place.tree, &mut Vec::new(), &mut all);
    if all.len() < 3 {
        return Vec::new();
    }
    let at = |path: &[usize]| path.iter().fold(place.tree, |tree, &step| tree.children()[step]);
    let kept = |path: &Vec<usize>| {
        let others = all.iter().filter(|other| *other != path);
        let body =
            others.fold(place.tree.clone(), |body, other| body.with(other, &Tree::Number(0.0)));
        Edit::new(
            "only term",
            2,
            body,
            format!("only the term {} is there", place.model.text(at(path))),
        )
    };
    all.iter().map(kept).collect()
}
