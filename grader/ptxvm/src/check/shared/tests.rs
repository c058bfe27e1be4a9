use super::*;

/// A word, with everything in full.
#[derive(Clone, Copy, Default)]
struct Plain {
    writer: Option<Access>,
    value: u32,
    readers: [Option<Access>; 2],
}

impl Plain {
    fn visit(&mut self, now: &Now, value: Option<u32>) -> Option<(RaceKind, Access)> {
        let unordered = |old: Option<Access>| {
            let old = old?;
            let (by, own) = (usize::from(old.event.warp), now.warp());
            let before = if by == own {
                old.event.clock < now.met || now.own.covers(old.event.clock, old.thread % 32)
            } else {
                old.event.clock <= now.clocks[own][by]
            };
            (!before).then_some(old)
        };
        let conflict = |old| {
            unordered(old).filter(|old| {
                let both_strong = old.event.strong && now.access.event.strong;
                old.thread != now.access.thread && !both_strong
            })
        };
        let written = conflict(self.writer);
        let [first, second] = self.readers;
        if now.kind == AccessKind::Read {
            match unordered(first) {
                None => self.readers[0] = Some(now.access),
                Some(old) if old.thread != now.access.thread && unordered(second).is_none() => {
                    self.readers[1] = Some(now.access);
                }
                Some(_) => {}
            }
            return written.map(|old| (RaceKind::ReadAfterWrite, old));
        }
        let read = conflict(first).or_else(|| conflict(second));
        let written = written.filter(|_| value.is_none_or(|value| value != self.value));
        self.writer = Some(now.access);
        self.value = value.unwrap_or(self.value);
        let written = written.map(|old| (RaceKind::WriteAfterWrite, old));
        written.or(read.map(|old| (RaceKind::WriteAfterRead, old)))
    }
}

const WORDS: usize = 600;
const ALL: usize = 4;

#[test]
fn twelve_bytes_find_what_whole_accesses_find() {
    let mut state = 1u32;
    let mut random = |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % below
    };
    let mut shadow = Shadow::default();
    shadow.begin(WORDS);
    let mut plain = vec![[Plain::default(); 4]; WORDS];
    let mut split = vec![false; WORDS];
    let mut clocks: Box<Clocks> = Box::new([[0; WARPS]; WARPS]);
    for (warp, clocks) in clocks.iter_mut().enumerate() {
        clocks[warp] = 1;
    }
    let (mut met, mut own) = ([1; ALL], [Seen::default(); ALL]);
    let (mut races, mut quiet, mut highest) = (0, 0, 0);
    for round in 0..150_000u32 {
        // Barriers of all warps at first, then of some, then of single ones only.
        let members = match round / 50_000 {
            0 => 0b1111,
            1 => 1 + random(14),
            _ => 1 << random(4),
        };
        if random(60) == 0 {
            let mut joined = [0; WARPS];
            let all: Vec<usize> = (0..ALL).filter(|warp| members >> warp & 1 == 1).collect();
            for &warp in &all {
                for (all, &clock) in joined.iter_mut().zip(&clocks[warp]) {
                    *all = clock.max(*all);
                }
            }
            for &warp in &all {
                clocks[warp] = joined;
                clocks[warp][warp] += 1;
                met[warp] = clocks[warp][warp];
                own[warp] = Seen::default();
                shadow.raise_floor(warp, &clocks[warp], met[warp], ALL);
            }
            shadow.settle(ALL);
        }
        if round > 50_000 && random(30) == 0 {
            // Some lanes of a warp release something, which others of it or those of another warp acquire.
            let (from, to) = (random(ALL as u32) as usize, random(ALL as u32) as usize);
            let upto = clocks[from][from];
            clocks[from][from] += 1;
            if from == to {
                own[to] = Seen { all: met[to] - 1, lanes: random(1 << 24), upto };
            } else {
                clocks[to][from] = upto;
            }
            shadow.raise_floor(to, &clocks[to], met[to], ALL);
        }
        let (warp, lane) = (random(ALL as u32), random(32));
        let (clock, strong) = (clocks[warp as usize][warp as usize], random(5) == 0);
        let event = Event { clock, pc: random(40), warp: warp as u8, strong };
        let kind = [AccessKind::Read, AccessKind::Write][random(2) as usize];
        let number = shadow.number(event);
        highest = highest.max(number);
        let now = Now {
            mark: Mark::new(number, lane as usize),
            access: Access { event, thread: warp * 32 + lane },
            clocks: &clocks,
            met: met[warp as usize],
            own: own[warp as usize],
            kind,
            value: Some(random(3)),
        };
        let (size, word) = ([4, 4, 4, 2, 1, 8][random(6) as usize], random(WORDS as u32 - 1));
        // Single bytes here and there.
        let size = if size < 4 && word % 8 != 0 { 4 } else { size };
        let address = word * 4 + if size < 4 { random(4 / size) * size } else { 0 };
        let now = Now { value: now.value.filter(|_| size == 4), ..now };
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
                let value = now.value.filter(|_| whole);
                let found = plain[at as usize][byte as usize].visit(&now, value);
                wanted = wanted.or(found.map(|(kind, old)| (kind, old, at * 4 + byte)));
            }
        }
        if size == 4 && shadow.visit_quietly(word as usize, &now) {
            quiet += 1;
            assert_eq!(wanted, None, "round {round}");
        } else {
            assert_eq!(shadow.visit(address, size, &now), wanted, "round {round}");
        }
        races += u32::from(wanted.is_some());
    }
    assert!(races > 1000 && quiet > 1000 && highest > 1500, "{races} {quiet} {highest}");
    assert!(shadow.events.all.len() <= shadow.events.limit);
}

/// The write of a lane after both have read a word, met, and read it again; `quietly` where that is possible.
fn write_after_second_reads(quietly: bool) -> Option<(RaceKind, Access)> {
    let mut shadow = Shadow::default();
    shadow.begin(2);
    let mut clocks: Box<Clocks> = Box::new([[0; WARPS]; WARPS]);
    (clocks[0][0], clocks[1][1]) = (1, 1);
    let access = |shadow: &mut Shadow, clocks: &Clocks, warp: u8, lane, kind, word: u32| {
        let clock = clocks[usize::from(warp)][usize::from(warp)];
        let event = Event { clock, pc: 0, warp, strong: false };
        let now = Now {
            mark: Mark::new(shadow.number(event), lane),
            access: Access { event, thread: u32::from(warp) * 32 + lane as u32 },
            clocks,
            met: clock,
            own: Seen::default(),
            kind,
            value: None,
        };
        if quietly && shadow.visit_quietly(word as usize, &now) {
            return None;
        }
        shadow.visit(word * 4, 4, &now).map(|(kind, other, _)| (kind, other))
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
        assert_eq!((kind, other.thread, other.event.clock), (RaceKind::WriteAfterRead, 1, 2));
    }
}
