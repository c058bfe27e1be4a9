//! The counters that a launch reports.

use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::sync::Arc;

use crate::isa::class::Class;
use crate::memory::buffer::BufferId;
use crate::source_loc::SourceLoc;

/// Numbers of a launch, of several, or of a line. Instructions count once for each warp that executes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// PTX instructions of warps, by class (index: the class).
    pub classes: [u64; Class::ALL.len()],
    /// Multiplications of numbers by matrix instructions: `m * n * k` for each.
    pub matrix_multiplications: u64,
    /// PTX instructions, counted once for each active lane.
    pub lane_instructions: u64,
    /// Branch instructions of warps.
    pub branches: u64,
    /// Branches that some lanes took and some did not.
    pub divergent_branches: u64,
    /// Lanes that came to divergent branches.
    pub divergent_lanes: u64,
    /// Of these, the lanes of the smaller side.
    pub divergent_minority: u64,
    /// Loads of warps from global memory.
    pub load_requests: u64,
    /// Sectors of 32 bytes that they touch.
    pub load_sectors: u64,
    /// Sectors that would hold the different bytes that the lanes ask for, if these lay side by side.
    pub load_sectors_packed: u64,
    /// Bytes that the lanes ask for.
    pub load_bytes: u64,
    /// Stores of warps to global memory.
    pub store_requests: u64,
    /// Sectors that stores touch.
    pub store_sectors: u64,
    /// Sectors that the same stores would touch if their bytes lay side by side.
    pub store_sectors_packed: u64,
    /// Bytes that the lanes store.
    pub store_bytes: u64,
    /// Loads and stores of warps in shared memory.
    pub shared_requests: u64,
    /// Passes through the banks that they take.
    pub shared_wavefronts: u64,
    /// Passes that they take because lanes want different words of one bank.
    pub bank_conflicts: u64,
    /// Atomic operations of warps, in global and shared memory.
    pub atomic_requests: u64,
    /// Atomic operations of lanes.
    pub atomic_lanes: u64,
    /// Bytes that atomic operations of lanes read, and as many that they write, in global memory.
    pub atomic_bytes: u64,
    /// Bytes that lanes read and write in each buffer of global memory, atomic operations included.
    pub buffers: BTreeMap<BufferId, Traffic>,
    /// Barriers (`bar.sync` and its kin) that warps came to.
    pub barriers: u64,
    /// Loads and stores of warps in local memory.
    pub local_requests: u64,
    /// Bytes that lanes load and store there.
    pub local_bytes: u64,
    /// How far neighbouring lanes were apart in global memory, in bytes, and in how many requests; only of requests of one
    /// stride throughout.
    pub global_strides: Stride,
    /// The same for shared memory.
    pub shared_strides: Stride,
}

/// Bytes of global memory that lanes read and write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes that loads and atomic operations read.
    pub read: u64,
    /// Bytes that stores and atomic operations write.
    pub written: u64,
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        self.read += other.read;
        self.written += other.written;
    }
}

/// How often each stride was seen, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stride {
    seen: BTreeMap<i64, u64>,
}

impl Stride {
    pub(crate) fn note(&mut self, bytes: i64) {
        *self.seen.entry(bytes).or_default() += 1;
    }

    /// The most frequent one with its count; of several, the smallest.
    pub fn most_frequent(&self) -> Option<(i64, u64)> {
        let most =
            self.seen.iter().max_by_key(|&(&bytes, &count)| (count, std::cmp::Reverse(bytes)));
        most.map(|(&bytes, &count)| (bytes, count))
    }
}

impl Counts {
    /// Bytes of global memory that lanes read and write, atomic operations included.
    pub fn global(&self) -> Traffic {
        Traffic {
            read: self.load_bytes + self.atomic_bytes,
            written: self.store_bytes + self.atomic_bytes,
        }
    }

    /// PTX instructions of warps.
    pub fn instructions(&self) -> u64 {
        self.classes.iter().sum()
    }

    /// PTX instructions of a class.
    pub fn of(&self, class: Class) -> u64 {
        self.classes[class as usize]
    }

    /// Active lanes of an instruction on average: 0 to 32. None if there was no instruction.
    pub fn active_lanes(&self) -> Option<f64> {
        let instructions = self.instructions();
        (instructions > 0).then(|| self.lane_instructions as f64 / instructions as f64)
    }
}

impl AddAssign<&Counts> for Counts {
    fn add_assign(&mut self, other: &Self) {
        for (sum, count) in self.classes.iter_mut().zip(other.classes) {
            *sum += count;
        }
        macro_rules! add {
            ($($field:ident),*) => { $(self.$field += other.$field;)* };
        }
        add!(
            matrix_multiplications,
            lane_instructions,
            branches,
            divergent_branches,
            divergent_lanes,
            divergent_minority,
            load_requests,
            load_sectors,
            load_sectors_packed,
            load_bytes,
            store_requests,
            store_sectors,
            store_sectors_packed,
            store_bytes,
            shared_requests,
            shared_wavefronts,
            bank_conflicts,
            atomic_requests,
            atomic_lanes,
            atomic_bytes,
            barriers,
            local_requests,
            local_bytes
        );
        for (&buffer, &traffic) in &other.buffers {
            *self.buffers.entry(buffer).or_default() += traffic;
        }
        for (mine, theirs) in [
            (&mut self.global_strides, &other.global_strides),
            (&mut self.shared_strides, &other.shared_strides),
        ] {
            for (&bytes, count) in &theirs.seen {
                *mine.seen.entry(bytes).or_default() += count;
            }
        }
    }
}

/// An instruction of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InstructionSite {
    /// Name of the kernel in the PTX.
    pub kernel: Arc<str>,
    /// Where it stands in its code: a later one has a greater number.
    pub instruction: u32,
}

/// What a launch did, in numbers; the same at every run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// The counts of the whole launch.
    pub total: Counts,
    /// By source line, with column 0. What has no line is in the total only.
    pub lines: BTreeMap<SourceLoc, Counts>,
    /// Loads, stores and branches one by one, with their lines: a line may have several, and only one of them be slow.
    pub sites: BTreeMap<InstructionSite, (SourceLoc, Counts)>,
    /// Whether a loop or a recursion did not end, so that later blocks did not run.
    pub endless: bool,
}

impl AddAssign<&Counters> for Counters {
    fn add_assign(&mut self, other: &Self) {
        self.total += &other.total;
        for (place, counts) in &other.lines {
            *self.lines.entry(place.clone()).or_default() += counts;
        }
        for (site, (place, counts)) in &other.sites {
            match self.sites.get_mut(site) {
                Some((_, sum)) => *sum += counts,
                None => {
                    self.sites.insert(site.clone(), (place.clone(), counts.clone()));
                }
            }
        }
        self.endless |= other.endless;
    }
}
