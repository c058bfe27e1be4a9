//! The costs of a program's kernels over all their launches.

use crate::device::Launch;
use ptxvm::Counters;
use std::collections::BTreeSet;

/// All launches of one kernel.
#[derive(Clone, Debug, Default)]
pub struct KernelProfile {
    /// The number of its module, in the order of loading.
    pub module: u64,
    /// Its name in the PTX.
    pub kernel: String,
    /// The number of launches.
    pub launches: u64,
    /// The threads of a block and the bytes of dynamic shared memory of its launches.
    pub shapes: BTreeSet<(u32, u32)>,
    /// The sum of the counters over its launches.
    pub counters: Counters,
}

/// The profiles of all kernels, in the order of their first launches.
#[derive(Debug, Default)]
pub(super) struct Profiles(pub Vec<KernelProfile>);

impl Profiles {
    pub fn add(&mut self, launch: &Launch, counters: &Counters) {
        let known = self
            .0
            .iter_mut()
            .position(|profile| profile.module == launch.module && profile.kernel == launch.kernel);
        let index = known.unwrap_or_else(|| {
            let (module, kernel) = (launch.module, launch.kernel.clone());
            self.0.push(KernelProfile { module, kernel, ..KernelProfile::default() });
            self.0.len() - 1
        });
        let profile = &mut self.0[index];
        profile.launches += 1;
        profile.shapes.insert((launch.block.iter().product(), launch.shared));
        profile.counters += counters;
    }
}
