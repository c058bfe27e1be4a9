//! Computes flat addresses from subscripts, along the rows of a walk.

use crate::evaluate::data::TensorData;
use crate::evaluate::iteration_space::{IterationSpace, Row};
use crate::integer::evaluate::evaluate_proved;
use crate::integer::interval::Interval;
use crate::lower::nest::{
    Access, Array, ElementAccess, IndirectSubscript, Layout, Subscript, TensorId,
};
use crate::program::node::IndexId;
use crate::syntax::int_expr::IntExpr;

/// How the element of an access is found.
pub(crate) enum Address {
    /// The number of a tracked form that is the flat address and never outside.
    Flat(usize),
    /// One subscript for each axis, each to be checked against the axis.
    Axes(Vec<AxisAddress>),
}

/// A subscript and the axis that it selects from.
pub(crate) struct AxisAddress {
    subscript: AxisSubscript,
    size: i64,
    stride: i64,
}

/// How the value of a subscript is found.
pub(crate) enum AxisSubscript {
    /// The number of a tracked form.
    Tracked(usize),
    NonAffine(IntExpr),
    Indirect(Lookup),
}

/// An indirect subscript, see [`IndirectSubscript`].
pub(crate) struct Lookup {
    int: IntExpr,
    first: IndexId,
    elements: Vec<ElementPlace>,
}

/// Where an element of a subscript is found.
struct ElementPlace {
    tensor: TensorId,
    address: Address,
    /// The values that its type has.
    values: Interval,
}

impl Address {
    /// The address of an access to a tensor, axis by axis.
    pub(crate) fn by_axes(space: &mut IterationSpace, access: &Access, layouts: &[Layout]) -> Self {
        let Array::Tensor(id) = access.array else { return Self::Axes(Vec::new()) };
        let Layout { shape, strides, .. } = &layouts[id];
        let axes = access.subscripts.iter().zip(shape.iter().zip(strides));
        let axes = axes.map(|(subscript, (&size, &stride))| AxisAddress {
            subscript: AxisSubscript::new(space, subscript, layouts),
            size: size as i64,
            stride,
        });
        Self::Axes(axes.collect())
    }
}

impl AxisSubscript {
    pub(crate) fn new(
        space: &mut IterationSpace,
        subscript: &Subscript,
        layouts: &[Layout],
    ) -> Self {
        match subscript {
            Subscript::Affine(affine) => Self::Tracked(space.track(affine)),
            Subscript::NonAffine(int) => Self::NonAffine(int.clone()),
            Subscript::Indirect(indirect) => {
                let IndirectSubscript { int, first, elements } = indirect.as_ref();
                let elements = elements.iter().filter_map(|ElementAccess { access, values }| {
                    let Array::Tensor(tensor) = access.array else { return None };
                    let address = Address::by_axes(space, access, layouts);
                    Some(ElementPlace { tensor, address, values: *values })
                });
                let elements = elements.collect();
                Self::Indirect(Lookup { int: int.clone(), first: *first, elements })
            }
        }
    }
}

/// For each of `indices` indices: its position among the loops of a space.
pub(crate) fn loop_positions(space: &IterationSpace, indices: usize) -> Vec<usize> {
    let mut positions = vec![usize::MAX; indices];
    for (position, l) in space.loops().iter().enumerate() {
        positions[l.index] = position;
    }
    positions
}

/// Up to [`LANES`](crate::evaluate::lanes::LANES) consecutive iterations of a row; a lane is one of them.
pub(crate) struct Chunk<'a> {
    pub row: &'a Row<'a>,
    /// The number of the first iteration.
    pub first: usize,
    /// The number of iterations.
    pub count: usize,
    /// The position of each index among the loops, see [`loop_positions`].
    pub positions: &'a [usize],
    pub tensors: &'a [Option<TensorData<'a>>],
}

/// An element of an integer tensor that stands in a subscript.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SubscriptElement {
    pub tensor: TensorId,
    /// The position in the tensor's values.
    pub at: usize,
    pub value: f64,
    pub error: f64,
    /// The values that its type has.
    pub values: Interval,
}

impl SubscriptElement {
    /// Whether the value is one that an integer tensor can hold.
    pub(crate) fn is_integer(&self) -> bool {
        let Interval { low, high } = self.values;
        self.value.fract() == 0.0 && self.value >= low as f64 && self.value <= high as f64
    }
}

