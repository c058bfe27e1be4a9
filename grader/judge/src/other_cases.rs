//! Further cases of a spec, on which a suspicion about one case that fails is tried. To build a case costs more than to run it, so
//! each is kept for the next suspicion.

use crate::drawn_cases::DrawnCases;
use indexmath::Dims;
use puzzle::case::{Case, CaseArg, CaseLaunch};
use puzzle::draw::{self, Flavour, Plan};
use puzzle::oracle;
use puzzle::spec::{Check, Data, DataKind, SizeRange, Spec, Test};
use std::array;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Tests that a suspicion is tried on, besides the one that failed.
const MORE_TESTS: usize = 6;
/// Drawn cases that it is tried on, with data of each kind of [`PLAIN`].
const DRAWN_CASES: usize = 7;
/// How often the data of a drawn case that failed are drawn again.
const REDRAWN: u64 = 12;
/// Elements that all of these may have together.
const REDRAWN_ELEMENTS: usize = 1 << 22;
/// The data of these: those that a formula never leaves open.
const PLAIN: [Flavour; 3] = [Flavour::Integers, Flavour::Normal, Flavour::Offsets];
/// Elements of all tensors of a test that runs again for this.
const MAX_ELEMENTS: usize = 1 << 20;
/// Elements of all tensors of a test whose cases are kept in any case.
pub(crate) const MAX_KEPT: usize = 1 << 16;
/// Elements that the kept cases of larger tests may have together.
const LARGE_KEPT: usize = 1 << 21;
/// Data that tell apart what ordinary data do not: far from each other, and all on one side of 0.
const WILD: [DataKind; 4] = [
    DataKind::Normal { scale: 1.0, shift: 0.0 },
    DataKind::Normal { scale: 60.0, shift: 0.0 },
    DataKind::Normal { scale: 300.0, shift: 0.0 },
    DataKind::Normal { scale: 100.0, shift: -300.0 },
];

/// Those of [`WILD`] whose rows are mostly too far from each other for an exponential.
const FAR: usize = 2;

/// The cases that follow from a spec and a seed, for suspicions about a test or about a drawn case.
#[derive(Debug)]
pub struct OtherCases<'s> {
    kept: Arc<KeptCases<'s>>,
    /// The first drawn case that failed, if one did.
    failed: Option<Plan>,
}

/// The cases that do not depend on what failed, each built when it is first asked for.
#[derive(Debug)]
struct KeptCases<'s> {
    spec: &'s Spec,
    seed: u64,
    /// The cases of the spec's tests, those of small tests first.
    tests: Vec<CasesOfTest<'s>>,
    /// How many more elements may be kept of large tests.
    room: AtomicUsize,
    drawn: OnceLock<DrawnCases<'s>>,
}

/// The cases of a test: as it stands, and with wilder data.
#[derive(Debug)]
struct CasesOfTest<'s> {
    test: &'s Test,
    /// Elements of all tensors.
    elements: usize,
    plain: LazyCase,
    wild: [LazyCase; WILD.len()],
}

/// `None` if no such case is possible.
type LazyCase = OnceLock<Option<Case>>;

impl<'s> OtherCases<'s> {
    /// The cases for suspicions in a run with this seed. None has the data of that run.
    pub fn new(spec: &'s Spec, seed: u64) -> Self {
        let elements = |test: &Test| test.buffers.iter().map(|b| b.tensor.len()).sum();
        let cases = |test| CasesOfTest {
            test,
            elements: elements(test),
            plain: OnceLock::new(),
            wild: array::from_fn(|_| OnceLock::new()),
        };
        let mut tests: Vec<CasesOfTest<'s>> = spec.tests.iter().map(cases).collect();
        tests.retain(|of_test| of_test.elements <= MAX_ELEMENTS);
        tests.sort_by_key(|of_test| of_test.elements);
        let (seed, room) = (seed.wrapping_add(1), AtomicUsize::new(LARGE_KEPT));
        let kept = KeptCases { spec, seed, tests, room, drawn: OnceLock::new() };
        Self { kept: Arc::new(kept), failed: None }
    }

    /// The same cases for a suspicion about a drawn one. `plan` is that of the case from which it was reduced, which comes last, and
    /// then again with other data: only cases like this may show what is wrong.
    pub(crate) fn for_drawn(&self, plan: Plan) -> Self {
        Self { kept: Arc::clone(&self.kept), failed: Some(plan) }
    }

