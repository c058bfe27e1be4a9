//! Compression of pages that are not in use.
//!
//! Neighbouring threads have neighbouring access ids, so a column of them consists mostly of arithmetic progressions, which
//! are stored as runs. Elsewhere each number gets as many bits as the range of all numbers needs, or as the lane and a number
//! among the epochs of the page need.

#[cfg(test)]
mod tests;

use crate::instruments::check::epochs::{AccessId, LANE_BITS};
use crate::instruments::check::global::pages::PageColumn;
use crate::instruments::check::global::pages::{AccessIds, PAGE, Page, Values};

/// Marks a column of runs, where otherwise the bits of a number (at most 32) stand ...
const RUNS: u8 = 33;
/// ... or a column with a list of epochs.
const EVENTS: u8 = 34;
/// A column of so few bytes is not compressed further.
const SHORT: usize = 32;
/// The bit of a page's first byte that says whether there are strong writers; the unit's size lies below.
const STRONG: u8 = 8;

/// Compresses the access ids and values of a page.
pub(crate) fn pack(page: &Page) -> Box<[u8]> {
    let Page { writers, values, strong_writers, readers } = page;
    let strong = strong_writers.as_deref();
    let writers = writers.column();
    let mut out = vec![values.unit() | if strong.is_some() { STRONG } else { 0 }];
    write(&writers, &mut out);
    for access_ids in strong.into_iter().chain(readers) {
        write_beside(&access_ids.column(), &writers, &mut out);
    }
    if values.unit() != 0 {
        write(&values.column(), &mut out);
    }
    out.into()
}

/// Restores the page that [`pack`] compressed.
pub(crate) fn unpack(bytes: &[u8]) -> Page {
    let mut from = bytes;
    let head = byte(&mut from);
    let writers = read(&mut from);
    let mut access_ids = || AccessIds::from_column(&read_beside(&writers, &mut from));
    let strong_writers = (head & STRONG != 0).then(|| Box::new(access_ids()));
    let readers = [access_ids(), access_ids()];
    let mut values = Values::default();
    let unit = head & !STRONG;
    if unit != 0 {
        for (at, value) in read(&mut from).into_iter().enumerate() {
            values.set(at, unit.into(), value);
        }
    }
    Page { writers: AccessIds::from_column(&writers), values, strong_writers, readers }
}

/// Changes the access ids of a packed page.
pub(crate) fn change(bytes: &mut Box<[u8]>, change: &mut dyn FnMut(&mut AccessId)) {
    let mut page = unpack(bytes);
    let mut changed = false;
    for access_id in page.access_ids() {
        let old = *access_id;
        change(access_id);
        changed |= *access_id != old;
    }
    if changed {
        *bytes = pack(&page);
    }
}

/// Writes a column, or its difference from another one if that is shorter: who writes a unit has often read it.
fn write_beside(column: &PageColumn, other: &PageColumn, out: &mut Vec<u8>) {
    let start = out.len();
    out.push(0);
    write(column, out);
    if out.len() - start <= SHORT {
        return;
    }
    let mut distance = vec![1];
    write(&std::array::from_fn(|at| column[at].wrapping_sub(other[at])), &mut distance);
    if distance.len() < out.len() - start {
        out.truncate(start);
        out.append(&mut distance);
    }
}

fn read_beside(other: &PageColumn, from: &mut &[u8]) -> PageColumn {
    let is_distance = byte(from) == 1;
    let column = read(from);
    if is_distance { std::array::from_fn(|at| column[at].wrapping_add(other[at])) } else { column }
}

/// Writes a column with the shortest of the encodings.
fn write(column: &PageColumn, out: &mut Vec<u8>) {
    let start = out.len();
    write_runs(column, out);
    if out.len() - start <= SHORT {
        return;
    }
    for other in [in_range(column), by_events(column)] {
        if other.len() < out.len() - start {
            out.truncate(start);
            out.extend(other);
        }
    }
}

fn write_runs(column: &PageColumn, out: &mut Vec<u8>) {
    out.push(RUNS);
    let (mut at, mut last) = (0, 0);
    while at < PAGE {
        let stride = column.get(at + 1).map_or(0, |next| next.wrapping_sub(column[at]));
        let rest = column[at..].windows(2);
        let length = 1 + rest.take_while(|pair| pair[1].wrapping_sub(pair[0]) == stride).count();
        out.push(length as u8);
        write_number(column[at].wrapping_sub(last), out);
        write_number(stride, out);
        at += length;
        last = column[at - 1];
    }
}

