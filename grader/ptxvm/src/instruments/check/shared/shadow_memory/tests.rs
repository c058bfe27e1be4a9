mod partial;

use super::*;
use crate::finding::RaceKind;
use crate::instruments::check::clocks::Clocks;
use crate::instruments::check::order::vector_clock::WarpClock;

/// A word, with everything in full.
#[derive(Clone, Copy, Default)]
struct Plain {
    writer: Option<Access>,
    value: Option<u32>,
    readers: [Option<Access>; 2],
}

impl Plain {
    /// `byte`: a third reader counts where the two others are of one warp.
    fn check(
        &mut self,
        current: &CurrentAccess,
        value: Option<u32>,
        byte: bool,
    ) -> Option<(RaceKind, Access)> {
        let unordered = |old: Option<Access>| {
            let old = old?;
            let (by, own) = (usize::from(old.epoch.warp), current.warp());
            let before = if by == own {
                old.epoch.clock < current.converged_at
                    || current.own.covers(old.epoch.clock, old.thread % 32)
            } else {
                old.epoch.clock <= current.clocks[own][by]
            };
            (!before).then_some(old)
        };
        let conflict = |old| {
            unordered(old).filter(|old| {
                let both_strong = old.epoch.strong && current.access.epoch.strong;
                old.thread != current.access.thread && !both_strong
            })
        };
        let written = conflict(self.writer);
        let [first, second] = self.readers;
        if current.kind == AccessKind::Read {
            match unordered(first) {
                None => self.readers[0] = Some(current.access),
                Some(old) if old.thread == current.access.thread => {}
                Some(old) => {
                    let own = current.access.epoch.warp;
                    let one_warp = |second: Access| {
                        second.epoch.warp == old.epoch.warp && old.epoch.warp != own
                    };
                    if unordered(second).is_none_or(|second| byte && one_warp(second)) {
                        self.readers[1] = Some(current.access);
                    }
                }
            }
            return written.map(|old| (RaceKind::ReadAfterWrite, old));
        }
        let read = conflict(first).or_else(|| conflict(second));
        let written = written.filter(|_| value.is_none() || value != self.value);
        if current.access.epoch.strong && self.writer.is_some_and(|old| !old.epoch.strong) {
            let place = self.readers.iter_mut().find(|old| unordered(**old).is_none());
            if let Some(place) = place {
                *place = self.writer;
            }
        }
        self.writer = Some(current.access);
        self.value = value;
        let written = written.map(|old| (RaceKind::WriteAfterWrite, old));
        let kind = |old: &Access| {
            if old.epoch.writes { RaceKind::WriteAfterWrite } else { RaceKind::WriteAfterRead }
        };
        written.or(read.map(|old| (kind(&old), old)))
    }
}

/// An access of which nothing is known beside these, of a warp whose lanes met at its clock `converged_at`.
fn access_of(
    epoch: Epoch,
    thread: u32,
    clocks: &Clocks,
    converged_at: u32,
    kind: AccessKind,
) -> CurrentAccess<'_> {
    let (access_id, access, own) =
        (ShortAccessId::NONE, Access { epoch, thread }, WarpClock::default());
    CurrentAccess {
        access_id,
        access,
        clocks,
        converged_at,
        own,
        lanes: None,
        kind,
        value: None,
        unchanged: false,
        program: None,
    }
}

/// Numbers below a bound, the same for each seed.
fn random_numbers(seed: u32) -> impl FnMut(u32) -> u32 {
    let mut state = seed;
    move |below| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % below
    }
}

/// Each warp has begun, and knows of no other.
fn first_clocks() -> Box<Clocks> {
    let mut clocks: Box<Clocks> = Box::new([[0; WARPS]; WARPS]);
    for (warp, clocks) in clocks.iter_mut().enumerate() {
        clocks[warp] = 1;
    }
    clocks
}

const WORDS: usize = 600;
const ALL: usize = 4;

