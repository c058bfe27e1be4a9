//! Theoretical occupancy: how many warps of a kernel a multiprocessor can hold at once, of those that it has room for.
//!
//! The rules are those of `cuda_occupancy.h` of CUDA 13.0. `tests/occupancy` has a table by that header, and one by the driver of an H200.

use hardware::{MAX_THREADS, MULTIPROCESSORS, PARTITIONS, REGISTERS, WARP_SIZE};
use hardware::{registers_of_warp, threads_by_registers};

/// Barriers of a multiprocessor for each block that it can hold, on `sm_90`.
const BARRIERS_A_BLOCK: u32 = 2;

/// What a kernel needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of shared memory of a block, static and dynamic.
    pub shared: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Barriers of a block: one above the highest number.
    pub barriers: u32,
}

/// What keeps more blocks away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Warps that a multiprocessor can hold.
    Warps,
    /// Blocks that a multiprocessor can hold.
    Blocks,
    /// Registers of a multiprocessor.
    Registers,
    /// Shared memory of a multiprocessor.
    SharedMemory,
    /// Barriers, which blocks share from `sm_90` on.
    Barriers,
}

/// How full a multiprocessor can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Blocks at once; 0 if the kernel cannot start.
    pub blocks: u32,
    /// The warps of these blocks.
    pub warps: u32,
    /// Warps that there is room for.
    pub most: u32,
    /// What keeps further blocks away.
    pub limit: Limit,
}

impl Occupancy {
    /// Of a kernel on an architecture (90 for `sm_90`); `None` for one whose limits are not known.
    pub fn of(needs: Needs, sm: u32) -> Option<Self> {
        let limits = MULTIPROCESSORS.iter().find(|known| known.sm() == sm)?;
        let warps = needs.threads.div_ceil(WARP_SIZE).max(1);
        let by_warps = if needs.threads > MAX_THREADS { 0 } else { limits.warps / warps };
        let of_warp = registers_of_warp(needs.registers);
        let by_registers = match of_warp {
            0 => u32::MAX,
            _ if needs.threads > threads_by_registers(needs.registers) => 0,
            // Each part holds whole warps.
            _ => REGISTERS / PARTITIONS / of_warp * PARTITIONS / warps,
        };
        let by_shared = limits.blocks_by_shared(needs.shared.into());
        let by_barriers = match needs.barriers {
            0 => u32::MAX,
            _ if sm < 90 => u32::MAX,
            barriers => BARRIERS_A_BLOCK * limits.blocks / barriers,
        };
        let all = [
            (by_warps, Limit::Warps),
            (limits.blocks, Limit::Blocks),
            (by_registers, Limit::Registers),
            (u32::try_from(by_shared).unwrap_or(u32::MAX), Limit::SharedMemory),
            (by_barriers, Limit::Barriers),
        ];
        let (blocks, limit) = all.into_iter().min_by_key(|&(blocks, _)| blocks)?;
        Some(Self { blocks, warps: blocks * warps, most: limits.warps, limit })
    }

