//! Tests of blocks in which some warps are ordered and not all, for which there may not be enough room.

use super::*;

/// All accesses of a byte.
type History = Vec<Access>;

/// Whether an access races with one of a history.
fn races_with(history: &History, current: &CurrentAccess) -> bool {
    let (new, own) = (current.access, current.warp());
    history.iter().any(|old| {
        let by = usize::from(old.epoch.warp);
        let before = if by == own {
            old.epoch.clock < current.converged_at
        } else {
            old.epoch.clock <= current.clocks[own][by]
        };
        let strong = old.epoch.strong && new.epoch.strong;
        !before && !strong && old.thread != new.thread && (old.epoch.writes || new.epoch.writes)
    })
}

/// Warps that access bytes, halves and words at random, and meet in pairs only. How many accesses raced as far as was told, and how many
/// there were. `sizes` of the accesses, and how many instructions there are.
fn pairs_at_random(sizes: &[u32], pcs: u32) -> (u32, u32) {
    const ALL: usize = 8;
    let mut random = random_numbers(11);
    let bytes = 1 << 14;
    let mut shadow = SharedMemoryShadow::default();
    shadow.begin(bytes as usize / 4);
    let mut clocks = first_clocks();
    let mut histories = vec![History::new(); bytes as usize];
    let (mut found, mut all) = (0, 0);
    for round in 0..100_000 {
        let (a, b) = (random(ALL as u32) as usize, random(ALL as u32) as usize);
        if random(20) == 0 {
            let joined: [u32; WARPS] =
                std::array::from_fn(|warp| clocks[a][warp].max(clocks[b][warp]));
            for warp in [a, b] {
                clocks[warp] = joined;
                clocks[warp][warp] += 1;
            }
            for warp in [a, b] {
                shadow.raise_floor(warp, &clocks[warp], clocks[warp][warp], ALL);
            }
            shadow.note_partial_sync();
        }
        let (warp, lane) = (a as u32, random(32));
        let clock = clocks[a][a];
        let size = sizes[random(sizes.len() as u32) as usize];
        let address = random(bytes / size) * size;
        let writes = random(8) == 0;
        let kind = if writes { AccessKind::Write } else { AccessKind::Read };
        let strong = random(4) == 0;
        let epoch = Epoch { clock, pc: random(pcs), warp: a as u8, strong, writes, valued: false };
        let mut current = access_of(epoch, warp * 32 + lane, &clocks, clock, kind);
        if size == 4 {
            current.access_id = ShortAccessId::new(shadow.number(epoch), lane as usize);
        }
        let touched = &mut histories[address as usize..(address + size) as usize];
        let races = touched.iter().any(|history| races_with(history, &current));
        for history in touched {
            history.push(current.access);
        }
        let quiet = size == 4 && shadow.check_fast_path(address as usize / 4, &current);
        let told = !quiet && shadow.check(address, size, &current).is_some();
        assert!(races || !told, "round {round}: {size} bytes at {address}");
        (found, all) = (found + u32::from(told), all + u32::from(races));
        let most = 4 * bytes as usize + (256 << 10);
        assert!(shadow.bytes() <= most, "round {round}: {} of {most} bytes", shadow.bytes());
    }
    (found, all)
}

#[test]
fn where_there_is_no_room_nothing_is_found_that_is_not_there() {
    for (sizes, pcs) in
        [(&[1, 1, 2, 4][..], 4), (&[1], 4), (&[1, 4], 1000), (&[4], 4), (&[4], 1000)]
    {
        let (found, all) = pairs_at_random(sizes, pcs);
        assert!(found * 2 > all, "{sizes:?} {pcs}: {found} of {all}");
    }
}
