//! `[[gate]]`: a bound on a counter of a launch.

use super::fault::{Checked, Fault};
use super::launch::{CallArg, Launch};
use super::quoted::inner_span;
use super::sizes::Sizes;
use super::tensors::Tensors;
use super::test::Test;
use crate::counter::Counter;
use crate::relation::Relation;
use indexmath::DimExpr;
use specfile::RawGate;
use std::ops::Range;
use toml::Spanned;

/// A bound on a counter of one launch, in some or all tests.
#[derive(Clone, Debug)]
pub struct Gate {
    /// Index of the launch in the spec.
    pub launch: usize,
    /// The names of the tests to which it applies; if empty, all that have the launch.
    pub tests: Vec<String>,
    /// One sentence for the student.
    pub about: Option<String>,
    counter: Counter,
    /// The tensor in which it counts; `None` for all memory.
    tensor: Option<String>,
    /// The comparison that must hold between the counter and the bound.
    relation: Relation,
    bound: DimExpr,
    place: Range<usize>,
}

/// A bound on what a launch costs, at the sizes of a test.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseGate {
    /// The index of the launch in [`Test::calls`].
    pub launch: usize,
    /// The counter that is bounded.
    pub counter: Counter,
    /// The index in [`Test::buffers`] of the tensor in which it counts; `None` for all memory.
    pub tensor: Option<usize>,
    /// The comparison that must hold between the counter and the bound.
    pub relation: Relation,
    /// The bound at the sizes of the test.
    pub bound: u64,
    /// One sentence for the student, shown when the gate is not kept.
    pub about: Option<String>,
}

/// The help text that shows how to write a bound.
const EXAMPLE: &str =
    "write bound = \"global_load_sectors <= 2 * N\" or bound = \"shared_bank_conflicts == 0\"";

impl Gate {
    pub(crate) fn read(
        text: &str,
        raw: &RawGate,
        sizes: &Sizes,
        (tensors, launches): (&Tensors, &[Launch]),
    ) -> Checked<Self> {
        let place = raw.bound.span();
        let written = raw.bound.get_ref();
        let Some((at, relation)) = Relation::find(written) else {
            let title = "a bound is a counter, `<=`, `>=` or `==`, and an expression of sizes";
            return Err(Fault::at(place, title).help(EXAMPLE));
        };
        let name = written[..at].trim();
        let (counter, tensor) = match tensor_counter(name) {
            Some((counter, tensor)) => (Some(counter), Some(tensor.to_owned())),
            None => (Counter::named(name), None),
        };
        let name_at = || inner_span(text, &place, &(0..at));
        let Some(counter) = counter else {
            let title = format!("unknown counter `{}`", name.escape_debug());
            return Err(Fault::at(name_at(), title)
                .suggest(name, Counter::names(), "counter")
                .help("of one tensor: bytes_read(X) and bytes_written(X)"));
        };
        // Blanks replace the text before, so that the places of mistakes stay the same.
        let behind = at + Relation::SIGN;
        let expression = " ".repeat(behind) + &written[behind..];
        let bound = DimExpr::parse(&expression).map_err(|e| Fault::math(text, &place, e))?;
        sizes.check_names(text, &bound, &place)?;
        if let Some(bench) = raw.benches.iter().flatten().next() {
            return Err(Fault::at(bench.span(), "a bound on a counter applies to tests")
                .help("name some of them by tests = [\"...\"]"));
        }
        let launch = find_launch(raw, launches)?;
        if let Some(tensor) = &tensor {
            check_tensor(tensor, &launches[launch], tensors, name_at())?;
        }
        let tests = raw.tests.iter().flatten().map(|test| test.get_ref().clone()).collect();
        Ok(Self {
            launch,
            tests,
            about: raw.about.clone(),
            counter,
            tensor,
            relation,
            bound,
            place,
        })
    }

