//! Reads: another tensor, another index, another row length, a bounds check that is wrong or missing.

use super::{Edit, Place, integers};
use crate::syntax::int_expr::{IntExpr, IntKind, IntOp};
use crate::syntax::operators::{Function, Op, Reduction};
use crate::variants::text::number;
use crate::variants::tree::{Access, Check, Tree};

pub(super) fn edits(place: &Place) -> Vec<Edit> {
    let Tree::Read(access) = place.tree else { return Vec::new() };
    let mut edits = tensors(place, access);
    edits.extend(subscripts(place, access));
    edits.extend(mirrored(place, access));
    edits.extend(swapped(place, access));
    edits.extend(moved(place, access));
    edits.extend(strides(place, access));
    edits.extend(checks(place, access));
    edits.extend(powers(place, access));
    edits.extend(numbers(place, access));
    edits.extend(next_whole_numbers(place, access));
    edits
}

/// A whole number that is one too large or too small, such as a count.
fn next_whole_numbers(place: &Place, access: &Access) -> Vec<Edit> {
    if place.model.tensors[access.tensor].dtype.is_float() {
        return Vec::new();
    }
    let text = place.model.access_text(access);
    let of = |(op, how): (Op, &str)| {
        let tree = Tree::binary(op, place.tree.clone(), Tree::Number(1.0));
        Edit::new(how, 2, tree, format!("{text} is one {how}"))
    };
    vec![of((Op::Add, "too large")), of((Op::Sub, "too small"))]
}

/// A number in the place of a tensor without axes: a constant that is written into a kernel.
fn numbers(place: &Place, access: &Access) -> Vec<Edit> {
    if !access.subscripts.is_empty() {
        return Vec::new();
    }
    let text = place.model.access_text(access);
    let of = |value: f64| {
        let says = format!("the number {} stands in the place of {text}", number(value));
        Edit::new(format!("number {value}"), 2, Tree::Number(value), says)
    };
    let powers = (1..=SMALLEST_POWER).map(|n| 10_f64.powi(-n));
    [0.0, 1.0].into_iter().chain(powers).map(of).collect()
}

/// The smallest power of ten that is tried for a number.
const SMALLEST_POWER: i32 = 12;

/// `now` in the place of `correct`, in words.
pub(super) fn replaced(place: &Place, correct: &Access, now: &Access) -> String {
    let texts = (place.model.access_text(now), place.model.access_text(correct));
    let pairs = || now.subscripts.iter().zip(&correct.subscripts).filter(|(now, old)| now != old);
    // Of long texts the end is cut off, and with it what differs.
    match pairs().next() {
        Some((other, old)) if texts.0.ends_with("...`") && pairs().count() == 1 => {
            let (other, old) = (place.model.int_text(other), place.model.int_text(old));
            let name = &place.model.tensors[correct.tensor].name;
            format!("`{name}` is read with `{other}` in the place of `{old}`")
        }
        _ => format!("{} is read in the place of {}", texts.0, texts.1),
    }
}

fn read(place: &Place, correct: &Access, now: Access, key: String, rank: u8) -> Edit {
    let says = replaced(place, correct, &now);
    Edit::new(key, rank, Tree::Read(now), says)
}

/// Another tensor of the same shape.
fn tensors(place: &Place, access: &Access) -> Vec<Edit> {
    let shape = &place.model.tensors[access.tensor].shape;
    let same = |&&id: &&usize| {
        let other = &place.model.tensors[id].shape;
        id != access.tensor
            && other.len() == shape.len()
            && other
                .iter()
                .zip(shape)
                .all(|(a, b)| place.model.int_text(a) == place.model.int_text(b))
    };
    let others = place.readable.iter().filter(same);
    let of = |&tensor: &usize| {
        let key = format!("tensor {}", place.model.tensors[tensor].name);
        read(place, access, Access { tensor, ..access.clone() }, key, 2)
    };
    others.map(of).collect()
}

