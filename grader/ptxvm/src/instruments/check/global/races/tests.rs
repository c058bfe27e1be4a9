use crate::finding::FindingKind;
use crate::instruments::check::global::races::*;
use crate::isa::window::Window;
use crate::machine::registers::Registers;
use crate::memory::Memory;
use crate::memory::buffer::{Access, Init};
use crate::memory::lane_memory::LaneMemory;
use crate::program::code::Program;

const UNITS: u64 = 1 << 16;
const THREADS: u64 = 256;

/// Which unit a thread of a block accesses.
type Unit = fn(thread: u64) -> u64;

/// The shadow of a buffer, each unit of which one thread accesses so, in blocks of 256 threads; and what was found. `meddle`
/// may do something before every instruction.
fn watched(
    size: u32,
    accesses: &[(AccessKind, Unit)],
    meddle: impl FnMut(&mut GlobalRaces),
) -> (GlobalRaces, Log) {
    watched_from(0, size, accesses, meddle)
}

/// The same, with all units so much further up.
fn watched_from(
    start: u64,
    size: u32,
    accesses: &[(AccessKind, Unit)],
    mut meddle: impl FnMut(&mut GlobalRaces),
) -> (GlobalRaces, Log) {
    let mut memory = Memory::default();
    let length = (UNITS + start) as usize * size as usize;
    let id = memory.alloc(Init::Bytes(vec![0; length]), Access::ReadWrite);
    let program = Program::default();
    let registers = Registers::new(&program);
    let mut races = GlobalRaces::new([(UNITS / THREADS) as u32, 1, 1], true);
    races.limit = usize::MAX;
    let mut order = HappensBefore::new(false, races.blocks());
    let clocks = Box::new([[1; 32]; 32]);
    order.begin(1, 8, &clocks);
    let mut log = Log::default();
    for block in 0..UNITS / THREADS {
        races.resume(block);
        races.block_start();
        for warp in 0..THREADS / 32 {
            for (&(kind, unit), pc) in accesses.iter().zip(0..) {
                meddle(&mut races);
                let at = |lane: usize| {
                    let unit = unit(block * THREADS + warp * 32 + lane as u64);
                    memory.address(id) + u64::from(size) * (unit % UNITS + start)
                };
                let addresses = std::array::from_fn(at);
                let event = Event {
                    pc,
                    kind,
                    window: Window::Global,
                    size,
                    mask: u32::MAX,
                    done: u32::MAX,
                    representative_lanes: u32::MAX,
                    addresses: &addresses,
                    block: [block as u32, 0, 0],
                    warp: warp as u32,
                    memory: &memory,
                    program: &program,
                    block_size: [THREADS as u32, 1, 1],
                    strong: kind == AccessKind::Atomic,
                    one_buffer: true,
                    operation: 0,
                    ends_copy: false,
                    registers: &registers,
                    stored: None,
                    unchanged: 0,
                    cluster: None,
                };
                if kind != AccessKind::Read {
                    for (lane, &address) in addresses.iter().enumerate() {
                        let value = block << 8 | lane as u64;
                        LaneMemory::put(&mut &memory, lane, address as usize, size, value);
                    }
                }
                races.access(&event, &clocks, &order, &mut log);
            }
        }
    }
    (races, log)
}

/// Bytes of shadow for each byte of a buffer.
fn bytes_per_byte(size: u32, accesses: &[(AccessKind, Unit)]) -> f64 {
    let (races, _) = watched(size, accesses, |_| {});
    let held: usize = races.pages.values().map(PageSlot::bytes).sum();
    assert_eq!(races.held, held, "counted otherwise");
    races.bytes() as f64 / (UNITS * u64::from(size)) as f64
}

/// The first thread of a thread's block.
fn block_of(thread: u64) -> u64 {
    thread / THREADS * THREADS
}

/// A unit that has nothing to do with the thread's index.
fn anywhere(thread: u64) -> u64 {
    thread.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40
}

const READ: (AccessKind, Unit) = (AccessKind::Read, anywhere);
const BESIDE: (AccessKind, Unit) = (AccessKind::Write, |thread| anywhere(thread + 77));
const ATOMIC: (AccessKind, Unit) = (AccessKind::Atomic, |thread| anywhere(thread + 5));

#[test]
fn pages_that_were_put_aside_find_the_same() {
    for size in [1, 2, 4] {
        let atomic = if size == 4 { ATOMIC } else { READ };
        let accesses = [READ, (AccessKind::Write, |thread| thread), BESIDE, atomic];
        let (_, usual) = watched(size, &accesses, |_| {});
        assert!(usual.raw.len() > 3 && usual.raw[0].count > 9, "{:?}", usual.raw);
        let mut turn = 0;
        let (races, log) = watched(size, &accesses, |races| {
            turn += 1;
            if turn % 300 == 0 {
                races.pack_pages();
            }
            if turn % 900 == 0 {
                races.compact_epochs(None);
            }
        });
        assert_eq!(races.held, races.pages.values().map(PageSlot::bytes).sum::<usize>());
        assert_eq!(format!("{:?}", log.raw), format!("{:?}", usual.raw), "units of {size}");
    }
}

