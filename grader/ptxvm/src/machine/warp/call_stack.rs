//! The call stack of the lanes of a warp, for functions that may have several activations in a thread.
//!
//! A frame of local memory holds the function's parameters, results and variables. The registers of a caller that the call
//! may lead back to are saved here until it returns. All lanes of a stack entry came through the same calls.

use crate::lanes::lanes;
use crate::machine::registers::Registers;
use crate::memory::layout::FRAME_GAP;
use crate::program::code::Frame;

/// Bytes of the stack of a thread: far more than `cudaLimitStackSize` grants unless it is raised, and less than it can be
/// raised to.
pub(crate) const STACK: u32 = 64 << 10;
/// Bytes that every frame takes beside its variables: where it returns to, and the frame before.
const LINK: u32 = 16;
/// Rows of `kept` that every frame takes: how things were before it.
const ROWS: usize = 4;

/// Memory at the end of a lane's stack, and how the stack was before.
#[derive(Clone, Copy, Debug)]
struct Growth {
    start: u32,
    bytes: u32,
    top: u32,
    used: u32,
}

/// The call stacks of 32 lanes.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallStack {
    /// Local address behind the last frame.
    top: [u32; 32],
    /// Bytes of all frames, without gaps.
    used: [u32; 32],
    /// Rows of `kept` in use.
    rows: [u32; 32],
    /// What each lane has allocated at the end of its stack.
    grown: [Vec<Growth>; 32],
    /// What comes back when functions return, a row for each register (two for one of 64 bits).
    kept: Vec<[u32; 32]>,
}

impl CallStack {
    /// No function is active; the first frame may start at `start`.
    pub fn clear(&mut self, start: u32) {
        self.top = [start; 32];
        self.used = [0; 32];
        self.rows = [0; 32];
        self.grown.iter_mut().for_each(Vec::clear);
        self.kept.clear();
    }

    /// The address of a new frame for the lanes of a mask; None if the stack is full. `pointer` is the address of the frame
    /// before.
    pub fn push(&mut self, mask: u32, frame: &Frame, pointer: u64) -> Option<u32> {
        let lane = mask.trailing_zeros() as usize % 32;
        let used = self.used[lane].saturating_add(frame.packed).saturating_add(LINK);
        if used > STACK {
            return None;
        }
        let top = self.top[lane];
        let before = [pointer as u32, (pointer >> 32) as u32, top, self.used[lane]];
        for row in before {
            self.keep(mask, &[row; 32]);
        }
        let start = top.next_multiple_of(frame.align.max(16));
        for lane in lanes(mask) {
            self.top[lane] = start + frame.size;
            self.used[lane] = used;
        }
        Some(start)
    }

    /// The local address behind all that is on the stack of a lane.
    pub fn end(&self, lane: usize) -> u32 {
        self.top[lane]
    }

    /// The address of so many more bytes; None if the stack is full.
    pub fn grow(&mut self, lane: usize, bytes: u64, align: u32) -> Option<u32> {
        let bytes = u32::try_from(bytes).ok()?;
        let (top, used) = (self.top[lane], self.used[lane]);
        let more = used.checked_add(bytes.checked_next_multiple_of(align)?)?;
        if more > STACK {
            return None;
        }
        let start = top.next_multiple_of(align.max(16));
        self.grown[lane].push(Growth { start, bytes, top, used });
        (self.top[lane], self.used[lane]) = (start + bytes + FRAME_GAP, more);
        Some(start)
    }

    /// What was allocated since the stack ended at `end` is gone: the addresses and bytes of it.
    pub fn shrink(&mut self, lane: usize, end: u64) -> Vec<(u32, u32)> {
        let grown = &mut self.grown[lane];
        let first = grown.partition_point(|growth| u64::from(growth.top) < end);
        let gone: Vec<_> = grown.drain(first..).collect();
        if let Some(growth) = gone.first() {
            (self.top[lane], self.used[lane]) = (growth.top, growth.used);
        }
        gone.iter().map(|growth| (growth.start, growth.bytes)).collect()
    }

    /// The last frame is gone; the address of the one before.
    pub fn pop(&mut self, mask: u32) -> u64 {
        let lane = mask.trailing_zeros() as usize % 32;
        let mut rows = [0; ROWS];
        for row in rows.iter_mut().rev() {
            *row = self.back(mask)[lane];
        }
        let [low, high, top, used] = rows;
        for lane in lanes(mask) {
            self.top[lane] = top;
            self.used[lane] = used;
        }
        u64::from(high) << 32 | u64::from(low)
    }