    /// The bound at the sizes of a test, or `None` if the gate does not apply to it. `spec` is the text of the file.
    ///
    /// # Errors
    /// The bound cannot be computed at these sizes, or is negative.
    pub fn at(&self, spec: &str, test: &Test) -> Checked<Option<CaseGate>> {
        let call = test.calls.iter().position(|call| call.launch == self.launch);
        let meant = self.tests.is_empty() || self.tests.contains(&test.name);
        let Some(launch) = call.filter(|_| meant) else { return Ok(None) };
        let bound = self.bound.eval(&test.dims).map_err(|e| Fault::math(spec, &self.place, e))?;
        let bound = u64::try_from(bound).map_err(|_| {
            Fault::at(self.place.clone(), format!("the bound is {bound} in a test"))
                .also(test.place.clone(), "at these sizes")
                .help("a counter is never below 0")
        })?;
        let Self { counter, relation, .. } = *self;
        let tensor = self.tensor.as_ref().and_then(|name| {
            let taken = |arg: &CallArg| match arg {
                CallArg::Buffer(i) if test.buffers[*i].tensor.name == *name => Some(*i),
                _ => None,
            };
            test.calls[launch].args.iter().find_map(taken)
        });
        Ok(Some(CaseGate { launch, counter, tensor, relation, bound, about: self.about.clone() }))
    }
}

/// The counter and the tensor of `bytes_read(X)` and `bytes_written(X)`.
fn tensor_counter(name: &str) -> Option<(Counter, &str)> {
    let (word, rest) = name.split_once('(')?;
    Some((Counter::of_tensor(word.trim())?, rest.trim_end().strip_suffix(')')?.trim()))
}

/// Checks that the launch takes the tensor by its address.
fn check_tensor(
    name: &str,
    launch: &Launch,
    tensors: &Tensors,
    place: Range<usize>,
) -> Checked<()> {
    let taken = || launch.args.iter().filter_map(|arg| arg.buffer(tensors)).map(|(name, _)| name);
    if taken().any(|taken| taken == name) {
        return Ok(());
    }
    let title = format!("`{}` is given no tensor `{}`", launch.kernel, name.escape_debug());
    Err(Fault::at(place, title).suggest(name, taken(), "tensor"))
}

fn find_launch(raw: &RawGate, launches: &[Launch]) -> Checked<usize> {
    if launches.iter().any(|launch| launch.host.is_some()) {
        return Err(Fault::at(
            raw.bound.span(),
            "a gate cannot bound kernels that host code launches",
        )
        .help("bound the kernel in a puzzle of its own"));
    }
    let names = || launches.iter().map(|launch| launch.kernel.as_str());
    match &raw.kernel {
        None if launches.len() == 1 => Ok(0),
        None => Err(Fault::at(raw.bound.span(), "which launch does this gate bound?")
            .help("the spec has several: name one by kernel = \"...\"")),
        Some(kernel) => names().position(|name| name == kernel.get_ref()).ok_or_else(|| {
            let name = kernel.get_ref();
            let title = format!("no launch has a kernel `{}`", name.escape_debug());
            Fault::at(kernel.span(), title).suggest(name, names(), "kernel")
        }),
    }
}

/// Checks that each gate applies to some test, and that the tests which it names exist.
pub(crate) fn check(text: &str, raw: &[RawGate], gates: &[Gate], tests: &[Test]) -> Checked<()> {
    for (raw, gate) in raw.iter().zip(gates) {
        let names = || tests.iter().map(|test| test.name.as_str());
        let unknown = |name: &&Spanned<String>| !names().any(|known| known == name.get_ref());
        if let Some(name) = raw.tests.iter().flatten().find(unknown) {
            let title = format!("no test is named `{}`", name.get_ref().escape_debug());
            return Err(Fault::at(name.span(), title).suggest(name.get_ref(), names(), "test"));
        }
        let mut counts = false;
        for test in tests {
            counts |= gate.at(text, test)?.is_some();
        }
        if !counts {
            return Err(Fault::at(gate.place.clone(), "this gate applies to no test")
                .help("name a test in which its kernel runs"));
        }
    }
    Ok(())
}
