//! Pages that were put aside, in as few bytes as they can be written with.
//!
//! Neighbouring threads have neighbouring stamps, so a column of them is mostly made of runs, in which each number is as far from the
//! one before as that is from its own predecessor. Where it is not, each number gets as many bits as the range of all of them needs.

use super::global_race::Page;
use super::pages::{PAGE, Stamps, Values};
use super::stamps::Stamp;

/// A number for each unit of a page.
pub(super) type Column = [u32; PAGE];

/// Says that runs follow, where otherwise the bits of a number (at most 32) are said.
const RUNS: u8 = 33;
/// Bit of a page's first byte that says whether there are atomic writers; the unit's size lies below.
const STRONG: u8 = 8;

/// The stamps and values of a page in bytes.
pub(super) fn pack(page: &Page) -> Box<[u8]> {
    let strong = page.strong_writers.as_deref();
    let writers = page.writers.column();
    let mut out = vec![page.values.unit() | if strong.is_some() { STRONG } else { 0 }];
    write(&writers, &mut out);
    for stamps in strong.into_iter().chain(&page.readers) {
        write_beside(&stamps.column(), &writers, &mut out);
    }
    if page.values.unit() != 0 {
        write(&page.values.column(), &mut out);
    }
    out.into()
}

/// What [`pack`] was given.
pub(super) fn unpack(bytes: &[u8]) -> Page {
    let mut from = bytes;
    let head = byte(&mut from);
    let writers = read(&mut from);
    let mut stamps = || Stamps::from_column(&read_beside(&writers, &mut from));
    let strong_writers = (head & STRONG != 0).then(|| Box::new(stamps()));
    let readers = [stamps(), stamps()];
    let mut values = Values::default();
    let unit = head & !STRONG;
    if unit != 0 {
        for (at, value) in read(&mut from).into_iter().enumerate() {
            values.set(at, unit.into(), value);
        }
    }
    Page { writers: Stamps::from_column(&writers), values, strong_writers, readers }
}

/// Gives the stamps of a packed page other events.
pub(super) fn change(bytes: &mut Box<[u8]>, change: &mut dyn FnMut(&mut Stamp)) {
    let mut page = unpack(bytes);
    page.stamps().for_each(change);
    *bytes = pack(&page);
}

/// Writes a column by itself or by its distance from another one, whichever is shorter: who writes a unit has often read it.
fn write_beside(column: &Column, other: &Column, out: &mut Vec<u8>) {
    let start = out.len();
    out.push(0);
    write(column, out);
    let mut distance = vec![1];
    write(&std::array::from_fn(|at| column[at].wrapping_sub(other[at])), &mut distance);
    if distance.len() < out.len() - start {
        out.truncate(start);
        out.append(&mut distance);
    }
}

fn read_beside(other: &Column, from: &mut &[u8]) -> Column {
    let is_distance = byte(from) == 1;
    let column = read(from);
    if is_distance { std::array::from_fn(|at| column[at].wrapping_add(other[at])) } else { column }
}

fn write(column: &Column, out: &mut Vec<u8>) {
    let (low, high) = column.iter().fold((u32::MAX, 0), |(low, high), &n| (n.min(low), n.max(high)));
    let width = 32 - (high - low).leading_zeros();
    let start = out.len();
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
    if out.len() - start <= 5 + PAGE * width as usize / 8 {
        return;
    }
    out.truncate(start);
    out.push(width as u8);
    out.extend(low.to_le_bytes());
    let (mut bits, mut count) = (0u64, 0);
    for n in column {
        bits |= u64::from(n - low) << count;
        count += width;
        while count >= 8 {
            out.push(bits as u8);
            bits >>= 8;
            count -= 8;
        }
    }
}

fn read(from: &mut &[u8]) -> Column {
    let mut column = [0; PAGE];
    let width = byte(from);
    if width == RUNS {
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
        return column;
    }
    let low = u32::from_le_bytes(std::array::from_fn(|_| byte(from)));
    let (mut bits, mut count) = (0u64, 0);
    for place in &mut column {
        while count < width {
            bits |= u64::from(byte(from)) << count;
            count += 8;
        }
        *place = low + (bits & ((1 << width) - 1)) as u32;
        bits >>= width;
        count -= width;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::stamps::Events;

    fn packed(column: &Column) -> usize {
        let mut bytes = Vec::new();
        write(column, &mut bytes);
        let mut from = &bytes[..];
        assert_eq!(read(&mut from), *column);
        assert!(from.is_empty());
        bytes.len()
    }

    #[test]
    fn columns_are_short_and_come_back() {
        let mut state = 1u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state
        };
        assert_eq!(packed(&[0; PAGE]), 4);
        assert!(packed(&[u32::MAX; PAGE]) < 9);
        assert!(packed(&std::array::from_fn(|at| 77_777 + 32 * at as u32)) < 10);
        // Four units of each warp.
        assert!(packed(&std::array::from_fn(|at| (at / 4 * 32 + at % 4 * 8) as u32)) < 4 * 32 + 9);
        assert_eq!(packed(&std::array::from_fn(|_| 5000 + (random() >> 24))), 5 + PAGE);
        assert_eq!(packed(&std::array::from_fn(|_| random())), 5 + 4 * PAGE);
        for bits in 0..32 {
            packed(&std::array::from_fn(|_| random() >> bits));
            packed(&std::array::from_fn(|at| (at as u32 / 7 * 7).wrapping_mul(random() >> 31) << bits));
        }
    }

    #[test]
    fn pages_come_back() {
        let mut page = Page::default();
        for at in 0..PAGE {
            let stamp = |event: usize| Events::stamp(event as u32, at * 5);
            page.writers.set(at, stamp(1 + at / 3));
            page.readers[0].set(at, stamp(1 + at / 32));
            if at % 3 == 1 {
                page.readers[1].set(at, stamp(7));
            }
            page.values.set(at, 2, at as u32 * 777);
        }
        for strong in [false, true] {
            if strong {
                page.strong_writers.get_or_insert_default().set(5, Events::stamp(3, 3));
            }
            let mut bytes = pack(&page);
            let check = |bytes: &[u8], events: u32| {
                let back = unpack(bytes);
                let all = |page: &Page| {
                    let strong = page.strong_writers.as_ref().map(|stamps| stamps.column());
                    let readers = [&page.readers[0], &page.readers[1]].map(Stamps::column);
                    (page.writers.column(), strong, readers, page.values.column())
                };
                let (mut old, new) = (all(&page), all(&back));
                let columns = [&mut old.0].into_iter().chain(&mut old.1).chain(&mut old.2);
                for stamp in columns.flatten().filter(|stamp| **stamp != 0) {
                    *stamp += events << 5;
                }
                assert_eq!(old, new);
            };
            check(&bytes, 0);
            change(&mut bytes, &mut |stamp| {
                if !stamp.is_nobody() {
                    *stamp = Stamp::from_bits(stamp.bits() + (9 << 5));
                }
            });
            check(&bytes, 9);
        }
    }
}
