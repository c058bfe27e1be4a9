//! The general way through a loop nest: the code runs on chunks of a row, with its error analysis.

use std::ops::ControlFlow;

use crate::address::{
    Address, AxisSub, Chunk, Found, Stray, all_affine, axes, axis_sub, flat, is_integer, positions,
};
use crate::affine::Sub;
use crate::bound::Settling;
use crate::contest::Best;
use crate::error::{Error, Result};
use crate::exec::{AMBIGUOUS, Sums};
use crate::facts::Facts;
use crate::format::Format;
use crate::lanes::{LANES, Lanes, Machine};
use crate::lower::{Access, Array, Instr};
use crate::runner::Runner;
use crate::shape::DType;
use crate::space::Space;
use crate::span::Span;

impl Runner<'_> {
    /// What is known about the values, and about those at each `Settle`.
    pub(crate) fn facts(&self, temporaries: &[Sums], work: DType) -> (Facts, Vec<Settling>) {
        let mut stack: Vec<Facts> = Vec::new();
        let mut settlings = Vec::new();
        let format = Format::of(work);
        for instr in &self.nest.code {
            let mut pop = || stack.pop().unwrap_or(Facts::NOTHING);
            let facts = match instr {
                Instr::Const(value) => Facts::number(*value, work),
                Instr::Nothing => Facts { constant: Some(0.0), ..Facts::NOTHING },
                Instr::Int(_) => Facts { spread: 0.0, ..Facts::NOTHING },
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
                    let facts = pop();
                    Facts { constant: facts.constant.map(|value| -value), ..facts }
                }
                Instr::Binary(op) => {
                    let (b, a) = (pop(), pop());
                    Facts::binary(*op, a, b)
                }
                Instr::Settle => {
                    let facts = pop();
                    settlings.push(Settling::new(&facts, format));
                    facts.settled()
                }
                Instr::Call(func) => {
                    let b = pop();
                    let a = if func.arity() == 2 { pop() } else { b };
                    Facts::call(*func, a, b)
                }
                Instr::Compare(_) | Instr::Join(_) => {
                    pop();
                    pop();
                    Facts::NOTHING
                }
                Instr::Select => {
                    let (no, yes) = (pop(), pop());
                    pop();
                    Facts::either(yes, no)
                }
            };
            stack.push(facts);
        }
        (stack.pop().unwrap_or(Facts::NOTHING), settlings)
    }

    pub(crate) fn general(
        &self,
        space: &mut Space,
        to: &Address,
        target: &mut Sums,
        temporaries: &[Sums],
        element: Option<&[i64]>,
        settlings: &[Settling],
    ) -> Result<()> {
        let own;
        let to = match (to, self.nest.target.array) {
            (_, Array::Temporary(_)) => {
                own = Address::Flat(space.follow(&target.address()));
                &own
            }
            (to, _) => to,
        };
        let layouts = &self.lowered.tensors;
        let reads: Vec<Address> =
            self.nest.reads.iter().map(|read| self.read(space, read, temporaries)).collect();
        let ints: Vec<AxisSub> =
            self.nest.ints.iter().map(|sub| axis_sub(space, sub, layouts)).collect();
        let contest = self.nest.contest.as_ref();
        let mut best = contest.map(|contest| {
            (Best::new(contest.reduction, target.len()), space.follow(&contest.place))
        });
        let positions = positions(space, self.lowered.ranges.len());
        let wanted = element.map(|element| {
            let strides = &self.array_address(&self.nest.target).1;
            element.iter().zip(strides).map(|(at, stride)| at * stride).sum::<i64>()
        });
        let sources = Sources { reads: &reads, ints: &ints, temporaries, settlings };
        let mut machine = Machine::default();
        let mut result = Ok(());
        let _ = space.rows(&mut |row| {
            let mut first = 0;
            while first < row.count {
                let count = LANES.min(row.count - first);
                let chunk =
                    Chunk { row, first, count, positions: &positions, tensors: self.tensors };
                result = self.chunk(&chunk, &sources, &mut machine, target);
                if result.is_ok()
                    && let Some(lanes) = machine.pop()
                {
                    match &mut best {
                        Some((best, place)) => enter(lanes, to, &chunk, *place, best),
                        None => result = self.scatter(lanes, to, &chunk, wanted, target),
                    }
                }
                if result.is_err() {
                    return ControlFlow::Break(());
                }
                first += LANES;
            }
            ControlFlow::Continue(())
        });
        if let Some((best, _)) = best {
            best.finish(target);
        }
        result
    }

    /// Runs the code for the iterations of a chunk; their values are on the stack then.
    fn chunk(
        &self,
        chunk: &Chunk<'_>,
        sources: &Sources<'_>,
        machine: &mut Machine,
        target: &mut Sums,
    ) -> Result<()> {
        let format = Format::of(target.work);
        let mut settlings = sources.settlings.iter();
        for instr in &self.nest.code {
            match instr {
                Instr::Const(value) => machine.push().constant(*value),
                Instr::Nothing => machine.push().clone_from(&Lanes::ZERO),
                Instr::Load(place) => {
                    let address = &sources.reads[*place];
                    let lanes = machine.push();
                    let access = &self.nest.reads[*place];
                    self.load(access, address, chunk, sources.temporaries, lanes)?;
                }
                Instr::Int(place) => {
                    let lanes = machine.push();
                    for lane in 0..chunk.count {
                        let value = chunk.subscript(&sources.ints[*place], lane);
                        let value = value.ok_or_else(no_number)?;
                        lanes.element(lane, value as f64, 0.0);
                    }
                }
                Instr::Neg => machine.negate(),
                Instr::Binary(op) => machine.binary(*op),
                Instr::Settle => {
                    if let Some(settling) = settlings.next() {
                        machine.settle(settling, chunk.count);
                    }
                }
                Instr::Call(func) => machine.call(*func, &format, chunk.count),
                Instr::Compare(cmp) => machine.compare(*cmp, chunk.count),
                Instr::Join(junction) => machine.join(*junction, chunk.count),
                Instr::Select => machine.select(chunk.count, &mut target.ambiguity),
            }
        }
        Ok(())
    }

    fn read(&self, space: &mut Space, read: &Access, temporaries: &[Sums]) -> Address {
        if let Array::Temporary(id) = read.array {
            return Address::Flat(space.follow(&temporaries[id].address()));
        }
        let (_, strides) = self.array_address(read);
        match all_affine(read) {
            Some(affine) if !read.padded => Address::Flat(space.follow(&flat(&affine, &strides))),
            _ => Address::Axes(axes(space, read, &self.lowered.tensors)),
        }
    }

    fn load(
        &self,
        access: &Access,
        address: &Address,
        chunk: &Chunk<'_>,
        temporaries: &[Sums],
        lanes: &mut Lanes,
    ) -> Result<()> {
        match access.array {
            Array::Tensor(id) => {
                let Some(data) = &self.tensors[id] else { return Ok(()) };
                for lane in 0..chunk.count {
                    if let Some(at) = chunk.address(address, lane) {
                        let error = data.errors.get(at).copied().unwrap_or(0.0);
                        lanes.element(lane, data.values[at], error);
                    } else {
                        self.outside(access, address, chunk, lane)?;
                        lanes.outside(lane, access.outside);
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
        Ok(())
    }

    fn scatter(
        &self,
        lanes: &Lanes,
        to: &Address,
        chunk: &Chunk<'_>,
        wanted: Option<i64>,
        target: &mut Sums,
    ) -> Result<()> {
        for lane in 0..chunk.count {
            let Some(mut at) = chunk.address(to, lane) else {
                self.outside(&self.nest.target, to, chunk, lane)?;
                continue;
            };
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
        Ok(())
    }

    /// An access has no address: fine if it is padded, and the subscripts can be computed.
    fn outside(
        &self,
        access: &Access,
        address: &Address,
        chunk: &Chunk<'_>,
        lane: usize,
    ) -> Result<()> {
        if !access.subs.iter().any(|sub| matches!(sub, Sub::Gather(_))) {
            return Ok(());
        }
        let (Some(stray), Array::Tensor(id)) = (chunk.stray(address, lane), access.array) else {
            return Ok(());
        };
        if access.padded && stray.path.is_empty() && stray.subscript.is_some() {
            return Ok(());
        }
        Err(self.gone_astray(&stray, id))
    }

    fn gone_astray(&self, stray: &Stray, accessed: usize) -> Error {
        let layouts = &self.lowered.tensors;
        let name = &layouts[stray.path.first().copied().unwrap_or(accessed)].name;
        let Stray { axis, size, subscript, .. } = stray;
        let element = |(tensor, found): &(usize, Found)| {
            let layout = &layouts[*tensor];
            let coords = layout.coords(found.at);
            let coords = coords.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
            let bare = if coords.is_empty() { String::new() } else { format!("[{coords}]") };
            format!("`{}{bare}` is {}", layout.name, found.value)
        };
        let found = stray.found.iter().map(element).collect::<Vec<_>>().join(" and ");
        let unfit = stray.found.iter().find(|(_, found)| !is_integer(found.value));
        let inexact = stray.found.iter().find(|(_, found)| found.error > 0.0);
        let (message, help) = match (unfit, inexact, subscript) {
            (Some(one), ..) => (
                format!("{}, and so no subscript of `{name}`", element(one)),
                "the data of a tensor of type i32 are 32-bit integers".to_owned(),
            ),
            (None, Some(one), _) => (
                format!(
                    "{}: {}, but rounding may change it, and it is a subscript of `{name}`",
                    AMBIGUOUS,
                    element(one)
                ),
                "subscripts come from exact data".to_owned(),
            ),
            (None, None, Some(at)) => (
                format!(
                    "{found}: this is subscript {at} on axis {axis} of `{name}`, which has size {size}"
                ),
                format!(
                    "give data that stay in 0 .. {size}, or mend the subscript; if it shall be left out, write `{name}?[...]`"
                ),
            ),
            (None, None, None) => (format!("{found}: no subscript of `{name}`"), String::new()),
        };
        let error = Error::new(Span::default(), message);
        if help.is_empty() { error } else { error.help(help) }
    }
}

/// Where the code of a nest finds its values.
struct Sources<'a> {
    reads: &'a [Address],
    ints: &'a [AxisSub],
    temporaries: &'a [Sums],
    settlings: &'a [Settling],
}

fn enter(lanes: &Lanes, to: &Address, chunk: &Chunk<'_>, place: usize, best: &mut Best) {
    for lane in 0..chunk.count {
        if let Some(at) = chunk.address(to, lane) {
            let padding = lanes.is_padding(lane, best.reduction());
            best.enter(at, lanes.settled(lane), (padding, chunk.form(place, lane)));
        }
    }
}

fn no_number() -> Error {
    Error::new(Span::default(), "an element in an `index(...)` is not exact, or no 32-bit integer")
        .help("the data of a tensor of type i32 are 32-bit integers")
}
