//! The cases that a run draws: those of a spec, and those of what the kernels of a program compare with.

use crate::grade::Program;
use diagnostic::Failure;
use indexmath::DimExpr;
use puzzle::case::Case;
use puzzle::draw::{self, Flavour, Literals, Plan, SizeLiteral};
use puzzle::spec::{Arg, Spec};
use std::sync::OnceLock;
use toolchain::comparisons::{Compared, Given, comparisons};
use toolchain::host_comparisons::{HostComparison, host_comparisons};

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

/// What the kernels of a program compare with, by their PTX; host code, by its source.
fn literals(spec: &Spec, program: &Program) -> Literals {
    let mut all = Literals::default();
    if spec.is_host() {
        all.sizes = in_host_code(spec, &program.compiled.source.text);
        return all;
    }
    for launch in &spec.launches {
        let Some(symbol) = program.kernels.get(&launch.kernel) else { continue };
        let found = comparisons(&program.compiled.ptx, symbol);
        for ((terms, at), how) in found.sums {
            let size = |(of, factor): (&Given, &i64)| {
                let size = match *of {
                    Given::Param(at) => match launch.args.get(at) {
                        Some(Arg::Size(size)) => Some(size),
                        _ => None,
                    },
                    Given::Grid(axis) => launch.grid_size(axis),
                    Given::Block(axis) => launch.block_size(axis),
                };
                size.map(|size| format!("{factor}*({size})"))
            };
            let text: Option<Vec<String>> = terms.iter().map(size).collect();
            let sum = text.and_then(|terms| DimExpr::parse(&terms.join(" + ")).ok());
            let is_equality = how == Compared::Equality;
            let literal = sum.map(|of| SizeLiteral { of, at, is_equality });
            all.sizes.extend(literal.map(|literal| (launch.kernel.clone(), literal)));
        }
        let reaches = found.reaches.into_iter();
        all.reaches.extend(reaches.map(|reach| (launch.kernel.clone(), reach)));
        let indices = found.indices.into_iter();
        all.indices.extend(indices.map(|index| (launch.kernel.clone(), index)));
        all.values.extend(found.values);
    }
    all
}

/// What host code compares sizes with. What is compared may be any size under another name, unless it is an expression of sizes.
fn in_host_code(spec: &Spec, source: &str) -> Vec<(String, SizeLiteral)> {
    let free = draw::drawn(spec).into_iter().flat_map(|drawn| &drawn.ranges);
    let free: Vec<DimExpr> = free.filter_map(|range| DimExpr::parse(&range.name).ok()).collect();
    let mut all: Vec<(String, SizeLiteral)> = Vec::new();
    for HostComparison { with, at, how } in host_comparisons(source) {
        let is_size = |of: &DimExpr| {
            let names = of.names();
            !names.is_empty() && names.iter().all(|(name, _)| spec.sizes.contains(name))
        };
        let exactly = DimExpr::parse(&with).ok().filter(is_size);
        let of = exactly.map_or_else(|| free.clone(), |of| vec![of]);
        let is_equality = how == Compared::Equality;
        for literal in of.into_iter().map(|of| SizeLiteral { of, at, is_equality }) {
            if !all.iter().any(|(_, other)| *other == literal) {
                let launches = spec.launches.iter().map(|launch| launch.kernel.clone());
                all.extend(launches.map(|function| (function, literal.clone())));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// An expression of sizes is compared as it stands; what has another name may be any size.
    #[test]
    fn host_code_compares_sizes_by_their_names_or_any_of_them() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../puzzles/36_conv_backward_weights_variants.toml");
        let spec = Spec::parse(&std::fs::read_to_string(&path).unwrap(), &path).unwrap();
        let found = |source: &str| {
            let function = &spec.launches[0].kernel;
            let of = in_host_code(&spec, source).into_iter().filter(|(of, _)| of == function);
            let literal = |(_, l): (String, SizeLiteral)| (l.of.to_string(), l.at, l.is_equality);
            of.map(literal).collect::<Vec<_>>()
        };
        let sum = DimExpr::parse("K + C").unwrap().to_string();
        assert_eq!(found("if (K + C >= 300) tile = 64;"), [(sum, 300, false)]);
        let any = found("return fewer == 40;");
        assert_eq!(any.len(), spec.sizes.free.len());
        assert!(any.iter().all(|(_, at, is_equality)| *at == 40 && *is_equality));
    }
}