    /// Cases like `case` whose `tensor` is computed by the same kernels: the same test with other data and with wilder data, a few of the
    /// other tests, and a few that are drawn, so that sizes differ which are equal here. Of the tests those of at most `most` elements.
    pub(crate) fn like(
        &self,
        case: &Case,
        tensor: &str,
        most: usize,
    ) -> impl Iterator<Item = Cow<'_, Case>> {
        let computes = |test: &Test| test.outputs().iter().any(|name| name == tensor);
        let kept = &*self.kept;
        let (same, rest): (Vec<&CasesOfTest<'s>>, Vec<&CasesOfTest<'s>>) = kept
            .tests
            .iter()
            .filter(|of_test| of_test.elements <= most && computes(of_test.test))
            .partition(|of_test| of_test.test.name == case.test);
        let same = same.into_iter().flat_map(move |of_test| {
            let wild = (0..WILD.len()).map(move |kind| kept.wild(of_test, kind));
            [kept.plain(of_test)].into_iter().chain(wild)
        });
        let rest: Vec<&CasesOfTest<'s>> = spread(rest).collect();
        let small: Vec<&CasesOfTest<'s>> =
            rest.iter().copied().filter(|of_test| of_test.elements <= MAX_KEPT).collect();
        let rest = rest.into_iter().map(move |of_test| kept.plain(of_test));
        // Last, for what is still in doubt.
        let far = small.into_iter().map(move |of_test| kept.wild(of_test, FAR));
        let drawn = kept.drawn(case, tensor).map(|case| Some(Cow::Borrowed(case)));
        let (known, dims) = (case.known.clone(), case.dims.clone());
        let (name, users) = (tensor.to_owned(), users(case, tensor));
        let all = same.chain(rest).chain(drawn).chain(far).flatten().chain(self.redrawn());
        // Another kernel may compute the same, correctly.
        let all = all.filter(move |other| {
            let there = self::users(other, &name);
            there.is_subset(&users) || users.is_subset(&there)
        });
        all.filter(move |other| other.known != known || other.dims != dims)
    }

    /// The ranges of the sizes that a case can have; none if the spec draws no cases.
    pub(crate) fn ranges(&self) -> &'s [SizeRange] {
        draw::drawn(self.kept.spec).map_or(&[], |drawn| &drawn.ranges)
    }

    /// A case with the kernels and sizes of `case`, but for some sizes, and with the `nth` data of a flavour; `None` if that is not possible.
    pub(crate) fn resized(
        &self,
        case: &Case,
        (flavour, nth): (Flavour, u64),
        changes: &[(&str, i64)],
    ) -> Option<Case> {
        let of = |range: &SizeRange| Some((range.name.clone(), *case.dims.get(&range.name)?));
        let mut free: Dims = self.ranges().iter().map(of).collect::<Option<_>>()?;
        free.extend(changes.iter().map(|&(size, value)| (size.to_owned(), value)));
        let mut kernels: Vec<String> = Vec::new();
        for launch in &case.launches {
            if !kernels.contains(&launch.kernel) {
                kernels.push(launch.kernel.clone());
            }
        }
        let plan =
            Plan { number: 0, free, kernels, flavour, turn: 0, literals: Vec::new(), before: None };
        let KeptCases { spec, seed, .. } = *self.kept;
        draw::build_exactly(spec, &plan, seed.wrapping_add(nth))
    }

    fn redrawn(&self) -> impl Iterator<Item = Cow<'_, Case>> {
        let KeptCases { spec, seed, .. } = *self.kept;
        let seed_of = move |nth| seed.wrapping_sub(1).wrapping_add(nth);
        let build = move |(plan, nth)| draw::build_exactly(spec, plan, seed_of(nth));
        let most = move |plan| {
            let elements = draw::elements(spec, plan).unwrap_or(0).max(1);
            REDRAWN.min((REDRAWN_ELEMENTS / elements) as u64)
        };
        let seeds =
            self.failed.iter().flat_map(move |plan| (0..most(plan)).map(move |nth| (plan, nth)));
        seeds.filter_map(build).map(Cow::Owned)
    }
}

