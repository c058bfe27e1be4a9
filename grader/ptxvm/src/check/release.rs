//! Releases and acquires inside a block (PTX ISA 8.8, "Morally strong operations" and "Release and Acquire Patterns"): what a warp
//! did before it released a word lies before what another does after it acquired that word.
//!
//! An acquire is taken to follow every release of its word so far, whichever value it read: that may hide a race, but finds none
//! that is none.

use std::collections::HashMap;

use super::race::Clocks;
use crate::hooks::Event;
use crate::memory::Window;
use crate::program::Ordering;
use crate::warp::lanes;

/// What each released word brings to who acquires it.
#[derive(Debug, Default)]
pub(super) struct Releases(HashMap<(bool, u64), Vec<u32>>);

impl Releases {
    /// A new block: nothing is released.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Bytes.
    pub fn bytes(&self) -> usize {
        let vectors: usize = self.0.values().map(|clocks| size_of_val(&**clocks)).sum();
        self.0.capacity() * size_of::<((bool, u64), Vec<u32>)>() + vectors
    }

    /// Takes in an access that orders others. True if the warp knows more than before, or has released something.
    pub fn order(&mut self, event: &Event, ordering: Ordering, clocks: &mut Clocks) -> bool {
        let warp = event.warp as usize % clocks.len();
        let words = lanes(event.done)
            .map(|lane| (event.window == Window::Shared, event.addresses[lane] / 4));
        for word in words {
            if ordering.acquires
                && let Some(released) = self.0.get(&word)
            {
                for (own, &other) in clocks[warp].iter_mut().zip(released) {
                    *own = other.max(*own);
                }
            }
            if ordering.releases {
                let released = self.0.entry(word).or_insert_with(|| vec![0; clocks.len()]);
                for (all, &own) in released.iter_mut().zip(&clocks[warp]) {
                    *all = own.max(*all);
                }
            }
        }
        event.done != 0
    }
}
