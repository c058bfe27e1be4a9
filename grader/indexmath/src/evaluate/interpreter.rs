//! The general path for a loop nest: its code runs on chunks of a row, with the error analysis.

use std::ops::ControlFlow;

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::evaluate::address::{
    Address, AxisSubscript, Chunk, OutOfBounds, SubscriptElement, loop_positions,
};
use crate::evaluate::data::Accumulators;
use crate::evaluate::extremum::TieRank;
use crate::evaluate::fold::Folds;
use crate::evaluate::guards::IterationGuards;
use crate::evaluate::iteration_space::IterationSpace;
use crate::evaluate::lanes::{LANES, LaneStack, Lanes};
use crate::evaluate::nest_run::NestRun;
use crate::integer::affine::Affine;
use crate::lower::nest::{Access, Array, Instr, Subscript, TensorId};
use crate::rounding::bound::ErrorModel;
use crate::rounding::enclosure::Enclosure;
use crate::rounding::format::Format;

/// Runs a nest whose target is found at `to`. `error_models` are those of the code's [`Instr::Enclose`].
///
/// # Errors
/// Elements of integer tensors that lead a subscript outside, or that are not exact integers.
pub(crate) fn interpret(
    run: &NestRun<'_>,
    space: &mut IterationSpace,
    to: &Address,
    target: &mut Accumulators,
    error_models: &[ErrorModel],
) -> Result<()> {
    let layouts = &run.lowered.tensors;
    let nest = run.nest;
    let reads = nest.reads.iter().map(|read| read_address(run, space, read)).collect();
    let ints = nest.ints.iter().map(|int| AxisSubscript::new(space, int, layouts)).collect();
    let guards = IterationGuards::new(space, nest, layouts);
    let mut folds = nest
        .fold
        .as_ref()
        .map(|fold| (Folds::new(fold.reduction, target.len()), space.track(&fold.position)));
    let positions = loop_positions(space, run.lowered.ranges.len());
    let format = Format::of(target.compute_type);
    let interpreter = Interpreter { run, reads, ints, error_models, format };
    let mut stack = LaneStack::default();
    let mut result = Ok(());
    let _ = space.rows(&mut |row| {
        let mut first = 0;
        while first < row.count {
            let count = LANES.min(row.count - first);
            let tensors = run.tensors;
            let mut chunk = Chunk { row, first, count, positions: &positions, tensors };
            let taken = match guards.taken(&mut chunk, run.lowered) {
                Ok(taken) => taken,
                Err(error) => {
                    result = Err(error);
                    return ControlFlow::Break(());
                }
            };
            first = chunk.first + taken;
            if chunk.count == 0 {
                continue;
            }
            result = interpreter.execute(&chunk, &mut stack, target);
            if result.is_ok()
                && let Some(lanes) = stack.pop()
            {
                match &mut folds {
                    Some((folds, position)) => enter(lanes, to, &chunk, *position, folds),
                    None => result = interpreter.scatter(lanes, to, &chunk, target),
                }
            }
            if result.is_err() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    });
    if let Some((folds, _)) = folds {
        folds.finish(target, &format);
    }
    result
}

/// How the element of a read is found.
fn read_address(run: &NestRun<'_>, space: &mut IterationSpace, read: &Access) -> Address {
    if let Array::Temporary(id) = read.array {
        return Address::Flat(space.track(&run.temporaries[id].address()));
    }
    match read.affine_subscripts() {
        Some(affine) if !read.padded => {
            Address::Flat(space.track(&Affine::flat_address(&affine, run.strides(read))))
        }
        _ => Address::by_axes(space, read, &run.lowered.tensors),
    }
}

/// Enters the values of a chunk into a reduction, whose positions are the tracked form `position`.
fn enter(lanes: &Lanes, to: &Address, chunk: &Chunk<'_>, position: usize, folds: &mut Folds) {
    for lane in 0..chunk.count {
        let Some(at) = chunk.address(to, lane) else { continue };
        let value = lanes.enclosure(lane);
        match folds {
            Folds::Products(products) => products.enter(at, value),
            Folds::Extrema(extrema) => {
                let padding = lanes.is_padding(lane, extrema.reduction());
                let rank = TieRank { padding, position: chunk.form(position, lane) };
                extrema.enter(at, value, rank);
            }
        }
    }
}

/// The code of a nest, and where it finds its values.
struct Interpreter<'a> {
    run: &'a NestRun<'a>,
    reads: Vec<Address>,
    ints: Vec<AxisSubscript>,
    error_models: &'a [ErrorModel],
    format: Format,
}

