//! Which statements assign a tensor together: the start and the step of a recurrence, or several with `+=`.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::program::node::IndexId;
use crate::syntax::ast::Statement;
use crate::syntax::int_expr::{IntExpr, IntKind, IntOp};

/// The statements that assign a tensor.
pub(crate) struct Group {
    pub(crate) positions: Vec<usize>,
    pub(crate) first: usize,
    pub(crate) last: usize,
    /// The axis along which a recurrence goes, if they are one.
    pub(crate) axis: Option<usize>,
}

/// The statements of each tensor.
///
/// # Errors
/// Statements that do not belong together, and recurrences without a start or with a step that is none.
pub(crate) fn groups(statements: &[Statement]) -> Result<BTreeMap<String, Group>> {
    let mut positions: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (position, statement) in statements.iter().enumerate() {
        positions.entry(statement.target.clone()).or_default().push(position);
    }
    let mut groups = BTreeMap::new();
    for (name, positions) in positions {
        let all: Vec<&Statement> = positions.iter().map(|&at| &statements[at]).collect();
        let axis = axis(&all)?;
        let (first, last) = (positions[0], positions[positions.len() - 1]);
        groups.insert(name, Group { positions, first, last, axis });
    }
    Ok(groups)
}

/// The axis of the recurrence that the statements of one tensor are; `None` if they are none.
fn axis(all: &[&Statement]) -> Result<Option<usize>> {
    let first_place = |statement: &Statement| {
        let mut places = statement.subscripts.iter().map(place);
        places.position(|place| place.is_some()).filter(|_| !statement.adds)
    };
    let Some(axis) = all.iter().find_map(|statement| first_place(statement)) else {
        return repeated(all).map(|()| None);
    };
    let name = &all[0].target;
    let mut starts: Vec<i64> = Vec::new();
    let mut step: Option<i64> = None;
    for statement in all {
        let found = statement.subscripts.get(axis).and_then(place).filter(|_| !statement.adds);
        let again = |what: &str| {
            let message = format!("{what} of `{name}` is assigned twice");
            Error::new(statement.target_span, message)
                .help("a recurrence has one statement for each start, and one for its step")
        };
        match found {
            Some((None, start)) if starts.contains(&start) => {
                return Err(again(&format!("place {start}")));
            }
            Some((None, start)) => starts.push(start),
            Some((Some(_), _)) if step.is_some() => return Err(again("the step")),
            Some((Some(_), offset)) => step = Some(offset),
            None => {
                let message = format!("`{name}` is assigned in steps and as a whole");
                return Err(Error::new(statement.target_span, message).help(PATTERN));
            }
        }
    }
    check_places(all, axis, &starts, step)?;
    Ok(Some(axis))
}

const PATTERN: &str =
    "a recurrence is a start `u[0,i] = ...` and a step `u[t+1,i] = ... u[t,i] ...`";

/// Checks that a step and its starts fill the axis.
fn check_places(all: &[&Statement], axis: usize, starts: &[i64], step: Option<i64>) -> Result<()> {
    let name = &all[0].target;
    let Some(offset) = step else {
        let span = all[0].subscripts[axis].span;
        let message = format!("`{name}` is assigned at fixed places only");
        return Err(Error::new(span, message).help(PATTERN));
    };
    let is_step =
        |s: &&&Statement| s.subscripts.get(axis).and_then(place).is_some_and(|p| p.0.is_some());
    let span = all.iter().find(is_step).map_or(all[0].target_span, |s| s.subscripts[axis].span);
    if !(1..=MAX_STARTS).contains(&offset) {
        let message = format!("the step of `{name}` goes to {offset} places after its index");
        return Err(Error::new(span, message).help(PATTERN));
    }
    if let Some(missing) = (0..offset).find(|place| !starts.contains(place)) {
        let message = format!("no statement gives `{name}` at place {missing} of axis {axis}");
        return Err(Error::new(span, message).help(PATTERN));
    }
    if let Some(start) = starts.iter().find(|start| !(0..offset).contains(*start)) {
        let at = |s: &&&Statement| s.subscripts.get(axis).and_then(place) == Some((None, *start));
        let span = all.iter().find(at).map_or(span, |s| s.subscripts[axis].span);
        let message = format!("the step of `{name}` computes place {start}, too");
        return Err(Error::new(span, message).help(PATTERN));
    }
    Ok(())
}

/// The most starts that a recurrence can have.
const MAX_STARTS: i64 = 16;

/// Checks statements of a tensor that are no recurrence: one, or several of which all but the first add.
fn repeated(all: &[&Statement]) -> Result<()> {
    let Some(again) = all.iter().skip(1).find(|statement| !statement.adds) else { return Ok(()) };
    Err(Error::new(again.target_span, format!("`{}` is assigned twice", again.target))
        .help("a tensor is assigned only once; give the second result another name"))
}

/// What a subscript on the left selects in a recurrence: an index plus an offset other than 0, or a fixed place.
pub(crate) fn place(int: &IntExpr) -> Option<(Option<&str>, i64)> {
    let constant = |int: &IntExpr| match int.kind {
        IntKind::Const(value) => Some(value),
        _ => None,
    };
    let name = |int: &IntExpr| text_of(int).is_some();
    match &int.kind {
        IntKind::Const(value) => Some((None, *value)),
        IntKind::Binary(op @ (IntOp::Add | IntOp::Sub), left, right) if name(left) => {
            let value = constant(right)?;
            let index = text_of(left)?;
            Some((Some(index), if *op == IntOp::Add { value } else { value.checked_neg()? }))
        }
        IntKind::Binary(IntOp::Add, left, right) if name(right) => {
            Some((Some(text_of(right)?), constant(left)?))
        }
        _ => None,
    }
}

/// The same for a subscript whose names are resolved, where an offset may be 0.
pub(crate) fn resolved_place(int: &IntExpr) -> Option<(Option<IndexId>, i64)> {
    let constant = |int: &IntExpr| match int.kind {
        IntKind::Const(value) => Some(value),
        _ => None,
    };
    match &int.kind {
        IntKind::Const(value) => Some((None, *value)),
        IntKind::Index(id) => Some((Some(*id), 0)),
        IntKind::Binary(IntOp::Add, left, right) => match (left.as_index(), right.as_index()) {
            (Some(id), None) => Some((Some(id), constant(right)?)),
            (None, Some(id)) => Some((Some(id), constant(left)?)),
            _ => None,
        },
        IntKind::Binary(IntOp::Sub, left, right) => {
            Some((Some(left.as_index()?), constant(right)?.checked_neg()?))
        }
        _ => None,
    }
}

fn text_of(int: &IntExpr) -> Option<&str> {
    match &int.kind {
        IntKind::Name(name) => Some(name),
        _ => None,
    }
}

/// `name+offset`, as it is written.
pub(crate) fn plus_text(name: &str, offset: i64) -> String {
    match offset {
        0 => name.to_owned(),
        1.. => format!("{name}+{offset}"),
        _ => format!("{name}{offset}"),
    }
}
