//! Reductions: bounds off by one, another range, a wrong start, only one term, another reduction.

use super::{Edit, Place};
use crate::program::node::IndexId;
use crate::syntax::int_expr::{IntExpr, IntKind, IntOp};
use crate::syntax::operators::{Comparison, Condition, Function, Op, Reduction};
use crate::variants::tree::{Access, Range, Tree};

pub(super) fn edits(place: &Place) -> Vec<Edit> {
    let Tree::Reduce(kind, ranges, body) = place.tree else { return Vec::new() };
    let mut edits = kinds(place, *kind, ranges, body);
    edits.extend(starts(place, *kind, ranges, body));
    for (at, range) in ranges.iter().enumerate() {
        for (key, rank, changed, says) in bounds(place, *kind, range) {
            let mut ranges = ranges.clone();
            ranges[at] = changed;
            let key = format!("{at} {key}");
            let edit = Edit::new(key, rank, Tree::Reduce(*kind, ranges, body.clone()), says);
            edits.push(edit.about(&Tree::Int(range.to.clone())));
        }
    }
    edits.extend(single_terms(place, *kind, ranges, body));
    edits.extend(wider(place, *kind, ranges, body));
    edits
}

fn what(kind: Reduction, over: &str) -> String {
    let name = match kind {
        Reduction::Sum => "sum",
        Reduction::Prod => "product",
        Reduction::Max => "maximum",
        Reduction::Min => "minimum",
        Reduction::ArgMax => "search for the maximum",
        Reduction::ArgMin => "search for the minimum",
    };
    format!("the {name} over {over}")
}

fn kinds(place: &Place, kind: Reduction, ranges: &[Range], body: &Tree) -> Vec<Edit> {
    let text = place.model.text(place.tree);
    let with = |kind: Reduction| Tree::Reduce(kind, ranges.to_vec(), Box::new(body.clone()));
    let other = |kind: Reduction, rank: u8| {
        Edit::new(
            kind.name(),
            rank,
            with(kind),
            format!("{} stands in the place of {text}", place.model.text(&with(kind))),
        )
    };
    let turned = match kind {
        Reduction::Sum => vec![other(Reduction::Max, 3)],
        Reduction::Prod => vec![other(Reduction::Sum, 2)],
        Reduction::Max => vec![other(Reduction::Min, 1), other(Reduction::Sum, 2)],
        Reduction::Min => vec![other(Reduction::Max, 1), other(Reduction::Sum, 2)],
        Reduction::ArgMax => vec![other(Reduction::ArgMin, 1)],
        Reduction::ArgMin => vec![other(Reduction::ArgMax, 1)],
    };
    if kind == Reduction::Sum {
        let counted = counted(body).map(|ones| {
            let tree = Tree::Reduce(kind, ranges.to_vec(), Box::new(ones));
            Edit::new("counted", 2, tree, format!("the terms of {text} are counted, not added"))
        });
        return turned.into_iter().chain(counted).collect();
    }
    let backwards = ranges.iter().map(|range| Range { backwards: true, ..range.clone() }).collect();
    let last = Tree::Reduce(kind, backwards, Box::new(body.clone()));
    let says = format!("the last of several equal candidates wins in {text}, not the first");
    turned.into_iter().chain([Edit::new("last wins", 1, last, says)]).collect()
}

/// A term that is a single value, or a value that is added under a condition, as the number 1.
fn counted(term: &Tree) -> Option<Tree> {
    match term {
        Tree::Read(_) => Some(Tree::Number(1.0)),
        Tree::Select(condition, yes, no) if **no == Tree::Number(0.0) => {
            let one = counted(yes)?;
            Some(Tree::Select(condition.clone(), Box::new(one), no.clone()))
        }
        _ => None,
    }
}

