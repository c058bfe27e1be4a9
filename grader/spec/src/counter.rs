//! The counters that a gate can bound: numbers that the virtual machine counts exactly.

/// A cost of a launch; the same in every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// Executed PTX instructions, counted once per warp.
    Instructions,
    /// Matrix instructions (`mma`, `wmma.mma`), counted once per warp.
    MatrixInstructions,
    /// Multiplications that matrix instructions execute on tensor cores.
    MatrixMultiplications,
    /// Branches at which the lanes of a warp take different paths.
    DivergentBranches,
    /// Load instructions from global memory, counted once per warp.
    GlobalLoadRequests,
    /// The sectors of 32 bytes that those loads touch.
    GlobalLoadSectors,
    /// Store instructions to global memory, counted once per warp.
    GlobalStoreRequests,
    /// The sectors of 32 bytes that those stores touch.
    GlobalStoreSectors,
    /// Bytes that threads read from global memory.
    GlobalBytesRead,
    /// Bytes that threads write to global memory.
    GlobalBytesWritten,
    /// Passes through the banks of shared memory.
    SharedWavefronts,
    /// The passes that are due to bank conflicts.
    SharedBankConflicts,
    /// Atomic operations, counted once per thread.
    AtomicOperations,
    /// Barrier instructions, counted once per warp.
    Barriers,
    /// Bytes of local memory that threads read and write.
    LocalBytes,
}

impl Counter {
    /// All counters, with their names in a spec and in a report.
    const NAMES: [(&str, Self, &str); 15] = [
        ("instructions", Self::Instructions, "PTX instructions of warps"),
        ("matrix_instructions", Self::MatrixInstructions, "matrix instructions of warps"),
        ("matrix_multiplications", Self::MatrixMultiplications, "multiplications on tensor cores"),
        ("divergent_branches", Self::DivergentBranches, "divergent branches of warps"),
        ("global_load_requests", Self::GlobalLoadRequests, "loads of warps from global memory"),
        ("global_load_sectors", Self::GlobalLoadSectors, "sectors loaded from global memory"),
        ("global_store_requests", Self::GlobalStoreRequests, "stores of warps to global memory"),
        ("global_store_sectors", Self::GlobalStoreSectors, "sectors stored to global memory"),
        ("global_bytes_read", Self::GlobalBytesRead, "bytes read from global memory"),
        ("global_bytes_written", Self::GlobalBytesWritten, "bytes written to global memory"),
        ("shared_wavefronts", Self::SharedWavefronts, "passes through the banks of shared memory"),
        ("shared_bank_conflicts", Self::SharedBankConflicts, "bank conflicts in shared memory"),
        ("atomic_operations", Self::AtomicOperations, "atomic operations of threads"),
        ("barriers", Self::Barriers, "barriers that warps reach"),
        ("local_bytes", Self::LocalBytes, "bytes of local memory"),
    ];

    /// The counter that a spec calls `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, ..)| *known == name).map(|&(_, counter, _)| counter)
    }

    /// The counter of `bytes_read(X)` and `bytes_written(X)`, which count in one tensor.
    pub fn of_tensor(word: &str) -> Option<Self> {
        match word {
            "bytes_read" => Some(Self::GlobalBytesRead),
            "bytes_written" => Some(Self::GlobalBytesWritten),
            _ => None,
        }
    }

    /// The counter's name in a report if it counts in one tensor alone, such as "bytes read from `x`".
    pub fn text_of(self, tensor: &str) -> String {
        self.text().replace("global memory", &format!("`{tensor}`"))
    }

    /// The names of all counters in a spec.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::NAMES.iter().map(|&(name, ..)| name)
    }

    /// The counter's name in a report, such as "sectors loaded from global memory".
    pub fn text(self) -> &'static str {
        Self::NAMES.iter().find(|(_, counter, _)| *counter == self).map_or("", |&(.., text)| text)
    }
}
