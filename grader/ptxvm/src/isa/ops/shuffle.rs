//! Which lane a shuffle reads (PTX ISA 9.7.9.6).

use crate::isa::ir::Shuffle;

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
