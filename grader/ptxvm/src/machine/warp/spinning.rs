//! How a warp looks, once in a while, whether its lanes spin.

use super::spin::{Byte, FIRST, PATIENCE, SHORT, Seen, Watch};
use super::state::Warp;

impl Warp {
    /// Whether a look may show anything: it is worth it where lanes wait, or where the program has loops that may wait.
    pub fn is_worth_a_look(&self) -> bool {
        self.now.mask != self.live || self.spin.first == FIRST.0
    }

    /// Begins a look.
    pub fn begin_look(&mut self) {
        self.spin.watch =
            Some(Box::new(Watch::new(self.now, &self.stack, &self.registers, self.executed)));
    }

    /// Does without a look for now.
    pub fn skip_look(&mut self) {
        self.spin.look_at = self.executed + self.spin.interval;
    }

    /// After a branch while a look is under way. `unchanged` tells whether a byte of memory holds this value.
    pub fn look(&mut self, unchanged: impl Fn(&Self, Byte, u8) -> bool) -> Seen {
        let Some(mut watch) = self.spin.watch.take() else { return Seen::Nothing };
        watch.ran |= self.now.mask;
        watch.ran_at_all |= self.now.mask;
        watch.branches += 1;
        if !watch.lost
            && watch.is_back(self.now, &self.stack, &self.registers)
            && watch.bytes.iter().all(|(&byte, &value)| unchanged(self, byte, value))
        {
            return Seen::Spinning(watch.ran, watch.polled.into_values().flatten().collect());
        }
        if self.executed >= watch.end {
            let ran = watch.ran_at_all;
            let bored = watch.again && !watch.news && !watch.lost;
            self.spin.rest(self.executed);
            if !bored {
                self.spin.bored = None;
                return Seen::Busy;
            }
            // Looks follow each other now.
            self.spin.look_at = self.executed + SHORT;
            return match self.spin.bored {
                Some((lanes, since)) if lanes == ran => {
                    if self.executed - since < PATIENCE {
                        Seen::Busy
                    } else {
                        Seen::Spinning(ran, watch.polled.into_values().flatten().collect())
                    }
                }
                _ => {
                    self.spin.bored = Some((ran, self.executed));
                    Seen::Busy
                }
            };
        }
        // Brent, "An improved Monte Carlo factorization algorithm" (1980): a loop of any length is found.
        if watch.branches.is_power_of_two() {
            watch.keep(self.now, &self.stack, &self.registers);
        }
        self.spin.watch = Some(watch);
        Seen::Nothing
    }
}
