//! What the search for a cause is given.

use indexmath::Approx;
use puzzle::comparison::is_within_bound;
use puzzle::tensor::DType;

/// A tensor that has at least one wrong element.
pub(crate) struct View<'a> {
    pub shape: &'a [usize],
    pub dtype: DType,
    pub expected: &'a [Approx],
    pub got: &'a [f64],
    pub written: &'a [bool],
    pub wrong: &'a [bool],
    /// What the tensor held before, if it is changed in place.
    pub start: Option<&'a [f64]>,
    /// Threads of a block of the launch that computes it; 0 if unknown, if there is only one, or if they have several coordinates.
    pub block: usize,
    /// Inputs with one axis, by name.
    pub vectors: &'a [(&'a str, &'a [f64])],
    /// Inputs of the same shape, with their values before the launches.
    pub alike: &'a [Alike<'a>],
    /// The other outputs of the same shape, with what is expected of them.
    pub outputs: &'a [Alike<'a>],
    /// Elements of inputs of whole numbers, one for each first coordinate, by name.
    pub columns: &'a [(String, Vec<f64>)],
}

/// A tensor of the same shape as the output.
#[derive(Clone, Copy)]
pub(crate) struct Alike<'a> {
    pub name: &'a str,
    pub dtype: DType,
    pub values: &'a [f64],
}

impl View<'_> {
    /// Is the value at `got` correct for the element at `expected`?
    pub(super) fn fits(&self, got: usize, expected: usize) -> bool {
        self.written[got] && is_within_bound(self.got[got], &self.expected[expected])
    }

    pub(super) fn wrong_count(&self) -> usize {
        self.wrong.iter().filter(|&&w| w).count()
    }

    /// Do the expected values of these elements differ enough that a pattern among them means something?
    pub(super) fn varied(&self, places: impl Iterator<Item = usize>) -> bool {
        let mut seen: Vec<u64> = Vec::new();
        for place in places {
            let bits = self.expected[place].value.to_bits();
            if !seen.contains(&bits) {
                seen.push(bits);
            }
            if seen.len() == 3 {
                return true;
            }
        }
        false
    }

    pub(super) fn wrong_places(&self) -> impl Iterator<Item = usize> + Clone {
        (0..self.wrong.len()).filter(|&i| self.wrong[i])
    }

    /// Sizes of the last two axes; a vector is one row.
    pub(super) fn slice(&self) -> (usize, usize) {
        match self.shape {
            [] => (1, 1),
            [columns] => (1, *columns),
            [.., rows, columns] => (*rows, *columns),
        }
    }

    pub(super) fn coords(&self, flat: usize) -> Vec<usize> {
        let mut rest = flat;
        let mut coords = vec![0; self.shape.len()];
        for (coord, &size) in coords.iter_mut().zip(self.shape).rev() {
            *coord = rest % size;
            rest /= size;
        }
        coords
    }
}
