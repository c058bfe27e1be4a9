//! Judges the cases that a run draws, and reduces one that fails to the smallest that still does (as property tests do: Claessen
//! and Hughes, `QuickCheck`, ICFP 2000).

use crate::diagnosis::diagnose;
use crate::drawn_cases::DrawnCases;
use crate::grade::{self, Detail, Machine, Program};
use crate::judgement;
use crate::other_cases::OtherCases;
use crate::verdict::TestVerdict;
use device::backend::{Backend, Run};
use device::vm::VmBackend;
use diagnostic::Failure;
use puzzle::case::Case;
use puzzle::draw::{self, Flavour, Plan};
use puzzle::spec::{DRAWN, Spec};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;
use std::{iter, thread};

/// How many cases are run at most to make one smaller.
const TRIES: usize = 200;

/// Smaller cases are tried with so many further data where few values decide: they need not be where the kernel goes wrong.
const REDRAWN: usize = 2;
/// The numbers of these cases are so far from each other, past those of all others.
const REDRAWN_APART: usize = 1 << 20;

/// How many of the smallest values of a size are tried one after the other.
const IN_ORDER: i64 = 6;

/// The same, if each takes until the limit of a loop without end.
const TRIES_ENDLESS: usize = 6;

/// How many elements all of them may have together: a mistake that only large cases show is not pursued for minutes.
const WORK: usize = 1 << 24;

/// A case with more elements than that takes seconds. It is run once, and neither made smaller nor explained.
const LARGE: usize = 1 << 22;

/// What came of the drawn cases on one backend.
enum Outcome {
    /// So many cases pass, in that time.
    Pass(usize, Duration),
    /// One case fails: the smallest that was found, with its verdict.
    Fail(Box<Failing>),
}

/// A case that fails.
struct Failing {
    plan: Plan,
    case: Case,
    run: Run,
    verdict: TestVerdict,
}

impl Failing {
    /// The verdict with what is known of the case without running it again.
    fn into_verdict(self) -> TestVerdict {
        let verdict = judgement::with_causes(self.verdict, &self.case, &self.run);
        judgement::with_formula(verdict, &self.case)
    }
}

/// Judges the drawn cases: one verdict for all of them, that of the smallest case that fails if one does. `None` if the
/// spec draws none.
///
/// # Errors
/// The machine cannot run a case.
pub fn judge(
    machine: &Machine,
    program: &Program,
    drawn: &DrawnCases<'_>,
) -> Result<Option<TestVerdict>, Failure> {
    // Only a program that passes the others needs these.
    let own = OnceLock::new();
    let at_literals =
        || own.get_or_init(|| DrawnCases::at_literals(drawn.spec, drawn.seed, program));
    let others = OtherCases::new(drawn.spec, drawn.seed);
    judge_with(machine, program, (drawn, &others), &|| Some(at_literals()))
}

/// As [`judge`], without the cases for what the program compares with. `others` are those of the same spec and seed.
///
/// # Errors
/// The machine cannot run a case.
pub fn judge_as_drawn(
    machine: &Machine,
    program: &Program,
    drawn: &DrawnCases<'_>,
    others: &OtherCases<'_>,
) -> Result<Option<TestVerdict>, Failure> {
    judge_with(machine, program, (drawn, others), &|| None)
}

fn judge_with<'d>(
    machine: &Machine,
    program: &Program,
    (drawn, others): (&'d DrawnCases<'d>, &OtherCases<'_>),
    own: &(dyn Fn() -> Option<&'d DrawnCases<'d>> + Sync),
) -> Result<Option<TestVerdict>, Failure> {
    let &DrawnCases { spec, seed, .. } = drawn;
    if draw::drawn(spec).is_none() {
        return Ok(None);
    }
    // Where kernels run on a GPU, the virtual machine goes first: it tells more of a mistake.
    let vm = match machine {
        Machine::Gpu(_) => program.virtual_machine().ok(),
        Machine::Vm(_) | Machine::Host(_) => None,
    };
    let first = vm.iter().map(|vm| (vm as &dyn Backend, Order::SideBySide));
    let backends = first.chain([(machine.backend(), Order::of(machine))]);
    let (mut cases, mut time) = (0, Duration::ZERO);
    let mut smallest = None;
    for backend in backends {
        match first_failure(backend, drawn, own)? {
            Outcome::Pass(passed, took) => (cases, time) = (passed, time + took),
            Outcome::Fail(failing) => {
                let first = failing.plan.clone();
                smallest = Some((first, shrink(backend.0, spec, seed, *failing)?));
                break;
            }
        }
    }
    let Some((first, smallest)) = smallest else { return Ok(Some(passed(cases, time, seed))) };
    if smallest.case.elements() > LARGE {
        return Ok(Some(smallest.into_verdict()));
    }
    let (run, mut verdict) = grade::judge_case(machine, program, &smallest.case, Detail::Full)?;
    verdict.smallest = Some(smallest.plan.flavour);
    if verdict.passed() {
        // What fails by chance may pass the second time.
        let flavour = smallest.plan.flavour;
        verdict = TestVerdict { smallest: Some(flavour), ..smallest.into_verdict() };
    } else {
        let others = others.for_drawn(first);
        verdict = diagnose((machine, program), &others, (&smallest.case, &run), verdict);
    }
    Ok(Some(verdict))
}

