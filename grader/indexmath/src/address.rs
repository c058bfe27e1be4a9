//! From subscripts to flat addresses, along the rows of a walk.

use crate::affine::{Affine, ELEMENT, Gather, Sub, value};
use crate::ast::Int;
use crate::exec::Data;
use crate::ir::IndexId;
use crate::lower::{Access, Array, Layout};
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
    Gather(Lookup),
}

/// A subscript with elements of integer tensors in it.
pub(crate) struct Lookup {
    int: Int,
    first: IndexId,
    elements: Vec<Element>,
}

pub(crate) struct Element {
    tensor: usize,
    address: Address,
}

/// For each index: its place among the loops.
pub(crate) fn positions(space: &Space, indices: usize) -> Vec<usize> {
    let mut positions = vec![usize::MAX; indices];
    for (place, l) in space.loops().iter().enumerate() {
        positions[l.index] = place;
    }
    positions
}

/// Up to [`LANES`](crate::lanes::LANES) iterations of a row.
pub(crate) struct Chunk<'a> {
    pub row: &'a Row<'a>,
    pub first: usize,
    pub count: usize,
    pub positions: &'a [usize],
    pub tensors: &'a [Option<Data<'a>>],
}

/// Where an element of an integer tensor lies, and what it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub at: usize,
    pub value: f64,
    pub error: f64,
}

impl Chunk<'_> {
    pub(crate) fn form(&self, form: usize, lane: usize) -> i64 {
        self.row.value(form, self.first + lane)
    }

    /// The flat address; `None` outside, and where an element that decides it is no integer.
    pub(crate) fn address(&self, address: &Address, lane: usize) -> Option<usize> {
        let axes = match address {
            Address::Flat(form) => return Some(self.form(*form, lane) as usize),
            Address::Axes(axes) => axes,
        };
        let mut flat = 0;
        for axis in axes {
            let at = self.subscript(&axis.sub, lane)?;
            if at < 0 || at >= axis.size {
                return None;
            }
            flat += at * axis.stride;
        }
        Some(flat as usize)
    }

    pub(crate) fn subscript(&self, sub: &AxisSub, lane: usize) -> Option<i64> {
        match sub {
            AxisSub::Followed(form) => Some(self.form(*form, lane)),
            AxisSub::General(int) => Some(value(int, &|id| self.index(id, lane))),
            AxisSub::Gather(lookup) => self.lookup(lookup, lane),
        }
    }

    fn index(&self, id: IndexId, lane: usize) -> i64 {
        let place = self.positions[id];
        let last = self.row.at.len().wrapping_sub(1);
        let inner = if place == last { (self.first + lane) as i64 } else { 0 };
        self.row.at.get(place).copied().unwrap_or(0) + inner
    }

    fn lookup(&self, lookup: &Lookup, lane: usize) -> Option<i64> {
        let mut elements = Vec::with_capacity(lookup.elements.len());
        for element in &lookup.elements {
            let Found { value, error, .. } = self.found(element, lane)?;
            if error > 0.0 || !is_integer(value) {
                return None;
            }
            elements.push(value as i64);
        }
        let of = |id: IndexId| match id.checked_sub(lookup.first) {
            Some(place) => elements[place],
            None => self.index(id, lane),
        };
        Some(value(&lookup.int, &of))
    }

    fn found(&self, element: &Element, lane: usize) -> Option<Found> {
        let data = self.tensors[element.tensor].as_ref()?;
        let at = self.address(&element.address, lane)?;
        let error = data.errors.get(at).copied().unwrap_or(0.0);
        Some(Found { at, value: data.values[at], error })
    }

    /// Why [`Self::address`] has no answer: the axis, what its elements are, and the subscript that comes of them.
    /// An element that cannot be found is looked for in its own subscripts.
    pub(crate) fn stray(&self, address: &Address, lane: usize) -> Option<Stray> {
        let Address::Axes(axes) = address else { return None };
        for (place, axis) in axes.iter().enumerate() {
            let subscript = self.subscript(&axis.sub, lane);
            if subscript.is_some_and(|at| at >= 0 && at < axis.size) {
                continue;
            }
            let AxisSub::Gather(lookup) = &axis.sub else { continue };
            let mut found = Vec::new();
            for element in &lookup.elements {
                let Some(one) = self.found(element, lane) else {
                    let mut inner = self.stray(&element.address, lane)?;
                    inner.path.push(element.tensor);
                    return Some(inner);
                };
                found.push((element.tensor, one));
            }
            let path = Vec::new();
            return Some(Stray { axis: place, size: axis.size, found, subscript, path });
        }
        None
    }
}

/// A subscript outside its axis, or none at all.
pub(crate) struct Stray {
    pub axis: usize,
    pub size: i64,
    /// Tensors and their elements in the subscript.
    pub found: Vec<(usize, Found)>,
    pub subscript: Option<i64>,
    /// The tensors in whose subscripts this one stands, the innermost first; empty: the access itself.
    pub path: Vec<usize>,
}

pub(crate) fn is_integer(value: f64) -> bool {
    value.fract() == 0.0 && value >= ELEMENT.0 as f64 && value <= ELEMENT.1 as f64
}

pub(crate) fn all_affine(access: &Access) -> Option<Vec<Affine>> {
    let affine = |sub: &Sub| match sub {
        Sub::Affine(affine) => Some(affine.clone()),
        Sub::General(_) | Sub::Gather(_) => None,
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

pub(crate) fn axes(space: &mut Space, access: &Access, layouts: &[Layout]) -> Vec<Axis> {
    let Array::Tensor(id) = access.array else { return Vec::new() };
    let Layout { shape, strides, .. } = &layouts[id];
    let subs = access.subs.iter().zip(shape.iter().zip(strides));
    subs.map(|(sub, (&size, &stride))| Axis {
        sub: axis_sub(space, sub, layouts),
        size: size as i64,
        stride,
    })
    .collect()
}

pub(crate) fn axis_sub(space: &mut Space, sub: &Sub, layouts: &[Layout]) -> AxisSub {
    match sub {
        Sub::Affine(affine) => AxisSub::Followed(space.follow(affine)),
        Sub::General(int) => AxisSub::General(int.clone()),
        Sub::Gather(gather) => {
            let Gather { int, first, elements, .. } = gather.as_ref();
            let elements = elements.iter().filter_map(|access| {
                let Array::Tensor(tensor) = access.array else { return None };
                Some(Element { tensor, address: Address::Axes(axes(space, access, layouts)) })
            });
            let elements = elements.collect();
            AxisSub::Gather(Lookup { int: int.clone(), first: *first, elements })
        }
    }
}