fn in_range(column: &PageColumn) -> Vec<u8> {
    let (low, high) =
        column.iter().fold((u32::MAX, 0), |(low, high), &n| (n.min(low), n.max(high)));
    let width = 32 - (high - low).leading_zeros();
    let mut out = vec![width as u8];
    out.extend(low.to_le_bytes());
    write_bits(column.iter().map(|n| n - low), width, &mut out);
    out
}

fn by_events(column: &PageColumn) -> Vec<u8> {
    let mut epochs: Vec<u32> = column.iter().map(|n| n >> LANE_BITS).collect();
    epochs.sort_unstable();
    epochs.dedup();
    let mut out = vec![EVENTS, epochs.len() as u8];
    for (index, epoch) in epochs.iter().enumerate() {
        write_number(epoch.wrapping_sub(index.checked_sub(1).map_or(0, |at| epochs[at])), &mut out);
    }
    let lanes = column.map(|n| n & ((1 << LANE_BITS) - 1));
    let lane_bits = if lanes == [0; PAGE] { 0 } else { LANE_BITS };
    out.push(lane_bits as u8);
    let numbers = column.map(|n| epochs.partition_point(|&epoch| epoch < n >> LANE_BITS) as u32);
    write_bits(numbers.into_iter(), bits_of(epochs.len()), &mut out);
    write_bits(lanes.into_iter(), lane_bits, &mut out);
    out
}

/// How many bits tell so many things apart.
fn bits_of(count: usize) -> u32 {
    usize::BITS - count.saturating_sub(1).leading_zeros()
}

/// Writes the lower bits of a number for each unit.
fn write_bits(numbers: impl Iterator<Item = u32>, width: u32, out: &mut Vec<u8>) {
    let (mut bits, mut count) = (0u64, 0);
    for n in numbers {
        bits |= u64::from(n) << count;
        count += width;
        while count >= 8 {
            out.push(bits as u8);
            bits >>= 8;
            count -= 8;
        }
    }
}

fn read_bits(width: u32, from: &mut &[u8]) -> PageColumn {
    let (mut bits, mut count) = (0u64, 0);
    std::array::from_fn(|_| {
        while count < width {
            bits |= u64::from(byte(from)) << count;
            count += 8;
        }
        let n = (bits & ((1 << width) - 1)) as u32;
        bits >>= width;
        count -= width;
        n
    })
}

fn read(from: &mut &[u8]) -> PageColumn {
    match byte(from) {
        RUNS => read_runs(from),
        EVENTS => {
            let mut last = 0u32;
            let epochs: Vec<u32> = (0..byte(from))
                .map(|_| {
                    last = last.wrapping_add(read_number(from));
                    last
                })
                .collect();
            let lane_bits = byte(from);
            let numbers = read_bits(bits_of(epochs.len()), from);
            let lanes = read_bits(lane_bits.into(), from);
            let epoch = |at: usize| epochs.get(numbers[at] as usize).copied().unwrap_or(0);
            std::array::from_fn(|at| epoch(at) << LANE_BITS | lanes[at])
        }
        width => {
            let low = u32::from_le_bytes(std::array::from_fn(|_| byte(from)));
            read_bits(width.into(), from).map(|n| low.wrapping_add(n))
        }
    }
}

fn read_runs(from: &mut &[u8]) -> PageColumn {
    let mut column = [0; PAGE];
    let (mut at, mut last) = (0, 0u32);
    while at < PAGE {
        let length = usize::from(byte(from)).clamp(1, PAGE - at);
        let first = last.wrapping_add(read_number(from));
        let stride = read_number(from);
        for (place, index) in column[at..at + length].iter_mut().zip(0u32..) {
            last = first.wrapping_add(index.wrapping_mul(stride));
            *place = last;
        }
        at += length;
    }
    column
}

/// Writes a number that is close to zero, from above or below, in few bytes.
fn write_number(n: u32, out: &mut Vec<u8>) {
    let n = n.cast_signed();
    let mut rest = (n << 1 ^ n >> 31).cast_unsigned();
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

fn read_number(from: &mut &[u8]) -> u32 {
    let (mut all, mut shift) = (0u32, 0);
    while shift < 32 {
        let next = byte(from);
        all |= u32::from(next & 0x7F) << shift;
        shift += 7;
        if next < 0x80 {
            break;
        }
    }
    all >> 1 ^ (all & 1).wrapping_neg()
}

fn byte(from: &mut &[u8]) -> u8 {
    from.split_off_first().copied().unwrap_or(0)
}
