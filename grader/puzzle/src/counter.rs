//! What a gate can bound: numbers that the virtual machine counts exactly.

/// A number that a launch costs; the same at every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// PTX instructions of warps.
    Instructions,
    /// Branches at which a warp divides.
    DivergentBranches,
    /// Loads of warps from global memory.
    GlobalLoadRequests,
    /// Sectors of 32 bytes that they touch.
    GlobalLoadSectors,
    /// Stores of warps to global memory.
    GlobalStoreRequests,
    /// Sectors of 32 bytes that they touch.
    GlobalStoreSectors,
    /// Passes through the banks of shared memory.
    SharedWavefronts,
    /// Those of them that conflicts cost.
    SharedBankConflicts,
    /// Atomic operations of threads.
    AtomicOperations,
    /// Barriers that warps come to.
    Barriers,
    /// Bytes of threads' own memory, read and written.
    LocalBytes,
}

impl Counter {
    /// All, with their names in a spec and what a report calls them.
    const NAMES: [(&str, Self, &str); 11] = [
        ("instructions", Self::Instructions, "PTX instructions of warps"),
        ("divergent_branches", Self::DivergentBranches, "branches that divide a warp"),
        ("global_load_requests", Self::GlobalLoadRequests, "loads of warps from global memory"),
        ("global_load_sectors", Self::GlobalLoadSectors, "sectors loaded from global memory"),
        ("global_store_requests", Self::GlobalStoreRequests, "stores of warps to global memory"),
        ("global_store_sectors", Self::GlobalStoreSectors, "sectors stored to global memory"),
        ("shared_wavefronts", Self::SharedWavefronts, "passes through the banks of shared memory"),
        ("shared_bank_conflicts", Self::SharedBankConflicts, "bank conflicts in shared memory"),
        ("atomic_operations", Self::AtomicOperations, "atomic operations of threads"),
        ("barriers", Self::Barriers, "barriers that warps come to"),
        ("local_bytes", Self::LocalBytes, "bytes of threads' own memory"),
    ];

    /// The counter that a spec calls `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, ..)| *known == name).map(|&(_, counter, _)| counter)
    }

    /// All names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::NAMES.iter().map(|&(name, ..)| name)
    }

    /// For reports: "sectors loaded from global memory".
    pub fn text(self) -> &'static str {
        Self::NAMES.iter().find(|(_, counter, _)| *counter == self).map_or("", |&(.., text)| text)
    }
}