#[test]
fn a_few_bytes_find_what_whole_accesses_find() {
    let mut random = random_numbers(1);
    let mut shadow = SharedMemoryShadow::default();
    shadow.begin(WORDS);
    let mut plain = vec![[Plain::default(); 4]; WORDS];
    let mut split = vec![false; WORDS];
    let mut clocks = first_clocks();
    let (mut converged_at, mut own) = ([1; ALL], [WarpClock::default(); ALL]);
    let (mut races, mut quiet, mut highest) = (0, 0, 0);
    for round in 0..150_000u32 {
        // Barriers of all warps at first, then of some, then of single ones only.
        let members = match round / 50_000 {
            0 => 0b1111,
            1 if round == 50_000 => 0b1111,
            1 => 1 + random(14),
            _ => 1 << random(4),
        };
        if random(60) == 0 || round == 50_000 {
            let mut joined = [0; WARPS];
            let all: Vec<usize> = (0..ALL).filter(|warp| members >> warp & 1 == 1).collect();
            for &warp in &all {
                for (all, &clock) in joined.iter_mut().zip(&clocks[warp]) {
                    *all = clock.max(*all);
                }
            }
            let everybody = members == 0b1111;
            for &warp in &all {
                clocks[warp] = joined;
                clocks[warp][warp] += 1;
                converged_at[warp] = clocks[warp][warp];
                own[warp] = WarpClock::default();
                shadow.raise_floor(warp, &clocks[warp], converged_at[warp], ALL);
            }
            shadow.note_partial_sync();
            assert!(shadow.epochs.all_passed(ALL) || !everybody);
            if shadow.epochs.all_passed(ALL) {
                // Words are whole again.
                plain.fill([Plain::default(); 4]);
                split.fill(false);
            }
            shadow.settle(ALL);
        }
        if round > 50_000 && random(30) == 0 {
            // Some lanes of a warp release something, which others of it or those of another warp acquire.
            let (from, to) = (random(ALL as u32) as usize, random(ALL as u32) as usize);
            let upto = clocks[from][from];
            clocks[from][from] += 1;
            if from == to {
                own[to] = WarpClock { all: converged_at[to] - 1, lanes: random(1 << 24), upto };
            } else {
                clocks[to][from] = upto;
            }
            shadow.note_partial_sync();
            shadow.raise_floor(to, &clocks[to], converged_at[to], ALL);
        }
        let (warp, lane) = (random(ALL as u32), random(32));
        let (clock, strong) = (clocks[warp as usize][warp as usize], random(5) == 0);
        let pc = random(40);
        let kind = [AccessKind::Read, AccessKind::Write][random(2) as usize];
        let (size, word) = ([4, 4, 4, 2, 1, 8][random(6) as usize], random(WORDS as u32 - 1));
        // Single bytes here and there.
        let size = if size < 4 && word % 8 != 0 { 4 } else { size };
        let writes = kind == AccessKind::Write;
        let epoch = Epoch { clock, pc, warp: warp as u8, strong, writes, valued: size == 4 };
        let number = if size < 4 { 0 } else { shadow.number(epoch) };
        highest = highest.max(number);
        let current = CurrentAccess {
            access_id: if number == 0 {
                ShortAccessId::NONE
            } else {
                ShortAccessId::new(number, lane as usize)
            },
            access: Access { epoch, thread: warp * 32 + lane },
            clocks: &clocks,
            converged_at: converged_at[warp as usize],
            own: own[warp as usize],
            lanes: None,
            kind,
            value: Some(random(3)),
            unchanged: false,
            program: None,
        };
        let address = word * 4 + if size < 4 { random(4 / size) * size } else { 0 };
        let current = CurrentAccess { value: current.value.filter(|_| size == 4), ..current };
        let quick = size == 4 && shadow.check_fast_path(word as usize, &current);
        let mut wanted = None;
        for at in word..(address + size).div_ceil(4) {
            let whole = size >= 4 && !split[at as usize];
            if size < 4 && !split[at as usize] {
                split[at as usize] = true;
                plain[at as usize] = [plain[at as usize][0]; 4];
            }
            let bytes =
                if whole { 0..1 } else { address.max(at * 4) % 4..4.min(address + size - at * 4) };
            for byte in bytes {
                let value = current.value.filter(|_| whole);
                let found = plain[at as usize][byte as usize].check(&current, value, !whole);
                wanted = wanted.or(found.map(|(kind, old)| (kind, old, at * 4 + byte)));
            }
        }
        if quick {
            quiet += 1;
            assert_eq!(wanted, None, "round {round}");
        } else {
            let found = shadow.check(address, size, &current);
            let named = |(race, at): (Race, u32)| (race.kind, race.other.unwrap(), at);
            // Bytes do not keep whether values are known.
            let plain = |(kind, old, at): (RaceKind, Access, u32)| {
                (kind, Access { epoch: Epoch { valued: false, ..old.epoch }, ..old }, at)
            };
            assert_eq!(found.map(named).map(plain), wanted.map(plain), "round {round}");
        }
        races += u32::from(wanted.is_some());
    }
    assert!(races > 1000 && quiet > 1000 && highest > 1500, "{races} {quiet} {highest}");
    assert!(shadow.epochs.count() <= shadow.epochs.limit());
}

