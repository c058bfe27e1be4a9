//! The windows of the generic address space (PTX ISA 5.1, "State Spaces").
//!
//! Generic addresses keep the window in their top four bits, so `cvta` adds or subtracts a constant.

/// A window of the generic address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Window {
    Global,
    Shared,
    Local,
    Const,
    /// Parameters of the kernel.
    Param,
    /// Shared memory of another block of the cluster. An address has the rank of that block, plus one, above [`RANK_SHIFT`].
    Cluster,
}

const WINDOW_SHIFT: u32 = 60;

/// Where the rank of a block stands in an address of `.shared::cluster`; below it is the address in the memory of that block.
/// Those of the own block have nothing there, so that they are addresses of `.shared::cta` too (PTX ISA 5.1.7).
pub(crate) const RANK_SHIFT: u32 = 27;

impl Window {
    /// What `cvta` adds to an address of this window.
    pub fn base(self) -> u64 {
        (match self {
            Self::Global => 0,
            Self::Shared => 1,
            Self::Local => 2,
            Self::Const => 3,
            Self::Param => 4,
            // 5: functions.
            Self::Cluster => 6,
        }) << WINDOW_SHIFT
    }

    /// The window that a generic address lies in. Those that lie in none count as global, where they hit nothing.
    pub fn of(address: u64) -> Self {
        match address >> WINDOW_SHIFT {
            1 => Self::Shared,
            2 => Self::Local,
            3 => Self::Const,
            4 => Self::Param,
            6 => Self::Cluster,
            _ => Self::Global,
        }
    }
}

/// The address of a function, by its index in the module: in a window of its own, where nothing can be read.
pub(crate) fn code_address(index: usize) -> u64 {
    (5 << WINDOW_SHIFT) | ((index as u64 + 1) << 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_told_by_address() {
        for window in [
            Window::Global,
            Window::Shared,
            Window::Local,
            Window::Const,
            Window::Param,
            Window::Cluster,
        ] {
            assert_eq!(Window::of(window.base() + 12), window);
        }
        assert_eq!(Window::of(u64::MAX), Window::Global);
    }
}