/// A subscript outside its axis, or one that has no value at all.
pub(crate) struct OutOfBounds {
    pub axis: usize,
    /// The length of the axis.
    pub size: i64,
    /// The elements in the subscript.
    pub elements: Vec<SubscriptElement>,
    pub subscript: Option<i64>,
    /// The tensors in whose subscripts this one stands, the innermost first; empty for one of the access itself.
    pub path: Vec<TensorId>,
}

impl Chunk<'_> {
    /// The value of a tracked form.
    pub(crate) fn form(&self, form: usize, lane: usize) -> i64 {
        self.row.value(form, self.first + lane)
    }

    /// The flat address; `None` outside, and where an element that decides it is not an exact integer.
    pub(crate) fn address(&self, address: &Address, lane: usize) -> Option<usize> {
        let axes = match address {
            Address::Flat(form) => return Some(self.form(*form, lane) as usize),
            Address::Axes(axes) => axes,
        };
        let mut flat = 0;
        for axis in axes {
            let at = self.subscript(&axis.subscript, lane)?;
            if at < 0 || at >= axis.size {
                return None;
            }
            flat += at * axis.stride;
        }
        Some(flat as usize)
    }

    /// The value of a subscript; `None` where an element in it is not an exact integer.
    pub(crate) fn subscript(&self, subscript: &AxisSubscript, lane: usize) -> Option<i64> {
        match subscript {
            AxisSubscript::Tracked(form) => Some(self.form(*form, lane)),
            AxisSubscript::NonAffine(int) => Some(evaluate_proved(int, &|id| self.index(id, lane))),
            AxisSubscript::Indirect(lookup) => self.look_up(lookup, lane),
        }
    }

    /// The elements that a subscript contains.
    pub(crate) fn elements_of(
        &self,
        subscript: &AxisSubscript,
        lane: usize,
    ) -> Vec<SubscriptElement> {
        let AxisSubscript::Indirect(lookup) = subscript else { return Vec::new() };
        lookup.elements.iter().filter_map(|element| self.element(element, lane)).collect()
    }

    /// The value of an index.
    pub(crate) fn index(&self, id: IndexId, lane: usize) -> i64 {
        let position = self.positions[id];
        let last = self.row.at.len().wrapping_sub(1);
        let inner = if position == last { (self.first + lane) as i64 } else { 0 };
        self.row.at.get(position).copied().unwrap_or(0) + inner
    }

    fn look_up(&self, lookup: &Lookup, lane: usize) -> Option<i64> {
        let mut elements = Vec::with_capacity(lookup.elements.len());
        for element in &lookup.elements {
            let found = self.element(element, lane)?;
            if found.error > 0.0 || !found.is_integer() {
                return None;
            }
            elements.push(found.value as i64);
        }
        let value_of = |id: IndexId| match id.checked_sub(lookup.first) {
            Some(position) => elements[position],
            None => self.index(id, lane),
        };
        Some(evaluate_proved(&lookup.int, &value_of))
    }

    fn element(&self, place: &ElementPlace, lane: usize) -> Option<SubscriptElement> {
        let &ElementPlace { tensor, ref address, values } = place;
        let data = self.tensors[tensor].as_ref()?;
        let at = self.address(address, lane)?;
        let (value, error) = (data.values[at], data.error(at));
        Some(SubscriptElement { tensor, at, value, error, values })
    }

    /// Why [`Self::address`] has no answer because of an indirect subscript. An element that cannot be found is looked for in
    /// its own subscripts.
    pub(crate) fn out_of_bounds(&self, address: &Address, lane: usize) -> Option<OutOfBounds> {
        let Address::Axes(axes) = address else { return None };
        for (position, axis) in axes.iter().enumerate() {
            let subscript = self.subscript(&axis.subscript, lane);
            if subscript.is_some_and(|at| at >= 0 && at < axis.size) {
                continue;
            }
            let AxisSubscript::Indirect(lookup) = &axis.subscript else { continue };
            let mut elements = Vec::new();
            for element in &lookup.elements {
                let Some(found) = self.element(element, lane) else {
                    let mut inner = self.out_of_bounds(&element.address, lane)?;
                    inner.path.push(element.tensor);
                    return Some(inner);
                };
                elements.push(found);
            }
            let (size, path) = (axis.size, Vec::new());
            return Some(OutOfBounds { axis: position, size, elements, subscript, path });
        }
        None
    }
}