/// The write of a lane after both have read a word, met, and read it again; `quietly` where that is possible.
fn write_after_second_reads(quietly: bool) -> Option<(RaceKind, Access)> {
    let mut shadow = SharedMemoryShadow::default();
    shadow.begin(2);
    let mut clocks: Box<Clocks> = Box::new([[0; WARPS]; WARPS]);
    (clocks[0][0], clocks[1][1]) = (1, 1);
    let access =
        |shadow: &mut SharedMemoryShadow, clocks: &Clocks, warp: u8, lane, kind, word: u32| {
            let clock = clocks[usize::from(warp)][usize::from(warp)];
            let writes = kind == AccessKind::Write;
            let epoch = Epoch { clock, pc: 0, warp, strong: false, writes, valued: false };
            let current = CurrentAccess {
                access_id: ShortAccessId::new(shadow.number(epoch), lane),
                ..access_of(epoch, u32::from(warp) * 32 + lane as u32, clocks, clock, kind)
            };
            if quietly && shadow.check_fast_path(word as usize, &current) {
                return None;
            }
            shadow.check(word * 4, 4, &current).map(|(race, _)| (race.kind, race.other.unwrap()))
        };
    // Another warp, with which nobody has met: what comes later is not told apart by a number.
    access(&mut shadow, &clocks, 1, 0, AccessKind::Read, 1);
    for _ in 0..2 {
        for lane in 0..2 {
            assert_eq!(access(&mut shadow, &clocks, 0, lane, AccessKind::Read, 0), None);
        }
        if clocks[0][0] == 1 {
            clocks[0][0] = 2;
            shadow.raise_floor(0, &clocks[0], 2, 2);
        }
    }
    access(&mut shadow, &clocks, 0, 0, AccessKind::Write, 0)
}

#[test]
fn a_quick_read_is_not_dropped_where_the_known_ones_lie_before_it() {
    for quietly in [false, true] {
        let (kind, other) = write_after_second_reads(quietly).unwrap();
        assert_eq!((kind, other.thread, other.epoch.clock), (RaceKind::WriteAfterRead, 1, 2));
    }
}

/// Warps that access bytes, halves and words of `bytes` bytes at random, meet now and then, all of them or the lanes of one; where
/// the order allows all of it, and where it does not.
/// The most entries elsewhere that there were at a time.
fn bytes_at_random(warps: usize, bytes: u32, [pcs, meeting]: [u32; 2], racing: bool) -> usize {
    let mut random = random_numbers(7);
    let mut shadow = SharedMemoryShadow::default();
    shadow.begin(bytes as usize / 4);
    let mut plain = vec![Plain::default(); bytes as usize];
    let mut clocks = first_clocks();
    let (mut races, mut unnamed, mut split_words) = (0, 0, 0);
    for round in 0..200_000 {
        let of_all = random(4000) == 0;
        if of_all {
            let joined: [u32; WARPS] = std::array::from_fn(|warp| clocks[warp][warp]);
            let latest = joined.iter().copied().max().unwrap();
            for warp in 0..warps {
                clocks[warp] = joined;
                clocks[warp][warp] = latest + 1;
                shadow.raise_floor(warp, &clocks[warp], clocks[warp][warp], warps);
            }
            shadow.note_partial_sync();
            shadow.settle(warps);
            assert!(!shadow.partially_synchronised);
        }
        let (warp, lane) = (random(warps as u32), random(32));
        if random(meeting) == 0 {
            let clock = &mut clocks[warp as usize][warp as usize];
            *clock += 1;
            let converged_at = *clock;
            shadow.raise_floor(warp as usize, &clocks[warp as usize], converged_at, warps);
        }
        let clock = clocks[warp as usize][warp as usize];
        let kind = [AccessKind::Read, AccessKind::Write][random(2) as usize];
        let size = [1, 1, 2, 4][random(4) as usize];
        // Where nobody may race, each thread has bytes of its own.
        let thread = warp * 32 + lane;
        let address = if racing { random(bytes / size) } else { thread * (bytes / size / 1024) };
        let address = address * size;
        let (pc, strong) = (random(pcs), !racing && random(50) == 0);
        let writes = kind == AccessKind::Write;
        let epoch = Epoch { clock, pc, warp: warp as u8, strong, writes, valued: false };
        let mut current = access_of(epoch, thread, &clocks, clock, kind);
        if size == 4 {
            current.access_id = ShortAccessId::new(shadow.number(epoch), lane as usize);
        }
        let mut wanted = None;
        for byte in address..address + size {
            wanted = wanted.or(plain[byte as usize].check(&current, None, true));
        }
        let found = shadow.check(address, size, &current).map(|(race, _)| race);
        assert_eq!(found.map(|race| race.kind), wanted.map(|(kind, _)| kind), "round {round}");
        if let (Some(found), Some(_)) = (found, wanted) {
            races += 1;
            unnamed += u32::from(found.other.is_none());
            assert!(found.other.is_none_or(|named| named.thread != thread));
            assert!(found.kind == RaceKind::WriteAfterRead || found.other.is_some());
        }
        split_words = shadow.split_words.len().max(split_words);
        // All of it as bytes, and what does not depend on the size. Each access of a word has an event here.
        let bound =
            bytes as usize / 4 * 15 + size_of::<SplitWord>() * split_words / 8 * 9 + (5 << 10);
        assert!(shadow.bytes() - shadow.epochs.bytes() <= bound, "{} bytes", shadow.bytes());
    }
    assert_eq!(races > 0, racing);
    assert!(unnamed * 10 <= races, "{unnamed} of {races}");
    split_words
}

