//! Addresses, bounds, and which bytes are defined.

use std::sync::atomic::Ordering::Relaxed;

use super::*;
use crate::lanes::{LaneArray, LaneIndices, Pattern};

#[test]
fn an_index_wrong_by_any_32_bit_amount_tells_its_buffer() {
    let mut memory = Memory::default();
    let first = memory.alloc(Init::Bytes(vec![0; 16]), Access::ReadWrite);
    let second = memory.alloc(Init::Undefined { len: 10 }, Access::ReadOnly);
    let address = memory.address(second);
    for offset in [-(1 << 33), -4, 0, 10, 1i64 << 33] {
        assert_eq!(memory.locate(address.wrapping_add_signed(offset)), Some((second, offset)));
    }
    assert_eq!(memory.locate(0), None);
    assert_eq!(memory.locate(u64::MAX), None);
    assert_eq!(memory.locate(memory.address(first)), Some((first, 0)));
}

#[test]
fn a_buffer_is_whole_once_all_of_it_is_written() {
    let mut memory = Memory::default();
    let id = memory.alloc(Init::Undefined { len: 10 }, Access::ReadWrite);
    let steps = [(4, 4), (0, 4), (8, 1), (9, 1)];
    for (place, bytes) in steps {
        memory.prepare(None);
        assert!(!memory.buffers[0].whole);
        memory.buffers[0].put(place, bytes, 0);
    }
    memory.prepare(None);
    assert!(memory.buffers[0].whole);
    assert!(memory.defined(id).iter().all(|&defined| defined));
}

#[test]
fn rows_are_stored_where_all_words_exist() {
    let mut memory = Memory::default();
    let id = memory.alloc(Init::Undefined { len: 70 }, Access::ReadWrite);
    let read_only = memory.alloc(Init::Bytes(vec![0; 70]), Access::ReadOnly);
    let (buffer, _) = memory.slot(memory.address(id)).unwrap();
    let values: [u32; 16] = std::array::from_fn(|word| word as u32);
    assert!(buffer.set_row(4, &values));
    assert!(!buffer.set_row(8, &values), "the last word is not whole");
    assert!(!buffer.set_row(2, &values));
    let (other, _) = memory.slot(memory.address(read_only)).unwrap();
    assert!(!other.set_row(0, &values));
    let row = |first: u32| {
        let index = LaneArray(std::array::from_fn(|lane| first + lane as u32 % 16));
        LaneIndices { index, halves: [Pattern::Row; 2], ..LaneIndices::new() }
    };
    let words = buffer.written(&row(1), 1).expect("written words");
    assert!(words[1..17].iter().map(|word| word.load(Relaxed)).eq(values));
    assert!(buffer.written(&row(0), 1).is_none());
}

#[test]
fn bounds_alignment_and_definition() {
    let mut memory = Memory::default();
    let id = memory.alloc(Init::Undefined { len: 10 }, Access::ReadWrite);
    let (buffer, _) = memory.slot(memory.address(id)).unwrap();
    assert_eq!(buffer.check(8, 4, false), Err(Fault::OutOfBounds));
    assert_eq!(buffer.check(u64::MAX - 3, 4, false), Err(Fault::OutOfBounds));
    assert_eq!(buffer.check(2, 4, false), Err(Fault::Misaligned));
    assert!(!buffer.set_word(8, 1));
    assert!(buffer.set_word(4, 0x0403_0201));
    buffer.put(9, 1, 0xEE);
    let load = |index: u32| {
        let halves = [Pattern::Same; 2];
        let words = LaneIndices { index: LaneArray([index; 32]), halves, ..LaneIndices::new() };
        buffer.written(&words, 1)?.get(index as usize).map(|word| word.load(Relaxed))
    };
    assert_eq!(load(1), Some(0x0403_0201));
    assert_eq!(load(0), None, "not written");
    assert_eq!(load(2), None, "not whole");
    assert_eq!(memory.bytes(id), [255, 255, 255, 255, 1, 2, 3, 4, 255, 0xEE]);
    let defined: Vec<usize> = (0..10).filter(|&byte| memory.defined(id)[byte]).collect();
    assert_eq!(defined, [4, 5, 6, 7, 9]);
}