/// Whether all drawn cases pass on a machine: the verdict of the first that does not, as it was drawn.
///
/// # Errors
/// The machine cannot run a case.
pub fn first(machine: &Machine, drawn: &DrawnCases<'_>) -> Result<TestVerdict, Failure> {
    Ok(match first_failure((machine.backend(), Order::of(machine)), drawn, &|| None)? {
        Outcome::Pass(cases, time) => passed(cases, time, drawn.seed),
        Outcome::Fail(failing) => failing.into_verdict(),
    })
}

/// The smallest of the drawn cases that fail on the virtual machine, if one does.
///
/// # Errors
/// It cannot run a case.
pub fn smallest_failing(vm: &VmBackend, drawn: &DrawnCases<'_>) -> Result<Option<Case>, Failure> {
    Ok(match first_failure((vm, Order::SideBySide), drawn, &|| None)? {
        Outcome::Pass(..) => None,
        Outcome::Fail(failing) => Some(shrink(vm, drawn.spec, drawn.seed, *failing)?.case),
    })
}

/// How the cases run.
#[derive(Clone, Copy)]
enum Order {
    /// On all cores.
    SideBySide,
    /// One after the other: each has the GPU, or a process and its files, to itself.
    OneByOne,
}

impl Order {
    fn of(machine: &Machine) -> Self {
        match machine {
            Machine::Vm(_) => Self::SideBySide,
            Machine::Gpu(_) | Machine::Host(_) => Self::OneByOne,
        }
    }
}

/// Judges the cases of `drawn`, and then those of `own`, until one fails: the first of them that does. To build a case takes longer than
/// to run it, so others are built meanwhile where they run one after the other.
fn first_failure<'d>(
    (backend, order): (&dyn Backend, Order),
    drawn: &'d DrawnCases<'d>,
    own: &(dyn Fn() -> Option<&'d DrawnCases<'d>> + Sync),
) -> Result<Outcome, Failure> {
    let all = || iter::once(drawn).chain(iter::once_with(own).flatten());
    let run = FirstFailure::default();
    let slots = Mutex::new(all().flat_map(DrawnCases::slots).enumerate());
    let next = || slots.lock().ok()?.next().filter(|_| !run.is_over.load(Ordering::Relaxed));
    let work = || {
        for (at, slot) in iter::from_fn(next) {
            if let Some(case) = slot.case() {
                run.note(at, judged(backend, case));
            }
        }
    };
    let ahead = Mutex::new(all().flat_map(DrawnCases::slots));
    let next = || ahead.lock().ok()?.next().filter(|_| !run.is_over.load(Ordering::Relaxed));
    let build = || {
        for slot in iter::from_fn(next) {
            slot.case();
        }
    };
    let more = 1..rayon::current_num_threads();
    match order {
        // The threads of the machine's own pool: whoever waits for others there goes on with what they have to do.
        Order::SideBySide => rayon::scope(|scope| {
            more.for_each(|_| scope.spawn(|_| work()));
            work();
        }),
        Order::OneByOne => thread::scope(|scope| {
            more.for_each(|_| _ = scope.spawn(build));
            work();
            run.is_over.store(true, Ordering::Relaxed);
        }),
    }
    run.outcome()
}

/// What became of the cases so far.
#[derive(Default)]
struct FirstFailure {
    /// No other case needs to run.
    is_over: AtomicBool,
    passed: Mutex<(usize, Duration)>,
    /// The first case that failed or could not run, with its position.
    failed: Mutex<Option<(usize, Result<Failing, Failure>)>>,
}

impl FirstFailure {
    /// The cases are taken in their order, so those before one that fails have been taken too.
    fn note(&self, at: usize, judged: Result<Judged, Failure>) {
        let failing = match judged {
            Ok(Judged::Passes(took)) => {
                if let Ok(mut passed) = self.passed.lock() {
                    *passed = (passed.0 + 1, passed.1 + took);
                }
                return;
            }
            Ok(Judged::Fails(failing)) => Ok(*failing),
            Err(failure) => Err(failure),
        };
        self.is_over.store(true, Ordering::Relaxed);
        if let Ok(mut failed) = self.failed.lock()
            && failed.as_ref().is_none_or(|(first, _)| at < *first)
        {
            *failed = Some((at, failing));
        }
    }

    fn outcome(self) -> Result<Outcome, Failure> {
        let failed = self.failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (cases, time) = self.passed.into_inner().unwrap_or_else(PoisonError::into_inner);
        match failed {
            Some((_, failing)) => Ok(Outcome::Fail(Box::new(failing?))),
            None => Ok(Outcome::Pass(cases, time)),
        }
    }
}

/// What came of one case.
enum Judged {
    /// It passes, in that time.
    Passes(Duration),
    Fails(Box<Failing>),
}