#[test]
fn bytes_find_what_whole_accesses_find() {
    for (warps, bytes) in [(32, 1 << 12), (4, 1 << 9)] {
        let split_words = bytes_at_random(warps, bytes, [3, 1000], true);
        assert!(split_words <= SPARE_SPLIT_WORDS, "{split_words}");
    }
    assert_eq!(bytes_at_random(32, 1 << 12, [4, 100], false), 0);
}

#[test]
fn bytes_of_many_classes_find_what_whole_accesses_find() {
    // More than there are at a time: of clocks, and of instructions.
    for [pcs, meeting] in [[4, 50], [1000, 1000], [1000, 100]] {
        bytes_at_random(32, 1 << 12, [pcs, meeting], true);
        bytes_at_random(2, 1 << 10, [pcs, meeting], true);
    }
}

/// What thread `last` finds when it accesses a word that thread 0 has set to 0 and added to, with a meeting of warp 0 or of both
/// warps between.
fn after_an_addition(
    last: (u32, AccessKind),
    converged_at: bool,
    barrier: bool,
) -> Option<RaceKind> {
    let mut shadow = SharedMemoryShadow::default();
    shadow.begin(1);
    let mut clocks: Box<Clocks> = Box::new([[0; WARPS]; WARPS]);
    (clocks[0][0], clocks[1][1]) = (1, 1);
    let mut found = None;
    let accesses = [(0, AccessKind::Write), (0, AccessKind::Atomic), last];
    for (step, (thread, kind)) in accesses.into_iter().enumerate() {
        if step == 1 && (converged_at || barrier) {
            clocks[0][0] = 2;
            if barrier {
                clocks[1] = clocks[0];
                (clocks[1][0], clocks[1][1]) = (1, 2);
            }
            shadow.raise_floor(0, &clocks[0], 2, 2);
        }
        let warp = (thread / 32) as u8;
        let clock = clocks[usize::from(warp)][usize::from(warp)];
        let (strong, writes) = (kind == AccessKind::Atomic, kind != AccessKind::Read);
        let epoch = Epoch { clock, pc: step as u32, warp, strong, writes, valued: false };
        let current = CurrentAccess {
            access_id: ShortAccessId::new(shadow.number(epoch), thread as usize % 32),
            ..access_of(epoch, thread, &clocks, clocks[0][0], kind)
        };
        if !shadow.check_fast_path(0, &current) {
            found = shadow.check(0, 4, &current).map(|(race, _)| race.kind);
        }
    }
    found
}

