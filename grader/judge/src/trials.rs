//! Further cases on which a suspicion is tried. Whoever looks for a cause looks at the same ones, so each runs once at most.

use crate::grade;
use crate::other_cases::{MAX_KEPT, OtherCases};
use crate::verdict::TestVerdict;
use device::backend::{Backend, Run};
use puzzle::case::Case;
use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The trials of one suspicion: the cases like `case` whose `tensor` is computed by the same kernels.
pub(crate) struct Trials<'a, 's> {
    backend: &'a dyn Backend,
    others: &'a OtherCases<'s>,
    case: &'a Case,
    tensor: &'a str,
    /// By the most elements of a test, and their position among these. Of a case that is too large to be kept, its run is not kept either.
    kept: RefCell<BTreeMap<(usize, usize), Rc<Trial<'a>>>>,
    given_up: Rc<GivenUp>,
}

/// The fewest elements of a case that took far too long.
struct GivenUp(Cell<usize>);

/// A case and what comes of it, once somebody asks.
pub(crate) struct Trial<'a> {
    pub case: Cow<'a, Case>,
    backend: &'a dyn Backend,
    given_up: Rc<GivenUp>,
    run: OnceCell<Option<Run>>,
    verdict: OnceCell<Option<TestVerdict>>,
}

impl<'a, 's> Trials<'a, 's> {
    pub fn new(
        backend: &'a dyn Backend,
        others: &'a OtherCases<'s>,
        case: &'a Case,
        tensor: &'a str,
    ) -> Self {
        let given_up = Rc::new(GivenUp(Cell::new(usize::MAX)));
        Self { backend, others, case, tensor, kept: RefCell::default(), given_up }
    }

    pub fn iter(&self) -> impl Iterator<Item = Rc<Trial<'a>>> {
        self.those(usize::MAX)
    }

    /// Those with small tests alone, which cost little.
    pub fn small(&self) -> impl Iterator<Item = Rc<Trial<'a>>> {
        self.those(MAX_KEPT)
    }

    fn those(&self, most: usize) -> impl Iterator<Item = Rc<Trial<'a>>> {
        let like = self.others.like(self.case, self.tensor, most).enumerate();
        like.map(move |(nth, case)| {
            let is_kept = matches!(case, Cow::Borrowed(_));
            let trial = || {
                let (run, verdict) = (OnceCell::new(), OnceCell::new());
                let given_up = Rc::clone(&self.given_up);
                Rc::new(Trial { case, backend: self.backend, given_up, run, verdict })
            };
            if is_kept {
                Rc::clone(self.kept.borrow_mut().entry((most, nth)).or_insert_with(trial))
            } else {
                trial()
            }
        })
    }
}

impl GivenUp {
    /// Whether a case has about as many elements, or more.
    fn is_like(&self, elements: usize) -> bool {
        elements > self.0.get() / 2
    }

    fn note(&self, elements: usize) {
        self.0.set(self.0.get().min(elements));
    }
}

impl Trial<'_> {
    /// What the program leaves; `None` if it cannot run the case, or takes far longer there than it should, or would.
    pub fn run(&self) -> Option<&Run> {
        let run = || {
            let elements = self.case.elements();
            if self.given_up.is_like(elements) {
                return None;
            }
            let run = self.backend.try_out(&self.case).ok()?;
            if run.is_none() {
                self.given_up.note(elements);
            }
            run
        };
        self.run.get_or_init(run).as_ref()
    }

    /// The verdict on the run; `None` if the case cannot run.
    pub fn verdict(&self) -> Option<&TestVerdict> {
        let judge = || grade::judge_run(self.backend, &self.case, self.run()?).ok();
        self.verdict.get_or_init(judge).as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_half_as_large_as_a_case_that_took_too_long_is_tried() {
        let given_up = GivenUp(Cell::new(usize::MAX));
        assert!(!given_up.is_like(1 << 20));
        given_up.note(1_000);
        given_up.note(4_000);
        assert_eq!(
            [500, 501, 9_000].map(|elements| given_up.is_like(elements)),
            [false, true, true]
        );
    }
}