    /// Keeps the registers of the function that a frame belongs to.
    pub fn keep_registers(&mut self, mask: u32, frame: &Frame, registers: &Registers) {
        for index in frame.r.clone() {
            self.keep(mask, &registers.r[index as usize].0);
        }
        for index in frame.q.clone() {
            let wide = &registers.q[index as usize].0;
            self.keep(mask, &wide.map(|value| value as u32));
            self.keep(mask, &wide.map(|value| (value >> 32) as u32));
        }
        for index in frame.p.clone() {
            self.keep(mask, &[registers.p[index as usize]; 32]);
        }
    }

    /// Brings the kept registers back.
    pub fn restore_registers(&mut self, mask: u32, frame: &Frame, registers: &mut Registers) {
        for index in frame.p.clone().rev() {
            // Lanes that reconverge here may have called one after the other.
            let row = self.back(mask);
            let kept = lanes(mask).fold(0, |kept, lane| kept | row[lane] & 1 << lane);
            let old = &mut registers.p[index as usize];
            *old = (*old & !mask) | kept;
        }
        for index in frame.q.clone().rev() {
            let high = self.back(mask);
            let low = self.back(mask);
            for lane in lanes(mask) {
                registers.q[index as usize].0[lane] =
                    u64::from(high[lane]) << 32 | u64::from(low[lane]);
            }
        }
        for index in frame.r.clone().rev() {
            let row = self.back(mask);
            for lane in lanes(mask) {
                registers.r[index as usize].0[lane] = row[lane];
            }
        }
    }

    fn keep(&mut self, mask: u32, row: &[u32; 32]) {
        let at = self.rows[mask.trailing_zeros() as usize % 32];
        if self.kept.len() <= at as usize {
            self.kept.resize(at as usize + 1, [0; 32]);
        }
        for lane in lanes(mask) {
            self.kept[at as usize][lane] = row[lane];
            self.rows[lane] = at + 1;
        }
    }

    /// The last row that these lanes kept.
    fn back(&mut self, mask: u32) -> [u32; 32] {
        let at = self.rows[mask.trailing_zeros() as usize % 32].saturating_sub(1);
        for lane in lanes(mask) {
            self.rows[lane] = at;
        }
        self.kept.get(at as usize).copied().unwrap_or([0; 32])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::LaneArray;

    #[test]
    fn lanes_keep_their_own_frames() {
        let frame =
            Frame { size: 48, packed: 8, align: 8, r: 0..1, q: 0..1, p: 0..1, ..Frame::default() };
        let mut registers = Registers {
            r: vec![LaneArray([7; 32])],
            q: vec![LaneArray([1 << 40; 32])],
            p: vec![0b11],
            carry: 0,
        };
        let mut calls = CallStack::default();
        calls.clear(128);
        assert_eq!(calls.push(0b11, &frame, 5 << 33), Some(128));
        calls.keep_registers(0b11, &frame, &registers);
        // One of the two lanes calls again; its registers change.
        assert_eq!(calls.push(0b01, &frame, 128), Some(176));
        registers.r[0].0[0] = 1;
        registers.q[0].0[0] = 2;
        registers.p[0] = 0;
        assert_eq!(calls.pop(0b01), 128);
        calls.restore_registers(0b11, &frame, &mut registers);
        assert_eq!((registers.r[0].0[0], registers.q[0].0[1], registers.p[0]), (7, 1 << 40, 0b11));
        assert_eq!(calls.pop(0b11), 5 << 33);
        assert_eq!(calls.top, [128; 32]);
        // They call one after the other, and come back together.
        for (lane, p) in [(0b01, 0b01), (0b10, 0b10)] {
            registers.p[0] = p;
            assert_eq!(calls.push(lane, &frame, 0), Some(128));
            calls.keep_registers(lane, &frame, &registers);
        }
        registers.p[0] = 0;
        calls.restore_registers(0b11, &frame, &mut registers);
        assert_eq!((calls.pop(0b11), registers.p[0]), (0, 0b11));
        // 24 bytes a frame.
        for _ in 0..STACK / 24 {
            assert!(calls.push(1, &frame, 0).is_some());
        }
        assert_eq!(calls.push(1, &frame, 0), None);
    }
}