#[test]
fn an_atomic_does_not_hide_the_plain_write_before_it() {
    let add = |thread| (thread, AccessKind::Atomic);
    let race = Some(RaceKind::WriteAfterWrite);
    for last in [1, 40] {
        assert_eq!(after_an_addition(add(last), false, false), race, "{last}");
        assert_eq!(after_an_addition(add(last), false, true), None, "{last}");
    }
    // Lanes that have met are in order, other warps are not.
    assert_eq!(after_an_addition(add(1), true, false), None);
    assert_eq!(after_an_addition(add(40), true, false), race);
    // Nor does what was before the atomic hide the atomic itself.
    let read = (1, AccessKind::Read);
    assert_eq!(after_an_addition(read, true, false), Some(RaceKind::ReadAfterWrite));
}

/// What the last of some accesses of `size` bytes finds. So many of the threads 0, 1 and 40 read, the lanes of the first warp meet, and
/// thread 0 stores; or if none reads, thread 0 stores and thread 40 does, by which the byte may stay `unchanged`.
fn store_after(readers: u32, size: u32, unchanged: bool) -> Option<RaceKind> {
    let mut shadow = SharedMemoryShadow::default();
    shadow.begin(1);
    let mut clocks: Box<Clocks> = Box::new([[0; WARPS]; WARPS]);
    (clocks[0][0], clocks[1][1]) = (1, 1);
    let reads = (0..readers).map(|index| ([0, 1, 40][index as usize], AccessKind::Read, false));
    let first = (readers == 0).then_some((0, AccessKind::Write, false));
    let accesses = reads.chain(first).chain([(
        if readers == 0 { 40 } else { 0 },
        AccessKind::Write,
        unchanged,
    )]);
    let mut found = None;
    for (thread, kind, unchanged) in accesses {
        let writes = kind == AccessKind::Write;
        if writes && readers != 0 {
            // The lanes of the writer's warp have met.
            clocks[0][0] = 2;
            shadow.raise_floor(0, &clocks[0], 2, 2);
        }
        let warp = (thread / 32) as u8;
        let clock = clocks[usize::from(warp)][usize::from(warp)];
        let epoch = Epoch { clock, pc: writes.into(), warp, strong: false, writes, valued: false };
        let current = CurrentAccess {
            access_id: ShortAccessId::new(shadow.number(epoch), thread as usize % 32),
            unchanged,
            ..access_of(epoch, thread, &clocks, clock, kind)
        };
        if size < 4 || !shadow.check_fast_path(0, &current) {
            found = shadow.check(0, size, &current).map(|(race, _)| race.kind);
        }
    }
    found
}

#[test]
fn a_reader_of_another_warp_is_known_beside_two_lanes() {
    for size in [1, 2] {
        assert_eq!(store_after(3, size, false), Some(RaceKind::WriteAfterRead), "{size} bytes");
        assert_eq!(store_after(2, size, false), None, "{size} bytes");
    }
}

#[test]
fn flags_of_one_byte_may_be_set_by_many() {
    for size in [1, 2] {
        assert_eq!(store_after(0, size, false), Some(RaceKind::WriteAfterWrite));
        assert_eq!(store_after(0, size, true), None);
    }
}

