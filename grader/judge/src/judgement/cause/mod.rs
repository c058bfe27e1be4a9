//! The likely cause of an error, from the pattern that the wrong elements make.
//!
//! A cause is named only if it holds for every element it speaks of, and if enough different values took part that
//! chance is no explanation.

mod places;
mod values;

use crate::verdict::Cause;
use indexmath::{Approx, Dims};
use puzzle::case::is_right;
use puzzle::tensor::DType;

/// A tensor that has at least one wrong element.
pub(super) struct View<'a> {
    pub shape: &'a [usize],
    pub dtype: DType,
    pub expected: &'a [Approx],
    pub got: &'a [f64],
    pub written: &'a [bool],
    pub wrong: &'a [bool],
    /// What the tensor held before, if it is changed in place.
    pub start: Option<&'a [f64]>,
    /// Threads of a block of the launch that computes it; 0 if unknown.
    pub block: usize,
    pub dims: &'a Dims,
    /// Inputs with one axis, by name.
    pub vectors: &'a [(&'a str, &'a [f64])],
}

/// The first pattern that fits, the most telling ones first.
pub(super) fn likely(view: &View) -> Option<Cause> {
    written(view)
        .or_else(|| unchanged(view))
        .or_else(|| values::same_everywhere(view))
        .or_else(|| values::factor(view))
        .or_else(|| values::addend(view))
        .or_else(|| values::offset(view))
        .or_else(|| values::rounding(view))
        .or_else(|| places::moved(view))
        .or_else(|| places::only_first_right(view))
        .or_else(|| places::region(view))
        .or_else(|| places::border(view))
}

/// Which elements were written at all?
fn written(view: &View) -> Option<Cause> {
    let count = view.written.iter().take_while(|&&w| w).count();
    if count == view.written.len() || view.written[count..].contains(&true) {
        return None;
    }
    Some(match count {
        0 => Cause::NothingWritten,
        _ => Cause::OnlyStartWritten { count, block: view.block },
    })
}

/// Does a tensor that should change hold what it held before?
fn unchanged(view: &View) -> Option<Cause> {
    let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    view.start?.iter().zip(view.got).all(same).then_some(Cause::Unchanged)
}

impl View<'_> {
    /// Is the value at `got` right for the element at `expected`?
    fn fits(&self, got: usize, expected: usize) -> bool {
        self.written[got] && is_right(self.got[got], &self.expected[expected])
    }

    fn wrong_count(&self) -> usize {
        self.wrong.iter().filter(|&&w| w).count()
    }

    /// Do the right values of these elements differ enough that a pattern among them means something?
    fn varied(&self, places: impl Iterator<Item = usize>) -> bool {
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

    fn wrong_places(&self) -> impl Iterator<Item = usize> {
        (0..self.wrong.len()).filter(|&i| self.wrong[i])
    }

    /// Sizes of the last two axes; a vector is one row.
    fn slice(&self) -> (usize, usize) {
        match self.shape {
            [] => (1, 1),
            [columns] => (1, *columns),
            [.., rows, columns] => (*rows, *columns),
        }
    }

    fn coords(&self, flat: usize) -> Vec<usize> {
        let mut rest = flat;
        let mut coords = vec![0; self.shape.len()];
        for (coord, &size) in coords.iter_mut().zip(self.shape).rev() {
            *coord = rest % size;
            rest /= size;
        }
        coords
    }
}

#[cfg(test)]
mod tests;
