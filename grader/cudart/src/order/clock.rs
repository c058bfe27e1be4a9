//! Vector clocks: what has happened before a moment (Fidge, 1988; Mattern, 1989).

/// For each stream by its number: how many of its operations have happened before. Those behind the end have none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock(Vec<u64>);

impl Clock {
    /// How many operations of a stream have happened before.
    pub fn of(&self, stream: usize) -> u64 {
        self.0.get(stream).copied().unwrap_or(0)
    }

    /// One more operation of a stream has happened.
    pub fn tick(&mut self, stream: usize) {
        if self.0.len() <= stream {
            self.0.resize(stream + 1, 0);
        }
        self.0[stream] += 1;
    }

    /// What has happened before another moment has happened before this one too.
    pub fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (own, &other) in self.0.iter_mut().zip(&other.0) {
            *own = (*own).max(other);
        }
    }
}