/// Accumulators that do not start with the neutral element.
fn starts(place: &Place, kind: Reduction, ranges: &[Range], body: &Tree) -> Vec<Edit> {
    let text = place.model.text(place.tree);
    let max = |start: f64, f: Function, rank: u8| {
        let tree = Tree::Call(f, vec![Tree::Number(start), place.tree.clone()]);
        Edit::new(
            format!("start {start}"),
            rank,
            tree,
            format!("the accumulator of {text} starts from {start}"),
        )
    };
    match kind {
        Reduction::Max => vec![max(0.0, Function::Max, 1), max(-1.0, Function::Max, 2)],
        Reduction::Min => vec![max(0.0, Function::Min, 1)],
        Reduction::Sum => {
            let one = Tree::binary(Op::Add, Tree::Number(1.0), place.tree.clone());
            let mut edits =
                vec![Edit::new("start 1", 2, one, format!("{text} starts from 1, not from 0"))];
            for (key, end) in [("first", false), ("last", true)] {
                let ranges = ranges.iter().map(|range| single(range, end)).collect();
                let term = Tree::Reduce(kind, ranges, Box::new(body.clone()));
                let twice = Tree::binary(Op::Add, place.tree.clone(), term);
                edits.push(Edit::new(
                    format!("{key} twice"),
                    2,
                    twice,
                    format!("the {key} term of {text} is added twice"),
                ));
            }
            edits
        }
        Reduction::ArgMax => {
            // Where nothing is larger than the start, the position stays that of the first.
            let largest = Tree::Reduce(Reduction::Max, ranges.to_vec(), Box::new(body.clone()));
            let is_start = Condition::compare(Comparison::LessEqual, largest, Tree::Number(0.0));
            let (first, found) = (Tree::Number(0.0), place.tree.clone());
            let tree = Tree::Select(Box::new(is_start), Box::new(first), Box::new(found));
            let says = format!("the search of {text} starts from the value 0 at the first place");
            vec![Edit::new("start 0", 1, tree, says)]
        }
        Reduction::Prod | Reduction::ArgMin => Vec::new(),
    }
}

fn plus(int: &IntExpr, by: i64) -> IntExpr {
    let op = if by < 0 { IntOp::Sub } else { IntOp::Add };
    IntExpr::binary(op, int.clone(), IntExpr::constant(by.abs()))
}

/// A limit that is further by `by`; where it is cut off at an end of the index's axis, before that.
fn moved(limit: &IntExpr, by: i64, end: &IntExpr) -> IntExpr {
    match &limit.kind {
        IntKind::Binary(op @ (IntOp::Min | IntOp::Max), of_axis, inner) if **of_axis == *end => {
            IntExpr::binary(*op, end.clone(), plus(inner, by))
        }
        _ => plus(limit, by),
    }
}

/// The first or the last value alone.
fn single(range: &Range, last: bool) -> Range {
    if last {
        Range { from: plus(&range.to, -1), ..range.clone() }
    } else if range.is_from_start() && range.to.uses_only(&[]) {
        Range { to: IntExpr::constant(1), ..range.clone() }
    } else {
        // It may have no values.
        let first = IntExpr::binary(IntOp::Min, range.to.clone(), plus(&range.from, 1));
        Range { to: first, ..range.clone() }
    }
}

/// One range with other ends.
fn bounds(place: &Place, kind: Reduction, range: &Range) -> Vec<(String, u8, Range, String)> {
    let index = format!("`{}`", place.model.name(range.index));
    let size = place.size_text(&range.to);
    let the = what(kind, &index);
    let to = |to: IntExpr| Range { to, ..range.clone() };
    let from = |from: IntExpr| Range { from, ..range.clone() };
    let end = &place.model.ranges[range.index];
    let to_further = |by: i64| to(moved(&range.to, by, end));
    let from_further = |by: i64| from(moved(&range.from, by, &IntExpr::constant(0)));
    let is_from_start = range.is_from_start();
    let later = if is_from_start {
        (from(IntExpr::constant(1)), format!("{the} starts at 1, not at 0"))
    } else {
        (from_further(1), format!("{the} starts one after its first element"))
    };
    let mut all = vec![
        ("from 1".to_owned(), 1, later.0, later.1),
        (
            "short".to_owned(),
            1,
            to_further(-1),
            format!("{the} ends one before its last element ({size} - 1)"),
        ),
        (
            "long".to_owned(),
            1,
            to_further(1),
            format!("{the} goes one past its last element (up to and with {size})"),
        ),
    ];
    if !is_from_start {
        let first = place.size_text(&range.from);
        let early = format!("{the} starts one before its first element ({first} - 1)");
        all.push(("early".to_owned(), 1, from_further(-1), early));
        let whole = format!("{the} starts at 0, not at {first}");
        all.push(("from 0".to_owned(), 1, from(IntExpr::constant(0)), whole));
    }
    for name in place.sizes {
        let other = IntExpr::new(IntKind::Name(name.clone()), crate::Span::default());
        if other.kind == range.to.kind {
            continue;
        }
        let text = place.size_text(&other);
        all.push((
            format!("to {name}"),
            2,
            to(other.clone()),
            format!("{the} runs to {text} in place of {size}"),
        ));
        if !is_from_start {
            continue;
        }
        let covers = |text: &str| format!("{the} covers the first {text} elements only");
        let at_most =
            |other: &IntExpr| to(IntExpr::binary(IntOp::Min, range.to.clone(), other.clone()));
        all.push((format!("at most {name}"), 3, at_most(&other), covers(&text)));
        // The number of a launch is the same in all data: where one more would do too, the bound is another number.
        if let Some(value) = place.dims.get(name).filter(|_| !place.model.sizes.contains(name)) {
            let (next, text) = (plus(&other, 1), format!("{name} + 1 ({})", value + 1));
            let says = format!("{the} runs to {text} in place of {size}");
            all.push((format!("to {name} + 1"), 2, to(next.clone()), says));
            all.push((format!("at most {name} + 1"), 3, at_most(&next), covers(&text)));
        }
    }
    if !is_from_start {
        return all;
    }
    let half = IntExpr::binary(IntOp::Div, range.to.clone(), IntExpr::constant(2));
    all.push(("half".to_owned(), 3, to(half), format!("{the} covers the first half only")));
    for few in [32, 64, 256] {
        let least = IntExpr::binary(IntOp::Min, range.to.clone(), IntExpr::constant(few));
        let says = format!("{the} covers the first {few} elements only");
        all.push((format!("at most {few}"), 2, to(least), says));
    }
    all
}

