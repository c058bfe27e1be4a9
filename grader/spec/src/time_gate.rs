//! `[[gate]]` with `time`: a bound on the time of a bench, as a multiple of another kernel's time in the same run.

use super::bench::Bench;
use super::fault::{Checked, Fault};
use crate::relation::Relation;
use specfile::RawGate;
use std::fmt::{self, Display, Formatter};
use toml::Spanned;

/// The name that stands for the time in a bound.
const TIME: &str = "time";

/// The help text that shows how to write a bound.
const EXAMPLE: &str =
    "write bound = \"time <= 0.8 * puzzle(19)\" or bound = \"time <= 2 * vendor\"";

/// A bound on the time of the launches of a bench.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeGate {
    /// The time may be so many times that of the reference.
    pub factor: f64,
    /// What is timed beside the kernel.
    pub reference: Reference,
    /// The names of the benches to which it applies; if empty, all.
    pub benches: Vec<String>,
    /// One sentence for the student.
    pub about: Option<String>,
}

/// Whose time a kernel's is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The solution of the puzzle with this number, at its bench of the same name.
    Puzzle(u32),
    /// The vendor's library.
    Vendor,
}

impl TimeGate {
    /// Whether a gate of a spec bounds the time, and not a counter.
    pub(super) fn is_meant(raw: &RawGate) -> bool {
        let bound = raw.bound.get_ref();
        Relation::find(bound).is_some_and(|(at, _)| bound[..at].trim() == TIME)
    }

    pub(super) fn read(raw: &RawGate, benches: &[Bench]) -> Checked<Self> {
        let (bound, place) = (raw.bound.get_ref(), raw.bound.span());
        let wrong = |title: &str| Fault::at(place.clone(), title).help(EXAMPLE);
        let Some((at, Relation::AtMost)) = Relation::find(bound) else {
            return Err(wrong("a time has an upper bound: `<=`"));
        };
        if let Some(other) = raw.kernel.as_ref().or_else(|| raw.tests.iter().flatten().next()) {
            return Err(Fault::at(other.span(), "a bound on the time is of a whole bench")
                .help("name some of the benches by benches = [\"...\"]"));
        }
        let right = bound[at + Relation::SIGN..].trim();
        let (factor, name) = match right.split_once('*') {
            None => (1.0, right),
            Some((factor, name)) => (factor.trim().parse().unwrap_or(0.0), name.trim()),
        };
        if !(factor > 0.0 && f64::is_finite(factor)) {
            return Err(wrong("the factor of a bound is a positive number"));
        }
        let number = name.strip_prefix("puzzle(").and_then(|rest| rest.strip_suffix(')'));
        let reference = match (name, number.map(|number| number.trim().parse())) {
            ("vendor", _) => Reference::Vendor,
            (_, Some(Ok(number))) => Reference::Puzzle(number),
            _ => {
                return Err(wrong(
                    "a time is compared with that of a puzzle, or with the vendor's",
                ));
            }
        };
        let names = || benches.iter().map(Bench::name);
        let unknown = |name: &&Spanned<String>| !names().any(|known| known == name.get_ref());
        if let Some(name) = raw.benches.iter().flatten().find(unknown) {
            let title = format!("no bench is named `{}`", name.get_ref().escape_debug());
            return Err(Fault::at(name.span(), title).suggest(name.get_ref(), names(), "bench"));
        }
        let own: Vec<String> =
            raw.benches.iter().flatten().map(|name| name.get_ref().clone()).collect();
        let gate = Self { factor, reference, benches: own, about: raw.about.clone() };
        let mut meant = benches.iter().filter(|bench| gate.applies_to(bench.name())).peekable();
        if meant.peek().is_none() {
            return Err(Fault::at(place, "this gate applies to no bench")
                .help("add a [[bench]], whose launches are timed"));
        }
        if let (Reference::Vendor, Some(bench)) = (reference, meant.find(|b| b.vendor.is_none())) {
            let title = format!("the bench `{}` says nothing of the vendor", bench.name());
            return Err(Fault::at(place, title)
                .help("add what its library would compute: gemm = { ... } or conv = { ... }"));
        }
        Ok(gate)
    }

    /// Whether it bounds the time of the bench with this name.
    pub fn applies_to(&self, bench: &str) -> bool {
        self.benches.is_empty() || self.benches.iter().any(|name| name == bench)
    }
}

impl Display for TimeGate {
    /// As in the spec: `time <= 0.8 * puzzle(19)`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{TIME} <= {} * ", self.factor)?;
        match self.reference {
            Reference::Puzzle(number) => write!(f, "puzzle({number})"),
            Reference::Vendor => write!(f, "vendor"),
        }
    }
}
