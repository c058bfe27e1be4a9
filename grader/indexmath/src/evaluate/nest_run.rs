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

/// The elements at one place of an axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice<'a> {
    pub axis: usize,
    pub at: i64,
    /// For each axis of the tensor: how many elements apart neighbours are in the slice; 0 for its own axis.
    pub strides: &'a [i64],
}

impl Wanted<'_> {
    /// The coordinate on an axis that all wanted elements have.
    pub(crate) fn coordinate(&self, axis: usize) -> Option<i64> {
        match self {
            Self::All => None,
            Self::Element(coords) => Some(coords[axis]),
            Self::Slice(slice) => (slice.axis == axis).then_some(slice.at),
        }
    }

    /// The position among the wanted elements of the one that has the position `flat` in the tensor.
    pub(crate) fn position(&self, layout: &Layout, flat: usize) -> Option<usize> {
        let coords = match self {
            Self::All => return Some(flat),
            _ => layout.coords(flat),
        };
        let inside = |(axis, at): (usize, &i64)| self.coordinate(axis).is_none_or(|it| it == *at);
        if !coords.iter().enumerate().all(inside) {
            return None;
        }
        match self {
            Self::Slice(slice) => {
                let places = coords.iter().zip(slice.strides);
                Some(places.map(|(at, stride)| at * stride).sum::<i64>() as usize)
            }
            _ => Some(0),
        }
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
