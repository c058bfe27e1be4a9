//! Reductions in which one iteration wins: maxima, minima and their places.

use crate::bound::Ambiguity;
use crate::exec::Sums;
use crate::functions::{Settled, reach};
use crate::ops::Reduction;

/// The best candidate of each element so far.
#[derive(Debug)]
pub(crate) struct Best {
    reduction: Reduction,
    seen: Vec<bool>,
    winner: Vec<Settled>,
    /// Is it padding, and where it is: the lower of two wins a tie.
    place: Vec<(bool, i64)>,
    /// How far the errors of the others reach beyond the winner; negative where they do not.
    reach: Vec<f64>,
}

impl Best {
    pub(crate) fn new(reduction: Reduction, len: usize) -> Self {
        Self {
            reduction,
            seen: vec![false; len],
            winner: vec![Settled { value: 0.0, error: 0.0 }; len],
            place: vec![(false, 0); len],
            reach: vec![f64::NEG_INFINITY; len],
        }
    }

    pub(crate) fn reduction(&self) -> Reduction {
        self.reduction
    }

    /// Candidates come in any order: of equal ones the lowest place wins, and padding only if there is
    /// nothing else.
    pub(crate) fn enter(&mut self, at: usize, candidate: Settled, place: (bool, i64)) {
        let winner = self.winner[at];
        let (old, new) = (winner.value, candidate.value);
        let equal = old == new || (old.is_nan() && new.is_nan());
        if !self.seen[at] {
            self.seen[at] = true;
        } else if self.reduction.beats(new, old) || (equal && place < self.place[at]) {
            if !equal && self.reach[at].is_finite() {
                self.reach[at] -= (new - old).abs();
            }
            self.reach[at] = self.reach[at].max(reach(new, winner));
        } else {
            self.reach[at] = self.reach[at].max(reach(old, candidate));
            return;
        }
        self.winner[at] = candidate;
        self.place[at] = place;
    }

    /// The winners, or their places, as values of a temporary.
    pub(crate) fn finish(self, into: &mut Sums) {
        for (at, winner) in self.winner.iter().enumerate() {
            // Nothing comes near NaN.
            let reach = if winner.value.is_nan() { f64::NEG_INFINITY } else { self.reach[at] };
            let doubt = winner.error.max(reach);
            let (value, inherited) = if self.reduction.is_place() {
                // A tie of exact candidates is none: the lowest place has won it.
                let open = winner.error + reach > 0.0;
                if open {
                    into.ambiguity.get_or_insert(Ambiguity { doubt });
                }
                (self.place[at].1 as f64, if open { f64::INFINITY } else { 0.0 })
            } else {
                (winner.value, doubt)
            };
            into.value[at] = value;
            into.magnitude[at] = value.abs();
            into.terms[at] = 1.0;
            into.inherited[at] = inherited;
        }
        into.most_terms = 1.0;
    }
}