/// Accumulators that are overwritten, or reset inside the loop.
fn single_terms(place: &Place, kind: Reduction, ranges: &[Range], body: &Tree) -> Vec<Edit> {
    let text = place.model.text(place.tree);
    let mut edits = Vec::new();
    for (key, last) in [("first", false), ("last", true)] {
        for kept in 1..=ranges.len() {
            let mut changed = ranges.to_vec();
            for range in &mut changed[..kept] {
                *range = single(range, last);
            }
            let tree = Tree::Reduce(kind, changed, Box::new(body.clone()));
            let says = if kept == ranges.len() {
                let hint = if last { " (it is overwritten in each step)" } else { "" };
                format!("of {text} only the {key} term is left{hint}")
            } else {
                let names: Vec<&str> =
                    ranges[..kept].iter().map(|r| place.model.name(r.index)).collect();
                let hint = if last { " (the accumulator is reset in each step)" } else { "" };
                format!("{text} keeps only what the {key} `{}` gives{hint}", names.join("`, `"))
            };
            edits.push(Edit::new(format!("{key} {kept}"), 1, tree, says));
        }
    }
    if ranges.len() > 1 {
        for (at, range) in ranges.iter().enumerate() {
            let mut changed = ranges.to_vec();
            changed[at] = single(range, false);
            let tree = Tree::Reduce(kind, changed, Box::new(body.clone()));
            let says =
                format!("{text} has no loop over `{}`: it stays 0", place.model.name(range.index));
            edits.push(Edit::new(format!("no loop {at}"), 1, tree, says));
        }
    }
    edits
}

/// Reductions over an index more, that is fixed outside.
fn wider(place: &Place, kind: Reduction, ranges: &[Range], body: &Tree) -> Vec<Edit> {
    let fresh = place.model.indices.len();
    let mut edits = Vec::new();
    for &index in place.scope.iter().filter(|&&index| !ranges.iter().any(|r| r.index == index)) {
        let renamed = rename(body, index, fresh);
        if renamed == *body {
            continue;
        }
        let name = place.model.name(index);
        let whole = Range {
            index: fresh,
            from: IntExpr::constant(0),
            to: place.model.ranges[index].clone(),
            backwards: false,
        };
        let mut wider = vec![whole];
        wider.extend(ranges.iter().cloned());
        let tree = Tree::Reduce(kind, wider, Box::new(renamed));
        let over: Vec<&str> = ranges.iter().map(|range| place.model.name(range.index)).collect();
        let says = format!(
            "{} runs over all `{name}` too",
            what(kind, &format!("`{}`", over.join("`, `")))
        );
        edits.push(Edit::new(
            format!("all {}", place.model.int_text(&place.model.ranges[index])),
            2,
            tree,
            says,
        ));
    }
    edits
}

/// The tree with one index in the place of another.
fn rename(tree: &Tree, from: IndexId, to: IndexId) -> Tree {
    let int = |int: &IntExpr| {
        int.map(&mut |leaf| {
            if leaf.as_index() == Some(from) { IntExpr::index(to) } else { leaf.clone() }
        })
    };
    match tree {
        Tree::Int(i) => Tree::Int(int(i)),
        Tree::Read(access) => Tree::Read(Access {
            subscripts: access.subscripts.iter().map(int).collect(),
            ..access.clone()
        }),
        other => other.map_children(&mut |child| rename(child, from, to)),
    }
}
