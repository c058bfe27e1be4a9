//! Specs: what a puzzle's kernels must compute, read from TOML and checked.
//!
//! [`workbook`] finds the files of a puzzle, and [`Spec::load`] checks everything of its spec that needs no values; `puzzle::oracle`
//! then evaluates the spec. This is much code that never needs to be fast, so it is a crate of its own, compiled without optimisation.

mod arch;
mod arg;
mod bench;
mod bench_sizes;
mod bit_equal;
mod broken;
mod call;
mod check;
mod code;
mod constant;
pub mod counter;
mod cover;
mod data;
mod draw;
mod expect;
mod fault;
mod gate;
mod host_call;
mod kind;
mod launch;
mod picture;
mod quoted;
pub mod relation;
mod repeat;
mod require;
mod rounding;
mod sizes;
mod step;
mod tensors;
mod test;
mod time_gate;
mod vendor;
mod wording;
pub mod workbook;
mod workspace;

#[cfg(test)]
mod bench_errors;
#[cfg(test)]
mod call_errors;
#[cfg(test)]
mod errors;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod require_errors;

pub use arg::{Arg, Purpose};
pub use bench::Bench;
pub use broken::Broken;
pub use check::{Check, Tolerance};
pub use constant::Constant;
pub use data::Data;
pub use draw::{DRAWN, Draw, DrawnSizes, SizeRange, kernel_sets};
pub use expect::Expect;
pub use fault::{Checked, Fault};
pub use gate::{CaseGate, Gate};
pub use host_call::{HostCall, HostParam, MemorySpace};
pub use kind::DataKind;
pub use launch::{Call, CallArg, Launch};
pub use picture::{Picture, PictureKind, PictureStyle};
pub use repeat::Repeat;
pub use require::Requirement;
pub use sizes::Sizes;
pub use step::{Step, ladder};
pub use tensors::{Tensors, grad_of, prime};
pub use test::{Buffer, Test};
pub use time_gate::{Reference, TimeGate};
pub use vendor::{Conv, Gemm, Pass, Pool, Vendor};

use diagnostic::{Failure, FailureKind};
use hardware::Multiprocessor;
use specfile::{RawGate, RawSpec, ReportOptions};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A spec without mistakes.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The path of the file, as messages show it.
    pub path: PathBuf,
    /// The text of the file.
    pub text: String,
    /// The title of the puzzle.
    pub title: String,
    /// The numbers of the puzzles to solve before this one.
    pub needs: Vec<u32>,
    /// The compute capability that the kernels are compiled for; `None`: that of all puzzles.
    pub arch: Option<Multiprocessor>,
    /// Whether the kernels are compiled for `sm_90a`: they have instructions of GPUs of compute capability 9.0 alone.
    pub hopper: bool,
    /// What the report shows.
    pub options: ReportOptions,
    /// The headers of `kernels/include` that the student's file may include: those that the spec offers, and those of its calls.
    pub headers: Vec<String>,
    /// The names of the sizes, and how derived sizes are computed.
    pub sizes: Sizes,
    /// The types of the tensors, and the formula.
    pub tensors: Tensors,
    /// The launches of kernels, or the calls of host functions, in the order in which they run.
    pub launches: Vec<Launch>,
    /// The bounds on what launches cost.
    pub gates: Vec<Gate>,
    /// The bounds on the time of benches.
    pub time_gates: Vec<TimeGate>,
    /// The kernels that the stub gives with mistakes.
    pub broken: Vec<Broken>,
    /// The bounds on results that the formula does not fix.
    pub requirements: Vec<Requirement>,
    /// The pictures that the report draws of such results.
    pub pictures: Vec<Picture>,
    /// The tests in the order of the file; their names are unique.
    pub tests: Vec<Test>,
    /// What each run draws beside them; `None` if the spec does not say.
    pub draw: Option<Draw>,
    /// The sizes at which the kernels are timed.
    pub benches: Vec<Bench>,
    /// Weaknesses of the tests, such as `H = W`, each with the reason why it does not matter.
    pub untested: BTreeMap<String, String>,
}

/// The largest size of a spec in bytes. Reading TOML takes linear time, but its trees are not small.
const MAX_BYTES: usize = 1 << 20;

/// The largest number of sizes, tensors, launches or tests of a spec. Some checks take quadratic time.
const MAX_ENTRIES: usize = 256;

/// The largest number of mistakes that are reported at once.
const MAX_FAULTS: usize = 5;

impl Spec {
    /// Reads and checks the spec at `path`, shown as `shown_as` in messages.
    ///
    /// # Errors
    /// The file cannot be read, or see [`Spec::parse`].
    pub fn load(path: &Path, shown_as: &Path) -> Result<Self, Failure> {
        let help = "every puzzle needs a spec, NN_name.toml";
        Self::parse(&text_of(path, shown_as, help)?, shown_as)
    }

    /// Reads and checks the spec `text`, shown as `shown_as` in messages.
    ///
    /// # Errors
    /// All independent mistakes with their places, at most [`MAX_FAULTS`].
    pub fn parse(text: &str, shown_as: &Path) -> Result<Self, Failure> {
        read(text, shown_as).map_err(|faults| together(faults, text, shown_as))
    }