#[test]
fn rows_find_and_leave_what_single_lanes_do() {
    let mut random = random_numbers(5);
    let words = 80;
    let mut shadows = [SharedMemoryShadow::default(), SharedMemoryShadow::default()];
    let mut clocks = first_clocks();
    let (mut noted_at_once, mut races) = ([0; 4], 0);
    for shadow in &mut shadows {
        shadow.begin(words);
    }
    for round in 0..40_000 {
        if random(3) == 0 {
            // Both warps meet, or the lanes of one.
            let converged_at = random(5).min(2);
            let joined: [u32; WARPS] = std::array::from_fn(|warp| clocks[warp][warp]);
            for warp in (0..2).filter(|&warp| converged_at == 2 || converged_at == warp) {
                let warp = warp as usize;
                if converged_at == 2 {
                    clocks[warp] = joined;
                }
                clocks[warp][warp] += 1;
                for shadow in &mut shadows {
                    shadow.raise_floor(warp, &clocks[warp], clocks[warp][warp], 2);
                }
            }
            for shadow in &mut shadows {
                shadow.settle(2);
            }
        }
        let (warp, begin) = (random(2), [0, ROW][random(2) as usize]);
        let size = [4, 4, 4, 1][random(4) as usize];
        let first = if random(4) == 0 { random(words as u32 - 16) } else { random(4) * 16 };
        let writes = random(2) == 0;
        let kind = if writes { AccessKind::Write } else { AccessKind::Read };
        let clock = clocks[warp as usize][warp as usize];
        // The same instruction now and then, as in a loop.
        let (pc, valued) = (random(4), writes && size == 4);
        let epoch = Epoch { clock, pc, warp: warp as u8, strong: false, writes, valued };
        let values: Vec<u32> = (0..ROW).map(|_| random(2)).collect();
        let is_read = size == 4 && !writes;
        // All lanes may read one word, of which two are enough; reads are noted in one of three ways.
        let (same, way) = (is_read && random(4) == 0, random(3));
        let index = LaneArray(std::array::from_fn(|lane| {
            first + if same { 0 } else { (lane % ROW) as u32 }
        }));
        let number = (size == 4).then(|| shadows.each_mut().map(|shadow| shadow.number(epoch)));
        let mut found: [Vec<_>; 2] = Default::default();
        for (which, shadow) in shadows.iter_mut().enumerate() {
            let current = |at: usize| CurrentAccess {
                access_id: number
                    .map_or(ShortAccessId::NONE, |all| ShortAccessId::new(all[which], begin + at)),
                value: valued.then(|| values[at]),
                ..access_of(epoch, warp * 32 + (begin + at) as u32, &clocks, clock, kind)
            };
            let values = valued.then_some(&values[..]);
            let mut left = if same { 0b11 } else { (1 << ROW) - 1 } << begin;
            if size == 4 && which == 0 {
                let (pattern, first) =
                    (if same { Pattern::Same } else { Pattern::Row }, first as usize);
                let noted = match way {
                    0 if is_read => {
                        shadow.note_reads(first, pattern, warp as usize, current(0).access_id)
                    }
                    1 if is_read => {
                        left = shadow.note_lanes(&index, left, warp as usize, number.unwrap()[0]);
                        left == 0
                    }
                    _ => !same && shadow.check_row(first, &current(0), values),
                };
                if noted {
                    noted_at_once[if writes { 0 } else { 1 + way as usize }] += 1;
                    continue;
                }
            }
            for lane in lanes(left) {
                let (current, word) = (current(lane - begin), index.0[lane] as usize);
                if size == 4 && shadow.check_fast_path(word, &current) {
                    continue;
                }
                found[which].extend(shadow.check(word as u32 * 4, size, &current));
            }
        }
        let [by_row, by_lane] = &found;
        races += by_lane.len();
        assert_eq!(by_row, by_lane, "round {round}");
        let [by_row, by_lane] = &shadows;
        assert_eq!((&by_row.words, &by_row.values), (&by_lane.words, &by_lane.values), "{round}");
    }
    assert!(
        noted_at_once.iter().all(|&rows| rows > 500) && races > 1000,
        "{noted_at_once:?} {races}"
    );
}

#[test]
fn all_sets_note_the_same_rows() {
    let entry = |access_ids: [u32; 3]| {
        let [writer, first, second] =
            access_ids.map(|epoch| ShortAccessId::new(epoch, epoch as usize));
        ShadowWord::new(writer, [first, second])
    };
    let free = entry([2, 1, 0]);
    let others =
        [[2, 3, 0], [2, 3, 3], [3, 3, 3], [3, 0, 0], [2, 4, 4], [2, 4, 1], [2, 2, 5]].map(entry);
    let split = ShadowWord(ShadowWord::SPLIT);
    let (floor, access_id) = (2, ShortAccessId::new(4, ROW));
    for odd in others.into_iter().chain([free, split]) {
        for rest in [free, odd] {
            let mut row = [rest; ROW];
            row[5] = odd;
            let results = crate::machine::simd::dispatch::sets().map(|set| {
                let [mut read, mut written] = [row; 2];
                let noted = [
                    (set.note_reads)(&mut read, floor, access_id),
                    (set.note_writes)(&mut written, floor, access_id),
                    (set.all_read)(&row, floor, floor),
                ];
                (noted, read, written)
            });
            let results: Vec<_> = results.collect();
            let (noted, read, written) = &results[0];
            assert!(results.iter().all(|result| result == &results[0]), "{odd:?} {rest:?}");
            assert_eq!(
                noted[2],
                row.iter().all(|word| word.is_read(floor, floor)),
                "{odd:?} {rest:?}"
            );
            for (noted, after) in noted.iter().zip([read, written]) {
                assert_eq!(*noted, *after != row, "{odd:?} {rest:?}");
            }
        }
    }
}
