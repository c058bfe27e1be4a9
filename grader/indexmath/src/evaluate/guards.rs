//! Guards that depend on data, or are not affine: they are looked at iteration by iteration.

use crate::error::{Error, Result};
use crate::evaluate::address::{AxisSubscript, Chunk, SubscriptElement};
use crate::evaluate::iteration_space::IterationSpace;
use crate::lower::nest::{Layout, LoopNest, LoweredProgram, Side, Subscript};
use crate::program::node::IndexId;

/// The guards of a nest that do not constrain its iteration space.
pub(crate) struct IterationGuards {
    all: Vec<IterationGuard>,
}

struct IterationGuard {
    /// 0 or more where the guard holds.
    slack: AxisSubscript,
    limited: Option<(IndexId, Side)>,
}

impl IterationGuards {
    pub(crate) fn new(space: &mut IterationSpace, nest: &LoopNest, layouts: &[Layout]) -> Self {
        let guards = nest.guards.iter().filter(|g| !matches!(g.slack, Subscript::Affine(_)));
        let all = guards.map(|guard| IterationGuard {
            slack: AxisSubscript::new(space, &guard.slack, layouts),
            limited: guard.limited,
        });
        Self { all: all.collect() }
    }

    /// Cuts a chunk to its first iterations at which all guards hold, without those before them. Gives the number of iterations
    /// after which the next chunk starts, counted from the new start.
    ///
    /// # Errors
    /// Elements that are not exact integers, and ranges that go beyond the values that the index has.
    pub(crate) fn taken(&self, chunk: &mut Chunk<'_>, lowered: &LoweredProgram) -> Result<usize> {
        if self.all.is_empty() {
            return Ok(chunk.count);
        }
        let mut held = 0;
        for lane in 0..chunk.count {
            if self.hold(chunk, lane, lowered)? {
                held += 1;
            } else if held > 0 {
                chunk.count = held;
                return Ok(held);
            } else {
                chunk.first += 1;
                chunk.count -= 1;
                // The lanes are counted from the new start.
                return self.taken(chunk, lowered);
            }
        }
        Ok(chunk.count)
    }

    fn hold(&self, chunk: &Chunk<'_>, lane: usize, lowered: &LoweredProgram) -> Result<bool> {
        let mut all = true;
        for guard in &self.all {
            let Some(slack) = chunk.subscript(&guard.slack, lane) else {
                return Err(not_a_limit(guard, chunk, lane, lowered));
            };
            if let Some((id, side)) = guard.limited
                && slack >= 1
                && chunk.index(id, lane) == end(side, lowered.ranges[id])
            {
                return Err(beyond(guard, (id, side), chunk, lane, lowered));
            }
            all &= slack >= 0;
        }
        Ok(all)
    }
}

/// The elements in a guard, each as ``` `len[2]` is 9 ```.
fn described(
    guard: &IterationGuard,
    chunk: &Chunk<'_>,
    lane: usize,
    lowered: &LoweredProgram,
) -> String {
    let describe = |element: SubscriptElement| {
        let name = lowered.tensors[element.tensor].element_name(element.at);
        format!("`{name}` is {}", element.value)
    };
    let elements = chunk.elements_of(&guard.slack, lane);
    elements.into_iter().map(describe).collect::<Vec<_>>().join(" and ")
}

fn not_a_limit(
    guard: &IterationGuard,
    chunk: &Chunk<'_>,
    lane: usize,
    lowered: &LoweredProgram,
) -> Error {
    let found = described(guard, chunk, lane, lowered);
    let message = format!("{found}, which cannot be the limit of a range");
    Error::unplaced(message).help("a range is limited by exact integers")
}

/// The last value of an index on a side of its range.
fn end(side: Side, range: i64) -> i64 {
    match side {
        Side::Below => 0,
        Side::Above => range - 1,
    }
}

/// The error of a range that goes beyond the last value of its index on a side.
fn beyond(
    guard: &IterationGuard,
    (id, side): (IndexId, Side),
    chunk: &Chunk<'_>,
    lane: usize,
    lowered: &LoweredProgram,
) -> Error {
    let (name, found) = (&lowered.names[id], described(guard, chunk, lane, lowered));
    let last = lowered.ranges[id] - 1;
    let (place, limit) = match side {
        Side::Below => ("starts below 0".to_owned(), "max(0, ...)"),
        Side::Above => (format!("goes past {last}"), "min(..., SIZE)"),
    };
    let message = format!("{found}: the range of `{name}` {place}");
    let values =
        format!("`{name}` has the values 0 .. {last}, because of the axis that it stands on");
    Error::unplaced(message)
        .help(format!("{values}; give other data, or write the limit as `{limit}`"))
}
