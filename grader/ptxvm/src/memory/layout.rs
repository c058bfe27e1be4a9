//! Places variables in a window, with gaps between them that catch overruns.

/// Bytes between two variables, at least.
const GAP: u32 = 1024;
/// The same in a stack frame, and between two frames.
pub const FRAME_GAP: u32 = 32;
/// Where there are very many variables, as in unoptimised code, gaps must be smaller.
const CROWDED: u32 = 1 << 16;
const SMALL_GAP: u32 = 64;
/// Shared memory has 32 banks of 4 bytes; a variable keeps the bank it would have without gaps.
const BANKS: u32 = 128;
/// Most bytes of variables in one window.
const MAX_SIZE: u32 = 1 << 28;

/// Where variables of one window lie.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// Bytes without gaps, as the hardware counts.
    pub packed: u32,
    /// Bytes with gaps: one past the last variable.
    pub end: u32,
    /// (start, size) of each variable, in rising order.
    pub variables: Vec<(u32, u32)>,
}

impl Layout {
    /// The place of the next variable; None if the window is full.
    pub fn place(&mut self, size: u64, align: u64) -> Option<u32> {
        let gap = match self.end {
            _ if self.variables.is_empty() => 0,
            ..CROWDED => GAP,
            _ => SMALL_GAP,
        };
        self.place_after(gap, BANKS, size, align)
    }

    /// The place of a variable of a stack frame, of which there may be thousands: only a small gap separates it from the others.
    pub fn place_in_frame(&mut self, size: u64, align: u64) -> Option<u32> {
        self.place_after(FRAME_GAP, 1, size, align)
    }

    /// The place of a variable that no address points to, so that no overrun can hit it: directly after the others.
    pub fn place_close(&mut self, size: u64, align: u64) -> Option<u32> {
        self.place_after(0, 1, size, align)
    }

    /// One past the last byte of a variable.
    pub fn used(&self) -> u32 {
        let ends = self.variables.iter().filter(|&&(_, size)| size != 0);
        ends.map(|&(start, size)| start + size).max().unwrap_or(0)
    }

    fn place_after(&mut self, gap: u32, banks: u32, size: u64, align: u64) -> Option<u32> {
        let size = u32::try_from(size).ok()?;
        let align = u32::try_from(align).ok()?.max(1);
        let packed = self.packed.checked_next_multiple_of(align)?;
        // As far from a multiple of `step` as without gaps: this keeps the alignment as well.
        let step = banks.max(align);
        let from = self.end.checked_add(gap)?;
        let start = from.checked_add((packed.wrapping_sub(from)) & (step - 1))?;
        let end = start.checked_add(size)?;
        if end > MAX_SIZE {
            return None;
        }
        self.packed = packed.checked_add(size)?;
        self.end = end;
        self.variables.push((start, size));
        Some(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_keep_their_bank_and_alignment() {
        let mut layout = Layout::default();
        assert_eq!(layout.place(20, 4), Some(0));
        let second = layout.place(100, 16).unwrap();
        assert_eq!(second % 128, 32);
        assert!(second >= 20 + GAP);
        assert_eq!(layout.packed, 132);
        assert_eq!(layout.place(1 << 40, 4), None);
    }

    #[test]
    fn a_thousand_variables_fit() {
        let mut layout = Layout::default();
        let starts: Vec<u32> = (0..1000).map(|_| layout.place(16, 8).unwrap()).collect();
        assert!(starts.is_sorted() && layout.end < 5 << 16);
    }
}
