//! What a run of host code takes, to compare it with that of another program.

use std::time::Duration;

/// The work of a run: of the host code, and of the device for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Processor time of the host code, known to a tenth of a second.
    pub host: Duration,
    /// The device's own time of all launches. The virtual machine's is the same in every run, however busy this machine is.
    pub device: Duration,
}

impl Usage {
    /// Whether one of the two is above that of `limit`.
    pub fn exceeds(self, limit: Self) -> bool {
        self.host > limit.host || self.device > limit.device
    }
}