/// One subscript that is another, and all that are alike: a stride that is forgotten along both axes of an image.
fn subscripts(place: &Place, access: &Access) -> Vec<Edit> {
    let all = |subscript| integers::edits(place, subscript);
    let slips: Vec<Vec<(String, u8, IntExpr)>> = access.subscripts.iter().map(all).collect();
    let shape = |axis: usize| Tree::Int(access.subscripts[axis].clone()).renamed();
    let mut edits = Vec::new();
    for (axis, subscript) in access.subscripts.iter().enumerate() {
        // Any two indices are alike.
        let is_plain = subscript.as_index().is_some();
        let alike: Vec<usize> = (0..access.subscripts.len())
            .filter(|&other| other == axis || (!is_plain && shape(other) == shape(axis)))
            .collect();
        let is_first = alike[0] == axis;
        for (key, rank, int) in &slips[axis] {
            let mut changed = access.clone();
            changed.subscripts[axis] = int.clone();
            let edit = read(place, access, changed.clone(), format!("axis {axis} {key}"), *rank);
            if alike.len() == 1 {
                edits.push(edit.of_int(subscript, key));
                continue;
            }
            edits.push(edit);
            // Two that run backwards are a slip of their own.
            if !is_first || key.ends_with("mirror") {
                continue;
            }
            let same = |&other: &usize| {
                let slip = slips[other].iter().find(|(other, ..)| other == key)?;
                Some((other, slip.2.clone()))
            };
            let Some(others) = alike.iter().map(same).collect::<Option<Vec<_>>>() else { continue };
            for (other, int) in others {
                changed.subscripts[other] = int;
            }
            let edit = read(place, access, changed, format!("alike {key}"), rank + 1);
            edits.push(edit.of_int(subscript, key));
        }
    }
    edits
}

/// Two subscripts that both run backwards: a filter that is rotated by half a turn, or should be.
fn mirrored(place: &Place, access: &Access) -> Vec<Edit> {
    let of = |(axis, int)| Some((axis, integers::mirrored(place, int)?));
    let backwards: Vec<(usize, IntExpr)> =
        access.subscripts.iter().enumerate().filter_map(of).collect();
    let mut edits = Vec::new();
    for (at, (a, first)) in backwards.iter().enumerate() {
        for (b, second) in &backwards[at + 1..] {
            let mut changed = access.clone();
            changed.subscripts[*a] = first.clone();
            changed.subscripts[*b] = second.clone();
            edits.push(read(place, access, changed, format!("mirror {a} {b}"), 1));
        }
    }
    edits
}

/// Two subscripts that stand in each other's place.
fn swapped(place: &Place, access: &Access) -> Vec<Edit> {
    let mut edits = Vec::new();
    for a in 0..access.subscripts.len() {
        for b in a + 1..access.subscripts.len() {
            let mut changed = access.clone();
            changed.subscripts.swap(a, b);
            edits.push(read(place, access, changed.clone(), format!("swap {a} {b}"), 1));
            changed.shape.swap(a, b);
            let mut edit = read(place, access, changed, format!("transposed {a} {b}"), 1);
            edit.says.push_str(", with the row length of the other axis");
            edits.push(edit);
        }
    }
    edits
}

/// An axis that is stored between others than these: a layout such as NCHW, taken for NHWC.
fn moved(place: &Place, access: &Access) -> Vec<Edit> {
    let axes = access.subscripts.len();
    let pairs = (0..axes).flat_map(|from| (0..axes).map(move |to| (from, to)));
    // Neighbours are swapped.
    let far = pairs.filter(|(from, to)| from.abs_diff(*to) > 1);
    far.map(|(from, to)| {
        let mut changed = access.clone();
        let subscript = changed.subscripts.remove(from);
        changed.subscripts.insert(to, subscript);
        let size = changed.shape.remove(from);
        changed.shape.insert(to, size);
        let mut edit = read(place, access, changed, format!("moved {from} {to}"), 1);
        edit.says.push_str(", with the row lengths of that order");
        edit
    })
    .collect()
}

