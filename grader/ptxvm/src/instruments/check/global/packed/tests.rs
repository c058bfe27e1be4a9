use crate::instruments::check::epochs::EpochTable;
use crate::instruments::check::global::packed::*;

fn packed(column: &PageColumn) -> usize {
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
    // Two events in any lane.
    assert!(
        packed(&std::array::from_fn(|_| [99, 5000][random() as usize >> 31] << 5 | random() >> 27))
            < 10 + 6 * PAGE / 8
    );
    assert!(
        packed(&std::array::from_fn(|_| [99, 5000][random() as usize >> 31] << 5)) < 10 + PAGE / 8
    );
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
        let access_id = |epoch: usize| EpochTable::access_id(epoch as u32, at * 5);
        page.writers.set(at, access_id(1 + at / 3));
        page.readers[0].set(at, access_id(1 + at / 32));
        if at % 3 == 1 {
            page.readers[1].set(at, access_id(7));
        }
        page.values.set(at, 2, at as u32 * 777);
    }
    for strong in [false, true] {
        if strong {
            page.strong_writers.get_or_insert_default().set(5, EpochTable::access_id(3, 3));
        }
        let mut bytes = pack(&page);
        let check = |bytes: &[u8], epochs: u32| {
            let back = unpack(bytes);
            let all = |page: &Page| {
                let strong = page.strong_writers.as_ref().map(|access_ids| access_ids.column());
                let readers = [&page.readers[0], &page.readers[1]].map(AccessIds::column);
                (page.writers.column(), strong, readers, page.values.column())
            };
            let (mut old, new) = (all(&page), all(&back));
            let columns = [&mut old.0].into_iter().chain(&mut old.1).chain(&mut old.2);
            for access_id in columns.flatten().filter(|access_id| **access_id != 0) {
                *access_id += epochs << 5;
            }
            assert_eq!(old, new);
        };
        check(&bytes, 0);
        change(&mut bytes, &mut |access_id| {
            if !access_id.is_nobody() {
                *access_id = AccessId::from_bits(access_id.bits() + (9 << 5));
            }
        });
        check(&bytes, 9);
    }
}