    /// Whether the puzzle's functions are host functions.
    pub fn is_host(&self) -> bool {
        self.launches.iter().any(|launch| launch.host.is_some())
    }

    /// The test with this name.
    ///
    /// # Errors
    /// The spec has no test with this name.
    pub fn test(&self, name: &str) -> Result<&Test, Failure> {
        self.tests.iter().find(|t| t.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.tests.iter().map(|t| t.name.as_str()).collect();
            let title = format!("`{}` has no test `{name}`", self.path.display());
            let help = format!("its tests are {}", names.join(", "));
            Failure::new(FailureKind::Usage, title, help)
        })
    }

    /// Converts a mistake in this spec into a failure.
    pub fn failure(&self, fault: Fault) -> Failure {
        fault.in_file(&self.path, &self.text)
    }
}

/// The text of the file at `path`; `help` says what it should be.
fn text_of(path: &Path, shown_as: &Path, help: &str) -> Result<String, Failure> {
    let bytes = workbook::read(path).map_err(|e| {
        let title = format!("cannot read `{}`: {e}", shown_as.display());
        Failure::new(FailureKind::Usage, title, help)
    })?;
    String::from_utf8(bytes).map_err(|e| {
        let valid = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = valid.split(|&b| b == b'\n').count();
        let title = format!("`{}` is not UTF-8 in line {line}", shown_as.display());
        Failure::new(FailureKind::Usage, title, "save the file as UTF-8")
    })
}

/// Several mistakes in a file as one failure.
fn together(faults: Vec<Fault>, text: &str, shown_as: &Path) -> Failure {
    let mut failures = faults.into_iter().map(|fault| fault.in_file(shown_as, text));
    let empty = Failure { kind: FailureKind::Usage, diagnostics: Vec::new() };
    let mut all = failures.next().unwrap_or(empty);
    all.diagnostics.extend(failures.flat_map(|failure| failure.diagnostics));
    all
}

/// An error of the TOML reader in the file `path`, in the terms of specs.
pub fn toml_failure(text: &str, path: &Path, error: &toml::de::Error) -> Failure {
    wording::fault(text, error).in_file(path, text)
}

fn read(text: &str, path: &Path) -> Result<Spec, Vec<Fault>> {
    let raw = parsed(text).map_err(|fault| vec![fault])?;
    if let Some(step) = raw.step.first() {
        let fault = Fault::at(step.file.span(), "a puzzle has no steps");
        return Err(vec![fault.help("steps belong into the ladder.toml of kernels/ladders")]);
    }
    read_raw(text, path, raw)
}

fn read_raw(text: &str, path: &Path, mut raw: RawSpec) -> Result<Spec, Vec<Fault>> {
    let (sizes, tensors) = read_names(text, &raw).map_err(|fault| vec![fault])?;
    let arch = arch::read(raw.arch.as_ref()).map_err(|fault| vec![fault])?;
    let kernels = raw.launch.iter().map(|raw| Launch::read(text, raw, &sizes, &tensors));
    let calls = raw.call.iter().map(|raw| call::read(text, raw, &sizes, &tensors));
    let launches = all(kernels.chain(calls))?;
    call::check_names(&launches).map_err(|fault| vec![fault])?;
    let requirements = all(raw.require.iter().map(|r| Requirement::read(text, r, &tensors)))?;
    let pictures = all(raw.picture.iter().map(|raw| Picture::read(raw, &tensors)))?;
    let seen = requirements.iter().map(|r| &r.tensor).chain(pictures.iter().map(|p| &p.tensor));
    cover::outputs(&tensors, &launches, seen).map_err(|fault| vec![fault])?;
    workspace::check(&tensors, &launches).map_err(|fault| vec![fault])?;
    let (of_time, of_counters): (Vec<RawGate>, Vec<RawGate>) =
        raw.gate.drain(..).partition(TimeGate::is_meant);
    let gate = |raw: &RawGate| Gate::read(text, raw, &sizes, (&tensors, &launches));
    let gates = all(of_counters.iter().map(gate))?;
    let broken = all(raw.broken.iter().map(|raw| Broken::read(raw, &launches)))?;
    let tests = raw.test.iter().map(|raw| Test::read(text, raw, &sizes, &tensors, &launches));
    let tests = all(tests)?;
    let benches = raw.bench.iter().map(|raw| Bench::read((text, &sizes), raw, &tensors, &launches));
    let benches = all(benches)?;
    let time_gates = all(of_time.iter().map(|raw| TimeGate::read(raw, &benches)))?;
    bit_equal::sources(&tensors, &launches, &tests).map_err(|fault| vec![fault])?;
    let options = ReportOptions::from(&raw);
    let draw = raw.draw.map(|raw| Draw::read(text, raw, &sizes, (&tensors, &launches))).transpose();
    let draw = draw.map_err(|fault| vec![fault])?;
    if let Some(Draw::Sizes(drawn)) = &draw {
        let checked = drawn.check((text, &sizes), (&tensors, &launches), &tests);
        checked.map_err(|fault| vec![fault])?;
    }
    all([
        check_names(&tests),
        bench::check_names(&benches),
        cover::launches(&launches, &tests),
        rounding::check(text, &launches, &tests),
        bit_equal::tested(&launches, &tests),
        gate::check(text, &of_counters, &gates, &tests),
        require::check(&raw.require, &requirements, &tests),
        picture::check(&raw.picture, &pictures, &tests),
    ])?;
    let mut headers = call::headers("headers", &raw.headers).map_err(|fault| vec![fault])?;
    headers.extend(raw.call.iter().flat_map(|call| &call.include).map(|i| i.get_ref().clone()));
    let title = raw.title.into_inner();
    let (path, text) = (path.to_path_buf(), text.to_owned());
    let (needs, untested) = (raw.needs, raw.untested);
    Ok(Spec {
        path,
        text,
        title,
        needs,
        arch,
        hopper: false,
        options,
        headers,
        sizes,
        tensors,
        launches,
        gates,
        time_gates,
        broken,
        requirements,
        pictures,
        tests,
        draw,
        benches,
        untested,
    })
}

