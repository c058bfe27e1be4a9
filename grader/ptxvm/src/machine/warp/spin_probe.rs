//! Probes of a warp: from time to time it checks whether its lanes spin.

use super::Warp;
use super::spin_detector::{
    Byte, FIRST_PROBE, Repeated, SHORT_INTERVAL, SpinProbe, SpinVerdict, UNCHANGED_LIMIT,
};

impl Warp {
    /// Whether a probe may find anything: only where lanes wait, or the program has loops that may wait.
    pub fn should_probe(&self) -> bool {
        self.current.mask != self.live || self.spin.first == FIRST_PROBE.0
    }

    /// Saves the state of the running lanes, to compare it with later ones.
    pub fn begin_probe(&mut self) {
        self.spin.probe = Some(Box::new(SpinProbe::new(
            self.current,
            &self.stack,
            &self.registers,
            self.executed,
        )));
    }

    /// Postpones the next probe.
    pub fn skip_probe(&mut self) {
        self.spin.next_probe = self.executed + self.spin.interval;
    }

    /// Continues a probe after a branch. `unchanged` tells whether a byte of memory holds a value.
    pub fn probe(&mut self, unchanged: impl Fn(&Self, Byte, u8) -> bool) -> SpinVerdict {
        let Some(mut probe) = self.spin.probe.take() else { return SpinVerdict::Undecided };
        probe.ran |= self.current.mask;
        probe.ran_at_all |= self.current.mask;
        probe.branches += 1;
        if !probe.lost
            && probe.is_back(self.current, &self.stack, &self.registers)
            && probe.bytes.iter().all(|(&byte, &value)| unchanged(self, byte, value))
        {
            return SpinVerdict::Spinning(probe.ran, probe.into_polled());
        }
        if self.spin.still_spins(&probe) {
            return SpinVerdict::Spinning(probe.ran_at_all, probe.into_polled());
        }
        if probe.repeated == Repeated::AfterClock && probe.reads_nothing_new() {
            return self.spin.found(*probe);
        }
        if self.executed >= probe.end {
            let ran = probe.ran_at_all;
            let unchanged_since = probe.reads_nothing_new();
            self.spin.note_progress(self.executed);
            if !unchanged_since {
                self.spin.unchanged_since = None;
                return SpinVerdict::Busy;
            }
            // Looks follow each other now.
            self.spin.next_probe = self.executed + SHORT_INTERVAL;
            return match self.spin.unchanged_since {
                Some((lanes, since)) if lanes == ran => {
                    if self.executed - since < UNCHANGED_LIMIT {
                        SpinVerdict::Busy
                    } else {
                        self.spin.found(*probe)
                    }
                }
                _ => {
                    self.spin.unchanged_since = Some((ran, self.executed));
                    SpinVerdict::Busy
                }
            };
        }
        // Brent, "An improved Monte Carlo factorization algorithm" (1980): a loop of any length is found.
        if probe.branches.is_power_of_two() {
            probe.keep(self.current, &self.stack, &self.registers);
        }
        self.spin.probe = Some(probe);
        SpinVerdict::Undecided
    }
}
