//! What the lanes of one warp know of each other where only parts of it have synchronised (`__syncwarp` with a member mask).

use crate::lanes::lanes;

/// Vector clocks of the lanes of a warp: for each lane up to which clock of the warp every lane lies in its past.
#[derive(Debug, Default)]
pub(crate) struct LaneClocks([[u32; 32]; 32]);

impl LaneClocks {
    /// The lanes of a group have synchronised: what each has done up to a clock, and what it knows, lies in the past of all.
    pub fn synchronise(&mut self, group: u32, clock: u32) {
        let mut known = [0; 32];
        for lane in lanes(group) {
            for (all, own) in known.iter_mut().zip(self.0[lane]) {
                *all = own.max(*all);
            }
        }
        for lane in lanes(group) {
            known[lane] = clock;
        }
        for lane in lanes(group) {
            self.0[lane] = known;
        }
    }

    /// Whether what another lane did at a clock lies in the past of a lane.
    pub fn covers(&self, lane: u32, other: u32, clock: u32) -> bool {
        clock <= self.0[lane as usize % 32][other as usize % 32]
    }

    /// The lanes of which some of these know what they did at a clock.
    pub fn known_at(&self, of: u32, clock: u32) -> u32 {
        let known = |lane: usize| {
            let later = lanes(u32::MAX).filter(move |&other| self.0[lane][other] >= clock);
            later.fold(0, |all, other| all | 1 << other)
        };
        lanes(of).fold(0, |all, lane| all | known(lane))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_lane_knows_it_passes_on() {
        let mut clocks = LaneClocks::default();
        clocks.synchronise(0b0011, 4);
        assert!(clocks.covers(1, 0, 4) && !clocks.covers(1, 0, 5) && !clocks.covers(2, 0, 1));
        clocks.synchronise(0b0110, 6);
        assert!(clocks.covers(2, 0, 4) && clocks.covers(2, 1, 6) && !clocks.covers(0, 2, 1));
        assert_eq!(clocks.known_at(0b0100, 5), 0b0110);
    }
}