/// Reads the text as TOML with the keys of a spec.
fn parsed(text: &str) -> Checked<RawSpec> {
    if text.len() > MAX_BYTES {
        return Err(Fault::at(0..0, format!("a spec of {} bytes is too large", text.len()))
            .help("let the grader draw large data instead of listing them"));
    }
    let raw = specfile::parse(text).map_err(|e| wording::fault(text, &e))?;
    if raw.title.get_ref().trim().is_empty() {
        return Err(Fault::at(raw.title.span(), "the title is empty"));
    }
    Ok(raw)
}

/// Reads everything that the rest of the spec refers to.
fn read_names(text: &str, raw: &RawSpec) -> Checked<(Sizes, Tensors)> {
    check_counts(raw)?;
    let sizes = Sizes::read(text, &raw.dims)?;
    let tensors = Tensors::read(text, raw, &sizes)?;
    Ok((sizes, tensors))
}

/// All results, or all mistakes: one for each place, since several tests may show the same mistake.
fn all<T>(results: impl IntoIterator<Item = Checked<T>>) -> Result<Vec<T>, Vec<Fault>> {
    let mut faults: Vec<Fault> = Vec::new();
    let mut values = Vec::new();
    for result in results {
        match result {
            Ok(value) => values.push(value),
            Err(fault) if faults.iter().any(|other| other.place() == fault.place()) => {}
            Err(fault) => faults.push(fault),
        }
        if faults.len() == MAX_FAULTS {
            break;
        }
    }
    if faults.is_empty() { Ok(values) } else { Err(faults) }
}

fn check_names(tests: &[Test]) -> Checked<()> {
    for (i, next) in tests.iter().enumerate() {
        if next.name == DRAWN {
            let title = format!("`{DRAWN}` is the name of the drawn cases");
            return Err(Fault::at(next.place.clone(), title).help("give this test another name"));
        }
        if let Some(first) = tests[..i].iter().find(|t| t.name == next.name) {
            return Err(Fault::at(
                next.place.clone(),
                format!("two tests are named `{}`", next.name),
            )
            .also(first.place.clone(), "the first one")
            .help("give each its own name"));
        }
    }
    Ok(())
}

fn check_counts(raw: &RawSpec) -> Checked<()> {
    let (dims, tensors) = (raw.dims.get_ref().len(), raw.tensors.get_ref().len());
    for (count, place, what) in [
        (dims, raw.dims.span(), "sizes"),
        (tensors, raw.tensors.span(), "tensors"),
        (raw.workspace.len(), raw.title.span(), "workspaces"),
        (raw.launch.len(), raw.title.span(), "launches"),
        (raw.gate.len(), raw.title.span(), "gates"),
        (raw.broken.len(), raw.title.span(), "broken kernels"),
        (raw.require.len(), raw.title.span(), "requirements"),
        (raw.picture.len(), raw.title.span(), "pictures"),
        (raw.call.len(), raw.title.span(), "calls"),
        (raw.test.len(), raw.title.span(), "tests"),
        (raw.bench.len(), raw.title.span(), "benches"),
        (raw.step.len(), raw.title.span(), "steps"),
    ] {
        if count > MAX_ENTRIES {
            return Err(Fault::at(place, format!("this spec has {count} {what}"))
                .help(format!("the limit is {MAX_ENTRIES}: split it into two puzzles")));
        }
    }
    if let (Some(_), Some(call)) = (raw.launch.first(), raw.call.first()) {
        return Err(Fault::at(
            call.function.span(),
            "this spec has both a [[launch]] and a [[call]]",
        )
        .help(
            "the functions of a puzzle are either kernels or host functions: split it into two puzzles",
        ));
    }
    if raw.launch.is_empty() && raw.call.is_empty() {
        return Err(Fault::at(raw.title.span(), "this spec has no launch")
            .help("add a [[launch]] for a kernel, or a [[call]] for a host function"));
    }
    if raw.test.is_empty() {
        return Err(Fault::at(raw.title.span(), "this spec has no test").help("add a [[test]]"));
    }
    Ok(())
}