    /// Warps at once as a share of those that there is room for, in percent.
    pub fn percent(self) -> f64 {
        f64::from(self.warps) * 100.0 / f64::from(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occupancy(sm: u32, threads: u32, registers: u32, shared: u32) -> (u32, f64, Limit) {
        let found = Occupancy::of(Needs { registers, shared, threads, barriers: 1 }, sm).unwrap();
        (found.blocks, found.percent(), found.limit)
    }

    /// Figures that NVIDIA's occupancy calculator shows.
    #[test]
    fn known_figures() {
        assert_eq!(occupancy(80, 1024, 32, 0), (2, 100.0, Limit::Warps));
        assert_eq!(occupancy(80, 1024, 33, 0), (1, 50.0, Limit::Registers));
        assert_eq!(occupancy(80, 256, 32, 0), (8, 100.0, Limit::Warps));
        assert_eq!(occupancy(80, 256, 40, 0), (6, 75.0, Limit::Registers));
        assert_eq!(occupancy(80, 256, 64, 0), (4, 50.0, Limit::Registers));
        assert_eq!(occupancy(80, 256, 128, 0), (2, 25.0, Limit::Registers));
        assert_eq!(occupancy(80, 32, 16, 0), (32, 50.0, Limit::Blocks));
        assert_eq!(occupancy(75, 1024, 64, 0), (1, 100.0, Limit::Warps));
        assert_eq!(occupancy(75, 64, 16, 0), (16, 100.0, Limit::Warps));
        assert_eq!(occupancy(86, 1024, 32, 0), (1, 3200.0 / 48.0, Limit::Warps));
        assert_eq!(occupancy(86, 256, 32, 0), (6, 100.0, Limit::Warps));
        assert_eq!(occupancy(89, 64, 32, 0), (24, 100.0, Limit::Warps));
        assert_eq!(occupancy(90, 128, 32, 48 << 10), (4, 25.0, Limit::SharedMemory));
        assert_eq!(occupancy(80, 128, 32, 48 << 10), (3, 18.75, Limit::SharedMemory));
        assert_eq!(occupancy(75, 128, 32, 48 << 10), (1, 12.5, Limit::SharedMemory));
        assert_eq!(occupancy(90, 2048, 32, 0).0, 0);
        assert_eq!(
            Occupancy::of(Needs { registers: 1, shared: 0, threads: 1, barriers: 0 }, 70),
            None
        );
        assert_eq!(architectures().collect::<Vec<_>>(), [75, 80, 86, 89, 90]);
    }

    /// The architectures whose limits are known: 75 for `sm_75`.
    fn architectures() -> impl Iterator<Item = u32> {
        MULTIPROCESSORS.iter().map(|known| known.sm())
    }

    /// What differs from a table of `tests/occupancy`; its README says what a line means. And how many numbers were compared.
    fn differences(table: &str) -> (Vec<String>, usize) {
        let mut lines = table.lines().filter(|line| !line.starts_with('#'));
        let head = lines.next().expect("a head");
        let sizes: Vec<u32> = head.split('\t').skip(5).map(|size| size.parse().unwrap()).collect();
        let (mut wrong, mut compared) = (Vec::new(), 0);
        for line in lines {
            let words: Vec<&str> = line.split('\t').collect();
            assert_eq!(words.len(), 5 + sizes.len(), "{line}");
            let [sm, registers, fixed, barriers, threads] =
                [0, 1, 2, 3, 4].map(|column: usize| words[column].parse().unwrap());
            for (&size, blocks) in sizes.iter().zip(&words[5..]) {
                let Ok(blocks) = blocks.parse::<u32>() else { continue };
                let needs = Needs { registers, shared: fixed + size, threads, barriers };
                let ours = Occupancy::of(needs, sm).expect("a known architecture").blocks;
                compared += 1;
                if ours != blocks {
                    wrong.push(format!("sm_{sm} {needs:?}: {ours} blocks, not {blocks}"));
                }
            }
        }
        (wrong, compared)
    }

    #[test]
    fn the_tables_say_the_same() {
        let mut all = 0;
        for entry in std::fs::read_dir("tests/occupancy").expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_none_or(|extension| extension != "zst") {
                continue;
            }
            let packed = std::fs::read(&path).expect("a table");
            let decoder = ruzstd::decoding::StreamingDecoder::new(&packed[..]);
            let table = std::io::read_to_string(decoder.expect("zstd")).expect("a table");
            let (wrong, compared) = differences(&table);
            let first: Vec<_> = wrong.iter().take(20).collect();
            assert!(wrong.is_empty(), "{}: {} differ: {first:#?}", path.display(), wrong.len());
            all += compared;
        }
        // By the header, and by the driver of an H200.
        assert_eq!(all, 64_974 + 17_576);
    }

    /// A system of limits never lets more in than there is.
    #[test]
    fn nothing_is_given_out_twice() {
        for sm in architectures() {
            let limits = MULTIPROCESSORS.iter().find(|known| known.sm() == sm).unwrap();
            for threads in (1..=1024).step_by(31) {
                for registers in [1, 16, 31, 33, 64, 127, 255] {
                    for shared in [0, 1, 1000, 20_000, 100_000] {
                        let needs = Needs { registers, shared, threads, barriers: 1 };
                        let Occupancy { blocks, warps, .. } = Occupancy::of(needs, sm).unwrap();
                        assert!(warps <= limits.warps && blocks <= limits.blocks);
                        assert!(blocks * threads * registers <= REGISTERS);
                        assert!(blocks * (shared + limits.reserved) <= limits.shared);
                    }
                }
            }
        }
    }
}
