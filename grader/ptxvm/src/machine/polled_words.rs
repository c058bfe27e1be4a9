//! The words that spinning warps of a block have read, and wait to see changed.

use crate::isa::window::Window;
use crate::machine::warp::spin_detector::PolledValue;
use crate::memory::Memory;
use crate::memory::flat::Flat;
use crate::memory::lane_memory::value;

/// A word with the value that some warps have read there.
#[derive(Clone, Copy, Debug)]
struct PolledWord {
    window: Window,
    address: u64,
    /// In bytes.
    size: u32,
    value: u64,
    /// One bit for each warp that waits to see it changed.
    warps: u32,
}

/// The words that the spinning warps of a block poll. Each word stands here once for each value, however many lanes read it:
/// every store that may wake a warp looks at all of them.
#[derive(Debug, Default)]
pub(crate) struct PolledWords(Vec<PolledWord>);

impl PolledWords {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds what spinning lanes have read. What only they can write themselves wakes nobody.
    pub fn add(&mut self, polled: &[PolledValue]) {
        for &PolledValue { warp, window, address, size, value, .. } in polled {
            if !matches!(window, Window::Global | Window::Shared) {
                continue;
            }
            let same = |word: &&mut PolledWord| {
                (word.window, word.address, word.size, word.value) == (window, address, size, value)
            };
            let bit = 1 << (warp % 32);
            match self.0.iter_mut().find(same) {
                Some(word) => word.warps |= bit,
                None => self.0.push(PolledWord { window, address, size, value, warps: bit }),
            }
        }
    }

    /// A warp no longer waits for any of them.
    pub fn forget(&mut self, warp: u32) {
        self.0.retain_mut(|word| {
            word.warps &= !(1 << (warp % 32));
            word.warps != 0
        });
    }

    /// Whether a word at one of these addresses holds another value than the warps have read.
    pub fn any_changed(
        &self,
        window: Window,
        is_there: impl Fn(u64) -> bool,
        memory: &Memory,
        shared: &Flat,
    ) -> bool {
        let here = |word: &&PolledWord| word.window == window && is_there(word.address);
        self.0.iter().filter(here).any(|word| word.is_changed(memory, shared))
    }

    /// Whether these warps (one bit each) poll some words, all of which still hold what was read.
    pub fn are_unchanged(&self, warps: u32, memory: &Memory, shared: &Flat) -> bool {
        let mut words = self.0.iter().filter(|word| word.warps & warps != 0).peekable();
        words.peek().is_some() && words.all(|word| !word.is_changed(memory, shared))
    }
}

impl PolledWord {
    fn is_changed(&self, memory: &Memory, shared: &Flat) -> bool {
        let now = match self.window {
            Window::Shared => value(shared, 0, self.address, self.size),
            _ => value(&memory, 0, self.address, self.size),
        };
        now != self.value
    }
}