fn judged(
    backend: &dyn Backend,
    (plan, case, flavour): (&Plan, &Case, Flavour),
) -> Result<Judged, Failure> {
    let (run, verdict) = grade::run_and_judge(backend, case)?;
    if verdict.passed() {
        return Ok(Judged::Passes(run.time));
    }
    let (plan, case) = (Plan { flavour, ..plan.clone() }, case.clone());
    Ok(Judged::Fails(Box::new(Failing { plan, case, run, verdict })))
}

fn passed(cases: usize, time: Duration, seed: u64) -> TestVerdict {
    TestVerdict { time, cases, ..TestVerdict::of_nothing(DRAWN, seed) }
}

/// The smallest case near `failing` that fails in the same way.
fn shrink(
    backend: &dyn Backend,
    spec: &Spec,
    seed: u64,
    failing: Failing,
) -> Result<Failing, Failure> {
    let endless = failing.verdict.findings.iter().any(|finding| finding.problem.is_endless());
    let left = match endless {
        _ if failing.case.elements() > LARGE => 0,
        true => TRIES_ENDLESS,
        false => TRIES,
    };
    let tried = Vec::new();
    let mut search = Search { backend, spec, seed, best: failing, tried, left, work: WORK };
    loop {
        let before = search.best.plan.clone();
        for flavour in search.best.plan.flavour.simpler() {
            let simpler = Plan { flavour: *flavour, ..search.best.plan.clone() };
            if search.fails(simpler)? {
                break;
            }
        }
        for range in draw::drawn(spec).into_iter().flat_map(|drawn| &drawn.ranges) {
            search.lower(&range.name, range.min)?;
        }
        if search.best.plan == before || search.left == 0 {
            return Ok(search.best);
        }
    }
}

struct Search<'a> {
    backend: &'a dyn Backend,
    spec: &'a Spec,
    seed: u64,
    best: Failing,
    /// The cases that do not fail as the best one does: each round asks for those again that no other size has changed since.
    tried: Vec<Plan>,
    /// How many cases may still run.
    left: usize,
    /// How many elements they may have.
    work: usize,
}

impl Search<'_> {
    /// Finds a smaller value of a size: the first few in order, since every fourth may fail, then by bisection.
    fn lower(&mut self, size: &str, min: i64) -> Result<(), Failure> {
        let value = |search: &Self| search.best.plan.free.get(size).copied().unwrap_or(min);
        for smaller in min..min + IN_ORDER {
            if smaller >= value(self) || self.fails_with(size, smaller)? {
                return Ok(());
            }
        }
        // Special values are dense in small cases alone, so the next ones are just past powers of two.
        if self.is_special() {
            let powers = (0..i64::BITS - 1).map(|power| (1_i64 << power) + 1);
            for smaller in powers.skip_while(|&smaller| smaller < min + IN_ORDER) {
                if smaller >= value(self) || self.fails_with(size, smaller)? {
                    break;
                }
            }
        }
        // Too small, as far as it is known.
        let mut low = min + IN_ORDER - 1;
        while value(self) - low > 1 {
            let middle = low + (value(self) - low) / 2;
            if !self.fails_with(size, middle)? {
                low = middle;
            }
        }
        Ok(())
    }

    /// Whether the data have values that few elements have.
    fn is_special(&self) -> bool {
        self.best.plan.flavour.simpler().contains(&Flavour::Normal)
    }

    fn fails_with(&mut self, size: &str, value: i64) -> Result<bool, Failure> {
        let mut plan = self.best.plan.clone();
        plan.free.insert(size.to_owned(), value);
        if self.fails(plan.clone())? {
            return Ok(true);
        }
        for _ in 0..if self.is_special() { REDRAWN } else { 0 } {
            plan.number += REDRAWN_APART;
            if self.fails(plan.clone())? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the case of `plan` fails as the best one does; then it is the best.
    fn fails(&mut self, plan: Plan) -> Result<bool, Failure> {
        if self.left == 0 || self.tried.contains(&plan) {
            return Ok(false);
        }
        let elements = draw::elements(self.spec, &plan).unwrap_or(0);
        let Some(work) = self.work.checked_sub(elements) else { return Ok(false) };
        let Some(case) = draw::build_exactly(self.spec, &plan, self.seed) else { return Ok(false) };
        (self.left, self.work) = (self.left - 1, work);
        let (run, verdict) = grade::run_and_judge(self.backend, &case)?;
        let same = kind(&verdict) == kind(&self.best.verdict);
        if same {
            self.best = Failing { plan, case, run, verdict };
        } else {
            self.tried.push(plan);
        }
        Ok(same)
    }
}

/// How a case fails: by which finding, or in which tensor, and whether it was written there. `None` if it passes.
fn kind(verdict: &TestVerdict) -> Option<(&str, bool)> {
    let finding = verdict.findings.first().map(|finding| (finding.problem.name(), true));
    let diff = verdict.diffs.first();
    finding.or(diff.map(|d| (d.tensor.name.as_str(), d.unwritten_count > 0)))
}
