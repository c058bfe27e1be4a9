//! From subscripts to flat addresses, along the rows of a walk.

use crate::affine::{Affine, Sub, value};
use crate::ast::Int;
use crate::ir::IndexId;
use crate::lower::Access;
use crate::space::{Row, Space};

/// How the element of an access is found.
pub(crate) enum Address {
    /// A followed form is the flat address, never outside.
    Flat(usize),
    Axes(Vec<Axis>),
}

pub(crate) struct Axis {
    sub: AxisSub,
    size: i64,
    stride: i64,
}

pub(crate) enum AxisSub {
    Followed(usize),
    General(Int),
}

/// For each index: its place among the loops.
pub(crate) fn positions(space: &Space, indices: usize) -> Vec<usize> {
    let mut positions = vec![usize::MAX; indices];
    for (place, l) in space.loops().iter().enumerate() {
        positions[l.index] = place;
    }
    positions
}

/// Up to [`LANES`] iterations of a row.
pub(crate) struct Chunk<'a> {
    pub row: &'a Row<'a>,
    pub first: usize,
    pub count: usize,
    pub positions: &'a [usize],
}

impl Chunk<'_> {
    pub(crate) fn form(&self, form: usize, lane: usize) -> i64 {
        self.row.value(form, self.first + lane)
    }

    /// The flat address; `None` outside.
    pub(crate) fn address(&self, address: &Address, lane: usize) -> Option<usize> {
        let axes = match address {
            Address::Flat(form) => return Some(self.form(*form, lane) as usize),
            Address::Axes(axes) => axes,
        };
        let last = self.row.at.len().wrapping_sub(1);
        let index = |id: IndexId| {
            let place = self.positions[id];
            let inner = if place == last { (self.first + lane) as i64 } else { 0 };
            self.row.at.get(place).copied().unwrap_or(0) + inner
        };
        let mut flat = 0;
        for axis in axes {
            let at = match &axis.sub {
                AxisSub::Followed(form) => self.form(*form, lane),
                AxisSub::General(int) => value(int, &index),
            };
            if at < 0 || at >= axis.size {
                return None;
            }
            flat += at * axis.stride;
        }
        Some(flat as usize)
    }
}

pub(crate) fn all_affine(access: &Access) -> Option<Vec<Affine>> {
    let affine = |sub: &Sub| match sub {
        Sub::Affine(affine) => Some(affine.clone()),
        Sub::General(_) => None,
    };
    access.subs.iter().map(affine).collect()
}

/// The flat address. It may wrap where a limit keeps the walker away.
pub(crate) fn flat(subs: &[Affine], strides: &[i64]) -> Affine {
    let mut sum = Affine::default();
    for (affine, stride) in subs.iter().zip(strides) {
        sum.constant = sum.constant.wrapping_add(affine.constant.wrapping_mul(*stride));
        for (id, coefficient) in &affine.terms {
            let step = coefficient.wrapping_mul(*stride);
            match sum.terms.iter_mut().find(|(other, _)| other == id) {
                Some((_, sum)) => *sum = sum.wrapping_add(step),
                None => sum.terms.push((*id, step)),
            }
        }
    }
    sum
}

pub(crate) fn axes(
    space: &mut Space,
    access: &Access,
    shape: &[i64],
    strides: &[i64],
) -> Vec<Axis> {
    let subs = access.subs.iter().zip(shape.iter().zip(strides));
    subs.map(|(sub, (&size, &stride))| {
        let sub = match sub {
            Sub::Affine(affine) => AxisSub::Followed(space.follow(affine)),
            Sub::General(int) => AxisSub::General(int.clone()),
        };
        Axis { sub, size, stride }
    })
    .collect()
}
