//! What the machine finds, in the words of tensors.

use crate::finding::{Element, Finding, Problem, StreamRace};
use cudart::order;
use cudart::source_name;
use ptxvm::Memory;
use ptxvm::finding::{BufferOffset, FindingKind};

/// A finding in the terms of tensors. `element` names the element at a byte of a buffer, if the buffer is a tensor.
pub(crate) fn in_tensors(
    kernel: &str,
    finding: &ptxvm::Finding,
    element: impl FnOnce(BufferOffset) -> Option<Element>,
) -> Finding {
    let ptxvm::Finding { kind, loc, thread, count } = finding.clone();
    // It is about all blocks together.
    let of_all = matches!(kind, FindingKind::TooMuchWork(_) | FindingKind::TooMuchOutput(_));
    let thread = (!of_all).then_some(thread);
    Finding {
        problem: Problem::Check(kind.map_place(element)),
        kernel: kernel.to_owned(),
        line: loc,
        thread,
        count,
    }
}

/// A race between streams. `place` names the place at a byte of a buffer.
pub(crate) fn race(
    race: &order::StreamRace,
    place: impl FnOnce(BufferOffset) -> Element,
) -> Finding {
    let place = place((race.buffer, race.bytes.start as i64));
    let problem = Problem::StreamRace(StreamRace::new(race, place));
    Finding { count: race.count, ..Finding::of_kernel(problem, "") }
}

/// Bytes of an element of an allocation: most arrays of most programs hold floats or ints.
const ELEMENT: i64 = 4;

/// A place in an allocation or a variable of the program that has or had so many bytes. Allocations have numbers, since they have
/// no names; the first `others` are not the program's.
pub(crate) fn in_allocation(
    memory: &Memory,
    bytes: usize,
    (buffer, offset): BufferOffset,
    others: usize,
) -> Element {
    let number = memory.ordinal(buffer) + 1 - others;
    let tensor = match memory.variable_name(buffer) {
        Some(name) => source_name(name),
        None if bytes == 0 => format!("allocation {number}, which is freed,"),
        None => format!("allocation {number} ({bytes} bytes)"),
    };
    let shape = vec![bytes.div_ceil(ELEMENT as usize)];
    Element { tensor, shape, flat: offset.div_euclid(ELEMENT) }
}
