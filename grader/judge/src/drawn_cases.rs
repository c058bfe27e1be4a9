//! The cases that a run draws: those of a spec, and those of what the kernels of a program compare with.

use crate::grade::Program;
use diagnostic::Failure;
use indexmath::DimExpr;
use puzzle::case::Case;
use puzzle::draw::{self, Flavour, Literals, Plan, SizeLiteral};
use puzzle::spec::{Arg, Spec};
use std::sync::OnceLock;
use toolchain::comparisons::{Compared, comparisons};

/// The cases that a spec draws with a seed. Each is built when the first program runs it, and kept for those after it.
#[derive(Debug)]
pub struct DrawnCases<'a> {
    pub(crate) spec: &'a Spec,
    pub(crate) seed: u64,
    cases: Vec<(Plan, LazyCase)>,
}

/// The case of a plan and the flavour of its data, once it is built; `None` if it is not possible.
type LazyCase = OnceLock<Option<(Case, Flavour)>>;

impl<'a> DrawnCases<'a> {
    /// The cases of `seed`, none of them built yet.
    pub fn new(spec: &'a Spec, seed: u64) -> Self {
        let plans = draw::plans(spec, seed).into_iter();
        Self { spec, seed, cases: plans.map(|plan| (plan, OnceLock::new())).collect() }
    }

    /// Further cases for one program: sizes and values that its kernels compare with.
    pub(crate) fn at_literals(spec: &'a Spec, seed: u64, program: &Program) -> Self {
        let plans = draw::plans_at(spec, seed, &literals(spec, program)).into_iter();
        Self { spec, seed, cases: plans.map(|plan| (plan, OnceLock::new())).collect() }
    }

    /// How many of the cases cannot be built, and why the first of these cannot.
    pub fn impossible(&self) -> (usize, Option<Failure>) {
        let is_missing = |case: &LazyCase| matches!(case.get(), Some(None));
        let missing =
            || self.cases.iter().filter(|(_, case)| is_missing(case)).map(|(plan, _)| plan);
        let fault = missing().find_map(|plan| draw::fault(self.spec, plan, self.seed));
        (missing().count(), fault)
    }

    /// The cases, each of which is built when it is asked for.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot<'_>> + Send {
        self.cases.iter().map(move |(plan, built)| Slot { drawn: self, plan, built })
    }

    /// Each possible case with its plan and the flavour of its data, of the plans that are `wanted`; the others are not built for it.
    pub(crate) fn iter_those(
        &self,
        wanted: impl Fn(&Plan) -> bool,
    ) -> impl Iterator<Item = (&Plan, &Case, Flavour)> {
        self.slots().filter(move |slot| wanted(slot.plan)).filter_map(Slot::case)
    }
}

/// The place of a drawn case.
pub(crate) struct Slot<'d> {
    drawn: &'d DrawnCases<'d>,
    plan: &'d Plan,
    built: &'d LazyCase,
}

impl<'d> Slot<'d> {
    /// The case with its plan and the flavour of its data; `None` if it is not possible.
    pub(crate) fn case(self) -> Option<(&'d Plan, &'d Case, Flavour)> {
        let DrawnCases { spec, seed, .. } = *self.drawn;
        let built = self.built.get_or_init(|| draw::build(spec, self.plan, seed));
        built.as_ref().map(|(case, flavour)| (self.plan, case, *flavour))
    }
}

/// What the kernels of a program compare with, as far as the PTX is at hand: that of host code is not.
fn literals(spec: &Spec, program: &Program) -> Literals {
    let mut all = Literals::default();
    for launch in &spec.launches {
        let Some(symbol) = program.kernels.get(&launch.kernel) else { continue };
        let found = comparisons(&program.compiled.ptx, symbol);
        for ((terms, at), how) in found.sums {
            let size = |(at, factor): (&usize, &i64)| match launch.args.get(*at) {
                Some(Arg::Size(size)) => Some(format!("{factor}*({size})")),
                _ => None,
            };
            let text: Option<Vec<String>> = terms.iter().map(size).collect();
            let sum = text.and_then(|terms| DimExpr::parse(&terms.join(" + ")).ok());
            let is_equality = how == Compared::Equality;
            let literal = sum.map(|of| SizeLiteral { of, at, is_equality });
            all.sizes.extend(literal.map(|literal| (launch.kernel.clone(), literal)));
        }
        let reaches = found.reaches.into_iter();
        all.reaches.extend(reaches.map(|reach| (launch.kernel.clone(), reach)));
        all.values.extend(found.values);
    }
    all
}
