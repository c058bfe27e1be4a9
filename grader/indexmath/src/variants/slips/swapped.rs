//! Two parts of a formula, two indices or two tensors that stand in each other's place.

use super::{Edit, Place};
use crate::program::node::IndexId;
use crate::syntax::int_expr::IntExpr;
use crate::variants::tree::{Access, TensorId, Tree};

/// A formula with more reductions or parts than this has too many pairs of them.
const MOST: usize = 6;

pub(super) fn edits(place: &Place) -> Vec<Edit> {
    let mut edits = reductions(place);
    edits.extend(indices(place));
    edits.extend(tensors(place));
    edits
}

/// Two tensors of the same shape in all reads.
fn tensors(place: &Place) -> Vec<Edit> {
    let mut read: Vec<TensorId> = Vec::new();
    place.tree.visit(&mut Vec::new(), &mut |_, tree| {
        if let Tree::Read(access) = tree
            && !read.contains(&access.tensor)
        {
            read.push(access.tensor);
        }
    });
    let shape = |id: TensorId| {
        let sizes = place.model.tensors[id].shape.iter();
        sizes.map(|size| place.model.int_text(size)).collect::<Vec<_>>()
    };
    let mut edits = Vec::new();
    for (at, &a) in read.iter().enumerate().take(MOST) {
        for &b in read[at + 1..].iter().filter(|&&b| shape(b) == shape(a)) {
            let swap = |tensor: TensorId| match tensor {
                tensor if tensor == a => b,
                tensor if tensor == b => a,
                other => other,
            };
            let tree = with_accesses(place.tree, &|access| Access {
                tensor: swap(access.tensor),
                ..access.clone()
            });
            let [first, second] = [a, b].map(|id| &place.model.tensors[id].name);
            let says = format!("`{first}` and `{second}` are swapped in every read");
            edits.push(Edit::new(format!("tensors {a} {b}"), 1, tree, says));
        }
    }
    edits
}

/// Two reductions of the whole formula, neither within the other.
fn reductions(place: &Place) -> Vec<Edit> {
    let mut found: Vec<(Vec<usize>, &Tree)> = Vec::new();
    place.tree.visit(&mut Vec::new(), &mut |path, tree| {
        if matches!(tree, Tree::Reduce(..))
            && !found.iter().any(|(outer, _)| path.starts_with(outer))
        {
            found.push((path.to_vec(), tree));
        }
    });
    if found.len() > MOST {
        return Vec::new();
    }
    let mut edits = Vec::new();
    for (at, (first_path, first)) in found.iter().enumerate() {
        for (second_path, second) in &found[at + 1..] {
            let tree = place.tree.with(first_path, second).with(second_path, first);
            let (a, b) = (place.model.text(first), place.model.text(second));
            edits.push(Edit::new(
                format!("swap {a} {b}"),
                1,
                tree,
                format!("{a} and {b} are swapped"),
            ));
        }
    }
    edits
}

/// Two indices in all reads.
fn indices(place: &Place) -> Vec<Edit> {
    let mut read: Vec<IndexId> = Vec::new();
    let mut note = |int: &IntExpr| {
        int.map(&mut |leaf| {
            read.extend(leaf.as_index().filter(|index| !read.contains(index)));
            leaf.clone()
        });
    };
    place.tree.visit(&mut Vec::new(), &mut |_, tree| {
        if let Tree::Read(access) = tree {
            access.subscripts.iter().for_each(&mut note);
        }
    });
    let mut edits = Vec::new();
    for (at, &a) in read.iter().enumerate() {
        for &b in &read[at + 1..] {
            let swap = |int: &IntExpr| {
                int.map(&mut |leaf| match leaf.as_index() {
                    Some(index) if index == a => IntExpr::index(b),
                    Some(index) if index == b => IntExpr::index(a),
                    _ => leaf.clone(),
                })
            };
            let tree = with_accesses(place.tree, &|access| Access {
                subscripts: access.subscripts.iter().map(swap).collect(),
                ..access.clone()
            });
            let says = format!(
                "`{}` and `{}` are swapped in every read",
                place.model.name(a),
                place.model.name(b)
            );
            edits.push(Edit::new(format!("swap {a} {b}"), 1, tree, says));
        }
    }
    edits
}

fn with_accesses(tree: &Tree, f: &dyn Fn(&Access) -> Access) -> Tree {
    match tree {
        Tree::Read(access) => Tree::Read(f(access)),
        other => other.map_children(&mut |child| with_accesses(child, f)),
    }
}
