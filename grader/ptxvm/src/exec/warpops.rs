//! Operations across lanes: shuffles, votes, matches, reductions (PTX ISA 9.7.9.6, 9.7.13).

use super::Machine;
use crate::hooks::Monitor;
use crate::ir::{Op, Redux, Shuffle, Slot, Vote};
use crate::warp::lanes;

/// The source lane of a shuffle and whether it lies in range (PTX ISA 9.7.9.6).
pub(crate) fn source_lane(mode: Shuffle, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (b, clamp, segment) = (b & 31, c & 31, (c >> 8) & 31);
    let max = (lane & segment) | (clamp & !segment);
    let min = lane & segment;
    let (source, in_range) = match mode {
        Shuffle::Up => {
            let source = lane.wrapping_sub(b);
            // Here the clamp is the lowest lane.
            (source, lane >= b && source as i32 >= max as i32)
        }
        Shuffle::Down => (lane + b, lane + b <= max),
        Shuffle::Bfly => (lane ^ b, (lane ^ b) <= max),
        Shuffle::Idx => {
            let source = min | (b & !segment & 31);
            (source, source <= max)
        }
    };
    if in_range { (source & 31, true) } else { (lane, false) }
}

fn reduce(op: Redux, a: u32, b: u32) -> u32 {
    match op {
        Redux::Add => a.wrapping_add(b),
        Redux::MinU => a.min(b),
        Redux::MinS => (a as i32).min(b as i32) as u32,
        Redux::MaxU => a.max(b),
        Redux::MaxS => (a as i32).max(b as i32) as u32,
        Redux::And => a & b,
        Redux::Or => a | b,
        Redux::Xor => a ^ b,
    }
}

impl<M: Monitor> Machine<'_, '_, M> {
    /// Lanes that are not active do not take part, whatever the member mask says.
    pub(super) fn warp_operation(&mut self, mask: u32, op: &Op) {
        if mask == 0 {
            return;
        }
        let registers = &mut self.warp.registers;
        match *op {
            Op::Shfl { mode, dst, in_range, a, b, c } => {
                let (a, b, c) = (*registers.r(a), *registers.r(b), *registers.r(c));
                let mut inside = 0;
                for lane in lanes(mask) {
                    let (source, valid) = source_lane(mode, lane as u32, b[lane], c[lane]);
                    inside |= u32::from(valid) << lane;
                    if let Some(dst) = dst {
                        // What an absent lane gives is undefined: all ones, as after a read that went wrong.
                        let present = mask >> source & 1 == 1;
                        let value = if present { a[source as usize] } else { u32::MAX };
                        registers.r_mut(dst)[lane] = value;
                    }
                }
                if let Some(in_range) = in_range {
                    registers.set_p(in_range, mask, inside);
                }
            }
            Op::VoteP(vote, d, guard) => {
                let p = registers.p(guard.predicate);
                let bits = mask & if guard.negated { !p } else { p };
                let holds = match vote {
                    Vote::All => bits == mask,
                    Vote::Any | Vote::Ballot => bits != 0,
                    Vote::Uni => bits == 0 || bits == mask,
                };
                registers.set_p(d, mask, if holds { u32::MAX } else { 0 });
            }
            Op::Ballot(d, guard) => {
                let p = registers.p(guard.predicate);
                let bits = mask & if guard.negated { !p } else { p };
                self.set_lanes(Slot::R(d), mask, &[bits.into(); 32]);
            }
            Op::MatchAny(d, a) => {
                // `a` may be `d`: results are written after all are known.
                let mut members = [0; 32];
                for lane in lanes(mask) {
                    let value = registers.lane(a, lane);
                    members[lane] = lanes(mask)
                        .filter(|&other| registers.lane(a, other) == value)
                        .fold(0, |all, other| all | 1 << other);
                }
                self.set_lanes(Slot::R(d), mask, &members);
            }
            Op::MatchAll(d, p, a) => {
                let first = registers.lane(a, mask.trailing_zeros() as usize);
                let all = lanes(mask).all(|lane| registers.lane(a, lane) == first);
                if let Some(p) = p {
                    registers.set_p(p, mask, if all { u32::MAX } else { 0 });
                }
                let members = if all { mask } else { 0 };
                self.set_lanes(Slot::R(d), mask, &[members.into(); 32]);
            }
            Op::Redux(op, d, a) => {
                let a = *registers.r(a);
                let total = lanes(mask).map(|lane| a[lane]).reduce(|x, y| reduce(op, x, y));
                self.set_lanes(Slot::R(d), mask, &[total.unwrap_or(0).into(); 32]);
            }
            Op::ActiveMask(d) => self.set_lanes(Slot::R(d), mask, &[mask.into(); 32]),
            Op::Clock32(d) => {
                let now = self.warp.executed & u64::from(u32::MAX);
                self.set_lanes(Slot::R(d), mask, &[now; 32]);
            }
            Op::Clock64(d) => {
                let now = self.warp.executed;
                self.set_lanes(Slot::Q(d), mask, &[now; 32]);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `c` of `__shfl_*_sync(mask, value, lane, width)`.
    fn clamp(mode: Shuffle, width: u32) -> u32 {
        (32 - width) << 8 | if mode == Shuffle::Up { 0 } else { 31 }
    }

    #[test]
    fn whole_warp() {
        let down = clamp(Shuffle::Down, 32);
        assert_eq!(source_lane(Shuffle::Down, 3, 4, down), (7, true));
        assert_eq!(source_lane(Shuffle::Down, 30, 4, down), (30, false));
        let up = clamp(Shuffle::Up, 32);
        assert_eq!(source_lane(Shuffle::Up, 5, 4, up), (1, true));
        assert_eq!(source_lane(Shuffle::Up, 3, 4, up), (3, false));
        assert_eq!(source_lane(Shuffle::Bfly, 5, 1, down), (4, true));
        assert_eq!(source_lane(Shuffle::Idx, 5, 31, down), (31, true));
    }

    #[test]
    fn segments_of_eight() {
        let down = clamp(Shuffle::Down, 8);
        assert_eq!(source_lane(Shuffle::Down, 14, 1, down), (15, true));
        assert_eq!(source_lane(Shuffle::Down, 15, 1, down), (15, false));
        let up = clamp(Shuffle::Up, 8);
        assert_eq!(source_lane(Shuffle::Up, 8, 1, up), (8, false));
        assert_eq!(source_lane(Shuffle::Up, 9, 1, up), (8, true));
        assert_eq!(source_lane(Shuffle::Idx, 9, 3, down), (11, true));
        assert_eq!(source_lane(Shuffle::Idx, 9, 11, down), (11, true));
    }
}
