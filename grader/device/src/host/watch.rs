//! Shows how far a call has come: the results that its spec names, while they are written.

use crate::image::{self, Poison};
use puzzle::case::{Case, CaseTensor};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};
use toolchain::spinner::{self, Progress};

/// The pause between two looks at the memory.
const PAUSE: Duration = Duration::from_millis(200);

/// A bar that fills as results are written, with the last value of each.
#[derive(Debug)]
pub struct Watch {
    file: File,
    results: Vec<Watched>,
    test: String,
    bar: Progress,
    last: Instant,
}

/// A result in the memory file.
#[derive(Debug)]
struct Watched {
    label: String,
    tensor: CaseTensor,
    /// Where its image starts.
    offset: usize,
}

impl Watch {
    /// For the results of `case` that its spec names, if there are any and somebody looks. `offsets` tells where the
    /// image of each tensor starts in `memory`.
    pub fn new(case: &Case, memory: &Path, offsets: &[Option<usize>]) -> Option<Self> {
        if !spinner::is_visible() {
            return None;
        }
        let watched = |(index, label): &(usize, String)| {
            let (tensor, offset) = (case.tensors.get(*index)?.clone(), (*offsets.get(*index)?)?);
            Some(Watched { label: label.clone(), tensor, offset })
        };
        let results: Vec<Watched> = case.watched.iter().filter_map(watched).collect();
        let total = results.iter().map(|result| result.tensor.tensor.len()).max()?;
        let bar = Progress::steps(&case.test, total as u64);
        // Without the file there is nothing to be seen, and nothing lost.
        let file = File::open(memory).ok()?;
        Some(Self { file, results, test: case.test.clone(), bar, last: Instant::now() })
    }

    /// Brings the bar up to date, if it is time.
    pub fn look(&mut self) {
        if self.last.elapsed() < PAUSE {
            return;
        }
        self.last = Instant::now();
        let mut furthest = 0;
        let mut message = vec![self.test.clone()];
        for result in &self.results {
            let Some((count, last)) = result.seen(&self.file) else { continue };
            furthest = furthest.max(count);
            message.push(format!("{} {last:.3}", result.label));
        }
        self.bar.message(&message.join(", "));
        self.bar.position(furthest as u64);
    }
}

impl Watched {
    /// How many elements are written, and the last of them; `None` if there is none.
    fn seen(&self, file: &File) -> Option<(usize, f64)> {
        let mut bytes = vec![0; image::Layout::of(&self.tensor.tensor).total()];
        file.read_exact_at(&mut bytes, self.offset as u64).ok()?;
        let now = image::after(&self.tensor, &bytes, Poison::FIRST)?.tensor;
        let last = now.written.iter().rposition(|&written| written)?;
        Some((now.written.iter().filter(|&&written| written).count(), now.values[last]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use puzzle::case::Role;
    use puzzle::tensor::{DType, Tensor, encode};

    #[test]
    fn what_is_written_is_seen_while_the_rest_is_not() {
        let tensor = Tensor { name: "losses".into(), dtype: DType::F32, shape: vec![5] };
        let tensor = CaseTensor { tensor, role: Role::Result };
        let file = tempfile::tempfile().unwrap();
        let offset = 64;
        file.write_all_at(&image::before(&tensor, Poison::FIRST), offset).unwrap();
        let watched = Watched { label: "loss".into(), tensor, offset: offset as usize };
        assert_eq!(watched.seen(&file), None);
        let start = offset + image::Layout::of(&watched.tensor.tensor).guard as u64;
        file.write_all_at(&encode(DType::F32, &[2.5, 0.25]), start).unwrap();
        assert_eq!(watched.seen(&file), Some((2, 0.25)));
    }
}