/// A size in the address that is another.
fn strides(place: &Place, access: &Access) -> Vec<Edit> {
    let mut edits = Vec::new();
    for axis in 1..access.shape.len() {
        for name in place.sizes {
            let other = IntExpr::new(IntKind::Name(name.clone()), crate::Span::default());
            let correct = &access.shape[axis];
            if correct.kind == other.kind {
                continue;
            }
            let mut changed = access.clone();
            let says = format!(
                "the address of {} is computed with {} in the place of the size {}",
                place.model.access_text(access),
                place.size_text(&other),
                place.size_text(correct)
            );
            changed.shape[axis] = other;
            edits.push(Edit::new(format!("stride {axis} {name}"), 2, Tree::Read(changed), says));
        }
    }
    edits
}

fn checks(place: &Place, access: &Access) -> Vec<Edit> {
    let mut edits = Vec::new();
    let text = place.model.access_text(access);
    let mut all = access.clone();
    all.checks = vec![Check { low: None, high: None }; access.checks.len()];
    if !access.checks.is_empty() {
        edits.push(Edit::new(
            "no checks",
            2,
            Tree::Read(all),
            format!("{text} is read without a bounds check"),
        ));
    }
    let mut nearest = access.clone();
    nearest.checks.clear();
    for (subscript, size) in nearest.subscripts.iter_mut().zip(&access.shape) {
        let last = IntExpr::binary(IntOp::Sub, size.clone(), IntExpr::constant(1));
        let capped = IntExpr::binary(IntOp::Min, subscript.clone(), last);
        *subscript = IntExpr::binary(IntOp::Max, capped, IntExpr::constant(0));
    }
    if !access.checks.is_empty() {
        let says = format!("{text} is read at the nearest edge where it lies outside");
        edits.push(Edit::new("nearest", 2, Tree::Read(nearest), says));
    }
    if !access.checks.is_empty() {
        // A sum of one term is 0 where that lies outside, also within a search for the largest.
        let zero = Tree::Reduce(Reduction::Sum, Vec::new(), Box::new(Tree::Read(access.clone())));
        let says = format!("{text} counts as 0 where it lies outside, and is not left out");
        edits.push(Edit::new("zero outside", 2, zero, says));
    }
    for (axis, check) in access.checks.iter().enumerate() {
        let subscript = place.model.int_text(&access.subscripts[axis]);
        let mut add = |key: &str, check: Check, says: String| {
            let mut changed = access.clone();
            changed.checks[axis] = check;
            edits.push(Edit::new(format!("check {axis} {key}"), 1, Tree::Read(changed), says));
        };
        add(
            "no low",
            Check { low: None, ..*check },
            format!("{text} is read without the check that `{subscript}` is at least 0"),
        );
        add(
            "no high",
            Check { high: None, ..*check },
            format!(
                "{text} is read without the check that `{subscript}` is inside at the end of its axis"
            ),
        );
        add(
            "low 1",
            Check { low: Some(1), ..*check },
            format!("{text} is left out where `{subscript}` is 0"),
        );
        add(
            "high -1",
            Check { high: Some(-1), ..*check },
            format!("{text} is left out where `{subscript}` is the last of its axis"),
        );
        add(
            "high 1",
            Check { high: Some(1), ..*check },
            format!("{text} is read also where `{subscript}` is one past its axis"),
        );
    }
    edits
}

/// The value itself, taken for another: a standard deviation for its reciprocal, for example.
fn powers(place: &Place, access: &Access) -> Vec<Edit> {
    let text = place.model.access_text(access);
    let read = place.tree;
    let over = Tree::binary(Op::Div, Tree::Number(1.0), read.clone());
    let square = Tree::binary(Op::Mul, read.clone(), read.clone());
    let call = |f: Function| Tree::Call(f, vec![read.clone()]);
    let (root, absolute) = (call(Function::Sqrt), call(Function::Abs));
    vec![
        Edit::new(
            "absolute",
            2,
            absolute,
            format!("the absolute value of {text} stands in its place"),
        ),
        Edit::new("reciprocal", 2, over, format!("the reciprocal of {text} stands in its place")),
        Edit::new("square", 3, square, format!("the square of {text} stands in its place")),
        Edit::new("root", 3, root, format!("the root of {text} stands in its place")),
    ]
}