impl Interpreter<'_> {
    /// Runs the code for the iterations of a chunk; their values are on the stack then.
    fn execute(
        &self,
        chunk: &Chunk<'_>,
        stack: &mut LaneStack,
        target: &mut Accumulators,
    ) -> Result<()> {
        let mut error_models = self.error_models.iter();
        for instr in &self.run.nest.code {
            match instr {
                Instr::Const(value) => stack.push().set_all(*value),
                Instr::NoTerm => stack.push().clone_from(&Lanes::ZERO),
                Instr::Load(read) => self.load(*read, chunk, stack.push())?,
                Instr::Integer(int) => {
                    let lanes = stack.push();
                    for lane in 0..chunk.count {
                        let value = chunk.subscript(&self.ints[*int], lane);
                        let value = number(value.ok_or_else(not_an_integer)?)?;
                        lanes.set_enclosure(lane, Enclosure { value, error: 0.0 });
                    }
                }
                Instr::Neg => stack.negate(),
                Instr::Binary(op) => stack.binary(*op),
                Instr::Enclose | Instr::EncloseFactor => {
                    if let Some(model) = error_models.next() {
                        stack.enclose(model, chunk.count);
                    }
                }
                Instr::Call(function) => stack.call(*function, &self.format, chunk.count),
                Instr::Compare(comparison) => stack.compare(*comparison, chunk.count),
                Instr::Join(connective) => stack.join(*connective, chunk.count),
                Instr::Select => stack.select(chunk.count, &mut target.ambiguity),
            }
        }
        Ok(())
    }

    /// Loads the values of a read.
    fn load(&self, read: usize, chunk: &Chunk<'_>, lanes: &mut Lanes) -> Result<()> {
        let (access, address) = (&self.run.nest.reads[read], &self.reads[read]);
        match access.array {
            Array::Tensor(id) => {
                let Some(data) = &self.run.tensors[id] else { return Ok(()) };
                for lane in 0..chunk.count {
                    if let Some(at) = chunk.address(address, lane) {
                        let (value, error) = (data.values[at], data.error(at));
                        lanes.set_enclosure(lane, Enclosure { value, error });
                    } else {
                        self.check_outside(access, address, chunk, lane)?;
                        lanes.set_outside(lane, access.outside);
                    }
                }
            }
            Array::Temporary(id) => {
                let sums = &self.run.temporaries[id];
                for lane in 0..chunk.count {
                    if let Some(at) = chunk.address(address, lane) {
                        lanes.set(lane, sums.sum(at));
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds the values of a chunk to the target; only to the elements that are wanted.
    fn scatter(
        &self,
        lanes: &Lanes,
        to: &Address,
        chunk: &Chunk<'_>,
        target: &mut Accumulators,
    ) -> Result<()> {
        for lane in 0..chunk.count {
            let Some(mut at) = chunk.address(to, lane) else {
                self.check_outside(&self.run.nest.target, to, chunk, lane)?;
                continue;
            };
            if let (Address::Axes(_), Some(layout)) = (to, self.run.layout(&self.run.nest.target)) {
                let Some(position) = self.run.wanted.position(layout, at) else { continue };
                at = position;
            }
            target.add(at, lanes.sum(lane));
        }
        Ok(())
    }

    /// Checks an access that has no address: it must be padded, and its subscripts must have values.
    fn check_outside(
        &self,
        access: &Access,
        address: &Address,
        chunk: &Chunk<'_>,
        lane: usize,
    ) -> Result<()> {
        if !access.subscripts.iter().any(|one| matches!(one, Subscript::Indirect(_))) {
            return Ok(());
        }
        let (Some(outside), Array::Tensor(id)) = (chunk.out_of_bounds(address, lane), access.array)
        else {
            return Ok(());
        };
        if access.padded && outside.path.is_empty() && outside.subscript.is_some() {
            return Ok(());
        }
        Err(self.out_of_bounds(&outside, id))
    }

    /// The error of a subscript in an access to the tensor `accessed`.
    fn out_of_bounds(&self, outside: &OutOfBounds, accessed: TensorId) -> Error {
        let layouts = &self.run.lowered.tensors;
        let name = &layouts[outside.path.first().copied().unwrap_or(accessed)].name;
        let OutOfBounds { axis, size, subscript, elements, .. } = outside;
        let describe = |element: &SubscriptElement| {
            let name = layouts[element.tensor].element_name(element.at);
            format!("`{name}` is {}", element.value)
        };
        let found = elements.iter().map(describe).collect::<Vec<_>>().join(" and ");
        if let Some(unfit) = elements.iter().find(|element| !element.is_integer()) {
            let message = format!("{}, which cannot be a subscript of `{name}`", describe(unfit));
            return Error::unplaced(message).help(INTEGER_DATA);
        }
        if let Some(inexact) = elements.iter().find(|element| element.error > 0.0) {
            let element = describe(inexact);
            let detail = format!(
                "{element}, but rounding may change it, so it cannot be a subscript of `{name}`"
            );
            return Error::ambiguous(detail).help("a subscript must come from exact data");
        }
        let Some(at) = subscript else {
            return Error::unplaced(format!("{found}: this cannot be a subscript of `{name}`"));
        };
        let message = format!(
            "{found}: this is subscript {at} on axis {axis} of `{name}`, which has size {size}"
        );
        Error::unplaced(message).help(format!(
            "give data from 0 to {}, or fix the subscript; to skip elements outside, write `{name}?[...]`",
            size - 1
        ))
    }
}

const INTEGER_DATA: &str =
    "u8 holds the integers from 0 to 255, i32 those of 32 bits, and i64 those below 2^53";

/// An integer as a number.
///
/// # Errors
/// One that an f64 may not hold.
fn number(value: i64) -> Result<f64> {
    if DType::I64.holds_integer(value as f64) {
        return Ok(value as f64);
    }
    let message = format!("an `index(...)` would be {value}, which is not below 2^53");
    Err(Error::unplaced(message).help("keep the lower bits: `& 0xffffffff`, for example"))
}

fn not_an_integer() -> Error {
    Error::unplaced("an element in an `index(...)` is not exact, or not an integer of its type")
        .help(INTEGER_DATA)
}
