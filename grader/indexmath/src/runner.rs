//! Runs one loop nest.

use std::ops::ControlFlow;

use crate::address::{Address, Chunk, all_affine, axes, flat, positions};
use crate::affine::{Affine, Sub};
use crate::ast::Op;
use crate::bound::Facts;
use crate::exec::{Data, Sums};
use crate::ir::IndexId;
use crate::lanes::{LANES, Lanes, Machine};
use crate::lower::{Access, Array, Instr, Lowered, Nest};
use crate::shape::DType;
use crate::space::{Loop, Row, Space};

/// Up to this many terms the deterministic bound is the smaller one anyway.
const FEW_TERMS: f64 = 16.0;

pub(crate) struct Runner<'a> {
    pub lowered: &'a Lowered,
    pub nest: &'a Nest,
    pub tensors: &'a [Option<Data<'a>>],
    pub ranges: &'a [(i64, i64)],
}

impl Runner<'_> {
    pub(crate) fn run(&self, target: &mut Sums, temporaries: &[Sums], element: Option<&[i64]>) {
        let facts = self.facts(temporaries, target.dtype);
        let mut space = self.space();
        self.add_facts(target, facts);
        let flat = self.flat_target(&mut space, element);
        let exact = self.nest.reads.iter().all(|read| match read.array {
            Array::Tensor(id) => {
                self.tensors[id].as_ref().is_some_and(|data| data.errors.is_empty())
            }
            Array::Temporary(_) => false,
        });
        let affine = self.nest.reads.iter().all(|read| all_affine(read).is_some());
        if let (Some(factor), true, true, Address::Flat(to)) =
            (self.nest.product, exact, affine, &flat)
        {
            self.products(&mut space, factor, *to, target);
        } else {
            self.general(&mut space, &flat, target, temporaries, element);
        }
    }

    /// The loops, the longest one last: rows shall be long.
    fn space(&self) -> Space {
        let bounds = |&index: &IndexId| {
            let (low, high) = self.ranges[index];
            Loop { index, low, high }
        };
        let mut loops: Vec<Loop> = self.nest.loops.iter().map(bounds).collect();
        let longest = (0..loops.len()).max_by_key(|&place| loops[place].high - loops[place].low);
        if let Some(place) = longest {
            let inner = loops.remove(place);
            loops.push(inner);
        }
        Space::new(loops)
    }

    fn facts(&self, temporaries: &[Sums], dtype: DType) -> Facts {
        let mut stack: Vec<Facts> = Vec::new();
        for instr in &self.nest.code {
            let facts = match instr {
                Instr::Const(value) => Facts::number(*value, dtype),
                Instr::Load(place) => match self.nest.reads[*place].array {
                    Array::Tensor(id) => {
                        self.tensors[id].as_ref().map_or(Facts::NOTHING, |data| data.facts)
                    }
                    Array::Temporary(id) => {
                        let sums = &temporaries[id];
                        let additions = (sums.most_terms - 1.0).max(0.0);
                        Facts { additions, conspiring: sums.regular, ..sums.facts }
                    }
                },
                Instr::Neg => {
                    let facts = stack.pop().unwrap_or(Facts::NOTHING);
                    Facts { constant: facts.constant.map(|value| -value), ..facts }
                }
                Instr::Binary(op) => {
                    let b = stack.pop().unwrap_or(Facts::NOTHING);
                    let a = stack.pop().unwrap_or(Facts::NOTHING);
                    Facts::binary(*op, a, b)
                }
            };
            stack.push(facts);
        }
        stack.pop().unwrap_or(Facts::NOTHING)
    }

    fn add_facts(&self, target: &mut Sums, facts: Facts) {
        // Terms of an element: exact for a temporary, the mean for a tensor.
        let count = |id: &IndexId| self.lowered.ranges[*id] as f64;
        let iterations: f64 = self.nest.loops.iter().map(count).product();
        let elements = match self.nest.target.array {
            Array::Tensor(id) => self.lowered.tensors[id].len as f64,
            Array::Temporary(_) => target.axes.iter().map(|(id, ..)| count(id)).product(),
        };
        let each = iterations / elements;
        let sum = &mut target.facts;
        sum.spread = sum.spread.min(facts.spread);
        sum.roundings = sum.roundings.max(facts.roundings);
        sum.grain = sum.grain.zip(facts.grain).map(|(a, b)| a.max(b));
        let terms = each + facts.roundings;
        target.regular |= facts.is_regular(terms) && terms > FEW_TERMS;
        target.most_terms += each.max(1.0) * (facts.additions + 1.0);
    }

    fn array_address(&self, access: &Access) -> (Vec<i64>, Vec<i64>) {
        match access.array {
            Array::Tensor(id) => {
                let layout = &self.lowered.tensors[id];
                (layout.shape.iter().map(|&size| size as i64).collect(), layout.strides.clone())
            }
            Array::Temporary(_) => (Vec::new(), Vec::new()),
        }
    }

    /// The address of the target, with limits so that it is inside and is `element`.
    fn flat_target(&self, space: &mut Space, element: Option<&[i64]>) -> Address {
        let access = &self.nest.target;
        if let Array::Temporary(_) = access.array {
            // Its axes are known to the array itself.
            return Address::Axes(Vec::new());
        }
        let (shape, strides) = self.array_address(access);
        let subs = access.subs.iter().enumerate();
        for (axis, sub) in subs {
            if let Sub::Affine(affine) = sub {
                match element {
                    Some(element) => space.limit(affine, element[axis], element[axis]),
                    None if access.padded => space.limit(affine, 0, shape[axis] - 1),
                    None => {}
                }
            }
        }
        match (all_affine(access), element) {
            (Some(_), Some(_)) => Address::Flat(space.follow(&Affine::default())),
            (Some(affine), None) => Address::Flat(space.follow(&flat(&affine, &strides))),
            (None, _) => Address::Axes(axes(space, access, &shape, &strides)),
        }
    }

    fn products(&self, space: &mut Space, factor: f64, to: usize, target: &mut Sums) {
        let mut factors: Vec<(usize, &[f64])> = Vec::new();
        for read in &self.nest.reads {
            let (Array::Tensor(id), Some(affine)) = (read.array, all_affine(read)) else { return };
            let Some(data) = &self.tensors[id] else { return };
            let (shape, strides) = self.array_address(read);
            if read.padded {
                for (affine, size) in affine.iter().zip(&shape) {
                    space.limit(affine, 0, size - 1);
                }
            }
            factors.push((space.follow(&flat(&affine, &strides)), &data.values));
        }
        let _ = space.rows(&mut |row| {
            let at = |form: usize, lane: usize| {
                (row.values[form] + row.steps[form] * lane as i64) as usize
            };
            match factors.as_slice() {
                [(f, a)] => accumulate(target, row, to, |l| factor * a[at(*f, l)]),
                [(f, a), (g, b)] => {
                    accumulate(target, row, to, |l| factor * a[at(*f, l)] * b[at(*g, l)]);
                }
                all => accumulate(target, row, to, |l| {
                    all.iter().fold(factor, |product, (f, a)| product * a[at(*f, l)])
                }),
            }
            ControlFlow::Continue(())
        });
    }

    fn general(
        &self,
        space: &mut Space,
        to: &Address,
        target: &mut Sums,
        temporaries: &[Sums],
        element: Option<&[i64]>,
    ) {
        let own;
        let to = match (to, self.nest.target.array) {
            (_, Array::Temporary(_)) => {
                own = Address::Flat(space.follow(&target.address()));
                &own
            }
            (to, _) => to,
        };
        let reads: Vec<Address> =
            self.nest.reads.iter().map(|read| self.read(space, read, temporaries)).collect();
        let positions = positions(space, self.lowered.ranges.len());
        let wanted = element.map(|element| {
            let strides = &self.array_address(&self.nest.target).1;
            element.iter().zip(strides).map(|(at, stride)| at * stride).sum::<i64>()
        });
        let mut machine = Machine::default();
        let _ = space.rows(&mut |row| {
            let mut first = 0;
            while first < row.count {
                let chunk = Chunk {
                    row,
                    first,
                    count: LANES.min(row.count - first),
                    positions: &positions,
                };
                for instr in &self.nest.code {
                    match instr {
                        Instr::Const(value) => machine.push().constant(*value),
                        Instr::Neg => machine.negate(),
                        Instr::Binary(Op::Add) => machine.add(1.0),
                        Instr::Binary(Op::Sub) => machine.add(-1.0),
                        Instr::Binary(Op::Mul) => machine.multiply(),
                        Instr::Binary(Op::Div) => machine.divide(),
                        Instr::Load(place) => {
                            let lanes = machine.push();
                            let source = self.nest.reads[*place].array;
                            self.load(source, &reads[*place], &chunk, temporaries, lanes);
                        }
                    }
                }
                if let Some(lanes) = machine.pop() {
                    scatter(lanes, to, &chunk, wanted, target);
                }
                first += chunk.count;
            }
            ControlFlow::Continue(())
        });
    }

    fn read(&self, space: &mut Space, read: &Access, temporaries: &[Sums]) -> Address {
        if let Array::Temporary(id) = read.array {
            return Address::Flat(space.follow(&temporaries[id].address()));
        }
        let (shape, strides) = self.array_address(read);
        match all_affine(read) {
            Some(affine) if !read.padded => Address::Flat(space.follow(&flat(&affine, &strides))),
            _ => Address::Axes(axes(space, read, &shape, &strides)),
        }
    }

    fn load(
        &self,
        source: Array,
        address: &Address,
        chunk: &Chunk<'_>,
        temporaries: &[Sums],
        lanes: &mut Lanes,
    ) {
        match source {
            Array::Tensor(id) => {
                let Some(data) = &self.tensors[id] else { return };
                for lane in 0..chunk.count {
                    match chunk.address(address, lane) {
                        Some(at) => {
                            let error = data.errors.get(at).copied().unwrap_or(0.0);
                            lanes.element(lane, data.values[at], error);
                        }
                        None => lanes.nothing(lane),
                    }
                }
            }
            Array::Temporary(id) => {
                let sums = &temporaries[id];
                for lane in 0..chunk.count {
                    if let Some(at) = chunk.address(address, lane) {
                        lanes.value[lane] = sums.value[at];
                        lanes.magnitude[lane] = sums.magnitude[at];
                        lanes.terms[lane] = sums.terms[at];
                        lanes.inherited[lane] = sums.inherited[at];
                    }
                }
            }
        }
    }
}

