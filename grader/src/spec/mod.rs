//! Specs: what a puzzle's kernels must compute, read from TOML, and everything that can be wrong in one.
//!
//! [`Spec::load`] checks all that can be seen without numbers; [`crate::oracle::load`] then evaluates it.

mod data;
mod fault;
mod launch;
mod quoted;
mod raw;
mod rounding;
mod sizes;
mod tensors;
mod test;
mod wording;

#[cfg(test)]
pub(crate) mod errors;
#[cfg(test)]
mod fuzz;

pub use data::{Data, DataKind, Expect};
pub(crate) use fault::{Checked, Fault};
pub use launch::{Arg, Launch};
pub use sizes::Sizes;
pub use tensors::{Tensors, grad_of};
pub use test::{Check, Test, Tolerance};

use crate::failure::{Failure, FailureKind};
use raw::RawSpec;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A spec without errors.
#[derive(Clone, Debug)]
pub struct Spec {
    /// As messages show it.
    pub path: PathBuf,
    /// The file.
    pub text: String,
    /// Of the puzzle.
    pub title: String,
    /// Numbers of the puzzles to do before this one.
    pub needs: Vec<u32>,
    /// Names of the sizes.
    pub sizes: Sizes,
    /// Types and formula.
    pub tensors: Tensors,
    /// In order.
    pub launches: Vec<Launch>,
    /// In order; names are unique.
    pub tests: Vec<Test>,
    /// Weaknesses of the tests, such as `H = W`, each with the reason why they are none.
    pub untested: BTreeMap<String, String>,
}

/// Bytes of a spec. The reader of TOML is linear, but its trees are not small.
const MAX_BYTES: usize = 1 << 20;

/// Sizes, tensors, launches or tests of a spec. Some checks are quadratic in them.
const MAX_ENTRIES: usize = 256;

impl Spec {
    /// Reads the spec at `path`, called `shown_as` in messages.
    ///
    /// # Errors
    /// The file cannot be read, or see [`Spec::parse`].
    pub fn load(path: &Path, shown_as: &Path) -> Result<Self, Failure> {
        let bytes = std::fs::read(path).map_err(|e| {
            let title = format!("cannot read `{}`: {e}", shown_as.display());
            Failure::new(FailureKind::Usage, title, "every puzzle needs a spec, NN_name.toml")
        })?;
        let text = String::from_utf8(bytes).map_err(|e| {
            let valid = &e.as_bytes()[..e.utf8_error().valid_up_to()];
            let line = valid.split(|&b| b == b'\n').count();
            let title = format!("`{}` is not UTF-8 in line {line}", shown_as.display());
            Failure::new(FailureKind::Usage, title, "save the file as UTF-8")
        })?;
        Self::parse(&text, shown_as)
    }

    /// Understands and checks `text`, called `shown_as` in messages.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn parse(text: &str, shown_as: &Path) -> Result<Self, Failure> {
        read(text, shown_as).map_err(|fault| fault.in_file(shown_as, text))
    }

    /// The test of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn test(&self, name: &str) -> Result<&Test, Failure> {
        self.tests.iter().find(|t| t.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.tests.iter().map(|t| t.name.as_str()).collect();
            let title = format!("`{}` has no test `{name}`", self.path.display());
            let help = format!("its tests are {}", names.join(", "));
            Failure::new(FailureKind::Usage, title, help)
        })
    }

    /// The failure of a command for `fault` in this spec.
    pub(crate) fn failure(&self, fault: Fault) -> Failure {
        fault.in_file(&self.path, &self.text)
    }
}

fn read(text: &str, path: &Path) -> Checked<Spec> {
    if text.len() > MAX_BYTES {
        return Err(Fault::at(0..0, format!("a spec of {} bytes is too large", text.len()))
            .help("let the grader draw large data: leave out the lists"));
    }
    let raw: RawSpec = toml::from_str(text).map_err(|e| wording::fault(text, &e))?;
    if raw.title.get_ref().trim().is_empty() {
        return Err(Fault::at(raw.title.span(), "the title is empty"));
    }
    check_counts(&raw)?;
    let sizes = Sizes::read(text, &raw.dims)?;
    let tensors = Tensors::read(text, &raw, &sizes)?;
    let mut launches = Vec::new();
    for launch in &raw.launch {
        launches.push(Launch::read(text, launch, &sizes, &tensors)?);
    }
    check_outputs(&tensors, &launches)?;
    let mut tests: Vec<Test> = Vec::new();
    for raw in &raw.test {
        let next = Test::read(text, raw, &sizes, &tensors, &launches)?;
        if let Some(first) = tests.iter().find(|t| t.name == next.name) {
            return Err(Fault::at(next.place, format!("two tests are named `{}`", next.name))
                .also(first.place.clone(), "the first one")
                .help("give each its own name"));
        }
        tests.push(next);
    }
    rounding::check(text, &launches, &tests)?;
    let title = raw.title.into_inner();
    let (path, text) = (path.to_path_buf(), text.to_owned());
    let (needs, untested) = (raw.needs, raw.untested);
    Ok(Spec { path, text, title, needs, sizes, tensors, launches, tests, untested })
}

fn check_counts(raw: &RawSpec) -> Checked<()> {
    let (dims, tensors) = (raw.dims.get_ref().len(), raw.tensors.get_ref().len());
    for (count, place, what) in [
        (dims, raw.dims.span(), "sizes"),
        (tensors, raw.tensors.span(), "tensors"),
        (raw.launch.len(), raw.title.span(), "launches"),
        (raw.test.len(), raw.title.span(), "tests"),
    ] {
        if count > MAX_ENTRIES {
            return Err(Fault::at(place, format!("this spec has {count} {what}"))
                .help(format!("{MAX_ENTRIES} at most: make two puzzles of it")));
        }
    }
    for (list, what) in [(raw.launch.is_empty(), "launch"), (raw.test.is_empty(), "test")] {
        if list {
            return Err(Fault::at(raw.title.span(), format!("this spec has no {what}"))
                .help(format!("add a [[{what}]]")));
        }
    }
    Ok(())
}

/// A forward puzzle must compute all that its formula does; a backward puzzle picks its gradients.
fn check_outputs(tensors: &Tensors, launches: &[Launch]) -> Checked<()> {
    let taken: Vec<&str> = launches.iter().flat_map(Launch::tensors).collect();
    if taken.iter().any(|name| grad_of(name).is_some()) {
        return Ok(());
    }
    match tensors.outputs.iter().find(|output| !taken.contains(&output.as_str())) {
        None => Ok(()),
        Some(missing) => {
            let title = format!("missing output: no launch takes `{missing}`");
            Err(Fault::at(tensors.place.clone(), title)
                .label("computed here")
                .help(format!("add \"{missing}\" to the args of the kernel that computes it")))
        }
    }
}
