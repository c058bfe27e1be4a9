//! What the kernels of a whole program cost.

use super::annotated_source::{AnnotatedSource, legend};
use super::fit::Fit;
use crate::format::json::SCHEMA_VERSION;
use crate::number::ratio;
use crate::style::{Style, Tone};
use device::program::Profile;
use serde_json::{Map, Value};
use std::path::Path;

/// A program that ran, and its kernels with how each fits.
#[derive(Clone, Copy, Debug)]
pub struct ProgramSubject<'a> {
    /// The file, as it shall be shown.
    pub file: &'a Path,
    /// The contents of the file.
    pub source: &'a str,
    /// The kernels and how they fit, those of most instructions first.
    pub kernels: &'a [(Profile, Vec<Fit>)],
}

impl<'a> ProgramSubject<'a> {
    fn annotated_source(&self, (profile, fits): &'a (Profile, Vec<Fit>)) -> AnnotatedSource<'a> {
        let Self { file, source, .. } = *self;
        AnnotatedSource { file, source, counters: &profile.of.counters, fits, case: None }
    }

    /// The name in the source, with the types of the parameters where several have it: overloads.
    fn name(&self, profile: &Profile) -> String {
        let alike = self.kernels.iter().filter(|(other, _)| other.name == profile.name).count();
        if alike == 1 {
            return profile.name.clone();
        }
        cudart::signature(&profile.of.kernel)
    }
}

/// The tables for people, one for each kernel.
pub fn program_page(subject: ProgramSubject, style: Style) -> String {
    let file = subject.file.display().to_string();
    if subject.kernels.is_empty() {
        return format!("{}\n", style.paint(Tone::Faint, &format!("{file}: no kernel ran")));
    }
    let instructions = |profile: &Profile| profile.of.counters.total.instructions();
    let all: u64 = subject.kernels.iter().map(|(profile, _)| instructions(profile)).sum();
    let mut lines = Vec::new();
    for kernel in subject.kernels {
        let (profile, _) = kernel;
        let plural = if profile.of.launches == 1 { "" } else { "es" };
        let share = ratio(instructions(profile) * 100, all).unwrap_or(0.0);
        let launches = profile.of.launches;
        let facts =
            format!("{file}; {launches} launch{plural}, {share:.1} % of the PTX instructions");
        lines.push(style.paint(Tone::Strong, &format!("Kernel {}", subject.name(profile))));
        lines.extend([style.paint(Tone::Faint, &facts), String::new()]);
        let source = subject.annotated_source(kernel);
        lines.extend(source.lines(style));
        lines.extend(source.end(style));
        lines.push(String::new());
    }
    lines.extend(legend(style));
    lines.join("\n") + "\n"
}

/// The profile of a program as a JSON document.
pub fn program_document(subject: ProgramSubject) -> String {
    let kernel = |kernel: &(Profile, Vec<Fit>)| {
        let (profile, _) = kernel;
        let mut one: Map<String, Value> = Map::from_iter([
            ("kernel".to_owned(), profile.name.clone().into()),
            ("symbol".to_owned(), profile.of.kernel.clone().into()),
            ("launches".to_owned(), profile.of.launches.into()),
        ]);
        one.extend(subject.annotated_source(kernel).document());
        Value::Object(one)
    };
    let kernels: Vec<Value> = subject.kernels.iter().map(kernel).collect();
    let document: Map<String, Value> = Map::from_iter([
        ("schema_version".to_owned(), SCHEMA_VERSION.into()),
        ("file".to_owned(), subject.file.display().to_string().into()),
        ("kernels".to_owned(), kernels.into()),
    ]);
    format!("{:#}\n", Value::Object(document))
}
