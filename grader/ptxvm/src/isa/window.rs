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
}

const WINDOW_SHIFT: u32 = 60;

impl Window {
    /// What `cvta` adds to an address of this window.
    pub fn base(self) -> u64 {
        (match self {
            Self::Global => 0,
            Self::Shared => 1,
            Self::Local => 2,
            Self::Const => 3,
            Self::Param => 4,
        }) << WINDOW_SHIFT
    }

    /// The window that a generic address lies in. Those that lie in none count as global, where they hit nothing.
    pub fn of(address: u64) -> Self {
        match address >> WINDOW_SHIFT {
            1 => Self::Shared,
            2 => Self::Local,
            3 => Self::Const,
            4 => Self::Param,
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
        for window in [Window::Global, Window::Shared, Window::Local, Window::Const, Window::Param]
        {
            assert_eq!(Window::of(window.base() + 12), window);
        }
        assert_eq!(Window::of(u64::MAX), Window::Global);
    }
}