impl<'s> KeptCases<'s> {
    fn plain<'a>(&'a self, of_test: &'a CasesOfTest<'s>) -> Option<Cow<'a, Case>> {
        self.kept(of_test, &of_test.plain, || {
            oracle::build_case(self.spec, of_test.test, self.seed).ok()
        })
    }

    fn wild<'a>(&'a self, of_test: &'a CasesOfTest<'s>, kind: usize) -> Option<Cow<'a, Case>> {
        self.kept(of_test, &of_test.wild[kind], || {
            let test = wilder(of_test.test, &reals(self.spec), WILD[kind]);
            oracle::build_case(self.spec, &test, self.seed).ok()
        })
    }

    /// What is kept of a case, or is built now; large ones are kept while there is room.
    fn kept<'a>(
        &self,
        of_test: &CasesOfTest<'_>,
        lazy: &'a LazyCase,
        build: impl FnOnce() -> Option<Case>,
    ) -> Option<Cow<'a, Case>> {
        let is_kept =
            lazy.get().is_some() || of_test.elements <= MAX_KEPT || self.takes(of_test.elements);
        if is_kept {
            lazy.get_or_init(build).as_ref().map(Cow::Borrowed)
        } else {
            build().map(Cow::Owned)
        }
    }

    /// Whether there is room for so many more elements, which is taken then.
    fn takes(&self, elements: usize) -> bool {
        let less = |room: usize| room.checked_sub(elements);
        self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    fn drawn(&self, case: &Case, tensor: &str) -> impl Iterator<Item = &Case> {
        // What only values that are not finite show, others do not confirm.
        let finite = case.known.values().flatten().all(|value| value.is_finite());
        let launched: BTreeSet<String> =
            case.launches.iter().map(|launch| launch.kernel.clone()).collect();
        let tensor = tensor.to_owned();
        let drawn = self.drawn.get_or_init(|| DrawnCases::new(self.spec, self.seed));
        let of = move |flavours: &'static [Flavour]| {
            let (launched, tensor) = (launched.clone(), tensor.clone());
            let alike = drawn.iter_those(move |plan| {
                (flavours.is_empty() || flavours.contains(&plan.flavour))
                    && plan.kernels.iter().collect::<BTreeSet<_>>() == launched.iter().collect()
                    // To follow the values of one with thousands of blocks takes seconds.
                    && draw::elements(self.spec, plan).is_some_and(|elements| elements <= MAX_KEPT)
            });
            let cases = alike.map(|(_, other, _)| other);
            cases.filter(move |other| other.expected(&tensor).is_some())
        };
        // Of each kind a few: what small integers do not show, rows that are far apart may.
        let plain = PLAIN.chunks(1).filter(move |_| finite).flat_map({
            let of = of.clone();
            move |flavour| of(flavour).take(DRAWN_CASES)
        });
        let any = of(&[]).filter(move |_| !finite).take(PLAIN.len() * DRAWN_CASES);
        plain.chain(any)
    }
}

/// The names of the kernels that a tensor of a case is passed to. Of two ways to compute it neither has all those of the other.
fn users(case: &Case, tensor: &str) -> BTreeSet<String> {
    let index = case.output(tensor);
    let takes = |launch: &&CaseLaunch| {
        index.is_some_and(|index| launch.args.contains(&CaseArg::Tensor(index)))
    };
    case.launches.iter().filter(takes).map(|launch| launch.kernel.clone()).collect()
}

/// The inputs of a formula that take any real value: a test of the spec draws them so.
fn reals(spec: &Spec) -> BTreeSet<&String> {
    // Integers are the default, also of what a kernel does not take: a gradient that it assumes to be 1.
    let is_real = |data: &Data| matches!(data, Data::Kind(DataKind::Normal { .. }));
    let all = spec.tests.iter().flat_map(|test| &test.data);
    all.filter(|(_, data)| is_real(data)).map(|(name, _)| name).collect()
}

/// The test with other data for these inputs, and without what depends on the data.
fn wilder(test: &Test, real: &BTreeSet<&String>, kind: DataKind) -> Test {
    let float = |name: &String| test.inputs.iter().any(|t| t.name == *name && t.dtype.is_float());
    let data = test.data.iter().map(|(name, data)| {
        let data = if real.contains(name) && float(name) { Data::Kind(kind) } else { data.clone() };
        (name.clone(), data)
    });
    let data = data.collect();
    let mut wilder = test.clone();
    (wilder.data, wilder.check) = (data, Check::Formula);
    wilder
}

/// A few tests of different sizes: the middle ones tell most, the smallest cost least.
fn spread<T>(tests: Vec<T>) -> impl Iterator<Item = T> {
    let step = (tests.len() / 2 / MORE_TESTS).max(1);
    tests.into_iter().step_by(step).take(MORE_TESTS)
}