#[test]
fn a_race_with_a_forgotten_thread_is_still_found() {
    let accesses = [READ, BESIDE, ATOMIC];
    let (_, usual) = watched(4, &accesses, |_| {});
    let (mut turn, mut after) = (0, 0);
    let (races, log) = watched(4, &accesses, |races| {
        turn += 1;
        if turn % 500 == 0 {
            races.forget_threads();
            races.pack_pages();
            after = races.bytes();
        }
    });
    assert!(after < races.bytes());
    let without_threads = |log: &Log| -> Vec<_> {
        let told = log.raw.iter().map(|raw| {
            let FindingKind::GlobalRace(race) = &raw.kind else { panic!("{raw:?}") };
            (race.kind, race.place, race.same_block, raw.pc, raw.thread, raw.count)
        });
        told.collect()
    };
    assert_eq!(without_threads(&log), without_threads(&usual));
}

/// The findings are the same wherever rows begin: so they do not depend on whether lanes are seen to row by row or one by one.
#[test]
fn lanes_in_rows_race_as_lanes_do_one_by_one() {
    let patterns: [Unit; 8] = [
        |thread| thread,
        // Tiles of 16 by 16, in rows of 64.
        |thread| {
            let (tile, x, y) = (thread / 256, thread % 16, thread / 16 % 16);
            (tile / 4 * 16 + y) * 64 + tile % 4 * 16 + x
        },
        // The same with halves of warps exchanged, and upside down.
        |thread| {
            let (tile, x, y) = (thread / 256, thread % 16, (thread / 16 % 16) ^ 1);
            (tile / 4 * 16 + 15 - y) * 64 + tile % 4 * 16 + x
        },
        // To the left, and round in a circle within the warp.
        |thread| thread & !31 | (thread + 5) & 31,
        |thread| thread & !31 | (thread + 16) & 31,
        |thread| block_of(thread) + (thread + 16) % THREADS,
        |thread| thread ^ 31,
        anywhere,
    ];
    let found = |start: u64, size: u32, accesses: &[(AccessKind, Unit)]| -> Vec<String> {
        let (_, log) = watched_from(start, size, accesses, |_| {});
        let told = log.raw.into_iter().map(|mut raw| {
            if let FindingKind::GlobalRace(race) = &mut raw.kind
                && let Some((_, offset)) = &mut race.place
            {
                *offset -= (start * u64::from(size)) as i64;
            }
            format!("{raw:?}")
        });
        told.collect()
    };
    let (read, write) = (AccessKind::Read, AccessKind::Write);
    for (index, &first) in patterns.iter().enumerate() {
        for &second in &patterns[..7] {
            let accesses = [(read, first), (write, second), (read, patterns[(index + 3) % 7])];
            let usual = found(0, 4, &accesses);
            assert!(!usual.is_empty());
            for start in [1, 8, 15] {
                assert_eq!(found(start, 4, &accesses), usual, "from {start} on");
            }
        }
    }
}

#[test]
fn bytes_of_shadow_for_each_byte_of_a_buffer() {
    use AccessKind::{Atomic, Read, Write};
    let own: Unit = |thread| thread;
    // Within the warp, and into the next one.
    let turned: Unit = |thread| thread & !31 | (thread + 1) & 31;
    let shifted: Unit = |thread| block_of(thread) + (thread + 1) % THREADS;
    // Neighbours belong to different warps.
    let across: Unit = |thread| block_of(thread) + thread % 8 * 32 + thread % THREADS / 8;
    let check = |size: u32, accesses: &[(AccessKind, Unit)], most: f64, name: &str| {
        let bytes = bytes_per_byte(size, accesses);
        assert!(bytes <= most, "units of {size}, {name}: {bytes}");
    };
    for size in [1, 2, 4] {
        check(size, &[(Write, own)], 4.0, "writes");
        check(size, &[(Atomic, own)], 4.0, "atomics");
        check(size, &[(Read, own), (Write, own)], 4.0, "in place");
    }
    for size in [2, 4] {
        check(size, &[(Read, own), (Write, shifted)], 4.0, "to the neighbour");
    }
    check(4, &[(Write, across)], 4.0, "across");
    check(4, &[(Read, own), (Read, turned), (Write, own)], 4.0, "race");
    check(4, &[(Read, own), (Read, shifted), (Write, own)], 4.0, "race with the next warp");
    check(4, &[(Read, across), (Read, across), (Write, across)], 4.0, "across in place");
    let all = [(Read, own), (Read, across), (Write, shifted), (Atomic, own)];
    // Here pages would be put aside.
    check(4, &all, 5.0, "everything at once");
    check(1, &[(Read, own), (Write, shifted)], 7.0, "to the neighbour");
    check(2, &[(Write, across)], 5.0, "across");
    check(1, &[(Write, across)], 8.0, "across");
}
