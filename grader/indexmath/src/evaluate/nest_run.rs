//! A loop nest with all that it reads.

use std::ops::Range;

use crate::evaluate::data::{Accumulators, TensorData};
use crate::lower::nest::{Access, Array, Layout, LoopNest, LoweredProgram};

/// A loop nest about to be run.
pub(crate) struct NestRun<'a> {
    pub lowered: &'a LoweredProgram,
    pub nest: &'a LoopNest,
    /// The data of each tensor; only those that are needed.
    pub tensors: &'a [Option<TensorData<'a>>],
    /// The temporaries that are complete.
    pub temporaries: &'a [Accumulators],
    /// The values that each index runs over.
    pub ranges: &'a [Range<i64>],
    pub wanted: Wanted<'a>,
}

/// The elements of a statement's target that are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted<'a> {
    All,
    /// The one at these coordinates.
    Element(&'a [i64]),
    Slice(Slice<'a>),
}

/// The elements at the places `low .. high` of an axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice<'a> {
    pub axis: usize,
    pub low: i64,
    pub high: i64,
    /// For each axis of the tensor: how many elements apart neighbours are in the slice; 0 for its own axis where that has one
    /// place alone.
    pub strides: &'a [i64],
}

impl Wanted<'_> {
    /// The coordinates on an axis that wanted elements have; `None` where they have all.
    pub(crate) fn coordinates(&self, axis: usize) -> Option<Range<i64>> {
        match self {
            Self::All => None,
            Self::Element(coords) => Some(coords[axis]..coords[axis] + 1),
            Self::Slice(slice) => (slice.axis == axis).then_some(slice.low..slice.high),
        }
    }

    /// The position among the wanted elements of the one that has the position `flat` in the tensor.
    pub(crate) fn position(&self, layout: &Layout, flat: usize) -> Option<usize> {
        let coords = match self {
            Self::All => return Some(flat),
            _ => layout.coords(flat),
        };
        let inside =
            |(axis, at): (usize, &i64)| self.coordinates(axis).is_none_or(|some| some.contains(at));
        if !coords.iter().enumerate().all(inside) {
            return None;
        }
        match self {
            Self::Slice(slice) => {
                let places = coords.iter().zip(slice.strides);
                let flat: i64 = places.map(|(at, stride)| at * stride).sum();
                Some((flat - slice.first()) as usize)
            }
            _ => Some(0),
        }
    }
}

impl Slice<'_> {
    /// The position that the strides give the first element.
    pub(crate) fn first(&self) -> i64 {
        self.low * self.strides[self.axis]
    }
}

impl NestRun<'_> {
    /// The layout of the tensor that an access selects from; `None` for a temporary.
    pub(crate) fn layout(&self, access: &Access) -> Option<&Layout> {
        match access.array {
            Array::Tensor(id) => Some(&self.lowered.tensors[id]),
            Array::Temporary(_) => None,
        }
    }

    /// The strides of the tensor that an access selects from; none for a temporary.
    pub(crate) fn strides(&self, access: &Access) -> &[i64] {
        self.layout(access).map_or(&[], |layout| layout.strides.as_slice())
    }
}
