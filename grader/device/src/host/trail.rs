//! What the launches of host code are given and store, buffer by buffer: it is compared with the steps of the formula.

use super::writers::LaunchArg;
use std::rc::Rc;

/// A launch with the memory that it is given.
#[derive(Clone, Debug, PartialEq)]
pub struct TracedLaunch {
    /// The kernel's name in the source.
    pub kernel: String,
    /// Its arguments.
    pub args: Vec<TracedArg>,
}

/// An argument of a traced launch.
#[derive(Clone, Debug, PartialEq)]
pub enum TracedArg {
    /// Memory that host code has allocated.
    Buffer(TracedBuffer),
    /// Anything else.
    Other(LaunchArg),
}

/// Memory of a launch, from its argument to the end of the allocation.
#[derive(Clone, Debug, PartialEq)]
pub struct TracedBuffer {
    /// Where it is on the device.
    pub address: u64,
    /// Its words as floats, before the launch.
    pub before: Rc<[f32]>,
    /// After it; the same allocation where nothing has changed.
    pub after: Rc<[f32]>,
}

impl TracedBuffer {
    /// Whether the launch changed something in it.
    pub fn is_changed(&self) -> bool {
        !Rc::ptr_eq(&self.before, &self.after)
    }
}

/// Words that are kept of all launches together.
const MOST_WORDS: usize = 1 << 24;

/// The launches so far, as long as there is room.
#[derive(Debug, Default)]
pub(super) struct Trail {
    launches: Vec<TracedLaunch>,
    reads: Vec<Vec<f32>>,
    words: usize,
}

/// The floats of a buffer before a launch, with its argument's position and its address.
pub(super) type Before = Vec<(usize, u64, Rc<[f32]>)>;

impl Trail {
    /// Whether a further launch with so many words is kept.
    pub fn has_room(&self, words: usize) -> bool {
        self.words + 2 * words <= MOST_WORDS
    }

    /// Takes a launch: its kernel and arguments, and its buffers before and after it.
    pub fn add(
        &mut self,
        kernel: &str,
        args: &[LaunchArg],
        before: Before,
        after: impl Iterator<Item = Vec<f32>>,
    ) {
        let mut args: Vec<TracedArg> = args.iter().cloned().map(TracedArg::Other).collect();
        for ((at, address, before), now) in before.into_iter().zip(after) {
            let mut pairs = before.iter().zip(&now);
            let same = pairs.all(|(a, b)| a.to_bits() == b.to_bits()) && before.len() == now.len();
            self.words += before.len() + if same { 0 } else { now.len() };
            let after = if same { Rc::clone(&before) } else { now.into() };
            args[at] = TracedArg::Buffer(TracedBuffer { address, before, after });
        }
        self.launches.push(TracedLaunch { kernel: kernel.to_owned(), args });
    }

    /// Takes what host code copies out of memory that it has allocated.
    pub fn add_read(&mut self, words: Vec<f32>) {
        self.words += words.len();
        self.reads.push(words);
    }

    /// The launches, and what was copied to the host.
    pub fn into_parts(self) -> (Vec<TracedLaunch>, Vec<Vec<f32>>) {
        (self.launches, self.reads)
    }
}

/// The words of memory as floats, without a rest.
pub(super) fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|word| f32::from_le_bytes(*word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_that_stays_as_it_is_is_kept_once() {
        let mut trail = Trail::default();
        let buffers: Before = vec![(0, 64, vec![1.0, 2.0].into()), (2, 128, vec![0.0].into())];
        let args = [LaunchArg::Other, LaunchArg::Number(3.0), LaunchArg::Other];
        trail.add("k", &args, buffers, [vec![1.0, 2.0], vec![-0.0]].into_iter());
        assert_eq!(trail.words, 4);
        let (launches, _) = trail.into_parts();
        let changed = |arg: &TracedArg| match arg {
            TracedArg::Buffer(buffer) => Some((buffer.address, buffer.is_changed())),
            TracedArg::Other(_) => None,
        };
        let changed: Vec<Option<(u64, bool)>> = launches[0].args.iter().map(changed).collect();
        assert_eq!(changed, [Some((64, false)), None, Some((128, true))]);
    }
}
