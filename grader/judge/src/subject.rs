//! The wrong elements of a case that runs again with the provenance of its values.

use crate::verdict::{Mismatch, TestVerdict};
use device::provenance::Place;
use device::vm::VmBackend;
use device::vm::expansion::{Effort, Followed};
use puzzle::case::Case;
use std::cell::RefCell;
use std::rc::Rc;

/// A case that runs again with the provenance of its values. All that is asked of its elements shares these runs.
pub(crate) struct Subject<'a> {
    pub vm: &'a VmBackend,
    pub case: &'a Case,
    attempts: RefCell<Vec<(How, Attempt<'a>)>>,
}

/// For the whole case or for a block of it.
type How = (Option<[u32; 3]>, Effort);

/// `None` where the case cannot run, or where the values could not be followed to their end.
type Attempt<'a> = Option<Option<Rc<Followed<'a>>>>;

impl<'a> Subject<'a> {
    pub fn new(vm: &'a VmBackend, case: &'a Case) -> Self {
        Self { vm, case, attempts: RefCell::default() }
    }

    /// The values of the whole case, where that is not too much.
    pub fn whole(&self, effort: Effort) -> Option<Rc<Followed<'a>>> {
        self.attempt(effort, None).flatten()
    }

    fn attempt(&self, effort: Effort, block: Option<[u32; 3]>) -> Attempt<'a> {
        let wanted = (block, effort);
        let known = self.attempts.borrow().iter().find(|(key, _)| *key == wanted).cloned();
        if let Some((_, known)) = known {
            return known;
        }
        let attempt = self.vm.follow(self.case, effort, block).ok();
        let attempt = attempt.map(|followed| followed.map(Rc::new));
        self.attempts.borrow_mut().push((wanted, attempt.clone()));
        attempt
    }
}

/// A wrong element of a run.
pub(crate) struct Wrong<'s, 'a> {
    pub subject: &'s Subject<'a>,
    pub name: &'s str,
    /// Its tensor in the case, and its position.
    pub place: Place,
    pub got: f64,
    /// Its block in the one launch that computes it, where that is known already.
    pub block: Option<[u32; 3]>,
}

impl<'a> Wrong<'_, 'a> {
    /// Its block in the one launch of the case.
    fn block(&self) -> Option<[u32; 3]> {
        self.block.or_else(|| {
            let (Subject { vm, case, .. }, Place { tensor, flat }) = (self.subject, self.place);
            let writer = vm.last_writer(case, tensor, flat).ok()??;
            Some(writer.1.block)
        })
    }

    /// The values behind the element: those of the whole case, or of its block where that is too much.
    pub fn follow(&self, effort: Effort) -> Option<Rc<Followed<'a>>> {
        if let Some(followed) = self.subject.attempt(Effort::QUICK, None)? {
            return Some(followed);
        }
        // What another launch computed is known only where all of its blocks were followed.
        if self.subject.case.launches.len() > 1
            && let Some(followed) = self.subject.attempt(effort, None)?
        {
            return Some(followed);
        }
        self.subject.attempt(effort, Some(self.block()?))?
    }
}

/// The wrong elements of an output of which `tells` holds, the one that the report shows first, and then far from each other.
pub(crate) fn wrong_elements<'s, 'a>(
    subject: &'s Subject<'a>,
    verdict: &TestVerdict,
    name: &'s str,
    tells: fn(f64) -> bool,
) -> Vec<Wrong<'s, 'a>> {
    let Some(diff) = verdict.diffs.iter().find(|diff| diff.tensor.name == name) else {
        return Vec::new();
    };
    let Some(tensor) = subject.case.output(name) else { return Vec::new() };
    let block = diff.terms.thread.as_ref().map(|thread| thread.id.block);
    let first = diff.terms.mismatch;
    let rest = diff.mismatches.iter().rev().filter(|m| m.flat != first.flat);
    let all = std::iter::once(&first).chain(rest).filter(|m| m.got.is_some_and(tells));
    let of = |(n, m): (usize, &Mismatch)| Wrong {
        subject,
        name,
        place: Place { tensor, flat: m.flat },
        got: m.got.unwrap_or(f64::NAN),
        block: block.filter(|_| n == 0),
    };
    all.enumerate().map(of).collect()
}