/// Adds `term(lane)` for a whole row.
#[inline]
fn accumulate(target: &mut Sums, row: &Row<'_>, to: usize, term: impl Fn(usize) -> f64) {
    let (first, step) = (row.values[to] as usize, row.steps[to]);
    if step == 0 {
        let (mut value, mut magnitude) = (0.0, 0.0);
        for lane in 0..row.count {
            let term = term(lane);
            value += term;
            magnitude += term.abs();
        }
        target.value[first] += value;
        target.magnitude[first] += magnitude;
        target.terms[first] += row.count as f64;
    } else {
        for lane in 0..row.count {
            let at = (row.values[to] + step * lane as i64) as usize;
            let term = term(lane);
            target.value[at] += term;
            target.magnitude[at] += term.abs();
            target.terms[at] += 1.0;
        }
    }
}

fn scatter(lanes: &Lanes, to: &Address, chunk: &Chunk<'_>, wanted: Option<i64>, target: &mut Sums) {
    for lane in 0..chunk.count {
        let Some(mut at) = chunk.address(to, lane) else { continue };
        if let (Address::Axes(_), Some(wanted)) = (to, wanted) {
            if at as i64 != wanted {
                continue;
            }
            at = 0;
        }
        target.value[at] += lanes.value[lane];
        target.magnitude[at] += lanes.magnitude[lane];
        target.terms[at] += lanes.terms[lane];
        target.inherited[at] += lanes.inherited[lane];
    }
}
