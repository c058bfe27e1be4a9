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
    /// The coordinates of the only element that is wanted, if it is one.
    pub element: Option<&'a [i64]>,
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
