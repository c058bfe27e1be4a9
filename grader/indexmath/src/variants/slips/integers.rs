//! Integer expressions with a slip: subscripts and numbers made of sizes.

use super::Place;
use crate::syntax::int_expr::{IntExpr, IntKind, IntOp};

/// The variants of an integer expression: a key, a rank, and the expression.
pub(super) fn edits(place: &Place, int: &IntExpr) -> Vec<(String, u8, IntExpr)> {
    let plus = |by: i64| {
        let op = if by < 0 { IntOp::Sub } else { IntOp::Add };
        IntExpr::binary(op, int.clone(), IntExpr::constant(by.abs()))
    };
    let mut all = vec![("+1".to_owned(), 2, plus(1)), ("-1".to_owned(), 2, plus(-1))];
    if !matches!(int.kind, IntKind::Const(_)) {
        all.push(("0".to_owned(), 2, IntExpr::constant(0)));
    }
    for &index in place.scope {
        if int.as_index() != Some(index) {
            let key = format!("index of {}", place.model.int_text(&place.model.ranges[index]));
            all.push((key, 2, IntExpr::index(index)));
        }
    }
    inner(place, int, &mut |key, rank, changed| all.push((key, rank, changed)));
    all.extend(scaled(int));
    all
}

/// One size of a sum multiplied by another one in it: a padding that is counted in strides.
fn scaled(int: &IntExpr) -> Vec<(String, u8, IntExpr)> {
    let mut names: Vec<String> = Vec::new();
    int.map(&mut |leaf| {
        if let IntKind::Name(name) = &leaf.kind
            && !names.contains(name)
        {
            names.push(name.clone());
        }
        leaf.clone()
    });
    let is =
        |leaf: &IntExpr, name: &str| matches!(&leaf.kind, IntKind::Name(other) if other == name);
    let mut all = Vec::new();
    for name in &names {
        for by in names.iter().filter(|by| *by != name) {
            let size = IntExpr::new(IntKind::Name(by.clone()), crate::Span::default());
            let changed = int.map(&mut |leaf| {
                if is(leaf, name) {
                    IntExpr::binary(IntOp::Mul, leaf.clone(), size.clone())
                } else {
                    leaf.clone()
                }
            });
            all.push((format!("{name} times {by}"), 2, changed));
        }
    }
    all
}

/// Changes inside: an operand dropped, a sign flipped, a size that is another, an index that runs backwards.
fn inner(place: &Place, int: &IntExpr, f: &mut dyn FnMut(String, u8, IntExpr)) {
    match &int.kind {
        IntKind::Binary(op, left, right) => {
            f("left".to_owned(), 1, (**left).clone());
            f("right".to_owned(), 1, (**right).clone());
            if let Some(other) = flipped(*op) {
                let changed = IntExpr::binary(other, (**left).clone(), (**right).clone());
                f("flip".to_owned(), 1, changed);
            }
            let with = |a: IntExpr, b: IntExpr| IntExpr::binary(*op, a, b);
            inner(place, left, &mut |key, rank, changed| {
                f(format!("l{key}"), rank, with(changed, (**right).clone()));
            });
            inner(place, right, &mut |key, rank, changed| {
                f(format!("r{key}"), rank, with((**left).clone(), changed));
            });
        }
        IntKind::Index(_) => {
            if let Some(backwards) = mirrored(place, int) {
                f("mirror".to_owned(), 1, backwards);
            }
        }
        IntKind::Name(name) => {
            for other in place.sizes.iter().filter(|other| *other != name) {
                let kind = IntKind::Name(other.clone());
                f(format!("size {other}"), 2, IntExpr::new(kind, crate::Span::default()));
            }
            f("size 1".to_owned(), 2, IntExpr::constant(1));
        }
        IntKind::Const(value) => {
            for other in [value - 1, value + 1] {
                f(format!("const {other}"), 2, IntExpr::constant(other));
            }
        }
        IntKind::Neg(_) | IntKind::Element(_) => {}
    }
}

/// An index that runs backwards; `None` of any other expression.
pub(super) fn mirrored(place: &Place, int: &IntExpr) -> Option<IntExpr> {
    let size = place.model.ranges.get(int.as_index()?)?;
    let last = IntExpr::binary(IntOp::Sub, size.clone(), IntExpr::constant(1));
    Some(IntExpr::binary(IntOp::Sub, last, int.clone()))
}

fn flipped(op: IntOp) -> Option<IntOp> {
    match op {
        IntOp::Add => Some(IntOp::Sub),
        IntOp::Sub => Some(IntOp::Add),
        IntOp::Div => Some(IntOp::Mod),
        IntOp::Mod => Some(IntOp::Div),
        IntOp::And => Some(IntOp::Or),
        IntOp::Or => Some(IntOp::And),
        IntOp::ShiftLeft => Some(IntOp::ShiftRight),
        IntOp::ShiftRight => Some(IntOp::ShiftLeft),
        _ => None,
    }
}
