//! Reductions that one iteration decides: maxima, minima and their positions.

use crate::evaluate::data::Accumulators;
use crate::rounding::enclosure::{Ambiguity, Enclosure};
use crate::syntax::operators::Reduction;

/// The extremum of each element so far.
#[derive(Debug)]
pub(crate) struct Extrema {
    reduction: Reduction,
    /// Whether there was a candidate yet.
    seen: Vec<bool>,
    winner: Vec<Enclosure>,
    rank: Vec<TieRank>,
    /// How far the errors of the others reach beyond the winner; negative where they do not.
    overreach: Vec<f64>,
}

/// The order in which equal candidates win: elements before padding, and the lowest row-major position first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TieRank {
    pub padding: bool,
    pub position: i64,
}

impl Extrema {
    /// No candidates yet, for `len` elements.
    pub(crate) fn new(reduction: Reduction, len: usize) -> Self {
        Self {
            reduction,
            seen: vec![false; len],
            winner: vec![Enclosure { value: 0.0, error: 0.0 }; len],
            rank: vec![TieRank { padding: false, position: 0 }; len],
            overreach: vec![f64::NEG_INFINITY; len],
        }
    }

    pub(crate) fn reduction(&self) -> Reduction {
        self.reduction
    }

    /// Enters a candidate for the element `at`. Candidates come in any order.
    pub(crate) fn enter(&mut self, at: usize, candidate: Enclosure, rank: TieRank) {
        let winner = self.winner[at];
        let (old, new) = (winner.value, candidate.value);
        let equal = old == new || (old.is_nan() && new.is_nan());
        if !self.seen[at] {
            self.seen[at] = true;
        } else if self.reduction.beats(new, old) || (equal && rank < self.rank[at]) {
            if !equal && self.overreach[at].is_finite() {
                self.overreach[at] -= (new - old).abs();
            }
            self.overreach[at] = self.overreach[at].max(winner.overreach(new));
        } else {
            self.overreach[at] = self.overreach[at].max(candidate.overreach(old));
            return;
        }
        self.winner[at] = candidate;
        self.rank[at] = rank;
    }

    /// Stores the winners, or their positions, as the values of a temporary.
    pub(crate) fn finish(self, into: &mut Accumulators) {
        for (at, winner) in self.winner.iter().enumerate() {
            // Nothing comes near NaN.
            let overreach =
                if winner.value.is_nan() { f64::NEG_INFINITY } else { self.overreach[at] };
            let doubt = winner.error.max(overreach);
            let (value, propagated) = if self.reduction.gives_position() {
                // A tie of exact candidates leaves nothing open: the lowest position has won it.
                let open = winner.error + overreach > 0.0;
                if open {
                    into.ambiguity.get_or_insert(Ambiguity { doubt });
                }
                (self.rank[at].position as f64, if open { f64::INFINITY } else { 0.0 })
            } else {
                (winner.value, doubt)
            };
            // No candidate at all: a range can be empty. It has no position.
            let (value, propagated) = match (self.seen[at], self.reduction.gives_position()) {
                (true, _) => (value, propagated),
                (false, true) => (f64::NAN, 0.0),
                (false, false) => (self.reduction.identity(), 0.0),
            };
            into.value[at] = value;
            into.magnitude[at] = value.abs();
            into.terms[at] = 1.0;
            into.propagated[at] = propagated;
        }
        into.most_terms = 1.0;
    }
}
